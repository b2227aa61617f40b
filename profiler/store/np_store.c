/* The applications of a store. */
#include "np_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "np_store_dir.h"
#include "np_trace_dir.h"

/* Is it a directory that belongs to whom it should? */
static bool is_trusted(const struct np_dir *d, const char *name,
		       struct stat *st)
{
	return !fstatat(d->fd, name, st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISDIR(st->st_mode) && np_dir_trusts(d, st->st_uid);
}

/* Those of the names, of which the last is first, that can be trusted. */
static int stamp_all(const struct np_dir *d, char *const *names, size_t n,
		     struct np_store_app **apps, size_t *n_apps)
{
	struct np_store_app *a = calloc(n + 1, sizeof(*a));
	size_t kept = 0;
	struct stat st;

	if (!a)
		return -ENOMEM;
	while (n--)
		if (is_trusted(d, names[n], &st)) {
			strcpy(a[kept].name, names[n]);
			a[kept++].stamp = np_stamp_of(&st);
		}
	*apps = a;
	*n_apps = kept;
	return 0;
}

int np_store_look(struct np_store *s, enum np_store_owner owner, uid_t uid,
		  struct np_store_app **apps, size_t *n, struct np_err *err)
{
	char **names = NULL;
	struct np_dir d = { .fd = -1 };
	size_t n_names = 0;
	int rc = np_dir_open(s, owner, uid, NULL, false, &d, err);

	if (rc && rc != -ENOENT)
		return rc;
	rc = rc ? 0 : np_dir_names(&d, np_is_app_name, &names, &n_names, NULL,
				   err);
	if (!rc && stamp_all(&d, names, n_names, apps, n))
		rc = np_errf(err, -ENOMEM, "%s: out of memory", s->dir);
	np_names_free(names, n_names);
	if (d.fd >= 0)
		np_dir_close(&d);
	return rc;
}

struct np_store_stamp np_store_stamp(struct np_store *s,
				     enum np_store_owner owner, uid_t uid,
				     const char *app)
{
	struct np_store_stamp stamp = { .dev = 0 };
	struct np_dir d;
	struct stat st;

	if (np_dir_open(s, owner, uid, app, false, &d, NULL))
		return stamp;
	if (!fstat(d.fd, &st))
		stamp = np_stamp_of(&st);
	np_dir_close(&d);
	return stamp;
}

bool np_store_is_racy(const struct np_store_stamp *s)
{
	/* A clock of a file server that is ahead may well be racy, too. */
	return (double)time(NULL) - (double)s->sec < NP_STORE_RACY_SEC;
}

int np_store_trace(const struct np_store *s, uid_t uid, const char *app,
		   char *buf, size_t len, struct np_err *err)
{
	char name[NAME_MAX + 1];
	struct np_dir d;
	int rc = np_dir_open(s, NP_STORE_USER, uid, app, false, &d, err);

	if (rc)
		return rc;
	rc = np_trace_dir_newest(d.fd, uid, name);
	if (!rc && snprintf(buf, len, "%s/%s", d.path, name) >= (int)len)
		rc = np_errf(err, -ENAMETOOLONG, "%s: path too long", name);
	np_dir_close(&d);
	return rc == -ENOMEM ? np_errf(err, rc, "%s: out of memory", s->dir) :
			       rc;
}
