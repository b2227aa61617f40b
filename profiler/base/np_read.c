#include "np_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_kind.h"

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

const char *np_read_irregular(const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFDIR: return "a directory, not a regular file";
	case S_IFIFO: return "a FIFO, not a regular file";
	default: return "not a regular file";
	}
}

/* More than a reader takes, which may be as it is no text at all. */
static int too_large(int fd, const char *path, off_t size, size_t max,
		     struct np_err *err)
{
	char begin[NP_KIND_BYTES];
	ssize_t got = np_read_up_to(fd, begin, sizeof(begin));

	if (got > 0 && np_kind_check(begin, (size_t)got, NP_KIND_TEXT, path,
				     err))
		return -EINVAL;
	return np_errf(err, -EFBIG, "%s: %lld bytes, expected at most %zu",
		       path, (long long)size, max);
}

int np_read_file(const char *path, size_t max, char **text, size_t *len,
		 struct np_err *err)
{
	struct stat st;
	int fd = np_read_open(path, 0, &st);
	ssize_t got = fd;

	if (fd == -EINVAL)
		return np_errf(err, fd, "%s: %s", path, np_read_irregular(&st));
	if (fd >= 0 && st.st_size > (off_t)max) {
		int rc = too_large(fd, path, st.st_size, max, err);

		close(fd);
		return rc;
	}
	if (fd >= 0) {
		got = np_read_text(fd, (size_t)st.st_size, text);
		close(fd);
	}
	if (got < 0)
		return np_errf(err, (int)got, "%s: %s", path,
			       strerror((int)-got));
	*len = (size_t)got;
	if (!np_kind_check(*text, *len, NP_KIND_TEXT, path, err))
		return 0;
	free(*text);
	*text = NULL;
	return -EINVAL;
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
