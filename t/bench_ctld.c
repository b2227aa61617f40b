#include "bench_ctld.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"

#define NODES BENCH_NODES
#define JOBS (BENCH_RUNNING + BENCH_PENDING)

static node_info_t node[NODES];
static char node_name[NODES][12];
static partition_info_t part[NP_MODE_ENFORCE + 1]; /* one for each mode */
static slurm_job_info_t job[JOBS];
static char job_app[JOBS][12];
static int32_t *job_pairs[JOBS];
static char *job_comment[JOBS];
static node_info_msg_t nodes = { .record_count = NODES, .node_array = node };
static partition_info_msg_t parts = { .record_count = NP_MODE_ENFORCE + 1,
				      .partition_array = part };
static job_info_msg_t jobs = { .record_count = JOBS, .job_array = job };
static char *topology;

void ctld_make_nodes(bool shuffled)
{
	static int32_t all[] = { 0, NODES - 1, -1 };
	size_t size;
	FILE *f;

	free(topology);
	f = open_memstream(&topology, &size);
	for (uint32_t i = 0; i < NODES; i++) {
		snprintf(node_name[i], sizeof(node_name[i]), "node%05u",
			 shuffled ? i * 7 % NODES : i);
		node[i] = (node_info_t){
			.name = node_name[i],
			.cpus = 128,
			.real_memory = 512000,
			.node_state = NODE_STATE_IDLE,
		};
	}
	for (uint32_t i = 0; i < BENCH_LEAVES; i++)
		fprintf(f, "SwitchName=leaf%u Level=0 Nodes=node[%05u-%05u]\n",
			i, bench_first_node(i), bench_first_node(i + 1) - 1);
	fclose(f);
	for (int i = 0; i <= NP_MODE_ENFORCE; i++)
		part[i] = (partition_info_t){
			.name = (char *)np_mode_name((enum np_mode)i),
			.node_inx = all,
			.max_share = 1,
		};
}

char *ctld_partition(const struct bench_mix *m)
{
	uint32_t mode;

	do
		mode = bench_below(NP_MODE_ENFORCE + 1);
	while (!(m->modes & 1u << mode));
	return part[mode].name;
}

static void make_job(uint32_t i, const struct bench_mix *m)
{
	uint32_t app = bench_below(m->profiles);

	/* One in ten is of nobody's applications. */
	snprintf(job_app[i], sizeof(job_app[i]), "%s%u",
		 bench_random() < .1 ? "other" : "app", app);
	job[i] = (slurm_job_info_t){
		.job_id = i + 1,
		.user_id = app % BENCH_USERS,
		.name = job_app[i],
		.partition = ctld_partition(m),
		.job_state = JOB_PENDING,
		.state_reason = WAIT_RESOURCES,
		.priority = 1 + bench_below(1000),
		.num_cpus = 1,
		.num_nodes = 1,
		.num_tasks = 1,
		.ntasks_per_node = NO_VAL16,
		.shared = NO_VAL16,
		.array_task_id = NO_VAL,
		.submit_time = BENCH_NOW - 1000 + bench_below(1000),
	};
}

static void place_jobs(const struct bench_mix *m)
{
	static uint8_t use[NODES];

	memset(use, 0, sizeof(use));
	for (uint32_t i = 0; i < JOBS; i++) {
		uint32_t n = bench_random() < .95 ? 1 + bench_below(3) : 32;
		uint32_t at = bench_below(NODES - n);
		int32_t pairs[] = { (int32_t)at, (int32_t)(at + n - 1), -1 };

		make_job(i, m);
		free(job_pairs[i]);
		free(job_comment[i]);
		job_comment[i] = NULL;
		job_pairs[i] = malloc(sizeof(pairs));
		memcpy(job_pairs[i], pairs, sizeof(pairs));
		if (i >= BENCH_RUNNING) {
			job[i].num_nodes =
				1 + bench_below(bench_random() < .9 ? 8 : 200);
			if (i % 4)
				job_pairs[i][0] = -1;
			job[i].exc_node_inx = job_pairs[i];
			continue;
		}
		job[i].job_state = JOB_RUNNING;
		job[i].start_time = BENCH_NOW - 500;
		job[i].node_inx = job_pairs[i];
		for (uint32_t k = at; k < at + n; k++)
			use[k]++;
	}
	for (uint32_t i = 0; i < NODES; i++)
		node[i].node_state = use[i] > 3 ? NODE_STATE_ALLOCATED :
				     use[i]	? NODE_STATE_MIXED :
						  NODE_STATE_IDLE;
}

/* Who named the application of a job that waits or runs: its note. */
static void name_jobs(void)
{
	for (uint32_t i = 0; i < JOBS; i++) {
		if (!job_comment[i] &&
		    asprintf(&job_comment[i], "netprof{app=%s}", job_app[i]) <
			    0)
			exit(1);
		job[i].admin_comment = job_comment[i];
	}
}

void ctld_make_jobs(const struct bench_mix *m)
{
	place_jobs(m);
	name_jobs();
}

uint32_t ctld_make_array(uint32_t n, uint32_t *id)
{
	uint32_t owner = job[BENCH_RUNNING].user_id;

	*id = job[BENCH_RUNNING].job_id;
	for (uint32_t i = 0; i < n; i++) {
		slurm_job_info_t *j = &job[BENCH_RUNNING + i];

		j->user_id = owner;
		j->array_job_id = *id;
		j->array_task_id = i;
	}
	return owner;
}

void ctld_end_jobs(void)
{
	for (uint32_t i = 0; i < BENCH_RUNNING; i++) {
		job[i].job_state = JOB_COMPLETE;
		job[i].end_time = BENCH_NOW - (time_t)(i % 100);
	}
}

const struct np_ctld_info *ctld_info(void)
{
	static struct np_ctld_info a;

	a = (struct np_ctld_info){ .nodes = &nodes,
				   .parts = &parts,
				   .jobs = &jobs,
				   .topology = topology };
	return &a;
}

void ctld_update(uint32_t id, const struct np_update *u,
		 const struct np_cluster_map *map, uint64_t *bits)
{
	size_t words = map->words, n = 0;
	uint32_t i = id - 1;
	struct np_err err = { "list" };

	if (u->comment) {
		free(job_comment[i]);
		job_comment[i] = strdup(u->comment);
		job[i].admin_comment = job_comment[i];
	}
	if (u->begin_sec)
		job[i].eligible_time = u->begin_sec;
	if (!u->exc_nodes)
		return;
	bench_must(np_cluster_map_parse_hostlist(map, u->exc_nodes, bits),
		   &err);
	free(job_pairs[i]);
	job_pairs[i] = malloc((NODES + 2) * sizeof(int32_t));
	NP_BITS_EACH(k, bits, words) {
		if (n && job_pairs[i][n - 1] == (int32_t)k - 1) {
			job_pairs[i][n - 1]++;
			continue;
		}
		job_pairs[i][n++] = (int32_t)k;
		job_pairs[i][n++] = (int32_t)k;
	}
	job_pairs[i][n++] = -1;
	job_pairs[i] = realloc(job_pairs[i], n * sizeof(int32_t));
	job[i].exc_node_inx = job_pairs[i];
}

size_t ctld_bytes(void)
{
	size_t n = 0;

	for (uint32_t i = 0; i < JOBS; i++)
		n += malloc_usable_size(job_comment[i]) +
		     malloc_usable_size(job_pairs[i]) - 2 * 24;
	return n;
}
