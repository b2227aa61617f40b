#include "np_fabric.h"

#include <errno.h>
#include <stdio.h>

#include <gsl/gsl_cdf.h>

const char *const np_scope_names[NP_N_SCOPES + 1] = {
	"node", "leaf", "uplink", NULL
};

const char *np_scope_name(enum np_scope scope)
{
	return (unsigned)scope < NP_N_SCOPES ? np_scope_names[scope] : "?";
}

static int level_check(const struct np_fabric *f, size_t i, struct np_err *err)
{
	const struct np_fabric_level *l = &f->level[i];
	char what[128];

	if (!l->name || !*l->name)
		return np_errf(err, -EINVAL, "%s: level %zu has no name",
			       f->name, i);
	snprintf(what, sizeof(what), "%s: level %s", f->name, l->name);
	return np_latency_check(&l->latency, f->bins, what, err);
}

static int pairs_check(const struct np_fabric *f, struct np_err *err)
{
	for (size_t i = 0; f->pairs && i < f->n_levels; i++)
		for (size_t j = 0; j < f->n_levels; j++) {
			const struct np_mean *m =
				&f->pairs[i * f->n_levels + j];

			if (!np_slowdown_valid(m))
				return np_errf(err, -EINVAL, "%s: slowdown of "
					       "level %s under %s is %g (sd "
					       "%g), expected above -1",
					       f->name, f->level[i].name,
					       f->level[j].name, m->mean,
					       m->sd);
		}
	return 0;
}

static int sharing_check(const struct np_fabric *f, struct np_err *err)
{
	for (int s = 0; s < NP_N_SCOPES; s++) {
		const struct np_mean *k = &f->sharing[s];

		if (k->n && !(k->mean >= 0 && k->mean <= NP_SHARING_COEF_MAX))
			return np_errf(err, -EINVAL, "%s: sharing coefficient at "
				       "scope %s is %g, expected 0 to %g", f->name,
				       np_scope_names[s], k->mean,
				       NP_SHARING_COEF_MAX);
		if (k->n && k->sd < 0)
			return np_errf(err, -EINVAL, "%s: sd of the sharing "
				       "coefficient at scope %s is %g, expected >= 0",
				       f->name, np_scope_names[s], k->sd);
	}
	return 0;
}

int np_fabric_check(const struct np_fabric *f, struct np_err *err)
{
	char what[128];
	int rc = 0;

	if (f->n_levels > NP_FABRIC_MAX_LEVELS)
		return np_errf(err, -EINVAL, "%s: %zu levels, expected at most "
			       "%d", f->name, f->n_levels,
			       NP_FABRIC_MAX_LEVELS);
	snprintf(what, sizeof(what), "%s: idle", f->name);
	if (f->bins)
		rc = np_bins_check(f->bins, err);
	if (!rc)
		rc = np_latency_check(&f->idle, f->bins, what, err);
	for (size_t i = 0; !rc && i < f->n_levels; i++)
		rc = level_check(f, i, err);
	if (!rc)
		rc = pairs_check(f, err);
	return rc ? rc : sharing_check(f, err);
}

bool np_sharing_coef_interval(const struct np_mean *k, double *low, double *high)
{
	double half;

	if (k->n < 2 || !isfinite(k->sd))
		return false;
	half = gsl_cdf_tdist_Pinv(0.975, k->n - 1.0) * k->sd / sqrt(k->n);
	*low = fmax(0, k->mean - half);
	*high = k->mean + half;
	return true;
}

bool np_sharing_coef_none(const struct np_mean *k)
{
	double low, high;

	return np_sharing_coef_interval(k, &low, &high) && low <= 0 &&
	       high < NP_SHARING_COEF_NONE;
}

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
		rc = slowdowns_check(a->curve, a, f, "slowdown under", err);
	if (!rc)
		rc = slowdowns_check(a->impact, a, f, "slowdown it causes to",
				     err);
	return rc;
}
