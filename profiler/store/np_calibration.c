/* One calibration out of its JSON text; declared in np_fabric_store.h. */
#include "np_fabric_store.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_measured_json.h"
#include "np_text.h"

#define TEXT_MAX 128
#define DATE_MAX 1e11
#define BYTES_MAX (1u << 30)
#define PERIOD_MAX_SEC 86400.0

static const char *const scopes[NP_N_SCOPES] = { "node", "leaf", "uplink" };

static json_object *get(json_object *o, const char *key)
{
	return json_object_object_get(o, key);
}

/* A text that lives as long as the set. */
static int keep(const struct np_mj *j, const char *text, const char **out)
{
	char *clean = np_text_clean(text, TEXT_MAX);
	char *kept = clean ? np_mj_alloc(j, strlen(clean) + 1, 1) : NULL;

	if (kept)
		strcpy(kept, clean);
	free(clean);
	*out = kept;
	return kept ? 0 : np_errf(j->err, -ENOMEM, "%s: no memory", j->where);
}

/* A member that is a text, or missing. */
static int text(const struct np_mj *j, json_object *o, const char *key,
		const char **out)
{
	json_object *s = get(o, key);

	if (s && !json_object_is_type(s, json_type_string))
		return np_mj_bad(j, key, s, "a text");
	return keep(j, s ? json_object_get_string(s) : "", out);
}

/* A member that is a number, or missing. */
static int number(const struct np_mj *j, json_object *o, const char *key,
		  double hi, double *out)
{
	json_object *v = get(o, key);

	*out = 0;
	return v ? np_mj_number(j, v, key, 0, hi, out) : 0;
}

static int read_scope(const struct np_mj *j, json_object *root,
		      struct np_calibration *c)
{
	json_object *o = get(root, "scope");
	const char *name = o ? json_object_get_string(o) :
			       scopes[NP_SCOPE_LEAF];

	for (int i = 0; name && i < NP_N_SCOPES; i++)
		if (!strcmp(name, scopes[i])) {
			c->scope = (enum np_scope)i;
			c->scope_name = scopes[i];
			return 0;
		}
	return np_mj_bad(j, "scope", o, "\"node\", \"leaf\" or \"uplink\"");
}

/* What the level was: as the file says, or as its name does. */
static int read_level(const struct np_mj *j, json_object *o, const char *path,
		      const char *name, struct np_level *out)
{
	double partners, messages, bytes;
	struct np_err why;
	int rc;

	if (strlen(name) >= sizeof(out->name))
		return np_mj_bad(j, path, o, "a name of at most 63 characters");
	if (!json_object_is_type(o, json_type_object) || !get(o, "partners")) {
		if (np_level_parse(name, out, NULL))
			out->partners = 0;
		strcpy(out->name, name);
		return 0;
	}
	strcpy(out->name, name);
	rc = np_mj_number(j, get(o, "partners"), path, 1,
			  NP_LEVEL_MAX_PARTNERS, &partners);
	if (!rc)
		rc = np_mj_number(j, get(o, "messages"), path, 1,
				  NP_LEVEL_MAX_MESSAGES, &messages);
	if (!rc)
		rc = np_mj_number(j, get(o, "bytes"), path, NP_LEVEL_MIN_BYTES,
				  NP_LEVEL_MAX_BYTES, &bytes);
	if (!rc)
		rc = np_mj_number(j, get(o, "pause_sec"), path, 0,
				  NP_LEVEL_MAX_PAUSE_SEC, &out->pause_sec);
	if (rc)
		return rc;
	out->partners = (uint32_t)partners;
	out->messages = (uint32_t)messages;
	out->bytes = (uint32_t)bytes;
	if (np_level_check(out, &why))
		return np_errf(j->err, -EINVAL, "%s: %s: %s", j->where, path,
			       why.text);
	return 0;
}

static int read_levels(const struct np_mj *j, json_object *root,
		       struct np_calibration *c)
{
	json_object *list = get(root, "levels");
	size_t n = j->set->fabric.n_levels;
	char at[NP_MJ_PATH];
	int rc = 0;

	c->level = np_mj_alloc(j, n, sizeof(*c->level));
	if (!c->level)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++) {
		snprintf(at, sizeof(at), "levels[%zu]", i);
		rc = read_level(j, json_object_array_get_idx(list, i), at,
				j->set->level[i].name, &c->level[i]);
	}
	return rc;
}

static int read_leaves(const struct np_mj *j, json_object *root,
		       struct np_calibration *c)
{
	json_object *list = get(root, "leaves");
	char at[NP_MJ_PATH];
	size_t n;
	int rc;

	if (!list)
		return 0;
	rc = np_mj_array(j, list, "leaves", 0, NP_CALIBRATION_MAX_LEAVES);
	if (rc)
		return rc;
	n = json_object_array_length(list);
	c->leaf = np_mj_alloc(j, n, sizeof(*c->leaf));
	if (!c->leaf)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++) {
		json_object *o = json_object_array_get_idx(list, i);

		snprintf(at, sizeof(at), "leaves[%zu]", i);
		if (!json_object_is_type(o, json_type_object))
			return np_mj_bad(j, at, o, "an object");
		rc = text(j, o, "name", &c->leaf[i].name);
		if (!rc)
			rc = np_mj_latency(j, get(o, "idle"), at, "_sec",
					   &c->leaf[i].idle);
	}
	c->n_leaves = n;
	return rc;
}

static int read_rest(const struct np_mj *j, json_object *root, const char *path,
		     struct np_calibration *c)
{
	struct np_mean *k = j->set->fabric.coupling;
	double bytes;
	int rc = read_scope(j, root, c);

	if (!rc)
		rc = keep(j, path, &c->path);
	if (!rc)
		rc = text(j, root, "cluster", &c->cluster);
	if (!rc)
		rc = text(j, root, "transport", &c->transport);
	if (!rc)
		rc = text(j, root, "netprof_version", &c->netprof_version);
	if (!rc)
		rc = number(j, root, "date", DATE_MAX, &c->date);
	if (!rc)
		rc = number(j, root, "message_bytes", BYTES_MAX, &bytes);
	if (!rc)
		rc = number(j, root, "period_sec", PERIOD_MAX_SEC,
			    &c->period_sec);
	if (!rc)
		rc = read_levels(j, root, c);
	if (!rc)
		rc = read_leaves(j, root, c);
	if (rc)
		return rc;
	c->message_bytes = (uint32_t)bytes;
	if (!np_mean_known(&k[c->scope]))
		k[c->scope] = (struct np_mean){ .n = 1, .mean = 1, .sd = 0 };
	return 0;
}

static int read_calibration(json_object *root, const char *path,
			    struct np_calibration *c, struct np_err *err)
{
	struct np_mj j = { path, NULL, err, 1 };
	json_object *programs = get(root, "programs");
	int rc;

	/* What makes a file of pairs long is refused before it is read. */
	if (!get(root, "format") || get(root, "sets"))
		return np_mj_bad(&j, "format", NULL, "\"netprof-pairs\"");
	if (json_object_is_type(programs, json_type_array) &&
	    json_object_array_length(programs))
		return np_mj_bad(&j, "programs", programs,
				 "none in a calibration");
	rc = np_measured_read(root, path, &c->measured, err);
	if (rc)
		return rc;
	j.set = c->measured.set;
	c->fabric = &j.set->fabric;
	rc = np_mj_result(&j, read_rest(&j, root, path, c));
	return rc ? rc : np_fabric_check(c->fabric, err);
}

int np_calibration_parse(const char *json, size_t len, const char *path,
			 struct np_calibration *out, struct np_err *err)
{
	struct np_calibration c = { .path = "" };
	json_object *root;
	int rc = np_mj_root(json, len, path, &root, err);

	if (rc)
		return rc;
	rc = read_calibration(root, path, &c, err);
	json_object_put(root);
	if (rc)
		np_calibration_free(&c);
	else
		*out = c;
	return rc;
}

void np_calibration_free(struct np_calibration *c)
{
	np_measured_free(&c->measured); /* owns all the rest */
	*c = (struct np_calibration){ .path = "" };
}
