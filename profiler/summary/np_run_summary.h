/*
 * Run summaries: which runs of an application count, for what, and what they
 * say together. Pages, models, placement and calibration all use this answer.
 * Derived on reading, so that a better model improves old runs. No I/O.
 *
 * Runs count if they can be compared: on one fabric (cluster, transport, size
 * of probes; an unknown value matches any), successful, never suspended,
 * without other jobs on their leaf switches, and of one workload (fingerprint).
 * The workload is the one whose runs have the most distinct levels, then the
 * most runs, then the newest. If srun's exit code is known, the program's end
 * is, too, even if the probes were cut off.
 *
 * Latencies come from runs without a load level. If there are none, pages use
 * runs of the workload that shared a leaf switch with other jobs, and say so;
 * models do not, which is the only difference between them. If there are none
 * of these either, runs of an unknown workload are used.
 *
 * Of a run whose nodes have rails, the latencies of its busiest rail count:
 * those of rails that the program hardly uses would make it look lighter than
 * it is for another program on the rail that it does use. A program loads the
 * rails whose adapters transfer more in any run than those of a quiet node, and
 * only runs under levels that load all of these rails count.
 */
#ifndef NP_RUN_SUMMARY_H
#define NP_RUN_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include "np_cache.h"
#include "np_fabric.h"
#include "np_fabric_store.h"
#include "np_one_run.h"
#include "np_planner.h"
#include "np_record.h"
#include "np_store.h"
#include "np_verdict.h"

/* ---- samples of the probes, of one run or several ---- */

/* The origin of latencies of the idle network, the best one first. */
enum np_sample_source {
	NP_SOURCE_RUN, /* a run that somebody started */
	NP_SOURCE_CALIBRATION,
	NP_SOURCE_QUIET, /* quiet intervals of flagged runs */
};

/* Latencies of several runs together. */
struct np_sample {
	struct np_hist *hist; /* NULL if there are no runs */
	struct np_moments moments;
	struct np_moments means; /* of the mean of each run */
	size_t n_runs;
	double first, last; /* dates: the oldest start, the newest end */
	double period_sec;  /* of the probes */
	bool neighbours;    /* other jobs were near, for lack of other runs */
	bool other_period;  /* not the requested one, for lack of other runs */
	enum np_sample_source source; /* of the newest run */
	/* Bytes of the nodes' devices and the time that they cover, as in
	 * np_traffic_run, of the runs with counters. */
	double node_sec, bytes;
	double link; /* of the slowest device, bytes/s; 0: not known */
	struct np_sample_nic {
		char device[64];
		double node_sec, n[NP_NIC_KINDS]; /* as in np_nic_run */
	} * nic; /* at most NP_RECORD_MAX_NICS */
	size_t n_nics;
};

/* Add a run. Returns 0 or -ENOMEM. */
int np_sample_add(struct np_sample *sample, const struct np_record *record);

/* Free the histogram and the counters of adapters; the rest remains. */
void np_sample_free(struct np_sample *sample);

/* "run", "quiet" or "calibration", as in record->source and on pages. */
const char *np_sample_source_name(enum np_sample_source source);

/* Quantile q of a sample, seconds; limited to its minimum and maximum. */
double np_sample_quantile(const struct np_sample *sample, double q);

/*
 * The rail of a run that counts, borrowed: of those that it loads the busiest
 * one, on which the mean latency is the largest multiple of the lowest. NULL:
 * the run has no rails, or no latencies.
 */
const char *np_run_rail(const struct np_record *record);

/*
 * Does a run load a rail: do the adapters that lead to it transfer more than
 * those of a quiet node? True also if that is not known: without counters, or
 * if a load level on the same nodes was counted, too.
 */
bool np_run_loads_rail(const struct np_record *record, const char *rail);

/* The latencies of a rail under all of its leaf switches together. */
struct np_moments np_run_rail_latency(const struct np_record *record,
				      const char *rail);

/*
 * The latencies of a run under all leaf switches together; of a run with rails,
 * under those of the rail that counts.
 */
struct np_moments np_run_latency(const struct np_record *record);

/* Merge the histograms of the same leaf switches into to. */
void np_run_add_hist(const struct np_record *record, struct np_hist *to);

/*
 * The same over time: free() it. NULL if the run has no windows, or out of
 * memory.
 */
struct np_series *np_run_windows(const struct np_record *record);

/* Did other jobs have nodes on the run's leaf switches while it ran? */
bool np_run_has_neighbours(const struct np_record *record);

/*
 * The name of runs of the idle network, made with
 *	srun --netprofile=idle sleep 30
 * Their latencies count whatever program ran.
 */
#define NP_IDLE_APP "idle"

/* A run in state "running" that was saved longer ago than this has died. */
#define NP_RUN_SUMMARY_RUNNING_SEC 60.0

enum np_run_use {
	NP_RUN_ALONE,	    /* no load level: its time and its latencies */
	NP_RUN_UNDER_LEVEL, /* its time, and the level's rounds */
	NP_RUN_TIME,	    /* no load level: its time; it has no latencies */
	NP_RUN_LATENCY,	    /* no load level: its latencies only */
	NP_RUN_INTERVALS,   /* with measurement intervals under levels */
	/* Excluded, by the first reason that applies: */
	NP_RUN_FABRIC,	   /* on another fabric */
	NP_RUN_UNDER_WAY,  /* not ended yet */
	NP_RUN_FAILED,	   /* exit code not 0 or unknown, or no run time */
	NP_RUN_SUSPENDED,  /* its job was suspended for some time */
	NP_RUN_NEIGHBOURS, /* shared a leaf switch with other jobs */
	NP_RUN_SCOPE,	   /* its level ran at another scope */
	NP_RUN_RAIL,	   /* its level did not load all of its rails */
	NP_RUN_LEVEL,	   /* its level is not in the calibration */
	NP_RUN_WORKLOAD,   /* of another or an unknown workload */
	NP_RUN_AUTOMATIC,  /* of the idle network, made automatically */
	NP_RUN_USES
};

/* The effects of one level; means with n 0 were not measured. */
struct np_run_summary_level {
	const char *name, *scope; /* borrowed from the calibration or a run */
	/* Of the fabric, under this level alone: np_fabric_utilisation(). */
	double utilisation;
	struct np_mean run_sec; /* run time under it */
	/*
	 * Mean of (run time under it / run time alone) - 1. The sd is that of
	 * one run and includes the scatter of the time alone, so that
	 * sd / sqrt(n) is the standard error of the mean.
	 */
	struct np_mean slowdown;
	double low, high; /* its 95 % interval, np_noise_interval() */
	/*
	 * From intervals inside runs, which are more precise than whole runs.
	 */
	bool of_intervals;
	/* How the program slows the level: mean of (round under the program /
	 * round alone) - 1, of one run each. */
	struct np_mean impact;
};

/* Every member may be missing. */
struct np_run_summary_opt {
	/* Gives the fabric, the levels and their scope, and makes a program for
	 * the models; without it levels are those that occur. */
	const struct np_calibration *calibration;
	/* Without a calibration: gives the utilisation of the levels that
	 * occur, by which they are then sorted. */
	const struct np_fabric *level_fabric;
	/* Gives the fabric and the period of the probes if there is no
	 * calibration; without it the newest measured run does. */
	const struct np_record *like;
	const char *scope;	 /* of levels, instead of the calibration's */
	const char *fingerprint; /* of the workload, instead of the choice */
	double now;		 /* date, to recognise runs that died */
};

/*
 * Cost of the probes, over the runs whose latencies are used. elapsed_sec is 0
 * if no run has it.
 */
struct np_probe_cost {
	double elapsed_sec;   /* of all processes together */
	double cpu_share;     /* of one core, mean over the processes */
	double cpu_share_max; /* of the worst process */
	uint64_t rss_bytes_max;
	uint64_t messages;
};

struct np_run_summary {
	const struct np_runs *runs; /* borrowed */
	bool is_idle;		    /* they are runs of the idle network */
	enum np_run_use *use;	    /* of each run */
	size_t count[NP_RUN_USES];  /* runs by use */
	size_t n_used;		    /* runs that are not excluded */
	const char *fingerprint; /* of the workload, borrowed; NULL: no run */
	/* The newest measured run; NULL: none, or not needed. */
	const struct np_record *fabric;

	struct np_mean alone_sec; /* run time alone */
	/* In the order of the calibration; else those with runs, in the order
	 * of np_utilisation_compare() and then of their names. */
	struct np_run_summary_level *level;
	size_t n_levels;
	size_t n_curve, n_impact;    /* levels with slowdown, with impact */
	double noise;		     /* np_noise_pooled() of the slowdowns */
	struct np_one_run intervals; /* of the runs with intervals */
	double intervals_longer; /* their run time / alone_sec - 1, or NaN */

	struct np_sample latency;   /* of the requested period, if possible */
	struct np_mean latency_sec; /* mean latency of one run */

	/* The application as the models see it; with a calibration only. */
	struct np_program program;
	struct np_mean *mean; /* curve, then impact */
	double *bin_count;
	char *rails; /* as in struct np_program */

	/* Compared with the idle network; by np_profile_make() only. */
	struct np_sample idle; /* reference; n_runs 0: none of this fabric */
	/* The load level whose nodes send most, as calibrated; "": not known.
	 * sent: by a node, bytes/s in one direction. */
	char strongest[NP_LEVEL_NAME];
	double sent;
	struct np_phases phases;
	struct np_verdict verdict;
	struct np_probe_cost cost;
};

/*
 * Summarise runs. runs, the calibration and the texts are borrowed for the
 * life of the summary. opt may be NULL. Returns 0, also if no run counts, or
 * -ENOMEM. Free with np_run_summary_free().
 */
int np_run_summary_make(const struct np_runs *runs,
			const struct np_run_summary_opt *opt,
			struct np_run_summary *out);
void np_run_summary_free(struct np_run_summary *summary);

/*
 * Make it independent of the runs, which may then be freed, by keeping only
 * what the models need. name is borrowed.
 */
void np_run_summary_detach(struct np_run_summary *summary, const char *name);

/* Do the models know anything about it, as victim or as co-runner? */
bool np_run_summary_has_data(const struct np_run_summary *summary);

/* One word, for programs: "used", "level", "neighbours" ... */
const char *np_run_use_name(enum np_run_use use);
/* For lists of excluded runs: "on a shared leaf switch" ... */
const char *np_run_use_words(enum np_run_use use);

/* ---- measurement intervals inside runs, as np_one_run.h wants them ---- */

/*
 * The intervals of runs that are used as NP_RUN_INTERVALS, oldest run first,
 * under the levels with these names at these scopes (scope NULL: any).
 * Intervals under other levels are left out, so those next to them lose a
 * neighbour. *out: free() it. Returns 0 or -ENOMEM.
 */
int np_run_intervals(const struct np_run_summary *summary,
		     const char *const *name, const char *const *scope,
		     size_t n_names, struct np_interval **out, size_t *n);

/*
 * A level's rounds on n_nodes nodes before the program of such a run started:
 * of record, or else of the newest run. NULL: there are none.
 */
const struct np_moments *
np_run_intervals_alone(const struct np_run_summary *summary,
		       const struct np_record *record, const char *level,
		       uint32_t n_nodes);

/* ---- in few bytes, for the cache (np_cache.h) ---- */

/* Write what the models need of summary, which was made with a calibration. */
void np_run_summary_pack(FILE *f, const struct np_run_summary *summary);

/*
 * Read it, as np_run_summary_detach() leaves it; name is borrowed. fabric:
 * that of the same calibration. Returns 0, -EINVAL (it is something else) or
 * -ENOMEM.
 */
int np_run_summary_unpack(struct np_pack *pack, const struct np_fabric *fabric,
			  const char *name, struct np_run_summary *out);

/* ---- runs that a sensitivity curve has so far, for np_planner_next() ---- */

/* The levels of a curve; names are borrowed. */
struct np_curve_levels {
	const char *name[NP_FABRIC_MAX_LEVELS];
	struct np_planner_level level[NP_FABRIC_MAX_LEVELS];
	size_t n;
};

/*
 * The levels of a calibration, with their impact: the mean over all victims of
 * log(1 + slowdown). Without one, the named levels of np_level.h in their
 * order.
 */
void np_curve_levels_make(const struct np_calibration *calibration,
			  struct np_curve_levels *out);

/*
 * Set run_sec of every level, and *alone, from a summary. Runs of its workload
 * that have not ended count, but without a time.
 * scope: only levels that ran there ("leaf", "node"); NULL: anywhere.
 */
void np_curve_count(const struct np_run_summary *summary, const char *scope,
		    struct np_curve_levels *levels, struct np_mean *alone);

#endif
