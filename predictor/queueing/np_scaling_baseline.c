/* What the wall-clock time would be, for all one knows without a model. */
#include <math.h>

#include "np_scaling.h"

/* Of several as near, their mean. */
static double nearest(const struct np_run *run, size_t n, double processes,
		      bool ideal)
{
	double best = INFINITY, sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		double far = fabs(log(run[i].processes / processes));
		double sec = run[i].app_sec *
			     (ideal ? run[i].processes / processes : 1);

		if (far > best * (1 + 1e-12))
			continue;
		if (far < best * (1 - 1e-12)) {
			best = far;
			sum = 0;
			count = 0;
		}
		sum += sec;
		count++;
	}
	return sum / (double)count;
}

/*
 * Least squares of 1 = (s + p / P) / T: two unknowns, of which either may end
 * at 0.
 */
static double amdahl(const struct np_run *run, size_t n, double processes)
{
	double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0, det, s, p;

	for (size_t i = 0; i < n; i++) {
		double a = 1 / run[i].app_sec, b = a / run[i].processes;

		aa += a * a;
		ab += a * b;
		bb += b * b;
		a1 += a;
		b1 += b;
	}
	det = aa * bb - ab * ab;
	s = (a1 * bb - b1 * ab) / det;
	p = (b1 * aa - a1 * ab) / det;
	if (!(det > 1e-12 * aa * bb) || p < 0)
		return a1 / aa;
	if (s < 0)
		return b1 / bb / processes;
	return s + p / processes;
}

double np_scaling_baseline(enum np_scaling_baseline which,
			   const struct np_run *run, size_t n,
			   double processes)
{
	return which == NP_BASELINE_AMDAHL ? amdahl(run, n, processes) :
	       nearest(run, n, processes, which == NP_BASELINE_IDEAL);
}
