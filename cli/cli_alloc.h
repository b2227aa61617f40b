/*
 * The allocation in which a command starts measuring steps: netprof calibrate,
 * loggps, topology and validate.
 */
#ifndef CLI_ALLOC_H
#define CLI_ALLOC_H

#include <limits.h>
#include <signal.h>
#include <stddef.h>

#include "np_conf.h"
#include "np_err.h"
#include "np_helper.h"

struct cli_alloc {
	struct np_conf conf;
	const char *cluster; /* name, borrowed; NULL: unknown */
	const char *nodes;   /* host list, borrowed from the environment */
	size_t n_nodes;
	char srun[PATH_MAX];
	struct np_helper_job job; /* points to srun: do not copy this struct */
	/* Set by cli_alloc_env(). */
	struct np_helper_env_network network;
	char **env;   /* of a step; malloc'ed */
	char *leaves; /* NP_LEAVES_ENV in it, malloc'ed; NULL: not set */
};

/*
 * Read the configuration, and find the allocation from the environment.
 * nodes, command: for the message that says how to get an allocation.
 * Returns 0 or -errno with err.
 */
int cli_alloc_find(struct cli_alloc *alloc, int nodes, const char *command,
		   struct np_err *err);

/*
 * Make a->env, the environment of the steps.  If the partition has a topology
 * of its own, the probes learn their leaf switches from it.  Returns 0 or
 * -errno with err.
 */
int cli_alloc_env(struct cli_alloc *alloc, struct np_err *err);
void cli_alloc_free(struct cli_alloc *alloc);

/*
 * From now on SIGINT, SIGTERM and SIGHUP only set the returned flag, and
 * SIGPIPE is ignored, so that a command can end its steps and keep results.
 */
const volatile sig_atomic_t *cli_alloc_catch_signals(void);

#endif
