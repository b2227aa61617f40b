/*
 * Groups of requests that share one set of leaves: those of a class, or where
 * jobs of the class conflict with each other, every request by itself, or an
 * array whose tasks find leaves enough where they do not.  A subgroup are the
 * requests of a group with the same candidate nodes.  A party are all groups
 * that everybody sees, or those of one owner that others do not see: leaves are
 * shared party by party, as who has no part in one cannot be in its way.
 *
 * Leaves change hands by np_group_hold() and np_group_drop() alone.  Always:
 * - what a subgroup counts (in_free, in_usable), and the group's supply, is
 *   what the leaves in the group's set offer;
 * - no two groups hold a leaf that their classes must not share, if every leaf
 *   was taken with np_group_can_take() or after np_group_clear().
 */
#ifndef NP_GROUP_H
#define NP_GROUP_H

#include "np_request.h"

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
	} *offer; /* leaves to ask for, of np_grow.c */
	size_t n_offers;
	uint16_t *loss; /* [class * n_leaves + leaf], of np_grow.c */
	/* What np_group_roll_back() undoes. */
	struct np_taking {
		uint32_t group, leaf;
		bool away; /* from the group; else by it */
	} *undo;
	size_t n_undo, undo_room;
};

/* Returns 0 or -ENOMEM; to be freed in either case. */
int np_groups_init(struct np_groups *g, struct np_problem *p,
		   struct np_classes *classes, struct np_requests *requests);
void np_groups_free(struct np_groups *g);
/* What is needed only until all leaves are shared. */
void np_groups_shared(struct np_groups *g);

/* Nodes that a subgroup has on the leaves of its group. */
uint64_t np_group_free_in(const struct np_groups *g,
			  const struct np_subgroup *q);
uint64_t np_group_usable_in(const struct np_groups *g,
			    const struct np_subgroup *q);
/* Can a request that has a group be served, now or later? */
bool np_group_meets(const struct np_groups *g, const struct np_request *r);

/* np_group_hold.c: leaves change hands. */
void np_group_hold(struct np_groups *g, uint32_t group, uint32_t leaf);
void np_group_drop(struct np_groups *g, uint32_t group, uint32_t leaf);
/* Nobody whom the group must avoid is on the leaf. */
bool np_group_can_take(const struct np_groups *g, uint32_t group,
		       uint32_t leaf);
/*
 * Would every holder of a leaf that the group of a request must avoid spare
 * it?  With take: and let them leave.  0, -EBUSY or -ENOMEM.
 */
int np_group_clear(struct np_groups *g, uint32_t rank, uint32_t leaf,
		   bool take);
/* What is logged is undone: since groups->n_undo was set to 0. */
int np_group_log(struct np_groups *g, uint32_t group, uint32_t leaf, bool away);
void np_group_roll_back(struct np_groups *g);

/*
 * np_grow.c: the rule "grow" of np_allocation.h, for every request of a party
 * once.
 */
int np_grow(struct np_groups *g, const struct np_party *party, bool *changed);

static inline struct np_class *np_group_class(const struct np_groups *g,
					      uint32_t group)
{
	return &g->classes->at[g->at[group].class];
}

#endif
