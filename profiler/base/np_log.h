/*
 * Where netprof says what it could not do for a job.
 *
 * The user's own output stays as it was, so a line goes to
 * STORE/users/UID/netprof.log, and to syslog(3) where that cannot be written.
 */
#ifndef NP_LOG_H
#define NP_LOG_H

#define NP_LOG_NAME "netprof.log"
#define NP_LOG_MAX_BYTES (1 << 20) /* then it becomes netprof.log.1 */

/*
 * Append one line with date and host, as the calling user.  store: the store's
 * directory, borrowed; "": to syslog(3) alone, which no file system blocks.
 * Never fails and never blocks on anything but the disk.
 */
void np_log(const char *store, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
