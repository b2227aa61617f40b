/* One file of the store: checked and read, or written whole. */
#include "np_store_file.h"
#include "np_read.h"
#include "np_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STALE_SEC 3600 /* no writer needs longer for one file */
#define LOCK_WAIT_SEC 2
#define LOCK_POLL_NS 10000000

void np_reader_skip(const struct np_reader *r, const char *fmt, ...)
{
	char line[NP_ERR_LEN + NP_STORE_PATH];
	va_list ap;

	if (!r->warn)
		return;
	va_start(ap, fmt);
	np_text_print(line, sizeof(line), fmt, ap);
	va_end(ap);
	r->warn(line, r->arg);
}

static const char *kind_of(mode_t mode)
{
	return S_ISLNK(mode) ? "a symbolic link" : S_ISFIFO(mode) ? "a FIFO" :
	       S_ISDIR(mode) ? "a directory" : S_ISSOCK(mode) ? "a socket" :
			       "a device";
}

static int check_file(void *arg, const char *name, const struct stat *st)
{
	const struct np_reader *r = arg;
	const char *dir = r->dir->path;

	if (!S_ISREG(st->st_mode))
		np_reader_skip(r, "%s/%s: skipped: %s, expected a regular file",
			       dir, name, kind_of(st->st_mode));
	else if (!np_dir_trusts(r->dir, st->st_uid))
		np_reader_skip(r, "%s/%s: skipped: owned by uid %u, a foreign "
			       "owner", dir, name, st->st_uid);
	else if (st->st_size > (off_t)r->max_bytes)
		np_reader_skip(r, "%s/%s: skipped: %lld bytes, expected at "
			       "most %zu", dir, name, (long long)st->st_size,
			       r->max_bytes);
	else
		return 0;
	return -EINVAL;
}

/* The first look avoids opening what is no file at all; the second counts. */
int np_file_open(const struct np_dir *d, const char *name,
		 np_file_check_f *check, void *arg, struct stat *st)
{
	int fd, rc;

	if (fstatat(d->fd, name, st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	rc = check(arg, name, st);
	if (rc)
		return rc;
	fd = openat(d->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
		    O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fstat(fd, st) ? -errno : check(arg, name, st);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

ssize_t np_reader_read(const struct np_reader *r, const char *name, char **text)
{
	struct stat st;
	ssize_t rc = np_file_open(r->dir, name, check_file, (void *)r, &st);

	if (rc >= 0) {
		int fd = (int)rc;

		rc = np_read_text(fd, (size_t)st.st_size, text);
		close(fd);
	} else if (rc != -EINVAL && rc != -ENOENT) {
		np_reader_skip(r, "%s/%s: skipped: %s", r->dir->path, name,
			       strerror((int)-rc));
		return -EINVAL;
	} else { /* said, or pruned since we saw its name: no news */
		return -EINVAL;
	}
	if (rc < 0 && rc != -ENOMEM)
		np_reader_skip(r, "%s/%s: skipped: %s", r->dir->path, name,
			       strerror((int)-rc));
	return rc;
}

#define TMP 32 /* room for a temporary name */

static int create_tmp(const struct np_dir *d, mode_t mode, char name[TMP])
{
	uint64_t id;
	int fd;

	/* Writers on many nodes share the directory: a pid is not enough. */
	do {
		if (getrandom(&id, sizeof(id), 0) != sizeof(id))
			return -EIO;
		snprintf(name, TMP, NP_STORE_TMP "%016" PRIx64, id);
		fd = openat(d->fd, name, O_WRONLY | O_CREAT | O_EXCL |
			    O_NOFOLLOW | O_CLOEXEC, mode);
	} while (fd < 0 && errno == EEXIST);
	return fd < 0 ? -errno : fd;
}

/* All of it into fd, synced; fd is closed. */
static int fill(int fd, const void *data, size_t len, mode_t mode)
{
	int rc = np_write_all(fd, data, len);

	/* Whatever the umask: the group reads, that is slurmctld. */
	if (!rc && (fchmod(fd, mode) || fsync(fd)))
		rc = -errno;
	if (close(fd) && !rc) /* some file systems tell about quota here */
		rc = -errno;
	return rc;
}

static int write_once(const struct np_dir *d, const char *name,
		      const void *data, size_t len, mode_t mode)
{
	char tmp[TMP];
	int fd = create_tmp(d, mode, tmp), rc;

	if (fd < 0)
		return fd;
	rc = fill(fd, data, len, mode);
	if (!rc && renameat(d->fd, tmp, d->fd, name))
		rc = -errno;
	if (!rc)
		return np_file_sync_dir(d);
	unlinkat(d->fd, tmp, 0);
	return rc;
}

int np_file_write(const struct np_dir *d, const char *name, const void *data,
		  size_t len, mode_t mode, struct np_err *err)
{
	int rc = write_once(d, name, data, len, mode);

	/* Taken away, as the clock jumped and it looked old. */
	if (rc == -ENOENT)
		rc = write_once(d, name, data, len, mode);
	return rc ? np_errf(err, rc, "cannot write %s/%s: %s", d->path, name,
			    strerror(-rc)) : 0;
}

/* The directory of a path, opened; *name: what follows. */
static int open_directory(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	size_t len;
	int fd;

	*name = slash ? slash + 1 : path;
	len = slash ? (size_t)(slash - path) : 0;
	if (!**name || len >= sizeof(dir))
		return **name ? -ENAMETOOLONG : -EISDIR;
	if (slash)
		snprintf(dir, sizeof(dir), "%.*s", (int)(len ? len : 1), path);
	else
		strcpy(dir, ".");
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int np_file_write_path(const char *path, const void *data, size_t len,
		       mode_t mode, struct np_err *err)
{
	struct np_dir d = { .fd = -1 };
	const char *name;
	struct stat st;
	int rc = 0;

	d.fd = open_directory(path, &name);
	if (d.fd < 0)
		rc = d.fd;
	else if (fstatat(d.fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
		 S_ISREG(st.st_mode))
		rc = np_file_write(&d, name, data, len, mode, NULL);
	else
		rc = S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST;
	if (d.fd >= 0)
		np_dir_close(&d);
	if (rc == -EEXIST)
		return np_errf(err, rc, "cannot write %s: expected a regular "
			       "file, or none", path);
	return rc ? np_errf(err, rc, "cannot write %s: %s", path,
			    strerror(-rc)) : 0;
}

int np_file_lock(int fd)
{
	const struct timespec nap = { .tv_nsec = LOCK_POLL_NS };

	for (int i = 0; i < LOCK_WAIT_SEC * (1000000000 / LOCK_POLL_NS); i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		nanosleep(&nap, NULL);
	}
	return -EWOULDBLOCK;
}

/* A directory that cannot be synced (some network file systems) is no loss. */
int np_file_sync_dir(const struct np_dir *d)
{
	return fsync(d->fd) && errno != EINVAL && errno != EROFS ? -errno : 0;
}

/*
 * Of two clocks that differ, this node's and the file server's, files go by
 * the latter, and so does the directory.
 */
void np_file_remove_stale(const struct np_dir *d)
{
	struct stat dir, st;
	char **names;
	size_t n;

	if (fstat(d->fd, &dir) ||
	    np_dir_names(d, np_is_tmp_name, &names, &n, NULL, NULL))
		return;
	for (size_t i = 0; i < n; i++)
		if (!fstatat(d->fd, names[i], &st, AT_SYMLINK_NOFOLLOW) &&
		    dir.st_mtime - st.st_mtime > STALE_SEC)
			unlinkat(d->fd, names[i], 0);
	np_names_free(names, n);
}
