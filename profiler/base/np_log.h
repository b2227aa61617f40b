/*
 * Where netprof says what it could not do for a job.
 *
 * The user's own output stays as it was, so a line goes to
 * STORE/users/UID/netprof.log, or to the system's log where that cannot be
 * written.
 */
#ifndef NP_LOG_H
#define NP_LOG_H

#include <stddef.h>

#define NP_LOG_NAME "netprof.log"
#define NP_LOG_MAX_BYTES (1 << 20) /* then it becomes netprof.log.1 */
#define NP_LOG_LINE 640

/* text with date and host before it and a newline behind, of this moment. */
void np_log_line(char line[NP_LOG_LINE], const char *text);

/*
 * Append such a line to the calling user's log.  It waits for the store's file
 * system, for ever if that does not answer: for processes that nobody waits for,
 * of one thread, as it changes the umask for a moment.  Makes plain system calls
 * only.  Returns 0 or -1.
 */
int np_log_append(const char *store, const char *line);

/* Tell the system's log, or nobody: it never waits. */
void np_log_system(const char *text);

#endif
