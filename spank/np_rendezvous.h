/*
 * The rendezvous of probe agents with the collector of their step.
 *
 * srun tells the nodes of a step where the collector listens, which of them
 * take part, and with which cookies both sides authenticate.  This travels in
 * one variable of the tasks' environment, which the SPANK plugin removes
 * before the tasks run:
 *
 *	SLURM_NETPROF_RENDEZVOUS=PORT COOKIE COOKIE AFTER NODES SEED PATH[;...]
 *
 * with one entry for each component of a heterogeneous job.  Variables with
 * this prefix reach the tasks under srun --export=NONE, too.
 *
 * On a node that takes part, the plugin starts an agent (netprof-agent) from
 * within the first task.  No Slurm.
 */
#ifndef NP_RENDEZVOUS_H
#define NP_RENDEZVOUS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_conf.h"
#include "np_err.h"
#include "np_helper.h"

#define NP_RENDEZVOUS_ENV "SLURM_NETPROF_RENDEZVOUS"
#define NP_RENDEZVOUS_COOKIE 33	/* bytes of a cookie: 32 hex digits and a NUL */
#define NP_RENDEZVOUS_PATH 256	/* bytes of the agent's path */
#define NP_RENDEZVOUS_MAX_NODES 256	/* most nodes with an agent */
/* Most components of a heterogeneous job that are measured. */
#define NP_RENDEZVOUS_COMPONENTS 16
#define NP_RENDEZVOUS_TEXT 512	/* bytes of the longest entry, with its NUL */

struct np_rendezvous_entry {
	uint16_t port; /* of the collector, on the host of srun */
	/*
	 * Cookies of this step: what an agent sends first, and what the
	 * collector must send before the agent believes anything.
	 */
	char agent_cookie[NP_RENDEZVOUS_COOKIE];
	char collector_cookie[NP_RENDEZVOUS_COOKIE];
	double after_sec;   /* age of the step, seconds, before which agents
			     * sleep; see np_rendezvous_after_sec() */
	uint32_t max_nodes; /* 2 to NP_RENDEZVOUS_MAX_NODES */
	uint32_t seed;	    /* differs from step to step */
	char path[NP_RENDEZVOUS_PATH]; /* path of netprof-agent on the nodes */
};

/*
 * Open the socket at which a collector will listen, and append its rendezvous
 * to text[size], so that the nodes can get it before there is a collector.
 * range: first and last port that a firewall lets through (SrunPortRange), or
 * NULL: any.  Returns the descriptor, or -errno with err.
 */
int np_rendezvous_open(const struct np_conf *conf, const uint16_t range[2],
		       char *text, size_t size, struct np_err *err);

/*
 * Append v to text[size], which holds other entries or "".  Returns 0, or
 * -EINVAL with err: the path has a space or ';', or text has no room left.
 * Exported for the unit tests.
 */
int np_rendezvous_add(const struct np_rendezvous_entry *v, char *text,
		      size_t size, struct np_err *err);

/*
 * The entry of a component; 0 for the only one.  text comes from the user's
 * environment and may hold anything.  Returns 0; -ENOENT: there are fewer
 * entries; -EINVAL: malformed.
 */
int np_rendezvous_find(const char *text, size_t component,
		       struct np_rendezvous_entry *out);

/*
 * Does this node (0 .. n_nodes - 1, in Slurm's numbering within the step) take
 * part?  Up to max_nodes all do; of more, pairs of neighbours in that order,
 * which nearly always share a leaf switch, spread evenly over the step.
 */
bool np_rendezvous_takes_part(const struct np_rendezvous_entry *v,
			      uint32_t node, uint32_t n_nodes);

/* Number of nodes that take part. */
uint32_t np_rendezvous_count(const struct np_rendezvous_entry *v,
			     uint32_t n_nodes);

/*
 * Age of the step, seconds, at which agents connect: later in a wide step, as
 * its tasks take longer to start (20 ms a node, at most 30 s more).
 */
double np_rendezvous_after_sec(const struct np_rendezvous_entry *v,
			       uint32_t n_nodes);

/* An agent to be started on this node. */
struct np_agent_params {
	const struct np_rendezvous_entry *rendezvous;
	const char *host; /* where srun runs */
	uint32_t node;	  /* number of this node within the step */
	double after_sec; /* seconds that the agent sleeps first */
	/*
	 * The agent ends when this task and all other children of parent have
	 * ended.  task 0: it watches nothing; parent 0: only the task.
	 */
	pid_t task, parent;
	pid_t *pid; /* in memory shared with child processes: receives the
		     * agent's process id; or NULL */
};

/* Both cookies as a variable of the agent's environment: NP_COOKIES_ENV=... */
#define NP_AGENT_COOKIES (sizeof(NP_COOKIES_ENV) + 2 * NP_RENDEZVOUS_COOKIE)
void np_agent_cookies(const struct np_rendezvous_entry *v,
		      char text[NP_AGENT_COOKIES]);

/*
 * Start the agent from within a task that is about to become the user's program
 * (slurm_spank_task_init): as the user and in the task's cgroup, but not as a
 * child of the program, in a session of its own, and without the program's
 * descriptors.  Its environment is what np_helper_env() keeps of env.  Takes
 * about a millisecond and leaves no child to wait for.  Returns 0, or -errno of
 * the fork; an agent that cannot be executed is not noticed here.
 */
int np_agent_start(const struct np_agent_params *j, char *const env[]);

#endif
