/* Run record to JSON, schema 1; see netprof-profile(5). */
#include "np_record_json.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <json-c/json.h>

#include "np_text.h"

/* Windows written for all leaves together; they merge in pairs beyond. */
#define MAX_WINDOWS 32768

/* The first failure is kept; the rest then does no harm. */
struct out {
	int rc;
};

static void put(struct out *o, json_object *in, const char *key,
		json_object *value)
{
	if (value && !json_object_object_add(in, key, value))
		return;
	json_object_put(value);
	o->rc = o->rc ? o->rc : -ENOMEM;
}

static void append(struct out *o, json_object *in, json_object *value)
{
	if (value && !json_object_array_add(in, value))
		return;
	json_object_put(value);
	o->rc = o->rc ? o->rc : -ENOMEM;
}

/* The shortest decimal with at least this many digits that reads back. */
static json_object *new_real(struct out *o, double v, int digits, int enough)
{
	char text[32];

	if (!isfinite(v)) {
		o->rc = o->rc ? o->rc : -EINVAL;
		return NULL;
	}
	do
		snprintf(text, sizeof(text), "%.*g", digits, v);
	while (digits++ < enough && strtod(text, NULL) != v);
	return json_object_new_double_s(v, text);
}

static json_object *new_text(const char *text, size_t max)
{
	char *clean = np_text_clean(text, max);
	json_object *j = clean ? json_object_new_string(clean) : NULL;

	free(clean);
	return j;
}

static void put_fields(struct out *o, json_object *in, const void *from,
		       const struct np_fields *fs);

static json_object *new_moments(struct out *o, const struct np_moments *m)
{
	static const struct np_moments empty;
	json_object *j = json_object_new_object();

	if (j) /* the range of an empty set is not defined */
		put_fields(o, j, m->n ? m : &empty, &np_moments_fields);
	return j;
}

static void put_field(struct out *o, json_object *in, const struct np_field *f,
		      const void *at)
{
	long number = f->type == NP_F_LONG ? *(const long *)at : 0;
	const char *text = f->type == NP_F_TEXT ? *(char *const *)at : NULL;

	switch (f->type) {
	case NP_F_U32:
		put(o, in, f->key, json_object_new_int64(*(uint32_t *)at));
		break;
	case NP_F_U64:
		put(o, in, f->key, json_object_new_uint64(*(uint64_t *)at));
		break;
	case NP_F_LONG:
		if (number != NP_NO_VALUE)
			put(o, in, f->key, json_object_new_int64(number));
		break;
	case NP_F_REAL:
		put(o, in, f->key, new_real(o, *(double *)at, 15, 17));
		break;
	case NP_F_TEXT:
		if (text)
			put(o, in, f->key, new_text(text, (size_t)f->max));
		break;
	case NP_F_MOMENTS:
		put(o, in, f->key, new_moments(o, at));
		break;
	}
}

static void put_fields(struct out *o, json_object *in, const void *from,
		       const struct np_fields *fs)
{
	for (size_t i = 0; i < fs->n; i++)
		put_field(o, in, &fs->field[i],
			  (const char *)from + fs->field[i].offset);
}

/* An empty object or array, already inside its parent. */
static json_object *put_new(struct out *o, json_object *in, const char *key,
			    json_object *fresh)
{
	put(o, in, key, fresh);
	return o->rc ? NULL : fresh;
}

static json_object *append_new(struct out *o, json_object *in,
			       json_object *fresh)
{
	append(o, in, fresh);
	return o->rc ? NULL : fresh;
}

static void put_scheme(struct out *o, json_object *in)
{
	json_object *j = put_new(o, in, "hist", json_object_new_object());

	if (!j)
		return;
	put(o, j, "first_edge_sec", new_real(o, NP_HIST_FIRST_EDGE_SEC, 1, 17));
	put(o, j, "per_decade", json_object_new_int(NP_HIST_PER_DECADE));
	put(o, j, "bins", json_object_new_int(NP_HIST_BINS));
}

static void put_hist(struct out *o, json_object *in, const struct np_hist *h)
{
	json_object *list = put_new(o, in, "hist", json_object_new_array());

	for (size_t i = 0; list && i < NP_HIST_BINS; i++) {
		uint64_t n = np_hist_count(h, i);
		json_object *pair;

		if (!n)
			continue;
		pair = append_new(o, list, json_object_new_array_ext(2));
		if (!pair)
			return;
		append(o, pair, json_object_new_int((int)i));
		append(o, pair, json_object_new_uint64(n));
	}
}

static void append_window(struct out *o, json_object *list,
			  const struct np_moments *m)
{
	json_object *w = append_new(o, list, json_object_new_array_ext(4));

	if (!w)
		return;
	append(o, w, json_object_new_uint64(m->n));
	if (!m->n)
		return;
	append(o, w, new_real(o, m->mean, 6, 6));
	append(o, w, new_real(o, np_moments_sd(m), 6, 6));
	append(o, w, new_real(o, m->max, 6, 6));
}

/* Each window written stands for `merge` windows of the series. */
static void put_windows(struct out *o, json_object *in,
			const struct np_series *s, size_t merge)
{
	json_object *j = put_new(o, in, "windows", json_object_new_object());
	json_object *list;

	if (!j)
		return;
	put(o, j, "width_sec",
	    new_real(o, s->width_sec * (double)merge, 1, 17));
	list = put_new(o, j, "w", json_object_new_array());
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

static void put_leaves(struct out *o, json_object *in,
		       const struct np_record *r)
{
	json_object *list = put_new(o, in, "leaves", json_object_new_array());
	size_t merge = merge_of(r);

	for (size_t i = 0; list && i < r->n_leaves; i++) {
		const struct np_leaf_run *leaf = &r->leaves[i];
		json_object *j = append_new(o, list, json_object_new_object());

		if (!j)
			return;
		put_fields(o, j, leaf, &np_leaf_fields);
		if (leaf->hist && np_hist_total(leaf->hist))
			put_hist(o, j, leaf->hist);
		if (leaf->windows && leaf->windows->n)
			put_windows(o, j, leaf->windows, merge);
	}
}

static void put_neighbours(struct out *o, json_object *in,
			   const struct np_record *r)
{
	json_object *list = put_new(o, in, "neighbours",
				    json_object_new_array());

	for (size_t i = 0; list && i < r->n_neighbours; i++) {
		json_object *j = append_new(o, list, json_object_new_object());

		if (!j)
			return;
		put_fields(o, j, &r->neighbours[i], &np_neighbour_fields);
	}
}

static void put_notes(struct out *o, json_object *in, const struct np_record *r)
{
	json_object *list = put_new(o, in, "notes", json_object_new_array());

	for (size_t i = 0; list && i < r->n_notes; i++)
		append(o, list, new_text(r->notes[i], NP_JSON_WORD));
}

static void put_record(struct out *o, json_object *j, const struct np_record *r)
{
	json_object *sub;

	put(o, j, "schema", json_object_new_int(NP_RECORD_SCHEMA));
	put(o, j, "app", json_object_new_string(r->app));
	put(o, j, "state", json_object_new_string(np_run_states[r->state]));
	put_fields(o, j, r, &np_record_fields);
	sub = put_new(o, j, "probe", json_object_new_object());
	if (sub)
		put_fields(o, sub, &r->probe, &np_probe_fields);
	if (r->level && !o->rc) {
		sub = put_new(o, j, "level", json_object_new_object());
		if (sub)
			put_fields(o, sub, r->level, &np_level_fields);
	}
	put_scheme(o, j);
	put_leaves(o, j, r);
	put_neighbours(o, j, r);
	put_notes(o, j, r);
}

static int text_of(json_object *j, char **out)
{
	const char *text = json_object_to_json_string_ext(j,
		JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

	if (!text || asprintf(out, "%s\n", text) < 0)
		return -ENOMEM;
	return 0;
}

int np_record_to_json(const struct np_record *r, char **out)
{
	struct out o = { 0 };
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
		o.rc = text_of(j, out);
	uselocale(old);
out:
	if (c)
		freelocale(c);
	json_object_put(j);
	return o.rc;
}
