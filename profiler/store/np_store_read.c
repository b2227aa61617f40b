/* Reading the runs of an application: every file of it may be hostile. */
#include "np_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_conf.h"
#include "np_store_dir.h"
#include "np_store_file.h"

struct load {
	struct np_reader from;
	size_t leaves, bytes; /* read so far */
};

/* Returns 0, -EINVAL for a file that was skipped, or -ENOMEM. */
static int load_run(struct load *l, const char *name, struct np_record **out)
{
	const struct np_dir *d = l->from.dir;
	struct np_err why = NP_ERR_INIT;
	struct np_record *r;
	char *text;
	ssize_t len = np_reader_read(&l->from, name, &text);
	int rc;

	if (len < 0)
		return (int)len;
	l->bytes += (size_t)len;
	rc = np_record_from_json(text, (size_t)len, "", &r, &why);
	free(text);
	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		/* ": what is wrong": a name alone would say too little. */
		np_reader_skip(&l->from, "%s/%s: skipped%s", d->path, name,
			       why.text);
		return -EINVAL;
	}
	if (d->owner == NP_STORE_USER && r->uid != d->uid) {
		np_reader_skip(&l->from, "%s/%s: skipped: uid: got %u, "
			       "expected %u", d->path, name, r->uid, d->uid);
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

		if (runs->n == NP_CONF_MAX_RUNS || spent(l)) {
			np_reader_skip(&l->from, "%s: %zu older %s not read, "
				       "the newest %zu are enough",
				       l->from.dir->path, n - i, n - i == 1 ?
				       "run is" : "runs are", runs->n);
			return 0;
		}
		if (i - runs->n == NP_STORE_MAX_SKIPPED) {
			np_reader_skip(&l->from, "%s: %d files cannot be used, "
				       "%zu older ones are not read",
				       l->from.dir->path, NP_STORE_MAX_SKIPPED,
				       n - i);
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
	const struct np_dir *d = l->from.dir;
	int rc = np_dir_names(d, np_is_run_name, &names, &n, &cut, err);

	if (rc)
		return rc;
	if (cut)
		np_reader_skip(&l->from, "%s: more than %d files, the rest is "
			       "not looked at", d->path, NP_STORE_MAX_SCAN);
	runs->run = calloc(NP_CONF_MAX_RUNS, sizeof(*runs->run));
	rc = runs->run ? load_runs(l, names, n, runs) : -ENOMEM;
	np_names_free(names, n);
	if (rc)
		return np_errf(err, rc, "%s: %s", d->path, strerror(-rc));
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
	struct load l = { .from = { &d, NP_RECORD_MAX_BYTES, warn, arg } };
	int rc;

	if (np_app_check(app, err))
		return -ENOENT;
	rc = np_dir_open(s, owner, uid, app, false, &d, err);
	if (rc == -ENOENT)
		return np_errf(err, rc, "no profile of %s in %s", app, s->dir);
	if (rc)
		return rc;
	strcpy(runs.app, app);
	rc = load_dir(&l, &runs, err);
	runs.bytes = l.bytes;
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
