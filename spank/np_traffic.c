#include "np_traffic.h"

#include <math.h>

static int64_t bin_at(double sec)
{
	return (int64_t)floor(sec / NP_TRAFFIC_BIN_SEC);
}

void np_traffic_add(struct np_traffic *t, double now_sec, double elapsed_sec,
		    double bytes)
{
	double from = now_sec - elapsed_sec;
	int64_t end = bin_at(now_sec), first = bin_at(from);

	if (!(elapsed_sec > 0) || end - first >= NP_TRAFFIC_BINS / 2)
		return;
	for (; t->last < end; t->last++)
		t->bin[(t->last + 1) % NP_TRAFFIC_BINS] =
			t->sec[(t->last + 1) % NP_TRAFFIC_BINS] = 0;
	for (int64_t i = first < 0 ? 0 : first; i <= end; i++) {
		double a = fmax(from, (double)i * NP_TRAFFIC_BIN_SEC);
		double b = fmin(now_sec, (double)(i + 1) * NP_TRAFFIC_BIN_SEC);

		if (i <= t->last - NP_TRAFFIC_BINS || b <= a)
			continue;
		t->bin[i % NP_TRAFFIC_BINS] += bytes * (b - a) / elapsed_sec;
		t->sec[i % NP_TRAFFIC_BINS] += b - a;
	}
}

/* As many as have ever told of the same moment. */
static double nodes(const struct np_traffic *t)
{
	double most = 0;

	for (size_t i = 0; i < NP_TRAFFIC_BINS; i++)
		most = fmax(most, t->sec[i]);
	return rint(most / NP_TRAFFIC_BIN_SEC);
}

double np_traffic_rate(const struct np_traffic *t, double from_sec,
		       double to_sec)
{
	int64_t first = bin_at(from_sec), end = bin_at(to_sec);
	double all = nodes(t) * (double)(end - first) * NP_TRAFFIC_BIN_SEC;
	double sum = 0, told = 0;

	for (int64_t i = first; i < end; i++)
		if (i >= 0 && i <= t->last && i > t->last - NP_TRAFFIC_BINS) {
			sum += t->bin[i % NP_TRAFFIC_BINS];
			told += t->sec[i % NP_TRAFFIC_BINS];
		}
	return told > 0 && told >= all / 2 ? sum / told * nodes(t) : NAN;
}
