#include <errno.h>
#include <stdlib.h>

#include "np_array.h"
#include "np_workload_impl.h"

static int no_memory(struct np_workload *b)
{
	return np_errf(b->err, -ENOMEM, "%s: out of memory", b->w->source);
}

/* An operation that comes after what its task did last. */
static int add(struct np_workload *b, enum np_replay_kind kind, uint32_t task,
	       double sec, uint64_t bytes, uint32_t *op)
{
	const struct np_replay_op o = { kind, task, sec, bytes, 0 };
	struct np_workload_task *t = &b->task[task];
	int rc;

	if (np_replay_ops(b->app) == NP_WORKLOAD_MAX_OPS)
		return np_words_errf(b->w, b->err, -E2BIG, "more than %zu "
				     "operations", NP_WORKLOAD_MAX_OPS);
	rc = np_replay_add(b->app, &o, op, b->err);
	if (!rc && t->any)
		rc = np_replay_depend(b->app, *op, t->last, t->posted, b->err);
	t->last = *op;
	t->any = true;
	t->posted = false;
	return rc;
}

static int pend(struct np_workload *b, uint32_t task, uint32_t op)
{
	struct np_workload_task *t = &b->task[task];

	if (np_array_more(&t->pending, t->n_pending, sizeof(*t->pending)))
		return no_memory(b);
	t->pending[t->n_pending++] = op;
	t->posted = true;
	return 0;
}

static int note(struct np_workload *b, struct np_workload_ends *e,
		uint32_t from, uint32_t to, uint32_t op)
{
	if (np_array_more(&e->e, e->n, sizeof(*e->e)))
		return no_memory(b);
	e->e[e->n++] = (struct np_workload_end){ from, to, op,
						 (uint32_t)b->w->line };
	return 0;
}

int np_workload_compute(struct np_workload *b, uint32_t task, double sec)
{
	uint32_t op;

	return add(b, NP_REPLAY_COMPUTE, task, sec, 0, &op);
}

int np_workload_send(struct np_workload *b, uint32_t task, uint32_t to,
		     uint64_t bytes, bool blocking)
{
	uint32_t op;
	int rc = add(b, NP_REPLAY_SEND, task, 0, bytes, &op);

	if (!rc)
		rc = note(b, &b->sends, task, to, op);
	return rc || blocking ? rc : pend(b, task, op);
}

int np_workload_recv(struct np_workload *b, uint32_t task, uint32_t from,
		     bool blocking)
{
	uint32_t op;
	int rc = add(b, NP_REPLAY_RECV, task, 0, 0, &op);

	if (!rc)
		rc = note(b, &b->recvs, from, task, op);
	return rc || blocking ? rc : pend(b, task, op);
}

int np_workload_wait(struct np_workload *b, uint32_t task)
{
	struct np_workload_task *t = &b->task[task];
	uint32_t op;
	int rc;

	if (!t->n_pending)
		return 0;
	rc = add(b, NP_REPLAY_COMPUTE, task, 0, 0, &op);
	for (size_t i = 0; !rc && i < t->n_pending; i++)
		rc = np_replay_depend(b->app, op, t->pending[i], false, b->err);
	t->n_pending = 0;
	return rc;
}

/* One operation waits for all, and all wait for it. */
int np_workload_barrier(struct np_workload *b)
{
	uint32_t first = 0, op = 0;
	int rc;

	while (!b->named[first])
		first++;
	rc = add(b, NP_REPLAY_COMPUTE, first, 0, 0, &op);
	for (uint32_t t = first + 1; !rc && t < b->n_tasks; t++) {
		struct np_workload_task *k = &b->task[t];

		if (!b->named[t])
			continue;
		if (k->any)
			rc = np_replay_depend(b->app, op, k->last, k->posted,
					      b->err);
		k->last = op;
		k->any = true;
		k->posted = false;
	}
	return rc;
}

static int by_ends(const void *a, const void *b)
{
	const struct np_workload_end *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->op > y->op) - (x->op < y->op);
}

static int same_ends(const struct np_workload_end *a,
		     const struct np_workload_end *b)
{
	return a->from == b->from && a->to == b->to;
}

/* The first that has no other end: what sorts first. */
static int unmet(struct np_workload *b, const struct np_workload_end *s,
		 const struct np_workload_end *r)
{
	bool send = s && (!r || s->from < r->from ||
			  (s->from == r->from && s->to < r->to));
	const struct np_workload_end *e = send ? s : r;

	return np_errf(b->err, -EINVAL, "%s:%u: task %u sends %s to %u than "
		       "that receives", b->w->source, e->line, e->from,
		       send ? "more" : "fewer", e->to);
}

int np_workload_meet(struct np_workload *b)
{
	struct np_workload_end *s = b->sends.e, *r = b->recvs.e;
	size_t n = b->sends.n < b->recvs.n ? b->sends.n : b->recvs.n;

	if (b->sends.n)
		qsort(s, b->sends.n, sizeof(*s), by_ends);
	if (b->recvs.n)
		qsort(r, b->recvs.n, sizeof(*r), by_ends);
	for (size_t i = 0; i < n; i++) {
		if (!same_ends(&s[i], &r[i]))
			return unmet(b, &s[i], &r[i]);
		np_replay_meet(b->app, s[i].op, r[i].op);
	}
	if (b->sends.n != b->recvs.n)
		return unmet(b, n < b->sends.n ? &s[n] : NULL,
			     n < b->recvs.n ? &r[n] : NULL);
	return np_replay_finish(b->app, b->err);
}
