/* Finds the allocation of this process from its environment. */
#include "cli_alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_slurm.h"
#include "np_hostlist.h"
#include "np_option.h"
#include "np_slurm_file.h"
#include "np_topo.h"

static volatile sig_atomic_t stop_requested;

static void on_signal(int sig)
{
	(void)sig;
	stop_requested = 1;
}

/*
 * Commands may call this twice: before anything slow begins, and again where
 * they need the flag.
 */
const volatile sig_atomic_t *cli_alloc_catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal };

	for (size_t i = 0; i < NP_ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	return &stop_requested;
}

/*
 * Search for srun in PATH. Relative directories are ignored, because they
 * depend on the working directory.
 */
static int find_srun(char path[PATH_MAX], struct np_err *err)
{
	const char *dirs = getenv("PATH");

	for (const char *dir = dirs; dir && *dir;) {
		size_t len = strcspn(dir, ":");

		if (len && len + sizeof("/srun") < PATH_MAX) {
			snprintf(path, PATH_MAX, "%.*s/srun", (int)len, dir);
			if (path[0] == '/' && !access(path, X_OK))
				return 0;
		}
		dir += len + (dir[len] == ':');
	}
	return np_errf(err, -ENOENT, "no srun in PATH");
}

/* Read a positive number that Slurm sets in the environment of a job. */
static int read_number(const char *name, uint32_t *out, struct np_err *err)
{
	const char *text = getenv(name);
	uint64_t value;

	if (!text)
		return np_errf(err, -EINVAL,
			       "%s is not set, although Slurm sets it in every "
			       "allocation",
			       name);
	if (np_whole_parse(text, UINT32_MAX, &value) || !value)
		return np_errf(err, -EINVAL,
			       "%s=%.40s: expected a number, as set by Slurm",
			       name, text);
	*out = (uint32_t)value;
	return 0;
}

/*
 * Refuses a heterogeneous allocation, as it has several node lists, and it is
 * unknown which of them to measure.
 */
int cli_alloc_find(struct cli_alloc *alloc, int nodes, const char *command,
		   struct np_err *err)
{
	uint32_t n_nodes;
	int rc = np_conf_from_environment(&alloc->conf, err);

	if (rc)
		return rc;
	if (!getenv("SLURM_JOB_ID"))
		return np_errf(err, -ENOENT,
			       "not inside an allocation; run: salloc -N%d "
			       "--exclusive netprof %s (%s)",
			       nodes, command,
			       nodes > 2 ? "all nodes of one leaf switch, "
					   "preferably of two" :
					   "both nodes under one leaf switch");
	if (getenv("SLURM_HET_SIZE"))
		return np_errf(err, -EINVAL,
			       "this is a heterogeneous allocation, which is "
			       "not supported");
	alloc->cluster = getenv("SLURM_CLUSTER_NAME");
	alloc->nodes = getenv("SLURM_JOB_NODELIST");
	if (!alloc->nodes)
		return np_errf(err, -EINVAL,
			       "SLURM_JOB_NODELIST is not set, although Slurm "
			       "sets it in every allocation");
	if (read_number("SLURM_JOB_ID", &alloc->job.job_id, err) ||
	    read_number("SLURM_JOB_NUM_NODES", &n_nodes, err))
		return -EINVAL;
	alloc->n_nodes = n_nodes;
	alloc->job.het_component = -1;
	alloc->job.srun = alloc->srun;
	return find_srun(alloc->srun, err);
}

/* ---- the topology of the partition ---- */

#define SCONTROL_SEC 5.0
#define MAX_PARTITION (1 << 20) /* bytes that scontrol prints */
#define MAX_TOPOLOGY (64 << 20)
#define MAX_LEAVES 100000 /* bytes; Linux accepts 128 KiB in one variable */

/* Run scontrol. Returns its whole output, malloc'ed, or NULL with err. */
static char *run_scontrol(const char *show, const char *name, size_t max,
			  struct np_err *err)
{
	char *argv[] = { (char *)"scontrol", (char *)"-o", (char *)"show",
			 (char *)show,	     (char *)name, NULL };
	char *text = malloc(max);

	if (text && !cli_spawn(argv, SCONTROL_SEC, text, max) &&
	    strlen(text) + 1 < max)
		return text;
	free(text);
	np_errf(err, -EIO,
		"scontrol show %s %s failed, so the leaf switches of this "
		"partition are unknown",
		show, name);
	return NULL;
}

/* Find the name of a partition's own topology, malloc'ed; NULL: it has none. */
static int find_partition_topology(const char *partition, char **name,
				   struct np_err *err)
{
	char *text = run_scontrol("partition", partition, MAX_PARTITION, err);
	char *rest = text;
	struct np_slurm_pair pair;
	int rc = 0;

	*name = NULL;
	if (!text)
		return -EIO;
	while (!rc && !*name && np_slurm_printed_pair(&rest, &pair))
		if (!strcmp(pair.key, "Topology") && *pair.value &&
		    strcmp(pair.value, "(null)")) {
			*name = strdup(pair.value);
			rc = *name ? 0 : np_errf(err, -ENOMEM, "out of memory");
		}
	free(text);
	return rc;
}

/* Print the leaf switches of the allocation as the value of NP_LEAVES_ENV. */
static int print_leaves(struct cli_alloc *alloc, const struct np_topo *topo,
			struct np_err *err)
{
	char shared[64];
	size_t len;
	FILE *file = open_memstream(&alloc->leaves, &len);

	if (!file)
		return np_errf(err, -ENOMEM, "out of memory");
	fprintf(file, "%s=", NP_LEAVES_ENV);
	for (size_t i = 0; i < topo->n; i++)
		if (np_hostlist_shared(topo->leaf[i].nodes, alloc->nodes,
				       shared, sizeof(shared)))
			fprintf(file, "SwitchName=%s Level=0 Nodes=%s\n",
				topo->leaf[i].name, topo->leaf[i].nodes);
	if (fclose(file))
		return np_errf(err, -ENOMEM, "out of memory");
	return len < MAX_LEAVES ?
		       0 :
		       np_errf(err, -E2BIG,
			       "the leaf switches of this allocation have too "
			       "many nodes: %zu bytes in Slurm's topology, at "
			       "most %d are possible",
			       len, MAX_LEAVES);
}

/*
 * Find the leaf switches if the partition has a topology of its own, as it may
 * since Slurm 25.05. Slurm gives tasks only the cluster's topology.
 */
static int find_leaves(struct cli_alloc *alloc, struct np_err *err)
{
	const char *partition = getenv("SLURM_JOB_PARTITION");
	char *name = NULL, *text = NULL;
	struct np_topo topo = { .n = 0 };
	int rc = partition ? find_partition_topology(partition, &name, err) : 0;

	if (rc || !name)
		return rc;
	text = run_scontrol("topology", name, MAX_TOPOLOGY, err);
	rc = text ? np_topo_parse(text, &topo, err) : -EIO;
	if (!rc)
		rc = print_leaves(alloc, &topo, err);
	np_topo_free(&topo);
	free(text);
	free(name);
	return rc;
}

int cli_alloc_env(struct cli_alloc *alloc, struct np_err *err)
{
	const char *more[NP_HELPER_ENV_NETWORK + 2];
	size_t n = 0;
	int rc = find_leaves(alloc, err);

	if (rc)
		return rc;
	np_helper_env_network(&alloc->conf, &alloc->network);
	for (; alloc->network.more[n]; n++)
		more[n] = alloc->network.more[n];
	more[n] = alloc->leaves;
	more[n + !!alloc->leaves] = NULL;
	alloc->env = np_helper_env(environ, more);
	return alloc->env ? 0 : np_errf(err, -ENOMEM, "out of memory");
}

void cli_alloc_free(struct cli_alloc *alloc)
{
	free(alloc->env);
	free(alloc->leaves);
}
