/*
 * One rank's trace as a row of events, from a binary file (np_trace_format.h)
 * or from the text of liballprof; which of them, the file says.
 *
 * Files are hostile: numbers are checked, memory is bounded by the file's size.
 * Errors are -EINVAL with the file, its rank, where in it (record or line) and
 * what was expected; -ENOMEM; or another -errno of reading.
 *
 * The file is gone through once before its first event is given, as only the
 * end of a receive from anybody says from whom it was.
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
#define NP_TRACE_ANY UINT32_MAX	       /* rank or tag */
#define NP_TRACE_NO_REQUEST UINT32_MAX /* of what blocks */

struct np_trace_message {
	bool there;
	uint32_t peer, tag; /* rank of its communicator */
	uint64_t bytes;
};

struct np_trace_event {
	/*
	 * As in the file, with these differences: what starts a persistent
	 * request is an ISEND or IRECV; what was cancelled, or received from
	 * anybody and never found, is LOCAL.
	 */
	enum np_trace_kind kind;
	uint64_t gap_ns;   /* from the end of the event before */
	uint64_t length_ns;
	uint64_t line;	   /* or record: 1, 2, 3 ... */
	uint32_t request;
	uint32_t comm;
	struct np_trace_message out, in;
	/* COLLECTIVE; list: NULL, or of the communicator's size */
	enum np_collective collective;
	uint32_t root;
	uint64_t bytes;
	const uint64_t *list;
	size_t n_list;
	/* WAIT: those that are done, by their numbers */
	const uint32_t *done;
	size_t n_done;
	/* COMM; members are ranks of MPI_COMM_WORLD */
	uint32_t rank, size;
	const uint32_t *member;
	const char *name; /* UNSUPPORTED */
};

struct np_trace_reader;

/*
 * rank, size: of the rank that the file should be of.  path and err: borrowed
 * until np_trace_close().  Arrays of events live until the next one.
 */
int np_trace_open(const char *path, uint32_t rank, uint32_t size,
		  struct np_trace_reader **out, struct np_err *err);
void np_trace_close(struct np_trace_reader *r); /* NULL is allowed */

/* 1: an event; 0: the end; or -errno with err. */
int np_trace_next(struct np_trace_reader *r, struct np_trace_event *ev);

/* Did MPI_Finalize() end it? Known at once. */
bool np_trace_is_whole(const struct np_trace_reader *r);

/* Is the file one of a trace, by its first bytes?  Else a graph perhaps. */
bool np_trace_is(const char *path);

/*
 * The program of which a binary file says it is; "" of a text.  out has
 * NP_TRACE_NAME bytes.  Returns 0 or -errno with err.
 */
int np_trace_program(const char *path, char *out, struct np_err *err);

#endif
