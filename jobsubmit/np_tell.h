/* What the thread tells people: lines in slurmctld.log, and state.json. */
#ifndef NP_TELL_H
#define NP_TELL_H

#include "np_role.h"
#include "np_denied.h"
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
