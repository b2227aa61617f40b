#include "some_graph.h"

#include <stdlib.h>

#include "np_rng.h"

#define MAX_OPS 512
#define MAX_RANKS 8

struct made {
	uint32_t rank;
	struct np_graph_op op;
	uint32_t dep[3];
	enum np_dep_kind kind[3];
	size_t n_deps;
};

/* Operations in an order in which they could run one after the other. */
struct story {
	struct np_rng *rng;
	struct made op[2 * MAX_OPS];
	uint32_t n, ranks, count[MAX_RANKS];
	struct np_graph_op waiting[MAX_OPS]; /* sends; peer is the sender */
	uint32_t to[MAX_OPS], n_waiting;
};

static uint32_t below(struct story *s, uint32_t n)
{
	return (uint32_t)np_rng_below(s->rng, n);
}

static void tell(struct story *s, uint32_t rank, struct np_graph_op op)
{
	struct made *m = &s->op[s->n++];

	*m = (struct made){ .rank = rank, .op = op };
	m->op.line = s->n;
	for (uint32_t k = below(s, 4), have = s->count[rank]; k && have; k--) {
		/* The one before, or nearly. */
		uint32_t back = below(s, 3) ? 0 : below(s, have < 6 ? have : 6);

		m->dep[m->n_deps] = have - 1 - back;
		m->kind[m->n_deps++] = below(s, 3) ? NP_REQUIRES :
						     NP_IREQUIRES;
		if (m->n_deps == 3)
			break;
	}
	s->count[rank]++;
}

/* The message that has waited longest of its channel. */
static void receive(struct story *s, uint32_t k)
{
	struct np_graph_op op = s->waiting[k];
	uint32_t to = s->to[k];

	for (uint32_t j = 0; j < k; j++)
		if (s->to[j] == to && s->waiting[j].peer == op.peer &&
		    s->waiting[j].tag == op.tag) {
			receive(s, j);
			return;
		}
	op.kind = NP_OP_RECV;
	tell(s, to, op);
	s->n_waiting--;
	for (uint32_t j = k; j < s->n_waiting; j++) {
		s->waiting[j] = s->waiting[j + 1];
		s->to[j] = s->to[j + 1];
	}
}

static void step(struct story *s)
{
	uint32_t rank = below(s, s->ranks), what = below(s, 3);
	struct np_graph_op op = { .kind = NP_OP_CALC, .size = 100 * below(s, 40) };

	if (what == 0) {
		tell(s, rank, op);
	} else if (what == 1 || !s->n_waiting) {
		op = (struct np_graph_op){ .kind = NP_OP_SEND, .tag = below(s, 2),
				     .peer = below(s, s->ranks),
				     .size = below(s, 5) * 250 };
		tell(s, rank, op);
		s->to[s->n_waiting] = op.peer;
		op.peer = rank;
		s->waiting[s->n_waiting++] = op;
	} else {
		receive(s, below(s, s->n_waiting));
	}
}

static void build(const struct story *s, struct np_graph *g)
{
	for (uint32_t r = 0; r < s->ranks; r++) {
		if (np_graph_rank(g, r, NULL, NULL))
			abort();
		for (uint32_t i = 0; i < s->n; i++) {
			const struct made *m = &s->op[i];
			uint32_t x;

			if (m->rank != r)
				continue;
			if (np_graph_add(g, &m->op, &x, NULL))
				abort();
			for (size_t d = 0; d < m->n_deps; d++)
				if (np_graph_depend(g, x, m->dep[d],
						    m->kind[d], NULL))
					abort();
		}
	}
	if (np_graph_finish(g, NULL))
		abort();
}

struct np_graph *some_graph(uint64_t seed, uint32_t n_ranks, uint32_t n_ops)
{
	struct story *s = calloc(1, sizeof(*s));
	struct np_graph *g;

	if (!s || n_ranks > MAX_RANKS || n_ops > MAX_OPS ||
	    np_graph_new("some", n_ranks, &g, NULL))
		abort();
	s->rng = np_rng_new(seed, "graph");
	s->ranks = n_ranks;
	while (s->n < n_ops)
		step(s);
	while (s->n_waiting)
		receive(s, s->n_waiting - 1);
	build(s, g);
	np_rng_free(s->rng);
	free(s);
	return g;
}
