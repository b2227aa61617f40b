/*
 * Snapshot of a cluster, the input of the placement decision: leaf switches,
 * the state of nodes, and jobs. The caller collects it from Slurm, from a
 * simulation or in a test, and seals it. From then on it is immutable and any
 * thread may read it.
 *
 * Times are seconds since the epoch, and 0 means "not set". Nodes and leaves
 * are indices as in struct np_leaves.
 */
#ifndef NP_SNAPSHOT_H
#define NP_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_array.h"
#include "np_err.h"

/*
 * ---- Topology: which node is on which leaf switch ----
 *
 * Nodes are the caller's indices 0 to n - 1. Leaves are numbered in the order
 * in which they were given. A node is on one leaf or on none. Jobs may always
 * use nodes without a leaf, as nothing is known to be shared there. Immutable;
 * reference counted, so that snapshots of any thread can share it.
 *
 * Where nodes have several adapters, each leads to a switch of another rail. A
 * leaf is then the set of nodes that have the same switch on every rail: jobs
 * get leaves, and slow each other down on the switches of these. Leaves with
 * the same switch on the first rail are next to each other. With one rail, leaf
 * i has switch i only.
 *
 * Each node also has a position, such that nodes of the same leaf are next to
 * each other. What a set of nodes has on each leaf is therefore counted in a
 * single pass over the words of its bitmap.
 */

#define NP_LEAVES_MAX 16384
#define NP_LEAVES_MAX_NODES 1000000
#define NP_LEAF_MAX_NODES 65535
#define NP_NO_LEAF UINT32_MAX
#define NP_LEAVES_MAX_RAILS 9 /* one of them without a name */

struct np_leaves {
	int refs;
	size_t n, n_nodes;	  /* leaves, nodes */
	size_t words, node_words; /* of a bitmap of leaves, and of nodes */
	size_t largest;		  /* number of nodes of the largest leaf */
	uint32_t *first;	  /* n + 1 positions: leaf i has first[i] to
			    first[i + 1] - 1; nodes without a leaf follow from
			    first[n] on */
	uint32_t *node;		  /* position -> node, ascending on each leaf */
	uint32_t *place;	  /* node -> position */
	bool in_order;	/* the position of each node is its index; usual */
	uint32_t *leaf; /* node -> leaf, or NP_NO_LEAF */
	char **name;	/* of each leaf; with several rails "switch+switch" */

	size_t n_switches;
	bool one_rail;
	char **switch_name;
	uint8_t *rail; /* of each switch: index in rail_name[] */
	char *rail_name[NP_LEAVES_MAX_RAILS]; /* [0]: NULL, without a name */
	size_t n_rails;
	uint32_t *first_switch; /* n + 1: leaf i has first_switch[i] to
				   first_switch[i + 1] - 1 of switches[] */
	uint32_t *switches;	/* of each leaf, by rail */
	uint32_t *first_leaf;	/* n_switches + 1: switch i has first_leaf[i]
				   to first_leaf[i + 1] - 1 of
				   leaves_below[] */
	uint32_t *leaves_below; /* of each switch, ascending */
};

/* A leaf switch, as np_leaves_new() takes it. */
struct np_leaf {
	const char *name;     /* not empty; for messages */
	const uint32_t *node; /* n_nodes indices, in any order */
	size_t n_nodes;
	const char *rail; /* NULL: without a name, all jobs load it */
};

/*
 * Build from n leaf switches over n_nodes nodes; all arrays are borrowed for
 * the call. *out: release with np_leaves_unref(). Returns 0, -EINVAL with err
 * (a node out of range or on two switches of a rail; a switch without a name,
 * without nodes or with too many; no nodes at all), -E2BIG (too many leaves,
 * rails or nodes) or -ENOMEM.
 */
int np_leaves_new(size_t n_nodes, const struct np_leaf *leaf, size_t n,
		  struct np_leaves **out, struct np_err *err);
void np_leaves_unref(struct np_leaves *leaves); /* NULL is allowed */

/*
 * The nodes to exclude from a job that may use only the leaves in allowed[]:
 * all nodes on the other leaves. nodes[] is overwritten. Bitmaps.
 */
void np_leaves_excluded(const struct np_leaves *leaves, const uint64_t *allowed,
			uint64_t *nodes);

/* The inverse: the leaves that have no node in nodes[]. */
void np_leaves_allowed(const struct np_leaves *leaves, const uint64_t *nodes,
		       uint64_t *allowed);

/*
 * The switches of n leaves in sw[], each once, ascending; sw has room for
 * n_switches. Returns how many.
 */
size_t np_leaves_switches(const struct np_leaves *leaves, const uint32_t *leaf,
			  size_t n, uint32_t *sw);

/* ---- Nodes and jobs ---- */

enum np_node_state {
	NP_NODE_UNAVAILABLE, /* down, drained, failing or reserved */
	NP_NODE_FULL,	     /* no capacity for another job */
	NP_NODE_MIXED,	     /* capacity for a job that shares nodes */
	NP_NODE_IDLE,
};

enum np_job_state {
	NP_JOB_RUNNING, /* holds its nodes; also suspended or completing */
	NP_JOB_READY,	/* pending, and may start at any moment */
	NP_JOB_WAITING, /* pending, but cannot start by itself: held, waiting
			   for a dependency or limit, or with a begin time of
			   the user's in the future */
};

/* Placement mode of the job's partition, as the administrator set it. */
enum np_mode { NP_MODE_OFF, NP_MODE_ADVISE, NP_MODE_PREFER, NP_MODE_ENFORCE };

enum np_job_flag {
	NP_JOB_SHARES_NODES = 1 << 0, /* other jobs may run on its nodes */
	NP_JOB_SPANS = 1 << 1,	     /* will use an uplink although it would fit
				   under one leaf */
	NP_JOB_NODELIST = 1 << 2,    /* the user chose nodes by name */
	NP_JOB_RESERVATION = 1 << 3, /* runs in a reservation */
	NP_JOB_HETEROGENEOUS = 1 << 4, /* component of a heterogeneous job */
	NP_JOB_CONSTRAINT = 1 << 5,    /* the caller does not know which nodes
					  its request matches */
	NP_JOB_CHANGING = 1 << 6,      /* its owner changes jobs faster than the
					  caller can update them */
	NP_JOB_UNPROVED = 1 << 7,      /* only its owner says that it runs
					  this application: visible to the
					  owner's jobs only, as if the profile
					  were not trusted */
	NP_JOB_URGENT = 1 << 8,	       /* it fails unless it starts in time, by
					  a deadline or at once */
};

/* The decision written into a pending job by an earlier pass. */
enum np_prior {
	NP_PRIOR_NONE,	       /* none so far */
	NP_PRIOR_UNRESTRICTED, /* the job may use all leaves */
	NP_PRIOR_RESTRICTED,   /* only prior_leaves */
	NP_PRIOR_HELD,	       /* none, until prior_until_sec */
};

#define NP_PROFILE_UNKNOWN (-1)
#define NP_JOB_MAX_NODES NP_LEAVES_MAX_NODES
#define NP_SNAPSHOT_MAX_JOBS 1000000

struct np_job {
	uint32_t id;
	uint32_t owner; /* uid */
	enum np_job_state state;
	enum np_mode mode;
	uint16_t partition; /* in any numbering of the caller's */
	unsigned flags;	    /* enum np_job_flag */
	int32_t profile;    /* handle of np_conflict.h, or NP_PROFILE_UNKNOWN */

	/* Pending jobs. */
	uint32_t tasks;	    /* array tasks in this record; 1: no array, or
			       one task that has a record of its own */
	uint32_t array;	    /* id of the array it belongs to; 0: none */
	uint32_t task;	    /* lowest array index of its tasks */
	uint32_t nodes_min; /* number of nodes that it needs, at least 1 */
	uint32_t switches;  /* --switches: maximum number of leaves; 0: any */
	uint32_t priority;
	int64_t submit_sec;
	int64_t eligible_sec; /* begin time that the user set */
	uint32_t candidates;  /* handle of the set of nodes that its partition,
				 features and the user's own exclusions allow;
				 our exclusions are not applied */
	enum np_prior prior;
	const uint64_t *prior_leaves; /* bitmap */
	int64_t prior_until_sec;
	double held_sec; /* how long placement has held the job back, as the
			    last decision counted it */

	/* Running jobs. */
	int64_t start_sec;
	const uint32_t *node; /* valid only while the job is added */
	size_t n_nodes;
	const uint32_t *leaf; /* leaves that it runs on, ascending; set by
				 np_snapshot_seal() */
	size_t n_leaves;
};

/*
 * All bitmaps of nodes in a snapshot are indexed by position, not by node; see
 * struct np_leaves. Jobs are in the order in which they were added.
 */
struct np_snapshot {
	int refs;
	bool sealed;
	struct np_leaves *leaves;
	int64_t now_sec, last_sec; /* of this snapshot; of the last decision */
	/* Bitmaps of nodes: not NP_NODE_UNAVAILABLE; NP_NODE_IDLE; and this
	   or NP_NODE_MIXED. */
	uint64_t *usable, *idle, *idle_or_mixed;
	struct np_index set; /* distinct bitmaps of nodes, by handle */
	uint64_t *scratch;   /* a bitmap of nodes */
	struct np_job *job;
	size_t n_jobs, job_capacity;
	/* Memory that the jobs' leaf and prior_leaves point into. */
	uint32_t *job_leaves;
	uint64_t *job_prior; /* n_job_prior bitmaps of leaves */
	size_t n_job_leaves, job_leaves_capacity;
	size_t n_job_prior, job_prior_capacity;
};

/*
 * Begin a snapshot taken at now_sec. last_sec: time of the last decision, 0 if
 * there was none. Every node is NP_NODE_UNAVAILABLE until np_snapshot_node()
 * sets its state. Takes a reference to leaves. *out: release with
 * np_snapshot_unref(). Returns 0, -EINVAL (times out of order) or -ENOMEM.
 */
int np_snapshot_new(struct np_leaves *leaves, int64_t now_sec, int64_t last_sec,
		    struct np_snapshot **out, struct np_err *err);
struct np_snapshot *np_snapshot_ref(struct np_snapshot *snapshot);
void np_snapshot_unref(struct np_snapshot *snapshot); /* NULL is allowed */

/*
 * Set the state of a node. Returns 0, or -EINVAL: no such node or state, or the
 * snapshot is sealed.
 */
int np_snapshot_node(struct np_snapshot *snapshot, size_t node,
		     enum np_node_state state, struct np_err *err);

/*
 * Add a set of nodes, given as a bitmap by node index; equal sets are stored
 * once and have the same handle. Returns 0, -EINVAL (a bit beyond the last
 * node, or the snapshot is sealed) or -ENOMEM.
 */
int np_snapshot_nodes(struct np_snapshot *snapshot, const uint64_t *nodes,
		      uint32_t *handle, struct np_err *err);

/*
 * Add a job; everything is copied. Returns 0, -EINVAL (an impossible value, or
 * the snapshot is sealed; err names job and value), -E2BIG or -ENOMEM.
 */
int np_snapshot_job(struct np_snapshot *snapshot, const struct np_job *job,
		    struct np_err *err);

/* Make the snapshot immutable. */
void np_snapshot_seal(struct np_snapshot *snapshot);

/* The bitmap of a set, by position. */
static inline const uint64_t *
np_snapshot_set(const struct np_snapshot *snapshot, uint32_t handle)
{
	return (const uint64_t *)snapshot->set.bytes +
	       handle * snapshot->leaves->node_words;
}

#endif
