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
const char *cli_age(double date, double now, char *buf, size_t len)
{
	char text[CLI_NUMBER_LEN];

	if (date - now > SKEW_SEC)
		snprintf(buf, len,
			 "%s in the future: the clocks of the hosts differ",
			 cli_sec(date - now, text));
	else
		snprintf(buf, len, "%s ago",
			 cli_setting_sec(now > date ? round(now - date) : 0,
					 text));
	return buf;
}

/* A stale state says nothing about the present, whatever its mode. */
const char *cli_mode_text(const struct np_state *state, double now,
			  bool enabled, char *buf, size_t len)
{
	char age[CLI_NUMBER_LEN], limit[CLI_NUMBER_LEN], hold[CLI_NUMBER_LEN];

	if (cli_state_stale(state, now)) {
		snprintf(buf, len,
			 "Placement does not act: its last decision is %s old, "
			 "more than %s. %s",
			 cli_sec(now - state->date, age),
			 cli_setting_sec(cli_state_limit(state), limit),
			 enabled ? "Is slurmctld running? Try netprof check." :
				   "It is off in netprof.conf.");
	} else if (!strcmp(state->mode, "enforce")) {
		snprintf(buf, len,
			 "Placement enforces: jobs that would slow each other "
			 "by more than %.0f %% are kept apart, and held for up "
			 "to %s if necessary.",
			 100 * state->max_slowdown,
			 cli_setting_sec(state->max_hold_sec, hold));
	} else if (!strcmp(state->mode, "prefer")) {
		snprintf(buf, len,
			 "Placement prefers: jobs that would slow each other "
			 "by more than %.0f %% are kept apart if that delays "
			 "none of them.",
			 100 * state->max_slowdown);
	} else if (!strcmp(state->mode, "advise")) {
		snprintf(buf, len,
			 "Placement advises: it reports what it would do and "
			 "changes no job.");
	} else if (!strcmp(state->mode, "off") || !*state->mode) {
		snprintf(buf, len, "Placement is off.");
	} else {
		snprintf(buf, len, "Placement is in mode %.20s.", state->mode);
	}
	return buf;
}

const char *cli_job_name(uint32_t id, uint32_t array, uint32_t task,
			 char buf[CLI_NUMBER_LEN])
{
	if (array && !cli_is_array_record(task))
		snprintf(buf, CLI_NUMBER_LEN, "%u_%u", array, task);
	else
		snprintf(buf, CLI_NUMBER_LEN, "%u", id);
	return buf;
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
const char *cli_denied_text(const struct np_state_denial *denial, char *buf,
			    size_t len)
{
	char user[CLI_NUMBER_LEN], name[CLI_NUMBER_LEN + 4] = "";

	cli_user(denial->uid, user);
	if (*user < '0' || *user > '9')
		snprintf(name, sizeof(name), " (%s)", user);
	snprintf(buf, len,
		 "uid %u%s may not use the profile name \"%s\" (%u job%s): %s",
		 denial->uid, name, denial->app, denial->n_jobs,
		 cli_plural_s(denial->n_jobs), denial->why);
	return buf;
}

const char *cli_app_name(const char *app)
{
	return app && *app ? app : "-";
}
