/*
 * Which runs of an application count, for what, and what they say together:
 * the one answer that pages, models, placement and calibration go by.
 * Derived on reading, so that a better model improves old runs; no I/O.
 *
 * Runs count that can be compared: on one fabric (cluster, transport, size of
 * probes; what one side does not say is taken for the same), successful, never
 * suspended, without other jobs on their leaves, and of one workload (fingerprint): that
 * whose runs have most distinct levels, then most runs, then the newest.
 * Where srun's exit code is known, so is the program's end, even if the probes
 * were cut.
 *
 * Latencies are those of the runs alone.  Where there are none, pages take
 * those of runs of the workload that shared a leaf with other jobs, and say so;
 * models do not, which is the one difference between them.  Where there are
 * none of these either, they come from runs whose workload is not known.
 */
#ifndef NP_EVIDENCE_H
#define NP_EVIDENCE_H

#include <stdbool.h>

#include "np_blocks.h"
#include "np_fabric.h"
#include "np_fabric_store.h"
#include "np_record.h"
#include "np_store.h"

/* What the probes of runs say: of one run, and of several together. */

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

/*
 * The network at rest, made with: srun --netprofile=idle sleep 30
 * It is no workload: latencies of its runs count whatever was run.
 */
#define NP_IDLE_APP "idle"

/* A run that says "running" and was last saved longer ago has died. */
#define NP_EVIDENCE_RUNNING_SEC 60.0

enum np_run_use {
	NP_RUN_ALONE,	   /* without a level: its time and its latencies */
	NP_RUN_BESIDE,	   /* beside a level: its time, the level's rounds */
	NP_RUN_TIME,	   /* without: its time, as no latency was measured */
	NP_RUN_LATENCY,	   /* without: its latencies, see above */
	NP_RUN_BLOCKS,	   /* cut into blocks beside levels: these */
	/* Left out, by the first reason that holds: */
	NP_RUN_FABRIC,	   /* on another fabric */
	NP_RUN_UNDER_WAY,  /* not ended yet */
	NP_RUN_FAILED,	   /* exit code not 0 or not known, or no time */
	NP_RUN_SUSPENDED,  /* its job was suspended meanwhile */
	NP_RUN_NEIGHBOURS, /* shared a leaf with other jobs */
	NP_RUN_SCOPE,	   /* its level ran at another scope */
	NP_RUN_LEVEL,	   /* a level that the calibration does not have */
	NP_RUN_WORKLOAD,   /* another workload, or not known which */
	NP_RUN_KEPT,	   /* of the idle network, which nobody asked for */
	NP_RUN_USES
};

/* What a level did; without runs the means are not measured. */
struct np_evidence_level {
	const char *name, *scope; /* borrowed from the calibration or a run */
	struct np_mean run_sec;	  /* run time beside it */
	/*
	 * Mean run time beside / alone - 1; its sd is that of one run, with
	 * the scatter of the time alone in it, so that sd / sqrt(n) is the
	 * error of the mean.
	 */
	struct np_mean slowdown;
	double low, high; /* its 95 % interval, np_noise_interval() */
	/* From blocks inside runs, as these say it better than whole runs. */
	bool of_blocks;
	/* The level's own: mean round beside / alone - 1 of a run. */
	struct np_mean pressure;
};

/* All may be missing. */
struct np_evidence_opt {
	/* Its fabric, levels and scope, and a program for the models; else
	 * levels as they occur, for a page. */
	const struct np_calibration *calibration;
	/* The fabric and probe period of this run where there is no
	 * calibration; else the fabric of the newest measured run. */
	const struct np_record *like;
	const char *scope;	 /* of levels, instead of the calibration's */
	const char *fingerprint; /* of the workload, instead of the choice */
	double now;		 /* a date: how old "running" is */
};

struct np_evidence {
	enum np_run_use *use; /* of each run */
	size_t count[NP_RUN_USES]; /* runs by use */
	size_t n_used;		   /* not left out */
	const char *fingerprint; /* of the workload, borrowed; NULL: no run */
	/* The newest measured run; NULL: none, or not needed. */
	const struct np_record *fabric;

	struct np_mean alone_sec; /* run time alone */
	/* Of the calibration, in its order; else those with runs, by name. */
	struct np_evidence_level *level;
	size_t n_levels;
	size_t n_curve, n_pressure; /* levels with a slowdown, with rounds */
	double noise;		    /* np_noise_pooled() of the slowdowns */
	struct np_blocks blocks;    /* of the runs that have some */
	double blocks_longer; /* these runs' time / alone_sec - 1, or NaN */

	struct np_sample latency;   /* at the period asked for, if any is */
	struct np_mean latency_sec; /* mean latency of one run */

	/* The application as the models see it, on a calibration. */
	struct np_program program;
	struct np_mean *mean; /* curve, then pressure */
	double *bin_count;
};

/*
 * runs, the calibration and the texts are borrowed for the life of the
 * evidence.  opt NULL: nothing asked for.  Returns 0, also where no run
 * counts, or -ENOMEM.  Free with np_evidence_free().
 */
int np_evidence_make(const struct np_runs *runs,
		     const struct np_evidence_opt *opt,
		     struct np_evidence *out);
void np_evidence_free(struct np_evidence *e);

/*
 * Stand without the runs, which may be freed then: only what the models need
 * is kept.  name is borrowed instead.
 */
void np_evidence_detach(struct np_evidence *e, const char *name);

/* Has a model anything to go by, of it as a victim or as a co-runner? */
bool np_evidence_has_data(const struct np_evidence *e);

/* "used", "level", "neighbours" and so on: one word for programs. */
const char *np_run_use_name(enum np_run_use use);
/* "beside other jobs" and so on, for lists of what was left out. */
const char *np_run_use_words(enum np_run_use use);

/* The blocks of runs (np_record.h) as np_blocks.h takes them.  No I/O. */

/*
 * Those of the runs that are used as NP_RUN_BLOCKS, of the levels of these names
 * at these scopes, oldest run first; blocks beside other levels are left out,
 * with which those next to them lose a neighbour.  scope NULL: any.
 * *out: free() it.  Returns 0 or -ENOMEM.
 */
int np_run_blocks(const struct np_runs *runs, const enum np_run_use *use,
		  const char *const *name, const char *const *scope,
		  size_t n_names, struct np_block **out, size_t *n);

/*
 * A level's rounds on so many nodes, before the program of such a run started:
 * those of r, or else of the newest run.  NULL: there are none.
 */
const struct np_moments *np_run_blocks_alone(const struct np_runs *runs,
					     const enum np_run_use *use,
					     const struct np_record *r,
					     const char *level,
					     uint32_t n_nodes);

#endif
