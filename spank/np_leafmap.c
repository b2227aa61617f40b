/* Leaf switch of every node. */
#include "np_cluster.h"
#include "np_slurm_compat.h"
#include "np_topo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_numbers.h"

struct np_leafmap {
	struct np_topo topo;
	struct np_numbers nodes;
	const char **leaf; /* of each of them */
	size_t room;
};

static int add_leaf(struct np_leafmap *l, const struct np_topo_leaf *leaf)
{
	struct np_hosts hosts = { NULL, 0 };
	int rc = np_hosts_expand(leaf->nodes, &hosts);

	if (!rc)
		rc = np_array_room(&l->leaf, &l->room, l->nodes.n + hosts.n,
				   sizeof(*l->leaf));
	for (size_t i = 0; !rc && i < hosts.n; i++) {
		size_t n = l->nodes.n;
		uint32_t at = np_numbers_get(&l->nodes, hosts.name[i],
					     strlen(hosts.name[i]));

		if (at == NP_NO_NUMBER)
			rc = -ENOMEM;
		else if (at == n) /* of several leaves the first counts */
			l->leaf[at] = leaf->name;
	}
	np_hosts_free(&hosts);
	return rc;
}

/* Of the job's partition, malloc'ed; NULL: the cluster's. */
static char *topology_of(const partition_info_msg_t *parts, const char *name)
{
	for (uint32_t i = 0; i < parts->record_count; i++) {
		const partition_info_t *p = &parts->partition_array[i];
		const char *topology = np_partition_topology(p);

		if (topology && p->name && !strcmp(p->name, name))
			return strdup(topology);
	}
	return NULL;
}

/* One that slurmctld does not tell of is as good as the cluster's topology. */
static char *job_topology(uint32_t job_id)
{
	partition_info_msg_t *parts = NULL;
	job_info_msg_t *msg = NULL;
	char *name = NULL;

	if (!NP_PARTITION_TOPOLOGIES || np_load_job(&msg, job_id))
		return NULL;
	if (!slurm_load_partitions(0, &parts, SHOW_ALL))
		for (uint32_t i = 0; !name && i < msg->record_count; i++)
			if (msg->job_array[i].job_id == job_id &&
			    msg->job_array[i].partition)
				name = topology_of(parts,
						   msg->job_array[i].partition);
	slurm_free_partition_info_msg(parts);
	np_free_jobs(msg);
	return name;
}

/*
 * The same words by scontrol, none for a flat network.  From 25.11 on, what
 * reads a topology of blocks loads into no program but Slurm's own: it wants
 * more than libslurm gives.
 */
static int ask_scontrol(const char *name, char **text)
{
	size_t size = 0;
	ssize_t got;
	FILE *in;

	/* As a variable no shell makes anything of it. */
	if (setenv("NETPROF_TOPOLOGY", name ? name : "", 1))
		return -errno;
	in = popen("exec scontrol show topology ${NETPROF_TOPOLOGY:+"
		   "\"$NETPROF_TOPOLOGY\"} 2>/dev/null", "r");
	if (!in)
		return -errno;
	got = getdelim(text, &size, '\0', in);
	if (got < 0 && *text)
		**text = '\0';
	return pclose(in) == 0 && *text ? 0 : -EIO;
}

static int load_text(const char *name, char **text, struct np_err *err)
{
	topo_info_response_msg_t *msg = NULL;

	errno = ELIBACC;
	if (NP_TOPO_ENDS_CLIENTS || np_load_topo(&msg, name)) {
		int error = errno;

		return !ask_scontrol(name, text) ? 0 :
		       np_errf(err, -EIO, "slurmctld does not tell the "
			       "topology: %s", slurm_strerror(error));
	}
	return np_topo_text(msg, text);
}

int np_leafmap_load(uint32_t job_id, struct np_leafmap **out,
		    struct np_err *err)
{
	char *name = job_topology(job_id), *text = NULL;
	int rc = load_text(name, &text, err);

	if (!rc)
		rc = np_leafmap_parse(text, out, err);
	free(text);
	free(name);
	return rc;
}

int np_leafmap_parse(const char *text, struct np_leafmap **out,
		     struct np_err *err)
{
	struct np_leafmap *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return -ENOMEM;
	rc = np_topo_parse(text, &l->topo, err);
	for (size_t i = 0; !rc && i < l->topo.n; i++)
		rc = add_leaf(l, &l->topo.leaf[i]);
	if (rc) {
		np_leafmap_free(l);
		return rc;
	}
	*out = l;
	return 0;
}

void np_leafmap_free(struct np_leafmap *l)
{
	if (!l)
		return;
	np_numbers_free(&l->nodes);
	free(l->leaf);
	np_topo_free(&l->topo);
	free(l);
}

const char *np_leafmap_find(const struct np_leafmap *l, const char *node)
{
	uint32_t at = np_numbers_find(&l->nodes, node, strlen(node));

	return at == NP_NO_NUMBER ? "" : l->leaf[at];
}
