/*
 * Files of measurements (netprof-pairs(5)): what all of them share; programs
 * and pairs; calibrations; and pairs that are still being measured.
 */
#include "np_measured.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_fields.h"
#include "np_hostlist.h"
#include "np_read.h"

/* Slowdowns above the limit are no measurements; -1 would be no time at all. */
#define SLOWDOWN_LEAST (-1 + 0x1p-53)
#define SLOWDOWN_MAX 1e6

/* ---- means and latencies as JSON ---- */

#define TIME_MAX 1e12 /* in any unit */

/* Nine digits are all that a measurement is good for. */
static json_object *new_measured(struct np_jput *jput, const char *key,
				 double v, double min, double max)
{
	return np_jput_real(jput, key, v, min, max, 9, 9);
}

/* null stands for what was not measured. */
static void put_null(struct np_jput *jput, json_object *in, const char *key)
{
	if (json_object_object_add(in, key, NULL))
		np_jput_fail(jput, -ENOMEM);
}

/* A number that must not be missing. */
static int get_real(const struct np_jat *in, json_object *from, const char *key,
		    double min, double max, double *out)
{
	json_object *j;

	return json_object_object_get_ex(from, key, &j) ?
		       np_jget_real(in, key, j, min, max, out) :
		       np_jat_refuse(in, key, "a value, got none");
}

/* null, a number, or {"n", "mean", "sd"}; min and max bound the mean. */
static int get_mean(const struct np_jat *in, const char *key, json_object *j,
		    double min, double max, struct np_mean *out)
{
	struct np_jat sub = np_jat_member(in, key);
	struct np_mean mean = { .n = 1, .sd = NAN };
	double n = 1;
	int rc;

	*out = (struct np_mean){ 0 };
	if (!j)
		return 0;
	if (!json_object_is_type(j, json_type_object)) {
		rc = np_jget_real(in, key, j, min, max, &mean.mean);
	} else {
		rc = get_real(&sub, j, "n", 1, UINT32_MAX, &n);
		if (!rc)
			rc = get_real(&sub, j, "mean", min, max, &mean.mean);
		if (!rc && json_object_object_get_ex(j, "sd", NULL))
			rc = get_real(&sub, j, "sd", 0, max, &mean.sd);
	}
	mean.n = (uint32_t)n;
	if (!rc)
		*out = mean;
	return rc;
}

/* A mean as an object; the sd is left out if it is not known. */
static json_object *new_mean(struct np_jput *jput, const char *key,
			     const struct np_mean *mean)
{
	json_object *j = json_object_new_object();

	if (!j) {
		np_jput_fail(jput, -ENOMEM);
		return NULL;
	}
	np_jput(jput, j, "n", np_jput_count(jput, key, mean->n, UINT32_MAX));
	np_jput(jput, j, "mean",
		new_measured(jput, key, mean->mean, -1, 1e300));
	if (!isnan(mean->sd))
		np_jput(jput, j, "sd",
			new_measured(jput, key, mean->sd, 0, 1e300));
	return j;
}

static void put_mean(struct np_jput *jput, json_object *in,
		     const struct np_field *field, const char *from)
{
	const struct np_mean *mean = (const void *)(from + field->offset);

	if (np_mean_known(mean))
		np_jput(jput, in, field->key, new_mean(jput, field->key, mean));
	else
		put_null(jput, in, field->key);
}

static int get_mean_field(const struct np_jat *in, const struct np_field *field,
			  json_object *from, char *to)
{
	return get_mean(in, field->key,
			json_object_object_get(from, field->key), field->min,
			field->max, (void *)(to + field->offset));
}

/* struct np_mean; null if it is not measured. */
static const struct np_field_codec mean_codec = { get_mean_field, put_mean,
						  NULL };

static size_t length_at(const char *of, size_t offset)
{
	return *(const size_t *)(of + offset);
}

/* It has to be an array of n elements. */
static int check_array(const struct np_jat *in, const char *key, json_object *j,
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

/* A row of a table of means. */
static int get_row(const struct np_jat *in, const struct np_field *field,
		   const char *key, json_object *j, size_t n,
		   struct np_mean *out)
{
	int rc = check_array(in, key, j, n);

	for (size_t i = 0; !rc && i < n; i++) {
		char at[96];

		snprintf(at, sizeof(at), "%.63s[%zu]", key, i);
		rc = get_mean(in, at, json_object_array_get_idx(j, i),
			      field->min, field->max, &out[i]);
	}
	return rc;
}

static int get_means(const struct np_jat *in, const struct np_field *field,
		     json_object *from, char *to)
{
	size_t rows = length_at(to, field->count);
	size_t columns = field->columns ? length_at(to, field->columns) : 1;
	struct np_mean **out = (void *)(to + field->offset);
	json_object *j;
	int rc;

	if (!json_object_object_get_ex(from, field->key, &j) || !j)
		return 0;
	rc = check_array(in, field->key, j, rows);
	if (!rc)
		rc = np_jat_take(in, rows * columns + 1, sizeof(**out), out);
	if (!field->columns)
		return rc ? rc : get_row(in, field, field->key, j, rows, *out);
	for (size_t r = 0; !rc && r < rows; r++) {
		char at[64];

		snprintf(at, sizeof(at), "%.40s[%zu]", field->key, r);
		rc = get_row(in, field, at, json_object_array_get_idx(j, r),
			     columns, *out + r * columns);
	}
	return rc;
}

static void put_means(struct np_jput *jput, json_object *in,
		      const struct np_field *field, const char *from)
{
	size_t rows = length_at(from, field->count);
	size_t columns = field->columns ? length_at(from, field->columns) : 1;
	const struct np_mean *mean =
		*(struct np_mean *const *)(from + field->offset);
	json_object *list, *row;

	if (!mean)
		return;
	list = np_jput(jput, in, field->key, json_object_new_array());
	row = list;
	for (size_t i = 0; list && i < rows * columns && !jput->rc; i++) {
		if (field->columns && i % columns == 0)
			row = np_jput_append(jput, list,
					     json_object_new_array());
		if (row &&
		    json_object_array_add(
			    row, np_mean_known(&mean[i]) ?
					 new_mean(jput, field->key, &mean[i]) :
					 NULL))
			np_jput_fail(jput, -ENOMEM);
	}
}

static void free_means(char *at)
{
	free(*(struct np_mean **)at);
	*(struct np_mean **)at = NULL;
}

/*
 * struct np_mean *, NULL if missing: a row of count means, or with columns,
 * count rows of that many.
 */
static const struct np_field_codec means_codec = { get_means, put_means,
						   free_means };

/* *out is unchanged if it is missing. */
static int get_real_if(const struct np_jat *in, json_object *from,
		       const char *key, double min, double *out)
{
	return json_object_object_get_ex(from, key, NULL) ?
		       get_real(in, from, key, min, TIME_MAX, out) :
		       0;
}

/* Number, mean and range of latencies; the sd may be missing for one. */
static int get_latency_moments(const struct np_jat *in, json_object *j,
			       struct np_moments *moments)
{
	double n, sd = NAN;
	int rc = get_real(in, j, "n", 1, NP_JSON_COUNT, &n);

	if (!rc)
		rc = get_real(in, j, "mean_sec", 0, TIME_MAX, &moments->mean);
	if (!rc && moments->mean == 0)
		rc = np_jat_refuse(in, "mean_sec", "more than 0, not 0");
	if (!rc)
		rc = get_real(in, j, "min_sec", 0, moments->mean,
			      &moments->min);
	moments->max = moments->mean; /* unless the file says it */
	if (!rc)
		rc = get_real_if(in, j, "max_sec", moments->mean,
				 &moments->max);
	if (!rc)
		rc = get_real_if(in, j, "sd_sec", 0, &sd);
	if (!rc && n > 1 && isnan(sd))
		rc = np_jat_refuse(in, "sd_sec", "a value, got none");
	if (rc)
		return rc;
	moments->n = (uint64_t)n;
	moments->m2 = n > 1 ? sd * sd * (n - 1) : 0;
	return 0;
}

/* A dense histogram: a count for each bin. */
static int get_counts(const struct np_jat *in, json_object *list, double *count)
{
	int rc = check_array(in, "counts", list, in->n_bins);

	for (size_t i = 0; !rc && i < in->n_bins; i++)
		rc = np_jget_real(in, "counts",
				  json_object_array_get_idx(list, i), 0,
				  NP_JSON_COUNT, &count[i]);
	return rc;
}

/* [[bin, count], ...], as most bins are empty. */
static int get_sparse_counts(const struct np_jat *in, json_object *from,
			     double *count)
{
	json_object *list;
	size_t n;
	int rc = np_jget_list(in, from, "bins", in->n_bins, &list, &n);

	for (size_t i = 0; !rc && i < n; i++) {
		json_object *pair = json_object_array_get_idx(list, i);
		uint64_t bin;
		double c;

		rc = check_array(in, "bins", pair, 2);
		if (!rc)
			rc = np_jget_count(in, "bins",
					   json_object_array_get_idx(pair, 0),
					   0, (double)(in->n_bins - 1), &bin);
		if (!rc)
			rc = np_jget_real(in, "bins",
					  json_object_array_get_idx(pair, 1), 0,
					  NP_JSON_COUNT, &c);
		if (!rc)
			count[bin] += c;
	}
	return rc;
}

/* The histogram in either form; none is allowed. */
static int get_histogram(const struct np_jat *in, json_object *j, double **out)
{
	json_object *counts;
	bool dense = json_object_object_get_ex(j, "counts", &counts);
	int rc;

	if (!dense && !json_object_object_get_ex(j, "bins", NULL))
		return 0;
	rc = np_jat_take(in, in->n_bins, sizeof(**out), out);
	if (rc)
		return rc;
	return dense ? get_counts(in, counts, *out) :
		       get_sparse_counts(in, j, *out);
}

/*
 * null, or {"n", "mean_sec", "sd_sec", "min_sec", "max_sec"} with a histogram
 * of in->n_bins, "counts" or "bins".
 */
static int get_latency(const struct np_jat *in, const char *key, json_object *j,
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
	rc = get_latency_moments(&sub, j, &out->all);
	if (rc)
		return rc;
	rc = get_histogram(&sub, j, &count);
	out->count = count; /* also after a failure, so that it is freed */
	if (rc)
		return rc;
	snprintf(what, sizeof(what), "%s%s", in->at, key);
	if (np_latency_check(out, &bins, what, &why))
		rc = np_errf(in->err, -EINVAL, "%s: %s", in->where, why.text);
	return rc;
}

/* The histogram in the sparse form. */
static void put_counts(struct np_jput *jput, json_object *in,
		       const double *count)
{
	json_object *list = np_jput(jput, in, "bins", json_object_new_array());

	for (size_t i = 0; list && i < NP_HIST_BINS && !jput->rc; i++)
		if (count[i] > 0)
			np_jput_bin(jput, list, "bins", i, count[i]);
}

/* Write latencies, or null. */
static void put_latency(struct np_jput *jput, json_object *in, const char *key,
			const struct np_latency *latency)
{
	const struct {
		const char *key;
		double value;
	} time[] = {
		{ "mean_sec", latency->all.mean },
		{ "sd_sec", np_moments_sd(&latency->all) },
		{ "min_sec", latency->all.min },
		{ "max_sec", latency->all.max },
	};
	json_object *j;

	if (!latency->all.n) {
		put_null(jput, in, key);
		return;
	}
	j = np_jput(jput, in, key, json_object_new_object());
	if (!j)
		return;
	np_jput(jput, j, "n",
		np_jput_count(jput, key, (double)latency->all.n,
			      NP_JSON_COUNT));
	for (size_t i = 0; i < NP_ARRAY_SIZE(time); i++)
		np_jput(jput, j, time[i].key,
			new_measured(jput, key, time[i].value, 0, TIME_MAX));
	if (latency->count)
		put_counts(jput, j, latency->count);
}

/* A missing member means that it was not measured. */
static int get_probe(const struct np_jat *in, json_object *probes,
		     const char *name, struct np_latency *out)
{
	return get_latency(in, name, json_object_object_get(probes, name), out);
}

static int get_latency_field(const struct np_jat *in,
			     const struct np_field *field, json_object *from,
			     char *to)
{
	return get_probe(in, from, field->key, (void *)(to + field->offset));
}

static void put_latency_field(struct np_jput *jput, json_object *in,
			      const struct np_field *field, const char *from)
{
	put_latency(jput, in, field->key, (const void *)(from + field->offset));
}

static void free_latency(char *at)
{
	struct np_latency *latency = (void *)at;

	free((void *)latency->count);
	latency->count = NULL;
}

/* struct np_latency; null if it is not measured. */
static const struct np_field_codec latency_codec = {
	get_latency_field,
	put_latency_field,
	free_latency,
};

/* ---- what files of pairs and calibrations share ---- */

/* clang-format off */
static const struct np_fields name_table = NP_FIELDS(np_measured_name,
	NP_FIELD(np_measured_name, NP_F_NAME, name, NP_MEASURED_NAME,
		 NP_F_REQUIRED),
);

static const char *const formats[] = { "netprof-pairs", NULL };

/* The format and schema of a file. */
static const struct np_fields head_table = NP_FIELDS(np_measured_set,
	{ "format", NP_F_WORD, offsetof(struct np_measured_set, format),
	  .words = formats },
	{ "schema", NP_F_SCHEMA, .max = NP_MEASURED_SCHEMA },
);

#define NAMES NP_F_REQUIRED | NP_F_BY_NAME

/* The names of programs and levels. */
static const struct np_fields programs_table = NP_FIELDS(np_measured_set,
	NP_FIELD_LIST(np_measured_set, "programs", program, n_apps,
		      NP_MEASURED_MAX_PROGRAMS, NAMES, &name_table),
);

static const struct np_fields level_table = NP_FIELDS(np_measured_set,
	NP_FIELD_LIST(np_measured_set, "levels", level_name, fabric.n_levels,
		      NP_FABRIC_MAX_LEVELS, NAMES, &name_table),
);

/* A mean for each scope, between these limits. */
#define SCOPE(scope, key, least, most) \
	{ key, NP_F_CODEC, (scope) * sizeof(struct np_mean), most, \
	  .codec = &mean_codec, .min = least }
#define SCOPES(least, most) \
	SCOPE(NP_SCOPE_NODE, "node", least, most), \
	SCOPE(NP_SCOPE_LEAF, "leaf", least, most), \
	SCOPE(NP_SCOPE_UPLINK, "uplink", least, most)

static const struct np_fields sharing_table = NP_FIELDS(np_mean,
	SCOPES(0, NP_SHARING_COEF_MAX),
);

/* Means: a row of them, or a table of slowdowns. */
#define MEANS(s, key, name, most, least, rows, columns_) \
	{ key, NP_F_CODEC, offsetof(struct s, name), most, .min = least, \
	  .codec = &means_codec, \
	  .count = offsetof(struct s, rows), .columns = columns_ }
#define SLOWDOWNS(s, key, name, rows, columns) \
	MEANS(s, key, name, SLOWDOWN_MAX, SLOWDOWN_LEAST, rows, \
	      offsetof(struct s, columns))

/* What is measured of the fabric, without programs. */
static const struct np_fields fabric_table = NP_FIELDS(np_measured_set,
	{ "latency_bin_edges_sec", NP_F_NUMBERS,
	  offsetof(struct np_measured_set, edge), NP_BINS_MAX + 1,
	  .count = offsetof(struct np_measured_set, n_edges) },
	SLOWDOWNS(np_measured_set, "level_beside_level", fabric.pairs,
		  fabric.n_levels, fabric.n_levels),
	{ "coupling", NP_F_OBJECT,
	  offsetof(struct np_measured_set, fabric.sharing),
	  .of = &sharing_table },
);
/* clang-format on */

/*
 * The object that text[len] is (json_object_put() it), of bounded size, and of
 * this format and schema. in may be used as long as room, which is
 * NP_MEASURED_MAX_MEMORY, exists.
 */
static int open_set(struct np_jat *in, const char *text, size_t len,
		    json_object **out)
{
	static const struct np_jlimits limits = {
		NP_MEASURED_MAX_OBJECTS,
		NP_MEASURED_MAX_ARRAYS,
		NP_MEASURED_MAX_ELEMENTS,
	};
	/* Check the format before the schema, which depends on it. */
	const struct np_fields format = { head_table.field, 1, 0 };
	struct np_measured_set head = { .format = 0 };
	int rc = np_kind_check(text, len, NP_KIND_JSON, in->where, in->err);

	if (rc)
		return rc;
	if (len > NP_MEASURED_MAX_BYTES)
		return np_errf(in->err, -EFBIG,
			       "%s: %zu bytes, expected at most %u", in->where,
			       len, NP_MEASURED_MAX_BYTES);
	if (!np_jtext_within(text, len, &limits))
		return np_errf(in->err, -EFBIG,
			       "%s: expected at most %zu objects, %zu arrays "
			       "and %zu commas",
			       in->where, limits.objects, limits.arrays,
			       limits.elements);
	rc = np_jget_parse(in, text, len, out);
	if (rc)
		return rc;
	rc = json_object_is_type(*out, json_type_object) ?
		     np_jget_fields(in, *out, &head, &format) :
		     np_jat_refuse(in, "", "an object");
	if (!rc)
		rc = np_jget_fields(in, *out, &head, &head_table);
	if (rc)
		json_object_put(*out);
	return rc;
}

/* The members of "probes" are named by programs, levels and "idle". */
static int check_names(const struct np_jat *in,
		       const struct np_measured_set *set)
{
	size_t n = set->n_apps + set->fabric.n_levels;
	struct np_index names = { .n = 0 };
	int rc = np_index_add(&names, "idle", 4) == NP_NO_INDEX ? -ENOMEM : 0;

	for (size_t i = 0; !rc && i < n; i++) {
		const char *name = i < set->n_apps ?
					   set->app[i].name :
					   set->level[i - set->n_apps].name;

		if (np_index_add(&names, name, strlen(name)) == NP_NO_INDEX)
			rc = -ENOMEM;
		else if (names.n < i + 2)
			rc = np_jat_refuse(in, name,
					   "a name of its own for each program "
					   "and level");
	}
	np_index_free(&names);
	return rc;
}

/* Bytes of a round of a level without a pause, by its name; else 0. */
static double round_bytes(const char *name)
{
	struct np_level level;

	if (np_level_parse(name, &level, NULL) || level.pause_sec > 0)
		return 0;
	return (double)level.peers * level.messages * level.bytes;
}

/* Read the names of programs and levels, and make their structures. */
static int get_names(const struct np_jat *in, json_object *from,
		     struct np_measured_set *set)
{
	int rc = np_jget_fields(in, from, set, &programs_table);

	if (!rc)
		rc = np_jget_fields(in, from, set, &level_table);
	if (!rc)
		rc = np_jat_take(in, set->n_apps + 1, sizeof(*set->app),
				 &set->app);
	if (!rc)
		rc = np_jat_take(in, set->fabric.n_levels + 1,
				 sizeof(*set->level), &set->level);
	if (rc)
		return rc;
	for (size_t i = 0; i < set->n_apps; i++)
		set->app[i].name = set->program[i].name;
	for (size_t i = 0; i < set->fabric.n_levels; i++) {
		set->level[i].name = set->level_name[i].name;
		set->level[i].round_bytes = round_bytes(set->level[i].name);
	}
	set->fabric.level = set->level;
	return check_names(in, set);
}

/* The bins of the histograms in this file: its own, or netprof's. */
static int get_bins(struct np_jat *in, struct np_measured_set *set)
{
	struct np_err why;

	if (!set->edge)
		set->bins = *np_bins_own();
	else if (set->n_edges < 2)
		return np_jat_refuse(in, "latency_bin_edges_sec",
				     "at least 2 bin edges");
	else
		set->bins = (struct np_bins){ set->n_edges - 1, set->edge };
	if (np_bins_check(&set->bins, &why))
		return np_errf(in->err, -EINVAL,
			       "%s: latency_bin_edges_sec: %s", in->where,
			       why.text);
	set->fabric.bins = &set->bins;
	in->n_bins = set->bins.n;
	return 0;
}

/* Read the probes' latencies: idle, under levels, under programs. */
static int get_probes(const struct np_jat *in, json_object *from,
		      struct np_measured_set *set)
{
	struct np_jat sub = np_jat_member(in, "probes");
	json_object *probes;
	int rc;

	if (!json_object_object_get_ex(from, "probes", &probes))
		return 0;
	if (!json_object_is_type(probes, json_type_object))
		return np_jat_refuse(in, "probes", "an object");
	rc = get_probe(&sub, probes, "idle", &set->fabric.idle);
	for (size_t i = 0; !rc && i < set->fabric.n_levels; i++)
		rc = get_probe(&sub, probes, set->level[i].name,
			       &set->level[i].latency);
	for (size_t i = 0; !rc && i < set->n_apps; i++)
		rc = get_probe(&sub, probes, set->app[i].name,
			       &set->app[i].latency);
	return rc;
}

/* The name of a set, or of its file; it is the seed of random numbers. */
static int get_name(const struct np_jat *in, json_object *from,
		    struct np_measured_set *set)
{
	struct np_measured_name given = { "" };
	const struct np_fields table = NP_FIELDS(
		np_measured_name,
		NP_FIELD(np_measured_name, NP_F_NAME, name, NP_MEASURED_NAME));
	const char *file = basename(in->where);
	int rc = np_jget_fields(in, from, &given, &table);

	if (rc)
		return rc;
	set->name = strdup(given.name[0] ? given.name :
			   *file	 ? file :
					   in->where);
	set->fabric.name = set->name;
	return set->name ? 0 : -ENOMEM;
}

/*
 * Read the name of a set, its programs, its levels, what is measured of the
 * fabric, and the probes' latencies; sets in->n_bins.
 */
static int get_set(struct np_jat *in, json_object *from,
		   struct np_measured_set *set)
{
	int rc = get_name(in, from, set);

	if (!rc)
		rc = get_names(in, from, set);
	if (!rc)
		rc = np_jget_fields(in, from, set, &fabric_table);
	if (!rc)
		rc = get_bins(in, set);
	return rc ? rc : get_probes(in, from, set);
}

/* The text of a whole file, whose values are released. */
static int finish(struct np_jput *jput, json_object *j, char **out)
{
	if (!jput->rc) {
		*out = strdup(json_object_to_json_string_ext(
			j, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED));
		jput->rc = *out ? 0 : -ENOMEM;
	}
	json_object_put(j);
	return jput->rc == -ENOMEM ?
		       np_errf(jput->at.err, jput->rc, "out of memory") :
		       jput->rc;
}

/* Write the member "probes". */
static void put_probes(struct np_jput *jput, json_object *in,
		       const struct np_measured_set *set)
{
	json_object *probes =
		np_jput(jput, in, "probes", json_object_new_object());

	if (probes && set->fabric.idle.all.n)
		put_latency(jput, probes, "idle", &set->fabric.idle);
	for (size_t i = 0; probes && i < set->fabric.n_levels; i++)
		if (set->level[i].latency.all.n)
			put_latency(jput, probes, set->level[i].name,
				    &set->level[i].latency);
	for (size_t i = 0; probes && i < set->n_apps; i++)
		if (set->app[i].latency.all.n)
			put_latency(jput, probes, set->app[i].name,
				    &set->app[i].latency);
}

/* ---- programs under levels and in pairs ---- */

/* clang-format off */
static const struct np_fields group_table = NP_FIELDS(np_measured_group,
	NP_FIELD(np_measured_group, NP_F_TEXT, victim, NP_MEASURED_NAME,
		 NP_F_REQUIRED),
	{ "co", NP_F_TEXTS, offsetof(struct np_measured_group, co),
	  .max = NP_MEASURED_MAX_CO,
	  .count = offsetof(struct np_measured_group, n_co),
	  .text_max = NP_MEASURED_NAME },
	NP_FIELD(np_measured_group, NP_F_CODEC, slowdown, SLOWDOWN_MAX, 0,
		 SLOWDOWN_LEAST, .codec = &mean_codec),
);

static const struct np_fields pair_table = NP_FIELDS(np_measured_set,
	SLOWDOWNS(np_measured_set, "program_beside_program", pair, n_apps,
		  n_apps),
	SLOWDOWNS(np_measured_set, "program_beside_level", curve, n_apps,
		  fabric.n_levels),
	SLOWDOWNS(np_measured_set, "level_beside_program", impact,
		  fabric.n_levels, n_apps),
	MEANS(np_measured_set, "alone_sec", alone_sec, 1e9, 0, n_apps, 0),
	NP_FIELD_LIST(np_measured_set, "groups", group, n_groups,
		      NP_MEASURED_MAX_GROUPS, NP_F_NOT_EMPTY, &group_table),
);
/* clang-format on */

static void free_set(struct np_measured_set *set)
{
	for (size_t i = 0; set->app && i < set->n_apps; i++)
		free((void *)set->app[i].latency.count);
	for (size_t i = 0; set->level && i < set->fabric.n_levels; i++)
		free((void *)set->level[i].latency.count);
	free((void *)set->fabric.idle.count);
	free(set->name);
	free(set->app);
	free(set->level);
	free(set->row);
	free(set->level_name);
	np_fields_free(set, &pair_table);
	np_fields_free(set, &fabric_table);
	np_fields_free(set, &programs_table);
}

void np_measured_free(struct np_measured *measured)
{
	for (size_t i = 0; i < measured->n_sets; i++)
		free_set(&measured->set[i]);
	free(measured->set);
	*measured = (struct np_measured){ 0 };
}

/* The file has a row for each level; a program needs its own column. */
static int split_tables(const struct np_jat *in, struct np_measured_set *set)
{
	size_t n = set->fabric.n_levels;
	struct np_mean *of = NULL;
	int rc = set->impact ? np_jat_take(in, n * set->n_apps + 1, sizeof(*of),
					   &of) :
			       0;

	if (rc)
		return rc;
	for (size_t i = 0; of && i < n * set->n_apps; i++)
		of[i % set->n_apps * n + i / set->n_apps] = set->impact[i];
	free(set->impact);
	set->impact = of;
	for (size_t a = 0; a < set->n_apps; a++) {
		set->app[a].curve = set->curve ? set->curve + a * n : NULL;
		set->app[a].impact = of ? of + a * n : NULL;
	}
	return 0;
}

/* The index of a program by its name. */
static int find_program(const struct np_jat *in,
			const struct np_measured_set *set, const char *key,
			const char *name, size_t *out)
{
	for (*out = 0; *out < set->n_apps; ++*out)
		if (!strcmp(set->app[*out].name, name))
			return 0;
	return np_errf(
		in->err, -EINVAL,
		"%s: %s%s: \"%s\", expected the name of a program in the file",
		in->where, in->at, key, name);
}

/* Add a measured group as a case. */
static int add_group_case(const struct np_jat *in, struct np_measured_set *set,
			  const struct np_measured_group *group)
{
	struct np_measured_case *row = &set->row[set->n_rows];
	int rc = find_program(in, set, "victim", group->victim, &row->victim);

	if (!rc && !group->n_co)
		rc = np_jat_range(in, "co", 0, 1, NP_MEASURED_MAX_CO);
	for (size_t i = 0; !rc && i < group->n_co; i++)
		rc = find_program(in, set, "co", group->co[i], &row->co[i]);
	row->n_co = group->n_co;
	row->slowdown = group->slowdown;
	set->n_rows += !rc && np_mean_known(&group->slowdown);
	return rc;
}

/* List the measured pairs, and the programs with several co-runners. */
static int list_cases(const struct np_jat *in, struct np_measured_set *set)
{
	size_t n = set->n_apps;
	int rc = np_jat_take(in, n * n + set->n_groups + 1, sizeof(*set->row),
			     &set->row);

	for (size_t i = 0; !rc && i < n * n; i++)
		if (np_mean_known(&set->pair[i]))
			set->row[set->n_rows++] = (struct np_measured_case){
				.victim = i / n,
				.n_co = 1,
				.co = { i % n },
				.slowdown = set->pair[i],
			};
	for (size_t i = 0; !rc && i < set->n_groups; i++) {
		struct np_jat sub = np_jat_element(in, "groups", i);

		rc = add_group_case(&sub, set, &set->group[i]);
	}
	return rc;
}

/* Read one set: what is common, then programs and pairs. */
static int read_set(const struct np_jat *file, json_object *from,
		    struct np_measured_set *set)
{
	struct np_jat in = *file;
	int rc = get_set(&in, from, set);

	if (!rc)
		rc = np_jget_fields(&in, from, set, &pair_table);
	if (!rc && set->n_apps && !set->pair) /* calibrations have no pairs */
		rc = np_jat_refuse(&in, "program_beside_program",
				   "a value, got none");
	if (!rc)
		rc = split_tables(&in, set);
	return rc ? rc : list_cases(&in, set);
}

/* Read all sets of a file, or the file as one set. */
static int read_all(const struct np_jat *in, json_object *root,
		    struct np_measured *measured)
{
	json_object *sets;
	size_t n = 1;
	int rc =
		np_jget_list(in, root, "sets", NP_MEASURED_MAX_SETS, &sets, &n);

	if (!rc && sets && !n)
		rc = np_jat_refuse(in, "sets", "one or more");
	if (rc)
		return rc;
	measured->n_sets = sets ? n : 1;
	measured->set = calloc(measured->n_sets, sizeof(*measured->set));
	if (!measured->set) {
		measured->n_sets = 0;
		return -ENOMEM;
	}
	if (!sets)
		return read_set(in, root, measured->set);
	for (size_t i = 0; !rc && i < n; i++) {
		struct np_jat sub = np_jat_element(in, "sets", i);
		json_object *one = json_object_array_get_idx(sets, i);

		rc = json_object_is_type(one, json_type_object) ?
			     read_set(&sub, one, &measured->set[i]) :
			     np_jat_refuse(&sub, "", "an object");
	}
	return rc;
}

int np_measured_parse(const char *text, size_t len, const char *where,
		      struct np_measured *out, struct np_err *err)
{
	size_t room = NP_MEASURED_MAX_MEMORY;
	struct np_jat in = { .where = where, .err = err, .room = &room };
	struct np_measured measured = { 0 };
	json_object *root;
	int rc = open_set(&in, text, len, &root);

	if (!rc) {
		rc = read_all(&in, root, &measured);
		json_object_put(root);
	}
	if (rc)
		np_measured_free(&measured);
	else
		*out = measured;
	return rc == -ENOMEM ? np_errf(err, rc, "%s: no memory", where) : rc;
}

int np_measured_load(const char *path, struct np_measured *out,
		     struct np_err *err)
{
	return NP_READ_PARSED(path, NP_MEASURED_MAX_BYTES, np_measured_parse,
			      out, err);
}

/* ---- calibrations ---- */

#define MESSAGE_MAX_BYTES (1u << 30)
#define PERIOD_MAX_SEC 86400.0

#define FIELD(type, name, max, flags) \
	NP_FIELD(np_calibration, type, name, max, flags)
#define WORD(name) FIELD(NP_F_TEXT, name, NP_JSON_WORD, NP_F_NEVER_NULL)
#define NODES(name) FIELD(NP_F_TEXT, name, NP_JSON_HOSTLIST, NP_F_NEVER_NULL)

/* clang-format off */
static const struct np_fields cal_context_table = NP_FIELDS(np_calibration,
	WORD(cluster),
	FIELD(NP_F_REAL, date, NP_JSON_DATE, 0),
	WORD(netprof_version),
	WORD(ucx_version),
	WORD(transport),
	FIELD(NP_F_TEXT, rail, NP_JSON_WORD, 0),
	FIELD(NP_F_U32, message_bytes, MESSAGE_MAX_BYTES, 0),
	FIELD(NP_F_REAL, period_sec, PERIOD_MAX_SEC, NP_F_MEASURED),
	{ "scope", NP_F_WORD, offsetof(struct np_calibration, scope),
	  .flags = NP_F_KEEP, .words = np_scope_names },
	{ "leaf", NP_F_TEXT, offsetof(struct np_calibration, leaf_name),
	  NP_JSON_WORD, NP_F_NEVER_NULL },
	NODES(victim_nodes),
	NODES(level_nodes),
	FIELD(NP_F_REAL, seconds, NP_JSON_ELAPSED_SEC, NP_F_MEASURED),
	FIELD(NP_F_U32, repeats, UINT32_MAX, 0),
);

#define LEVEL(type, name, max, ...) \
	NP_FIELD(np_level, type, name, max, __VA_ARGS__)

static const struct np_fields cal_level_table = NP_FIELDS(np_level,
	LEVEL(NP_F_NAME, name, NP_LEVEL_NAME - 1, NP_F_REQUIRED),
	NP_FIELD_AS(np_level, NP_F_U32, "partners", peers, NP_LEVEL_MAX_PEERS,
		    0, 1),
	LEVEL(NP_F_U32, messages, NP_LEVEL_MAX_MESSAGES, 0, 1),
	LEVEL(NP_F_REAL, pause_sec, NP_LEVEL_MAX_PAUSE_SEC,
	      NP_F_MEASURED | NP_F_NAN),
	LEVEL(NP_F_U32, bytes, NP_LEVEL_MAX_BYTES, 0, NP_LEVEL_MIN_BYTES),
);

static const struct np_fields cal_levels_table = NP_FIELDS(np_calibration,
	NP_FIELD_LIST(np_calibration, "levels", level, n_levels,
		      NP_FABRIC_MAX_LEVELS, NP_F_BY_NAME, &cal_level_table),
);

static const struct np_fields leaf_table = NP_FIELDS(np_calibration_leaf,
	NP_FIELD(np_calibration_leaf, NP_F_TEXT, name, NP_JSON_WORD,
		 NP_F_NEVER_NULL),
	NP_FIELD(np_calibration_leaf, NP_F_CODEC, idle, 0,
		 .codec = &latency_codec),
);

/* Without any effect, noise makes a gain as often as a loss. */
static const struct np_fields loss_table = NP_FIELDS(np_mean,
	SCOPES(-SLOWDOWN_MAX, 1)
);

/* Read after the levels, because the first member has as many elements. */
static const struct np_fields cal_result_table = NP_FIELDS(np_calibration,
	MEANS(np_calibration, "level_alone_round_sec", alone_round_sec,
	      NP_JSON_ELAPSED_SEC, 0, n_levels, 0),
	NP_FIELD_OF(np_calibration, NP_F_OBJECT, loss, &loss_table),
	NP_FIELD_LIST(np_calibration, "leaves", leaf, n_leaves,
		      NP_CALIBRATION_MAX_LEAVES, 0, &leaf_table),
);

static const struct np_fields other_table = NP_FIELDS(np_calibration_other,
	NP_FIELD(np_calibration_other, NP_F_TEXT, name, NP_JSON_WORD,
		 NP_F_NEVER_NULL),
	NP_FIELD(np_calibration_other, NP_F_CODEC, slows_by, SLOWDOWN_MAX, 0,
		 SLOWDOWN_LEAST, .codec = &mean_codec),
	NP_FIELD(np_calibration_other, NP_F_CODEC, probes, 0,
		 .codec = &latency_codec),
);

static const struct np_fields others_table = NP_FIELDS(np_calibration,
	NP_FIELD_LIST(np_calibration, "other_levels", other, n_others,
		      NP_FABRIC_MAX_LEVELS, NP_F_NOT_EMPTY, &other_table),
);
/* clang-format on */

static const struct np_fields *const own_tables[] = {
	&cal_context_table,
	&cal_levels_table,
	&cal_result_table,
	&others_table,
};

/* Complete the configuration of each level: from the file, or from its name. */
static int check_levels(const struct np_jat *in,
			struct np_calibration *calibration)
{
	struct np_err why;

	for (size_t i = 0; i < calibration->n_levels; i++) {
		struct np_level *level = &calibration->level[i], named = *level;
		struct np_jat sub = np_jat_element(in, "levels", i);

		if (!level->peers && !level->messages && !level->bytes) {
			if (np_level_parse(level->name, &named, NULL))
				named.peers = 0;
			strcpy(named.name, level->name);
			*level = named;
		} else if (!level->peers || !level->messages || !level->bytes ||
			   isnan(level->pause_sec)) {
			return np_jat_refuse(
				&sub, "",
				"partners, messages, pause_sec and bytes");
		} else if (np_level_check(level, &why)) {
			return np_errf(in->err, -EINVAL, "%s: levels[%zu]: %s",
				       in->where, i, why.text);
		}
	}
	return 0;
}

/* The levels that were slowed down ran on the victims' nodes. */
static int count_alone_nodes(struct np_calibration *calibration)
{
	char **name;
	int rc;

	if (!calibration->victim_nodes)
		return 0;
	rc = np_hostlist_expand(calibration->victim_nodes, &name,
				&calibration->n_alone_nodes, NULL);
	if (rc)
		calibration->n_alone_nodes = 0;
	else
		np_names_free(name, calibration->n_alone_nodes);
	return rc == -ENOMEM ? rc : 0;
}

/* Read what only calibrations have, and check the result. */
static int read_calibration_tables(const struct np_jat *in, json_object *root,
				   struct np_calibration *calibration)
{
	struct np_mean *mean = calibration->measured.set->fabric.sharing;
	int rc = 0;

	calibration->scope = NP_SCOPE_LEAF;
	for (size_t i = 0; !rc && i < NP_ARRAY_SIZE(own_tables); i++)
		rc = np_jget_fields(in, root, calibration, own_tables[i]);
	if (!rc)
		rc = check_levels(in, calibration);
	if (!rc)
		rc = count_alone_nodes(calibration);
	if (!rc && !np_mean_known(&mean[calibration->scope]))
		mean[calibration->scope] =
			(struct np_mean){ .n = 1, .mean = 1, .sd = 0 };
	return rc ? rc : np_fabric_check(calibration->fabric, in->err);
}

int np_calibration_init(struct np_calibration *calibration, const char *path)
{
	*calibration = (struct np_calibration){ .path = strdup(path) };
	calibration->measured.set =
		calloc(1, sizeof(*calibration->measured.set));
	if (calibration->path && calibration->measured.set) {
		calibration->measured.n_sets = 1;
		calibration->fabric = &calibration->measured.set->fabric;
		return 0;
	}
	np_calibration_free(calibration);
	return -ENOMEM;
}

static int read_calibration(struct np_jat *in, json_object *root,
			    struct np_calibration *calibration)
{
	struct np_measured_set *set = calibration->measured.set;
	json_object *programs = json_object_object_get(root, "programs");
	int rc;

	/* Programs make a file of pairs long: refuse them before reading. */
	if (json_object_is_type(programs, json_type_array) &&
	    json_object_array_length(programs))
		return np_jat_refuse(in, "programs", "none in a calibration");
	rc = get_set(in, root, set);
	return rc ? rc : read_calibration_tables(in, root, calibration);
}

int np_calibration_parse(const char *json, size_t len, const char *path,
			 struct np_calibration *out, struct np_err *err)
{
	size_t room = NP_MEASURED_MAX_MEMORY;
	struct np_jat in = { .where = path, .err = err, .room = &room };
	struct np_calibration calibration;
	json_object *root;
	int rc = open_set(&in, json, len, &root);

	if (rc)
		return rc;
	rc = np_calibration_init(&calibration, path);
	if (!rc)
		rc = read_calibration(&in, root, &calibration);
	json_object_put(root);
	if (rc)
		np_calibration_free(&calibration);
	else
		*out = calibration;
	return rc == -ENOMEM ? np_errf(err, rc, "%s: no memory", path) : rc;
}

int np_calibration_write(const struct np_calibration *calibration, char **out,
			 struct np_err *err)
{
	const struct np_measured_set *set = calibration->measured.set;
	const struct {
		const void *from;
		const struct np_fields *fields;
	} part[] = {
		{ set, &head_table },	  { calibration, &cal_context_table },
		{ set, &programs_table }, { calibration, &cal_levels_table },
		{ set, &fabric_table },	  { calibration, &cal_result_table },
	};
	struct np_jput jput = { { .where = "calibration", .err = err }, 1, 0 };
	json_object *j = json_object_new_object();

	if (!j)
		return np_errf(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < NP_ARRAY_SIZE(part); i++)
		np_jput_fields(&jput, j, part[i].from, part[i].fields);
	put_probes(&jput, j, set);
	np_jput_fields(&jput, j, calibration, &others_table);
	return finish(&jput, j, out);
}

void np_calibration_free(struct np_calibration *calibration)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(own_tables); i++)
		np_fields_free(calibration, own_tables[i]);
	np_measured_free(&calibration->measured);
	free(calibration->path);
	*calibration = (struct np_calibration){ .path = NULL };
}

/* ---- pairs that are being measured: reading and writing ---- */

#define COMMAND_MAX 4096
#define SETUP_MAX (2 << 20) /* of NP_PAIRS_MAX_PROGRAMS, each with four lines */

#define PLACE(type_max, name) \
	NP_FIELD(np_pairs_place, NP_F_TEXT, name, type_max)

/* clang-format off */
static const struct np_fields place_table = NP_FIELDS(np_pairs_place,
	PLACE(NP_JSON_WORD, cluster),
	PLACE(NP_JSON_WORD, leaf),
	PLACE(NP_JSON_WORD, transport),
	PLACE(NP_JSON_HOSTLIST, victim_nodes),
	PLACE(NP_JSON_HOSTLIST, corunner_nodes),
	PLACE(NP_JSON_HOSTLIST, apart_nodes),
);

static const struct np_fields program_table = NP_FIELDS(np_pairs_program,
	NP_FIELD(np_pairs_program, NP_F_NAME, name, NP_MEASURED_NAME,
		 NP_F_REQUIRED),
	NP_FIELD(np_pairs_program, NP_F_TEXT, command, COMMAND_MAX),
	NP_FIELD(np_pairs_program, NP_F_U32, nodes, UINT32_MAX),
	NP_FIELD(np_pairs_program, NP_F_U32, tasks_per_node, UINT32_MAX),
);

/* The names of enum np_pairs_kind. */
static const char *const kinds[] = {
	"launch", "alone", "profile", "leaf", "apart", NULL
};

static const struct np_fields run_table = NP_FIELDS(np_pairs_run,
	{ "kind", NP_F_WORD, offsetof(struct np_pairs_run, kind),
	  .flags = NP_F_REQUIRED, .words = kinds },
	NP_FIELD(np_pairs_run, NP_F_TEXT, victim, NP_MEASURED_NAME,
		 NP_F_REQUIRED),
	NP_FIELD(np_pairs_run, NP_F_TEXT, corunner, NP_MEASURED_NAME),
	NP_FIELD(np_pairs_run, NP_F_U32, repeat, UINT32_MAX),
	NP_FIELD(np_pairs_run, NP_F_REAL, start, NP_JSON_DATE, NP_F_REQUIRED),
	NP_FIELD(np_pairs_run, NP_F_REAL, sec, NP_JSON_ELAPSED_SEC,
		 NP_F_REQUIRED | NP_F_MEASURED),
);

static const struct np_fields own_table = NP_FIELDS(np_pairs,
	NP_FIELD(np_pairs, NP_F_TEXT, name, NP_JSON_WORD),
	NP_FIELD(np_pairs, NP_F_REAL, date, NP_JSON_DATE),
	NP_FIELD(np_pairs, NP_F_TEXT, setup, SETUP_MAX, NP_F_NEVER_NULL),
	{ "fabric", NP_F_OBJECT, offsetof(struct np_pairs, place),
	  .of = &place_table },
	NP_FIELD_LIST(np_pairs, "programs", program, n_programs,
		      NP_PAIRS_MAX_PROGRAMS, NP_F_REQUIRED | NP_F_BY_NAME,
		      &program_table),
	NP_FIELD_LIST(np_pairs, "runs", run, n_runs, NP_PAIRS_MAX_RUNS, 0,
		      &run_table),
);

static const struct np_fields result_table = NP_FIELDS(np_pairs,
	MEANS(np_pairs, "alone_sec", alone_sec, 1e9, 0, n_programs, 0),
	SLOWDOWNS(np_pairs, "program_beside_program", together, n_programs,
		  n_programs),
	SLOWDOWNS(np_pairs, "program_beside_program_apart", apart, n_programs,
		  n_programs),
);
/* clang-format on */

int np_pairs_add(struct np_pairs *pairs, const struct np_pairs_run *run)
{
	if (np_array_resize(&pairs->run, pairs->n_runs + 1,
			    sizeof(*pairs->run))) {
		free(run->victim);
		free(run->corunner);
		return -ENOMEM;
	}
	pairs->run[pairs->n_runs++] = *run;
	return 0;
}

void np_pairs_free(struct np_pairs *pairs)
{
	np_fields_free(pairs, &own_table);
	np_fields_free(pairs, &result_table);
	json_object_put(pairs->earlier_input);
	*pairs = (struct np_pairs){ .n_runs = 0 };
}

/* ---- writing pairs ---- */

/* Fill in a program, and its part of the tables, which have rows of levels. */
static void set_program(struct np_measured_set *set, size_t a,
			const struct np_program *app, const char *name)
{
	size_t n_levels = set->fabric.n_levels;

	set->app[a] =
		(struct np_program){ .name = name, .latency = app->latency };
	for (size_t i = 0; app->curve && i < n_levels; i++)
		set->curve[a * n_levels + i] = app->curve[i];
	for (size_t i = 0; app->impact && i < n_levels; i++)
		set->impact[i * set->n_apps + a] = app->impact[i];
}

/* Write what the models knew, so that predictions can be repeated. */
static void put_models(struct np_jput *jput, json_object *j,
		       const struct np_pairs *pairs)
{
	size_t n = pairs->n_programs, n_levels = pairs->fabric->n_levels;
	struct np_measured_set set = {
		.fabric = *pairs->fabric,
		.level = (struct np_fabric_level *)pairs->fabric->level,
		.n_apps = n,
		.app = calloc(n + 1, sizeof(*set.app)),
		.curve = calloc(n * n_levels + 1, sizeof(*set.curve)),
		.impact = calloc(n * n_levels + 1, sizeof(*set.impact)),
	};

	if (!set.app || !set.curve || !set.impact)
		np_jput_fail(jput, -ENOMEM);
	for (size_t a = 0; !jput->rc && a < n; a++)
		if (pairs->app[a])
			set_program(&set, a, pairs->app[a],
				    pairs->program[a].name);
	np_jput_fields(jput, j, &set, &fabric_table);
	np_jput_fields(jput, j, &set, &pair_table);
	put_probes(jput, j, &set);
	free(set.app);
	np_fields_free(&set, &pair_table);
}

/* The names of the levels, or an empty list. */
static json_object *level_names(struct np_jput *jput,
				const struct np_pairs *pairs)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; list && pairs->fabric && i < pairs->fabric->n_levels;
	     i++)
		np_jput_append(
			jput, list,
			json_object_new_string(pairs->fabric->level[i].name));
	return list;
}

/* Write the input of the models as the file had it. */
static void put_earlier_input(struct np_jput *jput, json_object *j,
			      const struct np_pairs *pairs)
{
	static const char *const members[] = {
		"levels",
		"level_beside_level",
		"coupling",
		"program_beside_level",
		"level_beside_program",
		"probes",
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(members); i++) {
		json_object *value = json_object_object_get(
			pairs->earlier_input, members[i]);

		if (value)
			np_jput(jput, j, members[i], json_object_get(value));
	}
}

int np_pairs_format(const struct np_pairs *pairs, char **out,
		    struct np_err *err)
{
	const struct np_measured_set head = { .format = 0 };
	struct np_jput jput = { { .where = "pairs", .err = err }, 1, 0 };
	json_object *j = json_object_new_object();

	if (!j)
		return np_errf(err, -ENOMEM, "out of memory");
	np_jput_fields(&jput, j, &head, &head_table);
	if (!pairs->fabric && pairs->earlier_input)
		put_earlier_input(&jput, j, pairs);
	else
		np_jput(&jput, j, "levels", level_names(&jput, pairs));
	np_jput_fields(&jput, j, pairs, &result_table);
	if (pairs->fabric && pairs->app)
		put_models(&jput, j, pairs);
	np_jput_fields(&jput, j, pairs, &own_table);
	return finish(&jput, j, out);
}

/* ---- reading pairs ---- */

size_t np_pairs_find(const struct np_pairs *pairs, const char *name)
{
	size_t i = 0;

	while (i < pairs->n_programs && strcmp(pairs->program[i].name, name))
		i++;
	return i;
}

/* Whether this is the name of a program in the file. */
static bool is_program(const struct np_pairs *pairs, const char *name)
{
	return np_pairs_find(pairs, name) < pairs->n_programs;
}

/* Runs must name programs of the file. */
static int check_runs(const struct np_jat *in, const struct np_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n_runs; i++) {
		const struct np_pairs_run *run = &pairs->run[i];
		bool pair = run->kind == NP_PAIRS_LEAF ||
			    run->kind == NP_PAIRS_APART;
		struct np_jat sub = np_jat_element(in, "runs", i);

		if (!is_program(pairs, run->victim))
			return np_jat_refuse(
				&sub, "victim",
				"the name of a program in the file");
		if (pair ? !run->corunner || !is_program(pairs, run->corunner) :
			   run->corunner != NULL)
			return np_jat_refuse(&sub, "corunner",
					     "the name of a program in the "
					     "file, of pairs alone");
	}
	return 0;
}

/*
 * Keep what put_models() and level_names() wrote, so that the file does not lose
 * it where the calibration is not known. It is checked when the models read it.
 */
static void keep_input(json_object *root, struct np_pairs *pairs)
{
	json_object *levels;

	if (!json_object_object_get_ex(root, "levels", &levels) ||
	    !json_object_is_type(levels, json_type_array) ||
	    !json_object_array_length(levels))
		return;
	/* The runs, which may be many, are in pairs. */
	json_object_object_del(root, "runs");
	pairs->earlier_input = json_object_get(root);
}

int np_pairs_parse(const char *text, size_t len, const char *where,
		   struct np_pairs *out, struct np_err *err)
{
	size_t room = NP_MEASURED_MAX_MEMORY;
	struct np_jat in = { .where = where, .err = err, .room = &room };
	struct np_pairs pairs = { .n_runs = 0 };
	json_object *root;
	int rc = open_set(&in, text, len, &root);

	if (rc)
		return rc;
	rc = np_jget_fields(&in, root, &pairs, &own_table);
	if (!rc)
		rc = check_runs(&in, &pairs);
	if (!rc)
		keep_input(root, &pairs);
	json_object_put(root);
	if (rc)
		np_pairs_free(&pairs);
	else
		*out = pairs;
	return rc == -ENOMEM ? np_errf(err, rc, "%s: no memory", where) : rc;
}
