/*
 * The approximation of Schweitzer and Bard: a customer that arrives sees of
 * its own class (N_c - 1) / N_c of those that are there on average, and of the
 * others all.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_qn_impl.h"

#define MAX_ITERATIONS 100000
#define USUAL 100 /* iterations, for the cost */
#define TOLERANCE 1e-10 /* of the largest class, of a change */

struct state {
	const struct np_qn *net;
	const struct np_qn_flat *flat;
	double *present; /* [c * n_queues + q] */
	double *sum;	 /* of each queue */
};

/* Returns the largest change of a mean number. */
static double improve(struct state *s, size_t c, double *x)
{
	size_t width = s->flat->n_queues;
	double n = (double)s->net->class[c].customers, change = 0;
	double *present = s->present + c * width, *r = s->flat->r + c * width;
	double sec = s->flat->fixed_sec[c];

	for (size_t q = 0; q < width; q++) {
		double seen = s->sum[q] - present[q] / n;

		r[q] = s->flat->demand[c * width + q] * (1 + fmax(0, seen));
		sec += r[q];
	}
	*x = n / sec;
	for (size_t q = 0; q < width; q++) {
		change = fmax(change, fabs(*x * r[q] - present[q]));
		present[q] = *x * r[q];
	}
	return change;
}

static double improve_all(struct state *s, double *x)
{
	size_t width = s->flat->n_queues;
	double change = 0;

	for (size_t q = 0; q < width; q++) {
		s->sum[q] = 0;
		for (size_t c = 0; c < s->net->n_classes; c++)
			s->sum[q] += s->present[c * width + q];
	}
	for (size_t c = 0; c < s->net->n_classes; c++)
		if (s->net->class[c].customers)
			change = fmax(change, improve(s, c, &x[c]));
	return change;
}

/* limit: of iterations. */
static int iterate(struct state *s, double limit, struct np_qn_solution *out,
		   struct np_err *err)
{
	double most = 1;

	for (size_t c = 0; c < s->net->n_classes; c++)
		most = fmax(most, (double)s->net->class[c].customers);
	do {
		if (++out->iterations > limit)
			return np_errf(err, -ELOOP, "schweitzer: %.0f "
				       "iterations and mean numbers still "
				       "change by %.3g", floor(limit),
				       out->residual);
		out->residual = improve_all(s, out->x_per_sec);
	} while (!(out->residual < TOLERANCE * most));
	return 0;
}

static struct np_qn_cost cost_of(const struct np_qn *net)
{
	double cells = (double)(net->n_classes * (net->n_stations + 1));

	return (struct np_qn_cost){ 8 * 8 * cells, USUAL * cells };
}

static int run(const struct np_qn *net, const struct np_qn_flat *f,
	       const struct np_qn_cost *max, struct np_qn_solution *out,
	       struct np_err *err)
{
	size_t size = net->n_classes * f->n_queues;
	double *present = calloc(size + f->n_queues + 1, sizeof(*present));
	struct state s = { net, f, present, present + size };
	int rc = -ENOMEM;

	for (size_t i = 0; present && i < size; i++)
		present[i] = (double)net->class[i / f->n_queues].customers /
			     (double)net->n_stations;
	if (present)
		rc = iterate(&s, fmin(MAX_ITERATIONS, USUAL * max->steps /
				      cost_of(net).steps), out, err);
	free(present);
	return rc;
}

int np_qn_schweitzer(const struct np_qn *net, const struct np_qn_cost *max,
		     struct np_qn_solution *out, struct np_err *err)
{
	static const struct np_qn_way way = {
		.name = "schweitzer", .instead = "nothing takes less",
		.refusal = "schweitzer does not take load-dependent stations; "
			   "convolution does",
		.servers = true, .cost = cost_of, .run = run,
	};

	return np_qn_solve(&way, net, max, out, err);
}
