/* The inputs and results of `netprof simulate`. */
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
#define CLI_SIM_NAME 64 /* bytes of the name of a policy or profile */

/* Names of profiles; the index of a name is the handle of its profile. */
struct cli_sim_profiles {
	char (*name)[CLI_SIM_NAME];
	size_t n;
};

struct cli_sim_policy {
	char name[CLI_SIM_NAME]; /* "enforce", "enforce:MaxSlowdown=20%" */
	struct np_sim_policy p;
	struct np_sim_summary sum; /* means over seeds */
	struct np_sim_units units; /* differences from the first policy */
	struct np_sim_gain gain;
};

/* The options of the command. */
struct cli_sim_ask {
	const char *swf, *sacct, *last; /* source of the jobs: one of them */
	const char *leaves, *topology;	/* source of the cluster */
	uint32_t cpus;			/* --cpus-per-node; 0: not given */
	const char *rules, *mix, *pairs, *policies, *events;
	char *setting[CLI_SIM_SETTINGS];
	size_t n_settings;
	uint32_t seeds;
	bool by_submission; /* --order=submit */
	bool fair;	    /* --order=fairshare */
	bool rigid;	    /* --fixed-run-times */
	struct np_sim_scheduler scheduler;
};

struct cli_simulate {
	const struct cli_sim_ask *o;
	struct np_queue_log log;
	char source[256]; /* where the jobs are from, in words */

	struct np_leaves *leaves;
	struct np_sim_cluster cluster;
	struct np_sim_switch *above; /* above leaf switches */
	uint64_t *above_leaves;	     /* bitmaps of the leaves below each */
	uint64_t *sets; /* nodes of the partitions, as bitmaps */
	const uint64_t *partition[NP_SIM_MAX_PARTITIONS];
	uint32_t *partition_of; /* by text of the log: its partition, from 1 */
	char cluster_text[160];

	struct np_sim_job *job; /* log.n */
	struct cli_sim_profiles profiles;
	struct np_slowdowns *slowdowns;	/* predicted slowdowns of profiles */
	char models_text[200];	/* where the predictions are from, in words */
	double known_node_sec, all_node_sec; /* jobs with a profile; all jobs */
	size_t known_jobs;
	double worst; /* largest slowdown among the profiles that occur */
	uint32_t merged; /* partitions beyond the limit, merged into the last */

	struct cli_sim_policy policy[CLI_SIM_POLICIES];
	size_t n_policies, seeds_done;
	bool stopped;	   /* by the user */
	double share_done; /* of the whole work */
	/* Jobs under the first and the last policy, of the first seed. */
	struct np_sim_outcome *without, *with;
	FILE *events; /* --events, or NULL */
};

/*
 * Read jobs, cluster, profiles and policies as s->o asks.  Returns -1 to go on,
 * or the exit status after printing why.
 */
int cli_sim_prepare(struct cli_simulate *s);

/* Assign profiles to jobs for one seed: drawn by --mix, or else unchanged. */
void cli_sim_draw(struct cli_simulate *s, uint32_t seed);

#endif
