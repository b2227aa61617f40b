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
#include "np_store_file.h"

#define MAX_BYTES (64 << 20)

int np_cal_state_load(const char *path, struct np_cal_state *out,
		      struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	struct stat st = { .st_uid = 0 };
	int fd = np_read_open(path, O_NOFOLLOW, &st), rc;
	char *text = NULL;
	ssize_t len;

	if (fd == -ENOENT)
		return fd;
	if (fd == -EINVAL || (fd >= 0 && st.st_uid != 0 &&
			      st.st_uid != geteuid()))
		len = np_errf(err, -EACCES, "%s: expected a file of yours or "
			      "of root; not trusted", path);
	else if (fd >= 0 && st.st_size > MAX_BYTES)
		len = np_errf(err, -EFBIG, "%s: larger than %d MiB", path,
			      MAX_BYTES >> 20);
	else
		len = fd < 0 ? fd : np_read_text(fd, (size_t)st.st_size, &text);
	if (fd >= 0)
		close(fd);
	if (len < 0)
		return len == -EACCES || len == -EFBIG ? (int)len :
		       np_errf(err, (int)len, "%s: %s", path,
			       strerror((int)-len));
	rc = np_cal_state_parse(text, out, &why);
	free(text);
	return rc ? np_errf(err, rc, "%s: %s", path, why.text) : 0;
}

int np_cal_state_save(const char *path, const struct np_cal_state *s,
		      struct np_err *err)
{
	const char *slash = strrchr(path, '/');
	char *text = np_cal_state_format(s);
	struct np_dir d = { .fd = -1 };
	int rc = -ENOMEM;

	if (slash)
		snprintf(d.path, sizeof(d.path), "%.*s/", (int)(slash - path),
			 path);
	if (text) {
		d.fd = open(slash ? d.path : ".", O_RDONLY | O_DIRECTORY |
			    O_CLOEXEC);
		rc = d.fd < 0 ? -errno :
		     np_file_write(&d, slash ? slash + 1 : path, text, 0644);
	}
	if (d.fd >= 0)
		close(d.fd);
	free(text);
	return rc ? np_errf(err, rc, "cannot write %s: %s", path,
			    strerror(-rc)) : 0;
}
