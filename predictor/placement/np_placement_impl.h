#ifndef NP_PLACEMENT_IMPL_H
#define NP_PLACEMENT_IMPL_H

#include "np_allocation.h"

struct np_admitted {
	struct np_job job;
	int64_t at_sec;
	uint64_t *leaves; /* that it may use */
	uint32_t class;
	bool class_known; /* others of its allocation keep away from it */
	bool confined;
};

struct np_placement {
	struct np_snapshot *s;
	struct np_press *t;
	struct np_policy policy;
	/*
	 * What is done, and what would be done were partitions in advise
	 * enforced; the same where nothing makes a difference.
	 */
	struct np_allocation *real, *advised;
	double *held_sec;
	struct np_outcome *outcome;
	struct np_pool task;   /* const uint64_t *: leaves of array tasks */
	uint32_t *first_task;  /* per job */

	struct np_pool journal; /* struct np_admitted */
	struct np_counts *scratch; /* of the job being submitted */
	uint64_t *scratch_set;	   /* places */
	uint64_t *scratch_leaves;
};

/* The allocation that decides for a job. */
static inline struct np_allocation *
np_placement_allocation(const struct np_placement *p, const struct np_job *j)
{
	return j->mode == NP_MODE_ADVISE ? p->advised : p->real;
}

/*
 * The worst cause on the first few closed leaves of a class, or in *cause
 * nothing if none is closed by a conflict.  open: leaves that are not closed.
 */
void np_placement_cause(const struct np_classes *c, uint32_t class,
			const uint64_t *reach, const uint64_t *open,
			struct np_cause *cause);

/* Leaves that are not closed: those in set, and those out of reach. */
uint64_t *np_placement_open(struct np_problem *p, const uint64_t *set,
			    const uint64_t *reach);

/* np_held.c: seconds that each job has been held back by now.  0 or -ENOMEM. */
int np_held_sec(const struct np_snapshot *s, double *held_sec);

/* np_placement_judge.c: fill in p->outcome.  0 or -ENOMEM. */
int np_placement_judge(struct np_placement *p);
/* When a deferral ends. */
int64_t np_placement_until(const struct np_policy *policy,
			   const struct np_job *j, double held_sec,
			   int64_t now_sec);

#endif
