/* What the probes of runs say: of one run, and of several together. */
#ifndef NP_SAMPLE_H
#define NP_SAMPLE_H

#include <stdbool.h>

#include "np_record.h"

/* Latencies of several runs together. */
struct np_sample {
	struct np_hist *hist; /* NULL if there are no runs */
	struct np_moments moments;
	struct np_moments means; /* of the mean of each run */
	size_t n_runs;
	double first, last; /* dates of the oldest start, of the newest end */
	double period_sec;  /* of its probes */
	bool neighbours;    /* beside other jobs, as there is nothing else */
	bool other_period;  /* than was asked for, as there is nothing else */
};

/* One more run.  Returns 0 or -ENOMEM; np_hist_free() hist. */
int np_sample_add(struct np_sample *s, const struct np_record *r);

/* Quantile q of a sample, seconds: never beyond its minimum and maximum. */
double np_sample_quantile(const struct np_sample *s, double q);

/* All leaves of one run. */
struct np_moments np_run_latency(const struct np_record *r);

/*
 * All leaves of a run over time: free() it.  NULL if it has no windows, or
 * memory is short.
 */
struct np_series *np_run_windows(const struct np_record *r);

/* Did other jobs have nodes on the run's leaves while it ran? */
bool np_run_has_neighbours(const struct np_record *r);

#endif
