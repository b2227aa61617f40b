#include "np_student.h"

#include <math.h>

#include <gsl/gsl_cdf.h>

double np_student_half(const struct np_moments *m)
{
	if (m->n < 2)
		return INFINITY;
	return gsl_cdf_tdist_Pinv(0.975, (double)m->n - 1) *
	       np_moments_sd(m) / sqrt((double)m->n);
}
