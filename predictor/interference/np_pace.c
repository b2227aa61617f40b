#include "np_pace.h"

#include <math.h>

#define CLOSE 1e-8
#define STEPS 50
#define LEAST 0.03162277660168379 /* the root of 1e-3: it ends at once */

/*
 * z of a program whose slowdown is d, root_other = sqrt(1 + e); what runs faster
 * beside another does so by chance.
 */
static double full_pace(double d, double root_other)
{
	double p = d > 0 && root_other > 1 ? d * root_other : d;

	return 2 * (sqrt(1 + p) - 1);
}

void np_pace_of(double log_slow, double log_other, double *z, double *z_other)
{
	/* sqrt(1 + d) - 1, and of e; d follows without a loss where it is small */
	double u = expm1(0.5 * log_slow), v = expm1(0.5 * log_other);

	*z = full_pace(u * (2 + u), 1 + v);
	*z_other = full_pace(v * (2 + v), 1 + u);
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
