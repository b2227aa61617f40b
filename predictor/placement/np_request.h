/*
 * What asks for leaves: pending jobs and tasks of arrays that are ours, in
 * order of precedence.
 *
 * A request of a job or of a task stays as it is made; the three fields that
 * np_groups_init() fills in do so from then on.  Always:
 * - order holds the jobs that may start before those that cannot by themselves;
 * - the requests of a job follow each other, in order of its tasks.
 */
#ifndef NP_REQUEST_H
#define NP_REQUEST_H

#include "np_class.h"

struct np_request {
	uint32_t job; /* index in the snapshot */
	uint32_t class;
	uint32_t need; /* nodes */
	uint32_t task; /* 0 .. */
	bool ready;

	uint32_t group, subgroup; /* NP_NONE: of a class that is quiet */
	uint64_t cum; /* nodes wanted by the subgroup up to here */
};

struct np_requests {
	uint32_t *order; /* jobs */
	size_t n_order;
	uint32_t *class; /* per job; NP_NONE: not ours, or too many classes */
	struct np_request *at; /* of enforced jobs */
	size_t n;
	uint32_t *of_job; /* first request of a job, or NP_NONE */
};

/* Makes their classes, and those of mode prefer.  Returns 0 or -ENOMEM. */
int np_requests_init(struct np_requests *r, struct np_problem *p,
		     struct np_classes *c);

#endif
