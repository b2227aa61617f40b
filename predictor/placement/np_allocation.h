/*
 * The allocation of leaves: all parts of one decision, each of which depends
 * on those before it alone.  It is kept for the submissions that follow.
 *
 * Leaves are shared among groups in conflict by three rules, applied until
 * nothing changes; each keeps every pair that must be apart apart, so the
 * result is sound whenever they stop:
 *
 *   keep   A group keeps the leaves that were written for it before, as far as
 *          they are still open to it.
 *   grow   In order of precedence, a request whose group has too few free nodes
 *          to start it and those of its class before it now, or too few usable
 *          ones to start it ever, takes leaves: such as nobody holds that it
 *          must avoid, then such as others can spare.  Another group spares a
 *          leaf if none of its requests of higher precedence loses by it.  All
 *          or nothing: leaves are taken only if that is enough.
 *   widen  What nobody needs goes to whoever has least for its demand.
 *
 * A request is made better off only at the cost of requests behind it, so the
 * rules come to rest; what they come to rest at is kept by "keep" the next
 * time.  Jobs of mode prefer come after all groups, and take nothing from them.
 */
#ifndef NP_ALLOCATION_H
#define NP_ALLOCATION_H

#include "np_class.h"

/*
 * What asks for leaves: pending jobs and tasks of arrays that are ours, in
 * order of precedence.
 *
 * A request of a job or of a task stays as it is made; the three fields that
 * groups_init() fills in do so from then on.  Always:
 * - order holds the jobs that may start before those that cannot by themselves;
 * - the requests of a job follow each other, in order of its tasks.
 */

struct np_request {
	uint32_t job; /* index in the snapshot */
	uint32_t class;
	uint32_t need; /* nodes */
	uint32_t task; /* 0 .. */
	bool ready;

	uint32_t group, subgroup; /* NP_NONE: of a class that is quiet */
	uint64_t cum; /* nodes wanted by the subgroup up to here */
};

struct np_requests {
	uint32_t *order; /* jobs */
	size_t n_order;
	uint32_t *class; /* per job; NP_NONE: not ours, or too many classes */
	struct np_request *at; /* of enforced jobs */
	size_t n;
	uint32_t *of_job; /* first request of a job, or NP_NONE */
};

/*
 * Groups of requests that share one set of leaves: those of a class, or where
 * jobs of the class conflict with each other, every request by itself, or an
 * array whose tasks find leaves enough where they do not.  A subgroup are the
 * requests of a group with the same candidate nodes.  A party are all groups
 * that everybody sees, or those of one owner that others do not see: leaves are
 * shared party by party, as who has no part in one cannot be in its way.
 *
 * Leaves change hands by group_hold() and group_drop() alone.  Always:
 * - what a subgroup counts (in_free, in_usable), and the group's supply, is
 *   what the leaves in the group's set offer;
 * - no two groups hold a leaf that their classes must not share, if every leaf
 *   was taken with group_can_take() or after group_clear().
 */

struct np_subgroup {
	const struct np_counts *counts;
	const uint16_t *free; /* the column of counts that applies */
	uint32_t loose_free;
	uint32_t group, next; /* next subgroup of the group */
	uint32_t switches;
	uint32_t set;	/* handle */
	bool shares;
	/*
	 * In this sweep: from so many free or usable nodes on, a request asked
	 * for them in vain.  Of subgroups alike but for the group, while that
	 * holds nothing, the first one says it for all.
	 */
	uint64_t free_in_vain, usable_in_vain;
	uint32_t like, next_like;
	uint32_t max_need;
	uint32_t first, n, n_ready; /* in groups->by_subgroup */
	uint64_t wanted; /* while requests are added: sum of weights */
	uint64_t in_free, in_usable; /* nodes on the leaves held */
};

struct np_group {
	uint32_t class;
	uint32_t subgroup; /* first */
	uint32_t next;	 /* of the same class */
	bool ready;	 /* has a request that may start */
	bool together;	 /* tasks of one array, kept on leaves for several */
	bool placed;	 /* has a request whose need is met */
	bool widened;	 /* wants no leaf but such as somebody left since */
	uint64_t *set, *reach;
	uint64_t demand, supply; /* nodes */
};

/* Where those of a party begin; they end where the next one's begin. */
struct np_party {
	uint32_t request; /* in groups->by_party */
	uint32_t group, subgroup;
};

struct np_groups {
	struct np_problem *p;
	struct np_classes *classes;
	struct np_requests *requests;
	struct np_group *at; /* by parties, then in order of precedence */
	size_t n;
	uint64_t *bits;
	struct np_party *party; /* n_parties + 1; all see the first one */
	size_t n_parties;
	/* Ranks: places in requests->at. */
	uint32_t *by_party, *by_subgroup;
	struct np_subgroup *subgroup;
	size_t n_subgroups, subgroup_room;
	struct np_group_class {
		uint32_t first, last; /* groups, in order of precedence */
		uint32_t like; /* first of the subgroups not alike */
		/* Of a class of several groups, else NULL.  Per leaf: the last
		   one that took it; bits, from the party's first: all. */
		uint32_t *taker;
		uint64_t *all;
	} *of_class;
	uint64_t *left; /* leaves that somebody left since they were widened */
	struct np_offer {
		uint32_t leaf;
		uint16_t nodes; /* 0: taken */
		uint16_t loss;
	} *offer; /* leaves to ask for, of the rule grow */
	size_t n_offers;
	uint16_t *loss; /* [class * n_leaves + leaf], of the rule grow */
	/* What group_roll_back() undoes. */
	struct np_taking {
		uint32_t group, leaf;
		bool away; /* from the group; else by it */
	} *undo;
	size_t n_undo, undo_room;
};

/* Can a request that has a group be served, now or later? */
bool np_group_meets(const struct np_groups *g, const struct np_request *r);

static inline struct np_class *np_group_class(const struct np_groups *g,
					      uint32_t group)
{
	return &g->classes->at[g->at[group].class];
}

/*
 * Mode prefer: keep a job apart only where that cannot delay it.
 *
 * Jobs are looked at in Slurm's order.  A job is confined to leaves on which
 * so many nodes are free that it can start now even if every job before it
 * took all it wants right there.  Where that is not sure it may go anywhere,
 * also beside a job it conflicts with.
 *
 * Always: what the jobs looked at so far may take is in reserved, on each leaf
 * that they are confined to, or else in wanted, of their partition.
 */

struct np_prefer {
	struct np_problem *p;
	struct np_classes *classes;
	const struct np_requests *requests;
	const struct np_groups *groups;
	uint32_t *reserved;  /* per leaf: nodes for confined jobs */
	uint32_t *partition; /* n_partitions, ascending */
	uint64_t *wanted;    /* per partition: by jobs that may go anywhere */
	uint64_t *reach;     /* lw words each: leaves of its jobs */
	size_t n_partitions;
	uint64_t **set; /* per job; NULL: not confined */
};

/*
 * Leaves on which a job of mode prefer can be kept apart and still start now,
 * in set[] (lw words).  false: there are none.
 */
bool np_prefer_set(const struct np_prefer *f, const struct np_job *j,
		   uint32_t class, const struct np_counts *c, uint64_t *set);
/* A job came that may take nodes before the next one, on leaves[]. */
void np_prefer_admit(struct np_prefer *f, const struct np_job *j,
		     bool confined, const uint64_t *leaves);

struct np_allocation {
	struct np_problem problem;
	struct np_leaf_loads loads;
	struct np_classes classes;
	struct np_requests requests;
	struct np_groups groups;
	struct np_prefer prefer;
};

/*
 * other: one of the same snapshot that lives longer, or NULL.  *out: free with
 * np_allocation_free().  Returns 0 or -ENOMEM.
 */
int np_allocation_new(const struct np_snapshot *s, const struct np_press *t,
		      const struct np_policy *policy,
		      const struct np_outcome *outcome, bool what_if,
		      const struct np_allocation *other,
		      struct np_allocation **out);
void np_allocation_free(struct np_allocation *a); /* NULL is allowed */

#endif
