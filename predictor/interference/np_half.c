/*
 * One program's half of a question, for all replicates, and by how much the
 * model misses what is known of that program when one level at a time is left
 * out.  A level is itself a program whose slowdowns are known: the victim's
 * beside it, and its own beside the co-runner.  So each shows by how much the
 * model would have missed it, with neither the level nor any pair of programs
 * among what the model was given.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_predict_impl.h"

/* The levels that tell of a program on that side. */
static struct np_levels *levels_of(struct np_basis *use, enum np_side side)
{
	return side == NP_VICTIM ? &use->col : &use->row;
}

/* What a model is given where level k tells nothing of that side. */
static void data_without(const struct np_predictor *p,
			 const struct np_basis *use, enum np_side side,
			 size_t k, struct np_basis *less, struct np_data *v)
{
	*less = *use;
	np_levels_drop(levels_of(less, side), k);
	np_basis_data(p, less, 0, v);
}

static int ask(const struct np_predictor *p, enum np_side side,
	       const struct np_data_program *a, struct np_data *v, double *z,
	       bool warm)
{
	v->warm = warm;
	if (side == NP_VICTIM) {
		v->victim = a;
		return p->m->respond(v, z);
	}
	v->co = a;
	return p->m->describe(v, z);
}

static bool all_known(const bool *known, size_t stride,
		      const struct np_levels *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (!known[l->at[i] * stride])
			return false;
	return true;
}

/* Can level k stand for a program on that side, with the levels in use? */
static bool can_stand(const struct np_predictor *p, const struct np_basis *use,
		      enum np_side side, size_t k)
{
	const struct np_draw_fabric *d = &p->fabric;
	const bool *row = d->has_beside + k * p->n;
	unsigned needs = p->m->needs;

	if (side == NP_VICTIM)
		return all_known(row, 1, &use->col);
	return (!(needs & NP_NEED_LATENCY) || d->has_latency[k]) &&
	       (!(needs & NP_NEED_HIST) || d->has_hist[k]) &&
	       all_known(d->has_beside + k, p->n, &use->row) &&
	       all_known(row, 1, &use->co_col);
}

/* Level k as that side of a question, were it not among the other's levels. */
static int level_half(struct np_predictor *p, const struct np_basis *use,
		      enum np_side side, size_t k)
{
	struct np_level_halves *h = &p->halves;
	struct np_basis less;
	struct np_data v;
	int rc;

	if (!can_stand(p, use, side, k))
		return -1;
	data_without(p, use, !side, k, &less, &v);
	if (!less.col.n)
		return -1;
	rc = ask(p, side, &p->level[k], &v, h->z[side] + k * p->dim, false);
	if (side == NP_CO)
		h->flags[k] = v.flags;
	return rc;
}

static void make_levels(struct np_predictor *p, const struct np_basis *use)
{
	struct np_level_halves *h = &p->halves;

	if (h->ready && np_basis_equal(&h->use, use))
		return;
	h->use = *use;
	for (size_t k = 0; k < p->n; k++)
		for (int side = 0; side < NP_SIDES; side++)
			h->rc[side][k] = level_half(p, use, side, k);
	h->ready = true;
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

/* The program beside each level that it was measured beside, or it beside. */
static void leave_out(struct np_predictor *p, enum np_side side,
		      const struct np_draw_program *d, size_t n_co,
		      struct np_half *s)
{
	const struct np_data_program *a = &d->view[0];
	const struct np_level_halves *h = &p->halves;

	make_levels(p, &s->use);
	for (size_t k = 0; k < p->n; k++) {
		const double *level = h->z[!side] + k * p->dim;
		struct np_basis less;
		struct np_data v;
		double z[p->dim], log_slow;

		if (h->rc[!side][k])
			continue;
		data_without(p, &s->use, side, k, &less, &v);
		if (side == NP_VICTIM ? less.col.n == s->use.col.n :
					!d->has_pressure[k])
			continue; /* was not measured */
		v.n_co = n_co;
		memcpy(z, s->z, sizeof(z)); /* that of all levels is near */
		if (ask(p, side, a, &v, z, true) ||
		    p->m->join(&v, side == NP_VICTIM ? level : z,
			       side == NP_VICTIM ? z : level, &log_slow))
			continue;
		if (side == NP_VICTIM)
			note(s, a->log_curve[k], log_slow, h->flags[k]);
		else
			note(s, a->log_pressure[k], log_slow, v.flags);
	}
}

static void drop_part(struct np_basis *use, size_t n_levels, size_t part)
{
	size_t parts = n_levels < NP_LESS_PARTS ? n_levels : NP_LESS_PARTS;

	for (size_t i = 0; i < n_levels; i++)
		if (i * parts / n_levels == part) {
			np_levels_drop(&use->col, i);
			np_levels_drop(&use->row, i);
			np_levels_drop(&use->co_col, i);
		}
}

/*
 * The half once more without each part of the levels, as if that had never
 * been measured, for np_ready.c to see what rests on it.  What a level tells
 * of the victim and of the co-runner is left out together.
 */
static void make_less(struct np_predictor *p, enum np_side side,
		      const struct np_data_program *a, size_t n_co,
		      struct np_half *s)
{
	for (size_t k = 0; k < NP_LESS_PARTS; k++) {
		double *z = s->less + k * p->dim;
		struct np_basis less = s->use;
		struct np_data v;

		drop_part(&less, p->n, k);
		np_basis_data(p, &less, 0, &v);
		v.n_co = n_co;
		memcpy(z, s->z, p->dim * sizeof(*z)); /* which is near */
		s->has_less[k] = less.col.n >= NP_LESS_LEVELS &&
				 less.row.n >= NP_LESS_LEVELS &&
				 !np_basis_equal(&less, &s->use) &&
				 !ask(p, side, a, &v, z, true);
	}
}

/*
 * The two halves of a program are the same numbers, with these levels in use
 * and a model that answers both ways at once.
 */
static bool same(const struct np_predictor *p, const struct np_half *other,
		 const struct np_basis *use)
{
	return p->m->join_both && other->ready &&
	       np_basis_equal(&other->use, use) &&
	       np_levels_equal(&use->row, &use->col);
}

/* *n: how many views are to be done; one alone tells the flags. */
static int begin(struct np_predictor *p, const struct np_basis *use,
		 const struct np_half *other, struct np_half *s, size_t *n,
		 struct np_err *err)
{
	*n = p->fabric.n;
	if (s->z == other->z)
		s->z = s->less = NULL;
	if (same(p, other, use)) {
		free(s->z);
		free(s->less);
		s->z = other->z;
		s->less = other->less;
		*n = 1;
	}
	if (!s->z)
		s->z = calloc(p->fabric.n * p->dim, sizeof(*s->z));
	if (!s->less)
		s->less = calloc(NP_LESS_PARTS * p->dim, sizeof(*s->less));
	if (!s->miss)
		s->miss = calloc(p->n + 1, sizeof(*s->miss));
	if (!s->z || !s->less || !s->miss)
		return np_errf(err, -ENOMEM, "no memory for %zu bootstrap "
			       "samples", p->opt.replicates);
	s->use = *use;
	s->ready = false;
	s->flags = 0;
	s->n_miss = 0;
	return 0;
}

/* A replicate starts from the measured one's answer, which is near. */
static double *row(const struct np_predictor *p, struct np_half *s, size_t r)
{
	double *z = s->z + r * p->dim;

	if (r)
		memcpy(z, s->z, p->dim * sizeof(*z));
	return z;
}

int np_half_make(struct np_predictor *p, struct np_ready *a, enum np_side side,
		 size_t n_co, const struct np_basis *use, struct np_err *err)
{
	struct np_half *s = &a->half[side];
	struct np_data v;
	size_t n;
	int rc;

	if (s->ready && np_basis_equal(&s->use, use))
		return 0;
	rc = begin(p, use, &a->half[!side], s, &n, err);
	for (size_t r = 0; !rc && r < n; r++) {
		np_basis_data(p, use, r, &v);
		v.n_co = n_co;
		v.err = err;
		rc = ask(p, side, &a->draw.view[r], &v, row(p, s, r), r > 0);
		if (!r)
			s->flags = v.flags;
	}
	if (rc)
		return rc;
	if (s->less == a->half[!side].less)
		memcpy(s->has_less, a->half[!side].has_less,
		       sizeof(s->has_less));
	else if (np_model_is_of_levels(p->m))
		make_less(p, side, &a->draw.view[0], n_co, s);
	if (p->opt.replicates)
		leave_out(p, side, &a->draw, n_co, s);
	s->ready = true;
	return 0;
}

void np_half_free(struct np_ready *a, enum np_side side)
{
	struct np_half *s = &a->half[side];

	if (s->z != a->half[!side].z) {
		free(s->z);
		free(s->less);
	}
	free(s->miss);
	s->z = s->less = NULL;
	s->miss = NULL;
	s->ready = false;
}
