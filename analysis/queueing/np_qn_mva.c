/*
 * Exact mean value analysis: with n customers, one that arrives at a queue sees
 * it as it is with one customer less of its own class,
 *
 *	R_ck(n) = D_ck (1 + Q_k(n - e_c)), X_c = n_c / (Z_c + sum_k R_ck),
 *	Q_k(n) = sum_c X_c R_ck.
 *
 * Only the hyperplane for the current number of customers of the largest class
 * is stored: a cell holds Q_k(n - e_largest) until it is replaced by Q_k(n).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_qn_impl.h"
#include "np_qn_population.h"

struct plane {
	const struct np_qn *net;
	const struct np_qn_flat *flat;
	size_t largest, n_cells;
	/* in cells; 0 for the largest class */
	size_t stride[NP_QN_MAX_CLASSES];
	/* current and last population, without the largest class */
	struct np_population at, top;
	uint64_t n_largest;
	double *x;			   /* throughputs at this population */
	double *present;		   /* [cell * n_queues + q] */
	double *sum;
};

/*
 * The class with the most customers, whose number is not stored as a dimension.
 */
static size_t largest_class(const struct np_qn *net)
{
	size_t best = 0;

	for (size_t c = 1; c < net->n_classes; c++)
		if (net->class[c].customers > net->class[best].customers)
			best = c;
	return best;
}

struct np_qn_cost np_qn_mva_cost(const struct np_qn *net)
{
	size_t largest = largest_class(net);
	double cells = 1, width = sizeof(double) * (double)net->n_stations;
	struct np_qn_cost cost;

	for (size_t c = 0; c < net->n_classes; c++)
		if (c != largest)
			cells *= (double)net->class[c].customers + 1;
	cost.bytes = width * (cells + (double)net->n_classes + 1);
	cost.steps = cells * ((double)net->class[largest].customers + 1) *
		     (double)(net->n_classes * (net->n_stations + 1));
	return cost;
}

/* Computes the strides and the number of cells. */
static void lay_out(struct plane *p)
{
	p->largest = largest_class(p->net);
	p->n_cells = 1;
	p->at.classes = p->net->n_classes;
	for (size_t c = 0; c < p->net->n_classes; c++)
		if (c != p->largest) {
			p->stride[c] = p->n_cells;
			p->top.n[c] = p->net->class[c].customers;
			p->n_cells *= (size_t)p->top.n[c] + 1;
		}
}

/* Computes a class at one population from the queues before its arrival. */
static void visit_class(struct plane *p, size_t c, uint64_t n,
			const double *before)
{
	size_t width = p->flat->n_queues;
	const double *d = p->flat->demand + c * width;
	double *r = p->flat->r + c * width, sec = p->flat->fixed_sec[c];

	for (size_t q = 0; q < width; q++) {
		r[q] = d[q] * (1 + before[q]);
		sec += r[q];
	}
	p->x[c] = (double)n / sec;
	for (size_t q = 0; q < width; q++)
		p->sum[q] += p->x[c] * r[q];
}

/* Computes all classes at one population. */
static void visit(struct plane *p, size_t cell)
{
	size_t width = p->flat->n_queues;
	double *here = p->present + cell * width;

	memset(p->sum, 0, width * sizeof(*p->sum));
	for (size_t c = 0; c < p->net->n_classes; c++) {
		uint64_t n = c == p->largest ? p->n_largest : p->at.n[c];

		if (n)
			visit_class(p, c, n, here - p->stride[c] * width);
	}
	memcpy(here, p->sum, width * sizeof(*here));
}

/* Visits all populations in ascending order. */
static void visit_all(struct plane *p)
{
	uint64_t last = p->net->class[p->largest].customers;

	for (p->n_largest = 0; p->n_largest <= last; p->n_largest++)
		for (size_t cell = 0; cell < p->n_cells; cell++) {
			visit(p, cell);
			np_population_next(&p->at, &p->top);
		}
}

/* Allocates the hyperplane and visits all populations. */
static int run(const struct np_qn *net, const struct np_qn_flat *f,
	       const struct np_qn_cost *max, struct np_qn_solution *out,
	       struct np_err *err)
{
	struct plane p = { .net = net, .flat = f, .x = out->x_per_sec };

	(void)max, (void)err;
	lay_out(&p);
	p.present = calloc((p.n_cells + 1) * f->n_queues + 1, sizeof(double));
	if (!p.present)
		return -ENOMEM;
	p.sum = p.present + p.n_cells * f->n_queues;
	visit_all(&p);
	free(p.present);
	return 0;
}

int np_qn_mva(const struct np_qn *net, const struct np_qn_cost *max,
	      struct np_qn_solution *out, struct np_err *err)
{
	static const struct np_qn_solver way = {
		.name = "exact mean value analysis",
		.refusal = "exact mean value analysis takes queues of one "
			   "server and delays; convolution takes it",
		.cost = np_qn_mva_cost, .run = run,
	};

	return np_qn_solve(&way, net, max, out, err);
}
