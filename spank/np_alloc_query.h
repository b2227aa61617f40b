/*
 * What the step collector learns from slurmctld: the nodes of the step and of
 * its allocation, their leaf switches, where the load level can run, how the
 * tasks are laid out, and which other jobs and steps share the leaf switches.
 *
 * Functions that ask slurmctld say so; they make one to four RPCs and must not
 * be called from a SPANK callback of slurmd or of a step. The others are pure.
 */
#ifndef NP_ALLOC_QUERY_H
#define NP_ALLOC_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_array.h"
#include "np_conf.h"
#include "np_err.h"
#include "np_fabric.h"
#include "np_launch.h"
#include "np_record.h"
#include "np_slurm_compat.h"
#include "np_topo.h"

/* ---- host names, expanded ---- */

/* Empty when zeroed; free with np_hosts_free(). */
struct np_hosts {
	char **name; /* malloc'ed */
	size_t n;
};

/*
 * Add the names of a hostlist expression. Returns 0; or -EINVAL (malformed, or
 * more than NP_RECORD_MAX_NODES names) or -ENOMEM, and then some names may have
 * been added.
 */
int np_hosts_expand(const char *expression, struct np_hosts *hosts);
/* Add one name, which is copied. Returns 0 or -ENOMEM. */
int np_hosts_add(struct np_hosts *hosts, const char *name);
int np_hosts_has(const struct np_hosts *hosts, const char *name);
/* Return the hostlist expression, malloc'ed; NULL: out of memory. */
char *np_hosts_compress(const struct np_hosts *hosts);
void np_hosts_free(struct np_hosts *hosts);

/* ---- the leaf switch of every node ---- */

struct np_leaf_index;

/*
 * Make an index from the topology that slurmctld reports, as text (np_topo.h).
 * Returns 0, or -errno with err. For unit tests; np_step_nodes_load() asks
 * slurmctld for the text.
 */
int np_leaf_index_parse(const char *text, struct np_leaf_index **out,
			struct np_err *err);
void np_leaf_index_free(struct np_leaf_index *index); /* NULL is allowed */

/*
 * Add the rails of the site's file, which are taken over: its nodes lose the
 * leaf switches of Slurm's topology. Returns 0 or -ENOMEM.
 */
int np_leaf_index_add_rails(struct np_leaf_index *index, struct np_topo *rails);

/*
 * Set the devices of the nodes that Slurm's topology lists under as many leaf
 * switches, in the same order: "mlx5_0:1,mlx5_1:1". Returns 0 or -ENOMEM.
 */
int np_leaf_index_set_devices(struct np_leaf_index *index, const char *devices);

/*
 * Return the name of the node's leaf switch, borrowed; "": it has none, or
 * there is no topology.
 */
const char *np_leaf_index_find(const struct np_leaf_index *index,
			       const char *node);

/* A leaf switch of a node, and the adapter that leads to it; all borrowed. */
struct np_rail {
	const char *leaf;
	const char *name, *nic; /* of the rail; NULL: no rails */
};

/*
 * List the leaf switches of a node, one for each of its rails. Returns their
 * number; the first one, that of np_leaf_index_find(), always exists.
 */
size_t np_leaf_index_rails(const struct np_leaf_index *index, const char *node,
			   struct np_rail out[NP_RAILS_MAX]);

/* ---- the layout of a step's tasks ---- */

/*
 * How the tasks of a step are distributed over its nodes. Runs of one command
 * with equal numbers of nodes and tasks are different workloads if, for
 * example, one has 4, 2, 1 and 1 tasks on its nodes and the other 2 on each.
 */
struct np_layout {
	char *tasks_per_node; /* "4,2,1(x2)", malloc'ed */
	const char *order;    /* of the ranks: "block", "cyclic" or "other" */
	/*
	 * Equal numbers of tasks on the nodes, one more on the first ones, and
	 * ranks in blocks: what is assumed for records without a layout.
	 */
	bool usual;
	uint64_t digest;
};

/*
 * Describe a layout. tasks[n]: number of tasks on each of n nodes; rank[n]:
 * their ranks. Returns 0 or -ENOMEM. The caller frees tasks_per_node.
 */
int np_layout_of(const uint16_t *tasks, uint32_t *const *rank, uint32_t n,
		 struct np_layout *out);

/*
 * Turn the digest of a command into that of its workload. The usual layout
 * leaves it unchanged.
 */
void np_layout_fingerprint(const struct np_layout *layout, char hex[20]);

/* ---- the allocation of a step ---- */

#define NP_HELPER_NAME "netprof" /* job name of our own helper steps */

struct np_step_nodes {
	struct np_leaf_index *leaves;
	struct np_hosts step;  /* nodes of the measured step */
	struct np_hosts level; /* nodes of the load level; empty: no level */
	char *level_nodes;     /* the same as a hostlist; NULL: no level */
	enum np_scope scope;   /* of the level: node or leaf */
};

/* Return the scope as a record names it. */
static inline const char *np_step_nodes_scope(const struct np_step_nodes *nodes)
{
	return nodes->scope == NP_SCOPE_LEAF ? "leaf" : "node";
}

/*
 * Find out where the step runs, as np_step_nodes_plan(), and fill in the
 * record: what the launch request and the settings say, the cluster's name, the
 * version of Slurm, and the layout of the tasks, by which its fingerprint
 * becomes that of the workload. start_date begins the record. Asks slurmctld
 * in four requests, or five with a level.
 *
 * Returns 0 with *nodes, to be freed by np_step_nodes_free(); or, with err,
 * -ENODEV (nothing can be measured), -ESRCH (there is no such step) or another
 * -errno.
 */
int np_step_nodes_load(const struct np_launch_request *request,
		       const struct np_conf *conf, double start_date,
		       struct np_record *record, struct np_step_nodes *nodes,
		       struct np_err *err);

/*
 * From nodes->step and nodes->leaves, add the leaves of the step to the record,
 * a leaf with a single node as skipped, and place the level. job: nodes of the
 * allocation; empty for no level; busy: those that run other steps. Returns as
 * np_step_nodes_load(), which calls it.
 *
 * A probe can run on every node of the step that shares its leaf with another
 * one. The level runs on idle nodes of the allocation under such leaves, where
 * a leaf has two or more of them, so that only the switch is shared; otherwise
 * on the step's nodes themselves. If those were more than max_level nodes, it
 * runs on pairs of nodes of one leaf, spread evenly over all leaves.
 */
int np_step_nodes_plan(struct np_step_nodes *nodes, const struct np_hosts *job,
		       const struct np_hosts *busy, uint32_t max_level,
		       struct np_record *record, struct np_err *err);

void np_step_nodes_free(struct np_step_nodes *nodes);

/* ---- neighbours: concurrent jobs and steps on the same leaf switches ---- */

/*
 * Merge into the record the jobs, and the other steps of its own job, that had
 * nodes on the leaves of nodes between record->start and until (dates) for more
 * than a second; and whether its own job was suspended after record->start.
 * Of the other components of the heterogeneous job het_job_id (0: none), the
 * steps count, except the step itself, which may run in several components.
 * Asks slurmctld in two requests, one more for each other component, and for
 * the list of all jobs in a child that may use most_bytes of memory. Returns 0
 * or -errno with err.
 */
int np_neighbours_query(const struct np_leaf_index *leaves,
			const struct np_hosts *nodes, double until,
			uint32_t het_job_id, double most_bytes,
			struct np_record *record, struct np_err *err);

/*
 * Seconds until the next query, if the step has run for run_sec and the last
 * query took took_sec. The pause grows with both: a long run then makes few
 * queries, and the steps of many jobs do not keep slurmctld busy.
 */
double np_neighbours_pause_sec(double run_sec, double took_sec);

/* The rest is called by np_neighbours_query(), and by unit tests. */

struct np_neighbours {
	const struct np_leaf_index *leaves;
	struct np_index own_leaves; /* names of the step's leaves */
	struct np_record *record;
	uint32_t *component; /* job ids of the other running components */
	size_t n_components;
};

struct np_candidate {
	uint32_t job_id;
	long step_id;	    /* NP_NO_VALUE: a whole job */
	const char *nodes;  /* hostlist expression */
	double overlap_sec; /* with the step; may be negative */
};

/*
 * leaves and record are borrowed; nodes: of the step. Returns 0, or -ENOMEM
 * with err.
 */
int np_neighbours_init(struct np_neighbours *neighbours,
		       const struct np_leaf_index *leaves,
		       const struct np_hosts *nodes, struct np_record *record,
		       struct np_err *err);
void np_neighbours_free(struct np_neighbours *neighbours);

/*
 * Merge a candidate into the record. Of several overlaps the longest counts.
 * Returns 0; NP_NEIGHBOURS_FULL (noted in the record): there is no room for it
 * nor for any further one; or -errno with err.
 */
#define NP_NEIGHBOURS_FULL 1
int np_neighbours_add(struct np_neighbours *neighbours,
		      const struct np_candidate *candidate, struct np_err *err);

/*
 * Merge the jobs that a function loads as slurm_load_jobs() does, in a child;
 * other arguments as of np_neighbours_query(). Returns 0, NP_NEIGHBOURS_FULL, or
 * -errno with err; -EPIPE: the child needed more memory.
 */
typedef int np_load_jobs_f(job_info_msg_t **out);
int np_neighbours_merge_jobs(struct np_neighbours *neighbours, double until,
			     uint32_t het_job_id, np_load_jobs_f *load,
			     double most_bytes, struct np_err *err);

#endif
