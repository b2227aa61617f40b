#include "np_backing.h"

#include <math.h>
#include <stdio.h>

#include "np_noise.h"

#define OWN_ERRORS 2.0

static enum np_backing latency_backs(const struct np_evidence *own,
				     const struct np_evidence *published,
				     char *why, size_t len)
{
	const struct np_mean *a = &own->latency_sec;
	const struct np_mean *b = &published->latency_sec;
	const struct np_moments *all = &own->program.latency.all;
	double spread;

	/* At another period of the probes latencies are others. */
	if (!np_mean_known(a) || !np_mean_known(b) ||
	    own->latency.other_period || published->latency.other_period)
		return NP_BACKING_NOTHING;
	spread = NP_BACKING_LATENCY * b->mean;
	if (!isnan(b->sd))
		spread = fmax(spread, NP_BACKING_SDS * b->sd);
	spread += OWN_ERRORS * np_moments_sd(all) / sqrt((double)all->n);
	if (fabs(a->mean - b->mean) <= spread)
		return NP_BACKING_AGREES;
	snprintf(why, len, "mean latency %.3g us, published %.3g us, give or "
		 "take %.2g us", 1e6 * a->mean, 1e6 * b->mean, 1e6 * spread);
	return NP_BACKING_REFUTED;
}

/* One list of slowdowns against the other; NULL: none is known. */
static enum np_backing list_backs(const struct np_mean *own,
				  const struct np_mean *published,
				  const struct np_fabric *f, const char *what,
				  char *why, size_t len)
{
	enum np_backing backing = NP_BACKING_NOTHING;
	size_t n = own && published ? f->n_levels : 0;
	double own_noise = np_noise_pooled(own, n), spread;

	spread = fmax(NP_BACKING_SDS * np_noise_pooled(published, n),
		      log1p(NP_BACKING_SLOWDOWN));
	for (size_t i = 0; i < n; i++) {
		const struct np_mean *a = &own[i], *b = &published[i];
		double most;

		if (!np_mean_known(a) || !np_mean_known(b))
			continue;
		backing = NP_BACKING_AGREES;
		most = spread + OWN_ERRORS * np_noise_of_mean(a, own_noise);
		if (fabs(log1p(a->mean) - log1p(b->mean)) <= most)
			continue;
		snprintf(why, len, "%s level %.16s %.0f %%, published %.0f %%, "
			 "give or take %.0f", what, f->level[i].name,
			 100 * a->mean, 100 * b->mean,
			 100 * (1 + b->mean) * expm1(most));
		return NP_BACKING_REFUTED;
	}
	return backing;
}

static enum np_backing most(enum np_backing a, enum np_backing b)
{
	return a > b ? a : b;
}

enum np_backing np_backing_judge(const struct np_evidence *own,
				 const struct np_evidence *published,
				 const struct np_fabric *f, char *why,
				 size_t len)
{
	const struct np_program *a = &own->program, *b = &published->program;
	enum np_backing so_far = latency_backs(own, published, why, len);

	if (so_far != NP_BACKING_REFUTED)
		so_far = most(so_far, list_backs(a->curve, b->curve, f,
						 "slowed by", why, len));
	if (so_far != NP_BACKING_REFUTED)
		so_far = most(so_far, list_backs(a->pressure, b->pressure, f,
						 "slows", why, len));
	return so_far;
}
