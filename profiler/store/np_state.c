/* state.json of placement/: written whole, read as a stranger's. */
#include "np_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_store_file.h"

#define STATE "state.json"

int np_state_save(const char *store_dir, const struct np_state *s, mode_t mode,
		  struct np_err *err)
{
	struct np_dir d;
	char *text;
	int rc = np_state_put(s, &text, err);

	if (rc)
		return rc;
	rc = np_dir_open_placement(store_dir, true, &d, err);
	if (!rc) {
		np_file_remove_stale(&d);
		/* Whatever the umask: netprof reads it for everybody. */
		rc = np_file_write(&d, STATE, text, strlen(text), mode, err);
		np_dir_close(&d);
	}
	free(text);
	return rc;
}

static bool is_ours(const char *name)
{
	return !strcmp(name, STATE) || np_is_ended_name(name);
}

/* O_NONBLOCK: a FIFO must not hang. */
static int set_mode(const struct np_dir *d, const char *name, mode_t mode)
{
	int fd = openat(d->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
			O_NOCTTY | O_CLOEXEC), rc = 0;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP ? 0 : -errno;
	if (fstat(fd, &st) ||
	    (S_ISREG(st.st_mode) && (st.st_mode & 0777) != mode &&
	     fchmod(fd, mode)))
		rc = -errno;
	close(fd);
	return rc;
}

int np_state_set_mode(const char *store_dir, mode_t mode, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	struct np_dir d;
	char **names = NULL;
	size_t n = 0;
	int rc = np_dir_open_placement(store_dir, false, &d, &why), last = 0;

	if (rc)
		return rc == -ENOENT ? 0 : np_errf(err, rc, "%s", why.text);
	rc = np_dir_names(&d, is_ours, &names, &n, NULL, err);
	for (size_t i = 0; i < n; i++) {
		int e = set_mode(&d, names[i], mode);

		if (e)
			last = np_errf(err, e, "%s/%s: cannot make its mode "
				       "%03o: %s", d.path, names[i],
				       (unsigned)mode, strerror(-e));
	}
	np_names_free(names, n);
	np_dir_close(&d);
	return rc ? rc : last;
}

int np_state_load(const char *store_dir, struct np_state *out,
		  struct np_err *err)
{
	struct np_dir d;
	char *text = NULL;
	ssize_t len;
	bool cut = false;
	int rc = np_dir_open_placement(store_dir, false, &d, err);

	if (rc)
		return rc;
	len = np_file_read_end(&d, STATE, NP_STATE_MAX_BYTES, &text, &cut, err);
	if (len < 0)
		rc = (int)len;
	else if (cut)
		rc = np_errf(err, -EFBIG, "%s/%s: larger than %u bytes",
			     d.path, STATE, NP_STATE_MAX_BYTES);
	else
		rc = np_state_get(text, (size_t)len, STATE, out, err);
	free(text);
	np_dir_close(&d);
	return rc;
}
