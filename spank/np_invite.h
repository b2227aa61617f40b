/*
 * What srun tells the nodes of a flagged step, in one variable of its tasks'
 * environment: on which of them a process of ours waits beside the tasks, when
 * it makes itself known, and to whom.  The SPANK plugin takes the variable
 * away before the tasks run.  Pure: no Slurm, no I/O.
 *
 *	SLURM_NETPROF_INVITE=PORT MEMBER HOST AFTER NODES SEED PATH[;...]
 *
 * one for each component of a heterogeneous job.  Variables of that prefix
 * reach the tasks under srun --export=NONE, too.
 */
#ifndef NP_INVITE_H
#define NP_INVITE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

#define NP_INVITE_ENV "SLURM_NETPROF_INVITE"
#define NP_INVITE_TOKEN 33    /* 32 hex digits and a NUL */
#define NP_INVITE_PATH 256
#define NP_INVITE_MAX_NODES 256
#define NP_INVITE_COMPONENTS 16 /* of a heterogeneous job that are measured */
#define NP_INVITE_TEXT 512    /* longest text of one, its NUL included */

struct np_invite {
	uint16_t port; /* of the attendant, where srun runs */
	/*
	 * Secrets of this step: what a member says first, and what it must hear
	 * before it believes a word.
	 */
	char member[NP_INVITE_TOKEN], host[NP_INVITE_TOKEN];
	double after_sec;   /* of the step's life, until members make themselves
			       known; but see np_invite_after_sec() */
	uint32_t max_nodes; /* 2 to NP_INVITE_MAX_NODES */
	uint32_t seed;      /* varies from step to step */
	char join[NP_INVITE_PATH]; /* path of netprof-join on the nodes */
};

/*
 * Append v to text[size], which holds others or "".  Returns 0, or -EINVAL with
 * err: the path has a space or ';', or there is no room.
 */
int np_invite_add(const struct np_invite *v, char *text, size_t size,
		  struct np_err *err);

/*
 * That of a component, 0 if there is but one.  text comes from the user's
 * environment and may hold anything.  Returns 0; -ENOENT: there are fewer;
 * -EINVAL: damaged.
 */
int np_invite_find(const char *text, size_t component, struct np_invite *out);

/*
 * Is node (0 .. n_nodes - 1, as Slurm numbers those of the step) one on which
 * a member waits?  Up to max_nodes all are; of more, pairs of neighbours in
 * that order, which nearly always share a leaf, spread evenly over the step.
 */
bool np_invite_takes(const struct np_invite *v, uint32_t node,
		     uint32_t n_nodes);

/* How many of them there are. */
uint32_t np_invite_count(const struct np_invite *v, uint32_t n_nodes);

/*
 * When members of a step make themselves known: later in a wide one, as its
 * tasks take longer to come up (20 ms a node, half a minute at most).
 */
double np_invite_after_sec(const struct np_invite *v, uint32_t n_nodes);

#endif
