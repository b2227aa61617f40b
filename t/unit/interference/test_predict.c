/* Every degenerate input has an answer that is defined, or a clear error. */
#include "t.h"
#include "some_fabric.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct some_fabric s;
static double nan_count[SF_BINS], zero_count[SF_BINS];

/* Spoil the fabric or program 3 (the co-runner) or 2 (the victim). */
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
static void co_no_windows(void) { s.a[3].n_windows = 0; }
static void co_few_windows(void)
{
	s.a[3].n_windows = 1;
	s.window[3][0].n = 3; /* of 4 probes that a window needs */
}
static void co_no_pressure(void) { s.a[3].pressure = NULL; }
static void co_one_pressure(void)
{
	for (size_t i = 1; i < SF_LEVELS; i++)
		s.pressure[3][i].n = 0;
}
static void co_no_curve(void) { s.a[3].curve = NULL; }
static void victim_no_curve(void) { s.a[2].curve = NULL; }
static void victim_unprobed(void) { s.a[2].latency.all.n = 0; }
static void victim_unmeasured(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.curve[2][i].n = 0;
}
static void victim_impossible(void) { s.curve[2][1].mean = -1; }
static void victim_nan(void) { s.curve[2][1].mean = NAN; }
static void victim_no_pressure(void) { s.a[2].pressure = NULL; }
static void victim_bad_sd(void) { s.curve[2][1].sd = -0.1; }
static void no_beside(void) { s.f.beside = NULL; }
static void beside_impossible(void) { s.beside[5].mean = -1.5; }
static void coupling_negative(void) { s.f.coupling[1].mean = -0.1; }
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

static const struct {
	const char *name, *model;
	void (*spoil)(void);
	int rc;
	const char *text; /* in the error */
} refused[] = {
	{ "idle latencies missing", "queue", idle_missing, -ENODATA,
	  "lab: no latency of the idle fabric" },
	{ "idle latencies missing, mixture", "mixture", idle_missing,
	  -ENODATA, "lab: no latency of the idle fabric" },
	{ "idle histogram missing", "mixture", idle_no_hist, -ENODATA,
	  "no latency histograms of the idle" },
	{ "a latency below zero", "queue", idle_negative, -EINVAL,
	  "lab: idle: latency from -1" },
	{ "a mean that is no number", "queue", idle_nan, -EINVAL, "nan" },
	{ "a negative variance", "queue", idle_bad_variance, -EINVAL,
	  "contradict" },
	{ "an infinite latency", "queue", level_infinite, -EINVAL,
	  "lab: level l1" },
	{ "a latency of zero", "queue", level_zero, -EINVAL,
	  "lab: level l1: latency from 0" },
	{ "a level without a name", "cross", level_nameless, -EINVAL,
	  "level 1 has no name" },
	{ "no level was probed", "queue", levels_silent, -ENODATA,
	  "no latency beside any level" },
	{ "bins that do not rise", "mixture", bins_falling, -EINVAL,
	  "bin edge 3" },
	{ "a histogram without bins", "mixture", hist_without_bins, -EINVAL,
	  "without bins" },
	{ "a bin below zero", "mixture", hist_negative, -EINVAL,
	  "p3: bin 2 holds -1" },
	{ "a bin that is no number", "mixture", hist_nan, -EINVAL, "bin 0" },
	{ "a histogram without a latency", "mixture", hist_empty, -EINVAL,
	  "p3: histogram without a latency" },
	{ "the co-runner was not probed", "queue", co_unprobed, -ENODATA,
	  "p3: no probe latencies" },
	{ "the co-runner has no histogram", "mixture", co_no_hist, -ENODATA,
	  "p3: no latency histogram" },
	{ "the co-runner has no windows", "windows", co_no_windows, -ENODATA,
	  "p3: no latencies over time" },
	{ "its windows have too few probes", "windows", co_few_windows,
	  -ENODATA, "p3: no latencies over time" },
	{ "the co-runner's pressure is unknown", "cross", co_no_pressure,
	  -ENODATA, "p3: how much it slows the levels" },
	{ "its pressure on one level only", "cross", co_one_pressure,
	  -ENODATA, "1 with the pressure" },
	{ "the co-runner has no curve", "queue-mutual", co_no_curve, -ENODATA,
	  "p3: no slowdown beside any level" },
	{ "what the victim does to levels is unknown", "mutual",
	  victim_no_pressure, -ENODATA, "p2: how much it slows the levels" },
	{ "no curve of the co-runner, mutual", "mutual", co_no_curve, -ENODATA,
	  "p3: no slowdown beside any level" },
	{ "the victim has no curve", "cross", victim_no_curve, -ENODATA,
	  "p2: no slowdown beside any level" },
	{ "no curve, look-up", "average", victim_no_curve, -ENODATA, "p2" },
	{ "a curve without a measurement", "queue", victim_unmeasured,
	  -ENODATA, "p2" },
	{ "the victim was not probed", "queue-mutual", victim_unprobed,
	  -ENODATA, "p2: no probe latencies" },
	{ "a slowdown of -1", "cross", victim_impossible, -EINVAL,
	  "p2: slowdown beside level l1 is -1" },
	{ "a slowdown that is no number", "cross", victim_nan, -EINVAL,
	  "p2: slowdown beside level l1 is nan" },
	{ "a negative sd", "cross", victim_bad_sd, -EINVAL, "sd -0.1" },
	{ "levels never run beside each other", "cross", no_beside, -ENODATA,
	  "slowdown of the levels beside each other" },
	{ "a level that gains more than all", "cross", beside_impossible,
	  -EINVAL, "level l1 beside l1 is -1.5" },
	{ "a coupling below zero", "cross", coupling_negative, -EINVAL,
	  "coupling at scope leaf is -0.1" },
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

static int ask(const char *model, bool strict, size_t replicates,
	       struct np_prediction *out, struct np_err *err)
{
	const struct np_predict_opt opt = { replicates, 1, strict };
	const struct np_program *co[] = { &s.a[3] };
	struct np_predictor *p;
	int rc = np_predictor_new(&s.f, np_model_find(model, NULL), &opt, &p,
				  err);

	if (rc)
		return rc;
	rc = np_predict(p, &s.a[2], co, 1, NP_SCOPE_LEAF, out, err);
	np_predictor_free(p);
	return rc;
}

static void test_refused(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(refused); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_prediction p;
		int rc;

		some_fabric(&s);
		refused[i].spoil();
		rc = ask(refused[i].model, true, 10, &p, &err);
		T_ROW(refused[i].name, rc == refused[i].rc &&
		      strstr(err.text, refused[i].text));
		if (rc != refused[i].rc || !strstr(err.text, refused[i].text))
			printf("\n    %s: %d %s\n", refused[i].name, rc,
			       err.text);
	}
}

/* --- odd, but with a defined answer --- */

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
		s.pressure[3][i].mean *= 3;
}
static void co_harmless(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.pressure[3][i].mean = 0;
}
static void co_helps(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.pressure[3][i].mean = -0.9;
}
static void level_unprobed(void) { s.level[0].latency.all.n = 0; }
static void victim_partial(void) { s.curve[2][0].n = 0; }
static void beside_partial(void) { s.beside[SF_LEVELS + 1].n = 0; }
static void levels_twice(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++) {
		s.beside[i * SF_LEVELS + 1] = s.beside[i * SF_LEVELS + 2];
		s.beside[SF_LEVELS + i] = s.beside[2 * SF_LEVELS + i];
	}
	s.curve[2][1] = s.curve[2][2];
	s.pressure[3][1] = s.pressure[3][2];
}
static void levels_mute(void)
{
	for (size_t i = 0; i < SF_LEVELS * SF_LEVELS; i++)
		s.beside[i].mean = 0;
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
static void no_effect(void) { s.f.coupling[NP_SCOPE_LEAF].mean = 0; }
static void half_effect(void) { s.f.coupling[NP_SCOPE_LEAF].mean = 0.5; }
static void strong_effect(void) { s.f.coupling[NP_SCOPE_LEAF].mean = 3; }
static void unknown_effect(void) { s.f.coupling[NP_SCOPE_LEAF].n = 0; }
static void nothing(void) { }

static const struct {
	const char *name, *model;
	void (*spoil)(void);
	double lo, hi; /* of the answer */
	unsigned flags;	/* must be among those of the answer */
	const char *answers; /* another model, or NULL */
} odd[] = {
	{ "all idle latencies equal (M/D/1)", "queue", idle_equal, 0.98984,
	  0.98985, 0, NULL },
	{ "one idle latency: sd 0, and said so", "queue", idle_one, 0.98984,
	  0.98985,
	  NP_PRED_ONE_PROBE, NULL },
	{ "faster than idle: utilisation 0, the curve's end", "queue-interp",
	  co_below_idle, 0.06, 0.06, NP_PRED_BEYOND, NULL },
	{ "beyond every level: the curve's end", "queue-interp", co_above_all,
	  1.5, 1.5, NP_PRED_BEYOND, NULL },
	{ "beyond every level: the last look-up", "average", co_above_all,
	  1.5, 1.5, NP_PRED_BEYOND, NULL },
	{ "presses more than any level", "cross", co_stronger, 1.4, 1.5,
	  NP_PRED_BEYOND, NULL },
	{ "presses on nothing: like an idle fabric", "cross", co_harmless,
	  0, 1e-9, 0, NULL },
	{ "makes levels faster, cut at -0.5: like idle", "cross", co_helps,
	  0, 1e-9, 0, NULL },
	{ "presses on nothing, victim side", "victim", co_harmless, 0, 0, 0,
	  NULL },
	{ "a level without probes is left out", "queue-interp",
	  level_unprobed, 1.5, 1.5, NP_PRED_PARTIAL, NULL },
	{ "a level beside which it never ran is left out", "cross",
	  victim_partial, 1.5, 1.5, NP_PRED_PARTIAL, NULL },
	{ "levels never run together: one is left out", "cross",
	  beside_partial, 1.5, 1.5, NP_PRED_PARTIAL, NULL },
	{ "the same level twice (singular)", "cross", levels_twice, 1.5, 1.5,
	  0, NULL },
	{ "levels that do nothing to each other", "cross", levels_mute, 0,
	  1e-9, NP_PRED_BEYOND, NULL },
	{ "slowdowns below -0.5 count as -0.5", "cross", victim_gains, -0.5,
	  -0.5, 0, NULL },
	{ "a line that falls below 0 is cut there", "queue", line_falls, 0, 0,
	  0, NULL },
	{ "coupling 0: no effect here", "cross", no_effect, 0, 0, 0, NULL },
	{ "coupling 0.5 halves the loss of speed", "cross", half_effect,
	  1 / 0.7 - 1, 1 / 0.7 - 1, 0, NULL },
	{ "a coupling that would stop it is cut, and said so", "cross",
	  strong_effect, 998, 1000, NP_PRED_CLAMPED, NULL },
	{ "coupling not measured: taken as 1, and said so", "cross",
	  unknown_effect, 1.5, 1.5, NP_PRED_NO_COUPLING, NULL },
	{ "no pressure: the mixture answers, and says so", "cross",
	  co_no_pressure, 1.49, 1.51, NP_PRED_FELL_BACK, "mixture" },
	{ "what the victim does to levels is unknown: twosided answers",
	  "mutual", victim_no_pressure, 1.49, 1.51, NP_PRED_FELL_BACK,
	  "twosided" },
	{ "the co-runner has no curve: twosided answers", "mutual",
	  co_no_curve, 1.49, 1.51, NP_PRED_FELL_BACK, "twosided" },
	{ "no pressure: the mixture answers for mutual, too", "mutual",
	  co_no_pressure, 1.49, 1.51, NP_PRED_FELL_BACK, "mixture" },
	{ "levels not run together: the mixture answers", "cross", no_beside,
	  1.49, 1.51, NP_PRED_FELL_BACK, "mixture" },
	{ "everything there: nothing to say", "cross", nothing, 1.5, 1.5, 0,
	  "cross" },
};

static void test_odd(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(odd); i++) {
		struct np_prediction p = { 0 };
		int rc, ok;

		some_fabric(&s);
		odd[i].spoil();
		rc = ask(odd[i].model, false, 20, &p, NULL);
		ok = !rc && p.slowdown >= odd[i].lo - 1e-9 &&
		     p.slowdown <= odd[i].hi + 1e-9 &&
		     (p.flags & odd[i].flags) == odd[i].flags &&
		     p.low <= p.slowdown && p.slowdown <= p.high &&
		     (!odd[i].answers ||
		      !strcmp(p.model->name, odd[i].answers));
		T_ROW(odd[i].name, ok);
		if (!ok)
			printf("\n    %s: %d %g [%g, %g] %#x\n", odd[i].name,
			       rc, p.slowdown, p.low, p.high, p.flags);
	}
}

static void test_strict_refuses_to_fall_back(void)
{
	struct np_err err = NP_ERR_INIT;
	struct np_prediction p;

	some_fabric(&s);
	co_no_pressure();
	T_CHECK(ask("cross", true, 0, &p, &err) == -ENODATA);
	T_CHECK(strstr(err.text, "p3") != NULL);
}

/* --- several co-runners --- */

static int ask_all(const char *model, const size_t *c, size_t n,
		   struct np_prediction *out)
{
	const struct np_predict_opt opt = { 20, 1, true };
	const struct np_program *co[8];
	struct np_predictor *p;
	int rc;

	for (size_t i = 0; i < n; i++)
		co[i] = &s.a[c[i]];
	rc = np_predictor_new(&s.f, np_model_find(model, NULL), &opt, &p,
			      NULL);
	if (rc)
		return rc;
	rc = np_predict(p, &s.a[2], co, n, NP_SCOPE_LEAF, out, NULL);
	np_predictor_free(p);
	return rc;
}

static void test_nobody_beside_it(void)
{
	struct np_prediction p;

	some_fabric(&s);
	for (size_t i = 0; i < np_n_models; i++)
		T_ROW(np_models[i].name,
		      !ask_all(np_models[i].name, NULL, 0, &p) &&
		      p.slowdown == 0 && p.low == 0 && p.high == 0);
}

static void test_several_press_together(void)
{
	const size_t one[] = { 1 }, two[] = { 1, 1 }, three[] = { 0, 1, 1 };
	struct np_prediction p1, p2, p3;

	some_fabric(&s);
	for (size_t i = 0; i < np_n_models; i++) {
		const char *name = np_models[i].name;

		if (!np_models[i].needs || np_models[i].needs & NP_NEED_PLAY)
			continue;
		T_ROW(name, !ask_all(name, one, 1, &p1) &&
		      !ask_all(name, two, 2, &p2) &&
		      !ask_all(name, three, 3, &p3) &&
		      p1.slowdown <= p2.slowdown + 1e-6 &&
		      p2.slowdown <= p3.slowdown + 1e-6 &&
		      p1.slowdown < p3.slowdown);
	}
}

/* Two that press like level 1 each press like log(1 + CA) added. */
static void test_pressures_add_as_logarithms(void)
{
	const size_t pair[] = { 0, 0 };
	struct np_prediction p;

	some_fabric(&s);
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.pressure[0][i].mean =
			sqrt(1 + s.beside[i * SF_LEVELS + 2].mean) - 1;
	T_CHECK(!ask_all("cross", pair, 2, &p) &&
		t_close(p.slowdown, s.curve[2][2].mean, 1e-6));
	T_CHECK(!ask_all("queue-mutual", pair, 2, &p) &&
		p.flags & NP_PRED_NOT_MUTUAL);
}

/* An excess of 1 and one of 3 over idle are as one of 4: mean 5. */
static void test_latencies_add_over_idle(void)
{
	const size_t pair[] = { 0, 1 };
	struct np_prediction p;

	some_fabric(&s);
	T_CHECK(!ask_all("average", pair, 2, &p) &&
		t_close(p.slowdown, s.curve[2][1].mean, 1e-9));
	s.level[2].latency.all.mean = s.level[2].latency.all.min = 5.1;
	T_CHECK(!ask_all("average", pair, 2, &p) &&
		t_close(p.slowdown, s.curve[2][2].mean, 1e-9));
}

/* --- intervals --- */

static void test_intervals_are_deterministic(void)
{
	struct np_prediction p, q;

	some_fabric(&s);
	T_CHECK(!ask("cross", true, 100, &p, NULL));
	T_CHECK(!ask("cross", true, 100, &q, NULL));
	T_CHECK(p.low == q.low && p.high == q.high);
	T_CHECK(p.low < p.slowdown && p.slowdown < p.high);
	T_CHECK(!ask("cross", true, 0, &q, NULL));
	T_CHECK(q.slowdown == p.slowdown && isnan(q.low) && isnan(q.high) &&
		q.flags & NP_PRED_NO_INTERVAL);
}

/* More and better measurements leave less room. */
static double width_with(uint32_t n, double sd)
{
	struct np_prediction p = { 0 };

	some_fabric(&s);
	for (size_t i = 0; i < SF_LEVELS; i++) {
		s.curve[2][i].n = n;
		s.curve[2][i].sd = sd;
	}
	T_CHECK(!ask("average", true, 400, &p, NULL));
	return p.high - p.low;
}

static void test_intervals_follow_the_noise(void)
{
	T_CHECK(width_with(20, 0.01) < width_with(20, 0.5));
	T_CHECK(width_with(100, 0.5) < width_with(3, 0.5));
}

static void test_coupling_widens(void)
{
	struct np_prediction sure, unsure;

	some_fabric(&s);
	s.f.coupling[NP_SCOPE_LEAF] = (struct np_mean){ 4, 0.5, 0.001 };
	T_CHECK(!ask("cross", true, 200, &sure, NULL));
	s.f.coupling[NP_SCOPE_LEAF].sd = 2;
	T_CHECK(!ask("cross", true, 200, &unsure, NULL));
	T_CHECK(sure.slowdown == unsure.slowdown);
	T_CHECK(unsure.high - unsure.low > sure.high - sure.low);
	T_CHECK(unsure.more == NP_MORE_COUPLING);
}

/* --- advice --- */

static void curve_noisy(void)
{
	s.curve[2][3] = (struct np_mean){ 2, 1.5, 2.0 };
}
static void pressure_noisy(void)
{
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.pressure[3][i] = (struct np_mean){ 2, s.pressure[3][i].mean,
						     5.0 };
}
static void curve_hole(void) { s.curve[2][3].n = 0; }

static const struct {
	const char *name, *model;
	void (*spoil)(void);
	enum np_more more;
	int level; /* -1: any */
} advice[] = {
	{ "a noisy point of the curve is named", "average", curve_noisy,
	  NP_MORE_CURVE, 3 },
	{ "the level most like the co-runner was left out", "cross",
	  curve_hole, NP_MORE_CURVE, 3 },
	{ "a noisy pressure is named", "cross", pressure_noisy,
	  NP_MORE_PRESSURE, -1 },
	{ "fell back for want of pressure", "cross", co_no_pressure,
	  NP_MORE_PRESSURE, 0 },
	{ "fell back for want of calibration", "cross", no_beside,
	  NP_MORE_CALIBRATION, -1 },
	{ "four levels: more levels", "queue", nothing, NP_MORE_LEVELS, 3 },
};

static void test_advice(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(advice); i++) {
		struct np_prediction p = { 0 };
		int ok;

		some_fabric(&s);
		advice[i].spoil();
		ok = !ask(advice[i].model, false, 100, &p, NULL) &&
		     p.more == advice[i].more &&
		     (advice[i].level < 0 ||
		      p.more_level == (size_t)advice[i].level);
		T_ROW(advice[i].name, ok);
		if (!ok)
			printf("\n    %s: more %d level %zu\n",
			       advice[i].name, (int)p.more, p.more_level);
	}
}

/* --- the matrix --- */

static void test_matrix_is_all_pairs(void)
{
	const struct np_predict_opt opt = { 20, 7, false };
	const struct np_program *app[SF_PROGRAMS];
	struct np_prediction all[SF_PROGRAMS * SF_PROGRAMS], one;
	int rc[SF_PROGRAMS * SF_PROGRAMS];
	struct np_predictor *p;

	some_fabric(&s);
	s.a[1].pressure = NULL;	 /* falls back as a co-runner */
	s.curve[0][2].n = 0;	 /* other levels in use as a victim */
	for (size_t i = 0; i < SF_PROGRAMS; i++)
		app[i] = &s.a[i];
	T_CHECK(!np_predictor_new(&s.f, np_model_find("cross", NULL), &opt,
				  &p, NULL));
	T_CHECK(!np_predict_matrix(p, app, SF_PROGRAMS, NP_SCOPE_LEAF, all,
				   rc, NULL));
	for (size_t v = 0; v < SF_PROGRAMS; v++)
		for (size_t c = 0; c < SF_PROGRAMS; c++) {
			size_t at = v * SF_PROGRAMS + c;

			T_CHECK(!rc[at] &&
				!np_predict(p, app[v], &app[c], 1,
					    NP_SCOPE_LEAF, &one, NULL));
			T_CHECK(all[at].slowdown == one.slowdown &&
				all[at].low == one.low &&
				all[at].high == one.high &&
				all[at].flags == one.flags &&
				all[at].model == one.model);
		}
	np_predictor_free(p);
}

static void test_matrix_with_holes(void)
{
	const struct np_predict_opt opt = { 0, 0, true };
	const struct np_program *app[] = { &s.a[0], &s.a[1] };
	struct np_prediction all[4];
	struct np_predictor *p;
	int rc[4];

	some_fabric(&s);
	s.a[1].curve = NULL;
	T_CHECK(!np_predictor_new(&s.f, np_model_find("cross", NULL), &opt,
				  &p, NULL));
	T_CHECK(!np_predict_matrix(p, app, 2, NP_SCOPE_LEAF, all, rc, NULL));
	T_CHECK(!rc[0] && !rc[1] && rc[2] == -ENODATA && rc[3] == -ENODATA);
	T_CHECK(isnan(all[2].slowdown) && !all[2].model);
	T_CHECK(!np_predict_matrix(p, app, 0, NP_SCOPE_LEAF, all, rc, NULL));
	np_predictor_free(p);
	np_predictor_free(NULL);
}

/* --- programs played together --- */

/* Each that plays is a number; the first is slowed by those of the others. */
static struct np_play_ask played;

static int play(const struct np_player *self, const struct np_play_ask *ask,
		double *slowdown, struct np_err *err)
{
	(void)self, (void)err;
	played = *ask;
	*slowdown = 0;
	for (size_t i = 1; i < ask->n; i++)
		*slowdown += *(const double *)ask->play[i];
	return 0;
}

static int ask_player(size_t n_co, enum np_scope scope,
		      const struct np_player *player,
		      struct np_prediction *out, struct np_err *err)
{
	const struct np_predict_opt opt = { 50, 1, false, player };
	const struct np_program *co[] = { &s.a[1], &s.a[2], &s.a[1] };
	struct np_predictor *p;
	int rc = np_predictor_new(&s.f, np_model_find("replay", NULL), &opt,
				  &p, err);

	if (rc)
		return rc;
	rc = np_predict(p, &s.a[0], co, n_co, scope, out, err);
	np_predictor_free(p);
	return rc;
}

static void give_traces(void)
{
	static const double slows[SF_PROGRAMS] = { 0.1, 0.2, 0.4, 0.8 };

	some_fabric(&s);
	for (size_t i = 0; i < SF_PROGRAMS; i++)
		s.a[i].play = &slows[i];
}

static void test_replay_asks_the_player(void)
{
	const struct np_player player = { play };
	struct np_prediction p;
	double full;

	give_traces();
	full = 1 + s.beside[SF_LEVELS * SF_LEVELS - 1].mean;
	T_CHECK(!ask_player(3, NP_SCOPE_LEAF, &player, &p, NULL));
	T_CHECK(t_close(p.slowdown, 0.8, 1e-12) && isnan(p.low) &&
		p.flags == NP_PRED_NO_INTERVAL);
	T_CHECK(played.n == 4 && !played.same_nodes &&
		t_close(played.share, 1 / full, 1e-12));
	/* Of a leaf that is felt by half, the network carries more. */
	s.f.coupling[NP_SCOPE_LEAF] = (struct np_mean){ 1, 0.5, NAN };
	T_CHECK(!ask_player(1, NP_SCOPE_LEAF, &player, &p, NULL) &&
		t_close(played.share, 0.5 + 0.5 / full, 1e-12));
	T_CHECK(!ask_player(1, NP_SCOPE_NODE, &player, &p, NULL) &&
		played.same_nodes && isinf(played.share));
}

static void no_play(void) { s.a[1].play = NULL; }
static void no_self(void)
{
	s.beside[SF_LEVELS * SF_LEVELS - 1] = some_mean(NAN);
}

static const struct {
	const char *name;
	void (*spoil)(void);
	enum np_scope scope;
	const char *says;
} not_played[] = {
	{ "no trace of a co-runner", no_play, NP_SCOPE_LEAF, "p1: no trace" },
	{ "how much the network carries is not known", no_self, NP_SCOPE_LEAF,
	  "lab: the level that sends most was not measured beside itself" },
	{ "an uplink", nothing, NP_SCOPE_UPLINK,
	  "lab: what an uplink carries is not known" },
};

static void test_replay_says_what_is_missing(void)
{
	const struct np_player player = { play };

	for (size_t i = 0; i < NP_ARRAY_SIZE(not_played); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_prediction p;

		give_traces();
		not_played[i].spoil();
		T_ROW(not_played[i].name,
		      ask_player(1, not_played[i].scope, &player, &p, &err) ==
		      -ENODATA && !strcmp(err.text, not_played[i].says));
	}
	give_traces();
	T_CHECK(ask_player(1, NP_SCOPE_LEAF, NULL, &(struct np_prediction){ 0 },
			   NULL) == -ENODATA);
}

static void test_replay_fills_a_matrix(void)
{
	const struct np_player player = { play };
	const struct np_predict_opt opt = { 0, 0, true, &player };
	const struct np_program *app[] = { &s.a[0], &s.a[1] };
	struct np_prediction all[4];
	struct np_predictor *p;
	int rc[4];

	give_traces();
	s.a[0].play = NULL;
	T_CHECK(!np_predictor_new(&s.f, np_model_find("replay", NULL), &opt,
				  &p, NULL));
	T_CHECK(!np_predict_matrix(p, app, 2, NP_SCOPE_LEAF, all, rc, NULL));
	T_CHECK(rc[0] == -ENODATA && rc[1] == -ENODATA && rc[2] == -ENODATA &&
		!rc[3] && isnan(all[1].slowdown) && all[3].slowdown == 0.2);
	np_predictor_free(p);
}

static const struct t_case cases[] = {
	{ "what cannot be answered is refused with a reason", test_refused },
	{ "odd data has the answer that is defined for it", test_odd },
	{ "strict: no other model's answer", test_strict_refuses_to_fall_back },
	{ "beside nobody there is no slowdown", test_nobody_beside_it },
	{ "several co-runners do more than one", test_several_press_together },
	{ "pressures add as logarithms", test_pressures_add_as_logarithms },
	{ "latencies add as excess over idle", test_latencies_add_over_idle },
	{ "intervals hold the answer and come out the same again",
	  test_intervals_are_deterministic },
	{ "better measurements narrow the interval",
	  test_intervals_follow_the_noise },
	{ "an uncertain coupling widens it", test_coupling_widens },
	{ "the measurement that helps most is named", test_advice },
	{ "the matrix is every pair", test_matrix_is_all_pairs },
	{ "a matrix has holes where data is missing", test_matrix_with_holes },
	{ "replay is what a player of traces says", test_replay_asks_the_player },
	{ "replay says what is missing", test_replay_says_what_is_missing },
	{ "replay has holes where traces are missing",
	  test_replay_fills_a_matrix },
	{ NULL, NULL },
};
T_SUITE(predict, cases)
