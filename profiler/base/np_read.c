#include "np_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int np_read_open(const char *path, int flags, struct stat *st)
{
	int fd = open(path, flags | O_RDONLY | O_NONBLOCK | O_NOCTTY |
		      O_CLOEXEC), rc = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st))
		rc = -errno;
	else if (!S_ISREG(st->st_mode))
		rc = -EINVAL;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

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

ssize_t np_read_text(int fd, size_t size, char **text)
{
	char *buf = malloc(size + 1);
	ssize_t len = buf ? np_read_up_to(fd, buf, size) : -ENOMEM;

	if (len < 0) {
		free(buf);
		return len;
	}
	buf[len] = '\0';
	*text = buf;
	return len;
}

int np_read_file(const char *path, size_t max, char **text, size_t *len,
		 struct np_err *err)
{
	struct stat st;
	int fd = np_read_open(path, 0, &st);
	ssize_t got = fd;

	if (fd == -EINVAL)
		return np_errf(err, fd, "%s: not a regular file", path);
	if (fd >= 0 && st.st_size > (off_t)max) {
		close(fd);
		return np_errf(err, -EFBIG, "%s: %lld bytes, expected at most "
			       "%zu", path, (long long)st.st_size, max);
	}
	if (fd >= 0) {
		got = np_read_text(fd, (size_t)st.st_size, text);
		close(fd);
	}
	if (got < 0)
		return np_errf(err, (int)got, "%s: %s", path,
			       strerror((int)-got));
	*len = (size_t)got;
	return 0;
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
