/*
 * The trace of a run: its files, and what is derived from them. np_trace_read.h
 * reads one rank's file.
 */
#ifndef NP_TRACE_H
#define NP_TRACE_H

#include "np_collective.h"
#include "np_graph.h"
#include "np_trace_format.h"

struct np_trace_files {
	char **path; /* by rank */
	uint32_t n;
	char program[NP_TRACE_NAME]; /* its name; "" for traces in text */
};

/*
 * Finds the files of a trace. path is a directory with the files rank.0, rank.1
 * ... of libnetprof-mpi or with those of liballprof, whose names are equal
 * except for the rank, their last number; or it is one of these files. Returns
 * 0, -ENOENT (no trace), -EINVAL (a rank is missing; err names it), -ENOMEM or
 * another -errno. Free with np_trace_files_free().
 */
int np_trace_files_find(const char *path, struct np_trace_files *out,
			struct np_err *err);
void np_trace_files_free(struct np_trace_files *f);

/*
 * The functions below return 0 or -errno with err, also those of
 * np_trace_read.h.
 */

struct np_trace_options {
	const struct np_choices *choices; /* NULL: the defaults */
	/*
	 * Receives one line for each thing that is missing; may be NULL. arg is
	 * NULL.
	 */
	void (*warn)(const char *line, void *arg);
};

/*
 * Makes the execution graph of a run. Time between two calls is computation;
 * time inside a call is ignored, because the model replaces it. A nonblocking
 * operation proceeds in parallel with what follows, up to the call that
 * completes it. Collectives become the messages of an algorithm.
 *
 * If the trace of a rank ends early, because of a signal or its size cap, the
 * graph contains the messages that have both ends, and there is a warning.
 * Errors are also those of np_graph.h. Free *out with np_graph_free().
 */
int np_trace_graph(const struct np_trace_files *f,
		   const struct np_trace_options *o, struct np_graph **out,
		   struct np_err *err);

/* Totals of a trace. */
struct np_trace_sum {
	/* cut: ranks whose trace ends before MPI_Finalize() */
	uint32_t ranks, cut;
	uint64_t records;
	double sec;	  /* from MPI_Init() to the end, in the longest rank */
	double calls_sec; /* part of that spent in calls, mean over ranks */
	/*
	 * As mpiP defines them, without MPI_Finalize(); sums and maximum over
	 * ranks.
	 */
	double app_sec, mpi_sec, max_app_sec;
	double given_bytes; /* sent, plus each rank's own part of collectives */
	/* number of messages, and their bytes */
	uint64_t sent, sent_bytes, received;
	uint64_t collectives[NP_N_COLLECTIVES];
	/* of rank 0, including the two that MPI predefines */
	uint64_t communicators;
	uint64_t not_followed; /* number of unsupported calls of all ranks */
};
int np_trace_sum(const struct np_trace_files *f, struct np_trace_sum *out,
		 struct np_err *err);

/*
 * Writes a trace as the text of liballprof, in files dir/pmpi-trace-rank-N.txt;
 * creates dir if necessary. The text cannot describe the ranks of smaller
 * communicators. Therefore messages contain ranks of MPI_COMM_WORLD, and
 * collectives that involve only some ranks, or different sizes, are written as
 * the messages of an algorithm (choices, or NULL for the defaults).
 */
int np_trace_allprof(const struct np_trace_files *f,
		     const struct np_choices *choices, const char *dir,
		     struct np_err *err);

#endif
