/* A descriptor, read to its end or to a limit, or written to in full. */
#ifndef NP_READ_H
#define NP_READ_H

#include <stddef.h>
#include <sys/types.h>

#include "np_err.h"

/* Up to max bytes into buf; the number read, or -errno. */
ssize_t np_read_up_to(int fd, char *buf, size_t max);

/*
 * All of a regular file of at most max bytes.  *text is malloc'ed, and one byte
 * of 0 follows it.  Returns 0, or with err, which names path: -EINVAL (no
 * regular file), -EFBIG, -ENOMEM, or what opening and reading gave.
 */
int np_read_file(const char *path, size_t max, char **text, size_t *len,
		 struct np_err *err);

/* 0 or -errno. */
int np_write_all(int fd, const char *text, size_t len);

#endif
