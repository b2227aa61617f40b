#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_predict_impl.h"

/*
 * The two halves of a program are the same numbers, with these levels in use
 * and a model that is alike.
 */
static bool same(const struct np_predictor *p, const struct np_half *other,
		 const struct np_basis *use)
{
	return p->m->alike && other->ready &&
	       np_basis_equal(&other->use, use) &&
	       np_levels_equal(&use->row, &use->col);
}

/* *n: how many views are to be done; one alone tells the flags. */
static int make_ready(struct np_predictor *p, const struct np_basis *use,
		      const struct np_half *other, struct np_half *s,
		      size_t *n, struct np_err *err)
{
	*n = p->fabric.n;
	if (s->z == other->z)
		s->z = NULL;
	if (same(p, other, use)) {
		free(s->z);
		s->z = other->z;
		*n = 1;
	}
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

int np_half_co(struct np_predictor *p, const struct np_draw_program *cb,
	       size_t n_co, const struct np_basis *use,
	       const struct np_half *other, struct np_half *s,
	       struct np_err *err)
{
	struct np_data v;
	size_t n;
	int rc = make_ready(p, use, other, s, &n, err);

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
	struct np_data v;
	size_t n;
	int rc = make_ready(p, use, other, s, &n, err);

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

void np_half_free(struct np_half *s, const struct np_half *other)
{
	if (s->z != other->z)
		free(s->z);
	free(s->miss);
	s->z = NULL;
	s->miss = NULL;
	s->ready = false;
}
