/* state.json of placement/: written whole, read as a stranger's. */
#include "np_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_app.h"
#include "np_fields.h"
#include "np_store.h"

/* The state of placement, and jobs that ended, as netprof-placement(5) says. */

#define MAX_SLOWDOWN 1e6 /* a crowd's forecast may be anything */
#define MAX_TEXT 1023

#define U32(s, name, ...) NP_FIELD(s, NP_F_U32, name, UINT32_MAX, __VA_ARGS__)
#define BOOL(s, name) NP_FIELD(s, NP_F_BOOL, name, 1, 0)
#define TEXT(s, name, max) NP_FIELD(s, NP_F_TEXT, name, max, NP_F_NEVER_NULL)
#define REAL(s, name, max) NP_FIELD(s, NP_F_REAL, name, max, NP_F_CLAMP)
#define SLOWDOWN(s, name) \
	NP_FIELD(s, NP_F_REAL, name, MAX_SLOWDOWN, NP_F_CLAMP, -1)
#define LIST(s, key, name, n_name, max, flags, of) \
	NP_FIELD_LIST(s, key, name, n_name, max, NP_F_CLAMP | (flags), of)
#define SCHEMA { "schema", NP_F_SCHEMA, .max = NP_STATE_SCHEMA }

static const struct np_field leaf_fields[] = {
	TEXT(np_state_leaf, name, NP_JSON_WORD),
	U32(np_state_leaf, n_nodes, 0),
	U32(np_state_leaf, n_idle, 0),
	U32(np_state_leaf, n_away, 0),
	U32(np_state_leaf, n_jobs, 0),
	U32(np_state_leaf, n_known, 0),
	SLOWDOWN(np_state_leaf, strain),
};
static const struct np_fields leaf_table =
	NP_FIELDS(leaf_fields, np_state_leaf);

static const struct np_field cause_fields[] = {
	TEXT(np_state_cause, leaf, NP_JSON_WORD),
	U32(np_state_cause, other, 0),
	TEXT(np_state_cause, other_app, NP_APP_MAX),
	U32(np_state_cause, victim, 0),
	SLOWDOWN(np_state_cause, slowdown),
};
static const struct np_fields cause_table =
	NP_FIELDS(cause_fields, np_state_cause);

static const struct np_field job_fields[] = {
	U32(np_state_job, id, NP_F_NEEDED),
	U32(np_state_job, array, 0),
	U32(np_state_job, task, 0),
	U32(np_state_job, uid, NP_F_NEEDED),
	TEXT(np_state_job, app, NP_APP_MAX),
	BOOL(np_state_job, known),
	TEXT(np_state_job, partition, NP_JSON_WORD),
	TEXT(np_state_job, mode, NP_JSON_WORD),
	BOOL(np_state_job, pending),
	U32(np_state_job, n_nodes, 0),
	TEXT(np_state_job, leaves, NP_JSON_HOSTLIST),
	TEXT(np_state_job, action, NP_JSON_WORD),
	BOOL(np_state_job, applied),
	REAL(np_state_job, until, NP_JSON_DATE),
	REAL(np_state_job, held_sec, NP_JSON_ELAPSED_SEC),
	REAL(np_state_job, start, NP_JSON_DATE),
	TEXT(np_state_job, text, MAX_TEXT),
	LIST(np_state_job, "causes", cause, n_causes, NP_STATE_MAX_CAUSES,
	     NP_F_NOT_EMPTY, &cause_table),
};
static const struct np_fields job_table = NP_FIELDS(job_fields, np_state_job);

static const struct np_field claim_fields[] = {
	U32(np_state_claim, uid, NP_F_NEEDED),
	TEXT(np_state_claim, app, NP_APP_MAX),
	U32(np_state_claim, n_jobs, 0),
	BOOL(np_state_claim, refuted),
	TEXT(np_state_claim, why, NP_STATE_WHY_MAX),
};
static const struct np_fields claim_table =
	NP_FIELDS(claim_fields, np_state_claim);

static const struct np_field state_fields[] = {
	SCHEMA,
	REAL(np_state, date, NP_JSON_DATE),
	REAL(np_state, interval_sec, NP_JSON_ELAPSED_SEC),
	TEXT(np_state, cluster, NP_JSON_WORD),
	TEXT(np_state, slurm_version, NP_JSON_WORD),
	TEXT(np_state, netprof_version, NP_JSON_WORD),
	TEXT(np_state, controller, NP_JSON_WORD),
	TEXT(np_state, mode, NP_JSON_WORD),
	TEXT(np_state, fabric, MAX_TEXT),
	TEXT(np_state, trouble, MAX_TEXT),
	REAL(np_state, max_slowdown, MAX_SLOWDOWN),
	REAL(np_state, max_defer_sec, NP_JSON_ELAPSED_SEC),
	U32(np_state, n_profiles, 0),
	REAL(np_state, decide_sec, NP_JSON_ELAPSED_SEC),
	U32(np_state, more_denied, 0),
	LIST(np_state, "leaves", leaf, n_leaves, NP_STATE_MAX_LEAVES, 0,
	     &leaf_table),
	LIST(np_state, "jobs", job, n_jobs, NP_STATE_MAX_JOBS, 0, &job_table),
	LIST(np_state, "claims", claim, n_claims, NP_STATE_MAX_CLAIMS, 0,
	     &claim_table),
};
static const struct np_fields state_table = NP_FIELDS(state_fields, np_state);

static const struct np_field neighbour_fields[] = {
	U32(np_ended_neighbour, id, NP_F_NEEDED),
	TEXT(np_ended_neighbour, app, NP_APP_MAX),
	TEXT(np_ended_neighbour, leaves, NP_JSON_PATH),
	REAL(np_ended_neighbour, overlap_sec, NP_JSON_ELAPSED_SEC),
	SLOWDOWN(np_ended_neighbour, slowdown),
};
static const struct np_fields neighbour_table =
	NP_FIELDS(neighbour_fields, np_ended_neighbour);

static const struct np_field ended_fields[] = {
	SCHEMA,
	U32(np_ended, id, NP_F_NEEDED),
	U32(np_ended, array, 0),
	U32(np_ended, task, 0),
	U32(np_ended, uid, NP_F_NEEDED),
	TEXT(np_ended, app, NP_APP_MAX),
	TEXT(np_ended, partition, NP_JSON_WORD),
	TEXT(np_ended, leaves, NP_JSON_HOSTLIST),
	U32(np_ended, n_nodes, 0),
	REAL(np_ended, submit, NP_JSON_DATE),
	REAL(np_ended, start, NP_JSON_DATE),
	REAL(np_ended, end, NP_JSON_DATE),
	REAL(np_ended, held_sec, NP_JSON_ELAPSED_SEC),
	SLOWDOWN(np_ended, slowdown),
	LIST(np_ended, "neighbours", neighbour, n_neighbours,
	     NP_ENDED_MAX_NEIGHBOURS, 0, &neighbour_table),
	U32(np_ended, more_neighbours, 0),
};
static const struct np_fields ended_table = NP_FIELDS(ended_fields, np_ended);

static int cannot(struct np_err *err, int rc, const char *what)
{
	return np_errf(err, rc, "%s: %s", what, rc == -ENOMEM ?
		       "out of memory" : "a number that is not finite");
}

int np_state_put(const struct np_state *s, char **out, struct np_err *err)
{
	struct np_jput o = { .rc = 0 };

	np_fields_write(&o, s, &state_table, out);
	return o.rc ? cannot(err, o.rc, "state of placement") : 0;
}

int np_state_get(const char *text, size_t len, const char *where,
		 struct np_state *out, struct np_err *err)
{
	struct np_jat in = { .where = where, .err = err };
	struct np_state s = { 0 };
	int rc = np_fields_read(&in, text, len, &s, &state_table);

	if (!rc) {
		*out = s;
		return 0;
	}
	np_state_free(&s);
	if (rc == -ENOMEM)
		return np_errf(err, rc, "%s: out of memory", where);
	return -EINVAL;
}

void np_state_free(struct np_state *s)
{
	np_fields_free(s, &state_table);
	*s = (struct np_state){ .n_jobs = 0 };
}

/* The first n neighbours of all; the others are counted. */
static void list_neighbours(struct np_ended *some, const struct np_ended *all,
			    size_t n)
{
	size_t more = all->n_neighbours - n + all->more_neighbours;

	some->n_neighbours = n;
	some->more_neighbours = more < UINT32_MAX ? (uint32_t)more :
						    UINT32_MAX;
}

int np_ended_put(const struct np_ended *e, char **out, struct np_err *err)
{
	size_t n = e->n_neighbours < NP_ENDED_PUT_NEIGHBOURS ?
		   e->n_neighbours : NP_ENDED_PUT_NEIGHBOURS;
	struct np_ended some = *e;
	struct np_jput o = { .rc = 0 };
	char *line = NULL;

	list_neighbours(&some, e, n);
	while (!np_fields_print(&o, &some, &ended_table, &line) &&
	       strlen(line) > NP_ENDED_PUT_LINE && n) {
		free(line); /* long names of leaves: the first ones do */
		n /= 2;
		list_neighbours(&some, e, n);
	}
	if (o.rc)
		return cannot(err, o.rc, "job that ended");
	*out = line;
	return 0;
}

int np_ended_get(const char *text, size_t len, struct np_ended *out)
{
	const struct np_jat in = { .where = "" };
	struct np_ended e = { 0 };
	int rc = np_fields_parse(&in, text, len, &e, &ended_table);

	if (rc)
		np_ended_free(&e);
	else
		*out = e;
	return rc;
}

void np_ended_free(struct np_ended *e)
{
	np_fields_free(e, &ended_table);
	*e = (struct np_ended){ .id = 0 };
}

#define STATE "state.json"

int np_state_save(const char *store_dir, const struct np_state *s, mode_t mode,
		  struct np_err *err)
{
	struct np_dir d;
	char *text;
	int rc = np_state_put(s, &text, err);

	if (rc)
		return rc;
	rc = np_dir_open_placement(store_dir, true, &d, err);
	if (!rc) {
		np_file_remove_stale(&d);
		/* Whatever the umask: netprof reads it for everybody. */
		rc = np_file_write(&d, STATE, text, strlen(text), mode, err);
		np_dir_close(&d);
	}
	free(text);
	return rc;
}

static bool is_ours(const char *name)
{
	return !strcmp(name, STATE) || np_is_ended_name(name);
}

/* O_NONBLOCK: a FIFO must not hang. */
static int set_mode(const struct np_dir *d, const char *name, mode_t mode)
{
	int fd = openat(d->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
			O_NOCTTY | O_CLOEXEC), rc = 0;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP ? 0 : -errno;
	if (fstat(fd, &st) ||
	    (S_ISREG(st.st_mode) && (st.st_mode & 0777) != mode &&
	     fchmod(fd, mode)))
		rc = -errno;
	close(fd);
	return rc;
}

int np_state_set_mode(const char *store_dir, mode_t mode, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	struct np_dir d;
	char **names = NULL;
	size_t n = 0;
	int rc = np_dir_open_placement(store_dir, false, &d, &why), last = 0;

	if (rc)
		return rc == -ENOENT ? 0 : np_errf(err, rc, "%s", why.text);
	rc = np_dir_names(&d, is_ours, &names, &n, NULL, err);
	for (size_t i = 0; i < n; i++) {
		int e = set_mode(&d, names[i], mode);

		if (e)
			last = np_errf(err, e, "%s/%s: cannot make its mode "
				       "%03o: %s", d.path, names[i],
				       (unsigned)mode, strerror(-e));
	}
	np_names_free(names, n);
	np_dir_close(&d);
	return rc ? rc : last;
}

int np_state_load(const char *store_dir, struct np_state *out,
		  struct np_err *err)
{
	struct np_dir d;
	char *text = NULL;
	ssize_t len;
	bool cut = false;
	int rc = np_dir_open_placement(store_dir, false, &d, err);

	if (rc)
		return rc;
	len = np_file_read_end(&d, STATE, NP_STATE_MAX_BYTES, &text, &cut, err);
	if (len < 0)
		rc = (int)len;
	else if (cut)
		rc = np_errf(err, -EFBIG, "%s/%s: larger than %u bytes",
			     d.path, STATE, NP_STATE_MAX_BYTES);
	else
		rc = np_state_get(text, (size_t)len, STATE, out, err);
	free(text);
	np_dir_close(&d);
	return rc;
}
