/*
 * One application as the models see it.  Plain data, borrowed by the models;
 * anything may be missing.
 */
#ifndef NP_PROGRAM_H
#define NP_PROGRAM_H

#include <stddef.h>

#include "np_latency.h"
#include "np_mean.h"

struct np_fabric;

struct np_program {
	const char *name; /* for messages, and the seed of its bootstrap */

	/* Probe latencies beside it, in the fabric's bins. */
	struct np_latency latency;

	/* The same over time: consecutive windows, equally wide, or empty. */
	const struct np_moments *window;
	size_t n_windows;

	/*
	 * curve[i]: slowdown of this application beside level i (what it
	 * suffers).  pressure[i]: slowdown of level i beside this application
	 * (what it inflicts).  n_levels of the fabric each; NULL: none.
	 */
	const struct np_mean *curve;
	const struct np_mean *pressure;
};

/*
 * Check an application against the fabric it was measured on.  Returns 0, or
 * -EINVAL with err: what np_latency_check() refuses, a slowdown at or below
 * -1, a window with impossible moments.
 */
int np_program_check(const struct np_program *a, const struct np_fabric *f,
		      struct np_err *err);

#endif
