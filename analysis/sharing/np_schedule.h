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
	/* seconds of the reference transfer, alone */
	struct np_moments reference;
	struct np_moments *sec;	     /* by transfer, together with the others */
	/* by transfer: its time over that of its size alone, per repetition */
	struct np_moments *penalty;
};

struct np_schedule {
	const struct np_scheme_set *set; /* borrowed */
	uint32_t repeats;
	size_t n;
	struct np_trial *trial; /* for np_transfers.h */
	/* Private to np_schedule.c: */
	struct np_schedule_part *part;
	size_t *part_of, *size_of; /* by trial */
	struct np_measured_scheme *got; /* by scheme */
};

/*
 * rank_of: process of each node of each scheme, scheme after scheme. Returns 0,
 * -EINVAL (a size that cannot be sent, or two nodes on one process), -E2BIG or
 * -ENOMEM with err. Free with np_schedule_free().
 */
int np_schedule_new(const struct np_scheme_set *set, const uint32_t *rank_of,
		    uint32_t repeats, struct np_schedule *out,
		    struct np_err *err);
void np_schedule_free(struct np_schedule *s); /* exported for tests */

/* Callback np_transfers_conf.done: times of all transfers of trial i. */
void np_schedule_done(size_t i, const double *sec, void *schedule);

#endif
