#include "np_queue.h"

#include <errno.h>
#include <math.h>

int np_queue_service(const struct np_moments *idle, struct np_service *out,
		     struct np_err *err)
{
	if (!idle->n)
		return np_errf(err, -EINVAL, "idle latencies: none, expected "
			       "at least 1");
	if (!np_moments_valid(idle) || idle->min <= 0)
		return np_errf(err, -EINVAL, "idle latencies: mean %g, minimum "
			       "%g, spread %g: expected positive, finite times",
			       idle->mean, idle->min, idle->m2);
	out->mu_per_sec = 1 / idle->mean;
	out->var_sec2 = np_moments_var(idle);
	return 0;
}

static int service_valid(const struct np_service *s)
{
	return isfinite(s->mu_per_sec) && s->mu_per_sec > 0 &&
	       isfinite(s->var_sec2) && s->var_sec2 >= 0;
}

int np_queue_rho(const struct np_service *s, double w_sec, double *rho,
		 struct np_err *err)
{
	double y, k;

	if (!service_valid(s))
		return np_errf(err, -EINVAL, "service rate %g per second, "
			       "variance %g: expected finite, positive and not "
			       "negative", s->mu_per_sec, s->var_sec2);
	if (!isfinite(w_sec) || w_sec <= 0)
		return np_errf(err, -EINVAL, "latency %g s: expected a "
			       "positive, finite time", w_sec);
	y = 2 * (s->mu_per_sec * w_sec - 1);
	k = 1 + s->mu_per_sec * s->mu_per_sec * s->var_sec2;
	*rho = y <= 0 ? 0 : y / (y + k);
	return 0;
}
