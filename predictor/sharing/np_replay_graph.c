#include "np_replay_graph.h"

#include <errno.h>
#include <stdlib.h>

/* Operations of one rank follow each other: base of the rank + its own. */
static int add_rank(struct np_replay_app *a, const struct np_graph *g,
		    uint32_t rank, struct np_err *err)
{
	static const enum np_replay_kind kind[] = {
		[NP_OP_CALC] = NP_REPLAY_COMPUTE,
		[NP_OP_SEND] = NP_REPLAY_SEND, [NP_OP_RECV] = NP_REPLAY_RECV,
	};
	int rc = 0;

	for (uint32_t i = 0; !rc && i < np_graph_rank_ops(g, rank); i++) {
		struct np_replay_op op = { .task = rank };
		struct np_graph_op from;
		uint32_t index;

		np_graph_op(g, rank, i, &from);
		op.kind = kind[from.kind];
		if (from.kind == NP_OP_CALC)
			op.sec = 1e-9 * (double)from.size;
		else
			op.bytes = from.size;
		rc = np_replay_add(a, &op, &index, err);
	}
	return rc;
}

static int link_rank(struct np_replay_app *a, const struct np_graph *g,
		     uint32_t rank, const uint32_t *base, struct np_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < np_graph_rank_ops(g, rank); i++) {
		uint32_t y, peer, peer_i, at = base[rank] + i;
		enum np_dep_kind kind;

		for (size_t n = 0; !rc && np_graph_dep(g, rank, i, n, &y,
						       &kind); n++)
			rc = np_replay_depend(a, at, base[rank] + y,
					      kind == NP_IREQUIRES, err);
		if (np_replay_op_at(a, at)->kind != NP_REPLAY_SEND)
			continue;
		np_graph_met(g, rank, i, &peer, &peer_i);
		np_replay_meet(a, at, base[peer] + peer_i);
	}
	return rc;
}

int np_replay_of_graph(const struct np_graph *g, struct np_replay_app **out,
		       struct np_err *err)
{
	uint32_t n = np_graph_ranks(g);
	uint32_t *base = calloc((size_t)n + 1, sizeof(*base));
	struct np_replay_app *a = np_replay_app_new(n);
	int rc = base && a ? 0 : np_errf(err, -ENOMEM, "out of memory");

	for (uint32_t r = 0; !rc && r < n; r++) {
		base[r + 1] = base[r] + np_graph_rank_ops(g, r);
		rc = add_rank(a, g, r, err);
	}
	for (uint32_t r = 0; !rc && r < n; r++)
		rc = link_rank(a, g, r, base, err);
	if (!rc)
		rc = np_replay_finish(a, err);
	free(base);
	if (rc)
		np_replay_app_free(a);
	else
		*out = a;
	return rc;
}
