#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_predict_impl.h"

void np_view_init(const struct np_predictor *p, const struct np_use *use,
		  size_t replicate, struct np_view *v)
{
	*v = (struct np_view){
		.fabric = &p->fabric.view[replicate],
		.n_co = 1,
		.col = use->col, .n_col = use->n_col,
		.row = use->row, .n_row = use->n_row,
		.co_col = use->co_col, .n_co_col = use->n_co_col,
		.nnls = p->nnls,
		.work = p->work,
		.ensemble = p->ensemble,
	};
}

static int make_ready(struct np_predictor *p, const struct np_use *use,
		      struct np_side *s, struct np_err *err)
{
	if (!s->z)
		s->z = calloc(p->fabric.n * p->dim, sizeof(*s->z));
	if (!s->miss)
		s->miss = calloc(p->n + 1, sizeof(*s->miss));
	if (!s->z || !s->miss)
		return np_errf(err, -ENOMEM, "no memory for %zu bootstrap "
			       "samples", p->opt.replicates);
	s->use = *use;
	s->ready = false;
	s->flags = 0;
	s->n_miss = 0;
	return 0;
}

/* A replicate starts from the measured one's answer, which is near. */
static double *row(const struct np_predictor *p, struct np_side *s, size_t r)
{
	double *z = s->z + r * p->dim;

	if (r)
		memcpy(z, s->z, p->dim * sizeof(*z));
	return z;
}

int np_side_co(struct np_predictor *p, const struct np_draw_program *cb,
	       size_t n_co, const struct np_use *use, struct np_side *s,
	       struct np_err *err)
{
	int rc = make_ready(p, use, s, err);
	struct np_view v;

	for (size_t r = 0; !rc && r < p->fabric.n; r++) {
		np_view_init(p, use, r, &v);
		v.co = &cb->view[r];
		v.n_co = n_co;
		v.err = err;
		rc = p->m->describe(p->m, &v, row(p, s, r), r > 0);
		if (!r)
			s->flags = v.flags;
	}
	if (rc)
		return rc;
	np_leave_co(p, cb, n_co, s);
	s->ready = true;
	return 0;
}

int np_side_victim(struct np_predictor *p, const struct np_draw_program *va,
		   const struct np_use *use, struct np_side *s,
		   struct np_err *err)
{
	int rc = make_ready(p, use, s, err);
	struct np_view v;

	for (size_t r = 0; !rc && r < p->fabric.n; r++) {
		np_view_init(p, use, r, &v);
		v.victim = &va->view[r];
		v.err = err;
		rc = p->m->respond(p->m, &v, row(p, s, r), r > 0);
		if (!r)
			s->flags = v.flags;
	}
	if (rc)
		return rc;
	np_leave_victim(p, va, s);
	s->ready = true;
	return 0;
}

void np_side_free(struct np_side *s)
{
	free(s->z);
	free(s->miss);
	*s = (struct np_side){ 0 };
}
