#include "some_graph.h"

#include <stdlib.h>

#include "np_rng.h"

#define MAX_OPS 512
#define MAX_RANKS 8

struct made {
	uint32_t rank;
	struct np_graph_op op;
	int32_t dep[3]; /* negative: of an operation before this sequence */
	enum np_dep_kind kind[3];
	size_t n_deps;
};

/* Operations in an order in which they can run one after the other. */
struct sequence {
	struct np_rng *rng;
	struct made op[2 * MAX_OPS];
	uint32_t n, ranks, count[MAX_RANKS];
	uint32_t before; /* operations of each rank before these */
	struct np_graph_op waiting[MAX_OPS]; /* sends; peer is the sender */
	uint32_t to[MAX_OPS], n_waiting;
};

static uint32_t below(struct sequence *s, uint32_t n)
{
	return (uint32_t)np_rng_below(s->rng, n);
}

static void append_op(struct sequence *s, uint32_t rank, struct np_graph_op op)
{
	struct made *m = &s->op[s->n++];

	*m = (struct made){ .rank = rank, .op = op };
	m->op.line = s->n;
	for (uint32_t k = below(s, 4), have = s->before + s->count[rank];
	     k && have; k--) {
		/* The previous operation, or one shortly before it. */
		uint32_t back = below(s, 3) ? 0 : below(s, have < 6 ? have : 6);

		m->dep[m->n_deps] = (int32_t)(s->count[rank] - 1 - back);
		m->kind[m->n_deps++] = below(s, 3) ? NP_REQUIRES : NP_IREQUIRES;
		if (m->n_deps == 3)
			break;
	}
	s->count[rank]++;
}

/* Receives the message of its channel that has waited longest. */
static void receive(struct sequence *s, uint32_t k)
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
	append_op(s, to, op);
	s->n_waiting--;
	for (uint32_t j = k; j < s->n_waiting; j++) {
		s->waiting[j] = s->waiting[j + 1];
		s->to[j] = s->to[j + 1];
	}
}

static void step(struct sequence *s)
{
	uint32_t rank = below(s, s->ranks), what = below(s, 3);
	struct np_graph_op op = { .kind = NP_OP_CALC,
				  .size = 100 * below(s, 40) };

	if (what == 0) {
		append_op(s, rank, op);
	} else if (what == 1 || !s->n_waiting) {
		op = (struct np_graph_op){ .kind = NP_OP_SEND,
					   .tag = below(s, 2),
					   .peer = below(s, s->ranks),
					   .size = below(s, 5) * 250 };
		append_op(s, rank, op);
		s->to[s->n_waiting] = op.peer;
		op.peer = rank;
		s->waiting[s->n_waiting++] = op;
	} else {
		receive(s, below(s, s->n_waiting));
	}
}

/* Adds a rank's part of a sequence to the graph. */
static void build(const struct sequence *s, uint32_t rank, struct np_graph *g)
{
	int64_t first = np_graph_rank_ops(g, rank);

	for (uint32_t i = 0; i < s->n; i++) {
		const struct made *m = &s->op[i];
		uint32_t x;

		if (m->rank != rank)
			continue;
		if (np_graph_add(g, &m->op, &x, NULL))
			abort();
		for (size_t d = 0; d < m->n_deps; d++)
			if (first + m->dep[d] >= 0 &&
			    np_graph_depend(g, x, (uint32_t)(first + m->dep[d]),
					    m->kind[d], NULL))
				abort();
	}
}

static struct sequence *new_story(struct np_rng *rng, uint32_t n_ranks,
				  uint32_t before)
{
	struct sequence *s = calloc(1, sizeof(*s));

	if (!s || n_ranks > MAX_RANKS)
		abort();
	s->rng = rng;
	s->ranks = n_ranks;
	s->before = before;
	return s;
}

static void make_up(struct sequence *s, uint32_t n_ops)
{
	if (n_ops > MAX_OPS)
		abort();
	while (s->n < n_ops)
		step(s);
	while (s->n_waiting)
		receive(s, s->n_waiting - 1);
}

struct np_graph *some_loop(uint64_t seed, uint32_t n_ranks, uint32_t n_ops,
			   uint32_t times)
{
	struct np_rng *rng = np_rng_new(seed, "graph");
	struct sequence *s[3];
	struct np_graph *g;

	if (np_graph_new("some", n_ranks, &g, NULL))
		abort();
	for (int i = 0; i < 3; i++)
		s[i] = new_story(rng, n_ranks, i && times > 1 ? 6 : 0);
	if (times > 1 && n_ranks > 1) { /* received one iteration later */
		struct np_graph_op op = {
			.kind = NP_OP_SEND, .tag = 7, .peer = 1, .size = 300
		};
		struct np_graph_op recv = { .kind = NP_OP_RECV,
					    .tag = 7,
					    .size = 300 };

		append_op(s[0], 0, op);
		append_op(s[1], 1, recv);
		append_op(s[1], 0, op);
		append_op(s[2], 1, recv);
	}
	for (int i = 0; i < 3; i++)
		if (times > 1 || i == 1)
			make_up(s[i], n_ops);
	for (uint32_t r = 0; r < n_ranks; r++) {
		if (np_graph_rank(g, r, NULL, NULL))
			abort();
		build(s[0], r, g);
		for (uint32_t i = 0; i < times; i++)
			build(s[1], r, g);
		build(s[2], r, g);
	}
	if (np_graph_finish(g, NULL))
		abort();
	for (int i = 0; i < 3; i++)
		free(s[i]);
	np_rng_free(rng);
	return g;
}

struct np_graph *some_graph(uint64_t seed, uint32_t n_ranks, uint32_t n_ops)
{
	return some_loop(seed, n_ranks, n_ops, 1);
}
