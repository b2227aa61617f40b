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
#ifndef NP_PREFER_H
#define NP_PREFER_H

#include "np_group.h"

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

/* Confines the jobs that can be.  Returns 0 or -ENOMEM. */
int np_prefer_init(struct np_prefer *f, struct np_problem *p,
		   struct np_classes *classes,
		   const struct np_requests *requests,
		   const struct np_groups *groups);
/*
 * Leaves on which a job of mode prefer can be kept apart and still start now,
 * in set[] (lw words).  false: there are none.
 */
bool np_prefer_set(const struct np_prefer *f, const struct np_job *j,
		   uint32_t class, const struct np_counts *c, uint64_t *set);
/* A job came that may take nodes before the next one, on leaves[]. */
void np_prefer_admit(struct np_prefer *f, const struct np_job *j,
		     bool confined, const uint64_t *leaves);

#endif
