#include "np_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- automatic records of the idle network ---- */

bool np_idle_is_wanted(const struct np_runs *idle, const struct np_record *r,
		       double now)
{
	const struct np_run_summary_opt opt = { .like = r, .now = now };
	struct np_run_summary e;
	const struct np_sample *s = &e.latency;
	bool enough;

	if (np_run_summary_make(idle, &opt, &e))
		return false;
	enough = s->n_runs && !s->other_period && !s->neighbours &&
		 s->moments.n >=
			 (s->source ? NP_IDLE_ENOUGH : NP_VERDICT_PROBES) &&
		 (!s->source || now - s->last < NP_IDLE_DAYS * 86400);
	np_run_summary_free(&e);
	return !enough;
}

static void copy_text(char **to, const char *from)
{
	*to = from && *from ? strdup(from) : NULL;
}

/* Add the idle latencies as those of one leaf switch. */
static bool fill_leaf(struct np_record *r, const char *name, const char *rail,
		      const struct np_latency *idle)
{
	struct np_leaf_run *leaf = np_record_leaf(r, name ? name : "");

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

struct np_record *np_idle_of_calibration(const struct np_calibration *c,
					 double end)
{
	const struct np_latency *idle = &c->fabric->idle;
	struct np_record *r;

	if (!idle->all.n || !idle->count ||
	    !np_bins_equal(c->fabric->bins, np_bins_own()))
		return NULL;
	r = np_record_new();
	if (!r)
		return NULL;
	strcpy(r->app, NP_IDLE_APP);
	copy_text(&r->source, np_sample_source_name(NP_SOURCE_CALIBRATION));
	copy_text(&r->cluster, c->cluster);
	copy_text(&r->probe.transport, c->transport);
	copy_text(&r->netprof_version, c->netprof_version);
	copy_text(&r->ucx_version, c->ucx_version);
	r->probe.message_bytes = c->message_bytes;
	r->probe.period_sec = c->period_sec;
	r->start = c->date;
	r->end = end;
	r->state = NP_RUN_COMPLETE;
	r->exit_code = 0;
	if (fill_leaf(r, c->leaf_name, c->rail, idle))
		return r;
	np_record_free(r);
	return NULL;
}

/* Preference among baselines with the same period; a lower one is better. */
static int source_rank(const struct np_sample *s)
{
	static const int rank[] = {
		[NP_SOURCE_RUN] = 0,
		[NP_SOURCE_CALIBRATION] = 1,
		[NP_SOURCE_QUIET] = 2,
	};

	return rank[s->source];
}

/*
 * A baseline with the period of the run's probes is better than one with
 * another period.  Among these, idle runs are better than a calibration, and a
 * calibration, which measures an idle leaf switch for seconds, is better than
 * the few latencies from quiet intervals of flagged runs.  Otherwise the user's
 * own baseline, which comes first, is kept.
 */
static bool is_better(const struct np_sample *s, const struct np_sample *than)
{
	if (!than->n_runs || s->other_period != than->other_period)
		return !than->n_runs || than->other_period;
	return source_rank(s) < source_rank(than);
}

/* Choose the best candidate for the idle reference. */
static int find_idle(struct np_profile *p, const struct np_runs *const *idle,
		     size_t n_idle, double now)
{
	const struct np_run_summary_opt opt = { .like = p->summary.fabric,
						.now = now };
	struct np_run_summary e;

	for (size_t i = 0; i < n_idle; i++) {
		int rc = idle[i] ? np_run_summary_make(idle[i], &opt, &e) : 0;

		if (rc)
			return rc;
		if (!idle[i])
			continue;
		if (e.latency.n_runs && is_better(&e.latency, &p->idle)) {
			np_hist_free(p->idle.hist);
			p->idle = e.latency;
			e.latency.hist = NULL;
		}
		np_run_summary_free(&e);
	}
	return 0;
}

/* Profiles ask for no probe period, so all periods count. */
static bool has_latencies(const struct np_profile *p, size_t i)
{
	return p->summary.use[i] == NP_RUN_ALONE ||
	       p->summary.use[i] == NP_RUN_INTERVALS ||
	       p->summary.use[i] == NP_RUN_LATENCY;
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
static void find_phases(struct np_profile *p)
{
	struct phase_sum sum = { { 0 } };

	for (size_t i = 0; i < p->runs->n; i++) {
		struct np_series *s = NULL;
		struct np_phases one;

		if (has_latencies(p, i))
			s = np_run_windows(p->runs->run[i]);
		if (!s)
			continue;
		np_phase_find(s, &one);
		free(s);
		add_phases(&sum, &one);
	}
	mean_phases(&sum, &p->phases);
}

/* Sum up what the probes cost. */
static void add_cost(struct np_profile *p)
{
	double cpu = 0;

	for (size_t i = 0; i < p->runs->n; i++) {
		const struct np_probe_run *r = &p->runs->run[i]->probe;

		if (!has_latencies(p, i) || r->elapsed_sec <= 0)
			continue;
		cpu += r->cpu_sec_sum;
		p->cost.elapsed_sec += r->elapsed_sec * r->n_processes;
		p->cost.cpu_share_max = fmax(p->cost.cpu_share_max,
					     r->cpu_sec_max / r->elapsed_sec);
		if (r->rss_bytes_max > p->cost.rss_bytes_max)
			p->cost.rss_bytes_max = r->rss_bytes_max;
		p->cost.messages += r->messages;
	}
	if (p->cost.elapsed_sec > 0)
		p->cost.cpu_share = cpu / p->cost.elapsed_sec;
}

/* The idle network is its own baseline. */
static void make_verdict(struct np_profile *p)
{
	const struct np_sample *app = &p->summary.latency;
	const struct np_sample *idle = p->is_idle ? app : &p->idle;
	struct np_verdict_in in = {
		.hist = app->hist,
		.moments = app->moments,
		.idle_hist = idle->hist,
		.idle_moments = idle->moments,
		.traffic = { app->node_sec, app->bytes },
		.idle_traffic = { idle->node_sec, idle->bytes },
		.idle_shared = p->idle.neighbours,
		.link = app->link,
		.phases = p->phases,
		.n_level_runs = p->summary.count[NP_RUN_UNDER_LEVEL],
	};

	np_verdict_make(&in, &p->verdict);
}

int np_profile_make(const struct np_runs *runs,
		    const struct np_runs *const *idle, size_t n_idle,
		    double now, struct np_profile *out)
{
	const struct np_run_summary_opt opt = { .now = now };
	struct np_profile p = {
		.runs = runs,
		.is_idle = !strcmp(runs->app, NP_IDLE_APP),
	};
	int rc = np_run_summary_make(runs, &opt, &p.summary);

	if (!rc && p.summary.fabric && !p.is_idle)
		rc = find_idle(&p, idle, n_idle, now);
	if (rc) {
		np_profile_free(&p);
		return rc;
	}
	find_phases(&p);
	add_cost(&p);
	make_verdict(&p);
	*out = p;
	return 0;
}

void np_profile_free(struct np_profile *p)
{
	np_run_summary_free(&p->summary);
	np_hist_free(p->idle.hist);
	memset(p, 0, sizeof(*p));
}
