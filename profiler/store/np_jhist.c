#include "np_jmean.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LEAST_WIDTH_SEC 1e-6
#define TOO_MANY "at most latency.n samples"
#define NOT_AS_MANY "as many samples as latency.n"
#define NO_WINDOW "windows that samples can have"

void np_jput_bins(struct np_jput *o, json_object *in, const char *key)
{
	json_object *j = np_jput_new(o, in, key, json_object_new_object());

	if (!j)
		return;
	np_jput(o, j, "first_edge_sec",
		np_jput_real(o, key, NP_HIST_FIRST_EDGE_SEC, 0, 1, 1, 17));
	np_jput(o, j, "per_decade", json_object_new_int(NP_HIST_PER_DECADE));
	np_jput(o, j, "bins", json_object_new_int(NP_HIST_BINS));
}

int np_jget_bins(const struct np_jat *in, json_object *from, const char *key)
{
	static const char *expected =
		"the bins of this netprof (1e-07 s, 25 per decade, 177)";
	uint64_t per_decade = 0, bins = 0;
	json_object *j, *v;
	double edge = 0;

	if (!json_object_object_get_ex(from, key, &j) ||
	    !json_object_is_type(j, json_type_object))
		return np_jat_refuse(in, key, expected);
	if (json_object_object_get_ex(j, "first_edge_sec", &v))
		edge = json_object_get_double(v);
	if (json_object_object_get_ex(j, "per_decade", &v))
		per_decade = json_object_get_uint64(v);
	if (json_object_object_get_ex(j, "bins", &v))
		bins = json_object_get_uint64(v);
	if (edge != NP_HIST_FIRST_EDGE_SEC ||
	    per_decade != NP_HIST_PER_DECADE || bins != NP_HIST_BINS)
		return np_jat_refuse(in, key, expected);
	return 0;
}

_Static_assert(NP_HIST_BINS == 177, "np_jget_bins() says 177");

void np_jput_bin(struct np_jput *o, json_object *list, const char *key,
		 size_t bin, double n)
{
	json_object *pair = np_jput_append_new(o, list,
					       json_object_new_array_ext(2));

	if (!pair)
		return;
	np_jput_append(o, pair, json_object_new_int((int)bin));
	np_jput_append(o, pair, np_jput_count(o, key, n, NP_JSON_COUNT));
}

void np_jput_hist(struct np_jput *o, json_object *in, const char *key,
		  const struct np_hist *h, uint64_t samples)
{
	uint64_t total = h ? np_hist_total(h) : 0;
	json_object *list;

	if (total != samples)
		np_jput_refuse(o, key, NOT_AS_MANY);
	if (!total)
		return;
	list = np_jput_new(o, in, key, json_object_new_array());
	for (size_t i = 0; list && i < NP_HIST_BINS && !o->rc; i++)
		if (np_hist_count(h, i))
			np_jput_bin(o, list, key, i,
				    (double)np_hist_count(h, i));
}

static int get_pair(const struct np_jat *in, const char *key, json_object *pair,
		    struct np_hist *h, size_t *least_bin)
{
	uint64_t bin, n;
	int rc;

	if (!json_object_is_type(pair, json_type_array) ||
	    json_object_array_length(pair) != 2)
		return np_jat_refuse(in, key, "pairs of bin and count");
	rc = np_jget_count(in, key, json_object_array_get_idx(pair, 0),
			   NP_HIST_BINS - 1, &bin);
	if (!rc)
		rc = np_jget_count(in, key, json_object_array_get_idx(pair, 1),
				   NP_JSON_COUNT, &n);
	if (rc)
		return rc;
	if (bin < *least_bin)
		return np_jat_refuse(in, key, "bins in rising order");
	*least_bin = bin + 1;
	return np_hist_add_bin(h, bin, n);
}

int np_jget_hist(const struct np_jat *in, json_object *from, const char *key,
		 uint64_t samples, struct np_hist **out)
{
	size_t n, least_bin = 0;
	json_object *list;
	int rc = np_jget_list(in, from, key, NP_HIST_BINS, &list, &n);

	if (rc)
		return rc;
	if (n) {
		*out = np_hist_new();
		if (!*out)
			return -ENOMEM;
	}
	for (size_t i = 0; !rc && i < n; i++)
		rc = get_pair(in, key, json_object_array_get_idx(list, i),
			      *out, &least_bin);
	if (!rc && (n ? np_hist_total(*out) : 0) != samples)
		rc = np_jat_refuse(in, key, NOT_AS_MANY);
	return rc;
}

static json_object *window_real(struct np_jput *o, double v)
{
	return np_jput_real(o, "w", v, 0, NP_JSON_LATENCY_SEC, 6, 6);
}

static void put_window(struct np_jput *o, json_object *list,
		       struct np_moments m)
{
	json_object *w =
		np_jput_append_new(o, list, json_object_new_array_ext(4));

	if (!w)
		return;
	np_jput_append(o, w, np_jput_count(o, "w", (double)m.n,
					   NP_JSON_COUNT));
	if (!m.n)
		return;
	/* The mean of equal latencies may be a hair above, and round up. */
	np_jput_append(o, w, window_real(o, fmin(m.mean, m.max)));
	np_jput_append(o, w, window_real(o, np_moments_sd(&m)));
	np_jput_append(o, w, window_real(o, m.max));
	m.min = m.mean; /* as who reads it will have it */
	m.m2 = 0;
	if (!np_moments_valid(&m))
		np_jput_refuse(o, "w", NO_WINDOW);
}

void np_jput_series(struct np_jput *o, json_object *in, const char *key,
		    const struct np_series *s, uint64_t samples)
{
	json_object *j, *list;
	uint64_t total = 0;

	if (!s || !s->n)
		return;
	j = np_jput_new(o, in, key, json_object_new_object());
	if (!j)
		return;
	np_jput(o, j, "width_sec",
		np_jput_real(o, "windows.width_sec",
			     s->width_sec * (double)o->merge, LEAST_WIDTH_SEC,
			     NP_JSON_ELAPSED_SEC, 1, 17));
	list = np_jput_new(o, j, "w", json_object_new_array());
	for (size_t i = 0; list && i < s->n && !o->rc; i += o->merge) {
		struct np_moments m = s->w[i];

		for (size_t k = 1; k < o->merge && i + k < s->n; k++)
			np_moments_merge(&m, &s->w[i + k]);
		put_window(o, list, m);
		total += m.n;
	}
	if (total > samples)
		np_jput_refuse(o, key, TOO_MANY);
}

/* The smallest latency of a window is not kept; the mean stands for it. */
static int get_numbers(const struct np_jat *in, json_object *j,
		       struct np_moments *m)
{
	double *const to[] = { &m->mean, &m->m2, &m->max }, sd;
	int rc = 0;

	for (size_t i = 0; !rc && i < NP_ARRAY_SIZE(to); i++)
		rc = np_jget_real(in, "w", json_object_array_get_idx(j, i + 1),
				  0, NP_JSON_LATENCY_SEC, to[i]);
	sd = m->m2;
	m->m2 = sd * sd * (double)(m->n - 1);
	m->min = m->mean;
	return rc;
}

/* [n, mean, sd, max], or [0]. */
static int get_window(const struct np_jat *in, json_object *j,
		      struct np_moments *out)
{
	struct np_moments m = { 0 };
	size_t len;
	int rc;

	if (!json_object_is_type(j, json_type_array))
		return np_jat_refuse(in, "w", "arrays [n, mean, sd, max]");
	len = json_object_array_length(j);
	rc = np_jget_count(in, "w", json_object_array_get_idx(j, 0),
			   NP_JSON_COUNT, &m.n);
	if (rc)
		return rc;
	if (len != (m.n ? 4 : 1))
		return np_jat_refuse(in, "w", "[n, mean, sd, max], or [0]");
	rc = m.n ? get_numbers(in, j, &m) : 0;
	if (rc)
		return rc;
	if (!np_moments_valid(&m))
		return np_jat_refuse(in, "w", NO_WINDOW);
	*out = m;
	return 0;
}

static int get_width(const struct np_jat *in, json_object *j, double *out)
{
	static const char key[] = "windows.width_sec";
	json_object *width;
	int rc;

	if (!json_object_object_get_ex(j, "width_sec", &width))
		return np_jat_refuse(in, key, "a value");
	rc = np_jget_real(in, key, width, 0, NP_JSON_ELAPSED_SEC, out);
	if (!rc && *out < LEAST_WIDTH_SEC)
		rc = np_jat_refuse(in, key, "1e-06 or more");
	return rc;
}

int np_jget_series(const struct np_jat *in, json_object *from, const char *key,
		   uint64_t samples, struct np_series **out)
{
	json_object *j, *list;
	struct np_series *s;
	uint64_t total = 0;
	size_t n;
	int rc;

	if (!json_object_object_get_ex(from, key, &j))
		return 0;
	if (!json_object_is_type(j, json_type_object))
		return np_jat_refuse(in, key, "an object");
	rc = np_jget_list(in, j, "w", NP_SERIES_MAX, &list, &n);
	if (rc || !n)
		return rc;
	/* calloc(): pages that are never used are never there. */
	s = *out = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	rc = get_width(in, j, &s->width_sec);
	for (size_t i = 0; !rc && i < n; i++) {
		rc = get_window(in, json_object_array_get_idx(list, i),
				&s->w[i]);
		total += s->w[i].n;
	}
	if (!rc && total > samples)
		rc = np_jat_refuse(in, key, TOO_MANY);
	s->n = n;
	return rc;
}
