/*
 * The rendezvous of probe agents with the collector of their step.
 *
 * srun passes to the nodes of a step where the collector listens, which of the
 * nodes take part, and by which cookies both sides authenticate themselves.
 * It does so in one variable of the tasks' environment, which the SPANK plugin
 * removes before the tasks run:
 *
 *	SLURM_NETPROF_RENDEZVOUS=PORT COOKIE COOKIE AFTER NODES SEED PATH[;...]
 *
 * with one entry for each component of a heterogeneous job. The prefix SLURM_
 * makes srun pass it on even with --export=NONE.
 *
 * On each node that takes part, the plugin starts an agent (netprof-agent) from
 * within the first task. Nothing here uses Slurm.
 */
#ifndef NP_RENDEZVOUS_H
#define NP_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_conf.h"
#include "np_err.h"
#include "np_helper.h"

#define NP_RENDEZVOUS_ENV "SLURM_NETPROF_RENDEZVOUS"
#define NP_RENDEZVOUS_COOKIE 33 /* bytes of a cookie: 32 hex digits and a NUL */
#define NP_RENDEZVOUS_PATH 256	/* bytes of the agent's path */
#define NP_RENDEZVOUS_MAX_NODES 256 /* most nodes with an agent */
/* Most components of a heterogeneous job that are measured. */
#define NP_RENDEZVOUS_COMPONENTS 16
#define NP_RENDEZVOUS_TEXT 512 /* bytes of the longest entry, with its NUL */

struct np_rendezvous_entry {
	uint16_t port; /* of the collector, on the host of srun */
	/*
	 * The step's cookies. An agent begins by sending agent_cookie, and
	 * trusts the collector once that has sent collector_cookie.
	 */
	char agent_cookie[NP_RENDEZVOUS_COOKIE];
	char collector_cookie[NP_RENDEZVOUS_COOKIE];
	double after_sec;   /* agents sleep until the step has this age, in
			     * seconds, or longer: np_rendezvous_after_sec() */
	uint32_t max_nodes; /* with an agent; 2 to NP_RENDEZVOUS_MAX_NODES */
	uint32_t seed;	    /* differs from step to step */
	char path[NP_RENDEZVOUS_PATH]; /* path of netprof-agent on the nodes */
};

/*
 * Open the socket at which the collector will listen, and append an entry for
 * it to text[size]. The nodes may receive that before the collector runs.
 * range: first and last port that the firewall allows (SrunPortRange), or NULL
 * for any port. Returns the descriptor, or -errno with err.
 */
int np_rendezvous_open(const struct np_conf *conf, const uint16_t range[2],
		       char *text, size_t size, struct np_err *err);

/*
 * Append an entry to text[size], which holds other entries or "". Returns 0,
 * or -EINVAL with err: its path has a space or ';', or text has no room left.
 * Exported for the unit tests.
 */
int np_rendezvous_add(const struct np_rendezvous_entry *entry, char *text,
		      size_t size, struct np_err *err);

/*
 * Parse the entry of a component of a heterogeneous job; 0 for other jobs.
 * text comes from the user's environment and may hold anything. Returns 0;
 * -ENOENT: there are fewer entries; -EINVAL: malformed.
 */
int np_rendezvous_find(const char *text, size_t component,
		       struct np_rendezvous_entry *out);

/*
 * Does this node take part? Slurm numbers the nodes of a step from 0 to
 * n_nodes - 1. In a step of up to max_nodes nodes, all take part. In a wider
 * step pairs of neighbours do, spread evenly: nodes with adjacent numbers
 * nearly always share a leaf switch.
 */
bool np_rendezvous_takes_part(const struct np_rendezvous_entry *entry,
			      uint32_t node, uint32_t n_nodes);

/* Return how many nodes take part. */
uint32_t np_rendezvous_count(const struct np_rendezvous_entry *entry,
			     uint32_t n_nodes);

/*
 * Return the age of the step, in seconds, at which its agents connect. As the
 * tasks of a wide step take longer to start, this is after_sec plus 20 ms for
 * each node, but at most 30 s more.
 */
double np_rendezvous_after_sec(const struct np_rendezvous_entry *entry,
			       uint32_t n_nodes);

/* What np_agent_start() needs to know. */
struct np_agent_params {
	const struct np_rendezvous_entry *rendezvous;
	const char *host; /* where srun runs */
	uint32_t node;	  /* number of this node within the step */
	double sleep_sec; /* how long the agent sleeps before it connects */
	/*
	 * The agent ends when this task and all other children of parent have
	 * ended. If parent is 0, only the task is watched, and if task is 0,
	 * no process is.
	 */
	pid_t task, parent;
	pid_t *pid; /* receives the agent's process id, and is in memory that
		     * child processes share; or NULL */
};

/* Write both cookies as the variable NP_COOKIES_ENV of an environment. */
#define NP_AGENT_COOKIES (sizeof(NP_COOKIES_ENV) + 2 * NP_RENDEZVOUS_COOKIE)
void np_agent_cookies(const struct np_rendezvous_entry *entry,
		      char text[NP_AGENT_COOKIES]);

/*
 * Start the agent from within a task that is about to become the user's program
 * (slurm_spank_task_init). The agent runs as the user and in the task's
 * cgroup, but it is not a child of the program, has a session of its own, and
 * has none of the program's descriptors. Its environment is what
 * np_helper_env() keeps of env. This takes about a millisecond and leaves no
 * child to wait for. Returns 0, -ENOMEM, or -errno of the two forks. A failure
 * to execute the agent goes unnoticed here.
 */
int np_agent_start(const struct np_agent_params *params, char *const env[]);

#endif
