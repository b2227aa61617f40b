#include "np_curve_count.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_conf.h"
#include "np_profile.h"

/* Mean over the victims of log(1 + slowdown); NaN: not measured. */
static double pressure(const struct np_fabric *f, size_t level)
{
	double sum = 0;
	size_t n = 0;

	for (size_t v = 0; f->beside && v < f->n_levels; v++) {
		const struct np_mean *m = &f->beside[v * f->n_levels + level];

		if (np_mean_known(m) && m->mean > -1) {
			sum += log1p(m->mean);
			n++;
		}
	}
	return n ? sum / (double)n : NAN;
}

int np_curve_levels_make(const struct np_calibration *c,
			 struct np_curve_levels *out)
{
	size_t n = c ? c->fabric->n_levels : np_n_levels;
	struct np_curve_levels l = {
		.name = calloc(n + 1, sizeof(*l.name)),
		.level = calloc(n + 1, sizeof(*l.level)), .n = n,
	};

	if (!l.name || !l.level) {
		np_curve_levels_free(&l);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		l.name[i] = c ? c->fabric->level[i].name : np_levels[i].name;
		l.level[i].pressure = c ? pressure(c->fabric, i) : (double)i;
	}
	*out = l;
	return 0;
}

void np_curve_levels_free(struct np_curve_levels *l)
{
	free(l->name);
	free(l->level);
	*l = (struct np_curve_levels){ .n = 0 };
}

static bool ended_well(const struct np_record *r)
{
	return r->state != NP_RUN_RUNNING && r->exit_code == 0 &&
	       np_record_run_sec(r) > 0 && !np_run_has_neighbours(r);
}

static bool under_way(const struct np_record *r, double now)
{
	return r->state == NP_RUN_RUNNING &&
	       now - r->end < NP_CURVE_RUNNING_SEC;
}

static bool is_beside(const struct np_record *r, const char *name,
		      const char *scope)
{
	if (!name)
		return !r->level;
	return r->level && !strcmp(r->level->name, name) &&
	       (!scope || !strcmp(r->level->scope, scope));
}

/* name NULL: alone. */
static struct np_mean count(const struct np_runs *runs,
			    const char *fingerprint, const char *name,
			    const char *scope, double now)
{
	struct np_moments m = { 0 };
	struct np_mean out;
	uint32_t planned = 0;

	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];

		if (!r->fingerprint || strcmp(r->fingerprint, fingerprint) ||
		    !is_beside(r, name, scope))
			continue;
		if (ended_well(r))
			np_moments_add(&m, np_record_run_sec(r));
		else if (under_way(r, now))
			planned++;
	}
	out.n = (uint32_t)m.n + planned;
	out.mean = m.mean;
	out.sd = m.n > 1 ? np_moments_sd(&m) : NAN;
	return out;
}

void np_curve_count(const struct np_runs *runs, const char *fingerprint,
		    const char *scope, double now, struct np_curve_levels *l,
		    struct np_mean *alone)
{
	for (size_t i = 0; i < l->n; i++)
		l->level[i].run_sec = count(runs, fingerprint, l->name[i],
					    scope, now);
	*alone = count(runs, fingerprint, NULL, NULL, now);
}

/* Levels and runs of one workload, both up to a limit: they are compared. */
static size_t merit(const struct np_runs *runs, const char *fingerprint)
{
	size_t n_runs = 0, n_levels = 0;

	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];
		size_t k = 0;

		if (!r->fingerprint || strcmp(r->fingerprint, fingerprint) ||
		    !ended_well(r))
			continue;
		n_runs++;
		if (!r->level)
			continue;
		/* the first run beside its level? */
		while (k < i && !(ended_well(runs->run[k]) &&
				  runs->run[k]->fingerprint &&
				  !strcmp(runs->run[k]->fingerprint,
					  fingerprint) &&
				  is_beside(runs->run[k], r->level->name,
					    NULL)))
			k++;
		n_levels += k == i;
	}
	return n_levels * (NP_CONF_MAX_RUNS + 1) + n_runs;
}

const char *np_curve_workload(const struct np_runs *runs)
{
	const char *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < runs->n; i++) { /* newest first */
		const char *f = runs->run[i]->fingerprint;
		bool seen = !f;
		size_t here;

		for (size_t k = 0; !seen && k < i; k++)
			seen = runs->run[k]->fingerprint &&
			       !strcmp(runs->run[k]->fingerprint, f);
		here = seen ? 0 : merit(runs, f);
		if (here > most) {
			most = here;
			best = f;
		}
	}
	return best;
}
