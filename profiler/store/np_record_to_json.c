/* Run record to JSON, schema 1; see netprof-profile(5). */
#include "np_record_json.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <json-c/json.h>

#include "np_text.h"

/*
 * Windows written for all leaves together, of some 45 bytes each; they merge in
 * pairs beyond.
 */
#define MAX_WINDOWS 16384

static void put_scheme(struct np_jput *o, json_object *in)
{
	json_object *j = np_jput_new(o, in, "hist", json_object_new_object());

	if (!j)
		return;
	np_jput(o, j, "first_edge_sec",
		np_jput_real(o, NP_HIST_FIRST_EDGE_SEC, 1, 17));
	np_jput(o, j, "per_decade", json_object_new_int(NP_HIST_PER_DECADE));
	np_jput(o, j, "bins", json_object_new_int(NP_HIST_BINS));
}

static void put_hist(struct np_jput *o, json_object *in,
		     const struct np_hist *h)
{
	json_object *list = np_jput_new(o, in, "hist", json_object_new_array());

	for (size_t i = 0; list && i < NP_HIST_BINS; i++) {
		uint64_t n = np_hist_count(h, i);
		json_object *pair;

		if (!n)
			continue;
		pair = np_jput_append_new(o, list,
					  json_object_new_array_ext(2));
		if (!pair)
			return;
		np_jput_append(o, pair, json_object_new_int((int)i));
		np_jput_append(o, pair, json_object_new_uint64(n));
	}
}

static void append_window(struct np_jput *o, json_object *list,
			  const struct np_moments *m)
{
	json_object *w =
		np_jput_append_new(o, list, json_object_new_array_ext(4));

	if (!w)
		return;
	np_jput_append(o, w, json_object_new_uint64(m->n));
	if (!m->n)
		return;
	np_jput_append(o, w, np_jput_real(o, m->mean, 6, 6));
	np_jput_append(o, w, np_jput_real(o, np_moments_sd(m), 6, 6));
	np_jput_append(o, w, np_jput_real(o, m->max, 6, 6));
}

/* Each window written stands for `merge` windows of the series. */
static void put_windows(struct np_jput *o, json_object *in,
			const struct np_series *s, size_t merge)
{
	json_object *j =
		np_jput_new(o, in, "windows", json_object_new_object());
	json_object *list;

	if (!j)
		return;
	np_jput(o, j, "width_sec",
	    np_jput_real(o, s->width_sec * (double)merge, 1, 17));
	list = np_jput_new(o, j, "w", json_object_new_array());
	for (size_t i = 0; list && i < s->n && !o->rc; i += merge) {
		struct np_moments m = s->w[i];

		for (size_t k = 1; k < merge && i + k < s->n; k++)
			np_moments_merge(&m, &s->w[i + k]);
		append_window(o, list, &m);
	}
}

/* How many windows become one, so that a record of many leaves stays small. */
static size_t merge_of(const struct np_record *r)
{
	size_t merge = 1, total;

	for (;; merge *= 2) {
		total = 0;
		for (size_t i = 0; i < r->n_leaves; i++)
			if (r->leaves[i].windows)
				total += (r->leaves[i].windows->n + merge - 1) /
					 merge;
		if (total <= MAX_WINDOWS || merge >= NP_SERIES_MAX)
			return merge;
	}
}

static void put_leaves(struct np_jput *o, json_object *in,
		       const struct np_record *r)
{
	json_object *list =
		np_jput_new(o, in, "leaves", json_object_new_array());
	size_t merge = merge_of(r);

	for (size_t i = 0; list && i < r->n_leaves; i++) {
		const struct np_leaf_run *leaf = &r->leaves[i];
		json_object *j =
			np_jput_append_new(o, list, json_object_new_object());

		if (!j)
			return;
		np_jput_fields(o, j, leaf, &np_leaf_fields);
		if (leaf->hist && np_hist_total(leaf->hist))
			put_hist(o, j, leaf->hist);
		if (leaf->windows && leaf->windows->n)
			put_windows(o, j, leaf->windows, merge);
	}
}

static void put_neighbours(struct np_jput *o, json_object *in,
			   const struct np_record *r)
{
	json_object *list = np_jput_new(o, in, "neighbours",
				    json_object_new_array());

	for (size_t i = 0; list && i < r->n_neighbours; i++) {
		json_object *j =
			np_jput_append_new(o, list, json_object_new_object());

		if (!j)
			return;
		np_jput_fields(o, j, &r->neighbours[i], &np_neighbour_fields);
	}
}

static void put_notes(struct np_jput *o, json_object *in,
		      const struct np_record *r)
{
	json_object *list =
		np_jput_new(o, in, "notes", json_object_new_array());

	for (size_t i = 0; list && i < r->n_notes; i++)
		np_jput_append(o, list,
			       np_jput_text(r->notes[i], NP_JSON_WORD));
}

static void put_record(struct np_jput *o, json_object *j,
		       const struct np_record *r)
{
	json_object *sub;

	np_jput(o, j, "schema", json_object_new_int(NP_RECORD_SCHEMA));
	np_jput(o, j, "app", json_object_new_string(r->app));
	np_jput(o, j, "state", json_object_new_string(np_run_states[r->state]));
	np_jput_fields(o, j, r, &np_record_fields);
	sub = np_jput_new(o, j, "probe", json_object_new_object());
	if (sub)
		np_jput_fields(o, sub, &r->probe, &np_probe_fields);
	if (r->level && !o->rc) {
		sub = np_jput_new(o, j, "level", json_object_new_object());
		if (sub)
			np_jput_fields(o, sub, r->level, &np_level_fields);
	}
	put_scheme(o, j);
	put_leaves(o, j, r);
	put_neighbours(o, j, r);
	put_notes(o, j, r);
}

int np_record_to_json(const struct np_record *r, char **out)
{
	struct np_jput o = { 0 };
	json_object *j = json_object_new_object();
	/* The program around us may have set a locale with another point. */
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), old;

	if (!j || !c) {
		o.rc = -ENOMEM;
		goto out;
	}
	old = uselocale(c);
	put_record(&o, j, r);
	if (!o.rc)
		o.rc = np_jput_print(j, out);
	uselocale(old);
out:
	if (c)
		freelocale(c);
	json_object_put(j);
	return o.rc;
}
