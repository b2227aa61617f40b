#include <errno.h>
#include <stdlib.h>

#include "np_goal.h"

/* Pairs of context and tag, sorted, where there is more than one context. */
struct tags {
	uint64_t *pair;
	size_t n;
};

static uint64_t pair_of(const struct np_graph_op *op)
{
	return (uint64_t)op->context << 32 | op->tag;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int number_tags(const struct np_graph *g, struct tags *t)
{
	bool several = false;
	size_t n = 0;

	t->pair = malloc((np_graph_messages(g) + 1) * sizeof(*t->pair));
	if (!t->pair)
		return -ENOMEM;
	for (uint32_t r = 0; r < np_graph_ranks(g); r++)
		for (uint32_t i = 0; i < np_graph_rank_ops(g, r); i++) {
			struct np_graph_op op;

			np_graph_op(g, r, i, &op);
			if (op.kind != NP_OP_SEND)
				continue;
			several |= op.context != 0;
			t->pair[n++] = pair_of(&op);
		}
	if (!several)
		return 0;
	qsort(t->pair, n, sizeof(*t->pair), by_value);
	for (size_t i = 0; i < n; i++)
		if (!t->n || t->pair[i] != t->pair[t->n - 1])
			t->pair[t->n++] = t->pair[i];
	return 0;
}

static uint64_t tag_of(const struct np_graph *g, const struct tags *t,
		       const struct np_graph_op *send)
{
	uint64_t pair = pair_of(send);
	const uint64_t *at = t->n ? bsearch(&pair, t->pair, t->n,
					    sizeof(*t->pair), by_value) : NULL;

	return at ? (uint64_t)(at - t->pair) :
		    np_graph_tag_of_file(g, send->tag);
}

static void write_op(const struct np_graph *g, const struct tags *t,
		     uint32_t rank, uint32_t i, FILE *f)
{
	struct np_graph_op op, send;
	uint32_t peer, at;

	np_graph_op(g, rank, i, &op);
	fprintf(f, "l%u: ", i + 1);
	if (op.kind == NP_OP_CALC) {
		fprintf(f, "calc %llu", (unsigned long long)op.size);
	} else {
		bool is_send = op.kind == NP_OP_SEND;

		np_graph_met(g, rank, i, &peer, &at);
		send = op;
		if (!is_send)
			np_graph_op(g, peer, at, &send);
		fprintf(f, "%s %llub %s %u tag %llu", is_send ? "send" : "recv",
			(unsigned long long)op.size, is_send ? "to" : "from",
			peer, (unsigned long long)tag_of(g, t, &send));
	}
	if (op.cpu)
		fprintf(f, " cpu %u", op.cpu);
	if (op.nic)
		fprintf(f, " nic %u", op.nic);
	fputc('\n', f);
}

/* Those on operations before, or on later ones. */
static void write_deps(const struct np_graph *g, uint32_t rank, uint32_t i,
		       bool before, FILE *f)
{
	enum np_dep_kind kind;
	uint32_t y;

	for (size_t n = 0; np_graph_dep(g, rank, i, n, &y, &kind); n++)
		if ((y < i) == before)
			fprintf(f, "l%u %s l%u\n", i + 1,
				kind == NP_REQUIRES ? "requires" : "irequires",
				y + 1);
}

int np_goal_write(const struct np_graph *g, FILE *f, struct np_err *err)
{
	struct tags t = { .n = 0 };

	if (number_tags(g, &t))
		return np_errf(err, -ENOMEM, "no memory to write a graph");
	fprintf(f, "num_ranks %u\n", np_graph_ranks(g));
	for (uint32_t r = 0; r < np_graph_ranks(g); r++) {
		uint32_t n = np_graph_rank_ops(g, r);

		fprintf(f, "\nrank %u {\n", r);
		for (uint32_t i = 0; i < n; i++) {
			write_op(g, &t, r, i, f);
			write_deps(g, r, i, true, f);
		}
		/* Not all readers know names that are still to come. */
		for (uint32_t i = 0; i < n; i++)
			write_deps(g, r, i, false, f);
		fprintf(f, "}\n");
	}
	free(t.pair);
	return ferror(f) ? np_errf(err, -EIO, "a graph cannot be written") : 0;
}
