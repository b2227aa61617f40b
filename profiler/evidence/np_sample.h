/* What the probes of runs say: of one run, and of several together. */
#ifndef NP_SAMPLE_H
#define NP_SAMPLE_H

#include <stdbool.h>

#include "np_record.h"

/* Where latencies of the idle network are from. */
enum np_sample_source {
	NP_SOURCE_RUN,	 /* an ordinary run, or one made for them */
	NP_SOURCE_QUIET, /* quiet moments of flagged runs */
	NP_SOURCE_CALIBRATION,
};

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
	enum np_sample_source source; /* of the newest run */
	/* Bytes of the nodes' devices and the time that they cover; as in
	 * np_traffic_run, of the runs whose devices were counted. */
	double node_sec, bytes;
	double link; /* of the slowest node's device, bytes/s; 0: not known */
	struct np_sample_nic {
		char device[64];
		double node_sec, n[NP_NIC_KINDS]; /* as in np_nic_run */
	} nic[NP_RECORD_MAX_NICS];
	size_t n_nics;
};

/* One more run.  Returns 0 or -ENOMEM; np_hist_free() hist. */
int np_sample_add(struct np_sample *s, const struct np_record *r);

/* "run", "quiet", "calibration", as record->source and pages have it. */
const char *np_sample_source_name(enum np_sample_source source);

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
