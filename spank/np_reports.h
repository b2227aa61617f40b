/*
 * From the reports of probe agents to the run record.
 *
 *	np_reports	hands every report of a step to the structures below
 *	np_aggregate	adds up latencies, costs and the rounds of a load level
 *	np_traffic	bytes, or MPI calls, of the step's nodes over time
 *	np_counters	the run's traffic, and its latencies in quiet moments
 *	np_intervals	the schedule of measurement intervals within a run
 *
 * Pure: the caller reads the lines and the clock. The times now_sec, start_sec
 * and end_sec, with any prefix, are of one monotonic clock, in seconds; other
 * names in _sec are durations.
 *
 * All structures write into one record, which they borrow: it must outlive
 * them. A report that does not fit is dropped, so the record lacks its data.
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
 * Make the aggregate and the counters, which live as long as the process. conf
 * and record must be set. Returns 0 or -ENOMEM.
 */
int np_reports_init(struct np_reports *reports);

/*
 * Take one report, received at now_sec. from_level: it comes from a process of
 * the load level, and otherwise from a probe. report->rank, and n_ranks of a
 * handshake, count all processes of that kind in the step.
 */
void np_reports_take(struct np_reports *reports, bool from_level,
		     const struct np_report *report, double now_sec);

/*
 * Do what the schedule of measurement intervals has planned for now. If a load
 * level is to be started, *level becomes its name, borrowed, and *level_sec how
 * long it should run. If no level is requested any more, *level becomes NULL.
 * Otherwise both are unchanged. Returns false if there are no intervals, or
 * the program has ended.
 */
bool np_reports_tick(struct np_reports *reports, double now_sec,
		     const char **level, double *level_sec);

/* Has the load level run alone for long enough for the program to start? */
bool np_reports_lead_in_done(const struct np_reports *reports, double now_sec);

/* ---- latencies, costs and load level ---- */

struct np_aggregate;

/* record is borrowed. NULL: out of memory. */
struct np_aggregate *np_aggregate_new(struct np_record *record);
void np_aggregate_free(struct np_aggregate *aggregate); /* NULL is allowed */

/*
 * Take one report of a probe. Returns 0, or if the report had to be dropped:
 * -EINVAL (the probe has sent no handshake, or the report is of another kind
 * than expected), -ERANGE (the step has too many probes) or -ENOMEM.
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
 * set. program_start_sec and program_end_sec are NaN until the program has
 * started or ended.
 *
 * Rounds before the program's start count as alone, and rounds between its
 * start and its end as under its traffic. The window in which the program
 * starts and all windows after its end are dropped. So are the first second,
 * in which the program is launched and connects its ranks, and the last half
 * second, unless there are no other windows.
 *
 * Returns 0, or -EINVAL if the report had to be dropped.
 */
int np_aggregate_level_report(struct np_aggregate *aggregate,
			      const struct np_report *report, double now_sec,
			      double program_start_sec, double program_end_sec);

/* Add the level's last windows, once all of its reports have arrived. */
void np_aggregate_level_done(struct np_aggregate *aggregate,
			     double program_end_sec);

/* Return how long ago the level started, in seconds; 0: it has not started. */
double np_aggregate_level_age(const struct np_aggregate *aggregate,
			      double now_sec);

/* ---- traffic of the nodes over the last minute ---- */

#define NP_TRAFFIC_BINS 2048

/*
 * Counts of something, such as bytes, by the time at which it happened, in a
 * ring of bins of 0.05 s. Empty when zeroed.
 */
struct np_traffic {
	double count[NP_TRAFFIC_BINS];	      /* sum over all nodes */
	double reported_sec[NP_TRAFFIC_BINS]; /* the same, of reported time */
	int64_t newest_bin; /* its number, if the first one begins at 0 s */
	/* End of the last period that each node reported; 0: none. */
	double node_end_sec[NP_RENDEZVOUS_MAX_NODES];
};

/*
 * Add what a node counted during elapsed_sec, as reported at now_sec, which is
 * positive and never decreases. The periods of a node are taken to follow each
 * other without gaps, however late each is reported. Nodes from
 * NP_RENDEZVOUS_MAX_NODES on are ignored, and so are periods of no length or of
 * more than 51 s.
 */
void np_traffic_add(struct np_traffic *traffic, size_t node, double now_sec,
		    double elapsed_sec, double count);

/*
 * Return the counts per second of all nodes together, between two times rounded
 * to bins. Time that has not been reported yet is taken to be like the time
 * that has. NaN: less than half of the time has been reported.
 */
double np_traffic_rate(const struct np_traffic *traffic, double from_sec,
		       double to_sec);

/* ---- counters of the network devices ---- */

/*
 * The byte counters of the nodes' network devices give the traffic in the run
 * record. They also show in which moments the nodes transferred almost
 * nothing: the latencies of such moments are those of the idle network,
 * measured at no extra cost.
 */
struct np_counters;

/* record is borrowed. NULL: out of memory. */
struct np_counters *np_counters_new(struct np_record *record);
void np_counters_free(struct np_counters *counters); /* NULL is allowed */

/*
 * Take one report of a probe, received at now_sec. alone: no load level ran in
 * the time that it describes; otherwise its latencies and counts are dropped.
 */
void np_counters_report(struct np_counters *counters,
			const struct np_report *report, bool alone,
			double now_sec);

/*
 * Return the latencies of quiet moments so far, as a record of the idle network
 * on the run's fabric. The caller frees it. NULL: there are fewer than
 * NP_COUNTERS_LEAST, or out of memory.
 */
#define NP_COUNTERS_LEAST 10
struct np_record *np_counters_idle(const struct np_counters *counters);

/* ---- the schedule of measurement intervals ---- */

/*
 * One run alternates between load levels, and no load, in measurement intervals
 * (np_one_run.h). The schedule determines which level runs when, and what the
 * counters of the step's nodes say about each interval. Before the program
 * starts, each level whose rounds without a program are not known yet runs for
 * a moment. Compared with these, its rounds in the intervals show how much the
 * program slows the level. The caller starts the level's processes and passes
 * on what they report.
 */
struct np_intervals;

#define NP_INTERVALS_REPORT_SEC 0.25 /* period that each report describes */

/* record and earlier are borrowed. NULL: out of memory. */
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

/* Note that a process of the requested level has started to run. */
void np_intervals_level_started(struct np_intervals *intervals, double now_sec);

/* Add the rounds of the level in the period that ended at now_sec. */
void np_intervals_add_rounds(struct np_intervals *intervals, double now_sec,
			     const struct np_moments *round_sec);

/* Is the lead-in over, so that the program may start? */
bool np_intervals_lead_in_done(const struct np_intervals *intervals);

/* Was a level requested that is not running yet? */
bool np_intervals_wants_level(const struct np_intervals *intervals);

/* Is it certain that no level ran in the period that ended at now_sec? */
bool np_intervals_is_alone(const struct np_intervals *intervals,
			   double now_sec);

/*
 * Do what is due at now_sec. program_start_sec is NaN until the program has
 * started. Returns the name of a level to start now, borrowed, and sets
 * *level_sec to how long it should run; or returns NULL.
 */
const char *np_intervals_tick(struct np_intervals *intervals, double now_sec,
			      double program_start_sec, double *level_sec);

/* Return when np_intervals_tick() is due next; INFINITY: after a report. */
double np_intervals_due_sec(const struct np_intervals *intervals);

#endif
