/*
 * Builds the JSON output of commands. A value whose allocation fails becomes
 * null. The members are described in doc/json-schema/, and a test compares the
 * output with that description.
 */
#include "cli_json_put.h"

#include <math.h>
#include <stdio.h>

#include "cli.h"
#include "cli_measured.h"
#include "cli_state.h"
#include "np_examine.h"

void cli_put(json_object *parent, const char *key, json_object *value)
{
	json_object_object_add(parent, key, value);
}

void cli_put_text(json_object *parent, const char *key, const char *text)
{
	cli_put(parent, key, text ? json_object_new_string(text) : NULL);
}

/*
 * Infinity and NaN become null, because JSON cannot express them. json-c
 * stores the text along with the number, so that all formats print the same
 * digits.
 */
static void put_number(json_object *parent, const char *key, double value,
		       const char *format)
{
	char text[CLI_NUMBER_LEN];

	value += 0.0; /* makes -0 positive */
	snprintf(text, sizeof(text), format, value);
	cli_put(parent, key,
		isfinite(value) ? json_object_new_double_s(value, text) : NULL);
}

void cli_put_real(json_object *parent, const char *key, double value)
{
	put_number(parent, key, value, "%.6g");
}

void cli_put_computed(json_object *parent, const char *key, double value)
{
	put_number(parent, key, value, "%.12g");
}

void cli_put_time(json_object *parent, const char *key, double date)
{
	put_number(parent, key, date, "%.3f");
}

void cli_put_count(json_object *parent, const char *key, uint64_t n)
{
	cli_put(parent, key, json_object_new_uint64(n));
}

void cli_put_bool(json_object *parent, const char *key, bool value)
{
	cli_put(parent, key, json_object_new_boolean(value));
}

json_object *cli_put_object(json_object *parent, const char *key)
{
	json_object *object = json_object_new_object();

	cli_put(parent, key, object);
	return object;
}

json_object *cli_put_if(json_object *parent, const char *key, bool condition)
{
	json_object *object = condition ? json_object_new_object() : NULL;

	cli_put(parent, key, object);
	return object;
}

void cli_put_range(json_object *parent, const char *key,
		   const struct np_blame_range *range)
{
	json_object *object = cli_put_object(parent, key);

	cli_put_real(object, "mean", range->mean);
	cli_put_real(object, "low", range->low);
	cli_put_real(object, "high", range->high);
}

json_object *cli_put_array(json_object *parent, const char *key)
{
	json_object *array = json_object_new_array();

	cli_put(parent, key, array);
	return array;
}

json_object *cli_append_object(json_object *list)
{
	json_object *object = json_object_new_object();

	json_object_array_add(list, object);
	return object;
}

void cli_append_text(json_object *list, const char *text)
{
	json_object_array_add(list, json_object_new_string(text));
}

/* ---- objects that several commands print ---- */

/* The flags are the words of the --csv columns, so that both outputs agree. */
void cli_put_interval(json_object *parent,
		      const struct np_prediction *prediction)
{
	cli_put_real(parent, "slowdown", prediction->slowdown);
	cli_put_real(parent, "low", prediction->low);
	cli_put_real(parent, "high", prediction->high);
	cli_put_bool(parent, "doubtful", prediction->flags & NP_PRED_DOUBTFUL);
	cli_put_text(parent, "model", prediction->model->name);
	cli_put_bool(parent, "fell_back",
		     prediction->flags & NP_PRED_FELL_BACK);
	cli_put_text(parent, "flags", cli_flag_names(prediction->flags));
}

/*
 * Without a calibration both members are null, so that scripts can test either
 * of them.
 */
void cli_put_calibration(json_object *parent, const struct cli_known *known,
			 enum np_scope scope)
{
	const struct np_calibration *calibration = &known->cal;
	const struct np_mean *sharing;
	json_object *object;
	double low, high;

	if (!known->calibrated) {
		cli_put(parent, "calibration", NULL);
		cli_put(parent, "sharing_coefficient", NULL);
		return;
	}
	object = cli_put_object(parent, "calibration");
	cli_put_text(object, "path", calibration->path);
	cli_put_time(object, "date", calibration->date);
	cli_put_text(object, "cluster", calibration->cluster);
	cli_put_text(object, "transport", calibration->transport);
	cli_put_text(object, "scope", np_scope_name(calibration->scope));
	cli_put_count(object, "levels", calibration->fabric->n_levels);
	sharing = &calibration->fabric->sharing[scope];
	object = cli_put_object(parent, "sharing_coefficient");
	cli_put_text(object, "scope", np_scope_name(scope));
	cli_put_count(object, "n", sharing->n);
	if (np_mean_known(sharing))
		cli_put_real(object, "mean", sharing->mean);
	if (np_sharing_coef_interval(sharing, &low, &high)) {
		cli_put_real(object, "low", low);
		cli_put_real(object, "high", high);
	}
	cli_put_bool(object, "no_effect", cli_has_no_effect(known, scope));
}

void cli_put_measured(json_object *parent, const struct cli_known *known,
		      size_t victim, size_t corunner, enum np_scope scope)
{
	struct cli_measured measured;
	bool found =
		cli_measured_find(known, victim, corunner, scope, &measured);
	json_object *object = cli_put_if(parent, "measured", found);

	if (!found)
		return;
	cli_put_real(object, "slowdown",
		     measured.slowdown.n ? measured.slowdown.mean : NAN);
	cli_put_count(object, "runs", measured.slowdown.n);
	cli_put_real(object, "control", measured.control);
	cli_put_count(object, "victim_nodes", measured.victim_nodes);
	cli_put_count(object, "corunner_nodes", measured.corunner_nodes);
	cli_put_time(object, "date", measured.date);
}

/* A published profile has no user, so these members are null for it. */
void cli_put_owner(json_object *parent, enum np_store_owner owner, uid_t uid)
{
	bool has_user = owner == NP_STORE_USER;

	cli_put_text(parent, "owner", cli_owner_name(owner, uid));
	cli_put_bool(parent, "published", !has_user);
	cli_put_text(parent, "user", has_user ? cli_user(uid) : NULL);
	cli_put(parent, "uid", has_user ? json_object_new_int64(uid) : NULL);
}

/*
 * Slowdowns from load intervals were not measured over whole runs, so there are
 * no run times.
 */
void cli_put_levels(json_object *parent, const struct np_run_summary *profile)
{
	json_object *list = cli_put_array(parent, "levels");

	for (size_t i = 0; i < profile->n_levels; i++) {
		const struct np_run_summary_level *level = &profile->level[i];
		json_object *object = cli_append_object(list);

		cli_put_text(object, "name", level->name);
		cli_put_text(object, "scope", level->scope);
		cli_put_real(object, "estimated_utilisation",
			     level->utilisation);
		cli_put_count(object, "runs", level->run_sec.n);
		cli_put_count(object, "compared", level->slowdown.n);
		if (np_mean_known(&level->slowdown)) {
			cli_put_bool(object, "of_intervals",
				     level->of_intervals);
			if (!level->of_intervals) {
				cli_put_real(object, "run_sec",
					     level->run_sec.mean);
				cli_put_real(object, "alone_sec",
					     profile->alone_sec.mean);
			}
			cli_put_real(object, "slowdown", level->slowdown.mean);
			cli_put_real(object, "low", level->low);
			cli_put_real(object, "high", level->high);
		}
		if (np_mean_known(&level->impact))
			cli_put_real(object, "level_slowdown",
				     level->impact.mean);
	}
}

void cli_put_snapshot(json_object *parent, const struct np_state *state,
		      double now)
{
	cli_put_time(parent, "date", state->date);
	cli_put_real(parent, "age_sec", now - state->date);
	cli_put_bool(parent, "stale", cli_state_stale(state, now));
	cli_put_text(parent, "mode", state->mode);
	cli_put_text(parent, "cluster", state->cluster);
	cli_put_text(parent, "controller", state->controller);
	cli_put_real(parent, "interval_sec", state->interval_sec);
	cli_put_real(parent, "max_slowdown", state->max_slowdown);
	cli_put_real(parent, "max_defer_sec", state->max_hold_sec);
	cli_put_text(parent, "trouble", state->trouble);
}

/* Append a reason to separate two jobs, and which of them would be slowed. */
static void append_cause(json_object *list, const struct np_state_job *job,
			 const struct np_state_cause *cause)
{
	json_object *object = cli_append_object(list);

	cli_put_text(object, "leaf", cause->leaf);
	cli_put_count(object, "other", cause->other);
	cli_put_text(object, "other_app", cause->other_app);
	cli_put_count(object, "victim",
		      cause->victim ? cause->victim : job->id);
	cli_put_real(object, "slowdown", cause->slowdown);
}

/* The worst cause comes first, because --parsable prints only the first. */
void cli_put_job(json_object *object, const struct np_state_job *job)
{
	const struct np_state_cause *worst = cli_worst_cause(job);
	json_object *list;

	cli_put_text(object, "job",
		     cli_job_name(job->id, job->array, job->task));
	cli_put_count(object, "job_id", job->id);
	cli_put_text(object, "user", cli_user(job->uid));
	cli_put_text(object, "state", job->pending ? "pending" : "running");
	cli_put_text(object, "app", job->app);
	cli_put_bool(object, "known", job->known);
	cli_put_text(object, "partition", job->partition);
	cli_put_text(object, "mode", job->mode);
	cli_put_count(object, "n_nodes", job->n_nodes);
	cli_put_text(object, "leaves", job->leaves);
	cli_put_text(object, "action", job->action);
	cli_put_bool(object, "applied", job->applied);
	if (job->until > 0)
		cli_put_time(object, "until", job->until);
	if (!job->pending)
		cli_put_time(object, "start", job->start);
	cli_put_real(object, "held_sec", job->held_sec);
	cli_put_text(object, "text", job->text);
	list = cli_put_array(object, "causes");
	if (worst)
		append_cause(list, job, worst);
	for (size_t i = 0; i < job->n_causes; i++)
		if (&job->cause[i] != worst)
			append_cause(list, job, &job->cause[i]);
}

void cli_put_adapters(json_object *parent, const struct np_sample *sample)
{
	json_object *list = cli_put_array(parent, "adapters");

	for (size_t i = 0; i < sample->n_nics; i++) {
		const struct np_sample_nic *nic = &sample->nic[i];
		json_object *object = cli_append_object(list);

		cli_put_text(object, "device", nic->device);
		cli_put_real(object, "node_sec", nic->node_sec);
		for (size_t k = 0; k < NP_NIC_KINDS; k++)
			cli_put_real(object, np_nic_kinds[k], nic->n[k]);
	}
}
