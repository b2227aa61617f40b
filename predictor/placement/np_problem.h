/*
 * What one decision is given: a snapshot, predictions, a policy and the nodes
 * there are; and the memory that it works in.
 *
 * After np_problem_init() only the memory and the counts grow, and a set that
 * was counted is not counted again.
 */
#ifndef NP_PROBLEM_H
#define NP_PROBLEM_H

#include "np_bits.h"
#include "np_counts.h"
#include "np_placement.h"

#define NP_NONE UINT32_MAX

struct np_problem {
	const struct np_snapshot *s;
	const struct np_press *t;
	struct np_policy policy;
	const struct np_outcome *outcome; /* per job: held_sec is known */
	uint32_t limit;		/* load */
	bool what_if; /* advise partitions enforced as well */
	size_t n_leaves, lw;

	struct np_counts **counts; /* per set of the snapshot; NULL: unused */
	uint16_t *leaf_usable, *leaf_free; /* of all nodes, per leaf */
	uint32_t *leaf_order; /* most free nodes first */
	uint32_t *private_owner; /* of jobs that others do not see; ascending */
	size_t n_private;
	uint64_t *none;	   /* lw words of 0 */
	uint64_t *scratch; /* lw words */

	struct np_problem_block *blocks; /* what np_problem_alloc() gave */
};

/*
 * other: of the same snapshot, or NULL; its counts are used as they are, so it
 * lives longer.  Returns 0 or -ENOMEM; to be freed in either case.
 */
int np_problem_init(struct np_problem *p, const struct np_snapshot *s,
		    const struct np_press *t, const struct np_policy *policy,
		    const struct np_outcome *outcome, bool what_if,
		    const struct np_problem *other);
void np_problem_free(struct np_problem *p);
/* Zeroed, and at least one item; freed with the problem. */
void *np_problem_alloc(struct np_problem *p, size_t n, size_t item);

/* Is the job's application known, as far as the job's owner goes? */
/* Is it seen by jobs of others than its owner? */
bool np_problem_trusted(const struct np_problem *p, const struct np_job *j);
bool np_problem_known(const struct np_problem *p, const struct np_job *j);
/* Why a job is not ours to decide; 0 (RUNNING) if it is or if it runs. */
enum np_why np_problem_aside(const struct np_problem *p,
			     const struct np_job *j, int64_t now_sec);
bool np_problem_enforced(const struct np_problem *p, const struct np_job *j);
/* The policy's limit of time for the job's mode. */
bool np_problem_held_enough(const struct np_problem *p, const struct np_job *j,
			    double held_sec);

/* What a set of the snapshot has on each leaf; NULL: out of memory. */
const struct np_counts *np_problem_counts(struct np_problem *p, uint32_t set);
struct np_counts *np_problem_counts_new(struct np_problem *p);
/* Whether usable candidate nodes suffice at all, whoever else runs. */
bool np_problem_enough(const struct np_problem *p, const struct np_job *j,
		       const struct np_counts *c);

#endif
