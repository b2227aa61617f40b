/*
 * The order in which transfers of schemes are measured, and the results. Each
 * scheme begins with a warm-up trial. Each repetition then measures one
 * transfer of each size alone and all transfers together. Both follow each
 * other closely, so that slow drifts affect both.
 */
#ifndef NP_SCHEDULE_H
#define NP_SCHEDULE_H

#include "np_moments.h"
#include "np_scheme.h"
#include "np_transfers.h"

#define NP_SCHEDULE_MAX_BYTES (64u << 20) /* of a transfer */
#define NP_SCHEDULE_MAX_TRIALS 100000u

/* Results for one scheme. */
struct np_measured_scheme {
	struct np_moments reference; /* seconds of the reference, alone */
	/* By transfer: seconds together with the others. */
	struct np_moments *sec;
	/*
	 * By transfer: that time over the time alone, in the same repetition,
	 * of the first transfer of that size.
	 */
	struct np_moments *penalty;
};

struct np_schedule {
	const struct np_scheme_set *set; /* borrowed */
	uint32_t repeats;		 /* without the warm-up trials */
	struct np_trial *trial;		 /* for np_transfers.h */
	size_t n;
	struct np_measured_scheme *result; /* by scheme */
	/* Private to np_schedule.c: */
	struct np_schedule_part *part; /* by scheme */
	/* By trial: its scheme, and the index of its size. */
	size_t *scheme_of, *size_of;
};

/*
 * Plans the trials. set: borrowed as long as *out exists. rank_of: the process
 * of each node of each scheme, scheme after scheme. Returns 0 (free *out with
 * np_schedule_free()), or with err -EINVAL (a size that cannot be sent, or a
 * transfer within one process), -E2BIG (more than NP_SCHEDULE_MAX_TRIALS) or
 * -ENOMEM.
 */
int np_schedule_new(const struct np_scheme_set *set, const uint32_t *rank_of,
		    uint32_t repeats, struct np_schedule *out,
		    struct np_err *err);
void np_schedule_free(struct np_schedule *s); /* exported for tests */

/* Callback np_transfers_conf.done: seconds of all transfers of trial i. */
void np_schedule_done(size_t i, const double *sec, void *schedule);

#endif
