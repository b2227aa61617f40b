/*
 * The allocation of leaves: everything that one placement decision computes,
 * part by part, where each part depends only on those before it. It is kept for
 * the submissions that arrive until the next decision. Internal to the
 * placement decision.
 *
 * Conflicting groups of jobs share the leaves by three rules. They are applied
 * in turn until nothing changes. Each keeps apart every pair that must be
 * apart, so the result is valid whenever the iteration stops.
 *
 *   keep   A group keeps the leaves that an earlier decision wrote into its
 *          jobs, as far as these are still open to it.
 *   grow   In order of precedence, each request gets more leaves if its group
 *          has too few free nodes to start it and the earlier requests of its
 *          subgroup now, or too few usable nodes to start it at all. It takes
 *          leaves that no conflicting group holds, then leaves that others can
 *          spare. A group can spare a leaf if none of its requests of higher
 *          precedence loses by it. All or nothing: a request takes no leaf
 *          unless it gets enough of them.
 *   widen  Leaves that no group needs go to the group that has least for its
 *          demand.
 *
 * A request only ever gains at the expense of requests of lower precedence, so
 * the iteration converges, and "keep" makes the next decision start from its
 * result. Jobs in mode prefer come after all groups and take nothing from them.
 */
#ifndef NP_ALLOCATION_H
#define NP_ALLOCATION_H

#include "np_class.h"

/*
 * ---- Requests: the pending jobs and array tasks that need leaves ----
 *
 * Requests are sorted by precedence and do not change, except for the three
 * fields that groups_init() sets once. Invariants:
 *
 * - In order[], jobs that may start precede those that cannot by themselves.
 * - The requests of a job are adjacent, in the order of its tasks.
 */

struct np_request {
	uint32_t job; /* index in the snapshot */
	uint32_t class;
	uint32_t need; /* nodes */
	uint32_t task; /* counts up from 0 within the job */
	bool ready;    /* the job may start */

	uint32_t group, subgroup; /* NP_NONE: its class is conflict-free */
	uint64_t cum_nodes; /* that the subgroup wants, up to this request */
};

struct np_requests {
	uint32_t *order; /* jobs that placement decides about */
	size_t n_order;
	uint32_t *class; /* per job; NP_NONE: not decided about, or no class */
	struct np_request *at; /* of jobs in enforced partitions */
	size_t n;
	uint32_t *of_job; /* first request of a job, or NP_NONE */
};

/*
 * ---- Groups: requests that share one set of leaves ----
 *
 * All requests of a class form one group. Where jobs of the class conflict with
 * each other, each request is a group of its own, unless it belongs to an array
 * that finds enough leaves on which its tasks do not conflict. The requests of
 * a group with the same candidate nodes form a subgroup.
 *
 * A visibility group (vgroup) are all groups that everybody sees, or those of
 * one owner that others do not see. Leaves are shared by one visibility group
 * after the other, since a group cannot be in the way of one that does not see
 * it.
 *
 * Only group_hold() and group_drop() transfer leaves. Invariants:
 *
 * - The counts in_free and in_usable of a subgroup, and the group's supply, are
 *   those of the leaves in the group's set.
 * - No two groups hold a leaf that their classes must not share, provided that
 *   each was taken after group_can_take() or group_clear() allowed it.
 */

struct np_subgroup {
	const struct np_counts *counts;
	const uint16_t *free; /* the column of counts that applies to it */
	uint32_t no_leaf_free;
	uint32_t group, next; /* next subgroup of the group, or NP_NONE */
	uint32_t switches;
	uint32_t set;	/* handle of the candidate nodes */
	bool shares;	/* its jobs share nodes */
	/*
	 * Smallest number of free, or usable, nodes that a request failed to
	 * get in the current pass of "grow". Subgroups that differ only in
	 * their group share it, in the first of them, while they hold no leaf.
	 */
	uint64_t free_failed, usable_failed;
	uint32_t like, next_like; /* first such subgroup; the next one */
	uint32_t max_need; /* largest need of a request, nodes */
	uint32_t first, n; /* requests, in groups.by_subgroup */
	uint32_t n_ready;  /* of these may start; they come first */
	uint64_t wanted;   /* nodes that the ready requests want in total */
	uint64_t in_free, in_usable; /* nodes on the leaves held */
};

struct np_group {
	uint32_t class;
	uint32_t subgroup; /* first */
	uint32_t next;	 /* group of the same class, or NP_NONE */
	bool ready;	 /* has a request that may start */
	bool together;	 /* tasks of one array that do not conflict on its
			    leaves */
	bool placed;	 /* has a request that is served */
	bool widened;	 /* was offered all leaves; only vacated ones are new */
	uint64_t *set, *reach; /* leaves held; leaves with candidate nodes */
	uint64_t demand, supply; /* nodes */
};

/* Where a visibility group begins; it ends where the next one begins. */
struct np_vgroup {
	uint32_t request; /* in groups.by_vgroup */
	uint32_t group, subgroup;
};

struct np_groups {
	struct np_problem *p;
	struct np_classes *classes;
	struct np_requests *requests;
	struct np_group *at; /* by visibility group, then by precedence */
	size_t n;
	uint64_t *bits; /* memory of the groups' bitmaps */
	struct np_vgroup *vgroup; /* n_vgroups + 1; the first is public */
	size_t n_vgroups;
	/* Ranks, which are indices in requests.at. */
	uint32_t *by_vgroup, *by_subgroup;
	struct np_subgroup *subgroup;
	size_t n_subgroups, subgroup_room;
	struct np_group_class {
		uint32_t first, last; /* groups, by precedence */
		uint32_t like; /* list of the subgroups that differ */
		/*
		 * Only of classes with several groups, else NULL. Per leaf: the
		 * last group that took it. Bitmap of these groups, counted from
		 * the first one of the visibility group.
		 */
		uint32_t *last_taker;
		uint64_t *all;
	} *of_class;
	uint64_t *vacated; /* leaves given up since the last "widen" */
	struct np_offer {
		uint32_t leaf;
		uint16_t nodes; /* 0: taken */
		uint16_t loss;	/* see groups.loss */
	} *offer; /* leaves that "grow" may ask for */
	size_t n_offers;
	/* 1 + classes that lose the leaf if the class takes it; 0: not yet
	   counted. At [class * n_leaves + leaf], for "grow". */
	uint16_t *loss;
	/* Transfers that group_roll_back() undoes. */
	struct np_transfer {
		uint32_t group, leaf;
		bool gives; /* the group gave the leaf up; else it took it */
	} *undo;
	size_t n_undo, undo_room;
};

/* Whether its leaves have enough usable nodes for a request with a group. */
bool np_group_served(const struct np_groups *g, const struct np_request *r);

static inline struct np_class *np_group_class(const struct np_groups *g,
					      uint32_t group)
{
	return &g->classes->at[g->at[group].class];
}

/*
 * ---- Mode prefer: keep a job apart only where that cannot delay it ----
 *
 * Jobs are considered in Slurm's order. A job is restricted to leaves with so
 * many free nodes that it can start now, even if every job before it took all
 * it wants on these very leaves. Where that is not certain the job is
 * unrestricted, and may run concurrently with jobs that it conflicts with.
 *
 * Invariant: what the jobs considered so far may take is in reserved, on each
 * leaf that they are restricted to, or otherwise in wanted, of their partition.
 */

struct np_prefer {
	struct np_problem *p;
	struct np_classes *classes;
	const struct np_requests *requests;
	const struct np_groups *groups;
	uint32_t *reserved;  /* per leaf: nodes for restricted jobs */
	uint32_t *partition; /* n_partitions, ascending */
	uint64_t *wanted;    /* per partition: nodes for unrestricted jobs */
	uint64_t *reach;     /* per partition: bitmap of its jobs' leaves */
	size_t n_partitions;
	uint64_t **set; /* per job: leaves; NULL: unrestricted */
};

/*
 * Find leaves, set[] (lw words), on which a job of mode prefer is kept apart
 * and can still start now. false: there are none.
 */
bool np_prefer_find(const struct np_prefer *f, const struct np_job *j,
		    uint32_t class, const struct np_counts *c, uint64_t *set);
/*
 * A job was submitted that may take nodes before the next one does: on leaves[]
 * if it is restricted to them, else anywhere.
 */
void np_prefer_admit(struct np_prefer *f, const struct np_job *j,
		     bool restricted, const uint64_t *leaves);

/* ---- All of it ---- */

struct np_allocation {
	struct np_problem problem;
	struct np_leaf_loads loads;
	struct np_classes classes;
	struct np_requests requests;
	struct np_groups groups;
	struct np_prefer prefer;
};

/*
 * other: allocation of the same snapshot that lives longer, or NULL. *out: free
 * with np_allocation_free(). Returns 0 or -ENOMEM.
 */
int np_allocation_new(const struct np_snapshot *s, const struct np_slowdowns *t,
		      const struct np_policy *policy,
		      const struct np_outcome *outcome, bool what_if,
		      const struct np_allocation *other,
		      struct np_allocation **out);
void np_allocation_free(struct np_allocation *a); /* NULL is allowed */

#endif
