#include "np_fabric.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include "np_queue.h"

const char *const np_scope_names[NP_N_SCOPES + 1] = { "node", "leaf", "uplink",
						      NULL };

const char *np_scope_name(enum np_scope scope)
{
	return (unsigned)scope < NP_N_SCOPES ? np_scope_names[scope] : "?";
}

static int level_check(const struct np_fabric *fabric, size_t i,
		       struct np_err *err)
{
	const struct np_fabric_level *level = &fabric->level[i];
	char what[128];

	if (!level->name || !*level->name)
		return np_errf(err, -EINVAL, "%s: level %zu has no name",
			       fabric->name, i);
	snprintf(what, sizeof(what), "%s: level %s", fabric->name, level->name);
	return np_latency_check(&level->latency, fabric->bins, what, err);
}

static int pairs_check(const struct np_fabric *fabric, struct np_err *err)
{
	for (size_t i = 0; fabric->pairs && i < fabric->n_levels; i++)
		for (size_t j = 0; j < fabric->n_levels; j++) {
			const struct np_mean *mean =
				&fabric->pairs[i * fabric->n_levels + j];

			if (!np_slowdown_valid(mean))
				return np_errf(
					err, -EINVAL,
					"%s: slowdown of level %s under %s is "
					"%g (sd %g), expected above -1",
					fabric->name, fabric->level[i].name,
					fabric->level[j].name, mean->mean,
					mean->sd);
		}
	return 0;
}

static int sharing_check(const struct np_fabric *fabric, struct np_err *err)
{
	for (int s = 0; s < NP_N_SCOPES; s++) {
		const struct np_mean *mean = &fabric->sharing[s];

		if (mean->n &&
		    !(mean->mean >= 0 && mean->mean <= NP_SHARING_COEF_MAX))
			return np_errf(err, -EINVAL,
				       "%s: sharing coefficient at scope %s is "
				       "%g, expected 0 to %g",
				       fabric->name, np_scope_names[s],
				       mean->mean, NP_SHARING_COEF_MAX);
		if (mean->n && mean->sd < 0)
			return np_errf(err, -EINVAL,
				       "%s: sd of the sharing coefficient at "
				       "scope %s is %g, expected >= 0",
				       fabric->name, np_scope_names[s],
				       mean->sd);
	}
	return 0;
}

int np_fabric_check(const struct np_fabric *fabric, struct np_err *err)
{
	char what[128];
	int rc = 0;

	if (fabric->n_levels > NP_FABRIC_MAX_LEVELS)
		return np_errf(err, -EINVAL,
			       "%s: %zu levels, expected at most %d",
			       fabric->name, fabric->n_levels,
			       NP_FABRIC_MAX_LEVELS);
	snprintf(what, sizeof(what), "%s: idle", fabric->name);
	if (fabric->bins)
		rc = np_bins_check(fabric->bins, err);
	if (!rc)
		rc = np_latency_check(&fabric->idle, fabric->bins, what, err);
	for (size_t i = 0; !rc && i < fabric->n_levels; i++)
		rc = level_check(fabric, i, err);
	if (!rc)
		rc = pairs_check(fabric, err);
	return rc ? rc : sharing_check(fabric, err);
}

double np_fabric_utilisation(const struct np_fabric *fabric, const char *level)
{
	double utilisation = NAN;
	struct np_service idle;
	size_t i = 0;

	if (!fabric || np_queue_service(&fabric->idle.all, &idle))
		return NAN;
	while (i < fabric->n_levels && strcmp(fabric->level[i].name, level))
		i++;
	if (i < fabric->n_levels && fabric->level[i].latency.all.n)
		np_queue_utilisation(&idle, fabric->level[i].latency.all.mean,
				     &utilisation, NULL);
	return utilisation;
}

int np_utilisation_compare(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a > b) - (a < b);
}

bool np_sharing_coef_interval(const struct np_mean *mean, double *low,
			      double *high)
{
	double half;

	if (mean->n < 2 || !isfinite(mean->sd))
		return false;
	half = gsl_cdf_tdist_Pinv(0.975, mean->n - 1.0) * mean->sd /
	       sqrt(mean->n);
	*low = fmax(0, mean->mean - half);
	*high = mean->mean + half;
	return true;
}

bool np_sharing_coef_none(const struct np_mean *mean)
{
	double low, high;

	return np_sharing_coef_interval(mean, &low, &high) && low <= 0 &&
	       high < NP_SHARING_COEF_NONE;
}

static int slowdowns_check(const struct np_mean *mean,
			   const struct np_program *program,
			   const struct np_fabric *fabric, const char *what,
			   struct np_err *err)
{
	for (size_t i = 0; mean && i < fabric->n_levels; i++)
		if (!np_slowdown_valid(&mean[i]))
			return np_errf(err, -EINVAL,
				       "%s: %s level %s is %g (sd %g), "
				       "expected above -1",
				       program->name, what,
				       fabric->level[i].name, mean[i].mean,
				       mean[i].sd);
	return 0;
}

int np_program_check(const struct np_program *program,
		     const struct np_fabric *fabric, struct np_err *err)
{
	int rc = np_latency_check(&program->latency, fabric->bins,
				  program->name, err);

	if (!rc)
		rc = slowdowns_check(program->curve, program, fabric,
				     "slowdown under", err);
	if (!rc)
		rc = slowdowns_check(program->impact, program, fabric,
				     "slowdown it causes to", err);
	return rc;
}
