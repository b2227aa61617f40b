/*
 * An application as the models see it (np_program.h): what its runs say on one
 * calibrated fabric.  Derived on reading, like a profile; no I/O.
 *
 * Only runs that can be compared count: successful, of one workload
 * (fingerprint), without other jobs on their leaves, alone or beside a level
 * of the calibration at its scope, on its cluster and transport and with its
 * size of probes.  All else is left out, and why is kept.
 * Of several workloads that one is taken whose usable runs have most distinct
 * levels, then most runs, then the newest.
 */
#ifndef NP_SUBJECT_H
#define NP_SUBJECT_H

#include <stdbool.h>

#include "np_fabric_store.h"
#include "np_program.h"
#include "np_store.h"

enum np_subject_use {
	NP_SUBJECT_ALONE,      /* used: without a level */
	NP_SUBJECT_BESIDE,     /* used: beside a level */
	/* Left out, by the first reason that holds: */
	NP_SUBJECT_FABRIC,     /* another cluster, transport or probe size */
	NP_SUBJECT_FAILED,     /* exit code not 0 or not known, or no time */
	NP_SUBJECT_NEIGHBOURS, /* shared a leaf with other jobs */
	NP_SUBJECT_SCOPE,      /* the level ran at another scope */
	NP_SUBJECT_LEVEL,      /* a level that the calibration does not have */
	NP_SUBJECT_WORKLOAD,   /* another workload, or not known which */
	NP_SUBJECT_USES
};

struct np_subject {
	/*
	 * curve[i]: mean run time beside level i / mean run time alone - 1;
	 * its sd is that of one run, with the scatter of the time alone in it,
	 * so that sd / sqrt(n) is the error of the mean.
	 * pressure[i]: mean over runs of the level's mean round beside / alone
	 * - 1.
	 * latency, window: of the runs alone, at the probe period of the
	 * calibration where there are such; windows of the longest run.
	 */
	struct np_program program;

	enum np_subject_use *use;      /* of each run */
	size_t count[NP_SUBJECT_USES]; /* runs by use */
	const char *fingerprint; /* of the workload, borrowed; NULL: no run */
	struct np_mean alone_sec; /* run time alone */
	struct np_mean latency_sec; /* mean latency of a run alone */
	size_t n_curve, n_pressure; /* levels known */
	bool other_period; /* its latencies are of another probe period */
	double noise;	   /* np_noise_pooled() of its curve */

	struct np_mean *mean; /* curve, then pressure */
	double *bin_count;
	struct np_moments *window;
};

/*
 * runs and c are borrowed for the life of the subject.  Always gives a
 * subject, if one without data.  Returns 0 or -ENOMEM.
 */
int np_subject_make(const struct np_runs *runs, const struct np_calibration *c,
		    struct np_subject *out);
void np_subject_free(struct np_subject *s);

/*
 * Stand without the runs, which may be freed then: its fingerprint is no
 * longer known.  name is borrowed instead.
 */
void np_subject_detach(struct np_subject *s, const char *name);

/* Has a model anything to go by, of it as a victim or as a co-runner? */
bool np_subject_has_data(const struct np_subject *s);

/* "beside other jobs" and so on, for lists of what was left out. */
const char *np_subject_why(enum np_subject_use use);

#endif
