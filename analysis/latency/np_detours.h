/*
 * Detours of processors: intervals in which the operating system or another
 * program occupies the processor. They come from a trace that repeats without
 * end and that each rank enters at a different position.
 *
 * Source: T. Hoefler, T. Schneider, A. Lumsdaine, Characterizing the Influence
 * of System Noise on Large-Scale Applications by Simulation, SC 2010.
 */
#ifndef NP_DETOURS_H
#define NP_DETOURS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "np_err.h"

#define NP_DETOURS_MAX 10000000

struct np_detours {
	struct np_detour {
		double start, end;
	} * detour; /* ns; ascending and disjoint */
	size_t n;
	double period_ns, away_ns; /* length of the trace; sum of all detours */
	uint64_t seed; /* determines where in the trace each rank begins */
};

/*
 * Reads lines of "START LENGTH" in ns, ascending by START; "#" begins a
 * comment. The trace ends with its last detour. name: for messages. Returns 0,
 * -EINVAL (a malformed line, or no time is left for work), -E2BIG or -ENOMEM,
 * with err. *out: free with np_detours_free().
 */
int np_detours_read(FILE *f, const char *name, struct np_detours *out,
		    struct np_err *err);

/*
 * Makes detours of one length whose distances (from the end of one to the start
 * of the next) are exponentially distributed with this mean; both in ns and
 * above 0. Returns 0 or -ENOMEM.
 */
int np_detours_random(double mean_ns, double length_ns, uint64_t seed,
		      struct np_detours *out);
void np_detours_free(struct np_detours *d);

/* End of work of a rank that begins at t and takes length, both in ns. */
double np_detours_end(const struct np_detours *d, uint32_t rank, double t,
		      double length);

#endif
