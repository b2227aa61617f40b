/*
 * Which of the jobs and steps of a cluster were beside a step: on its leaves,
 * while it ran.  Pure, but for np_beside_look().
 */
#ifndef NP_BESIDE_H
#define NP_BESIDE_H

#include "np_cluster.h"
#include "np_numbers.h"

struct np_beside {
	const struct np_leafmap *leaves;
	struct np_numbers own; /* leaves of the step */
	struct np_record *r;
};

struct np_candidate {
	uint32_t job_id;
	long step_id; /* NP_NO_VALUE: a whole job */
	const char *nodes; /* hostlist expression */
	double overlap_sec; /* with the step; may be negative */
};

/* leaves, r: borrowed; nodes: of the step.  Returns 0 or -ENOMEM. */
int np_beside_init(struct np_beside *b, const struct np_leafmap *leaves,
		   const struct np_hosts *nodes, struct np_record *r,
		   struct np_err *err);
void np_beside_free(struct np_beside *b);

/*
 * Merge one into the record; the longest overlap wins.  Returns 0;
 * NP_BESIDE_FULL (noted in the record): there is no room for it, and the rest
 * need not be asked; or -errno with err.
 */
#define NP_BESIDE_FULL 1
int np_beside_add(struct np_beside *b, const struct np_candidate *c,
		  struct np_err *err);

/*
 * Ask slurmctld, in two requests, and merge into r the jobs, and the other steps
 * of its own job, that had nodes on the leaves of nodes between r->start and
 * until (dates) for more than a second; and whether its own was suspended after
 * r->start.  Other components of the heterogeneous
 * job het_job_id (0: none) are the same program and no neighbours.
 */
int np_beside_look(const struct np_leafmap *l, const struct np_hosts *nodes,
		   double until, uint32_t het_job_id, struct np_record *r,
		   struct np_err *err);

#endif
