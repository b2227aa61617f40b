/*
 * netprof blame: show which applications, leaf switches and nodes cost the most
 * time in recent days, according to Slurm's accounting.
 *
 * np_job_cost_make() compares each run with similar runs, and adds up the time
 * that runs lost while other applications shared their leaf switches. This file
 * loads the accounting, as netprof explain does, and prints the result.
 *
 * Accounting does not record applications, so here an application is identified
 * by its user and its job name. A node-hour is one hour of one node.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_diagnosis.h"
#include "cli_gauges.h"
#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_state.h"
#include "np_job_cost.h"

#define MAX_ROWS 15 /* of each table in text output */
#define GAUGE_NAME_BYTES 128
/*
 * Users can invent any number of job names, and a monitoring system would have
 * to store a time series for each pair of them.
 */
#define MAX_GAUGES_PER_FAMILY 50

/* Options of netprof blame that are not in struct cli_options. */
struct blame_options {
	struct cli_diagnosis_opt diagnosis;
	bool metrics;
};

/* The names of each list, and of what it is about, in JSON and in gauges. */
static const struct {
	const char *key, *labels[2];
} lists[] = {
	[CLI_BLAME_PAIRS] = { "pairs", { "slowed", "by" } },
	[CLI_BLAME_LEAVES] = { "leaves", { "leaf" } },
	[CLI_BLAME_NODES] = { "nodes", { "node" } },
};

/* ---- text output ---- */

/* Width of a column of names, which is at least width. */
static int names_width(const struct np_acct *acct,
		       const struct np_job_cost *costs,
		       enum cli_blame_list list, int width)
{
	struct cli_blame_row row;

	for (size_t i = 0;
	     i < MAX_ROWS && cli_blame_row(acct, costs, list, i, &row); i++)
		for (int k = 0; k < 2 && row.names[k]; k++)
			width = cli_widen(width, row.names[k]);
	return width;
}

/* Print how many rows a table does not have. */
static void print_more(size_t n)
{
	if (n > MAX_ROWS)
		printf("%zu more (shown with --json)\n", n - MAX_ROWS);
}

/* Print what applications lost to each other. */
static void print_pairs(const struct np_acct *acct,
			const struct np_job_cost *costs)
{
	int width = names_width(acct, costs, CLI_BLAME_PAIRS,
				cli_name_column(23, 2));
	struct cli_blame_row row;

	if (!costs->n_pairs)
		return;
	cli_heading("%-*s %-*s%6s%12s  %s", width, "Slowed", width, "By",
		    "Runs", "Node-hours", "90 % interval");
	for (size_t i = 0; i < MAX_ROWS &&
			   cli_blame_row(acct, costs, CLI_BLAME_PAIRS, i, &row);
	     i++) {
		cli_print_left(stdout, row.names[0], width);
		putchar(' ');
		cli_print_left(stdout, row.names[1], width);
		printf("%6u%12.1f  %.1f to %.1f\n", row.runs,
		       row.node_hours->mean, row.node_hours->low,
		       row.node_hours->high);
	}
	print_more(costs->n_pairs);
}

/*
 * Print what jobs lost on each leaf switch. Without a topology, all nodes count
 * as one leaf switch, so the table would only repeat the total.
 */
static void print_leaves(const struct np_acct *acct,
			 const struct np_job_cost *costs)
{
	int width = names_width(acct, costs, CLI_BLAME_LEAVES,
				cli_name_column(40, 1));
	struct cli_blame_row row;

	if (!costs->n_leaves || acct->one_leaf)
		return;
	cli_heading("%-*s%12s  %s", width, "Leaf switch", "Node-hours",
		    "90 % interval");
	for (size_t i = 0;
	     i < MAX_ROWS &&
	     cli_blame_row(acct, costs, CLI_BLAME_LEAVES, i, &row);
	     i++) {
		cli_print_left(stdout, row.names[0], width);
		printf("%12.1f  %.1f to %.1f\n", row.node_hours->mean,
		       row.node_hours->low, row.node_hours->high);
	}
	print_more(costs->n_leaves);
}

/* Print the nodes on which jobs take longer than the same jobs elsewhere. */
static void print_nodes(const struct np_acct *acct,
			const struct np_job_cost *costs)
{
	int width = names_width(acct, costs, CLI_BLAME_NODES,
				cli_name_column(16, 1));
	struct cli_blame_row row;

	if (!costs->n_nodes)
		return;
	cli_heading("%-*s%6s%12s  %-16s%8s  %s", width, "Node", "Runs",
		    "Node-hours", "95 % interval", "Slower", "95 % interval");
	for (size_t i = 0; i < MAX_ROWS &&
			   cli_blame_row(acct, costs, CLI_BLAME_NODES, i, &row);
	     i++) {
		cli_print_left(stdout, row.names[0], width);
		printf("%6u%12.1f  ", row.runs, row.node_hours->mean);
		cli_print_left(stdout,
			       cli_text("%.1f to %.1f", row.node_hours->low,
					row.node_hours->high),
			       16);
		printf("%6.1f %%  %.1f to %.1f %%\n", 100 * row.slower->mean,
		       100 * row.slower->low, 100 * row.slower->high);
	}
	print_more(costs->n_nodes);
}

/* Print the total loss, what it was computed from, and the tables. */
static int print_text(const struct np_acct *acct,
		      const struct np_job_cost *costs)
{
	cli_printf(CLI_BOLD, 0, "%s", cli_blame_verdict(costs));
	cli_label("Compared",
		  "%zu of %zu jobs that started, in %zu group%s of at "
		  "least %d comparable runs",
		  costs->n_compared, costs->n_jobs, costs->n_groups,
		  cli_plural_s(costs->n_groups), NP_JOB_COST_MIN_RUNS);
	if (acct->one_leaf)
		cli_label("Note", "no topology is known, so all nodes count "
				  "as one leaf switch");
	cli_print_off_leaves(stdout, acct);
	if (acct->damaged)
		cli_label("Missing",
			  "%zu row%s of the accounting could not be read",
			  acct->damaged, cli_plural_s(acct->damaged));
	if (costs->n_dropped_meetings)
		cli_label("Missing",
			  "%zu case%s of two jobs sharing a leaf switch not "
			  "considered, to limit memory; some costs may be too "
			  "low; a shorter --since avoids this",
			  costs->n_dropped_meetings,
			  cli_plural_s(costs->n_dropped_meetings));
	if (costs->n_pairs)
		cli_label(
			"Next",
			"netprof explain JOB shows what slowed one run; sbatch "
			"--netprofile=NAME job.sh measures an application, so "
			"that placement can avoid such neighbours");
	print_pairs(acct, costs);
	print_leaves(acct, costs);
	print_nodes(acct, costs);
	return CLI_DONE;
}

/* ---- output for programs ---- */

static void add_rows(json_object *parent, const struct np_acct *acct,
		     const struct np_job_cost *costs, enum cli_blame_list list)
{
	json_object *array = cli_put_array(parent, lists[list].key);
	struct cli_blame_row row;

	for (size_t i = 0; cli_blame_row(acct, costs, list, i, &row); i++) {
		json_object *object = cli_append_object(array);

		for (int k = 0; k < 2 && row.names[k]; k++)
			cli_put_text(object, lists[list].labels[k],
				     row.names[k]);
		if (row.runs)
			cli_put_count(object, "runs", row.runs);
		if (row.slower)
			cli_put_range(object, "slower", row.slower);
		cli_put_range(object, "node_hours", row.node_hours);
	}
}

/* --parsable prints only the pairs. */
static const struct cli_table table = {
	"Slowed|By|Runs|NodeHours|Low|High",
	{ { "pairs", "slowed|by|runs|node_hours/mean|node_hours/low|"
		     "node_hours/high" } },
};

static int print_data(const struct np_acct *acct,
		      const struct np_job_cost *costs, double since_sec,
		      enum cli_format format)
{
	json_object *output = json_object_new_object();

	cli_put_time(output, "date", acct->now);
	cli_put_real(output, "since_sec", since_sec);
	cli_put_count(output, "jobs", costs->n_jobs);
	cli_put_count(output, "compared", costs->n_compared);
	cli_put_count(output, "groups", costs->n_groups);
	cli_put_count(output, "examined_pairs", costs->n_examined);
	cli_put_computed(output, "node_hours", costs->node_hours);
	cli_put_count(output, "damaged_rows", acct->damaged);
	cli_put_count(output, "dropped_meetings", costs->n_dropped_meetings);
	cli_put_bool(output, "topology", !acct->one_leaf);
	cli_put_count(output, "nodes_off_leaves", np_acct_off_leaves(acct));
	for (enum cli_blame_list list = CLI_BLAME_PAIRS;
	     list <= CLI_BLAME_NODES; list++)
		add_rows(output, acct, costs, list);
	return cli_print_output(format, "blame", output, &table);
}

/* ---- metrics ---- */

/*
 * A gauge has a single value, so an estimate and its interval need three
 * families: one for the estimate and one for each end of the interval.
 */
enum estimate_part { MEAN, LOW, HIGH, N_PARTS };

static double get_part(const struct np_blame_range *range,
		       enum estimate_part part)
{
	return part == LOW  ? range->low :
	       part == HIGH ? range->high :
			      range->mean;
}

/* What is printed of each list, three families of each. */
/* clang-format off */
static const struct gauge_family {
	enum cli_blame_list list;
	const char *prefix, *unit;
	int percent; /* confidence level of the interval */
	bool slower; /* print the row's slower, not node_hours */
	const char *help;
} families[] = {
	{ CLI_BLAME_PAIRS, "blame_pair_", "node_hours", 90, false,
	  "Node-hours that runs of one application lost to another one" },
	{ CLI_BLAME_LEAVES, "blame_leaf_", "node_hours", 90, false,
	  "Node-hours that jobs on a leaf switch lost to others" },
	{ CLI_BLAME_NODES, "blame_node_", "node_hours", 95, false,
	  "Node-hours that jobs lost because of a slow node" },
	{ CLI_BLAME_NODES, "blame_node_slower_", "ratio", 95, true,
	  "How much longer jobs take on a node than the same jobs elsewhere" },
};
/* clang-format on */

/* Labels that were printed, of which the second one may be NULL. */
struct labels {
	char *value[MAX_GAUGES_PER_FAMILY][2];
	size_t n;
};

/*
 * Add the labels of a row. Returns false if they are in the list already: users
 * can choose names that differ only in what is not printed, and a monitoring
 * system would refuse the second value.
 */
static bool add_labels(struct labels *labels, const char *const value[2])
{
	for (size_t i = 0; i < labels->n; i++)
		if (!strcmp(labels->value[i][0], value[0]) &&
		    (!value[1] || !strcmp(labels->value[i][1], value[1])))
			return false;
	labels->value[labels->n][0] = cli_strdup(value[0]);
	labels->value[labels->n++][1] = value[1] ? cli_strdup(value[1]) : NULL;
	return true;
}

static void free_labels(struct labels *labels)
{
	for (size_t i = 0; i < labels->n; i++) {
		free(labels->value[i][0]);
		free(labels->value[i][1]);
	}
}

/*
 * Print the family of one part. Its name, such as blame_pair_low_node_hours,
 * ends with the unit, whose last word ("hours") is the unit that OpenMetrics
 * declares.
 */
static void print_family(FILE *out, const struct np_acct *acct,
			 const struct np_job_cost *costs,
			 const struct gauge_family *family,
			 enum estimate_part part)
{
	static const char *const part_name[] = { "", "low", "high" };
	char name[GAUGE_NAME_BYTES], text[256];
	struct labels labels = { .n = 0 };
	struct cli_blame_row row;

	snprintf(name, sizeof(name), "%s%s%s%s", family->prefix,
		 part_name[part], part == MEAN ? "" : "_", family->unit);
	if (part == MEAN)
		snprintf(text, sizeof(text), "%s.", family->help);
	else
		snprintf(text, sizeof(text),
			 "%s: %s end of the %d %% interval.", family->help,
			 part_name[part], family->percent);
	cli_gauge_begin(out, name, text);
	for (size_t i = 0; labels.n < MAX_GAUGES_PER_FAMILY &&
			   cli_blame_row(acct, costs, family->list, i, &row);
	     i++)
		if (add_labels(&labels, row.names))
			cli_gauge_put_two(out, name, lists[family->list].labels,
					  row.names,
					  get_part(family->slower ?
							   row.slower :
							   row.node_hours,
						   part));
	free_labels(&labels);
}

static void print_gauges(FILE *out, const struct np_acct *acct,
			 const struct np_job_cost *costs)
{
	cli_gauge_single(out, "blame_jobs",
			 "Jobs whose run times were compared.",
			 (double)costs->n_compared);
	for (enum estimate_part part = 0; part < N_PARTS; part++)
		for (size_t k = 0; k < NP_ARRAY_SIZE(families); k++)
			print_family(out, acct, costs, &families[k], part);
}

/* Print the metrics to the file at path, or to stdout if path is NULL. */
static int print_metrics(const struct np_acct *acct,
			 const struct np_job_cost *costs, const char *path)
{
	char *text = NULL;
	size_t len;
	FILE *out = cli_stream_open(&text, &len);

	print_gauges(out, acct, costs);
	return cli_gauges_end(out, &text, path);
}

/* ---- command ---- */

/* Compute the costs and print them. Returns the exit status. */
static int print_costs(const struct np_acct *acct,
		       const struct blame_options *blame_options,
		       const struct cli_options *options)
{
	struct np_job_cost costs;
	int rc;

	cli_check_memory(np_job_cost_make(acct, &costs));
	if (blame_options->metrics)
		rc = print_metrics(acct, &costs, options->output);
	else if (options->format)
		rc = print_data(acct, &costs,
				blame_options->diagnosis.since_sec,
				options->format);
	else
		rc = print_text(acct, &costs);
	np_job_cost_free(&costs);
	return rc;
}

static int run_blame(const struct cli_cmd *self, int argc, char **argv)
{
	struct blame_options blame_options = { .metrics = false };
	struct np_err err = NP_ERR_INIT;
	struct cli_options options;
	struct np_acct acct;
	int rc = cli_options_parse(self, argc, argv, &blame_options, &options);

	if (rc >= 0)
		return rc;
	if (blame_options.diagnosis.topology &&
	    !blame_options.diagnosis.accounting)
		return cli_usage(self, "--topology=%.64s needs --accounting",
				 blame_options.diagnosis.topology);
	if (blame_options.metrics && options.format)
		return cli_usage(
			self,
			"expected only one of --metrics, --json and --parsable");
	if (options.output && !blame_options.metrics)
		return cli_usage(self, "--output=%.64s needs --metrics",
				 options.output);
	rc = cli_since_default(self, &blame_options.diagnosis, CLI_BLAME_SINCE);
	if (rc >= 0)
		return rc;
	rc = cli_accounting_load(&acct, &blame_options.diagnosis, cli_now(),
				 &err);
	if (!rc)
		rc = print_costs(&acct, &blame_options, &options);
	else if (rc == -ERANGE)
		rc = cli_usage(self, "%s", err.text);
	else
		rc = cli_fail("%s", err.text);
	np_acct_free(&acct);
	return rc;
}

static const struct np_option own_options[] = {
#define AT(field) offsetof(struct blame_options, field)
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
	.args = "[--since=AGE] [--json|--parsable|--metrics [-o FILE]]\n"
		"        [--accounting=FILE [--topology=FILE]]",
	.help = "show which applications, leaf switches and nodes cost the most time",
	.text = "Shows, from Slurm's accounting of recent days, which applications (users and\n"
		"job names) lost the most node-hours to which others on their leaf switches, on\n"
		"which leaf switches this happened, and on which nodes jobs took longer than the\n"
		"same jobs elsewhere. The jobs need not have been measured. Differences that\n"
		"may be due to chance are omitted.\n\n"
		"  --since=AGE         how far back, such as 36h (default 7d, at most 92d)\n"
		"  --json, --parsable  output for programs; --parsable (-P) as in sacct\n"
		"  --metrics           print gauges for a monitoring system, like netprof metrics\n"
		"  -o, --output=FILE   with --metrics, replace FILE atomically\n"
		"  --accounting=FILE   read the output of sacct --parsable2 or --json from FILE\n"
		"  --topology=FILE     with --accounting, read the output of scontrol show\n"
		"                      topology from FILE",
	.examples = "  netprof blame\n"
		    "  netprof blame --since=1d --json | jq .nodes\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_OUTPUT,
	.own = own_options,
	.run = run_blame,
};
