#include "np_calibration_json.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct json_object json;

/* Every function here takes what it adds; running out of memory shows last. */
static void put(json *o, const char *key, json *v)
{
	json_object_object_add(o, key, v);
}

/* Nine digits say all that was measured. */
static json *number(double v)
{
	char text[32];

	snprintf(text, sizeof(text), "%.9g", v);
	return json_object_new_double_s(v, text);
}

static json *text(const char *s)
{
	return json_object_new_string(s ? s : "");
}

static json *count(uint64_t n)
{
	return json_object_new_int64((int64_t)n);
}

static json *mean(const struct np_mean *m)
{
	json *o;

	if (!np_mean_known(m))
		return NULL;
	o = json_object_new_object();
	put(o, "n", count(m->n));
	put(o, "mean", number(m->mean));
	if (!isnan(m->sd))
		put(o, "sd", number(m->sd));
	return o;
}

static json *latency(const struct np_cal_sample *s)
{
	json *o = json_object_new_object(), *bins;

	put(o, "n", count(s->sec.n));
	put(o, "mean_sec", number(s->sec.mean));
	put(o, "sd_sec", number(np_moments_sd(&s->sec)));
	put(o, "min_sec", number(s->sec.min));
	put(o, "max_sec", number(s->sec.max));
	if (!s->bins)
		return o;
	bins = json_object_new_array();
	for (size_t i = 0; i < NP_HIST_BINS; i++) {
		json *pair;

		if (!s->bins[i])
			continue;
		pair = json_object_new_array();
		json_object_array_add(pair, count(i));
		json_object_array_add(pair, count(s->bins[i]));
		json_object_array_add(bins, pair);
	}
	put(o, "bins", bins);
	return o;
}

static json *levels(const struct np_calibrate *c)
{
	json *a = json_object_new_array();

	for (size_t i = 0; i < c->n_chosen; i++) {
		const struct np_level *l = &c->setup.level[c->chosen[i]];
		json *o = json_object_new_object();

		put(o, "name", text(l->name));
		put(o, "partners", count(l->partners));
		put(o, "messages", count(l->messages));
		put(o, "pause_sec", number(l->pause_sec));
		put(o, "bytes", count(l->bytes));
		json_object_array_add(a, o);
	}
	return a;
}

static json *matrix(const struct np_calibrate *c)
{
	json *a = json_object_new_array();

	for (size_t v = 0; v < c->n_chosen; v++) {
		json *row = json_object_new_array();

		for (size_t p = 0; p < c->n_chosen; p++) {
			struct np_mean m = np_cal_matrix(&c->setup, c->state,
				c->scope, c->chosen[v], c->chosen[p]);

			json_object_array_add(row, mean(&m));
		}
		json_object_array_add(a, row);
	}
	return a;
}

static const struct np_cal_result *probed(const struct np_calibrate *c,
					  size_t level)
{
	const struct np_cal_task t = { NP_CAL_PROBE, c->scope, NP_CAL_NONE,
				       level, 0 };
	char key[NP_CAL_KEY];

	np_cal_key(&c->setup, &t, key);
	return np_cal_state_find(c->state, key);
}

/*
 * Idle is what the same probes saw between the levels: like is compared with
 * like.
 */
static int probes(const struct np_calibrate *c, json *o)
{
	struct np_cal_sample idle = { .bins = NULL };
	int rc = 0;

	for (size_t i = 0; !rc && i < c->setup.n_levels; i++) {
		const struct np_cal_result *r = probed(c, i);

		if (r)
			rc = np_cal_sample_merge(&idle, &r->alone);
	}
	if (!rc && idle.sec.n)
		put(o, "idle", latency(&idle));
	np_cal_sample_free(&idle);
	for (size_t i = 0; !rc && i < c->n_chosen; i++) {
		const struct np_cal_result *r = probed(c, c->chosen[i]);

		if (r && r->beside.sec.n)
			put(o, c->setup.level[c->chosen[i]].name,
			    latency(&r->beside));
	}
	return rc;
}

static json *leaves(const struct np_calibrate *c)
{
	json *a = json_object_new_array();

	for (size_t i = 0; i < c->state->n; i++) {
		const struct np_cal_result *r = &c->state->result[i];
		json *o;

		if (strncmp(r->key, "idle ", 5))
			continue;
		o = json_object_new_object();
		put(o, "name", text(strcmp(r->key, "idle -") ? r->key + 5 :
							       ""));
		put(o, "idle", r->alone.sec.n ? latency(&r->alone) : NULL);
		json_object_array_add(a, o);
	}
	return a;
}

static json *coupling(const struct np_calibrate *c)
{
	json *o = json_object_new_object();

	for (int i = 0; i < NP_N_SCOPES; i++) {
		struct np_mean m = np_cal_coupling(&c->setup, c->state,
						   c->scope, (enum np_scope)i);

		if (i == (int)c->scope) /* by definition */
			m = (struct np_mean){ m.n ? m.n : 1, 1, 0 };
		put(o, np_scope_name((enum np_scope)i), mean(&m));
	}
	return o;
}

/* Loss of speed behind the coupling, as it was measured. */
static json *losses(const struct np_calibrate *c)
{
	json *o = json_object_new_object();

	for (int i = 0; i < NP_N_SCOPES; i++) {
		struct np_mean m = np_cal_loss(&c->setup, c->state,
					       (enum np_scope)i);

		put(o, np_scope_name((enum np_scope)i), mean(&m));
	}
	return o;
}

/* What was measured of levels that are not among the chosen. */
static json *others(const struct np_calibrate *c)
{
	json *a = json_object_new_array();

	for (size_t i = 0; i < c->setup.n_levels; i++) {
		const struct np_cal_result *r = probed(c, i);
		struct np_mean press = np_cal_matrix(&c->setup, c->state,
			c->scope, np_cal_middle(&c->setup), i);
		bool taken = false;
		json *o;

		for (size_t k = 0; k < c->n_chosen; k++)
			taken = taken || c->chosen[k] == i;
		if (taken)
			continue;
		o = json_object_new_object();
		put(o, "name", text(c->setup.level[i].name));
		put(o, "slows_by", mean(&press));
		put(o, "probes", r && r->beside.sec.n ? latency(&r->beside) :
							NULL);
		json_object_array_add(a, o);
	}
	return a;
}

static void put_where(const struct np_calibration_facts *f, json *o)
{
	put(o, "leaf", text(f->sites->leaf));
	put(o, "victim_nodes", text(f->sites->victim.list));
	put(o, "level_nodes", text(f->c->scope == NP_SCOPE_LEAF ?
				   f->sites->aggressor.list :
				   f->sites->victim.list));
	put(o, "seconds", number(f->c->setup.seconds));
	put(o, "repeats", count(f->c->setup.repeats));
}

static json *build(const struct np_calibration_facts *f, int *rc)
{
	const struct np_calibrate *c = f->c;
	json *o = json_object_new_object(), *seen;

	put(o, "format", text("netprof-pairs"));
	put(o, "schema", count(1));
	put(o, "cluster", text(f->cluster));
	put(o, "date", count((uint64_t)f->date));
	put(o, "netprof_version", text(NP_VERSION));
	put(o, "ucx_version", text(f->ucx_version));
	put(o, "transport", text(f->transport));
	put(o, "message_bytes", count(f->message_bytes));
	put(o, "period_sec", number(f->period_sec));
	put(o, "scope", text(np_scope_name(c->scope)));
	put_where(f, o);
	put(o, "programs", json_object_new_array());
	put(o, "levels", levels(c));
	put(o, "level_beside_level", matrix(c));
	put(o, "coupling", coupling(c));
	put(o, "loss", losses(c));
	put(o, "leaves", leaves(c));
	seen = json_object_new_object();
	*rc = probes(c, seen);
	put(o, "probes", seen);
	if (c->n_chosen < c->setup.n_levels)
		put(o, "other_levels", others(c));
	return o;
}

int np_calibration_to_json(const struct np_calibration_facts *f, char **out,
			   struct np_err *err)
{
	json *o = NULL;
	int rc = 0;

	if (f->c->n_chosen < 2)
		return np_errf(err, -ENODATA, "calibration: %zu levels were "
			       "measured, expected two or more",
			       f->c->n_chosen);
	o = build(f, &rc);
	if (!rc) {
		*out = strdup(json_object_to_json_string_ext(o,
			JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED));
		rc = *out ? 0 : -ENOMEM;
	}
	json_object_put(o);
	return rc ? np_errf(err, rc, "out of memory") : 0;
}
