#include "np_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- automatic records of the idle network ---- */

bool np_idle_is_wanted(const struct np_runs *idle,
		       const struct np_record *record, double now)
{
	const struct np_run_summary_opt opt = { .like = record, .now = now };
	struct np_run_summary summary;
	const struct np_sample *sample = &summary.latency;
	bool enough;

	if (np_run_summary_make(idle, &opt, &summary))
		return false;
	enough = sample->n_runs && !sample->other_period &&
		 !sample->neighbours &&
		 sample->moments.n >= (sample->source ? NP_IDLE_ENOUGH :
							NP_VERDICT_PROBES) &&
		 (!sample->source || now - sample->last < NP_IDLE_DAYS * 86400);
	np_run_summary_free(&summary);
	return !enough;
}

static void copy_text(char **to, const char *from)
{
	*to = from && *from ? strdup(from) : NULL;
}

/* Add the idle latencies as those of one leaf switch. */
static bool fill_leaf(struct np_record *record, const char *name,
		      const char *rail, const struct np_latency *idle)
{
	struct np_leaf_run *leaf = np_record_leaf(record, name ? name : "");

	if (leaf)
		leaf->hist = np_hist_new();
	if (!leaf || !leaf->hist)
		return false;
	copy_text(&leaf->rail, rail);
	leaf->latency = idle->all;
	leaf->n_pairs = 1;
	for (size_t b = 0; b < NP_HIST_BINS; b++)
		np_hist_add_bin(leaf->hist, b, (uint64_t)idle->count[b]);
	return true;
}

struct np_record *
np_idle_of_calibration(const struct np_calibration *calibration, double end)
{
	const struct np_latency *idle = &calibration->fabric->idle;
	struct np_record *record;

	if (!idle->all.n || !idle->count ||
	    !np_bins_equal(calibration->fabric->bins, np_bins_own()))
		return NULL;
	record = np_record_new();
	if (!record)
		return NULL;
	strcpy(record->app, NP_IDLE_APP);
	copy_text(&record->source,
		  np_sample_source_name(NP_SOURCE_CALIBRATION));
	copy_text(&record->cluster, calibration->cluster);
	copy_text(&record->probe.transport, calibration->transport);
	copy_text(&record->netprof_version, calibration->netprof_version);
	copy_text(&record->ucx_version, calibration->ucx_version);
	record->probe.message_bytes = calibration->message_bytes;
	record->probe.period_sec = calibration->period_sec;
	record->start = calibration->date;
	record->end = end;
	record->state = NP_RUN_COMPLETE;
	record->exit_code = 0;
	if (fill_leaf(record, calibration->leaf_name, calibration->rail, idle))
		return record;
	np_record_free(record);
	return NULL;
}

/*
 * A baseline with the period of the run's probes is better than one with
 * another period. Among these, idle runs are better than a calibration, and a
 * calibration, which measures an idle leaf switch for seconds, is better than
 * the few latencies from quiet intervals of flagged runs. Otherwise the user's
 * own baseline, which comes first, is kept.
 */
static bool is_better(const struct np_sample *sample,
		      const struct np_sample *than)
{
	if (!than->n_runs || sample->other_period != than->other_period)
		return !than->n_runs || than->other_period;
	return sample->source < than->source;
}

/* Choose the best candidate for the idle reference. */
static int find_idle(struct np_run_summary *profile,
		     const struct np_runs *const *idle, size_t n_idle,
		     double now)
{
	const struct np_run_summary_opt opt = { .like = profile->fabric,
						.now = now };
	struct np_run_summary summary;

	for (size_t i = 0; i < n_idle; i++) {
		int rc = idle[i] ?
				 np_run_summary_make(idle[i], &opt, &summary) :
				 0;

		if (rc)
			return rc;
		if (!idle[i])
			continue;
		if (summary.latency.n_runs &&
		    is_better(&summary.latency, &profile->idle)) {
			np_sample_free(&profile->idle);
			profile->idle = summary.latency;
			summary.latency = (struct np_sample){ NULL };
		}
		np_run_summary_free(&summary);
	}
	return 0;
}

/* Profiles ask for no probe period, so all periods count. */
static bool has_latencies(const struct np_run_summary *profile, size_t i)
{
	return profile->use[i] == NP_RUN_ALONE ||
	       profile->use[i] == NP_RUN_INTERVALS ||
	       profile->use[i] == NP_RUN_LATENCY;
}

/* The phases of several runs, weighted by their length. */
struct phase_sum {
	double sec[NP_PHASE_PHASES + 1]; /* by kind */
	struct np_phases weighted;
	double longest_sec;
};

/* Add the phases of one run. */
static void add_phases(struct phase_sum *sum, const struct np_phases *one)
{
	double sec = (double)one->n_windows * one->window_sec;

	sum->sec[one->kind] += sec;
	sum->weighted.n_windows += one->n_windows;
	sum->weighted.n_busy += one->n_busy;
	sum->weighted.busy_share += sec * one->busy_share;
	sum->weighted.busy_period_sec += sec * one->busy_period_sec;
	sum->weighted.quiet_sec += sec * one->quiet_sec;
	sum->weighted.busy_sec += sec * one->busy_sec;
	if (sec > sum->longest_sec) {
		sum->longest_sec = sec;
		sum->weighted.window_sec = one->window_sec;
	}
}

/* The phases of all runs that have the winning kind. */
static void mean_phases(const struct phase_sum *sum, struct np_phases *out)
{
	double steady = sum->sec[NP_PHASE_STEADY];
	double phases = sum->sec[NP_PHASE_PHASES];

	if (phases > steady) {
		*out = sum->weighted;
		out->kind = NP_PHASE_PHASES;
		out->busy_share /= phases;
		out->busy_period_sec /= phases;
		out->quiet_sec /= phases;
		out->busy_sec /= phases;
		return;
	}
	out->kind = steady > 0 ? NP_PHASE_STEADY : NP_PHASE_UNKNOWN;
	out->n_windows = sum->weighted.n_windows;
	out->window_sec = sum->weighted.window_sec;
}

/* Runs are judged one by one; the kind of phases that lasted longer wins. */
static void find_phases(struct np_run_summary *profile)
{
	struct phase_sum sum = { { 0 } };

	for (size_t i = 0; i < profile->runs->n; i++) {
		struct np_series *series = NULL;
		struct np_phases one;

		if (has_latencies(profile, i))
			series = np_run_windows(profile->runs->run[i]);
		if (!series)
			continue;
		np_phase_find(series, &one);
		free(series);
		add_phases(&sum, &one);
	}
	mean_phases(&sum, &profile->phases);
}

/* Sum up what the probes cost. */
static void add_cost(struct np_run_summary *profile)
{
	double cpu = 0;

	for (size_t i = 0; i < profile->runs->n; i++) {
		const struct np_probe_run *run = &profile->runs->run[i]->probe;

		if (!has_latencies(profile, i) || run->elapsed_sec <= 0)
			continue;
		cpu += run->cpu_sec_sum;
		profile->cost.elapsed_sec +=
			run->elapsed_sec * run->n_processes;
		profile->cost.cpu_share_max =
			fmax(profile->cost.cpu_share_max,
			     run->cpu_sec_max / run->elapsed_sec);
		if (run->rss_bytes_max > profile->cost.rss_bytes_max)
			profile->cost.rss_bytes_max = run->rss_bytes_max;
		profile->cost.messages += run->messages;
	}
	if (profile->cost.elapsed_sec > 0)
		profile->cost.cpu_share = cpu / profile->cost.elapsed_sec;
}

/* ---- what the links carry ---- */

/* Was it measured on the fabric of this run? */
static bool is_of_fabric(const struct np_calibration *calibration,
			 const struct np_record *run)
{
	const struct np_fabric_of of = {
		.rail = np_run_rail(run),
		.transport = run->probe.transport,
	};

	return run->cluster && !strcmp(run->cluster, calibration->cluster) &&
	       np_fabric_is_of(calibration, &of);
}

/*
 * What a node sends under a level that runs alone: bytes/s in one direction,
 * without headers; 0: not known. A level has one process on each node, which
 * sends to at most all other nodes.
 */
static double sent_under(const struct np_calibration *calibration, size_t i)
{
	const struct np_level *level = &calibration->level[i];
	const struct np_mean *round = &calibration->alone_round_sec[i];

	if (!np_mean_known(round) || !(round->mean > 0))
		return 0;
	return fmin(level->peers, (double)calibration->n_alone_nodes - 1) *
	       level->messages * level->bytes / round->mean;
}

/* Find the level whose nodes send most. */
static void find_strongest(struct np_run_summary *profile,
			   const struct np_calibration *calibration)
{
	const struct np_record *run = profile->fabric;

	if (!calibration || !run || !is_of_fabric(calibration, run) ||
	    !calibration->alone_round_sec || calibration->n_alone_nodes < 2)
		return;
	for (size_t i = 0; i < calibration->n_levels; i++) {
		double sent = sent_under(calibration, i);

		if (sent <= profile->sent)
			continue;
		profile->sent = sent;
		strcpy(profile->strongest, calibration->level[i].name);
	}
}

/* The most nodes that a run with latencies had on one leaf switch. */
static double most_leaf_nodes(const struct np_run_summary *profile)
{
	uint32_t most = 0;

	for (size_t i = 0; i < profile->runs->n; i++) {
		const struct np_record *run = profile->runs->run[i];

		if (!has_latencies(profile, i))
			continue;
		for (size_t k = 0; k < run->n_leaves; k++)
			if (run->leaves[k].n_nodes > most)
				most = run->leaves[k].n_nodes;
	}
	return most;
}

/*
 * Did adapters wait for the network to take their data? In a lossless network
 * a link may then carry nothing although packets wait for it.
 */
static bool was_held_back(const struct np_sample *sample)
{
	for (size_t i = 0; i < sample->n_nics; i++)
		if (sample->nic[i].n[NP_NIC_WAIT] > 0 ||
		    sample->nic[i].n[NP_NIC_PAUSE] > 0)
			return true;
	return false;
}

/*
 * What links carry. Not known where the nodes' own traffic is not all that can
 * delay their probes.
 */
static struct np_verdict_capacity
capacity_of(const struct np_run_summary *profile,
	    const struct np_calibration *calibration)
{
	const struct np_sample *app = &profile->latency;
	struct np_verdict_capacity capacity = { 0 };

	if (!(profile->sent > 0) || app->neighbours || was_held_back(app))
		return capacity;
	capacity.node = profile->sent;
	capacity.leaf = profile->sent * (double)calibration->n_alone_nodes;
	/* Nodes with slower links than those that were calibrated. */
	if (app->link > 0)
		capacity.node = fmin(capacity.node, app->link);
	return capacity;
}

/*
 * Do the probes of the newest run measure several rails? The bytes of a node
 * are then the sum of all rails, and the speed is that of a single link.
 */
static bool has_several_links(const struct np_run_summary *profile)
{
	const struct np_record *run = profile->fabric;
	const char *first = NULL;

	for (size_t i = 0; run && i < run->n_leaves; i++) {
		const char *rail = run->leaves[i].rail;

		if (first && rail && strcmp(first, rail))
			return true;
		first = first ? first : rail;
	}
	return false;
}

/* The idle network is its own baseline. */
static void make_verdict(struct np_run_summary *profile,
			 const struct np_calibration *calibration)
{
	const struct np_sample *app = &profile->latency;
	const struct np_sample *idle = profile->is_idle ? app : &profile->idle;
	struct np_verdict_in in = {
		.hist = app->hist,
		.moments = app->moments,
		.idle_hist = idle->hist,
		.idle_moments = idle->moments,
		.traffic = { app->node_sec, app->bytes },
		.idle_traffic = { idle->node_sec, idle->bytes },
		.idle_shared = profile->idle.neighbours,
		.link = has_several_links(profile) ? 0 : app->link,
		.capacity = capacity_of(profile, calibration),
		.leaf_nodes = most_leaf_nodes(profile),
		.phases = profile->phases,
		.n_level_runs = profile->count[NP_RUN_UNDER_LEVEL],
	};

	np_verdict_make(&in, &profile->verdict);
}

int np_profile_make(const struct np_runs *runs,
		    const struct np_runs *const *idle, size_t n_idle,
		    const struct np_calibration *calibration, double now,
		    struct np_run_summary *out)
{
	const struct np_run_summary_opt opt = {
		.now = now,
		.level_fabric = calibration ? calibration->fabric : NULL,
	};
	struct np_run_summary profile;
	int rc = np_run_summary_make(runs, &opt, &profile);

	if (rc)
		return rc;
	if (profile.fabric && !profile.is_idle)
		rc = find_idle(&profile, idle, n_idle, now);
	if (rc) {
		np_run_summary_free(&profile);
		return rc;
	}
	find_phases(&profile);
	add_cost(&profile);
	find_strongest(&profile, calibration);
	make_verdict(&profile, calibration);
	*out = profile;
	return 0;
}
