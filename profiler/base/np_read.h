/* A descriptor, read to its end or to a limit, or written to in full. */
#ifndef NP_READ_H
#define NP_READ_H

#include <stddef.h>
#include <sys/types.h>

#include "np_err.h"

struct stat;

/*
 * Open a file that anybody may have put there: no FIFO makes us wait.  flags:
 * O_NOFOLLOW or 0.  Returns the descriptor, -EINVAL (no regular file) or
 * -errno.
 */
int np_read_open(const char *path, int flags, struct stat *st);

/* Of what np_read_open() gave -EINVAL: "a directory, not a regular file". */
const char *np_read_irregular(const struct stat *st);

/* Up to size bytes, malloc'ed and terminated: how many, or -errno. */
ssize_t np_read_text(int fd, size_t size, char **text);

/* Up to max bytes into buf; the number read, or -errno. */
ssize_t np_read_up_to(int fd, char *buf, size_t max);

/*
 * All of a regular file of at most max bytes.  *text is malloc'ed, and one byte
 * of 0 follows it.  Returns 0, or with err, which names path: -EINVAL (no
 * regular file, or no text by np_kind.h), -EFBIG, -ENOMEM, or what opening and reading gave.
 */
int np_read_file(const char *path, size_t max, char **text, size_t *len,
		 struct np_err *err);

/* 0 or -errno. */
int np_write_all(int fd, const char *text, size_t len);

#endif
