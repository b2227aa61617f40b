#include "np_verdict.h"

#include <math.h>

#include "np_queue.h"

static const struct {
	enum np_use use;
	double delayed_share, utilisation;
} thresholds[] = {
	/* heaviest first */
	{ NP_USE_SATURATED, 0.90, 0.95 },
	{ NP_USE_HEAVY, 0.35, 0.30 },
	{ NP_USE_MODERATE, 0.10, 0.10 },
	{ NP_USE_LIGHT, 0, 0 },
};

double np_verdict_slower(const struct np_hist *h, double sec)
{
	size_t bin = np_hist_bin_of(sec);
	double lo = np_hist_edge(bin), hi = np_hist_edge(bin + 1);
	double total = (double)np_hist_total(h), above = 0, part = 1;

	if (total <= 0)
		return 0;
	for (size_t i = bin + 1; i < NP_HIST_BINS; i++)
		above += (double)np_hist_count(h, i);
	/* Interpolate within the bin as np_hist_quantile() does. */
	if (bin == 0)
		part = 1 - sec / hi;
	else if (bin < NP_HIST_BINS - 1)
		part = log(hi / sec) / log(hi / lo);
	return (above + part * (double)np_hist_count(h, bin)) / total;
}

double np_verdict_traffic_share(const struct np_verdict_capacity *capacity,
				double rate, double leaf_nodes)
{
	double one_way = rate / 2;

	if (isnan(rate) || !(leaf_nodes > 0) || !(capacity->node > 0) ||
	    !(capacity->leaf > 0))
		return 1;
	return fmin(1, 4 * one_way / capacity->node +
			       2 * leaf_nodes * one_way / capacity->leaf);
}

/* The share that is delayed among the probes that one cause does not delay. */
static double beyond(double share, double share_of_cause)
{
	return fmax(0, (share - share_of_cause) / (1 - share_of_cause));
}

static void against_idle(const struct np_verdict_in *in, struct np_verdict *v)
{
	double p95 = np_hist_quantile(in->idle_hist, 0.95);
	double p99 = np_hist_quantile(in->idle_hist, 0.99);
	double p50 = np_hist_quantile(in->idle_hist, 0.50);

	v->against = NP_AGAINST_IDLE;
	v->delayed_sec = fmax(p95, 1.25 * p50);
	v->delayed_share =
		beyond(np_verdict_slower(in->hist, v->delayed_sec),
		       np_verdict_slower(in->idle_hist, v->delayed_sec));
	v->beyond_p95 = np_verdict_slower(in->hist, p95);
	v->beyond_p99 = np_verdict_slower(in->hist, p99);
}

static enum np_use use_of(const struct np_verdict *v)
{
	size_t i = 0;

	while (v->delayed_share < thresholds[i].delayed_share ||
	       v->utilisation < thresholds[i].utilisation)
		i++;
	return thresholds[i].use;
}

/* Bytes per second and node; NaN if not counted. */
static double rate_of(const struct np_verdict_traffic *t)
{
	return t->node_sec > 0 ? t->bytes / t->node_sec : NAN;
}

static bool is_silent(double rate)
{
	return rate < NP_VERDICT_SILENT; /* false for NaN */
}

/* A run with much traffic is not an idle baseline. */
static bool has_baseline(const struct np_verdict_in *in)
{
	/* The rate is NaN if nothing was counted: accept the baseline. */
	return in->idle_hist && in->idle_moments.n >= NP_VERDICT_PROBES &&
	       !(rate_of(&in->idle_traffic) >= NP_VERDICT_BUSY);
}

/* The lower end of the 95 % interval of a share of n probes (Wilson). */
static double at_least(double share, double n)
{
	double z2 = 1.96 * 1.96 / n;

	return (share + z2 / 2 - sqrt(z2 * (share * (1 - share) + z2 / 4))) /
	       (1 + z2);
}

/*
 * Are so many probes delayed that met no traffic that these alone give the
 * verdict?
 */
static bool exceeds_traffic(const struct np_verdict_in *in,
			    const struct np_verdict *v, enum np_use use)
{
	struct np_verdict other = *v;

	if (v->traffic_share >= 1)
		return false;
	other.delayed_share =
		beyond(at_least(v->delayed_share, (double)in->moments.n),
		       v->traffic_share);
	return use_of(&other) >= use;
}

/* A reason to distrust the latencies. */
static enum np_doubt doubt_of(const struct np_verdict_in *in,
			      const struct np_verdict *v, enum np_use use)
{
	bool delayed = use > NP_USE_LIGHT;

	if (is_silent(v->rate))
		return delayed ? NP_DOUBT_SILENT : NP_DOUBT_NONE;
	if (delayed && exceeds_traffic(in, v, use))
		return NP_DOUBT_TRAFFIC;
	if (!delayed && in->link > 0 && v->rate >= NP_VERDICT_FULL * in->link)
		return NP_DOUBT_FULL;
	return !delayed && in->idle_shared ? NP_DOUBT_BASELINE : NP_DOUBT_NONE;
}

void np_verdict_make(const struct np_verdict_in *in, struct np_verdict *out)
{
	struct np_verdict v = {
		.phases = in->phases.kind,
		.busy_share = in->phases.busy_share,
		.interference = in->n_level_runs > 0,
		.doubt = NP_DOUBT_PROBES,
		.rate = rate_of(&in->traffic),
	};
	struct np_moments app, idle;
	struct np_service service;

	*out = v;
	if (!in->hist || in->moments.n < NP_VERDICT_PROBES)
		return;
	out->doubt = NP_DOUBT_BASELINE;
	if (!has_baseline(in))
		return;
	app = np_hist_robust(in->hist, &in->moments);
	idle = np_hist_robust(in->idle_hist, &in->idle_moments);
	/* np_queue_service() fails only for latencies of 0. */
	if (np_queue_service(&idle, &service) ||
	    np_queue_utilisation(&service, app.mean, &v.utilisation, NULL))
		return;
	against_idle(in, &v);
	v.excess = in->moments.mean / in->idle_moments.mean - 1;
	v.traffic_share =
		np_verdict_traffic_share(&in->capacity, v.rate, in->leaf_nodes);
	v.use = use_of(&v);
	v.doubt = doubt_of(in, &v, v.use);
	if (v.doubt)
		v.use = NP_USE_UNKNOWN;
	v.guess = !v.doubt && isnan(v.rate);
	*out = v;
}
