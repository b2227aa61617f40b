#include "np_read.h"

#include <errno.h>
#include <unistd.h>

ssize_t np_read_up_to(int fd, char *buf, size_t max)
{
	size_t len = 0;

	while (len < max) {
		ssize_t got = read(fd, buf + len, max - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		len += (size_t)got;
	}
	return (ssize_t)len;
}

int np_write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t put = write(fd, text, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		text += put;
		len -= (size_t)put;
	}
	return 0;
}
