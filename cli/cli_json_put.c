/*
 * Putting values into json-c objects, and the parts that several commands
 * print.
 *
 * A value whose allocation fails becomes null.  The members are described in
 * doc/json-schema/, and a test compares them with the output.
 */
#include "cli_json_put.h"
#include "cli_measured.h"

#include <math.h>
#include <stdio.h>

#include "cli.h"
#include "cli_state.h"

void cli_put(json_object *in, const char *key, json_object *value)
{
	json_object_object_add(in, key, value);
}

void cli_put_text(json_object *in, const char *key, const char *text)
{
	cli_put(in, key, text ? json_object_new_string(text) : NULL);
}

/*
 * JSON has no infinity or NaN, so these become null. The text is kept, so that
 * the number is printed with that many digits everywhere.
 */
static void put_digits(json_object *in, const char *key, double v,
		       int digits)
{
	char text[CLI_NUMBER];

	v += 0.0; /* no "-0" */
	snprintf(text, sizeof(text), "%.*g", digits, v);
	cli_put(in, key, isfinite(v) ? json_object_new_double_s(v, text) :
				       NULL);
}

void cli_put_real(json_object *in, const char *key, double v)
{
	put_digits(in, key, v, 6);
}

void cli_put_computed(json_object *in, const char *key, double v)
{
	put_digits(in, key, v, 12);
}

void cli_put_time(json_object *in, const char *key, double v)
{
	char text[CLI_NUMBER];

	snprintf(text, sizeof(text), "%.3f", v);
	cli_put(in, key, json_object_new_double_s(v, text));
}

void cli_put_count(json_object *in, const char *key, uint64_t n)
{
	cli_put(in, key, json_object_new_uint64(n));
}

void cli_put_bool(json_object *in, const char *key, int v)
{
	cli_put(in, key, json_object_new_boolean(v));
}

json_object *cli_put_object(json_object *in, const char *key)
{
	json_object *j = json_object_new_object();

	cli_put(in, key, j);
	return j;
}

json_object *cli_put_if(json_object *in, const char *key, bool there)
{
	json_object *j = there ? json_object_new_object() : NULL;

	cli_put(in, key, j);
	return j;
}

json_object *cli_put_array(json_object *in, const char *key)
{
	json_object *j = json_object_new_array();

	cli_put(in, key, j);
	return j;
}

json_object *cli_append_object(json_object *list)
{
	json_object *j = json_object_new_object();

	json_object_array_add(list, j);
	return j;
}

void cli_append_text(json_object *list, const char *text)
{
	json_object_array_add(list, json_object_new_string(text));
}

void cli_put_measured(json_object *in, const struct cli_known *k,
		      size_t victim, size_t corunner, enum np_scope scope)
{
	struct cli_measured m;
	bool there = cli_measured_find(k, victim, corunner, scope, &m);
	json_object *o = cli_put_if(in, "measured", there);

	if (!there)
		return;
	cli_put_real(o, "slowdown", m.slowdown.n ? m.slowdown.mean : NAN);
	cli_put_count(o, "runs", m.slowdown.n);
	cli_put_real(o, "control", m.control);
	cli_put_count(o, "victim_nodes", m.victim_nodes);
	cli_put_count(o, "corunner_nodes", m.corunner_nodes);
	cli_put_time(o, "date", m.date);
}

/* A published profile has no user, so these members are null for it. */
void cli_put_owner(json_object *in, enum np_store_owner owner, uid_t uid)
{
	char user[CLI_NUMBER], name[CLI_NUMBER];
	bool own = owner == NP_STORE_USER;

	cli_put_text(in, "owner", cli_owner_name(owner, uid, name,
						 sizeof(name)));
	cli_put(in, "published", json_object_new_boolean(!own));
	cli_put_text(in, "user", own ? cli_user(uid, user) : NULL);
	cli_put(in, "uid", own ? json_object_new_int64(uid) : NULL);
}

/*
 * Times are omitted for slowdowns from load intervals, as these were not
 * measured over whole runs.
 */
void cli_put_levels(json_object *in, const struct np_profile *p)
{
	json_object *list = cli_put_array(in, "levels");

	for (size_t i = 0; i < p->summary.n_levels; i++) {
		const struct np_run_summary_level *l = &p->summary.level[i];
		json_object *j = cli_append_object(list);

		cli_put_text(j, "name", l->name);
		cli_put_text(j, "scope", l->scope);
		cli_put_count(j, "runs", l->run_sec.n);
		cli_put_count(j, "compared", l->slowdown.n);
		if (np_mean_known(&l->slowdown)) {
			cli_put_bool(j, "of_intervals", l->of_intervals);
			if (!l->of_intervals) {
				cli_put_real(j, "run_sec", l->run_sec.mean);
				cli_put_real(j, "alone_sec",
					     p->summary.alone_sec.mean);
			}
			cli_put_real(j, "slowdown", l->slowdown.mean);
			cli_put_real(j, "low", l->low);
			cli_put_real(j, "high", l->high);
		}
		if (np_mean_known(&l->impact))
			cli_put_real(j, "level_slowdown", l->impact.mean);
	}
}

/* The flags are the words of the --csv columns, so that both outputs agree. */
void cli_put_interval(json_object *in, const struct np_prediction *p)
{
	char flags[256];

	cli_put_real(in, "slowdown", p->slowdown);
	cli_put_real(in, "low", p->low);
	cli_put_real(in, "high", p->high);
	cli_put_bool(in, "doubtful", !!(p->flags & NP_PRED_DOUBTFUL));
	cli_put_text(in, "model", p->model->name);
	cli_put_bool(in, "fell_back", !!(p->flags & NP_PRED_FELL_BACK));
	cli_put_text(in, "flags", cli_flag_names(p->flags, flags,
						 sizeof(flags)));
}

/*
 * Without a calibration both members are null, so that scripts can test for
 * one of them.
 */
void cli_put_calibration(json_object *in, const struct cli_known *k,
			 enum np_scope scope)
{
	const struct np_calibration *c = &k->cal;
	const struct np_mean *m;
	json_object *j;
	double low, high;

	if (!k->calibrated) {
		cli_put(in, "calibration", NULL);
		cli_put(in, "sharing_coefficient", NULL);
		return;
	}
	j = cli_put_object(in, "calibration");
	cli_put_text(j, "path", c->path);
	cli_put_time(j, "date", c->date);
	cli_put_text(j, "cluster", c->cluster);
	cli_put_text(j, "transport", c->transport);
	cli_put_text(j, "scope", np_scope_name(c->scope));
	cli_put_count(j, "levels", c->fabric->n_levels);
	m = &c->fabric->sharing[scope];
	j = cli_put_object(in, "sharing_coefficient");
	cli_put_text(j, "scope", np_scope_name(scope));
	cli_put_count(j, "n", m->n);
	if (np_mean_known(m))
		cli_put_real(j, "mean", m->mean);
	if (np_sharing_coef_interval(m, &low, &high)) {
		cli_put_real(j, "low", low);
		cli_put_real(j, "high", high);
	}
	cli_put_bool(j, "no_effect", cli_no_effect(k, scope));
}

/* Members that status and explain have in common. */
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
	cli_put_real(in, "max_defer_sec", s->max_hold_sec);
	cli_put_text(in, "trouble", s->trouble);
}

/*
 * One reason why a job is kept apart: the other job, and who would be slowed.
 */
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

/* The worst cause comes first, because --parsable prints only that one. */
void cli_put_job(json_object *j, const struct np_state_job *job)
{
	const struct np_state_cause *worst = cli_worst_cause(job);
	char id[CLI_NUMBER], user[CLI_NUMBER];
	json_object *list;

	cli_put_text(j, "job", cli_job_name(job->id, job->array, job->task,
					    id));
	cli_put_count(j, "job_id", job->id);
	cli_put_text(j, "user", cli_user(job->uid, user));
	cli_put_text(j, "state", job->pending ? "pending" : "running");
	cli_put_text(j, "app", job->app);
	cli_put_bool(j, "known", job->known);
	cli_put_text(j, "partition", job->partition);
	cli_put_text(j, "mode", job->mode);
	cli_put_count(j, "n_nodes", job->n_nodes);
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
	if (worst)
		put_cause(list, job, worst);
	for (size_t i = 0; i < job->n_causes; i++)
		if (&job->cause[i] != worst)
			put_cause(list, job, &job->cause[i]);
}

void cli_put_adapters(json_object *in, const struct np_sample *s)
{
	json_object *list = cli_put_array(in, "adapters");

	for (size_t i = 0; i < s->n_nics; i++) {
		const struct np_sample_nic *nic = &s->nic[i];
		json_object *j = cli_append_object(list);

		cli_put_text(j, "device", nic->device);
		cli_put_real(j, "node_sec", nic->node_sec);
		for (size_t k = 0; k < NP_NIC_KINDS; k++)
			cli_put_real(j, np_nic_kinds[k], nic->n[k]);
	}
}
