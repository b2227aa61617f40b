/*
 * A value whose allocation fails becomes null.  The members are described in
 * doc/json-schema/, and a test compares the output with that description.
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
 * JSON has no infinity or NaN, so these become null.  json-c stores the text
 * along with the number, so that all output formats print the same digits.
 */
static void put_number(json_object *in, const char *key, double value,
		       int digits)
{
	char text[CLI_NUMBER];

	value += 0.0; /* makes -0 positive */
	snprintf(text, sizeof(text), "%.*g", digits, value);
	cli_put(in, key, isfinite(value) ?
			 json_object_new_double_s(value, text) : NULL);
}

void cli_put_real(json_object *in, const char *key, double value)
{
	put_number(in, key, value, 6);
}

void cli_put_computed(json_object *in, const char *key, double value)
{
	put_number(in, key, value, 12);
}

void cli_put_time(json_object *in, const char *key, double date)
{
	char text[CLI_NUMBER];

	snprintf(text, sizeof(text), "%.3f", date);
	cli_put(in, key, json_object_new_double_s(date, text));
}

void cli_put_count(json_object *in, const char *key, uint64_t n)
{
	cli_put(in, key, json_object_new_uint64(n));
}

void cli_put_bool(json_object *in, const char *key, int value)
{
	cli_put(in, key, json_object_new_boolean(value));
}

json_object *cli_put_object(json_object *in, const char *key)
{
	json_object *j = json_object_new_object();

	cli_put(in, key, j);
	return j;
}

json_object *cli_put_if(json_object *in, const char *key, bool condition)
{
	json_object *j = condition ? json_object_new_object() : NULL;

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

void cli_put_measured(json_object *in, const struct cli_known *known,
		      size_t victim, size_t corunner, enum np_scope scope)
{
	struct cli_measured measured;
	bool found = cli_measured_find(known, victim, corunner, scope,
				       &measured);
	json_object *j = cli_put_if(in, "measured", found);

	if (!found)
		return;
	cli_put_real(j, "slowdown", measured.slowdown.n ?
				    measured.slowdown.mean : NAN);
	cli_put_count(j, "runs", measured.slowdown.n);
	cli_put_real(j, "control", measured.control);
	cli_put_count(j, "victim_nodes", measured.victim_nodes);
	cli_put_count(j, "corunner_nodes", measured.corunner_nodes);
	cli_put_time(j, "date", measured.date);
}

/* A published profile has no user, so these members are null for it. */
void cli_put_owner(json_object *in, enum np_store_owner owner, uid_t uid)
{
	char user[CLI_NUMBER], name[CLI_NUMBER];
	bool has_user = owner == NP_STORE_USER;

	cli_put_text(in, "owner", cli_owner_name(owner, uid, name,
						 sizeof(name)));
	cli_put(in, "published", json_object_new_boolean(!has_user));
	cli_put_text(in, "user", has_user ? cli_user(uid, user) : NULL);
	cli_put(in, "uid", has_user ? json_object_new_int64(uid) : NULL);
}

/*
 * Slowdowns from load intervals were not measured over whole runs, so there are
 * no run times.
 */
void cli_put_levels(json_object *in, const struct np_profile *profile)
{
	json_object *list = cli_put_array(in, "levels");

	for (size_t i = 0; i < profile->summary.n_levels; i++) {
		const struct np_run_summary_level *level =
			&profile->summary.level[i];
		json_object *j = cli_append_object(list);

		cli_put_text(j, "name", level->name);
		cli_put_text(j, "scope", level->scope);
		cli_put_count(j, "runs", level->run_sec.n);
		cli_put_count(j, "compared", level->slowdown.n);
		if (np_mean_known(&level->slowdown)) {
			cli_put_bool(j, "of_intervals", level->of_intervals);
			if (!level->of_intervals) {
				cli_put_real(j, "run_sec", level->run_sec.mean);
				cli_put_real(j, "alone_sec",
					     profile->summary.alone_sec.mean);
			}
			cli_put_real(j, "slowdown", level->slowdown.mean);
			cli_put_real(j, "low", level->low);
			cli_put_real(j, "high", level->high);
		}
		if (np_mean_known(&level->impact))
			cli_put_real(j, "level_slowdown", level->impact.mean);
	}
}

/* The flags are the words of the --csv columns, so that both outputs agree. */
void cli_put_interval(json_object *in, const struct np_prediction *prediction)
{
	char flags[256];

	cli_put_real(in, "slowdown", prediction->slowdown);
	cli_put_real(in, "low", prediction->low);
	cli_put_real(in, "high", prediction->high);
	cli_put_bool(in, "doubtful", !!(prediction->flags & NP_PRED_DOUBTFUL));
	cli_put_text(in, "model", prediction->model->name);
	cli_put_bool(in, "fell_back",
		     !!(prediction->flags & NP_PRED_FELL_BACK));
	cli_put_text(in, "flags", cli_flag_names(prediction->flags, flags,
						 sizeof(flags)));
}

/*
 * Without a calibration both members are null, so that scripts can test for
 * one of them.
 */
void cli_put_calibration(json_object *in, const struct cli_known *known,
			 enum np_scope scope)
{
	const struct np_calibration *calibration = &known->cal;
	const struct np_mean *sharing;
	json_object *j;
	double low, high;

	if (!known->calibrated) {
		cli_put(in, "calibration", NULL);
		cli_put(in, "sharing_coefficient", NULL);
		return;
	}
	j = cli_put_object(in, "calibration");
	cli_put_text(j, "path", calibration->path);
	cli_put_time(j, "date", calibration->date);
	cli_put_text(j, "cluster", calibration->cluster);
	cli_put_text(j, "transport", calibration->transport);
	cli_put_text(j, "scope", np_scope_name(calibration->scope));
	cli_put_count(j, "levels", calibration->fabric->n_levels);
	sharing = &calibration->fabric->sharing[scope];
	j = cli_put_object(in, "sharing_coefficient");
	cli_put_text(j, "scope", np_scope_name(scope));
	cli_put_count(j, "n", sharing->n);
	if (np_mean_known(sharing))
		cli_put_real(j, "mean", sharing->mean);
	if (np_sharing_coef_interval(sharing, &low, &high)) {
		cli_put_real(j, "low", low);
		cli_put_real(j, "high", high);
	}
	cli_put_bool(j, "no_effect", cli_no_effect(known, scope));
}

void cli_put_snapshot(json_object *in, const struct np_state *state, double now)
{
	cli_put_time(in, "date", state->date);
	cli_put_real(in, "age_sec", now - state->date);
	cli_put_bool(in, "stale", cli_state_stale(state, now));
	cli_put_text(in, "mode", state->mode);
	cli_put_text(in, "cluster", state->cluster);
	cli_put_text(in, "controller", state->controller);
	cli_put_real(in, "interval_sec", state->interval_sec);
	cli_put_real(in, "max_slowdown", state->max_slowdown);
	cli_put_real(in, "max_defer_sec", state->max_hold_sec);
	cli_put_text(in, "trouble", state->trouble);
}

/* Why a job is separated from another one: which of them would be slowed. */
static void put_cause(json_object *list, const struct np_state_job *job,
		      const struct np_state_cause *cause)
{
	json_object *j = cli_append_object(list);

	cli_put_text(j, "leaf", cause->leaf);
	cli_put_count(j, "other", cause->other);
	cli_put_text(j, "other_app", cause->other_app);
	cli_put_count(j, "victim", cause->victim ? cause->victim : job->id);
	cli_put_real(j, "slowdown", cause->slowdown);
}

/* The worst cause comes first, because --parsable prints only the first. */
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

void cli_put_adapters(json_object *in, const struct np_sample *sample)
{
	json_object *list = cli_put_array(in, "adapters");

	for (size_t i = 0; i < sample->n_nics; i++) {
		const struct np_sample_nic *nic = &sample->nic[i];
		json_object *j = cli_append_object(list);

		cli_put_text(j, "device", nic->device);
		cli_put_real(j, "node_sec", nic->node_sec);
		for (size_t k = 0; k < NP_NIC_KINDS; k++)
			cli_put_real(j, np_nic_kinds[k], nic->n[k]);
	}
}
