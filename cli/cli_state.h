/* What placement wrote, for status, explain and check. */
#ifndef CLI_STATE_H
#define CLI_STATE_H

#include "cli_options.h"
#include "cli_text.h"
#include "np_place_conf.h"
#include "np_state.h"

/* Seconds since 1970; NETPROF_NOW, for tests of what depends on it. */
double cli_now(void);

/* Is it as old as a state that says that placement does not act? */
bool cli_state_stale(const struct np_state *s, double now);

/*
 * "Placement enforces: ..." or, as a warning, that it does not act; in buf of
 * len bytes.  now: as cli_now().  places: of the configuration here.
 */
const char *cli_say_mode(const struct np_state *s, double now, bool places,
			 char *buf, size_t len);

/* Does the configuration here ask for placement, in any partition? */
bool cli_places(const struct np_place_conf *p);

/* "3 s ago"; "in the future: the clocks differ" */
const char *cli_age(double date, double now, char *buf, size_t len);

/* The record of an array's tasks that were not split off yet: no task. */
bool cli_no_task(uint32_t task);

/* "123", or "123_4" of an array */
const char *cli_job_name(uint32_t id, uint32_t array, uint32_t task,
			 char buf[CLI_NUMBER]);

/* Kept apart from others: pending, and confined or deferred, or advised to. */
bool cli_kept_apart(const struct np_state_job *j);

/* The worst cause, or NULL. */
const struct np_state_cause *cli_worst_cause(const struct np_state_job *j);

/* Is it the job itself that would be slowed? */
bool cli_victim_self(const struct np_state_job *j,
		     const struct np_state_cause *c);

/* "uid 1000 (bob) may not claim "fft", 4 jobs: Claim= in ... names others" */
const char *cli_say_claim(const struct np_state_claim *c, char *buf,
			  size_t len);

/* "fft", or "-" where it is not known which application it is */
const char *cli_app_name(const char *app);

#endif
