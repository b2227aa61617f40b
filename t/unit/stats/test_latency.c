#include "t.h"
#include "np_latency.h"

static const double edge[] = { 0, 1, 2, 4, 8, INFINITY };
static const struct np_bins bins = { 5, edge };

T_TEST("our own bins are those of the histograms")
{
	const struct np_bins *own = np_bins_own();

	T_CHECK(!np_bins_check(own, NULL));
	T_CHECK(own->n == NP_HIST_BINS);
	for (size_t i = 0; i <= own->n; i++)
		T_CHECK(own->edge[i] == np_hist_edge(i));
	T_CHECK(np_bins_equal(own, np_bins_own()) &&
		!np_bins_equal(own, &bins) && !np_bins_equal(NULL, &bins));
}

static const struct {
	const char *name;
	size_t n;
	double edge[4];
	const char *text;
} bad[] = {
	{ "no bins", 0, { 0 }, "0 bins" },
	{ "too many", NP_BINS_MAX + 1, { 0 }, "1025 bins" },
	{ "below zero", 1, { -1, 2 }, "-1" },
	{ "not a number first", 1, { NAN, 2 }, "nan" },
	{ "not a number", 2, { 0, NAN, 2 }, "edge 1" },
	{ "twice the same", 2, { 0, 2, 2 }, "edge 2" },
	{ "infinite in the middle", 3, { 0, 2, INFINITY, INFINITY }, "edge 3" },
};

T_TEST("impossible bins are refused")
{
	T_EACH(r, bad) {
		const struct np_bins b = { r->n, r->edge };
		struct np_err err = NP_ERR_INIT;

		T_ROW(r->name, np_bins_check(&b, &err) == -EINVAL &&
				       strstr(err.text, r->text));
	}
}

T_TEST("the middle of a bin is logarithmic")
{
	T_CHECK(np_bins_middle(&bins, 0) == 0.5);
	T_CHECK(t_close(np_bins_middle(&bins, 2), sqrt(8), 1e-15));
	T_CHECK(np_bins_middle(&bins, 4) == 8);
}

T_TEST("counts become a distribution")
{
	const double count[] = { 1, 0, 2, 0, 1 };
	const double want[] = { 0.25, 0.25, 0.75, 0.75, 1 };
	double cdf[5];

	np_latency_cdf(count, 5, cdf);
	T_CHECK(!memcmp(cdf, want, sizeof(want)));
}

/* All of a in bin A, all of b in bin B, minus the shift. */
static const struct {
	const char *name;
	size_t a, b;
	double shift;
	size_t want;
} sums[] = {
	{ "idle adds nothing", 0, 2, 0.5, 2 },
	{ "two excesses add", 2, 2, 0.5, 3 },
	{ "the last bin swallows all", 4, 4, 0.5, 4 },
	{ "not below the first edge", 0, 0, 9, 0 },
};

T_TEST("latencies of two co-runners add over idle")
{
	T_EACH(r, sums) {
		double a[5] = { 0 }, b[5] = { 0 }, cdf_a[5], cdf_b[5], sum[5];

		a[r->a] = b[r->b] = 1;
		np_latency_cdf(a, 5, cdf_a);
		np_latency_cdf(b, 5, cdf_b);
		np_latency_add(&bins, cdf_a, cdf_b, r->shift, sum);
		T_ROW(r->name, sum[4] == 1 && sum[r->want] == 1 &&
				       (!r->want || sum[r->want - 1] == 0));
	}
}
