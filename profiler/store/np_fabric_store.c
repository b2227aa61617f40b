#include "np_fabric_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "np_fabric_file.h"
#include "np_store_file.h"

#define NO_CLUSTER "cluster" /* where the name is not known */

/* A search for the best calibration among all that are read. */
struct search {
	struct np_store *store;
	const char *scope; /* NULL: any */
	size_t bytes;	   /* read so far */
	bool found;
	struct np_calibration best;
	/* Newer than the best and of no use. */
	size_t n_skipped;
	struct np_err skipped; /* the newest of them */
};

static void on_skip(const char *line, void *arg)
{
	struct search *s = arg;

	if (!s->n_skipped++)
		np_errf(&s->skipped, 0, "%s", line);
}

void np_fabric_dir_name(const char *cluster, char name[NP_APP_MAX + 1])
{
	if (!cluster || !*cluster || np_app_from_text(cluster, name))
		strcpy(name, NO_CLUSTER);
}

/* Is a, found later and older, the better one? */
static bool better(const struct search *s, const struct np_calibration *a)
{
	const struct np_calibration *b = &s->best;

	if (s->scope && strcmp(np_scope_name(a->scope), s->scope))
		return false;
	if (!s->found)
		return true;
	if ((a->scope == NP_SCOPE_LEAF) != (b->scope == NP_SCOPE_LEAF))
		return a->scope == NP_SCOPE_LEAF;
	return a->date > b->date;
}

/* Returns 0, also for a file that was skipped, or -ENOMEM. */
static int consider(struct search *s, const struct np_reader *from,
		    const char *name)
{
	char path[NP_STORE_PATH + NAME_MAX + 1], *text;
	struct np_err why = NP_ERR_INIT;
	struct np_calibration c;
	ssize_t len = np_reader_read(from, name, &text);
	int rc;

	if (len < 0)
		return len == -ENOMEM ? -ENOMEM : 0;
	s->bytes += (size_t)len;
	snprintf(path, sizeof(path), "%s/%s", from->dir->path, name);
	rc = np_calibration_parse(text, (size_t)len, path, &c, &why);
	free(text);
	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		np_reader_skip(from, "%s", why.text);
		return 0;
	}
	if (better(s, &c)) {
		if (s->found)
			np_calibration_free(&s->best);
		s->best = c;
		s->best.n_skipped = s->n_skipped;
		s->best.skipped = s->skipped;
		s->found = true;
	} else {
		np_calibration_free(&c);
	}
	return 0;
}

/* Have we got what cannot become better? */
static bool settled(const struct search *s)
{
	return s->bytes >= NP_STORE_MAX_READ ||
	       (s->found && (s->scope || s->best.scope == NP_SCOPE_LEAF));
}

/* The newest of one cluster. */
static int search_cluster(struct search *s, const char *cluster,
			  struct np_err *err)
{
	struct np_dir d;
	struct np_reader from = { &d, NP_MEASURED_MAX_BYTES, on_skip, s };
	char **names;
	size_t n;
	bool cut;
	int rc = np_dir_open_fabric(s->store, cluster, false, &d, err);

	if (rc)
		return rc;
	rc = np_dir_names(&d, np_is_run_name, &names, &n, &cut, err);
	if (!rc) {
		if (n)
			qsort(names, n, sizeof(*names), np_name_newest_first);
		for (size_t i = 0; !rc && i < n && !settled(s) &&
				   i < NP_CALIBRATION_MAX_FILES; i++)
			rc = consider(s, &from, names[i]);
		np_names_free(names, n);
		if (rc)
			np_errf(err, rc, "%s: %s", d.path, strerror(-rc));
	}
	np_dir_close(&d);
	return rc;
}

bool np_fabric_is_dir_name(const char *name)
{
	return !np_app_check(name, NULL);
}

/* The newest of all clusters: the best of each is compared. */
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
	for (size_t i = 0; !rc && i < n; i++) {
		struct search one = { .store = s->store, .scope = s->scope,
				      .bytes = s->bytes };

		/* One that is not trusted does not hide the others. */
		rc = search_cluster(&one, names[i], &one.skipped);
		s->bytes = one.bytes;
		if (!s->n_skipped && one.skipped.text[0])
			s->skipped = one.skipped;
		s->n_skipped += one.n_skipped + (rc && rc != -ENOMEM);
		rc = rc == -ENOMEM ? rc : 0;
		if (one.found && better(s, &one.best)) {
			if (s->found)
				np_calibration_free(&s->best);
			s->best = one.best;
			s->found = true;
		} else if (one.found) {
			np_calibration_free(&one.best);
		}
	}
	np_names_free(names, n);
	return rc ? np_errf(err, rc, "%s: %s", d.path, strerror(-rc)) : 0;
}

static int none(const struct search *s, const char *cluster,
		struct np_err *err)
{
	if (s->n_skipped)
		return np_errf(err, -ENOENT, "no calibration can be used: %s",
			       s->skipped.text);
	return np_errf(err, -ENOENT, "no calibration of %s%s%s%s in %s",
		       cluster && *cluster ? "cluster " : "the fabric",
		       cluster ? cluster : "", s->scope ? " at scope " : "",
		       s->scope ? s->scope : "", np_store_dir(s->store));
}

int np_fabric_store_load(struct np_store *store, const char *cluster,
			 const char *scope, struct np_calibration *out,
			 struct np_err *err)
{
	struct search s = { .store = store, .scope = scope };
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
			np_calibration_free(&s.best);
		return rc;
	}
	if (!s.found)
		return none(&s, cluster, err);
	*out = s.best;
	return 0;
}

int np_fabric_store_look(struct np_store *s, const char *cluster,
			 struct np_store_stamp *out, struct np_err *err)
{
	struct search any = { .store = s };
	char name[NP_APP_MAX + 1];
	struct np_dir d;
	struct stat st;
	int rc;

	np_fabric_dir_name(cluster, name);
	rc = np_dir_open_fabric(s, name, false, &d, err);
	if (rc == -ENOENT)
		return none(&any, cluster, err);
	if (rc)
		return rc;
	if (fstat(d.fd, &st))
		rc = np_errf(err, -errno, "%s: %s", d.path, strerror(errno));
	else
		*out = np_stamp_of(&st);
	np_dir_close(&d);
	return rc;
}

int np_fabric_file_name(double date, const char *suffix, char *buf, size_t len)
{
	char name[32];
	time_t t = date > 0 && date < 2e11 ? (time_t)date : 0;
	struct tm tm;

	if (!t || !gmtime_r(&t, &tm) ||
	    !strftime(name, sizeof(name), "%Y%m%dT%H%M%SZ", &tm) ||
	    snprintf(buf, len, "%s%s", name, suffix) >= (int)len)
		return -EINVAL;
	return 0;
}

int np_fabric_dir_make(struct np_store *s, const char *cluster,
		       struct np_dir *d, struct np_err *err)
{
	char name[NP_APP_MAX + 1];
	int rc;

	np_fabric_dir_name(cluster, name);
	rc = np_dir_open_fabric(s, name, true, d, err);
	/* Taken away in this moment. */
	return rc == -ENOENT ? np_errf(err, rc, "profile store %s: %s",
				       np_store_dir(s), strerror(-rc)) : rc;
}

int np_fabric_file_write(struct np_store *s, const char *cluster,
			 const char *file, const char *text,
			 struct np_err *err)
{
	struct np_dir d;
	int rc = np_fabric_dir_make(s, cluster, &d, err);

	if (rc)
		return rc;
	rc = np_file_write(&d, file, text, 0644);
	if (rc)
		np_errf(err, rc, "cannot write %s/%s: %s", d.path, file,
			strerror(-rc));
	np_dir_close(&d);
	return rc;
}

int np_fabric_store_save(struct np_store *s, const char *cluster, double date,
			 const char *json_text, struct np_err *err)
{
	char file[NAME_MAX + 1];
	struct np_calibration c;
	int rc;

	if (np_fabric_file_name(date, ".json", file, sizeof(file)))
		return np_errf(err, -EINVAL, "calibration: date %g: expected "
			       "seconds since 1970", date);
	/* What cannot be read again is better told to its writer. */
	rc = np_calibration_parse(json_text, strlen(json_text), file, &c, err);
	if (rc)
		return rc;
	np_calibration_free(&c);
	return np_fabric_file_write(s, cluster, file, json_text, err);
}
