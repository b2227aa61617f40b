#include "np_store_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "np_hostlist.h"
#include "np_store_dir.h"
#include "np_trace_dir.h"

static bool is_trace(const char *name)
{
	size_t n = strlen(name), end = strlen(NP_TRACE_SUFFIX);

	return name[0] != '.' && n > end &&
	       !strcmp(name + n - end, NP_TRACE_SUFFIX);
}

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec :
	       a->tv_nsec > b->tv_nsec;
}

/* Only what its user owns, and no symbolic link. */
static const char *newest(const struct np_dir *d, char *const *names, size_t n)
{
	struct timespec made = { 0 };
	const char *best = NULL;
	struct stat st;

	for (size_t i = 0; i < n; i++) {
		if (fstatat(d->fd, names[i], &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISDIR(st.st_mode) || st.st_uid != d->uid ||
		    (best && !is_newer(&st.st_mtim, &made)))
			continue;
		best = names[i];
		made = st.st_mtim;
	}
	return best;
}

int np_store_trace(const struct np_store *s, uid_t uid, const char *app,
		   char *buf, size_t len, struct np_err *err)
{
	const char *best;
	struct np_dir d;
	char **names;
	bool cut;
	size_t n;
	int rc = np_dir_open(s, NP_STORE_USER, uid, app, &d, err);

	if (rc)
		return rc;
	rc = np_dir_names(&d, is_trace, &names, &n, &cut, err);
	if (!rc) {
		best = newest(&d, names, n);
		if (!best)
			rc = -ENOENT;
		else if (snprintf(buf, len, "%s/%s", d.path, best) >= (int)len)
			rc = np_errf(err, -ENAMETOOLONG, "%s: path too long",
				     best);
		np_names_free(names, n);
	}
	np_dir_close(&d);
	return rc;
}
