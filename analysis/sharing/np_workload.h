/*
 * Reads program descriptions for the simulator of np_replay.h:
 * netprof-workload(5).
 *
 *	tasks 4
 *	repeat 10
 *	all: compute 5ms
 *	all: exchange +1 64K
 *	end
 *
 * Files are untrusted input. An invalid one is rejected with one line that
 * names file, line, value and what was expected. Memory and time are bounded by
 * the limits below.
 */
#ifndef NP_WORKLOAD_H
#define NP_WORKLOAD_H

#include <stddef.h>

#include "np_replay.h"

#define NP_WORKLOAD_MAX_FILE_BYTES (1u << 20)
#define NP_WORKLOAD_MAX_TASKS 4096u
#define NP_WORKLOAD_MAX_OPS ((size_t)1 << 21)
/* Lines times tasks (for alltoall: tasks squared) times repeats. */
#define NP_WORKLOAD_MAX_STEPS ((size_t)1 << 26)
#define NP_WORKLOAD_DEPTH 8 /* nesting of repeats */

/*
 * Called from outside only by tests.
 * text: len bytes; source: name for messages. *out: completed; free with
 * np_replay_app_free(). Returns 0, -EINVAL (invalid file), -E2BIG (a limit is
 * exceeded) or -ENOMEM.
 */
int np_workload_parse(const char *text, size_t len, const char *source,
		      struct np_replay_app **out, struct np_err *err);

/* Reads a regular file; also returns -errno of opening and reading it. */
int np_workload_read(const char *path, struct np_replay_app **out,
		     struct np_err *err);

#endif
