/*
 * The profile of an application: what its runs say together.
 * Derived on reading, so that a better model improves old runs; no I/O.
 *
 * Only runs on one fabric (cluster, transport, probe message size) are
 * comparable: that of the newest run with samples.  Runs beside an interference
 * level tell about slowdowns, not about the application's own latencies; runs
 * that shared a leaf with other jobs are used only if there are no others.
 * A processor that sleeps longer wakes up later, so the idle reference is one
 * of the same probe period, where there is one.
 */
#ifndef NP_PROFILE_H
#define NP_PROFILE_H

#include <stdbool.h>

#include "np_mean.h"
#include "np_store.h"
#include "np_verdict.h"

#define NP_IDLE_APP "idle" /* made with: srun --netprofile=idle sleep 30 */

enum np_run_use {
	NP_RUN_USED,	   /* its latencies are in the profile */
	NP_RUN_LEVEL,	   /* beside an interference level */
	NP_RUN_NEIGHBOURS, /* left out: shared a leaf with other jobs */
	NP_RUN_FABRIC,	   /* left out: measured on another fabric */
	NP_RUN_EMPTY,	   /* left out: no latency was measured */
};

/* Latencies of several runs together. */
struct np_sample {
	struct np_hist *hist; /* NULL if there are no runs */
	struct np_moments moments;
	size_t n_runs;
	double first, last; /* dates of the oldest start, of the newest end */
	bool neighbours;    /* beside other jobs, as there is nothing else */
	double period_sec;  /* of its probes */
	bool other_period;  /* idle only: not the application's period */
};

/* What an interference level did. */
struct np_level_result {
	const char *name, *scope; /* borrowed from a run */
	size_t n_runs;
	/*
	 * Median over the runs of run time / median run time alone - 1.  Only
	 * successful runs without neighbours are compared, and only with runs
	 * of the same fingerprint.
	 */
	size_t n_compared;
	double run_sec, alone_sec; /* medians; 0 if n_compared is 0 */
	double slowdown;
	double low, high; /* its 95 % interval, np_noise_interval() */
	struct np_mean mean; /* the same slowdown, with the sd of one run */
	/* The level's own: mean round beside / alone - 1, median over runs. */
	size_t n_rounds; /* runs that have both */
	double level_slowdown;
};

/* What the probes cost, over the runs used. */
struct np_probe_cost {
	double cpu_share;     /* of one core, mean per process */
	double cpu_share_max; /* of the worst process */
	uint64_t rss_bytes_max;
	uint64_t messages;
};

struct np_profile {
	const struct np_runs *runs; /* borrowed */
	enum np_run_use *use;	    /* of each run */
	size_t count[NP_RUN_EMPTY + 1]; /* runs by use */
	/* Stands for the fabric: the newest run with samples, or NULL. */
	const struct np_record *fabric;
	struct np_sample app;
	struct np_sample idle; /* n_runs 0: no idle run of this fabric */
	bool is_idle;	       /* this is the idle reference itself */
	struct np_phases phases;
	struct np_verdict verdict;
	struct np_level_result *levels; /* by name */
	size_t n_levels;
	struct np_probe_cost cost;
};

/*
 * runs, and the n_idle candidates for the idle reference in the order of
 * preference (borrowed for the life of the profile; NULLs are passed over).
 * Returns 0 or -ENOMEM.  Free with np_profile_free().
 */
int np_profile_make(const struct np_runs *runs,
		    const struct np_runs *const *idle, size_t n_idle,
		    struct np_profile *out);
void np_profile_free(struct np_profile *p);

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
