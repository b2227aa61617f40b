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

#include "np_prefer.h"

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
