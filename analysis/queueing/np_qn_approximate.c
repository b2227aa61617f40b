/*
 * Approximations based on the shares F_jk of the customers of class j that are
 * at station k. Schweitzer's method assumes that they do not change with one
 * customer less, so that an arriving customer sees (N_c - 1) / N_c of its own
 * class. Linearizer computes them also with one customer less of each class,
 * and assumes instead that the differences delta do not change:
 *
 *	seen by class s at n: sum_j (n_j - [j = s]) (F_jk(n) + delta_jk^s).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_qn_impl.h"

#define PASSES 3 /* as in the source; further passes change little */
#define USUAL 100 /* typical iterations of a core, to estimate the cost */
#define TOLERANCE 1e-10 /* of a change, relative to the largest class */

struct state {
	const struct np_qn *net;
	const struct np_qn_flat *flat;
	size_t size; /* shares of one population: classes times queues */
	/* customers; size of the largest class */
	double n[NP_QN_MAX_CLASSES], most;
	double *share; /* [c * n_queues + q] for the whole population */
	double *present, *seen; /* by queue */
	/*
	 * Only linearizer: by class, the shares with one customer less, and
	 * less - share; 0 if that leaves no customer.
	 */
	double *less, *delta;
	double limit; /* of iterations */
	struct np_qn_solution *out;
};

/* Sums the customers at each queue over classes. */
static void sum_present(struct state *s, const double *share)
{
	size_t width = s->flat->n_queues;

	for (size_t q = 0; q < width; q++)
		s->present[q] = 0;
	for (size_t c = 0; c < s->net->n_classes; c++)
		for (size_t q = 0; q < width; q++)
			s->present[q] += s->n[c] * share[c * width + q];
}

/* What a customer of class c sees at each queue; at least 0. */
static void update_seen(struct state *s, size_t c, const double *share)
{
	size_t width = s->flat->n_queues;

	for (size_t q = 0; q < width; q++)
		s->seen[q] = s->delta ? 0 : s->present[q] -
					    share[c * width + q];
	for (size_t j = 0; s->delta && j < s->net->n_classes; j++) {
		const double *delta = s->delta + c * s->size;
		double n = s->n[j] - (j == c);

		for (size_t q = 0; n > 0 && q < width; q++)
			s->seen[q] += n * (share[j * width + q] +
					   delta[j * width + q]);
	}
	for (size_t q = 0; q < width; q++)
		s->seen[q] = fmax(0, s->seen[q]);
}

/* Computes residence times and throughput of class c. */
static double update_class(struct state *s, size_t c, const double *share)
{
	size_t width = s->flat->n_queues;
	double *r = s->flat->r + c * width, sec = s->flat->fixed_sec[c];

	update_seen(s, c, share);
	for (size_t q = 0; q < width; q++) {
		r[q] = s->flat->demand[c * width + q] * (1 + s->seen[q]);
		sec += r[q];
	}
	return s->n[c] / sec;
}

/* One iteration of the core; all classes use the shares before it. */
static double iterate_core(struct state *s, double *share)
{
	size_t width = s->flat->n_queues;
	double change = 0;

	if (!s->delta)
		sum_present(s, share);
	for (size_t c = 0; c < s->net->n_classes; c++)
		s->out->x_per_sec[c] = s->n[c] > 0 ? update_class(s, c, share) :
						     0;
	for (size_t i = 0; i < s->size; i++) {
		size_t c = i / width;
		double now = s->n[c] > 0 ?
			     s->out->x_per_sec[c] * s->flat->r[i] / s->n[c] : 0;

		change = fmax(change, s->n[c] * fabs(now - share[i]));
		share[i] = now;
	}
	return change;
}

/* Iterates to the shares for the population s->n. */
static int core(struct state *s, double *share, struct np_err *err)
{
	while (s->out->iterations < s->limit) {
		s->out->iterations++;
		s->out->residual = iterate_core(s, share);
		if (s->out->residual < TOLERANCE * s->most)
			return 0;
	}
	return np_errf(err, -ELOOP, "%s: %.0f iterations and mean numbers "
		       "still change by %.3g", s->less ? "linearizer" :
		       "schweitzer", floor(s->limit), s->out->residual);
}

/* Iterates with one customer of a class less. */
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

/* Updates the differences of a class. */
static void update_delta(struct state *s, size_t c)
{
	const double *less = s->less + c * s->size;
	double *delta = s->delta + c * s->size;

	for (size_t i = 0; s->n[c] > 0 && i < s->size; i++) {
		size_t j = i / s->flat->n_queues;

		delta[i] = s->n[j] - (j == c) > 0 ? less[i] - s->share[i] : 0;
	}
}

/* A single pass is Schweitzer's method. */
static int run_passes(struct state *s, int passes, struct np_err *err)
{
	int rc = core(s, s->share, err);

	for (int pass = 1; !rc && pass < passes; pass++) {
		for (size_t c = 0; !rc && c < s->net->n_classes; c++)
			rc = core_with_less(s, c, err);
		for (size_t c = 0; !rc && c < s->net->n_classes; c++)
			update_delta(s, c);
		if (!rc)
			rc = core(s, s->share, err);
	}
	return rc;
}

/* Starts from equal shares. */
static int run(const struct np_qn *net, const struct np_qn_flat *f, int passes,
	       double limit, struct np_qn_solution *out, struct np_err *err)
{
	size_t n = net->n_classes, size = n * f->n_queues;
	size_t all = passes > 1 ? (n + 1) * size : size; /* number of shares */
	double *room = calloc(2 * all + 2 * f->n_queues + 1, sizeof(*room));
	struct state s = {
		.net = net, .flat = f, .size = size, .most = 1,
		.share = room, .limit = limit, .out = out,
	};
	int rc;

	if (!room)
		return -ENOMEM;
	if (passes > 1) {
		s.less = room + size;
		s.delta = room + all;
	}
	s.present = room + 2 * all;
	s.seen = s.present + f->n_queues;
	for (size_t i = 0; i < all; i++)
		room[i] = 1 / (double)net->n_stations;
	for (size_t c = 0; c < n; c++) {
		s.n[c] = (double)net->class[c].customers;
		s.most = fmax(s.most, s.n[c]);
	}
	rc = run_passes(&s, passes, err);
	free(room);
	return rc;
}

/* Operations of one iteration. */
static double cells_of(const struct np_qn *net)
{
	return (double)(net->n_classes * (net->n_stations + 1));
}

/* Cost of the method of Schweitzer and Bard. */
static struct np_qn_cost schweitzer_cost(const struct np_qn *net)
{
	return (struct np_qn_cost){ 8 * 8 * cells_of(net),
				    USUAL * cells_of(net) };
}

static int schweitzer(const struct np_qn *net, const struct np_qn_flat *f,
		      const struct np_qn_cost *max, struct np_qn_solution *out,
		      struct np_err *err)
{
	return run(net, f, 1, fmin(1e5, max->steps / cells_of(net)), out, err);
}

/* Cost of Linearizer: a core for each class in each pass. */
static struct np_qn_cost linearizer_cost(const struct np_qn *net)
{
	double n = (double)net->n_classes, cells = cells_of(net);

	return (struct np_qn_cost){ 8 * (2 * n + 8) * cells,
				    USUAL * PASSES * (n + 1) * n * cells };
}

static int linearizer(const struct np_qn *net, const struct np_qn_flat *f,
		      const struct np_qn_cost *max, struct np_qn_solution *out,
		      struct np_err *err)
{
	return run(net, f, PASSES, fmin(1e6, max->steps /
		   (double)net->n_classes / cells_of(net)), out, err);
}

int np_qn_schweitzer(const struct np_qn *net, const struct np_qn_cost *max,
		     struct np_qn_solution *out, struct np_err *err)
{
	static const struct np_qn_solver way = {
		.name = "schweitzer", .instead = "nothing takes less",
		.refusal = "schweitzer does not take load-dependent stations; "
			   "convolution does",
		.servers = true, .cost = schweitzer_cost, .run = schweitzer,
	};

	return np_qn_solve(&way, net, max, out, err);
}

int np_qn_linearizer(const struct np_qn *net, const struct np_qn_cost *max,
		     struct np_qn_solution *out, struct np_err *err)
{
	static const struct np_qn_solver way = {
		.name = "linearizer", .instead = "schweitzer takes less",
		.refusal = "linearizer does not take load-dependent stations; "
			   "convolution does",
		.servers = true, .cost = linearizer_cost, .run = linearizer,
	};

	return np_qn_solve(&way, net, max, out, err);
}
