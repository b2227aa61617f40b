#include "np_pace.h"

#include <math.h>

#define CLOSE 1e-8
#define STEPS 50
#define LEAST (-1 + 1e-3) /* slowdown of what would end at once */

double np_pace_of(double log_slow, double log_other)
{
	double p = expm1(log_slow);

	/* What runs faster beside another does so by chance. */
	if (p > 0)
		p *= exp(0.5 * fmax(log_other, 0));
	return 2 * (sqrt(1 + p) - 1);
}

static double undo(double z)
{
	double root = 1 + 0.5 * z;

	return root > 0 ? fmax(root * root - 1, LEAST) : LEAST;
}

double np_pace_solve(double z, double z_other)
{
	double p = undo(z), q = undo(z_other), d;

	if (p <= 0 || q <= 0)
		return log1p(p);
	d = p / sqrt(1 + q / sqrt(1 + p));
	for (int i = 0; i < STEPS; i++) {
		double e = q / sqrt(1 + d), r = sqrt(1 + e);
		double newton = (d * r - p) / (r - d * e / (4 * (1 + d) * r));
		double step = newton < d ? newton : d - p / r;

		d -= step;
		if (fabs(step) <= CLOSE * (1 + d))
			break;
	}
	return log1p(d);
}
