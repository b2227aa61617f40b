/*
 * The dated files of a fabric, and which of them count: calibrations, and what
 * messages cost.
 */
#include "np_fabric_store.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "np_hostlist.h"
#include "np_loggps_store.h"
#include "np_measured.h"
#include "np_store.h"

/* One calibration as JSON text; declared in np_fabric_store.h. */

#define BYTES_MAX (1u << 30)
#define PERIOD_MAX_SEC 86400.0

#define FIELD(type, name, max, flags) \
	NP_FIELD(np_calibration, type, name, max, flags)
#define WORD(name) FIELD(NP_F_TEXT, name, NP_JSON_WORD, NP_F_NEVER_NULL)
#define NODES(name) FIELD(NP_F_TEXT, name, NP_JSON_HOSTLIST, NP_F_NEVER_NULL)

static const struct np_field fact_fields[] = {
	WORD(cluster),
	FIELD(NP_F_REAL, date, NP_JSON_DATE, 0),
	WORD(netprof_version),
	WORD(ucx_version),
	WORD(transport),
	FIELD(NP_F_U32, message_bytes, BYTES_MAX, 0),
	FIELD(NP_F_REAL, period_sec, PERIOD_MAX_SEC, NP_F_NINE),
	{ "scope", NP_F_WORD, offsetof(struct np_calibration, scope),
	  .flags = NP_F_KEPT, .words = np_scope_names },
	{ "leaf", NP_F_TEXT, offsetof(struct np_calibration, leaf_name),
	  NP_JSON_WORD, NP_F_NEVER_NULL },
	NODES(victim_nodes),
	NODES(level_nodes),
	FIELD(NP_F_REAL, seconds, NP_JSON_ELAPSED_SEC, NP_F_NINE),
	FIELD(NP_F_U32, repeats, UINT32_MAX, 0),
};
static const struct np_fields fact_table =
	NP_FIELDS(fact_fields, np_calibration);

#define LEVEL(type, name, max, ...) \
	NP_FIELD(np_level, type, name, max, __VA_ARGS__)

static const struct np_field level_fields[] = {
	LEVEL(NP_F_NAME, name, NP_LEVEL_NAME - 1, NP_F_NEEDED),
	LEVEL(NP_F_U32, partners, NP_LEVEL_MAX_PARTNERS, 0, 1),
	LEVEL(NP_F_U32, messages, NP_LEVEL_MAX_MESSAGES, 0, 1),
	LEVEL(NP_F_REAL, pause_sec, NP_LEVEL_MAX_PAUSE_SEC,
	      NP_F_NINE | NP_F_NAN),
	LEVEL(NP_F_U32, bytes, NP_LEVEL_MAX_BYTES, 0, NP_LEVEL_MIN_BYTES),
};
static const struct np_fields level_table =
	NP_FIELDS(level_fields, np_level);

static const struct np_field levels_fields[] = {
	NP_FIELD_LIST(np_calibration, "levels", level, n_levels,
		      NP_FABRIC_MAX_LEVELS, NP_F_NAMED, &level_table),
};
static const struct np_fields levels_table =
	NP_FIELDS(levels_fields, np_calibration);

/* A row: read after the levels, as there are as many. */
static const struct np_field alone_fields[] = {
	{ "level_alone_round_sec", NP_F_MEANS,
	  offsetof(struct np_calibration, alone_round_sec),
	  NP_JSON_ELAPSED_SEC,
	  .count = offsetof(struct np_calibration, n_levels) },
};
static const struct np_fields alone_table =
	NP_FIELDS(alone_fields, np_calibration);

static const struct np_field leaf_fields[] = {
	NP_FIELD(np_calibration_leaf, NP_F_TEXT, name, NP_JSON_WORD,
		 NP_F_NEVER_NULL),
	NP_FIELD(np_calibration_leaf, NP_F_LATENCY, idle, 0),
};
static const struct np_fields leaf_table =
	NP_FIELDS(leaf_fields, np_calibration_leaf);

/* Of no effect at all, noise makes a gain as often as a loss. */
#define LOSS(scope, key) \
	{ key, NP_F_MEAN, (scope) * sizeof(struct np_mean), 1, \
	  .min = -NP_SLOWDOWN_MAX }

static const struct np_field loss_fields[] = {
	LOSS(NP_SCOPE_NODE, "node"),
	LOSS(NP_SCOPE_LEAF, "leaf"),
	LOSS(NP_SCOPE_UPLINK, "uplink"),
};
static const struct np_fields loss_table = NP_FIELDS(loss_fields, np_mean);

static const struct np_field result_fields[] = {
	NP_FIELD_OF(np_calibration, NP_F_OBJECT, loss, &loss_table),
	NP_FIELD_LIST(np_calibration, "leaves", leaf, n_leaves,
		      NP_CALIBRATION_MAX_LEAVES, 0, &leaf_table),
};
static const struct np_fields result_table =
	NP_FIELDS(result_fields, np_calibration);

static const struct np_field other_fields[] = {
	NP_FIELD(np_calibration_other, NP_F_TEXT, name, NP_JSON_WORD,
		 NP_F_NEVER_NULL),
	NP_FIELD(np_calibration_other, NP_F_MEAN, slows_by, NP_SLOWDOWN_MAX, 0,
		 NP_SLOWDOWN_LEAST),
	NP_FIELD(np_calibration_other, NP_F_LATENCY, probes, 0),
};
static const struct np_fields other_table =
	NP_FIELDS(other_fields, np_calibration_other);

static const struct np_field others_fields[] = {
	NP_FIELD_LIST(np_calibration, "other_levels", other, n_others,
		      NP_FABRIC_MAX_LEVELS, NP_F_NOT_EMPTY, &other_table),
};
static const struct np_fields others_table =
	NP_FIELDS(others_fields, np_calibration);

static const struct np_fields *const own_tables[] = {
	&fact_table, &levels_table, &alone_table, &result_table, &others_table,
};

/* What each level was: as the file says, or as its name does. */
static int check_levels(const struct np_jat *in, struct np_calibration *c)
{
	struct np_err why;

	for (size_t i = 0; i < c->n_levels; i++) {
		struct np_level *l = &c->level[i], named = *l;
		struct np_jat sub = np_jat_element(in, "levels", i);

		if (!l->partners && !l->messages && !l->bytes) {
			if (np_level_parse(l->name, &named, NULL))
				named.partners = 0;
			strcpy(named.name, l->name);
			*l = named;
		} else if (!l->partners || !l->messages || !l->bytes ||
			   isnan(l->pause_sec)) {
			return np_jat_refuse(&sub, "", "partners, messages, "
					     "pause_sec and bytes");
		} else if (np_level_check(l, &why)) {
			return np_errf(in->err, -EINVAL, "%s: levels[%zu]: %s",
				       in->where, i, why.text);
		}
	}
	return 0;
}

/* The levels that were slowed ran on the victims' nodes. */
static int count_alone_nodes(struct np_calibration *c)
{
	char **name;
	int rc;

	if (!c->victim_nodes)
		return 0;
	rc = np_hostlist_expand(c->victim_nodes, &name, &c->n_alone_nodes,
				NULL);
	if (rc)
		c->n_alone_nodes = 0;
	else
		np_names_free(name, c->n_alone_nodes);
	return rc == -ENOMEM ? rc : 0;
}

static int read_own(const struct np_jat *in, json_object *root,
		    struct np_calibration *c)
{
	struct np_mean *k = c->measured.set->fabric.coupling;
	int rc = 0;

	c->scope = NP_SCOPE_LEAF;
	for (size_t i = 0; !rc && i < NP_ARRAY_SIZE(own_tables); i++)
		rc = np_jget_fields(in, root, c, own_tables[i]);
	if (!rc)
		rc = check_levels(in, c);
	if (!rc)
		rc = count_alone_nodes(c);
	if (!rc && !np_mean_known(&k[c->scope]))
		k[c->scope] = (struct np_mean){ .n = 1, .mean = 1, .sd = 0 };
	return rc ? rc : np_fabric_check(c->fabric, in->err);
}

int np_calibration_init(struct np_calibration *c, const char *path)
{
	*c = (struct np_calibration){ .path = strdup(path) };
	c->measured.set = calloc(1, sizeof(*c->measured.set));
	if (c->path && c->measured.set) {
		c->measured.n_sets = 1;
		c->fabric = &c->measured.set->fabric;
		return 0;
	}
	np_calibration_free(c);
	return -ENOMEM;
}

static int read_calibration(struct np_jat *in, json_object *root,
			    struct np_calibration *c)
{
	struct np_measured_set *s = c->measured.set;
	json_object *programs = json_object_object_get(root, "programs");
	int rc;

	/* What makes a file of pairs long is refused before it is read. */
	if (json_object_is_type(programs, json_type_array) &&
	    json_object_array_length(programs))
		return np_jat_refuse(in, "programs", "none in a calibration");
	rc = np_measured_get(in, root, s);
	return rc ? rc : read_own(in, root, c);
}

int np_calibration_parse(const char *json, size_t len, const char *path,
			 struct np_calibration *out, struct np_err *err)
{
	size_t room = NP_MEASURED_MAX_MEMORY;
	struct np_jat in = { .where = path, .err = err, .room = &room };
	struct np_calibration c;
	json_object *root;
	int rc = np_measured_open(&in, json, len, &root);

	if (rc)
		return rc;
	rc = np_calibration_init(&c, path);
	if (!rc)
		rc = read_calibration(&in, root, &c);
	json_object_put(root);
	if (rc)
		np_calibration_free(&c);
	else
		*out = c;
	return rc == -ENOMEM ? np_errf(err, rc, "%s: no memory", path) : rc;
}

int np_calibration_write(const struct np_calibration *c, char **out,
			 struct np_err *err)
{
	const struct np_measured_set *s = c->measured.set;
	const struct {
		const void *from;
		const struct np_fields *fields;
	} part[] = {
		{ s, &np_measured_head }, { c, &fact_table },
		{ s, &np_measured_programs }, { c, &levels_table },
		{ s, &np_measured_fabric }, { c, &alone_table },
		{ c, &result_table },
	};
	struct np_jput o = { { .where = "calibration", .err = err }, 1, 0 };
	json_object *j = json_object_new_object();

	if (!j)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < NP_ARRAY_SIZE(part); i++)
		np_jput_fields(&o, j, part[i].from, part[i].fields);
	np_measured_put_probes(&o, j, s);
	np_jput_fields(&o, j, c, &others_table);
	if (!o.rc) {
		*out = strdup(json_object_to_json_string_ext(j,
			JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED));
		o.rc = *out ? 0 : -ENOMEM;
	}
	json_object_put(j);
	return o.rc == -ENOMEM ? np_errf(err, o.rc, "out of memory") : o.rc;
}

void np_calibration_free(struct np_calibration *c)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(own_tables); i++)
		np_fields_free(c, own_tables[i]);
	np_measured_free(&c->measured);
	free(c->path);
	*c = (struct np_calibration){ .path = NULL };
}

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
