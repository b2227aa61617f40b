/*
 * The layout of simulations: several sets that share names and bins, with
 * time in units of the mean service, and no level beside another.
 */
#include <errno.h>
#include <stdio.h>

#include "np_measured_json.h"

static json_object *get(json_object *o, const char *key)
{
	return json_object_object_get(o, key);
}

static int read_names(const struct np_mj *j, json_object *root)
{
	struct np_measured_set *s = j->set;
	json_object *apps = get(root, "applications");
	json_object *levels = get(root, "configurations");
	struct np_fabric_level *level;
	char *name;
	int rc = np_mj_array(j, apps, "applications", 0,
			     NP_MEASURED_MAX_PROGRAMS);

	if (!rc)
		rc = np_mj_array(j, levels, "configurations", 0,
				 NP_FABRIC_MAX_LEVELS);
	if (rc)
		return rc;
	s->app = np_mj_alloc(j, json_object_array_length(apps),
			     sizeof(*s->app));
	level = np_mj_alloc(j, json_object_array_length(levels),
			    sizeof(*level));
	if (!s->app || !level)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < json_object_array_length(apps); i++) {
		rc = np_mj_name(j, json_object_array_get_idx(apps, i),
				"applications", &name);
		if (!rc)
			s->app[s->n_apps++].name = name;
	}
	for (size_t i = 0; !rc && i < json_object_array_length(levels); i++) {
		rc = np_mj_name(j, json_object_array_get_idx(levels, i),
				"configurations", &name);
		if (!rc)
			level[s->fabric.n_levels++].name = name;
	}
	s->fabric.level = s->level = level;
	return rc;
}

static int read_curve(const struct np_mj *j, json_object *curves, size_t app)
{
	struct np_program *a = &j->set->app[app];
	size_t n = j->set->fabric.n_levels;
	struct np_mean *m = np_mj_alloc(j, n, sizeof(*m));
	json_object *o = get(curves, a->name), *one;
	char at[NP_MJ_PATH];
	int rc;

	if (!m)
		return -ENOMEM;
	/* One row of a table. */
	snprintf(at, sizeof(at), "compression_slowdown.%s", a->name);
	one = json_object_new_array();
	if (!one)
		return -ENOMEM;
	json_object_array_add(one, json_object_get(o));
	rc = np_mj_slowdowns(j, one, at, 1, n, false, m);
	json_object_put(one);
	if (!rc)
		a->curve = m;
	return rc;
}

static int read_probes(const struct np_mj *j, json_object *probes)
{
	struct np_measured_set *s = j->set;
	struct np_fabric_level *level = s->level;
	char at[NP_MJ_PATH];
	int rc = np_mj_latency(j, get(probes, "idle"), "probes.idle", "",
			       &s->fabric.idle);

	for (size_t i = 0; !rc && i < s->fabric.n_levels; i++) {
		snprintf(at, sizeof(at), "probes.%s", level[i].name);
		rc = np_mj_latency(j, get(probes, level[i].name), at, "",
				   &level[i].latency);
	}
	for (size_t i = 0; !rc && i < s->n_apps; i++) {
		snprintf(at, sizeof(at), "probes.%s", s->app[i].name);
		rc = np_mj_latency(j, get(probes, s->app[i].name), at, "",
				   &s->app[i].latency);
	}
	return rc;
}

int np_measured_read_simulated(const struct np_mj *j, json_object *root,
			       json_object *set)
{
	json_object *probes = get(set, "probes");
	json_object *curves = get(set, "compression_slowdown");
	int rc = read_names(j, root);

	if (!rc)
		rc = np_mj_edges(j, get(root, "bin_edges"), "bin_edges");
	if (!rc && !json_object_is_type(probes, json_type_object))
		rc = np_mj_bad(j, "probes", probes, "an object");
	if (!rc && !json_object_is_type(curves, json_type_object))
		rc = np_mj_bad(j, "compression_slowdown", curves, "an object");
	if (!rc)
		rc = read_probes(j, probes);
	for (size_t i = 0; !rc && i < j->set->n_apps; i++)
		rc = read_curve(j, curves, i);
	return rc ? rc : np_mj_rows(j, get(set, "pair_slowdown"),
				    "pair_slowdown",
				    get(set, "triple_slowdown"),
				    "triple_slowdown");
}
