/*
 * What netprof needs of a trace: tolerance thresholds and run times over
 * latency, as a record that `netprof tolerance` stores beside the trace.
 */
#ifndef CLI_CURVE_H
#define CLI_CURVE_H

#include <stddef.h>

#include "np_tolerance.h"

#define CLI_THRESHOLDS 3 /* number of default thresholds */

/* Default thresholds: 1, 2 and 5 % longer. */
extern const double cli_threshold_shares[CLI_THRESHOLDS];

/* The value of a parameter at which the run takes a certain share longer. */
struct cli_threshold {
	double share; /* 0.01: 1 % longer */
	double limit; /* value of the parameter; INFINITY: no limit */
};

/* Computes n thresholds of t's parameter, which is base in the network. */
void cli_thresholds(struct np_tolerance *t, double base, const double *share,
		    size_t n, struct cli_threshold *out);

/*
 * Stores the complete record beside a trace in the user's own store. Failures
 * are ignored; netprof computes the record again when it needs it.
 */
void cli_curve_store(const char *path, const struct np_loggps *net);

#endif
