/*
 * Our own layout, netprof-pairs(5), and its forerunner without "format",
 * which has numbers for slowdowns and microseconds for latencies.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "np_measured_json.h"
#include "np_series.h"

static json_object *get(json_object *o, const char *key)
{
	return json_object_object_get(o, key);
}

static int read_apps(const struct np_mj *j, json_object *root)
{
	struct np_measured_set *s = j->set;
	json_object *list = get(root, "programs");
	int rc = np_mj_array(j, list, "programs", 0, NP_MEASURED_MAX_PROGRAMS);
	size_t n = rc ? 0 : json_object_array_length(list);
	char at[NP_MJ_PATH], *name;

	s->app = rc ? NULL : np_mj_alloc(j, n, sizeof(*s->app));
	s->alone_sec = rc ? NULL : np_mj_alloc(j, n, sizeof(*s->alone_sec));
	if (!rc && (!s->app || !s->alone_sec))
		return -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++) {
		snprintf(at, sizeof(at), "programs[%zu]", i);
		rc = np_mj_name(j, json_object_array_get_idx(list, i), at,
				&name);
		if (!rc)
			s->app[s->n_apps++].name = name;
	}
	return rc;
}

static int read_levels(const struct np_mj *j, json_object *root)
{
	struct np_fabric *f = &j->set->fabric;
	json_object *list = get(root, "levels");
	int rc = np_mj_array(j, list, "levels", 0, NP_FABRIC_MAX_LEVELS);
	size_t n = rc ? 0 : json_object_array_length(list);
	struct np_fabric_level *level;
	char at[NP_MJ_PATH], *name;

	level = rc ? NULL : np_mj_alloc(j, n, sizeof(*level));
	if (!rc && !level)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++) {
		snprintf(at, sizeof(at), "levels[%zu]", i);
		rc = np_mj_name(j, json_object_array_get_idx(list, i), at,
				&name);
		if (!rc)
			level[i].name = name;
	}
	if (rc)
		return rc;
	f->level = j->set->level = level;
	f->n_levels = n;
	return 0;
}

/* A table of slowdowns, or NULL where the file has none. */
static int table(const struct np_mj *j, json_object *root, const char *key,
		 size_t rows, size_t cols, bool transposed,
		 const struct np_mean **out)
{
	json_object *o = get(root, key);
	struct np_mean *m;
	int rc;

	*out = NULL;
	if (!o)
		return 0;
	m = np_mj_alloc(j, rows * cols, sizeof(*m));
	if (!m)
		return -ENOMEM;
	rc = np_mj_slowdowns(j, o, key, rows, cols, transposed, m);
	if (!rc)
		*out = m;
	return rc;
}

static int read_tables(const struct np_mj *j, json_object *root)
{
	struct np_measured_set *s = j->set;
	size_t n = s->fabric.n_levels;
	const struct np_mean *curve, *pressure;
	int rc = table(j, root, "program_beside_level", s->n_apps, n, false,
		       &curve);

	if (!rc)
		rc = table(j, root, "level_beside_program", n, s->n_apps, true,
			   &pressure);
	if (!rc)
		rc = table(j, root, "level_beside_level", n, n, false,
			   &s->fabric.beside);
	for (size_t a = 0; !rc && a < s->n_apps; a++) {
		s->app[a].curve = curve ? curve + a * n : NULL;
		s->app[a].pressure = pressure ? pressure + a * n : NULL;
	}
	return rc;
}

static int read_windows(const struct np_mj *j, json_object *o,
			const char *path, struct np_program *app)
{
	int rc = np_mj_array(j, o, path, 0, NP_SERIES_MAX);
	size_t n = rc ? 0 : json_object_array_length(o);
	struct np_moments *w;

	w = rc ? NULL : np_mj_alloc(j, n, sizeof(*w));
	if (!rc && !w)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++) {
		struct np_latency l;

		rc = np_mj_latency(j, json_object_array_get_idx(o, i), path,
				   "_sec", &l);
		w[i] = l.all;
	}
	if (rc)
		return rc;
	app->window = w;
	app->n_windows = n;
	return 0;
}

static int read_probes(const struct np_mj *j, json_object *probes,
		       const char *suffix)
{
	struct np_measured_set *s = j->set;
	struct np_fabric_level *level = s->level;
	char at[NP_MJ_PATH];
	int rc;

	if (!probes)
		return 0;
	if (!json_object_is_type(probes, json_type_object))
		return np_mj_bad(j, "probes", probes, "an object");
	rc = np_mj_latency(j, get(probes, "idle"), "probes.idle", suffix,
			   &s->fabric.idle);
	for (size_t i = 0; !rc && i < s->fabric.n_levels; i++) {
		snprintf(at, sizeof(at), "probes.%s", level[i].name);
		rc = np_mj_latency(j, get(probes, level[i].name), at, suffix,
				   &level[i].latency);
	}
	for (size_t i = 0; !rc && i < s->n_apps; i++) {
		json_object *o = get(probes, s->app[i].name), *w;

		snprintf(at, sizeof(at), "probes.%s", s->app[i].name);
		rc = np_mj_latency(j, o, at, suffix, &s->app[i].latency);
		w = !rc && json_object_is_type(o, json_type_object) ?
			    get(o, "windows") : NULL;
		if (w)
			rc = read_windows(j, w, at, &s->app[i]);
	}
	return rc;
}

static int read_coupling(const struct np_mj *j, json_object *root)
{
	static const char *const scope[NP_N_SCOPES] = { "node", "leaf",
							"uplink" };
	json_object *o = get(root, "coupling");
	int rc = 0;

	if (!o)
		return 0;
	if (!json_object_is_type(o, json_type_object))
		return np_mj_bad(j, "coupling", o, "an object");
	for (int i = 0; !rc && i < NP_N_SCOPES; i++)
		rc = np_mj_mean(j, get(o, scope[i]), "coupling", 0,
				NP_COUPLING_MAX, &j->set->fabric.coupling[i]);
	return rc;
}

static int read_alone(const struct np_mj *j, json_object *root)
{
	struct np_measured_set *s = j->set;
	json_object *o = get(root, "alone_sec");
	int rc = 0;

	if (!o)
		return 0;
	rc = np_mj_array(j, o, "alone_sec", s->n_apps, 0);
	for (size_t i = 0; !rc && i < s->n_apps; i++)
		rc = np_mj_mean(j, json_object_array_get_idx(o, i),
				"alone_sec", 0, 1e9, &s->alone_sec[i]);
	return rc;
}

/* Names must tell programs and levels apart, as probes go by them. */
static int check_names(const struct np_mj *j)
{
	struct np_measured_set *s = j->set;
	size_t n = s->n_apps + s->fabric.n_levels;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++) {
			const char *a = i < s->n_apps ? s->app[i].name :
				s->fabric.level[i - s->n_apps].name;
			const char *b = k < s->n_apps ? s->app[k].name :
				s->fabric.level[k - s->n_apps].name;

			if (!strcmp(a, b) || !strcmp(a, "idle"))
				return np_mj_bad(j, a, NULL, "a name of its "
						 "own for each program and "
						 "level");
		}
	return 0;
}

int np_measured_read_pairs(const struct np_mj *j, json_object *root)
{
	bool own = get(root, "format") != NULL;
	const char *edges = own ? "latency_bin_edges_sec" :
				  "latency_bin_edges_us";
	struct np_mj us = *j;
	int rc;

	us.unit_sec = own ? 1 : 1e-6;
	rc = read_apps(j, root);
	if (!rc)
		rc = read_levels(j, root);
	if (!rc)
		rc = check_names(j);
	if (!rc && get(root, edges))
		rc = np_mj_edges(&us, get(root, edges), edges);
	else if (own)
		j->set->bins = *np_bins_own();
	if (!rc)
		rc = read_tables(j, root);
	if (!rc)
		rc = read_probes(&us, get(root, "probes"),
				 own ? "_sec" : "_us");
	if (!rc)
		rc = read_coupling(j, root);
	if (!rc)
		rc = read_alone(j, root);
	return rc ? rc : np_mj_rows(j, get(root, "program_beside_program"),
				    "program_beside_program",
				    get(root, "groups"), "groups");
}
