/*
 * What runs on each leaf, and what load it has there.
 *
 * A tenant of a leaf is what runs there of one profile and touch, and of one
 * owner where others do not see it.  Tenants stay as they are; what changes is
 * how much of each sensitive one's room the classes that hold the leaf may
 * take.  Always:
 * - the sensitive tenants of a leaf come before its others;
 * - tenant.extra is the most that one arrival noted on the leaf since the last
 *   np_leaf_load_clear() adds to it.
 *
 * What an owner has on a leaf that others do not see is an estate.
 */
#ifndef NP_LEAF_LOAD_H
#define NP_LEAF_LOAD_H

#include "np_problem.h"

#define NP_ANYBODY UINT32_MAX

struct np_tenant {
	uint16_t profile;
	uint8_t touch;
	uint16_t extra; /* most that an arrival would add */
	uint32_t n;
	uint32_t load;	/* of one of them, from the trusted others here */
	uint32_t owner;
	uint32_t job;	/* one of them */
};

struct np_aggressor {
	uint16_t profile;
	uint8_t touch;
	uint32_t n;
};

struct np_tenants {
	struct np_tenant *tenant;
	uint32_t *first;     /* n_leaves + 1 */
	/* n_leaves: an arrival or two could be too much for so many. */
	uint32_t *sensitive;
	/* Those of them that press on anybody, once more, packed. */
	struct np_aggressor *aggressor;
	uint32_t *first_aggressor;
};

struct np_estate {
	uint32_t leaf;
	uint32_t first, end; /* in own.tenant */
	uint32_t felt;	     /* where its loads begin in felt */
};

struct np_leaf_loads {
	struct np_problem *p;
	struct np_tenants seen, own; /* trusted; seen by their owner alone */
	/* Of the i-th private owner, in order of leaves: from first_estate[i]
	   on. */
	struct np_estate *estate;
	uint32_t *first_estate;
	/*
	 * Load from an estate of each tenant of its leaf that all see, then of
	 * each of its own, which itself counts once less.
	 */
	uint32_t *felt;
};

/* Returns 0 or -ENOMEM. */
int np_leaf_loads_init(struct np_leaf_loads *l, struct np_problem *p);

/* What an owner has, in order of leaves; NULL: nothing. */
const struct np_estate *np_leaf_load_estates(const struct np_leaf_loads *l,
					     uint32_t owner, size_t *n);
/* Load from an estate, one of its tenants left out. */
uint64_t np_leaf_load_from(const struct np_leaf_loads *l,
			   const struct np_estate *e, uint32_t profile,
			   uint32_t touch, const struct np_tenant *but);
/* The same from what an owner has on a leaf, if anything. */
uint64_t np_leaf_load_own(const struct np_leaf_loads *l, uint32_t profile,
			  uint32_t touch, uint32_t leaf, uint32_t owner,
			  const struct np_tenant *but);

/* A job that all see may come; one more would be too much for a tenant. */
void np_leaf_load_note(struct np_leaf_loads *l, uint32_t leaf,
		       uint32_t profile, uint32_t touch);
bool np_leaf_load_full(const struct np_leaf_loads *l, uint32_t leaf,
		       uint32_t profile, uint32_t touch);
/* None of those noted may come any more. */
void np_leaf_load_clear(struct np_leaf_loads *l, uint32_t leaf);

/* The largest load of what runs on a leaf and all see. */
uint32_t np_leaf_load_worst(const struct np_leaf_loads *l, size_t leaf);

#endif
