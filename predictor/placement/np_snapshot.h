/*
 * The cluster as the placement decision sees it: leaves, the state of nodes,
 * jobs.  The caller gathers it (from Slurm, from a simulation, from a test),
 * seals it, and from then on it never changes and may be read by any thread.
 *
 * Times are seconds since the epoch, 0 for "not set".  Nodes and leaves are
 * the indices of struct np_leaves.
 */
#ifndef NP_SNAPSHOT_H
#define NP_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_numbers.h"

/*
 * Which node hangs on which leaf switch.
 *
 * Nodes are the caller's indices 0 .. n-1 and leaves are numbered as given.
 * A node is on one leaf or on none: a job may always use nodes without a
 * leaf, as nothing is known to be shared there.  Immutable; shared between
 * snapshots by counting references, from any thread.
 *
 * A leaf's nodes are side by side in one order of all nodes, their places: what
 * a set of nodes has on each leaf is then counted in one sweep over its words.
 */

#define NP_LEAVES_MAX 16384
#define NP_LEAVES_MAX_NODES 1000000
#define NP_LEAF_MAX_NODES 65535
#define NP_NO_LEAF UINT32_MAX

struct np_leaves {
	int refs;
	size_t n, n_nodes;
	size_t words, node_words; /* of a bitmap of leaves, and of nodes */
	size_t largest;	 /* nodes of the largest leaf */
	uint32_t *first; /* n + 1: places of leaf i are first[i] .. [i+1]-1;
			    nodes without a leaf follow from first[n] */
	uint32_t *node;	 /* place -> node, on each leaf ascending */
	uint32_t *place; /* node -> place */
	bool in_order;	 /* every node is its own place, as most often */
	uint32_t *leaf;	 /* node -> leaf or NP_NO_LEAF */
	char **name;
};

struct np_leaf {
	const char *name;     /* not empty; for people */
	const uint32_t *node; /* n_nodes indices, in any order */
	size_t n_nodes;
};

/*
 * Build from n leaves over n_nodes nodes; all arrays are borrowed for the
 * call.  *out: release with np_leaves_unref().  Returns 0, -EINVAL with err (a
 * node out of range or on two leaves, a leaf without name, nodes, or with too
 * many; no nodes at all), -E2BIG (too many leaves or nodes) or -ENOMEM.
 */
int np_leaves_new(size_t n_nodes, const struct np_leaf *leaf, size_t n,
		  struct np_leaves **out, struct np_err *err);
void np_leaves_unref(struct np_leaves *l); /* NULL is allowed */

/*
 * From allowed leaves to the nodes to exclude: every node on a leaf that is
 * not in allowed[].  nodes[] is overwritten.
 */
void np_leaves_excluded(const struct np_leaves *l, const uint64_t *allowed,
			uint64_t *nodes);

/* And back: the leaves none of whose nodes is in nodes[]. */
void np_leaves_allowed(const struct np_leaves *l, const uint64_t *nodes,
		       uint64_t *allowed);

enum np_node_state {
	NP_NODE_AWAY,  /* down, drained, failing, or kept for a reservation */
	NP_NODE_FULL,  /* no room for another job */
	NP_NODE_MIXED, /* room for a job that shares nodes */
	NP_NODE_IDLE,
};

enum np_job_state {
	NP_JOB_RUNNING, /* or suspended, or completing: it holds its nodes */
	NP_JOB_READY,	/* pending, and may start at any moment */
	NP_JOB_WAITING, /* pending, but not by itself: held, a dependency, a
			   limit, or a begin time of its own in the future */
};

/* What an administrator wants for the job's partition. */
enum np_mode { NP_MODE_OFF, NP_MODE_ADVISE, NP_MODE_PREFER, NP_MODE_ENFORCE };

enum np_job_flag {
	NP_JOB_SHARES_NODES = 1 << 0, /* others may run on its nodes */
	NP_JOB_SPANS = 1 << 1,	/* will use an uplink although it would fit
				   under one leaf */
	NP_JOB_NODELIST = 1 << 2,      /* asks for nodes by name */
	NP_JOB_RESERVATION = 1 << 3,   /* runs in a reservation */
	NP_JOB_HETEROGENEOUS = 1 << 4, /* component of a heterogeneous job */
	NP_JOB_CONSTRAINT = 1 << 5,    /* asks for nodes in a way that the
					  caller cannot follow */
	NP_JOB_CHANGING = 1 << 6,      /* of an owner who changes jobs faster
					  than the caller can write them */
	NP_JOB_UNPROVED = 1 << 7,      /* that it runs this application is its
					  owner's word alone: seen by the
					  owner's jobs only, as if the profile
					  were not trusted */
};

/* What was written into a pending job before, by an earlier decision. */
enum np_prior {
	NP_PRIOR_NONE,	   /* nothing was decided yet */
	NP_PRIOR_ANYWHERE, /* decided, and no leaf is closed to it */
	NP_PRIOR_LEAVES,   /* it is confined to prior_leaves */
	NP_PRIOR_DEFERRED, /* it waits until prior_until_sec */
};

#define NP_PROFILE_UNKNOWN (-1)
#define NP_JOB_MAX_NODES NP_LEAVES_MAX_NODES
#define NP_SNAPSHOT_MAX_JOBS 1000000

struct np_job {
	uint32_t id;
	uint32_t owner; /* uid */
	enum np_job_state state;
	enum np_mode mode;
	uint16_t partition; /* any numbering of the caller's */
	unsigned flags;	    /* enum np_job_flag */
	int32_t profile;    /* handle of np_conflict.h, or unknown */

	/* Pending jobs. */
	uint32_t tasks;	    /* array tasks in this record; 1: no array, or
			       one task that has a record of its own */
	uint32_t array;	    /* id of the array it belongs to; 0: none */
	uint32_t task;	    /* lowest index in the array of its tasks */
	uint32_t nodes_min; /* nodes it needs, at least 1 */
	uint32_t switches;  /* --switches: at most so many leaves; 0: any */
	uint32_t priority;
	int64_t submit_sec;
	int64_t eligible_sec; /* the user's own begin time */
	uint32_t candidates;  /* set of nodes: partition, features, the user's
				 own exclusions; never ours */
	enum np_prior prior;
	const uint64_t *prior_leaves; /* bitmap */
	int64_t prior_until_sec;
	double held_sec; /* how long placement has held it back so far, as
			    the last decision counted it */

	/* Running jobs. */
	int64_t start_sec;
	const uint32_t *node; /* only while the job is added */
	size_t n_nodes;
	const uint32_t *leaf; /* that it is on, ascending; of a sealed
				 snapshot */
	size_t n_leaves;
};

/*
 * By place, not by node (struct np_leaves): usable, idle, room and sets.  Jobs are
 * in the order in which they were added.
 */
struct np_snapshot {
	int refs;
	bool sealed;
	struct np_leaves *leaves;
	int64_t now_sec, last_sec;
	uint64_t *usable, *idle, *room; /* room: idle or mixed */
	struct np_numbers set;	/* bitmaps of nodes */
	uint64_t *scratch;	/* one more */
	struct np_job *job;
	size_t n_jobs, job_room;
	/* What jobs point to: leaf, and prior_leaves. */
	uint32_t *on;
	uint64_t *prior;
	size_t n_on, on_room, n_prior, prior_room;
};

/*
 * Begin a snapshot taken at now_sec; last_sec: when the last decision was
 * taken, 0 if there was none.  Every node is NP_NODE_AWAY until said otherwise.
 * The leaves are shared.  *out: release with np_snapshot_unref().  Returns 0,
 * -EINVAL (times) or -ENOMEM.
 */
int np_snapshot_new(struct np_leaves *leaves, int64_t now_sec,
		    int64_t last_sec, struct np_snapshot **out,
		    struct np_err *err);
struct np_snapshot *np_snapshot_ref(struct np_snapshot *s);
void np_snapshot_unref(struct np_snapshot *s); /* NULL is allowed */

/* Returns 0, or -EINVAL: no such node or state, or already sealed. */
int np_snapshot_node(struct np_snapshot *s, size_t node,
		     enum np_node_state state, struct np_err *err);

/*
 * The handle of a set of nodes, given as a bitmap; the same set has the same
 * handle and is kept once.  Returns 0,
 * -EINVAL (bits beyond the last node, sealed) or -ENOMEM.
 */
int np_snapshot_nodes(struct np_snapshot *s, const uint64_t *nodes,
		      uint32_t *handle, struct np_err *err);

/*
 * Add a job; everything is copied.  Returns 0, -EINVAL with err (a value that
 * cannot be, the job and the value named; or sealed), -E2BIG or -ENOMEM.
 */
int np_snapshot_job(struct np_snapshot *s, const struct np_job *job,
		    struct np_err *err);

/* No more additions. */
void np_snapshot_seal(struct np_snapshot *s);

/* Priority, age, number; below 0 if x comes first. */
int np_order_precedence(const struct np_job *x, const struct np_job *y);
void np_order_jobs(const struct np_snapshot *s, uint32_t *job, size_t n);
bool np_order_ready(const struct np_snapshot *s, const struct np_job *j);
/* Sort, drop repeats, return how many are left. */
size_t np_order_unique(uint32_t *number, size_t n);
/* Where key is among n ascending numbers; n if it is not. */
size_t np_order_find(const uint32_t *number, size_t n, uint32_t key);

static inline const uint64_t *np_snapshot_set(const struct np_snapshot *s,
					      uint32_t handle)
{
	return (const uint64_t *)s->set.bytes +
	       handle * s->leaves->node_words;
}

#endif
