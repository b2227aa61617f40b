/* The members of a run record in JSON; see netprof-profile(5). */
#include "np_record_json.h"

#define FIELD NP_FIELD

static const struct np_field record_fields[] = {
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
	FIELD(np_record, NP_F_REAL, start, NP_JSON_DATE, NP_F_NEEDED),
	FIELD(np_record, NP_F_REAL, end, NP_JSON_DATE, NP_F_NEEDED),
	FIELD(np_record, NP_F_LONG, exit_code, 65535, 0),
	FIELD(np_record, NP_F_REAL, alone_sec, NP_JSON_ELAPSED_SEC, 0),
	FIELD(np_record, NP_F_TEXT, netprof_version, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_TEXT, slurm_version, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_TEXT, ucx_version, NP_JSON_WORD, 0),
	FIELD(np_record, NP_F_TEXT, host, NP_JSON_WORD, 0),
};

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

static const struct np_field leaf_fields[] = {
	FIELD(np_leaf_run, NP_F_TEXT, name, NP_JSON_WORD, NP_F_NEVER_NULL),
	FIELD(np_leaf_run, NP_F_TEXT, nodes, NP_JSON_HOSTLIST, NP_F_NEVER_NULL),
	FIELD(np_leaf_run, NP_F_U32, n_nodes, NP_RECORD_MAX_NODES, 0),
	FIELD(np_leaf_run, NP_F_U32, n_pairs, UINT32_MAX, 0),
	FIELD(np_leaf_run, NP_F_TEXT, skipped, NP_JSON_WORD, 0),
	FIELD(np_leaf_run, NP_F_MOMENTS, latency, NP_JSON_LATENCY_SEC, 0),
};

static const struct np_field neighbour_fields[] = {
	FIELD(np_neighbour, NP_F_U32, job_id, UINT32_MAX, 0),
	FIELD(np_neighbour, NP_F_LONG, step_id, UINT32_MAX, 0),
	FIELD(np_neighbour, NP_F_TEXT, leaf, NP_JSON_WORD, NP_F_NEVER_NULL),
	FIELD(np_neighbour, NP_F_TEXT, nodes, NP_JSON_HOSTLIST,
	      NP_F_NEVER_NULL),
	FIELD(np_neighbour, NP_F_REAL, overlap_sec, NP_JSON_ELAPSED_SEC, 0),
};

const struct np_fields np_record_fields = {
	record_fields, NP_ARRAY_SIZE(record_fields),
};
const struct np_fields np_probe_fields = {
	probe_fields, NP_ARRAY_SIZE(probe_fields),
};
const struct np_fields np_level_fields = {
	level_fields, NP_ARRAY_SIZE(level_fields),
};
const struct np_fields np_leaf_fields = {
	leaf_fields, NP_ARRAY_SIZE(leaf_fields),
};
const struct np_fields np_neighbour_fields = {
	neighbour_fields, NP_ARRAY_SIZE(neighbour_fields),
};

const char *const np_run_states[] = {
	[NP_RUN_RUNNING] = "running",
	[NP_RUN_COMPLETE] = "complete",
	[NP_RUN_CUT] = "cut",
};
const size_t np_n_run_states = NP_ARRAY_SIZE(np_run_states);
