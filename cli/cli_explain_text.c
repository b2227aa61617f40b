/* The page of `netprof explain`, and the same as fields. */
#include <stdio.h>
#include <string.h>

#include "cli_explain.h"
#include "cli_page.h"

#define LINE 1536
#define MOST_ROWS 40 /* of neighbours */

const char *cli_explain_state(const struct cli_explain *e)
{
	return e->job ? e->job->pending ? "pending" : "running" :
	       e->have_ended ? "ended" : "measured";
}

static void bold(const char *text)
{
	fputs(cli_colour(CLI_BOLD), stdout);
	cli_wrap(stdout, text, 0);
	fputs(cli_colour(CLI_PLAIN), stdout);
}

/* The decision is only as good as it is fresh. */
static void say_stale(const struct cli_explain *e)
{
	char line[LINE];

	if (!cli_state_stale(&e->state, e->now))
		return;
	fputs(cli_colour(CLI_RED), stdout);
	cli_wrap(stdout, cli_say_mode(&e->state, e->now, true, line,
				      sizeof(line)), 0);
	fputs(cli_colour(CLI_PLAIN), stdout);
}

static void say_held(double held_sec, const struct np_state *s)
{
	char line[LINE], held[CLI_NUMBER], most[CLI_NUMBER];

	if (held_sec < 1)
		return;
	cli_setting_sec(held_sec, held);
	if (s)
		snprintf(line, sizeof(line), "%s so far, at most %s", held,
			 cli_setting_sec(s->max_defer_sec, most));
	else
		snprintf(line, sizeof(line), "%s by placement, before it "
			 "started", held);
	cli_labelled(stdout, "Held back", line);
}

static void cause_row(const struct cli_explain *e,
		      const struct np_state_cause *c)
{
	char leaf[96], app[96], by[CLI_NUMBER], other[CLI_NUMBER];
	char victim[CLI_NUMBER];

	snprintf(other, sizeof(other), "%u", c->other);
	snprintf(victim, sizeof(victim), "%u", c->victim);
	printf("%-20s %-10s %-20s %-12s", cli_cut(c->leaf, 20, leaf,
						  sizeof(leaf)), other,
	       cli_cut(cli_app_name(c->other_app), 20, app, sizeof(app)),
	       cli_victim_self(e->job, c) ? "this one" : victim);
	cli_right(stdout, cli_change(c->slowdown, by), 9);
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

static int page_pending(const struct cli_explain *e)
{
	char line[LINE];

	cli_say_pending(e, line, sizeof(line));
	bold(line);
	say_stale(e);
	if (*e->job->text)
		cli_labelled(stdout, "Decision", e->job->text);
	cli_say_unknown(&e->state, e->job, line, sizeof(line));
	if (*line)
		cli_labelled(stdout, "Not known", line);
	say_held(e->job->held_sec, &e->state);
	say_causes(e);
	return CLI_DONE;
}

/* "leaf0 (4 nodes)" */
static void say_where(const char *leaves, uint32_t n_nodes, char *buf,
		      size_t len)
{
	snprintf(buf, len, "on %.512s%s%u node%s%s", *leaves ? leaves : "",
		 *leaves ? " (" : "", n_nodes, n_nodes == 1 ? "" : "s",
		 *leaves ? ")" : "");
}

static void beside_row(const struct cli_beside *b, bool ended)
{
	char id[CLI_NUMBER], app[96], leaves[300], time[CLI_NUMBER];
	char by[CLI_NUMBER];

	printf("%-11s %-20s %-20s", cli_job_name(b->id, b->array, b->task, id),
	       cli_cut(cli_app_name(b->app), 20, app, sizeof(app)),
	       cli_cut(*b->leaves ? b->leaves : "-", 20, leaves,
		       sizeof(leaves)));
	if (ended)
		cli_right(stdout, cli_sec(b->overlap_sec, time), 11);
	cli_right(stdout, b->predicted ? cli_change(b->slowdown, by) : "-",
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
}

/* Which of several neighbours, or the only one that is known. */
static void say_costliest(const struct cli_explain *e)
{
	char line[LINE];

	cli_say_costliest(e, line, sizeof(line));
	if (*line)
		cli_labelled(stdout, "Costliest", line);
}

static void say_prediction(const struct cli_explain *e)
{
	char line[LINE], by[CLI_NUMBER];

	if (!e->n_beside)
		snprintf(line, sizeof(line), "nobody that is known is on its "
			 "leaf switches");
	else if (e->predicted)
		snprintf(line, sizeof(line), "%s beside them together%s%s",
			 cli_change(e->slowdown, by),
			 e->not_predicted.text[0] ? "; " : "",
			 e->not_predicted.text);
	else
		snprintf(line, sizeof(line), "not possible: %s",
			 e->not_predicted.text);
	cli_labelled(stdout, "Predicted", line);
}

static int page_running(const struct cli_explain *e)
{
	const struct np_state_job *j = e->job;
	char line[LINE], where[640], id[CLI_NUMBER], since[CLI_NUMBER];

	say_where(j->leaves, j->n_nodes, where, sizeof(where));
	snprintf(line, sizeof(line), "Job %s%s%s%s runs %s, since %s.",
		 cli_job_name(j->id, j->array, j->task, id),
		 *j->app ? " (" : "", j->app, *j->app ? ")" : "", where,
		 cli_date(j->start, since));
	bold(line);
	say_stale(e);
	say_held(j->held_sec, NULL);
	cli_say_unknown(&e->state, j, line, sizeof(line));
	if (*line)
		cli_labelled(stdout, "Not known", line);
	say_prediction(e);
	say_costliest(e);
	say_beside(e, false);
	return CLI_DONE;
}

static void say_step(const struct cli_explain *e, const struct cli_measured *m)
{
	const struct np_record *r = m->run;
	char line[LINE], label[CLI_NUMBER];

	if (r->state != NP_RUN_COMPLETE)
		snprintf(line, sizeof(line), "It runs still, or its end was "
			 "not seen: there is no run time to compare.");
	else if (r->exit_code)
		snprintf(line, sizeof(line), "It failed, so its run time says "
			 "nothing.");
	else if (r->level)
		snprintf(line, sizeof(line), "It ran beside level %s, which "
			 "slows it on purpose.", r->level->name);
	else
		cli_say_took(np_record_run_sec(r), &m->alone,
			     e->predicted ? &e->slowdown : NULL, line,
			     sizeof(line));
	snprintf(label, sizeof(label), "Step %u", r->step_id);
	cli_labelled(stdout, label, line);
}

static void say_ended(const struct cli_explain *e)
{
	const struct np_ended *n = &e->ended;
	char line[LINE], where[640], id[CLI_NUMBER], from[CLI_NUMBER];
	char took[CLI_NUMBER];

	say_where(n->leaves, n->n_nodes, where, sizeof(where));
	snprintf(line, sizeof(line), "Job %s%s%s%s ran %s, for %s from %s.",
		 cli_job_name(n->id, n->array, n->task, id),
		 *n->app ? " (" : "", n->app, *n->app ? ")" : "", where,
		 cli_sec(n->end - n->start, took), cli_date(n->start, from));
	bold(line);
	say_held(n->held_sec, NULL);
}

static void say_recorded(const struct cli_explain *e)
{
	const struct np_record *r = e->measured[0].run;
	char line[LINE], from[CLI_NUMBER];

	snprintf(line, sizeof(line), "Job %s (%s) ran on %.512s, from %s; "
		 "placement has not seen it.", e->word, r->app, r->nodes ?
		 r->nodes : "nodes not known", cli_date(r->start, from));
	bold(line);
}

static int page_ended(const struct cli_explain *e)
{
	char line[LINE], by[CLI_NUMBER];

	if (e->have_ended)
		say_ended(e);
	else
		say_recorded(e);
	if (!e->n_measured) {
		snprintf(line, sizeof(line), "not at all: sbatch --netprofile="
			 "%s job.sh says how much longer than alone it takes",
			 *e->ended.app ? e->ended.app : "NAME");
		cli_labelled(stdout, "Measured", line);
	}
	for (size_t i = e->n_measured; i-- > 0; )
		say_step(e, &e->measured[i]);
	if (e->predicted && e->n_beside) {
		snprintf(line, sizeof(line), "%s over its whole run, from its "
			 "neighbours", cli_change(e->slowdown, by));
		cli_labelled(stdout, "Predicted", line);
	}
	say_costliest(e);
	if (!e->n_beside)
		cli_labelled(stdout, "Neighbours", "no other job was on "
			     "its leaf switches");
	say_beside(e, true);
	return CLI_DONE;
}

int cli_explain_text(const struct cli_explain *e)
{
	return !e->job ? page_ended(e) : e->job->pending ? page_pending(e) :
							   page_running(e);
}

/* Fields */

static const char *app_of(const struct cli_explain *e)
{
	return e->job ? e->job->app : e->have_ended ? e->ended.app :
	       e->measured[0].run->app;
}

/* What all lines begin with. */
static void parsable_begin(const struct cli_explain *e)
{
	const struct np_state_job *j = e->job;

	cli_field(e->word, '|');
	printf("%s|", cli_explain_state(e));
	cli_field(app_of(e), '|');
	cli_field(j ? j->leaves : e->have_ended ? e->ended.leaves : "", '|');
	cli_field(j && j->pending ? j->action : "", '|');
	printf("%s|%.3f|", j && j->pending && j->applied ? "yes" : "no",
	       j ? j->held_sec : e->have_ended ? e->ended.held_sec : 0);
	cli_field_real(e->predicted ? e->slowdown : NAN, 6, '|');
	if (e->n_measured) {
		const struct cli_measured *m = &e->measured[0];

		printf("%.3f|", np_record_run_sec(m->run));
		if (np_mean_known(&m->alone))
			printf("%.3f", m->alone.mean);
		printf("|%u|", m->alone.n);
	} else {
		fputs("|||", stdout);
	}
}

static void parsable_cause(const struct cli_explain *e,
			   const struct np_state_cause *c)
{
	parsable_begin(e);
	printf("%u|", c->other);
	cli_field(c->other_app, '|');
	cli_field(c->leaf, '|');
	printf("|%u|%.6g\n", c->victim ? c->victim : e->job->id, c->slowdown);
}

static void parsable_beside(const struct cli_explain *e,
			    const struct cli_beside *b)
{
	parsable_begin(e);
	printf("%u|", b->id);
	cli_field(b->app, '|');
	cli_field(b->leaves, '|');
	if (!e->job)
		printf("%.3f", b->overlap_sec);
	printf("||");
	cli_field_real(b->predicted ? b->slowdown : NAN, 6, '\n');
}

int cli_explain_parsable(const struct cli_explain *e)
{
	bool pending = e->job && e->job->pending;

	puts("Job|State|App|Leaves|Action|Applied|HeldSec|Predicted|RunSec|"
	     "AloneSec|AloneRuns|Other|OtherApp|OtherLeaves|OverlapSec|Victim|"
	     "Slowdown");
	for (size_t i = 0; pending && i < e->job->n_causes; i++)
		parsable_cause(e, &e->job->cause[i]);
	for (size_t i = 0; i < e->n_beside; i++)
		parsable_beside(e, &e->beside[i]);
	if (pending ? !e->job->n_causes : !e->n_beside) {
		parsable_begin(e);
		puts("|||||");
	}
	return CLI_DONE;
}
