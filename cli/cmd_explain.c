/*
 * netprof explain: what one job lost, to whom, and what placement did about it.
 *
 * Up to four sources have data about a job: Slurm's accounting with the site's
 * metrics server (cli_diagnosis.h), the last decision of placement for pending
 * and running jobs, placement's records of jobs that have ended, and the run
 * records of measured steps. The job is looked up in all of them, and the
 * output has a part for each in which it was found.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_diagnosis.h"
#include "cli_json_put.h"
#include "cli_known.h"
#include "cli_output.h"
#include "cli_predict.h"
#include "cli_print.h"
#include "cli_profile.h"
#include "cli_state.h"
#include "np_array.h"
#include "np_conf.h"
#include "np_hostlist.h"
#include "np_moments.h"
#include "np_option.h"
#include "np_run_summary.h"

/* Another job on its leaf switches. */
struct neighbour {
	uint32_t id, array, task; /* array 0: no array */
	uid_t uid;		  /* only of a running job */
	const char *app;	  /* borrowed; "": unknown */
	char leaves[256];	  /* shared leaf switches */
	double overlap_sec;	  /* only of a job that has ended */
	double slowdown; /* of the job by this neighbour alone, predicted, a
			       fraction; NaN: not known */
};

/* A measured step of the job. */
struct measured_step {
	const struct np_record *run; /* borrowed */
	struct np_mean alone; /* run times of the same command, undisturbed */
	struct np_hist *alone_hist; /* latencies of these runs; NULL: none */
	const struct np_record **alone_run; /* these runs, borrowed */
	size_t n_alone_runs;
};

struct explanation {
	const char *word;  /* the job, as the user wrote it */
	uint32_t id, task; /* task NP_ACCOUNTING_NO_TASK: id is that of a job */
	double now;	   /* seconds since 1970 */

	struct cli_diagnosis_opt opt;
	struct cli_diagnosis diagnosis; /* its job may be NULL */

	/* The last decision of placement. */
	bool have_state;
	struct np_state state;
	struct np_err no_state;		/* why it cannot be read, or "" */
	const struct np_state_job *job; /* the job in it; NULL: not there */

	/* What placement recorded when the job ended. */
	bool have_record;
	struct np_accounting_record accounting;
	struct np_err no_accounting; /* why it cannot be read, or "" */

	/* Run records of the job. */
	uid_t uid;	      /* whose records */
	struct np_runs *runs; /* of each application that has any */
	size_t n_runs;
	struct measured_step *measured;
	size_t n_measured;

	struct neighbour *neighbour;
	size_t n_neighbours;
	/* Predicted slowdown by all neighbours together, a fraction; or NaN. */
	double slowdown;
	struct np_err not_predicted; /* why not, or what is excluded; or "" */
};

/* ---- neighbours ---- */

#define MIN_COST 0.005 /* of the run time: a smaller cost is not reported */

static struct neighbour *add_neighbour(struct explanation *found, uint32_t id)
{
	struct neighbour *other;

	cli_array_grow(&found->neighbour, found->n_neighbours, sizeof(*other));
	other = &found->neighbour[found->n_neighbours++];
	*other = (struct neighbour){ .id = id, .app = "", .slowdown = NAN };
	return other;
}

/* A neighbour of this job id that was added before, or NULL. */
static struct neighbour *find_neighbour(struct explanation *found, uint32_t id)
{
	for (size_t i = 0; i < found->n_neighbours; i++)
		if (found->neighbour[i].id == id)
			return &found->neighbour[i];
	return NULL;
}

/* ---- neighbours of a running job, from the last decision ---- */

/* Add the running jobs that share a leaf switch with the job. */
static void add_running(struct explanation *found)
{
	for (size_t i = 0; i < found->state.n_jobs; i++) {
		const struct np_state_job *job = &found->state.job[i];
		struct neighbour *other;
		char leaves[256];

		if (job->pending || job == found->job ||
		    !np_hostlist_shared(found->job->leaves, job->leaves, leaves,
					sizeof(leaves)))
			continue;
		other = add_neighbour(found, job->id);
		other->app = job->app;
		other->uid = job->uid;
		other->array = job->array;
		other->task = job->task;
		strcpy(other->leaves, leaves);
	}
}

/*
 * Find an application among the known ones, or add it, as placement would: the
 * published profile, or else that of the owner of the job. Returns 0 or -ENOENT.
 */
static int add_known(struct cli_known *known, struct cli_store *store,
		     const char *app, uid_t uid, size_t *at)
{
	struct np_runs runs;
	int rc = -ENOENT;

	for (size_t i = 0; i < known->n; i++)
		if (!strcmp(known->app[i]->runs.app, app) &&
		    (known->app[i]->runs.owner == NP_STORE_PUBLISHED ||
		     known->app[i]->runs.uid == uid)) {
			*at = i;
			return 0;
		}
	for (int own = 0; rc && own < 2; own++)
		rc = cli_runs_load_quiet(
			store, own ? NP_STORE_USER : NP_STORE_PUBLISHED, uid,
			app, &runs);
	if (rc)
		return rc;
	cli_known_add(known, &runs);
	*at = known->n - 1;
	return 0;
}

#define NO_PROFILE ((size_t)-1)

/*
 * Load the profiles of the job and of its neighbours. at[i]: index of the i-th
 * neighbour's application, or NO_PROFILE. The job's own is the first one.
 */
static int find_known(struct explanation *found, struct cli_store *store,
		      struct cli_known *known, size_t *at)
{
	size_t self;
	int rc = *found->job->app ? add_known(known, store, found->job->app,
					      found->job->uid, &self) :
				    -ENOENT;

	if (rc)
		return np_errf(&found->not_predicted, rc,
			       "it has no profile that you may read");
	for (size_t i = 0; i < found->n_neighbours; i++) {
		const struct neighbour *other = &found->neighbour[i];

		at[i] = NO_PROFILE;
		if (*other->app)
			add_known(known, store, other->app, other->uid, &at[i]);
	}
	return 0;
}

/*
 * Note how many neighbours the prediction excludes: those without a profile, and
 * those beyond the number that it can have.
 */
static void note_excluded(struct np_err *note, size_t n_unknown, size_t n_more)
{
	const char *unknown = "", *more = "";

	if (n_unknown)
		unknown = cli_text("%zu without a profile", n_unknown);
	if (n_more)
		more = cli_text("%s%zu beyond the %d that a prediction can "
				"have",
				n_unknown ? " and " : "", n_more,
				CLI_PREDICT_MAX_CO);
	if (n_unknown || n_more)
		np_errf(note, 0, "%s%s %s not included", unknown, more,
			n_unknown + n_more == 1 ? "is" : "are");
}

/* Predict the slowdown by each neighbour alone, and by all together. */
static void predict_by_models(struct explanation *found,
			      const struct cli_known *known,
			      struct np_predictor *models, const size_t *at)
{
	struct cli_prediction all = { .scope = NP_SCOPE_LEAF };
	size_t n_unknown = 0, n_more = 0;

	for (size_t i = 0; i < found->n_neighbours; i++) {
		struct cli_prediction one = { .scope = NP_SCOPE_LEAF,
					      .n_corunners = 1 };

		if (at[i] == NO_PROFILE) {
			n_unknown++;
			continue;
		}
		one.corunner[0] = at[i];
		cli_predict(models, known, &one);
		if (!one.rc && !cli_doubt_text(&one.result))
			found->neighbour[i].slowdown = one.result.slowdown;
		if (all.n_corunners < CLI_PREDICT_MAX_CO)
			all.corunner[all.n_corunners++] = at[i];
		else
			n_more++;
	}
	if (!all.n_corunners) {
		np_errf(&found->not_predicted, 0,
			"none of its neighbours has a profile that you may "
			"read");
		return;
	}
	cli_predict(models, known, &all);
	if (all.rc) {
		found->not_predicted = all.why;
		return;
	}
	if (cli_doubt_text(&all.result)) {
		np_errf(&found->not_predicted, 0, "%s",
			cli_doubt_text(&all.result));
		return;
	}
	found->slowdown = all.result.slowdown;
	note_excluded(&found->not_predicted, n_unknown, n_more);
}

/* If there is no prediction, found->not_predicted says why. */
static void predict(struct explanation *found, struct cli_store *store,
		    struct cli_known *known, size_t *at)
{
	struct np_predictor *models;

	if (find_known(found, store, known, at))
		return;
	if (cli_check_memory(
		    cli_known_load_calibration(known, store, 1, true))) {
		found->not_predicted = known->why;
		return;
	}
	if (known->app[0]->unusable.text[0]) {
		found->not_predicted = known->app[0]->unusable;
		return;
	}
	if (cli_check_memory(cli_known_predictor(known, NULL, false, &models,
						 &found->not_predicted)))
		return;
	predict_by_models(found, known, models, at);
	np_predictor_free(models);
}

/*
 * The neighbours of a running job, with predictions from the profiles that the
 * caller may read.
 */
static void find_running_neighbours(struct explanation *found,
				    struct cli_store *store)
{
	struct cli_known known = { .n = 0 };
	size_t *at;

	add_running(found);
	if (!found->n_neighbours)
		return;
	at = cli_calloc(found->n_neighbours, sizeof(*at));
	predict(found, store, &known, at);
	cli_known_free(&known);
	free(at);
}

/* ---- neighbours of an ended job, from placement and run records ---- */

/*
 * Add the neighbours that placement recorded when the job ended, with the
 * slowdowns that it predicted then.
 */
static void add_accounted(struct explanation *found)
{
	for (size_t i = 0; i < found->accounting.n_neighbours; i++) {
		const struct np_accounting_neighbour *recorded =
			&found->accounting.neighbour[i];
		struct neighbour *other = add_neighbour(found, recorded->id);

		other->app = recorded->app;
		snprintf(other->leaves, sizeof(other->leaves), "%s",
			 recorded->leaves);
		other->overlap_sec = recorded->overlap_sec;
		if (*recorded->app)
			other->slowdown = recorded->slowdown;
	}
}

/* Add the neighbours that are only in the run records. */
static void add_recorded(struct explanation *found)
{
	/* Placement's own records have more about these. */
	size_t n_accounted = found->n_neighbours;

	for (size_t i = 0; i < found->n_measured; i++) {
		const struct np_record *record = found->measured[i].run;

		for (size_t k = 0; k < record->n_neighbours; k++) {
			const struct np_neighbour *recorded =
				&record->neighbours[k];
			struct neighbour *other =
				find_neighbour(found, recorded->job_id);

			if (!recorded->job_id) /* removed when it was published */
				continue;
			if (other &&
			    (size_t)(other - found->neighbour) < n_accounted)
				continue;
			if (!other)
				other = add_neighbour(found, recorded->job_id);
			if (recorded->job_id == record->job_id)
				other->app = "(own step)";
			/* Listed once for each shared leaf switch. */
			cli_appendf(other->leaves, sizeof(other->leaves),
				    "%s%s", *other->leaves ? "," : "",
				    recorded->leaf);
			other->overlap_sec =
				fmax(other->overlap_sec, recorded->overlap_sec);
		}
	}
}

/*
 * What a neighbour costs, as a fraction of the run time. If the job has ended,
 * the predicted slowdown counts only for the time during which both ran, in the
 * same way as in the prediction that placement recorded for the whole run.
 * Otherwise one neighbour could cost more than all together.
 */
static double cost_of(const struct explanation *found,
		      const struct neighbour *other)
{
	double sec = found->have_record ?
			     found->accounting.end - found->accounting.start :
			     0;

	if (isnan(other->slowdown))
		return 0;
	if (found->job)
		return other->slowdown;
	return sec > 0 ? expm1(fmin(other->overlap_sec / sec, 1) *
			       log1p(other->slowdown)) :
			 0;
}

/*
 * The neighbour that costs most; *share: how much of the run time, a fraction.
 * NULL if no cost is known, or none above MIN_COST.
 */
static const struct neighbour *costliest(const struct explanation *found,
					 double *share)
{
	const struct neighbour *most = NULL;

	*share = MIN_COST;
	for (size_t i = 0; i < found->n_neighbours; i++) {
		double cost = cost_of(found, &found->neighbour[i]);

		if (cost <= *share)
			continue;
		*share = cost;
		most = &found->neighbour[i];
	}
	return most;
}

/* The neighbours of a job that has ended. */
static void find_past_neighbours(struct explanation *found)
{
	bool known = false;

	if (found->have_record)
		add_accounted(found);
	for (size_t i = 0; i < found->n_neighbours; i++)
		known |= !isnan(found->neighbour[i].slowdown);
	known |= !found->n_neighbours;
	if (found->have_record && *found->accounting.app && known)
		found->slowdown = found->accounting.slowdown;
	add_recorded(found);
}

/* ---- text output ---- */

#define MAX_ROWS 40 /* of neighbours */

/* The state for programs; "measured": only run records are left. */
static const char *state_of(const struct explanation *found)
{
	return found->job ? found->job->pending ? "pending" : "running" :
	       found->have_record			      ? "ended" :
	       found->n_measured			      ? "measured" :
	       found->diagnosis.job->state == NP_ACCT_RUNNING ? "running" :
								"ended";
}

/* Warn if the last decision is too old to be in force. */
static void print_stale(const struct explanation *found)
{
	if (cli_state_stale(&found->state, found->now))
		cli_printf(CLI_RED, 0, "%s",
			   cli_mode_text(&found->state, found->now, true));
}

/* How long placement held the job. For a pending job the decision has this. */
static void print_held(double held_sec)
{
	if (held_sec >= 1)
		cli_label("Held", "for %s by placement before it started",
			  cli_setting_sec(held_sec));
}

/* A leaf switch that is closed to the job, and the job that is the reason. */
static void cause_row(const struct explanation *found,
		      const struct np_state_cause *cause, int leaf_width,
		      int app_width)
{
	const char *victim = cli_is_own_victim(found->job, cause) ?
				     "this one" :
				     cli_text("%u", cause->victim);

	cli_print_left(stdout, cause->leaf, leaf_width);
	printf(" %-10u ", cause->other);
	cli_print_left(stdout, cli_app_name(cause->other_app), app_width);
	printf(" %-12s", victim);
	cli_print_number(cli_change, cause->slowdown, 9);
	putchar('\n');
}

/*
 * Number of closed leaf switches without a row: no conflicting job is there, or
 * the list of conflicts is full.
 */
static size_t other_leaves(const struct explanation *found)
{
	const struct np_state_job *job = found->job;
	size_t n_open = 0, known;
	char **open = NULL;

	if (strcmp(job->action, "restricted") ||
	    np_hostlist_expand(job->leaves, &open, &n_open, NULL))
		return 0;
	np_names_free(open, n_open);
	known = n_open + job->n_causes;
	return found->state.n_leaves > known ? found->state.n_leaves - known :
					       0;
}

/* The decision of placement, one row for each leaf switch. */
static void print_causes(const struct explanation *found)
{
	const struct np_state_cause *cause = found->job->cause;
	int leaf_width = cli_name_column(20, 2), app_width = leaf_width;
	size_t others = other_leaves(found);

	if (!found->job->n_causes)
		return;
	for (size_t i = 0; i < found->job->n_causes; i++) {
		leaf_width = cli_widen(leaf_width, cause[i].leaf);
		app_width =
			cli_widen(app_width, cli_app_name(cause[i].other_app));
	}
	cli_heading("%-*s %-10s %-*s %-12s%9s", leaf_width, "Kept off leaf",
		    "Due to job", app_width, "Application", "Would slow", "By");
	for (size_t i = 0; i < found->job->n_causes; i++)
		cause_row(found, &cause[i], leaf_width, app_width);
	if (others && found->job->n_causes < NP_STATE_MAX_CAUSES)
		printf("%zu more: reserved for pending jobs, or without a node "
		       "that this job may use\n",
		       others);
	else if (others)
		printf("%zu more\n", others);
}

/* "Job 17 (fft)" */
static const char *job_text(const char *id, const char *app)
{
	return *app ? cli_text("Job %s (%s)", id, app) : cli_text("Job %s", id);
}

/*
 * The first line: held, restricted, unrestricted or ignored; "would be" if this
 * is only advice.
 */
static void print_decision(const struct explanation *found)
{
	const struct np_state_job *job = found->job;
	const char *who = job_text(cli_job_name(job->id, job->array, job->task),
				   job->app);

	if (!strcmp(job->action, "held"))
		cli_printf(CLI_BOLD, 0,
			   "%s %s held by placement, for now until %s, so that "
			   "it does not share a leaf switch with a job that it "
			   "conflicts with.",
			   who, job->applied ? "is" : "would be",
			   cli_date(job->until));
	else if (!strcmp(job->action, "restricted"))
		cli_printf(CLI_BOLD, 0, "%s %s only on %s.", who,
			   job->applied ? "may run" : "would be allowed to run",
			   job->leaves);
	else if (!strcmp(job->action, "unrestricted"))
		cli_printf(CLI_BOLD, 0,
			   "%s is unrestricted: it waits for Slurm, not for "
			   "placement (squeue shows why).",
			   who);
	else
		cli_printf(CLI_BOLD, 0,
			   "%s is ignored by placement: it waits for Slurm "
			   "(squeue shows why).",
			   who);
}

/* The denied use of a published name by the owner of the job, or NULL. */
static const struct np_state_denial *find_denial(const struct np_state *state,
						 const struct np_state_job *job)
{
	for (size_t i = 0; i < state->n_denials; i++)
		if (state->denial[i].uid == job->uid &&
		    !strcmp(state->denial[i].app, job->app))
			return &state->denial[i];
	return NULL;
}

/* Why a job on one node has no advice to measure it. */
static const char one_node[] =
	"a job on one node is not measured, because it uses no switch";

/* Why placement has no profile for the job, and how to change that. */
static void print_unknown(const struct explanation *found)
{
	const struct np_state_job *job = found->job;
	const struct np_state_denial *denial = find_denial(&found->state, job);

	if (job->known)
		return;
	if (denial)
		cli_label("Unknown", "%s", cli_denied_text(denial));
	else if (job->n_nodes == 1)
		cli_label("Unknown", "%s", one_node);
	else if (!*job->app)
		cli_label(
			"Unknown",
			"The job does not name its application. To measure it "
			"under a name: sbatch --netprofile=NAME job.sh. Later "
			"jobs give the name by --netprofile=NAME, or by "
			"NETPROF_APP=NAME in the environment.");
	else
		cli_label(
			"Unknown",
			"Placement has no profile of %s. To measure it: sbatch "
			"--netprofile=%s --netprofile-calibrate job.sh",
			job->app, job->app);
}

/* A pending job: only placement has data about it. */
static int print_pending(const struct explanation *found)
{
	print_decision(found);
	print_stale(found);
	cli_label("Decision", "%s", found->job->text);
	print_unknown(found);
	print_causes(found);
	return CLI_DONE;
}

/* "Job 17 (fft) runs on leaf0 (4 nodes)" */
static const char *where_text(const char *id, const char *app, const char *verb,
			      const char *leaves, uint32_t n_nodes)
{
	return cli_text("%s %s on %.512s%s%u node%s%s", job_text(id, app), verb,
			leaves, *leaves ? " (" : "", n_nodes,
			cli_plural_s(n_nodes), *leaves ? ")" : "");
}

/* The overlap is only known for jobs that have ended. */
static void neighbour_row(const struct neighbour *other, bool ended,
			  int app_width, int leaves_width)
{
	printf("%-11s ", cli_job_name(other->id, other->array, other->task));
	cli_print_left(stdout, cli_app_name(other->app), app_width);
	putchar(' ');
	cli_print_left(stdout, *other->leaves ? other->leaves : "-",
		       leaves_width);
	if (ended)
		cli_print_sec(other->overlap_sec, 11);
	cli_print_number(cli_change, other->slowdown, ended ? 13 : 24);
	putchar('\n');
}

/* The table of neighbours. Long lists are cut; --parsable has all. */
static void print_neighbours(const struct explanation *found, bool ended)
{
	size_t shown = found->n_neighbours < MAX_ROWS ? found->n_neighbours :
							MAX_ROWS;
	int app_width = cli_name_column(20, 2), leaves_width = app_width;

	if (!found->n_neighbours)
		return;
	for (size_t i = 0; i < shown; i++) {
		const struct neighbour *other = &found->neighbour[i];

		app_width = cli_widen(app_width, cli_app_name(other->app));
		leaves_width = cli_widen(leaves_width, other->leaves);
	}
	cli_heading("%-11s %-*s %-*s%11s%13s", "Neighbour", app_width,
		    "Application", leaves_width, "Leaf switches",
		    ended ? "Overlap" : "", "Predicted");
	for (size_t i = 0; i < shown; i++)
		neighbour_row(&found->neighbour[i], ended, app_width,
			      leaves_width);
	if (found->n_neighbours > MAX_ROWS)
		printf("%zu more (--parsable)\n",
		       found->n_neighbours - MAX_ROWS);
	if (ended && found->accounting.more_neighbours)
		printf("%u more, each with a shorter overlap\n",
		       found->accounting.more_neighbours);
}

/*
 * The slowdown by all neighbours together, which is not the sum of the
 * slowdowns by each.
 */
static void print_prediction(const struct explanation *found)
{
	const char *why = found->not_predicted.text;

	if (!found->n_neighbours)
		cli_label("Predicted",
			  "no slowdown: no job that placement knows "
			  "is on its leaf switches");
	else if (!isnan(found->slowdown))
		cli_label("Predicted", "%s by its neighbours together%s%s",
			  cli_change(found->slowdown), *why ? "; " : "", why);
	else
		cli_label("Predicted", "not possible: %s", why);
}

/* The application of the job, where its records are most likely; or "". */
static const char *app_of(const struct explanation *found)
{
	return found->job	  ? found->job->app :
	       found->have_record ? found->accounting.app :
				    "";
}

/*
 * The neighbour to look at first, and the command that shows how its effect
 * was predicted.
 */
static void print_costliest(const struct explanation *found)
{
	const char *part;
	double share;
	const struct neighbour *other = costliest(found, &share);

	if (!other)
		return;
	part = found->job ?
		       cli_text("+%.0f %% by this one alone", 100 * share) :
		       cli_text("%.0f percentage points, in an overlap of %s",
				100 * share, cli_sec(other->overlap_sec));
	cli_label("Costliest",
		  "%s (%s) on %.64s: %s; for details: netprof predict %s %s",
		  cli_job_name(other->id, other->array, other->task),
		  other->app, other->leaves, part, app_of(found), other->app);
}

/* A running job: its neighbours now, and what they are predicted to cost. */
static int print_running(const struct explanation *found)
{
	const struct np_state_job *job = found->job;

	cli_printf(CLI_BOLD, 0, "%s, since %s.",
		   where_text(cli_job_name(job->id, job->array, job->task),
			      job->app, "runs", job->leaves, job->n_nodes),
		   cli_date(job->start));
	print_stale(found);
	print_held(job->held_sec);
	print_unknown(found);
	print_prediction(found);
	print_costliest(found);
	print_neighbours(found, false);
	return CLI_DONE;
}

/*
 * One measured step. Its run time is compared only if it ended successfully, was
 * never suspended and ran without load. It is known even if the probes ended
 * before the step.
 */
static void print_step(const struct explanation *found,
		       const struct measured_step *step)
{
	const struct np_record *record = step->run;
	const char *line;
	struct np_sample sample = { NULL };

	if (record->state == NP_RUN_RUNNING || record->exit_code == NP_NO_VALUE)
		line = "It is still running, or its end was not recorded: "
		       "there is no run time to compare.";
	else if (record->exit_code)
		line = "It failed, so its run time cannot be compared.";
	else if (record->suspended)
		line = "Its job was suspended, so its run time cannot be "
		       "compared.";
	else if (record->level)
		line = cli_text("It ran under load level %s, which slows it on "
				"purpose.",
				record->level->name);
	else
		line = cli_run_time_text(
			np_record_run_sec(record), &step->alone,
			isnan(found->slowdown) ? NULL : &found->slowdown);
	cli_label(cli_text("Step %u", record->step_id), "%s", line);
	cli_print_rails(stdout, record);
	if (!np_sample_add(&sample, record))
		cli_print_adapters(stdout, &sample);
	np_sample_free(&sample);
}

/* The first line about a job that placement has a record of. */
static void print_ended_job(const struct explanation *found)
{
	const struct np_accounting_record *record = &found->accounting;

	cli_printf(
		CLI_BOLD, 0, "%s, for %s from %s.",
		where_text(cli_job_name(record->id, record->array,
					record->task),
			   record->app, "ran", record->leaves, record->n_nodes),
		cli_sec(record->end - record->start), cli_date(record->start));
	print_held(record->held_sec);
}

/* The first line about a job of which only run records are left. */
static void print_recorded(const struct explanation *found)
{
	const struct np_record *record = found->measured[0].run;

	cli_printf(CLI_BOLD, 0,
		   "Job %s (%s) ran on %.512s, from %s; placement has no "
		   "record of it.",
		   found->word, record->app,
		   record->nodes ? record->nodes : "unknown nodes",
		   cli_date(record->start));
}

/*
 * Two independent answers: what the profiles of the job and its neighbours
 * predict, and what the run times of comparable runs attribute to the network.
 */
struct agreement {
	double predicted_sec;
	double low_sec, high_sec;	/* interval of the other answer */
	enum { LESS, AGREES, MORE } is; /* the prediction */
};

/* Compare the two answers. Returns false if one of them is not known. */
static bool find_agreement(const struct explanation *found,
			   struct agreement *out)
{
	const struct np_blame *blame = &found->diagnosis.result.blame;
	const struct np_blame_range *net = &blame->cause[NP_CAUSE_NETWORK].sec;
	double sec = found->slowdown * blame->alone_sec.mean;

	if (isnan(found->slowdown) || !found->n_neighbours ||
	    !found->diagnosis.job || !found->diagnosis.examined ||
	    found->diagnosis.job->state != NP_ACCT_COMPLETED ||
	    blame->verdict < NP_BLAME_CAUSE ||
	    !blame->cause[NP_CAUSE_NETWORK].examined)
		return false;
	*out = (struct agreement){
		.predicted_sec = sec,
		.low_sec = fmax(net->low, 0),
		.high_sec = fmax(net->high, 0),
		.is = sec < net->low  ? LESS :
		      sec > net->high ? MORE :
					AGREES,
	};
	return true;
}

static void print_agreement(const struct explanation *found)
{
	static const char *const word[] = { "less than", "which agrees with",
					    "more than" };
	struct agreement agreement;

	if (!find_agreement(found, &agreement))
		return;
	cli_label("Profiles",
		  "predict %s, %s the %s that the run times above "
		  "attribute to the network",
		  cli_sec(agreement.predicted_sec), word[agreement.is],
		  cli_sec_range(agreement.low_sec, agreement.high_sec));
}

/*
 * A job that has ended: the measured steps, oldest first, and its neighbours.
 */
static int print_ended(const struct explanation *found)
{
	if (found->have_record)
		print_ended_job(found);
	else
		print_recorded(found);
	if (!found->n_measured && found->accounting.n_nodes == 1)
		cli_label("Measured", "no: %s", one_node);
	else if (!found->n_measured)
		cli_label("Measured",
			  "no; to learn how much its neighbours slow "
			  "it: sbatch --netprofile=%s job.sh",
			  *found->accounting.app ? found->accounting.app :
						   "NAME");
	for (size_t i = found->n_measured; i-- > 0;)
		print_step(found, &found->measured[i]);
	if (!isnan(found->slowdown) && found->n_neighbours) {
		cli_label("Predicted",
			  "%s over its whole run, by its neighbours",
			  cli_change(found->slowdown));
		print_agreement(found);
	}
	print_costliest(found);
	if (!found->n_neighbours)
		cli_label("Neighbours",
			  "none: no other job was on its leaf switches");
	print_neighbours(found, true);
	return CLI_DONE;
}

/* First what the accounting says, then what netprof itself recorded. */
static int print_text(const struct explanation *found)
{
	if (found->diagnosis.job)
		cli_diagnosis_text(stdout, &found->diagnosis);
	if (found->diagnosis.job &&
	    (found->job || found->have_record || found->n_measured))
		putchar('\n');
	else if (found->diagnosis.job)
		return CLI_DONE;
	return !found->job	   ? print_ended(found) :
	       found->job->pending ? print_pending(found) :
				     print_running(found);
}

/* ---- output for programs ---- */

/* The record of placement, with the members that a job in the state has. */
static void put_ended(json_object *object,
		      const struct np_accounting_record *record)
{
	cli_put_text(object, "job",
		     cli_job_name(record->id, record->array, record->task));
	cli_put_count(object, "job_id", record->id);
	cli_put_text(object, "user", cli_user(record->uid));
	cli_put_text(object, "state", "ended");
	cli_put_text(object, "app", record->app);
	cli_put_text(object, "partition", record->partition);
	cli_put_text(object, "leaves", record->leaves);
	cli_put_count(object, "n_nodes", record->n_nodes);
	cli_put_time(object, "submit", record->submit);
	cli_put_time(object, "start", record->start);
	cli_put_time(object, "end", record->end);
	cli_put_real(object, "held_sec", record->held_sec);
	cli_put_count(object, "more_neighbours", record->more_neighbours);
}

/* One measured step; "slowdown" is relative to the undisturbed run time. */
static void put_measured(json_object *object, const struct measured_step *step)
{
	double run = np_record_run_sec(step->run);
	struct np_sample sample = { NULL };

	cli_put_text(object, "app", step->run->app);
	cli_put_count(object, "step_id", step->run->step_id);
	cli_put_time(object, "start", step->run->start);
	cli_put_real(object, "run_sec", run);
	cli_put_text(object, "level",
		     step->run->level ? step->run->level->name : NULL);
	if (!np_sample_add(&sample, step->run))
		cli_put_adapters(object, &sample);
	np_sample_free(&sample);
	cli_put_count(object, "alone_runs", step->alone.n);
	if (!np_mean_known(&step->alone))
		return;
	cli_put_real(object, "alone_sec", step->alone.mean);
	cli_put_real(object, "slowdown", run / step->alone.mean - 1);
}

/* One neighbour. Slowdown is null if there is no prediction. */
static void put_neighbour(json_object *list, const struct explanation *found,
			  const struct neighbour *other)
{
	json_object *object = cli_append_object(list);

	cli_put_count(object, "job_id", other->id);
	cli_put_text(object, "app", other->app);
	cli_put_text(object, "leaves", other->leaves);
	if (!found->job)
		cli_put_real(object, "overlap_sec", other->overlap_sec);
	cli_put_real(object, "slowdown", other->slowdown);
}

/* Null if no cost is known. */
static void put_costliest(json_object *parent, const struct explanation *found)
{
	double share;
	const struct neighbour *other = costliest(found, &share);
	json_object *object = cli_put_if(parent, "costliest", other);

	if (!object)
		return;
	cli_put_count(object, "job_id", other->id);
	cli_put_text(object, "app", other->app);
	cli_put_real(object, "share", share);
}

/* Null if one of the two answers is not known. */
static void put_agreement(json_object *parent, const struct explanation *found)
{
	static const char *const word[] = { "less", "agrees", "more" };
	struct agreement agreement;
	json_object *object = cli_put_if(parent, "profiles",
					 find_agreement(found, &agreement));

	if (!object)
		return;
	cli_put_real(object, "predicted_sec", agreement.predicted_sec);
	cli_put_real(object, "network_low_sec", agreement.low_sec);
	cli_put_real(object, "network_high_sec", agreement.high_sec);
	cli_put_text(object, "prediction", word[agreement.is]);
}

/* The first columns of each row; up: path from its record to the root. */
#define ABOUT(up) \
	up "job|" up "state|" up "app|" up "leaves|" up "action|" up \
	   "applied|" up "held_sec|" up "predicted|" up "steps/0/run_sec|" up \
	   "steps/0/alone_sec|" up "steps/0/alone_runs|"
#define HEAD \
	"Job|State|App|Leaves|Action|Applied|HeldSec|Predicted|RunSec|" \
	"AloneSec|AloneRuns|Other|OtherApp|OtherLeaves|OverlapSec|Victim|" \
	"Slowdown"

static const struct cli_table of_itself = {
	HEAD,
	{ { "", ABOUT("") "|||||" } },
};

static const struct cli_table of_others = {
	HEAD,
	{
		{ "causes",
		  ABOUT("../") "other|other_app|leaf||victim|slowdown" },
		{ "neighbours",
		  ABOUT("../") "job_id|app|leaves|overlap_sec||slowdown" },
	},
};

/*
 * Print the members of all sources in which the job was found; those of the
 * others are missing. Rows list the neighbours, or the leaf switches that are
 * closed to a pending job.
 */
static int print_data(const struct explanation *found, enum cli_format format)
{
	json_object *object = json_object_new_object(), *list;
	bool others = found->n_neighbours ||
		      (found->job && found->job->n_causes);

	if (found->job) {
		cli_put_job(object, found->job);
		cli_put_snapshot(cli_put_object(object, "placement"),
				 &found->state, found->now);
	} else if (found->have_record) {
		put_ended(object, &found->accounting);
	} else {
		cli_put_text(object, "job", found->word);
		cli_put_text(object, "state", state_of(found));
		cli_put_text(object, "app",
			     found->n_measured ? found->measured[0].run->app :
						 "");
	}
	cli_diagnosis_json(object, &found->diagnosis);
	list = cli_put_array(object, "steps");
	for (size_t i = 0; i < found->n_measured; i++)
		put_measured(cli_append_object(list), &found->measured[i]);
	cli_put_real(object, "predicted", found->slowdown);
	cli_put_text(object, "why", found->not_predicted.text);
	put_agreement(object, found);
	put_costliest(object, found);
	list = cli_put_array(object, "neighbours");
	for (size_t i = 0; i < found->n_neighbours; i++)
		put_neighbour(list, found, &found->neighbour[i]);
	return cli_print_output(format, "explain", object,
				others ? &of_others : &of_itself);
}

/* ---- run records of the job ---- */

/*
 * Whether this is the record of a step of the job. A task of an array is
 * identified by the array and its index, because its job id may not be known.
 */
static bool is_of_job(const struct explanation *found,
		      const struct np_record *record)
{
	if (found->task == NP_ACCOUNTING_NO_TASK)
		return record->job_id == found->id;
	return record->array_job_id == (long)found->id &&
	       record->array_task_id == (long)found->task;
}

/* Move the latencies of a summary to a step. */
static void take_latencies(struct measured_step *step,
			   struct np_run_summary *summary)
{
	const struct np_runs *runs = summary->runs;

	step->alone_hist = summary->latency.hist;
	summary->latency.hist = NULL;
	step->alone_run = cli_calloc(runs->n, sizeof(*step->alone_run));
	for (size_t i = 0; i < runs->n; i++)
		if (summary->use[i] == NP_RUN_ALONE ||
		    summary->use[i] == NP_RUN_LATENCY)
			step->alone_run[step->n_alone_runs++] = runs->run[i];
}

/*
 * The run time and the latencies of the same command without load and
 * neighbours, over comparable runs of other jobs.
 */
static void find_alone(const struct explanation *found,
		       const struct np_runs *runs, struct measured_step *step)
{
	const struct np_record *like = step->run;
	const struct np_run_summary_opt opt = {
		.like = like,
		.fingerprint = like->fingerprint,
		.now = found->now,
	};
	struct np_runs others = { .n = 0 };
	struct np_run_summary summary;

	if (!like->fingerprint || !*like->fingerprint)
		return; /* the command of this run was not recorded */
	others.run = cli_calloc(runs->n, sizeof(*others.run));
	for (size_t i = 0; i < runs->n; i++)
		if (runs->run[i]->job_id != like->job_id)
			others.run[others.n++] = runs->run[i];
	cli_check_memory(np_run_summary_make(&others, &opt, &summary));
	step->alone = summary.alone_sec;
	if (!summary.latency.neighbours)
		take_latencies(step, &summary);
	np_run_summary_free(&summary);
	free(others.run);
}

/* Add the steps of the job among these runs. */
static void add_steps(struct explanation *found, const struct np_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *record = runs->run[i];
		struct measured_step *step;

		if (!is_of_job(found, record))
			continue;
		cli_array_grow(&found->measured, found->n_measured,
			       sizeof(*step));
		step = &found->measured[found->n_measured++];
		*step = (struct measured_step){ .run = record };
		find_alone(found, runs, step);
	}
}

#define MIN_PROBES 50 /* fewer say nothing about a run or a window */
/* Probes above this quantile of undisturbed runs count as delayed. */
#define USUAL_QUANTILE 0.9

/* The share of a sample in the bins after this one; NaN: too few probes. */
static double share_after(const struct np_hist *hist, size_t bin)
{
	uint64_t n = 0, all = np_hist_total(hist);

	while (++bin < NP_HIST_BINS)
		n += np_hist_count(hist, bin);
	return all < MIN_PROBES ? NAN : (double)n / (double)all;
}

/* The mean of the bins after this one, seconds; NaN: nothing is in them. */
static double mean_after(const struct np_hist *hist, size_t bin)
{
	double sum = 0;
	uint64_t n = 0;

	/* The last bin has no upper edge. */
	while (++bin < NP_HIST_BINS - 1) {
		sum += (double)np_hist_count(hist, bin) *
		       sqrt(np_hist_edge(bin) * np_hist_edge(bin + 1));
		n += np_hist_count(hist, bin);
	}
	return n ? sum / (double)n : NAN;
}

/* Latencies in windows of equal length. */
struct windows {
	double start, step_sec;
	size_t n;
	struct np_moments m[NP_EXAMINE_WINDOWS];
};

static void add_windows(struct windows *to, const struct np_record *record)
{
	struct np_series *series = np_run_windows(record);

	for (size_t i = 0; series && i < series->n; i++) {
		double at_sec = record->start +
				((double)i + 0.5) * series->width_sec -
				to->start;
		double at = floor(at_sec / to->step_sec);

		if (series->w[i].n && at >= 0 && at < (double)to->n)
			np_moments_merge(&to->m[(size_t)at], &series->w[i]);
	}
	free(series);
}

/*
 * The mean latency of undisturbed runs, and the largest in a window of this
 * length; NaN: they have no windows.
 */
static void find_usual(const struct measured_step *step, double step_sec,
		       double *usual_sec, double *most_sec)
{
	struct np_moments all = { .n = 0 };

	*most_sec = NAN;
	for (size_t i = 0; i < step->n_alone_runs; i++) {
		struct windows windows = { .start = step->alone_run[i]->start,
					   .step_sec = step_sec,
					   .n = NP_EXAMINE_WINDOWS };

		add_windows(&windows, step->alone_run[i]);
		for (size_t k = 0; k < windows.n; k++) {
			np_moments_merge(&all, &windows.m[k]);
			if (windows.m[k].n >= MIN_PROBES)
				*most_sec = fmax(*most_sec, windows.m[k].mean);
		}
	}
	*usual_sec = all.mean;
}

#define MIN_STANDARD_ERRORS 3 /* by which a window differs from usual ones */

/*
 * Estimate the share of delayed probes in each window. Windows have no
 * histogram, so the share follows from the mean of the window, the mean of
 * undisturbed runs and the mean of delayed probes (delayed_sec). It is 0 in a
 * window that is not slower than the slowest one of undisturbed runs.
 */
static void estimate_shares(const struct measured_step *step,
			    const struct windows *windows, double delayed_sec,
			    struct np_examine_probes *out)
{
	double usual_sec, most_sec;

	find_usual(step, windows->step_sec, &usual_sec, &most_sec);
	if (isnan(most_sec) || !(delayed_sec > usual_sec))
		out->n = 0;
	for (size_t i = 0; i < out->n; i++) {
		const struct np_moments *moments = &windows->m[i];
		double error = MIN_STANDARD_ERRORS * np_moments_sd(moments) /
			       sqrt((double)moments->n);

		out->window[i] = moments->n < MIN_PROBES ?
					 NAN :
				 moments->mean - error <= most_sec ?
					 0 :
					 fmin((moments->mean - usual_sec) /
						      (delayed_sec - usual_sec),
					      1);
	}
}

/*
 * How many more of its probes were delayed than in undisturbed runs of the same
 * command. Earlier starts of a requeued job do not count. For
 * cli_diagnosis_make().
 */
static void summarise_probes(void *arg, uint32_t job_id, double start,
			     double step_sec, struct np_examine_probes *out)
{
	const struct explanation *found = arg;
	const struct measured_step *step = found->measured;
	struct windows windows = { .start = start,
				   .step_sec = step_sec,
				   .n = out->n };
	struct np_hist *hist = np_hist_new();
	double usual, share = NAN;
	size_t bin;

	for (size_t i = 0; hist && step->alone_hist && i < found->n_runs; i++)
		for (size_t k = 0; k < found->runs[i].n; k++) {
			const struct np_record *record = found->runs[i].run[k];

			if (record->job_id != job_id || record->end < start ||
			    record->level || !record->fingerprint ||
			    !step->run->fingerprint ||
			    strcmp(record->fingerprint, step->run->fingerprint))
				continue;
			np_run_add_hist(record, hist);
			add_windows(&windows, record);
		}
	if (hist && step->alone_hist) {
		bin = np_hist_bin_of(
			np_hist_quantile(step->alone_hist, USUAL_QUANTILE));
		usual = share_after(step->alone_hist, bin);
		share = (share_after(hist, bin) - usual) / (1 - usual);
		estimate_shares(step, &windows, mean_after(hist, bin), out);
	}
	np_hist_free(hist);
	out->delayed = isnan(share) ? NAN : fmax(share, 0);
	if (isnan(share))
		out->n = 0;
}

/*
 * Add the steps of the job that were recorded under this application. Profiles
 * that are missing or unreadable are treated as empty.
 */
static void try_app(struct explanation *found, struct cli_store *store,
		    enum np_store_owner owner, const char *app)
{
	size_t before = found->n_measured;
	struct np_runs runs;

	if (cli_runs_load_quiet(store, owner, found->uid, app, &runs))
		return;
	add_steps(found, &runs);
	if (found->n_measured == before) {
		np_runs_free(&runs);
		return;
	}
	cli_array_grow(&found->runs, found->n_runs, sizeof(*found->runs));
	found->runs[found->n_runs++] = runs;
}

/* Find the records of the job among those of a user. */
static void find_runs(struct explanation *found, struct cli_store *store,
		      const struct cli_options *options, const char *app)
{
	enum np_store_owner owner = options->published ? NP_STORE_PUBLISHED :
							 NP_STORE_USER;
	struct np_store_app *apps = NULL;
	size_t n = 0;

	if (*app)
		try_app(found, store, owner, app);
	/* Steps of one job may have been measured under different names. */
	if (!found->n_measured)
		np_store_list_apps(store->store, owner, found->uid, &apps, &n,
				   NULL);
	for (size_t i = 0; i < n; i++)
		if (strcmp(apps[i].name, app))
			try_app(found, store, owner, apps[i].name);
	free(apps);
}

/* ---- finding the job ---- */

/* Whether this is the requested job. or_array: as for find_in_state(). */
static bool is_requested(const struct explanation *found,
			 const struct np_state_job *job, bool or_array)
{
	if (found->task == NP_ACCOUNTING_NO_TASK)
		return job->id == found->id;
	return job->array == found->id &&
	       (or_array ? cli_is_array_record(job->task) :
			   job->task == found->task);
}

/*
 * Find the job in the last decision. or_array: for a task, accept the entry of
 * its array, which has all tasks that Slurm has not split off yet.
 */
static void find_in_state(struct explanation *found, bool or_array)
{
	for (size_t i = 0; !found->job && i < found->state.n_jobs; i++)
		if (is_requested(found, &found->state.job[i], or_array))
			found->job = &found->state.job[i];
}

/*
 * If the number is that of an array, fail and list its tasks. Returns -1 if it
 * is not.
 */
static int fail_with_tasks(const struct explanation *found)
{
	char list[256] = "";
	size_t n = 0;

	for (size_t i = 0; i < found->state.n_jobs; i++) {
		const struct np_state_job *job = &found->state.job[i];

		if (job->array != found->id)
			continue;
		if (n++ < 4)
			cli_appendf(
				list, sizeof(list), "%s%s", *list ? ", " : "",
				cli_job_name(job->id, job->array, job->task));
	}
	if (!n)
		return -1;
	return cli_fail("job %s is an array; ask for one of its tasks: %s%s",
			found->word, list, n > 4 ? ", ..." : "");
}

/* Whose run records to search: those of --user, else of the job's owner. */
static uid_t owner_of(const struct explanation *found,
		      const struct cli_options *options)
{
	if (options->user_given)
		return options->uid;
	return found->job	  ? found->job->uid :
	       found->have_record ? found->accounting.uid :
				    options->uid;
}

/* Look the job up in the files of placement and among the run records. */
static void gather(struct explanation *found, struct cli_store *store,
		   const struct cli_options *options)
{
	const char *dir = np_store_dir(store->store);
	struct np_err err = NP_ERR_INIT;
	int rc = np_state_load(dir, &found->state, &err);

	found->have_state = !rc;
	if (rc && rc != -ENOENT)
		found->no_state = err; /* the other sources remain */
	find_in_state(found, false);
	if (!found->job) {
		rc = np_accounting_find(dir, found->id, found->task,
					&found->accounting, &err);
		found->have_record = !rc;
		if (rc && rc != -ENOENT)
			found->no_accounting = err;
	}
	if (!found->job && !found->have_record)
		find_in_state(found, true);
	found->uid = owner_of(found, options);
	if (!found->job) {
		find_runs(found, store, options, app_of(found));
		find_past_neighbours(found);
	} else if (!found->job->pending) {
		find_running_neighbours(found, store);
	}
}

/* The job was not found: fail, and list where it was looked up. */
static int fail_not_found(const struct explanation *found)
{
	const char *age = "there is none";
	int rc = found->have_state && found->task == NP_ACCOUNTING_NO_TASK ?
			 fail_with_tasks(found) :
			 -1;

	if (rc >= 0)
		return rc;
	if (found->no_accounting.text[0])
		return cli_fail("%s", found->no_accounting.text);
	if (found->opt.accounting)
		return cli_fail("job %s is not in %s, or never started",
				found->word, found->opt.accounting);
	if (found->have_state)
		age = cli_age(found->state.date, found->now);
	return cli_fail(
		"job %s was not found: it is not in the last decision "
		"of placement (%s), among the jobs that ended in the last "
		"%d days, in the run records of %s, or in Slurm's "
		"accounting%s%s%s; placement considers only jobs that "
		"name an application (--netprofile=APP, NETPROF_APP), "
		"new ones from its next decision on",
		found->word, *found->no_state.text ? found->no_state.text : age,
		NP_ACCOUNTING_KEEP_DAYS, cli_user(found->uid),
		found->diagnosis.why.text[0] ? " (" : "",
		found->diagnosis.why.text,
		found->diagnosis.why.text[0] ? ")" : "");
}

/*
 * Look the job up in the accounting, unless it is pending: only jobs that have
 * started can be diagnosed. Returns -1 to go on, or the exit status.
 */
static int find_in_accounting(struct explanation *found,
			      const struct np_metrics_conf *conf)
{
	if (found->job && found->job->pending && !found->opt.accounting)
		return -1;
	found->opt.probes = found->n_measured ? summarise_probes : NULL;
	found->opt.probes_arg = found;
	cli_diagnosis_make(&found->diagnosis, &found->opt, conf, found->id,
			   found->task, found->now);
	if (found->diagnosis.why.text[0] && found->opt.accounting)
		return cli_fail("%s", found->diagnosis.why.text);
	return -1;
}

/* Returns the exit status. */
static int print_explanation(struct explanation *found,
			     const struct cli_options *options)
{
	if (!found->job && !found->have_record && !found->n_measured &&
	    !found->diagnosis.job)
		return fail_not_found(found);
	if (options->plot && !found->diagnosis.job)
		return cli_fail("--plot=%s: nothing to draw, because job %s is "
				"not in Slurm's accounting%s%s",
				options->plot, found->word,
				found->diagnosis.why.text[0] ? ": " : "",
				found->diagnosis.why.text);
	if (*found->no_state.text)
		cli_warn_line(found->no_state.text, NULL);
	if (options->plot)
		return cli_figure_save_and_free(
			cli_diagnosis_figure(&found->diagnosis), options->plot);
	return options->format ? print_data(found, options->format) :
				 print_text(found);
}

static void release(struct explanation *found)
{
	if (found->have_state)
		np_state_free(&found->state);
	if (found->have_record)
		np_accounting_record_free(&found->accounting);
	for (size_t i = 0; i < found->n_measured; i++) {
		np_hist_free(found->measured[i].alone_hist);
		free(found->measured[i].alone_run);
	}
	for (size_t i = 0; i < found->n_runs; i++)
		np_runs_free(&found->runs[i]);
	cli_diagnosis_free(&found->diagnosis);
	free(found->runs);
	free(found->measured);
	free(found->neighbour);
}

static const struct np_option own_options[] = {
#define AT(field) offsetof(struct cli_diagnosis_opt, field)
	{ "accounting", NP_OPTION_WORD, AT(accounting) },
	{ "topology", NP_OPTION_WORD, AT(topology) },
	{ "metrics-url", NP_OPTION_WORD, AT(metrics_url) },
	{ "since", NP_OPTION_TAKE, AT(since_sec), .take = cli_since_parse },
#undef AT
	{ NULL },
};

/*
 * The sources are read in the order of their cost: placement and run records
 * are files, the accounting is a query to a database.
 */
static int run_explain(const struct cli_cmd *self, int argc, char **argv)
{
	struct explanation found = {
		.now = cli_now(),
		.slowdown = NAN,
	};
	struct np_metrics_conf metrics;
	struct cli_options options;
	struct cli_store store;
	int rc = cli_options_parse(self, argc, argv, &found.opt, &options);

	if (rc >= 0)
		return rc;
	found.word = options.app;
	rc = cli_job_parse(self, found.word, &found.id, &found.task);
	if (rc < 0)
		rc = cli_since_default(self, &found.opt, CLI_DIAGNOSIS_SINCE);
	if (rc < 0)
		rc = cli_diagnosis_conf(self, &found.opt, &metrics);
	if (rc < 0)
		rc = cli_store_open(&store);
	if (rc >= 0)
		return rc;
	gather(&found, &store, &options);
	cli_store_close(&store);
	rc = find_in_accounting(&found, &metrics);
	if (rc < 0)
		rc = print_explanation(&found, &options);
	release(&found);
	return rc;
}

const struct cli_cmd cmd_explain = {
	.name = "explain",
	.args = "[--json|--parsable|--plot=FILE] [--user=NAME|--published]\n"
		"        [--since=AGE] [--metrics-url=URL]\n"
		"        [--accounting=FILE [--topology=FILE]] JOB",
	.help = "was it the network? why a job was slow, or waits",
	.text = "For any job that started, compares its run time in Slurm's accounting with that\n"
		"of similar runs (same user, name or command, nodes, processors, tasks and\n"
		"limit), and lists the jobs that shared its leaf switches: was the job slow, due\n"
		"to what, and how certain is that? With a metrics server (MetricsURL= in\n"
		"netprof.conf) it also examines what the nodes did.\n\n"
		"For a pending job: why placement holds it or where it may run, and because of\n"
		"which jobs. For a running job: the jobs on its leaf switches, and the\n"
		"predicted slowdown. For a job that ended: its neighbours and, if it was\n"
		"measured (--netprofile), how much longer it took than alone and how much of\n"
		"that its neighbours account for. JOB is a number, or ARRAY_TASK.\n\n"
		"  --json, --parsable  output for programs; --parsable (-P) as in sacct\n"
		"  --plot=FILE         draw leaf traffic and neighbours as SVG, PNG or PDF\n"
		"  --since=AGE         how far back to look for similar runs (default 30d)\n"
		"  --metrics-url=URL   use this Prometheus server instead of MetricsURL, or none\n"
		"  --accounting=FILE   read output of sacct --parsable2 or --json from a file\n"
		"  --topology=FILE     with --accounting, output of scontrol show topology\n"
		"  --user=NAME, --published\n"
		"                      whose run records to use (default: the job owner's)",
	.examples = "  netprof explain 4711\n"
		    "  netprof explain 4010\n"
		    "  netprof explain 4011_3\n"
		    "  netprof explain --json 4000 | jq .steps\n",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_USER | CLI_TAKES_PLOT,
	.own = own_options,
	.required_arg =
		"the number of a job, for example one that netprof status lists",
	.max_args = 1,
	.run = run_explain,
};
