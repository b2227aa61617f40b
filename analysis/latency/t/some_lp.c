/*
 * Follows the definition of operations, independently of the code under test.
 * Each operation has the times at which it is posted, starts and ends; all are
 * as early as their dependencies allow, and T is after all ends. x is a
 * variable with a fixed value, so that its reduced cost is the slope.
 */
#include "some_lp.h"

#include <stdlib.h>

#include <coin/Clp_C_Interface.h>

enum { T, X, FIRST };
enum { POST, START, END, TIMES };

struct lp {
	Clp_Simplex *clp;
	const struct np_graph *g;
	const struct np_tolerance_opt *opt;
	uint32_t *base; /* by rank: number of operations before it */
};

static int var(const struct lp *p, uint32_t rank, uint32_t i, int when)
{
	return FIRST + TIMES * (int)(p->base[rank] + i) + when;
}

/* later >= before + a + b x */
static void row(const struct lp *p, int later, int before, double a, double b)
{
	int starts[2] = { 0, 3 }, cols[3] = { later, before, X };
	double lower = a, upper = 1e300, value[3] = { 1, -1, -b };

	Clp_addRows(p->clp, 1, &lower, &upper, starts, cols, value);
}

static void cost(const struct lp *p, enum np_loggps_param what, double times,
		 double *a, double *b)
{
	const struct np_loggps *net = &p->opt->net;
	double each = what == NP_LOGGPS_L ? net->L_ns :
		      what == NP_LOGGPS_o ? net->o_ns :
					    net->G_ns;

	*a += what == p->opt->x ? 0 : times * each;
	*b += what == p->opt->x ? times : 0;
}

static void message(const struct lp *p, uint32_t r, uint32_t i,
		    const struct np_graph_op *op)
{
	const struct np_loggps *net = &p->opt->net;
	double a = 0, b = 0, oa = 0, ob = 0, bytes, copy;
	struct np_graph_op send = *op;
	uint32_t pr, pi;

	np_graph_peer(p->g, r, i, &pr, &pi);
	if (op->kind == NP_OP_RECV)
		np_graph_op(p->g, pr, pi, &send);
	bytes = (double)send.size - (send.size && net->first_byte_free);
	copy = send.size > net->S ? 0 : bytes * net->O_ns;
	cost(p, NP_LOGGPS_o, 1, &oa, &ob);
	if (op->kind == NP_OP_SEND) {
		row(p, var(p, r, i, END), var(p, r, i, START), oa + copy, ob);
		if (op->size > net->S)
			row(p, var(p, r, i, END), var(p, pr, pi, END), 0, 0);
		return;
	}
	row(p, var(p, r, i, END), var(p, r, i, START), oa, ob);
	row(p, var(p, r, i, START), var(p, r, i, POST), copy, 0);
	cost(p, NP_LOGGPS_o, 1, &a, &b);
	cost(p, NP_LOGGPS_L, 1, &a, &b);
	cost(p, NP_LOGGPS_G, bytes, &a, &b);
	row(p, var(p, r, i, START), var(p, pr, pi, START), a, b);
}

static void operation(const struct lp *p, uint32_t r, uint32_t i)
{
	enum np_dep_kind kind;
	struct np_graph_op op;
	uint32_t y;

	np_graph_op(p->g, r, i, &op);
	row(p, var(p, r, i, START), var(p, r, i, POST), 0, 0);
	row(p, T, var(p, r, i, END), 0, 0);
	if (op.kind == NP_OP_CALC)
		row(p, var(p, r, i, END), var(p, r, i, START), (double)op.size,
		    0);
	else
		message(p, r, i, &op);
	for (size_t n = 0; np_graph_dep(p->g, r, i, n, &y, &kind); n++) {
		struct np_graph_op on;

		np_graph_op(p->g, r, y, &on);
		row(p, var(p, r, i, POST),
		    var(p, r, y,
			kind == NP_REQUIRES   ? END :
			on.kind == NP_OP_RECV ? POST :
						START),
		    0, 0);
	}
}

void some_lp(const struct np_graph *g, const struct np_tolerance_opt *opt,
	     double x, double *ns, double *slope)
{
	struct lp p = { Clp_newModel(), g, opt, NULL };
	uint32_t n = np_graph_ranks(g);

	p.base = calloc(n + 1, sizeof(*p.base));
	for (uint32_t r = 0; r < n; r++)
		p.base[r + 1] = p.base[r] + np_graph_rank_ops(g, r);
	Clp_setLogLevel(p.clp, 0);
	for (int i = 0; i < FIRST + TIMES * (int)p.base[n]; i++) {
		double low = i == X ? x : 0, high = i == X ? x : 1e300;
		double target = i == T;

		Clp_addColumns(p.clp, 1, &low, &high, &target, (int[]){ 0, 0 },
			       NULL, NULL);
	}
	for (uint32_t r = 0; r < n; r++)
		for (uint32_t i = 0; i < np_graph_rank_ops(g, r); i++)
			operation(&p, r, i);
	Clp_dual(p.clp, 0);
	*ns = Clp_status(p.clp) ? -1 : Clp_objectiveValue(p.clp);
	*slope = Clp_getReducedCost(p.clp)[X];
	Clp_deleteModel(p.clp);
	free(p.base);
}
