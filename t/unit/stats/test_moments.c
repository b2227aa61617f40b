#include "t.h"
#include "np_moments.h"

static const double xs[] = { 3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0 };

T_TEST("mean, variance and range of known values")
{
	struct np_moments m = { 0 };

	T_CHECK(np_moments_sd(&m) == 0);
	for (size_t i = 0; i < NP_ARRAY_SIZE(xs); i++)
		np_moments_add(&m, xs[i]);
	T_CHECK(m.n == 8);
	T_CHECK(t_close(m.mean, 3.875, 1e-12));
	T_CHECK(t_close(np_moments_var(&m), 52.875 / 7, 1e-12));
	T_CHECK(m.min == 1.0 && m.max == 9.0);
}

T_TEST("merging parts equals one pass")
{
	for (size_t cut = 0; cut <= NP_ARRAY_SIZE(xs); cut++) {
		struct np_moments a = { 0 }, b = { 0 };

		for (size_t i = 0; i < NP_ARRAY_SIZE(xs); i++)
			np_moments_add(i < cut ? &a : &b, xs[i]);
		np_moments_merge(&a, &b);
		T_CHECK(a.n == 8 && t_close(a.mean, 3.875, 1e-12));
		T_CHECK(t_close(a.m2, 52.875, 1e-12));
	}
}

/* clang-format off */
static const struct {
	const char *name;
	struct np_moments m;
	int ok;
} valid[] = {
	{ "empty",                  { 0, 0, 0, 0, 0 },          1 },
	{ "one value",              { 1, 2, 0, 2, 2 },          1 },
	{ "mean outside the range", { 2, 9, 0, 1, 2 },          0 },
	{ "negative spread",        { 2, 1.5, -1, 1, 2 },       0 },
	{ "not a number",           { 2, NAN, 0, 1, 2 },        0 },
	{ "range reversed",         { 2, 1.5, 0, 2, 1 },        0 },
};
/* clang-format on */

T_TEST("impossible moments are recognised")
{
	T_EACH(r, valid)
		T_ROW(r->name, np_moments_valid(&r->m) == r->ok);
}

/* Tables of t, 97.5 %: 12.706 with 1 degree of freedom, 2.262 with 9. */
T_TEST("the interval of a mean is that of Student's t")
{
	struct np_moments m = { .n = 0 };

	T_CHECK(isinf(np_moments_half_width(&m)));
	np_moments_add(&m, 1);
	T_CHECK(isinf(np_moments_half_width(&m)));
	np_moments_add(&m, 3);
	T_CHECK(t_close(np_moments_half_width(&m), 12.706, 1e-4));
	m = (struct np_moments){ .n = 0 };
	for (int i = 0; i < 10; i++)
		np_moments_add(&m, i);
	T_CHECK(t_close(np_moments_half_width(&m),
			2.2622 * sqrt(55.0 / 6) / sqrt(10), 1e-4));
}

/* Tables of t, 99.9 %: 7.173 with 4 degrees of freedom, 4.297 with 9. */
T_TEST("few values take more standard errors to be as certain")
{
	struct np_moments m = { .n = 1 };

	T_CHECK(isinf(np_moments_errors(&m, 0.001)));
	m.n = 5;
	T_CHECK(t_close(np_moments_errors(&m, 0.001), 7.173, 1e-4));
	m.n = 10;
	T_CHECK(t_close(np_moments_errors(&m, 0.001), 4.297, 1e-4));
}
