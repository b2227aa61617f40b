/* The store itself, and its directories. */
#include "np_store_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_conf.h"

#define USERS_MODE 03777 /* as /tmp, and what is made below takes its group */
#define PUBLIC_MODE 0755

int np_store_open(const char *dir, struct np_store **out, struct np_err *err)
{
	struct np_store *s = calloc(1, sizeof(*s));
	struct stat st;
	int rc;

	if (!s)
		return np_errf(err, -ENOMEM, "%s: out of memory", dir);
	s->max_runs = NP_CONF_MAX_RUNS;
	s->dir = strdup(dir);
	/* The administrator may have made the store itself a link. */
	s->fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!s->dir || s->fd < 0 || fstat(s->fd, &st)) {
		rc = s->dir ? -errno : -ENOMEM;
		np_store_close(s);
		return np_errf(err, rc, "profile store %s: %s", dir,
			       strerror(-rc));
	}
	s->owner = st.st_uid;
	*out = s;
	return 0;
}

void np_store_close(struct np_store *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s->dir);
	free(s);
}

const char *np_store_dir(const struct np_store *s)
{
	return s->dir;
}

void np_store_set_max_runs(struct np_store *s, uint32_t max_runs)
{
	s->max_runs = max_runs < 1 ? 1 :
		      max_runs > NP_CONF_MAX_RUNS ? NP_CONF_MAX_RUNS :
		      max_runs;
}

bool np_dir_trusts(const struct np_dir *d, uid_t uid)
{
	if (d->owner == NP_STORE_USER)
		return uid == d->uid;
	return uid == 0 || uid == d->store_owner;
}

struct np_store_stamp np_stamp_of(const struct stat *st)
{
	return (struct np_store_stamp){
		.dev = st->st_dev, .ino = st->st_ino,
		.sec = st->st_ctim.tv_sec, .nsec = st->st_ctim.tv_nsec,
	};
}

void np_dir_close(struct np_dir *d)
{
	close(d->fd);
	d->fd = -1;
}

static int make_dir(int at, const char *name, mode_t mode)
{
	int rc = np_dir_mkdir(at, name, mode);

	return rc == -EEXIST ? 0 : rc;
}

/* Go one directory down: out->path and out->fd change. */
static int descend(struct np_dir *d, const char *name, bool make, mode_t mode,
		   struct np_err *err)
{
	size_t len = strlen(d->path);
	int fd, rc;

	snprintf(d->path + len, sizeof(d->path) - len, "/%s", name);
	fd = openat(d->fd, name, NP_OPEN_DIR);
	if (fd < 0 && errno == ENOENT && make) {
		rc = make_dir(d->fd, name, mode);
		if (rc)
			return np_errf(err, rc, "cannot make %s: %s", d->path,
				       strerror(-rc));
		fd = openat(d->fd, name, NP_OPEN_DIR);
	}
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return np_errf(err, -EACCES, "%s: expected a directory, and "
			       "no symbolic link", d->path);
	if (fd < 0)
		return np_errf(err, -errno, "%s: %s", d->path, strerror(errno));
	np_dir_close(d);
	d->fd = fd;
	return 0;
}

static int check_owner(const struct np_dir *d, struct np_err *err)
{
	struct stat st;

	if (fstat(d->fd, &st))
		return np_errf(err, -errno, "%s: %s", d->path, strerror(errno));
	if (np_dir_trusts(d, st.st_uid))
		return 0;
	if (d->owner == NP_STORE_USER)
		return np_errf(err, -EACCES, "%s: owned by uid %u, expected "
			       "uid %u; not trusted", d->path, st.st_uid,
			       d->uid);
	return np_errf(err, -EACCES, "%s: owned by uid %u, expected root or "
		       "uid %u; not trusted", d->path, st.st_uid,
		       d->store_owner);
}

/*
 * Made by root, users/ is as netprof-profile(5) describes it, with the group
 * of the store.  Anybody else who owns a store has it alone.
 */
static int make_users(const struct np_store *s, struct np_err *err)
{
	bool root = geteuid() == 0;
	struct stat st;
	int rc = 0;

	if (!faccessat(s->fd, NP_STORE_USERS, F_OK, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (make_dir(s->fd, NP_STORE_USERS, root ? 0700 : 0755) ||
	    (root && (fstat(s->fd, &st) ||
		      fchownat(s->fd, NP_STORE_USERS, (uid_t)-1, st.st_gid,
			       AT_SYMLINK_NOFOLLOW) ||
		      fchmodat(s->fd, NP_STORE_USERS, USERS_MODE, 0))))
		rc = np_errf(err, -errno, "cannot make %s/%s: %s", s->dir,
			     NP_STORE_USERS, strerror(errno));
	return rc;
}

/* At the top of the store. */
static int start(const struct np_store *s, enum np_store_owner owner, uid_t uid,
		 struct np_dir *d, struct np_err *err)
{
	*d = (struct np_dir){ .owner = owner, .uid = uid,
			      .store_owner = s->owner };
	if (strlen(s->dir) >= PATH_MAX)
		return np_errf(err, -ENAMETOOLONG, "%s: path too long", s->dir);
	d->fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
	if (d->fd < 0)
		return np_errf(err, -errno, "%s: %s", s->dir, strerror(errno));
	strcpy(d->path, s->dir);
	return 0;
}

/* Down to what belongs to whom it should. */
static int step(struct np_dir *d, const char *name, bool make, mode_t mode,
		struct np_err *err)
{
	int rc = descend(d, name, make, mode, err);

	return rc ? rc : check_owner(d, err);
}

/* Into users/. */
static int to_users(const struct np_store *s, struct np_dir *d, bool make,
		    struct np_err *err)
{
	int rc = make ? make_users(s, err) : 0;

	if (!rc)
		rc = descend(d, NP_STORE_USERS, false, 0, err);
	if (!rc && make)
		np_dir_mend(d->fd, d->uid);
	return rc;
}

/* below: in the directory top, or NULL. */
static int open_dir(const struct np_store *s, enum np_store_owner owner,
		    uid_t uid, const char *top, const char *below, bool make,
		    struct np_dir *out, struct np_err *err)
{
	mode_t mode = owner == NP_STORE_USER ? NP_DIR_PRIVATE_MODE :
					       PUBLIC_MODE;
	struct np_dir d;
	int rc = start(s, owner, uid, &d, err);

	if (rc)
		return rc;
	if (owner == NP_STORE_USER)
		rc = to_users(s, &d, make, err);
	if (!rc)
		rc = step(&d, top, make, mode, err);
	if (!rc && below)
		rc = step(&d, below, make, mode, err);
	if (rc)
		np_dir_close(&d);
	else
		*out = d;
	return rc;
}

int np_dir_open(const struct np_store *s, enum np_store_owner owner, uid_t uid,
		const char *app, bool make, struct np_dir *out,
		struct np_err *err)
{
	char user[16];

	snprintf(user, sizeof(user), "%u", uid);
	return open_dir(s, owner, uid, owner == NP_STORE_USER ? user :
			NP_STORE_PUBLIC, app, make, out, err);
}

int np_dir_open_fabric(const struct np_store *s, const char *cluster, bool make,
		       struct np_dir *out, struct np_err *err)
{
	return open_dir(s, NP_STORE_PUBLISHED, 0, NP_STORE_FABRIC, cluster,
			make, out, err);
}

static int open_placement(const struct np_store *s, bool make,
			  struct np_dir *out, struct np_err *err)
{
	struct np_dir d;
	struct stat st;
	int rc = start(s, NP_STORE_PUBLISHED, 0, &d, err);
	bool made;

	if (rc)
		return rc;
	/* The umask belongs to all threads: the mode is set afterwards. */
	made = make && !mkdirat(s->fd, NP_STORE_PLACEMENT, PUBLIC_MODE);
	if (make && !made && errno != EEXIST)
		rc = np_errf(err, -errno, "cannot make %s/%s: %s", s->dir,
			     NP_STORE_PLACEMENT, strerror(errno));
	if (!rc)
		rc = descend(&d, NP_STORE_PLACEMENT, false, 0, err);
	if (!rc && ((made && fchmod(d.fd, PUBLIC_MODE)) || fstat(d.fd, &st)))
		rc = np_errf(err, -errno, "%s: %s", d.path, strerror(errno));
	if (rc) {
		np_dir_close(&d);
		return rc;
	}
	d.store_owner = st.st_uid;
	*out = d;
	return 0;
}

int np_dir_open_placement(const char *store_dir, bool make, struct np_dir *out,
			  struct np_err *err)
{
	struct np_store *s;
	int rc = np_store_open(store_dir, &s, err);

	if (rc)
		return rc;
	rc = open_placement(s, make, out, err);
	np_store_close(s);
	if (rc == -ENOENT)
		np_errf(err, rc, "%s/%s: placement has never written there",
			store_dir, NP_STORE_PLACEMENT);
	return rc;
}
