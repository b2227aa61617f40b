/*
 * Programs played on a network: tasks on nodes that compute and exchange
 * messages, which share the network as a model of np_sharing.h says.
 *
 * A program is a graph of operations, each of one task: computing, sending,
 * receiving; an operation begins when those that it waits for have ended (or,
 * where it is said so, have begun).  A blocking call is one operation; a
 * nonblocking one is begun by whatever comes after it, and waited for later.
 *
 * A message begins when its send does, if it has at most eager_bytes (the send
 * is over at once), and else when both send and receive have begun (and then
 * ends both).  It waits for the latency, then moves its bytes at the bandwidth
 * over the penalty, found anew whenever another one comes or goes.
 *
 * Event-driven: an event costs what its own conflicts cost (np_flows.h).
 */
#ifndef NP_REPLAY_H
#define NP_REPLAY_H

#include "np_sharing.h"

#define NP_REPLAY_MAX_OPS ((size_t)1 << 24) /* of a program */

struct np_replay_app;

enum np_replay_kind { NP_REPLAY_COMPUTE, NP_REPLAY_SEND, NP_REPLAY_RECV };

struct np_replay_op {
	enum np_replay_kind kind;
	uint32_t task;
	double sec;	/* of computing */
	uint64_t bytes; /* of a send */
	uint32_t match; /* np_replay_meet() sets it */
};

/* Of 1 or more tasks.  NULL: no memory.  Free with np_replay_app_free(). */
struct np_replay_app *np_replay_app_new(uint32_t n_tasks);
void np_replay_app_free(struct np_replay_app *a); /* NULL is allowed */

/*
 * One more operation; *index is its number.  Returns 0, -EINVAL (a task or a
 * time that cannot be), -E2BIG or -ENOMEM with err.
 */
int np_replay_add(struct np_replay_app *a, const struct np_replay_op *op,
		  uint32_t *index, struct np_err *err);

/*
 * after begins when before has ended, or with on_start has begun; both are
 * numbers that np_replay_add() gave.  Returns 0 or -ENOMEM with err.
 */
int np_replay_depend(struct np_replay_app *a, uint32_t after, uint32_t before,
		     bool on_start, struct np_err *err);

/* This send and this receive are of one message. */
void np_replay_meet(struct np_replay_app *a, uint32_t send, uint32_t recv);

/*
 * No more is to come.  Returns 0, -EINVAL (a send or receive without the other
 * end) or -ENOMEM with err.
 */
int np_replay_finish(struct np_replay_app *a, struct np_err *err);

/*
 * A finished graph (np_graph.h) as a finished program: ranks become tasks,
 * operations keep their times, sizes, dependencies and messages.  Free *out by
 * np_replay_app_free().  Returns 0; -E2BIG or -ENOMEM with err.
 */
struct np_graph;
int np_replay_of_graph(const struct np_graph *g, struct np_replay_app **out,
		       struct np_err *err);

uint32_t np_replay_tasks(const struct np_replay_app *a);
size_t np_replay_ops(const struct np_replay_app *a);
const struct np_replay_op *np_replay_op_at(const struct np_replay_app *a,
					   size_t i);

struct np_replay_net {
	const struct np_sharing_model *model;
	struct np_sharing_param param; /* .local is taken to be true */
	double latency_sec, bytes_per_sec;
	uint64_t eager_bytes;
	uint32_t n_nodes;
	uint64_t max_events; /* then it is given up; 0: never */
};

/* What one task of it did. */
struct np_replay_task {
	double end_sec, compute_sec;
	double wait_sec; /* the rest of its time */
	uint64_t messages, bytes; /* sent */
	double mean_penalty; /* of messages sent: time over time alone; NAN */
	double mean_conflicts; /* most others at both ends at a time; NAN */
};

/* Of one operation, its first time. */
struct np_replay_span {
	double start_sec, end_sec;
	double penalty; /* of a send's message; 0: none */
	uint32_t conflicts;
};

/* One program on its nodes. */
struct np_replay_job {
	const struct np_replay_app *app; /* borrowed, finished */
	const uint32_t *node_of;	 /* of each task; borrowed */
	/* results */
	double end_sec;		     /* its first end */
	struct np_replay_task *task; /* caller's, of each task; or NULL */
	struct np_replay_span *span; /* caller's, of each operation; or NULL */
	uint64_t runs; /* ended; 1 or more */
};

/*
 * Play them together from time 0 until each has ended once.  again: one that
 * has ended before others begins again, so that these are never alone.
 * *n_events (may be NULL): operations and messages that have ended.
 * Returns 0; -EINVAL: a parameter or a node that cannot be; -EDEADLK: the rest
 * waits for ever, err names a task; -E2BIG: more than max_events; what the
 * model returns; -ENOMEM.
 */
int np_replay_run(const struct np_replay_net *net, struct np_replay_job *job,
		  size_t n, bool again, uint64_t *n_events,
		  struct np_err *err);

#endif
