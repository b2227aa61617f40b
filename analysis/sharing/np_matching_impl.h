/* Between the order of sources and the sums over states. */
#ifndef NP_MATCHING_IMPL_H
#define NP_MATCHING_IMPL_H

#include "np_matching.h"

/* One destination of a source, with all their parallel edges. */
struct np_matching_choice {
	uint32_t slot; /* of the destination, in the states of this step */
	uint32_t times; /* parallel edges */
	bool closes;   /* no later source has this destination */
};

struct np_matching_step {
	uint32_t source;
	size_t first, n; /* of choice[] */
};

struct np_matching_plan {
	size_t n_steps, n_slots; /* slots: most open destinations */
	struct np_matching_step *step;
	struct np_matching_choice *choice;
	uint32_t *choice_of; /* of each edge */
};

/* Ways to begin; each may be by far the best. */
enum np_matching_order {
	NP_MATCHING_FEWEST, /* with the source of the fewest edges */
	NP_MATCHING_MOST,
	NP_MATCHING_N_ORDERS
};

/*
 * An order for p, one connected graph, in which each source is next to those
 * before it and few destinations are open.  Returns 0 or -ENOMEM.
 */
int np_matching_plan(const struct np_ports *p, enum np_matching_order order,
		     struct np_matching_plan *out);
void np_matching_plan_free(struct np_matching_plan *plan);

/*
 * The sums; as np_matching_all() for this one order.  *n_done: how many
 * sources were taken, all of them unless the result is -E2BIG.
 */
int np_matching_count(const struct np_matching_plan *plan, size_t n_edges,
		      size_t max_states, double *share, double *ln_sets,
		      size_t *n_done);

#endif
