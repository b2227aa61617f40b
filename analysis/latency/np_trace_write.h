/*
 * Writing one rank's binary trace (np_trace_format.h).  No MPI; for one thread
 * at a time.
 *
 * Records are made in a mapped file: what has been written stays there however
 * the process ends, without a flush.  The disk's space is taken before it is
 * mapped, so that a full disk ends the trace and not the program, and no file
 * becomes longer than RLIMIT_FSIZE allows.
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
	volatile bool lost; /* the file was cut, or cannot be written */
};

/*
 * Make the file "rank.N" in the open directory, in place of what is there.
 * h needs no magic.  max_bytes: the file's size cap.  now_ns: of the clock that
 * the records use.
 * Returns 0 or -errno; -EFBIG: the process may write no files.
 */
int np_trace_out_open(struct np_trace_out *o, int dir,
		      const struct np_trace_header *h, uint64_t max_bytes,
		      uint64_t now_ns);

/*
 * Let no fault of the file end the program, until it is closed: SIGBUS in what
 * is mapped of it ends the trace, and any other goes to whom it went before.
 * For one trace of a process.
 */
void np_trace_guard(struct np_trace_out *o);

/* Cut to its length.  The file stays. */
void np_trace_out_close(struct np_trace_out *o);

/* Let go of it in a child of fork(): the parent goes on. */
void np_trace_out_forget(struct np_trace_out *o);

/*
 * A record of a call with its n numbers.  Nothing is written if the trace is
 * full or closed, and then o->map is NULL.
 */
void np_trace_out_put(struct np_trace_out *o, enum np_trace_kind kind,
		      uint64_t start_ns, uint64_t end_ns,
		      const uint64_t *number, size_t n);

/*
 * A call in vain, such as MPI_Test() without success.  Those that follow each
 * other within NP_TRACE_SPIN_NS are one record: who asks so often is waiting.
 */
#define NP_TRACE_SPIN_NS 1000
void np_trace_out_poll(struct np_trace_out *o, uint64_t start_ns,
		       uint64_t end_ns);

#endif
