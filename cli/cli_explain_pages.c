/* The pages of netprof explain. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_explain.h"
#include "cli_show.h"
#include "cli_json_put.h"
#include "cli_print.h"

#define LINE 1536
#define MOST_ROWS 40 /* of neighbours */
#define LITTLE 0.005 /* half a point */

/* "measured": only a record is left. */
static const char *state_of(const struct cli_explain *e)
{
	return e->job ? e->job->pending ? "pending" : "running" :
	       e->have_ended ? "ended" : e->n_measured ? "measured" :
	       e->past.job->state == NP_ACCT_RUNNING ? "running" : "ended";
}

/* The decision is only as good as it is fresh. */
static void say_stale(const struct cli_explain *e)
{
	char line[LINE];

	if (cli_state_stale(&e->state, e->now))
		cli_say(CLI_RED, 0, "%s", cli_say_mode(&e->state, e->now, true,
						       line, sizeof(line)));
}

static void say_held(double held_sec, const struct np_state *s)
{
	char held[CLI_NUMBER], most[CLI_NUMBER];

	if (held_sec < 1)
		return;
	cli_setting_sec(held_sec, held);
	if (s)
		cli_labelled(stdout, "Held back", "%s so far, at most %s", held,
			     cli_setting_sec(s->max_defer_sec, most));
	else
		cli_labelled(stdout, "Held back", "%s by placement, before it "
			     "started", held);
}

static void cause_row(const struct cli_explain *e,
		      const struct np_state_cause *c)
{
	char victim[CLI_NUMBER] = "this one";

	if (!cli_victim_self(e->job, c))
		snprintf(victim, sizeof(victim), "%u", c->victim);
	cli_left(stdout, c->leaf, 20);
	printf(" %-10u ", c->other);
	cli_left(stdout, cli_app_name(c->other_app), 20);
	printf(" %-12s", victim);
	cli_right_as(cli_change, c->slowdown, 9);
	putchar('\n');
}

static void say_causes(const struct cli_explain *e)
{
	if (!e->job->n_causes)
		return;
	cli_head("%-20s %-10s %-20s %-12s%9s", "Kept off leaf", "From job",
		 "Application", "Would slow", "By");
	for (size_t i = 0; i < e->job->n_causes; i++)
		cause_row(e, &e->job->cause[i]);
}

static void say_pending(const struct cli_explain *e)
{
	const struct np_state_job *j = e->job;
	char id[CLI_NUMBER], who[160], date[CLI_NUMBER];

	snprintf(who, sizeof(who), "Job %s%s%s%s ", cli_job_name(
			 j->id, j->array, j->task, id),
		 *j->app ? " (" : "", j->app, *j->app ? ")" : "");
	if (!strcmp(j->action, "defer"))
		cli_say(CLI_BOLD, 0, "%s%s held back by placement until %s at "
			"first, so that it does not meet a job it conflicts "
			"with.", who, j->applied ? "is" : "would be",
			cli_date(j->until, date));
	else if (!strcmp(j->action, "confine"))
		cli_say(CLI_BOLD, 0, "%s%s only on %s.", who, j->applied ?
			"may run" : "would be allowed to run", j->leaves);
	else if (!strcmp(j->action, "anywhere"))
		cli_say(CLI_BOLD, 0, "%smay run anywhere: it waits for Slurm, "
			"not for placement (squeue tells why).", who);
	else
		cli_say(CLI_BOLD, 0, "%sis left alone by placement: it waits "
			"for Slurm (squeue tells why).", who);
}

static const struct np_state_claim *void_claim(const struct np_state *s,
					       const struct np_state_job *j)
{
	for (size_t i = 0; i < s->n_claims; i++)
		if (s->claim[i].uid == j->uid && !strcmp(s->claim[i].app,
							 j->app))
			return &s->claim[i];
	return NULL;
}

/* How to make it known, or why its name does not count. */
static void say_unknown(const struct cli_explain *e)
{
	const struct np_state_job *j = e->job;
	const struct np_state_claim *claim = void_claim(&e->state, j);
	char line[LINE];

	if (j->known)
		return;
	if (claim)
		cli_labelled(stdout, "Not known", "%s",
			     cli_say_claim(claim, line, sizeof(line)));
	else if (!*j->app)
		cli_labelled(stdout, "Not known", "It does not say which "
			     "application it is. \"sbatch --netprofile=NAME "
			     "job.sh\" measures one and names it; later jobs "
			     "name it by --netprofile=NAME, or "
			     "NETPROF_APP=NAME in the environment.");
	else
		cli_labelled(stdout, "Not known", "There is no profile of %s "
			     "that placement can use. \"sbatch --netprofile=%s "
			     "--netprofile-calibrate job.sh\" measures it.",
			     j->app, j->app);
}

static int page_pending(const struct cli_explain *e)
{
	say_pending(e);
	say_stale(e);
	cli_labelled(stdout, "Decision", "%s", e->job->text);
	say_unknown(e);
	say_held(e->job->held_sec, &e->state);
	say_causes(e);
	return CLI_DONE;
}

/* "Job 17 (fft) runs on leaf0 (4 nodes)" */
static void say_where(const char *id, const char *app, const char *verb,
		      const char *leaves, uint32_t n_nodes, char *buf)
{
	snprintf(buf, LINE, "Job %s%s%s%s %s on %.512s%s%u node%s%s", id,
		 *app ? " (" : "", app, *app ? ")" : "", verb, leaves,
		 *leaves ? " (" : "", n_nodes, n_nodes == 1 ? "" : "s",
		 *leaves ? ")" : "");
}

static void beside_row(const struct cli_beside *b, bool ended)
{
	char id[CLI_NUMBER];

	printf("%-11s ", cli_job_name(b->id, b->array, b->task, id));
	cli_left(stdout, cli_app_name(b->app), 20);
	putchar(' ');
	cli_left(stdout, *b->leaves ? b->leaves : "-", 20);
	if (ended)
		cli_right_sec(b->overlap_sec, 11);
	cli_right_as(cli_change, b->predicted ? b->slowdown : NAN,
		     ended ? 13 : 24);
	putchar('\n');
}

static void say_beside(const struct cli_explain *e, bool ended)
{
	if (!e->n_beside)
		return;
	if (ended)
		cli_head("%-11s %-20s %-20s%11s%13s", "Neighbour",
			 "Application", "Leaf switches", "Beside it",
			 "Predicted");
	else
		cli_head("%-11s %-20s %-20s%24s", "Neighbour",
			 "Application", "Leaf switches", "Predicted");
	for (size_t i = 0; i < e->n_beside && i < MOST_ROWS; i++)
		beside_row(&e->beside[i], ended);
	if (e->n_beside > MOST_ROWS)
		printf("%zu more (--parsable)\n", e->n_beside - MOST_ROWS);
	if (ended && e->ended.more_neighbours)
		printf("%u more, each beside it for a shorter time\n",
		       e->ended.more_neighbours);
}

static void say_prediction(const struct cli_explain *e)
{
	const char *why = e->not_predicted.text;
	char by[CLI_NUMBER];

	if (!e->n_beside)
		cli_labelled(stdout, "Predicted", "nobody that is known is on "
			     "its leaf switches");
	else if (e->predicted)
		cli_labelled(stdout, "Predicted", "%s beside them together%s%s",
			     cli_change(e->slowdown, by), *why ? "; " : "",
			     why);
	else
		cli_labelled(stdout, "Predicted", "not possible: %s", why);
}

/* Which neighbour cost it most, or costs, and by how much. */
static void say_costliest(const struct cli_explain *e)
{
	const char *app = e->job ? e->job->app : e->ended.app;
	char id[CLI_NUMBER], sec[CLI_NUMBER], part[96];
	double share;
	const struct cli_beside *b = cli_explain_costliest(e, &share);

	if (!b)
		return;
	if (e->job)
		snprintf(part, sizeof(part), "+%.0f %% beside it alone",
			 100 * share);
	else
		snprintf(part, sizeof(part), "%.0f points, as it was beside it "
			 "for %s", 100 * share, cli_sec(b->overlap_sec, sec));
	cli_labelled(stdout, "Costliest", "%s (%s) on %.64s: %s; netprof "
		     "predict %s %s says more",
		     cli_job_name(b->id, b->array, b->task, id), b->app,
		     b->leaves, part, app, b->app);
}

static int page_running(const struct cli_explain *e)
{
	const struct np_state_job *j = e->job;
	char where[LINE], id[CLI_NUMBER], since[CLI_NUMBER];

	say_where(cli_job_name(j->id, j->array, j->task, id), j->app, "runs",
		  j->leaves, j->n_nodes, where);
	cli_say(CLI_BOLD, 0, "%s, since %s.", where, cli_date(j->start, since));
	say_stale(e);
	say_held(j->held_sec, NULL);
	say_unknown(e);
	say_prediction(e);
	say_costliest(e);
	say_beside(e, false);
	return CLI_DONE;
}

static void say_explained(double measured, double predicted, char *buf,
			  size_t len)
{
	if (predicted < LITTLE)
		snprintf(buf, len, "; its neighbours explain none of that.");
	else if (predicted >= measured)
		snprintf(buf, len, "; its neighbours explain all of that (%.0f "
			 "%% was predicted).", 100 * predicted);
	else
		snprintf(buf, len, "; its neighbours explain %.0f points of "
			 "that.", 100 * predicted);
}

void cli_say_took(double run_sec, const struct np_mean *alone,
		  const double *predicted, char *buf, size_t len)
{
	char took[CLI_NUMBER], mean[CLI_NUMBER], how[64], why[160];
	const struct np_mean one = { .n = 1, .mean = run_sec };
	double d;

	cli_sec(run_sec, took);
	if (!np_mean_known(alone) || !(alone->mean > 0)) {
		snprintf(buf, len, "It took %s. How long it takes alone is not "
			 "known: no other run of this command had its leaf "
			 "switches to itself.", took);
		return;
	}
	d = run_sec / alone->mean - 1;
	cli_sec(alone->mean, mean);
	if (fabs(d) < CLI_LEAST_NOISE)
		snprintf(how, sizeof(how), "as long as");
	else
		snprintf(how, sizeof(how), "%.0f %% %s than", 100 * fabs(d),
			 d < 0 ? "less" : "longer");
	if (fabs(d) < CLI_LEAST_NOISE || d < -cli_chance(&one, alone))
		snprintf(why, sizeof(why), ".");
	else if (fabs(d) < cli_chance(&one, alone))
		snprintf(why, sizeof(why), ", which may be chance.");
	else if (predicted)
		say_explained(d, *predicted, why, sizeof(why));
	else
		snprintf(why, sizeof(why), "; what its neighbours cost it is "
			 "not known.");
	snprintf(buf, len, "It took %s, %s alone (%s, n %u)%s", took, how, mean,
		 alone->n, why);
}

static void say_step(const struct cli_explain *e, const struct cli_measured *m)
{
	const struct np_record *r = m->run;
	char line[LINE], label[CLI_NUMBER];
	struct np_sample sample = { NULL };

	if (r->state != NP_RUN_COMPLETE)
		snprintf(line, sizeof(line), "It runs still, or its end was "
			 "not seen: there is no run time to compare.");
	else if (r->exit_code)
		snprintf(line, sizeof(line), "It failed, so its run time says "
			 "nothing.");
	else if (r->suspended)
		snprintf(line, sizeof(line), "Its job was suspended, so its "
			 "run time says nothing.");
	else if (r->level)
		snprintf(line, sizeof(line), "It ran beside level %s, which "
			 "slows it on purpose.", r->level->name);
	else
		cli_say_took(np_record_run_sec(r), &m->alone,
			     e->predicted ? &e->slowdown : NULL, line,
			     sizeof(line));
	snprintf(label, sizeof(label), "Step %u", r->step_id);
	cli_labelled(stdout, label, "%s", line);
	if (!np_sample_add(&sample, r))
		cli_say_adapters(stdout, &sample);
	np_hist_free(sample.hist);
}

static void say_ended(const struct cli_explain *e)
{
	const struct np_ended *n = &e->ended;
	char where[LINE], id[CLI_NUMBER], from[CLI_NUMBER], took[CLI_NUMBER];

	say_where(cli_job_name(n->id, n->array, n->task, id), n->app, "ran",
		  n->leaves, n->n_nodes, where);
	cli_say(CLI_BOLD, 0, "%s, for %s from %s.", where,
		cli_sec(n->end - n->start, took), cli_date(n->start, from));
	say_held(n->held_sec, NULL);
}

static void say_recorded(const struct cli_explain *e)
{
	const struct np_record *r = e->measured[0].run;
	char from[CLI_NUMBER];

	cli_say(CLI_BOLD, 0, "Job %s (%s) ran on %.512s, from %s; placement "
		"has not seen it.", e->word, r->app, r->nodes ? r->nodes :
		"nodes not known", cli_date(r->start, from));
}

static int page_ended(const struct cli_explain *e)
{
	char by[CLI_NUMBER];

	if (e->have_ended)
		say_ended(e);
	else
		say_recorded(e);
	if (!e->n_measured)
		cli_labelled(stdout, "Measured", "not at all: sbatch "
			     "--netprofile=%s job.sh says how much longer than "
			     "alone it takes", *e->ended.app ? e->ended.app :
			     "NAME");
	for (size_t i = e->n_measured; i-- > 0; )
		say_step(e, &e->measured[i]);
	if (e->predicted && e->n_beside)
		cli_labelled(stdout, "Predicted", "%s over its whole run, from "
			     "its neighbours", cli_change(e->slowdown, by));
	say_costliest(e);
	if (!e->n_beside)
		cli_labelled(stdout, "Neighbours", "no other job was on "
			     "its leaf switches");
	say_beside(e, true);
	return CLI_DONE;
}

int cli_explain_text(const struct cli_explain *e)
{
	if (e->past.job)
		cli_history_text(&e->past);
	if (e->past.job && (e->job || e->have_ended || e->n_measured))
		putchar('\n');
	else if (e->past.job)
		return CLI_DONE;
	return !e->job ? page_ended(e) : e->job->pending ? page_pending(e) :
							   page_running(e);
}

/* For programs */

static void put_ended(json_object *j, const struct np_ended *n)
{
	char id[CLI_NUMBER], user[CLI_NUMBER];

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

static void put_measured(json_object *j, const struct cli_measured *m)
{
	double run = np_record_run_sec(m->run);

	cli_put_text(j, "app", m->run->app);
	cli_put_count(j, "step_id", m->run->step_id);
	cli_put_time(j, "start", m->run->start);
	cli_put_real(j, "run_sec", run);
	cli_put_text(j, "level", m->run->level ? m->run->level->name : NULL);
	cli_put_count(j, "alone_runs", m->alone.n);
	if (!np_mean_known(&m->alone))
		return;
	cli_put_real(j, "alone_sec", m->alone.mean);
	cli_put_real(j, "slowdown", run / m->alone.mean - 1);
}

static void put_beside(json_object *list, const struct cli_explain *e,
		       const struct cli_beside *b)
{
	json_object *j = cli_append_object(list);

	cli_put_count(j, "job_id", b->id);
	cli_put_text(j, "app", b->app);
	cli_put_text(j, "leaves", b->leaves);
	if (!e->job)
		cli_put_real(j, "overlap_sec", b->overlap_sec);
	cli_put_real(j, "slowdown", b->predicted ? b->slowdown : NAN);
}

static void put_costliest(json_object *in, const struct cli_explain *e)
{
	double share;
	const struct cli_beside *b = cli_explain_costliest(e, &share);
	json_object *j = cli_put_if(in, "costliest", b);

	if (!j)
		return;
	cli_put_count(j, "job_id", b->id);
	cli_put_text(j, "app", b->app);
	cli_put_real(j, "share", share);
}

/* What each row begins with; up: from a record to the tree. */
#define ABOUT(up) \
	up "job|" up "state|" up "app|" up "leaves|" up "action|" up \
	"applied|" up "held_sec|" up "predicted|" up "steps/0/run_sec|" up \
	"steps/0/alone_sec|" up "steps/0/alone_runs|"
#define HEAD \
	"Job|State|App|Leaves|Action|Applied|HeldSec|Predicted|RunSec|" \
	"AloneSec|AloneRuns|Other|OtherApp|OtherLeaves|OverlapSec|Victim|" \
	"Slowdown"

static const struct cli_table of_itself = {
	HEAD, { { "", ABOUT("") "|||||" } },
};

static const struct cli_table of_others = {
	HEAD,
	{
		{ "causes", ABOUT("../")
		  "other|other_app|leaf||victim|slowdown" },
		{ "neighbours", ABOUT("../")
		  "job_id|app|leaves|overlap_sec||slowdown" },
	},
};

int cli_explain_data(const struct cli_explain *e, enum cli_format format)
{
	json_object *j = json_object_new_object(), *list;
	bool others = e->n_beside || (e->job && e->job->n_causes);

	if (e->job) {
		cli_put_job(j, e->job);
		cli_put_snapshot(cli_put_object(j, "placement"), &e->state,
				 e->now);
	} else if (e->have_ended) {
		put_ended(j, &e->ended);
	} else {
		cli_put_text(j, "job", e->word);
		cli_put_text(j, "state", state_of(e));
		cli_put_text(j, "app", e->n_measured ? e->measured[0].run->app :
			     "");
	}
	cli_history_json(j, &e->past);
	list = cli_put_array(j, "steps");
	for (size_t i = 0; i < e->n_measured; i++)
		put_measured(cli_append_object(list), &e->measured[i]);
	cli_put_real(j, "predicted", e->predicted ? e->slowdown : NAN);
	cli_put_text(j, "why", e->not_predicted.text);
	put_costliest(j, e);
	list = cli_put_array(j, "neighbours");
	for (size_t i = 0; i < e->n_beside; i++)
		put_beside(list, e, &e->beside[i]);
	return cli_print_page(format, "explain", j, others ? &of_others :
			      &of_itself);
}
