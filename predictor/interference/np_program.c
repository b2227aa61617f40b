#include "np_program.h"

#include <errno.h>

#include "np_fabric.h"

static int slowdowns_check(const struct np_mean *m, const struct np_program *a,
			   const struct np_fabric *f, const char *what,
			   struct np_err *err)
{
	for (size_t i = 0; m && i < f->n_levels; i++)
		if (!np_slowdown_valid(&m[i]))
			return np_errf(err, -EINVAL, "%s: %s level %s is %g "
				       "(sd %g), expected above -1", a->name,
				       what, f->level[i].name, m[i].mean,
				       m[i].sd);
	return 0;
}

int np_program_check(const struct np_program *a, const struct np_fabric *f,
		      struct np_err *err)
{
	int rc = np_latency_check(&a->latency, f->bins, a->name, err);

	if (!rc)
		rc = slowdowns_check(a->curve, a, f, "slowdown beside", err);
	if (!rc)
		rc = slowdowns_check(a->pressure, a, f, "slowdown it causes to",
				     err);
	for (size_t i = 0; !rc && i < a->n_windows; i++)
		if (!np_moments_valid(&a->window[i]) ||
		    (a->window[i].n && !(a->window[i].min > 0)))
			rc = np_errf(err, -EINVAL, "%s: latency window %zu has "
				     "mean %g, range %g to %g", a->name, i,
				     a->window[i].mean, a->window[i].min,
				     a->window[i].max);
	return rc;
}
