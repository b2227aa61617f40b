/*
 * The diagnosis of a job, measured or not, from Slurm's accounting and the
 * site's metrics server: whether it was slow, and whether due to the network.
 *
 * cli_diagnosis.c gathers the data. From sacct and scontrol, or from files with
 * their output, it gets the job, comparable runs and the jobs on the same leaf
 * switches; from the metrics server, what the nodes did meanwhile. np_examine.h
 * then attributes the excess of the run time to causes, and
 * cli_diagnosis_output.c prints the result.
 */
#ifndef CLI_DIAGNOSIS_H
#define CLI_DIAGNOSIS_H

#include <stdio.h>

#include <json-c/json.h>

#include "cli.h"
#include "np_acct.h"
#include "np_examine.h"
#include "np_moments.h"

/* Default of --since, in seconds; of netprof blame, and its limit for sacct. */
#define CLI_DIAGNOSIS_SINCE (30 * 86400.0)
#define CLI_BLAME_SINCE (7 * 86400.0)
#define CLI_BLAME_MOST (92 * 86400.0)
#define CLI_DIAGNOSIS_RUNS 24 /* most comparable runs that are examined */
#define CLI_DIAGNOSIS_STEPS NP_EXAMINE_WINDOWS /* most steps of a timeline */
/*
 * Most leaf switches of a job whose nodes are queried, and most nodes of each;
 * those of the job come first.
 */
#define CLI_DIAGNOSIS_LEAVES 8
#define CLI_DIAGNOSIS_LEAF_NODES 512

/* The options of the commands. */
struct cli_diagnosis_opt {
	/* Files with output of sacct and scontrol; NULL: run these commands. */
	const char *accounting, *topology;
	const char *metrics_url; /* of cli_diagnosis_conf(); NULL: configured */
	/*
	 * Greatest age of the runs that are compared, seconds; 0: not given;
	 * NaN: all runs of the file are compared.
	 */
	double since_sec;
	/*
	 * Summarises the probes of a job in out->n windows of step_sec from
	 * start on; if it was not measured, delayed is NaN and n is 0. NULL: no
	 * job was measured.
	 */
	void (*probes)(void *arg, uint32_t job_id, double start,
		       double step_sec, struct np_examine_probes *out);
	void *probes_arg;
};

/*
 * The timeline of the job, in steps of equal length: its probes and, with
 * metrics, the leaf switch where other jobs had the most traffic.
 */
struct cli_timeline {
	double start; /* seconds since 1970 */
	double step_sec;
	size_t n; /* steps; 0: neither is known */
	bool has_probes;
	/* Share of its probes that was delayed, as in np_examine_probes. */
	double delayed[CLI_DIAGNOSIS_STEPS];
	bool has_metrics; /* what follows is valid */
	uint32_t leaf;
	/* Traffic of the job's nodes and of others, bytes/s; NaN: no value. */
	double own[CLI_DIAGNOSIS_STEPS], others[CLI_DIAGNOSIS_STEPS];
	/*
	 * Each signal of the worst node of the job, and that node; of traffic,
	 * that of others on the leaf switch where they sent most, and that leaf
	 * switch. NaN: no value. Only traffic and waiting for processors and
	 * I/O have values for every job, other signals if they are unusual.
	 */
	double value[NP_N_SIGNALS][CLI_DIAGNOSIS_STEPS];
	uint32_t place[NP_N_SIGNALS][CLI_DIAGNOSIS_STEPS];
	/* The same of the worst node that is not the job's, if it is unusual. */
	double near[NP_N_SIGNALS][CLI_DIAGNOSIS_STEPS];
	uint32_t near_place[NP_N_SIGNALS][CLI_DIAGNOSIS_STEPS];
};

struct cli_diagnosis {
	struct np_acct acct;
	const struct np_acct_job *job; /* in acct; NULL: it has no such job */
	struct np_err why;	       /* why there is no accounting, or "" */
	double since_sec;
	/* Comparable runs that are examined, indices into acct.job. */
	uint32_t comparable[CLI_DIAGNOSIS_RUNS];
	size_t n_examined, n_comparable; /* in that array; in the accounting */
	enum np_acct_same same;		 /* what they have in common */
	bool named;			 /* the job's name says what it runs */
	double shortest, longest; /* run times of comparable[], seconds */
	struct np_acct_neighbour *neighbour; /* jobs on the same leaf switches */
	size_t n_neighbours;
	/*
	 * Values of each neighbour during the job, for the signals of
	 * np_examine_is_near(): sums over its nodes there, and of the load the
	 * largest; NaN: not known.
	 */
	double (*neighbour_value)[NP_N_SIGNALS];
	/* The neighbour on the node of result.near, or NP_NO_INDEX. */
	uint32_t near_neighbour[NP_N_SIGNALS];
	bool masked;		 /* jobs of other users are private */
	struct np_err not_named; /* why that is assumed but not known, or "" */
	bool examined;		 /* result is valid */
	struct np_examine_result result;
	bool metrics;		  /* the metrics server answered */
	struct np_err no_metrics; /* why it was not asked, or what is missing */
	size_t n_queries;
	size_t n_without;      /* nodes of the job without any sample */
	size_t n_runs_without; /* comparable runs, if the job has samples */
	/* On its leaf switches, beyond the limits of the queries. */
	size_t n_nodes_skipped, n_leaves_skipped;
	struct cli_timeline timeline;
};

/* Parse AGE of --since, "7d" or "36h", into the double at sec, in seconds. */
int cli_since_parse(char *text, void *sec, struct np_err *err);
/*
 * Set since_sec to sec, unless it was given, or to NaN for a file, with which
 * it has no effect. Returns -1, or the exit status.
 */
int cli_since_default(const struct cli_cmd *self, struct cli_diagnosis_opt *opt,
		      double sec);

/*
 * Parse a job of the command line, "123" or "123_4"; *task is NP_ACCT_NO_TASK
 * without one. Returns -1 to continue, or the exit status after printing an
 * error.
 */
int cli_job_parse(const struct cli_cmd *self, const char *word, uint32_t *id,
		  uint32_t *task);

/*
 * Check the options, and read the metrics server from netprof.conf and
 * opt->metrics_url. Returns -1 to continue, or the exit status after printing
 * an error.
 */
int cli_diagnosis_conf(const struct cli_cmd *self,
		       const struct cli_diagnosis_opt *opt,
		       struct np_metrics_conf *out);

/*
 * Look the job up and examine it. diagnosis->job is NULL if the job is not
 * found, or if there is no accounting (diagnosis->why). now: seconds since 1970.
 * The caller calls cli_diagnosis_free().
 */
void cli_diagnosis_make(struct cli_diagnosis *diagnosis,
			const struct cli_diagnosis_opt *opt,
			const struct np_metrics_conf *conf, uint32_t id,
			uint32_t task, double now);
void cli_diagnosis_free(struct cli_diagnosis *diagnosis);

/*
 * For netprof blame: load all jobs of the last since_sec seconds. Returns 0 or
 * -errno with err, -ERANGE if they are too many; the caller calls
 * np_acct_free() in any case.
 */
int cli_accounting_load(struct np_acct *acct,
			const struct cli_diagnosis_opt *opt, double now,
			struct np_err *err);

/*
 * cli_diagnosis_output.c: the result as text, as member "accounting" of a JSON
 * object (only if there is a job), and as a figure that the caller frees. The
 * job must exist for text and figure.
 */
struct np_figure;
void cli_diagnosis_text(FILE *f, const struct cli_diagnosis *diagnosis);

/* Print how many nodes of jobs the topology does not have, if any. */
void cli_print_off_leaves(FILE *f, const struct np_acct *acct);
void cli_diagnosis_json(json_object *parent,
			const struct cli_diagnosis *diagnosis);
struct np_figure *cli_diagnosis_figure(const struct cli_diagnosis *diagnosis);

/*
 * For netprof blame and its section in the report: the first sentence, how much
 * all jobs lost; and the rows of each list, the costliest first.
 */
struct np_job_cost;
const char *cli_blame_verdict(const struct np_job_cost *cost);

enum cli_blame_list { CLI_BLAME_PAIRS, CLI_BLAME_LEAVES, CLI_BLAME_NODES };
struct cli_blame_row {
	/* The slowed application, "USER/JOBNAME", and the other one; or the
	   leaf switch or node, and NULL. */
	const char *names[2];
	uint32_t runs;					  /* 0: not counted */
	const struct np_blame_range *node_hours, *slower; /* slower: or NULL */
};
/* Make row i of a list; false: there are no more. */
bool cli_blame_row(const struct np_acct *acct, const struct np_job_cost *cost,
		   enum cli_blame_list list, size_t i,
		   struct cli_blame_row *row);

/* Names in the accounting, by their numbers, at most 255 bytes of each. */
const char *cli_acct_text(const struct np_acct *acct, uint32_t number);
const char *cli_acct_node(const struct np_acct *acct, uint32_t number);
const char *cli_acct_leaf(const struct np_acct *acct, uint32_t number);

/*
 * A sentence on the run time of a measured step: "It took 35.0 s, 40 % longer
 * than alone (25.0 s, 5 runs); ...". predicted: slowdown predicted from its
 * neighbours, a fraction; NULL: unknown. Exported for the unit tests.
 */
const char *cli_run_time_text(double run_sec, const struct np_mean *alone,
			      const double *predicted);

#endif
