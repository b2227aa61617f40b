#include "np_measured_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slowdowns beyond this are no measurement. */
#define SLOWDOWN_MAX 1e6
#define COUNT_MAX 1e15
#define TIME_MAX 1e12

struct np_measured_block {
	struct np_measured_block *next;
	double data[]; /* aligned for anything here */
};

int np_mj_bad(const struct np_mj *j, const char *path, json_object *got,
	      const char *expected)
{
	const char *text = got ? json_object_to_json_string_ext(
					 got, JSON_C_TO_STRING_PLAIN) :
				 "nothing";

	return np_errf(j->err, -EINVAL, "%s: %s: %.40s%s, expected %s",
		       j->where, path, text, strlen(text) > 40 ? "..." : "",
		       expected);
}

void *np_mj_alloc(const struct np_mj *j, size_t n, size_t size)
{
	struct np_measured_set *s = j->set;
	struct np_measured_block *b;

	s->n_memory += sizeof(*b) + n * size + 1;
	b = s->n_memory > NP_MEASURED_MAX_MEMORY ? NULL :
	    calloc(1, sizeof(*b) + n * size + 1);
	if (!b) {
		np_errf(j->err, -ENOMEM, "%s: no memory for %zu values",
			j->where, n);
		return NULL;
	}
	b->next = j->set->memory;
	j->set->memory = b;
	return b->data;
}

int np_mj_result(const struct np_mj *j, int rc)
{
	if (rc != -ENOMEM || j->set->n_memory <= NP_MEASURED_MAX_MEMORY)
		return rc;
	return np_errf(j->err, -EFBIG, "%s: expected what takes at most %u "
		       "bytes of memory", j->where, NP_MEASURED_MAX_MEMORY);
}

void np_mj_free(struct np_measured_set *s)
{
	while (s->memory) {
		struct np_measured_block *next = s->memory->next;

		free(s->memory);
		s->memory = next;
	}
}

int np_mj_number(const struct np_mj *j, json_object *o, const char *path,
		 double lo, double hi, double *out)
{
	char expected[80];
	double v = NAN;

	if (json_object_is_type(o, json_type_double) ||
	    json_object_is_type(o, json_type_int))
		v = json_object_get_double(o);
	if (!(v >= lo && v <= hi)) {
		snprintf(expected, sizeof(expected), "a number from %g to %g",
			 lo, hi);
		return np_mj_bad(j, path, o, expected);
	}
	*out = v;
	return 0;
}

static bool name_valid(const char *s, size_t len)
{
	if (!len || len > NP_MEASURED_NAME || strlen(s) != len)
		return false;
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f || *s == '|')
			return false;
	return true;
}

int np_mj_name(const struct np_mj *j, json_object *o, const char *path,
	       char **out)
{
	json_object *s = o;
	size_t len;

	if (json_object_is_type(o, json_type_object))
		s = json_object_object_get(o, "name");
	len = json_object_is_type(s, json_type_string) ?
		      (size_t)json_object_get_string_len(s) : 0;
	if (!len || !name_valid(json_object_get_string(s), len))
		return np_mj_bad(j, path, o, "a name of 1 to 64 characters "
				 "without spaces and '|'");
	*out = np_mj_alloc(j, len + 1, 1);
	if (!*out)
		return -ENOMEM;
	memcpy(*out, json_object_get_string(s), len);
	return 0;
}

int np_mj_array(const struct np_mj *j, json_object *o, const char *path,
		size_t n, size_t max)
{
	char expected[80];
	size_t len;

	if (json_object_is_type(o, json_type_array)) {
		len = json_object_array_length(o);
		if (n ? len == n : len <= max)
			return 0;
		snprintf(expected, sizeof(expected), "%s%zu elements, not %zu",
			 n ? "" : "at most ", n ? n : max, len);
		return np_mj_bad(j, path, NULL, expected);
	}
	return np_mj_bad(j, path, o, "an array");
}

int np_mj_mean(const struct np_mj *j, json_object *o, const char *path,
	       double lo, double hi, struct np_mean *out)
{
	struct np_mean m = { .n = 1, .sd = NAN };
	json_object *sd;
	double n;
	int rc;

	*out = (struct np_mean){ 0 };
	if (!o || json_object_is_type(o, json_type_null))
		return 0;
	if (!json_object_is_type(o, json_type_object)) {
		rc = np_mj_number(j, o, path, lo, hi, &m.mean);
	} else {
		rc = np_mj_number(j, json_object_object_get(o, "n"), path, 1,
				  UINT32_MAX, &n);
		if (!rc)
			rc = np_mj_number(j, json_object_object_get(o, "mean"),
					  path, lo, hi, &m.mean);
		sd = json_object_object_get(o, "sd");
		if (!rc && sd)
			rc = np_mj_number(j, sd, path, 0, hi, &m.sd);
		if (!rc)
			m.n = (uint32_t)n;
	}
	if (!rc)
		*out = m;
	return rc;
}

int np_mj_slowdowns(const struct np_mj *j, json_object *o, const char *path,
		    size_t rows, size_t cols, bool transposed,
		    struct np_mean *out)
{
	/* -1 itself would be a program that takes no time at all. */
	const double least = nextafter(-1, 0);
	char at[NP_MJ_PATH];
	int rc = np_mj_array(j, o, path, rows, 0);

	for (size_t r = 0; !rc && r < rows; r++) {
		json_object *row = json_object_array_get_idx(o, r);

		snprintf(at, sizeof(at), "%s[%zu]", path, r);
		rc = np_mj_array(j, row, at, cols, 0);
		for (size_t c = 0; !rc && c < cols; c++) {
			size_t to = transposed ? c * rows + r : r * cols + c;

			snprintf(at, sizeof(at), "%s[%zu][%zu]", path, r, c);
			rc = np_mj_mean(j, json_object_array_get_idx(row, c),
					at, least, SLOWDOWN_MAX, &out[to]);
		}
	}
	return rc;
}

int np_mj_edges(const struct np_mj *j, json_object *o, const char *path)
{
	int rc = np_mj_array(j, o, path, 0, NP_BINS_MAX + 1);
	size_t n = rc ? 0 : json_object_array_length(o);
	double *edge;
	struct np_err why;

	if (rc)
		return rc;
	if (n < 2)
		return np_mj_bad(j, path, o, "at least 2 bin edges");
	edge = np_mj_alloc(j, n, sizeof(*edge));
	if (!edge)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++) {
		json_object *e = json_object_array_get_idx(o, i);

		if (i == n - 1 && json_object_is_type(e, json_type_null)) {
			edge[i] = INFINITY;
			break;
		}
		rc = np_mj_number(j, e, path, 0, TIME_MAX, &edge[i]);
		edge[i] *= j->unit_sec;
	}
	if (rc)
		return rc;
	j->set->bins = (struct np_bins){ n - 1, edge };
	if (np_bins_check(&j->set->bins, &why))
		return np_errf(j->err, -EINVAL, "%s: %s: %s", j->where, path,
			       why.text);
	return 0;
}

static json_object *member(json_object *o, const char *name,
			   const char *suffix)
{
	char key[64];

	snprintf(key, sizeof(key), "%s%s", name, suffix);
	return json_object_object_get(o, key);
}

static int dense(const struct np_mj *j, json_object *o, const char *path,
		 double *count)
{
	size_t n = j->set->bins.n;
	int rc = np_mj_array(j, o, path, n, 0);

	for (size_t i = 0; !rc && i < n; i++)
		rc = np_mj_number(j, json_object_array_get_idx(o, i), path, 0,
				  COUNT_MAX, &count[i]);
	return rc;
}

/* [[bin, count], ...], as most bins are empty. */
static int sparse(const struct np_mj *j, json_object *o, const char *path,
		  double *count)
{
	size_t n = j->set->bins.n;
	int rc = np_mj_array(j, o, path, 0, n);

	for (size_t i = 0; !rc && i < json_object_array_length(o); i++) {
		json_object *e = json_object_array_get_idx(o, i);
		double bin, c;

		rc = np_mj_array(j, e, path, 2, 0);
		if (!rc)
			rc = np_mj_number(j, json_object_array_get_idx(e, 0),
					  path, 0, (double)(n - 1), &bin);
		if (!rc)
			rc = np_mj_number(j, json_object_array_get_idx(e, 1),
					  path, 0, COUNT_MAX, &c);
		if (!rc)
			count[(size_t)bin] += c;
	}
	return rc;
}

static int histogram(const struct np_mj *j, json_object *o, const char *path,
		     struct np_latency *out)
{
	json_object *counts = json_object_object_get(o, "counts");
	json_object *bins = json_object_object_get(o, "bins");
	double *count;
	int rc;

	if (!counts && !bins)
		return 0;
	if (!j->set->bins.n)
		return np_mj_bad(j, path, NULL, "bin edges for its histogram");
	count = np_mj_alloc(j, j->set->bins.n, sizeof(*count));
	if (!count)
		return -ENOMEM;
	rc = counts ? dense(j, counts, path, count) :
		      sparse(j, bins, path, count);
	if (!rc)
		out->count = count;
	return rc;
}

static int moments(const struct np_mj *j, json_object *o, const char *path,
		   const char *suffix, struct np_moments *m)
{
	json_object *max = member(o, "max", suffix);
	double n, sd = 0, u = j->unit_sec;
	int rc = np_mj_number(j, json_object_object_get(o, "n"), path, 1,
			      COUNT_MAX, &n);

	if (!rc)
		rc = np_mj_number(j, member(o, "mean", suffix), path, 0,
				  TIME_MAX, &m->mean);
	if (!rc)
		rc = np_mj_number(j, member(o, "min", suffix), path, 0,
				  m->mean, &m->min);
	if (!rc && n > 1)
		rc = np_mj_number(j, member(o, "sd", suffix), path, 0,
				  TIME_MAX, &sd);
	m->max = m->mean; /* nothing better is known */
	if (!rc && max)
		rc = np_mj_number(j, max, path, m->mean, TIME_MAX, &m->max);
	m->n = (uint64_t)n;
	m->mean *= u;
	m->min *= u;
	m->max *= u;
	m->m2 = sd * u * sd * u * (n - 1);
	return rc;
}

int np_mj_latency(const struct np_mj *j, json_object *o, const char *path,
		  const char *suffix, struct np_latency *out)
{
	struct np_latency l = { .count = NULL };
	struct np_err why;
	int rc;

	*out = l;
	if (!o || json_object_is_type(o, json_type_null))
		return 0;
	if (!json_object_is_type(o, json_type_object))
		return np_mj_bad(j, path, o, "an object, or null");
	rc = moments(j, o, path, suffix, &l.all);
	if (!rc)
		rc = histogram(j, o, path, &l);
	if (rc)
		return rc;
	if (np_latency_check(&l, &j->set->bins, path, &why))
		return np_errf(j->err, -EINVAL, "%s: %s", j->where, why.text);
	*out = l;
	return 0;
}

int np_mj_program(const struct np_mj *j, json_object *o, const char *path,
	      size_t *out)
{
	const char *name = json_object_is_type(o, json_type_string) ?
				   json_object_get_string(o) : "";

	for (size_t i = 0; i < j->set->n_apps; i++)
		if (!strcmp(j->set->app[i].name, name)) {
			*out = i;
			return 0;
		}
	return np_mj_bad(j, path, o, "the name of a program in the file");
}
