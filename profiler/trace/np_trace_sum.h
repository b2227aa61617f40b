/* What the traces of a run hold, in sums. */
#ifndef NP_TRACE_SUM_H
#define NP_TRACE_SUM_H

#include "np_collective.h"
#include "np_trace_files.h"

struct np_trace_sum {
	uint32_t ranks, cut; /* of these cut ended before MPI_Finalize() */
	uint64_t records;
	double sec;	     /* from MPI_Init() to the end, the longest rank */
	double calls_sec;    /* of that in calls, the mean of the ranks */
	/* As mpiP has it, without MPI_Finalize(); all ranks together. */
	double app_sec, mpi_sec, max_app_sec;
	double given_bytes; /* sent, and the own part of collectives */
	uint64_t sent, sent_bytes, received; /* messages */
	uint64_t collectives[NP_N_COLLECTIVES];
	uint64_t communicators; /* that rank 0 had, MPI's own two included */
	uint64_t not_followed;	/* calls, of all ranks */
};

/* Returns 0 or -errno with err, as np_trace_read.h says. */
int np_trace_sum(const struct np_trace_files *f, struct np_trace_sum *out,
		 struct np_err *err);

#endif
