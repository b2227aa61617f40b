/* The allocation around us, found by what Slurm sets in the environment. */
#include "cli_alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "np_option.h"

static volatile sig_atomic_t stop_asked;

static void on_signal(int sig)
{
	(void)sig;
	stop_asked = 1;
}

/*
 * A second call is harmless: commands install the handlers before anything
 * slow begins, and ask for the flag again where they need it.
 */
const volatile sig_atomic_t *cli_alloc_catch_signals(void)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction act = { .sa_handler = on_signal };

	for (size_t i = 0; i < NP_ARRAY_SIZE(sigs); i++)
		sigaction(sigs[i], &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	return &stop_asked;
}

/*
 * Look srun up in PATH. Only absolute directories count: what a relative one
 * names depends on the working directory.
 */
static int find_srun(char path[PATH_MAX], struct np_err *err)
{
	const char *dirs = getenv("PATH");

	for (const char *p = dirs; p && *p;) {
		size_t len = strcspn(p, ":");

		if (len && len + sizeof("/srun") < PATH_MAX) {
			snprintf(path, PATH_MAX, "%.*s/srun", (int)len, p);
			if (path[0] == '/' && !access(path, X_OK))
				return 0;
		}
		p += len + (p[len] == ':');
	}
	return np_errf(err, -ENOENT, "no srun in PATH");
}

/* A positive number that Slurm sets in the environment of a job. */
static int read_number(const char *name, uint32_t *out, struct np_err *err)
{
	const char *text = getenv(name);
	uint64_t v;

	if (!text)
		return np_errf(err, -EINVAL, "%s is not set, although Slurm "
			       "sets it in every allocation", name);
	if (np_whole_parse(text, UINT32_MAX, &v) || !v)
		return np_errf(err, -EINVAL, "%s=%.40s: expected a number, as "
			       "set by Slurm", name, text);
	*out = (uint32_t)v;
	return 0;
}

/*
 * A heterogeneous allocation has several node lists; which of them to measure
 * would be a guess, so it is refused.
 */
int cli_alloc_find(struct cli_alloc *a, int nodes, const char *command,
		   struct np_err *err)
{
	uint32_t n;
	int rc = np_conf_from_environment(&a->conf, err);

	if (rc)
		return rc;
	if (!getenv("SLURM_JOB_ID"))
		return np_errf(err, -ENOENT, "not inside an allocation; run: "
			       "salloc -N%d --exclusive netprof %s (%s)", nodes,
			       command, nodes > 2 ? "all nodes of one leaf "
			       "switch, preferably of two" : "both nodes under "
			       "one leaf switch");
	if (getenv("SLURM_HET_SIZE"))
		return np_errf(err, -EINVAL, "this is a heterogeneous "
			       "allocation, which is not supported");
	a->cluster = getenv("SLURM_CLUSTER_NAME");
	a->nodes = getenv("SLURM_JOB_NODELIST");
	if (!a->nodes)
		return np_errf(err, -EINVAL, "SLURM_JOB_NODELIST is not set, "
			       "although Slurm sets it in every allocation");
	if (read_number("SLURM_JOB_ID", &a->job.job_id, err) ||
	    read_number("SLURM_JOB_NUM_NODES", &n, err))
		return -EINVAL;
	a->n_nodes = n;
	a->job.het_component = -1;
	a->job.srun = a->srun;
	return find_srun(a->srun, err);
}

int cli_alloc_env(struct cli_alloc *a, struct np_err *err)
{
	np_helper_env_network(&a->conf, &a->network);
	a->env = np_helper_env(environ, a->network.more);
	return a->env ? 0 : np_errf(err, -ENOMEM, "out of memory");
}
