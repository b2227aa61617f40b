#include "np_jmean.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TIME_MAX 1e12 /* in whatever unit */

/* Nine digits say all that was measured. */
static json_object *measured(struct np_jput *o, const char *key, double v,
			     double min, double max)
{
	return np_jput_real(o, key, v, min, max, 9, 9);
}

static void put_null(struct np_jput *o, json_object *in, const char *key)
{
	if (json_object_object_add(in, key, NULL))
		np_jput_fail(o, -ENOMEM);
}

static int real(const struct np_jat *in, json_object *from, const char *key,
		double min, double max, double *out)
{
	json_object *j;

	return json_object_object_get_ex(from, key, &j) ?
	       np_jget_real(in, key, j, min, max, out) :
	       np_jat_refuse(in, key, "a value: it is missing");
}

int np_jget_mean(const struct np_jat *in, const char *key, json_object *j,
		 double min, double max, struct np_mean *out)
{
	struct np_jat sub = np_jat_member(in, key);
	struct np_mean m = { .n = 1, .sd = NAN };
	double n = 1;
	int rc;

	*out = (struct np_mean){ 0 };
	if (!j)
		return 0;
	if (!json_object_is_type(j, json_type_object)) {
		rc = np_jget_real(in, key, j, min, max, &m.mean);
	} else {
		rc = real(&sub, j, "n", 1, UINT32_MAX, &n);
		if (!rc)
			rc = real(&sub, j, "mean", min, max, &m.mean);
		if (!rc && json_object_object_get_ex(j, "sd", NULL))
			rc = real(&sub, j, "sd", 0, max, &m.sd);
	}
	m.n = (uint32_t)n;
	if (!rc)
		*out = m;
	return rc;
}

static json_object *mean_of(struct np_jput *o, const char *key,
			    const struct np_mean *m)
{
	json_object *j = json_object_new_object();

	if (!j) {
		np_jput_fail(o, -ENOMEM);
		return NULL;
	}
	np_jput(o, j, "n", np_jput_count(o, key, m->n, UINT32_MAX));
	np_jput(o, j, "mean", measured(o, key, m->mean, -1, 1e300));
	if (!isnan(m->sd))
		np_jput(o, j, "sd", measured(o, key, m->sd, 0, 1e300));
	return j;
}

void np_jput_mean(struct np_jput *o, json_object *in, const char *key,
		  const struct np_mean *m)
{
	if (np_mean_known(m))
		np_jput(o, in, key, mean_of(o, key, m));
	else
		put_null(o, in, key);
}

/* ---- tables ---- */

static size_t size_at(const char *of, size_t offset)
{
	return *(const size_t *)(of + offset);
}

/* An array of so many elements. */
static int array(const struct np_jat *in, const char *key, json_object *j,
		 size_t n)
{
	char expected[64];

	if (!json_object_is_type(j, json_type_array))
		return np_jat_refuse(in, key, "an array");
	if (json_object_array_length(j) == n)
		return 0;
	snprintf(expected, sizeof(expected), "%zu elements, not %zu", n,
		 json_object_array_length(j));
	return np_jat_refuse(in, key, expected);
}

static int get_row(const struct np_jat *in, const struct np_field *f,
		   const char *key, json_object *j, size_t n,
		   struct np_mean *out)
{
	int rc = array(in, key, j, n);

	for (size_t i = 0; !rc && i < n; i++) {
		char at[96];

		snprintf(at, sizeof(at), "%.63s[%zu]", key, i);
		rc = np_jget_mean(in, at, json_object_array_get_idx(j, i),
				  f->min, f->max, &out[i]);
	}
	return rc;
}

int np_jget_means(const struct np_jat *in, json_object *from,
		  const struct np_field *f, char *to)
{
	size_t rows = size_at(to, f->count);
	size_t columns = f->columns ? size_at(to, f->columns) : 1;
	struct np_mean **out = (void *)(to + f->offset);
	json_object *j;
	int rc;

	if (!json_object_object_get_ex(from, f->key, &j) || !j)
		return 0;
	rc = array(in, f->key, j, rows);
	if (!rc)
		rc = np_jat_take(in, rows * columns + 1, sizeof(**out), out);
	if (!f->columns)
		return rc ? rc : get_row(in, f, f->key, j, rows, *out);
	for (size_t r = 0; !rc && r < rows; r++) {
		char at[64];

		snprintf(at, sizeof(at), "%.40s[%zu]", f->key, r);
		rc = get_row(in, f, at, json_object_array_get_idx(j, r),
			     columns, *out + r * columns);
	}
	return rc;
}

void np_jput_means(struct np_jput *o, json_object *in,
		   const struct np_field *f, const char *from)
{
	size_t rows = size_at(from, f->count);
	size_t columns = f->columns ? size_at(from, f->columns) : 1;
	const struct np_mean *m = *(struct np_mean *const *)(from + f->offset);
	json_object *list, *row;

	if (!m)
		return;
	list = np_jput_new(o, in, f->key, json_object_new_array());
	row = list;
	for (size_t i = 0; list && i < rows * columns && !o->rc; i++) {
		if (f->columns && i % columns == 0)
			row = np_jput_append_new(o, list,
						 json_object_new_array());
		if (row && json_object_array_add(row, np_mean_known(&m[i]) ?
					mean_of(o, f->key, &m[i]) : NULL))
			np_jput_fail(o, -ENOMEM);
	}
}

int np_jget_numbers(const struct np_jat *in, json_object *from,
		    const struct np_field *f, char *to)
{
	size_t *n = (size_t *)(to + f->count);
	double **out = (void *)(to + f->offset);
	json_object *list;
	int rc = np_jget_list(in, from, f->key, (size_t)f->max, &list, n);

	if (rc || !list)
		return rc;
	rc = np_jat_take(in, *n + 1, sizeof(**out), out);
	for (size_t i = 0; !rc && i < *n; i++) {
		json_object *j = json_object_array_get_idx(list, i);

		(*out)[i] = INFINITY;
		if (j || i + 1 < *n)
			rc = np_jget_real(in, f->key, j, 0, f->min > 0 ?
					  f->min : TIME_MAX, &(*out)[i]);
	}
	return rc;
}

/* ---- latencies ---- */

/* Where it is missing, *out stays. */
static int real_if(const struct np_jat *in, json_object *from, const char *key,
		   double min, double *out)
{
	return json_object_object_get_ex(from, key, NULL) ?
	       real(in, from, key, min, TIME_MAX, out) : 0;
}

static int get_moments(const struct np_jat *in, json_object *j,
		       struct np_moments *m)
{
	double n, sd = NAN;
	int rc = real(in, j, "n", 1, NP_JSON_COUNT, &n);

	if (!rc)
		rc = real(in, j, "mean_sec", 0, TIME_MAX, &m->mean);
	if (!rc && m->mean == 0)
		rc = np_jat_refuse(in, "mean_sec", "more than 0, not 0");
	if (!rc)
		rc = real(in, j, "min_sec", 0, m->mean, &m->min);
	m->max = m->mean; /* nothing better is known */
	if (!rc)
		rc = real_if(in, j, "max_sec", m->mean, &m->max);
	if (!rc)
		rc = real_if(in, j, "sd_sec", 0, &sd);
	if (!rc && n > 1 && isnan(sd))
		rc = np_jat_refuse(in, "sd_sec", "a value: it is missing");
	if (rc)
		return rc;
	m->n = (uint64_t)n;
	m->m2 = n > 1 ? sd * sd * (n - 1) : 0;
	return 0;
}

static int get_counts(const struct np_jat *in, json_object *list,
		      double *count)
{
	int rc = array(in, "counts", list, in->n_bins);

	for (size_t i = 0; !rc && i < in->n_bins; i++)
		rc = np_jget_real(in, "counts",
				  json_object_array_get_idx(list, i), 0,
				  NP_JSON_COUNT, &count[i]);
	return rc;
}

/* Most bins are empty. */
static int get_bins(const struct np_jat *in, json_object *from, double *count)
{
	json_object *list;
	size_t n;
	int rc = np_jget_list(in, from, "bins", in->n_bins, &list, &n);

	for (size_t i = 0; !rc && i < n; i++) {
		json_object *pair = json_object_array_get_idx(list, i);
		uint64_t bin;
		double c;

		rc = array(in, "bins", pair, 2);
		if (!rc)
			rc = np_jget_count(in, "bins",
					   json_object_array_get_idx(pair, 0),
					   (double)(in->n_bins - 1), &bin);
		if (!rc)
			rc = np_jget_real(in, "bins",
					  json_object_array_get_idx(pair, 1), 0,
					  NP_JSON_COUNT, &c);
		if (!rc)
			count[bin] += c;
	}
	return rc;
}

static int get_histogram(const struct np_jat *in, json_object *j,
			 double **out)
{
	json_object *counts;
	bool dense = json_object_object_get_ex(j, "counts", &counts);
	int rc;

	if (!dense && !json_object_object_get_ex(j, "bins", NULL))
		return 0;
	rc = np_jat_take(in, in->n_bins, sizeof(**out), out);
	if (rc)
		return rc;
	return dense ? get_counts(in, counts, *out) : get_bins(in, j, *out);
}

int np_jget_latency(const struct np_jat *in, const char *key, json_object *j,
		    struct np_latency *out)
{
	struct np_jat sub = np_jat_member(in, key);
	const struct np_bins bins = { .n = in->n_bins };
	struct np_err why = NP_ERR_INIT;
	double *count = NULL;
	char what[160];
	int rc;

	*out = (struct np_latency){ .count = NULL };
	if (!j)
		return 0;
	if (!json_object_is_type(j, json_type_object))
		return np_jat_refuse(in, key, "an object, or null");
	rc = get_moments(&sub, j, &out->all);
	if (rc)
		return rc;
	rc = get_histogram(&sub, j, &count);
	out->count = count; /* whoever frees it does after a failure, too */
	if (rc)
		return rc;
	snprintf(what, sizeof(what), "%s%s", in->at, key);
	if (np_latency_check(out, &bins, what, &why))
		rc = np_errf(in->err, -EINVAL, "%s: %s", in->where, why.text);
	return rc;
}

static void put_bins(struct np_jput *o, json_object *in, const double *count)
{
	json_object *list = np_jput_new(o, in, "bins",
					json_object_new_array());

	for (size_t i = 0; list && i < NP_HIST_BINS && !o->rc; i++)
		if (count[i] > 0)
			np_jput_bin(o, list, "bins", i, count[i]);
}

void np_jput_latency(struct np_jput *o, json_object *in, const char *key,
		     const struct np_latency *l)
{
	const struct {
		const char *key;
		double value;
	} time[] = {
		{ "mean_sec", l->all.mean },
		{ "sd_sec", np_moments_sd(&l->all) },
		{ "min_sec", l->all.min }, { "max_sec", l->all.max },
	};
	json_object *j;

	if (!l->all.n) {
		put_null(o, in, key);
		return;
	}
	j = np_jput_new(o, in, key, json_object_new_object());
	if (!j)
		return;
	np_jput(o, j, "n", np_jput_count(o, key, (double)l->all.n,
					 NP_JSON_COUNT));
	for (size_t i = 0; i < NP_ARRAY_SIZE(time); i++)
		np_jput(o, j, time[i].key, measured(o, key, time[i].value, 0,
						    TIME_MAX));
	if (l->count)
		put_bins(o, j, l->count);
}
