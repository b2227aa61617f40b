/*
 * The allocation in which a command starts steps that measure: netprof
 * calibrate, check --fabric, loggps, topology and validate.
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
	/* Borrowed from the environment. */
	const char *cluster; /* name; NULL: unknown */
	const char *nodes;   /* host list */
	size_t n_nodes;
	char srun[PATH_MAX];
	struct np_helper_job job; /* points to srun: do not copy this struct */
	/* Set by cli_alloc_env(), freed by cli_alloc_free(). */
	struct np_helper_env_network network;
	char **env;   /* environment of a step; ends with NULL */
	char *leaves; /* NP_LEAVES_ENV with its value, in env; NULL: not set */
};

/*
 * Read the configuration, and find the allocation from the environment. The
 * caller has zeroed *alloc. nodes (how many are needed) and command are for
 * the message that says how to get one. Returns 0, or with err -ENOENT
 * (not in an allocation, or no srun), -EINVAL (the environment is not as Slurm
 * sets it, or the allocation is heterogeneous), or -errno of reading
 * netprof.conf.
 */
int cli_alloc_find(struct cli_alloc *alloc, int nodes, const char *command,
		   struct np_err *err);

/*
 * Make alloc->env, the environment of the steps. If the partition has a
 * topology of its own, it contains the leaf switches of the allocation, because
 * Slurm gives tasks only the topology of the cluster. Returns 0, or with err
 * -EIO (scontrol failed), -E2BIG (too many nodes), -ENOMEM or an error of
 * np_topo_parse(). The caller calls cli_alloc_free() in any case.
 */
int cli_alloc_env(struct cli_alloc *alloc, struct np_err *err);
void cli_alloc_free(struct cli_alloc *alloc);

/*
 * From now on SIGINT, SIGTERM and SIGHUP only set the returned flag, and
 * SIGPIPE is ignored, so that a command can end its steps and keep results.
 */
const volatile sig_atomic_t *cli_alloc_catch_signals(void);

#endif
