/*
 * Starts netprof-join from within a task that is about to become the user's
 * program (slurm_spank_task_init): as the user, in the task's own cgroup, but
 * no child of the program, in another session, with none of its descriptors.
 */
#ifndef NP_JOINER_H
#define NP_JOINER_H

#include <sys/types.h>

#include "np_invite.h"
#include "np_sideenv.h"

struct np_joiner {
	const struct np_invite *invite;
	const char *host;   /* where srun runs */
	uint32_t node;	    /* number of this node in the step */
	double after_sec;   /* until then it sleeps */
	/*
	 * Whose end is the step's end here: the task's and of all other children
	 * of parent.  task 0: nobody's; parent 0: there are no others.
	 */
	pid_t task, parent;
	pid_t *pid; /* memory shared with children, gets its process id; or NULL */
};

/* The invitation's secrets as a variable: what it says, and wants to hear. */
#define NP_JOINER_TOKENS (sizeof(NP_TOKENS_ENV) + 2 * NP_INVITE_TOKEN)
void np_joiner_tokens(const struct np_invite *v, char text[NP_JOINER_TOKENS]);

/*
 * Start it, with the variables of env that np_sideenv_make() keeps.  Takes a
 * millisecond; leaves nothing to wait for.  Returns 0 or -errno of the fork; a
 * program that cannot be executed is not noticed here.
 */
int np_joiner_start(const struct np_joiner *j, char *const env[]);

#endif
