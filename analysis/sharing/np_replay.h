/*
 * Simulates programs on a network: tasks on nodes that compute and exchange
 * messages, which share the network according to a model of np_sharing.h.
 *
 * A program is a graph of operations, each of one task: computing, sending or
 * receiving. An operation begins when those that it depends on have ended (or,
 * for some dependencies, have begun). A blocking call is one operation. A
 * nonblocking call begins independently of what follows, and a later operation
 * waits for it.
 *
 * A message of at most eager_bytes begins with its send, which then ends
 * immediately. A larger message begins when both send and receive have begun,
 * and ends both. A message first takes the latency, then transfers its bytes at
 * the bandwidth divided by the penalty, which is updated whenever another
 * message starts or ends.
 *
 * The simulation is event-driven; the cost of an event depends only on its own
 * conflicts (np_flows_next()).
 */
#ifndef NP_REPLAY_H
#define NP_REPLAY_H

#include <stddef.h>

#include "np_sharing.h"

#define NP_REPLAY_MAX_OPS ((size_t)1 << 24) /* of a program */

enum np_replay_kind { NP_REPLAY_COMPUTE, NP_REPLAY_SEND, NP_REPLAY_RECV };

struct np_replay_op {
	enum np_replay_kind kind;
	uint32_t task;
	double sec;	/* of a computation */
	uint64_t bytes; /* of a send */
	uint32_t match; /* set by np_replay_match() */
};

/* A program; made and changed only by the functions below. */
struct np_replay_app {
	uint32_t n_tasks;
	size_t n_ops, n_deps;
	struct np_replay_op *op;
	/* Dependencies as they were added; only until the program is completed. */
	struct np_replay_dep *dep;
	/*
	 * What waits for operation i, once the program is completed:
	 * next[first[i]] .. next[first[i + 1] - 1].
	 */
	size_t *first;
	struct np_replay_next *next;
	uint32_t *n_before; /* by operation: number of dependencies */
};

/*
 * Makes a program with n_tasks >= 1 tasks. Returns NULL if memory is short.
 * Free with np_replay_app_free().
 */
struct np_replay_app *np_replay_app_new(uint32_t n_tasks);
void np_replay_app_free(struct np_replay_app *a); /* NULL is allowed */

/*
 * Adds an operation; *index is its number. Returns 0, -EINVAL (task or time out
 * of range), -E2BIG or -ENOMEM with err.
 */
int np_replay_add(struct np_replay_app *a, const struct np_replay_op *op,
		  uint32_t *index, struct np_err *err);

/*
 * Makes operation `after` begin when `before` has ended, or with on_start has
 * begun. Returns 0 or -ENOMEM with err.
 */
int np_replay_depend(struct np_replay_app *a, uint32_t after, uint32_t before,
		     bool on_start, struct np_err *err);

/* Matches a send with its receive. */
void np_replay_match(struct np_replay_app *a, uint32_t send, uint32_t recv);

/*
 * Completes a program. Returns 0, -EINVAL (an unmatched send or receive) or
 * -ENOMEM with err.
 */
int np_replay_finish(struct np_replay_app *a, struct np_err *err);

/*
 * Makes a completed program from a finished graph (np_graph.h): ranks become
 * tasks; times, sizes, dependencies and matches stay the same. Free *out with
 * np_replay_app_free(). Returns 0; -E2BIG or -ENOMEM with err.
 */
struct np_graph;
int np_replay_of_graph(const struct np_graph *g, struct np_replay_app **out,
		       struct np_err *err);

struct np_replay_net {
	const struct np_sharing_model *model;
	struct np_sharing_param param; /* .local is assumed to be true */
	double latency_sec, bytes_per_sec;
	uint64_t eager_bytes;
	uint32_t n_nodes;
	uint64_t max_events; /* limit; 0: none */
};

/* Results for one task. */
struct np_replay_task {
	double end_sec, compute_sec;
	double wait_sec;	  /* rest of its time */
	uint64_t messages, bytes; /* of messages sent */
	/* of messages sent: time over time alone; NAN if none */
	double mean_penalty;
	/*
	 * of messages sent: maximum number of others at their ports; NAN if
	 * none
	 */
	double mean_conflicts;
};

/* Results for one operation, in the first run of its program. */
struct np_replay_span {
	double start_sec, end_sec;
	double penalty; /* of the message of a send; otherwise 0 */
	uint32_t conflicts;
};

/* A program on its nodes. */
struct np_replay_job {
	const struct np_replay_app *app; /* completed; borrowed */
	const uint32_t *node_of;	 /* by task; borrowed */
	/* Results: */
	double end_sec; /* of the first run */
	/* by task, provided by the caller; or NULL */
	struct np_replay_task *task;
	/* by operation, provided by the caller; or NULL */
	struct np_replay_span *span;
	uint64_t runs; /* number of completed runs, 1 or more */
};

/*
 * Runs all programs together from time 0 until each has ended once. again: a
 * program that ends before others starts again, so that the others are never
 * alone. *n_events (may be NULL): number of operations and messages that ended.
 * Returns 0; -EINVAL (parameter or node out of range); -EDEADLK (no operation
 * can continue; err names a task); -E2BIG (more than max_events); an error of
 * the model; or -ENOMEM.
 */
int np_replay_run(const struct np_replay_net *net, struct np_replay_job *job,
		  size_t n, bool again, uint64_t *n_events, struct np_err *err);

enum np_mapping {
	NP_MAPPING_NODE,   /* task i on node i modulo nodes */
	NP_MAPPING_CORE,   /* fills each node before the next one */
	NP_MAPPING_RANDOM, /* any free core; reproducible by seed */
};

/*
 * Maps n_tasks tasks to n_nodes nodes with the given number of cores each, into
 * node_of[n_tasks]. Returns 0, -EINVAL (more tasks than cores) or -ENOMEM, with
 * err.
 */
int np_mapping_make(enum np_mapping how, uint32_t n_tasks, uint32_t n_nodes,
		    uint32_t cores, uint64_t seed, uint32_t *node_of,
		    struct np_err *err);

/*
 * ---- Program descriptions ----
 *
 * Reads them from a file, netprof-workload(5).
 *
 *	tasks 4
 *	repeat 10
 *	all: compute 5ms
 *	all: exchange +1 64K
 *	end
 *
 * Files are untrusted input. An invalid one is rejected with one line that
 * names file, line, value and what was expected. Memory and time are bounded by
 * the limits below.
 */

#define NP_WORKLOAD_MAX_FILE_BYTES (1u << 20)
#define NP_WORKLOAD_MAX_TASKS 4096u
#define NP_WORKLOAD_MAX_OPS ((size_t)1 << 21)
/* Lines times tasks (for alltoall: tasks squared) times repeats. */
#define NP_WORKLOAD_MAX_STEPS ((size_t)1 << 26)
#define NP_WORKLOAD_DEPTH 8 /* nesting of repeats */

/*
 * Called from outside only by tests.
 * text: len bytes; source: name for messages. *out: completed; free with
 * np_replay_app_free(). Returns 0, -EINVAL (invalid file), -E2BIG (a limit is
 * exceeded) or -ENOMEM.
 */
int np_workload_parse(const char *text, size_t len, const char *source,
		      struct np_replay_app **out, struct np_err *err);

/* Reads a regular file; also returns -errno of opening and reading it. */
int np_workload_read(const char *path, struct np_replay_app **out,
		     struct np_err *err);

#endif
