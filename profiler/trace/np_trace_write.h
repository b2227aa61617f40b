/*
 * Writing one rank's binary trace (np_trace_format.h).  No MPI; for one thread
 * at a time.
 *
 * Records are made in a mapped file: what has been written stays there however
 * the process ends, without a flush.  The disk's space is taken before it is
 * mapped, so that a full disk ends the trace and not the program.
 */
#ifndef NP_TRACE_WRITE_H
#define NP_TRACE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_trace_format.h"

struct np_trace_out {
	uint8_t *at, *stop; /* where the next record goes; NULL: none may */
	uint8_t *map;
	size_t map_bytes;
	uint64_t offset;    /* of map in the file */
	uint64_t max_bytes; /* of the file */
	uint64_t end_ns;    /* of the last record */
	uint8_t *poll;	    /* the last record, if it is a POLL */
	uint64_t poll_ns;   /* its beginning */
	int fd;
};

/*
 * Make the file "rank.N" in the open directory, in place of what is there.
 * h needs no magic.  max_bytes: the file's size cap.  now_ns: of the clock that the records use.
 * Returns 0 or -errno.
 */
int np_trace_out_open(struct np_trace_out *o, int dir,
		      const struct np_trace_header *h, uint64_t max_bytes,
		      uint64_t now_ns);

/* Cut to its length.  The file stays. */
void np_trace_out_close(struct np_trace_out *o);

/* Let go of it in a child of fork(): the parent goes on. */
void np_trace_out_forget(struct np_trace_out *o);

/* Makes room for a record of that size; false: there is none any more. */
bool np_trace_out_grow(struct np_trace_out *o, size_t bytes);

/*
 * Begin a record with a list of n numbers at most; put its numbers from the
 * returned place with np_varint_put(), then tell np_trace_out_end() where they
 * end.  NULL: the trace is full or closed.
 */
static inline uint8_t *np_trace_out_begin(struct np_trace_out *o,
					  uint64_t start_ns, uint64_t end_ns,
					  size_t n)
{
	size_t need = NP_TRACE_RECORD + n * NP_TRACE_VARINT;
	uint8_t *p;

	if ((size_t)(o->stop - o->at) < need && !np_trace_out_grow(o, need))
		return NULL;
	p = o->at;
	/* Its kind comes last: a process that dies leaves whole records. */
	p = np_varint_put(p + 1, start_ns > o->end_ns ?
				 start_ns - o->end_ns : 0);
	if (start_ns < o->end_ns)
		start_ns = o->end_ns;
	p = np_varint_put(p, end_ns > start_ns ? end_ns - start_ns : 0);
	if (end_ns > o->end_ns)
		o->end_ns = end_ns;
	o->poll = NULL;
	return p;
}

static inline void np_trace_out_end(struct np_trace_out *o,
				    enum np_trace_kind kind, uint8_t *end)
{
	__atomic_store_n(o->at, (uint8_t)kind, __ATOMIC_RELEASE);
	o->at = end;
}

/*
 * A call in vain, such as MPI_Test() without success.  Those that follow each
 * other within NP_TRACE_SPIN_NS are one record: who asks so often is waiting.
 */
#define NP_TRACE_SPIN_NS 1000
void np_trace_out_poll(struct np_trace_out *o, uint64_t start_ns,
		       uint64_t end_ns);

#endif
