#include "t.h"
#include "np_blame.h"
#include "np_rng.h"

/* Two suspects: a neighbour's traffic and waiting for processors. */
#define K 2
#define MOST 20

static const struct np_blame_prior prior[K] = { { 0.5, 0.7 }, { 0.8, 0.4 } };

/* clang-format off */
static const struct row {
	const char *name;
	size_t n;	     /* comparable runs, alone but for the last n_hit */
	size_t n_hit;	     /* of these, with the neighbour all the time */
	double cost;	     /* of a second of the neighbour's presence */
	double x[K], sec;    /* of the run that is asked about */
	enum np_blame_verdict verdict;
	int blamed;	     /* cause, or -1 */
	double low, high;    /* its seconds */
} rows[] = {
	{ "two runs are too few", 2, 0, 0.3, { 0, 0 }, 150,
	  NP_BLAME_TOO_FEW, -1, 0, 0 },
	{ "a usual run time is not slow", 8, 0, 0.3, { 0, 0 }, 101,
	  NP_BLAME_NOT_SLOW, -1, 0, 0 },
	{ "a usual run time with a neighbour accuses nobody", 8, 0, 0.3,
	  { 60, 0 }, 100.5, NP_BLAME_NOT_SLOW, -1, 0, 0 },
	{ "a run that is faster than usual is not slow", 8, 0, 0.3, { 0, 0 },
	  80, NP_BLAME_NOT_SLOW, -1, 0, 0 },
	{ "the neighbour that slowed others, too", 12, 4, 0.3, { 142, 0 },
	  142.6, NP_BLAME_CAUSE, 0, 35, 48 },
	{ "waiting for processors that was never seen before", 8, 0, 0.3,
	  { 0, 40 }, 140, NP_BLAME_CAUSE, 1, 25, 44 },
	{ "nothing was unusual", 8, 0, 0.3, { 0, 0 }, 150,
	  NP_BLAME_UNEXPLAINED, -1, 0, 0 },
	{ "a neighbour that never slowed anybody is not it", 14, 6, 0,
	  { 100, 0 }, 150, NP_BLAME_UNEXPLAINED, -1, 0, 0 },
	{ "unknown exposures are not examined", 8, 0, 0.3, { NAN, NAN }, 150,
	  NP_BLAME_UNEXPLAINED, -1, 0, 0 },
};
/* clang-format on */

static int attribute(const struct row *r, struct np_blame *b)
{
	double sec[MOST + 1], x[(MOST + 1) * K] = { 0 };
	struct np_rng *rng = np_rng_new(7, r->name);
	struct np_err err = NP_ERR_INIT;

	for (size_t i = 0; i < r->n; i++) {
		bool hit = i >= r->n - r->n_hit;

		sec[i] = 100 * (1 + 0.01 * np_rng_normal(rng));
		if (hit)
			sec[i] /= 1 - r->cost;
		x[i * K] = hit ? sec[i] : 0;
	}
	np_rng_free(rng);
	sec[r->n] = r->sec;
	memcpy(x + r->n * K, r->x, sizeof(r->x));
	return np_blame_run(sec, x, r->n, K, prior, b, &err);
}

T_TEST("verdicts")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		struct np_blame b;

		T_ROW(r->name, !attribute(r, &b));
		T_ROW(r->name, b.verdict == r->verdict);
		for (int c = 0; c < K; c++) {
			T_ROW(r->name, b.cause[c].blamed == (c == r->blamed));
			T_ROW(r->name,
			      b.verdict == NP_BLAME_TOO_FEW ||
				      b.cause[c].examined == !isnan(r->x[c]));
		}
		if (r->blamed < 0)
			continue;
		T_ROW(r->name, b.cause[r->blamed].sec.mean > r->low);
		T_ROW(r->name, b.cause[r->blamed].sec.mean < r->high);
		T_ROW(r->name, b.confidence >= 0.8);
	}
}

/* Both together cost less than the sum of both alone. */
T_TEST("two causes at once share the excess")
{
	const double sec[] = { 100, 101, 99, 100, 150, 151, 149, 170 };
	const double x[] = { 0,	  0, 0,	  0, 0,	  0, 0,	  0,
			     150, 0, 151, 0, 149, 0, 170, 60 };
	struct np_blame b;

	T_CHECK(!np_blame_run(sec, x, 7, K, prior, &b, NULL));
	T_CHECK(b.cause[0].blamed && b.cause[1].blamed);
	T_CHECK(b.cause[0].sec.mean + b.cause[1].sec.mean <
		b.excess_sec.mean + 1e-6);
	T_CHECK(fabs(b.unexplained_sec.mean) < 0.1 * b.excess_sec.mean);
}

/* Ten seconds that are rounded to whole ones say nothing of 10 %. */
T_TEST("short runs are not slow for a second's rounding")
{
	const double sec[] = { 10, 10, 10, 10, 10, 10, 10, 10, 11 };
	const double x[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0,
			     0, 0, 0, 0, 0, 0, 0, 0, 3 };
	struct np_blame b;

	T_CHECK(!np_blame_run(sec, x, 8, K, prior, &b, NULL));
	T_CHECK(b.verdict == NP_BLAME_NOT_SLOW);
}

#define OTHERS 12
#define N_CASES 400

static double uniform(struct np_rng *rng)
{
	return np_rng_below(rng, 1000000) / 1e6;
}

/*
 * A queue as in the blind test (doc/validation/blind.md): jobs of 8 to 12 s on
 * a busy machine, all of which wait for processors a little; half of them are
 * also slowed by a neighbour or by a quota. cause: of the last run, or -1.
 */
static void make_case(struct np_rng *rng, int cause, double *sec, double *x)
{
	double alone = 8 + 4 * uniform(rng);

	for (int i = 0; i <= OTHERS; i++) {
		double wait = fmin(0.8, -0.08 * log(uniform(rng) + 1e-9));
		int what = i == OTHERS ? cause : (int)np_rng_below(rng, 4);
		double begin = uniform(rng),
		       took = alone *
			      (1 + 0.015 * np_rng_normal(rng) + 0.3 * wait);

		took += what == 0 ? 0.5 * alone : what == 1 ? alone : 0;
		wait += what == 1 ? 0.6 : 0;
		sec[i] = floor(begin + took) - floor(begin);
		x[i * K] = what == 0 ? alone : 0;
		x[i * K + 1] = wait * alone;
	}
}

/* The goals of the blind test: false blame of 2 %, recall of 85 %. */
T_TEST("waiting for processors that all runs have is not blamed")
{
	struct np_rng *rng = np_rng_new(11, "busy machine");
	double sec[OTHERS + 1], x[(OTHERS + 1) * K];
	int accused = 0, found[K] = { 0 };
	struct np_blame b;

	for (int i = 0; i < N_CASES; i++)
		for (int cause = -1; cause < K; cause++) {
			make_case(rng, cause, sec, x);
			T_CHECK(!np_blame_run(sec, x, OTHERS, K, prior, &b,
					      NULL));
			if (cause < 0)
				accused += b.cause[0].blamed ||
					   b.cause[1].blamed;
			else
				found[cause] += b.cause[cause].blamed;
		}
	np_rng_free(rng);
	T_CHECK(accused <= 0.02 * N_CASES);
	T_CHECK(found[0] >= 0.85 * N_CASES && found[1] >= 0.85 * N_CASES);
}

/*
 * Undisturbed runs of this program take 20 to 30 s. A neighbour costs 8 s, which
 * one run of 30 s does not show, but eight runs do.
 */
T_TEST("a neighbour is blamed for less than the noise of a run if that is "
       "certain")
{
	const double sec[] = { 20, 23, 30, 26, 21, 29, 24, 22, 27,
			       29, 36, 31, 38, 30, 33, 35, 34 };
	double x[18 * K] = { 0 };
	struct np_blame b;

	for (int i = 9; i < 17; i++)
		x[i * K] = 14;
	for (int slowed = 1; slowed >= 0; slowed--) {
		double all[18];

		memcpy(all, sec, sizeof(sec));
		all[17] = 30;
		x[17 * K] = slowed ? 14 : 0;
		T_CHECK(!np_blame_run(all, x, 17, K, prior, &b, NULL));
		T_CHECK(b.excess_sec.mean < 2.5 * b.noise * b.alone_sec.mean);
		T_CHECK(b.cause[0].blamed == slowed && !b.cause[1].blamed);
		T_CHECK(b.verdict ==
			(slowed ? NP_BLAME_CAUSE : NP_BLAME_NOT_SLOW));
	}
}

T_TEST("costs of many runs")
{
	const double sec[] = { 100, 101, 99, 100, 130, 131, 129, 130 };
	const double x[] = { 0,	  0, 0,	  0, 0,	  0, 0,	  0,
			     130, 0, 131, 0, 129, 0, 130, 0 };
	struct np_blame_range cost[K], total[K];

	T_CHECK(!np_blame_costs(sec, x, 8, K, prior, cost, total));
	T_CHECK(t_close(cost[0].mean, 0.23, 0.1));
	T_CHECK(total[0].low < 120 && 120 < total[0].high);
	T_CHECK(total[0].high - total[0].low < 30 && total[1].mean == 0);
}

static const struct {
	const char *name;
	double sec, x;
} bad[] = {
	{ "no run time", 0, 1 },
	{ "a run time that is none", NAN, 1 },
	{ "a negative exposure", 100, -1 },
	{ "an infinite exposure", 100, INFINITY },
};

T_TEST("numbers that are none are refused")
{
	T_EACH(r, bad) {
		double sec[] = { 100, 100, 100, r->sec };
		double x[] = { 0, 0, 0, r->x };
		struct np_err err = NP_ERR_INIT;
		struct np_blame b;

		T_ROW(r->name,
		      np_blame_run(sec, x, 3, 1, prior, &b, &err) == -EINVAL);
		T_ROW(r->name, err.text[0]);
	}
}

T_TEST("not slow is as certain as the excess is below the limit")
{
	double sec[11], x[11] = { 0 };
	struct np_blame b;

	for (int i = 0; i < 10; i++)
		sec[i] = 998 + i % 5;
	sec[10] = 1040;
	T_CHECK(!np_blame_run(sec, x, 10, 1, prior, &b, NULL));
	T_CHECK(b.verdict == NP_BLAME_NOT_SLOW && b.confidence > 0.9);
}

/* Twelve runs that a cause delayed by 5 to 45 s, six of which nothing is known, and one in question. */
T_TEST("runs of which nothing is known were not undisturbed")
{
	const struct np_blame_prior one = { 0.8, 0.4 };
	struct np_rng *rng = np_rng_new(1, "b1");
	double sec[19], x[19];
	struct np_blame b;

	for (int i = 0; i < 12; i++) {
		x[i] = 5 + 40.0 * i / 11;
		sec[i] = (100 + x[i]) * (1 + 0.06 * np_rng_normal(rng));
	}
	for (int i = 12; i < 18; i++) {
		x[i] = NAN;
		sec[i] = 125 * (1 + 0.1 * np_rng_normal(rng));
	}
	x[18] = 20;
	sec[18] = 120;
	T_CHECK(!np_blame_run(sec, x, 18, 1, &one, &b, NULL));
	T_CHECK(b.verdict == NP_BLAME_NOT_SLOW);
	np_rng_free(rng);
}

T_TEST("costs do not depend on which run is the last one")
{
	double sec[] = { 100, 101, 99, 100, 130, 131, 129, 130, 131, 129 };
	double x[] = { 0, 0, 0, 0, 130, NAN, NAN, NAN, NAN, 129 };
	struct np_blame_range known, unknown, total;

	T_CHECK(!np_blame_costs(sec, x, 10, 1, prior, &known, &total));
	x[8] = 129;
	x[9] = NAN;
	sec[8] = 129;
	sec[9] = 131;
	T_CHECK(!np_blame_costs(sec, x, 10, 1, prior, &unknown, &total));
	T_CHECK(t_close(known.mean, unknown.mean, 0.05));
}
