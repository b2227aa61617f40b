/* Predictions of other sizes without a model. */
#include "t.h"
#include "np_four.h"

static const struct np_run runs[] = {
	{ .processes = 2, .app_sec = 60 },
	{ .processes = 8, .app_sec = 21 },
	{ .processes = 8, .app_sec = 19 },
	{ .processes = 32, .app_sec = 10 },
};

static const struct {
	const char *name;
	enum np_scaling_baseline which;
	double processes, want;
} cases_[] = {
	{ "the nearest", NP_BASELINE_NEAREST, 3, 60 },
	{ "the mean of two as near", NP_BASELINE_NEAREST, 8, 20 },
	{ "near in logarithms", NP_BASELINE_NEAREST, 15, 20 },
	{ "beyond all", NP_BASELINE_NEAREST, 1000, 10 },
	{ "twice as many take half", NP_BASELINE_IDEAL, 64, 5 },
	{ "half as many take twice", NP_BASELINE_IDEAL, 1, 120 },
};

T_TEST("the nearest run, as it is and scaled")
{
	T_EACH(r, cases_)
		T_ROW(r->name, t_close(np_scaling_baseline(r->which, runs,
							   NP_ARRAY_SIZE(runs),
							   r->processes),
				       r->want, 1e-12));
}

static double amdahl(const double *sec, double at)
{
	struct np_run run[3];

	for (int i = 0; i < 3; i++)
		run[i] = (struct np_run){ .processes = 1 << i,
					  .app_sec = sec[i] };
	return np_scaling_baseline(NP_BASELINE_AMDAHL, run, 3, at);
}

T_TEST("a serial and a parallel part, neither negative")
{
	T_CHECK(t_close(amdahl((double[]){ 11, 6, 3.5 }, 8), 2.25, 1e-9));
	/* Slower with more processes: no parallel part. */
	T_CHECK(t_close(amdahl((double[]){ 4, 5, 6 }, 8),
			amdahl((double[]){ 4, 5, 6 }, 99), 1e-12));
	/* Faster than ideal: no serial part. */
	T_CHECK(t_close(amdahl((double[]){ 16, 4, 1 }, 8) * 8,
			amdahl((double[]){ 16, 4, 1 }, 16) * 16, 1e-12));
	/* Runs of one size only. */
	T_CHECK(t_close(np_scaling_baseline(NP_BASELINE_AMDAHL, runs, 1, 9), 60,
			1e-9));
}
