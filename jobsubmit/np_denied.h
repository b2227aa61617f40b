/*
 * Claims to published names that do not hold: whose jobs count as unknown, and
 * why.  For people: slurmctld's log, and state.json.
 */
#ifndef NP_DENIED_H
#define NP_DENIED_H

#include "np_state.h"
#include "np_view.h"

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

#endif
