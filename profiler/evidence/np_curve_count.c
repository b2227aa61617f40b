#include "np_curve_count.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static bool is_at(const char *name, const char *at, const char *want_name,
		  const char *want_scope)
{
	return !strcmp(name, want_name) &&
	       (!want_scope || !strcmp(at, want_scope));
}

/* name NULL: alone. */
static uint32_t under_way(const struct np_evidence *e,
			  const struct np_runs *runs, const char *name,
			  const char *scope)
{
	uint32_t n = 0;

	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];
		const struct np_level_run *l = r->level;

		if (e->use[i] != NP_RUN_UNDER_WAY || !e->fingerprint ||
		    !r->fingerprint || strcmp(r->fingerprint, e->fingerprint))
			continue;
		n += name ? l && is_at(l->name, l->scope, name, scope) : !l;
	}
	return n;
}

void np_curve_count(const struct np_evidence *e, const struct np_runs *runs,
		    const char *scope, struct np_curve_levels *l,
		    struct np_mean *alone)
{
	for (size_t i = 0; i < l->n; i++) {
		struct np_mean *m = &l->level[i].run_sec;

		*m = (struct np_mean){ 0 };
		for (size_t k = 0; k < e->n_levels; k++)
			if (is_at(e->level[k].name, e->level[k].scope,
				  l->name[i], scope))
				*m = e->level[k].run_sec;
		m->n += under_way(e, runs, l->name[i], scope);
	}
	*alone = e->alone_sec;
	alone->n += under_way(e, runs, NULL, NULL);
}
