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

/* Why a file must not be read. */
enum fault { NONE, NO_FILE, FOREIGN, TOO_LARGE };

static enum fault fault_of(const struct np_dir *d, const struct stat *st,
			   size_t max_bytes)
{
	return !S_ISREG(st->st_mode) ? NO_FILE :
	       !np_dir_trusts(d, st->st_uid) ? FOREIGN :
	       (size_t)st->st_size > max_bytes ? TOO_LARGE : NONE;
}

/*
 * No symbolic link, and no FIFO makes us wait: the first look avoids opening
 * what is no file at all, the second counts.
 */
static int open_file(const struct np_dir *d, const char *name, size_t max_bytes,
		     struct stat *st, enum fault *fault)
{
	int fd, rc = 0;

	*fault = NONE;
	if (fstatat(d->fd, name, st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	*fault = fault_of(d, st, max_bytes);
	if (*fault != NONE)
		return -EACCES;
	fd = openat(d->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
		    O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, st))
		rc = -errno;
	else if ((*fault = fault_of(d, st, max_bytes)) != NONE)
		rc = -EACCES;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

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

ssize_t np_reader_read(const struct np_reader *r, const char *name, char **text)
{
	const char *dir = r->dir->path;
	enum fault fault;
	struct stat st;
	int fd = open_file(r->dir, name, r->max_bytes, &st, &fault);
	ssize_t len = fd;

	if (fd >= 0) {
		len = np_read_text(fd, (size_t)st.st_size, text);
		close(fd);
	}
	if (len >= 0 || len == -ENOMEM)
		return len;
	if (fault == NO_FILE)
		np_reader_skip(r, "%s/%s: skipped: %s, expected a regular file",
			       dir, name, kind_of(st.st_mode));
	else if (fault == FOREIGN)
		np_reader_skip(r, "%s/%s: skipped: owned by uid %u, a foreign "
			       "owner", dir, name, st.st_uid);
	else if (fault == TOO_LARGE)
		np_reader_skip(r, "%s/%s: skipped: %lld bytes, expected at "
			       "most %zu", dir, name, (long long)st.st_size,
			       r->max_bytes);
	else if (len != -ENOENT) /* pruned since we saw its name: no news */
		np_reader_skip(r, "%s/%s: skipped: %s", dir, name,
			       strerror((int)-len));
	return -EINVAL;
}

ssize_t np_file_read_end(const struct np_dir *d, const char *name, size_t max,
			 char **text, bool *cut, struct np_err *err)
{
	enum fault fault;
	struct stat st;
	int fd = open_file(d, name, SIZE_MAX, &st, &fault);
	ssize_t len = fd;

	if (fd >= 0) {
		*cut = st.st_size > (off_t)max;
		len = *cut && lseek(fd, -(off_t)max, SEEK_END) < 0 ? -errno :
		      np_read_text(fd, *cut ? max : (size_t)st.st_size, text);
		close(fd);
	}
	if (fault == NO_FILE)
		np_errf(err, -EACCES, "%s/%s: expected a regular file", d->path,
			name);
	else if (fault == FOREIGN)
		np_errf(err, -EACCES, "%s/%s: owned by uid %u, expected root "
			"or uid %u; not trusted", d->path, name, st.st_uid,
			d->store_owner);
	else if (len < 0)
		np_errf(err, (int)len, "%s/%s: %s", d->path, name,
			strerror((int)-len));
	return len;
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
