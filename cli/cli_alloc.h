/* Commands that measure inside an allocation, by steps of their own. */
#ifndef CLI_ALLOC_H
#define CLI_ALLOC_H

#include <limits.h>
#include <signal.h>
#include <stddef.h>

#include "np_conf.h"
#include "np_err.h"
#include "np_sidecmd.h"
#include "np_sideenv.h"

struct cli_alloc {
	struct np_conf conf;
	const char *cluster; /* NULL: not known */
	const char *nodes;
	size_t n_nodes;
	char srun[PATH_MAX];
	struct np_sidejob job; /* refers to srun: not to be copied */
	/* Of cli_alloc_env(). */
	struct np_sideenv_network network;
	char **env;
};

/*
 * The configuration, and the allocation around us, by its environment.
 * nodes, command: for the advice how to get one.  Returns 0 or -errno with err.
 */
int cli_alloc_find(struct cli_alloc *a, int nodes, const char *command,
		   struct np_err *err);

/* The environment of steps; free() a->env.  Returns 0 or -errno with err. */
int cli_alloc_env(struct cli_alloc *a, struct np_err *err);

/*
 * From now on SIGINT, SIGTERM and SIGHUP only set what this returns, and
 * SIGPIPE is ignored.
 */
const volatile sig_atomic_t *cli_alloc_stop(void);

#endif
