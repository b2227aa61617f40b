/*
 * Does a calibration agree with itself?  Its levels are programs of which all
 * is known, so each can be predicted beside each other from the others alone.
 * Where the default model misses them by as much as a constant does, nothing
 * that it says of programs on this fabric can be trusted.
 */
#ifndef NP_SELF_CHECK_H
#define NP_SELF_CHECK_H

#include <stdbool.h>

#include "np_accuracy.h"
#include "np_fabric.h"

struct np_self_check {
	size_t n;		/* pairs of levels that were predicted */
	double mean_points;	/* absolute error, percentage points */
	double constant_points; /* of the best constant */
	size_t worst;		/* the level that is missed most; an index */
	double worst_points;	/* as victim or as co-runner, on average */
};

/*
 * A calibration is in doubt if its levels are missed by more than so many points
 * and more than this share of what the best constant misses them by: the 15 in
 * doc/validation/pairs have shares of 0.20 to 0.41.
 */
#define NP_SELF_CHECK_POINTS 5.0
#define NP_SELF_CHECK_SHARE 0.5

/*
 * n is 0 where too few levels were measured beside each other.  Returns 0, or
 * with err: -EINVAL (np_fabric_check()) or -ENOMEM.
 */
int np_self_check(const struct np_fabric *f, struct np_self_check *out,
		  struct np_err *err);

bool np_self_check_doubts(const struct np_self_check *c);

#endif
