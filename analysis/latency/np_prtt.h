/*
 * The times that LogGPS parameters are computed from (np_loggps_fit.h says
 * which), between two processes: one asks, the other answers.
 *
 * Each measurement is announced: the asking side says how many messages of
 * which size will come, the answering side posts its receives and says that
 * it is ready, which also warms the path.  Then the clock runs: n messages,
 * and the answer to the last one.
 *
 * Nobody sleeps, as what is measured is of the order of a wake-up: both sides
 * keep their processor until all is measured.  While the asking side lets a
 * pause pass it does not look at the network either, as a program that
 * computes does not.
 *
 * One block measures every kind, NP_PRTT_REPEATS times; the median of each is
 * reported.  The first block finds the sizes, up to the greatest whose round
 * trip takes no longer than max_sec, and is not reported.
 */
#ifndef NP_PRTT_H
#define NP_PRTT_H

#include <stdbool.h>
#include <stdint.h>

#include "np_loop.h"
#include "np_report.h"

#define NP_PRTT_MESSAGES 16 /* n, where it is not 1 */
#define NP_PRTT_REPEATS 7
#define NP_PRTT_LEAST_MAX_BYTES 4096u
#define NP_PRTT_MAX_BYTES (64u << 20)
#define NP_PRTT_MAX_BLOCKS 1000
#define NP_PRTT_BLOCKS 30      /* the usual number */
#define NP_PRTT_TRIP_SEC 50e-3 /* the usual max_sec */
#define NP_PRTT_PATIENCE_SEC 10.0 /* for any one measurement */

struct np_prtt_conf {
	struct np_engine_env env; /* notes: why it ended before its time */
	bool takes_part; /* false: the other two do */
	uint32_t peer; /* rank of the other, connected */
	bool asks;
	uint32_t max_bytes; /* up to NP_PRTT_MAX_BYTES; both sides the same */
	double max_sec;	    /* of a round trip */
	uint32_t blocks;    /* to report, by the asking side */

	/* arg: that of env */
	void (*report)(const struct np_prtt *p, void *arg); /* who asks */
	void (*done)(void *arg); /* both sides: all is measured, or will not */
	bool (*stop)(void); /* NULL, or: the end was asked for */
};

/* The asking side measures once in each step.  Returns 0 or -ENOMEM. */
int np_prtt_new(const struct np_prtt_conf *conf, struct np_engine **out);

#endif
