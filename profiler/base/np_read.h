/* A descriptor, read to its end or to a limit, or written to in full. */
#ifndef NP_READ_H
#define NP_READ_H

#include <stddef.h>
#include <sys/types.h>

/* Up to max bytes into buf; the number read, or -errno. */
ssize_t np_read_up_to(int fd, char *buf, size_t max);

/* 0 or -errno. */
int np_write_all(int fd, const char *text, size_t len);

#endif
