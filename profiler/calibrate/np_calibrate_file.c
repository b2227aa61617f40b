/* The state of a calibration on disk. */
#include "np_calibrate_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_read.h"

#define MAX_BYTES (64 << 20)

static int check(const char *path, int fd, struct stat *st,
		 struct np_err *err)
{
	if (fstat(fd, st))
		return np_errf(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st->st_mode) ||
	    (st->st_uid != 0 && st->st_uid != geteuid()))
		return np_errf(err, -EACCES, "%s: expected a file of yours or "
			       "of root; not trusted", path);
	if (st->st_size > MAX_BYTES)
		return np_errf(err, -EFBIG, "%s: larger than %d MiB", path,
			       MAX_BYTES >> 20);
	return 0;
}

static int read_text(const char *path, int fd, char **out, struct np_err *err)
{
	struct stat st;
	size_t len = 0;
	char *text;
	int rc = check(path, fd, &st, err);

	if (rc)
		return rc;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return np_errf(err, -ENOMEM, "out of memory");
	while (len < (size_t)st.st_size) {
		ssize_t got = read(fd, text + len, (size_t)st.st_size - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			rc = np_errf(err, -errno, "%s: %s", path,
				     strerror(errno));
			free(text);
			return rc;
		}
		if (!got)
			break;
		len += (size_t)got;
	}
	text[len] = '\0';
	*out = text;
	return 0;
}

int np_cal_state_load(const char *path, struct np_cal_state *out,
		      struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char *text = NULL;
	int rc;

	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0)
		return np_errf(err, -errno, "%s: %s", path, strerror(errno));
	rc = read_text(path, fd, &text, err);
	close(fd);
	if (rc)
		return rc;
	rc = np_cal_state_parse(text, out, &why);
	free(text);
	return rc ? np_errf(err, rc, "%s: %s", path, why.text) : 0;
}

int np_cal_state_save(const char *path, const struct np_cal_state *s,
		      struct np_err *err)
{
	char *text = np_cal_state_format(s), *tmp = NULL;
	int rc = -ENOMEM, fd = -1;

	if (text && asprintf(&tmp, "%s.tmp", path) > 0) {
		unlink(tmp); /* of one that was killed here */
		fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
			  O_CLOEXEC, 0644);
		rc = fd < 0 ? -errno : np_write_all(fd, text, strlen(text));
		if (!rc && fsync(fd))
			rc = -errno;
	}
	if (fd >= 0 && close(fd) && !rc)
		rc = -errno;
	if (!rc && rename(tmp, path))
		rc = -errno;
	if (rc && fd >= 0)
		unlink(tmp);
	free(tmp);
	free(text);
	return rc ? np_errf(err, rc, "cannot write %s: %s", path,
			    strerror(-rc)) : 0;
}
