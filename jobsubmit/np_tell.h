/* What the thread tells people: lines in slurmctld.log, and state.json. */
#ifndef NP_TELL_H
#define NP_TELL_H

#include "np_role.h"
#include "np_placement.h"
#include "np_settings.h"
#include "np_state.h"
#include "np_view.h"

/*
 * One line for each pending job whose decision is another one than before, at
 * most five of a job in an hour.  Returns how many decisions are others.
 */
size_t np_tell_log(const struct np_view *v, const struct np_placement *p,
		 struct np_job_cache *cache);

/*
 * trouble becomes why a round failed (rc, and its text if it has one); what is
 * there stays if it did not.
 */
void np_tell_why(int rc, const struct np_err *why, struct np_err *trouble);

/*
 * Log each trouble, or that there is none any more, once: until another one
 * takes its place in *said.
 */
void np_tell_trouble(struct np_err *said, const struct np_err *trouble);

/*
 * Claims to published names that do not hold: whose jobs count as unknown, and
 * why.  For the log and for state.json.
 */

#define NP_DENIED_MAX NP_STATE_MAX_CLAIMS /* told at a time */
#define NP_DENIED_KEEP 256 /* remembered as told; the oldest goes */

struct np_denied {
	uint32_t uid;
	char app[NP_APP_MAX + 1];
	enum np_claim claim;
	uint32_t n_jobs;
	char why[NP_STATE_WHY_MAX + 1];
};

/* Each user and name once, in the order of the first job. */
struct np_denials {
	struct np_denied at[NP_DENIED_MAX];
	size_t n;
	uint32_t n_more; /* jobs of others, for whom there was no room */
};

/* index: the view was made with it. */
void np_denied_gather(const struct np_view *v, const struct np_app_index *index,
		      struct np_denials *out);

/* What the log has been told; zeroed: nothing. */
struct np_denied_told {
	struct {
		uint32_t uid;
		char app[NP_APP_MAX + 1];
		enum np_claim claim;
	} at[NP_DENIED_KEEP];
	size_t n, next; /* the oldest, once it is full */
};

/*
 * One line for each that was not told, until the reason is another one or the
 * claim holds.  Returns how many.
 */
size_t np_denied_log(const struct np_view *v, const struct np_denials *d,
		     struct np_denied_told *told);

/* What state.json has beyond the decision. */
struct np_tell {
	const struct np_role *role;
	const struct np_settings *settings;
	const struct np_press *table;
	const struct np_denials *denied; /* NULL: none */
	const char *fabric, *trouble;
	double decide_sec;
};

/* For np_state_save().  Returns 0 (np_state_free()) or -ENOMEM. */
int np_tell_make(const struct np_tell *t, const struct np_view *v,
		 const struct np_placement *p, struct np_state *out);

#endif
