/*
 * Writes one rank's binary trace (np_trace_format.h). Knows nothing of MPI;
 * callers serialise their calls.
 *
 * Records are written to a mapped file, so that they survive any end of the
 * process without a flush. Disk space is allocated before it is mapped: a full
 * disk ends the trace, not the program. No file grows beyond RLIMIT_FSIZE.
 *
 * Where there is a netprof-saver, records are written to a ring of shared
 * memory instead, and the saver writes the file: a file server that does not
 * answer costs the trace, not the program.
 */
#ifndef NP_TRACE_WRITE_H
#define NP_TRACE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_trace_format.h"

struct np_trace_out {
	uint8_t *at, *stop; /* position of the next record; NULL: closed */
	uint8_t *map;
	size_t map_bytes;
	uint64_t offset;    /* of map within the file */
	uint64_t max_bytes; /* size cap of the file */
	uint64_t end_ns;    /* end of the last record */
	uint8_t *poll;	    /* the last record, if it is a POLL */
	uint64_t poll_ns;   /* start of that record */
	/* position after the last record, for the reader of the ring */
	uint64_t *written, unread;
	bool ring;	 /* map is a ring (np_trace_ring.h), fd a socket */
	uint64_t copied; /* position up to which the ring was copied */
	/* of fd: the program may have closed it, and reused its number */
	uint64_t device, inode;
	int wait_ms; /* how long to wait for the saver, from now on */
	int fd;
	volatile bool lost; /* the file was truncated, or cannot be written */
};

/*
 * Creates the file "rank.N" in the open directory dir, replacing an existing
 * one. h needs no magic. max_bytes: size cap of the file. now_ns: current time
 * of the clock that the records use. Returns 0 or -errno; -EFBIG: the process
 * may not write files.
 */
int np_trace_out_open(struct np_trace_out *o, int dir,
		      const struct np_trace_header *h, uint64_t max_bytes,
		      uint64_t now_ns);

/*
 * The same through the saver at the other end of the socket, which is taken
 * over: it writes the file in dir/sub (np_trace_dir_open()), and keeps that
 * many traces of the application if sub is not "". Returns 0 or -errno;
 * -ETIMEDOUT: the directory does not answer.
 */
int np_trace_out_pass(struct np_trace_out *o, int socket, const char *dir,
		      const char *sub, const char *keep,
		      const struct np_trace_header *h, uint64_t max_bytes,
		      uint64_t now_ns);

/*
 * Protects the program from faults of the trace file until it is closed: a
 * SIGBUS within the mapping ends the trace, and any other is passed to the
 * handler that was installed before. For one trace per process.
 */
void np_trace_guard(struct np_trace_out *o);

/*
 * As the process ends: truncates the file to its length, or waits for the
 * saver. Nothing is released, as another thread may be writing a record.
 */
void np_trace_out_end(struct np_trace_out *o);

/* Truncates the file to its length and closes it. */
void np_trace_out_close(struct np_trace_out *o);

/* Releases the file in a child of fork(), without changing it. */
void np_trace_out_forget(struct np_trace_out *o);

/*
 * Writes the record of a call with its n numbers. Does nothing if the trace is
 * full or closed; o->map is then NULL.
 */
void np_trace_out_put(struct np_trace_out *o, enum np_trace_kind kind,
		      uint64_t start_ns, uint64_t end_ns,
		      const uint64_t *number, size_t n);

/*
 * Records an unsuccessful call, such as an MPI_Test() that completes nothing.
 * Calls that follow each other within NP_TRACE_SPIN_NS become one record,
 * because such a program is waiting.
 */
#define NP_TRACE_SPIN_NS 1000
void np_trace_out_poll(struct np_trace_out *o, uint64_t start_ns,
		       uint64_t end_ns);

#endif
