/* Writing a run, and pruning what there is. */
#include "np_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_store_dir.h"
#include "np_store_file.h"
#include "np_trace_dir.h"

/*
 * Never the one that was just written: where the clock is behind, it is the
 * oldest by name.
 */
static void remove_oldest(const struct np_dir *d, size_t max_runs,
			  const char *written)
{
	char **names;
	size_t n;

	if (np_dir_names(d, np_is_own_run_name, &names, &n, NULL, NULL))
		return;
	for (size_t i = max_runs; i < n; i++)
		if (strcmp(names[i], written))
			unlinkat(d->fd, names[i], 0);
	np_names_free(names, n);
}

static int write_run(const struct np_store *s, const struct np_dir *d,
		     const char *name, const char *text, struct np_err *err)
{
	bool fresh = faccessat(d->fd, name, F_OK, AT_SYMLINK_NOFOLLOW);
	int lock, rc = np_file_write(d, name, text, strlen(text),
				     d->owner == NP_STORE_USER ? 0640 : 0644,
				     err);

	if (rc || !fresh)
		return rc;
	/*
	 * It only orders pruning.  Where a directory cannot be locked, two that
	 * prune it do no harm, as both remove the same oldest runs.
	 */
	lock = np_file_lock(d->fd);
	if (lock != -EWOULDBLOCK) {
		remove_oldest(d, s->max_runs, name);
		np_file_remove_stale(d);
	}
	if (!lock)
		flock(d->fd, LOCK_UN);
	return 0;
}

static int save(struct np_store *s, enum np_store_owner owner,
		const struct np_record *r, struct np_err *err)
{
	char name[NAME_MAX + 1], *text = NULL;
	struct np_dir d;
	int rc = np_app_check(r->app, err);

	if (rc)
		return rc;
	np_store_run_name(r, name, sizeof(name));
	rc = np_record_write(r, name, &text, err);
	if (rc)
		return rc;
	rc = np_dir_open(s, owner, geteuid(), r->app, true, &d, err);
	if (!rc) {
		rc = write_run(s, &d, name, text, err);
		np_dir_close(&d);
	} else if (rc == -ENOENT) { /* taken away in this moment */
		np_errf(err, rc, "profile store %s: %s", s->dir, strerror(-rc));
	}
	free(text);
	return rc;
}

int np_store_save(struct np_store *s, const struct np_record *r,
		  struct np_err *err)
{
	return save(s, NP_STORE_USER, r, err);
}

int np_store_publish(struct np_store *s, const struct np_record *r,
		     struct np_err *err)
{
	return save(s, NP_STORE_PUBLISHED, r, err);
}

static int remove_file(const struct np_dir *d, const char *name,
		       struct np_err *err)
{
	return unlinkat(d->fd, name, 0) && errno != ENOENT ?
	       np_errf(err, -errno, "%s/%s: %s", d->path, name,
		       strerror(errno)) : 0;
}

static int remove_all(const struct np_dir *d, struct np_err *err)
{
	char **names;
	size_t n;
	int rc = np_dir_names(d, np_is_run_name, &names, &n, NULL, NULL);

	if (rc)
		return np_errf(err, rc, "%s: %s", d->path, strerror(-rc));
	for (size_t i = 0; !rc && i < n; i++)
		rc = remove_file(d, names[i], err);
	np_names_free(names, n);
	if (!rc && d->owner == NP_STORE_USER)
		np_trace_dir_clear(d->fd);
	/* What is left in it is not the store's, and keeps it. */
	if (!rc)
		rmdir(d->path);
	return rc;
}

int np_store_remove(struct np_store *s, enum np_store_owner owner,
		    const char *app, const struct np_record *const *run,
		    size_t n, struct np_err *err)
{
	char name[NAME_MAX + 1];
	struct np_dir d;
	int rc = np_dir_open(s, owner, geteuid(), app, false, &d, err);

	if (rc)
		return rc == -ENOENT ? np_errf(err, rc, "no profile of %s",
					       app) : rc;
	for (size_t i = 0; run && !rc && i < n; i++) {
		np_store_run_name(run[i], name, sizeof(name));
		rc = remove_file(&d, name, err);
	}
	if (!run)
		rc = remove_all(&d, err);
	np_dir_close(&d);
	return rc;
}
