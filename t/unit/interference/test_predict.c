/* Every degenerate input has an answer that is defined, or a clear error. */
#include "some_prediction.h"

static double nan_count[SF_BINS], zero_count[SF_BINS];

/* Spoil the fabric or program 3 (the co-runner) or 2 (the victim). */
/* clang-format off */
static void idle_missing(void) { s.f.idle.all.n = 0; }
static void idle_negative(void) { s.f.idle.all.min = -1; }
static void idle_nan(void) { s.f.idle.all.mean = NAN; }
static void idle_bad_variance(void) { s.f.idle.all.m2 = -1; }
static void idle_no_hist(void) { s.f.idle.count = NULL; }
static void level_infinite(void) { s.level[1].latency.all.max = INFINITY; }
static void level_zero(void) { s.level[1].latency.all.min = 0; }
static void level_nameless(void) { s.level[1].name = ""; }
static void levels_silent(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.level[i].latency.all.n = 0;
}
static void bins_falling(void) { s.edge[3] = s.edge[2]; }
static void hist_without_bins(void) { s.f.bins = NULL; }
static void hist_negative(void) { s.program_count[3][2] = -1; }
static void hist_nan(void)
{
	nan_count[0] = NAN;
	s.a[3].latency.count = nan_count;
}
static void hist_empty(void) { s.a[3].latency.count = zero_count; }
static void co_unprobed(void) { s.a[3].latency.all.n = 0; }
static void co_no_hist(void) { s.a[3].latency.count = NULL; }
static void co_one_impact(void)
{
	for (size_t i = 1; i < SF_LEVELS; i++)
		s.impact[3][i].n = 0;
}
static void co_no_curve(void) { s.a[3].curve = NULL; }
static void victim_no_curve(void) { s.a[2].curve = NULL; }
static void victim_unmeasured(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.curve[2][i].n = 0;
}
static void victim_impossible(void) { s.curve[2][1].mean = -1; }
static void victim_nan(void) { s.curve[2][1].mean = NAN; }
static void victim_no_impact(void) { s.a[2].impact = NULL; }
static void victim_bad_sd(void) { s.curve[2][1].sd = -0.1; }
static void pairs_impossible(void) { s.pairs[5].mean = -1.5; }
static void sharing_negative(void) { s.f.sharing[1].mean = -0.1; }
static void same_levels(void)
{
	for (size_t i = 1; i < SF_LEVELS; i++)
		s.level[i].latency = s.level[0].latency;
}
static void all_saturated(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.level[i].latency.all.mean = s.level[i].latency.all.max =
			1000 + (double)i;
}
static void one_level(void) { s.f.n_levels = 1; }
static void no_levels(void) { s.f.n_levels = 0; }
/* clang-format on */

static const struct {
	const char *name, *model;
	void (*spoil)(void);
	int rc;
	const char *text; /* in the error */
} refused[] = {
	{ "idle latencies missing", "queue", idle_missing, -ENODATA,
	  "lab: no latency of the idle fabric" },
	{ "idle latencies missing, mixture", "mixture", idle_missing, -ENODATA,
	  "lab: no latency of the idle fabric" },
	{ "idle histogram missing", "mixture", idle_no_hist, -ENODATA,
	  "no latency histograms of the idle" },
	{ "a latency below zero", "queue", idle_negative, -EINVAL,
	  "lab: idle: latency from -1" },
	{ "a mean that is no number", "queue", idle_nan, -EINVAL, "nan" },
	{ "a negative variance", "queue", idle_bad_variance, -EINVAL,
	  "inconsistent" },
	{ "an infinite latency", "queue", level_infinite, -EINVAL,
	  "lab: level l1" },
	{ "a latency of zero", "queue", level_zero, -EINVAL,
	  "lab: level l1: latency from 0" },
	{ "a level without a name", "cross", level_nameless, -EINVAL,
	  "level 1 has no name" },
	{ "no level was probed", "queue", levels_silent, -ENODATA,
	  "no latency under any load level" },
	{ "bins that do not rise", "mixture", bins_falling, -EINVAL,
	  "bin edge 3" },
	{ "a histogram without bins", "mixture", hist_without_bins, -EINVAL,
	  "without bins" },
	{ "a bin below zero", "mixture", hist_negative, -EINVAL,
	  "p3: bin 2 holds -1" },
	{ "a bin that is no number", "mixture", hist_nan, -EINVAL, "bin 0" },
	{ "a histogram without a latency", "mixture", hist_empty, -EINVAL,
	  "p3: histogram without samples" },
	{ "the co-runner was not probed", "queue", co_unprobed, -ENODATA,
	  "p3: no probe latencies" },
	{ "the co-runner has no histogram", "mixture", co_no_hist, -ENODATA,
	  "p3: no latency histogram" },
	{ "the co-runner's impact is unknown", "cross", co_no_impact, -ENODATA,
	  "p3: how much it slows the levels" },
	{ "its impact on one level only", "cross", co_one_impact, -ENODATA,
	  "1 with the impact" },
	{ "what the victim does to levels is unknown", "mutual",
	  victim_no_impact, -ENODATA, "p2: how much it slows the levels" },
	{ "the co-runner has no curve", "mutual", co_no_curve, -ENODATA,
	  "p3: its slowdown under load levels" },
	{ "the victim has no curve", "cross", victim_no_curve, -ENODATA,
	  "p2: its slowdown under load levels" },
	{ "no curve, look-up", "average", victim_no_curve, -ENODATA, "p2" },
	{ "a curve without a measurement", "queue", victim_unmeasured, -ENODATA,
	  "p2" },
	{ "a slowdown of -1", "cross", victim_impossible, -EINVAL,
	  "p2: slowdown under level l1 is -1" },
	{ "a slowdown that is no number", "cross", victim_nan, -EINVAL,
	  "p2: slowdown under level l1 is nan" },
	{ "a negative sd", "cross", victim_bad_sd, -EINVAL, "sd -0.1" },
	{ "levels never run together", "cross", no_pairs, -ENODATA,
	  "how much the load levels slow each other" },
	{ "a level that gains more than all", "cross", pairs_impossible,
	  -EINVAL, "level l1 under l1 is -1.5" },
	{ "a sharing coefficient below zero", "cross", sharing_negative,
	  -EINVAL, "sharing coefficient at scope leaf is -0.1" },
	{ "all levels at one utilisation: no curve", "queue", same_levels,
	  -EDOM, "1 distinct utilisations" },
	{ "all levels saturated: no curve", "queue", all_saturated, -EDOM,
	  "0 distinct utilisations" },
	{ "one level is too few for cross", "cross", one_level, -EDOM,
	  "expected at least 2" },
	{ "one level is too few for a line", "queue", one_level, -EDOM,
	  "1 distinct utilisations" },
	{ "no level at all", "cross", no_levels, -ENODATA, "p2" },
	{ "no level at all, queue", "queue", no_levels, -ENODATA, "" },
};

T_TEST("what cannot be predicted is refused with a reason")
{
	T_EACH(r, refused) {
		struct np_err err = NP_ERR_INIT;
		struct np_prediction p;
		int rc;

		some_fabric(&s);
		r->spoil();
		rc = predict(r->model, true, 10, &p, &err);
		T_ROW(r->name, rc == r->rc && strstr(err.text, r->text));
		if (rc != r->rc || !strstr(err.text, r->text))
			printf("\n    %s: %d %s\n", r->name, rc, err.text);
	}
}

/* --- odd, but with a defined answer --- */

/* clang-format off */
static void idle_equal(void)
{
	s.f.idle.all = (struct np_moments){ 100, 1, 0, 1, 1 };
}
static void idle_one(void)
{
	s.f.idle.all = (struct np_moments){ 1, 1, 0, 1, 1 };
}
static void co_below_idle(void)
{
	s.a[3].latency.all = (struct np_moments){ 100, 0.9, 0.1, 0.7, 1.2 };
}
static void co_above_all(void)
{
	s.a[3].latency.all = (struct np_moments){ 100, 900, 0.1, 800, 999 };
}
static void co_stronger(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.impact[3][i].mean *= 3;
}
static void co_harmless(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.impact[3][i].mean = 0;
}
static void co_helps(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.impact[3][i].mean = -0.9;
}
static void level_unprobed(void) { s.level[0].latency.all.n = 0; }
static void victim_partial(void) { s.curve[2][0].n = 0; }
static void pairs_partial(void) { s.pairs[SF_LEVELS + 1].n = 0; }
static void levels_twice(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++) {
		s.pairs[i * SF_LEVELS + 1] = s.pairs[i * SF_LEVELS + 2];
		s.pairs[SF_LEVELS + i] = s.pairs[2 * SF_LEVELS + i];
	}
	s.curve[2][1] = s.curve[2][2];
	s.impact[3][1] = s.impact[3][2];
}
static void levels_mute(void)
{
	for (size_t i = 0; i < SF_LEVELS * SF_LEVELS; i++)
		s.pairs[i].mean = 0;
}
static void victim_gains(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.curve[2][i].mean = -0.9;
}
static void line_falls(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.curve[2][i].mean = i < 1 ? 0.5 : 0;
}
static void no_effect(void) { s.f.sharing[NP_SCOPE_LEAF].mean = 0; }
static void half_effect(void) { s.f.sharing[NP_SCOPE_LEAF].mean = 0.5; }
static void strong_effect(void) { s.f.sharing[NP_SCOPE_LEAF].mean = 3; }
static void unknown_effect(void) { s.f.sharing[NP_SCOPE_LEAF].n = 0; }
/* clang-format on */

static const struct {
	const char *name, *model;
	void (*spoil)(void);
	double lo, hi;		/* of the answer */
	unsigned flags;		/* must be among those of the answer */
	const char *model_used; /* after a fallback, or NULL */
} odd[] = {
	{ "all idle latencies equal (M/D/1)", "queue", idle_equal, 0.98984,
	  0.98985, 0, NULL },
	{ "one idle latency: sd 0, and said so", "queue", idle_one, 0.98984,
	  0.98985, NP_PRED_ONE_PROBE, NULL },
	{ "faster than idle: utilisation 0, the curve's end", "queue",
	  co_below_idle, 0, 0, NP_PRED_BEYOND, NULL },
	{ "beyond every level: the curve's end", "queue", co_above_all, 0.99036,
	  0.99037, NP_PRED_BEYOND, NULL },
	{ "beyond every level: the last look-up", "average", co_above_all, 1.5,
	  1.5, NP_PRED_BEYOND, NULL },
	{ "has more impact than any level", "cross", co_stronger, 1.4, 1.5,
	  NP_PRED_BEYOND, NULL },
	{ "has no impact: like an idle fabric", "cross", co_harmless, 0, 1e-9,
	  0, NULL },
	{ "makes levels faster, cut at -0.5: like idle", "cross", co_helps, 0,
	  1e-9, 0, NULL },
	{ "has no impact, victim side", "victim", co_harmless, 0, 0, 0, NULL },
	{ "a level without probes is left out", "average", level_unprobed, 1.5,
	  1.5, NP_PRED_PARTIAL, NULL },
	{ "a level under which it never ran is excluded", "cross",
	  victim_partial, 1.5, 1.5, NP_PRED_PARTIAL, NULL },
	{ "levels never run together: one is left out", "cross", pairs_partial,
	  1.5, 1.5, NP_PRED_PARTIAL, NULL },
	{ "the same level twice (singular)", "cross", levels_twice, 1.5, 1.5, 0,
	  NULL },
	{ "levels that do nothing to each other", "cross", levels_mute, 0, 1e-9,
	  NP_PRED_BEYOND, NULL },
	{ "slowdowns below -0.5 count as -0.5", "cross", victim_gains, -0.5,
	  -0.5, 0, NULL },
	{ "a line that falls below 0 is cut there", "queue", line_falls, 0, 0,
	  0, NULL },
	{ "sharing coefficient 0: no effect here", "cross", no_effect, 0, 0, 0,
	  NULL },
	{ "sharing coefficient 0.5 halves the loss of speed", "cross",
	  half_effect, 1 / 0.7 - 1, 1 / 0.7 - 1, 0, NULL },
	{ "a sharing coefficient of 3 makes the slowdown three times as large",
	  "cross", strong_effect, 4.5, 4.5, 0, NULL },
	{ "sharing coefficient not measured: taken as 1, and said so", "cross",
	  unknown_effect, 1.5, 1.5, NP_PRED_NO_SHARING, NULL },
	{ "no impact: the mixture is used, and says so", "cross", co_no_impact,
	  1.49, 1.51, NP_PRED_FELL_BACK | NP_PRED_LATENCIES, "mixture" },
	{ "what the victim does to levels is unknown: twosided is used",
	  "mutual", victim_no_impact, 1.49, 1.51, NP_PRED_FELL_BACK,
	  "twosided" },
	{ "the co-runner has no curve: twosided is used", "mutual", co_no_curve,
	  1.49, 1.51, NP_PRED_FELL_BACK, "twosided" },
	{ "no impact: the mixture is used for mutual, too", "mutual",
	  co_no_impact, 1.49, 1.51, NP_PRED_FELL_BACK | NP_PRED_LATENCIES,
	  "mixture" },
	{ "levels not run together: the mixture is used", "cross", no_pairs,
	  1.49, 1.51, NP_PRED_FELL_BACK | NP_PRED_LATENCIES, "mixture" },
	{ "everything there: nothing to say", "cross", nothing, 1.5, 1.5, 0,
	  "cross" },
};

T_TEST("odd data has the prediction that is defined for it")
{
	T_EACH(r, odd) {
		struct np_prediction p = { 0 };
		int rc, ok;

		some_fabric(&s);
		r->spoil();
		rc = predict(r->model, false, 20, &p, NULL);
		ok = !rc && p.slowdown >= r->lo - 1e-9 &&
		     p.slowdown <= r->hi + 1e-9 &&
		     (p.flags & r->flags) == r->flags &&
		     !(p.flags & ~r->flags & NP_PRED_LATENCIES) &&
		     p.low <= p.slowdown && p.slowdown <= p.high &&
		     (!r->model_used || !strcmp(p.model->name, r->model_used));
		T_ROW(r->name, ok);
		if (!ok)
			printf("\n    %s: %d %g [%g, %g] %#x\n", r->name, rc,
			       p.slowdown, p.low, p.high, p.flags);
	}
}

T_TEST("strict: no other model's prediction")
{
	struct np_err err = NP_ERR_INIT;
	struct np_prediction p;

	some_fabric(&s);
	co_no_impact();
	T_CHECK(predict("cross", true, 0, &p, &err) == -ENODATA);
	T_CHECK(strstr(err.text, "p3") != NULL);
}
