/*
 * What a simulation costs: 10,000 nodes under 600 leaf switches, 10^3 to 10^6
 * jobs, without placement and with mode enforce.
 *
 *   bench_simulate [MOST-JOBS [MOST-JOBS-WITH-ENFORCE]]
 *
 * One line for each: CPU time, time for a job, how the time grows with the
 * number of jobs, memory. Exit 1 if a million jobs take more than five minutes
 * of CPU time without placement, or more than 1 GiB.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench_big.h"
#include "np_bits.h"
#include "np_simulate.h"

#define WORDS ((BENCH_NODES + 63) / 64)
#define MOST_JOBS 1000000
#define MOST_ENFORCED 10000 /* without the second argument; a decision costs */
#define MOST_SEC 300
#define MOST_BYTES (1u << 30)
#define LOAD 0.85 /* of all nodes that jobs input for */

/* Sizes and times as in public logs: most are small and short, few are not. */
static void make_jobs(struct np_sim_job *job, size_t n)
{
	double at = 0, node_sec = 0, gap;

	for (size_t i = 0; i < n; i++) {
		struct np_sim_job *j = &job[i];
		double sec = exp(3 + 8 * bench_random()); /* 20 s to 16 h */

		*j = (struct np_sim_job){
			.run_sec = (uint32_t)sec,
			.nodes = 1u
			      << bench_below(bench_random() < .9 ? 6 : 11),
			.after = NP_SIM_NO_JOB,
			.user = bench_below(BENCH_USERS),
			.profile = bench_random() < .5 ?
					   NP_PROFILE_UNKNOWN :
					   (int32_t)bench_below(100),
		};
		j->limit_sec =
			(uint32_t)(sec * (1 + 4 * bench_random()) / 300 + 1) *
			300;
		node_sec += j->nodes * sec;
	}
	gap = node_sec / (double)n / (LOAD * BENCH_NODES);
	for (size_t i = 0; i < n; i++) {
		at -= gap * log1p(-bench_random());
		job[i].submit_sec = (int64_t)at;
	}
}

static double memory(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return 1024.0 * (double)use.ru_maxrss;
}

static double simulate(const struct np_sim_input *input, const char *what,
		       double before_sec)
{
	struct np_sim_outcome *outcome = calloc(input->n, sizeof(*outcome));
	struct bench_span begin = bench_now(), took;
	struct np_sim_counts c;
	struct np_err err;
	double wait = 0;

	bench_must(np_simulate(input, outcome, &c, &err), &err);
	took = bench_since(begin);
	for (size_t i = 0; i < input->n; i++)
		if (outcome[i].start_sec >= 0)
			wait += (double)(outcome[i].start_sec -
					 outcome[i].eligible_sec);
	printf("%-8s %8zu jobs %8.2f s CPU %7.1f us a job", what, input->n,
	       took.cpu_sec, 1e6 * took.cpu_sec / (double)input->n);
	if (before_sec > 0)
		printf("  growth n^%.2f", log10(took.cpu_sec / before_sec));
	printf("  %zu decisions, mean wait %.0f s, %.0f MB\n", c.decisions,
	       wait / (double)input->n, 1e-6 * memory());
	fflush(stdout);
	free(outcome);
	return took.cpu_sec;
}

int main(int argc, char **argv)
{
	size_t most = argc > 1 ? strtoul(argv[1], NULL, 10) : MOST_JOBS;
	size_t enforced = argc > 2 ? strtoul(argv[2], NULL, 10) : MOST_ENFORCED;
	uint64_t all[WORDS] = { 0 };
	const uint64_t *partition[] = { all };
	struct np_sim_cluster cluster = {
		.leaves = bench_leaves(),
		.cpus = 1,
		.partition = partition,
		.n_partitions = 1,
	};
	struct np_sim_policy enforce = { .mode = NP_MODE_ENFORCE,
					 .interval_sec = 2 };
	struct np_sim_scheduler scheduler;
	struct np_sim_input input = { .cluster = &cluster,
				      .scheduler = &scheduler,
				      .slowdowns = bench_slowdowns(
					      &bench_mixes[0]) };
	struct np_sim_job *job;
	double off = 0, on = 0;
	bool good;

	if (most < 1000 || argc > 3) {
		fprintf(stderr,
			"usage: bench_simulate [MOST-JOBS [MOST-JOBS-WITH-"
			"ENFORCE]]\n");
		return 2;
	}
	for (size_t i = 0; i < BENCH_NODES; i++)
		np_bits_set(all, i);
	np_sim_scheduler_init(&scheduler);
	np_policy_init(&enforce.policy);
	job = calloc(most, sizeof(*job));
	input.job = job;
	for (input.n = 1000; input.n <= most; input.n *= 10) {
		make_jobs(job, input.n);
		input.policy = NULL;
		off = simulate(&input, "off", off);
		input.policy = &enforce;
		if (input.n <= enforced)
			on = simulate(&input, "enforce", on);
	}
	good = off <= MOST_SEC && memory() <= MOST_BYTES;
	if (!good)
		printf("  too much: at most %d s of CPU time without "
		       "placement, and 1 GiB\n",
		       MOST_SEC);
	free(job);
	np_slowdowns_unref(input.slowdowns);
	np_leaves_unref(cluster.leaves);
	return !good;
}
