/* The files of one run's trace, a file per rank. */
#ifndef NP_TRACE_FILES_H
#define NP_TRACE_FILES_H

#include <stdint.h>

#include "np_err.h"

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

#endif
