/* Reading the runs of an application: every file of it may be hostile. */
#include "np_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_store_dir.h"

struct load {
	const struct np_dir *dir;
	np_store_warn_f *warn;
	void *arg;
	size_t leaves, bytes; /* read so far */
};

static void skip(const struct load *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void skip(const struct load *l, const char *fmt, ...)
{
	char line[NP_ERR_LEN + NP_STORE_PATH];
	va_list ap;

	if (!l->warn)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	for (char *p = line; *p; p++) /* names of files are hostile, too */
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	l->warn(line, l->arg);
}

static const char *kind_of(mode_t mode)
{
	return S_ISLNK(mode) ? "a symbolic link" : S_ISFIFO(mode) ? "a FIFO" :
	       S_ISDIR(mode) ? "a directory" : S_ISSOCK(mode) ? "a socket" :
			       "a device";
}

static int check_file(const struct load *l, const char *name,
		      const struct stat *st)
{
	const char *dir = l->dir->path;

	if (!S_ISREG(st->st_mode))
		skip(l, "%s/%s: skipped: %s, expected a regular file", dir,
		     name, kind_of(st->st_mode));
	else if (!np_dir_trusts(l->dir, st->st_uid))
		skip(l, "%s/%s: skipped: owned by uid %u, a foreign owner",
		     dir, name, st->st_uid);
	else if (st->st_size > NP_RECORD_MAX_BYTES)
		skip(l, "%s/%s: skipped: %lld bytes, expected at most %u", dir,
		     name, (long long)st->st_size, NP_RECORD_MAX_BYTES);
	else
		return 0;
	return -EINVAL;
}

/*
 * Open and check.  The first look avoids opening what is no file at all; what
 * counts is the second, on the descriptor.  O_NONBLOCK: a FIFO must not hang.
 */
static int open_run(const struct load *l, const char *name, size_t *size)
{
	struct stat st;
	int fd;

	if (!fstatat(l->dir->fd, name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (check_file(l, name, &st))
			return -EINVAL;
		fd = openat(l->dir->fd, name, O_RDONLY | O_NOFOLLOW |
			    O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd >= 0 && !fstat(fd, &st)) {
			if (!check_file(l, name, &st)) {
				*size = (size_t)st.st_size;
				return fd;
			}
			close(fd);
			return -EINVAL;
		}
	}
	if (errno != ENOENT) /* pruned since we saw its name: no news */
		skip(l, "%s/%s: skipped: %s", l->dir->path, name,
		     strerror(errno));
	return -EINVAL;
}

/* What is there of size bytes; -errno when reading fails. */
static ssize_t read_all(int fd, char *buf, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t got = read(fd, buf + len, size - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		len += (size_t)got;
	}
	return (ssize_t)len;
}

/* *text is malloc'ed.  Returns its length, or -errno; skipped files say so. */
static ssize_t read_run(struct load *l, const char *name, char **text)
{
	size_t size;
	int fd = open_run(l, name, &size);
	ssize_t len;
	char *buf;

	if (fd < 0)
		return -EINVAL;
	buf = malloc(size + 1);
	len = buf ? read_all(fd, buf, size) : -ENOMEM;
	close(fd);
	if (len < 0) {
		if (len != -ENOMEM)
			skip(l, "%s/%s: skipped: %s", l->dir->path, name,
			     strerror((int)-len));
		free(buf);
		return len;
	}
	*text = buf;
	return len;
}

/* Returns 0, -EINVAL for a file that was skipped, or -ENOMEM. */
static int load_run(struct load *l, const char *name, struct np_record **out)
{
	struct np_err why = NP_ERR_INIT;
	struct np_record *r;
	char *text;
	ssize_t len = read_run(l, name, &text);
	int rc;

	if (len < 0)
		return (int)len;
	l->bytes += (size_t)len;
	rc = np_record_from_json(text, (size_t)len, name, &r, &why);
	free(text);
	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		/* The message begins with the name, which says too little. */
		skip(l, "%s/%s: skipped%s", l->dir->path, name,
		     why.text + strlen(name));
		return -EINVAL;
	}
	if (l->dir->owner == NP_STORE_USER && r->uid != l->dir->uid) {
		skip(l, "%s/%s: skipped: uid: got %u, expected %u",
		     l->dir->path, name, r->uid, l->dir->uid);
		np_record_free(r);
		return -EINVAL;
	}
	*out = r;
	return 0;
}

static bool spent(const struct load *l)
{
	return l->leaves >= NP_STORE_MAX_LEAVES ||
	       l->bytes >= NP_STORE_MAX_READ;
}

static int load_runs(struct load *l, char **names, size_t n,
		     struct np_runs *runs)
{
	for (size_t i = 0; i < n; i++) {
		struct np_record *r = NULL;
		int rc;

		if (runs->n == NP_STORE_MAX_RUNS || spent(l)) {
			skip(l, "%s: %zu older %s not read, the newest "
			     "%zu are enough", l->dir->path, n - i,
			     n - i == 1 ? "run is" : "runs are", runs->n);
			return 0;
		}
		if (i - runs->n == NP_STORE_MAX_SKIPPED) {
			skip(l, "%s: %d files cannot be used, %zu older ones "
			     "are not read", l->dir->path,
			     NP_STORE_MAX_SKIPPED, n - i);
			return 0;
		}
		rc = load_run(l, names[i], &r);
		if (rc == -ENOMEM)
			return rc;
		if (rc)
			continue;
		/* A directory that was renamed names all its runs. */
		strcpy(r->app, runs->app);
		l->leaves += r->n_leaves + 1;
		runs->run[runs->n++] = r;
	}
	return 0;
}

static int newest_first(const void *a, const void *b)
{
	const struct np_record *x = *(struct np_record *const *)a;
	const struct np_record *y = *(struct np_record *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? 1 : -1;
	if (x->job_id != y->job_id)
		return x->job_id < y->job_id ? 1 : -1;
	return x->step_id < y->step_id ? 1 : x->step_id > y->step_id ? -1 : 0;
}

static int load_dir(struct load *l, struct np_runs *runs, struct np_err *err)
{
	char **names;
	size_t n;
	bool cut;
	int rc = np_dir_names(l->dir, np_is_run_name, &names, &n, &cut, err);

	if (rc)
		return rc;
	if (cut)
		skip(l, "%s: more than %d files, the rest is not looked at",
		     l->dir->path, NP_STORE_MAX_SCAN);
	if (n)
		qsort(names, n, sizeof(*names), np_name_newest_first);
	runs->run = calloc(NP_STORE_MAX_RUNS, sizeof(*runs->run));
	rc = runs->run ? load_runs(l, names, n, runs) : -ENOMEM;
	np_names_free(names, n);
	if (rc)
		return np_errf(err, rc, "%s: %s", l->dir->path, strerror(-rc));
	if (runs->n)
		qsort(runs->run, runs->n, sizeof(*runs->run), newest_first);
	return 0;
}

int np_store_load(struct np_store *s, enum np_store_owner owner, uid_t uid,
		  const char *app, np_store_warn_f *warn, void *arg,
		  struct np_runs *out, struct np_err *err)
{
	struct np_runs runs = { .n = 0 };
	struct np_dir d;
	struct load l = { .dir = &d, .warn = warn, .arg = arg };
	int rc;

	if (np_app_check(app, err))
		return -ENOENT;
	rc = np_dir_open(s, owner, uid, app, &d, err);
	if (rc == -ENOENT)
		return np_errf(err, rc, "no profile of %s in %s", app, s->dir);
	if (rc)
		return rc;
	strcpy(runs.app, app);
	rc = load_dir(&l, &runs, err);
	np_dir_close(&d);
	if (rc)
		np_runs_free(&runs);
	else
		*out = runs;
	return rc;
}

void np_runs_free(struct np_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		np_record_free(runs->run[i]);
	free(runs->run);
	runs->run = NULL;
	runs->n = 0;
}
