/*
 * Both ways at once (own derivation, doc/methods.md): what a program presses
 * falls as it is slowed itself.  The twosided model says of either program
 * what it would suffer if the other kept its pace, p and q, from levels that
 * are compared on that scale; np_pace_solve() says what they suffer together.
 *
 * x and y alike: a program as a co-runner (weights n + 1, unexplained n), then
 * as a victim (curve n, sum of levels n).
 */
#include "np_model_impl.h"

#include "np_pace.h"

/* Levels of which both halves may be looked at. */
static size_t both_halves(const struct np_view *v, size_t *list)
{
	size_t n = 0, r = 0;

	for (size_t c = 0; c < v->n_col; c++) {
		while (r < v->n_row && v->row[r] < v->col[c])
			r++;
		if (r < v->n_row && v->row[r] == v->col[c])
			list[n++] = v->col[c];
	}
	return n;
}

static int both_sides(const struct np_model *m, struct np_view *v,
		      const struct np_view_program *a, double *z, bool warm)
{
	size_t n = v->fabric->n_levels, list[v->n_col + 1];
	struct np_view one = *v;
	int rc;

	one.co = one.victim = a;
	one.col = one.row = list;
	one.n_col = one.n_row = both_halves(v, list);
	rc = np_twosided_describe(m, &one, z, warm);
	if (!rc)
		rc = np_twosided_respond(m, &one, z + 2 * n + 1, warm);
	v->flags = one.flags;
	return rc;
}

int np_mutual_describe(const struct np_model *m, struct np_view *v, double *x,
		       bool warm)
{
	return both_sides(m, v, v->co, x, warm);
}

int np_mutual_respond(const struct np_model *m, struct np_view *v, double *y,
		      bool warm)
{
	unsigned flags = v->flags;
	int rc = both_sides(m, v, v->victim, y, warm);

	v->flags = flags; /* how hard it presses itself is another question */
	return rc;
}

int np_mutual_join(const struct np_model *m, struct np_view *v,
		   const double *x, const double *y, double *log_slow)
{
	size_t side = 2 * v->fabric->n_levels + 1;
	double z = 0, z_other = 0;
	int rc = np_twosided_join(m, v, x, y + side, &z);

	if (!rc)
		rc = np_twosided_join(m, v, y, x + side, &z_other);
	*log_slow = np_pace_solve(z, z_other);
	return rc;
}
