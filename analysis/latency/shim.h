/*
 * The part of libnetprof-mpi that depends on the MPI: declarations that its
 * wrappers share.
 *
 * It is built twice from the same sources, for Open MPI and for MPICH and its
 * ABI, and loaded by libnetprof-mpi.so into programs that use that MPI. Nothing
 * here ends or changes the program: what cannot be recorded is omitted.
 */
#ifndef SHIM_H
#define SHIM_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_trace_write.h"

/* Handles are pointers in one MPI and integers in the other. */
#define SHIM_KEY(handle) ((uint64_t)(uintptr_t)(handle))

/* shim_trace.c: a call, from its start to its record. */

struct shim_call {
	uint64_t start_ns, end_ns;
};

extern struct np_trace_out shim_out;

/*
 * shim_start() runs after MPI_Init() and returns whether calls are recorded
 * from now on; shim_stop() runs before MPI_Finalize(), and shim_leave() must
 * follow.
 */
bool shim_start(int threads);
void shim_stop(const struct shim_call *c);

/*
 * Returns false if nothing is recorded, or if the MPI library itself is
 * calling.
 */
bool shim_enter(struct shim_call *c);

/*
 * Ends the call. Returns true if it may be recorded; then shim_leave() must
 * follow. Returns false if it failed or nothing can be recorded.
 */
bool shim_end(struct shim_call *c, int rc);
void shim_leave(void);

/*
 * Excludes other threads. Returns false, with no effect, if calls come from one
 * thread at a time. shim_unlock() must follow true.
 */
bool shim_lock(void);
void shim_unlock(void);

/*
 * A buffer of n numbers, valid until the next shim_list() or shim_leave(); NULL
 * if memory is short.
 */
uint64_t *shim_list(size_t n);

/* Body of a wrapper: calls the MPI, records, and returns the MPI's result. */
#define SHIM_FOLLOW(call, record) \
	do { \
		struct shim_call c_; \
		int rc_; \
		if (!shim_enter(&c_)) \
			return call; \
		rc_ = call; \
		if (shim_end(&c_, rc_)) { \
			record; \
			shim_leave(); \
		} \
		return rc_; \
	} while (0)

/*
 * Recording functions, to be used between shim_end() and shim_leave(). The
 * numbers of a record are those before end.
 */
static inline void shim_put(const struct shim_call *c, enum np_trace_kind kind,
			    const uint64_t *number, const uint64_t *end)
{
	np_trace_out_put(&shim_out, kind, c->start_ns, c->end_ns, number,
			 (size_t)(end - number));
}
void shim_local(const struct shim_call *c);
void shim_poll(const struct shim_call *c);
/* Records only the first call of each name. */
void shim_unsupported(const struct shim_call *c, const char *name);

/* shim_comm.c: numbers communicators. */

#define SHIM_INTER (-1) /* an intercommunicator, or out of memory */
struct shim_comm {
	MPI_Comm handle;
	int id, rank, size;
};
void shim_comm_start(void);
const struct shim_comm *shim_comm(const struct shim_call *c, MPI_Comm comm);
/* like: a communicator with the same ranks, or NULL. */
void shim_comm_new(const struct shim_call *c, MPI_Comm comm,
		   const MPI_Comm *like);
void shim_comm_gone(const struct shim_call *c, MPI_Comm comm);

/* shim_request.c: numbers requests, and records messages. */

struct shim_message {
	MPI_Comm comm;
	int peer, tag;
	uint64_t bytes;
};

void shim_send(const struct shim_call *c, const struct shim_message *m);
/* Records the message as matched; st may be NULL if m has no wildcard. */
void shim_recv(const struct shim_call *c, const struct shim_message *m,
	       const MPI_Status *st);
void shim_sendrecv(const struct shim_call *c, const struct shim_message *out,
		   const struct shim_message *in, const MPI_Status *st);
/* kind: NP_TRACE_ISEND, NP_TRACE_IRECV, or the *_INIT of one of them. */
void shim_post(const struct shim_call *c, enum np_trace_kind kind,
	       const struct shim_message *m, MPI_Request request);
void shim_post_both(const struct shim_call *c, const struct shim_message *out,
		    const struct shim_message *in, MPI_Request request);
void shim_begin_all(const struct shim_call *c, int n, const MPI_Request *r);
void shim_free(const struct shim_call *c, MPI_Request request);
void shim_cancel(const struct shim_call *c, MPI_Request request);
/* Numbers the request of a collective; -1 if that is impossible. */
int64_t shim_request_new(MPI_Request request);

/* A copy of a list of requests, whose handles the call overwrites. */
struct shim_wait {
	MPI_Request few[32], *request;
	MPI_Status few_st[32], *st; /* NULL: not known */
	MPI_Status *own;	 /* allocated here; NULL: st is the caller's */
	int64_t few_id[32], *id; /* their numbers; NULL: not looked up */
};
/*
 * Runs before the call. Returns the statuses to pass to it instead of the
 * caller's.
 */
MPI_Status *shim_wait_begin(struct shim_wait *w, int n, const MPI_Request *r,
			    MPI_Status *user, bool ignored);
/*
 * Runs after the call: n requests have completed, those in index, or the first
 * n if it is NULL. The i-th status is that of the i-th completed request.
 */
void shim_wait_done(const struct shim_call *c, struct shim_wait *w, int n,
		    const int *index);
void shim_wait_free(struct shim_wait *w);

#endif
