#include "t.h"
#include "np_latency.h"

/* clang-format off */
static const struct {
	const char *name;
	double sec;
	size_t bin;
} bins[] = {
	{ "zero falls into the first bin",   0.0,       0 },
	{ "just below the first edge",       0.999e-7,  0 },
	{ "the first edge belongs above",    1e-7,      1 },
	{ "one decade is 25 bins",           1e-6,      26 },
	{ "a second is the last bin",        1.0,       NP_HIST_BINS - 1 },
	{ "an hour is the last bin",         3600.0,    NP_HIST_BINS - 1 },
	{ "infinity is the last bin",        INFINITY,  NP_HIST_BINS - 1 },
};
/* clang-format on */

T_TEST("a latency lands in the bin that holds it")
{
	T_EACH(r, bins)
		T_ROW(r->name, np_hist_bin_of(r->sec) == r->bin);
}

T_TEST("every edge opens its own bin")
{
	for (size_t i = 1; i < NP_HIST_BINS; i++) {
		T_CHECK(np_hist_bin_of(np_hist_edge(i)) == i);
		T_CHECK(np_hist_bin_of(nextafter(np_hist_edge(i), 0)) == i - 1);
	}
}

T_TEST("a bin that is none is refused")
{
	struct np_hist *h = np_hist_new();

	T_CHECK(np_hist_add_bin(h, NP_HIST_BINS, 1) == -EINVAL);
	T_CHECK(np_hist_total(h) == 0);
	T_CHECK(np_hist_quantile(h, 0.5) == 0);
	np_hist_free(h);
}

static const struct {
	const char *name;
	double q, want_sec;
} quantiles[] = {
	{ "median of 1 .. 1000 us", 0.5, 500e-6 },
	{ "p10", 0.1, 100e-6 },
	{ "p99", 0.99, 990e-6 },
	{ "p100 is the maximum", 1.0, 1000e-6 },
};

T_TEST("quantiles are right within one bin")
{
	struct np_hist *h = np_hist_new();

	for (int us = 1; us <= 1000; us++)
		T_CHECK(np_hist_add_bin(h, np_hist_bin_of(us * 1e-6), 1) == 0);
	T_EACH(r, quantiles)
		T_ROW(r->name,
		      t_close(np_hist_quantile(h, r->q), r->want_sec, 0.10));
	np_hist_free(h);
}

T_TEST("merging adds counts")
{
	struct np_hist *a = np_hist_new(), *b = np_hist_new();

	np_hist_add_bin(a, np_hist_bin_of(1e-6), 1);
	np_hist_add_bin(b, np_hist_bin_of(1e-6), 4);
	np_hist_add_bin(b, np_hist_bin_of(1e-3), 1);
	np_hist_merge(a, b);
	T_CHECK(np_hist_total(a) == 6);
	T_CHECK(np_hist_count(a, np_hist_bin_of(1e-6)) == 5);
	T_CHECK(np_hist_total(b) == 5);
	np_hist_free(a);
	np_hist_free(b);
}

/* clang-format off */
static const struct {
	const char *name;
	unsigned n_fast; /* of 10 us */
	unsigned n_slow;
	double slow_sec;
	unsigned n_rest; /* 0: all, exactly */
	double rest_sec; /* the mean of these */
} robust[] = {
	{ "nothing measured",                         0,  0, 0,     0,   0 },
	{ "one latency",                              1,  0, 0,     0,   0 },
	{ "no slow ones",                          1000,  0, 0,     0,   0 },
	{ "one that took as long as 90 others",      99,  1, 9e-4,  0,   0 },
	{ "one that took longer than all others",    99,  1, 2e-3,  99,  10e-6 },
	{ "the slowest hundredth took longest",     990, 10, 2e-3,  990, 10e-6 },
	{ "one more is among the others",           989, 11, 2e-3,  990, 12e-6 },
	{ "a tenth is slow",                        900, 100, 2e-3, 0,   0 },
};
/* clang-format on */

T_TEST("a few slow latencies do not decide the moments")
{
	T_EACH(r, robust) {
		struct np_hist *h = np_hist_new();
		struct np_moments all = { 0 }, m;

		for (unsigned i = 0; i < r->n_fast + r->n_slow; i++) {
			double sec = i < r->n_fast ? 10e-6 : r->slow_sec;

			np_hist_add_bin(h, np_hist_bin_of(sec), 1);
			np_moments_add(&all, sec);
		}
		m = np_hist_robust(h, &all);
		T_ROW(r->name, m.n == (r->n_rest ? r->n_rest : all.n));
		T_ROW(r->name, r->n_rest ?
				       t_close(m.mean, r->rest_sec, 0.05) :
				       m.mean == all.mean && m.m2 == all.m2);
		m = np_hist_robust(NULL, &all);
		T_ROW(r->name, m.n == all.n && m.mean == all.mean);
		np_hist_free(h);
	}
}
