#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_model_impl.h"
#include "np_nnls.h"
#include "np_predict_impl.h"

/* The levels as programs: rows of what they suffer, columns of what they do. */
static int make_levels(struct np_predictor *p)
{
	const struct np_data_fabric *f = &p->fabric.view[0];
	size_t n = p->n;
	double *column, *fit_column;

	p->level = calloc(n + 1, sizeof(*p->level));
	p->level_store = calloc(2 * n * n + 1, sizeof(double));
	if (!p->level || !p->level_store)
		return -ENOMEM;
	column = p->level_store;
	fit_column = column + n * n;
	for (size_t i = 0; i < n; i++) {
		const double *row = f->log_beside + i * n;
		const double *fit = f->fit_beside + i * n;

		for (size_t j = 0; j < n; j++) {
			column[j * n + i] = row[j];
			fit_column[j * n + i] = fit[j];
		}
		p->level[i] = (struct np_data_program){
			.latency = f->level[i],
			.log_curve = row,
			.log_pressure = column + i * n,
			.fit_curve = fit,
			.fit_pressure = fit_column + i * n,
		};
	}
	return 0;
}

static int make_halves(struct np_predictor *p)
{
	struct np_level_halves *s = &p->halves;

	s->flags = calloc(p->n + 1, sizeof(*s->flags));
	for (int side = 0; side < NP_SIDES; side++) {
		s->z[side] = calloc(p->n * p->dim + 1, sizeof(*s->z[side]));
		s->rc[side] = calloc(p->n + 1, sizeof(*s->rc[side]));
		if (!s->z[side] || !s->rc[side])
			return -ENOMEM;
	}
	return s->flags ? 0 : -ENOMEM;
}

static int make(struct np_predictor *p, struct np_err *err)
{
	int rc = np_draw_fabric(p->f, &p->draw, &p->fabric, err);

	if (rc)
		return rc;
	p->nnls = np_nnls_new(p->n + 1 > NP_ENSEMBLE_MEMBERS ? p->n + 1 :
			      NP_ENSEMBLE_MEMBERS);
	p->work = malloc(NP_MODEL_WORK(p->n) * sizeof(double));
	p->sample = malloc(3 * p->fabric.n * sizeof(double));
	if (!p->nnls || !p->work || !p->sample || make_levels(p) ||
	    make_halves(p))
		return np_errf(err, -ENOMEM, "%s: no memory for a predictor",
			       p->f->name);
	return np_ensemble_weigh(p, err);
}

int np_predictor_new(const struct np_fabric *f, const struct np_model *m,
		     const struct np_predict_opt *opt,
		     struct np_predictor **out, struct np_err *err)
{
	struct np_predictor *p;
	int rc = np_fabric_check(f, err);

	if (rc)
		return rc;
	if (opt->replicates > NP_PREDICT_MAX_REPLICATES)
		return np_errf(err, -EINVAL, "%zu bootstrap samples, expected "
			       "at most %d", opt->replicates,
			       NP_PREDICT_MAX_REPLICATES);
	p = calloc(1, sizeof(*p));
	if (!p)
		return np_errf(err, -ENOMEM, "%s: no memory for a predictor",
			       f->name);
	p->f = f;
	p->m = m;
	p->opt = *opt;
	p->n = f->n_levels;
	p->dim = np_model_dim(m, p->n);
	p->draw = (struct np_draw_opt){
		.replicates = opt->replicates,
		.seed = opt->seed,
		.needs = m->needs,
	};
	rc = make(p, err);
	if (rc) {
		np_predictor_free(p);
		return rc;
	}
	*out = p;
	return 0;
}

int np_predictor_fallback(struct np_predictor *p, struct np_predictor **out,
			  struct np_err *err)
{
	const struct np_model *m;

	*out = NULL;
	if (!p->m->fallback || p->opt.strict)
		return 0;
	m = np_model_find(p->m->fallback, err);
	if (!p->fallback) {
		int rc = np_predictor_new(p->f, m, &p->opt, &p->fallback, err);

		if (rc)
			return rc;
	}
	*out = p->fallback;
	return 0;
}

void np_predictor_free(struct np_predictor *p)
{
	if (!p)
		return;
	np_predictor_free(p->fallback);
	np_draw_fabric_free(&p->fabric);
	np_nnls_free(p->nnls);
	free(p->level);
	free(p->level_store);
	for (int side = 0; side < NP_SIDES; side++) {
		free(p->halves.z[side]);
		free(p->halves.rc[side]);
	}
	free(p->halves.flags);
	free(p->work);
	free(p->sample);
	free(p->ensemble);
	free(p);
}
