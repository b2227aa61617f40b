#include "np_replay.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_graph.h"
#include "np_read.h"
#include "np_rng.h"
#include "np_words.h"

/*
 * Programs as lists of operations with dependencies, and their simulation on a
 * network whose messages slow each other down (np_sharing.h).
 *
 * The simulation is driven by events: a computation or the latency of a message
 * is over (a timer), or a message has left the network (np_flows). An
 * operation begins once all that it waits for have ended or begun; what can
 * begin at the same time is in a queue.
 */

/* ---- Programs ---- */

/* Of a send or receive: its match is not known yet. */
#define NO_MATCH UINT32_MAX

/* An operation that waits for another. */
struct np_replay_next {
	uint32_t op;
	bool on_start; /* waits for the start, not for the end */
};

/* A dependency as it is added: next.op waits for before. */
struct np_replay_dep {
	uint32_t before;
	struct np_replay_next next;
};

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
		return np_errf(err, -EINVAL,
			       "task %u computes %g s, expected 0 or more",
			       op->task, op->sec);
	if (a->n_ops == NP_REPLAY_MAX_OPS)
		return np_errf(err, -E2BIG, "more than %zu operations",
			       NP_REPLAY_MAX_OPS);
	if (np_array_grow(&a->op, a->n_ops, sizeof(*a->op)))
		return np_errf(err, -ENOMEM, "out of memory");
	a->op[a->n_ops] = *op;
	a->op[a->n_ops].match = NO_MATCH;
	*index = (uint32_t)a->n_ops++;
	return 0;
}

int np_replay_depend(struct np_replay_app *a, uint32_t after, uint32_t before,
		     bool on_start, struct np_err *err)
{
	if (np_array_grow(&a->dep, a->n_deps, sizeof(*a->dep)))
		return np_errf(err, -ENOMEM, "out of memory");
	a->dep[a->n_deps++] =
		(struct np_replay_dep){ before, { after, on_start } };
	return 0;
}

void np_replay_match(struct np_replay_app *a, uint32_t send, uint32_t recv)
{
	a->op[send].match = recv;
	a->op[recv].match = send;
}

/* Checks that each send and receive has a match. */
static int check_matches(const struct np_replay_app *a, struct np_err *err)
{
	for (size_t i = 0; i < a->n_ops; i++) {
		const struct np_replay_op *op = &a->op[i];

		if (op->kind != NP_REPLAY_COMPUTE && op->match == NO_MATCH)
			return np_errf(
				err, -EINVAL,
				"task %u: operation %zu, a %s, has no match",
				op->task, i,
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
	/*
	 * Counting sort by the operation that is waited for. The counts are
	 * two places ahead, and the last loop moves them back by one; first[]
	 * is then as struct np_replay_app describes it.
	 */
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

/* Adds the operations of a rank, which get consecutive numbers. */
static int add_rank(struct np_replay_app *a, const struct np_graph *g,
		    uint32_t rank, struct np_err *err)
{
	static const enum np_replay_kind kind[] = {
		[NP_OP_CALC] = NP_REPLAY_COMPUTE,
		[NP_OP_SEND] = NP_REPLAY_SEND,
		[NP_OP_RECV] = NP_REPLAY_RECV,
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

/* Adds the dependencies and matches of a rank. */
static int link_rank(struct np_replay_app *a, const struct np_graph *g,
		     uint32_t rank, const uint32_t *base, struct np_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < np_graph_rank_ops(g, rank); i++) {
		uint32_t y, peer, peer_i, at = base[rank] + i;
		enum np_dep_kind kind;

		for (size_t n = 0;
		     !rc && np_graph_dep(g, rank, i, n, &y, &kind); n++)
			rc = np_replay_depend(a, at, base[rank] + y,
					      kind == NP_IREQUIRES, err);
		if (a->op[at].kind != NP_REPLAY_SEND)
			continue;
		np_graph_peer(g, rank, i, &peer, &peer_i);
		np_replay_match(a, at, base[peer] + peer_i);
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

/* ---- Simulation ---- */

/* Progress of an operation (flags). */
enum {
	BEGUN = 1,
	ENDED = 2,
	ARRIVED = 4, /* of a receive: its message is there */
	MOVES = 8,   /* of a send: its message is on its way, or has arrived */
};

/* An operation in the current run of its job. */
struct state {
	uint32_t n_wait; /* operations that it still waits for */
	uint8_t flags;
	double start_sec; /* of a send: when its message began */
};

/* Operations are numbered over all jobs: base of the job + number within it. */
struct job_state {
	struct np_replay_job *job;
	size_t base, n_left; /* n_left: operations that have not ended */
	double begun_sec;    /* of the current run */
};

/* The end of a computation, or of the latency of a message. */
struct timer {
	double at_sec;
	uint64_t order; /* of setting; decides between equal times */
	size_t id;	/* the operation */
};

/* A simulation of one or more jobs on a network. */
struct play {
	const struct np_replay_net *net;
	struct np_sharing_param param;
	struct np_flows *flows;
	/*
	 * A binary heap: no timer is due before its parent, which is at index
	 * (i - 1) / 2. Timers for the same time are due in the order in which
	 * they were set, so that a simulation always gives the same result.
	 */
	struct timer *timer;
	size_t n_timers, max_timers;
	uint64_t n_set; /* timers set so far */
	struct job_state *job_state;
	size_t n_ops, n_running; /* jobs that have not completed a run */
	struct state *state;
	uint32_t *job_of_op; /* by operation */
	size_t *queue;	     /* operations that can begin; ring buffer */
	size_t q_at, q_n;
	bool again; /* jobs that end start again while others still run */
	double now_sec;
	uint64_t n_events;
	struct np_err *err;
};

/* The job that an operation belongs to. */
static struct job_state *job_of(struct play *p, size_t id)
{
	return &p->job_state[p->job_of_op[id]];
}

/* An operation by its number over all jobs. */
static const struct np_replay_op *op_of(struct play *p, size_t id)
{
	struct job_state *at = job_of(p, id);

	return &at->job->app->op[id - at->base];
}

/*
 * Where to record the times of an operation; NULL if that is not wanted, or not
 * in this run.
 */
static struct np_replay_span *span_of(struct play *p, size_t id)
{
	struct job_state *at = job_of(p, id);

	return at->job->span && !at->job->runs ? &at->job->span[id - at->base] :
						 NULL;
}

/* Where to record results of an operation's task; NULL as above. */
static struct np_replay_task *task_of(struct play *p, size_t id)
{
	struct job_state *at = job_of(p, id);

	return at->job->task && !at->job->runs ?
		     &at->job->task[op_of(p, id)->task] :
		     NULL;
}

/* Appends an operation to the queue of those that can begin. */
static void push(struct play *p, size_t id)
{
	p->queue[(p->q_at + p->q_n++) % p->n_ops] = id;
}

/* Starts a run of a job: queues the operations that wait for nothing. */
static void begin_job(struct play *p, size_t k)
{
	struct job_state *at = &p->job_state[k];
	const struct np_replay_app *a = at->job->app;

	at->n_left = a->n_ops;
	at->begun_sec = p->now_sec;
	for (size_t i = 0; i < a->n_ops; i++) {
		p->state[at->base + i] = (struct state){ a->n_before[i], 0, 0 };
		if (!a->n_before[i])
			push(p, at->base + i);
	}
}

/* Queues operations that waited only for the start, or the end, of this one. */
static void release(struct play *p, size_t id, bool on_start)
{
	struct job_state *at = job_of(p, id);
	const struct np_replay_app *a = at->job->app;
	size_t i = id - at->base;

	for (size_t k = a->first[i]; k < a->first[i + 1]; k++) {
		size_t next = at->base + a->next[k].op;

		if (a->next[k].on_start == on_start && !--p->state[next].n_wait)
			push(p, next);
	}
}

/* Ends a run of a job, and starts it again if others still run. */
static void end_job(struct play *p, size_t k)
{
	struct np_replay_job *j = p->job_state[k].job;

	if (!j->runs++) {
		j->end_sec = p->now_sec;
		p->n_running--;
	}
	/* A job that takes no time would start again for ever. */
	if (p->again && p->n_running && p->now_sec > p->job_state[k].begun_sec)
		begin_job(p, k);
}

/* Ends an operation, and the job with its last one. */
static void end_op(struct play *p, size_t id)
{
	struct np_replay_span *s = span_of(p, id);
	struct np_replay_task *t = task_of(p, id);
	const struct np_replay_op *op = op_of(p, id);

	p->state[id].flags |= ENDED;
	p->n_events++;
	if (s)
		s->end_sec = p->now_sec;
	if (t)
		t->end_sec = p->now_sec;
	if (t && op->kind == NP_REPLAY_COMPUTE)
		t->compute_sec += op->sec;
	release(p, id, false);
	if (!--job_of(p, id)->n_left)
		end_job(p, p->job_of_op[id]);
}

/* Whether timer a is due before timer b. */
static bool is_before(const struct timer *a, const struct timer *b)
{
	return a->at_sec != b->at_sec ? a->at_sec < b->at_sec :
					a->order < b->order;
}

/* Sets a timer for an operation. */
static int set_timer(struct play *p, double sec, size_t id)
{
	struct timer new = { p->now_sec + sec, p->n_set++, id };
	size_t i = p->n_timers;

	if (NP_ARRAY_PUSH(p->timer, p->n_timers, p->max_timers, new))
		return np_errf(p->err, -ENOMEM, "out of memory");
	for (; i && is_before(&new, &p->timer[(i - 1) / 2]); i = (i - 1) / 2)
		p->timer[i] = p->timer[(i - 1) / 2];
	p->timer[i] = new;
	return 0;
}

/* Removes the first timer. The last one takes its place, and sinks from there. */
static size_t take_timer(struct play *p)
{
	struct timer first = p->timer[0], last = p->timer[--p->n_timers];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < p->n_timers; i = child) {
		if (child + 1 < p->n_timers &&
		    is_before(&p->timer[child + 1], &p->timer[child]))
			child++;
		if (!is_before(&p->timer[child], &last))
			break;
		p->timer[i] = p->timer[child];
	}
	p->timer[i] = last;
	return first.id;
}

/* The operation at the other end of a message. */
static size_t match_of(struct play *p, size_t id)
{
	return job_of(p, id)->base + op_of(p, id)->match;
}

/* Whether a send ends at once instead of waiting for its receive. */
static bool is_eager(struct play *p, size_t send)
{
	return op_of(p, send)->bytes <= p->net->eager_bytes;
}

/*
 * Starts the message of a send unless that was done: once the send has begun,
 * and if it is not eager, once the receive has begun, too.
 */
static int try_message(struct play *p, size_t send)
{
	struct state *s = &p->state[send];

	if (s->flags & MOVES || !(s->flags & BEGUN))
		return 0;
	if (!is_eager(p, send) && !(p->state[match_of(p, send)].flags & BEGUN))
		return 0;
	s->flags |= MOVES;
	s->start_sec = p->now_sec;
	return set_timer(p, p->net->latency_sec, send);
}

/* After the latency, the message occupies the network. */
static int start_flow(struct play *p, size_t send)
{
	const struct np_replay_op *op = op_of(p, send);
	struct job_state *at = job_of(p, send);
	const struct np_comm c = {
		at->job->node_of[op->task],
		at->job->node_of[at->job->app->op[op->match].task]
	};

	return np_flows_start(p->flows, p->now_sec, c,
			      (double)op->bytes / p->net->bytes_per_sec, send,
			      p->err);
}

/* Records penalty and conflicts of a message. */
static void record_message(struct play *p, size_t send,
			   const struct np_flow_end *end)
{
	struct np_replay_span *s = span_of(p, send);
	struct np_replay_task *t = task_of(p, send);
	double alone = p->net->latency_sec +
		       (double)op_of(p, send)->bytes / p->net->bytes_per_sec;
	double took = p->now_sec - p->state[send].start_sec;
	double penalty = alone > 0 ? fmax(took / alone, 1) : 1;

	if (s) {
		s->penalty = penalty;
		s->conflicts = end->conflicts;
	}
	if (t) {
		t->messages++;
		t->bytes += op_of(p, send)->bytes;
		t->mean_penalty += penalty;
		t->mean_conflicts += end->conflicts;
	}
}

/*
 * A message has arrived: ends the receive if it is posted, and a send that is
 * not eager.
 */
static void end_message(struct play *p, const struct np_flow_end *end)
{
	size_t send = end->id, recv = match_of(p, send);

	p->n_events++;
	record_message(p, send, end);
	p->state[recv].flags |= ARRIVED;
	if (!is_eager(p, send))
		end_op(p, send);
	if (p->state[recv].flags & BEGUN)
		end_op(p, recv);
}

/* Begins an operation; what it starts depends on its kind. */
static int begin_op(struct play *p, size_t id)
{
	const struct np_replay_op *op = op_of(p, id);
	struct np_replay_span *span = span_of(p, id);
	int rc;

	p->state[id].flags |= BEGUN;
	if (span)
		span->start_sec = p->now_sec;
	release(p, id, true);
	switch (op->kind) {
	case NP_REPLAY_COMPUTE:
		return set_timer(p, op->sec, id);
	case NP_REPLAY_SEND:
		rc = try_message(p, id);
		if (!rc && is_eager(p, id))
			end_op(p, id);
		return rc;
	default:
		if (!(p->state[id].flags & ARRIVED))
			return try_message(p, match_of(p, id));
		end_op(p, id);
		return 0;
	}
}

/* Begins all operations that can begin now. */
static int begin_ops(struct play *p)
{
	int rc = 0;

	while (!rc && p->q_n) {
		size_t id = p->queue[p->q_at];

		p->q_at = (p->q_at + 1) % p->n_ops;
		p->q_n--;
		rc = begin_op(p, id);
	}
	return rc;
}

/* Error message about a simulation in which nothing can continue. */
static int deadlock_error(struct play *p)
{
	for (size_t id = 0; id < p->n_ops; id++) {
		const struct np_replay_op *op = op_of(p, id);
		struct job_state *at = job_of(p, id);

		if ((p->state[id].flags & (BEGUN | ENDED)) != BEGUN)
			continue;
		return np_errf(p->err, -EDEADLK,
			       "deadlock after %g s: task %u %s task %u%s",
			       p->now_sec, op->task,
			       op->kind == NP_REPLAY_SEND ?
				       "waits to send to" :
				       "waits to receive from",
			       at->job->app->op[op->match].task,
			       op->kind == NP_REPLAY_SEND ?
				       "; sends of at most --eager bytes do "
				       "not wait" :
				       "");
	}
	return np_errf(p->err, -EDEADLK,
		       "deadlock after %g s: operations wait for each other",
		       p->now_sec);
}

/*
 * Advances to the next event and handles all events at that time. Timers come
 * before messages, and operations that may begin come last, so that they find
 * the network as it is after all of these.
 */
static int step(struct play *p)
{
	struct np_flow_end end;
	double now;
	int rc = np_flows_next(p->flows, &now, p->err);

	if (rc)
		return rc;
	if (p->n_timers)
		now = fmin(now, p->timer[0].at_sec);
	if (isinf(now))
		return deadlock_error(p);
	p->now_sec = fmax(p->now_sec, now);
	while (!rc && p->n_timers && p->timer[0].at_sec <= p->now_sec) {
		size_t id = take_timer(p);

		if (op_of(p, id)->kind == NP_REPLAY_COMPUTE)
			end_op(p, id);
		else
			rc = start_flow(p, id);
	}
	while (!rc && np_flows_ended(p->flows, p->now_sec, &end))
		end_message(p, &end);
	return rc ? rc : begin_ops(p);
}

/* Checks the network and the nodes of all tasks. */
static int check(const struct np_replay_net *net, struct np_replay_job *job,
		 size_t n, struct np_err *err)
{
	if (!(net->latency_sec >= 0 && isfinite(net->latency_sec)))
		return np_errf(err, -EINVAL,
			       "a latency of %g s, expected 0 or more",
			       net->latency_sec);
	if (!(net->bytes_per_sec > 0 && isfinite(net->bytes_per_sec)))
		return np_errf(err, -EINVAL,
			       "a bandwidth of %g bytes a second, expected "
			       "more than 0",
			       net->bytes_per_sec);
	for (size_t k = 0; k < n; k++)
		for (uint32_t t = 0; t < job[k].app->n_tasks; t++)
			if (job[k].node_of[t] >= net->n_nodes)
				return np_errf(
					err, -EINVAL,
					"task %u on node %u, expected 0 to %u",
					t, job[k].node_of[t], net->n_nodes - 1);
	return 0;
}

/* Allocates the state of all operations. */
static int alloc_state(struct play *p)
{
	p->state = calloc(p->n_ops + 1, sizeof(*p->state));
	p->job_of_op = calloc(p->n_ops + 1, sizeof(*p->job_of_op));
	p->queue = calloc(p->n_ops + 1, sizeof(*p->queue));
	return p->state && p->job_of_op && p->queue ?
		       0 :
		       np_errf(p->err, -ENOMEM, "out of memory");
}

/* Allocates the state of all jobs. */
static int open_play(struct play *p, struct np_replay_job *job, size_t n)
{
	int rc;

	p->job_state = calloc(n + 1, sizeof(*p->job_state));
	if (!p->job_state)
		return np_errf(p->err, -ENOMEM, "out of memory");
	p->n_running = n;
	for (size_t k = 0; k < n; k++) {
		p->job_state[k] =
			(struct job_state){ .job = &job[k], .base = p->n_ops };
		p->n_ops += job[k].app->n_ops;
		job[k].runs = 0;
		job[k].end_sec = 0;
		if (job[k].task)
			memset(job[k].task, 0,
			       job[k].app->n_tasks * sizeof(*job[k].task));
		if (job[k].span)
			memset(job[k].span, 0,
			       job[k].app->n_ops * sizeof(*job[k].span));
	}
	rc = alloc_state(p);
	if (rc)
		return rc;
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < job[k].app->n_ops; i++)
			p->job_of_op[p->job_state[k].base + i] = (uint32_t)k;
	return np_flows_new(p->net->model, &p->param, p->net->n_nodes,
			    &p->flows, p->err);
}

/* Converts sums to means. */
static void close_tasks(struct np_replay_job *j)
{
	for (uint32_t t = 0; j->task && t < j->app->n_tasks; t++) {
		struct np_replay_task *s = &j->task[t];
		double n = (double)s->messages;

		s->wait_sec = fmax(s->end_sec - s->compute_sec, 0);
		s->mean_penalty = n > 0 ? s->mean_penalty / n : NAN;
		s->mean_conflicts = n > 0 ? s->mean_conflicts / n : NAN;
	}
}

int np_replay_run(const struct np_replay_net *net, struct np_replay_job *job,
		  size_t n, bool again, uint64_t *n_events, struct np_err *err)
{
	struct play p = {
		.net = net, .param = net->param, .again = again, .err = err
	};
	int rc = check(net, job, n, err);

	p.param.local = true;
	if (!rc)
		rc = open_play(&p, job, n);
	for (size_t k = 0; !rc && k < n; k++) {
		if (job[k].app->n_ops)
			begin_job(&p, k);
		else
			job[k].runs = 1, p.n_running--;
	}
	if (!rc)
		rc = begin_ops(&p);
	while (!rc && p.n_running)
		rc = net->max_events && p.n_events > net->max_events ?
			     np_errf(err, -E2BIG, "more than %llu events",
				     (unsigned long long)net->max_events) :
			     step(&p);
	for (size_t k = 0; !rc && k < n; k++)
		close_tasks(&job[k]);
	if (!rc && n_events)
		*n_events = p.n_events;
	np_flows_free(p.flows);
	free(p.timer);
	free(p.job_state);
	free(p.state);
	free(p.job_of_op);
	free(p.queue);
	return rc;
}

/* ---- Mapping of tasks to nodes ---- */

/* Draws from the remaining cores (Fisher-Yates shuffle). */
static int map_randomly(uint32_t n_tasks, uint32_t n_nodes, uint32_t cores,
			uint64_t seed, uint32_t *node_of, struct np_err *err)
{
	size_t n = (size_t)n_nodes * cores;
	uint32_t *core = calloc(n, sizeof(*core));
	struct np_rng *r = np_rng_new(seed, "mapping");
	int rc = core && r ? 0 : np_errf(err, -ENOMEM, "out of memory");

	for (size_t i = 0; !rc && i < n; i++)
		core[i] = (uint32_t)i;
	for (uint32_t t = 0; !rc && t < n_tasks; t++) {
		size_t at = t + np_rng_below(r, n - t);
		uint32_t taken = core[at];

		core[at] = core[t];
		node_of[t] = taken / cores;
	}
	np_rng_free(r);
	free(core);
	return rc;
}

int np_mapping_make(enum np_mapping how, uint32_t n_tasks, uint32_t n_nodes,
		    uint32_t cores, uint64_t seed, uint32_t *node_of,
		    struct np_err *err)
{
	if (n_tasks > (uint64_t)n_nodes * cores)
		return np_errf(err, -EINVAL,
			       "%u tasks, and %u node%s of %u core%s: expected "
			       "no more tasks than cores",
			       n_tasks, n_nodes, n_nodes == 1 ? "" : "s", cores,
			       cores == 1 ? "" : "s");
	if (how == NP_MAPPING_RANDOM)
		return map_randomly(n_tasks, n_nodes, cores, seed, node_of,
				    err);
	for (uint32_t t = 0; t < n_tasks; t++)
		node_of[t] = how == NP_MAPPING_NODE ? t % n_nodes : t / cores;
	return 0;
}
/*
 * Reads netprof-workload(5), descriptions of programs. Lines are executed while
 * they are read: repeats move the reader back. Each task remembers its last
 * operation, which the next one depends on. Sends and receives are matched at
 * the end, when all are known.
 */

#define BYTES ((uint64_t)1 << 20)     /* default message size */
#define MAX_BYTES ((uint64_t)1 << 40) /* of a message */
#define MAX_REPEATS 1000000u	      /* of one repeat line */

/*
 * One end of a message; the k-th send from one task to another matches the k-th
 * receive.
 */
struct end {
	uint32_t from, to, op;
	uint32_t line; /* for error messages */
};

/* All sends, or all receives. */
struct ends {
	struct end *e;
	size_t n;
};

/* State of a task while reading. */
struct task {
	uint32_t last; /* operation that the next one follows */
	/* any: last is valid; posted: the next one waits only for its start */
	bool any, posted;
	uint32_t *pending; /* nonblocking operations that were not waited for */
	size_t n_pending;
};

/* State of the reader of a file. */
struct reader {
	struct np_words w;
	struct np_replay_app *app;
	uint32_t n_tasks;
	struct task *task;
	uint64_t bytes; /* default message size */
	struct ends sends, recvs;
	bool *named;   /* tasks selected by this line */
	bool blocking; /* whether the operations of this line block */
	/* operation of the barrier in this line; UINT32_MAX: none yet */
	uint32_t barrier;
	/* Open repeats: where they begin, and the remaining iterations. */
	struct loop {
		const char *at;
		size_t line;
		uint64_t left;
	} loop[NP_WORKLOAD_DEPTH];
	size_t depth, n_steps;
};

/* Record the first error, with the number of the current line. */
#define BAD(r, ...) np_words_fail(&(r)->w, -EINVAL, __VA_ARGS__)
#define TOO_BIG(r, ...) np_words_fail(&(r)->w, -E2BIG, __VA_ARGS__)

/* ---- Operations ---- */

/* Makes op follow the last operation of a task, and the new last one. */
static void follow(struct reader *r, uint32_t task, uint32_t op)
{
	struct task *t = &r->task[task];

	if (!r->w.rc && t->any)
		r->w.rc = np_replay_depend(r->app, op, t->last, t->posted,
					   r->w.err);
	t->last = op;
	t->any = true;
	t->posted = false;
}

/* Adds an operation that follows the last one of its task. */
static uint32_t add_op(struct reader *r, enum np_replay_kind kind,
		       uint32_t task, double sec, uint64_t bytes)
{
	const struct np_replay_op o = { kind, task, sec, bytes, 0 };
	uint32_t op = 0;

	if (r->app->n_ops == NP_WORKLOAD_MAX_OPS)
		TOO_BIG(r, "more than %zu operations", NP_WORKLOAD_MAX_OPS);
	if (!r->w.rc)
		r->w.rc = np_replay_add(r->app, &o, &op, r->w.err);
	follow(r, task, op);
	return op;
}

/* Adds one end of a message. A nonblocking one must be waited for. */
static void add_end(struct reader *r, enum np_replay_kind kind, uint32_t task,
		    uint32_t peer, uint64_t bytes)
{
	bool sends = kind == NP_REPLAY_SEND;
	struct ends *e = sends ? &r->sends : &r->recvs;
	struct task *t = &r->task[task];
	uint32_t op = add_op(r, kind, task, 0, bytes);

	if (np_array_grow(&e->e, e->n, sizeof(*e->e)) ||
	    (!r->blocking &&
	     np_array_grow(&t->pending, t->n_pending, sizeof(*t->pending)))) {
		np_words_no_memory(&r->w);
		return;
	}
	e->e[e->n++] = (struct end){ sends ? task : peer, sends ? peer : task,
				     op, (uint32_t)r->w.line };
	t->posted = !r->blocking;
	if (!r->blocking)
		t->pending[t->n_pending++] = op;
}

/* Adds an operation that waits for all nonblocking ones of a task. */
static void add_wait(struct reader *r, uint32_t task)
{
	struct task *t = &r->task[task];
	uint32_t op = t->n_pending ? add_op(r, NP_REPLAY_COMPUTE, task, 0, 0) :
				     0;

	for (size_t i = 0; !r->w.rc && i < t->n_pending; i++)
		r->w.rc = np_replay_depend(r->app, op, t->pending[i], false,
					   r->w.err);
	t->n_pending = 0;
}

/* ---- Matching of sends and receives ---- */

/* By sender, receiver, and order in the program. */
static int by_ends(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (x->op > y->op) - (x->op < y->op);
}

/* Reports the first unmatched end, in sorting order. */
static void unmatched_error(struct reader *r, const struct end *send,
			    const struct end *recv)
{
	bool more = send && (!recv || send->from < recv->from ||
			     (send->from == recv->from && send->to < recv->to));
	const struct end *e = more ? send : recv;

	r->w.rc = np_errf(r->w.err, -EINVAL,
			  "%s:%u: task %u sends %s messages to task %u than "
			  "that task receives",
			  r->w.source, e->line, e->from,
			  more ? "more" : "fewer", e->to);
}

/* Matches sends and receives of each pair of tasks in order. */
static void match_ends(struct reader *r)
{
	const struct end *s = r->sends.e, *v = r->recvs.e;
	size_t n = r->sends.n, m = r->recvs.n, i;

	if (n)
		qsort(r->sends.e, n, sizeof(*s), by_ends);
	if (m)
		qsort(r->recvs.e, m, sizeof(*v), by_ends);
	for (i = 0;
	     i < n && i < m && s[i].from == v[i].from && s[i].to == v[i].to;
	     i++)
		np_replay_match(r->app, s[i].op, v[i].op);
	if (i < n || i < m)
		unmatched_error(r, i < n ? &s[i] : NULL, i < m ? &v[i] : NULL);
	else
		r->w.rc = np_replay_finish(r->app, r->w.err);
}

/* ---- Lists of tasks: "all", "3", "0-2,5" ---- */

/* Selects the tasks of "3" or "0-2". */
static int name_range(struct reader *r, const char *text)
{
	char *end;
	unsigned long from, to;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	from = to = strtoul(text, &end, 10);
	if (*end == '-' && isdigit((unsigned char)end[1]))
		to = strtoul(end + 1, &end, 10);
	if (*end || from > to || to >= r->n_tasks)
		return -EINVAL;
	memset(r->named + from, true, to - from + 1);
	return 0;
}

/* Selects the tasks of the first word. */
static int name_tasks(struct reader *r)
{
	char *list = r->w.word[0], *save = NULL;
	bool all, good;

	list[strlen(list) - 1] = '\0';
	all = !strcmp(list, "all");
	memset(r->named, all, r->n_tasks);
	good = *list;
	for (char *p = all ? NULL : strtok_r(list, ",", &save); p && good;
	     p = strtok_r(NULL, ",", &save))
		good = !name_range(r, p);
	return good ? 0 :
		      BAD(r,
			  "tasks \"%.40s\": expected all, or numbers and "
			  "ranges as 0-2,5, below %u",
			  list, r->n_tasks);
}

/*
 * Parses word 2 as a peer: "3", "+1" or "-1", from the perspective of a task.
 * *back: the task whose peer this one is.
 */
static uint32_t peer_of(struct reader *r, uint32_t task, uint32_t *back)
{
	const char *text = np_words_at(&r->w, 2);
	bool relative = *text == '+' || *text == '-';
	const char *digits = text + relative;
	uint32_t n = r->n_tasks, up, down;
	unsigned long v;
	char *end = NULL;

	v = isdigit((unsigned char)*digits) ? strtoul(digits, &end, 10) : 0;
	if (!end || *end || v >= n) {
		BAD(r,
		    "peer \"%.40s\": expected a task below %u, or +1 or -1 for "
		    "the next and the previous one",
		    text, n);
		v = 0;
	}
	up = relative ? (task + (uint32_t)v) % n : (uint32_t)v;
	down = relative ? (task + n - (uint32_t)v) % n : up;
	*back = *text == '-' ? up : down;
	return *text == '-' ? down : up;
}

/* Fails if the line has more than n words. */
static void expect_end(struct reader *r, size_t n)
{
	if (r->w.n > n)
		BAD(r, "\"%.40s\": unexpected argument", r->w.word[n]);
}

/* Parses [SIZE] as word i, which must be the last. */
static uint64_t size_at(struct reader *r, size_t i)
{
	uint64_t bytes = i < r->w.n ? np_words_bytes(&r->w, i, MAX_BYTES) :
				      r->bytes;

	expect_end(r, i + 1);
	return bytes;
}

/* ---- Events ---- */

static void event_compute(struct reader *r, uint32_t task)
{
	double sec = np_words_time(&r->w, 2);

	expect_end(r, 3);
	add_op(r, NP_REPLAY_COMPUTE, task, sec, 0);
}

static void event_send(struct reader *r, uint32_t task)
{
	uint32_t back, to = peer_of(r, task, &back);

	add_end(r, NP_REPLAY_SEND, task, to, size_at(r, 3));
}

static void event_recv(struct reader *r, uint32_t task)
{
	uint32_t back, from = peer_of(r, task, &back);

	expect_end(r, 3);
	add_end(r, NP_REPLAY_RECV, task, from, 0);
}

static void event_wait(struct reader *r, uint32_t task)
{
	expect_end(r, 2);
	add_wait(r, task);
}

/* Sends to one side and receives from the other. */
static void event_exchange(struct reader *r, uint32_t task)
{
	uint32_t from, to = peer_of(r, task, &from);
	uint64_t bytes = size_at(r, 3);

	add_end(r, NP_REPLAY_RECV, task, from, 0);
	add_end(r, NP_REPLAY_SEND, task, to, bytes);
	add_wait(r, task);
}

/* Exchanges with all tasks of the line, beginning with the next one. */
static void event_alltoall(struct reader *r, uint32_t task)
{
	uint32_t n = r->n_tasks;
	uint64_t bytes = size_at(r, 2);

	for (uint32_t k = 1; !r->w.rc && k < n; k++)
		if (r->named[(task + n - k) % n])
			add_end(r, NP_REPLAY_RECV, task, (task + n - k) % n, 0);
	for (uint32_t k = 1; !r->w.rc && k < n; k++)
		if (r->named[(task + k) % n])
			add_end(r, NP_REPLAY_SEND, task, (task + k) % n, bytes);
	add_wait(r, task);
}

/* One operation that waits for all tasks, and that all wait for. */
static void event_barrier(struct reader *r, uint32_t task)
{
	expect_end(r, 2);
	if (r->barrier == UINT32_MAX)
		r->barrier = add_op(r, NP_REPLAY_COMPUTE, task, 0, 0);
	else
		follow(r, task, r->barrier);
}

static const struct {
	const char *name;
	void (*of_task)(struct reader *r, uint32_t task);
	bool blocking;
} events[] = {
	{ "compute", event_compute },	{ "send", event_send, true },
	{ "recv", event_recv, true },	{ "isend", event_send },
	{ "irecv", event_recv },	{ "wait", event_wait },
	{ "exchange", event_exchange }, { "alltoall", event_alltoall },
	{ "barrier", event_barrier },
};

/* Reads "TASKS: EVENT" and executes it for each selected task. */
static void line_event(struct reader *r)
{
	size_t i = 0;

	if (name_tasks(r))
		return;
	r->barrier = UINT32_MAX;
	while (i < NP_ARRAY_SIZE(events) &&
	       !np_words_is(&r->w, 1, events[i].name))
		i++;
	if (i == NP_ARRAY_SIZE(events)) {
		BAD(r,
		    "\"%.40s\": expected compute, send, recv, isend, irecv, "
		    "wait, exchange, alltoall or barrier",
		    np_words_at(&r->w, 1));
		return;
	}
	r->blocking = events[i].blocking;
	for (uint32_t t = 0; !r->w.rc && t < r->n_tasks; t++)
		if (r->named[t])
			events[i].of_task(r, t);
}

/* ---- Settings and repeats ---- */

/* Reads "tasks N". */
static void line_tasks(struct reader *r)
{
	uint64_t n = np_words_count(&r->w, 1, NP_WORKLOAD_MAX_TASKS);

	if (r->app || !n || r->w.n > 2)
		BAD(r, "expected tasks N once, at the beginning");
	if (r->w.rc)
		return;
	r->n_tasks = (uint32_t)n;
	r->app = np_replay_app_new(r->n_tasks);
	r->task = calloc(n, sizeof(*r->task));
	r->named = calloc(n, sizeof(*r->named));
	if (!r->app || !r->task || !r->named)
		np_words_no_memory(&r->w);
}

static void line_size(struct reader *r)
{
	r->bytes = np_words_bytes(&r->w, 1, MAX_BYTES);
	expect_end(r, 2);
}

/* Reads "repeat N" and remembers where it begins. */
static void line_repeat(struct reader *r)
{
	uint64_t n = np_words_count(&r->w, 1, MAX_REPEATS);

	if (!n || r->w.n > 2)
		BAD(r, "expected repeat N, 1 or more");
	if (r->depth == NP_WORKLOAD_DEPTH)
		TOO_BIG(r, "repeat: nested more than %d deep",
			NP_WORKLOAD_DEPTH);
	if (!r->w.rc)
		r->loop[r->depth++] =
			(struct loop){ r->w.at, r->w.line, n - 1 };
}

/* Reads "end": goes back to the beginning of the repeat, or past it. */
static void line_end(struct reader *r)
{
	struct loop *l = &r->loop[r->depth];

	if (!r->depth) {
		BAD(r, "end: expected after repeat");
	} else if (!l[-1].left) {
		r->depth--;
	} else {
		l[-1].left--;
		r->w.at = l[-1].at;
		r->w.line = l[-1].line;
	}
}

static const struct {
	const char *name;
	void (*read)(struct reader *r);
} lines[] = {
	{ "tasks", line_tasks },
	{ "size", line_size },
	{ "repeat", line_repeat },
	{ "end", line_end },
};

/* Limits the time for reading, whatever the lines do. */
static bool exceeds_steps(struct reader *r)
{
	size_t n = r->n_tasks;

	r->n_steps += np_words_is(&r->w, 1, "alltoall") ? 1 + n * n : 1 + n;
	return r->n_steps > NP_WORKLOAD_MAX_STEPS;
}

/* Reads a line by its first word. */
static void read_line(struct reader *r)
{
	const char *first = r->w.word[0];

	if (exceeds_steps(r))
		TOO_BIG(r, "more than %zu steps: lines by tasks by repeats",
			NP_WORKLOAD_MAX_STEPS);
	if (!r->app && strcmp(first, "tasks"))
		BAD(r, "\"%.40s\": expected tasks N first", first);
	if (r->w.rc)
		return;
	for (size_t i = 0; i < NP_ARRAY_SIZE(lines); i++)
		if (!strcmp(first, lines[i].name)) {
			lines[i].read(r);
			return;
		}
	if (first[strlen(first) - 1] == ':')
		line_event(r);
	else
		BAD(r, "\"%.40s\": expected size, repeat, end or TASKS: EVENT",
		    first);
}

/* Reads all lines, then matches sends and receives. */
static int read_all(struct reader *r)
{
	while (np_words_next(&r->w))
		read_line(r);
	if (r->w.rc)
		return r->w.rc;
	if (!r->app)
		return np_errf(r->w.err, -EINVAL, "%s: contains no program",
			       r->w.source);
	if (r->depth)
		return BAD(r, "repeat in line %zu has no end",
			   r->loop[r->depth - 1].line);
	match_ends(r);
	return r->w.rc;
}

int np_workload_parse(const char *text, size_t len, const char *source,
		      struct np_replay_app **out, struct np_err *err)
{
	struct reader r = { .bytes = BYTES };
	int rc;

	np_words_open(&r.w, text, len, source, err);
	rc = read_all(&r);
	if (rc)
		np_replay_app_free(r.app);
	else
		*out = r.app;
	for (uint32_t t = 0; r.task && t < r.n_tasks; t++)
		free(r.task[t].pending);
	free(r.task);
	free(r.named);
	free(r.sends.e);
	free(r.recvs.e);
	return rc;
}

int np_workload_read(const char *path, struct np_replay_app **out,
		     struct np_err *err)
{
	return NP_READ_PARSED(path, NP_WORKLOAD_MAX_FILE_BYTES,
			      np_workload_parse, out, err);
}
