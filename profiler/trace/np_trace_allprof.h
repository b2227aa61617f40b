/* Traces as the text of liballprof. */
#ifndef NP_TRACE_ALLPROF_H
#define NP_TRACE_ALLPROF_H

#include "np_collective.h"
#include "np_trace_files.h"

/*
 * Write the files dir/pmpi-trace-rank-N.txt; dir is made if it is not there.
 * The text has no ranks of smaller communicators: messages have those of
 * MPI_COMM_WORLD, and collectives that not all ranks take part in, or that have
 * sizes which differ, are the messages of an algorithm (choices, or NULL).
 * Returns 0 or -errno with err.
 */
int np_trace_allprof(const struct np_trace_files *f,
		     const struct np_choices *choices, const char *dir,
		     struct np_err *err);

#endif
