/*
 * Directories of traces in a user's part of the store, APP/JOB.STEP.trace, and
 * the analysis of each, which lies next to it.  Everything is opened relative
 * to a directory that is already open, so that nobody can replace a part of the
 * path in between.
 */
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
#define MAX_TRACES 4096 /* in one directory */
#define MAX_SCAN 65536	/* entries of a directory */
#define MAX_APPS 1024	/* of one user */

/*
 * Open a subdirectory that the caller owns, made if missing.  Closes parent_fd.
 * Returns the descriptor or -errno.
 */
static int open_below(int parent_fd, const char *name)
{
	struct stat st;
	int fd = -1, rc;

	rc = mkdirat(parent_fd, name, 0750) && errno != EEXIST ? -errno : 0;
	if (!rc) {
		fd = openat(parent_fd, name, OPEN_DIR);
		rc = fd < 0 ? -errno : 0;
	}
	close(parent_fd);
	if (!rc && (fstat(fd, &st) || st.st_uid != geteuid())) {
		close(fd);
		rc = -EACCES;
	}
	return rc ? rc : fd;
}

/*
 * Open a directory by its path.  A symbolic link at the end of the path is
 * followed only if root or the caller owns it: in a directory like /tmp others
 * can make one.
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
			fd = open_below(fd, name);
	return fd;
}

int np_trace_dir_create(int trace_fd, unsigned rank)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "rank.%u", rank);
	unlinkat(trace_fd, name, 0);
	fd = openat(trace_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC |
		    O_NOFOLLOW, 0640);
	return fd < 0 ? -errno : fd;
}

struct trace {
	char name[NAME_MAX + 1];
	struct timespec modified;
	size_t app; /* index into struct user_traces.app */
};

static int newest_first(const void *a, const void *b)
{
	const struct timespec *x = &((const struct trace *)a)->modified;
	const struct timespec *y = &((const struct trace *)b)->modified;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? 1 : -1;
	return (x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

/* Does the name end like that of a trace? */
static bool is_trace(const char *name)
{
	size_t n = strlen(name), end = strlen(NP_TRACE_SUFFIX);

	return name[0] != '.' && n > end &&
	       !strcmp(name + n - end, NP_TRACE_SUFFIX);
}

/* A directory stream for the directory fd, with a descriptor of its own. */
static DIR *open_stream(int fd)
{
	int copy = openat(fd, ".", OPEN_DIR);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);

	if (!d && copy >= 0)
		close(copy);
	return d;
}

/* List the traces that uid owns, newest first; symbolic links are ignored. */
static size_t list_traces(int fd, uid_t uid, struct trace *t)
{
	DIR *d = open_stream(fd);
	struct dirent *e;
	struct stat st;
	size_t n = 0, scanned = 0;

	while (d && n < MAX_TRACES && scanned++ < MAX_SCAN &&
	       (e = readdir(d))) {
		if (!is_trace(e->d_name) ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISDIR(st.st_mode) || st.st_uid != uid)
			continue;
		strcpy(t[n].name, e->d_name);
		t[n++].modified = st.st_mtim;
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
	int rc = !t ? -ENOMEM : list_traces(fd, uid, t) ? 0 : -ENOENT;

	if (!rc)
		strcpy(name, t->name);
	free(t);
	return rc;
}

/* Remove the analysis of a trace (np_trace_analysis.h), JOB.STEP.curve. */
static void remove_analysis(int app_fd, const char *trace)
{
	char name[NAME_MAX + 8];

	snprintf(name, sizeof(name), "%.*s.curve",
		 (int)(strlen(trace) - strlen(NP_TRACE_SUFFIX)), trace);
	unlinkat(app_fd, name, 0);
}

/* Remove the per-rank files, then the directory if it is empty. Is it gone? */
static bool remove_trace(int app_fd, const char *name)
{
	int fd = openat(app_fd, name, OPEN_DIR);
	DIR *d = fd < 0 ? NULL : open_stream(fd);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, "rank.", 5))
			unlinkat(fd, e->d_name, 0);
	if (d)
		closedir(d);
	if (fd >= 0)
		close(fd);
	if (unlinkat(app_fd, name, AT_REMOVEDIR))
		return false;
	remove_analysis(app_fd, name);
	return true;
}

void np_trace_dir_prune(int app_fd, unsigned keep)
{
	struct trace *t = calloc(MAX_TRACES, sizeof(*t));
	size_t n = t ? list_traces(app_fd, geteuid(), t) : 0;

	for (size_t i = keep; i < n; i++)
		remove_trace(app_fd, t[i].name);
	free(t);
}

/* All traces in a user's directory of the store. */
struct user_traces {
	char app[MAX_APPS][NAME_MAX + 1];
	size_t n_apps;
	struct trace *t; /* room for MAX_TRACES */
	size_t n;
};

/* Add the traces of one application to those of the user. */
static void list_app(struct user_traces *u, int user_fd, const char *name)
{
	int fd = openat(user_fd, name, OPEN_DIR);
	struct trace *t = fd < 0 ? NULL : calloc(MAX_TRACES, sizeof(*t));
	size_t n = t ? list_traces(fd, geteuid(), t) : 0;

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

/* List the traces of all applications of the user. */
static void list_user(struct user_traces *u, int user_fd)
{
	DIR *d = open_stream(user_fd);
	struct dirent *e;
	size_t scanned = 0;

	while (d && u->n_apps < MAX_APPS && scanned++ < MAX_SCAN &&
	       (e = readdir(d)))
		if (e->d_name[0] != '.')
			list_app(u, user_fd, e->d_name);
	if (d)
		closedir(d);
}

/* Remove a trace by its application and its name. Is it gone? */
static bool remove_by_name(int user_fd, const char *app, const char *name)
{
	int fd = openat(user_fd, app, OPEN_DIR);
	bool gone;

	if (fd < 0)
		return false;
	gone = remove_trace(fd, name);
	close(fd);
	return gone;
}

static bool is_owned_by_caller(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_uid == geteuid();
}

size_t np_trace_dir_prune_user(int trace_fd, unsigned keep)
{
	int user_fd =
		openat(trace_fd, "../..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct user_traces *u = calloc(1, sizeof(*u));
	size_t removed = 0;

	if (u)
		u->t = calloc(MAX_TRACES, sizeof(*u->t));
	if (user_fd >= 0 && is_owned_by_caller(user_fd) && u && u->t) {
		list_user(u, user_fd);
		if (u->n)
			qsort(u->t, u->n, sizeof(*u->t), newest_first);
		for (size_t i = keep; i < u->n; i++)
			removed += remove_by_name(user_fd, u->app[u->t[i].app],
						  u->t[i].name);
	}
	if (u)
		free(u->t);
	free(u);
	if (user_fd >= 0)
		close(user_fd);
	return removed;
}
