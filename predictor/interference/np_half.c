#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_predict_impl.h"

static int make_ready(struct np_predictor *p, const struct np_basis *use,
		      struct np_half *s, struct np_err *err)
{
	if (!s->z)
		s->z = calloc(p->fabric.n * p->dim, sizeof(*s->z));
	if (!s->miss)
		s->miss = calloc(p->n + 1, sizeof(*s->miss));
	if (!s->z || !s->miss)
		return np_errf(err, -ENOMEM, "no memory for %zu bootstrap "
			       "samples", p->opt.replicates);
	np_basis_copy(&s->use, use);
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

/*
 * The replicates of the other half, if they are the same.  Returns how many
 * views are left to do.
 */
static size_t copy_other(const struct np_predictor *p,
			 const struct np_half *other, struct np_half *s)
{
	const struct np_basis *use = &s->use;

	if (!p->m->alike || !other->ready ||
	    !np_basis_equal(&other->use, use) || use->n_row != use->n_col ||
	    memcmp(use->row, use->col, use->n_row * sizeof(*use->row)))
		return p->fabric.n;
	memcpy(s->z + p->dim, other->z + p->dim,
	       (p->fabric.n - 1) * p->dim * sizeof(*s->z));
	return 1;
}

int np_half_co(struct np_predictor *p, const struct np_draw_program *cb,
	       size_t n_co, const struct np_basis *use,
	       const struct np_half *other, struct np_half *s,
	       struct np_err *err)
{
	int rc = make_ready(p, use, s, err);
	size_t n = rc ? 0 : copy_other(p, other, s);
	struct np_data v;

	for (size_t r = 0; !rc && r < n; r++) {
		np_basis_data(p, use, r, &v);
		v.co = &cb->view[r];
		v.n_co = n_co;
		v.err = err;
		rc = p->m->describe(p->m, &v, row(p, s, r), r > 0);
		if (!r)
			s->flags = v.flags;
	}
	if (rc)
		return rc;
	np_loo_co(p, cb, n_co, s);
	s->ready = true;
	return 0;
}

int np_half_victim(struct np_predictor *p, const struct np_draw_program *va,
		   const struct np_basis *use, const struct np_half *other,
		   struct np_half *s, struct np_err *err)
{
	int rc = make_ready(p, use, s, err);
	size_t n = rc ? 0 : copy_other(p, other, s);
	struct np_data v;

	for (size_t r = 0; !rc && r < n; r++) {
		np_basis_data(p, use, r, &v);
		v.victim = &va->view[r];
		v.err = err;
		rc = p->m->respond(p->m, &v, row(p, s, r), r > 0);
		if (!r)
			s->flags = v.flags;
	}
	if (rc)
		return rc;
	np_loo_victim(p, va, s);
	s->ready = true;
	return 0;
}

void np_half_free(struct np_half *s)
{
	free(s->z);
	free(s->miss);
	s->z = NULL;
	s->miss = NULL;
	s->ready = false;
}
