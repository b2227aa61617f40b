/*
 * What a process that a job waits for (srun, or one in the job's cgroup) may
 * do about files without touching a file system that may not answer: write a
 * line to the user's netprof.log, and find out whether a directory answers.
 *
 * Both are left to netprof-saver.  Where there is none and this process belongs
 * to no job, a detached child does them.
 */
#ifndef NP_NOTICE_H
#define NP_NOTICE_H

#include <stdbool.h>

/*
 * Write one line to the log (np_log.h) of the store, or to the system's log if
 * neither a saver nor a child can.  Does not wait, and does not fail.
 */
void np_notice(const char *store, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Can the directory be opened, or is the attempt refused, within timeout_ms?
 * False also where no other process can find out.
 */
bool np_dir_responds(const char *dir, int timeout_ms);

#endif
