/* netprof status --json, and what it has in common with explain --json. */
#include "cli_json_put.h"
#include "cli_status.h"

void cli_put_snapshot(json_object *in, const struct np_state *s, double now)
{
	cli_put_time(in, "date", s->date);
	cli_put_real(in, "age_sec", now - s->date);
	cli_put_bool(in, "stale", cli_state_stale(s, now));
	cli_put_text(in, "mode", s->mode);
	cli_put_text(in, "cluster", s->cluster);
	cli_put_text(in, "controller", s->controller);
	cli_put_real(in, "interval_sec", s->interval_sec);
	cli_put_real(in, "max_slowdown", s->max_slowdown);
	cli_put_real(in, "max_defer_sec", s->max_defer_sec);
	cli_put_text(in, "trouble", s->trouble);
}

static void put_cause(json_object *list, const struct np_state_job *job,
		      const struct np_state_cause *c)
{
	json_object *j = cli_append_object(list);

	cli_put_text(j, "leaf", c->leaf);
	cli_put_count(j, "other", c->other);
	cli_put_text(j, "other_app", c->other_app);
	cli_put_count(j, "victim", c->victim ? c->victim : job->id);
	cli_put_real(j, "slowdown", c->slowdown);
}

void cli_put_job(json_object *j, const struct np_state_job *job)
{
	char id[CLI_NUMBER], user[CLI_NUMBER];
	json_object *list;

	cli_put_text(j, "job", cli_job_name(job->id, job->array, job->task,
					    id));
	cli_put_count(j, "id", job->id);
	cli_put_text(j, "user", cli_user(job->uid, user));
	cli_put_text(j, "state", job->pending ? "pending" : "running");
	cli_put_text(j, "app", job->app);
	cli_put_bool(j, "known", job->known);
	cli_put_text(j, "partition", job->partition);
	cli_put_text(j, "mode", job->mode);
	cli_put_count(j, "nodes", job->n_nodes);
	cli_put_text(j, "leaves", job->leaves);
	cli_put_text(j, "action", job->action);
	cli_put_bool(j, "applied", job->applied);
	if (job->until > 0)
		cli_put_time(j, "until", job->until);
	if (!job->pending)
		cli_put_time(j, "start", job->start);
	cli_put_real(j, "held_sec", job->held_sec);
	cli_put_text(j, "text", job->text);
	list = cli_put_array(j, "causes");
	for (size_t i = 0; i < job->n_causes; i++)
		put_cause(list, job, &job->cause[i]);
}

static void put_leaf(json_object *list, const struct np_state_leaf *l)
{
	json_object *j = cli_append_object(list);

	cli_put_text(j, "name", l->name);
	cli_put_count(j, "nodes", l->n_nodes);
	cli_put_count(j, "idle", l->n_idle);
	cli_put_count(j, "away", l->n_away);
	cli_put_count(j, "jobs", l->n_jobs);
	cli_put_count(j, "known", l->n_known);
	cli_put_real(j, "strain", l->strain);
}

static void put_claim(json_object *list, const struct np_state_claim *c)
{
	json_object *j = cli_append_object(list);
	char user[CLI_NUMBER];

	cli_put_count(j, "uid", c->uid);
	cli_put_text(j, "user", cli_user(c->uid, user));
	cli_put_text(j, "app", c->app);
	cli_put_count(j, "jobs", c->n_jobs);
	cli_put_bool(j, "refuted", c->refuted);
	cli_put_text(j, "why", c->why);
}

int cli_status_json(const struct cli_status *t)
{
	json_object *j = json_object_new_object(), *list;
	const struct np_state *s = t->s;

	cli_put_snapshot(j, s, t->now);
	cli_put_text(j, "fabric", s->fabric);
	cli_put_text(j, "slurm_version", s->slurm_version);
	cli_put_text(j, "netprof_version", s->netprof_version);
	cli_put_count(j, "profiles", s->n_profiles);
	cli_put_real(j, "decide_sec", s->decide_sec);
	cli_put_count(j, "running", t->n_running);
	cli_put_count(j, "known", t->n_known);
	cli_put_count(j, "pending", t->n_pending);
	list = cli_put_array(j, "leaves");
	for (size_t i = 0; i < s->n_leaves; i++)
		put_leaf(list, &s->leaf[i]);
	list = cli_put_array(j, "apart");
	for (size_t i = 0; i < t->n_apart; i++)
		cli_put_job(cli_append_object(list), t->apart[i]);
	list = cli_put_array(j, "claims");
	for (size_t i = 0; i < s->n_claims; i++)
		put_claim(list, &s->claim[i]);
	return cli_print_json("status", j);
}
