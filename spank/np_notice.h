/*
 * A line for the user's netprof.log (np_log.h) from a process that a job waits
 * for: srun, or one in the job's cgroup.
 */
#ifndef NP_NOTICE_H
#define NP_NOTICE_H

/*
 * Hand one line to the saver, which writes it to the log in store; where there
 * is no saver, to a process of its own if this one belongs to no job, or else
 * to the system's log.  Neither waits for a file system, nor fails.
 */
void np_notice(const char *store, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
