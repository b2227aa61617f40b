/* The state that placement wrote (np_state.h), in words. */
#ifndef CLI_STATE_H
#define CLI_STATE_H

#include "cli_options.h"
#include "cli_text.h"
#include "np_state.h"

/* Seconds since 1970; tests set the time in NETPROF_NOW. */
double cli_now(void);

/* Is the state so old that placement cannot be acting any more? */
bool cli_state_stale(const struct np_state *state, double now);

/*
 * "Placement enforces: ..." or a warning that placement does not act. now:
 * seconds since 1970. enabled: what np_place_conf_enabled() says of this host.
 */
const char *cli_mode_text(const struct np_state *state, double now,
			  bool enabled);

/* "3 s ago"; "9.00 s in the future (the clocks of the hosts differ)" */
const char *cli_age(double date, double now);

/*
 * Is it Slurm's record of all array tasks that have no record of their own?
 * Its task is NO_VAL or INFINITE.
 */
static inline bool cli_is_array_record(uint32_t task)
{
	return task >= UINT32_MAX - 1;
}

/* "123", or "123_4" for an array task */
const char *cli_job_name(uint32_t id, uint32_t array, uint32_t task);

/* The worst cause, or NULL. */
const struct np_state_cause *cli_worst_cause(const struct np_state_job *job);

/* Is j itself the job that would be slowed? */
bool cli_is_own_victim(const struct np_state_job *job,
		       const struct np_state_cause *cause);

/* "uid 1000 (bob) may not use the profile name "fft" (4 jobs): REASON" */
const char *cli_denied_text(const struct np_state_denial *denial);

/* "fft", or "-" if the application is not known */
const char *cli_app_name(const char *app);

#endif
