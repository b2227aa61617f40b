#include "np_pace.h"

#include <math.h>

#define CLOSE 1e-8
#define STEPS 50
#define LEAST 0.03162277660168379 /* the root of 1e-3: it ends at once */

/* p, of slowdowns d and e; what runs faster beside another does so by chance. */
static double at_full_pace(double d, double e)
{
	return d > 0 && e > 0 ? d * sqrt(1 + e) : d;
}

void np_pace_of(double log_slow, double log_other, double *z, double *z_other)
{
	double d = expm1(log_slow), e = expm1(log_other);

	*z = 2 * (sqrt(1 + at_full_pace(d, e)) - 1);
	*z_other = 2 * (sqrt(1 + at_full_pace(e, d)) - 1);
}

/* sqrt(1 + p) */
static double root_of(double z)
{
	return fmax(1 + 0.5 * z, LEAST);
}

/*
 * With u = sqrt(1 + d) - 1 and e put in,
 *	(1 + u + q) d^2 = p^2 (1 + u),  d = u (2 + u)
 * whose difference is convex in u > 0.  The first guess is not below the root,
 * as e >= q / sqrt(1 + p), so Newton's steps come down to it.
 */
void np_pace_both(double z, double z_other, double log_slow[2])
{
	double root = root_of(z), root_other = root_of(z_other);
	double p = root * root - 1, q = root_other * root_other - 1, d, u;

	if (p <= 0 || q <= 0) {
		log_slow[0] = 2 * log(root);
		log_slow[1] = 2 * log(root_other);
		return;
	}
	d = p / sqrt(1 + q / root);
	u = d / (1 + sqrt(1 + d));
	for (int i = 0; i < STEPS; i++) {
		double a = 1 + u, f, slope, step;

		d = u * (1 + a);
		f = (a + q) * d * d - p * p * a;
		slope = d * d + 4 * a * (a + q) * d - p * p;
		step = f / slope;
		u -= step;
		if (fabs(step) <= CLOSE * u)
			break;
	}
	log_slow[0] = 2 * log1p(u);
	log_slow[1] = log1p(q / (1 + u));
}

double np_pace_solve(double z, double z_other)
{
	double log_slow[2];

	np_pace_both(z, z_other, log_slow);
	return log_slow[0];
}
