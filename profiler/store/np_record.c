#include "np_record.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_fields.h"
#include "np_text.h"

/* ---- JSON, schema 1: see netprof-profile(5) ---- */

/*
 * Real records stay far below; a hostile one costs its reader at most about
 * 100 MB and 0.1 s.
 */
static const struct np_jlimits limits = {
	.objects = 32768, .arrays = 262144, .elements = 524288,
};

/*
 * Windows written for all leaf switches together, about 45 bytes each; beyond
 * that they are merged in pairs.
 */
#define MAX_WINDOWS 16384

#define FIELD NP_FIELD

static const struct np_field probe_fields[] = {
	FIELD(np_probe_run, NP_F_U32, message_bytes, UINT32_MAX, 0),
	FIELD(np_probe_run, NP_F_REAL, period_sec, NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_probe_run, NP_F_U32, per_node, UINT32_MAX, 0),
	FIELD(np_probe_run, NP_F_U32, n_processes, UINT32_MAX, 0),
	FIELD(np_probe_run, NP_F_TEXT, transport, NP_JSON_WORD, 0),
	FIELD(np_probe_run, NP_F_U64, messages, NP_JSON_COUNT, 0),
	FIELD(np_probe_run, NP_F_REAL, cpu_sec_max, NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_probe_run, NP_F_REAL, cpu_sec_sum,
	      65536 * NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_probe_run, NP_F_REAL, elapsed_sec, NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_probe_run, NP_F_U64, rss_bytes_max, NP_JSON_COUNT, 0),
};
static const struct np_fields probe_table =
	NP_FIELDS(probe_fields, np_probe_run);

static const struct np_field traffic_fields[] = {
	FIELD(np_traffic_run, NP_F_U32, n_nodes, NP_RECORD_MAX_NODES, 0),
	FIELD(np_traffic_run, NP_F_REAL, node_sec,
	      65536 * NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_traffic_run, NP_F_REAL, bytes, 1e24, 0),
	FIELD(np_traffic_run, NP_F_REAL, link, 1e15, 0),
};
static const struct np_fields traffic_table =
	NP_FIELDS(traffic_fields, np_traffic_run);

static const struct np_field nic_fields[] = {
	FIELD(np_nic_run, NP_F_TEXT, device, NP_JSON_WORD, NP_F_NEVER_NULL),
	FIELD(np_nic_run, NP_F_U32, n_nodes, NP_RECORD_MAX_NODES, 0),
	FIELD(np_nic_run, NP_F_REAL, node_sec, 65536 * NP_JSON_ELAPSED_SEC, 0),
#define COUNT(name, kind) \
	{ name, NP_F_REAL, offsetof(struct np_nic_run, n[NP_NIC_##kind]), \
	  .max = 1e24, .flags = NP_F_NAN }
	COUNT("sent", SENT),
	COUNT("received", RECEIVED),
	COUNT("wait", WAIT),
	COUNT("pause", PAUSE),
	COUNT("ecn", ECN),
	COUNT("cnp", CNP),
	COUNT("discards", DISCARD),
	COUNT("retries", RETRY),
#undef COUNT
};
static const struct np_fields nic_table = NP_FIELDS(nic_fields, np_nic_run);

static const struct np_field level_fields[] = {
	FIELD(np_level_run, NP_F_TEXT, name, NP_JSON_WORD, NP_F_NEVER_NULL),
	FIELD(np_level_run, NP_F_U32, partners, UINT32_MAX, 0),
	FIELD(np_level_run, NP_F_U32, messages, UINT32_MAX, 0),
	FIELD(np_level_run, NP_F_U32, bytes, UINT32_MAX, 0),
	FIELD(np_level_run, NP_F_REAL, pause_sec, NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_level_run, NP_F_TEXT, scope, NP_JSON_WORD, NP_F_NEVER_NULL),
	FIELD(np_level_run, NP_F_TEXT, nodes, NP_JSON_HOSTLIST,
	      NP_F_NEVER_NULL),
	FIELD(np_level_run, NP_F_U32, n_processes, UINT32_MAX, 0),
	FIELD(np_level_run, NP_F_MOMENTS, alone_round_sec,
	      NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_level_run, NP_F_MOMENTS, beside_round_sec,
	      NP_JSON_ELAPSED_SEC, 0),
};
static const struct np_fields level_table =
	NP_FIELDS(level_fields, np_level_run);

static const struct np_field leaf_fields[] = {
	FIELD(np_leaf_run, NP_F_TEXT, name, NP_JSON_WORD, NP_F_NEVER_NULL),
	FIELD(np_leaf_run, NP_F_TEXT, nodes, NP_JSON_HOSTLIST, NP_F_NEVER_NULL),
	FIELD(np_leaf_run, NP_F_U32, n_nodes, NP_RECORD_MAX_NODES, 0),
	FIELD(np_leaf_run, NP_F_U32, n_pairs, UINT32_MAX, 0),
	FIELD(np_leaf_run, NP_F_TEXT, skipped, NP_JSON_WORD, 0),
	FIELD(np_leaf_run, NP_F_MOMENTS, latency, NP_JSON_LATENCY_SEC, 0),
	{ "hist", NP_F_HIST, offsetof(struct np_leaf_run, hist),
	  .count = offsetof(struct np_leaf_run, latency.n) },
	{ "windows", NP_F_SERIES, offsetof(struct np_leaf_run, windows),
	  .count = offsetof(struct np_leaf_run, latency.n) },
};
static const struct np_fields leaf_table =
	NP_FIELDS(leaf_fields, np_leaf_run);

static const struct np_field block_fields[] = {
	FIELD(np_block_run, NP_F_TEXT, level, NP_JSON_WORD, 0),
	FIELD(np_block_run, NP_F_REAL, at_sec, NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_block_run, NP_F_REAL, sec, NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_block_run, NP_F_REAL, rate, 1e15, 0),
	FIELD(np_block_run, NP_F_REAL, calls, 1e12, NP_F_NAN),
	FIELD(np_block_run, NP_F_MOMENTS, round_sec, NP_JSON_ELAPSED_SEC, 0),
};
static const struct np_fields block_table =
	NP_FIELDS(block_fields, np_block_run);

static const struct np_field neighbour_fields[] = {
	FIELD(np_neighbour, NP_F_U32, job_id, UINT32_MAX, 0),
	FIELD(np_neighbour, NP_F_LONG, step_id, UINT32_MAX, 0),
	FIELD(np_neighbour, NP_F_TEXT, leaf, NP_JSON_WORD, NP_F_NEVER_NULL),
	FIELD(np_neighbour, NP_F_TEXT, nodes, NP_JSON_HOSTLIST,
	      NP_F_NEVER_NULL),
	FIELD(np_neighbour, NP_F_REAL, overlap_sec, NP_JSON_ELAPSED_SEC, 0),
};
static const struct np_fields neighbour_table =
	NP_FIELDS(neighbour_fields, np_neighbour);

const char *const np_run_states[] = {
	[NP_RUN_RUNNING] = "running",
	[NP_RUN_COMPLETE] = "complete",
	[NP_RUN_CUT] = "cut",
	NULL
};

static const struct np_field record_fields[] = {
	{ "schema", NP_F_SCHEMA, .max = NP_RECORD_SCHEMA },
	FIELD(np_record, NP_F_APP, app, NP_APP_MAX, NP_F_NEEDED),
	{ "state", NP_F_WORD, offsetof(struct np_record, state),
	  .words = np_run_states },
	FIELD(np_record, NP_F_U32, uid, UINT32_MAX, NP_F_NEEDED),
	FIELD(np_record, NP_F_TEXT, cluster, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_U32, job_id, UINT32_MAX, NP_F_NEEDED),
	FIELD(np_record, NP_F_LONG, array_job_id, UINT32_MAX, 0),
	FIELD(np_record, NP_F_LONG, array_task_id, UINT32_MAX, 0),
	FIELD(np_record, NP_F_LONG, het_component, UINT32_MAX, 0),
	FIELD(np_record, NP_F_U32, step_id, UINT32_MAX, NP_F_NEEDED),
	FIELD(np_record, NP_F_TEXT, executable, NP_JSON_PATH, 0),
	FIELD(np_record, NP_F_TEXT, fingerprint, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_U32, n_tasks, UINT32_MAX, 0),
	FIELD(np_record, NP_F_U32, n_nodes, NP_RECORD_MAX_NODES, 0),
	FIELD(np_record, NP_F_TEXT, nodes, NP_JSON_HOSTLIST, 0),
	FIELD(np_record, NP_F_TEXT, tasks_per_node, NP_JSON_PATH, 0),
	FIELD(np_record, NP_F_TEXT, task_order, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_TEXT, cpu_bind, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_U32, cpus_per_task, UINT32_MAX, 0),
	FIELD(np_record, NP_F_REAL, start, NP_JSON_DATE, NP_F_NEEDED),
	FIELD(np_record, NP_F_REAL, end, NP_JSON_DATE, NP_F_NEEDED),
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
	NP_FIELD_OF(np_record, NP_F_PART, level, &level_table),
	NP_FIELD_LIST(np_record, "leaves", leaves, n_leaves,
		      NP_RECORD_MAX_LEAVES, 0, &leaf_table, { "hist" }),
	FIELD(np_record, NP_F_TEXT, blocks_scope, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_U32, blocks_nodes, NP_RECORD_MAX_NODES, 0),
	NP_FIELD_LIST(np_record, "blocks_alone", blocks_alone, n_blocks_alone,
		      NP_RECORD_MAX_BLOCKS, 0, &block_table),
	NP_FIELD_LIST(np_record, "blocks", blocks, n_blocks,
		      NP_RECORD_MAX_BLOCKS, 0, &block_table),
	NP_FIELD_LIST(np_record, "neighbours", neighbours, n_neighbours,
		      NP_RECORD_MAX_NEIGHBOURS, 0, &neighbour_table),
	{ "notes", NP_F_TEXTS, offsetof(struct np_record, notes),
	  .max = NP_RECORD_MAX_NOTES,
	  .count = offsetof(struct np_record, n_notes),
	  .text_max = NP_JSON_WORD },
};
static const struct np_fields record_table =
	NP_FIELDS(record_fields, np_record);

/* How many windows are merged into one to keep the record small. */
static size_t merge_factor(const struct np_record *r)
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

static int check_size(const struct np_jat *at, const char *text, size_t len)
{
	if (len > NP_RECORD_MAX_BYTES)
		return np_errf(at->err, -EINVAL,
			       "%s: %zu bytes, expected at most %u", at->where,
			       len, NP_RECORD_MAX_BYTES);
	return np_jtext_within(text, len, &limits) ? 0 :
	       np_jat_refuse(at, "", "fewer objects, arrays and elements");
}

static int out_of_memory(const char *where, struct np_err *err)
{
	return np_errf(err, -ENOMEM, "%s: out of memory", where);
}

int np_record_write(const struct np_record *r, const char *where, char **out,
		    struct np_err *err)
{
	struct np_jput o = { .at = { .where = where, .err = err },
			     .merge = merge_factor(r) };
	char *text = NULL;
	int rc = np_fields_print(&o, r, &record_table, &text);

	if (!rc)
		rc = check_size(&o.at, text, strlen(text));
	if (rc)
		free(text);
	else
		*out = text;
	return rc == -ENOMEM ? out_of_memory(where, err) : rc;
}

int np_record_from_json(const char *text, size_t len, const char *where,
			struct np_record **out, struct np_err *err)
{
	struct np_jat in = { .where = where, .err = err };
	struct np_record *r;
	int rc = check_size(&in, text, len);

	if (rc)
		return rc;
	r = np_record_new();
	rc = r ? np_fields_parse(&in, text, len, r, &record_table) : -ENOMEM;
	if (rc)
		np_record_free(r);
	else
		*out = r;
	return rc == -ENOMEM ? out_of_memory(where, err) : rc;
}

void np_record_free(struct np_record *r)
{
	if (r)
		np_fields_free(r, &record_table);
	free(r);
}

/* ---- building a record ---- */

#define NOTE_MAX 256 /* bytes */

struct np_record *np_record_new(void)
{
	struct np_record *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->array_job_id = r->array_task_id = NP_NO_VALUE;
	r->het_component = r->exit_code = NP_NO_VALUE;
	return r;
}

double np_record_run_sec(const struct np_record *r)
{
	double sec = r->end - r->start - r->alone_sec;

	return sec > 0 ? sec : 0;
}

struct np_leaf_run *np_record_leaf(struct np_record *r, const char *name)
{
	struct np_leaf_run *leaf;

	for (size_t i = 0; i < r->n_leaves; i++)
		if (!strcmp(r->leaves[i].name, name))
			return &r->leaves[i];
	if (r->n_leaves >= NP_RECORD_MAX_LEAVES ||
	    np_array_resize(&r->leaves, r->n_leaves + 1, sizeof(*leaf)))
		return NULL;
	leaf = &r->leaves[r->n_leaves];
	memset(leaf, 0, sizeof(*leaf));
	leaf->name = strdup(name);
	if (!leaf->name)
		return NULL;
	r->n_leaves++;
	return leaf;
}

struct np_nic_run *np_record_nic(struct np_record *r, const char *device)
{
	struct np_nic_run *nic;

	for (size_t i = 0; i < r->n_nics; i++)
		if (!strcmp(r->nics[i].device, device))
			return &r->nics[i];
	if (r->n_nics >= NP_RECORD_MAX_NICS ||
	    np_array_resize(&r->nics, r->n_nics + 1, sizeof(*nic)))
		return NULL;
	nic = &r->nics[r->n_nics];
	*nic = (struct np_nic_run){ .device = strdup(device) };
	for (size_t k = 0; k < NP_NIC_KINDS; k++)
		nic->n[k] = NAN;
	if (!nic->device)
		return NULL;
	r->n_nics++;
	return nic;
}

static bool has_note(const struct np_record *r, const char *line)
{
	for (size_t i = 0; i < r->n_notes; i++)
		if (!strcmp(r->notes[i], line))
			return true;
	return false;
}

void np_record_note(struct np_record *r, const char *fmt, ...)
{
	char line[NOTE_MAX];
	va_list ap;

	va_start(ap, fmt);
	np_text_print(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (has_note(r, line) || r->n_notes >= NP_RECORD_MAX_NOTES ||
	    np_array_resize(&r->notes, r->n_notes + 1, sizeof(*r->notes)))
		return;
	r->notes[r->n_notes] = strdup(line);
	if (r->notes[r->n_notes])
		r->n_notes++;
}

/* ---- publishing a record ---- */

static void drop(char **text)
{
	free(*text);
	*text = NULL;
}

/* Empty a text that must not be missing. */
static void clear(char *text)
{
	if (text)
		*text = '\0';
}

/* Later only the presence of neighbours and the longest overlap matter. */
static void strip_neighbours(struct np_record *r)
{
	double most = 0;

	for (size_t i = 0; i < r->n_neighbours; i++)
		most = fmax(most, r->neighbours[i].overlap_sec);
	while (r->n_neighbours > (most > 0)) {
		struct np_neighbour *n = &r->neighbours[--r->n_neighbours];

		free(n->leaf);
		free(n->nodes);
	}
	if (!r->n_neighbours)
		return;
	clear(r->neighbours->leaf);
	clear(r->neighbours->nodes);
	r->neighbours->job_id = 0;
	r->neighbours->step_id = NP_NO_VALUE;
	r->neighbours->overlap_sec = most;
}

/* Directories reveal home directories and projects. */
static void strip_directory(char *path)
{
	char *slash = path ? strrchr(path, '/') : NULL;

	if (slash)
		memmove(path, slash + 1, strlen(slash));
}

void np_record_make_public(struct np_record *r, uid_t by)
{
	r->uid = by;
	strip_directory(r->executable);
	drop(&r->nodes);
	drop(&r->host);
	for (size_t i = 0; i < r->n_leaves; i++)
		clear(r->leaves[i].nodes);
	if (r->level)
		clear(r->level->nodes);
	strip_neighbours(r);
	while (r->n_notes) /* free text with host names and paths */
		free(r->notes[--r->n_notes]);
}
