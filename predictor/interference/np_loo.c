/*
 * One level left out at a time.  A level is itself a program whose slowdowns
 * are known: the victim's beside it, and its own beside the co-runner.  So
 * each shows by how much the model would have missed it, with neither the
 * level nor any pair of programs among what the model was given.
 */
#include <math.h>
#include <string.h>

#include "np_nnls.h"
#include "np_predict_impl.h"

static bool all_known(const bool *known, size_t stride,
		      const struct np_levels *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (!known[l->at[i] * stride])
			return false;
	return true;
}

/* Can level k stand for a co-runner, with the levels in use? */
static bool can_press(const struct np_predictor *p, const struct np_basis *use,
		      size_t k)
{
	const struct np_draw_fabric *d = &p->fabric;
	unsigned needs = p->m->needs;

	if (needs & NP_NEED_WINDOWS ||
	    (needs & NP_NEED_LATENCY && !d->has_latency[k]) ||
	    (needs & NP_NEED_HIST && !d->has_hist[k]))
		return false;
	return all_known(d->has_beside + k, p->n, &use->row) &&
	       all_known(d->has_beside + k * p->n, 1, &use->co_col);
}

/* Can it stand for a victim? */
static bool can_suffer(const struct np_predictor *p,
		       const struct np_basis *use, size_t k)
{
	const struct np_draw_fabric *d = &p->fabric;

	if (p->m->needs & NP_NEED_OWN_LATENCY && !d->has_latency[k])
		return false;
	return use->col.n &&
	       all_known(d->has_beside + k * p->n, 1, &use->col);
}

/* Describe level k by the others. */
static int describe(struct np_predictor *p, const struct np_basis *use,
		    size_t k, double *x, unsigned *flags)
{
	struct np_basis less;
	struct np_data v;
	int rc;

	if (!can_press(p, use, k))
		return -1;
	np_basis_copy(&less, use);
	np_levels_drop(&less.col, k);
	if (!less.col.n)
		return -1;
	np_basis_data(p, &less, 0, &v);
	v.co = &p->level[k];
	rc = p->m->describe(p->m, &v, x, false);
	*flags = v.flags;
	return rc;
}

/* The response of level k, were it not among the levels under pressure. */
static int respond(struct np_predictor *p, const struct np_basis *use,
		   size_t k, double *y)
{
	struct np_basis less;
	struct np_data v;

	if (!can_suffer(p, use, k))
		return -1;
	np_basis_copy(&less, use);
	np_levels_drop(&less.row, k);
	np_basis_data(p, &less, 0, &v);
	v.victim = &p->level[k];
	return p->m->respond(p->m, &v, y, false);
}

static int np_loo_levels(struct np_predictor *p, const struct np_basis *use)
{
	struct np_level_halves *s = &p->halves;

	if (s->ready && np_basis_equal(&s->use, use))
		return 0;
	np_basis_copy(&s->use, use);
	for (size_t k = 0; k < p->n; k++) {
		s->x_rc[k] = describe(p, use, k, s->x + k * p->dim,
				      &s->flags[k]);
		s->y_rc[k] = respond(p, use, k, s->y + k * p->dim);
	}
	s->ready = true;
	return 0;
}

static void note(struct np_half *s, double measured, double predicted,
		 unsigned flags)
{
	struct np_miss *m = &s->miss[s->n_miss];

	if (!isfinite(predicted))
		return;
	m->log_slow = predicted;
	m->error = measured - predicted;
	m->beyond = flags & NP_PRED_BEYOND;
	s->n_miss++;
}

/* The victim beside each level it was measured beside. */
void np_loo_victim(struct np_predictor *p, const struct np_draw_program *va,
		   struct np_half *s)
{
	struct np_data v;
	double log_slow;

	if (!p->opt.replicates)
		return;
	np_loo_levels(p, &s->use);
	for (size_t c = 0; c < s->use.col.n; c++) {
		size_t k = s->use.col.at[c];
		struct np_basis less;
		double y[p->dim];

		if (p->halves.x_rc[k])
			continue;
		np_basis_copy(&less, &s->use);
		np_levels_drop(&less.col, k);
		np_basis_data(p, &less, 0, &v);
		v.victim = &va->view[0];
		memcpy(y, s->z, sizeof(y)); /* the whole curve's is near */
		if (!p->m->respond(p->m, &v, y, true) &&
		    !p->m->join(p->m, &v, p->halves.x + k * p->dim, y,
				&log_slow))
			note(s, va->view[0].log_curve[k], log_slow,
			     p->halves.flags[k]);
	}
}

/* Each level that the co-runner was measured to slow. */
void np_loo_co(struct np_predictor *p, const struct np_draw_program *cb,
	       size_t n_co, struct np_half *s)
{
	struct np_data v;
	double log_slow;

	if (!p->opt.replicates)
		return;
	np_loo_levels(p, &s->use);
	for (size_t k = 0; k < p->n; k++) {
		struct np_basis less;
		double x[p->dim];

		if (p->halves.y_rc[k] || !cb->has_pressure[k])
			continue;
		np_basis_copy(&less, &s->use);
		np_levels_drop(&less.row, k);
		np_basis_data(p, &less, 0, &v);
		v.co = &cb->view[0];
		v.n_co = n_co;
		memcpy(x, s->z, sizeof(x));
		if (!p->m->describe(p->m, &v, x, true) &&
		    !p->m->join(p->m, &v, x, p->halves.y + k * p->dim,
				&log_slow))
			note(s, cb->view[0].log_pressure[k], log_slow,
			     v.flags);
	}
}
