/*
 * From the reports of probe agents to the run record.  The sections are in the
 * order of np_reports.h: np_reports receives every report and hands it to the
 * structures of the other sections.
 */
#include "np_reports.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_run_summary.h"
#include "np_launch.h"
#include "np_engine.h"

/* Assumed size of the headers of a message and its acknowledgement. */
#define OVERHEAD_BYTES 132
#define WINDOW_SEC 1.0 /* longest period that one report describes */

/* ---- all reports of one step ---- */

int np_reports_init(struct np_reports *p)
{
	p->aggregate = np_aggregate_new(p->r);
	p->counters = np_counters_new(p->r);
	return p->aggregate && p->counters ? 0 : -ENOMEM;
}

struct np_reports_probes np_reports_probes(const struct np_reports *p)
{
	return (struct np_reports_probes){
		np_aggregate_probes_started(p->aggregate),
		np_aggregate_finished(p->aggregate),
	};
}

bool np_reports_tick(struct np_reports *p, double now_sec, const char **level,
		     double *sec)
{
	const char *next;

	if (!p->intervals || !isnan(p->program_end_sec))
		return false;
	next = np_intervals_tick(p->intervals, now_sec, p->program_start_sec,
				 sec);
	if (next || !np_intervals_wants_level(p->intervals))
		*level = next;
	return true;
}

bool np_reports_lead_in_done(const struct np_reports *p, double now_sec)
{
	if (p->intervals)
		return np_intervals_lead_in_done(p->intervals);
	return np_aggregate_level_age(p->aggregate, now_sec) >=
	       p->conf->lead_in_sec;
}

/* Does the program run without a load level? */
static bool is_alone(const struct np_reports *p, double now_sec)
{
	return p->intervals ? np_intervals_is_alone(p->intervals, now_sec) :
			      !p->r->level;
}

/*
 * Bytes, less those that the probe itself sends and receives in an exchange:
 * two rounds, each a message and its reply, with their overhead.
 */
static double program_bytes(const struct np_reports *p,
			    const struct np_report *rep)
{
	double own = 2.0 *
		     (NP_PINGPONG_MIN_BYTES + p->conf->message_bytes +
		      2 * OVERHEAD_BYTES) *
		     rep->transferred.elapsed_sec / p->conf->period_sec;

	return fmax((double)rep->transferred.n - own, 0);
}

/* A report of bytes transferred, or of MPI calls. */
static void take_counts(struct np_reports *p, bool level,
			const struct np_report *rep, double now_sec)
{
	if (!level)
		np_counters_report(p->counters, rep, is_alone(p, now_sec),
				   now_sec);
	if (rep->kind == NP_REPORT_CALLS && rep->other_rail)
		return; /* the node's first probe counts them */
	if (p->intervals && rep->kind == NP_REPORT_CALLS)
		np_intervals_add_calls(p->intervals, rep->rank, now_sec,
				       rep->transferred.elapsed_sec,
				       (double)rep->transferred.n);
	else if (p->intervals)
		np_intervals_add_bytes(p->intervals, rep->rank, now_sec,
				       rep->transferred.elapsed_sec,
				       program_bytes(p, rep));
}

/*
 * Any other report of a probe.  The record has the latencies of the program
 * alone: in a run with measurement intervals, those under a load level are
 * dropped.
 */
static void take_probe(struct np_reports *p, const struct np_report *rep,
		       double now_sec)
{
	bool always = rep->kind != NP_REPORT_LATENCY &&
		      rep->kind != NP_REPORT_NIC;

	if (always || !p->intervals ||
	    np_intervals_is_alone(p->intervals, now_sec))
		np_aggregate_probe_report(p->aggregate, rep);
	np_counters_report(p->counters, rep, is_alone(p, now_sec), now_sec);
}

/* A report of a load level, in a run with measurement intervals. */
static void take_level_in_interval(struct np_reports *p,
				   const struct np_report *rep, double now_sec)
{
	if (rep->kind == NP_REPORT_HANDSHAKE)
		np_intervals_level_up(p->intervals, now_sec);
	else if (rep->kind == NP_REPORT_ROUND)
		np_intervals_add_rounds(p->intervals, now_sec,
					&rep->window.sec);
}

void np_reports_take(struct np_reports *p, bool level,
		     const struct np_report *rep, double now_sec)
{
	if (p->intervals && level)
		take_level_in_interval(p, rep, now_sec);
	else if (rep->kind == NP_REPORT_TRANSFERRED ||
		 rep->kind == NP_REPORT_CALLS)
		take_counts(p, level, rep, now_sec);
	else if (!level)
		take_probe(p, rep, now_sec);
	else if (p->r->level)
		np_aggregate_level_report(p->aggregate, rep, now_sec,
					  p->program_start_sec,
					  p->program_end_sec);
}

/* ---- latencies, costs and load level ---- */

/* A program causes little traffic when it starts or ends: exclude that time. */
#define START_UP_SEC 1.0
#define WIND_DOWN_SEC 0.5

/* One probe process. */
struct probe {
	char leaf[NP_REPORT_WORD];
	bool known; /* it has sent its handshake */
	double cpu_sec, elapsed_sec;
};

/*
 * Rounds of one window of a load level, until it is known whether the program
 * ran to its end.
 */
struct pending {
	double to_sec;
	bool settled; /* the program had finished its start-up */
	struct np_moments sec;
};
#define N_PENDING 4

struct np_aggregate {
	struct np_record *r;
	struct probe *probe;
	uint32_t n_probes;
	uint32_t n_finished; /* probes that have sent their last report */

	double level_start_sec; /* when the load level started; NaN: not yet */
	bool settled; /* the level's loaded rounds exclude the start-up */
	struct pending pending[N_PENDING];
};

struct np_aggregate *np_aggregate_new(struct np_record *r)
{
	struct np_aggregate *a = calloc(1, sizeof(*a));

	if (a) {
		a->r = r;
		a->level_start_sec = NAN;
	}
	return a;
}

void np_aggregate_free(struct np_aggregate *a)
{
	if (a)
		free(a->probe);
	free(a);
}

/* The first reporter wins. */
static int set_text(char **at, const char *text)
{
	char *copy;

	if (*at || !*text)
		return 0;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	*at = copy;
	return 0;
}

static int add_handshake(struct np_aggregate *a, const struct np_report *rep)
{
	const char *leaf = rep->handshake.leaf;
	struct np_leaf_run *run;

	if (!a->probe) {
		if (!rep->handshake.n_ranks ||
		    rep->handshake.n_ranks > 2 * NP_RECORD_MAX_NODES)
			return -ERANGE;
		a->probe = calloc(rep->handshake.n_ranks, sizeof(*a->probe));
		if (!a->probe)
			return -ENOMEM;
		a->n_probes = rep->handshake.n_ranks;
	}
	if (rep->rank >= a->n_probes || a->probe[rep->rank].known)
		return -EINVAL;
	run = np_record_leaf(a->r, leaf);
	if (!run)
		return -ENOMEM;
	if (rep->handshake.peer_node[0])
		run->n_pairs++;
	a->probe[rep->rank].known = true;
	strcpy(a->probe[rep->rank].leaf, leaf);
	a->r->probe.n_processes++;
	if (!rep->other_rail &&
	    set_text(&a->r->probe.transport, rep->handshake.transport))
		return -ENOMEM;
	return set_text(&a->r->ucx_version, rep->handshake.version);
}

/* Add a window, whose bins and moments agree (np_report_parse()). */
static void merge_window(struct np_leaf_run *run, const struct np_report *rep)
{
	for (size_t i = 0; i < rep->window.n_bins; i++)
		np_hist_add_bin(run->hist, rep->window.bins[i].bin,
				rep->window.bins[i].count);
	np_moments_merge(&run->latency, &rep->window.sec);
}

static int add_latency(struct np_aggregate *a, const struct np_report *rep)
{
	struct np_leaf_run *run =
		np_record_leaf(a->r, a->probe[rep->rank].leaf);

	if (!run)
		return -ENOMEM;
	if (!run->hist)
		run->hist = np_hist_new();
	if (!run->windows) {
		run->windows = malloc(sizeof(*run->windows));
		if (run->windows)
			np_series_init(run->windows, WINDOW_SEC);
	}
	if (!run->hist || !run->windows)
		return -ENOMEM;
	if (np_series_add(run->windows, rep->window.at_sec, &rep->window.sec))
		return -EINVAL;
	merge_window(run, rep);
	return 0;
}

/* Like all reports, costs are the increase since the last report. */
static void add_cost(struct np_aggregate *a, const struct np_report *rep)
{
	struct np_probe_run *p = &a->r->probe;
	struct probe *probe = &a->probe[rep->rank];

	probe->cpu_sec += rep->cost.cpu_sec;
	probe->elapsed_sec += rep->cost.elapsed_sec;
	p->cpu_sec_sum += rep->cost.cpu_sec;
	p->messages += rep->cost.messages;
	p->cpu_sec_max = fmax(p->cpu_sec_max, probe->cpu_sec);
	p->elapsed_sec = fmax(p->elapsed_sec, probe->elapsed_sec);
	if (rep->cost.rss_bytes > p->rss_bytes_max)
		p->rss_bytes_max = rep->cost.rss_bytes;
}

static int add_skip(struct np_aggregate *a, const struct np_report *rep)
{
	struct np_leaf_run *run = np_record_leaf(a->r, rep->skip.leaf);

	return run ? set_text(&run->skipped, rep->skip.reason) : -ENOMEM;
}

int np_aggregate_probe_report(struct np_aggregate *a,
			      const struct np_report *rep)
{
	if (rep->kind == NP_REPORT_HANDSHAKE)
		return add_handshake(a, rep);
	if (rep->rank >= a->n_probes || !a->probe[rep->rank].known)
		return -EINVAL; /* a process that has not sent its handshake */
	switch (rep->kind) {
	case NP_REPORT_LATENCY:
		return add_latency(a, rep);
	case NP_REPORT_COST:
		add_cost(a, rep);
		return 0;
	case NP_REPORT_SKIP:
		return add_skip(a, rep);
	case NP_REPORT_NOTE:
		np_record_note(a->r, "probe %u: %s", rep->rank, rep->note);
		return 0;
	case NP_REPORT_BYE:
		a->n_finished++;
		return 0;
	default:
		return -EINVAL;
	}
}

uint32_t np_aggregate_finished(const struct np_aggregate *a)
{
	return a->n_finished;
}

bool np_aggregate_probes_started(const struct np_aggregate *a)
{
	return a->n_probes && a->r->probe.n_processes == a->n_probes;
}

/*
 * Add a window to the level's rounds under the program's traffic.  Rounds of
 * the start-up count only until there are others.
 */
static void add_loaded_rounds(struct np_aggregate *a, struct pending *w)
{
	struct np_moments *loaded = &a->r->level->loaded_round_sec;

	if (w->settled && !a->settled) {
		memset(loaded, 0, sizeof(*loaded));
		a->settled = true;
	}
	if (w->settled || !a->settled)
		np_moments_merge(loaded, &w->sec);
	w->sec.n = 0;
}

/* Add the windows that ended well before until_sec, while the program ran. */
static void add_finished_windows(struct np_aggregate *a, double until_sec)
{
	for (size_t i = 0; i < N_PENDING; i++)
		if (a->pending[i].sec.n &&
		    a->pending[i].to_sec + WIND_DOWN_SEC <= until_sec)
			add_loaded_rounds(a, &a->pending[i]);
}

void np_aggregate_level_done(struct np_aggregate *a, double program_end_sec)
{
	add_finished_windows(a, program_end_sec);
	for (size_t i = 0; i < N_PENDING; i++) {
		struct pending *w = &a->pending[i];

		if (w->sec.n && !a->r->level->loaded_round_sec.n)
			add_loaded_rounds(a, w);
		w->sec.n = 0;
	}
}

/* Processes report the same window one after the other: merge them. */
static void add_pending(struct np_aggregate *a, double to_sec, bool settled,
			const struct np_moments *sec)
{
	struct pending *w =
		&a->pending[(size_t)(to_sec - a->level_start_sec + 0.5) %
			    N_PENDING];

	if (w->sec.n && w->to_sec != to_sec)
		add_loaded_rounds(a, w); /* from several windows ago */
	if (!w->sec.n)
		*w = (struct pending){ to_sec, settled, { 0 } };
	np_moments_merge(&w->sec, sec);
}

/* Sort a window by whether it was before, during or after the program. */
static int add_rounds(struct np_aggregate *a, const struct np_report *rep,
		      double start_sec, double end_sec)
{
	double from = a->level_start_sec + rep->window.at_sec;
	double to = from + WINDOW_SEC;

	if (!np_moments_valid(&rep->window.sec))
		return -EINVAL;
	if (isnan(start_sec) || to <= start_sec)
		np_moments_merge(&a->r->level->alone_round_sec,
				 &rep->window.sec);
	else if (from >= start_sec && (isnan(end_sec) || to <= end_sec))
		add_pending(a, to, from >= start_sec + START_UP_SEC,
			    &rep->window.sec);
	return 0;
}

int np_aggregate_level_report(struct np_aggregate *a,
			      const struct np_report *rep,
			      double now_sec, double program_start_sec,
			      double program_end_sec)
{
	switch (rep->kind) {
	case NP_REPORT_HANDSHAKE:
		if (isnan(a->level_start_sec))
			a->level_start_sec = now_sec;
		a->r->level->n_processes++;
		return 0;
	case NP_REPORT_ROUND:
		if (isnan(a->level_start_sec))
			return -EINVAL;
		add_finished_windows(
			a, isnan(program_end_sec) ? now_sec : program_end_sec);
		return add_rounds(a, rep, program_start_sec, program_end_sec);
	case NP_REPORT_NOTE:
		np_record_note(a->r, "level %u: %s", rep->rank, rep->note);
		return 0;
	default:
		return 0; /* the cost of a load level is not recorded */
	}
}

double np_aggregate_level_age(const struct np_aggregate *a, double now_sec)
{
	return isnan(a->level_start_sec) ? 0 : now_sec - a->level_start_sec;
}

/* ---- traffic ---- */

static int64_t bin_at(double sec)
{
	return (int64_t)floor(sec / NP_TRAFFIC_BIN_SEC);
}

/* Distribute n counts evenly over the bins of a period; clear the new ones. */
static void add_to_bins(struct np_traffic *t, double from, double to, double n)
{
	int64_t end = bin_at(to), first = bin_at(from);

	/* Bins older than the ring need no clearing. */
	if (t->last < end - NP_TRAFFIC_BINS)
		t->last = end - NP_TRAFFIC_BINS;
	for (; t->last < end; t->last++)
		t->bin[(t->last + 1) % NP_TRAFFIC_BINS] =
			t->sec[(t->last + 1) % NP_TRAFFIC_BINS] = 0;
	for (int64_t i = first < 0 ? 0 : first; i <= end; i++) {
		double a = fmax(from, (double)i * NP_TRAFFIC_BIN_SEC);
		double b = fmin(to, (double)(i + 1) * NP_TRAFFIC_BIN_SEC);

		if (i <= t->last - NP_TRAFFIC_BINS || b <= a)
			continue;
		t->bin[i % NP_TRAFFIC_BINS] += n * (b - a) / (to - from);
		t->sec[i % NP_TRAFFIC_BINS] += b - a;
	}
}

void np_traffic_add(struct np_traffic *t, size_t node, double now_sec,
		    double elapsed_sec, double n)
{
	double to;

	/* Half the length of the ring, so that no bin is reused too early. */
	if (node >= NP_RENDEZVOUS_MAX_NODES || !(elapsed_sec > 0) ||
	    elapsed_sec >= NP_TRAFFIC_BINS / 2 * NP_TRAFFIC_BIN_SEC)
		return;
	to = t->to_sec[node] + elapsed_sec;
	if (to > now_sec || to < now_sec - NP_TRAFFIC_LATE_SEC)
		to = now_sec;
	t->to_sec[node] = to;
	add_to_bins(t, to - elapsed_sec, to, n);
}

/* Number of nodes that have ever reported. */
static double n_nodes(const struct np_traffic *t)
{
	double n = 0;

	for (size_t i = 0; i < NP_RENDEZVOUS_MAX_NODES; i++)
		n += t->to_sec[i] > 0;
	return n;
}

double np_traffic_rate(const struct np_traffic *t, double from_sec,
		       double to_sec)
{
	int64_t first = bin_at(from_sec), end = bin_at(to_sec);
	double all_sec = n_nodes(t) * (double)(end - first) *
			 NP_TRAFFIC_BIN_SEC;
	double sum = 0, reported_sec = 0;

	for (int64_t i = first; i < end; i++)
		if (i >= 0 && i <= t->last && i > t->last - NP_TRAFFIC_BINS) {
			sum += t->bin[i % NP_TRAFFIC_BINS];
			reported_sec += t->sec[i % NP_TRAFFIC_BINS];
		}
	return reported_sec > 0 && reported_sec >= all_sec / 2 ?
	       sum / reported_sec * n_nodes(t) : NAN;
}

/* ---- counters of the network devices ---- */

#define N_AWAITING 256 /* most windows of latencies without counters yet */

struct node {
	char *leaf; /* leaf switch; NULL: no probe has sent its handshake */
	uint64_t messages; /* sent by its probe since its bytes were reported */
	bool counted;	   /* is in traffic.n_nodes of the record */
	uint32_t nics;	   /* bitmap of the record's adapters read here */
};

/* A window of latencies whose counters are not known yet. */
struct awaiting {
	double received_sec; /* when it was reported; 0: unused */
	struct np_report report;
};

struct np_counters {
	struct np_record *r;
	struct node node[NP_RENDEZVOUS_MAX_NODES];
	struct np_traffic traffic;
	struct awaiting awaiting[N_AWAITING];
	size_t next_awaiting;
	struct np_record *idle; /* latencies of quiet moments, by leaf switch */
};

struct np_counters *np_counters_new(struct np_record *r)
{
	struct np_counters *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->r = r;
	c->idle = np_record_new();
	if (c->idle)
		return c;
	free(c);
	return NULL;
}

void np_counters_free(struct np_counters *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < NP_RENDEZVOUS_MAX_NODES; i++)
		free(c->node[i].leaf);
	np_record_free(c->idle);
	free(c);
}

/* The record has the speed of the slowest link. */
static void add_link(double *link, double one)
{
	if (one > 0 && !(*link > 0 && *link < one))
		*link = one;
}

/*
 * Bytes of the probe itself: each message has a reply of its size; half of them
 * are of full size.
 */
static double own_bytes(const struct np_counters *c, const struct node *n)
{
	return (double)n->messages *
	       (NP_PINGPONG_MIN_BYTES + c->r->probe.message_bytes +
		2 * OVERHEAD_BYTES);
}

/* Traffic of the rail that this probe measures; NULL: no rails. */
static struct np_traffic_run *rail_traffic(struct np_counters *c,
					   const struct node *n)
{
	struct np_leaf_run *leaf = NULL;

	for (size_t i = 0; n->leaf && !leaf && i < c->r->n_leaves; i++)
		if (!strcmp(c->r->leaves[i].name, n->leaf))
			leaf = &c->r->leaves[i];
	if (!leaf || !leaf->rail)
		return NULL;
	if (!leaf->traffic)
		leaf->traffic = calloc(1, sizeof(*leaf->traffic));
	return leaf->traffic;
}

/*
 * Bytes of all devices of a node, without those of the probe.  If a load level
 * ran they do not count, and neither do the messages of that time.
 */
static void add_bytes(struct np_counters *c, const struct np_report *rep,
		      bool alone, double now_sec)
{
	struct np_traffic_run *t = &c->r->traffic;
	struct node *n = &c->node[rep->rank];
	struct np_traffic_run *rail = rail_traffic(c, n);
	double bytes = fmax((double)rep->transferred.n - own_bytes(c, n), 0);

	n->messages = 0;
	if (!alone || !(rep->transferred.elapsed_sec > 0))
		return;
	if (rail) {
		rail->n_nodes += !n->counted;
		rail->node_sec += rep->transferred.elapsed_sec;
		rail->bytes += bytes;
	}
	if (!rep->other_rail) {
		t->n_nodes += !n->counted;
		t->node_sec += rep->transferred.elapsed_sec;
	}
	n->counted = true;
	t->bytes += bytes;
	np_traffic_add(&c->traffic, rep->rank, now_sec,
		       rep->transferred.elapsed_sec, bytes);
}

static void add_nic(struct np_counters *c, const struct np_report *rep)
{
	struct np_nic_run *nic = np_record_nic(c->r, rep->nic.device);
	struct node *n = &c->node[rep->rank];
	uint32_t bit;

	/* One probe of a node reports all of its adapters. */
	if (rep->other_rail || !nic || !(rep->nic.elapsed_sec > 0))
		return;
	bit = 1u << (nic - c->r->nics);
	nic->n_nodes += !(n->nics & bit);
	n->nics |= bit;
	nic->node_sec += rep->nic.elapsed_sec;
	for (unsigned k = 0; k < NP_NIC_KINDS; k++)
		if (rep->nic.counts.has & 1u << k)
			nic->n[k] = (isnan(nic->n[k]) ? 0 : nic->n[k]) +
				    (double)rep->nic.counts.n[k];
}

/* Did the nodes transfer almost nothing in this period? */
static bool is_quiet(const struct np_counters *c, double from_sec,
		     double to_sec)
{
	/* NaN, where the counters are not known, compares as not less. */
	return np_traffic_rate(&c->traffic, from_sec, to_sec) <
	       NP_QUIET_RATE * c->r->traffic.n_nodes;
}

/* Add a window of latencies to those of the idle network. */
static void add_idle_latencies(struct np_counters *c,
			       const struct np_report *rep)
{
	const char *leaf = c->node[rep->rank].leaf;
	struct np_leaf_run *run = leaf ? np_record_leaf(c->idle, leaf) : NULL;

	if (!run)
		return;
	if (!run->hist)
		run->hist = np_hist_new();
	if (run->hist)
		merge_window(run, rep);
}

/*
 * Judge the windows whose counters have arrived.  A window is reported when it
 * is over, and the counters of the nodes at most half a window later, as each
 * node has its own period.  Windows that are not quiet are dropped.
 */
static void judge_windows(struct np_counters *c, double now_sec)
{
	for (size_t i = 0; i < N_AWAITING; i++) {
		struct awaiting *w = &c->awaiting[i];
		double received = w->received_sec;

		if (!(received > 0) || now_sec < received + 2 * WINDOW_SEC)
			continue;
		if (is_quiet(c, received - 1.5 * WINDOW_SEC,
			     received - 0.5 * WINDOW_SEC) &&
		    is_quiet(c, received - 0.5 * WINDOW_SEC,
			     received + 0.5 * WINDOW_SEC))
			add_idle_latencies(c, &w->report);
		w->received_sec = 0;
	}
}

/* Keep a window until the counters of its time have arrived. */
static void await_counters(struct np_counters *c, const struct np_report *rep,
			   double now_sec)
{
	/* If there are too many, the oldest is lost. */
	c->awaiting[c->next_awaiting++ % N_AWAITING] =
		(struct awaiting){ now_sec, *rep };
}

void np_counters_report(struct np_counters *c, const struct np_report *rep,
			bool alone, double now_sec)
{
	struct node *n;

	if (rep->rank >= NP_RENDEZVOUS_MAX_NODES)
		return;
	n = &c->node[rep->rank];
	judge_windows(c, now_sec);
	switch (rep->kind) {
	case NP_REPORT_HANDSHAKE:
		if (!n->leaf)
			n->leaf = strdup(rep->handshake.leaf);
		break;
	case NP_REPORT_COST:
		n->messages += rep->cost.messages;
		break;
	case NP_REPORT_LINK:
		add_link(&c->r->traffic.link, (double)rep->link);
		break;
	case NP_REPORT_TRANSFERRED:
		add_bytes(c, rep, alone, now_sec);
		break;
	case NP_REPORT_NIC:
		if (alone)
			add_nic(c, rep);
		break;
	case NP_REPORT_LATENCY:
		if (alone)
			await_counters(c, rep, now_sec);
		break;
	default:
		break;
	}
}

/* Without memory *to is NULL, as if the text were not known. */
static void copy_text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
}

struct np_record *np_counters_idle(const struct np_counters *c)
{
	const struct np_record *r = c->r;
	struct np_record *idle = np_record_new();
	uint64_t n = 0;

	for (size_t i = 0; idle && i < c->idle->n_leaves; i++) {
		const struct np_leaf_run *from = &c->idle->leaves[i];
		struct np_leaf_run *to;

		if (!from->hist) /* there was no memory for it */
			continue;
		to = np_record_leaf(idle, from->name);
		if (!to)
			continue;
		to->hist = np_hist_new();
		if (!to->hist)
			continue;
		np_hist_merge(to->hist, from->hist);
		to->latency = from->latency;
		to->n_pairs = 1;
		n += from->latency.n;
	}
	if (n < NP_COUNTERS_LEAST) {
		np_record_free(idle);
		return NULL;
	}
	strcpy(idle->app, NP_IDLE_APP);
	idle->uid = r->uid;
	idle->job_id = r->job_id;
	idle->step_id = r->step_id;
	idle->n_nodes = r->n_nodes;
	idle->start = r->start;
	idle->end = r->end;
	idle->state = NP_RUN_COMPLETE;
	idle->exit_code = 0;
	idle->probe.message_bytes = r->probe.message_bytes;
	idle->probe.period_sec = r->probe.period_sec;
	idle->probe.per_node = r->probe.per_node;
	copy_text(&idle->source, np_sample_source_name(NP_SOURCE_QUIET));
	copy_text(&idle->cluster, r->cluster);
	copy_text(&idle->probe.transport, r->probe.transport);
	copy_text(&idle->netprof_version, r->netprof_version);
	copy_text(&idle->slurm_version, r->slurm_version);
	copy_text(&idle->ucx_version, r->ucx_version);
	copy_text(&idle->host, r->host);
	return idle;
}

/* ---- the schedule of measurement intervals ---- */

/*
 * Time for the program to set up, after the first report of the nodes, even if
 * that says that it sent nothing: a program that is silent at first has a phase
 * without traffic, which counts as a part of its run.
 */
#define SET_UP_SEC	3.0
/* One measurement interval: let the queues settle, then measure. */
#define SETTLE_SEC	0.5	/* for queues to fill or drain */
#define MEASURE_SEC	2.0	/* length of the measured part */
#define INTERVAL_SEC (SETTLE_SEC + MEASURE_SEC)
/*
 * A report arrives up to GRACE_SEC after the period that it describes.  The
 * load keeps running that much longer, so that the last report is of loaded
 * time.
 */
#define GRACE_SEC	0.4
#define LOADED_SEC (INTERVAL_SEC + GRACE_SEC)
#define REPORT_WAIT_SEC	3.0	/* longest wait for reports of an interval */
#define START_WAIT_SEC	5.0	/* longest wait for a level to start */
#define MAX_FAILURES	3	/* failed starts, after which none is tried */
/* The lead-in: each level runs alone before the program starts. */
#define LEAD_SETTLE_SEC	0.25
#define LEAD_SEC	(LEAD_SETTLE_SEC + 0.5)

enum schedule_state {
	LEAD_IN_BEGINS,
	LEAD_IN_STARTING,    /* a level is starting; the program is not */
	LEAD_IN,	     /* a level runs alone */
	WAITING_FOR_REPORTS, /* of the nodes' counters */
	PROGRAM_SETTING_UP,
	LOAD_STARTING,
	MEASURING, /* an interval, with or without a level */
	DONE,
};

struct np_intervals {
	struct np_record *r;
	const struct np_earlier_intervals *earlier;
	struct np_interval *interval; /* of all runs; those of this run last */
	size_t n, n_here; /* intervals of all runs, and of this one */
	enum schedule_state state;
	size_t level; /* of the current interval, or NP_INTERVAL_NO_LEVEL */
	double from_sec, to_sec; /* measured part of the interval */
	double due_sec;		 /* when to act next */
	double lead_in_end_sec;	 /* when the lead-in has to end */
	double level_sec;	 /* how long the last requested level runs */
	double alone_sec;	 /* since when no level runs */
	struct np_moments round_sec; /* of the level in the current interval */
	unsigned failures;	 /* starts of levels that failed */
	struct np_traffic traffic, calls;
};

struct np_intervals *
np_intervals_new(struct np_record *r,
		 const struct np_earlier_intervals *earlier)
{
	struct np_intervals *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct np_intervals){ .r = r,
				    .earlier = earlier,
				    .lead_in_end_sec = INFINITY };
	s->interval = calloc(earlier->n_intervals + NP_RECORD_MAX_INTERVALS,
			     sizeof(*s->interval));
	r->intervals = calloc(NP_RECORD_MAX_INTERVALS, sizeof(*r->intervals));
	r->intervals_alone =
		calloc(earlier->n_levels + 1, sizeof(*r->intervals_alone));
	if (!s->interval || !r->intervals || !r->intervals_alone) {
		np_intervals_free(s);
		return NULL;
	}
	if (earlier->n_intervals)
		memcpy(s->interval, earlier->interval,
		       earlier->n_intervals * sizeof(*s->interval));
	s->n = earlier->n_intervals;
	return s;
}

void np_intervals_free(struct np_intervals *s)
{
	if (s)
		free(s->interval);
	free(s);
}

void np_intervals_add_bytes(struct np_intervals *s, size_t node, double now_sec,
			    double elapsed_sec, double bytes)
{
	np_traffic_add(&s->traffic, node, now_sec, elapsed_sec, bytes);
	if (s->state == WAITING_FOR_REPORTS) {
		s->state = PROGRAM_SETTING_UP;
		s->due_sec = now_sec + SET_UP_SEC;
	}
}

void np_intervals_add_calls(struct np_intervals *s, size_t node, double now_sec,
			    double elapsed_sec, double calls)
{
	np_traffic_add(&s->calls, node, now_sec, elapsed_sec, calls);
}

/* Begin an interval, whose level runs already. */
static void begin_measuring(struct np_intervals *s, double now_sec)
{
	s->state = MEASURING;
	s->from_sec = now_sec + SETTLE_SEC;
	s->to_sec = s->from_sec + MEASURE_SEC;
	s->due_sec = s->to_sec + GRACE_SEC;
	s->round_sec = (struct np_moments){ 0 };
}

/*
 * A level starts after it was given up, and may run for its full time: nothing
 * counts until it has ended, and an interval without load begins again then.
 */
static void outlast_late_level(struct np_intervals *s, double now_sec)
{
	double end_sec = now_sec + s->level_sec;

	s->alone_sec = end_sec + SETTLE_SEC;
	if (s->state == MEASURING)
		begin_measuring(s, end_sec);
	else if (s->state == PROGRAM_SETTING_UP)
		s->due_sec = fmax(s->due_sec, end_sec);
}

void np_intervals_level_up(struct np_intervals *s, double now_sec)
{
	bool runs = s->state == LEAD_IN || (s->state == MEASURING &&
					    s->level != NP_INTERVAL_NO_LEVEL);

	if (s->state == LEAD_IN_STARTING) {
		s->state = LEAD_IN;
		s->from_sec = now_sec + LEAD_SETTLE_SEC;
		s->due_sec = now_sec + LEAD_SEC + GRACE_SEC / 2;
	} else if (s->state == LOAD_STARTING) {
		begin_measuring(s, now_sec);
		s->alone_sec = s->due_sec;
	} else if (!runs) {
		outlast_late_level(s, now_sec);
	}
}

void np_intervals_add_rounds(struct np_intervals *s, double now_sec,
			     const struct np_moments *sec)
{
	bool counts = s->state == LEAD_IN || (s->state == MEASURING &&
					      s->level != NP_INTERVAL_NO_LEVEL);

	if (counts && now_sec - NP_INTERVALS_WINDOW_SEC >= s->from_sec &&
	    np_moments_valid(sec))
		np_moments_merge(&s->round_sec, sec);
}

bool np_intervals_lead_in_done(const struct np_intervals *s)
{
	return s->state >= WAITING_FOR_REPORTS;
}

bool np_intervals_wants_level(const struct np_intervals *s)
{
	return s->state == LEAD_IN_STARTING || s->state == LOAD_STARTING;
}

bool np_intervals_is_alone(const struct np_intervals *s, double now_sec)
{
	return np_intervals_lead_in_done(s) && s->state != LOAD_STARTING &&
	       now_sec - NP_INTERVALS_WINDOW_SEC >= s->alone_sec;
}

static void end_lead_in(struct np_intervals *s, double now_sec)
{
	/* If the program has started, a level may still run. */
	s->alone_sec = s->state == LEAD_IN ? fmax(s->due_sec, now_sec) :
					     now_sec;
	s->state = WAITING_FOR_REPORTS;
	s->due_sec = INFINITY;
}

/* Start the next level whose rounds alone are not known; NULL: none is left. */
static const char *next_lead_in(struct np_intervals *s, double now_sec,
				double *sec)
{
	while (s->level < s->earlier->n_levels &&
	       s->earlier->alone_known[s->level])
		s->level++;
	if (s->level == s->earlier->n_levels || now_sec >= s->lead_in_end_sec) {
		end_lead_in(s, now_sec);
		return NULL;
	}
	s->state = LEAD_IN_STARTING;
	s->due_sec = now_sec + START_WAIT_SEC;
	s->round_sec = (struct np_moments){ 0 };
	*sec = s->level_sec = LEAD_SEC;
	return s->earlier->name[s->level];
}

/* Record the rounds of the level alone, and begin the next one. */
static const char *record_lead_in(struct np_intervals *s, double now_sec,
				  double *sec)
{
	char *name = strdup(s->earlier->name[s->level++]);

	if (name)
		s->r->intervals_alone[s->r->n_intervals_alone++] =
			(struct np_run_interval){ .level = name,
						  .sec = LEAD_SEC,
						  .calls = NAN,
						  .round_sec = s->round_sec };
	return next_lead_in(s, now_sec, sec);
}

/* Add the interval to those of the record and of earlier runs. */
static void record_interval(struct np_intervals *s, double start_sec)
{
	bool none = s->level == NP_INTERVAL_NO_LEVEL;
	double rate = np_traffic_rate(&s->traffic, s->from_sec, s->to_sec);
	double calls = np_traffic_rate(&s->calls, s->from_sec, s->to_sec);
	double sec = none ? INTERVAL_SEC : LOADED_SEC;
	size_t n_earlier = s->earlier->n_intervals;
	uint32_t run = n_earlier ? s->earlier->interval[n_earlier - 1].run + 1 :
				   0;
	char *name;

	if (isnan(rate)) {
		s->failures += !none;
		np_record_note(s->r, "the nodes' counters arrived too late for "
			       "a measurement interval");
		return;
	}
	name = none ? NULL : strdup(s->earlier->name[s->level]);
	if (!none && !name)
		return;
	s->interval[s->n++] =
		(struct np_interval){ run, s->level, sec, rate, calls };
	s->n_here++;
	s->r->intervals[s->r->n_intervals++] = (struct np_run_interval){
		.level = name,
		.sec = sec,
		.rate = rate,
		.calls = calls,
		.at_sec = fmax(s->from_sec - SETTLE_SEC - start_sec, 0),
		.round_sec = s->round_sec,
	};
}

/* why NULL: every level is known well enough. */
static void end_schedule(struct np_intervals *s, const char *why)
{
	if (why)
		np_record_note(s->r, "no more measurement intervals: %s", why);
	s->state = DONE;
	s->due_sec = INFINITY;
}

/* Returns the level to start for *sec seconds; NULL: none. */
static const char *begin_next_interval(struct np_intervals *s, double now_sec,
				       double start_sec, double *sec)
{
	const struct np_one_run_schedule plan = {
		s->earlier->n_levels,
		LOADED_SEC,
		s->earlier->share,
	};
	struct np_one_run_next next;

	if (s->n_here == NP_RECORD_MAX_INTERVALS) {
		end_schedule(s, "the record is full");
		return NULL;
	}
	if (np_one_run_next_interval(&plan, s->interval, s->n, s->n_here,
				     now_sec - start_sec, &next)) {
		end_schedule(s, "out of memory");
		return NULL;
	}
	if (next.complete) {
		end_schedule(s, NULL);
		return NULL;
	}
	s->level = s->failures < MAX_FAILURES ? next.level :
						NP_INTERVAL_NO_LEVEL;
	if (s->level == NP_INTERVAL_NO_LEVEL) {
		begin_measuring(s, now_sec);
		return NULL;
	}
	s->state = LOAD_STARTING;
	s->due_sec = now_sec + START_WAIT_SEC;
	*sec = s->level_sec = LOADED_SEC;
	return s->earlier->name[s->level];
}

static void note_failure(struct np_intervals *s)
{
	s->failures++;
	np_record_note(s->r,
		       "load level %s did not start in time for its "
		       "interval",
		       s->earlier->name[s->level]);
}

/* If reports on the interval are missing, check again soon. Returns whether. */
static bool postpone_for_reports(struct np_intervals *s, double now_sec)
{
	double rate = np_traffic_rate(&s->traffic, s->from_sec, s->to_sec);

	if (!isnan(rate) || now_sec >= s->to_sec + REPORT_WAIT_SEC)
		return false;
	s->due_sec = now_sec + NP_INTERVALS_WINDOW_SEC;
	return true;
}

const char *np_intervals_tick(struct np_intervals *s, double now_sec,
			      double start_sec, double *sec)
{
	if (!np_intervals_lead_in_done(s) && !isnan(start_sec))
		end_lead_in(s, now_sec); /* the program has started */
	if (now_sec < s->due_sec)
		return NULL;
	switch (s->state) {
	case LEAD_IN_BEGINS:
		s->lead_in_end_sec = now_sec + NP_LAUNCH_LEAD_IN_SEC -
				     START_WAIT_SEC;
		return next_lead_in(s, now_sec, sec);
	case LEAD_IN_STARTING:
		note_failure(s);
		end_lead_in(s, now_sec);
		return NULL;
	case LEAD_IN:
		return record_lead_in(s, now_sec, sec);
	case MEASURING:
		if (postpone_for_reports(s, now_sec))
			return NULL;
		record_interval(s, start_sec);
		break;
	case LOAD_STARTING:
		note_failure(s);
		break;
	default:
		break;
	}
	return begin_next_interval(s, now_sec, start_sec, sec);
}

double np_intervals_due_sec(const struct np_intervals *s)
{
	return s->due_sec;
}
