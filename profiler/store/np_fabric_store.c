/*
 * The dated files of a fabric, and which of them count: calibrations, and what
 * messages cost.
 */
#include "np_fabric_store.h"
#include "np_loggps_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "np_store_file.h"

#define NO_CLUSTER "cluster" /* where the name is not known */
#define LOGGPS_SUFFIX ".loggps"
#define MAX_FILES 1000 /* looked at, of a cluster */

/* Files that could not be used, and why of the newest. */
struct skips {
	size_t n;
	struct np_err newest;
};

/* A search for the best file of a kind; what is not said is set by it. */
struct search {
	struct np_store *store;
	const char *cluster; /* NULL or "": all clusters */
	const char *none, *no_use; /* for messages: "no calibration of " */
	const char *scope;   /* and of which: " at scope node", or "" */
	bool (*is_name)(const char *name);
	size_t max_bytes; /* of a file */
	/*
	 * Looks at one.  Returns 0, 1 (no older one of its cluster can be
	 * better), -ENOMEM, or with err why it cannot be used.
	 */
	int (*look)(struct search *s, const char *text, size_t len,
		    const char *path, struct np_err *err);
	void *best; /* for look() */
	bool found; /* set by look(): there is one in best */

	size_t bytes;	   /* read so far */
	struct skips here; /* in the cluster that is looked at */
	struct skips all;
};

/* The directory of a cluster, whose name may be NULL or "". */
static void dir_name(const char *cluster, char name[NP_APP_MAX + 1])
{
	if (!cluster || !*cluster || np_app_from_text(cluster, name))
		strcpy(name, NO_CLUSTER);
}

static void on_skip(const char *line, void *arg)
{
	struct skips *skips = arg;

	if (!skips->n++)
		np_errf(&skips->newest, 0, "%s", line);
}

/* Returns what look() does, and 0 for a file that was skipped. */
static int look_at(struct search *s, const struct np_reader *from,
		   const char *name)
{
	char path[NP_STORE_PATH + NAME_MAX + 1], *text;
	struct np_err why = NP_ERR_INIT;
	ssize_t len = np_reader_read(from, name, &text);
	int rc;

	if (len < 0)
		return len == -ENOMEM ? -ENOMEM : 0;
	s->bytes += (size_t)len;
	snprintf(path, sizeof(path), "%s/%s", from->dir->path, name);
	rc = s->look(s, text, (size_t)len, path, &why);
	free(text);
	if (rc >= 0 || rc == -ENOMEM)
		return rc;
	np_reader_skip(from, "%s", why.text);
	return 0;
}

static int search_cluster(struct search *s, const char *cluster,
			  struct np_err *err)
{
	struct np_dir d;
	struct np_reader from = { &d, s->max_bytes, on_skip, &s->here };
	char **names;
	size_t n;
	int rc = np_dir_open_fabric(s->store, cluster, false, &d, err);

	if (rc)
		return rc;
	rc = np_dir_names(&d, s->is_name, &names, &n, NULL, err);
	if (!rc) {
		for (size_t i = 0; !rc && i < n && i < MAX_FILES &&
				   s->bytes < NP_STORE_MAX_READ; i++)
			rc = look_at(s, &from, names[i]);
		np_names_free(names, n);
		if (rc < 0)
			np_errf(err, rc, "%s: %s", d.path, strerror(-rc));
	}
	np_dir_close(&d);
	return rc;
}

static void next_cluster(struct search *s)
{
	if (!s->all.n)
		s->all.newest = s->here.newest;
	s->all.n += s->here.n;
	s->here = (struct skips){ 0 };
}

static int search_all(struct search *s, struct np_err *err)
{
	struct np_dir d;
	char **names;
	size_t n;
	int rc = np_dir_open_fabric(s->store, NULL, false, &d, err);

	if (rc)
		return rc;
	rc = np_dir_names(&d, np_is_app_name, &names, &n, NULL, err);
	np_dir_close(&d);
	if (rc)
		return rc;
	for (size_t i = 0; i < n && rc != -ENOMEM; i++) {
		struct np_err why = NP_ERR_INIT;

		/* One that is not trusted does not hide the others. */
		rc = search_cluster(s, names[i], &why);
		if (rc < 0 && rc != -ENOENT)
			on_skip(why.text, &s->here);
		next_cluster(s);
	}
	np_names_free(names, n);
	return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : 0;
}

/* There is none, or none that can be used. */
static int none(const struct search *s, struct np_err *err)
{
	const char *cluster = s->cluster ? s->cluster : "";

	if (s->all.n)
		return np_errf(err, -ENOENT, "%s: %s", s->no_use,
			       s->all.newest.text);
	return np_errf(err, -ENOENT, "%s%s%s%s in %s", s->none,
		       *cluster ? "cluster " : "the fabric", cluster, s->scope,
		       np_store_dir(s->store));
}

/*
 * Show look() the files of the cluster or of each cluster, the newest by name
 * first.  Returns 0 if one is found, or with err -ENOENT (there is none, or
 * none that can be used), -EACCES, -ENOMEM or what reading the directory gave.
 * Also then one may have been found, which is to be freed.
 */
static int search(struct search *s, struct np_err *err)
{
	char name[NP_APP_MAX + 1];
	int rc;

	if (s->cluster && *s->cluster) {
		dir_name(s->cluster, name);
		rc = search_cluster(s, name, err);
		next_cluster(s);
	} else {
		rc = search_all(s, err);
	}
	if (rc < 0 && rc != -ENOENT)
		return rc;
	return s->found ? 0 : none(s, err);
}

/* "20261121T031320Z" and the suffix. */
static int file_name(double date, const char *suffix, char buf[NAME_MAX + 1])
{
	char name[32];
	time_t t = date > 0 && date < 2e11 ? (time_t)date : 0;
	struct tm tm;

	if (!t || !gmtime_r(&t, &tm) ||
	    !strftime(name, sizeof(name), "%Y%m%dT%H%M%SZ", &tm))
		return -EINVAL;
	snprintf(buf, NAME_MAX + 1, "%s%s", name, suffix);
	return 0;
}

/* The directory, for writing; np_dir_close(). */
static int make_dir(struct np_store *s, const char *cluster, struct np_dir *d,
		    struct np_err *err)
{
	char name[NP_APP_MAX + 1];
	int rc;

	dir_name(cluster, name);
	rc = np_dir_open_fabric(s, name, true, d, err);
	/* Taken away in this moment. */
	return rc == -ENOENT ? np_errf(err, rc, "profile store %s: %s",
				       np_store_dir(s), strerror(-rc)) : rc;
}

/* Whole or not at all. */
static int write_file(struct np_store *s, const char *cluster,
		      const char *file, const char *text, struct np_err *err)
{
	struct np_dir d;
	int rc = make_dir(s, cluster, &d, err);

	if (rc)
		return rc;
	rc = np_file_write(&d, file, text, strlen(text), 0644, err);
	np_dir_close(&d);
	return rc;
}

/* ---- calibrations ---- */

struct best_calibration {
	const char *scope; /* NULL: any */
	struct np_calibration c;
};

/* Is a, looked at later, the better one? */
static bool better(const struct best_calibration *b,
		   const struct np_calibration *a)
{
	if ((a->scope == NP_SCOPE_LEAF) != (b->c.scope == NP_SCOPE_LEAF))
		return a->scope == NP_SCOPE_LEAF;
	return a->date > b->c.date;
}

static int look_at_calibration(struct search *s, const char *text, size_t len,
			       const char *path, struct np_err *err)
{
	struct best_calibration *b = s->best;
	struct np_calibration c;
	int rc = np_calibration_parse(text, len, path, &c, err);
	bool wanted;

	if (rc)
		return rc;
	wanted = !b->scope || !strcmp(np_scope_name(c.scope), b->scope);
	rc = wanted && (b->scope || c.scope == NP_SCOPE_LEAF);
	if (!wanted || (s->found && !better(b, &c))) {
		np_calibration_free(&c);
		return rc;
	}
	if (s->found)
		np_calibration_free(&b->c);
	b->c = c;
	b->c.n_skipped = s->here.n;
	b->c.skipped = s->here.newest;
	s->found = true;
	return rc;
}

static struct search search_for(struct np_store *store, const char *cluster,
				const char *scope)
{
	return (struct search){
		.store = store, .cluster = cluster,
		.none = "no calibration of ",
		.no_use = "no calibration can be used",
		.scope = scope, .is_name = np_is_run_name,
		.max_bytes = NP_MEASURED_MAX_BYTES, .look = look_at_calibration,
	};
}

int np_fabric_store_load(struct np_store *store, const char *cluster,
			 const char *scope, struct np_calibration *out,
			 struct np_err *err)
{
	struct best_calibration b = { .scope = scope };
	char of[64] = "";
	struct search s = search_for(store, cluster, of);
	int rc;

	if (scope)
		snprintf(of, sizeof(of), " at scope %s", scope);
	s.best = &b;
	rc = search(&s, err);
	if (!rc)
		*out = b.c;
	else if (s.found)
		np_calibration_free(&b.c);
	return rc;
}

int np_fabric_store_look(struct np_store *s, const char *cluster,
			 struct np_store_stamp *out, struct np_err *err)
{
	struct search any = search_for(s, cluster, "");
	char name[NP_APP_MAX + 1];
	struct np_dir d;
	struct stat st;
	int rc;

	dir_name(cluster, name);
	rc = np_dir_open_fabric(s, name, false, &d, err);
	if (rc == -ENOENT)
		return none(&any, err);
	if (rc)
		return rc;
	if (fstat(d.fd, &st))
		rc = np_errf(err, -errno, "%s: %s", d.path, strerror(errno));
	else
		*out = np_stamp_of(&st);
	np_dir_close(&d);
	return rc;
}

int np_fabric_store_save(struct np_store *s, const char *cluster, double date,
			 const char *json_text, struct np_err *err)
{
	char file[NAME_MAX + 1];
	struct np_calibration c;
	int rc;

	if (file_name(date, ".json", file))
		return np_errf(err, -EINVAL, "calibration: date %g: expected "
			       "seconds since 1970", date);
	/* What cannot be read again is better told to its writer. */
	rc = np_calibration_parse(json_text, strlen(json_text), file, &c, err);
	if (rc)
		return rc;
	np_calibration_free(&c);
	return write_file(s, cluster, file, json_text, err);
}

/* ---- LogGPS parameters ---- */

struct best_loggps {
	bool across;
	struct np_loggps_record r;
};

static bool is_loggps_name(const char *name)
{
	size_t len = strlen(name), end = strlen(LOGGPS_SUFFIX);

	return name[0] != '.' && len > end &&
	       !strcmp(name + len - end, LOGGPS_SUFFIX);
}

/* Names are in the order of dates. */
static int look_at_loggps(struct search *s, const char *text, size_t len,
			  const char *path, struct np_err *err)
{
	struct best_loggps *b = s->best;
	struct np_loggps_record r;
	int rc = np_loggps_record_get(text, len, path, &r, err);

	if (rc)
		return rc;
	rc = r.across == b->across;
	if (!rc || (s->found && b->r.date >= r.date)) {
		np_loggps_record_free(&r);
		return rc;
	}
	if (s->found)
		np_loggps_record_free(&b->r);
	b->r = r;
	s->found = true;
	return rc;
}

int np_loggps_store_load(struct np_store *store, const char *cluster,
			 bool across, struct np_loggps_record *out,
			 struct np_err *err)
{
	struct best_loggps b = { .across = across };
	struct search s = {
		.store = store, .cluster = cluster,
		.none = "no LogGPS parameters of ",
		.no_use = "no LogGPS parameters can be used",
		.scope = across ? " across leaf switches" : "",
		.is_name = is_loggps_name, .max_bytes = NP_LOGGPS_MAX_BYTES,
		.look = look_at_loggps, .best = &b,
	};
	int rc = search(&s, err);

	if (!rc)
		*out = b.r;
	else if (s.found)
		np_loggps_record_free(&b.r);
	return rc;
}

int np_loggps_store_check(struct np_store *s, const char *cluster,
			  struct np_err *err)
{
	struct np_dir d;
	int rc = make_dir(s, cluster, &d, err);

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

	if (file_name(r->date, LOGGPS_SUFFIX, file))
		return np_errf(err, -EINVAL, "LogGPS parameters: date %g: "
			       "expected seconds since 1970", r->date);
	rc = np_loggps_record_put(r, &text, err);
	if (rc)
		return rc;
	rc = write_file(s, cluster, file, text, err);
	free(text);
	return rc;
}
