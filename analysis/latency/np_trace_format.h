/*
 * Format of a binary trace, which libnetprof-mpi writes: one file per rank.
 *
 * A header of 64 bytes is followed by records, each consisting of
 *
 *	kind (a byte), gap, length, members of the kind
 *
 * gap: ns from the end of the previous record (for the first: of MPI_Init) to
 * the start of this call; length: ns inside the call. Numbers are LEB128: seven
 * bits per byte, low ones first, the last byte below 128. Ranks are those of
 * the communicator. Communicators and requests are small numbers that are
 * reused once free. A trace ends with a byte 0 in place of a kind, or with the
 * file; without FINALIZE before it the program was terminated. Numbers of the
 * header are little-endian.
 */
#ifndef NP_TRACE_FORMAT_H
#define NP_TRACE_FORMAT_H

#include <stdint.h>

#define NP_TRACE_MAGIC "nptrace\1" /* without its NUL */
#define NP_TRACE_HEADER 64	   /* bytes */
#define NP_TRACE_NAME 32	   /* name of the program, with its NUL */

struct np_trace_header {
	char magic[8];
	uint32_t rank, size; /* in MPI_COMM_WORLD */
	uint32_t flags;
	uint32_t reserved;
	uint64_t start_ns; /* time when MPI_Init ended, since 1970 */
	char program[NP_TRACE_NAME];
};

_Static_assert(sizeof(struct np_trace_header) == NP_TRACE_HEADER,
	       "written as it stands");

/*
 * MPI_THREAD_MULTIPLE: calls of several threads are recorded as if in sequence.
 */
#define NP_TRACE_THREADS 1u

/* Members after gap and length. In "x+1", 0 stands for any or none. */
enum np_trace_kind {
	NP_TRACE_END,
	NP_TRACE_SEND,	    /* comm, rank, tag, bytes */
	NP_TRACE_RECV,	    /* the same, as matched */
	NP_TRACE_SENDRECV,  /* comm, 1 if it sends, rank, tag, bytes, 1 if it
				 receives, rank, tag, bytes */
	NP_TRACE_ISEND,	    /* request, comm, rank, tag, bytes */
	NP_TRACE_IRECV,	    /* request, comm, rank+1, tag+1, bytes */
	NP_TRACE_ISENDRECV, /* request, as SENDRECV, but rank+1 and tag+1 of
				 what is received */
	NP_TRACE_SEND_INIT, /* as ISEND */
	NP_TRACE_RECV_INIT, /* as IRECV */
	NP_TRACE_START,	    /* n, n requests */
	/*
	 * for each completed request (request+1)*4, + 1 if rank and tag follow,
	 * + 2 if it was cancelled; then 0
	 */
	NP_TRACE_WAIT,
	NP_TRACE_FREE,	/* request; nothing will wait for it */
	NP_TRACE_LOCAL, /* any other call that takes time */
	/*
	 * unsuccessful calls in quick succession; the length is 8 bytes,
	 * little-endian
	 */
	NP_TRACE_POLL,
	NP_TRACE_COLLECTIVE, /* which, request+1, comm, root+1, bytes sent,
				 bytes received, n, n numbers of bytes */
	/*
	 * comm, rank, size, n, n runs of ranks in MPI_COMM_WORLD: first, step,
	 * count; step is 2k for k >= 0 and 2k - 1 for -k
	 */
	NP_TRACE_COMM,
	NP_TRACE_COMM_FREE, /* comm */
	/* n, n bytes: name of a call that is not supported */
	NP_TRACE_UNSUPPORTED,
	NP_TRACE_FULL,	   /* size cap reached; nothing follows */
	NP_TRACE_FINALIZE, /* nothing follows */
	NP_TRACE_N_KINDS
};

#endif
