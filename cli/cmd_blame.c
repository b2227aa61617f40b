/*
 * netprof blame: which applications, leaf switches and nodes cost most time
 * over some days, from Slurm's accounting alone.
 *
 * np_job_cost.h compares all runs with comparable ones and sums up what they
 * lost while other applications shared their leaf switches. This file loads the
 * accounting, as netprof explain does, and prints the result.
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

#define MAX_ROWS 15		/* of a table in text output */
#define MAX_GAUGES 50 /* of a family: a monitoring system stores each forever */

struct blame_opt {
	struct cli_diagnosis_opt diagnosis;
	bool metrics;
};

/* ---- text output ---- */

/* Pairs of applications, the most costly first. */
static void pair_rows(const struct np_acct *h, const struct np_job_cost *t)
{
	size_t shown = t->n_pairs < MAX_ROWS ? t->n_pairs : MAX_ROWS;
	int width = cli_name_column(23, 2);
	char text[400];

	if (!t->n_pairs)
		return;
	for (size_t i = 0; i < shown; i++) {
		const struct np_job_cost_pair *p = &t->pair[i];

		width = cli_widen(width, cli_blame_app(h, p->user, p->name,
						       text, sizeof(text)));
		width = cli_widen(width, cli_blame_app(h, p->by_user,
						       p->by_name, text,
						       sizeof(text)));
	}
	cli_head("%-*s %-*s%6s%12s  %s", width, "Slowed", width, "By", "Runs",
		 "Node-hours", "90 % interval");
	for (size_t i = 0; i < shown; i++) {
		const struct np_job_cost_pair *p = &t->pair[i];

		cli_blame_app(h, p->user, p->name, text, sizeof(text));
		cli_left(stdout, text, width);
		putchar(' ');
		cli_blame_app(h, p->by_user, p->by_name, text, sizeof(text));
		cli_left(stdout, text, width);
		printf("%6u%12.1f  %.1f to %.1f\n", p->runs, p->node_hours.mean,
		       p->node_hours.low, p->node_hours.high);
	}
	if (t->n_pairs > MAX_ROWS)
		printf("%zu more (--json)\n", t->n_pairs - MAX_ROWS);
}

/* Not printed without a topology, as there is only one leaf switch then. */
static void leaf_rows(const struct np_acct *h, const struct np_job_cost *t)
{
	size_t shown = t->n_leaves < MAX_ROWS ? t->n_leaves : MAX_ROWS;
	int width = cli_name_column(40, 1);
	char text[256];

	if (!t->n_leaves || h->one_leaf)
		return;
	for (size_t i = 0; i < shown; i++)
		width = cli_widen(width, np_acct_leaf(h, t->leaf[i].leaf, text,
						      sizeof(text)));
	cli_head("%-*s%12s  %s", width, "Leaf switch", "Node-hours",
		 "90 % interval");
	for (size_t i = 0; i < shown; i++) {
		const struct np_blame_range *r = &t->leaf[i].node_hours;

		cli_left(stdout, np_acct_leaf(h, t->leaf[i].leaf, text,
					      sizeof(text)), width);
		printf("%12.1f  %.1f to %.1f\n", r->mean, r->low, r->high);
	}
}

/* Nodes on which the same jobs take longer than elsewhere. */
static void node_rows(const struct np_acct *h, const struct np_job_cost *t)
{
	size_t shown = t->n_nodes < MAX_ROWS ? t->n_nodes : MAX_ROWS;
	int width = cli_name_column(16, 1);
	char text[256];

	if (!t->n_nodes)
		return;
	for (size_t i = 0; i < shown; i++)
		width = cli_widen(width, np_acct_node(h, t->node[i].node, text,
						      sizeof(text)));
	cli_head("%-*s%6s%12s  %-16s%8s  %s", width, "Node", "Runs",
		 "Node-hours", "95 % interval", "Slower", "95 % interval");
	for (size_t i = 0; i < shown; i++) {
		const struct np_job_cost_node *n = &t->node[i];

		cli_left(stdout, np_acct_node(h, n->node, text, sizeof(text)),
			 width);
		printf("%6u%12.1f  ", n->runs, n->node_hours.mean);
		snprintf(text, sizeof(text), "%.1f to %.1f", n->node_hours.low,
			 n->node_hours.high);
		cli_left(stdout, text, 16);
		printf("%6.1f %%  %.1f to %.1f %%\n", 100 * n->slower.mean,
		       100 * n->slower.low, 100 * n->slower.high);
	}
}

/* The total loss first, then what it was computed from, then the tables. */
static int print_text(const struct np_acct *h, const struct np_job_cost *t)
{
	char text[128];

	cli_say(CLI_BOLD, 0, "%s", cli_blame_verdict(t, text, sizeof(text)));
	cli_labelled(stdout, "Compared", "%zu of %zu jobs: completed runs in "
		     "%zu group%s of %d or more comparable ones", t->n_used,
		     t->n_jobs, t->n_classes, cli_s(t->n_classes),
		     NP_JOB_COST_LEAST_RUNS);
	if (h->one_leaf)
		cli_labelled(stdout, "Missing", "Slurm has no topology, so all "
			     "nodes count as one leaf switch");
	if (h->damaged)
		cli_labelled(stdout, "Missing", "%zu row%s of the accounting "
			     "could not be read", h->damaged,
			     cli_s(h->damaged));
	if (t->n_dropped)
		cli_labelled(stdout, "Missing", "%zu meetings of two jobs on a "
			     "leaf switch, more than fit into memory: some "
			     "costs are too low; use a shorter --since",
			     t->n_dropped);
	if (t->n_pairs)
		cli_labelled(stdout, "Next", "netprof explain JOB shows what "
			     "slowed one run; sbatch --netprofile=NAME job.sh "
			     "measures an application, so that placement can "
			     "keep it away from such neighbours");
	pair_rows(h, t);
	leaf_rows(h, t);
	node_rows(h, t);
	return CLI_DONE;
}

/* ---- output for programs ---- */

/* An estimate with its interval. */
static void put_range(json_object *in, const char *key,
		      const struct np_blame_range *r)
{
	json_object *j = cli_put_object(in, key);

	cli_put_real(j, "mean", r->mean);
	cli_put_real(j, "low", r->low);
	cli_put_real(j, "high", r->high);
}

static void put_pairs(json_object *in, const struct np_acct *h,
		      const struct np_job_cost *t)
{
	json_object *list = cli_put_array(in, "pairs");
	char text[400];

	for (size_t i = 0; i < t->n_pairs; i++) {
		const struct np_job_cost_pair *p = &t->pair[i];
		json_object *j = cli_append_object(list);

		cli_blame_app(h, p->user, p->name, text, sizeof(text));
		cli_put_text(j, "slowed", text);
		cli_blame_app(h, p->by_user, p->by_name, text, sizeof(text));
		cli_put_text(j, "by", text);
		cli_put_count(j, "runs", p->runs);
		put_range(j, "node_hours", &p->node_hours);
	}
}

static void put_places(json_object *in, const struct np_acct *h,
		       const struct np_job_cost *t)
{
	json_object *list = cli_put_array(in, "leaves"), *j;
	char text[256];

	for (size_t i = 0; i < t->n_leaves; i++) {
		j = cli_append_object(list);
		cli_put_text(j, "leaf", np_acct_leaf(h, t->leaf[i].leaf, text,
						     sizeof(text)));
		put_range(j, "node_hours", &t->leaf[i].node_hours);
	}
	list = cli_put_array(in, "nodes");
	for (size_t i = 0; i < t->n_nodes; i++) {
		const struct np_job_cost_node *n = &t->node[i];

		j = cli_append_object(list);
		cli_put_text(j, "node", np_acct_node(h, n->node, text,
						     sizeof(text)));
		cli_put_count(j, "runs", n->runs);
		put_range(j, "slower", &n->slower);
		put_range(j, "node_hours", &n->node_hours);
	}
}

static const struct cli_table rows = {
	"Slowed|By|Runs|NodeHours|Low|High",
	{ { "pairs", "slowed|by|runs|node_hours/mean|node_hours/low|"
	    "node_hours/high" } },
};

static int print_data(const struct np_acct *h, const struct np_job_cost *t,
		      double since_sec, enum cli_format format)
{
	json_object *j = json_object_new_object();

	cli_put_time(j, "date", h->now);
	cli_put_real(j, "since_sec", since_sec);
	cli_put_count(j, "jobs", t->n_jobs);
	cli_put_count(j, "compared", t->n_used);
	cli_put_count(j, "groups", t->n_classes);
	cli_put_count(j, "examined_pairs", t->n_examined);
	cli_put_computed(j, "node_hours", t->node_hours);
	cli_put_count(j, "damaged_rows", h->damaged);
	cli_put_count(j, "dropped_meetings", t->n_dropped);
	cli_put_bool(j, "topology", !h->one_leaf);
	put_pairs(j, h, t);
	put_places(j, h, t);
	return cli_print_output(format, "blame", j, &rows);
}

/* An estimate is a gauge, and each end of its interval is another one. */
static const struct {
	const char *part, *word;
} ends[] = { { "", "" }, { "low_", "low" }, { "high_", "high" } };

static double end_of(const struct np_blame_range *r, size_t end)
{
	const double of[] = { r->mean, r->low, r->high };

	return of[end];
}

/* Head of a family; *name becomes, for example, blame_pair_low_node_hours. */
static void head(FILE *f, const char *of, size_t end, const char *what,
		 int percent, const char *help, char name[128])
{
	const char *unit = strrchr(what, '_');
	char text[256];

	snprintf(name, 128, "%s%s%s", of, ends[end].part, what);
	if (end)
		snprintf(text, sizeof(text), "%s: %s end of the %d %% interval.",
			 help, ends[end].word, percent);
	else
		snprintf(text, sizeof(text), "%s.", help);
	cli_gauges(f, name, unit ? unit + 1 : what, text);
}

static void put_pair_gauges(FILE *f, const struct np_acct *h,
			    const struct np_job_cost *t, size_t end)
{
	static const char *const labels[] = { "slowed", "by" };
	char a[400], b[400], name[128];

	head(f, "blame_pair_", end, "node_hours", 90, "Node-hours that runs of "
	     "one application lost to another one", name);
	for (size_t i = 0; i < t->n_pairs && i < MAX_GAUGES; i++) {
		const struct np_job_cost_pair *p = &t->pair[i];

		cli_blame_app(h, p->user, p->name, a, sizeof(a));
		cli_blame_app(h, p->by_user, p->by_name, b, sizeof(b));
		cli_gauge_of_two(f, name, labels, (const char *[]){ a, b },
				 end_of(&p->node_hours, end));
	}
}

static void put_leaf_gauges(FILE *f, const struct np_acct *h,
			    const struct np_job_cost *t, size_t end)
{
	char leaf[256], name[128];

	head(f, "blame_leaf_", end, "node_hours", 90, "Node-hours that jobs on "
	     "a leaf switch lost to others", name);
	for (size_t i = 0; i < t->n_leaves && i < MAX_GAUGES; i++)
		cli_gauge_of(f, name, "leaf",
			     np_acct_leaf(h, t->leaf[i].leaf, leaf,
					  sizeof(leaf)),
			     end_of(&t->leaf[i].node_hours, end));
}

/* hours: the node-hours lost; else how much slower its runs were. */
static void put_node_gauges(FILE *f, const struct np_acct *h,
			    const struct np_job_cost *t, size_t end, bool hours)
{
	char node[256], name[128];

	if (hours)
		head(f, "blame_node_", end, "node_hours", 95, "Node-hours that "
		     "jobs lost because of a slow node", name);
	else
		head(f, "blame_node_slower_", end, "ratio", 95, "How much "
		     "longer jobs take on a node than the same jobs elsewhere",
		     name);
	for (size_t i = 0; i < t->n_nodes && i < MAX_GAUGES; i++) {
		const struct np_job_cost_node *n = &t->node[i];

		cli_gauge_of(f, name, "node",
			     np_acct_node(h, n->node, node, sizeof(node)),
			     end_of(hours ? &n->node_hours : &n->slower, end));
	}
}

/*
 * The most costly entries only: a monitoring system keeps each series, and the
 * names of jobs are unbounded.
 */
static void put_gauges(FILE *f, const struct np_acct *h,
		       const struct np_job_cost *t)
{
	cli_gauge(f, "blame_jobs", NULL, "Jobs whose run times were compared.",
		  (double)t->n_used);
	for (size_t end = 0; end < NP_ARRAY_SIZE(ends); end++) {
		put_pair_gauges(f, h, t, end);
		put_leaf_gauges(f, h, t, end);
		put_node_gauges(f, h, t, end, true);
		put_node_gauges(f, h, t, end, false);
	}
	fputs("# EOF\n", f);
}

/* Compose the text in memory first, so that a file is written as a whole. */
static int print_metrics(const struct np_acct *h, const struct np_job_cost *t,
			 const char *output)
{
	struct np_err err = NP_ERR_INIT;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int rc = CLI_DONE;

	if (!f)
		return cli_fail("out of memory");
	put_gauges(f, h, t);
	if (fclose(f))
		rc = cli_fail("out of memory");
	else if (!output)
		fputs(text, stdout);
	else if (cli_write_file(output, text, 0644, &err))
		rc = cli_fail("%s", err.text);
	free(text);
	return rc;
}

/* ---- command ---- */

/* Returns the exit status. */
static int run_blame(const struct cli_cmd *self, int argc, char **argv)
{
	struct blame_opt opt = { .diagnosis.since_sec = CLI_BLAME_SINCE };
	struct np_err err = NP_ERR_INIT;
	struct cli_options o;
	struct np_acct h;
	struct np_job_cost t;
	int rc = cli_options_parse(self, argc, argv, &opt, &o);

	if (rc >= 0)
		return rc;
	if (opt.diagnosis.topology && !opt.diagnosis.accounting)
		return cli_usage(self, "--topology=%.64s needs --accounting",
				 opt.diagnosis.topology);
	if (o.output && !opt.metrics)
		return cli_usage(self, "--output=%.64s needs --metrics",
				 o.output);
	rc = cli_accounting_load(&h, &opt.diagnosis, cli_now(), &err);
	if (rc) {
		np_acct_free(&h);
		return rc == -ERANGE ? cli_usage(self, "%s", err.text) :
				       cli_fail("%s", err.text);
	}
	rc = np_job_cost_make(&h, &t);
	if (rc) {
		rc = cli_fail("out of memory");
	} else {
		rc = opt.metrics ? print_metrics(&h, &t, o.output) : o.format ?
		     print_data(&h, &t, opt.diagnosis.since_sec, o.format) :
		     print_text(&h, &t);
		np_job_cost_free(&t);
	}
	np_acct_free(&h);
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
