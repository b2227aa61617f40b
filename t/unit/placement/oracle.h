/*
 * What np_conflict.h and np_placement.h promise, worked out job by job and in
 * floating point, to hold the decision against.
 */
#ifndef NP_T_ORACLE_H
#define NP_T_ORACLE_H

#include "toy.h"

/* Must a pending job avoid, on a leaf, what runs there (b < 0), or job b? */
bool o_avoids(const struct world *w, size_t a, long b, uint32_t leaf);
/* Either of two pending jobs must avoid the other; a == b: two of its tasks. */
bool o_conflict(const struct world *w, size_t a, size_t b, uint32_t leaf);

/* Is a pending job placement's to decide (in a mode that is applied)? */
bool o_ours(const struct world *w, size_t job);

/* Leaves with any candidate node; those that a outcome opens among them. */
uint64_t o_reach(const struct world *w, size_t job);
uint64_t o_open(const struct world *w, size_t job, const struct np_outcome *v);

/*
 * Candidate nodes on the leaves, and on none: all that are usable, or free
 * for the job; with its --switches.
 */
unsigned o_nodes(const struct world *w, size_t job, uint64_t leaves,
		 bool only_free);

#endif
