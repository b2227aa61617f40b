/*
 * The cluster map: the parts of a cluster that rarely change, i.e. the names of
 * nodes, the leaf switches and the partitions. It also finds the nodes that
 * match a job. A map is immutable once made, and reference counted, so that
 * threads can share it.
 */
#ifndef NP_CLUSTER_MAP_H
#define NP_CLUSTER_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "np_err.h"
#include "np_node_index.h"
#include "np_slurm_compat.h"
#include "np_snapshot.h"

#define NP_CLUSTER_MAP_MAX_KINDS 256
/* Most names of a list that np_cluster_map_parse_hostlist() expands. */
#define NP_CLUSTER_MAP_MAX_EXPANDED 4096

/* Nodes that are alike in all that a job can require of a node but devices. */
struct np_node_kind {
	uint32_t cpus;	  /* of a node that jobs may use; likewise the memory */
	uint32_t threads; /* per core */
	uint64_t memory_mb;
	char *features;	 /* "a,b" */
	uint64_t *nodes; /* bitmap */
};

/* A partition. */
struct np_part {
	char *name;
	bool is_default;
	bool shares_nodes; /* its jobs share nodes, unless they ask for
			      exclusive ones */
	bool own_leaves;   /* each job has its leaf switches to itself */
	bool no_leaves;	   /* its topology has no leaves, but another one has */
	bool same_devices; /* all its nodes have the same devices */
	uint32_t max_cpus; /* that its jobs may use of a node; 0: all */
	uint64_t *nodes;   /* bitmap */
	size_t n_kinds;	   /* number of kinds that its nodes are of */
};

struct np_cluster_map {
	atomic_uint refs;
	uint64_t digest; /* of everything it was made from */
	size_t n_nodes;
	size_t words; /* in a bitmap of nodes */
	char **name;  /* of each node; "" if it was deleted */
	struct np_leaves *leaves;
	struct np_node_index *node_index;
	char **host; /* name of each node's host; "" if it names a node */
	struct np_node_index *host_index; /* NULL: no host has such a name */
	struct np_node_kind *kind;
	size_t n_kinds;
	struct np_part *part;
	size_t n_parts;
	struct np_err warning; /* first inconsistency of the topology, or "" */
	struct np_err rails_error; /* why the rails file is not used, or "" */
};

/* What a job requires of its nodes, from its description or its record. */
struct np_job_requirements {
	const char *partition; /* may be "a,b"; NULL: the default one */
	const char *features;  /* NULL: none */
	bool wants_devices;    /* such as GPUs, of each node */
	bool undetermined;     /* how many nodes suffice is not known: they
				  must be adjacent or in segments (--contiguous,
				  --segment, --exclusive=topo), or it needs
				  sockets, cores or disk space of each
				  (--ntasks-per-core, --ntasks-per-socket,
				  --cores-per-socket, --sockets-per-node,
				  --core-spec, --tmp), or devices in total, per
				  task or per socket (--gpus,
				  --gpus-per-task, --gpus-per-socket) */
	/* These numbers are 0 if they are not given. */
	uint32_t threads_per_core; /* at most */
	uint32_t cpus_per_node;
	uint64_t memory_mb; /* per node */
	uint64_t memory_per_cpu_mb;
	uint64_t cpus, tasks; /* in total */
	uint32_t tasks_per_node;
	uint32_t nodes;
};

/* Slurm's values for "not set" become 0. */
static inline uint32_t np_zero_if_unset(uint32_t value)
{
	return value == NO_VAL || value == INFINITE ? 0 : value;
}

static inline uint32_t np_zero_if_unset16(uint16_t value)
{
	return value == NO_VAL16 || value == INFINITE16 ? 0 : value;
}

/*
 * Whether a list of resources, such as "cpu=4,gres/gpu:1", names devices. Since
 * Slurm 23.11 a job with --cpus-per-task has its CPUs in tres_per_task. A list
 * of very many items, which Slurm refuses later, is not read to its end.
 */
static inline bool np_names_devices(const char *resources)
{
	for (int i = 0; resources && *resources && i < 64; i++) {
		size_t len = strcspn(resources, ",");

		if (len && strncmp(resources, "cpu=", 4) &&
		    strncmp(resources, "cpu:", 4) &&
		    strncmp(resources, "license", 7))
			return true;
		resources += len + (resources[len] == ',');
	}
	return resources && *resources;
}

/*
 * The requirements, without the memory. job: a pointer to Slurm's record of a
 * job or to the description in a submission. Most of their members have the
 * same names; segment, n_cpus and n_nodes are the values of those that do not.
 */
/* clang-format off */
#define NP_JOB_REQUIREMENTS(job, segment, n_cpus, n_nodes) \
((struct np_job_requirements){ \
	.partition = (job)->partition, \
	.features = (job)->features && *(job)->features ? \
		    (job)->features : NULL, \
	.wants_devices = np_names_devices((job)->tres_per_node), \
	.undetermined = np_zero_if_unset16((job)->contiguous) || \
			(job)->shared == JOB_SHARED_TOPO || \
			np_zero_if_unset16(segment) || \
			np_zero_if_unset16((job)->ntasks_per_core) || \
			np_zero_if_unset16((job)->ntasks_per_socket) || \
			np_zero_if_unset16((job)->cores_per_socket) || \
			np_zero_if_unset16((job)->sockets_per_node) || \
			np_zero_if_unset16((job)->core_spec) || \
			np_zero_if_unset((job)->pn_min_tmp_disk) || \
			np_names_devices((job)->tres_per_job) || \
			np_names_devices((job)->tres_per_socket) || \
			np_names_devices((job)->tres_per_task), \
	.threads_per_core = np_zero_if_unset16((job)->threads_per_core), \
	.cpus_per_node = np_zero_if_unset16((job)->pn_min_cpus), \
	.cpus = np_zero_if_unset(n_cpus), \
	.tasks = np_zero_if_unset((job)->num_tasks), \
	.tasks_per_node = np_zero_if_unset16((job)->ntasks_per_node), \
	.nodes = np_zero_if_unset(n_nodes), \
})
/* clang-format on */

/* Set the memory from Slurm's value, which is per node or per CPU. */
void np_job_requirements_set_memory(struct np_job_requirements *required,
				    uint64_t memory);

/* How a job's requirements can be met on this cluster. */
struct np_job_fit {
	int partition;	    /* index of the (first) partition */
	uint32_t min_nodes; /* enough for the job, whichever nodes it gets */
	bool undetermined;  /* it is not known which nodes match */
};

/*
 * Make a map from what Slurm reports and the text of the topologies of a site
 * (np_topo.h). A node is on a leaf switch of the topology that one of its
 * partitions uses. If it is on several, the first one is used, or with rails
 * the first one of each rail. Leaf switches whose node list is invalid, and
 * names of unknown nodes, are ignored. Without leaf switches no leaf is ever
 * closed to a job.
 *
 * old is a previous map, which is returned again, with a further reference, if
 * nothing changed; it may be NULL. whole_nodes means that jobs never share
 * nodes, as with select/linear. Returns 0, or -errno with err. No RPC.
 */
int np_cluster_map_make(struct np_cluster_map *old,
			const node_info_msg_t *nodes,
			const partition_info_msg_t *parts, const char *topology,
			bool whole_nodes, struct np_cluster_map **out,
			struct np_err *err);
struct np_cluster_map *np_cluster_map_ref(struct np_cluster_map *map);
void np_cluster_map_unref(struct np_cluster_map *map); /* NULL is allowed */

/*
 * Index of the first partition in "a,b", or of the default one if names is
 * NULL. Returns -1 if it is unknown.
 */
int np_cluster_map_partition(const struct np_cluster_map *map,
			     const char *names);

/*
 * Fill in *fit, and in nodes[] the nodes of the partition that match. Returns
 * 0, or -ENOENT if the partition is unknown. Allocates nothing; takes at most
 * n_kinds * words steps.
 */
int np_cluster_map_fit(const struct np_cluster_map *map,
		       const struct np_job_requirements *required,
		       uint64_t *nodes, struct np_job_fit *fit);

/*
 * Read a host list into nodes[]; names of unknown nodes are ignored, and NULL
 * is an empty list. Returns 0, or -EINVAL if it is not a host list, has a
 * function such as switch{s0} (since Slurm 24.11; only slurmctld knows its
 * nodes) or more than four times as many names as there are nodes, where a span
 * (see np_node_index_parse()) counts as one name. Items with brackets that have
 * no spans, such as "n0[000-999]" or "r[0-9]n[0-9]", may have no more than
 * NP_CLUSTER_MAP_MAX_EXPANDED names in all, because slurmctld waits while each
 * of them is looked up. Allocates nothing.
 */
int np_cluster_map_parse_hostlist(const struct np_cluster_map *map,
				  const char *hosts, uint64_t *nodes);

/*
 * Write a bitmap of nodes as a host list, malloc'ed. Returns NULL if there is
 * no node, or when out of memory.
 */
char *np_cluster_map_format_hostlist(const struct np_cluster_map *map,
				     const uint64_t *nodes);

/*
 * Write a host list, malloc'ed, of all nodes on closed leaves, i.e. those not
 * in open[]. Returns NULL if no leaf is closed, or when out of memory.
 */
char *np_cluster_map_format_closed(const struct np_cluster_map *map,
				   const uint64_t *open);

/* A host list of the names of the leaves in a bitmap, malloc'ed. */
char *np_cluster_map_leaf_names(const struct np_cluster_map *map,
				const uint64_t *leaves);

/* A host list of the names of the n switches with these numbers, malloc'ed. */
char *np_cluster_map_switch_names(const struct np_cluster_map *map,
				  const uint32_t *number, size_t n);

/*
 * Fill in the bitmap nodes[] from one of Slurm's arrays of ranges, which holds
 * the first and the last index of each range, and -1 at the end; NULL means
 * that there are no ranges. Nodes that were deleted are ignored.
 */
void np_cluster_map_from_ranges(const struct np_cluster_map *map,
				const int32_t *ranges, uint64_t *nodes);

#endif
