/*
 * Directories of traces in a user's part of the store:
 *
 *	APP/JOB.STEP.trace/rank.N	the file of each rank
 *	APP/JOB.STEP.curve		the analysis (np_trace_analysis.h)
 *
 * Every directory is opened relative to an open one, so that nobody can replace
 * a part of the path meanwhile.
 */
#include "np_trace_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* With O_DIRECTORY, file systems are mounted on demand. */
#define OPEN_PART (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define MAX_LINKS 40	 /* in a path, as in Linux */
#define HIDDEN_UID 65534 /* owner that has no name in a user namespace */
/* Beyond these limits, traces and directories are ignored. */
#define MAX_TRACES 4096 /* of an application, and of a user */
#define MAX_SCAN 65536	/* entries read of a directory */
#define MAX_APPS 1024	/* applications with traces of a user */

/*
 * Open a subdirectory, which is made if it is missing and must belong to the
 * calling user. Closes parent_fd. Returns the descriptor or -errno.
 */
static int open_subdir(int parent_fd, const char *name)
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

/* ---- following a path ---- */

/*
 * A path of which a part has been opened. In a directory such as /tmp, others
 * can make symbolic links that lead to files of the caller.
 */
struct walk {
	const char *root;    /* where absolute links begin */
	int fd;		     /* directory reached so far; -1: none */
	char rest[PATH_MAX]; /* what follows */
	unsigned links;	     /* symbolic links followed */
	bool make;	     /* make the last directory if it is missing */
};

/* Returns 0 or -errno. */
static int go_to(struct walk *walk, int fd)
{
	if (fd < 0)
		return -errno;
	if (walk->fd >= 0)
		close(walk->fd);
	walk->fd = fd;
	return 0;
}

/* Begin with a path, which is relative to the directory reached so far. */
static int begin(struct walk *walk, const char *path)
{
	size_t len = strlen(path);

	if (len >= sizeof(walk->rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, path, len + 1);
	if (*path == '/')
		return go_to(walk, open(walk->root, OPEN_PART & ~O_NOFOLLOW));
	return walk->fd >= 0 ? 0 : go_to(walk, open(".", OPEN_PART));
}

/*
 * Whether a symbolic link in the directory reached so far may be followed: if
 * root or the caller owns it. In a user namespace, the owner of a link of root
 * is hidden as that of others is; such a link must be in a directory in which
 * not everybody can make one.
 */
static bool is_trusted(const struct walk *walk, const struct stat *link)
{
	struct stat parent;

	if (link->st_uid == HIDDEN_UID) /* the caller may have this one, too */
		return !fstat(walk->fd, &parent) && !(parent.st_mode & S_IWOTH);
	return !link->st_uid || link->st_uid == geteuid();
}

/*
 * Put the target of a link in front of what follows it. Like mkdir(2), a link
 * at the end of the path does not make its target.
 */
static int expand(struct walk *walk, int link)
{
	char path[PATH_MAX];
	ssize_t len = readlinkat(link, "", path, sizeof(path));

	if (len < 0)
		return -errno;
	if ((size_t)len + 1 + strlen(walk->rest) >= sizeof(path))
		return -ENAMETOOLONG;
	if (!*walk->rest)
		walk->make = false;
	path[len] = '/';
	strcpy(path + len + 1, walk->rest);
	return begin(walk, path);
}

/* Follow a symbolic link. -ENOTDIR: it is none, and no directory. */
static int follow(struct walk *walk, const char *name)
{
	int link = openat(walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc;
	struct statfs fs;
	struct stat st;

	if (link < 0)
		return -errno;
	if (fstat(link, &st) || fstatfs(link, &fs))
		rc = -errno;
	else if (!S_ISLNK(st.st_mode))
		rc = -ENOTDIR;
	else if (!is_trusted(walk, &st) || ++walk->links > MAX_LINKS)
		rc = -ELOOP;
	else if (fs.f_type == PROC_SUPER_MAGIC) /* it may be more than text */
		rc = go_to(walk,
			   openat(walk->fd, name, OPEN_PART & ~O_NOFOLLOW));
	else
		rc = expand(walk, link);
	close(link);
	return rc;
}

/* Open the next directory of a path. */
static int enter(struct walk *walk, const char *name)
{
	int fd = openat(walk->fd, name, OPEN_PART);

	if (fd < 0 && errno == ENOENT && walk->make && !*walk->rest) {
		if (mkdirat(walk->fd, name, 0777) && errno != EEXIST)
			return -errno;
		fd = openat(walk->fd, name, OPEN_PART);
	}
	/* With O_DIRECTORY, the error for a symbolic link is ENOTDIR. */
	return fd < 0 && (errno == ENOTDIR || errno == ELOOP) ?
		       follow(walk, name) :
		       go_to(walk, fd);
}

/* Take the next component from the path. Returns false at its end. */
static bool next_component(struct walk *walk, char name[NAME_MAX + 1], int *rc)
{
	char *from = walk->rest + strspn(walk->rest, "/");
	size_t len = strcspn(from, "/");

	if (len > NAME_MAX)
		*rc = -ENAMETOOLONG;
	if (!len || *rc)
		return false;
	memcpy(name, from, len);
	name[len] = '\0';
	from += len + strspn(from + len, "/");
	memmove(walk->rest, from, strlen(from) + 1);
	return true;
}

/*
 * Open a directory by its path, and make it if it is missing. Links are followed
 * if they are trusted.
 */
static int open_path(const char *root, const char *dir)
{
	struct walk walk = { .root = root, .fd = -1, .make = true };
	char name[NAME_MAX + 1];
	int fd = -1, rc = begin(&walk, dir);

	while (!rc && next_component(&walk, name, &rc))
		rc = enter(&walk, name);
	if (!rc) {
		fd = openat(walk.fd, ".", OPEN_DIR);
		rc = fd < 0 ? -errno : 0;
	}
	if (walk.fd >= 0)
		close(walk.fd);
	return rc ? rc : fd;
}

/*
 * Open users/ of the store. The administrator has chosen the path of the store,
 * and may have made links in it.
 */
static int open_users(const char *root, const char *dir)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s%s", *dir == '/' ? root : "",
		     dir) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(path, OPEN_DIR);
	return fd < 0 ? -errno : fd;
}

/* ---- directories and files of traces ---- */

int np_trace_dir_open(const char *root, const char *dir, const char *sub)
{
	char path[PATH_MAX], *rest = path, *name;
	int fd;

	if (!sub)
		return open_path(root, dir);
	if (snprintf(path, sizeof(path), "%s", sub) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open_users(root, dir);
	while (fd >= 0 && (name = strsep(&rest, "/")))
		if (*name)
			fd = open_subdir(fd, name);
	return fd;
}

int np_trace_dir_create(int trace_fd, unsigned rank)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "rank.%u", rank);
	unlinkat(trace_fd, name, 0);
	fd = openat(trace_fd, name,
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	return fd < 0 ? -errno : fd;
}

struct trace {
	char name[NAME_MAX + 1]; /* of the directory */
	struct timespec modified;
	size_t app; /* index into struct user_traces.app */
};

static int newest_first(const void *a, const void *b)
{
	const struct timespec *time_a = &((const struct trace *)a)->modified;
	const struct timespec *time_b = &((const struct trace *)b)->modified;

	if (time_a->tv_sec != time_b->tv_sec)
		return time_a->tv_sec < time_b->tv_sec ? 1 : -1;
	return (time_a->tv_nsec < time_b->tv_nsec) -
	       (time_a->tv_nsec > time_b->tv_nsec);
}

/* Whether an entry of an application's directory may be a trace. */
static bool is_trace_name(const char *name)
{
	size_t len = strlen(name), suffix_len = strlen(NP_TRACE_SUFFIX);

	return name[0] != '.' && len > suffix_len &&
	       !strcmp(name + len - suffix_len, NP_TRACE_SUFFIX);
}

/* Open a stream of the directory fd, which stays open. NULL: failed. */
static DIR *open_stream(int fd)
{
	int copy = openat(fd, ".", OPEN_DIR);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);

	if (!stream && copy >= 0)
		close(copy);
	return stream;
}

/*
 * List the traces that uid owns, newest first; symbolic links are ignored.
 * traces has MAX_TRACES elements. Returns how many there are; 0 also if the
 * directory cannot be read.
 */
static size_t list_traces(int fd, uid_t uid, struct trace *traces)
{
	DIR *stream = open_stream(fd);
	struct dirent *entry;
	struct stat st;
	size_t n = 0, scanned = 0;

	while (stream && n < MAX_TRACES && scanned++ < MAX_SCAN &&
	       (entry = readdir(stream))) {
		if (!is_trace_name(entry->d_name) ||
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISDIR(st.st_mode) || st.st_uid != uid)
			continue;
		strcpy(traces[n].name, entry->d_name);
		traces[n++].modified = st.st_mtim;
	}
	if (stream)
		closedir(stream);
	if (n)
		qsort(traces, n, sizeof(*traces), newest_first);
	return n;
}

int np_trace_dir_newest(int fd, uid_t uid, char name[NAME_MAX + 1])
{
	struct trace *traces = calloc(MAX_TRACES, sizeof(*traces));
	int rc = !traces ? -ENOMEM : list_traces(fd, uid, traces) ? 0 : -ENOENT;

	if (!rc)
		strcpy(name, traces->name);
	free(traces);
	return rc;
}

/* Remove the analysis of a trace. */
static void remove_analysis(int app_fd, const char *trace)
{
	char name[NAME_MAX + 8];

	snprintf(name, sizeof(name), "%.*s.curve",
		 (int)(strlen(trace) - strlen(NP_TRACE_SUFFIX)), trace);
	unlinkat(app_fd, name, 0);
}

/*
 * Remove the files of the ranks of a trace, and unless it has other files, its
 * directory and its analysis. Returns whether the directory is gone.
 */
static bool remove_trace(int app_fd, const char *name)
{
	int fd = openat(app_fd, name, OPEN_DIR);
	DIR *stream = fd < 0 ? NULL : open_stream(fd);
	struct dirent *entry;

	while (stream && (entry = readdir(stream)))
		if (!strncmp(entry->d_name, "rank.", 5))
			unlinkat(fd, entry->d_name, 0);
	if (stream)
		closedir(stream);
	if (fd >= 0)
		close(fd);
	if (unlinkat(app_fd, name, AT_REMOVEDIR))
		return false;
	remove_analysis(app_fd, name);
	return true;
}

void np_trace_dir_prune(int app_fd, unsigned keep)
{
	struct trace *traces = calloc(MAX_TRACES, sizeof(*traces));
	size_t n = traces ? list_traces(app_fd, geteuid(), traces) : 0;

	for (size_t i = keep; i < n; i++)
		remove_trace(app_fd, traces[i].name);
	free(traces);
}

/* All traces in a user's directory of the store. */
struct user_traces {
	char app[MAX_APPS][NAME_MAX + 1];
	size_t n_apps;
	struct trace *traces; /* array of MAX_TRACES */
	size_t n_traces;
};

/* Add the caller's traces of one application to those of the user. */
static void list_app(struct user_traces *user, int user_fd, const char *name)
{
	int fd = openat(user_fd, name, OPEN_DIR);
	struct trace *traces = fd < 0 ? NULL :
					calloc(MAX_TRACES, sizeof(*traces));
	size_t n = traces ? list_traces(fd, geteuid(), traces) : 0;

	for (size_t i = 0; i < n && user->n_traces < MAX_TRACES; i++) {
		traces[i].app = user->n_apps;
		user->traces[user->n_traces++] = traces[i];
	}
	free(traces);
	if (n)
		strcpy(user->app[user->n_apps++], name);
	if (fd >= 0)
		close(fd);
}

/* List the traces of all applications of the user. */
static void list_user(struct user_traces *user, int user_fd)
{
	DIR *stream = open_stream(user_fd);
	struct dirent *entry;
	size_t scanned = 0;

	while (stream && user->n_apps < MAX_APPS && scanned++ < MAX_SCAN &&
	       (entry = readdir(stream)))
		if (entry->d_name[0] != '.')
			list_app(user, user_fd, entry->d_name);
	if (stream)
		closedir(stream);
}

/* Remove a trace of an application. Returns whether it is gone. */
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
	struct user_traces *user = calloc(1, sizeof(*user));
	size_t removed = 0;

	if (user)
		user->traces = calloc(MAX_TRACES, sizeof(*user->traces));
	if (user_fd >= 0 && is_owned_by_caller(user_fd) && user &&
	    user->traces) {
		list_user(user, user_fd);
		if (user->n_traces)
			qsort(user->traces, user->n_traces,
			      sizeof(*user->traces), newest_first);
		for (size_t i = keep; i < user->n_traces; i++)
			removed += remove_by_name(
				user_fd, user->app[user->traces[i].app],
				user->traces[i].name);
	}
	if (user)
		free(user->traces);
	free(user);
	if (user_fd >= 0)
		close(user_fd);
	return removed;
}
