/* Known truths, played through intervals: how often do the intervals hold? */
#include "t.h"
#include "np_moments.h"
#include "np_one_run.h"
#include "np_rng.h"

#include <gsl/gsl_cdf.h>

#define NONE NP_INTERVAL_NO_LEVEL
#define LEVELS 8
#define PROGRAMS 100
#define NOISE 0.03 /* sd of log(rate) of an interval */
#define DRIFT 0.5  /* of log(rate), in a run */

struct runs {
	const char *name;
	unsigned n, repeats; /* runs, and in each intervals of every level */
	double between;	     /* the usual sd between runs */
	bool alike;	     /* it is every program's */
};

static double truth(size_t level)
{
	return log1p(2 * pow((double)(level + 1) / LEVELS, 2));
}

/* As moderated variances have it: programs differ in how much runs do. */
static double between_of(const struct runs *w, struct np_rng *r)
{
	double chi2 = 0;

	if (w->alike)
		return w->between;
	for (int i = 0; i < (int)NP_NOISE_PRIOR; i++)
		chi2 += pow(np_rng_normal(r), 2);
	return w->between * sqrt(NP_NOISE_PRIOR / chi2);
}

/* Half of what makes runs differ is common to the run's levels. */
static size_t play_run(const struct runs *w, uint32_t run, double between,
		       struct np_rng *r, struct np_interval *b)
{
	double off[LEVELS], common = np_rng_normal(r);
	size_t n_intervals = 2 * w->repeats * LEVELS + 1;

	for (size_t k = 0; k < LEVELS; k++)
		off[k] = between * sqrt(0.5) * (common + np_rng_normal(r));
	for (size_t i = 0; i < n_intervals; i++) {
		size_t level = i % 2 ? i / 2 * 3 % LEVELS : NONE;
		double x = -DRIFT * (double)i / (double)n_intervals +
			   NOISE * np_rng_normal(r);

		if (level != NONE)
			x -= truth(level) + off[level];
		b[i] = (struct np_interval){ run, level, 2.5, 1e6 * exp(x) };
	}
	return n_intervals;
}

/* How many 90 % intervals hold; *alone: of those by the intervals alone. */
static size_t holding(const struct np_one_run_level level[LEVELS],
		      size_t *alone)
{
	size_t n = 0;

	for (size_t k = 0; k < LEVELS; k++) {
		const struct np_one_run_level *l = &level[k];
		double miss = fabs(log1p(l->slowdown.mean) - truth(k));

		n += miss <= gsl_cdf_tdist_Pinv(0.95, l->df) * l->error;
		*alone += miss <= 0.84 * l->half_width; /* 1.645 / 1.96 */
	}
	return n;
}

/* The share of intervals that hold. */
static double coverage(const struct runs *w, double *alone)
{
	struct np_interval *b =
		calloc(w->n * (2 * w->repeats * LEVELS + 1), sizeof(*b));
	struct np_rng *r = np_rng_new(7, w->name);
	size_t hold = 0, by_intervals = 0;

	for (int p = 0; b && r && p < PROGRAMS; p++) {
		double between = between_of(w, r);
		struct np_one_run_level level[LEVELS];
		struct np_one_run o;
		size_t n = 0;

		for (uint32_t run = 0; run < w->n; run++)
			n += play_run(w, run, between, r, b + n);
		T_ROW(w->name,
		      !np_one_run_estimate(b, n, NULL, level, LEVELS, &o));
		hold += holding(level, &by_intervals);
	}
	free(b);
	np_rng_free(r);
	*alone = (double)by_intervals / (PROGRAMS * LEVELS);
	return (double)hold / (PROGRAMS * LEVELS);
}

T_TEST("90 % intervals hold in 85 to 95 %, and intervals alone do not")
{
	static const struct runs rows[] = {
		{ "one interval of each level", 1, 1, NP_NOISE_DEFAULT, false },
		{ "one short run", 1, 2, NP_NOISE_DEFAULT, false },
		{ "one long run", 1, 8, NP_NOISE_DEFAULT, false },
		{ "three runs", 3, 2, NP_NOISE_DEFAULT, false },
		{ "eight runs", 8, 2, NP_NOISE_DEFAULT, false },
		{ "eight runs that differ twice as much", 8, 2,
		  2 * NP_NOISE_DEFAULT, true },
	};

	T_EACH(r, rows) {
		double alone, share = coverage(r, &alone);

		T_ROW(r->name, share >= 0.85 && share <= 0.95);
		/* one interval scatters more than runs differ */
		T_ROW(r->name, r->repeats == 1 || alone < 0.8);
	}
}

/* What repeats of the program itself say counts more, the more there are. */
T_TEST("a program's own repeats say how much its runs differ")
{
	const struct runs none = { "runs alike", 6, 8, 0, true };
	struct np_interval b[6 * (2 * 8 * LEVELS + 1)];
	struct np_mean whole[LEVELS] = { { 0 } };
	struct np_rng *r = np_rng_new(1, "own");
	struct np_one_run_level level[LEVELS];
	struct np_one_run o;
	size_t n = 0;

	T_CHECK(!np_one_run_estimate(NULL, 0, NULL, level, LEVELS, &o));
	T_CHECK(t_close(o.between, NP_NOISE_DEFAULT, 1e-9));
	whole[0] = (struct np_mean){ 9, 1, 0.4 };
	whole[1] = (struct np_mean){ 1, 1, NAN };
	T_CHECK(!np_one_run_estimate(NULL, 0, whole, level, LEVELS, &o));
	T_CHECK(t_close(o.between,
			sqrt((4 * pow(NP_NOISE_DEFAULT, 2) + 8 * 0.04) / 12),
			1e-9));
	for (uint32_t run = 0; r && run < none.n; run++)
		n += play_run(&none, run, 0, r, b + n);
	T_CHECK(!np_one_run_estimate(b, n, NULL, level, LEVELS, &o));
	T_CHECK(o.n_runs == 6 && o.between < 0.75 * NP_NOISE_DEFAULT);
	T_CHECK(level[0].error > level[0].half_width / 2);
	np_rng_free(r);
}

/* With more intervals of one run an interval becomes no narrower than runs are. */
T_TEST("one run never says all")
{
	const struct runs w = { "a long run", 1, 40, 0, true };
	struct np_interval *b = calloc(2 * 40 * LEVELS + 1, sizeof(*b));
	struct np_rng *r = np_rng_new(1, "one");
	struct np_one_run_level level[LEVELS];
	struct np_one_run o;

	T_CHECK(b && r &&
		!np_one_run_estimate(b, play_run(&w, 0, 0, r, b), NULL, level,
				     LEVELS, &o));
	for (size_t k = 0; k < LEVELS; k++) {
		const struct np_one_run_level *l = &level[k];

		T_CHECK(l->half_width < 0.02 && l->error > NP_NOISE_DEFAULT);
		T_CHECK(l->df >= 4 && l->df < 4.5);
		T_CHECK(t_close(log1p(l->high) - log1p(l->low),
				2 * gsl_cdf_tdist_Pinv(0.975, l->df) * l->error,
				1e-9));
		T_CHECK(t_close(l->slowdown.sd / sqrt(l->slowdown.n),
				l->error * (1 + l->slowdown.mean), 1e-6));
	}
	np_rng_free(r);
	free(b);
}
