/*
 * netprof explain: what one job lost, to whom, and what placement did about it.
 *
 * Up to four sources know something about a job: Slurm's accounting and the
 * metrics server of the site (cli_diagnosis.h), the last decision of placement
 * for pending and running jobs, placement's records of jobs that have ended,
 * and the run records of measured steps. The job is looked up in all of them,
 * and the output has a part for each that knows it.
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
	struct np_err not_predicted; /* why not, or what is left out; or "" */
};

/* ---- neighbours ---- */

#define LEAST_COST 0.005 /* of the run time: a smaller cost is not reported */

static struct neighbour *add_neighbour(struct explanation *e, uint32_t id)
{
	struct neighbour *n;

	if (np_array_grow(&e->neighbour, e->n_neighbours, sizeof(*n)))
		return NULL;
	n = &e->neighbour[e->n_neighbours++];
	*n = (struct neighbour){ .id = id, .app = "", .slowdown = NAN };
	return n;
}

/* A neighbour of this job id that was added before, or NULL. */
static struct neighbour *find_neighbour(struct explanation *e, uint32_t id)
{
	for (size_t i = 0; i < e->n_neighbours; i++)
		if (e->neighbour[i].id == id)
			return &e->neighbour[i];
	return NULL;
}

/* ---- neighbours of a running job, from the last decision ---- */

/* Running jobs that share a leaf switch with the job. */
static int add_running(struct explanation *e)
{
	for (size_t i = 0; i < e->state.n_jobs; i++) {
		const struct np_state_job *j = &e->state.job[i];
		struct neighbour *b;
		char leaves[256];

		if (j->pending || j == e->job ||
		    !np_hostlist_shared(e->job->leaves, j->leaves, leaves,
					sizeof(leaves)))
			continue;
		b = add_neighbour(e, j->id);
		if (!b)
			return -ENOMEM;
		b->app = j->app;
		b->array = j->array;
		b->task = j->task;
		strcpy(b->leaves, leaves);
	}
	return 0;
}

/*
 * Find an application among the known ones, or add it, as placement would: the
 * published profile, or else that of the owner of the job. Returns 0, -ENOENT
 * or another -errno.
 */
static int add_known(struct cli_known *k, struct cli_store *s, const char *app,
		     uid_t uid, size_t *at)
{
	struct np_runs runs;
	int rc = -ENOENT;

	for (size_t i = 0; i < k->n; i++)
		if (!strcmp(k->app[i]->runs.app, app) &&
		    (k->app[i]->runs.owner == NP_STORE_PUBLISHED ||
		     k->app[i]->runs.uid == uid)) {
			*at = i;
			return 0;
		}
	for (int own = 0; rc && own < 2; own++)
		rc = cli_runs_load_quiet(
			s, own ? NP_STORE_USER : NP_STORE_PUBLISHED, uid, app,
			&runs);
	if (rc)
		return rc;
	rc = cli_known_add(k, &runs);
	*at = k->n - 1;
	return rc;
}

/* The owner of a job in the last decision, needed to find its profile. */
static uid_t uid_of(const struct explanation *e, uint32_t id)
{
	for (size_t i = 0; i < e->state.n_jobs; i++)
		if (e->state.job[i].id == id)
			return e->state.job[i].uid;
	return e->job->uid;
}

#define NO_PROFILE ((size_t)-1)

/*
 * Load the profiles of the job and of its neighbours. at[i]: index of the i-th
 * neighbour's application, or NO_PROFILE. The job's own is the first one.
 */
static int find_known(struct explanation *e, struct cli_store *s,
		      struct cli_known *k, size_t *at)
{
	size_t self;
	int rc = *e->job->app ?
			 add_known(k, s, e->job->app, e->job->uid, &self) :
			 -ENOENT;

	if (rc)
		return np_errf(&e->not_predicted, rc,
			       "it has no profile that you may read");
	for (size_t i = 0; i < e->n_neighbours; i++) {
		const struct neighbour *b = &e->neighbour[i];

		at[i] = NO_PROFILE;
		if (*b->app)
			rc = add_known(k, s, b->app, uid_of(e, b->id), &at[i]);
		if (rc == -ENOMEM)
			return rc;
	}
	return 0;
}

/* Predict the slowdown by each neighbour alone, and by all together. */
static void predict_by_models(struct explanation *e, const struct cli_known *k,
			      struct np_predictor *models, const size_t *at)
{
	struct cli_prediction all = { .scope = NP_SCOPE_LEAF };
	size_t unknown = 0;

	for (size_t i = 0; i < e->n_neighbours; i++) {
		struct cli_prediction one = { .scope = NP_SCOPE_LEAF,
					      .n_corunners = 1 };

		if (at[i] == NO_PROFILE) {
			unknown++;
			continue;
		}
		one.corunner[0] = at[i];
		cli_predict(models, k, &one);
		if (!one.rc && !cli_doubt_text(&one.result))
			e->neighbour[i].slowdown = one.result.slowdown;
		if (all.n_corunners < CLI_PREDICT_MAX_CO)
			all.corunner[all.n_corunners++] = at[i];
	}
	if (!all.n_corunners) {
		np_errf(&e->not_predicted, 0,
			"none of its neighbours has a profile that you may "
			"read");
		return;
	}
	cli_predict(models, k, &all);
	if (all.rc) {
		e->not_predicted = all.why;
		return;
	}
	if (cli_doubt_text(&all.result)) {
		np_errf(&e->not_predicted, 0, "%s",
			cli_doubt_text(&all.result));
		return;
	}
	e->slowdown = all.result.slowdown;
	if (unknown)
		np_errf(&e->not_predicted, 0,
			"%zu without a profile %s not included", unknown,
			unknown == 1 ? "is" : "are");
}

/* Returns 0 or -errno; then e->not_predicted says why. */
static int predict(struct explanation *e, struct cli_store *s,
		   struct cli_known *k, size_t *at)
{
	struct np_predictor *models;
	int rc = find_known(e, s, k, at);

	if (rc)
		return rc;
	rc = cli_known_load_calibration(k, s, 1, true);
	if (!rc && k->app[0]->unusable.text[0])
		rc = np_errf(&e->not_predicted, -EINVAL, "%s",
			     k->app[0]->unusable.text);
	else if (rc)
		e->not_predicted = k->why;
	if (!rc)
		rc = cli_known_predictor(k, NULL, false, &models,
					 &e->not_predicted);
	if (rc)
		return rc;
	predict_by_models(e, k, models, at);
	np_predictor_free(models);
	return 0;
}

/*
 * The neighbours of a running job, with predictions from the profiles that the
 * caller may read. Returns 0 or -ENOMEM.
 */
static int find_running_neighbours(struct explanation *e, struct cli_store *s)
{
	struct cli_known k = { .n = 0 };
	int rc = add_running(e);
	size_t *at;

	if (rc || !e->n_neighbours)
		return rc;
	at = calloc(e->n_neighbours, sizeof(*at));
	rc = at ? predict(e, s, &k, at) : -ENOMEM;
	cli_known_free(&k);
	free(at);
	return rc == -ENOMEM ? rc : 0;
}

/* ---- neighbours of an ended job, from placement and run records ---- */

/*
 * What placement recorded about the neighbours when the job ended, with the
 * slowdowns that it predicted then.
 */
static int add_accounted(struct explanation *e)
{
	for (size_t i = 0; i < e->accounting.n_neighbours; i++) {
		const struct np_accounting_neighbour *n =
			&e->accounting.neighbour[i];
		struct neighbour *b = add_neighbour(e, n->id);

		if (!b)
			return -ENOMEM;
		b->app = n->app;
		snprintf(b->leaves, sizeof(b->leaves), "%s", n->leaves);
		b->overlap_sec = n->overlap_sec;
		if (*n->app)
			b->slowdown = n->slowdown;
	}
	return 0;
}

/* A record lists a neighbour once for each shared leaf switch. */
static void add_leaf(struct neighbour *b, const struct np_neighbour *n)
{
	cli_appendf(b->leaves, sizeof(b->leaves), "%s%s", *b->leaves ? "," : "",
		    n->leaf);
	b->overlap_sec = fmax(b->overlap_sec, n->overlap_sec);
}

/* Add the neighbours that only the run records know. */
static int add_recorded(struct explanation *e)
{
	size_t placed = e->n_neighbours; /* placement knows more about these */

	for (size_t i = 0; i < e->n_measured; i++) {
		const struct np_record *r = e->measured[i].run;

		for (size_t k = 0; k < r->n_neighbours; k++) {
			const struct np_neighbour *n = &r->neighbours[k];
			struct neighbour *b = find_neighbour(e, n->job_id);

			if (!n->job_id) /* removed when it was published */
				continue;
			if (b && (size_t)(b - e->neighbour) < placed)
				continue;
			if (!b)
				b = add_neighbour(e, n->job_id);
			if (!b)
				return -ENOMEM;
			if (n->job_id == r->job_id)
				b->app = "(own step)";
			add_leaf(b, n);
		}
	}
	return 0;
}

/*
 * What a neighbour costs, as a fraction of the run time. Of an ended job the
 * predicted slowdown counts only for the time that both ran.
 */
static double cost_of(const struct explanation *e, const struct neighbour *b)
{
	double sec = e->have_record ? e->accounting.end - e->accounting.start :
				      0;

	if (isnan(b->slowdown))
		return 0;
	if (e->job)
		return b->slowdown;
	return sec > 0 ? b->slowdown * fmin(b->overlap_sec / sec, 1) : 0;
}

/*
 * The neighbour that costs most; *share: how much of the run time, a fraction.
 * NULL if no cost is known, or none above LEAST_COST.
 */
static const struct neighbour *costliest(const struct explanation *e,
					 double *share)
{
	const struct neighbour *most = NULL;

	*share = LEAST_COST;
	for (size_t i = 0; i < e->n_neighbours; i++) {
		double cost = cost_of(e, &e->neighbour[i]);

		if (cost <= *share)
			continue;
		*share = cost;
		most = &e->neighbour[i];
	}
	return most;
}

/* The neighbours of a job that has ended. Returns 0 or -ENOMEM. */
static int find_past_neighbours(struct explanation *e)
{
	int rc = e->have_record ? add_accounted(e) : 0;
	bool known = !e->n_neighbours;

	for (size_t i = 0; i < e->n_neighbours; i++)
		known |= !isnan(e->neighbour[i].slowdown);
	if (e->have_record && *e->accounting.app && known)
		e->slowdown = e->accounting.slowdown;
	return rc ? rc : add_recorded(e);
}

/* ---- text output ---- */

#define LINE 1536
#define MAX_ROWS 40 /* of neighbours */

/* The state for programs; "measured": only run records are left. */
static const char *state_of(const struct explanation *e)
{
	return e->job	      ? e->job->pending ? "pending" : "running" :
	       e->have_record ? "ended" :
	       e->n_measured  ? "measured" :
	       e->diagnosis.job->state == NP_ACCT_RUNNING ? "running" :
							    "ended";
}

/* Warn if the last decision is too old to be in force. */
static void say_stale(const struct explanation *e)
{
	char line[LINE];

	if (cli_state_stale(&e->state, e->now))
		cli_printf(CLI_RED, 0, "%s",
			   cli_mode_text(&e->state, e->now, true, line,
					 sizeof(line)));
}

/* Of a pending job, the decision says that. */
static void say_held(double held_sec)
{
	char held[CLI_NUMBER_LEN];

	if (held_sec >= 1)
		cli_print_labelled(stdout, "Held",
				   "for %s by placement before it started",
				   cli_setting_sec(held_sec, held));
}

/* A leaf switch that the job is kept off, and the job that is the reason. */
static void cause_row(const struct explanation *e,
		      const struct np_state_cause *c, int leaf_width,
		      int app_width)
{
	char victim[CLI_NUMBER_LEN] = "this one";

	if (!cli_is_own_victim(e->job, c))
		snprintf(victim, sizeof(victim), "%u", c->victim);
	cli_print_left(stdout, c->leaf, leaf_width);
	printf(" %-10u ", c->other);
	cli_print_left(stdout, cli_app_name(c->other_app), app_width);
	printf(" %-12s", victim);
	cli_print_number(cli_change, c->slowdown, 9);
	putchar('\n');
}

/*
 * Number of leaf switches that the job is kept off without a row of its own: no
 * conflicting job is there, or the list of conflicts is full.
 */
static size_t other_leaves(const struct explanation *e)
{
	const struct np_state_job *j = e->job;
	size_t n_open = 0, known;
	char **open = NULL;

	if (strcmp(j->action, "restricted") ||
	    np_hostlist_expand(j->leaves, &open, &n_open, NULL))
		return 0;
	np_names_free(open, n_open);
	known = n_open + j->n_causes;
	return e->state.n_leaves > known ? e->state.n_leaves - known : 0;
}

/* The decision of placement, one row for each leaf switch. */
static void say_causes(const struct explanation *e)
{
	const struct np_state_cause *c = e->job->cause;
	int leaf_width = cli_name_column(20, 2), app_width = leaf_width;
	size_t others = other_leaves(e);

	if (!e->job->n_causes)
		return;
	for (size_t i = 0; i < e->job->n_causes; i++) {
		leaf_width = cli_widen(leaf_width, c[i].leaf);
		app_width = cli_widen(app_width, cli_app_name(c[i].other_app));
	}
	cli_heading("%-*s %-10s %-*s %-12s%9s", leaf_width, "Kept off leaf",
		    "Due to job", app_width, "Application", "Would slow", "By");
	for (size_t i = 0; i < e->job->n_causes; i++)
		cause_row(e, &c[i], leaf_width, app_width);
	if (others && e->job->n_causes < NP_STATE_MAX_CAUSES)
		printf("%zu more: reserved for pending jobs, or without a node "
		       "that this job may use\n",
		       others);
	else if (others)
		printf("%zu more\n", others);
}

/*
 * The first line: held, restricted, unrestricted or ignored. "Would be" stands
 * for advice that is not applied.
 */
static void say_pending(const struct explanation *e)
{
	const struct np_state_job *j = e->job;
	char id[CLI_NUMBER_LEN], who[160], date[CLI_NUMBER_LEN];

	snprintf(who, sizeof(who), "Job %s%s%s%s ",
		 cli_job_name(j->id, j->array, j->task, id),
		 *j->app ? " (" : "", j->app, *j->app ? ")" : "");
	if (!strcmp(j->action, "held"))
		cli_printf(CLI_BOLD, 0,
			   "%s%s held by placement, for now until %s, so that "
			   "it does not share a leaf switch with a job that it "
			   "conflicts with.",
			   who, j->applied ? "is" : "would be",
			   cli_date(j->until, date));
	else if (!strcmp(j->action, "restricted"))
		cli_printf(CLI_BOLD, 0, "%s%s only on %s.", who,
			   j->applied ? "may run" : "would be allowed to run",
			   j->leaves);
	else if (!strcmp(j->action, "unrestricted"))
		cli_printf(CLI_BOLD, 0,
			   "%smay run anywhere: it waits for Slurm, not for "
			   "placement (squeue shows why).",
			   who);
	else
		cli_printf(CLI_BOLD, 0,
			   "%sis ignored by placement: it waits for Slurm "
			   "(squeue shows why).",
			   who);
}

/* The denied use of a published name by the owner of the job, or NULL. */
static const struct np_state_denial *find_denial(const struct np_state *s,
						 const struct np_state_job *j)
{
	for (size_t i = 0; i < s->n_denials; i++)
		if (s->denial[i].uid == j->uid &&
		    !strcmp(s->denial[i].app, j->app))
			return &s->denial[i];
	return NULL;
}

/* Why a job on one node has no advice to measure it. */
static const char one_node[] =
	"a job on one node is not measured, because it uses no switch";

/* Why placement has no profile for the job, and how to change that. */
static void say_unknown(const struct explanation *e)
{
	const struct np_state_job *j = e->job;
	const struct np_state_denial *denial = find_denial(&e->state, j);
	char line[LINE];

	if (j->known)
		return;
	if (denial)
		cli_print_labelled(stdout, "Unknown", "%s",
				   cli_denied_text(denial, line, sizeof(line)));
	else if (j->n_nodes == 1)
		cli_print_labelled(stdout, "Unknown", "%s", one_node);
	else if (!*j->app)
		cli_print_labelled(
			stdout, "Unknown",
			"The job does not name its application. To measure it "
			"under a name: sbatch --netprofile=NAME job.sh. Later "
			"jobs give the name by --netprofile=NAME, or by "
			"NETPROF_APP=NAME in the environment.");
	else
		cli_print_labelled(
			stdout, "Unknown",
			"Placement has no profile of %s. To measure it: sbatch "
			"--netprofile=%s --netprofile-calibrate job.sh",
			j->app, j->app);
}

/* A pending job: only placement knows anything about it. */
static int print_pending(const struct explanation *e)
{
	say_pending(e);
	say_stale(e);
	cli_print_labelled(stdout, "Decision", "%s", e->job->text);
	say_unknown(e);
	say_causes(e);
	return CLI_DONE;
}

/* "Job 17 (fft) runs on leaf0 (4 nodes)" */
static void say_where(const char *id, const char *app, const char *verb,
		      const char *leaves, uint32_t n_nodes, char *buf)
{
	snprintf(buf, LINE, "Job %s%s%s%s %s on %.512s%s%u node%s%s", id,
		 *app ? " (" : "", app, *app ? ")" : "", verb, leaves,
		 *leaves ? " (" : "", n_nodes, cli_plural_s(n_nodes),
		 *leaves ? ")" : "");
}

/* The overlap is only known for jobs that have ended. */
static void neighbour_row(const struct neighbour *b, bool ended, int app_width,
			  int leaves_width)
{
	char id[CLI_NUMBER_LEN];

	printf("%-11s ", cli_job_name(b->id, b->array, b->task, id));
	cli_print_left(stdout, cli_app_name(b->app), app_width);
	putchar(' ');
	cli_print_left(stdout, *b->leaves ? b->leaves : "-", leaves_width);
	if (ended)
		cli_print_sec(b->overlap_sec, 11);
	cli_print_number(cli_change, b->slowdown, ended ? 13 : 24);
	putchar('\n');
}

/* The table of neighbours. Long lists are cut; --parsable has all. */
static void say_neighbours(const struct explanation *e, bool ended)
{
	size_t shown = e->n_neighbours < MAX_ROWS ? e->n_neighbours : MAX_ROWS;
	int app_width = cli_name_column(20, 2), leaves_width = app_width;

	if (!e->n_neighbours)
		return;
	for (size_t i = 0; i < shown; i++) {
		const struct neighbour *b = &e->neighbour[i];

		app_width = cli_widen(app_width, cli_app_name(b->app));
		leaves_width = cli_widen(leaves_width, b->leaves);
	}
	cli_heading("%-11s %-*s %-*s%11s%13s", "Neighbour", app_width,
		    "Application", leaves_width, "Leaf switches",
		    ended ? "Overlap" : "", "Predicted");
	for (size_t i = 0; i < shown; i++)
		neighbour_row(&e->neighbour[i], ended, app_width, leaves_width);
	if (e->n_neighbours > MAX_ROWS)
		printf("%zu more (--parsable)\n", e->n_neighbours - MAX_ROWS);
	if (ended && e->accounting.more_neighbours)
		printf("%u more, each with a shorter overlap\n",
		       e->accounting.more_neighbours);
}

/*
 * The slowdown by all neighbours together, which is not the sum of the
 * slowdowns by each.
 */
static void say_prediction(const struct explanation *e)
{
	const char *why = e->not_predicted.text;
	char by[CLI_NUMBER_LEN];

	if (!e->n_neighbours)
		cli_print_labelled(stdout, "Predicted",
				   "no slowdown: no job that placement knows "
				   "is on its leaf switches");
	else if (!isnan(e->slowdown))
		cli_print_labelled(stdout, "Predicted",
				   "%s by its neighbours together%s%s",
				   cli_change(e->slowdown, by),
				   *why ? "; " : "", why);
	else
		cli_print_labelled(stdout, "Predicted", "not possible: %s",
				   why);
}

/*
 * The neighbour to look at first, and the command that shows how its effect
 * was predicted.
 */
static void say_costliest(const struct explanation *e)
{
	const char *app = e->job ? e->job->app : e->accounting.app;
	char id[CLI_NUMBER_LEN], sec[CLI_NUMBER_LEN], part[96];
	double share;
	const struct neighbour *b = costliest(e, &share);

	if (!b)
		return;
	if (e->job)
		snprintf(part, sizeof(part), "+%.0f %% by this one alone",
			 100 * share);
	else
		snprintf(part, sizeof(part),
			 "%.0f percentage points, in an overlap of %s",
			 100 * share, cli_sec(b->overlap_sec, sec));
	cli_print_labelled(
		stdout, "Costliest",
		"%s (%s) on %.64s: %s; for details: netprof predict %s %s",
		cli_job_name(b->id, b->array, b->task, id), b->app, b->leaves,
		part, app, b->app);
}

/* A running job: its neighbours now, and what they are predicted to cost. */
static int print_running(const struct explanation *e)
{
	const struct np_state_job *j = e->job;
	char where[LINE], id[CLI_NUMBER_LEN], since[CLI_NUMBER_LEN];

	say_where(cli_job_name(j->id, j->array, j->task, id), j->app, "runs",
		  j->leaves, j->n_nodes, where);
	cli_printf(CLI_BOLD, 0, "%s, since %s.", where,
		   cli_date(j->start, since));
	say_stale(e);
	say_held(j->held_sec);
	say_unknown(e);
	say_prediction(e);
	say_costliest(e);
	say_neighbours(e, false);
	return CLI_DONE;
}

/*
 * One measured step. Its run time is compared only if it was complete,
 * successful, never suspended and without load.
 */
static void say_step(const struct explanation *e, const struct measured_step *m)
{
	const struct np_record *r = m->run;
	char line[LINE], label[CLI_NUMBER_LEN];
	struct np_sample sample = { NULL };

	if (r->state != NP_RUN_COMPLETE)
		snprintf(line, sizeof(line),
			 "It is still running, or its end was not recorded: "
			 "there is no run time to compare.");
	else if (r->exit_code)
		snprintf(line, sizeof(line),
			 "It failed, so its run time cannot be compared.");
	else if (r->suspended)
		snprintf(line, sizeof(line),
			 "Its job was suspended, so its run time cannot be "
			 "compared.");
	else if (r->level)
		snprintf(line, sizeof(line),
			 "It ran under load level %s, which slows it on "
			 "purpose.",
			 r->level->name);
	else
		cli_run_time_text(np_record_run_sec(r), &m->alone,
				  isnan(e->slowdown) ? NULL : &e->slowdown,
				  line, sizeof(line));
	snprintf(label, sizeof(label), "Step %u", r->step_id);
	cli_print_labelled(stdout, label, "%s", line);
	cli_print_rails(stdout, r);
	if (!np_sample_add(&sample, r))
		cli_print_adapters(stdout, &sample);
	np_sample_free(&sample);
}

/* The first line about a job that placement has a record of. */
static void say_ended(const struct explanation *e)
{
	const struct np_accounting_record *n = &e->accounting;
	char where[LINE], id[CLI_NUMBER_LEN], from[CLI_NUMBER_LEN],
		took[CLI_NUMBER_LEN];

	say_where(cli_job_name(n->id, n->array, n->task, id), n->app, "ran",
		  n->leaves, n->n_nodes, where);
	cli_printf(CLI_BOLD, 0, "%s, for %s from %s.", where,
		   cli_sec(n->end - n->start, took), cli_date(n->start, from));
	say_held(n->held_sec);
}

/* The first line about a job of which only run records are left. */
static void say_recorded(const struct explanation *e)
{
	const struct np_record *r = e->measured[0].run;
	char from[CLI_NUMBER_LEN];

	cli_printf(CLI_BOLD, 0,
		   "Job %s (%s) ran on %.512s, from %s; placement has no "
		   "record of it.",
		   e->word, r->app, r->nodes ? r->nodes : "unknown nodes",
		   cli_date(r->start, from));
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

/* False: one of the two answers is not known. */
static bool find_agreement(const struct explanation *e, struct agreement *out)
{
	const struct np_blame *b = &e->diagnosis.result.blame;
	const struct np_blame_range *net = &b->cause[NP_CAUSE_NETWORK].sec;
	double sec = e->slowdown * b->alone_sec.mean;

	if (isnan(e->slowdown) || !e->n_neighbours || !e->diagnosis.job ||
	    !e->diagnosis.examined ||
	    e->diagnosis.job->state != NP_ACCT_COMPLETED ||
	    b->verdict < NP_BLAME_CAUSE || !b->cause[NP_CAUSE_NETWORK].examined)
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

static void say_agreement(const struct explanation *e)
{
	static const char *const word[] = { "less than", "which agrees with",
					    "more than" };
	char sec[CLI_NUMBER_LEN], range[CLI_NUMBER_LEN];
	struct agreement a;

	if (!find_agreement(e, &a))
		return;
	cli_print_labelled(stdout, "Profiles",
			   "predict %s, %s the %s that the run times above "
			   "attribute to the network",
			   cli_sec(a.predicted_sec, sec), word[a.is],
			   cli_sec_range(a.low_sec, a.high_sec, range));
}

/*
 * A job that has ended: the measured steps, oldest first, and its neighbours.
 */
static int print_ended(const struct explanation *e)
{
	char by[CLI_NUMBER_LEN];

	if (e->have_record)
		say_ended(e);
	else
		say_recorded(e);
	if (!e->n_measured && e->have_record && e->accounting.n_nodes == 1)
		cli_print_labelled(stdout, "Measured", "no: %s", one_node);
	else if (!e->n_measured)
		cli_print_labelled(stdout, "Measured",
				   "no; to learn how much its neighbours slow "
				   "it: sbatch --netprofile=%s job.sh",
				   *e->accounting.app ? e->accounting.app :
							"NAME");
	for (size_t i = e->n_measured; i-- > 0;)
		say_step(e, &e->measured[i]);
	if (!isnan(e->slowdown) && e->n_neighbours) {
		cli_print_labelled(stdout, "Predicted",
				   "%s over its whole run, by its neighbours",
				   cli_change(e->slowdown, by));
		say_agreement(e);
	}
	say_costliest(e);
	if (!e->n_neighbours)
		cli_print_labelled(
			stdout, "Neighbours",
			"none: no other job was on its leaf switches");
	say_neighbours(e, true);
	return CLI_DONE;
}

/* First what the accounting says, then what netprof itself recorded. */
static int print_text(const struct explanation *e)
{
	if (e->diagnosis.job)
		cli_diagnosis_text(stdout, &e->diagnosis);
	if (e->diagnosis.job && (e->job || e->have_record || e->n_measured))
		putchar('\n');
	else if (e->diagnosis.job)
		return CLI_DONE;
	return !e->job	       ? print_ended(e) :
	       e->job->pending ? print_pending(e) :
				 print_running(e);
}

/* ---- output for programs ---- */

/* The record of placement, with the members that a job in the state has. */
static void put_ended(json_object *j, const struct np_accounting_record *n)
{
	char id[CLI_NUMBER_LEN], user[CLI_NUMBER_LEN];

	cli_put_text(j, "job", cli_job_name(n->id, n->array, n->task, id));
	cli_put_count(j, "job_id", n->id);
	cli_put_text(j, "user", cli_user(n->uid, user));
	cli_put_text(j, "state", "ended");
	cli_put_text(j, "app", n->app);
	cli_put_text(j, "partition", n->partition);
	cli_put_text(j, "leaves", n->leaves);
	cli_put_count(j, "n_nodes", n->n_nodes);
	cli_put_time(j, "submit", n->submit);
	cli_put_time(j, "start", n->start);
	cli_put_time(j, "end", n->end);
	cli_put_real(j, "held_sec", n->held_sec);
	cli_put_count(j, "more_neighbours", n->more_neighbours);
}

/* One measured step; "slowdown" is relative to the undisturbed run time. */
static void put_measured(json_object *j, const struct measured_step *m)
{
	double run = np_record_run_sec(m->run);
	struct np_sample sample = { NULL };

	cli_put_text(j, "app", m->run->app);
	cli_put_count(j, "step_id", m->run->step_id);
	cli_put_time(j, "start", m->run->start);
	cli_put_real(j, "run_sec", run);
	cli_put_text(j, "level", m->run->level ? m->run->level->name : NULL);
	if (!np_sample_add(&sample, m->run))
		cli_put_adapters(j, &sample);
	np_sample_free(&sample);
	cli_put_count(j, "alone_runs", m->alone.n);
	if (!np_mean_known(&m->alone))
		return;
	cli_put_real(j, "alone_sec", m->alone.mean);
	cli_put_real(j, "slowdown", run / m->alone.mean - 1);
}

/* One neighbour. Slowdown is null if there is no prediction. */
static void put_neighbour(json_object *list, const struct explanation *e,
			  const struct neighbour *b)
{
	json_object *j = cli_append_object(list);

	cli_put_count(j, "job_id", b->id);
	cli_put_text(j, "app", b->app);
	cli_put_text(j, "leaves", b->leaves);
	if (!e->job)
		cli_put_real(j, "overlap_sec", b->overlap_sec);
	cli_put_real(j, "slowdown", b->slowdown);
}

/* Null if no cost is known. */
static void put_costliest(json_object *in, const struct explanation *e)
{
	double share;
	const struct neighbour *b = costliest(e, &share);
	json_object *j = cli_put_if(in, "costliest", b);

	if (!j)
		return;
	cli_put_count(j, "job_id", b->id);
	cli_put_text(j, "app", b->app);
	cli_put_real(j, "share", share);
}

/* Null if one of the two answers is not known. */
static void put_agreement(json_object *in, const struct explanation *e)
{
	static const char *const word[] = { "less", "agrees", "more" };
	struct agreement a;
	json_object *j = cli_put_if(in, "profiles", find_agreement(e, &a));

	if (!j)
		return;
	cli_put_real(j, "predicted_sec", a.predicted_sec);
	cli_put_real(j, "network_low_sec", a.low_sec);
	cli_put_real(j, "network_high_sec", a.high_sec);
	cli_put_text(j, "prediction", word[a.is]);
}

/* The first fields of each row; up: path from its record to the root. */
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
 * The members are the union of what the sources know; those of sources that do
 * not know the job are missing. Rows list the neighbours, or the leaf switches
 * that a pending job is kept off.
 */
static int print_data(const struct explanation *e, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;
	bool others = e->n_neighbours || (e->job && e->job->n_causes);

	if (e->job) {
		cli_put_job(j, e->job);
		cli_put_snapshot(cli_put_object(j, "placement"), &e->state,
				 e->now);
	} else if (e->have_record) {
		put_ended(j, &e->accounting);
	} else {
		cli_put_text(j, "job", e->word);
		cli_put_text(j, "state", state_of(e));
		cli_put_text(j, "app",
			     e->n_measured ? e->measured[0].run->app : "");
	}
	cli_diagnosis_json(j, &e->diagnosis);
	list = cli_put_array(j, "steps");
	for (size_t i = 0; i < e->n_measured; i++)
		put_measured(cli_append_object(list), &e->measured[i]);
	cli_put_real(j, "predicted", e->slowdown);
	cli_put_text(j, "why", e->not_predicted.text);
	put_agreement(j, e);
	put_costliest(j, e);
	list = cli_put_array(j, "neighbours");
	for (size_t i = 0; i < e->n_neighbours; i++)
		put_neighbour(list, e, &e->neighbour[i]);
	return cli_print_output(format, "explain", j,
				others ? &of_others : &of_itself);
}

/* ---- run records of the job ---- */

/*
 * Is this the record of a step of the job? A task of an array is identified by
 * the array and its index, because its own job id need not be known.
 */
static bool is_of_job(const struct explanation *e, const struct np_record *r)
{
	if (e->task == NP_ACCOUNTING_NO_TASK)
		return r->job_id == e->id;
	return r->array_job_id == (long)e->id &&
	       r->array_task_id == (long)e->task;
}

/* Keep the latencies of a summary. Returns 0 or -ENOMEM. */
static int take_latencies(struct measured_step *m,
			  struct np_run_summary *summary)
{
	const struct np_runs *runs = summary->runs;

	m->alone_hist = summary->latency.hist;
	summary->latency.hist = NULL;
	m->alone_run = calloc(runs->n + 1, sizeof(*m->alone_run));
	if (!m->alone_run)
		return -ENOMEM;
	for (size_t i = 0; i < runs->n; i++)
		if (summary->use[i] == NP_RUN_ALONE ||
		    summary->use[i] == NP_RUN_LATENCY)
			m->alone_run[m->n_alone_runs++] = runs->run[i];
	return 0;
}

/*
 * The run time and the latencies of the same command without load and
 * neighbours, over comparable runs of other jobs. Returns 0 or -ENOMEM.
 */
static int find_alone(const struct explanation *e, const struct np_runs *runs,
		      struct measured_step *m)
{
	const struct np_record *like = m->run;
	const struct np_run_summary_opt opt = {
		.like = like,
		.fingerprint = like->fingerprint,
		.now = e->now,
	};
	struct np_runs others = { .n = 0 };
	struct np_run_summary summary;
	int rc;

	if (!like->fingerprint || !*like->fingerprint)
		return 0; /* the command of this run was not recorded */
	others.run = calloc(runs->n, sizeof(*others.run));
	if (!others.run)
		return -ENOMEM;
	for (size_t i = 0; i < runs->n; i++)
		if (runs->run[i]->job_id != like->job_id)
			others.run[others.n++] = runs->run[i];
	rc = np_run_summary_make(&others, &opt, &summary);
	if (!rc) {
		m->alone = summary.alone_sec;
		if (!summary.latency.neighbours)
			rc = take_latencies(m, &summary);
		np_run_summary_free(&summary);
	}
	free(others.run);
	return rc;
}

/* Add the steps of the job among these runs. */
static int add_steps(struct explanation *e, const struct np_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];
		struct measured_step *m;

		if (!is_of_job(e, r))
			continue;
		if (np_array_grow(&e->measured, e->n_measured, sizeof(*m)))
			return -ENOMEM;
		m = &e->measured[e->n_measured++];
		*m = (struct measured_step){ .run = r };
		if (find_alone(e, runs, m))
			return -ENOMEM;
	}
	return 0;
}

#define LEAST_PROBES 50
#define USUAL 0.9 /* quantile of undisturbed runs: longer probes are delayed */

/* The share of a sample in the bins after this one; NaN: too few. */
static double share_after(const struct np_hist *h, size_t bin)
{
	uint64_t n = 0, all = np_hist_total(h);

	while (++bin < NP_HIST_BINS)
		n += np_hist_count(h, bin);
	return all < LEAST_PROBES ? NAN : (double)n / (double)all;
}

/* The mean of the bins after this one, seconds; NaN: nothing is in them. */
static double mean_after(const struct np_hist *h, size_t bin)
{
	double sum = 0;
	uint64_t n = 0;

	/* The last bin has no upper edge. */
	while (++bin < NP_HIST_BINS - 1) {
		sum += (double)np_hist_count(h, bin) *
		       sqrt(np_hist_edge(bin) * np_hist_edge(bin + 1));
		n += np_hist_count(h, bin);
	}
	return n ? sum / (double)n : NAN;
}

/* Latencies in windows of equal length. */
struct windows {
	double start, step_sec;
	size_t n;
	struct np_moments m[NP_EXAMINE_WINDOWS];
};

static void add_windows(struct windows *to, const struct np_record *r)
{
	struct np_series *s = np_run_windows(r);

	for (size_t i = 0; s && i < s->n; i++) {
		double at_sec =
			r->start + ((double)i + 0.5) * s->width_sec - to->start;
		double at = floor(at_sec / to->step_sec);

		if (s->w[i].n && at >= 0 && at < (double)to->n)
			np_moments_merge(&to->m[(size_t)at], &s->w[i]);
	}
	free(s);
}

/*
 * The mean latency of undisturbed runs, and the largest in a window of this
 * length; NaN: they have no windows.
 */
static void find_usual(const struct measured_step *m, double step_sec,
		       double *usual_sec, double *most_sec)
{
	struct np_moments all = { .n = 0 };

	*most_sec = NAN;
	for (size_t i = 0; i < m->n_alone_runs; i++) {
		struct windows w = { .start = m->alone_run[i]->start,
				     .step_sec = step_sec,
				     .n = NP_EXAMINE_WINDOWS };

		add_windows(&w, m->alone_run[i]);
		for (size_t k = 0; k < w.n; k++) {
			np_moments_merge(&all, &w.m[k]);
			if (w.m[k].n >= LEAST_PROBES)
				*most_sec = fmax(*most_sec, w.m[k].mean);
		}
	}
	*usual_sec = all.mean;
}

#define SURE 3 /* standard errors of a mean */

/*
 * The share of delayed probes in each window: windows have no histogram, but
 * their means show, as it is known how long a delayed probe takes. Windows that
 * are not slower than one of an undisturbed run may be, have none.
 */
static void judge_windows(const struct measured_step *m,
			  const struct windows *w, double delayed_sec,
			  struct np_examine_probes *out)
{
	double usual_sec, most_sec;

	find_usual(m, w->step_sec, &usual_sec, &most_sec);
	if (isnan(most_sec) || !(delayed_sec > usual_sec))
		out->n = 0;
	for (size_t i = 0; i < out->n; i++) {
		const struct np_moments *x = &w->m[i];
		double error = SURE * np_moments_sd(x) / sqrt((double)x->n);

		out->window[i] = x->n < LEAST_PROBES ?
					 NAN :
				 x->mean - error <= most_sec ?
					 0 :
					 fmin((x->mean - usual_sec) /
						      (delayed_sec - usual_sec),
					      1);
	}
}

/*
 * How many more of its probes were delayed than in undisturbed runs of the same
 * command. For cli_diagnosis_make().
 */
static void summarise_probes(void *arg, uint32_t job_id, double start,
			     double step_sec, struct np_examine_probes *out)
{
	const struct explanation *e = arg;
	const struct measured_step *m = e->measured;
	struct windows w = { .start = start,
			     .step_sec = step_sec,
			     .n = out->n };
	struct np_hist *hist = np_hist_new();
	double usual, share = NAN;
	size_t bin;

	for (size_t i = 0; hist && m->alone_hist && i < e->n_runs; i++)
		for (size_t k = 0; k < e->runs[i].n; k++) {
			const struct np_record *r = e->runs[i].run[k];

			if (r->job_id != job_id || r->level ||
			    !r->fingerprint || !m->run->fingerprint ||
			    strcmp(r->fingerprint, m->run->fingerprint))
				continue;
			np_run_add_hist(r, hist);
			add_windows(&w, r);
		}
	if (hist && m->alone_hist) {
		bin = np_hist_bin_of(np_hist_quantile(m->alone_hist, USUAL));
		usual = share_after(m->alone_hist, bin);
		share = (share_after(hist, bin) - usual) / (1 - usual);
		judge_windows(m, &w, mean_after(hist, bin), out);
	}
	np_hist_free(hist);
	out->delayed = isnan(share) ? NAN : fmax(share, 0);
	if (isnan(share))
		out->n = 0;
}

/* Does any of these runs belong to the job? */
static bool has_any(const struct explanation *e, const struct np_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		if (is_of_job(e, runs->run[i]))
			return true;
	return false;
}

/*
 * Add the steps of the job that were recorded under this application. Profiles
 * that are missing or unreadable are treated as empty.
 */
static int try_app(struct explanation *e, struct cli_store *s,
		   enum np_store_owner owner, const char *app)
{
	struct np_runs runs;
	int rc = cli_runs_load_quiet(s, owner, e->uid, app, &runs);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	if (!has_any(e, &runs)) {
		np_runs_free(&runs);
		return 0;
	}
	if (np_array_grow(&e->runs, e->n_runs, sizeof(*e->runs))) {
		np_runs_free(&runs);
		return -ENOMEM;
	}
	e->runs[e->n_runs++] = runs;
	return add_steps(e, &runs);
}

/* Find the records of the job among those of a user. */
static int find_runs(struct explanation *e, struct cli_store *s,
		     const struct cli_options *o, const char *app)
{
	enum np_store_owner owner = o->published ? NP_STORE_PUBLISHED :
						   NP_STORE_USER;
	struct np_store_app *apps = NULL;
	size_t n = 0;
	int rc = *app ? try_app(e, s, owner, app) : 0;

	/* Steps of one job may have been measured under different names. */
	if (!rc && !e->n_measured &&
	    !np_store_list_apps(s->store, owner, e->uid, &apps, &n, NULL))
		for (size_t i = 0; !rc && i < n; i++)
			if (strcmp(apps[i].name, app))
				rc = try_app(e, s, owner, apps[i].name);
	free(apps);
	return rc;
}

/* ---- finding the job ---- */

/* Is this the job of the command line? rest: as for find_in_state(). */
static bool is_requested(const struct explanation *e,
			 const struct np_state_job *j, bool rest)
{
	if (e->task == NP_ACCOUNTING_NO_TASK)
		return j->id == e->id;
	return j->array == e->id &&
	       (rest ? cli_is_array_record(j->task) : j->task == e->task);
}

/*
 * Find the job in the last decision. rest: accept the entry for all tasks of an
 * array that Slurm has not split off yet.
 */
static void find_in_state(struct explanation *e, bool rest)
{
	for (size_t i = 0; !e->job && i < e->state.n_jobs; i++)
		if (is_requested(e, &e->state.job[i], rest))
			e->job = &e->state.job[i];
}

/*
 * If the number is that of an array, fail and list its tasks. Returns -1 if it
 * is none.
 */
static int fail_with_tasks(const struct explanation *e)
{
	char list[256] = "", name[CLI_NUMBER_LEN];
	size_t n = 0;

	for (size_t i = 0; i < e->state.n_jobs; i++) {
		const struct np_state_job *j = &e->state.job[i];

		if (j->array != e->id)
			continue;
		if (n++ < 4)
			cli_appendf(
				list, sizeof(list), "%s%s", *list ? ", " : "",
				cli_job_name(j->id, j->array, j->task, name));
	}
	if (!n)
		return -1;
	return cli_fail("job %s is an array; ask for one of its tasks: %s%s",
			e->word, list, n > 4 ? ", ..." : "");
}

/* Whose run records to search: those of --user, else of the job's owner. */
static uid_t owner_of(const struct explanation *e, const struct cli_options *o)
{
	if (o->user_given)
		return o->uid;
	return e->job	      ? e->job->uid :
	       e->have_record ? e->accounting.uid :
				o->uid;
}

/* The application of the job, where its records are most likely; or "". */
static const char *app_of(const struct explanation *e)
{
	return e->job ? e->job->app : e->have_record ? e->accounting.app : "";
}

/* Returns -1 to go on, or the exit status. */
static int gather(struct explanation *e, struct cli_store *s,
		  const struct cli_options *o)
{
	const char *dir = np_store_dir(s->store);
	struct np_err err = NP_ERR_INIT;
	int rc = np_state_load(dir, &e->state, &err);

	e->have_state = !rc;
	if (rc && rc != -ENOENT)
		e->no_state = err; /* the other sources remain */
	find_in_state(e, false);
	if (!e->job) {
		rc = np_accounting_find(dir, e->id, e->task, &e->accounting,
					&err);
		e->have_record = !rc;
		if (rc && rc != -ENOENT)
			e->no_accounting = err;
	}
	if (!e->job && !e->have_record)
		find_in_state(e, true);
	e->uid = owner_of(e, o);
	if (e->job && !e->job->pending)
		rc = find_running_neighbours(e, s);
	else
		rc = e->job ? 0 : find_runs(e, s, o, app_of(e));
	if (!rc && !e->job)
		rc = find_past_neighbours(e);
	return rc ? cli_fail("out of memory") : -1;
}

/* No source knows the job: fail, and say where it was looked for. */
static int fail_not_found(const struct explanation *e)
{
	char user[CLI_NUMBER_LEN], age[96] = "there is none";
	int rc = e->have_state && e->task == NP_ACCOUNTING_NO_TASK ?
			 fail_with_tasks(e) :
			 -1;

	if (rc >= 0)
		return rc;
	if (e->no_accounting.text[0])
		return cli_fail("%s", e->no_accounting.text);
	if (e->opt.accounting)
		return cli_fail("job %s is not in %s, or never started",
				e->word, e->opt.accounting);
	if (e->have_state)
		cli_age(e->state.date, e->now, age, sizeof(age));
	return cli_fail("job %s was not found: not in the last decision of "
			"placement (%s), among the jobs that ended in the last "
			"%d days, in the run records of %s, or in Slurm's "
			"accounting%s%s%s; placement considers only jobs that "
			"name an application (--netprofile=APP, NETPROF_APP), "
			"new ones from its next decision on",
			e->word, *e->no_state.text ? e->no_state.text : age,
			NP_ACCOUNTING_KEEP_DAYS, cli_user(e->uid, user),
			e->diagnosis.why.text[0] ? " (" : "",
			e->diagnosis.why.text,
			e->diagnosis.why.text[0] ? ")" : "");
}

/*
 * Look the job up in the accounting, unless it is pending: the accounting knows
 * only jobs that have started. Returns -1 to go on, or the exit status.
 */
static int find_in_accounting(struct explanation *e,
			      const struct np_metrics_conf *c)
{
	int rc;

	if (e->job && e->job->pending && !e->opt.accounting)
		return -1;
	e->opt.probes = e->n_measured ? summarise_probes : NULL;
	e->opt.probes_arg = e;
	rc = cli_diagnosis_make(&e->diagnosis, &e->opt, c, e->id, e->task,
				e->now);
	if (rc)
		return cli_fail("out of memory");
	if (e->diagnosis.why.text[0] && e->opt.accounting)
		return cli_fail("%s", e->diagnosis.why.text);
	return -1;
}

/* Returns the exit status. */
static int print_explanation(struct explanation *e, const struct cli_options *o)
{
	if (!e->job && !e->have_record && !e->n_measured && !e->diagnosis.job)
		return fail_not_found(e);
	if (o->plot && !e->diagnosis.job)
		return cli_fail("--plot=%s: nothing to draw, because job %s is "
				"not in Slurm's accounting%s%s",
				o->plot, e->word,
				e->diagnosis.why.text[0] ? ": " : "",
				e->diagnosis.why.text);
	if (*e->no_state.text)
		cli_warn_line(e->no_state.text, NULL);
	if (o->plot)
		return cli_figure_save_and_free(
			cli_diagnosis_figure(&e->diagnosis), o->plot);
	return o->format ? print_data(e, o->format) : print_text(e);
}

static void release(struct explanation *e)
{
	if (e->have_state)
		np_state_free(&e->state);
	if (e->have_record)
		np_accounting_record_free(&e->accounting);
	for (size_t i = 0; i < e->n_measured; i++) {
		np_hist_free(e->measured[i].alone_hist);
		free(e->measured[i].alone_run);
	}
	for (size_t i = 0; i < e->n_runs; i++)
		np_runs_free(&e->runs[i]);
	cli_diagnosis_free(&e->diagnosis);
	free(e->runs);
	free(e->measured);
	free(e->neighbour);
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
 * The sources are asked in the order of their cost: placement and run records
 * are files, the accounting is a query to a database.
 */
static int run_explain(const struct cli_cmd *self, int argc, char **argv)
{
	struct explanation e = {
		.now = cli_now(),
		.slowdown = NAN,
		.opt.since_sec = CLI_DIAGNOSIS_SINCE,
	};
	struct np_metrics_conf metrics;
	struct cli_options o;
	struct cli_store s;
	int rc = cli_options_parse(self, argc, argv, &e.opt, &o);

	if (rc >= 0)
		return rc;
	e.word = o.app;
	rc = cli_job_parse(self, e.word, &e.id, &e.task);
	if (rc < 0)
		rc = cli_diagnosis_conf(self, &e.opt, &metrics);
	if (rc < 0)
		rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	rc = gather(&e, &s, &o);
	cli_store_close(&s);
	if (rc < 0)
		rc = find_in_accounting(&e, &metrics);
	if (rc < 0)
		rc = print_explanation(&e, &o);
	release(&e);
	return rc;
}

const struct cli_cmd cmd_explain = {
	.name = "explain",
	.args = "[--json|--parsable|--plot=FILE] [--user=NAME|--published] "
		"[--since=AGE] [--metrics-url=URL] "
		"[--accounting=FILE [--topology=FILE]] JOB",
	.help = "was it the network? why a job was slow, or waits",
	.text = "For any job that started, from Slurm's accounting: its run time compared with\n"
		"similar runs (same user, name or command, nodes, processors, tasks and limit),\n"
		"and the jobs that shared its leaf switches.  With a metrics server (MetricsURL=\n"
		"in netprof.conf) also what the nodes did: whether the job was slow, due to\n"
		"what, and how certain that is.\n\n"
		"For a pending job: why placement holds it or where it may run, and which jobs\n"
		"it is kept away from.  For a running job: the jobs on its leaf switches, and\n"
		"the predicted slowdown.  For a job that ended: its neighbours and, if it was\n"
		"measured (--netprofile), how much longer it took than alone and how much of\n"
		"that its neighbours account for.  JOB is a number, or ARRAY_TASK.\n\n"
		"  --json, --parsable  output for programs; --parsable (-P) as in sacct\n"
		"  --plot=FILE         draw leaf traffic and neighbours as SVG, PNG or PDF\n"
		"  --since=AGE         how far back runs are compared, such as 7d (default 30d)\n"
		"  --metrics-url=URL   use this Prometheus server instead of MetricsURL, or none\n"
		"  --accounting=FILE   read output of sacct --parsable2 or --json from a file\n"
		"  --topology=FILE     with it, output of scontrol show topology\n"
		"  --user=NAME, --published\n"
		"                      whose run records to use (default: the job's owner's)",
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
