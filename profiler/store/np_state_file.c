#include "np_state_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_read.h"
#include "np_store_file.h"

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

struct asked {
	const struct np_dir *d;
	struct np_err *err;
	bool told;
};

static int check(void *arg, const char *name, const struct stat *st)
{
	struct asked *a = arg;

	a->told = true;
	if (!S_ISREG(st->st_mode))
		return np_errf(a->err, -EACCES, "%s/%s: expected a regular "
			       "file", a->d->path, name);
	if (!np_dir_trusts(a->d, st->st_uid))
		return np_errf(a->err, -EACCES, "%s/%s: owned by uid %u, "
			       "expected root or uid %u; not trusted",
			       a->d->path, name, st->st_uid,
			       a->d->store_owner);
	a->told = false;
	return 0;
}

ssize_t np_placement_read(const struct np_dir *d, const char *name, size_t max,
			  char **text, bool *cut, struct np_err *err)
{
	struct asked a = { d, err, false };
	struct stat st;
	int fd = np_file_open(d, name, check, &a, &st);
	ssize_t len = fd;

	if (fd >= 0) {
		*cut = st.st_size > (off_t)max;
		len = *cut && lseek(fd, -(off_t)max, SEEK_END) < 0 ? -errno :
		      np_read_text(fd, *cut ? max : (size_t)st.st_size, text);
		close(fd);
	}
	if (len < 0 && !a.told)
		np_errf(err, (int)len, "%s/%s: %s", d->path, name,
			strerror((int)-len));
	return len;
}
