/* JSON to run record: every byte of it may be hostile. */
#include "np_record_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "np_jspan.h"
#include "np_text.h"

/*
 * Honest records stay far below; a hostile one takes about 100 MB, and 0.1 s.
 */
static const struct np_jlimits limits = {
	.objects = 32768, .arrays = 262144, .elements = 524288,
};

/* Our own bins are the only ones there are so far. */
static int check_scheme(struct np_jget *in, json_object *from)
{
	static const char *expected =
		"the bins of this netprof (1e-07 s, 25 per decade, 177)";
	uint64_t per_decade = 0, bins = 0;
	json_object *j, *v;
	double edge = 0;

	if (!json_object_object_get_ex(from, "hist", &j) ||
	    !json_object_is_type(j, json_type_object))
		return np_jget_refuse(in, "hist", expected);
	if (json_object_object_get_ex(j, "first_edge_sec", &v))
		edge = json_object_get_double(v);
	if (json_object_object_get_ex(j, "per_decade", &v))
		per_decade = json_object_get_uint64(v);
	if (json_object_object_get_ex(j, "bins", &v))
		bins = json_object_get_uint64(v);
	if (edge != NP_HIST_FIRST_EDGE_SEC ||
	    per_decade != NP_HIST_PER_DECADE || bins != NP_HIST_BINS)
		return np_jget_refuse(in, "hist", expected);
	return 0;
}

_Static_assert(NP_HIST_BINS == 177, "check_scheme() says 177");

static int get_pair(struct np_jget *in, json_object *pair, struct np_hist *h,
		    size_t *least_bin)
{
	uint64_t bin, n;
	int rc;

	if (!json_object_is_type(pair, json_type_array) ||
	    json_object_array_length(pair) != 2)
		return np_jget_refuse(in, "hist", "pairs of bin and count");
	rc = np_jget_count(in, "hist", json_object_array_get_idx(pair, 0),
		       NP_HIST_BINS - 1, &bin);
	if (!rc)
		rc = np_jget_count(in, "hist",
				   json_object_array_get_idx(pair, 1),
				   NP_JSON_COUNT, &n);
	if (rc)
		return rc;
	if (bin < *least_bin)
		return np_jget_refuse(in, "hist", "bins in rising order");
	*least_bin = bin + 1;
	return np_hist_add_bin(h, bin, n);
}

static int get_hist(struct np_jget *in, json_object *from,
		    struct np_leaf_run *leaf)
{
	size_t n, least_bin = 0;
	json_object *list;
	int rc = np_jget_list(in, from, "hist", NP_HIST_BINS, &list, &n);

	if (rc)
		return rc;
	if (n) {
		leaf->hist = np_hist_new();
		if (!leaf->hist)
			return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		rc = get_pair(in, json_object_array_get_idx(list, i),
			      leaf->hist, &least_bin);
		if (rc)
			return rc;
	}
	if ((n ? np_hist_total(leaf->hist) : 0) != leaf->latency.n)
		return np_jget_refuse(in, "hist",
				      "as many samples as latency.n");
	return 0;
}

/*
 * [n, mean, sd, max], or [0].  The smallest latency of a window is not kept;
 * the mean stands for it.
 */
static int get_window(struct np_jget *in, json_object *j,
		      struct np_moments *out)
{
	struct np_moments m = { 0 };
	size_t len;
	double sd;
	int rc;

	if (!json_object_is_type(j, json_type_array))
		return np_jget_refuse(in, "w", "arrays [n, mean, sd, max]");
	len = json_object_array_length(j);
	rc = np_jget_count(in, "w", json_object_array_get_idx(j, 0),
			   NP_JSON_COUNT, &m.n);
	if (rc)
		return rc;
	if (len != (m.n ? 4 : 1))
		return np_jget_refuse(in, "w", "[n, mean, sd, max], or [0]");
	if (m.n) {
		rc = np_jget_real(in, "w", json_object_array_get_idx(j, 1),
			      0, NP_JSON_LATENCY_SEC, &m.mean);
		if (!rc)
			rc = np_jget_real(in, "w",
					  json_object_array_get_idx(j, 2), 0,
					  NP_JSON_LATENCY_SEC, &sd);
		if (!rc)
			rc = np_jget_real(in, "w",
					  json_object_array_get_idx(j, 3), 0,
					  NP_JSON_LATENCY_SEC, &m.max);
		if (rc)
			return rc;
		m.m2 = sd * sd * (double)(m.n - 1);
		m.min = m.mean;
	}
	if (!np_moments_valid(&m))
		return np_jget_refuse(in, "w", "windows that samples can have");
	*out = m;
	return 0;
}

static int get_windows(struct np_jget *in, json_object *from,
		       struct np_leaf_run *leaf)
{
	json_object *j, *list, *width;
	struct np_series *s;
	uint64_t total = 0;
	size_t n;
	int rc;

	if (!json_object_object_get_ex(from, "windows", &j))
		return 0;
	if (!json_object_is_type(j, json_type_object))
		return np_jget_refuse(in, "windows", "an object");
	rc = np_jget_list(in, j, "w", NP_SERIES_MAX, &list, &n);
	if (rc || !n)
		return rc;
	/* calloc(): pages that are never used are never there. */
	s = leaf->windows = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	if (!json_object_object_get_ex(j, "width_sec", &width))
		return np_jget_refuse(in, "windows.width_sec", "a value");
	rc = np_jget_real(in, "windows.width_sec", width, 0,
			  NP_JSON_ELAPSED_SEC, &s->width_sec);
	if (!rc && s->width_sec < 1e-6)
		rc = np_jget_refuse(in, "windows.width_sec", "1e-06 or more");
	for (size_t i = 0; !rc && i < n; i++) {
		rc = get_window(in, json_object_array_get_idx(list, i),
				&s->w[i]);
		total += s->w[i].n;
	}
	if (rc)
		return rc;
	if (total > leaf->latency.n)
		return np_jget_refuse(in, "windows",
				      "at most latency.n samples");
	s->n = n;
	return 0;
}

static int get_leaf(struct np_jget *in, json_object *j,
		    struct np_leaf_run *leaf)
{
	int rc;

	if (!json_object_is_type(j, json_type_object))
		return np_jget_refuse(in, "", "an object");
	rc = np_jget_fields(in, j, leaf, &np_leaf_fields);
	if (!rc)
		rc = get_hist(in, j, leaf);
	if (!rc)
		rc = get_windows(in, j, leaf);
	return rc;
}

static int get_leaves(struct np_jget *in, json_object *from,
		      struct np_record *r)
{
	json_object *list;
	size_t n;
	int rc = np_jget_list(in, from, "leaves", NP_RECORD_MAX_LEAVES, &list,
			      &n);

	if (rc || !n)
		return rc;
	rc = check_scheme(in, from);
	if (rc)
		return rc;
	r->leaves = calloc(n, sizeof(*r->leaves));
	if (!r->leaves)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++) {
		struct np_jget sub = *in;

		snprintf(sub.at, sizeof(sub.at), "leaves[%zu].", i);
		r->n_leaves = i + 1;
		rc = get_leaf(&sub, json_object_array_get_idx(list, i),
			      &r->leaves[i]);
	}
	return rc;
}

static int get_neighbours(struct np_jget *in, json_object *from,
			  struct np_record *r)
{
	json_object *list, *j;
	size_t n;
	int rc = np_jget_list(in, from, "neighbours", NP_RECORD_MAX_NEIGHBOURS,
			  &list, &n);

	if (rc || !n)
		return rc;
	r->neighbours = calloc(n, sizeof(*r->neighbours));
	if (!r->neighbours)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++) {
		struct np_jget sub = *in;

		snprintf(sub.at, sizeof(sub.at), "neighbours[%zu].", i);
		j = json_object_array_get_idx(list, i);
		if (!json_object_is_type(j, json_type_object))
			return np_jget_refuse(&sub, "", "an object");
		r->n_neighbours = i + 1;
		rc = np_jget_fields(&sub, j, &r->neighbours[i],
				&np_neighbour_fields);
	}
	return rc;
}

static int get_notes(struct np_jget *in, json_object *from, struct np_record *r)
{
	json_object *list;
	size_t n;
	int rc =
		np_jget_list(in, from, "notes", NP_RECORD_MAX_NOTES, &list, &n);

	if (rc || !n)
		return rc;
	r->notes = calloc(n, sizeof(*r->notes));
	if (!r->notes)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++) {
		rc = np_jget_text(in, "notes",
				  json_object_array_get_idx(list, i),
				  NP_JSON_WORD, &r->notes[i]);
		if (!rc)
			r->n_notes = i + 1;
	}
	return rc;
}

static int get_app(struct np_jget *in, json_object *from, struct np_record *r)
{
	json_object *j;
	char *text;
	int rc;

	if (!json_object_object_get_ex(from, "app", &j))
		return np_jget_refuse(in, "app", "a value: it is missing");
	rc = np_jget_text(in, "app", j, NP_APP_MAX, &text);
	if (rc)
		return rc;
	if (np_app_check(text, NULL))
		rc = np_jget_refuse(in, "app", "an application name");
	else
		strcpy(r->app, text);
	free(text);
	return rc;
}

static int get_state(struct np_jget *in, json_object *from, struct np_record *r)
{
	const char *state = "";
	json_object *j;

	if (json_object_object_get_ex(from, "state", &j) &&
	    json_object_is_type(j, json_type_string))
		state = json_object_get_string(j);
	for (size_t i = 0; i < np_n_run_states; i++)
		if (!strcmp(state, np_run_states[i])) {
			r->state = (enum np_run_state)i;
			return 0;
		}
	return np_jget_refuse(in, "state", "running, complete or cut");
}

/* One of the objects inside the record; it may be missing. */
static int get_object(struct np_jget *in, json_object *from, const char *key,
		      json_object **out)
{
	if (!json_object_object_get_ex(from, key, out))
		return 0;
	if (!json_object_is_type(*out, json_type_object))
		return np_jget_refuse(in, key, "an object");
	return 0;
}

static int get_probe(struct np_jget *in, json_object *from, struct np_record *r)
{
	struct np_jget sub = *in;
	json_object *j = NULL;
	int rc = get_object(in, from, "probe", &j);

	if (rc || !j)
		return rc;
	strcpy(sub.at, "probe.");
	return np_jget_fields(&sub, j, &r->probe, &np_probe_fields);
}

static int get_level(struct np_jget *in, json_object *from, struct np_record *r)
{
	struct np_jget sub = *in;
	json_object *j = NULL;
	int rc = get_object(in, from, "level", &j);

	if (rc || !j)
		return rc;
	r->level = calloc(1, sizeof(*r->level));
	if (!r->level)
		return -ENOMEM;
	strcpy(sub.at, "level.");
	return np_jget_fields(&sub, j, r->level, &np_level_fields);
}

static int get_record(struct np_jget *in, json_object *from,
		      struct np_record *r)
{
	static int (*const parts[])(struct np_jget *, json_object *,
				    struct np_record *) = {
		get_app, get_state, get_probe, get_level, get_leaves,
		get_neighbours, get_notes,
	};
	int rc = np_jget_schema(in, from, NP_RECORD_SCHEMA);

	if (!rc)
		rc = np_jget_fields(in, from, r, &np_record_fields);
	for (size_t i = 0; !rc && i < NP_ARRAY_SIZE(parts); i++)
		rc = parts[i](in, from, r);
	return rc;
}

int np_record_from_json(const char *text, size_t len, const char *where,
			struct np_record **out, struct np_err *err)
{
	struct np_jget in = { .where = where, .err = err };
	struct np_record *r;
	json_object *j = NULL;
	int rc;

	if (len > NP_RECORD_MAX_BYTES)
		return np_errf(err, -EINVAL,
			       "%s: %zu bytes, expected at most %u", where,
			       len, NP_RECORD_MAX_BYTES);
	rc = np_jspan_within(text, len, &limits) ?
	     np_jget_parse(&in, text, len, &j) :
	     np_jget_refuse(&in, "", "fewer objects, arrays and elements");
	if (rc)
		return rc;
	r = np_record_new();
	rc = r ? get_record(&in, j, r) : -ENOMEM;
	json_object_put(j);
	if (rc == -ENOMEM)
		np_errf(err, rc, "%s: out of memory", where);
	if (rc)
		np_record_free(r);
	else
		*out = r;
	return rc;
}
