/* ---- Programs ---- */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_array.h"
#include "np_graph.h"
#include "np_replay_impl.h"

struct np_replay_app *np_replay_app_new(uint32_t n_tasks)
{
	struct np_replay_app *a = calloc(1, sizeof(*a));

	if (a)
		a->n_tasks = n_tasks;
	return a;
}

void np_replay_app_free(struct np_replay_app *a)
{
	if (!a)
		return;
	free(a->op);
	free(a->dep);
	free(a->first);
	free(a->next);
	free(a->n_before);
	free(a);
}

int np_replay_add(struct np_replay_app *a, const struct np_replay_op *op,
		  uint32_t *index, struct np_err *err)
{
	if (op->task >= a->n_tasks)
		return np_errf(err, -EINVAL, "task %u, expected 0 to %u",
			       op->task, a->n_tasks - 1);
	if (!(op->sec >= 0 && isfinite(op->sec)))
		return np_errf(err, -EINVAL, "task %u computes %g s, expected "
			       "0 or more", op->task, op->sec);
	if (a->n_ops == NP_REPLAY_MAX_OPS)
		return np_errf(err, -E2BIG, "more than %zu operations",
			       NP_REPLAY_MAX_OPS);
	if (np_array_more(&a->op, a->n_ops, sizeof(*a->op)))
		return np_errf(err, -ENOMEM, "out of memory");
	a->op[a->n_ops] = *op;
	a->op[a->n_ops].match = NP_REPLAY_NONE;
	*index = (uint32_t)a->n_ops++;
	return 0;
}

int np_replay_depend(struct np_replay_app *a, uint32_t after, uint32_t before,
		     bool on_start, struct np_err *err)
{
	if (np_array_more(&a->dep, a->n_deps, sizeof(*a->dep)))
		return np_errf(err, -ENOMEM, "out of memory");
	a->dep[a->n_deps++] = (struct np_replay_dep){
		before, { after, on_start } };
	return 0;
}

void np_replay_meet(struct np_replay_app *a, uint32_t send, uint32_t recv)
{
	a->op[send].match = recv;
	a->op[recv].match = send;
}

static int check_matches(const struct np_replay_app *a, struct np_err *err)
{
	for (size_t i = 0; i < a->n_ops; i++) {
		const struct np_replay_op *op = &a->op[i];

		if (op->kind != NP_REPLAY_COMPUTE &&
		    op->match == NP_REPLAY_NONE)
			return np_errf(err, -EINVAL, "task %u: operation %zu, "
				       "a %s, has no other end", op->task, i,
				       op->kind == NP_REPLAY_SEND ? "send" :
								    "receive");
	}
	return 0;
}

int np_replay_finish(struct np_replay_app *a, struct np_err *err)
{
	int rc = check_matches(a, err);

	if (rc)
		return rc;
	a->first = calloc(a->n_ops + 2, sizeof(*a->first));
	a->next = calloc(a->n_deps + 1, sizeof(*a->next));
	a->n_before = calloc(a->n_ops + 1, sizeof(*a->n_before));
	if (!a->first || !a->next || !a->n_before)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < a->n_deps; i++) {
		a->first[a->dep[i].before + 2]++;
		a->n_before[a->dep[i].next.op]++;
	}
	for (size_t i = 0; i < a->n_ops; i++)
		a->first[i + 2] += a->first[i + 1];
	for (size_t i = 0; i < a->n_deps; i++)
		a->next[a->first[a->dep[i].before + 1]++] = a->dep[i].next;
	free(a->dep);
	a->dep = NULL;
	return 0;
}

uint32_t np_replay_tasks(const struct np_replay_app *a)
{
	return a->n_tasks;
}

size_t np_replay_ops(const struct np_replay_app *a)
{
	return a->n_ops;
}

const struct np_replay_op *np_replay_op_at(const struct np_replay_app *a,
					   size_t i)
{
	return &a->op[i];
}

/* Adds the operations of a rank, which get consecutive numbers. */
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
