/*
 * What is measured of schemes of transfers, in which order, and what comes of
 * it: for each scheme a trial to warm up, and then, so often as it is repeated,
 * the transfer of each of its sizes alone and all transfers together.  Alone
 * and together follow each other, so that what drifts slowly drifts for both.
 */
#ifndef NP_SCHEDULE_H
#define NP_SCHEDULE_H

#include "np_moments.h"
#include "np_scheme.h"
#include "np_transfers.h"

#define NP_SCHEDULE_MAX_BYTES (64u << 20) /* of a transfer */
#define NP_SCHEDULE_MAX_TRIALS 100000u

/* Of one scheme. */
struct np_measured_scheme {
	struct np_moments reference; /* seconds, alone */
	struct np_moments *sec;	     /* of each transfer, together */
	struct np_moments *penalty;  /* over the same size alone, each time */
};

struct np_schedule {
	const struct np_scheme_set *set; /* borrowed */
	uint32_t repeats;
	size_t n;
	struct np_trial *trial; /* for np_transfers.h */
	/* of what, and what it said; np_schedule.c alone looks at these */
	struct np_schedule_part *part;
	size_t *part_of, *size_of; /* of each trial */
	struct np_measured_scheme *got; /* of each scheme */
};

/*
 * rank_of: of each node of each scheme, scheme after scheme.
 * Returns 0, -EINVAL (a size that cannot be sent, nodes on one process),
 * -E2BIG or -ENOMEM with err.  Free with np_schedule_free().
 */
int np_schedule_new(const struct np_scheme_set *set, const uint32_t *rank_of,
		    uint32_t repeats, struct np_schedule *out,
		    struct np_err *err);
void np_schedule_free(struct np_schedule *s);

/* The times of all transfers of trial i; np_transfers_conf.done. */
void np_schedule_done(size_t i, const double *sec, void *schedule);

#endif
