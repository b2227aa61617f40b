/* What the thread tells people: lines in slurmctld.log, and state.json. */
#ifndef NP_TELL_H
#define NP_TELL_H

#include <stdbool.h>
#include <sys/stat.h>

#include "np_catalog.h"
#include "np_conf.h"
#include "np_err.h"
#include "np_placement.h"
#include "np_slurm_compat.h"
#include "np_state.h"
#include "np_view.h"

/*
 * Is this slurmctld the one in control?
 *
 * A standby loads its plugins, too, and a takeover calls none of them.  So the
 * thread asks before it acts: this controller answers, and none that stands
 * before it in slurm.conf does.  A standby that does not control yet refuses
 * all further questions itself.
 */

/* Settings of slurm.conf that matter here. */
struct np_role {
	int index;	    /* of this controller; -1: not known yet */
	bool alone;	    /* there is no other */
	bool whole_nodes;   /* SelectType gives whole nodes */
	bool private_jobs;  /* PrivateData=jobs */
	char cluster[256];
	char host[256];
	double asked_sec;   /* monotonic: when slurm.conf was asked for */
};

/*
 * What slurm.conf says to c->host.  Returns 0, or -EAGAIN with err if it does
 * not name that host.
 */
int np_role_take(struct np_role *c, const slurm_conf_t *conf,
		 struct np_err *err);

/*
 * Some RPCs.  Returns 0: in control; -EAGAIN: not, or nobody answers; err says
 * why.
 */
int np_role_check(struct np_role *c, struct np_err *err);

/* netprof.conf as the thread follows it. */

struct np_settings {
	struct np_conf conf; /* the last good ones; off before */
	struct np_err trouble; /* the file is broken: where and why, or "" */
	bool read;	     /* once at least */
	struct timespec changed; /* of the file that was read */
	off_t size;
};

void np_settings_init(struct np_settings *s);

/* Read the file if it changed.  Returns true if the settings did. */
bool np_settings_refresh(struct np_settings *s);

/* The policy that they make. */
void np_settings_policy(const struct np_settings *s,
			const struct np_app_index *index,
			struct np_policy *policy);

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
