#include "np_loggps_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_fabric_file.h"
#include "np_store_file.h"

#define SUFFIX ".loggps"

struct search {
	struct np_store *store;
	bool across, found;
	struct np_loggps_record best;
	size_t n_skipped;
	struct np_err skipped; /* why the newest of no use is that */
};

static void on_skip(const char *line, void *arg)
{
	struct search *s = arg;

	if (!s->n_skipped++)
		np_errf(&s->skipped, 0, "%s", line);
}

static bool is_ours(const char *name)
{
	size_t len = strlen(name), end = strlen(SUFFIX);

	return name[0] != '.' && len > end &&
	       !strcmp(name + len - end, SUFFIX);
}

/* Returns 0, also for a file that was skipped, or -ENOMEM. */
static int consider(struct search *s, const struct np_reader *from,
		    const char *name)
{
	char path[NP_STORE_PATH + NAME_MAX + 1], *text;
	struct np_err why = NP_ERR_INIT;
	struct np_loggps_record r;
	ssize_t len = np_reader_read(from, name, &text);
	int rc;

	if (len < 0)
		return len == -ENOMEM ? -ENOMEM : 0;
	snprintf(path, sizeof(path), "%s/%s", from->dir->path, name);
	rc = np_loggps_record_get(text, (size_t)len, path, &r, &why);
	free(text);
	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		np_reader_skip(from, "%s", why.text);
		return 0;
	}
	if (r.across != s->across || (s->found && s->best.date >= r.date)) {
		np_loggps_record_free(&r);
		return 0;
	}
	if (s->found)
		np_loggps_record_free(&s->best);
	s->best = r;
	s->found = true;
	return 0;
}

/* The newest of one cluster: names are in the order of dates. */
static int search_cluster(struct search *s, const char *cluster,
			  struct np_err *err)
{
	bool had = s->found, cut;
	struct np_dir d;
	struct np_reader from = { &d, NP_LOGGPS_MAX_BYTES, on_skip, s };
	double before = s->best.date;
	char **names;
	size_t n;
	int rc = np_dir_open_fabric(s->store, cluster, false, &d, err);

	if (rc)
		return rc;
	rc = np_dir_names(&d, is_ours, &names, &n, &cut, err);
	if (!rc) {
		if (n)
			qsort(names, n, sizeof(*names), np_name_newest_first);
		for (size_t i = 0; !rc && i < n && i < NP_LOGGPS_MAX_FILES &&
				   s->found == had && s->best.date == before;
		     i++)
			rc = consider(s, &from, names[i]);
		np_names_free(names, n);
		if (rc)
			np_errf(err, rc, "%s: %s", d.path, strerror(-rc));
	}
	np_dir_close(&d);
	return rc;
}

static int search_all(struct search *s, struct np_err *err)
{
	struct np_dir d;
	char **names;
	size_t n;
	bool cut;
	int rc = np_dir_open_fabric(s->store, NULL, false, &d, err);

	if (rc)
		return rc;
	rc = np_dir_names(&d, np_fabric_is_dir_name, &names, &n, &cut, err);
	np_dir_close(&d);
	if (rc)
		return rc;
	for (size_t i = 0; i < n && rc != -ENOMEM; i++) {
		struct np_err why = NP_ERR_INIT;

		/* One that is not trusted does not hide the others. */
		rc = search_cluster(s, names[i], &why);
		if (rc && rc != -ENOENT)
			on_skip(why.text, s);
	}
	np_names_free(names, n);
	return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : 0;
}

static int none(const struct search *s, const char *cluster,
		struct np_err *err)
{
	if (s->n_skipped)
		return np_errf(err, -ENOENT, "no LogGPS parameters can be "
			       "used: %s", s->skipped.text);
	return np_errf(err, -ENOENT, "no LogGPS parameters of %s%s%s in %s",
		       cluster && *cluster ? "cluster " : "the fabric",
		       cluster ? cluster : "", s->across ? " across leaf "
		       "switches" : "", np_store_dir(s->store));
}

int np_loggps_store_load(struct np_store *store, const char *cluster,
			 bool across, struct np_loggps_record *out,
			 struct np_err *err)
{
	struct search s = { .store = store, .across = across };
	char name[NP_APP_MAX + 1];
	int rc;

	if (cluster && *cluster) {
		np_fabric_dir_name(cluster, name);
		rc = search_cluster(&s, name, err);
	} else {
		rc = search_all(&s, err);
	}
	if (rc && rc != -ENOENT) {
		if (s.found)
			np_loggps_record_free(&s.best);
		return rc;
	}
	if (!s.found)
		return none(&s, cluster, err);
	*out = s.best;
	return 0;
}

int np_loggps_store_check(struct np_store *s, const char *cluster,
			  struct np_err *err)
{
	struct np_dir d;
	int rc = np_fabric_dir_make(s, cluster, &d, err);

	if (rc)
		return rc;
	if (faccessat(d.fd, ".", W_OK, AT_EACCESS))
		rc = np_errf(err, -errno, "%s: %s; what was measured is "
			     "written by administrators, or into a file by "
			     "--output=FILE", d.path, strerror(errno));
	np_dir_close(&d);
	return rc;
}

int np_loggps_store_save(struct np_store *s, const char *cluster,
			 const struct np_loggps_record *r, struct np_err *err)
{
	char file[NAME_MAX + 1], *text;
	int rc;

	if (np_fabric_file_name(r->date, SUFFIX, file, sizeof(file)))
		return np_errf(err, -EINVAL, "LogGPS parameters: date %g: "
			       "expected seconds since 1970", r->date);
	rc = np_loggps_record_put(r, &text, err);
	if (rc)
		return rc;
	rc = np_fabric_file_write(s, cluster, file, text, err);
	free(text);
	return rc;
}
