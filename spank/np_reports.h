/*
 * From the reports of probe agents to the run record.
 *
 *	np_reports	hands every report of a step to the structures below
 *	np_aggregate	adds up latencies, costs and the rounds of a load level
 *	np_traffic	bytes, or MPI calls, of the step's nodes over time
 *	np_counters	the run's traffic, and its latencies in quiet moments
 *	np_intervals	the schedule of measurement intervals within a run
 *
 * Pure: the caller reads the lines and the clock.  The times now_sec, start_sec
 * and end_sec, with any prefix, are of one monotonic clock, in seconds; other
 * names in _sec are durations.
 *
 * All structures write into one record, which they borrow: it must outlive
 * them.  A report that does not fit is dropped, and the record lacks what it
 * says.
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

/* The caller sets the members up to program_end_sec, and intervals. */
struct np_reports {
	const struct np_conf *conf; /* borrowed */
	struct np_record *record;   /* borrowed */
	/* NaN: the program has not started, or not ended, yet. */
	double program_start_sec, program_end_sec;
	struct np_aggregate *aggregate;
	struct np_counters *counters;
	struct np_intervals *intervals; /* NULL: no measurement intervals */
};

/*
 * Make the aggregate and the counters, which live as long as the process.  conf
 * and record must be set.  Returns 0 or -ENOMEM.
 */
int np_reports_init(struct np_reports *reports);

/*
 * Take one report, received at now_sec.  from_level: of a process that runs the
 * load level; otherwise of a probe.  report->rank, and n_ranks of a handshake,
 * count all processes of its kind in the step.
 */
void np_reports_take(struct np_reports *reports, bool from_level,
		     const struct np_report *report, double now_sec);

/*
 * Do what the measurement intervals have due.  *level becomes the load level to
 * start now, for *level_sec seconds; its name is borrowed.  It becomes NULL if
 * none is wanted any more, and stays as it is otherwise.  Returns false if
 * there are no intervals, or the program has ended.
 */
bool np_reports_tick(struct np_reports *reports, double now_sec,
		     const char **level, double *level_sec);

/* Has the load level run alone for long enough for the program to start? */
bool np_reports_lead_in_done(const struct np_reports *reports, double now_sec);

/* ---- latencies, costs and load level ---- */

struct np_aggregate;

/* record is borrowed.  NULL: out of memory. */
struct np_aggregate *np_aggregate_new(struct np_record *record);
void np_aggregate_free(struct np_aggregate *aggregate); /* NULL is allowed */

/*
 * Take one report of a probe.  Returns 0, or if the report had to be dropped:
 * -EINVAL (of a probe without a handshake, or of a kind that is not expected),
 * -ERANGE (the step has too many probes) or -ENOMEM.
 */
int np_aggregate_probe_report(struct np_aggregate *aggregate,
			      const struct np_report *report);

struct np_probes_state {
	bool all_started;    /* every probe has sent its handshake */
	uint32_t n_finished; /* probes that have sent their last report */
};
struct np_probes_state
np_aggregate_probes_state(const struct np_aggregate *aggregate);

/*
 * Take one report of a load level, received at now_sec; record->level must be
 * set.  program_start_sec and program_end_sec: NaN, not yet.
 *
 * Rounds before the start ran alone, and those between start and end ran under
 * the program's traffic.  The window in which the program starts and all
 * windows after its end are dropped.  So are the program's first second, in
 * which it is launched and connects its ranks, and its last half second, unless
 * there is nothing else.
 *
 * Returns 0, or -EINVAL if the report had to be dropped.
 */
int np_aggregate_level_report(struct np_aggregate *aggregate,
			      const struct np_report *report, double now_sec,
			      double program_start_sec, double program_end_sec);

/* Add the level's last windows, once all of its reports have arrived. */
void np_aggregate_level_done(struct np_aggregate *aggregate,
			     double program_end_sec);

/* Seconds since the level started to run; 0: it has not. */
double np_aggregate_level_age(const struct np_aggregate *aggregate,
			      double now_sec);

/* ---- traffic of the nodes over the last minute ---- */

#define NP_TRAFFIC_BINS 2048

/*
 * Counts of something, such as bytes, by the time at which it happened, in a
 * ring of bins of 0.05 s.  Empty when zeroed.
 */
struct np_traffic {
	double count[NP_TRAFFIC_BINS];	      /* sum over all nodes */
	double reported_sec[NP_TRAFFIC_BINS]; /* the same, of reported time */
	int64_t newest_bin; /* its number, if the first one begins at 0 s */
	/* End of the last period that each node reported; 0: none. */
	double node_end_sec[NP_RENDEZVOUS_MAX_NODES];
};

/*
 * Add what a node counted in elapsed_sec, as reported at now_sec > 0, which
 * does not decrease.  The periods of one node follow each other without a gap,
 * however late each is reported.  Nodes from NP_RENDEZVOUS_MAX_NODES on are
 * ignored, and so are periods of no length or of more than 51 s.
 */
void np_traffic_add(struct np_traffic *traffic, size_t node, double now_sec,
		    double elapsed_sec, double count);

/*
 * Counts per second of all nodes together, from from_sec to to_sec in whole
 * bins.  What a node has not reported yet is assumed to be like the rest.  NaN:
 * less than half has been reported.
 */
double np_traffic_rate(const struct np_traffic *traffic, double from_sec,
		       double to_sec);

/* ---- counters of the network devices ---- */

/*
 * The byte counters of the nodes' network devices give the traffic in the run
 * record, and tell in which moments the nodes transferred almost nothing.
 * Latencies of such moments are those of the idle network, at no cost.
 */
struct np_counters;

/* record is borrowed.  NULL: out of memory. */
struct np_counters *np_counters_new(struct np_record *record);
void np_counters_free(struct np_counters *counters); /* NULL is allowed */

/*
 * Take one report of a probe, received at now_sec.  alone: no load level ran in
 * the time that it describes; otherwise its latencies and counts are dropped.
 */
void np_counters_report(struct np_counters *counters,
			const struct np_report *report, bool alone,
			double now_sec);

/*
 * Return the quiet latencies so far as a record of the idle network on the
 * run's fabric, to be freed by the caller.  NULL: fewer than NP_COUNTERS_LEAST,
 * or out of memory.
 */
#define NP_COUNTERS_LEAST 10
struct np_record *np_counters_idle(const struct np_counters *counters);

/* ---- the schedule of measurement intervals ---- */

/*
 * One run alternates load levels, and no load, in measurement intervals
 * (np_one_run.h).  The schedule says which level runs when, and what the
 * counters of the step's nodes say about each interval.  Before the program
 * starts, each level whose rounds alone are not known yet runs for a moment, so
 * that its rounds in the intervals tell how the program slows the level.  The
 * caller starts the level's processes and passes on what they report.
 */
struct np_intervals;

#define NP_INTERVALS_REPORT_SEC 0.25 /* period that each report describes */

/* record and earlier are borrowed.  NULL: out of memory. */
struct np_intervals *
np_intervals_new(struct np_record *record,
		 const struct np_earlier_intervals *earlier);
void np_intervals_free(struct np_intervals *intervals); /* NULL is allowed */

/*
 * Add the bytes that the program transferred on a node in elapsed_sec, as
 * reported at now_sec.
 */
void np_intervals_add_bytes(struct np_intervals *intervals, size_t node,
			    double now_sec, double elapsed_sec, double bytes);

/* The same for MPI calls, where these are counted. */
void np_intervals_add_calls(struct np_intervals *intervals, size_t node,
			    double now_sec, double elapsed_sec, double calls);

/* A process of the requested level reports that it runs now. */
void np_intervals_level_started(struct np_intervals *intervals, double now_sec);

/* Add the rounds of the level in the period that ended at now_sec. */
void np_intervals_add_rounds(struct np_intervals *intervals, double now_sec,
			     const struct np_moments *round_sec);

/* Have the levels run alone, so that the program may start? */
bool np_intervals_lead_in_done(const struct np_intervals *intervals);

/* Was a level requested that does not run yet? */
bool np_intervals_wants_level(const struct np_intervals *intervals);

/* Is it certain that no level ran in the period that ended at now_sec? */
bool np_intervals_is_alone(const struct np_intervals *intervals,
			   double now_sec);

/*
 * Do what is due at now_sec.  program_start_sec: NaN, not yet.  Returns the
 * name of a level to start now for *level_sec seconds, borrowed, or NULL.
 */
const char *np_intervals_tick(struct np_intervals *intervals, double now_sec,
			      double program_start_sec, double *level_sec);

/* When np_intervals_tick() must be called next; INFINITY: after a report. */
double np_intervals_due_sec(const struct np_intervals *intervals);

#endif
