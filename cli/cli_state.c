/*
 * The state that placement wrote, in words, for status, explain and check.
 */
#include "cli_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_clock.h"

/* A state is stale after both of these. */
#define STALE_SEC 30
#define STALE_INTERVALS 10 /* intervals between decisions */
#define SKEW_SEC 5	   /* tolerated difference of clocks between hosts */

double cli_now(void)
{
	const char *text = getenv("NETPROF_NOW");
	char *end;
	double v;

	if (text && *text) {
		v = strtod(text, &end);
		if (!*end && v > 0 && v < 1e11)
			return v;
	}
	return np_date_sec();
}

/* Age from which a state is stale, seconds. */
static double cli_state_limit(const struct np_state *state)
{
	return fmax(STALE_SEC, STALE_INTERVALS * state->interval_sec);
}

bool cli_state_stale(const struct np_state *state, double now)
{
	return now - state->date > cli_state_limit(state);
}

/* Rounded to whole seconds. */
const char *cli_age(double date, double now)
{
	if (date - now > SKEW_SEC)
		return cli_text("%s in the future (the clocks of the hosts "
				"differ)",
				cli_sec(date - now));
	return cli_text("%s ago",
			cli_setting_sec(now > date ? round(now - date) : 0));
}

/* A stale state says nothing about the present, whatever its mode. */
const char *cli_mode_text(const struct np_state *state, double now,
			  bool enabled)
{
	if (cli_state_stale(state, now))
		return cli_text(
			"Placement does not act: its last decision is %s old, "
			"more than %s. %s",
			cli_sec(now - state->date),
			cli_setting_sec(cli_state_limit(state)),
			enabled ? "Is slurmctld running? Try netprof check." :
				  "It is off in netprof.conf.");
	if (!strcmp(state->mode, "enforce"))
		return cli_text(
			"Placement enforces: jobs that would slow each other "
			"by more than %s are kept apart, and held for up to %s "
			"if necessary.",
			cli_setting_percent(state->max_slowdown),
			cli_setting_sec(state->max_hold_sec));
	if (!strcmp(state->mode, "prefer"))
		return cli_text(
			"Placement prefers: jobs that would slow each other "
			"by more than %s are kept apart if that delays none of "
			"them.",
			cli_setting_percent(state->max_slowdown));
	if (!strcmp(state->mode, "advise"))
		return "Placement advises: it reports what it would do and "
		       "changes no job.";
	if (!strcmp(state->mode, "off") || !*state->mode)
		return "Placement is off.";
	return cli_text("Placement is in mode %.20s.", state->mode);
}

const char *cli_job_name(uint32_t id, uint32_t array, uint32_t task)
{
	return array && !cli_is_array_record(task) ?
		       cli_text("%u_%u", array, task) :
		       cli_text("%u", id);
}

const struct np_state_cause *cli_worst_cause(const struct np_state_job *job)
{
	const struct np_state_cause *worst = NULL;

	for (size_t i = 0; i < job->n_causes; i++)
		if (!worst || job->cause[i].slowdown > worst->slowdown)
			worst = &job->cause[i];
	return worst;
}

bool cli_is_own_victim(const struct np_state_job *job,
		       const struct np_state_cause *cause)
{
	return !cause->victim || cause->victim == job->id;
}

/* cli_user() gives a number for a user without a name; it is not repeated. */
const char *cli_denied_text(const struct np_state_denial *denial)
{
	const char *user = cli_user(denial->uid);
	bool has_name = *user < '0' || *user > '9';

	return cli_text("uid %u%s%s%s may not use the profile name \"%s\" (%u "
			"job%s): %s",
			denial->uid, has_name ? " (" : "", has_name ? user : "",
			has_name ? ")" : "", denial->app, denial->n_jobs,
			cli_plural_s(denial->n_jobs), denial->why);
}

const char *cli_app_name(const char *app)
{
	return app && *app ? app : "-";
}
