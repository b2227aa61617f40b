/* netprof explain --json */
#include <math.h>

#include "cli_explain.h"
#include "cli_json_put.h"

static void put_ended(json_object *j, const struct np_ended *n)
{
	char id[CLI_NUMBER], user[CLI_NUMBER];

	cli_put_text(j, "job", cli_job_name(n->id, n->array, n->task, id));
	cli_put_count(j, "id", n->id);
	cli_put_text(j, "user", cli_user(n->uid, user));
	cli_put_text(j, "state", "ended");
	cli_put_text(j, "app", n->app);
	cli_put_text(j, "partition", n->partition);
	cli_put_text(j, "leaves", n->leaves);
	cli_put_count(j, "nodes", n->n_nodes);
	cli_put_time(j, "submit", n->submit);
	cli_put_time(j, "start", n->start);
	cli_put_time(j, "end", n->end);
	cli_put_real(j, "held_sec", n->held_sec);
}

static void put_measured(json_object *j, const struct cli_measured *m)
{
	double run = np_record_run_sec(m->run);

	cli_put_text(j, "app", m->run->app);
	cli_put_count(j, "step", m->run->step_id);
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

	cli_put_count(j, "id", b->id);
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
	json_object *j;

	if (!b) {
		cli_put(in, "costliest", NULL);
		return;
	}
	j = cli_put_object(in, "costliest");
	cli_put_count(j, "id", b->id);
	cli_put_text(j, "app", b->app);
	cli_put_real(j, "share", share);
}

int cli_explain_json(const struct cli_explain *e)
{
	json_object *j = json_object_new_object(), *list;

	if (e->job) {
		cli_put_job(j, e->job);
		cli_put_snapshot(cli_put_object(j, "placement"), &e->state,
				 e->now);
	} else if (e->have_ended) {
		put_ended(j, &e->ended);
	} else {
		cli_put_text(j, "job", e->word);
		cli_put_text(j, "state", cli_explain_state(e));
	}
	list = cli_put_array(j, "steps");
	for (size_t i = 0; i < e->n_measured; i++)
		put_measured(cli_append_object(list), &e->measured[i]);
	cli_put_real(j, "predicted", e->predicted ? e->slowdown : NAN);
	cli_put_text(j, "not_predicted", e->not_predicted.text);
	put_costliest(j, e);
	list = cli_put_array(j, "neighbours");
	for (size_t i = 0; i < e->n_beside; i++)
		put_beside(list, e, &e->beside[i]);
	return cli_print_json("explain", j);
}
