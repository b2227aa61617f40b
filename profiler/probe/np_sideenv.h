/*
 * The environment of the processes that we start beside the user's: a copy of
 * what there is without what would change their layout, their program or their
 * transport.
 */
#ifndef NP_SIDEENV_H
#define NP_SIDEENV_H

#include "np_conf.h"

/* Set in the environment of our own steps, which are not measured in turn. */
#define NP_SIDE_ENV "NETPROF_SIDE"

/* What netprof-join says and wants to hear: np_invite.h. */
#define NP_TOKENS_ENV "NETPROF_TOKENS"

/* The node's leaf switch, for a probe, by slurmctld's name. */
#define NP_LEAF_ENV "NETPROF_LEAF"

/* A traced program's process on this node, whose calls a probe tells. */
#define NP_TASK_ENV "NETPROF_TASK"

/* Over which library a probe measures, as Transport in netprof.conf. */
#define NP_TRANSPORT_ENV "NETPROF_TRANSPORT"

/*
 * NULL-terminated, one block: free() it.  env and the strings of more (NULL-
 * terminated, or NULL), which are added, are borrowed and must outlive the
 * result.  NULL: out of memory.
 */
char **np_sideenv_make(char *const env[], const char *const more[]);

/*
 * What the settings say of the transport, as variables for more: text[] holds
 * them.  At most NP_SIDEENV_NETWORK and a NULL.
 */
#define NP_SIDEENV_NETWORK 3
struct np_sideenv_network {
	const char *more[NP_SIDEENV_NETWORK + 1];
	char text[NP_SIDEENV_NETWORK][160];
};
void np_sideenv_network(const struct np_conf *conf,
			struct np_sideenv_network *out);

#endif
