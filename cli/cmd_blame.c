/*
 * netprof blame: which applications, leaf switches and nodes cost most time
 * over some days, from Slurm's accounting alone.
 *
 * np_job_cost_make() compares each run with comparable ones, and sums up what
 * they lost while other applications shared their leaf switches. This file
 * loads the accounting, as netprof explain does, and prints the result.
 *
 * An application of the accounting is a user's job name. A node-hour is one
 * hour of one node.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_gauges.h"
#include "cli_diagnosis.h"
#include "cli_json_put.h"
#include "cli_output.h"
#include "cli_print.h"
#include "cli_state.h"
#include "np_job_cost.h"

#define MAX_ROWS 15 /* of each table in text output */
/*
 * Gauges of each family. Users can make any number of job names, and a
 * monitoring system stores the gauges of every pair of them.
 */
#define MAX_GAUGES 50

/* What netprof blame accepts besides the options of struct cli_options. */
struct blame_opt {
	struct cli_diagnosis_opt diagnosis;
	bool metrics;
};

/* ---- text output ---- */

/* What applications lost to others, the most costly pairs first. */
static void print_pairs(const struct np_acct *acct,
			const struct np_job_cost *costs)
{
	size_t shown = costs->n_pairs < MAX_ROWS ? costs->n_pairs : MAX_ROWS;
	int width = cli_name_column(23, 2);
	char text[400];

	if (!costs->n_pairs)
		return;
	for (size_t i = 0; i < shown; i++) {
		const struct np_job_cost_pair *pair = &costs->pair[i];

		width = cli_widen(width,
				  cli_blame_app(acct, pair->user, pair->name,
						text, sizeof(text)));
		width = cli_widen(width, cli_blame_app(acct, pair->by_user,
						       pair->by_name, text,
						       sizeof(text)));
	}
	cli_head("%-*s %-*s%6s%12s  %s", width, "Slowed", width, "By", "Runs",
		 "Node-hours", "90 % interval");
	for (size_t i = 0; i < shown; i++) {
		const struct np_job_cost_pair *pair = &costs->pair[i];

		cli_blame_app(acct, pair->user, pair->name, text, sizeof(text));
		cli_left(stdout, text, width);
		putchar(' ');
		cli_blame_app(acct, pair->by_user, pair->by_name, text,
			      sizeof(text));
		cli_left(stdout, text, width);
		printf("%6u%12.1f  %.1f to %.1f\n", pair->runs,
		       pair->node_hours.mean, pair->node_hours.low,
		       pair->node_hours.high);
	}
	if (costs->n_pairs > MAX_ROWS)
		printf("%zu more (--json)\n", costs->n_pairs - MAX_ROWS);
}

/*
 * What jobs lost on each leaf switch. Without a topology all nodes count as one
 * leaf switch, and the table would repeat the total.
 */
static void print_leaves(const struct np_acct *acct,
			 const struct np_job_cost *costs)
{
	size_t shown = costs->n_leaves < MAX_ROWS ? costs->n_leaves : MAX_ROWS;
	int width = cli_name_column(40, 1);
	char text[256];

	if (!costs->n_leaves || acct->one_leaf)
		return;
	for (size_t i = 0; i < shown; i++)
		width = cli_widen(width, np_acct_leaf(acct, costs->leaf[i].leaf,
						      text, sizeof(text)));
	cli_head("%-*s%12s  %s", width, "Leaf switch", "Node-hours",
		 "90 % interval");
	for (size_t i = 0; i < shown; i++) {
		const struct np_blame_range *range = &costs->leaf[i].node_hours;

		cli_left(stdout,
			 np_acct_leaf(acct, costs->leaf[i].leaf, text,
				      sizeof(text)),
			 width);
		printf("%12.1f  %.1f to %.1f\n", range->mean, range->low,
		       range->high);
	}
}

/* Nodes on which the same jobs take longer than elsewhere. */
static void print_nodes(const struct np_acct *acct,
			const struct np_job_cost *costs)
{
	size_t shown = costs->n_nodes < MAX_ROWS ? costs->n_nodes : MAX_ROWS;
	int width = cli_name_column(16, 1);
	char text[256];

	if (!costs->n_nodes)
		return;
	for (size_t i = 0; i < shown; i++)
		width = cli_widen(width, np_acct_node(acct, costs->node[i].node,
						      text, sizeof(text)));
	cli_head("%-*s%6s%12s  %-16s%8s  %s", width, "Node", "Runs",
		 "Node-hours", "95 % interval", "Slower", "95 % interval");
	for (size_t i = 0; i < shown; i++) {
		const struct np_job_cost_node *node = &costs->node[i];

		cli_left(stdout,
			 np_acct_node(acct, node->node, text, sizeof(text)),
			 width);
		printf("%6u%12.1f  ", node->runs, node->node_hours.mean);
		snprintf(text, sizeof(text), "%.1f to %.1f",
			 node->node_hours.low, node->node_hours.high);
		cli_left(stdout, text, 16);
		printf("%6.1f %%  %.1f to %.1f %%\n", 100 * node->slower.mean,
		       100 * node->slower.low, 100 * node->slower.high);
	}
}

/* The total loss first, then what it was computed from, then the tables. */
static int print_text(const struct np_acct *acct,
		      const struct np_job_cost *costs)
{
	char text[128];

	cli_say(CLI_BOLD, 0, "%s",
		cli_blame_verdict(costs, text, sizeof(text)));
	cli_labelled(stdout, "Compared",
		     "%zu of %zu jobs: completed runs in %zu group%s of %d or "
		     "more comparable ones",
		     costs->n_used, costs->n_jobs, costs->n_classes,
		     cli_s(costs->n_classes), NP_JOB_COST_LEAST_RUNS);
	if (acct->one_leaf)
		cli_labelled(stdout, "Missing",
			     "Slurm has no topology, so all nodes count as one "
			     "leaf switch");
	if (acct->damaged)
		cli_labelled(stdout, "Missing",
			     "%zu row%s of the accounting could not be read",
			     acct->damaged, cli_s(acct->damaged));
	if (costs->n_dropped)
		cli_labelled(stdout, "Missing",
			     "%zu times that two jobs shared a leaf switch, "
			     "which did not fit into memory: some costs are "
			     "too low; use a shorter --since",
			     costs->n_dropped);
	if (costs->n_pairs)
		cli_labelled(stdout, "Next",
			     "netprof explain JOB shows what slowed one run; "
			     "sbatch --netprofile=NAME job.sh measures an "
			     "application, so that placement can keep it away "
			     "from such neighbours");
	print_pairs(acct, costs);
	print_leaves(acct, costs);
	print_nodes(acct, costs);
	return CLI_DONE;
}

/* ---- output for programs ---- */

/* An estimate with its interval. */
static void put_range(json_object *in, const char *key,
		      const struct np_blame_range *range)
{
	json_object *j = cli_put_object(in, key);

	cli_put_real(j, "mean", range->mean);
	cli_put_real(j, "low", range->low);
	cli_put_real(j, "high", range->high);
}

static void put_pairs(json_object *in, const struct np_acct *acct,
		      const struct np_job_cost *costs)
{
	json_object *list = cli_put_array(in, "pairs");
	char text[400];

	for (size_t i = 0; i < costs->n_pairs; i++) {
		const struct np_job_cost_pair *pair = &costs->pair[i];
		json_object *j = cli_append_object(list);

		cli_blame_app(acct, pair->user, pair->name, text, sizeof(text));
		cli_put_text(j, "slowed", text);
		cli_blame_app(acct, pair->by_user, pair->by_name, text,
			      sizeof(text));
		cli_put_text(j, "by", text);
		cli_put_count(j, "runs", pair->runs);
		put_range(j, "node_hours", &pair->node_hours);
	}
}

static void put_leaves_and_nodes(json_object *in, const struct np_acct *acct,
				 const struct np_job_cost *costs)
{
	json_object *list = cli_put_array(in, "leaves"), *j;
	char text[256];

	for (size_t i = 0; i < costs->n_leaves; i++) {
		j = cli_append_object(list);
		cli_put_text(j, "leaf",
			     np_acct_leaf(acct, costs->leaf[i].leaf, text,
					  sizeof(text)));
		put_range(j, "node_hours", &costs->leaf[i].node_hours);
	}
	list = cli_put_array(in, "nodes");
	for (size_t i = 0; i < costs->n_nodes; i++) {
		const struct np_job_cost_node *node = &costs->node[i];

		j = cli_append_object(list);
		cli_put_text(j, "node",
			     np_acct_node(acct, node->node, text,
					  sizeof(text)));
		cli_put_count(j, "runs", node->runs);
		put_range(j, "slower", &node->slower);
		put_range(j, "node_hours", &node->node_hours);
	}
}

/* --parsable prints the pairs alone. */
static const struct cli_table table = {
	"Slowed|By|Runs|NodeHours|Low|High",
	{ { "pairs", "slowed|by|runs|node_hours/mean|node_hours/low|"
	    "node_hours/high" } },
};

static int print_data(const struct np_acct *acct,
		      const struct np_job_cost *costs, double since_sec,
		      enum cli_format format)
{
	json_object *j = json_object_new_object();

	cli_put_time(j, "date", acct->now);
	cli_put_real(j, "since_sec", since_sec);
	cli_put_count(j, "jobs", costs->n_jobs);
	cli_put_count(j, "compared", costs->n_used);
	cli_put_count(j, "groups", costs->n_classes);
	cli_put_count(j, "examined_pairs", costs->n_examined);
	cli_put_computed(j, "node_hours", costs->node_hours);
	cli_put_count(j, "damaged_rows", acct->damaged);
	cli_put_count(j, "dropped_meetings", costs->n_dropped);
	cli_put_bool(j, "topology", !acct->one_leaf);
	put_pairs(j, acct, costs);
	put_leaves_and_nodes(j, acct, costs);
	return cli_print_output(format, "blame", j, &table);
}

/* ---- metrics ---- */

/*
 * An estimate with its interval makes three families of gauges, as a gauge has
 * one value: the estimate itself, and the two ends.
 */
enum part { MEAN, LOW, HIGH, N_PARTS };

static double value_of(const struct np_blame_range *range, enum part part)
{
	return part == LOW  ? range->low :
	       part == HIGH ? range->high :
			      range->mean;
}

/*
 * Print the head of a family. Its name, for example blame_pair_low_node_hours,
 * is put together in name[] and ends with the unit, of which the last word is
 * the unit of OpenMetrics. percent: of the interval.
 */
static void begin_family(FILE *f, const char *prefix, enum part part,
			 const char *unit, int percent, const char *help,
			 char name[128])
{
	static const char *const part_name[] = { "", "low", "high" };
	const char *last_word = strrchr(unit, '_');
	char text[256];

	snprintf(name, 128, "%s%s%s%s", prefix, part_name[part],
		 part == MEAN ? "" : "_", unit);
	if (part == MEAN)
		snprintf(text, sizeof(text), "%s.", help);
	else
		snprintf(text, sizeof(text),
			 "%s: %s end of the %d %% interval.", help,
			 part_name[part], percent);
	cli_gauges(f, name, last_word ? last_word + 1 : unit, text);
}

static void put_pair_gauges(FILE *f, const struct np_acct *acct,
			    const struct np_job_cost *costs, enum part part)
{
	static const char *const labels[] = { "slowed", "by" };
	char slowed[400], by[400], name[128];

	begin_family(f, "blame_pair_", part, "node_hours", 90,
		     "Node-hours that runs of one application lost to "
		     "another one",
		     name);
	for (size_t i = 0; i < costs->n_pairs && i < MAX_GAUGES; i++) {
		const struct np_job_cost_pair *pair = &costs->pair[i];

		cli_blame_app(acct, pair->user, pair->name, slowed,
			      sizeof(slowed));
		cli_blame_app(acct, pair->by_user, pair->by_name, by,
			      sizeof(by));
		cli_gauge_of_two(f, name, labels,
				 (const char *[]){ slowed, by },
				 value_of(&pair->node_hours, part));
	}
}

static void put_leaf_gauges(FILE *f, const struct np_acct *acct,
			    const struct np_job_cost *costs, enum part part)
{
	char leaf[256], name[128];

	begin_family(f, "blame_leaf_", part, "node_hours", 90,
		     "Node-hours that jobs on a leaf switch lost to others",
		     name);
	for (size_t i = 0; i < costs->n_leaves && i < MAX_GAUGES; i++)
		cli_gauge_of(f, name, "leaf",
			     np_acct_leaf(acct, costs->leaf[i].leaf, leaf,
					  sizeof(leaf)),
			     value_of(&costs->leaf[i].node_hours, part));
}

/* The node-hours that jobs lost on each slow node. */
static void put_node_gauges(FILE *f, const struct np_acct *acct,
			    const struct np_job_cost *costs, enum part part)
{
	char node[256], name[128];

	begin_family(f, "blame_node_", part, "node_hours", 95,
		     "Node-hours that jobs lost because of a slow node", name);
	for (size_t i = 0; i < costs->n_nodes && i < MAX_GAUGES; i++)
		cli_gauge_of(f, name, "node",
			     np_acct_node(acct, costs->node[i].node, node,
					  sizeof(node)),
			     value_of(&costs->node[i].node_hours, part));
}

/* How much longer jobs take on each slow node. */
static void put_slower_gauges(FILE *f, const struct np_acct *acct,
			      const struct np_job_cost *costs, enum part part)
{
	char node[256], name[128];

	begin_family(f, "blame_node_slower_", part, "ratio", 95,
		     "How much longer jobs take on a node than the same jobs "
		     "elsewhere",
		     name);
	for (size_t i = 0; i < costs->n_nodes && i < MAX_GAUGES; i++)
		cli_gauge_of(f, name, "node",
			     np_acct_node(acct, costs->node[i].node, node,
					  sizeof(node)),
			     value_of(&costs->node[i].slower, part));
}

static void put_gauges(FILE *f, const struct np_acct *acct,
		       const struct np_job_cost *costs)
{
	cli_gauge(f, "blame_jobs", NULL, "Jobs whose run times were compared.",
		  (double)costs->n_used);
	for (enum part part = 0; part < N_PARTS; part++) {
		put_pair_gauges(f, acct, costs, part);
		put_leaf_gauges(f, acct, costs, part);
		put_node_gauges(f, acct, costs, part);
		put_slower_gauges(f, acct, costs, part);
	}
	fputs("# EOF\n", f);
}

/* The text is made in memory, so that a file can be written as a whole. */
static int print_metrics(const struct np_acct *acct,
			 const struct np_job_cost *costs, const char *output)
{
	struct np_err err = NP_ERR_INIT;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int rc = CLI_DONE;

	if (!f)
		return cli_fail("out of memory");
	put_gauges(f, acct, costs);
	if (fclose(f))
		rc = cli_fail("out of memory");
	else if (!output)
		fputs(text, stdout);
	else if (cli_replace_file(output, text, 0644, &err))
		rc = cli_fail("%s", err.text);
	free(text);
	return rc;
}

/* ---- command ---- */

static int run_blame(const struct cli_cmd *self, int argc, char **argv)
{
	struct blame_opt opt = { .diagnosis.since_sec = CLI_BLAME_SINCE };
	struct np_err err = NP_ERR_INIT;
	struct cli_options options;
	struct np_acct acct;
	struct np_job_cost costs;
	int rc = cli_options_parse(self, argc, argv, &opt, &options);

	if (rc >= 0)
		return rc;
	if (opt.diagnosis.topology && !opt.diagnosis.accounting)
		return cli_usage(self, "--topology=%.64s needs --accounting",
				 opt.diagnosis.topology);
	if (options.output && !opt.metrics)
		return cli_usage(self, "--output=%.64s needs --metrics",
				 options.output);
	rc = cli_accounting_load(&acct, &opt.diagnosis, cli_now(), &err);
	if (rc) {
		np_acct_free(&acct);
		return rc == -ERANGE ? cli_usage(self, "%s", err.text) :
				       cli_fail("%s", err.text);
	}
	rc = np_job_cost_make(&acct, &costs);
	if (rc) {
		rc = cli_fail("out of memory");
	} else {
		if (opt.metrics)
			rc = print_metrics(&acct, &costs, options.output);
		else if (options.format)
			rc = print_data(&acct, &costs, opt.diagnosis.since_sec,
					options.format);
		else
			rc = print_text(&acct, &costs);
		np_job_cost_free(&costs);
	}
	np_acct_free(&acct);
	return rc;
}

static const struct np_option own_options[] = {
#define AT(field) offsetof(struct blame_opt, field)
	{ "since", NP_OPTION_TAKE, AT(diagnosis.since_sec),
	  .take = cli_since_parse },
	{ "metrics", NP_OPTION_FLAG, AT(metrics) },
	{ "accounting", NP_OPTION_WORD, AT(diagnosis.accounting) },
	{ "topology", NP_OPTION_WORD, AT(diagnosis.topology) },
#undef AT
	{ NULL },
};

const struct cli_cmd cmd_blame = {
	.name = "blame",
	.args = "[--since=AGE] [--json|--parsable|--metrics [-o FILE]] "
		"[--accounting=FILE [--topology=FILE]]",
	.help = "which applications, leaf switches and nodes cost most time",
	.text =
"From Slurm's accounting of the last days, of measured and other jobs: which\n"
"applications (users and job names) lost most node-hours to which others on\n"
"their leaf switches, on which leaf switches that was, and on which nodes jobs\n"
"took longer than the same jobs elsewhere.  What may be chance is excluded.\n\n"
"  --since=AGE         how far back, such as 36h (default 7d, at most 92d)\n"
"  --json, --parsable  output for programs; --parsable (-P) as in sacct\n"
"  --metrics           print gauges for a monitoring system, as netprof metrics\n"
"  -o, --output=FILE   with --metrics: write FILE; readers see it complete or\n"
"                      not at all\n"
"  --accounting=FILE   read output of sacct --parsable2 or --json from a file\n"
"  --topology=FILE     with it, output of scontrol show topology",
	.examples =
"  netprof blame\n"
"  netprof blame --since=1d --json | jq .nodes\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_OUTPUT,
	.own = own_options,
	.run = run_blame,
};
