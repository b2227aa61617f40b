/*
 * Both ways at once (own derivation, doc/validation/methods.md): what a program presses
 * falls as it is slowed itself.  The twosided model says of either program
 * what it would suffer if the other kept its pace, p and q, from levels that
 * are compared on that scale; np_pace_both() says what they suffer together.
 *
 * x and y alike: a program as a co-runner (weights n + 1, unexplained n), then
 * as a victim (curve n, sum of levels n).
 */
#include "np_model_impl.h"

#include "np_pace.h"

/*
 * The view in which a is either program.  back: asked the other way round, so
 * that rows and columns, the levels that are known of the co-runner and of the
 * victim, change places.
 */
static struct np_data view_of(const struct np_data *v,
			      const struct np_data_program *a, bool back)
{
	struct np_data one = *v;

	one.co = one.victim = a;
	if (back) {
		one.row = v->col;
		one.col = v->row;
	}
	return one;
}

static int both_sides(struct np_data *as_co, struct np_data *as_victim,
		      double *z)
{
	size_t side = 2 * as_co->fabric->n_levels + 1;
	int rc = np_twosided_describe(as_co, z);

	return rc ? rc : np_twosided_respond(as_victim, z + side);
}

int np_mutual_describe(struct np_data *v, double *x)
{
	struct np_data as_co = view_of(v, v->co, false);
	struct np_data as_victim = view_of(v, v->co, true);
	int rc = both_sides(&as_co, &as_victim, x);

	v->flags = as_co.flags;
	return rc;
}

/* How hard the victim presses is another question, and its flags, too. */
int np_mutual_respond(struct np_data *v, double *y)
{
	struct np_data as_co = view_of(v, v->victim, true);
	struct np_data as_victim = view_of(v, v->victim, false);

	return both_sides(&as_co, &as_victim, y);
}

int np_mutual_join_both(struct np_data *v, const double *x, const double *y,
			double log_slow[2])
{
	size_t side = 2 * v->fabric->n_levels + 1;
	double z = 0, z_other = 0;
	int rc = np_twosided_join(v, x, y + side, &z);

	if (!rc)
		rc = np_twosided_join(v, y, x + side, &z_other);
	np_pace_both(z, z_other, log_slow);
	return rc;
}

int np_mutual_join(struct np_data *v, const double *x, const double *y,
		   double *log_slow)
{
	double both[2];
	int rc = np_mutual_join_both(v, x, y, both);

	*log_slow = both[0];
	return rc;
}
