#include "np_loggps.h"

#include <math.h>

#define LEAST_SEC 1e-6
#define PER_DECADE 8.0

const double np_response_gap[NP_RESPONSE_GAPS] = { 1, 1.25, 1.5, 2, 3, 4, 6, 8 };

/* 0, then 1 us, and from there eight points per decade up to 1.8 s. */
double np_response_added_sec(size_t i)
{
	return i ? LEAST_SEC * pow(10, (double)(i - 1) / PER_DECADE) : 0;
}

/*
 * Index of the last point, of n given by at(), that is not above x and has a
 * successor; 0 if there is none.
 */
static size_t below(double (*at)(size_t), size_t n, double x)
{
	size_t i = 0;

	while (i + 2 < n && at(i + 1) <= x)
		i++;
	return i;
}

static double gap_at(size_t i)
{
	return np_response_gap[i];
}

/* Value at x of the line through two points. */
static double line(double x0, double y0, double x1, double y1, double x)
{
	return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}

double np_response_at(const struct np_response *r, double added_sec,
		      double gap_times)
{
	size_t i =
		below(np_response_added_sec, NP_RESPONSE_LATENCIES, added_sec);
	size_t k = below(gap_at, NP_RESPONSE_GAPS, gap_times);
	double x0 = np_response_added_sec(i), x1 = np_response_added_sec(i + 1);
	const double *low = r->times[k] + i, *high = r->times[k + 1] + i;

	return line(np_response_gap[k], line(x0, low[0], x1, low[1], added_sec),
		    np_response_gap[k + 1],
		    line(x0, high[0], x1, high[1], added_sec), gap_times);
}
