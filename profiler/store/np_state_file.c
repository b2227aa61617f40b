#include "np_state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_read.h"

int np_placement_dir(const char *store_dir, bool make, struct np_dir *out,
		     struct np_err *err)
{
	struct np_store *s;
	int rc = np_store_open(store_dir, &s, err);

	if (rc)
		return rc;
	rc = np_dir_open_placement(s, make, out, err);
	np_store_close(s);
	if (rc == -ENOENT)
		np_errf(err, rc, "%s/%s: placement has never written there",
			store_dir, NP_STORE_PLACEMENT);
	return rc;
}

static int check(const struct np_dir *d, const char *name,
		 const struct stat *st, struct np_err *err)
{
	if (!S_ISREG(st->st_mode))
		return np_errf(err, -EACCES, "%s/%s: expected a regular file",
			       d->path, name);
	if (!np_dir_trusts(d, st->st_uid))
		return np_errf(err, -EACCES, "%s/%s: owned by uid %u, expected "
			       "root or uid %u; not trusted", d->path, name,
			       st->st_uid, d->store_owner);
	return 0;
}

/* O_NONBLOCK and the first look: a FIFO must not hang. */
static int open_checked(const struct np_dir *d, const char *name,
			struct stat *st, struct np_err *err)
{
	int fd, rc;

	if (fstatat(d->fd, name, st, AT_SYMLINK_NOFOLLOW))
		return np_errf(err, -errno, "%s/%s: %s", d->path, name,
			       strerror(errno));
	rc = check(d, name, st, err);
	if (rc)
		return rc;
	fd = openat(d->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
		    O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, st))
		rc = np_errf(err, -errno, "%s/%s: %s", d->path, name,
			     strerror(errno));
	else
		rc = check(d, name, st, err);
	if (rc && fd >= 0)
		close(fd);
	return rc ? rc : fd;
}

ssize_t np_placement_read(const struct np_dir *d, const char *name, size_t max,
			  char **text, bool *cut, struct np_err *err)
{
	struct stat st;
	int fd = open_checked(d, name, &st, err);
	size_t size;
	ssize_t len;
	char *buf;

	if (fd < 0)
		return fd;
	*cut = st.st_size > (off_t)max;
	size = *cut ? max : (size_t)st.st_size;
	buf = malloc(size + 1);
	len = !buf ? -ENOMEM :
	      *cut && lseek(fd, -(off_t)max, SEEK_END) < 0 ? -errno :
	      np_read_up_to(fd, buf, size);
	close(fd);
	if (len < 0) {
		free(buf);
		return np_errf(err, (int)len, "%s/%s: %s", d->path, name,
			       strerror((int)-len));
	}
	*text = buf;
	return len;
}
