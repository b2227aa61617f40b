/* The work of `netprof simulate`, and its pages. */
#ifndef CLI_SIMULATE_H
#define CLI_SIMULATE_H

#include <stdio.h>

#include "cli_options.h"
#include "np_conf.h"
#include "np_queue_log.h"
#include "np_sim_result.h"

#define CLI_SIM_POLICIES 16
#define CLI_SIM_SEEDS 100
#define CLI_SIM_SETTINGS 16
#define CLI_SIM_NAME 64 /* of a policy or a profile */

/* A profile of the simulation: a name, and its handle is its index. */
struct cli_sim_profiles {
	char (*name)[CLI_SIM_NAME];
	size_t n;
};

struct cli_sim_policy {
	char name[CLI_SIM_NAME]; /* "enforce", "enforce:MaxSlowdown=20%" */
	struct np_sim_policy p;
	/* Sums over seeds, then means. */
	struct np_sim_summary sum;
	struct np_sim_units units; /* beside the first policy */
	struct np_sim_gain gain;
};

/* Options. */
struct cli_sim_ask {
	const char *swf, *sacct, *last; /* one of them: where jobs are from */
	const char *leaves, *topology;	/* where the cluster is from */
	uint32_t cpus;			/* --cpus-per-node; 0: not given */
	const char *rules, *mix, *pairs, *policies, *events;
	char *setting[CLI_SIM_SETTINGS];
	size_t n_settings;
	uint32_t seeds;
	bool by_submission; /* --order=submit */
	bool rigid;	    /* --fixed-run-times */
	struct np_sim_scheduler scheduler;
};

struct cli_simulate {
	const struct cli_sim_ask *o;
	struct np_queue_log log;
	char source[256];

	struct np_leaves *leaves;
	struct np_sim_cluster cluster;
	uint64_t *sets; /* of the partitions */
	const uint64_t *partition[NP_SIM_MAX_PARTITIONS];
	uint32_t *partition_of; /* per text of the log: its partition */
	char cluster_text[160];

	struct np_sim_job *job;
	struct cli_sim_profiles profiles;
	struct np_press *press;
	char press_text[200]; /* where predictions are from */
	double known_node_sec, all_node_sec; /* jobs with a profile, and all */
	size_t known_jobs;
	double worst; /* slowdown of any of their profiles beside any other */
	uint32_t merged; /* partitions beyond the limit, put into the last */

	struct cli_sim_policy policy[CLI_SIM_POLICIES];
	size_t n_policies, seeds_done;
	bool stopped;
	double share_done;
	/* Of the first policy that acts and the first seed: who paid. */
	struct np_sim_fate *without, *with;
	FILE *events;
};

/*
 * cli_simulate_setup.c: each returns -1 to go on, or the exit status after
 * saying why.
 */
int cli_sim_jobs(struct cli_simulate *s);
int cli_sim_cluster(struct cli_simulate *s);
int cli_sim_queue(struct cli_simulate *s);
int cli_sim_profiles(struct cli_simulate *s);
int cli_sim_policies(struct cli_simulate *s);
/* The profile of each job, drawn by --mix for that seed. */
void cli_sim_draw(struct cli_simulate *s, uint32_t seed);

/* Each prints it and returns the exit status. */
int cli_sim_text(const struct cli_simulate *s);
int cli_sim_data(const struct cli_simulate *s, enum cli_format format);
int cli_sim_plot(const struct cli_simulate *s, const char *path);

#endif
