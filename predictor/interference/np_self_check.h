/*
 * Consistency check of a calibration.
 *
 * The load levels are programs whose slowdowns by each other are all known, so
 * each pair of levels can be predicted from the other levels and compared with
 * the measurement. If the default model predicts them hardly better than a
 * constant does, its predictions of programs on this fabric cannot be trusted.
 */
#ifndef NP_SELF_CHECK_H
#define NP_SELF_CHECK_H

#include <stdbool.h>

#include "np_accuracy.h"
#include "np_fabric.h"

/*
 * A calibration is doubtful if the mean error exceeds NP_SELF_CHECK_POINTS and
 * NP_SELF_CHECK_SHARE of the error of the best constant. The 25 calibrations in
 * doc/validation/pairs have shares of 0.19 to 0.47.
 */
#define NP_SELF_CHECK_POINTS 5.0
#define NP_SELF_CHECK_SHARE 0.5

struct np_self_check {
	size_t n;		/* number of pairs of levels predicted */
	double mean_points;	/* mean absolute error, percentage points */
	double constant_points; /* that of the best constant */
	size_t worst;		/* index of the level with the largest error */
	double worst_points;	/* its mean error, as victim and co-runner */
	bool doubtful;
};

/*
 * Check a calibration. out->n is 0 if too few pairs of levels were measured.
 * Returns 0, or with err: -EINVAL (np_fabric_check() fails) or -ENOMEM.
 */
int np_self_check(const struct np_fabric *f, struct np_self_check *out,
		  struct np_err *err);

/*
 * Is a calibration doubtful? Not if it cannot be checked. Takes some
 * milliseconds.
 */
bool np_self_check_fails(const struct np_fabric *f);

#endif
