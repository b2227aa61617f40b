/*
 * Run records: reads and writes them as JSON (netprof-profile(5)), builds them,
 * and removes from them what others should not see.
 *
 * Each structure has a table of fields (np_fields.h). Codecs, which come first,
 * handle members that are no plain fields: moments, histograms, and latencies
 * over time. What a codec refuses to read it also refuses to write, so that no
 * record is stored that cannot be read.
 */
#include "np_record.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_fields.h"
#include "np_level.h"
#include "np_text.h"

/* The value of key cannot be written. Only the first such error is kept. */
static void reject_value(struct np_jput *jput, const char *key,
			 const char *expected)
{
	if (!jput->rc)
		jput->rc = np_jat_refuse(&jput->at, key, expected);
}

/* ---- moments ---- */

#define EXPECTED_MOMENTS "n, mean, m2, min and max of samples"

#define MOMENT(type, name, max) \
	NP_FIELD(np_moments, type, name, max, NP_F_REQUIRED)

/* clang-format off */
static const struct np_fields moments_table = NP_FIELDS(np_moments,
	MOMENT(NP_F_U64, n, NP_JSON_COUNT),
	MOMENT(NP_F_REAL, mean, NP_JSON_ELAPSED_SEC),
	MOMENT(NP_F_REAL, m2, 1e300),
	MOMENT(NP_F_REAL, min, NP_JSON_ELAPSED_SEC),
	MOMENT(NP_F_REAL, max, NP_JSON_ELAPSED_SEC),
);
/* clang-format on */

/* Whether these can be the moments of samples of at most max. */
static bool moments_fit(const struct np_moments *moments, double max)
{
	return !moments->n ||
	       (np_moments_valid(moments) && moments->max <= max);
}

static int get_moments(const struct np_jat *in, const struct np_field *field,
		       json_object *from, char *to)
{
	const struct np_field object = {
		field->key,
		NP_F_OBJECT,
		field->offset,
		.of = &moments_table,
	};
	const struct np_fields one = { &object, 1, 0 };
	int rc = np_jget_fields(in, from, to, &one);

	return rc || moments_fit((const void *)(to + field->offset),
				 field->max) ?
		       rc :
		       np_jat_refuse(in, field->key, EXPECTED_MOMENTS);
}

static void put_moments(struct np_jput *jput, json_object *in,
			const struct np_field *field, const char *from)
{
	static const struct np_moments empty;
	const struct np_moments *moments = (const void *)(from + field->offset);
	const struct np_field object = {
		field->key,
		NP_F_OBJECT,
		.of = &moments_table,
	};
	const struct np_fields one = { &object, 1, 0 };

	/* The range of an empty set is not defined. */
	np_jput_fields(jput, in, moments->n ? moments : &empty, &one);
	if (!moments_fit(moments, field->max))
		reject_value(jput, field->key, EXPECTED_MOMENTS);
}

/* struct np_moments, all zero if missing; max bounds the samples. */
static const struct np_field_codec moments_codec = { get_moments, put_moments,
						     NULL };

/*
 * ---- histograms and latencies over time ----
 *
 * Both have as many samples as the moments in the same object say. Any other
 * number is refused, when reading and when writing.
 */

#define LEAST_WIDTH_SEC 1e-6
#define EXPECTED_AT_MOST "at most latency.n samples"
#define EXPECTED_AS_MANY "as many samples as latency.n"
#define EXPECTED_WINDOW "n, mean, sd and max of samples"

/* The bins of all histograms of a record; so far there are only our own. */
static void put_bins(struct np_jput *jput, json_object *in,
		     const struct np_field *field, const char *from)
{
	json_object *j =
		np_jput(jput, in, field->key, json_object_new_object());

	(void)from;
	if (!j)
		return;
	np_jput(jput, j, "first_edge_sec",
		np_jput_real(jput, field->key, NP_HIST_FIRST_EDGE_SEC, 0, 1, 1,
			     17));
	np_jput(jput, j, "per_decade", json_object_new_int(NP_HIST_PER_DECADE));
	np_jput(jput, j, "bins", json_object_new_int(NP_HIST_BINS));
}

/* The bins must be our own, or the counts would mean something else. */
static int check_bins(const struct np_jat *in, json_object *from,
		      const char *key)
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

_Static_assert(NP_HIST_BINS == 177, "check_bins() says 177");

/* A record without leaf switches needs no bins. */
static int get_bins(const struct np_jat *in, const struct np_field *field,
		    json_object *from, char *to)
{
	json_object *leaves;

	(void)to;
	return json_object_object_get_ex(from, "leaves", &leaves) &&
			       json_object_is_type(leaves, json_type_array) &&
			       json_object_array_length(leaves) ?
		       check_bins(in, from, field->key) :
		       0;
}

static const struct np_field_codec bins_codec = { get_bins, put_bins, NULL };

/* The number of samples by the moments in the same structure. */
static uint64_t n_samples(const struct np_field *field, const char *from)
{
	return *(const uint64_t *)(from + field->count);
}

/* [[bin, count], ...]; missing if the histogram is NULL or empty. */
static void put_hist(struct np_jput *jput, json_object *in,
		     const struct np_field *field, const char *from)
{
	const struct np_hist *hist =
		*(struct np_hist *const *)(from + field->offset);
	uint64_t total = hist ? np_hist_total(hist) : 0;
	json_object *list;

	if (total != n_samples(field, from))
		reject_value(jput, field->key, EXPECTED_AS_MANY);
	if (!total)
		return;
	list = np_jput(jput, in, field->key, json_object_new_array());
	for (size_t i = 0; list && i < NP_HIST_BINS && !jput->rc; i++)
		if (np_hist_count(hist, i))
			np_jput_bin(jput, list, field->key, i,
				    (double)np_hist_count(hist, i));
}

/* One [bin, count]; bins must ascend, so that each occurs once. */
static int get_bin(const struct np_jat *in, const char *key, json_object *pair,
		   struct np_hist *hist, size_t *least_bin)
{
	uint64_t bin, n;
	int rc;

	if (!json_object_is_type(pair, json_type_array) ||
	    json_object_array_length(pair) != 2)
		return np_jat_refuse(in, key, "pairs of bin and count");
	rc = np_jget_count(in, key, json_object_array_get_idx(pair, 0), 0,
			   NP_HIST_BINS - 1, &bin);
	if (!rc)
		rc = np_jget_count(in, key, json_object_array_get_idx(pair, 1),
				   0, NP_JSON_COUNT, &n);
	if (rc)
		return rc;
	if (bin < *least_bin)
		return np_jat_refuse(in, key, "bins in ascending order");
	*least_bin = bin + 1;
	return np_hist_add_bin(hist, bin, n);
}

static int get_hist(const struct np_jat *in, const struct np_field *field,
		    json_object *from, char *to)
{
	struct np_hist **out = (void *)(to + field->offset);
	size_t n, least_bin = 0;
	json_object *list;
	int rc = np_jget_list(in, from, field->key, NP_HIST_BINS, &list, &n);

	if (rc)
		return rc;
	if (n) {
		*out = np_hist_new();
		if (!*out)
			return -ENOMEM;
	}
	for (size_t i = 0; !rc && i < n; i++)
		rc = get_bin(in, field->key, json_object_array_get_idx(list, i),
			     *out, &least_bin);
	if (!rc && (n ? np_hist_total(*out) : 0) != n_samples(field, to))
		rc = np_jat_refuse(in, field->key, EXPECTED_AS_MANY);
	return rc;
}

static void free_hist(char *at)
{
	np_hist_free(*(struct np_hist **)at);
	*(struct np_hist **)at = NULL;
}

static const struct np_field_codec hist_codec = { get_hist, put_hist,
						  free_hist };

/* A number of a window: six digits keep a record small. */
static json_object *window_real(struct np_jput *jput, double v)
{
	return np_jput_real(jput, "w", v, 0, NP_JSON_LATENCY_SEC, 6, 6);
}

/* Write a window as [n, mean, sd, max], or [0]. */
static void put_window(struct np_jput *jput, json_object *list,
		       struct np_moments moments)
{
	json_object *w =
		np_jput_append(jput, list, json_object_new_array_ext(4));

	if (!w)
		return;
	np_jput_append(jput, w,
		       np_jput_count(jput, "w", (double)moments.n,
				     NP_JSON_COUNT));
	if (!moments.n)
		return;
	/* Rounding can lift the mean of equal latencies above them. */
	np_jput_append(jput, w,
		       window_real(jput, fmin(moments.mean, moments.max)));
	np_jput_append(jput, w, window_real(jput, np_moments_sd(&moments)));
	np_jput_append(jput, w, window_real(jput, moments.max));
	moments.min = moments.mean; /* as its reader will see it */
	moments.m2 = 0;
	if (!np_moments_valid(&moments))
		reject_value(jput, "w", EXPECTED_WINDOW);
}

/*
 * {"width_sec", "w": [[n, mean, sd, max], ...]} with 6 digits and without the
 * minimum; missing if the series is NULL or empty. Each jput->merge consecutive
 * windows are merged into one.
 */
static void put_series(struct np_jput *jput, json_object *in,
		       const struct np_field *field, const char *from)
{
	const struct np_series *series =
		*(struct np_series *const *)(from + field->offset);
	json_object *j, *list;
	uint64_t total = 0;

	if (!series || !series->n)
		return;
	j = np_jput(jput, in, field->key, json_object_new_object());
	if (!j)
		return;
	np_jput(jput, j, "width_sec",
		np_jput_real(jput, "windows.width_sec",
			     series->width_sec * (double)jput->merge,
			     LEAST_WIDTH_SEC, NP_JSON_ELAPSED_SEC, 1, 17));
	list = np_jput(jput, j, "w", json_object_new_array());
	for (size_t i = 0; list && i < series->n && !jput->rc;
	     i += jput->merge) {
		struct np_moments moments = series->w[i];

		for (size_t k = 1; k < jput->merge && i + k < series->n; k++)
			np_moments_merge(&moments, &series->w[i + k]);
		put_window(jput, list, moments);
		total += moments.n;
	}
	if (total > n_samples(field, from))
		reject_value(jput, field->key, EXPECTED_AT_MOST);
}

/* The minimum of a window is not stored; the mean takes its place. */
static int get_window_numbers(const struct np_jat *in, json_object *j,
			      struct np_moments *moments)
{
	double sd = 0, *const to[] = { &moments->mean, &sd, &moments->max };
	int rc = 0;

	for (size_t i = 0; !rc && i < NP_ARRAY_SIZE(to); i++)
		rc = np_jget_real(in, "w", json_object_array_get_idx(j, i + 1),
				  0, NP_JSON_LATENCY_SEC, to[i]);
	moments->m2 = sd * sd * (double)(moments->n - 1);
	moments->min = moments->mean;
	return rc;
}

/* [n, mean, sd, max], or [0]. */
static int get_window(const struct np_jat *in, json_object *j,
		      struct np_moments *out)
{
	struct np_moments moments = { 0 };
	size_t len;
	int rc;

	if (!json_object_is_type(j, json_type_array))
		return np_jat_refuse(in, "w", "arrays [n, mean, sd, max]");
	len = json_object_array_length(j);
	rc = np_jget_count(in, "w", json_object_array_get_idx(j, 0), 0,
			   NP_JSON_COUNT, &moments.n);
	if (rc)
		return rc;
	if (len != (moments.n ? 4 : 1))
		return np_jat_refuse(in, "w", "[n, mean, sd, max], or [0]");
	rc = moments.n ? get_window_numbers(in, j, &moments) : 0;
	if (rc)
		return rc;
	if (!np_moments_valid(&moments))
		return np_jat_refuse(in, "w", EXPECTED_WINDOW);
	*out = moments;
	return 0;
}

/* The width of the windows; a tiny one would make endless series. */
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

static int get_series(const struct np_jat *in, const struct np_field *field,
		      json_object *from, char *to)
{
	json_object *j, *list;
	struct np_series *series;
	uint64_t total = 0;
	size_t n;
	int rc;

	if (!json_object_object_get_ex(from, field->key, &j))
		return 0;
	if (!json_object_is_type(j, json_type_object))
		return np_jat_refuse(in, field->key, "an object");
	rc = np_jget_list(in, j, "w", NP_SERIES_MAX, &list, &n);
	if (rc || !n)
		return rc;
	/* calloc(): pages that are not touched take no memory. */
	series = *(struct np_series **)(to + field->offset) =
		calloc(1, sizeof(*series));
	if (!series)
		return -ENOMEM;
	rc = get_width(in, j, &series->width_sec);
	for (size_t i = 0; !rc && i < n; i++) {
		rc = get_window(in, json_object_array_get_idx(list, i),
				&series->w[i]);
		total += series->w[i].n;
	}
	if (!rc && total > n_samples(field, to))
		rc = np_jat_refuse(in, field->key, EXPECTED_AT_MOST);
	series->n = n;
	return rc;
}

static void free_series(char *at)
{
	free(*(struct np_series **)at);
	*(struct np_series **)at = NULL;
}

static const struct np_field_codec series_codec = { get_series, put_series,
						    free_series };

/* ---- JSON, schema 1: see netprof-profile(5) ---- */

/*
 * Real records stay far below; a hostile one costs its reader at most about
 * 100 MB and 0.1 s.
 */
static const struct np_jlimits limits = {
	.objects = 32768,
	.arrays = 262144,
	.elements = 524288,
};

/*
 * Windows written for all leaf switches together, about 45 bytes each; beyond
 * that they are merged in pairs.
 */
#define MAX_WINDOWS 16384

/* The largest values, of which real ones stay far below. */
#define MAX_TOTAL 1e24 /* bytes or events, summed over the nodes */
#define MAX_RATE 1e15  /* bytes per second */
#define MAX_CALLS 1e12 /* MPI calls per second */
#define MAX_NODE_SEC (NP_RECORD_MAX_NODES * NP_JSON_ELAPSED_SEC)

#define FIELD NP_FIELD
#define MOMENTS(s, name, max) \
	NP_FIELD(s, NP_F_CODEC, name, max, .codec = &moments_codec)
#define MOMENTS_AS(s, key, name, max) \
	NP_FIELD_AS(s, NP_F_CODEC, key, name, max, .codec = &moments_codec)

/* clang-format off */
static const struct np_fields probe_table = NP_FIELDS(np_probe_run,
	FIELD(np_probe_run, NP_F_U32, message_bytes, UINT32_MAX, 0),
	FIELD(np_probe_run, NP_F_REAL, period_sec, NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_probe_run, NP_F_U32, per_node, UINT32_MAX, 0),
	FIELD(np_probe_run, NP_F_U32, n_processes, UINT32_MAX, 0),
	FIELD(np_probe_run, NP_F_TEXT, transport, NP_JSON_WORD, 0),
	FIELD(np_probe_run, NP_F_U64, messages, NP_JSON_COUNT, 0),
	FIELD(np_probe_run, NP_F_REAL, cpu_sec_max, NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_probe_run, NP_F_REAL, cpu_sec_sum, MAX_NODE_SEC, 0),
	FIELD(np_probe_run, NP_F_REAL, elapsed_sec, NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_probe_run, NP_F_U64, rss_bytes_max, NP_JSON_COUNT, 0),
);

static const struct np_fields traffic_table = NP_FIELDS(np_traffic_run,
	FIELD(np_traffic_run, NP_F_U32, n_nodes, NP_RECORD_MAX_NODES, 0),
	FIELD(np_traffic_run, NP_F_REAL, node_sec, MAX_NODE_SEC, 0),
	FIELD(np_traffic_run, NP_F_REAL, bytes, MAX_TOTAL, 0),
	FIELD(np_traffic_run, NP_F_REAL, link, MAX_RATE, 0),
);

#define COUNT(name, kind) \
	{ name, NP_F_REAL, offsetof(struct np_nic_run, n[NP_NIC_##kind]), \
	  .max = MAX_TOTAL, .flags = NP_F_NAN }
static const struct np_fields nic_table = NP_FIELDS(np_nic_run,
	FIELD(np_nic_run, NP_F_TEXT, device, NP_JSON_WORD, NP_F_NEVER_NULL),
	FIELD(np_nic_run, NP_F_U32, n_nodes, NP_RECORD_MAX_NODES, 0),
	FIELD(np_nic_run, NP_F_REAL, node_sec, MAX_NODE_SEC, 0),
	COUNT("sent", SENT),
	COUNT("received", RECEIVED),
	COUNT("wait", WAIT),
	COUNT("pause", PAUSE),
	COUNT("ecn", ECN),
	COUNT("cnp", CNP),
	COUNT("discards", DISCARD),
	COUNT("retries", RETRY),
);

static const struct np_fields level_table = NP_FIELDS(np_level_run,
	FIELD(np_level_run, NP_F_TEXT, name, NP_JSON_WORD, NP_F_NEVER_NULL),
	NP_FIELD_AS(np_level_run, NP_F_U32, "partners", peers, UINT32_MAX, 0),
	FIELD(np_level_run, NP_F_U32, messages, UINT32_MAX, 0),
	FIELD(np_level_run, NP_F_U32, bytes, UINT32_MAX, 0),
	FIELD(np_level_run, NP_F_REAL, pause_sec, NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_level_run, NP_F_TEXT, scope, NP_JSON_WORD, NP_F_NEVER_NULL),
	FIELD(np_level_run, NP_F_TEXT, nodes, NP_JSON_HOSTLIST,
	      NP_F_NEVER_NULL),
	FIELD(np_level_run, NP_F_TEXT, rails, NP_JSON_WORD, 0),
	FIELD(np_level_run, NP_F_U32, n_processes, UINT32_MAX, 0),
	MOMENTS(np_level_run, alone_round_sec, NP_JSON_ELAPSED_SEC),
	MOMENTS_AS(np_level_run, "beside_round_sec", loaded_round_sec,
		   NP_JSON_ELAPSED_SEC),
);

static const struct np_fields leaf_table = NP_FIELDS(np_leaf_run,
	FIELD(np_leaf_run, NP_F_TEXT, name, NP_JSON_WORD, NP_F_NEVER_NULL),
	FIELD(np_leaf_run, NP_F_TEXT, rail, NP_JSON_WORD, 0),
	FIELD(np_leaf_run, NP_F_TEXT, nodes, NP_JSON_HOSTLIST, NP_F_NEVER_NULL),
	FIELD(np_leaf_run, NP_F_U32, n_nodes, NP_RECORD_MAX_NODES, 0),
	FIELD(np_leaf_run, NP_F_U32, n_pairs, UINT32_MAX, 0),
	FIELD(np_leaf_run, NP_F_TEXT, skipped, NP_JSON_WORD, 0),
	MOMENTS(np_leaf_run, latency, NP_JSON_LATENCY_SEC),
	{ "hist", NP_F_CODEC, offsetof(struct np_leaf_run, hist),
	  .count = offsetof(struct np_leaf_run, latency.n),
	  .codec = &hist_codec },
	{ "windows", NP_F_CODEC, offsetof(struct np_leaf_run, windows),
	  .count = offsetof(struct np_leaf_run, latency.n),
	  .codec = &series_codec },
	NP_FIELD_OF(np_leaf_run, NP_F_POINTER, traffic, &traffic_table),
);

static const struct np_fields interval_table = NP_FIELDS(np_run_interval,
	FIELD(np_run_interval, NP_F_TEXT, level, NP_JSON_WORD, 0),
	FIELD(np_run_interval, NP_F_REAL, at_sec, NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_run_interval, NP_F_REAL, sec, NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_run_interval, NP_F_REAL, rate, MAX_RATE, 0),
	FIELD(np_run_interval, NP_F_REAL, calls, MAX_CALLS, NP_F_NAN),
	MOMENTS(np_run_interval, round_sec, NP_JSON_ELAPSED_SEC),
);

static const struct np_fields neighbour_table = NP_FIELDS(np_neighbour,
	FIELD(np_neighbour, NP_F_U32, job_id, UINT32_MAX, 0),
	FIELD(np_neighbour, NP_F_LONG, step_id, UINT32_MAX, 0),
	FIELD(np_neighbour, NP_F_TEXT, leaf, NP_JSON_WORD, NP_F_NEVER_NULL),
	FIELD(np_neighbour, NP_F_TEXT, nodes, NP_JSON_HOSTLIST,
	      NP_F_NEVER_NULL),
	FIELD(np_neighbour, NP_F_REAL, overlap_sec, NP_JSON_ELAPSED_SEC, 0),
);

const char *const np_run_states[] = {
	[NP_RUN_RUNNING] = "running",
	[NP_RUN_COMPLETE] = "complete",
	[NP_RUN_CUT] = "cut",
	NULL
};

static const struct np_fields record_table = NP_FIELDS(np_record,
	{ "schema", NP_F_SCHEMA, .max = NP_RECORD_SCHEMA },
	FIELD(np_record, NP_F_APP, app, NP_APP_MAX, NP_F_REQUIRED),
	{ "state", NP_F_WORD, offsetof(struct np_record, state),
	  .words = np_run_states },
	FIELD(np_record, NP_F_U32, uid, UINT32_MAX, NP_F_REQUIRED),
	FIELD(np_record, NP_F_TEXT, cluster, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_U32, job_id, UINT32_MAX, NP_F_REQUIRED),
	FIELD(np_record, NP_F_LONG, array_job_id, UINT32_MAX, 0),
	FIELD(np_record, NP_F_LONG, array_task_id, UINT32_MAX, 0),
	FIELD(np_record, NP_F_LONG, het_component, UINT32_MAX, 0),
	FIELD(np_record, NP_F_U32, step_id, UINT32_MAX, NP_F_REQUIRED),
	FIELD(np_record, NP_F_TEXT, executable, NP_JSON_PATH, 0),
	FIELD(np_record, NP_F_TEXT, fingerprint, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_U32, n_tasks, UINT32_MAX, 0),
	FIELD(np_record, NP_F_U32, n_nodes, NP_RECORD_MAX_NODES, 0),
	FIELD(np_record, NP_F_TEXT, nodes, NP_JSON_HOSTLIST, 0),
	FIELD(np_record, NP_F_TEXT, tasks_per_node, NP_JSON_PATH, 0),
	FIELD(np_record, NP_F_TEXT, task_order, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_TEXT, cpu_bind, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_U32, cpus_per_task, UINT32_MAX, 0),
	FIELD(np_record, NP_F_REAL, start, NP_JSON_DATE, NP_F_REQUIRED),
	FIELD(np_record, NP_F_REAL, end, NP_JSON_DATE, NP_F_REQUIRED),
	FIELD(np_record, NP_F_LONG, exit_code, 65535, 0),
	FIELD(np_record, NP_F_REAL, alone_sec, NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_record, NP_F_BOOL, suspended, 0, 0),
	FIELD(np_record, NP_F_TEXT, netprof_version, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_TEXT, slurm_version, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_TEXT, ucx_version, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_TEXT, mpi_version, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_TEXT, host, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_TEXT, source, NP_JSON_WORD, 0),
	NP_FIELD_OF(np_record, NP_F_OBJECT, probe, &probe_table),
	NP_FIELD_OF(np_record, NP_F_OBJECT, traffic, &traffic_table),
	NP_FIELD_LIST(np_record, "nics", nics, n_nics, NP_RECORD_MAX_NICS, 0,
		      &nic_table),
	NP_FIELD_OF(np_record, NP_F_POINTER, level, &level_table),
	{ "hist", NP_F_CODEC, .codec = &bins_codec },
	NP_FIELD_LIST(np_record, "leaves", leaves, n_leaves,
		      NP_RECORD_MAX_LEAVES, 0, &leaf_table),
	NP_FIELD_AS(np_record, NP_F_TEXT, "blocks_scope", intervals_scope,
		    NP_JSON_WORD, 0),
	NP_FIELD_AS(np_record, NP_F_U32, "blocks_nodes", intervals_nodes,
		    NP_RECORD_MAX_NODES, 0),
	NP_FIELD_AS(np_record, NP_F_TEXT, "blocks_rails", intervals_rails,
		    NP_JSON_WORD, 0),
	NP_FIELD_LIST(np_record, "blocks_alone", intervals_alone,
		      n_intervals_alone, NP_RECORD_MAX_INTERVALS, 0,
		      &interval_table),
	NP_FIELD_LIST(np_record, "blocks", intervals, n_intervals,
		      NP_RECORD_MAX_INTERVALS, 0, &interval_table),
	NP_FIELD_LIST(np_record, "neighbours", neighbours, n_neighbours,
		      NP_RECORD_MAX_NEIGHBOURS, 0, &neighbour_table),
	{ "notes", NP_F_TEXTS, offsetof(struct np_record, notes),
	  .max = NP_RECORD_MAX_NOTES,
	  .count = offsetof(struct np_record, n_notes),
	  .text_max = NP_JSON_WORD },
);
/* clang-format on */

/* How many windows are merged into one to keep the record small. */
static size_t merge_factor(const struct np_record *record)
{
	size_t merge = 1, total;

	for (;; merge *= 2) {
		total = 0;
		for (size_t i = 0; i < record->n_leaves; i++)
			if (record->leaves[i].windows)
				total += (record->leaves[i].windows->n + merge -
					  1) /
					 merge;
		if (total <= MAX_WINDOWS || merge >= NP_SERIES_MAX)
			return merge;
	}
}

/* Limits on the text of a record, both read and written. */
static int check_size(const struct np_jat *at, const char *text, size_t len)
{
	if (len > NP_RECORD_MAX_BYTES)
		return np_errf(at->err, -EINVAL,
			       "%s: %zu bytes, expected at most %u", at->where,
			       len, NP_RECORD_MAX_BYTES);
	return np_jtext_within(text, len, &limits) ?
		       0 :
		       np_jat_refuse(at, "",
				     "fewer objects, arrays and elements");
}

int np_record_write(const struct np_record *record, const char *where,
		    char **out, struct np_err *err)
{
	struct np_jput jput = { .at = { .where = where, .err = err },
				.merge = merge_factor(record) };
	char *text = NULL;
	int rc = np_fields_print(&jput, record, &record_table, &text);

	if (!rc)
		rc = check_size(&jput.at, text, strlen(text));
	if (rc)
		free(text);
	else
		*out = text;
	return rc;
}

int np_record_from_json(const char *text, size_t len, const char *where,
			struct np_record **out, struct np_err *err)
{
	struct np_jat in = { .where = where, .err = err };
	struct np_record *record;
	int rc = check_size(&in, text, len);

	if (rc)
		return rc;
	record = np_record_new();
	if (!record)
		return np_errf(err, -ENOMEM, "%s: out of memory", where);
	rc = np_fields_parse(&in, text, len, record, &record_table);
	if (rc)
		free(record);
	else
		*out = record;
	return rc;
}

void np_record_free(struct np_record *record)
{
	if (record)
		np_fields_free(record, &record_table);
	free(record);
}

/* ---- building a record ---- */

#define NOTE_MAX 256 /* bytes */

struct np_record *np_record_new(void)
{
	struct np_record *record = calloc(1, sizeof(*record));

	if (!record)
		return NULL;
	record->array_job_id = record->array_task_id = NP_NO_VALUE;
	record->het_component = record->exit_code = NP_NO_VALUE;
	return record;
}

double np_record_run_sec(const struct np_record *record)
{
	double sec = record->end - record->start - record->alone_sec;

	return sec > 0 ? sec : 0;
}

struct np_leaf_run *np_record_leaf(struct np_record *record, const char *name)
{
	struct np_leaf_run *leaf;

	for (size_t i = 0; i < record->n_leaves; i++)
		if (!strcmp(record->leaves[i].name, name))
			return &record->leaves[i];
	if (record->n_leaves >= NP_RECORD_MAX_LEAVES ||
	    np_array_resize(&record->leaves, record->n_leaves + 1,
			    sizeof(*leaf)))
		return NULL;
	leaf = &record->leaves[record->n_leaves];
	memset(leaf, 0, sizeof(*leaf));
	leaf->name = strdup(name);
	if (!leaf->name)
		return NULL;
	record->n_leaves++;
	return leaf;
}

struct np_nic_run *np_record_nic(struct np_record *record, const char *device)
{
	struct np_nic_run *nic;

	for (size_t i = 0; i < record->n_nics; i++)
		if (!strcmp(record->nics[i].device, device))
			return &record->nics[i];
	if (record->n_nics >= NP_RECORD_MAX_NICS ||
	    np_array_resize(&record->nics, record->n_nics + 1, sizeof(*nic)))
		return NULL;
	nic = &record->nics[record->n_nics];
	*nic = (struct np_nic_run){ .device = strdup(device) };
	for (size_t k = 0; k < NP_NIC_KINDS; k++)
		nic->n[k] = NAN;
	if (!nic->device)
		return NULL;
	record->n_nics++;
	return nic;
}

static bool has_note(const struct np_record *record, const char *line)
{
	for (size_t i = 0; i < record->n_notes; i++)
		if (!strcmp(record->notes[i], line))
			return true;
	return false;
}

void np_record_note(struct np_record *record, const char *fmt, ...)
{
	char line[NOTE_MAX];
	va_list ap;

	va_start(ap, fmt);
	np_text_print(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (has_note(record, line) || record->n_notes >= NP_RECORD_MAX_NOTES ||
	    np_array_resize(&record->notes, record->n_notes + 1,
			    sizeof(*record->notes)))
		return;
	record->notes[record->n_notes] = strdup(line);
	if (record->notes[record->n_notes])
		record->n_notes++;
}

int np_record_note_level(struct np_record *record, const char *name,
			 const char *scope, const char *nodes,
			 struct np_err *err)
{
	struct np_level_run *run;
	struct np_level level;

	if (np_level_parse(name, &level, err))
		return -EINVAL;
	run = calloc(1, sizeof(*run));
	if (!run)
		return -ENOMEM;
	record->level = run;
	run->name = strdup(level.name);
	run->peers = level.peers;
	run->messages = level.messages;
	run->bytes = level.bytes;
	run->pause_sec = level.pause_sec;
	run->scope = strdup(scope);
	run->nodes = strdup(nodes);
	return run->name && run->scope && run->nodes ? 0 : -ENOMEM;
}

/* ---- publishing a record ---- */

static void free_text(char **text)
{
	free(*text);
	*text = NULL;
}

/* Make a text empty that every record must have. */
static void make_empty(char *text)
{
	if (text)
		*text = '\0';
}

/*
 * Readers need only know whether there were neighbours, and the longest
 * overlap, so at most one is left, without a name.
 */
static void strip_neighbours(struct np_record *record)
{
	double longest_sec = 0;
	size_t remaining;

	for (size_t i = 0; i < record->n_neighbours; i++)
		longest_sec =
			fmax(longest_sec, record->neighbours[i].overlap_sec);
	remaining = longest_sec > 0 ? 1 : 0;
	while (record->n_neighbours > remaining) {
		struct np_neighbour *neighbour =
			&record->neighbours[--record->n_neighbours];

		free(neighbour->leaf);
		free(neighbour->nodes);
	}
	if (!record->n_neighbours)
		return;
	make_empty(record->neighbours->leaf);
	make_empty(record->neighbours->nodes);
	record->neighbours->job_id = 0;
	record->neighbours->step_id = NP_NO_VALUE;
	record->neighbours->overlap_sec = longest_sec;
}

/* Directories reveal home directories and projects. */
static void strip_directory(char *path)
{
	char *slash = path ? strrchr(path, '/') : NULL;

	if (slash)
		memmove(path, slash + 1, strlen(slash));
}

void np_record_make_public(struct np_record *record, uid_t by)
{
	record->uid = by;
	strip_directory(record->executable);
	free_text(&record->nodes);
	free_text(&record->host);
	for (size_t i = 0; i < record->n_leaves; i++)
		make_empty(record->leaves[i].nodes);
	if (record->level)
		make_empty(record->level->nodes);
	strip_neighbours(record);
	while (record->n_notes) /* free text with host names and paths */
		free(record->notes[--record->n_notes]);
}
