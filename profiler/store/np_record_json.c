/*
 * Run records as JSON, schema 1: the members, see netprof-profile(5), and what
 * is asked of a record as a whole.
 */
#include "np_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_fields.h"

/*
 * Honest records stay far below; a hostile one takes about 100 MB, and 0.1 s.
 */
static const struct np_jlimits limits = {
	.objects = 32768, .arrays = 262144, .elements = 524288,
};

/*
 * Windows written for all leaves together, of some 45 bytes each; they merge in
 * pairs beyond.
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
	struct np_jput o = { { .where = where, .err = err }, merge_of(r), 0 };
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
