#include "np_profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_profile_levels.h"

struct np_moments np_run_latency(const struct np_record *r)
{
	struct np_moments m = { 0 };

	for (size_t i = 0; i < r->n_leaves; i++)
		np_moments_merge(&m, &r->leaves[i].latency);
	return m;
}

bool np_run_has_neighbours(const struct np_record *r)
{
	for (size_t i = 0; i < r->n_neighbours; i++)
		if (r->neighbours[i].overlap_sec > 0)
			return true;
	return false;
}

double np_sample_quantile(const struct np_sample *s, double q)
{
	if (!s->hist || !s->moments.n)
		return 0;
	/* A bin is wider than what is in it. */
	return fmin(fmax(np_hist_quantile(s->hist, q), s->moments.min),
		    s->moments.max);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_fabric(const struct np_record *a, const struct np_record *b)
{
	return same_text(a->cluster, b->cluster) &&
	       same_text(a->probe.transport, b->probe.transport) &&
	       a->probe.message_bytes == b->probe.message_bytes;
}

static const struct np_record *newest_measured(const struct np_runs *runs)
{
	const struct np_record *beside_level = NULL;

	for (size_t i = 0; i < runs->n; i++) {
		if (!np_run_latency(runs->run[i]).n)
			continue;
		if (!runs->run[i]->level)
			return runs->run[i];
		if (!beside_level)
			beside_level = runs->run[i];
	}
	return beside_level;
}

static enum np_run_use use_of(const struct np_record *r,
			      const struct np_record *fabric)
{
	if (!np_run_latency(r).n && !r->level)
		return NP_RUN_EMPTY;
	if (fabric && !same_fabric(r, fabric))
		return NP_RUN_FABRIC;
	if (r->level)
		return NP_RUN_LEVEL;
	return np_run_has_neighbours(r) ? NP_RUN_NEIGHBOURS : NP_RUN_USED;
}

/* Sorts runs by use.  Where only runs with neighbours exist, they are used. */
static bool sort_runs(const struct np_runs *runs,
		      const struct np_record *fabric, enum np_run_use *use)
{
	bool clean = false, shared = false;

	for (size_t i = 0; i < runs->n; i++) {
		use[i] = use_of(runs->run[i], fabric);
		clean |= use[i] == NP_RUN_USED;
		shared |= use[i] == NP_RUN_NEIGHBOURS;
	}
	for (size_t i = 0; !clean && i < runs->n; i++)
		if (use[i] == NP_RUN_NEIGHBOURS)
			use[i] = NP_RUN_USED;
	return shared && !clean;
}

static int add_run(struct np_sample *s, const struct np_record *r)
{
	struct np_moments m = np_run_latency(r);

	if (!s->hist)
		s->hist = np_hist_new();
	if (!s->hist)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_leaves; i++)
		if (r->leaves[i].hist)
			np_hist_merge(s->hist, r->leaves[i].hist);
	np_moments_merge(&s->moments, &m);
	s->first = s->n_runs ? fmin(s->first, r->start) : r->start;
	s->last = s->n_runs ? fmax(s->last, r->end) : r->end;
	s->period_sec = r->probe.period_sec;
	s->n_runs++;
	return 0;
}

static int add_used(struct np_sample *s, const struct np_runs *runs,
		    const enum np_run_use *use)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < runs->n; i++)
		if (use[i] == NP_RUN_USED)
			rc = add_run(s, runs->run[i]);
	return rc;
}

static bool same_period(const struct np_record *a, const struct np_record *b)
{
	double x = a->probe.period_sec, y = b->probe.period_sec;

	return fabs(x - y) <= 1e-3 * fmax(x, y);
}

/*
 * The runs of one candidate that were measured on the same fabric, of the
 * application's probe period or of the others.
 */
static int take_idle(struct np_profile *p, const struct np_runs *idle,
		     bool other_period)
{
	enum np_run_use *use = calloc(idle->n + 1, sizeof(*use));
	struct np_runs some = { .run = calloc(idle->n + 1, sizeof(*some.run)) };
	int rc = -ENOMEM;

	for (size_t i = 0; some.run && i < idle->n; i++)
		if (same_period(idle->run[i], p->fabric) != other_period)
			some.run[some.n++] = idle->run[i];
	if (use && some.run) {
		p->idle.neighbours = sort_runs(&some, p->fabric, use);
		p->idle.other_period = other_period;
		rc = add_used(&p->idle, &some, use);
	}
	free(some.run);
	free(use);
	return rc;
}

static int find_idle(struct np_profile *p, const struct np_runs *const *idle,
		     size_t n_idle)
{
	int rc = 0;

	for (int other = 0; other <= 1; other++)
		for (size_t i = 0; !rc && i < n_idle && !p->idle.n_runs; i++)
			if (idle[i])
				rc = take_idle(p, idle[i], other);
	return rc;
}

struct np_series *np_run_windows(const struct np_record *r)
{
	struct np_series *all = NULL;
	double width = 0;

	for (size_t i = 0; i < r->n_leaves; i++)
		if (r->leaves[i].windows)
			width = fmax(width, r->leaves[i].windows->width_sec);
	if (width > 0)
		all = malloc(sizeof(*all));
	if (!all)
		return NULL;
	np_series_init(all, width);
	for (size_t i = 0; i < r->n_leaves; i++) {
		const struct np_series *s = r->leaves[i].windows;

		for (size_t k = 0; s && k < s->n; k++)
			if (s->w[k].n)
				np_series_add(all, ((double)k + 0.5) *
					      s->width_sec, &s->w[k]);
	}
	return all;
}

/* Phases of several runs, each weighted by its time. */
struct phase_sum {
	double sec[NP_PHASE_PHASES + 1]; /* by kind */
	struct np_phases weighted;
	double longest_sec;
};

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

/* Runs are judged one by one; the kind that was seen longer wins. */
static void find_phases(struct np_profile *p)
{
	struct phase_sum sum = { { 0 } };

	for (size_t i = 0; i < p->runs->n; i++) {
		struct np_series *s = NULL;
		struct np_phases one;

		if (p->use[i] == NP_RUN_USED)
			s = np_run_windows(p->runs->run[i]);
		if (!s)
			continue;
		np_phase_find(s, &one);
		free(s);
		add_phases(&sum, &one);
	}
	mean_phases(&sum, &p->phases);
}

static void add_cost(struct np_profile *p)
{
	double cpu = 0, elapsed = 0;

	for (size_t i = 0; i < p->runs->n; i++) {
		const struct np_probe_run *r = &p->runs->run[i]->probe;

		if (p->use[i] != NP_RUN_USED || r->elapsed_sec <= 0)
			continue;
		cpu += r->cpu_sec_sum;
		elapsed += r->elapsed_sec * r->n_processes;
		p->cost.cpu_share_max = fmax(p->cost.cpu_share_max,
					     r->cpu_sec_max / r->elapsed_sec);
		if (r->rss_bytes_max > p->cost.rss_bytes_max)
			p->cost.rss_bytes_max = r->rss_bytes_max;
		p->cost.messages += r->messages;
	}
	p->cost.cpu_share = elapsed > 0 ? cpu / elapsed : 0;
}

static void judge(struct np_profile *p)
{
	struct np_verdict_in in = {
		.hist = p->app.hist, .moments = p->app.moments,
		.idle_hist = p->idle.hist, .idle_moments = p->idle.moments,
		.phases = p->phases,
	};

	for (size_t i = 0; i < p->n_levels; i++)
		in.n_level_runs += p->levels[i].n_runs;
	np_verdict_make(&in, &p->verdict);
}

int np_profile_make(const struct np_runs *runs,
		    const struct np_runs *const *idle, size_t n_idle,
		    struct np_profile *out)
{
	struct np_profile p = { .runs = runs };
	int rc;

	p.is_idle = !strcmp(runs->app, NP_IDLE_APP);
	p.use = calloc(runs->n + 1, sizeof(*p.use));
	if (!p.use)
		return -ENOMEM;
	p.fabric = newest_measured(runs);
	p.app.neighbours = sort_runs(runs, p.fabric, p.use);
	for (size_t i = 0; i < runs->n; i++)
		p.count[p.use[i]]++;
	rc = add_used(&p.app, runs, p.use);
	if (!rc && p.fabric && !p.is_idle)
		rc = find_idle(&p, idle, n_idle);
	if (!rc)
		rc = np_profile_levels(runs, p.use, &p.levels, &p.n_levels);
	if (rc) {
		np_profile_free(&p);
		return rc;
	}
	find_phases(&p);
	add_cost(&p);
	judge(&p);
	*out = p;
	return 0;
}

void np_profile_free(struct np_profile *p)
{
	free(p->use);
	free(p->levels);
	np_hist_free(p->app.hist);
	np_hist_free(p->idle.hist);
	memset(p, 0, sizeof(*p));
}
