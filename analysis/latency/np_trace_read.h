/*
 * Reads one rank's trace as a sequence of events, from a binary file
 * (np_trace_format.h) or from the text of liballprof; the content decides
 * which.
 *
 * Files are untrusted input: numbers are checked, and memory is bounded by the
 * size of the file. Errors are -EINVAL with file, rank, position (record or
 * line) and what was expected; -ENOMEM; or another -errno of reading.
 *
 * Opening a file reads it once completely, because only the end of a receive
 * from any rank says which rank it received from.
 */
#ifndef NP_TRACE_READ_H
#define NP_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_collective.h"
#include "np_err.h"
#include "np_trace_format.h"

#define NP_TRACE_MAX_RANKS (1u << 20)
#define NP_TRACE_ANY UINT32_MAX	       /* any rank or tag */
#define NP_TRACE_NO_REQUEST UINT32_MAX /* in a blocking call */

struct np_trace_message {
	bool there;
	uint32_t peer, tag; /* peer: rank in the communicator */
	uint64_t bytes;
};

struct np_trace_event {
	/*
	 * As in the file, with two differences: a start of a persistent request
	 * is an ISEND or IRECV; a request that was cancelled, or a receive from
	 * any rank that was never completed, is LOCAL.
	 */
	enum np_trace_kind kind;
	uint64_t gap_ns; /* from the end of the previous event */
	uint64_t length_ns;
	uint64_t line; /* or number of the record: 1, 2, 3 ... */
	uint32_t request;
	uint32_t comm;
	struct np_trace_message out, in;
	/* COLLECTIVE; list: NULL, or one entry per rank of the communicator */
	enum np_collective collective;
	uint32_t root;
	uint64_t bytes;
	const uint64_t *list;
	size_t n_list;
	/* WAIT: numbers of the completed requests */
	const uint32_t *done;
	size_t n_done;
	/* COMM; members are ranks of MPI_COMM_WORLD */
	uint32_t rank, size;
	const uint32_t *member;
	const char *name; /* UNSUPPORTED: name of the call */
};

struct np_trace_reader;

/*
 * rank, size: the rank that the file should be of. path and err are borrowed
 * until np_trace_close(). Arrays of an event are valid until the next event.
 */
int np_trace_open(const char *path, uint32_t rank, uint32_t size,
		  struct np_trace_reader **out, struct np_err *err);
void np_trace_close(struct np_trace_reader *r); /* NULL is allowed */

/* Returns 1 for an event, 0 at the end, or -errno with err. */
int np_trace_next(struct np_trace_reader *r, struct np_trace_event *ev);

/* Whether the trace ends with MPI_Finalize(); known from the start. */
bool np_trace_is_complete(const struct np_trace_reader *r);

/* When MPI_Init() ended, in ns on the clock of the run; 0: not known. */
uint64_t np_trace_start_ns(const struct np_trace_reader *r);

/*
 * Whether this is a trace: a directory, or a file with the first bytes of one;
 * otherwise it may be a graph.
 */
bool np_trace_is(const char *path);

#endif
