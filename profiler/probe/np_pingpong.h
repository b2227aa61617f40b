/*
 * ImpactB: short ping-pongs with one partner, about every period, and nothing
 * in between.  Half a round trip is the latency.
 *
 * An exchange has two rounds: the first, of eight bytes, warms the path and
 * both processes, the second, of the full size, is measured.  A late answer counts with its true latency; the
 * next exchange waits for it.
 *
 * When.  The first exchange of rank r is due at the fraction r * 0.618... of a
 * period, so that pairs spread evenly over it.  The time from one exchange to
 * the next is drawn evenly from 0.75 to 1.25 periods: a program that computes
 * and communicates in a rhythm close to the period is then met in all its
 * phases within a second, not always in the same one.  The mean stays the
 * period.
 *
 * How it waits.  The asking side tells with each message when the next one
 * will come.  The answering side sleeps until shortly before, by as much as
 * arrivals have scattered so far, polls for a bounded time, and then sleeps
 * until the message wakes it.  The asking side waits for its answer in the
 * same way.  np_loop.h says how long they poll: at most 100 us, twice a
 * period, which is 0.2 % of a core at the usual period of 100 ms.
 */
#ifndef NP_PINGPONG_H
#define NP_PINGPONG_H

#include <stddef.h>
#include <stdint.h>

#include "np_loop.h"
#include "np_pairing.h"

#define NP_PINGPONG_MIN_BYTES 8
#define NP_PINGPONG_MAX_BYTES (1u << 20)

struct np_pingpong_conf {
	struct np_engine_env env; /* latencies are counted */
	struct np_pair pair;	  /* connected */
	uint32_t bytes; /* NP_PINGPONG_MIN_BYTES .. NP_PINGPONG_MAX_BYTES */
	double period_sec;
	uint64_t seed; /* of the random times */
};

/* Returns 0 or -ENOMEM. */
int np_pingpong_new(const struct np_pingpong_conf *conf,
		    struct np_engine **out);

/* A partner that owes an answer for so long is called silent. */
double np_pingpong_patience_sec(double period_sec);

#endif
