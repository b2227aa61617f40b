/* A program while it is read, for np_workload*.c. */
#ifndef NP_WORKLOAD_IMPL_H
#define NP_WORKLOAD_IMPL_H

#include "np_words.h"
#include "np_workload.h"

/* One end of a message: the k-th from one task to another meets the k-th. */
struct np_workload_end {
	uint32_t from, to, op;
	uint32_t line;
};

struct np_workload_ends {
	struct np_workload_end *e;
	size_t n;
};

/* Where a task is. */
struct np_workload_task {
	uint32_t last; /* what the next one comes after */
	bool any, posted; /* there is a last one; it need only have begun */
	uint32_t *pending; /* not waited for yet */
	size_t n_pending;
};

struct np_workload {
	struct np_words *w;
	struct np_replay_app *app;
	uint32_t n_tasks;
	struct np_workload_task *task;
	uint64_t bytes; /* where no size is given */
	struct np_workload_ends sends, recvs;
	bool *named; /* tasks of this line */
	struct np_err *err;
};

/* One event of one task; each returns 0 or -errno with err. */
int np_workload_compute(struct np_workload *b, uint32_t task, double sec);
int np_workload_send(struct np_workload *b, uint32_t task, uint32_t to,
		     uint64_t bytes, bool blocking);
int np_workload_recv(struct np_workload *b, uint32_t task, uint32_t from,
		     bool blocking);
int np_workload_wait(struct np_workload *b, uint32_t task);

/* All named tasks wait for each other. */
int np_workload_barrier(struct np_workload *b);

/* Sends and receives find each other. */
int np_workload_meet(struct np_workload *b);

#endif
