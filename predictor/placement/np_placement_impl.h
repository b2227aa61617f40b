#ifndef NP_PLACEMENT_IMPL_H
#define NP_PLACEMENT_IMPL_H

#include "np_allocation.h"
#include "np_shares.h"

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
	struct np_outcome *outcome; /* per job */

	struct np_admitted *journal;
	size_t n_admitted, journal_room;
	struct np_shares admitted; /* by owner */
	/* Classes of p->real with jobs that could not be written. */
	uint32_t *loose;
	size_t n_loose;
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

/* np_held.c: fill in held_sec of each job's outcome.  0 or -ENOMEM. */
int np_held_back(const struct np_snapshot *s, struct np_outcome *outcome);

/* np_placement_judge.c: fill in the rest of p->outcome.  0 or -ENOMEM. */
int np_placement_judge(struct np_placement *p);
/*
 * The same of one outcome: a class is kept to the leaves in set, of those it
 * can reach (0 or -ENOMEM); or a job waits, of NP_NONE if its class is not
 * known.  The cause is FROM_PENDING where no conflict is found.
 */
int np_placement_confine(struct np_allocation *a, uint32_t class,
			 const uint64_t *set, const uint64_t *reach,
			 struct np_outcome *v);
void np_placement_defer(struct np_allocation *a, const struct np_job *j,
			uint32_t class, const uint64_t *reach, int64_t now_sec,
			struct np_outcome *v);

#endif
