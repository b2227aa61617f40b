#include "np_trace_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define MAX_TRACES 4096 /* looked at */
#define MAX_SCAN 65536	/* entries of a directory */
#define MAX_APPS 1024	/* of a user */

/* One step down, where nobody else can have put something; closes at. */
static int step_down(int at, const char *name)
{
	struct stat st;
	int fd = -1, rc;

	rc = mkdirat(at, name, 0750) && errno != EEXIST ? -errno : 0;
	if (!rc) {
		fd = openat(at, name, OPEN_DIR);
		rc = fd < 0 ? -errno : 0;
	}
	close(at);
	if (!rc && (fstat(fd, &st) || st.st_uid != geteuid())) {
		close(fd);
		rc = -EACCES;
	}
	return rc ? rc : fd;
}

/*
 * A directory by its path.  A symbolic link at its end is followed if it is
 * root's or one's own: others can make one where all may write.
 */
static int open_top(const char *dir)
{
	struct stat st;
	int fd = open(dir, OPEN_DIR);

	if (fd >= 0)
		return fd;
	if (errno != ELOOP && errno != ENOTDIR)
		return -errno;
	if (lstat(dir, &st))
		return -errno;
	if (!S_ISLNK(st.st_mode))
		return -ENOTDIR;
	if (st.st_uid && st.st_uid != geteuid())
		return -ELOOP;
	fd = open(dir, OPEN_DIR & ~O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

int np_trace_dir_open(const char *dir, const char *sub)
{
	char path[PATH_MAX], *rest = path, *name;
	int fd;

	if (!sub && mkdir(dir, 0777) && errno != EEXIST)
		return -errno;
	fd = open_top(dir);
	if (fd < 0)
		return fd;
	if (snprintf(path, sizeof(path), "%s", sub ? sub : "") >= PATH_MAX) {
		close(fd);
		return -ENAMETOOLONG;
	}
	while (fd >= 0 && (name = strsep(&rest, "/")))
		if (*name)
			fd = step_down(fd, name);
	return fd;
}

struct trace {
	char name[NAME_MAX + 1];
	struct timespec made;
	size_t app; /* of those of a user */
};

static int newest_first(const void *a, const void *b)
{
	const struct timespec *x = &((const struct trace *)a)->made;
	const struct timespec *y = &((const struct trace *)b)->made;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? 1 : -1;
	return (x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

static bool is_trace(const char *name)
{
	size_t n = strlen(name), end = strlen(NP_TRACE_SUFFIX);

	return name[0] != '.' && n > end &&
	       !strcmp(name + n - end, NP_TRACE_SUFFIX);
}

/* A stream of its own for the directory; fd stays. */
static DIR *stream_of(int fd)
{
	int own = openat(fd, ".", OPEN_DIR);
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (!d && own >= 0)
		close(own);
	return d;
}

/* Only what its user owns, and no symbolic link; the newest first. */
static size_t look(int fd, uid_t uid, struct trace *t)
{
	DIR *d = stream_of(fd);
	struct dirent *e;
	struct stat st;
	size_t n = 0, seen = 0;

	while (d && n < MAX_TRACES && seen++ < MAX_SCAN && (e = readdir(d))) {
		if (!is_trace(e->d_name) ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISDIR(st.st_mode) || st.st_uid != uid)
			continue;
		strcpy(t[n].name, e->d_name);
		t[n++].made = st.st_mtim;
	}
	if (d)
		closedir(d);
	if (n)
		qsort(t, n, sizeof(*t), newest_first);
	return n;
}

int np_trace_dir_newest(int fd, uid_t uid, char name[NAME_MAX + 1])
{
	struct trace *t = calloc(MAX_TRACES, sizeof(*t));
	int rc = !t ? -ENOMEM : look(fd, uid, t) ? 0 : -ENOENT;

	if (!rc)
		strcpy(name, t->name);
	free(t);
	return rc;
}

/* What was made of the trace: np_traced.h. */
static void remove_curve(int at, const char *name)
{
	char curve[NAME_MAX + 8];

	snprintf(curve, sizeof(curve), "%.*s.curve",
		 (int)(strlen(name) - strlen(NP_TRACE_SUFFIX)), name);
	unlinkat(at, curve, 0);
}

/* The files of ranks, and then the directory, if nothing else is in it. */
static void remove_trace(int at, const char *name)
{
	int fd = openat(at, name, OPEN_DIR);
	DIR *d = fd < 0 ? NULL : stream_of(fd);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, "rank.", 5))
			unlinkat(fd, e->d_name, 0);
	if (d)
		closedir(d);
	if (fd >= 0)
		close(fd);
	if (!unlinkat(at, name, AT_REMOVEDIR))
		remove_curve(at, name);
}

/* All but the newest. */
static void remove_older(int app, unsigned keep)
{
	struct trace *t = calloc(MAX_TRACES, sizeof(*t));
	size_t n = t ? look(app, geteuid(), t) : 0;

	for (size_t i = keep; i < n; i++)
		remove_trace(app, t[i].name);
	free(t);
}

void np_trace_dir_prune(int dir, unsigned keep)
{
	int above = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (above < 0)
		return;
	remove_older(above, keep);
	close(above);
}

void np_trace_dir_clear(int app)
{
	remove_older(app, 0);
}

/* A user's directory of the store, as it is gone through. */
struct of_user {
	char app[MAX_APPS][NAME_MAX + 1];
	size_t n_apps;
	struct trace *t; /* MAX_TRACES */
	size_t n;
};

static void look_at_app(struct of_user *u, int above, const char *name)
{
	int fd = openat(above, name, OPEN_DIR);
	struct trace *t = fd < 0 ? NULL : calloc(MAX_TRACES, sizeof(*t));
	size_t n = t ? look(fd, geteuid(), t) : 0;

	for (size_t i = 0; i < n && u->n < MAX_TRACES; i++) {
		t[i].app = u->n_apps;
		u->t[u->n++] = t[i];
	}
	free(t);
	if (n)
		strcpy(u->app[u->n_apps++], name);
	if (fd >= 0)
		close(fd);
}

static void look_at_user(struct of_user *u, int above)
{
	DIR *d = stream_of(above);
	struct dirent *e;
	size_t seen = 0;

	while (d && u->n_apps < MAX_APPS && seen++ < MAX_SCAN &&
	       (e = readdir(d)))
		if (e->d_name[0] != '.')
			look_at_app(u, above, e->d_name);
	if (d)
		closedir(d);
}

static void remove_of(int above, const char *app, const char *name)
{
	int fd = openat(above, app, OPEN_DIR);

	if (fd < 0)
		return;
	remove_trace(fd, name);
	close(fd);
}

static bool is_own(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_uid == geteuid();
}

size_t np_trace_dir_prune_user(int dir, unsigned keep)
{
	int above = openat(dir, "../..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct of_user *u = calloc(1, sizeof(*u));
	size_t removed = 0;

	if (u)
		u->t = calloc(MAX_TRACES, sizeof(*u->t));
	if (above >= 0 && is_own(above) && u && u->t) {
		look_at_user(u, above);
		if (u->n)
			qsort(u->t, u->n, sizeof(*u->t), newest_first);
		for (size_t i = keep; i < u->n; i++, removed++)
			remove_of(above, u->app[u->t[i].app], u->t[i].name);
	}
	if (u)
		free(u->t);
	free(u);
	if (above >= 0)
		close(above);
	return removed;
}
