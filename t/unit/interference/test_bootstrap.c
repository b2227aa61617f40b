/* Bootstrap samples: what might as well have been measured. */
#include "t.h"
#include "np_moments.h"
#include "np_predict_impl.h"
#include "np_rng.h"
#include "some_fabric.h"

#include <time.h>

static struct some_fabric s;

static const struct {
	const char *name;
	struct np_mean m;
	double pooled, want; /* sd of log(1 + mean) */
} noise[] = {
	{ "one run: all from its like", { 1, 0.5, NAN }, 0.03, 0.03 },
	{ "unknown sd: the same, over more runs", { 4, 0.5, NAN }, 0.03, 0.015 },
	{ "many runs: its own", { 1000001, 1.0, 2.0 }, 0.03, 1e-3 },
	{ "few runs: between the two", { 5, 1.0, 0.2 }, 0.02, 0.0322490 },
};

T_TEST("noise of few runs leans on its like")
{
	T_EACH(r, noise)
		T_ROW(r->name, t_close(np_noise_of_mean(&r->m, r->pooled),
				       r->want, 1e-4));
}

T_TEST("pooled noise")
{
	const struct np_mean none[] = { { 1, 0.1, NAN }, { 0, 0, 0 } };
	const struct np_mean some[] = { { 51, 1.0, 0.2 }, { 51, 0.0, 0.1 } };

	T_CHECK(t_close(np_noise_pooled(none, 2), NP_NOISE_DEFAULT, 1e-12));
	T_CHECK(t_close(np_noise_pooled(NULL, 0), NP_NOISE_DEFAULT, 1e-12));
	T_CHECK(t_close(np_noise_pooled(some, 2), 0.1, 0.01));
}

T_TEST("random streams go by seed and name")
{
	struct np_rng *a = np_rng_new(1, "a"), *b = np_rng_new(1, "a");
	struct np_rng *c = np_rng_new(1, "b"), *d = np_rng_new(2, "a");
	double x = np_rng_normal(a);

	T_CHECK(x == np_rng_normal(b));
	T_CHECK(x != np_rng_normal(c) && x != np_rng_normal(d));
	np_rng_free(a);
	np_rng_free(b);
	np_rng_free(c);
	np_rng_free(d);
}

static const struct {
	const char *name;
	double n;
} counts[] = {
	{ "a count of 0 stays 0", 0 },
	{ "a small count", 3 },
	{ "a large count", 400 },
};

T_TEST("redrawn counts scatter as counts do")
{
	struct np_rng *r = np_rng_new(1, "counts");

	T_EACH(row, counts) {
		double n = row->n, sum = 0, squares = 0;

		for (int k = 0; k < 20000; k++) {
			double c = np_rng_count(r, n);

			sum += c;
			squares += (c - n) * (c - n);
		}
		T_ROW(row->name, t_close(sum / 20000, n, 0.02) &&
					 t_close(squares / 20000, n, 0.05));
	}
	np_rng_free(r);
}

#define VIEWS 4001

/* Mean and sd over the replicates of log(1 + slowdown) under level 1. */
T_TEST("replicates scatter as the measurement does")
{
	const struct np_bootstrap_opt opt = { VIEWS - 1, 1, NP_DATA_HIST };
	double sum = 0, squares = 0, mean = log1p(0.3), cdf = 0, latency = 0;
	struct np_bootstrap_fabric f;
	struct np_bootstrap_program d;

	some_fabric(&s);
	T_CHECK(!np_bootstrap_fabric(&s.f, &opt, &f, NULL));
	for (size_t i = 0; i < SF_LEVELS; i++)
		s.curve[2][i] = (struct np_mean){ 4, 0.3, 0.13 };
	s.program_count[2][4] = 100; /* and 100 in bin 3 */
	T_CHECK(!np_bootstrap_known(&s.a[2], &s.f, &d, NULL) &&
		!np_bootstrap_samples(&s.a[2], &f, &opt, &d, NULL));
	T_CHECK(d.n == VIEWS && t_close(d.sample[0].log_curve[1], mean, 1e-12));
	T_CHECK(t_close(d.sample[0].latency.cdf[3], 0.5, 1e-12));
	for (size_t i = 1; i < VIEWS; i++) {
		double x = d.sample[i].log_curve[1] - mean;

		sum += x;
		squares += x * x;
		cdf += d.sample[i].latency.cdf[3] / (VIEWS - 1);
		latency += d.sample[i].latency.mean / (VIEWS - 1);
		T_CHECK(d.sample[i].latency.cdf[SF_BINS - 1] == 1);
	}
	T_CHECK(fabs(sum / (VIEWS - 1)) < 0.003);
	T_CHECK(t_close(sqrt(squares / (VIEWS - 1)), 0.05, 0.1));
	T_CHECK(t_close(cdf, 0.5, 0.01));
	T_CHECK(t_close(latency, 8, 0.01));
	np_bootstrap_program_free(&d);
	np_bootstrap_fabric_free(&f);
}

#define ODD 5 /* levels */

/*
 * Level i is slowed by (1 + i) (1 + j) / 20 under level j, but for one level, which
 * every other one slows by something else.
 */
static const struct {
	const char *name;
	size_t odd; /* ODD: none */
} weights[] = {
	{ "levels that explain each other all count", ODD },
	{ "a weak level that the others do not explain counts less", 0 },
	{ "a strong level that the others do not explain counts less",
	  ODD - 1 },
};

T_TEST("levels that do not fit count less")
{
	static const double other[ODD] = { 0.9, 0.05, 0.7, 0.1, 0.4 };
	const struct np_bootstrap_opt opt = {
		2, 1, NP_DATA_LEVEL_PAIRS | NP_DATA_OWN_IMPACT
	};

	for (size_t k = 0; k < NP_ARRAY_SIZE(weights); k++) {
		struct np_fabric_level level[ODD] = { { .name = "c0" } };
		struct np_mean pairs[ODD * ODD];
		struct np_fabric f = { .name = "odd",
				       .level = level,
				       .n_levels = ODD,
				       .pairs = pairs };
		struct np_bootstrap_fabric d;
		bool good = true;

		for (size_t i = 0; i < ODD * ODD; i++) {
			double row = (double)(1 + i / ODD);
			double slow = i / ODD == weights[k].odd ?
					      other[i % ODD] :
					      row * (double)(1 + i % ODD) / 20;

			pairs[i] = (struct np_mean){ 4, slow, 0.01 };
		}
		T_CHECK(!np_bootstrap_fabric(&f, &opt, &d, NULL));
		for (size_t r = 0; r < d.n; r++) {
			const double *w = d.sample[r].fit_weight;

			for (size_t i = 0; i < ODD; i++)
				good &= w[i] > 0 && w[i] <= 1 &&
					(i == weights[k].odd ? w[i] < 0.6 :
							       w[i] > 0.6);
		}
		T_ROW(weights[k].name, good);
		np_bootstrap_fabric_free(&d);
	}
}

/* Seconds of processor time that it takes to weigh n levels, the least of three. Each
 * level is slowed by itself, so that each fit needs all others: the dearest case. */
static double weighing_sec(size_t n)
{
	const struct np_bootstrap_opt opt = { 0, 1, NP_DATA_OWN_IMPACT };
	struct np_fabric_level *level = calloc(n, sizeof(*level));
	struct np_mean *pairs = calloc(n * n, sizeof(*pairs));
	struct np_fabric f = {
		.name = "many", .level = level, .n_levels = n, .pairs = pairs
	};
	struct np_bootstrap_fabric d;
	double least = INFINITY;

	for (size_t i = 0; level && i < n; i++)
		level[i].name = "c";
	for (size_t i = 0; pairs && i < n * n; i++)
		pairs[i] = (struct np_mean){
			4, i / n == i % n ? 1 : 1e-3 * (double)(i * 7919 % 11),
			0.01
		};
	for (int turn = 0; turn < 3; turn++) {
		double begin = (double)clock();

		T_CHECK(!np_bootstrap_fabric(&f, &opt, &d, NULL));
		T_CHECK(d.sample[0].fit_weight != NULL);
		least = fmin(least, ((double)clock() - begin) / CLOCKS_PER_SEC);
		np_bootstrap_fabric_free(&d);
	}
	free(level);
	free(pairs);
	return least;
}

/* Twice as many levels take 16 times as long in the dearest case, not 32 times. */
T_TEST("the time that many levels take is bounded by their number")
{
	double half = weighing_sec(NP_FABRIC_MAX_LEVELS / 2);
	double all = weighing_sec(NP_FABRIC_MAX_LEVELS);

	T_ROW("growth", all < 24 * half);
}
