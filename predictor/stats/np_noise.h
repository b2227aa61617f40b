/*
 * How far a measured slowdown may be from the truth.
 *
 * Run times scatter relatively, so noise is kept as the standard deviation of
 * log(1 + slowdown).  With two or three runs each, a single sd says little;
 * it is drawn towards that of the other measurements of the same program, as
 * moderated variances do (Smyth 2004), and where nothing was repeated, towards
 * NP_NOISE_DEFAULT, by which slowdowns of whole runs of MPI programs differed on
 * our own testbed when measured again: t/between (doc/validation/accuracy.md).
 */
#ifndef NP_NOISE_H
#define NP_NOISE_H

#include <stddef.h>

#include "np_mean.h"

#define NP_NOISE_DEFAULT 0.027 /* of 1 + slowdown, one run */
#define NP_NOISE_PRIOR 4.0     /* as many runs' worth the others count */

/*
 * Degrees of freedom of m's own scatter, with its relative variance; 0 if it
 * has none.
 */
double np_noise_freedom(const struct np_mean *m, double *square);

/* Pooled relative sd of one run over m[n], whose default counts as one run. */
double np_noise_pooled(const struct np_mean *m, size_t n);

/* sd of log(1 + m->mean), m measured, given the pooled sd of its like. */
double np_noise_of_mean(const struct np_mean *m, double pooled);

/*
 * The 95 % interval of a measured slowdown, symmetric in log(1 + slowdown):
 * Student's t with the degrees of freedom of the sd above.
 */
void np_noise_interval(const struct np_mean *m, double pooled, double *low,
		       double *high);

#endif
