#include "t.h"
#include "np_moments.h"

T_TEST("a slowdown has its 95 % interval")
{
	static const struct {
		const char *name;
		struct np_mean m;
		double low, high;
	} rows[] = {
		/* t(0.975, 4) = 2.7764, sd 0.02 of log(1.5) */
		{ "one run has the assumed scatter",
		  { 1, 0.5, NAN },
		  0.4190,
		  0.5857 },
		/* 4 degrees of 1 %: t(8) = 2.306; sd^2 = (4e-4 + 16e-4) / 8 */
		{ "repetitions narrow it", { 5, 0.5, 0.015 }, 0.47574, 0.52466 },
	};

	T_EACH(r, rows) {
		double low, high;

		np_noise_interval(&r->m, 0.02, &low, &high);
		T_ROW(r->name, t_close(low, r->low, 2e-4) &&
				       t_close(high, r->high, 2e-4));
	}
}

/* t(0.95, 5) = 2.0150: a second run adds one degree to the assumed four. */
T_TEST("two runs have an interval of 90 % by Student's t")
{
	const struct np_mean m = { 2, 0.5, 0.03 };
	double sd = sqrt(0.02 * 0.02 / 2), low, high;

	np_noise_interval_of(&m, 0.02, 0.9, &low, &high);
	T_CHECK(t_close(log1p(low), log1p(0.5) - 2.0150 * sd, 2e-4));
	T_CHECK(t_close(log1p(high), log1p(0.5) + 2.0150 * sd, 2e-4));
}
