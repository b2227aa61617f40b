/*
 * libnetprof-mpi, the part that knows one MPI: what its wrappers share.
 *
 * Built once for Open MPI and once for MPICH and those with its ABI, from the
 * same sources, and loaded by libnetprof-mpi.so into programs that use that
 * MPI.  Nothing in here ends or changes the program: what cannot be recorded is
 * not recorded.
 */
#ifndef SHIM_H
#define SHIM_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_trace_write.h"

/* Handles are pointers in one MPI and numbers in the other. */
#define SHIM_KEY(handle) ((uint64_t)(uintptr_t)(handle))

/* shim_trace.c: one call, from its begin to its record. */

struct shim_call {
	uint64_t start_ns, end_ns;
};

extern struct np_trace_out shim_out;

/* After MPI_Init(): is it recorded, from now on?  Before MPI_Finalize(). */
bool shim_start(int threads);
void shim_stop(const struct shim_call *c);

/* False: nothing is recorded, or the MPI calls itself. */
bool shim_enter(struct shim_call *c);

/*
 * After the call.  True: it may be recorded, and then shim_leave() follows.
 * False: it failed, or something went wrong.
 */
bool shim_end(struct shim_call *c, int rc);
void shim_leave(void);

/* Room for n numbers, until it is asked for again or shim_leave(); or NULL. */
uint64_t *shim_list(size_t n);

/* A wrapper's body: call the MPI, record, return what it returned. */
#define SHIM_FOLLOW(call, record)	      \
	do {				      \
		struct shim_call c_;	      \
		int rc_;		      \
		if (!shim_enter(&c_))	      \
			return call;	      \
		rc_ = call;		      \
		if (shim_end(&c_, rc_)) {     \
			record;		      \
			shim_leave();	      \
		}			      \
		return rc_;		      \
	} while (0)

/* Records, between shim_end() and shim_leave(): the numbers before end. */
static inline void shim_put(const struct shim_call *c, enum np_trace_kind kind,
			    const uint64_t *number, const uint64_t *end)
{
	np_trace_out_put(&shim_out, kind, c->start_ns, c->end_ns, number,
			 (size_t)(end - number));
}
void shim_local(const struct shim_call *c);
void shim_poll(const struct shim_call *c);
/* Once for each name. */
void shim_unsupported(const struct shim_call *c, const char *name);

/* shim_comm.c: communicators by small numbers. */

#define SHIM_INTER (-1) /* an intercommunicator, or no memory */
struct shim_comm {
	MPI_Comm handle;
	int id, rank, size;
};
void shim_comm_start(void);
const struct shim_comm *shim_comm(const struct shim_call *c, MPI_Comm comm);
/* like: NULL, or the communicator whose ranks it has. */
void shim_comm_new(const struct shim_call *c, MPI_Comm comm,
		   const MPI_Comm *like);
void shim_comm_gone(const struct shim_call *c, MPI_Comm comm);

/* shim_request.c: requests by small numbers, and messages. */

struct shim_message {
	MPI_Comm comm;
	int peer, tag;
	uint64_t bytes;
};

void shim_send(const struct shim_call *c, const struct shim_message *m);
/* As matched; st may be NULL if nothing in m is a wildcard. */
void shim_recv(const struct shim_call *c, const struct shim_message *m,
	       const MPI_Status *st);
void shim_sendrecv(const struct shim_call *c, const struct shim_message *out,
		   const struct shim_message *in, const MPI_Status *st);
/* kind: NP_TRACE_ISEND, NP_TRACE_IRECV or one of their *_INIT */
void shim_post(const struct shim_call *c, enum np_trace_kind kind,
	       const struct shim_message *m, MPI_Request request);
void shim_post_both(const struct shim_call *c, const struct shim_message *out,
		    const struct shim_message *in, MPI_Request request);
void shim_begin_all(const struct shim_call *c, int n, const MPI_Request *r);
void shim_free(const struct shim_call *c, MPI_Request request);
void shim_cancel(const struct shim_call *c, MPI_Request request);
/* A number for the request of a collective, or -1. */
int64_t shim_request_new(MPI_Request request);

/* A list of requests, kept while the call takes the handles away. */
struct shim_wait {
	MPI_Request few[32], *request;
	MPI_Status few_st[32], *st; /* NULL: not known */
	MPI_Status *own; /* those that are not the caller's */
};
/*
 * Before the call.  Returns the statuses to give to it in place of those of
 * the caller.
 */
MPI_Status *shim_wait_begin(struct shim_wait *w, int n, const MPI_Request *r,
			    MPI_Status *user, bool ignored);
/*
 * After it: n of them are done, the ones in index, or all (NULL); the i-th
 * one's status is the i-th.
 */
void shim_wait_done(const struct shim_call *c, struct shim_wait *w, int n,
		    const int *index);
void shim_wait_free(struct shim_wait *w);

#endif
