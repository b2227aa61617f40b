/*
 * netprof compare: runs and applications in columns next to each other, to
 * answer why a run was slow.
 *
 * Each column ("side") is one run, or all comparable runs of an application
 * together. The output says which is slowest and which conditions differ; a
 * condition is anything about a run that was recorded, such as its
 * nodes or its neighbours.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_profile.h"
#include "cli_text.h"

#define MAX_SIDES 16
#define NAME_LEN (NP_APP_MAX + 64)

struct side {
	char name[NAME_LEN];	       /* "fft" or "fft:4000.0" */
	struct np_runs found;	       /* of the application; owns all runs */
	const struct np_record *run;   /* the run; NULL: the application */
	struct np_runs runs;	       /* the runs of this side; borrowed */
	struct np_run_summary profile; /* of only these runs */
	struct np_sample latency; /* of the run, or borrowed from profile */
	/*
	 * Run time of the run if it succeeded; of an application: of its
	 * successful runs without load, and without neighbours if there are
	 * any such runs.
	 */
	struct np_mean run_sec;
	double shortest_sec, longest_sec;
	bool with_neighbours; /* no run had its leaf switches to itself */
};

struct comparison {
	struct side *side;
	size_t n;
};

/* ---- sides ---- */

/* Does the run time of this run count? */
static bool counts_as_time(const struct side *side, size_t i,
			   bool with_neighbours)
{
	const struct np_record *record = side->runs.run[i];
	enum np_run_use use = side->profile.use[i];

	if (side->run)
		return !record->exit_code && record->state != NP_RUN_RUNNING;
	if (record->level)
		return false;
	return with_neighbours ?
		       use == NP_RUN_NEIGHBOURS || use == NP_RUN_LATENCY :
		       use == NP_RUN_ALONE || use == NP_RUN_TIME;
}

/* Is this one of the runs that the side describes? */
static bool side_counts(const struct side *side, size_t i)
{
	return side->run || counts_as_time(side, i, side->with_neighbours);
}

/*
 * The run times of a side, and their range. Leaves the side unchanged if no
 * run counts.
 */
static void take_times(struct side *side, bool with_neighbours)
{
	struct np_moments moments = { 0 };

	for (size_t i = 0; i < side->runs.n; i++)
		if (counts_as_time(side, i, with_neighbours))
			np_moments_add(&moments,
				       np_record_run_sec(side->runs.run[i]));
	if (!moments.n)
		return;
	side->run_sec = np_mean_of(&moments);
	side->shortest_sec = moments.min;
	side->longest_sec = moments.max;
	side->with_neighbours = with_neighbours;
}

/*
 * Evaluate the runs of a side, which must not move afterwards. The caller
 * releases it.
 */
static void side_evaluate(struct side *side, struct cli_store *store)
{
	cli_profile_make(store, &side->runs, &side->found, &side->profile);
	take_times(side, false);
	if (!side->run_sec.n)
		take_times(side, true);
	if (!side->run)
		side->latency = side->profile.latency;
	else if (np_run_latency(side->run).n &&
		 np_sample_add(&side->latency, side->run))
		cli_no_memory();
}

/*
 * Only a single run has a sample of its own; that of an application belongs to
 * its profile.
 */
static void side_release(struct side *side)
{
	if (side->run)
		np_sample_free(&side->latency);
	np_run_summary_free(&side->profile);
	free(side->runs.run);
	np_runs_free(&side->found);
}

/* ---- conditions of a run ---- */

#define LINE 2048

/*
 * The number of other jobs on its leaf switches, and the largest share of its
 * run time for which one of them was there. A record lists a job once for each
 * shared leaf switch.
 */
static size_t neighbours_of(const struct np_record *record,
			    double *longest_share)
{
	double sec = np_record_run_sec(record), longest = 0;
	size_t jobs = 0;

	for (size_t i = 0; i < record->n_neighbours; i++) {
		bool seen = false;

		longest = fmax(longest, record->neighbours[i].overlap_sec);
		for (size_t k = 0; k < i && !seen; k++)
			seen = record->neighbours[k].job_id ==
			       record->neighbours[i].job_id;
		jobs += !seen;
	}
	*longest_share = !jobs ? 0 : sec > 0 ? fmin(longest / sec, 1) : 1;
	return jobs;
}

static const char *say_neighbours(const struct np_record *record)
{
	double share;
	size_t jobs = neighbours_of(record, &share);

	return jobs ? cli_text("%zu, %s of its time", jobs,
			       cli_percent(share)) :
		      "none";
}

static json_object *put_neighbours(const struct np_record *record)
{
	json_object *j = json_object_new_object();
	double share;

	cli_put_count(j, "n", neighbours_of(record, &share));
	cli_put_real(j, "longest_share", share);
	return j;
}

static const char *say_level(const struct np_record *record)
{
	return record->level ? record->level->name : "none";
}

static json_object *put_level(const struct np_record *record)
{
	return record->level ? json_object_new_string(record->level->name) :
			       NULL;
}

static const char *say_suspended(const struct np_record *record)
{
	return record->suspended ? "yes" : "no";
}

static json_object *put_suspended(const struct np_record *record)
{
	return json_object_new_boolean(record->suspended);
}

static const char *say_leaves(const struct np_record *record)
{
	char *buf = cli_text_buffer();

	for (size_t i = 0; i < record->n_leaves; i++)
		cli_appendf(buf, CLI_TEXT_BYTES, "%s%s", *buf ? "," : "",
			    record->leaves[i].name);
	return buf;
}

/* The exit code, or why there is none. */
static const char *say_state(const struct np_record *record)
{
	if (record->exit_code != NP_NO_VALUE)
		return cli_text("%ld", record->exit_code);
	return record->state == NP_RUN_RUNNING ? "not ended" : "not known";
}

static json_object *put_exit_code(const struct np_record *record)
{
	return record->exit_code == NP_NO_VALUE ?
		       NULL :
		       json_object_new_int64(record->exit_code);
}

#define AT(member) .text = offsetof(struct np_record, member)
#define COUNT_AT(member) .count = offsetof(struct np_record, member)

/* put is NULL if programs get the same text as people, or a number. */
static const struct condition {
	const char *key, *label, *words; /* for programs, tables, sentences */
	const char *(*say)(const struct np_record *r);
	json_object *(*put)(const struct np_record *r);
	/* say NULL: offset of a number of the record, or else of a text. */
	size_t count, text;
} recorded[] = {
	{ "neighbours", "Neighbours", "neighbours", say_neighbours,
	  put_neighbours },
	{ "level", "Load level", "the load level", say_level, put_level },
	{ "suspended", "Suspended", "whether it was suspended", say_suspended,
	  put_suspended },
	{ "n_nodes", "Nodes", "the number of nodes", COUNT_AT(n_nodes) },
	{ "n_tasks", "Tasks", "the number of tasks", COUNT_AT(n_tasks) },
	{ "nodes", "Node list", "the nodes", AT(nodes) },
	{ "leaves", "Leaf switches", "the leaf switches", say_leaves },
	{ "cluster", "Cluster", "the cluster", AT(cluster) },
	{ "transport", "Transport", "the transport", AT(probe.transport) },
	{ "executable", "Executable", "the executable", AT(executable) },
	{ "fingerprint", "Command", "the command", AT(fingerprint) },
	{ "exit_code", "Exit code", "the exit code", say_state, put_exit_code },
	{ "slurm_version", "Slurm", "the version of Slurm", AT(slurm_version) },
	{ "ucx_version", "UCX", "the version of UCX", AT(ucx_version) },
	{ "netprof_version", "netprof", "the version of netprof",
	  AT(netprof_version) },
	{ "mpi_version", "MPI", "the MPI library", AT(mpi_version) },
	{ "tasks_per_node", "Tasks per node", "the tasks on each node",
	  AT(tasks_per_node) },
	{ "task_order", "Task order", "the order of tasks", AT(task_order) },
	{ "cpu_bind", "CPU binding", "the binding to processors",
	  AT(cpu_bind) },
};

static uint32_t count_of(const struct np_record *record,
			 const struct condition *condition)
{
	return *(const uint32_t *)((const char *)record + condition->count);
}

/*
 * The value of a condition for one run; "" if it was not recorded. A list of
 * nodes may have any length, so the text of the record itself is returned.
 */
static const char *condition_of_run(const struct np_record *record,
				    const struct condition *condition)
{
	const char *text =
		condition->say	 ? condition->say(record) :
		condition->count ? cli_text("%u", count_of(record, condition)) :
				   *(char *const *)((const char *)record +
						    condition->text);

	return text ? text : "";
}

/*
 * Find the first run of a side that counts, and whether another one has a
 * different value of the condition. NULL: no run counts.
 */
static const struct np_record *run_of_side(const struct side *side,
					   const struct condition *condition,
					   bool *varies)
{
	const struct np_record *first = NULL;

	*varies = false;
	for (size_t i = 0; i < side->runs.n && !*varies; i++) {
		const struct np_record *run = side->runs.run[i];

		if (!side_counts(side, i))
			continue;
		*varies = first && strcmp(condition_of_run(first, condition),
					  condition_of_run(run, condition));
		first = first ? first : run;
	}
	return first;
}

/* What run_of_side() found, as a text; "" if nothing was recorded. */
static const char *value_text(const struct np_record *run, bool varies,
			      const struct condition *condition)
{
	return varies ? "varies" : run ? condition_of_run(run, condition) : "";
}

/* The value for a side: "varies" if its runs differ, "" if not recorded. */
static const char *condition_of_side(const struct side *side,
				     const struct condition *f)
{
	bool varies;
	const struct np_record *r = run_of_side(side, f, &varies);

	return value_text(r, varies, f);
}

/*
 * The number of sides that have a value for this condition; *text is the value
 * of the last one. *differ: two of them have different ones.
 */
static size_t sides_with(const struct comparison *all,
			 const struct condition *condition, const char **text,
			 bool *differ)
{
	const struct np_record *last = NULL;
	bool last_varies = false;
	size_t n = 0;

	*text = "";
	*differ = false;
	for (size_t i = 0; i < all->n; i++) {
		bool varies;
		const struct np_record *run =
			run_of_side(&all->side[i], condition, &varies);
		const char *value = value_text(run, varies, condition);

		if (!*value)
			continue;
		/* Made again, as texts of cli_text() do not stay valid. */
		*differ |=
			n++ &&
			strcmp(value_text(last, last_varies, condition), value);
		last = run;
		last_varies = varies;
		*text = value;
	}
	return n;
}

static bool condition_differs(const struct comparison *all,
			      const struct condition *condition)
{
	const char *text;
	bool differ;

	sides_with(all, condition, &text, &differ);
	return differ;
}

/* A side of which no run counts, and thus no condition is known; or NULL. */
static const struct side *side_without_runs(const struct comparison *all)
{
	bool varies;

	for (size_t i = 0; i < all->n; i++)
		if (!run_of_side(&all->side[i], recorded, &varies))
			return &all->side[i];
	return NULL;
}

/* ---- the verdict ---- */

/* Run times of different applications are not comparable. */
static bool same_application(const struct comparison *all)
{
	for (size_t i = 1; i < all->n; i++)
		if (strcmp(all->side[i].runs.app, all->side[0].runs.app))
			return false;
	return true;
}

/* "fft alone (60.0 s, 2 runs)" */
static const char *say_side(const struct side *side)
{
	const char *sec = cli_sec(side->run_sec.mean);

	if (side->run)
		return cli_text("%s (%s)", side->name, sec);
	return cli_text("%s %s (%s, %u run%s)", side->name,
			side->with_neighbours ? "with neighbours" : "alone",
			sec, side->run_sec.n, cli_plural_s(side->run_sec.n));
}

/*
 * "fft:4000.0 took 84.0 s, 40 % longer than fft alone (60.0 s, 2 runs)."
 * Differences below CLI_MIN_NOISE are called equal, and those within twice
 * the error of both means chance.
 */
static const char *say_slower(const struct side *slow, const struct side *fast)
{
	double d = slow->run_sec.mean / fast->run_sec.mean - 1;
	bool longer = d >= CLI_MIN_NOISE;
	bool chance = d < cli_noise_limit(&slow->run_sec, &fast->run_sec);

	return cli_text("%s took %s, %s %s%s.", slow->name,
			cli_sec(slow->run_sec.mean),
			longer ? cli_text("%.0f %% longer than", 100 * d) :
				 "as long as",
			say_side(fast),
			longer && chance ? ", which may be chance" : "");
}

/*
 * Which application uses the network most: the one with the largest share of
 * delayed probes.
 */
static const char *say_heaviest(const struct comparison *all)
{
	const struct side *most = NULL;

	for (size_t i = 0; i < all->n; i++) {
		const struct side *side = &all->side[i];

		if (side->profile.verdict.use &&
		    (!most || side->profile.verdict.delayed_share >
				      most->profile.verdict.delayed_share))
			most = side;
	}
	if (!most)
		return "How these applications use the network is not known.";
	return cli_text("Of these applications, %s uses the network most: %s "
			"of probes were delayed.",
			most->name,
			cli_percent(most->profile.verdict.delayed_share));
}

/* The first line: which is slower, or uses the network more. */
static const char *say_verdict(const struct comparison *all)
{
	const struct side *slow = NULL, *fast = NULL;
	size_t known = 0;

	if (!same_application(all))
		return say_heaviest(all);
	for (size_t i = 0; i < all->n; i++) {
		const struct side *side = &all->side[i];

		if (!np_mean_known(&side->run_sec) || !(side->run_sec.mean > 0))
			continue;
		known++;
		if (!slow || side->run_sec.mean > slow->run_sec.mean)
			slow = side;
		if (!fast || side->run_sec.mean <= fast->run_sec.mean)
			fast = side;
	}
	if (known < 2)
		return cli_text("The run times of %s cannot be compared: fewer "
				"than two are known.",
				all->side[0].runs.app);
	return say_slower(slow, fast);
}

/* The second line: the conditions that differ. */
static const char *say_differences(const struct comparison *all)
{
	const struct side *empty = side_without_runs(all);
	char list[LINE] = "";

	for (size_t i = 0; i < NP_ARRAY_SIZE(recorded); i++)
		if (condition_differs(all, &recorded[i]))
			cli_appendf(list, sizeof(list), "%s%s",
				    *list ? ", " : "", recorded[i].words);
	if (*list)
		return cli_text("Different: %s.", list);
	if (empty)
		return cli_text("The conditions cannot be compared: %s has no "
				"run without load of which the time counts.",
				empty->name);
	return "No recorded condition differs.";
}

/* ---- text output ---- */

#define LABEL 18	 /* width of the row labels, in columns */
#define LEAST_COLUMN 20	 /* width of a side, in columns */
#define SAME_COLUMNS 255 /* of a value that does not differ, at most */

/* The first and the last start of the runs that count; 0: none counts. */
static void date_range(const struct side *side, double *first, double *last)
{
	*first = *last = 0;
	for (size_t i = 0; i < side->runs.n; i++) {
		const struct np_record *record = side->runs.run[i];

		if (!side_counts(side, i))
			continue;
		if (!*first || record->start < *first)
			*first = record->start;
		if (record->start > *last)
			*last = record->start;
	}
}

/* The rows with measurements; rows with conditions follow them. */
enum { TIME, RANGE, DEVIATION, RUNS, P50, P99, DELAYED, LOAD, START, TO };

static const char *const labels[] = {
	"Run time",    "  range", "  deviation",    "  of runs",
	"Latency p50", "  p99",	  "Delayed probes", "Est. utilisation",
	"Start",       "  to",
};

/* Only to the minute, which is enough to find a run and fits into a column. */
static const char *say_start(double start)
{
	const char *date = cli_date(start);

	return strlen(date) == strlen("2024-06-12T14:03:05") ?
		       cli_text("%.*s", (int)strlen("2024-06-12T14:03"), date) :
		       date;
}

/* The text of one cell; "" if it is empty. */
static const char *cell(const struct side *side, int row)
{
	const struct np_verdict *verdict = &side->profile.verdict;
	double first, last, sec = NAN;
	bool several = side->run_sec.n > 1;

	date_range(side, &first, &last);
	switch (row) {
	case TIME:
		sec = np_mean_known(&side->run_sec) ? side->run_sec.mean : NAN;
		break;
	case RANGE:
		return several ? cli_sec_range(side->shortest_sec,
					       side->longest_sec) :
				 "";
	case DEVIATION:
		sec = several ? side->run_sec.sd : NAN;
		break;
	case RUNS:
		return cli_text("%u", side->run_sec.n);
	case P50:
	case P99:
		if (side->latency.hist)
			sec = np_sample_quantile(&side->latency,
						 row == P50 ? 0.5 : 0.99);
		break;
	case DELAYED:
		return verdict->against ? cli_percent(verdict->delayed_share) :
					  "";
	case LOAD:
		return verdict->against ?
			       cli_text("%.2f", verdict->utilisation) :
			       "";
	case START:
		return first > 0 ? say_start(first) : "";
	case TO: /* only if it differs from the first start */
		return last > first ? cli_day(last) : "";
	}
	return isnan(sec) ? "" : cli_sec(sec);
}

/* The sides [from, to) that fit next to each other. */
struct block {
	size_t from, to;
	int width;
};

/* A star marks a row whose values differ between the sides. */
static void begin_row(const char *label, bool differs)
{
	printf("%-*s", LABEL, cli_text("%s%s", label, differs ? " *" : ""));
}

/*
 * Cut to the width of the column. Nothing is padded after the last one, so
 * that lines have no blanks at their end.
 */
static void put_cell(const struct block *block, size_t i, const char *text)
{
	const char *cut =
		cli_truncate(*text ? text : "-", (size_t)block->width - 1);
	int padding = block->width - (int)cli_width(cut);

	printf("%s%*s", cut, i + 1 < block->to ? padding : 0, "");
	if (i + 1 == block->to)
		putchar('\n');
}

/* Rows for the conditions that differ. */
static void put_conditions(const struct comparison *all,
			   const struct block *block)
{
	for (size_t k = 0; k < NP_ARRAY_SIZE(recorded); k++) {
		const struct condition *condition = &recorded[k];

		if (!condition_differs(all, condition))
			continue;
		begin_row(condition->label, true);
		for (size_t i = block->from; i < block->to; i++)
			put_cell(block, i,
				 condition_of_side(&all->side[i], condition));
	}
}

/* One paragraph for the conditions that do not differ. */
static void put_same(const struct comparison *all)
{
	char line[LINE] = "";
	const char *text;
	bool differ;

	for (size_t k = 0; k < NP_ARRAY_SIZE(recorded); k++)
		if (sides_with(all, &recorded[k], &text, &differ) >= 2 &&
		    !differ)
			cli_appendf(line, sizeof(line), "%s%s %s",
				    *line ? ", " : "", recorded[k].label,
				    cli_truncate(text, SAME_COLUMNS));
	if (*line)
		putchar('\n');
	cli_label("Equal", "%s", line);
}

/* Is any cell of the row filled? */
static bool any_cell(const struct comparison *all, const struct block *block,
		     int row)
{
	for (size_t i = block->from; i < block->to; i++)
		if (*cell(&all->side[i], row))
			return true;
	return false;
}

/*
 * One block of the table: names, measurements, differing conditions. Rows
 * without any value in this block are skipped.
 */
static void put_block(const struct comparison *all, const struct block *block)
{
	printf("\n%s", cli_colour(CLI_BOLD));
	begin_row("", false);
	for (size_t i = block->from; i < block->to; i++)
		put_cell(block, i, all->side[i].name);
	printf("%s", cli_colour(CLI_PLAIN));
	for (int row = 0; row < (int)NP_ARRAY_SIZE(labels); row++) {
		if (!any_cell(all, block, row))
			continue;
		begin_row(labels[row], false);
		for (size_t i = block->from; i < block->to; i++)
			put_cell(block, i, cell(&all->side[i], row));
	}
	put_conditions(all, block);
}

/* netprof explain knows the neighbours of a run, and what they cost it. */
static void refer_to_explain(const struct comparison *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct np_record *record = all->side[i].run;

		if (!record || !np_run_has_neighbours(record))
			continue;
		printf("To see what its neighbours cost %s: netprof explain "
		       "%u\n",
		       all->side[i].name, record->job_id);
	}
}

/* Columns of the widest name or differing condition; measurements are short. */
static int widest_cell(const struct comparison *all)
{
	size_t widest = LEAST_COLUMN;

	for (size_t i = 0; i < all->n; i++) {
		if (cli_width(all->side[i].name) > widest)
			widest = cli_width(all->side[i].name);
		for (size_t k = 0; k < NP_ARRAY_SIZE(recorded); k++) {
			size_t width;

			if (!condition_differs(all, &recorded[k]))
				continue;
			width = cli_width(
				condition_of_side(&all->side[i], &recorded[k]));
			widest = width > widest ? width : widest;
		}
	}
	return (int)widest;
}

/*
 * As many sides as fit into the width of the output form a block; further sides
 * follow below.
 */
static int print_text(const struct comparison *all)
{
	size_t columns = (size_t)(cli_columns() - LABEL);
	size_t room = columns / LEAST_COLUMN;
	size_t shown = all->n < room ? all->n : room;
	struct block block = { .width = (int)(columns / shown) };

	if (cli_columns() == CLI_UNLIMITED)
		block.width = widest_cell(all) + 2;
	cli_printf(CLI_BOLD, 0, "%s", say_verdict(all));
	cli_wrap(stdout, say_differences(all), 0);
	refer_to_explain(all);
	for (block.from = 0; block.from < all->n; block.from = block.to) {
		block.to = block.from + room < all->n ? block.from + room :
							all->n;
		put_block(all, &block);
	}
	put_same(all);
	return CLI_DONE;
}

/* ---- output for programs ---- */

/* The latencies of a side; null if it was not probed. */
static void put_latency(json_object *in, const struct np_sample *sample)
{
	json_object *j = cli_put_if(in, "latency", sample->hist);

	if (!j)
		return;
	cli_put_count(j, "n", sample->moments.n);
	cli_put_real(j, "mean_sec", sample->moments.mean);
	cli_put_real(j, "p50_sec", np_sample_quantile(sample, 0.5));
	cli_put_real(j, "p99_sec", np_sample_quantile(sample, 0.99));
	cli_put_real(j, "max_sec", sample->moments.max);
}

/* The run time of a side; null if it is unknown. */
static void put_time(json_object *in, const struct side *side)
{
	json_object *j =
		cli_put_if(in, "run_time", np_mean_known(&side->run_sec));

	if (!j)
		return;
	cli_put_count(j, "n", side->run_sec.n);
	cli_put_real(j, "mean_sec", side->run_sec.mean);
	cli_put_real(j, "sd_sec", side->run_sec.n > 1 ? side->run_sec.sd : NAN);
	cli_put_real(j, "shortest_sec", side->shortest_sec);
	cli_put_real(j, "longest_sec", side->longest_sec);
	cli_put_bool(j, "with_neighbours", side->with_neighbours);
}

/*
 * The conditions of a side, with the keys of a run record. Those that vary
 * among its runs are null, and "varying" lists them.
 */
static void put_side_conditions(json_object *in, const struct side *side)
{
	json_object *conditions = cli_put_object(in, "conditions");
	json_object *varying = cli_put_array(in, "varying");

	for (size_t i = 0; i < NP_ARRAY_SIZE(recorded); i++) {
		const struct condition *f = &recorded[i];
		bool varies;
		const struct np_record *r = run_of_side(side, f, &varies);

		if (varies)
			cli_append_text(varying, f->key);
		if (!r || varies) {
			cli_put(conditions, f->key, NULL);
		} else if (f->put) {
			cli_put(conditions, f->key, f->put(r));
		} else if (f->count) {
			cli_put_count(conditions, f->key, count_of(r, f));
		} else {
			const char *text = condition_of_run(r, f);

			cli_put_text(conditions, f->key, *text ? text : NULL);
		}
	}
}

/* Everything about one side. */
static void put_side(json_object *j, const struct side *side)
{
	const struct np_verdict *verdict = &side->profile.verdict;
	double first, last;

	cli_put_text(j, "name", side->name);
	cli_put_text(j, "app", side->runs.app);
	cli_put(j, "job_id",
		side->run ? json_object_new_uint64(side->run->job_id) : NULL);
	put_time(j, side);
	put_latency(j, &side->latency);
	cli_put_text(j, "use", cli_use_name(&side->profile));
	cli_put_real(j, "delayed_share",
		     verdict->against ? verdict->delayed_share : NAN);
	cli_put_real(j, "estimated_utilisation",
		     verdict->against ? verdict->utilisation : NAN);
	date_range(side, &first, &last);
	cli_put_time(j, "first", first);
	cli_put_time(j, "last", last);
	put_side_conditions(j, side);
}

static const struct cli_table table = {
	"Name|App|Runs|RunSec|SdSec|ShortestSec|LongestSec|Probes|Mean|P50|P99|"
	"Use|DelayedShare|EstimatedUtilisation|First|Last|Neighbours|Level|Nodes|Tasks|NodeList|"
	"Leaves|Cluster|Transport|Executable|Fingerprint|ExitCode|Slurm|Ucx|"
	"Netprof|Mpi|TasksPerNode|TaskOrder|CpuBind|NeighbourShare|Varying",
	{ { "compared", "name|app|run_time/n|run_time/mean_sec|run_time/sd_sec|"
			"run_time/shortest_sec|run_time/longest_sec|latency/n|"
			"latency/mean_sec|latency/p50_sec|latency/p99_sec|use|"
			"delayed_share|estimated_utilisation|first|last|"
			"conditions/neighbours/n|conditions/level|"
			"conditions/n_nodes|conditions/n_tasks|"
			"conditions/nodes|conditions/leaves|"
			"conditions/cluster|conditions/transport|"
			"conditions/executable|conditions/fingerprint|"
			"conditions/exit_code|conditions/slurm_version|"
			"conditions/ucx_version|conditions/netprof_version|"
			"conditions/mpi_version|conditions/tasks_per_node|"
			"conditions/task_order|conditions/cpu_bind|"
			"conditions/neighbours/longest_share|varying" } },
};

/*
 * The verdict is the sentence of the text output; "different" lists the keys
 * of the conditions that differ.
 */
static int print_data(const struct comparison *all, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;

	cli_put_text(j, "verdict", say_verdict(all));
	list = cli_put_array(j, "different");
	for (size_t i = 0; i < NP_ARRAY_SIZE(recorded); i++)
		if (condition_differs(all, &recorded[i]))
			cli_append_text(list, recorded[i].key);
	list = cli_put_array(j, "compared");
	for (size_t i = 0; i < all->n; i++)
		put_side(cli_append_object(list), &all->side[i]);
	return cli_print_output(format, "compare", j, &table);
}

/* ---- command ---- */

/*
 * Find the run that the user named. Returns -1 to go on, or the exit status
 * after printing why not.
 */
static int find_run(struct side *side, const char *run)
{
	const struct np_runs *runs = &side->found;

	for (size_t i = 0; i < runs->n; i++) {
		if (!cli_run_is(runs->run[i], run))
			continue;
		if (side->run)
			return cli_fail(
				"job %.64s of %s has several steps; name one "
				"of them, such as %s or %s",
				run, runs->app, cli_run_id(runs->run[i]),
				cli_run_id(side->run));
		side->run = runs->run[i];
	}
	return side->run ? -1 :
			   cli_fail("no run \"%.64s\" of %s; netprof runs %s "
				    "lists them",
				    run, runs->app, runs->app);
}

/*
 * The newest run that has ended, one without load if possible; runs are sorted,
 * newest first. Returns as find_run().
 */
static int find_newest(struct side *side)
{
	for (int level = 0; level < 2; level++)
		for (size_t i = 0; i < side->found.n && !side->run; i++) {
			const struct np_record *record = side->found.run[i];

			if (record->state != NP_RUN_RUNNING &&
			    !record->level == !level)
				side->run = record;
		}
	return side->run ?
		     -1 :
		     cli_fail("no run of %s has ended yet", side->found.app);
}

/*
 * Add the side for a word APP or APP:RUN. newest: APP means its newest run.
 * Returns as find_run().
 */
static int add_side(struct comparison *all, struct cli_store *store,
		    const struct cli_options *options, const char *word,
		    bool newest)
{
	size_t len = strcspn(word, ":");
	struct side *side = &all->side[all->n];
	char app[NP_APP_MAX + 2];
	int rc;

	/* A name that is too long is cut, but still too long to be accepted. */
	snprintf(app, sizeof(app), "%.*s", (int)len, word);
	rc = cli_runs_find(store, options, app, &side->found);
	if (rc >= 0)
		return rc;
	all->n++; /* the caller releases it from now on */
	if (word[len])
		rc = find_run(side, word + len + 1);
	else if (newest)
		rc = find_newest(side);
	snprintf(side->name, sizeof(side->name), "%s%s%s", app,
		 side->run ? ":" : "", side->run ? cli_run_id(side->run) : "");
	return rc;
}

/*
 * Is this run a side of its own? Then it does not count for its application,
 * which stands for what is usual.
 */
static bool is_a_side(const struct comparison *all,
		      const struct np_record *record)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->side[i].run &&
		    all->side[i].run->job_id == record->job_id &&
		    !strcmp(all->side[i].run->app, record->app))
			return true;
	return false;
}

/*
 * An application that is compared with a run of it is reduced to the runs of
 * the same command. Returns its fingerprint, or NULL.
 */
static const char *command_of(const struct comparison *all,
			      const struct side *side)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->side[i].run &&
		    !strcmp(all->side[i].run->app, side->found.app))
			return all->side[i].run->fingerprint;
	return NULL;
}

/*
 * Select the runs of a side among those of its application: the run itself, or
 * all others, of one command if that is given.
 */
static void take_runs(const struct comparison *all, struct side *side,
		      const char *command)
{
	for (size_t i = 0; i < side->found.n; i++) {
		struct np_record *record = side->found.run[i];

		if (side->run ?
			    record == side->run :
			    !is_a_side(all, record) &&
				    (!command ||
				     (record->fingerprint &&
				      !strcmp(record->fingerprint, command))))
			side->runs.run[side->runs.n++] = record;
	}
}

/* Select the runs of a side and evaluate them. */
static void make_side(const struct comparison *all, struct side *side,
		      struct cli_store *store)
{
	const char *command = command_of(all, side);

	side->runs = side->found;
	side->runs.n = 0;
	side->runs.run = cli_calloc(side->found.n, sizeof(*side->runs.run));
	take_runs(all, side, command);
	if (!side->runs.n && command) /* none of that command: use the others */
		take_runs(all, side, NULL);
	side_evaluate(side, store);
}

/* Load all sides. Returns -1 to go on, or the exit status. */
static int load_sides(struct comparison *all, const struct cli_options *options)
{
	struct cli_store store;
	int rc = cli_store_open(&store);

	if (rc >= 0)
		return rc;
	/* A single word is compared with the application it belongs to. */
	if (options->n_apps == 1) {
		char app[NP_APP_MAX + 2];

		snprintf(app, sizeof(app), "%.*s",
			 (int)strcspn(options->apps[0], ":"), options->apps[0]);
		rc = add_side(all, &store, options, app, false);
	}
	for (size_t i = 0; rc < 0 && i < options->n_apps; i++)
		rc = add_side(all, &store, options, options->apps[i],
			      options->n_apps == 1);
	for (size_t i = 0; rc < 0 && i < all->n; i++)
		make_side(all, &all->side[i], &store);
	cli_store_close(&store);
	return rc;
}

/* Returns the exit status: differences do not fail the command. */
static int run_compare(const struct cli_cmd *self, int argc, char **argv)
{
	struct comparison all = { .n = 0 };
	struct cli_options options;
	int rc = cli_options_parse(self, argc, argv, NULL, &options);

	if (rc >= 0)
		return rc;
	if (options.n_apps > MAX_SIDES)
		return cli_usage(
			self,
			"%zu runs and applications, at most %d are possible",
			options.n_apps, MAX_SIDES);
	all.side = cli_calloc(MAX_SIDES, sizeof(*all.side));
	rc = load_sides(&all, &options);
	if (rc < 0)
		rc = options.format ? print_data(&all, options.format) :
				      print_text(&all);
	for (size_t i = 0; i < all.n; i++)
		side_release(&all.side[i]);
	free(all.side);
	return rc;
}

const struct cli_cmd cmd_compare = {
	.name = "compare",
	.args = "[--json|--parsable] [--user=NAME|--published]\n"
		"        APP[:RUN]...",
	.help = "compare runs or applications side by side",
	.text = "Prints runs, or all runs of an application together, side by side: run times,\n"
		"latencies, neighbours, and every condition that was different, marked with a\n"
		"star. The first line says which is slower, by how much, and whether that may be\n"
		"chance. RUN is the name that netprof runs prints, or the number of the job. A\n"
		"single APP:RUN is compared with the other runs of the same command; a single\n"
		"APP means its newest run.\n\n"
		"The options are those of show.",
	.examples = "  netprof compare fft\n"
		    "  netprof compare fft:4000\n"
		    "  netprof compare fft:4000 fft:3001\n"
		    "  netprof compare fft halo\n",
	.takes = CLI_TAKES_APPS | CLI_TAKES_FORMAT | CLI_TAKES_USER,
	.required_arg = "an application",
	.max_args = CLI_ANY,
	.run = run_compare,
};
