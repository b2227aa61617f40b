#include "np_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static int read_regular(int fd, const char *path, size_t max, char **text,
			size_t *len, struct np_err *err)
{
	struct stat st;
	ssize_t got;

	if (fstat(fd, &st))
		return np_errf(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return np_errf(err, -EINVAL, "%s: not a regular file", path);
	if (st.st_size > (off_t)max)
		return np_errf(err, -EFBIG, "%s: %lld bytes, expected at most "
			       "%zu", path, (long long)st.st_size, max);
	*text = malloc((size_t)st.st_size + 1);
	if (!*text)
		return np_errf(err, -ENOMEM, "%s: no memory", path);
	got = np_read_up_to(fd, *text, (size_t)st.st_size);
	if (got < 0) {
		free(*text);
		return np_errf(err, (int)got, "%s: %s", path,
			       strerror((int)-got));
	}
	(*text)[got] = '\0';
	*len = (size_t)got;
	return 0;
}

int np_read_file(const char *path, size_t max, char **text, size_t *len,
		 struct np_err *err)
{
	/* What never ends, or never begins, must not be waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;

	if (fd < 0)
		return np_errf(err, -errno, "%s: %s", path, strerror(errno));
	rc = read_regular(fd, path, max, text, len, err);
	close(fd);
	return rc;
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
