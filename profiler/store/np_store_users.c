/* Who has a directory in users/, and whether it is theirs. */
#include "np_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_array.h"
#include "np_quantity.h"
#include "np_store_dir.h"
#include "np_store_file.h"

#define MODE (S_ISGID | NP_DIR_PRIVATE_MODE)

static bool uid_of_name(const char *name, uid_t *uid)
{
	uint64_t v;

	if ((name[0] == '0' && name[1]) ||
	    np_whole_parse(name, (uid_t)-2, &v))
		return false;
	*uid = (uid_t)v;
	return true;
}

static bool is_uid_name(const char *name)
{
	uid_t uid;

	return uid_of_name(name, &uid);
}

static int by_uid(const void *a, const void *b)
{
	uid_t x = *(const uid_t *)a, y = *(const uid_t *)b;

	return x < y ? -1 : x > y;
}

/* users/, and the names in it that want() takes; *n 0 where there is none. */
static int open_users(const struct np_store *s, bool (*want)(const char *name),
		      struct np_dir *d, char ***names, size_t *n, bool *cut,
		      struct np_err *err)
{
	int rc;

	*names = NULL;
	*n = 0;
	*cut = false;
	*d = (struct np_dir){ .fd = -1 };
	snprintf(d->path, sizeof(d->path), "%s/%s", s->dir, NP_STORE_USERS);
	d->fd = openat(s->fd, NP_STORE_USERS, NP_OPEN_DIR);
	if (d->fd < 0)
		return errno == ENOENT ? 0 :
		       np_errf(err, -errno, "%s: %s", d->path, strerror(errno));
	rc = np_dir_names(d, want, names, n, cut, err);
	if (rc)
		np_dir_close(d);
	return rc;
}

/* The uids among the names whose directories are their own. */
static size_t own_uids(int fd, char **names, size_t n, uid_t *uids)
{
	size_t count = 0;
	struct stat st;
	uid_t uid;

	for (size_t i = 0; i < n; i++)
		if (uid_of_name(names[i], &uid) &&
		    !fstatat(fd, names[i], &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISDIR(st.st_mode) && st.st_uid == uid)
			uids[count++] = uid;
	return count;
}

int np_store_uids(struct np_store *s, uid_t **uids, size_t *n,
		  np_store_warn_f *warn, void *arg, struct np_err *err)
{
	struct np_dir d;
	char **names;
	size_t n_names;
	uid_t *found;
	bool cut;
	int rc = open_users(s, is_uid_name, &d, &names, &n_names, &cut, err);

	if (rc)
		return rc;
	if (cut)
		np_reader_skip(&(struct np_reader){ .warn = warn, .arg = arg },
			       "%s: more than %d entries, the rest is not "
			       "looked at; netprof check says whose they are",
			       d.path, NP_STORE_MAX_SCAN);
	found = calloc(n_names + 1, sizeof(*found));
	if (found) {
		*n = own_uids(d.fd, names, n_names, found);
		qsort(found, *n, sizeof(*found), by_uid);
		*uids = found;
	}
	np_names_free(names, n_names);
	if (d.fd >= 0)
		np_dir_close(&d);
	return found ? 0 : np_errf(err, -ENOMEM, "%s: out of memory", s->dir);
}

static struct np_store_squatter *squatter(struct np_store_census *c, uid_t uid)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->squatter[i].uid == uid)
			return &c->squatter[i];
	if (np_array_more(&c->squatter, c->n, sizeof(*c->squatter)))
		return NULL;
	c->squatter[c->n] = (struct np_store_squatter){ .uid = uid };
	return &c->squatter[c->n++];
}

static int count_name(struct np_store_census *c, const struct stat *users,
		      const char *name, const struct stat *st)
{
	struct np_store_squatter *q;
	uid_t uid;
	bool is_uid = uid_of_name(name, &uid);

	if (is_uid && st->st_uid == uid) {
		if (S_ISDIR(st->st_mode) && np_dir_is_closed(users, st) &&
		    !c->n_closed++)
			c->closed = uid;
		return 0;
	}
	/* What root has there is not in anybody's way; nor is a mending. */
	if (!is_uid && (!st->st_uid || np_dir_is_spare(name, st->st_uid)))
		return 0;
	q = squatter(c, st->st_uid);
	if (!q)
		return -ENOMEM;
	q->n++;
	if (is_uid && !q->n_taken++)
		q->taken = uid;
	return 0;
}

static int most_taken(const void *a, const void *b)
{
	const struct np_store_squatter *x = a, *y = b;

	if (x->n_taken != y->n_taken)
		return x->n_taken < y->n_taken ? 1 : -1;
	return x->n < y->n ? 1 : x->n > y->n ? -1 : by_uid(&x->uid, &y->uid);
}

int np_store_census(struct np_store *s, struct np_store_census *out,
		    struct np_err *err)
{
	struct np_store_census c = { .n = 0 };
	struct stat users, st;
	struct np_dir d;
	char **names;
	size_t n;
	int rc = open_users(s, NULL, &d, &names, &n, &c.cut, err);

	if (rc)
		return rc;
	if (d.fd >= 0 && fstat(d.fd, &users))
		rc = np_errf(err, -errno, "%s: %s", d.path, strerror(errno));
	for (size_t i = 0; !rc && i < n; i++)
		if (!fstatat(d.fd, names[i], &st, AT_SYMLINK_NOFOLLOW))
			rc = count_name(&c, &users, names[i], &st);
	if (rc == -ENOMEM)
		np_errf(err, rc, "%s: out of memory", d.path);
	np_names_free(names, n);
	if (d.fd >= 0)
		np_dir_close(&d);
	if (rc) {
		np_store_census_free(&c);
		return rc;
	}
	if (c.n)
		qsort(c.squatter, c.n, sizeof(*c.squatter), most_taken);
	*out = c;
	return 0;
}

void np_store_census_free(struct np_store_census *c)
{
	free(c->squatter);
	*c = (struct np_store_census){ .n = 0 };
}

/*
 * dir: of the user, or, just made, still root's, so that nobody but root could
 * have put anything in its place.
 */
static int hand_over(int users, int dir, uid_t uid)
{
	struct stat top, st;

	if (fstat(users, &top) || fstat(dir, &st))
		return -errno;
	if (st.st_uid != uid && st.st_uid)
		return -EEXIST;
	if ((st.st_gid != top.st_gid && fchown(dir, (uid_t)-1, top.st_gid)) ||
	    ((st.st_uid != uid || (st.st_mode & MODE) != MODE) &&
	     fchmod(dir, MODE)) ||
	    (st.st_uid != uid && fchown(dir, uid, (gid_t)-1)))
		return -errno;
	return 0;
}

int np_store_make_user(struct np_store *s, uid_t uid, bool *made,
		       struct np_err *err)
{
	int users = openat(s->fd, NP_STORE_USERS, NP_OPEN_DIR), dir, rc;
	char name[16];

	snprintf(name, sizeof(name), "%u", uid);
	if (users < 0)
		return np_errf(err, -errno, "%s/%s: %s", s->dir, NP_STORE_USERS,
			       strerror(errno));
	*made = !mkdirat(users, name, 0700);
	dir = *made || errno == EEXIST ? openat(users, name, NP_OPEN_DIR) : -1;
	rc = dir < 0 ? -errno : hand_over(users, dir, uid);
	if (rc && *made) /* root is nobody here, on some network file systems */
		unlinkat(users, name, AT_REMOVEDIR);
	if (dir >= 0)
		close(dir);
	close(users);
	if (!rc)
		return 0;
	return np_errf(err, rc, "%s/%s/%s: %s", s->dir, NP_STORE_USERS, name,
		       *made ? "root cannot give it to its user" :
		       rc == -EEXIST || rc == -ENOTDIR || rc == -ELOOP ?
		       "somebody else's, netprof check says how to mend it" :
		       strerror(-rc));
}
