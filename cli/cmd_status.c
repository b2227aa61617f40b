/*
 * netprof status: show what placement is doing.
 *
 * The placement plugin writes each decision into the store (np_state.h). This
 * command reads the last one and does not ask Slurm, so that it also works
 * while slurmctld is busy. If a newer one is overdue, the output warns that
 * placement is not active.
 *
 * The text output fits on one screen: a summary, a table of the leaf switches
 * and a table of the jobs that are kept apart. If the tables are too long for
 * the lines below the summary, only their first rows are shown; --all shows
 * every row.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_json_put.h"
#include "cli_output.h"
#include "cli_print.h"
#include "cli_profile.h"
#include "cli_state.h"
#include "cli_text.h"
#include "np_array.h"
#include "np_conf.h"
#include "np_figure.h"

#define MIN_ROWS 3    /* rows of each table, however short the screen is */
#define MAX_DENIALS 3 /* lines about denied names, unless --all is given */
#define MAX_DRAWN 60  /* leaf switches drawn, unless --all is given */

struct status {
	const struct np_state *state; /* borrowed */
	double now;		      /* seconds since 1970 */
	bool placement_enabled;	      /* in netprof.conf of this host */
	bool all; /* --all: print every leaf switch and every job */
	const struct np_state_leaf **leaf; /* worst predicted slowdown first */
	const struct np_state_job **kept_apart; /* sorted by id */
	size_t n_kept_apart;
	/* Jobs in the decision. n_known: running ones with a profile. */
	size_t n_running, n_known, n_pending;
};

/* ---- text ---- */

/* Print when and where the last decision was made, and for how many jobs. */
static void print_decision(const struct status *status)
{
	const struct np_state *state = status->state;

	cli_label("Decided", "%s by %.64s on %.64s, every %s, in %s",
		  cli_age(state->date, status->now),
		  *state->controller ? state->controller : "slurmctld",
		  *state->cluster ? state->cluster : "an unnamed cluster",
		  cli_setting_sec(state->interval_sec),
		  cli_sec(state->decide_sec));
	cli_label("Jobs",
		  "%zu running (%zu with a profile), %zu pending (%zu "
		  "kept apart); %u profile%s",
		  status->n_running, status->n_known, status->n_pending,
		  status->n_kept_apart, state->n_profiles,
		  cli_plural_s(state->n_profiles));
}

/*
 * Print a labelled text, or nothing if it is "". Returns the number of lines.
 */
static int print_and_count_lines(const char *label, const char *text)
{
	const size_t width = (size_t)(cli_output_columns() - CLI_LABEL_COLUMNS);

	cli_label(label, "%s", text);
	return (int)((strlen(text) + width - 1) / width);
}

/*
 * Print the users whose jobs use a published profile name without
 * authorisation. Returns the number of lines.
 */
static int print_denied(const struct status *status)
{
	size_t n = status->state->n_denials;
	size_t shown = status->all || n <= MAX_DENIALS ? n : MAX_DENIALS - 1;
	int lines = 0;

	for (size_t i = 0; i < shown; i++)
		lines += print_and_count_lines(
			i ? "" : "Denied",
			cli_denied_text(&status->state->denial[i]));
	if (shown < n)
		lines += print_and_count_lines(
			"", cli_text("%zu more (shown with --all)", n - shown));
	if (status->state->more_denied)
		lines += print_and_count_lines(
			"", cli_text("%u more job%s of other users",
				     status->state->more_denied,
				     cli_plural_s(status->state->more_denied)));
	return lines;
}

/* Print everything above the tables. Returns the approximate number of lines. */
static int print_summary(const struct status *status)
{
	bool stale = cli_state_stale(status->state, status->now);
	int lines = 4; /* mode: about two; Decided and Jobs: one each */

	/* The mode, or a warning in red if placement does not act. */
	cli_printf(stale ? CLI_RED : CLI_BOLD, 0, "%s",
		   cli_mode_text(status->state, status->now,
				 status->placement_enabled));
	print_decision(status);
	lines += print_and_count_lines("Fabric", status->state->fabric);
	lines += print_and_count_lines("Trouble", status->state->trouble);
	return lines + print_denied(status);
}

static const char *leaf_name(const struct np_state_leaf *leaf)
{
	return *leaf->name ? leaf->name : "(none)";
}

/* Print a leaf switch. A slowdown above the limit is coloured. */
static void print_leaf(const struct status *status,
		       const struct np_state_leaf *leaf, int name_width)
{
	bool is_above_limit = leaf->worst_slowdown >
			      status->state->max_slowdown;

	cli_print_left(stdout, leaf_name(leaf), name_width);
	printf("%6u%6u%13u%6u%13u", leaf->n_nodes, leaf->n_idle,
	       leaf->n_unavailable, leaf->n_jobs, leaf->n_known);
	if (is_above_limit)
		fputs(cli_colour(CLI_YELLOW), stdout);
	cli_print_number(cli_change, leaf->n_known ? leaf->worst_slowdown : NAN,
			 16);
	puts(is_above_limit ? cli_colour(CLI_PLAIN) : "");
}

/* Print one line that summarises the leaf switches from index `from` on. */
static void print_other_leaves(const struct status *status, size_t from)
{
	const struct np_state_leaf *worst = NULL;
	uint32_t nodes = 0, idle = 0;

	for (size_t i = from; i < status->state->n_leaves; i++) {
		nodes += status->leaf[i]->n_nodes;
		idle += status->leaf[i]->n_idle;
		/* Leaf switches are sorted: the first one has the worst. */
		if (!worst && status->leaf[i]->n_known)
			worst = status->leaf[i];
	}
	printf("%zu more leaf switches: %u nodes, %u idle, %s%s (shown with "
	       "--all)\n",
	       status->state->n_leaves - from, nodes, idle,
	       worst ? "worst slowdown " : "no jobs with a profile",
	       worst ? cli_change(worst->worst_slowdown) : "");
}

/*
 * Print the table of leaf switches in at most `rows` rows. If there are more
 * leaf switches, the last row summarises the rest.
 */
static void print_leaves(const struct status *status, size_t rows)
{
	size_t n = status->state->n_leaves, shown = n <= rows ? n : rows - 1;
	int name_width = cli_name_column(20, 1);

	for (size_t i = 0; i < shown; i++)
		name_width = cli_widen(name_width, status->leaf[i]->name);
	cli_heading("%-*s%6s%6s%13s%6s%13s%16s", name_width, "Leaf", "Nodes",
		    "Idle", "Down/drained", "Jobs", "With profile",
		    "Worst slowdown");
	for (size_t i = 0; i < shown; i++)
		print_leaf(status, status->leaf[i], name_width);
	if (shown < n)
		print_other_leaves(status, shown);
}

/*
 * The restriction of a job, such as "only leaf[0-1]" or "until 14:03:05", after
 * "advice: " if it is not applied.
 */
static const char *restriction_text(const struct np_state_job *job)
{
	const char *prefix = job->applied ? "" : "advice: ";
	const char *date = cli_date(job->until);

	if (strcmp(job->action, "held"))
		return cli_text("%sonly %s", prefix, job->leaves);
	return cli_text("%suntil %s", prefix,
			strchr(date, 'T') ? strchr(date, 'T') + 1 : date);
}

/*
 * The jobs from which a job is kept apart: "17 lmp" if there is only one, or
 * "17 +2" for job 17, the worst cause, and two others.
 */
static const char *causes_text(const struct np_state_job *job,
			       const struct np_state_cause *worst)
{
	size_t others = 0;

	for (size_t i = 0; i < job->n_causes; i++) {
		/* A job can be the cause on several leaf switches. */
		bool is_repeated = job->cause[i].other == worst->other;

		for (size_t k = 0; !is_repeated && k < i; k++)
			is_repeated = job->cause[k].other ==
				      job->cause[i].other;
		others += !is_repeated;
	}
	return others ? cli_text("%u +%zu", worst->other, others) :
			cli_text("%u %.64s", worst->other,
				 cli_app_name(worst->other_app));
}

/* Columns of the table of jobs kept apart. The last one needs no width. */
enum { JOB, APPLICATION, RESTRICTION, BECAUSE_OF, WOULD_SLOW, N_COLUMNS };

/*
 * Fill in the cells of a job that is kept apart. The slowdown is that of its
 * worst cause.
 */
static void fill_cells(const struct np_state_job *job,
		       const char *cell[N_COLUMNS])
{
	const struct np_state_cause *cause = cli_worst_cause(job);

	cell[JOB] = cli_job_name(job->id, job->array, job->task);
	cell[APPLICATION] = cli_app_name(job->app);
	cell[RESTRICTION] = restriction_text(job);
	cell[BECAUSE_OF] = cause ? causes_text(job, cause) : "-";
	cell[WOULD_SLOW] =
		!cause ? "-" :
		cli_is_own_victim(job, cause) ?
			 cli_text("itself %s", cli_change(cause->slowdown)) :
			 cli_text("%u %s", cause->victim,
				  cli_change(cause->slowdown));
}

/*
 * Print the table of jobs kept apart in at most `rows` rows. If there are more
 * jobs, the last row gives their number.
 */
static void print_kept_apart(const struct status *status, size_t rows)
{
	size_t n = status->n_kept_apart, shown = n <= rows ? n : rows - 1;
	int width[WOULD_SLOW] = {
		11,
		cli_name_column(13, 3),
		cli_name_column(24, 3),
		cli_name_column(14, 3),
	};
	const char *cell[N_COLUMNS];

	if (!n)
		return;
	for (size_t i = 0; i < shown; i++) {
		fill_cells(status->kept_apart[i], cell);
		for (int column = 0; column < WOULD_SLOW; column++)
			width[column] = cli_widen(width[column], cell[column]);
	}
	cli_heading("%-*s %-*s %-*s %-*s %s", width[JOB], "Job",
		    width[APPLICATION], "Application", width[RESTRICTION],
		    "Restriction", width[BECAUSE_OF], "Because of",
		    "Would slow");
	for (size_t i = 0; i < shown; i++) {
		fill_cells(status->kept_apart[i], cell);
		for (int column = 0; column < WOULD_SLOW; column++) {
			cli_print_left(stdout, cell[column], width[column]);
			putchar(' ');
		}
		puts(cell[WOULD_SLOW]);
	}
	if (shown < n)
		printf("%zu more (shown with --all)\n", n - shown);
}

/*
 * Shorten the two tables, which have *leaf_rows and *job_rows rows, to max_rows
 * rows in total. Each gets half, and the rows that one does not need go to the
 * other.
 */
static void share_rows(size_t max_rows, size_t *leaf_rows, size_t *job_rows)
{
	size_t half = max_rows / 2;

	if (*leaf_rows + *job_rows <= max_rows)
		return;
	if (*leaf_rows <= half) {
		*job_rows = max_rows - *leaf_rows;
	} else if (*job_rows <= half) {
		*leaf_rows = max_rows - *job_rows;
	} else {
		*leaf_rows = half;
		*job_rows = max_rows - half;
	}
	if (*leaf_rows < MIN_ROWS)
		*leaf_rows = MIN_ROWS;
	if (*job_rows < MIN_ROWS)
		*job_rows = MIN_ROWS;
}

static int print_status(const struct status *status)
{
	size_t leaf_rows = status->state->n_leaves;
	size_t job_rows = status->n_kept_apart;
	/* Each table begins with an empty line and a header. */
	int max_rows = CLI_LINES - print_summary(status) - 2 * 2;

	if (!status->all)
		share_rows(max_rows > 0 ? (size_t)max_rows : 0, &leaf_rows,
			   &job_rows);
	print_leaves(status, leaf_rows);
	print_kept_apart(status, job_rows);
	return CLI_DONE;
}

/* ---- output for programs ---- */

static void append_leaf(json_object *list, const struct np_state_leaf *leaf)
{
	json_object *object = cli_append_object(list);

	cli_put_text(object, "name", leaf->name);
	cli_put_count(object, "n_nodes", leaf->n_nodes);
	cli_put_count(object, "idle", leaf->n_idle);
	cli_put_count(object, "unavailable", leaf->n_unavailable);
	cli_put_count(object, "jobs", leaf->n_jobs);
	cli_put_count(object, "known", leaf->n_known);
	cli_put_real(object, "worst_slowdown", leaf->worst_slowdown);
}

static void append_denial(json_object *list,
			  const struct np_state_denial *denial)
{
	json_object *object = cli_append_object(list);

	cli_put_count(object, "uid", denial->uid);
	cli_put_text(object, "user", cli_user(denial->uid));
	cli_put_text(object, "app", denial->app);
	cli_put_count(object, "jobs", denial->n_jobs);
	cli_put_bool(object, "refuted", denial->refuted);
	cli_put_text(object, "why", denial->why);
}

static const struct cli_table table = {
	"Kind|Name|App|Leaves|Nodes|Idle|Unavailable|Jobs|Known|WorstSlowdown|Action|"
	"Applied|Until|HeldSec|Other|Slowdown|Mode|AgeSec|Stale",
	{
		{ "leaves",
		  "=leaf|name|||n_nodes|idle|unavailable|jobs|known|worst_slowdown|||"
		  "||||../mode|../age_sec|../stale" },
		{ "apart",
		  "=job|job|app|leaves|n_nodes||||||action|applied|"
		  "until|held_sec|causes/0/other|causes/0/slowdown|mode|"
		  "../age_sec|../stale" },
		{ "denied", "=denied|uid|app|||||jobs|||=none||||||../mode|"
			    "../age_sec|../stale" },
	},
};

/*
 * Print the decision for programs. Unlike the text, this always contains every
 * leaf switch and every job, with or without --all.
 */
static int print_data(const struct status *status, enum cli_format format)
{
	json_object *output = json_object_new_object(), *list;
	const struct np_state *state = status->state;

	cli_put_snapshot(output, state, status->now);
	cli_put_text(output, "fabric", state->fabric);
	cli_put_text(output, "slurm_version", state->slurm_version);
	cli_put_text(output, "netprof_version", state->netprof_version);
	cli_put_count(output, "profiles", state->n_profiles);
	cli_put_real(output, "decide_sec", state->decide_sec);
	cli_put_count(output, "running", status->n_running);
	cli_put_count(output, "known", status->n_known);
	cli_put_count(output, "pending", status->n_pending);
	list = cli_put_array(output, "leaves");
	for (size_t i = 0; i < state->n_leaves; i++)
		append_leaf(list, &state->leaf[i]);
	list = cli_put_array(output, "apart");
	for (size_t i = 0; i < status->n_kept_apart; i++)
		cli_put_job(cli_append_object(list), status->kept_apart[i]);
	list = cli_put_array(output, "denied");
	for (size_t i = 0; i < state->n_denials; i++)
		append_denial(list, &state->denial[i]);
	return cli_print_output(format, "status", output, &table);
}

/* ---- plot ---- */

/* Add a panel with a row for each of the first n leaf switches. */
static struct np_panel *add_panel(struct np_figure *figure, const char *title,
				  const char *x_label,
				  const struct status *status, size_t n)
{
	struct np_panel *panel = cli_figure_add_panel(
		figure, title, NP_AXIS_LINEAR, x_label, NP_AXIS_NAMES, "");

	panel->x.lo = 0;
	for (size_t i = 0; i < n; i++)
		np_figure_add_name(figure, &panel->y,
				   leaf_name(status->leaf[i]));
	return panel;
}

/*
 * Add a panel with busy, idle and unavailable nodes as one stacked bar per leaf
 * switch.
 */
static void add_nodes_panel(struct np_figure *figure,
			    const struct status *status, size_t n)
{
	static const char *const part_name[] = { "busy", "idle",
						 "down or drained" };
	static const unsigned part_style[] = { 0, NP_STYLE_GREY, 1 };
	struct np_panel *panel = add_panel(figure, "Nodes of the leaf switches",
					   "Nodes", status, n);

	for (int part = 0; part < 3; part++) {
		struct np_shape *shape =
			np_figure_add_shape(figure, panel, NP_SHAPE_SPANS,
					    part_style[part], part_name[part]);

		for (size_t i = 0; i < n; i++) {
			const struct np_state_leaf *leaf = status->leaf[i];
			/* All nodes that are up and not idle are busy. */
			double all = leaf->n_nodes,
			       up = all - leaf->n_unavailable;
			double busy = fmax(0, up - leaf->n_idle);
			/* Part p of the bar is from edge[p] to edge[p + 1]. */
			const double edge[] = { 0, busy, up, all };

			np_figure_add_datum(figure, shape, NAN, (double)i,
					    edge[part], edge[part + 1]);
		}
	}
}

/* Add a panel with the worst predicted slowdown of each leaf switch. */
static void add_worst_slowdown_panel(struct np_figure *figure,
				     const struct status *status, size_t n)
{
	struct np_panel *panel = add_panel(figure, "Worst predicted slowdown",
					   "Slowdown of a job there (%)",
					   status, n);
	struct np_shape *shape =
		np_figure_add_shape(figure, panel, NP_SHAPE_SPANS, 3, NULL);
	/*
	 * The axis extends 10 % beyond the largest of the slowdowns and the
	 * limit.
	 */
	double largest = fmax(status->state->max_slowdown, 0.01);

	for (size_t i = 0; i < n; i++) {
		largest = fmax(largest, status->leaf[i]->worst_slowdown);
		np_figure_add_datum(figure, shape, NAN, (double)i, 0,
				    100 * status->leaf[i]->worst_slowdown);
	}
	panel->x.hi = 110 * largest;
}

/*
 * Save the plot. Without --all it has at most MAX_DRAWN rows, because more
 * would be too small to read.
 */
static int save_plot(const struct status *status, const char *path)
{
	size_t n = status->state->n_leaves;
	size_t shown = status->all || n <= MAX_DRAWN ? n : MAX_DRAWN;
	struct np_figure *figure;

	if (!n)
		return cli_fail("the last decision contains no leaf switches");
	figure = cli_figure_new(
		*status->state->cluster ? status->state->cluster : "cluster");
	add_nodes_panel(figure, status, shown);
	add_worst_slowdown_panel(figure, status, shown);
	np_figure_set_caption(
		figure,
		"n = %zu leaf switches%s, %zu running jobs, %zu of them with a "
		"profile; decided %s.",
		n,
		shown < n ? " (those with the worst slowdowns are shown)" : "",
		status->n_running, status->n_known,
		cli_date(status->state->date));
	figure->date = status->state->date;
	return cli_figure_save_and_free(figure, path);
}

/* ---- command ---- */

/* A qsort() order of leaf switches: the worst predicted slowdown first. */
static int by_worst_slowdown(const void *a, const void *b)
{
	const struct np_state_leaf *leaf_a =
		*(const struct np_state_leaf *const *)a;
	const struct np_state_leaf *leaf_b =
		*(const struct np_state_leaf *const *)b;

	if (leaf_a->worst_slowdown != leaf_b->worst_slowdown)
		return leaf_a->worst_slowdown < leaf_b->worst_slowdown ? 1 : -1;
	/* Ties keep the cluster's order. */
	return leaf_a < leaf_b ? -1 : leaf_a > leaf_b;
}

/* A qsort() order of jobs. */
static int by_job_id(const void *a, const void *b)
{
	const struct np_state_job *const *job_a = a, *const *job_b = b;

	return np_order_u32(&(*job_a)->id, &(*job_b)->id);
}

/* Whether a job is pending and is, or should be, restricted or held. */
static bool is_kept_apart(const struct np_state_job *job)
{
	return job->pending && (!strcmp(job->action, "restricted") ||
				!strcmp(job->action, "held"));
}

/* Count the jobs and collect those that are kept apart. */
static void classify_jobs(struct status *status)
{
	for (size_t i = 0; i < status->state->n_jobs; i++) {
		const struct np_state_job *job = &status->state->job[i];

		status->n_running += !job->pending;
		status->n_known += !job->pending && job->known;
		status->n_pending += job->pending;
		if (is_kept_apart(job))
			status->kept_apart[status->n_kept_apart++] = job;
	}
	if (status->n_kept_apart)
		qsort(status->kept_apart, status->n_kept_apart,
		      sizeof(*status->kept_apart), by_job_id);
}

/* Collect and sort leaf switches and jobs. */
static struct status make_status(const struct np_state *state, double now)
{
	struct status status = { .state = state, .now = now };

	status.leaf = cli_calloc(state->n_leaves, sizeof(*status.leaf));
	status.kept_apart =
		cli_calloc(state->n_jobs, sizeof(*status.kept_apart));
	for (size_t i = 0; i < state->n_leaves; i++)
		status.leaf[i] = &state->leaf[i];
	if (state->n_leaves)
		qsort(status.leaf, state->n_leaves, sizeof(*status.leaf),
		      by_worst_slowdown);
	classify_jobs(&status);
	return status;
}

/*
 * Load the last decision, and find out whether placement is enabled. Returns -1
 * if the command should continue; otherwise prints the reason and returns the
 * exit status.
 */
static int load_state(struct np_state *state, bool *placement_enabled)
{
	struct np_err err = NP_ERR_INIT;
	struct np_conf conf;
	int rc;

	rc = cli_conf_read(&conf);
	if (rc >= 0)
		return rc;
	*placement_enabled = np_place_conf_enabled(&conf.place);
	rc = np_state_load(conf.store, state, &err);
	if (rc == -ENOENT && !*placement_enabled)
		return cli_fail("placement is off: Placement= in netprof.conf "
				"does not enable it");
	if (rc == -ENOENT)
		return cli_fail("%s; to find the reason, run netprof check",
				err.text);
	return rc ? cli_fail("%s", err.text) : -1;
}

static int run_status(const struct cli_cmd *self, int argc, char **argv)
{
	struct status status;
	struct cli_options options;
	struct np_state state;
	bool placement_enabled;
	int rc = cli_options_parse(self, argc, argv, NULL, &options);

	if (rc < 0)
		rc = load_state(&state, &placement_enabled);
	if (rc >= 0)
		return rc;
	status = make_status(&state, cli_now());
	status.placement_enabled = placement_enabled;
	status.all = options.all;
	rc = options.plot   ? save_plot(&status, options.plot) :
	     options.format ? print_data(&status, options.format) :
			      print_status(&status);
	free(status.leaf);
	free(status.kept_apart);
	np_state_free(&state);
	return rc;
}

const struct cli_cmd cmd_status = {
	.name = "status",
	.args = "[--json|--parsable|--plot=FILE] [--all]",
	.help = "what placement does: leaf switches, load, jobs kept apart",
	.text = "Prints the last decision of placement: its mode and age; the\n"
		"leaf switches with their nodes, jobs and the worst slowdown that is predicted\n"
		"for a job there; and the jobs that are kept apart, with the job and the\n"
		"slowdown that are the reason.\n\n"
		"  --all               all leaf switches and jobs, even beyond one screen\n"
		"  --plot=FILE         draw the leaf switches: .svg, .png or .pdf\n"
		"  --json, --parsable  output for programs; --parsable (-P) as in sacct",
	.examples = "  netprof status\n"
		    "  netprof status --all\n"
		    "  netprof status --plot=leaves.svg\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_ALL | CLI_TAKES_PLOT,
	.run = run_status,
};
