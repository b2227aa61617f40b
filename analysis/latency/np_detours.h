/*
 * Detours of processors: stretches of time in which the system or another
 * program has the processor, of a trace that is repeated without end and that
 * each rank begins at another place.
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
	double *start, *end; /* in ns, in order, apart from each other */
	size_t n;
	double period_ns, away_ns; /* of the trace; all detours together */
	uint64_t seed;		   /* of the places where ranks begin */
};

/*
 * Lines of "START LENGTH" in ns, in order of their start; "#" begins a
 * comment.  The trace ends with its last detour.  name: for messages.
 * -EINVAL: a line is not so, or no time is left for work.
 */
int np_detours_read(FILE *f, const char *name, struct np_detours *out,
		    struct np_err *err);

/*
 * Detours of one length whose distances are exponential, with this mean from
 * the end of one to the start of the next; both above 0.  Returns 0 or -ENOMEM.
 */
int np_detours_random(double mean_ns, double length_ns, uint64_t seed,
		      struct np_detours *out);
void np_detours_free(struct np_detours *d);

/* When work of a rank ends that begins at t ns and takes so long. */
double np_detours_end(const struct np_detours *d, uint32_t rank, double t,
		      double length);

#endif
