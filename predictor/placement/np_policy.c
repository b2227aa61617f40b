#include <errno.h>
#include <math.h>

#include "np_placement.h"

void np_policy_init(struct np_policy *p)
{
	*p = (struct np_policy){
		.max_slowdown = 0.10,
		.max_defer_sec = 3600,
		.defer_step_sec = 60,
		.horizon_sec = 60,
		.prefer_patience_sec = 30,
		.modes = 1u << NP_MODE_OFF | 1u << NP_MODE_ADVISE |
			 1u << NP_MODE_PREFER | 1u << NP_MODE_ENFORCE,
		.unknown_as = NP_PROFILE_UNKNOWN,
	};
}

static int check_time(const char *what, double sec, double least,
		      struct np_err *err)
{
	if (sec >= least && sec <= 1e9)
		return 0;
	return np_errf(err, -EINVAL, "policy: %s %g s; expected %g to 1e9",
		       what, sec, least);
}

int np_policy_check(const struct np_policy *p, const struct np_press *t,
		    struct np_err *err)
{
	int rc;

	if (!(p->max_slowdown >= 0 && p->max_slowdown <= 100))
		return np_errf(err, -EINVAL,
			       "policy: MaxSlowdown %g; expected 0 to 100",
			       p->max_slowdown);
	rc = check_time("MaxDefer", p->max_defer_sec, 1, err);
	if (!rc)
		rc = check_time("one deferral", p->defer_step_sec, 1, err);
	if (!rc)
		rc = check_time("horizon", p->horizon_sec, 0, err);
	if (!rc)
		rc = check_time("patience", p->prefer_patience_sec, 1, err);
	if (!rc && (p->unknown_as < NP_PROFILE_UNKNOWN ||
		    (p->unknown_as >= 0 &&
		     (size_t)p->unknown_as >= np_press_n(t))))
		return np_errf(err, -EINVAL,
			       "policy: unknown jobs count as profile %d, which"
			       " is not there", p->unknown_as);
	return rc;
}
