/*
 * From the reports of probe agents to the run record.
 *
 * The sections are in the order of np_reports.h: np_reports receives every
 * report and hands it to the structures of the other sections. They use each
 * other as follows:
 *
 *	np_reports --> np_aggregate
 *	           --> np_counters  --> np_traffic
 *	           --> np_intervals --> np_traffic
 */
#include "np_reports.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_engine.h"
#include "np_launch.h"
#include "np_run_summary.h"

/* Assumed size of the headers of a message and its acknowledgement. */
#define OVERHEAD_BYTES 132
#define REPORT_SEC 1.0 /* longest period that one report describes */

/* ---- all reports of one step ---- */

int np_reports_init(struct np_reports *reports)
{
	reports->aggregate = np_aggregate_new(reports->record);
	reports->counters = np_counters_new(reports->record);
	return reports->aggregate && reports->counters ? 0 : -ENOMEM;
}

bool np_reports_tick(struct np_reports *reports, double now_sec,
		     const char **level, double *level_sec)
{
	const char *next;

	if (!reports->intervals || !isnan(reports->program_end_sec))
		return false;
	next = np_intervals_tick(reports->intervals, now_sec,
				 reports->program_start_sec, level_sec);
	if (next || !np_intervals_wants_level(reports->intervals))
		*level = next;
	return true;
}

bool np_reports_lead_in_done(const struct np_reports *reports, double now_sec)
{
	if (reports->intervals)
		return np_intervals_lead_in_done(reports->intervals);
	return np_aggregate_level_age(reports->aggregate, now_sec) >=
	       reports->conf->lead_in_sec;
}

/* Return whether the program runs without a load level. */
static bool program_runs_alone(const struct np_reports *reports, double now_sec)
{
	return reports->intervals ?
		       np_intervals_is_alone(reports->intervals, now_sec) :
		       !reports->record->level;
}

/*
 * Return the bytes that the program transferred: those of the report, less
 * those of the probe itself. The probe makes one exchange per period: two
 * rounds, each of a message and its reply, with their overhead.
 */
static double program_bytes(const struct np_reports *reports,
			    const struct np_report *report)
{
	double exchange_bytes =
		2.0 * (NP_PINGPONG_MIN_BYTES + reports->conf->message_bytes +
		       2 * OVERHEAD_BYTES);
	double probe_bytes = exchange_bytes * report->transferred.elapsed_sec /
			     reports->conf->period_sec;

	return fmax((double)report->transferred.n - probe_bytes, 0);
}

/* Pass on the bytes and MPI calls, which show how fast the program runs. */
static void add_to_intervals(struct np_reports *reports,
			     const struct np_report *report, double now_sec)
{
	if (report->kind == NP_REPORT_TRANSFERRED)
		np_intervals_add_bytes(reports->intervals, report->rank,
				       now_sec, report->transferred.elapsed_sec,
				       program_bytes(reports, report));
	/* The first probe of a node counts the calls on that node. */
	if (report->kind == NP_REPORT_CALLS && !report->other_rail)
		np_intervals_add_calls(reports->intervals, report->rank,
				       now_sec, report->transferred.elapsed_sec,
				       (double)report->transferred.n);
}

/*
 * The record has the latencies of the program alone: in a run with measurement
 * intervals, those under a load level are dropped.
 */
static void take_probe_report(struct np_reports *reports,
			      const struct np_report *report, double now_sec)
{
	bool alone = program_runs_alone(reports, now_sec);

	if (report->kind != NP_REPORT_LATENCY || !reports->intervals || alone)
		np_aggregate_probe_report(reports->aggregate, report);
	np_counters_report(reports->counters, report, alone, now_sec);
	if (reports->intervals)
		add_to_intervals(reports, report, now_sec);
}

static void take_level_report(struct np_reports *reports,
			      const struct np_report *report, double now_sec)
{
	if (!reports->intervals) {
		if (reports->record->level)
			np_aggregate_level_report(reports->aggregate, report,
						  now_sec,
						  reports->program_start_sec,
						  reports->program_end_sec);
	} else if (report->kind == NP_REPORT_HANDSHAKE) {
		np_intervals_level_started(reports->intervals, now_sec);
	} else if (report->kind == NP_REPORT_ROUND) {
		np_intervals_add_rounds(reports->intervals, now_sec,
					&report->window.sec);
	}
}

void np_reports_take(struct np_reports *reports, bool from_level,
		     const struct np_report *report, double now_sec)
{
	if (from_level)
		take_level_report(reports, report, now_sec);
	else
		take_probe_report(reports, report, now_sec);
}

/* ---- latencies, costs and load level ---- */

/*
 * A program causes little traffic when it starts and ends: exclude that time.
 */
#define START_UP_SEC 1.0
#define WIND_DOWN_SEC 0.5

struct probe_process {
	char leaf[NP_REPORT_WORD]; /* name of its leaf switch */
	bool started;		   /* it has sent its handshake */
	double cpu_sec, elapsed_sec;
};

/*
 * The rounds of a load level in one window that overlaps with the program.
 * They are kept here until it is known whether the program went on after the
 * window.
 */
struct pending_window {
	double end_sec;
	bool after_start_up;	     /* of the program */
	struct np_moments round_sec; /* empty: this entry is unused */
};
#define MAX_PENDING_WINDOWS 4

struct np_aggregate {
	struct np_record *record;    /* borrowed */
	struct probe_process *probe; /* by rank; NULL before the first report */
	uint32_t n_probes;
	uint32_t n_finished; /* probes that have sent their last report */

	double level_start_sec; /* NaN: the load level has not started yet */
	bool start_up_excluded; /* from record->level->loaded_round_sec */
	struct pending_window pending[MAX_PENDING_WINDOWS];
};

struct np_aggregate *np_aggregate_new(struct np_record *record)
{
	struct np_aggregate *aggregate = calloc(1, sizeof(*aggregate));

	if (aggregate) {
		aggregate->record = record;
		aggregate->level_start_sec = NAN;
	}
	return aggregate;
}

void np_aggregate_free(struct np_aggregate *aggregate)
{
	if (aggregate)
		free(aggregate->probe);
	free(aggregate);
}

/* Reports of probes. */

/* Set a text of the record, unless an earlier report has set it. */
static int set_text(char **to, const char *text)
{
	char *copy;

	if (*to || !*text)
		return 0;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	*to = copy;
	return 0;
}

/* Make room for all probes of the step: the first handshake says how many. */
static int make_room_for_probes(struct np_aggregate *aggregate, uint32_t n)
{
	if (!n || n > 2 * NP_RECORD_MAX_NODES)
		return -ERANGE;
	aggregate->probe = calloc(n, sizeof(*aggregate->probe));
	if (!aggregate->probe)
		return -ENOMEM;
	aggregate->n_probes = n;
	return 0;
}

static int add_handshake(struct np_aggregate *aggregate,
			 const struct np_report *report)
{
	struct np_record *record = aggregate->record;
	const char *leaf_name = report->handshake.leaf;
	struct probe_process *probe;
	struct np_leaf_run *leaf;
	int rc = 0;

	if (!aggregate->probe)
		rc = make_room_for_probes(aggregate, report->handshake.n_ranks);
	if (rc)
		return rc;
	if (report->rank >= aggregate->n_probes ||
	    aggregate->probe[report->rank].started)
		return -EINVAL;
	leaf = np_record_leaf(record, leaf_name);
	if (!leaf)
		return -ENOMEM;
	if (report->handshake.peer_node[0])
		leaf->n_pairs++;
	probe = &aggregate->probe[report->rank];
	probe->started = true;
	strcpy(probe->leaf, leaf_name);
	record->probe.n_processes++;
	if (!report->other_rail &&
	    set_text(&record->probe.transport, report->handshake.transport))
		return -ENOMEM;
	return set_text(&record->ucx_version, report->handshake.version);
}

/*
 * Add a window. np_report_parse() has checked that its bins and moments agree.
 */
static void merge_window(struct np_leaf_run *leaf,
			 const struct np_report *report)
{
	for (size_t i = 0; i < report->window.n_bins; i++)
		np_hist_add_bin(leaf->hist, report->window.bins[i].bin,
				report->window.bins[i].count);
	np_moments_merge(&leaf->latency, &report->window.sec);
}

static int add_latency(struct np_aggregate *aggregate,
		       const struct np_report *report)
{
	struct np_leaf_run *leaf = np_record_leaf(
		aggregate->record, aggregate->probe[report->rank].leaf);

	if (!leaf)
		return -ENOMEM;
	if (!leaf->hist)
		leaf->hist = np_hist_new();
	if (!leaf->windows) {
		leaf->windows = malloc(sizeof(*leaf->windows));
		if (leaf->windows)
			np_series_init(leaf->windows, REPORT_SEC);
	}
	if (!leaf->hist || !leaf->windows)
		return -ENOMEM;
	if (np_series_add(leaf->windows, report->window.at_sec,
			  &report->window.sec))
		return -EINVAL;
	merge_window(leaf, report);
	return 0;
}

/*
 * Add the costs of a probe: like all reports, an increase since the last one.
 */
static void add_cost(struct np_aggregate *aggregate,
		     const struct np_report *report)
{
	struct np_probe_run *total = &aggregate->record->probe;
	struct probe_process *probe = &aggregate->probe[report->rank];

	probe->cpu_sec += report->cost.cpu_sec;
	probe->elapsed_sec += report->cost.elapsed_sec;
	total->cpu_sec_sum += report->cost.cpu_sec;
	total->messages += report->cost.messages;
	total->cpu_sec_max = fmax(total->cpu_sec_max, probe->cpu_sec);
	total->elapsed_sec = fmax(total->elapsed_sec, probe->elapsed_sec);
	if (report->cost.rss_bytes > total->rss_bytes_max)
		total->rss_bytes_max = report->cost.rss_bytes;
}

/* Note why a leaf switch is not measured. */
static int add_skip(struct np_aggregate *aggregate,
		    const struct np_report *report)
{
	struct np_leaf_run *leaf =
		np_record_leaf(aggregate->record, report->skip.leaf);

	return leaf ? set_text(&leaf->skipped, report->skip.reason) : -ENOMEM;
}

int np_aggregate_probe_report(struct np_aggregate *aggregate,
			      const struct np_report *report)
{
	if (report->kind == NP_REPORT_HANDSHAKE)
		return add_handshake(aggregate, report);
	if (report->rank >= aggregate->n_probes ||
	    !aggregate->probe[report->rank].started)
		return -EINVAL;
	switch (report->kind) {
	case NP_REPORT_LATENCY:
		return add_latency(aggregate, report);
	case NP_REPORT_COST:
		add_cost(aggregate, report);
		return 0;
	case NP_REPORT_SKIP:
		return add_skip(aggregate, report);
	case NP_REPORT_NOTE:
		np_record_note(aggregate->record, "probe %u: %s", report->rank,
			       report->note);
		return 0;
	case NP_REPORT_BYE:
		aggregate->n_finished++;
		return 0;
	default:
		return -EINVAL;
	}
}

struct np_probes_state
np_aggregate_probes_state(const struct np_aggregate *aggregate)
{
	uint32_t n_started = aggregate->record->probe.n_processes;

	return (struct np_probes_state){
		.all_started = aggregate->n_probes &&
			       n_started == aggregate->n_probes,
		.n_finished = aggregate->n_finished,
	};
}

/* Reports of a load level. */

/*
 * Add a window to the level's rounds under the program's traffic. Rounds from
 * the program's start-up count only as long as there are no others.
 */
static void add_to_loaded(struct np_aggregate *aggregate,
			  struct pending_window *window)
{
	struct np_moments *loaded = &aggregate->record->level->loaded_round_sec;

	if (window->after_start_up && !aggregate->start_up_excluded) {
		memset(loaded, 0, sizeof(*loaded));
		aggregate->start_up_excluded = true;
	}
	if (window->after_start_up || !aggregate->start_up_excluded)
		np_moments_merge(loaded, &window->round_sec);
	window->round_sec.n = 0;
}

/* Add the windows that ended well before until_sec, while the program ran. */
static void add_windows_until(struct np_aggregate *aggregate, double until_sec)
{
	for (size_t i = 0; i < MAX_PENDING_WINDOWS; i++) {
		struct pending_window *window = &aggregate->pending[i];

		if (window->round_sec.n &&
		    window->end_sec + WIND_DOWN_SEC <= until_sec)
			add_to_loaded(aggregate, window);
	}
}

void np_aggregate_level_done(struct np_aggregate *aggregate,
			     double program_end_sec)
{
	const struct np_moments *loaded =
		&aggregate->record->level->loaded_round_sec;

	add_windows_until(aggregate, program_end_sec);
	for (size_t i = 0; i < MAX_PENDING_WINDOWS; i++) {
		struct pending_window *window = &aggregate->pending[i];

		if (window->round_sec.n && !loaded->n)
			add_to_loaded(aggregate, window);
		window->round_sec.n = 0;
	}
}

/*
 * Keep the rounds of a window. All processes of a level report the same
 * window, one after the other, so their rounds are merged.
 */
static void keep_pending(struct np_aggregate *aggregate, double end_sec,
			 bool after_start_up,
			 const struct np_moments *round_sec)
{
	double age_sec = end_sec - aggregate->level_start_sec;
	struct pending_window *window =
		&aggregate->pending[(size_t)(age_sec + 0.5) %
				    MAX_PENDING_WINDOWS];

	/*
	 * The entry may still hold an older window, of four seconds ago or
	 * more.
	 */
	if (window->round_sec.n && window->end_sec != end_sec)
		add_to_loaded(aggregate, window);
	if (!window->round_sec.n)
		*window = (struct pending_window){ end_sec,
						   after_start_up,
						   { 0 } };
	np_moments_merge(&window->round_sec, round_sec);
}

/* Use, keep or drop a window that was before, during or after the program. */
static int add_rounds(struct np_aggregate *aggregate,
		      const struct np_report *report, double program_start_sec,
		      double program_end_sec)
{
	const struct np_moments *round_sec = &report->window.sec;
	double start_sec = aggregate->level_start_sec + report->window.at_sec;
	double end_sec = start_sec + REPORT_SEC;

	if (!np_moments_valid(round_sec))
		return -EINVAL;
	if (isnan(program_start_sec) || end_sec <= program_start_sec)
		np_moments_merge(&aggregate->record->level->alone_round_sec,
				 round_sec);
	else if (start_sec >= program_start_sec &&
		 (isnan(program_end_sec) || end_sec <= program_end_sec))
		keep_pending(aggregate, end_sec,
			     start_sec >= program_start_sec + START_UP_SEC,
			     round_sec);
	return 0;
}

int np_aggregate_level_report(struct np_aggregate *aggregate,
			      const struct np_report *report, double now_sec,
			      double program_start_sec, double program_end_sec)
{
	switch (report->kind) {
	case NP_REPORT_HANDSHAKE:
		if (isnan(aggregate->level_start_sec))
			aggregate->level_start_sec = now_sec;
		aggregate->record->level->n_processes++;
		return 0;
	case NP_REPORT_ROUND:
		if (isnan(aggregate->level_start_sec))
			return -EINVAL;
		add_windows_until(aggregate, isnan(program_end_sec) ?
						     now_sec :
						     program_end_sec);
		return add_rounds(aggregate, report, program_start_sec,
				  program_end_sec);
	case NP_REPORT_NOTE:
		np_record_note(aggregate->record, "level %u: %s", report->rank,
			       report->note);
		return 0;
	default:
		return 0; /* the cost of a load level is not recorded */
	}
}

double np_aggregate_level_age(const struct np_aggregate *aggregate,
			      double now_sec)
{
	return isnan(aggregate->level_start_sec) ?
		       0 :
		       now_sec - aggregate->level_start_sec;
}

/* ---- traffic of the nodes over the last minute ---- */

/*
 * Time is divided into bins of BIN_SEC, numbered from 0 s. The newest
 * NP_TRAFFIC_BINS of them are kept in a ring.
 */
#define BIN_SEC 0.05
/* If a report is later than this, an earlier one was lost. */
#define LATE_SEC 5.0

/* Return the number of the bin that contains this moment. */
static int64_t bin_at(double sec)
{
	return (int64_t)floor(sec / BIN_SEC);
}

/* Clear all bins after the newest one, up to this one, which becomes newest. */
static void clear_bins_until(struct np_traffic *traffic, int64_t end)
{
	/* Bins that the ring has no room for need not be cleared. */
	if (traffic->newest_bin < end - NP_TRAFFIC_BINS)
		traffic->newest_bin = end - NP_TRAFFIC_BINS;
	while (traffic->newest_bin < end) {
		size_t i = (size_t)(++traffic->newest_bin % NP_TRAFFIC_BINS);

		traffic->count[i] = traffic->reported_sec[i] = 0;
	}
}

/* Distribute n counts evenly over the bins from from_sec to to_sec. */
static void add_to_bins(struct np_traffic *traffic, double from_sec,
			double to_sec, double n)
{
	int64_t first = bin_at(from_sec), end = bin_at(to_sec);

	clear_bins_until(traffic, end);
	for (int64_t i = first < 0 ? 0 : first; i <= end; i++) {
		double a = fmax(from_sec, (double)i * BIN_SEC);
		double b = fmin(to_sec, (double)(i + 1) * BIN_SEC);
		size_t k = (size_t)(i % NP_TRAFFIC_BINS);

		if (i <= traffic->newest_bin - NP_TRAFFIC_BINS || b <= a)
			continue;
		traffic->count[k] += n * (b - a) / (to_sec - from_sec);
		traffic->reported_sec[k] += b - a;
	}
}

void np_traffic_add(struct np_traffic *traffic, size_t node, double now_sec,
		    double elapsed_sec, double n)
{
	double to_sec;

	/* At most half the ring, so that no bin is reused too early. */
	if (node >= NP_RENDEZVOUS_MAX_NODES || !(elapsed_sec > 0) ||
	    elapsed_sec >= NP_TRAFFIC_BINS / 2 * BIN_SEC)
		return;
	to_sec = traffic->node_end_sec[node] + elapsed_sec;
	if (to_sec > now_sec || to_sec < now_sec - LATE_SEC)
		to_sec = now_sec;
	traffic->node_end_sec[node] = to_sec;
	add_to_bins(traffic, to_sec - elapsed_sec, to_sec, n);
}

/* Return the number of nodes that have ever reported. */
static double count_nodes(const struct np_traffic *traffic)
{
	double n = 0;

	for (size_t i = 0; i < NP_RENDEZVOUS_MAX_NODES; i++)
		n += traffic->node_end_sec[i] > 0;
	return n;
}

double np_traffic_rate(const struct np_traffic *traffic, double from_sec,
		       double to_sec)
{
	int64_t first = bin_at(from_sec), end = bin_at(to_sec);
	double n_nodes = count_nodes(traffic);
	double node_sec = n_nodes * (double)(end - first) * BIN_SEC;
	double count = 0, reported_sec = 0;

	for (int64_t i = first; i < end; i++)
		if (i >= 0 && i <= traffic->newest_bin &&
		    i > traffic->newest_bin - NP_TRAFFIC_BINS) {
			count += traffic->count[i % NP_TRAFFIC_BINS];
			reported_sec +=
				traffic->reported_sec[i % NP_TRAFFIC_BINS];
		}
	return reported_sec > 0 && reported_sec >= node_sec / 2 ?
		       count / reported_sec * n_nodes :
		       NAN;
}

/* ---- counters of the network devices ---- */

/*
 * Windows of latencies that are kept: those of a little more than 2 s, from one
 * measuring probe per node, which reports up to 4 per second.
 */
#define MAX_UNJUDGED (10 * NP_RENDEZVOUS_MAX_NODES)

/* What the counters know of a probe. A node has one, or one for each rail. */
struct counting_probe {
	char *leaf;	   /* name of its leaf switch; NULL: no handshake yet */
	uint64_t messages; /* sent since it last reported its device's bytes */
	bool has_bytes;	   /* its device's bytes are in the record */
	uint32_t nics;	   /* bitmap of the record's adapters that it reports */
};

/*
 * A window of latencies. Whether it was quiet is known only once the counters
 * of the same time have been reported.
 */
struct unjudged_window {
	double received_sec; /* when it was reported */
	struct np_report report;
};

struct np_counters {
	struct np_record *record;			      /* borrowed */
	struct counting_probe probe[NP_RENDEZVOUS_MAX_NODES]; /* by rank */
	struct np_traffic traffic; /* bytes, without those of the probes */
	struct unjudged_window unjudged[MAX_UNJUDGED];
	size_t n_windows; /* received so far; the last ones are in unjudged[] */
	size_t n_judged;  /* of these, judged or replaced: the first ones */
	struct np_record *quiet; /* has only leaf switches, with latencies of
				  * quiet moments */
};

struct np_counters *np_counters_new(struct np_record *record)
{
	struct np_counters *counters = calloc(1, sizeof(*counters));

	if (!counters)
		return NULL;
	counters->record = record;
	counters->quiet = np_record_new();
	if (counters->quiet)
		return counters;
	free(counters);
	return NULL;
}

void np_counters_free(struct np_counters *counters)
{
	if (!counters)
		return;
	for (size_t i = 0; i < NP_RENDEZVOUS_MAX_NODES; i++)
		free(counters->probe[i].leaf);
	np_record_free(counters->quiet);
	free(counters);
}

/* The traffic of the run. */

/* Keep the bandwidth of the slowest link, in bytes per second. */
static void add_link(double *slowest, double link)
{
	if (link > 0 && !(*slowest > 0 && *slowest < link))
		*slowest = link;
}

/*
 * Return the bytes of the probe's own messages. Each message has a reply of
 * the same size. Half of the messages have full size, and half the minimum.
 */
static double own_bytes(const struct np_counters *counters,
			const struct counting_probe *probe)
{
	return (double)probe->messages *
	       (NP_PINGPONG_MIN_BYTES + counters->record->probe.message_bytes +
		2 * OVERHEAD_BYTES);
}

/*
 * Find the traffic of the rail that a probe measures. NULL: its node has no
 * rails, or out of memory.
 */
static struct np_traffic_run *rail_traffic(struct np_counters *counters,
					   const struct counting_probe *probe)
{
	struct np_record *record = counters->record;
	struct np_leaf_run *leaf = NULL;

	for (size_t i = 0; probe->leaf && !leaf && i < record->n_leaves; i++)
		if (!strcmp(record->leaves[i].name, probe->leaf))
			leaf = &record->leaves[i];
	if (!leaf || !leaf->rail)
		return NULL;
	if (!leaf->traffic)
		leaf->traffic = calloc(1, sizeof(*leaf->traffic));
	return leaf->traffic;
}

/*
 * Add the bytes of a probe's device, without those of the probe itself. If a
 * load level ran, neither these bytes nor the probe's messages of that time
 * count.
 */
static void add_bytes(struct np_counters *counters,
		      const struct np_report *report, bool alone,
		      double now_sec)
{
	struct np_traffic_run *total = &counters->record->traffic;
	struct counting_probe *probe = &counters->probe[report->rank];
	struct np_traffic_run *rail = rail_traffic(counters, probe);
	double elapsed_sec = report->transferred.elapsed_sec;
	double bytes = fmax(
		(double)report->transferred.n - own_bytes(counters, probe), 0);

	probe->messages = 0;
	if (!alone || !(elapsed_sec > 0))
		return;
	if (rail) {
		rail->n_nodes += !probe->has_bytes;
		rail->node_sec += elapsed_sec;
		rail->bytes += bytes;
	}
	if (!report->other_rail) {
		total->n_nodes += !probe->has_bytes;
		total->node_sec += elapsed_sec;
	}
	probe->has_bytes = true;
	total->bytes += bytes;
	np_traffic_add(&counters->traffic, report->rank, now_sec, elapsed_sec,
		       bytes);
}

/* Add what one adapter counted. One probe of a node reports all adapters. */
static void add_nic(struct np_counters *counters,
		    const struct np_report *report)
{
	struct np_record *record = counters->record;
	struct np_nic_run *nic = np_record_nic(record, report->nic.device);
	struct counting_probe *probe = &counters->probe[report->rank];
	const struct np_nic_counts *counts = &report->nic.counts;
	uint32_t bit;

	if (report->other_rail || !nic || !(report->nic.elapsed_sec > 0))
		return;
	bit = 1u << (nic - record->nics);
	nic->n_nodes += !(probe->nics & bit);
	probe->nics |= bit;
	nic->node_sec += report->nic.elapsed_sec;
	for (unsigned kind = 0; kind < NP_NIC_KINDS; kind++)
		if (counts->has & 1u << kind)
			nic->n[kind] =
				(isnan(nic->n[kind]) ? 0 : nic->n[kind]) +
				(double)counts->n[kind];
}

/* Latencies of quiet moments. */

/* Return whether the nodes transferred almost nothing in this period. */
static bool is_quiet(const struct np_counters *counters, double from_sec,
		     double to_sec)
{
	/* If the counters are not known, the rate is NaN, and this is false. */
	return np_traffic_rate(&counters->traffic, from_sec, to_sec) <
	       NP_QUIET_RATE * counters->record->traffic.n_nodes;
}

/* Add a window of latencies to those of the idle network. */
static void add_quiet_window(struct np_counters *counters,
			     const struct np_report *report)
{
	const char *name = counters->probe[report->rank].leaf;
	struct np_leaf_run *leaf = NULL;

	if (name)
		leaf = np_record_leaf(counters->quiet, name);
	if (!leaf)
		return;
	if (!leaf->hist)
		leaf->hist = np_hist_new();
	if (leaf->hist)
		merge_window(leaf, report);
}

/*
 * Judge the windows whose counters have arrived, and drop those that were not
 * quiet. A window is reported when it is over. The counters follow at most
 * half a window later, as the periods of the nodes are not synchronised.
 */
static void judge_windows(struct np_counters *counters, double now_sec)
{
	for (; counters->n_judged < counters->n_windows; counters->n_judged++) {
		const struct unjudged_window *window =
			&counters->unjudged[counters->n_judged % MAX_UNJUDGED];
		double end_sec = window->received_sec;

		if (now_sec < end_sec + 2 * REPORT_SEC)
			break;
		if (is_quiet(counters, end_sec - 1.5 * REPORT_SEC,
			     end_sec - 0.5 * REPORT_SEC) &&
		    is_quiet(counters, end_sec - 0.5 * REPORT_SEC,
			     end_sec + 0.5 * REPORT_SEC))
			add_quiet_window(counters, &window->report);
	}
}

void np_counters_report(struct np_counters *counters,
			const struct np_report *report, bool alone,
			double now_sec)
{
	struct counting_probe *probe;

	if (report->rank >= NP_RENDEZVOUS_MAX_NODES)
		return;
	probe = &counters->probe[report->rank];
	judge_windows(counters, now_sec);
	switch (report->kind) {
	case NP_REPORT_HANDSHAKE:
		if (!probe->leaf)
			probe->leaf = strdup(report->handshake.leaf);
		break;
	case NP_REPORT_COST:
		probe->messages += report->cost.messages;
		break;
	case NP_REPORT_LINK:
		add_link(&counters->record->traffic.link, (double)report->link);
		break;
	case NP_REPORT_TRANSFERRED:
		add_bytes(counters, report, alone, now_sec);
		break;
	case NP_REPORT_NIC:
		if (alone)
			add_nic(counters, report);
		break;
	case NP_REPORT_LATENCY:
		if (!alone)
			break;
		if (counters->n_windows - counters->n_judged == MAX_UNJUDGED)
			counters->n_judged++; /* it is replaced */
		/* Until the counters of its time have arrived. */
		counters->unjudged[counters->n_windows++ % MAX_UNJUDGED] =
			(struct unjudged_window){ now_sec, *report };
		break;
	default:
		break;
	}
}

/* Copy the latencies of all leaf switches, and return how many these are. */
static uint64_t copy_latencies(struct np_record *to,
			       const struct np_record *from)
{
	uint64_t n = 0;

	for (size_t i = 0; i < from->n_leaves; i++) {
		const struct np_leaf_run *old = &from->leaves[i];
		struct np_leaf_run *new;

		if (!old->hist) /* memory was short */
			continue;
		new = np_record_leaf(to, old->name);
		if (!new)
			continue;
		new->hist = np_hist_new();
		if (!new->hist)
			continue;
		np_hist_merge(new->hist, old->hist);
		new->latency = old->latency;
		new->n_pairs = 1;
		n += old->latency.n;
	}
	return n;
}

/* Copy a text. If memory is short, the text counts as not known. */
static void copy_text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
}

struct np_record *np_counters_idle(const struct np_counters *counters)
{
	const struct np_record *run = counters->record;
	struct np_record *idle = np_record_new();

	if (!idle ||
	    copy_latencies(idle, counters->quiet) < NP_COUNTERS_LEAST) {
		np_record_free(idle);
		return NULL;
	}
	strcpy(idle->app, NP_IDLE_APP);
	idle->uid = run->uid;
	idle->job_id = run->job_id;
	idle->step_id = run->step_id;
	idle->n_nodes = run->n_nodes;
	idle->start = run->start;
	idle->end = run->end;
	idle->state = NP_RUN_COMPLETE;
	idle->exit_code = 0;
	idle->probe.message_bytes = run->probe.message_bytes;
	idle->probe.period_sec = run->probe.period_sec;
	idle->probe.per_node = run->probe.per_node;
	copy_text(&idle->source, np_sample_source_name(NP_SOURCE_QUIET));
	copy_text(&idle->cluster, run->cluster);
	copy_text(&idle->probe.transport, run->probe.transport);
	copy_text(&idle->netprof_version, run->netprof_version);
	copy_text(&idle->slurm_version, run->slurm_version);
	copy_text(&idle->ucx_version, run->ucx_version);
	copy_text(&idle->host, run->host);
	return idle;
}

/* ---- the schedule of measurement intervals ---- */

/*
 * A run goes through these states in order, and from INTERVAL_MEASURING back to
 * the next interval. In the lead-in, before the program starts, each level
 * runs alone for a moment. Once the program has started, the nodes report its
 * traffic; it is given some time for its set-up, and then the measurement
 * intervals begin. For an interval under load, a level is started first.
 */
enum intervals_state {
	LEAD_IN_DUE,	     /* the lead-in has not begun */
	LEAD_IN_STARTING,    /* a level is starting; the program is not */
	LEAD_IN_MEASURING,   /* a level runs alone */
	WAITING_FOR_REPORTS, /* no node has reported traffic yet */
	PROGRAM_SETTING_UP,
	LEVEL_STARTING,	    /* for an interval under load */
	INTERVAL_MEASURING, /* with or without a level */
	DONE,		    /* there are no more intervals */
};

/*
 * Time that the program is given for its set-up, from the first report of the
 * nodes on. It also passes if the program sends nothing: a phase without
 * traffic at the beginning is a part of the run, and counts.
 */
#define SET_UP_SEC 3.0
/* One measurement interval: let the queues settle, then measure. */
#define SETTLE_SEC 0.5	/* for queues to fill or drain */
#define MEASURE_SEC 2.0 /* length of the measured part */
#define INTERVAL_SEC (SETTLE_SEC + MEASURE_SEC)
/*
 * A report arrives up to GRACE_SEC after the period that it describes. The
 * load keeps running that much longer, so that the last report is of loaded
 * time.
 */
#define GRACE_SEC 0.4
#define LOADED_SEC (INTERVAL_SEC + GRACE_SEC)
#define REPORT_WAIT_SEC 3.0 /* longest wait for reports of an interval */
#define START_WAIT_SEC 5.0  /* longest wait for a level to start */
#define MAX_FAILED_LEVELS 3 /* after these, no level is tried any more */
/* In the lead-in, each level runs alone for LEAD_IN_SEC. */
#define LEAD_IN_SETTLE_SEC 0.25
#define LEAD_IN_SEC (LEAD_IN_SETTLE_SEC + 0.5)

struct np_intervals {
	struct np_record *record;		    /* borrowed */
	const struct np_earlier_intervals *earlier; /* borrowed */
	enum intervals_state state;
	double due_sec; /* when to act next; INFINITY: only on a report */

	/* Intervals of all runs, those of this run last. */
	struct np_interval *interval;
	size_t n_intervals, n_this_run;

	/* The current interval, or the current level of the lead-in. */
	size_t level; /* index in earlier, or NP_INTERVAL_NO_LEVEL */
	double measure_from_sec, measure_to_sec; /* its measured part */
	struct np_moments round_sec;		 /* rounds of the level in it */

	double lead_in_end_sec; /* no level of the lead-in may start later */
	double requested_sec;	/* how long the last requested level runs */
	double alone_since_sec; /* since when no level runs */
	/* Levels that did not start in time, or whose interval has no data. */
	unsigned failed_levels;
	struct np_traffic bytes, calls; /* the program's, of all nodes */
};

struct np_intervals *
np_intervals_new(struct np_record *record,
		 const struct np_earlier_intervals *earlier)
{
	struct np_intervals *intervals = calloc(1, sizeof(*intervals));

	if (!intervals)
		return NULL;
	*intervals = (struct np_intervals){ .record = record,
					    .earlier = earlier,
					    .lead_in_end_sec = INFINITY };
	intervals->interval =
		calloc(earlier->n_intervals + NP_RECORD_MAX_INTERVALS,
		       sizeof(*intervals->interval));
	record->intervals =
		calloc(NP_RECORD_MAX_INTERVALS, sizeof(*record->intervals));
	record->intervals_alone =
		calloc(earlier->n_levels + 1, sizeof(*record->intervals_alone));
	if (!intervals->interval || !record->intervals ||
	    !record->intervals_alone) {
		np_intervals_free(intervals);
		return NULL;
	}
	if (earlier->n_intervals)
		memcpy(intervals->interval, earlier->interval,
		       earlier->n_intervals * sizeof(*intervals->interval));
	intervals->n_intervals = earlier->n_intervals;
	return intervals;
}

void np_intervals_free(struct np_intervals *intervals)
{
	if (intervals)
		free(intervals->interval);
	free(intervals);
}

/* Questions of the collector. */

static bool is_under_load(const struct np_intervals *intervals)
{
	return intervals->state == INTERVAL_MEASURING &&
	       intervals->level != NP_INTERVAL_NO_LEVEL;
}

bool np_intervals_lead_in_done(const struct np_intervals *intervals)
{
	return intervals->state >= WAITING_FOR_REPORTS;
}

bool np_intervals_wants_level(const struct np_intervals *intervals)
{
	return intervals->state == LEAD_IN_STARTING ||
	       intervals->state == LEVEL_STARTING;
}

bool np_intervals_is_alone(const struct np_intervals *intervals, double now_sec)
{
	return np_intervals_lead_in_done(intervals) &&
	       intervals->state != LEVEL_STARTING &&
	       now_sec - NP_INTERVALS_REPORT_SEC >= intervals->alone_since_sec;
}

double np_intervals_due_sec(const struct np_intervals *intervals)
{
	return intervals->due_sec;
}

/* Handlers of reports. */

void np_intervals_add_bytes(struct np_intervals *intervals, size_t node,
			    double now_sec, double elapsed_sec, double bytes)
{
	np_traffic_add(&intervals->bytes, node, now_sec, elapsed_sec, bytes);
	if (intervals->state == WAITING_FOR_REPORTS) {
		intervals->state = PROGRAM_SETTING_UP;
		intervals->due_sec = now_sec + SET_UP_SEC;
	}
}

void np_intervals_add_calls(struct np_intervals *intervals, size_t node,
			    double now_sec, double elapsed_sec, double calls)
{
	np_traffic_add(&intervals->calls, node, now_sec, elapsed_sec, calls);
}

/* Begin an interval. If it has a level, that is already running. */
static void begin_interval(struct np_intervals *intervals, double now_sec)
{
	intervals->state = INTERVAL_MEASURING;
	intervals->measure_from_sec = now_sec + SETTLE_SEC;
	intervals->measure_to_sec = intervals->measure_from_sec + MEASURE_SEC;
	intervals->due_sec = intervals->measure_to_sec + GRACE_SEC;
	intervals->round_sec = (struct np_moments){ 0 };
}

/*
 * Handle a level that starts after its time to start has passed. It may run
 * for its full length. Until it has ended nothing counts as alone, and an
 * interval without load begins again.
 */
static void outlast_late_level(struct np_intervals *intervals, double now_sec)
{
	double end_sec = now_sec + intervals->requested_sec;

	intervals->alone_since_sec = end_sec + SETTLE_SEC;
	if (intervals->state == INTERVAL_MEASURING)
		begin_interval(intervals, end_sec);
	else if (intervals->state == PROGRAM_SETTING_UP)
		intervals->due_sec = fmax(intervals->due_sec, end_sec);
}

void np_intervals_level_started(struct np_intervals *intervals, double now_sec)
{
	if (intervals->state == LEAD_IN_STARTING) {
		intervals->state = LEAD_IN_MEASURING;
		intervals->measure_from_sec = now_sec + LEAD_IN_SETTLE_SEC;
		intervals->due_sec = now_sec + LEAD_IN_SEC + GRACE_SEC / 2;
	} else if (intervals->state == LEVEL_STARTING) {
		begin_interval(intervals, now_sec);
		intervals->alone_since_sec = intervals->due_sec;
	} else if (intervals->state != LEAD_IN_MEASURING &&
		   !is_under_load(intervals)) {
		outlast_late_level(intervals, now_sec);
	}
}

void np_intervals_add_rounds(struct np_intervals *intervals, double now_sec,
			     const struct np_moments *round_sec)
{
	if (intervals->state != LEAD_IN_MEASURING && !is_under_load(intervals))
		return;
	if (now_sec - NP_INTERVALS_REPORT_SEC >= intervals->measure_from_sec &&
	    np_moments_valid(round_sec))
		np_moments_merge(&intervals->round_sec, round_sec);
}

/* Levels. */

/* Start a level for level_sec seconds, and return its name. */
static const char *request_level(struct np_intervals *intervals, double now_sec,
				 double level_sec)
{
	intervals->due_sec = now_sec + START_WAIT_SEC;
	intervals->requested_sec = level_sec;
	return intervals->earlier->name[intervals->level];
}

static void record_failed_level(struct np_intervals *intervals)
{
	intervals->failed_levels++;
	np_record_note(intervals->record,
		       "load level %s did not start in time to be measured",
		       intervals->earlier->name[intervals->level]);
}

/* The lead-in. */

static void end_lead_in(struct np_intervals *intervals, double now_sec)
{
	bool level_runs = intervals->state == LEAD_IN_MEASURING;

	/* The program may have started while a level still runs. */
	intervals->alone_since_sec =
		level_runs ? fmax(intervals->due_sec, now_sec) : now_sec;
	intervals->state = WAITING_FOR_REPORTS;
	intervals->due_sec = INFINITY;
}

/* Start the next level whose rounds alone are not known; NULL: none is left. */
static const char *start_next_lead_in(struct np_intervals *intervals,
				      double now_sec)
{
	const struct np_earlier_intervals *earlier = intervals->earlier;

	while (intervals->level < earlier->n_levels &&
	       earlier->alone_known[intervals->level])
		intervals->level++;
	if (intervals->level == earlier->n_levels ||
	    now_sec >= intervals->lead_in_end_sec) {
		end_lead_in(intervals, now_sec);
		return NULL;
	}
	intervals->state = LEAD_IN_STARTING;
	intervals->round_sec = (struct np_moments){ 0 };
	return request_level(intervals, now_sec, LEAD_IN_SEC);
}

/* Add the level's rounds without the program to the record. */
static void record_lead_in(struct np_intervals *intervals)
{
	struct np_record *record = intervals->record;
	char *name = strdup(intervals->earlier->name[intervals->level]);

	if (name)
		record->intervals_alone[record->n_intervals_alone++] =
			(struct np_run_interval){
				.level = name,
				.sec = LEAD_IN_SEC,
				.calls = NAN,
				.round_sec = intervals->round_sec,
			};
}

/* The intervals. */

/* Are reports on the interval still missing? If so, check again soon. */
static bool must_wait_for_reports(struct np_intervals *intervals,
				  double now_sec)
{
	double bytes_per_sec = np_traffic_rate(&intervals->bytes,
					       intervals->measure_from_sec,
					       intervals->measure_to_sec);

	if (!isnan(bytes_per_sec) ||
	    now_sec >= intervals->measure_to_sec + REPORT_WAIT_SEC)
		return false;
	intervals->due_sec = now_sec + NP_INTERVALS_REPORT_SEC;
	return true;
}

/* Return the number of this run: that of the last earlier one, plus 1. */
static uint32_t run_number(const struct np_earlier_intervals *earlier)
{
	size_t n = earlier->n_intervals;

	return n ? earlier->interval[n - 1].run + 1 : 0;
}

/* Add the interval to the record, and to the intervals of all runs. */
static void record_interval(struct np_intervals *intervals,
			    double program_start_sec)
{
	struct np_record *record = intervals->record;
	double from_sec = intervals->measure_from_sec;
	double to_sec = intervals->measure_to_sec;
	double rate = np_traffic_rate(&intervals->bytes, from_sec, to_sec);
	double calls = np_traffic_rate(&intervals->calls, from_sec, to_sec);
	bool loaded = is_under_load(intervals);
	double sec = loaded ? LOADED_SEC : INTERVAL_SEC;
	char *name = NULL;

	if (isnan(rate)) {
		intervals->failed_levels += loaded;
		np_record_note(record, "the nodes' counters arrived too late "
				       "for a measurement interval");
		return;
	}
	if (loaded) {
		name = strdup(intervals->earlier->name[intervals->level]);
		if (!name)
			return;
	}
	intervals->interval[intervals->n_intervals++] = (struct np_interval){
		.run = run_number(intervals->earlier),
		.level = intervals->level,
		.sec = sec,
		.rate = rate,
		.calls = calls,
	};
	intervals->n_this_run++;
	record->intervals[record->n_intervals++] = (struct np_run_interval){
		.level = name,
		.sec = sec,
		.rate = rate,
		.calls = calls,
		.at_sec = fmax(from_sec - SETTLE_SEC - program_start_sec, 0),
		.round_sec = intervals->round_sec,
	};
}

/*
 * End the schedule, and note the reason in the record. why NULL: every level
 * is known well enough, which needs no note.
 */
static void end_intervals(struct np_intervals *intervals, const char *why)
{
	if (why)
		np_record_note(intervals->record,
			       "no more measurement intervals: %s", why);
	intervals->state = DONE;
	intervals->due_sec = INFINITY;
}

/*
 * Select the level of the next interval. Returns false if there is none,
 * because the intervals have ended.
 */
static bool select_next_level(struct np_intervals *intervals, double run_sec)
{
	const struct np_one_run_schedule schedule = {
		.n_levels = intervals->earlier->n_levels,
		.interval_sec = LOADED_SEC,
		.share = intervals->earlier->share,
	};
	struct np_one_run_next next;

	if (intervals->n_this_run == NP_RECORD_MAX_INTERVALS) {
		end_intervals(intervals, "the record is full");
		return false;
	}
	if (np_one_run_next_interval(&schedule, intervals->interval,
				     intervals->n_intervals,
				     intervals->n_this_run, run_sec, &next)) {
		end_intervals(intervals, "out of memory");
		return false;
	}
	if (next.complete) {
		end_intervals(intervals, NULL);
		return false;
	}
	intervals->level = intervals->failed_levels < MAX_FAILED_LEVELS ?
				   next.level :
				   NP_INTERVAL_NO_LEVEL;
	return true;
}

/*
 * Begin the next interval. Returns the level that has to be started for it, or
 * NULL if there is none.
 */
static const char *begin_next_interval(struct np_intervals *intervals,
				       double now_sec, double program_start_sec)
{
	if (!select_next_level(intervals, now_sec - program_start_sec))
		return NULL;
	if (intervals->level == NP_INTERVAL_NO_LEVEL) {
		begin_interval(intervals, now_sec);
		return NULL;
	}
	intervals->state = LEVEL_STARTING;
	return request_level(intervals, now_sec, LOADED_SEC);
}

/* Do what is due in the current state; returns the level to start, or NULL. */
static const char *act(struct np_intervals *intervals, double now_sec,
		       double program_start_sec)
{
	switch (intervals->state) {
	case LEAD_IN_DUE:
		intervals->lead_in_end_sec =
			now_sec + NP_LAUNCH_LEAD_IN_SEC - START_WAIT_SEC;
		return start_next_lead_in(intervals, now_sec);
	case LEAD_IN_STARTING:
		record_failed_level(intervals);
		end_lead_in(intervals, now_sec);
		return NULL;
	case LEAD_IN_MEASURING:
		record_lead_in(intervals);
		intervals->level++;
		return start_next_lead_in(intervals, now_sec);
	case LEVEL_STARTING:
		record_failed_level(intervals);
		break;
	case INTERVAL_MEASURING:
		if (must_wait_for_reports(intervals, now_sec))
			return NULL;
		record_interval(intervals, program_start_sec);
		break;
	default:
		break;
	}
	return begin_next_interval(intervals, now_sec, program_start_sec);
}

const char *np_intervals_tick(struct np_intervals *intervals, double now_sec,
			      double program_start_sec, double *level_sec)
{
	const char *level;

	if (!np_intervals_lead_in_done(intervals) && !isnan(program_start_sec))
		end_lead_in(intervals, now_sec);
	if (now_sec < intervals->due_sec)
		return NULL;
	level = act(intervals, now_sec, program_start_sec);
	if (level)
		*level_sec = intervals->requested_sec;
	return level;
}
