/*
 * Linearizer: Schweitzer's approximation takes the shares F_jk of class j that
 * are at station k to stay the same with a customer less.  Here they are
 * computed with one less of each class, and their differences delta are taken
 * to stay the same instead:
 *
 *	seen by class s at n: sum_j (n_j - [j = s]) (F_jk(n) + delta_jk^s).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_qn_impl.h"

#define PASSES 3 /* as the source has it; more change little */
#define MAX_ITERATIONS 1000000 /* of all cores */
#define USUAL 100 /* of each core, for the cost */
#define TOLERANCE 1e-10 /* of the largest class, of a change */

struct state {
	const struct np_qn *net;
	const struct np_qn_flat *flat;
	size_t size; /* of one population's shares: classes times queues */
	double n[NP_QN_MAX_CLASSES], most; /* customers; largest class */
	double *share; /* [c * n_queues + q] with everybody */
	double *less;  /* of each class in turn: the same with one less */
	double *delta; /* less - share, 0 where that leaves nobody */
	double *seen; /* of each queue */
	double limit; /* of iterations */
	struct np_qn_solution *out;
};

/* All shares alike; room: for all arrays. */
static void begin(struct state *s, double *room)
{
	size_t n = s->net->n_classes;

	s->share = room;
	s->less = room + s->size;
	s->delta = room + (n + 1) * s->size;
	s->seen = room + (2 * n + 1) * s->size;
	for (size_t i = 0; i < (n + 1) * s->size; i++)
		room[i] = 1 / (double)s->net->n_stations;
	s->most = 1;
	for (size_t c = 0; c < n; c++) {
		s->n[c] = (double)s->net->class[c].customers;
		s->most = fmax(s->most, s->n[c]);
	}
}

/* What a customer of class c sees at each queue; never less than nobody. */
static void look(struct state *s, size_t c, const double *share)
{
	size_t width = s->flat->n_queues;
	const double *delta = s->delta + c * s->size;

	for (size_t q = 0; q < width; q++)
		s->seen[q] = 0;
	for (size_t j = 0; j < s->net->n_classes; j++) {
		double n = s->n[j] - (j == c);

		for (size_t q = 0; n > 0 && q < width; q++)
			s->seen[q] += n * (share[j * width + q] +
					   delta[j * width + q]);
	}
	for (size_t q = 0; q < width; q++)
		s->seen[q] = fmax(0, s->seen[q]);
}

/* The residence times of class c, and its throughput. */
static double reside(struct state *s, size_t c, const double *share)
{
	size_t width = s->flat->n_queues;
	double *r = s->flat->r + c * width, sec = s->flat->fixed_sec[c];

	look(s, c, share);
	for (size_t q = 0; q < width; q++) {
		r[q] = s->flat->demand[c * width + q] * (1 + s->seen[q]);
		sec += r[q];
	}
	return s->n[c] / sec;
}

/* One step of the core; all classes see the shares of before. */
static double improve(struct state *s, double *share)
{
	size_t width = s->flat->n_queues;
	double change = 0;

	for (size_t c = 0; c < s->net->n_classes; c++)
		s->out->x_per_sec[c] = s->n[c] > 0 ? reside(s, c, share) : 0;
	for (size_t i = 0; i < s->size; i++) {
		size_t c = i / width;
		double now = s->n[c] > 0 ?
			     s->out->x_per_sec[c] * s->flat->r[i] / s->n[c] : 0;

		change = fmax(change, s->n[c] * fabs(now - share[i]));
		share[i] = now;
	}
	return change;
}

/* The shares at the numbers s->n. */
static int core(struct state *s, double *share, struct np_err *err)
{
	while (s->out->iterations < s->limit) {
		s->out->iterations++;
		s->out->residual = improve(s, share);
		if (s->out->residual < TOLERANCE * s->most)
			return 0;
	}
	return np_errf(err, -ELOOP, "linearizer: %.0f iterations and mean "
		       "numbers still change by %.3g", floor(s->limit),
		       s->out->residual);
}

static int core_with_less(struct state *s, size_t c, struct np_err *err)
{
	int rc;

	if (!(s->n[c] > 0))
		return 0;
	s->n[c]--;
	rc = core(s, s->less + c * s->size, err);
	s->n[c]++;
	return rc;
}

static void compare(struct state *s, size_t c)
{
	const double *less = s->less + c * s->size;
	double *delta = s->delta + c * s->size;

	for (size_t i = 0; s->n[c] > 0 && i < s->size; i++) {
		size_t j = i / s->flat->n_queues;

		delta[i] = s->n[j] - (j == c) > 0 ? less[i] - s->share[i] : 0;
	}
}

static int iterate(struct state *s, struct np_err *err)
{
	int rc = core(s, s->share, err);

	for (int pass = 1; !rc && pass < PASSES; pass++) {
		for (size_t c = 0; !rc && c < s->net->n_classes; c++)
			rc = core_with_less(s, c, err);
		for (size_t c = 0; !rc && c < s->net->n_classes; c++)
			compare(s, c);
		if (!rc)
			rc = core(s, s->share, err);
	}
	return rc;
}

static struct np_qn_cost cost_of(const struct np_qn *net)
{
	double n = (double)net->n_classes;
	double cells = n * (double)(net->n_stations + 1);

	return (struct np_qn_cost){ 8 * (2 * n + 8) * cells,
				    USUAL * PASSES * (n + 1) * n * cells };
}

static int run(const struct np_qn *net, const struct np_qn_flat *f,
	       const struct np_qn_cost *max, struct np_qn_solution *out,
	       struct np_err *err)
{
	struct state s = { .net = net, .flat = f, .out = out,
			   .size = net->n_classes * f->n_queues };
	double *room = calloc((2 * net->n_classes + 1) * s.size + f->n_queues +
			      1, sizeof(*room));
	int rc = -ENOMEM;

	s.limit = fmin(MAX_ITERATIONS, max->steps / (double)net->n_classes /
		       (double)(net->n_classes * (net->n_stations + 1)));
	if (room) {
		begin(&s, room);
		rc = iterate(&s, err);
	}
	free(room);
	return rc;
}

int np_qn_linearizer(const struct np_qn *net, const struct np_qn_cost *max,
		     struct np_qn_solution *out, struct np_err *err)
{
	static const struct np_qn_way way = {
		.name = "linearizer", .instead = "schweitzer takes less",
		.refusal = "linearizer does not take load-dependent stations; "
			   "convolution does",
		.servers = true, .cost = cost_of, .run = run,
	};

	return np_qn_solve(&way, net, max, out, err);
}
