/*
 * Do a user's own runs back the published profile of the name they go by?
 *
 * What both know is compared: the mean latency beside it, what each level does
 * to it, and what it does to each level.  One run of the published profile
 * scatters so much; NP_BACKING_SDS times that is its spread, and no less than
 * the shares below, by which programs differ from day to day and from leaf to
 * leaf.  Twice the error of the user's own mean is added.
 */
#ifndef NP_BACKING_H
#define NP_BACKING_H

#include "np_fabric.h"
#include "np_evidence.h"

#define NP_BACKING_SDS 3.0
#define NP_BACKING_LATENCY 0.25 /* of the published mean */
#define NP_BACKING_SLOWDOWN 0.1 /* of 1 + slowdown */

enum np_backing {
	NP_BACKING_NOTHING, /* nothing is known of both */
	NP_BACKING_AGREES,
	NP_BACKING_REFUTED,
};

/*
 * Both of the calibration whose fabric that is.  why: in words, where they are
 * contradicted.
 */
enum np_backing np_backing_judge(const struct np_evidence *own,
				 const struct np_evidence *published,
				 const struct np_fabric *f, char *why,
				 size_t len);

#endif
