#include "np_traffic.h"

#include <math.h>

static int64_t bin_at(double sec)
{
	return (int64_t)floor(sec / NP_TRAFFIC_BIN_SEC);
}

static void spread(struct np_traffic *t, double from, double to, double n)
{
	int64_t end = bin_at(to), first = bin_at(from);

	for (; t->last < end; t->last++)
		t->bin[(t->last + 1) % NP_TRAFFIC_BINS] =
			t->sec[(t->last + 1) % NP_TRAFFIC_BINS] = 0;
	for (int64_t i = first < 0 ? 0 : first; i <= end; i++) {
		double a = fmax(from, (double)i * NP_TRAFFIC_BIN_SEC);
		double b = fmin(to, (double)(i + 1) * NP_TRAFFIC_BIN_SEC);

		if (i <= t->last - NP_TRAFFIC_BINS || b <= a)
			continue;
		t->bin[i % NP_TRAFFIC_BINS] += n * (b - a) / (to - from);
		t->sec[i % NP_TRAFFIC_BINS] += b - a;
	}
}

void np_traffic_add(struct np_traffic *t, size_t node, double now_sec,
		    double elapsed_sec, double n)
{
	double to;

	if (node >= NP_INVITE_MAX_NODES || !(elapsed_sec > 0) ||
	    elapsed_sec >= NP_TRAFFIC_BINS / 2 * NP_TRAFFIC_BIN_SEC)
		return;
	to = t->to_sec[node] + elapsed_sec;
	if (to > now_sec || to < now_sec - NP_TRAFFIC_LATE_SEC)
		to = now_sec;
	t->to_sec[node] = to;
	spread(t, to - elapsed_sec, to, n);
}

/* As many as have ever told anything. */
static double nodes(const struct np_traffic *t)
{
	double n = 0;

	for (size_t i = 0; i < NP_INVITE_MAX_NODES; i++)
		n += t->to_sec[i] > 0;
	return n;
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
