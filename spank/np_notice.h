/*
 * File operations of processes that a job waits for (srun, or one in the job's
 * cgroup), which must not access a file system that may not answer: writing a
 * line to the user's netprof.log, and checking whether a directory answers.
 *
 * netprof-saver does both. Without one, a detached child does, unless this
 * process belongs to a job.
 */
#ifndef NP_NOTICE_H
#define NP_NOTICE_H

#include <stdbool.h>

/*
 * Write one line to the log (np_log.h) of the store, or to the system's log if
 * neither a saver nor a child can. Does not wait, and does not fail.
 */
void np_notice(const char *store, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Whether an attempt to open the directory succeeds or is refused within
 * timeout_ms. Returns false also if no other process can make the attempt.
 */
bool np_dir_responds(const char *dir, int timeout_ms);

#endif
