/*
 * The trace of a run, which np_trace_read.h reads rank by rank: its files, and
 * what is made of it.
 */
#ifndef NP_TRACE_H
#define NP_TRACE_H

#include "np_collective.h"
#include "np_graph.h"

struct np_trace_files {
	char **path; /* of each rank */
	uint32_t n;
};

/*
 * What path names: a directory with the files rank.0, rank.1 ... of
 * libnetprof-mpi, or with those of liballprof, whose names have the rank as
 * their last number and are else the same; or one of these files.
 * Returns 0; -ENOENT: there is none; -EINVAL: a rank is missing, named in err;
 * -ENOMEM; or another -errno.  Free with np_trace_files_free().
 */
int np_trace_files_find(const char *path, struct np_trace_files *out,
			struct np_err *err);
void np_trace_files_free(struct np_trace_files *f);

/* All below return 0 or -errno with err, as np_trace_read.h says, too. */

struct np_trace_options {
	const struct np_choices *choices; /* NULL: the usual ones */
	/* Hears of what is missing, a line each; may be NULL.  arg: NULL. */
	void (*warn)(const char *line, void *arg);
};

/*
 * The execution graph of the run.  What lies between two calls is computation;
 * calls are messages or nothing.  A nonblocking operation goes on beside what
 * follows it, until a call says that it is done.  Collectives become the
 * messages of an algorithm.
 *
 * If a rank's trace ends early, by a signal or its size cap, the graph is of
 * what can be matched, with a warning.  Errors are those of np_graph.h, too.
 * Free *out by np_graph_free().
 */
int np_trace_graph(const struct np_trace_files *f,
		   const struct np_trace_options *o, struct np_graph **out,
		   struct np_err *err);

/* What it holds, in sums. */
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
int np_trace_sum(const struct np_trace_files *f, struct np_trace_sum *out,
		 struct np_err *err);

/*
 * As the text of liballprof, in files dir/pmpi-trace-rank-N.txt; dir is made if
 * it is not there.  The text has no ranks of smaller communicators: messages
 * have those of MPI_COMM_WORLD, and collectives that not all ranks take part
 * in, or that have sizes which differ, are the messages of an algorithm
 * (choices, or NULL).
 */
int np_trace_allprof(const struct np_trace_files *f,
		     const struct np_choices *choices, const char *dir,
		     struct np_err *err);

#endif
