/* Runs of several sizes, and predictions of others. */
#include "t.h"
#include "alloc.h"
#include "np_four.h"
#include "np_rng.h"

static const struct np_link a_link = { 3e8, 5e-6 };

/*
 * A program that scales exactly as the fits assume, except for noise: relative,
 * in its active time and its messages.
 */
static struct np_run program(double p, struct np_rng *r, double noise)
{
	double messages = (1e5 + 2e4 * p + 30 * p * p) / p;
	double active = (10 + 0.5 * p + 0.001 * p * p) / p;
	struct np_run run = { p, 0, 0, messages, 1e7 / (p * p) };
	struct np_four f;

	if (r) {
		run.messages *= 1 + noise * np_rng_normal(r);
		active *= 1 + noise * np_rng_normal(r);
	}
	T_CHECK(!np_four_forward(&run, &a_link, active, 1000 / p, &f, NULL));
	run.mpi_sec = f.active_sec + f.contention_sec;
	run.app_sec = run.mpi_sec + f.compute_sec;
	return run;
}

static int fit(const struct np_run *run, size_t n, struct np_scaling **s,
	       struct np_err *err)
{
	struct np_four four[16] = { { 0 } };

	for (size_t i = 0; i < n; i++)
		T_CHECK(!np_four(&run[i], &a_link, NP_FOUR_PUBLISHED, &four[i],
				 NULL));
	return np_scaling_fit(run, four, n, &a_link, s, err);
}

static size_t make(struct np_run *run, const double *p, size_t n,
		   struct np_rng *r, double noise)
{
	for (size_t i = 0; i < n; i++)
		run[i] = program(p[i], r, noise);
	return n;
}

static const double sizes[] = { 2, 4, 8, 16, 32, 64 };
#define N NP_ARRAY_SIZE(sizes)

/*
 * The fits recover the program: between the runs, and beyond them where nothing
 * is irregular.
 */
T_TEST("a program that scales like the fits is recovered")
{
	const double at[] = { 1, 3, 8, 23, 64, 100, 256 };
	struct np_scaling *s = NULL;
	struct np_run run[N];

	make(run, sizes, N, NULL, 0);
	T_CHECK(!fit(run, N, &s, NULL));
	for (size_t i = 0; i < NP_ARRAY_SIZE(at); i++) {
		struct np_run want = program(at[i], NULL, 0);
		struct np_scaled_run got;

		T_CHECK(!np_scaling_at(s, at[i], 1, &got, NULL));
		T_CHECK(t_close(got.four.wall_sec - got.four.switch_sec,
				want.app_sec, 1e-6));
		T_CHECK(got.low_sec <= got.four.wall_sec * (1 + 1e-6));
		T_CHECK(got.high_sec >= got.four.wall_sec * (1 - 1e-6));
		T_CHECK(!!(got.flags & NP_SCALING_BEYOND) ==
			(at[i] < 2 || at[i] > 64));
		T_CHECK(!(got.flags & NP_SCALING_NEGATIVE));
	}
	np_scaling_free(s);
}

/* Intervals contain about as many runs as they promise. */
T_TEST("intervals contain the promised share of runs")
{
	struct np_rng *r = np_rng_new(1, "runs");
	int held = 0, n = 300;

	for (int i = 0; i < n; i++) {
		struct np_scaled_run got;
		struct np_scaling *s;
		struct np_run run[N], truth;
		struct np_four f;

		make(run, sizes, N, r, 0.05);
		truth = program(20, r, 0.05);
		T_CHECK(!fit(run, N, &s, NULL));
		T_CHECK(!np_scaling_at(s, 20, 1, &got, NULL));
		T_CHECK(!np_four(&truth, &a_link, NP_FOUR_PUBLISHED, &f, NULL));
		held += got.low_sec <= f.wall_sec && f.wall_sec <= got.high_sec;
		np_scaling_free(s);
	}
	T_CHECK(held >= 0.85 * n && held <= 0.96 * n);
	np_rng_free(r);
}

/* Compute time is irregular because of caches: linear between two runs. */
T_TEST("compute time is interpolated, and constant beyond the runs")
{
	struct np_run run[4] = {
		{ 4, 100, 0, 0, 0 },
		{ 1, 300, 0, 0, 0 },
		{ 16, 20, 0, 0, 0 },
		{ 4, 110, 0, 0, 0 },
	};
	struct np_scaled_run got;
	struct np_scaling *s;

	T_CHECK(!fit(run, 4, &s, NULL));
	T_CHECK(!np_scaling_at(s, 4, 1, &got, NULL));
	T_CHECK(t_close(got.four.wall_sec, 105, 1e-12));
	T_CHECK(!np_scaling_at(s, 2, 1, &got, NULL));
	T_CHECK(t_close(got.four.wall_sec * 2, (300 + 420) / 2., 1e-12));
	T_CHECK(!(got.flags & NP_SCALING_BEYOND));
	T_CHECK(!np_scaling_at(s, 64, 1, &got, NULL));
	T_CHECK(t_close(got.four.wall_sec * 64, 320, 1e-12));
	T_CHECK(got.flags & NP_SCALING_BEYOND);
	np_scaling_free(s);
}

T_TEST("negative fits and missing intervals are flagged")
{
	/* Messages decrease with the number of processes down to none. */
	struct np_run run[3] = {
		{ 10, 10, 1, 100, 8 },
		{ 20, 10, 1, 40, 8 },
		{ 30, 10, 1, 20, 8 },
	};
	struct np_scaled_run got;
	struct np_scaling *s;

	T_CHECK(!fit(run, 3, &s, NULL));
	T_CHECK(!np_scaling_at(s, 25, 1, &got, NULL));
	T_CHECK(got.flags == NP_SCALING_NO_INTERVAL);
	T_CHECK(isnan(got.low_sec) && isnan(got.high_sec));
	np_scaling_free(s);
	run[2].messages = 2;
	T_CHECK(!fit(run, 3, &s, NULL));
	T_CHECK(!np_scaling_at(s, 40, 1, &got, NULL));
	T_CHECK(got.flags & NP_SCALING_NEGATIVE);
	T_CHECK(got.flags & NP_SCALING_BEYOND);
	T_CHECK(got.four.switch_sec == 0);
	T_CHECK(np_scaling_at(s, 0, 1, &got, NULL) == -EINVAL);
	T_CHECK(np_scaling_at(s, 2.5, 1, &got, NULL) == -EINVAL);
	np_scaling_free(s);
}

T_TEST("too few or too many runs are rejected")
{
	struct np_run run[3] = {
		{ 4, 10, 1, 1, 1 },
		{ 8, 10, 1, 1, 1 },
		{ 8, 10, 1, 1, 1 },
	};
	struct np_err err = NP_ERR_INIT;
	struct np_scaling *s;

	T_CHECK(fit(run, 0, &s, &err) == -EDOM);
	T_CHECK(fit(run, 3, &s, &err) == -EDOM);
	T_CHECK(strstr(err.text, "process counts are needed, got 2"));
	T_CHECK(np_scaling_fit(run, NULL, NP_SCALING_MAX_RUNS + 1, &a_link, &s,
			       &err) == -EINVAL);
	T_CHECK(strstr(err.text, "1025 runs, expected 3 to 1024"));
}

T_TEST("failed allocations are reported")
{
	struct np_run run[N];

	make(run, sizes, N, NULL, 0);
	for (long nth = 0;; nth++) {
		struct np_scaling *s = NULL;
		struct np_scaled_run got;
		int rc;

		t_alloc_fail(nth);
		rc = fit(run, N, &s, NULL);
		if (!rc)
			rc = np_scaling_at(s, 5, 1, &got, NULL);
		np_scaling_free(s);
		if (!t_alloc_failed()) {
			T_CHECK(!rc && nth >= 4);
			return;
		}
		T_CHECK(rc == -ENOMEM);
	}
}
