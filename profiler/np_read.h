/* Reading a descriptor to its end, or to a limit. */
#ifndef NP_READ_H
#define NP_READ_H

#include <stddef.h>
#include <sys/types.h>

/* Up to max bytes into buf; the number read, or -errno. */
ssize_t np_read_up_to(int fd, char *buf, size_t max);

#endif
