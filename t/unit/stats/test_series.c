#include "t.h"
#include "np_moments.h"

static struct np_series s;

static int add(double at_sec, double x)
{
	struct np_moments m = { 0 };

	np_moments_add(&m, x);
	return np_series_add(&s, at_sec, &m);
}

T_TEST("samples land in the window of their time")
{
	np_series_init(&s, 1.0);
	T_CHECK(add(0.0, 1) == 0 && add(0.9, 3) == 0 && add(2.5, 7) == 0);
	T_CHECK(s.n == 3);
	T_CHECK(s.w[0].n == 2 && s.w[0].mean == 2);
	T_CHECK(s.w[1].n == 0);
	T_CHECK(s.w[2].n == 1 && s.w[2].max == 7);
	T_CHECK(add(0.5, 5) == 0 && s.w[0].n == 3);
}

T_TEST("a day of windows stays bounded and complete")
{
	uint64_t n = 0;

	np_series_init(&s, 1.0);
	for (int t = 0; t < 100000; t++)
		T_CHECK(add(t, t) == 0);
	T_CHECK(s.n <= NP_SERIES_MAX && s.width_sec == 64.0);
	for (size_t i = 0; i < s.n; i++)
		n += s.w[i].n;
	T_CHECK(n == 100000);
	T_CHECK(s.w[1].min == 64 && s.w[1].max == 127);
}

static const struct {
	const char *name;
	double at_sec;
} refused[] = {
	{ "before the start", -1.0 },
	{ "not a number", NAN },
	{ "infinite", INFINITY },
	{ "beyond ten years", 1e12 },
};

T_TEST("impossible times are refused")
{
	np_series_init(&s, 1.0);
	T_EACH(r, refused)
		T_ROW(r->name, add(r->at_sec, 1) == -EINVAL);
	T_CHECK(s.n == 0);
}
