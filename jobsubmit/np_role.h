/*
 * Is this slurmctld the one in control?
 *
 * A standby loads its plugins, too, and a takeover calls none of them.  So the
 * thread asks before it acts: this controller answers, and none that stands
 * before it in slurm.conf does.  A standby that does not control yet refuses
 * all further questions itself.
 */
#ifndef NP_ROLE_H
#define NP_ROLE_H

#include <stdbool.h>

#include "np_err.h"
#include "np_slurm_compat.h"

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

#endif
