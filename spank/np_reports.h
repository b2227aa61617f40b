/*
 * From the reports of probe agents to the run record.
 *
 *	np_traffic	bytes, or MPI calls, of the step's nodes over time
 *	np_counters	the record's traffic, and latencies in quiet moments
 *	np_aggregate	the record's latencies and rounds of the load level
 *	np_intervals	the schedule of measurement intervals within a run
 *	np_reports	hands every report to these
 *
 * Pure: the caller reads the lines and the clock.  Times now_sec, start_sec and
 * end_sec are of a monotonic clock, in seconds.
 */
#ifndef NP_REPORTS_H
#define NP_REPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_conf.h"
#include "np_record.h"
#include "np_rendezvous.h"
#include "np_report.h"
#include "np_select_level.h"

/* ---- all reports of one step ---- */

struct np_reports {
	const struct np_conf *conf; /* borrowed */
	struct np_record *r;	    /* borrowed */
	/* NaN: not yet.  The caller sets both. */
	double program_start_sec, program_end_sec;
	struct np_aggregate *aggregate;
	struct np_counters *counters;
	struct np_intervals *intervals; /* NULL: no measurement intervals */
};

/* conf and r must be set.  Returns 0 or -ENOMEM. */
int np_reports_init(struct np_reports *p);

/*
 * Take one report, received at now_sec.  level: of a process that runs the load
 * level, else of a probe.  rep->rank, and n_ranks of a handshake, count all
 * processes of its kind in the step.
 */
void np_reports_take(struct np_reports *p, bool level,
		     const struct np_report *rep, double now_sec);

/* The state of the probes of the step. */
struct np_reports_probes {
	bool all_started;
	uint32_t n_finished; /* probes that have sent their last report */
};
struct np_reports_probes np_reports_probes(const struct np_reports *p);

/*
 * Do what the schedule has due. *level becomes the load level to start now, for
 * *sec seconds, NULL if none is wanted any more, and else stays as it is.
 * Returns false if there is no schedule, or the program has ended.
 */
bool np_reports_tick(struct np_reports *p, double now_sec, const char **level,
		     double *sec);

/* Has the load level run alone for long enough for the program to start? */
bool np_reports_lead_in_done(const struct np_reports *p, double now_sec);

/* ---- latencies, costs and load level ---- */

struct np_aggregate;

/* r is borrowed and must outlive the aggregate.  NULL: out of memory. */
struct np_aggregate *np_aggregate_new(struct np_record *r);
void np_aggregate_free(struct np_aggregate *a); /* NULL is allowed */

/*
 * Take one report of a probe.  r->probe.n_processes counts those that have sent
 * their handshake.  Returns 0, or -errno if the report had to be dropped.
 */
int np_aggregate_probe_report(struct np_aggregate *a,
			      const struct np_report *rep);

/* Number of probes that have sent their last report. */
uint32_t np_aggregate_finished(const struct np_aggregate *a);

/* Has every probe of the step sent its handshake? */
bool np_aggregate_probes_started(const struct np_aggregate *a);

/*
 * Take one report of a load level, read at now_sec; r->level must be set.
 * program_start_sec and program_end_sec are NaN while the program has not
 * started or ended.  Rounds before the start ran alone, and those between start
 * and end ran under the program's traffic.  The window in which the program
 * starts and all windows after its end are dropped.  So are the program's first
 * second, in which it is launched and connects its ranks, and its last half
 * second, unless there is nothing else.
 * Returns 0, or -EINVAL if the report had to be dropped.
 */
int np_aggregate_level_report(struct np_aggregate *a,
			      const struct np_report *rep,
			      double now_sec, double program_start_sec,
			      double program_end_sec);

/* Add the last windows, once all reports have arrived. */
void np_aggregate_level_done(struct np_aggregate *a, double program_end_sec);

/* Seconds since the level began to run; 0: not yet. */
double np_aggregate_level_age(const struct np_aggregate *a, double now_sec);

/* ---- traffic of the nodes over the last minute ---- */

#define NP_TRAFFIC_BIN_SEC 0.05
#define NP_TRAFFIC_BINS 2048
/* A report that is later than this has lost some reports before it. */
#define NP_TRAFFIC_LATE_SEC 5.0

/* Zeroed, it is empty. */
struct np_traffic {
	double bin[NP_TRAFFIC_BINS]; /* counts of all nodes */
	double sec[NP_TRAFFIC_BINS]; /* seconds reported, of all nodes */
	int64_t last;		     /* number of the newest bin since 0 s */
	/* End of each node's last report; 0: none. */
	double to_sec[NP_RENDEZVOUS_MAX_NODES];
};

/*
 * A node counted n in elapsed_sec; now_sec > 0 does not decrease.  The periods
 * of one node follow each other without a gap, however late each is reported.
 */
void np_traffic_add(struct np_traffic *t, size_t node, double now_sec,
		    double elapsed_sec, double n);

/*
 * Counts per second of all nodes, from from_sec to to_sec in whole bins.  What
 * a node has not reported yet is assumed to be like the rest.  NaN: less than
 * half has been reported.
 */
double np_traffic_rate(const struct np_traffic *t, double from_sec,
		       double to_sec);

/* ---- counters of the network devices ---- */

/*
 * The byte counters of the nodes' network devices give the traffic in the run
 * record, and tell in which moments the nodes transferred almost nothing.
 * Latencies of such moments are those of the idle network, at no cost.
 */
struct np_counters;

/* r, borrowed, receives the traffic.  NULL: out of memory. */
struct np_counters *np_counters_new(struct np_record *r);
void np_counters_free(struct np_counters *c); /* NULL is allowed */

/*
 * Take one report of a probe, read at now_sec.  alone: no load level ran in the
 * time that it describes; otherwise its latencies and counts are dropped.
 */
void np_counters_report(struct np_counters *c, const struct np_report *rep,
			bool alone, double now_sec);

/*
 * The quiet latencies so far, as a record of the idle network on r's fabric,
 * which the caller frees.  NULL: fewer than NP_COUNTERS_LEAST, or out of
 * memory.
 */
#define NP_COUNTERS_LEAST 10
struct np_record *np_counters_idle(const struct np_counters *c);

/* ---- the schedule of measurement intervals ---- */

/*
 * One run alternates load levels, and no load, in measurement intervals
 * (np_one_run.h).  The schedule says which level runs when, and what the
 * counters of the step's nodes say about each interval.  Before the program
 * starts, each level whose rounds alone are not known yet runs for a moment, so
 * that its rounds in the intervals tell how the program slows the level.  The
 * caller starts the level's processes and passes what they report.
 */
struct np_intervals;

#define NP_INTERVALS_WINDOW_SEC 0.25 /* period that each report describes */

/* r and earlier are borrowed.  NULL: out of memory. */
struct np_intervals *
np_intervals_new(struct np_record *r,
		 const struct np_earlier_intervals *earlier);
void np_intervals_free(struct np_intervals *s); /* NULL is allowed */

/* A node's devices transferred bytes in elapsed_sec, as reported at now_sec. */
void np_intervals_add_bytes(struct np_intervals *s, size_t node, double now_sec,
			    double elapsed_sec, double bytes);

/* The same for MPI calls, where these are counted. */
void np_intervals_add_calls(struct np_intervals *s, size_t node, double now_sec,
			    double elapsed_sec, double calls);

/* The level that was started runs now. */
void np_intervals_level_up(struct np_intervals *s, double now_sec);

/* Add the rounds of the level in the last window. */
void np_intervals_add_rounds(struct np_intervals *s, double now_sec,
			     const struct np_moments *sec);

/* Have the levels run alone, so that the program may start? */
bool np_intervals_lead_in_done(const struct np_intervals *s);

/* Was a level requested that does not run yet? */
bool np_intervals_wants_level(const struct np_intervals *s);

/* Is it certain that no level ran in the last window? */
bool np_intervals_is_alone(const struct np_intervals *s, double now_sec);

/*
 * Do what is due at now_sec.  start_sec: start of the program, NaN: not yet.
 * Returns the name of a level to start now for *sec seconds, or NULL.
 */
const char *np_intervals_tick(struct np_intervals *s, double now_sec,
			      double start_sec, double *sec);

/* When np_intervals_tick() must be called next. */
double np_intervals_due_sec(const struct np_intervals *s);

#endif
