/* Small binary traces for tests. */
#ifndef NP_T_SOME_TRACE_H
#define NP_T_SOME_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "np_trace_format.h"

/* A record: kind, gap and length in ns, and its n numbers. */
struct some_record {
	enum np_trace_kind kind;
	uint64_t gap_ns, length_ns;
	size_t n;
	uint64_t number[16];
};

/* Makes a directory for a trace. */
const char *some_trace_dir(void);

/*
 * Writes the file of one rank there, with MPI_COMM_WORLD and MPI_COMM_SELF as 0
 * and 1, and the records. Returns its path, valid until the next call.
 */
const char *some_trace(const char *dir, uint32_t rank, uint32_t size,
		       const struct some_record *r, size_t n);

/* Writes a file with this text. */
const char *some_lines(const char *dir, const char *name, const char *text);

#endif
