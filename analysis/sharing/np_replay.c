/*
 * Programs as lists of operations with dependencies, and their simulation on a
 * network whose messages slow each other down (np_sharing.h).
 *
 * The simulation is driven by events: a computation or the latency of a message
 * is over (np_timers.h), or a message has left the network (np_flows). An
 * operation begins once all that it waits for have ended or begun; what can
 * begin at the same time is in a queue.
 */
#include "np_replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_graph.h"
#include "np_rng.h"
#include "np_timers.h"

/* ---- Programs ---- */

/* Of a send or receive: its match is not known yet. */
#define NO_MATCH UINT32_MAX

/* An operation that waits for another. */
struct next {
	uint32_t op;
	bool on_start; /* waits for the start, not for the end */
};

/* A dependency as it is added: next.op waits for before. */
struct dep {
	uint32_t before;
	struct next next;
};

struct np_replay_app {
	uint32_t n_tasks;
	size_t n_ops, n_deps;
	struct np_replay_op *op;
	struct dep *dep; /* only until the program is completed */
	/* of operation i: next[first[i]] .. next[first[i + 1] - 1] */
	size_t *first;
	struct next *next;
	uint32_t *n_before; /* by operation: number of dependencies */
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
		return np_errf(err, -EINVAL, "task %u computes %g s, expected "
			       "0 or more", op->task, op->sec);
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
	a->dep[a->n_deps++] = (struct dep){
		before, { after, on_start } };
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

		if (op->kind != NP_REPLAY_COMPUTE &&
		    op->match == NO_MATCH)
			return np_errf(err, -EINVAL, "task %u: operation %zu, "
				       "a %s, has no match", op->task, i,
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

/* Adds the dependencies and matches of a rank. */
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
	double begun_sec; /* of the current run */
};

/* A simulation of one or more jobs on a network. */
struct play {
	const struct np_replay_net *net;
	struct np_sharing_param param;
	struct np_flows *flows;
	struct np_timers timers;
	struct job_state *job_state;
	size_t n_ops, n_running; /* jobs that have not completed a run */
	struct state *state;
	uint32_t *job_of_op; /* by operation */
	size_t *queue;	    /* operations that can begin; ring buffer */
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
	       &at->job->task[op_of(p, id)->task] : NULL;
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

/* Sets a timer for an operation. */
static int set_timer(struct play *p, double sec, size_t id)
{
	return np_timers_set(&p->timers, p->now_sec + sec, id) ?
	       np_errf(p->err, -ENOMEM, "out of memory") : 0;
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
	if (!is_eager(p, send) &&
	    !(p->state[match_of(p, send)].flags & BEGUN))
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
		at->job->node_of[at->job->app->op[op->match].task] };

	return np_flows_start(p->flows, c, (double)op->bytes /
			      p->net->bytes_per_sec, send, p->err);
}

/* Records penalty and conflicts of a message. */
static void record_message(struct play *p, size_t send,
			 const struct np_flow_end *end)
{
	struct np_replay_span *s = span_of(p, send);
	struct np_replay_task *t = task_of(p, send);
	double alone = p->net->latency_sec + (double)op_of(p, send)->bytes /
		       p->net->bytes_per_sec;
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
		return np_errf(p->err, -EDEADLK, "deadlock after %g s: task %u "
			       "%s task %u", p->now_sec,
			       op->task, op->kind == NP_REPLAY_SEND ?
			       "waits to send to" : "waits to receive from",
			       at->job->app->op[op->match].task);
	}
	return np_errf(p->err, -EDEADLK, "deadlock after %g s: operations wait "
		       "for each other", p->now_sec);
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
	size_t id;
	int rc = np_flows_next(p->flows, &now, p->err);

	if (rc)
		return rc;
	now = fmin(now, np_timers_next(&p->timers));
	if (isinf(now))
		return deadlock_error(p);
	p->now_sec = fmax(p->now_sec, now);
	np_flows_advance(p->flows, p->now_sec);
	while (!rc && np_timers_due(&p->timers, p->now_sec, &id)) {
		if (op_of(p, id)->kind == NP_REPLAY_COMPUTE)
			end_op(p, id);
		else
			rc = start_flow(p, id);
	}
	while (!rc && np_flows_ended(p->flows, &end))
		end_message(p, &end);
	return rc ? rc : begin_ops(p);
}

/* Checks the network and the nodes of all tasks. */
static int check(const struct np_replay_net *net, struct np_replay_job *job,
		 size_t n, struct np_err *err)
{
	if (!(net->latency_sec >= 0 && isfinite(net->latency_sec)))
		return np_errf(err, -EINVAL, "a latency of %g s, expected 0 "
			       "or more", net->latency_sec);
	if (!(net->bytes_per_sec > 0 && isfinite(net->bytes_per_sec)))
		return np_errf(err, -EINVAL, "a bandwidth of %g bytes a "
			       "second, expected more than 0",
			       net->bytes_per_sec);
	for (size_t k = 0; k < n; k++)
		for (uint32_t t = 0; t < job[k].app->n_tasks; t++)
			if (job[k].node_of[t] >= net->n_nodes)
				return np_errf(err, -EINVAL, "task %u on node "
					       "%u, expected 0 to %u", t,
					       job[k].node_of[t],
					       net->n_nodes - 1);
	return 0;
}

/* Allocates the state of all operations. */
static int alloc_state(struct play *p)
{
	p->state = calloc(p->n_ops + 1, sizeof(*p->state));
	p->job_of_op = calloc(p->n_ops + 1, sizeof(*p->job_of_op));
	p->queue = calloc(p->n_ops + 1, sizeof(*p->queue));
	return p->state && p->job_of_op && p->queue ? 0 :
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
		p->job_state[k] = (struct job_state){ .job = &job[k],
					       .base = p->n_ops };
		p->n_ops += job[k].app->n_ops;
		job[k].runs = 0;
		job[k].end_sec = 0;
		if (job[k].task)
			memset(job[k].task, 0, job[k].app->n_tasks *
			       sizeof(*job[k].task));
		if (job[k].span)
			memset(job[k].span, 0, job[k].app->n_ops *
			       sizeof(*job[k].span));
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
	struct play p = { .net = net, .param = net->param, .again = again,
			  .err = err };
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
			     (unsigned long long)net->max_events) : step(&p);
	for (size_t k = 0; !rc && k < n; k++)
		close_tasks(&job[k]);
	if (!rc && n_events)
		*n_events = p.n_events;
	np_flows_free(p.flows);
	np_timers_free(&p.timers);
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
		return np_errf(err, -EINVAL, "%u tasks, and %u nodes of %u "
			       "cores: expected no more tasks than cores",
			       n_tasks, n_nodes, cores);
	if (how == NP_MAPPING_RANDOM)
		return map_randomly(n_tasks, n_nodes, cores, seed, node_of,
				    err);
	for (uint32_t t = 0; t < n_tasks; t++)
		node_of[t] = how == NP_MAPPING_NODE ? t % n_nodes : t / cores;
	return 0;
}
