/*
 * The dated files of a fabric, calibrations and LogGPS parameters, and which of
 * them counts.
 */
#include "np_fabric_store.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_cache.h"
#include "np_fields.h"
#include "np_loggps_store.h"

#define NO_CLUSTER "cluster" /* name of the directory of an unnamed cluster */
#define LOGGPS_SUFFIX ".loggps"
#define MAX_FILES 1000 /* read in the directory of a cluster */

/* Files that could not be used, and the reason for the newest. */
struct skips {
	size_t n;
	struct np_err newest;
};

/* A search for the best file of one kind. */
struct search {
	struct np_store *store;
	const char *cluster;	   /* NULL or "": all clusters */
	const char *none, *no_use; /* for messages: "no calibration of " */
	const char *scope;	   /* the same: " at scope node", or "" */
	bool (*is_name)(const char *name);
	size_t max_bytes; /* of a file */
	/*
	 * Evaluates one file. Returns 0, 1 (no older file of its cluster can
	 * be better), -ENOMEM, or with err why it cannot be used.
	 */
	int (*look)(struct search *s, const char *text, size_t len,
		    const char *path, struct np_err *err);
	void *best; /* set by look() */
	bool found; /* set by look(): best is valid */

	size_t bytes;	   /* read so far */
	struct skips here; /* in the current cluster */
	struct skips all;
};

/* The name of a cluster's directory; cluster may be NULL or "". */
static void dir_name(const char *cluster, char name[NP_APP_MAX + 1])
{
	if (!cluster || !*cluster || np_app_from_text(cluster, name))
		strcpy(name, NO_CLUSTER);
}

/* Remember the first skipped file of a cluster, which is the newest. */
static void on_skip(const char *line, void *arg)
{
	struct skips *skips = arg;

	if (!skips->n++)
		np_errf(&skips->newest, 0, "%s", line);
}

/* Evaluate one file; returns what look() does, and 0 for a skipped file. */
static int look_at(struct search *search, const struct np_reader *from,
		   const char *name)
{
	char path[NP_STORE_PATH + NAME_MAX + 1], *text;
	struct np_err why = NP_ERR_INIT;
	ssize_t len = np_reader_read(from, name, &text);
	int rc;

	if (len < 0)
		return len == -ENOMEM ? -ENOMEM : 0;
	search->bytes += (size_t)len;
	snprintf(path, sizeof(path), "%s/%s", from->dir->path, name);
	rc = search->look(search, text, (size_t)len, path, &why);
	free(text);
	if (rc >= 0 || rc == -ENOMEM)
		return rc;
	np_reader_skip(from, "%s", why.text);
	return 0;
}

/* Evaluate the files in the directory of one cluster. */
static int search_cluster(struct search *search, const char *cluster,
			  struct np_err *err)
{
	struct np_dir dir;
	struct np_reader from = { &dir, search->max_bytes, on_skip,
				  &search->here };
	char **names;
	size_t n;
	int rc = np_dir_open_fabric(search->store, cluster, false, &dir, err);

	if (rc)
		return rc;
	rc = np_dir_names(&dir, search->is_name, &names, &n, NULL, err);
	if (!rc) {
		for (size_t i = 0; !rc && i < n && i < MAX_FILES &&
				   search->bytes < NP_STORE_MAX_READ;
		     i++)
			rc = look_at(search, &from, names[i]);
		np_names_free(names, n);
		if (rc < 0)
			np_errf(err, rc, "%s: %s", dir.path, strerror(-rc));
	}
	np_dir_close(&dir);
	return rc;
}

/* Add up what was skipped, before the search goes on elsewhere. */
static void next_cluster(struct search *search)
{
	if (!search->all.n)
		search->all.newest = search->here.newest;
	search->all.n += search->here.n;
	search->here = (struct skips){ 0 };
}

static bool is_cluster_name(const char *name)
{
	return !np_app_check(name, NULL);
}

/* The names of all clusters, as np_dir_names() returns them. */
static int list_clusters(struct np_store *store, char ***names, size_t *n,
			 struct np_err *err)
{
	struct np_dir dir;
	int rc = np_dir_open_fabric(store, NULL, false, &dir, err);

	if (rc)
		return rc;
	rc = np_dir_names(&dir, is_cluster_name, names, n, NULL, err);
	np_dir_close(&dir);
	return rc;
}

/* Evaluate the files of all clusters. */
static int search_all(struct search *search, struct np_err *err)
{
	char **names;
	size_t n;
	int rc = list_clusters(search->store, &names, &n, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < n && rc != -ENOMEM; i++) {
		struct np_err why = NP_ERR_INIT;

		/* An untrusted cluster's directory does not hide the others. */
		rc = search_cluster(search, names[i], &why);
		if (rc < 0 && rc != -ENOENT)
			on_skip(why.text, &search->here);
		next_cluster(search);
	}
	np_names_free(names, n);
	return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : 0;
}

/* Report that there is no file, or no usable one. */
static int none(const struct search *search, struct np_err *err)
{
	const char *cluster = search->cluster ? search->cluster : "";

	if (search->all.n)
		return np_errf(err, -ENOENT, "%s: %s", search->no_use,
			       search->all.newest.text);
	return np_errf(err, -ENOENT, "%s%s%s%s in %s", search->none,
		       *cluster ? "cluster " : "the fabric", cluster,
		       search->scope, np_store_dir(search->store));
}

/*
 * Call look() for the files of the cluster or of each cluster, newest name
 * first. Returns 0 if one is found, or with err -ENOENT (there is none, or
 * none is usable), -EACCES, -ENOMEM or what reading the directory returned.
 * Even after a failure s->found may be set, and then best has to be freed.
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

/* Open the directory of a cluster for writing, made if missing. */
static int make_dir(struct np_store *store, const char *cluster,
		    struct np_dir *dir, struct np_err *err)
{
	char name[NP_APP_MAX + 1];
	int rc;

	dir_name(cluster, name);
	rc = np_dir_open_fabric(store, name, true, dir, err);
	/* The directory was removed meanwhile. */
	return rc == -ENOENT ? np_errf(err, rc, "profile store %s: %s",
				       np_store_dir(store), strerror(-rc)) :
			       rc;
}

/* Write a file, completely or not at all. */
static int write_file(struct np_store *store, const char *cluster,
		      const char *file, const char *text, struct np_err *err)
{
	struct np_dir dir;
	int rc = make_dir(store, cluster, &dir, err);

	if (rc)
		return rc;
	rc = np_file_write(&dir, file, text, strlen(text), 0644, err);
	np_dir_close(&dir);
	return rc;
}

/* ---- calibrations ---- */

struct best_calibration {
	const char *scope;	       /* NULL: any */
	const struct np_fabric_of *of; /* that is preferred */
	struct np_calibration c;
};

bool np_fabric_is_of(const struct np_calibration *calibration,
		     const struct np_fabric_of *of)
{
	if (of->rail)
		return calibration->rail &&
		       !strcmp(calibration->rail, of->rail);
	return !of->transport || !strcmp(calibration->transport, of->transport);
}

/* Is a candidate better than the best calibration seen before it? */
static bool better(const struct best_calibration *best,
		   const struct np_calibration *candidate)
{
	if (np_fabric_is_of(candidate, best->of) !=
	    np_fabric_is_of(&best->c, best->of))
		return np_fabric_is_of(candidate, best->of);
	if ((candidate->scope == NP_SCOPE_LEAF) !=
	    (best->c.scope == NP_SCOPE_LEAF))
		return candidate->scope == NP_SCOPE_LEAF;
	return candidate->date > best->c.date;
}

/* Keep a calibration if it is the best so far. */
static int look_at_calibration(struct search *search, const char *text,
			       size_t len, const char *path, struct np_err *err)
{
	struct best_calibration *calibration = search->best;
	struct np_calibration c;
	int rc = np_calibration_parse(text, len, path, &c, err);
	bool wanted;

	if (rc)
		return rc;
	wanted = !calibration->scope ||
		 !strcmp(np_scope_name(c.scope), calibration->scope);
	rc = wanted && np_fabric_is_of(&c, calibration->of) &&
	     (calibration->scope || c.scope == NP_SCOPE_LEAF);
	if (!wanted || (search->found && !better(calibration, &c))) {
		np_calibration_free(&c);
		return rc;
	}
	if (search->found)
		np_calibration_free(&calibration->c);
	calibration->c = c;
	calibration->c.n_skipped = search->here.n;
	calibration->c.skipped = search->here.newest;
	search->found = true;
	return rc;
}

static bool is_calibration_name(const char *name)
{
	return np_file_has_suffix(name, ".json");
}

/* A search for calibrations; scope is only for messages. */
static struct search search_for(struct np_store *store, const char *cluster,
				const char *scope)
{
	return (struct search){
		.store = store,
		.cluster = cluster,
		.none = "no calibration of ",
		.no_use = "no calibration can be used",
		.scope = scope,
		.is_name = is_calibration_name,
		.max_bytes = NP_MEASURED_MAX_BYTES,
		.look = look_at_calibration,
	};
}

int np_fabric_store_load_of(struct np_store *store, const char *cluster,
			    const char *scope, const struct np_fabric_of *of,
			    struct np_calibration *out, struct np_err *err)
{
	struct best_calibration calibration = { .scope = scope, .of = of };
	char at[64] = "";
	struct search s = search_for(store, cluster, at);
	int rc;

	if (scope)
		snprintf(at, sizeof(at), " at scope %s", scope);
	s.best = &calibration;
	rc = search(&s, err);
	if (!rc)
		*out = calibration.c;
	else if (s.found)
		np_calibration_free(&calibration.c);
	return rc;
}

int np_fabric_store_load(struct np_store *store, const char *cluster,
			 const char *scope, struct np_calibration *out,
			 struct np_err *err)
{
	static const struct np_fabric_of any;

	return np_fabric_store_load_of(store, cluster, scope, &any, out, err);
}

int np_fabric_store_stamp(struct np_store *store, const char *cluster,
			  struct np_store_stamp *out, struct np_err *err)
{
	struct search any = search_for(store, cluster, "");
	char name[NP_APP_MAX + 1];
	struct np_dir dir;
	struct stat st;
	int rc;

	dir_name(cluster, name);
	rc = np_dir_open_fabric(store, name, false, &dir, err);
	if (rc == -ENOENT)
		return none(&any, err);
	if (rc)
		return rc;
	if (fstat(dir.fd, &st))
		rc = np_errf(err, -errno, "%s: %s", dir.path, strerror(errno));
	else
		*out = np_stamp_of(&st);
	np_dir_close(&dir);
	return rc;
}

uint64_t np_fabric_store_state(struct np_store *store)
{
	uint64_t state = np_cache_state(0, NULL, 0);
	struct np_store_stamp stamp;
	char **names;
	size_t n;

	if (list_clusters(store, &names, &n, NULL))
		return state;
	for (size_t i = 0; i < n && state; i++)
		if (!np_fabric_store_stamp(store, names[i], &stamp, NULL))
			state = np_cache_state(state, &stamp, 1);
	np_names_free(names, n);
	return state;
}

int np_fabric_store_save(struct np_store *store, const char *cluster,
			 double date, const char *json_text, struct np_err *err)
{
	char file[NAME_MAX + 1];
	struct np_calibration calibration;
	int rc;

	if (np_store_dated_name(date, ".json", file))
		return np_errf(
			err, -EINVAL,
			"calibration: date %g: expected seconds since 1970",
			date);
	/* Refuse here what no reader would accept. */
	rc = np_calibration_parse(json_text, strlen(json_text), file,
				  &calibration, err);
	if (rc)
		return rc;
	np_calibration_free(&calibration);
	return write_file(store, cluster, file, json_text, err);
}

/* ---- LogGPS parameters as JSON, np_loggps_store.h ---- */

#define MAX_SEC 3600.0

#define U32(s, name, max) NP_FIELD(s, NP_F_U32, name, max, NP_F_REQUIRED)
#define TEXT(name) \
	NP_FIELD(np_loggps_record, NP_F_TEXT, name, NP_JSON_WORD, \
		 NP_F_NEVER_NULL)
#define SEC(name, least) \
	NP_FIELD(np_loggps_value, NP_F_REAL, name, MAX_SEC, NP_F_REQUIRED, \
		 least)
/* clang-format off */
#define VALUE(name) \
	{ #name, NP_F_OBJECT, offsetof(struct np_loggps_fit, name), 0, \
	  NP_F_REQUIRED, 0, &value_table }

static const struct np_fields value_table = NP_FIELDS(np_loggps_value,
	SEC(value, 0),
	/* A confidence interval may reach below what is possible. */
	SEC(low, -MAX_SEC),
	SEC(high, 0),
);

static const struct np_fields fit_table = NP_FIELDS(np_loggps_fit,
	U32(np_loggps_fit, n_blocks, NP_LOGGPS_MAX_BLOCKS),
	U32(np_loggps_fit, n_sizes, NP_LOGGPS_MAX_SIZES),
	U32(np_loggps_fit, bytes_min, UINT32_MAX),
	U32(np_loggps_fit, bytes_max, UINT32_MAX),
	VALUE(L),
	VALUE(o_send),
	VALUE(o_recv),
	VALUE(g),
	VALUE(G),
	U32(np_loggps_fit, S, UINT32_MAX),
	U32(np_loggps_fit, S_above, UINT32_MAX),
	VALUE(step),
	/* Records of earlier releases lack it. */
	{ "O", NP_F_OBJECT, offsetof(struct np_loggps_fit, O), 0, 0, 0,
	  &value_table },
);

static const struct np_fields loggps_table = NP_FIELDS(np_loggps_record,
	{ "schema", NP_F_SCHEMA, .max = NP_LOGGPS_SCHEMA },
	NP_FIELD(np_loggps_record, NP_F_REAL, date, NP_JSON_DATE,
		 NP_F_REQUIRED),
	TEXT(cluster),
	TEXT(from),
	TEXT(to),
	TEXT(leaf),
	NP_FIELD(np_loggps_record, NP_F_BOOL, across, 1, 0),
	TEXT(transport),
	TEXT(ucx_version),
	TEXT(netprof_version),
	NP_FIELD_OF(np_loggps_record, NP_F_OBJECT, fit, &fit_table),
);
/* clang-format on */

int np_loggps_record_put(const struct np_loggps_record *record, char **out,
			 struct np_err *err)
{
	struct np_jput jput = { .at = { .where = "LogGPS parameters",
					.err = err } };

	return np_fields_print(&jput, record, &loggps_table, out);
}

/* Check what the field table cannot express. */
static int check_loggps(const struct np_jat *in,
			const struct np_loggps_fit *fit)
{
	const struct {
		const char *key;
		const struct np_loggps_value *v;
	} all[] = {
		{ "fit.L", &fit->L },		{ "fit.o_send", &fit->o_send },
		{ "fit.o_recv", &fit->o_recv }, { "fit.g", &fit->g },
		{ "fit.G", &fit->G },		{ "fit.step", &fit->step },
		{ "fit.O", &fit->O },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(all); i++)
		if (all[i].v->low > all[i].v->value ||
		    all[i].v->value > all[i].v->high)
			return np_jat_refuse(in, all[i].key,
					     "low <= value <= high");
	if (!fit->n_blocks)
		return np_jat_refuse(in, "fit.n_blocks", "1 or more");
	if (fit->S ? fit->S >= fit->S_above : fit->S_above != 0)
		return np_jat_refuse(in, "fit.S_above",
				     "more than S, or 0 and 0");
	return 0;
}

int np_loggps_record_get(const char *text, size_t len, const char *where,
			 struct np_loggps_record *out, struct np_err *err)
{
	const struct np_jat in = { .where = where, .err = err };
	struct np_loggps_record record = { 0 };
	int rc =
		len > NP_LOGGPS_MAX_BYTES ?
			np_jat_refuse(&in, "", "64 KiB at most") :
			np_fields_parse(&in, text, len, &record, &loggps_table);

	if (!rc)
		rc = check_loggps(&in, &record.fit);
	if (rc)
		np_loggps_record_free(&record);
	else
		*out = record;
	return rc;
}

void np_loggps_record_free(struct np_loggps_record *record)
{
	np_fields_free(record, &loggps_table);
	*record = (struct np_loggps_record){ 0 };
}

void np_loggps_of_fit(const struct np_loggps_fit *fit, struct np_loggps *out)
{
	*out = (struct np_loggps){
		.L_ns = 1e9 * fit->L.value,
		.o_ns = 1e9 * (fit->o_send.value + fit->o_recv.value) / 2,
		.G_ns = 1e9 * fit->G.value,
		.O_ns = 1e9 * fmin(fit->O.value, fit->G.value),
		.S = fit->S ? fit->S : NP_LOGGPS_NO_RENDEZVOUS,
		.first_byte_free = true,
	};
}

/* ---- files of LogGPS parameters ---- */

struct best_loggps {
	bool across;
	struct np_loggps_record r;
};

static bool is_loggps_name(const char *name)
{
	return np_file_has_suffix(name, LOGGPS_SUFFIX);
}

/* Names are in the order of dates, so the first usable one is the newest. */
static int look_at_loggps(struct search *search, const char *text, size_t len,
			  const char *path, struct np_err *err)
{
	struct best_loggps *loggps = search->best;
	struct np_loggps_record record;
	int rc = np_loggps_record_get(text, len, path, &record, err);

	if (rc)
		return rc;
	rc = record.across == loggps->across;
	if (!rc || (search->found && loggps->r.date >= record.date)) {
		np_loggps_record_free(&record);
		return rc;
	}
	if (search->found)
		np_loggps_record_free(&loggps->r);
	loggps->r = record;
	search->found = true;
	return rc;
}

int np_loggps_store_load(struct np_store *store, const char *cluster,
			 bool across, struct np_loggps_record *out,
			 struct np_err *err)
{
	struct best_loggps loggps = { .across = across };
	struct search s = {
		.store = store,
		.cluster = cluster,
		.none = "no LogGPS parameters of ",
		.no_use = "no LogGPS parameters can be used",
		.scope = across ? " across leaf switches" : "",
		.is_name = is_loggps_name,
		.max_bytes = NP_LOGGPS_MAX_BYTES,
		.look = look_at_loggps,
		.best = &loggps,
	};
	int rc = search(&s, err);

	if (!rc)
		*out = loggps.r;
	else if (s.found)
		np_loggps_record_free(&loggps.r);
	return rc;
}

int np_loggps_store_check(struct np_store *store, const char *cluster,
			  struct np_err *err)
{
	struct np_dir dir;
	int rc = make_dir(store, cluster, &dir, err);

	if (rc)
		return rc;
	if (faccessat(dir.fd, ".", W_OK, AT_EACCESS))
		rc = np_errf(err, -errno,
			     "%s: %s; what was measured is written by "
			     "administrators, or into a file by --output=FILE",
			     dir.path, strerror(errno));
	np_dir_close(&dir);
	return rc;
}

int np_loggps_store_save(struct np_store *store, const char *cluster,
			 const struct np_loggps_record *record,
			 struct np_err *err)
{
	char file[NAME_MAX + 1], *text;
	int rc;

	if (np_store_dated_name(record->date, LOGGPS_SUFFIX, file))
		return np_errf(err, -EINVAL,
			       "LogGPS parameters: date %g: expected seconds "
			       "since 1970",
			       record->date);
	rc = np_loggps_record_put(record, &text, err);
	if (rc)
		return rc;
	rc = write_file(store, cluster, file, text, err);
	free(text);
	return rc;
}
