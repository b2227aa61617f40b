/*
 * The log of what netprof could not do for a job. The user's own output must
 * stay unchanged, so each line goes to STORE/users/UID/netprof.log, or to the
 * system log if that cannot be written.
 */
#ifndef NP_LOG_H
#define NP_LOG_H

#define NP_LOG_NAME "netprof.log"
/* the file is then renamed to netprof.log.1 */
#define NP_LOG_MAX_BYTES (1 << 20)
#define NP_LOG_LINE 640

/*
 * Format text as a log line, with the current date and the host before it and a
 * newline after it.
 */
void np_log_line(char line[NP_LOG_LINE], const char *text);

/*
 * Append such a line to the log of the calling user. Waits for the store's file
 * system, forever if that does not answer, and changes the umask for a moment:
 * call it only in single-threaded processes that nobody waits for. Makes plain
 * system calls only. Returns 0 or -1.
 */
int np_log_append(const char *store, const char *line);

/* Send text to the system log if that is possible without waiting. */
void np_log_system(const char *text);

#endif
