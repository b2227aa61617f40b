/* One calibration as JSON text; declared in np_fabric_store.h. */
#include "np_fabric_store.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_hostlist.h"
#include "np_measured_json.h"

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
