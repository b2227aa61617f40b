#include "np_self_check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_predict.h"

/* The measurements of a level as a program, without those of two levels. */
static void as_program(const struct np_fabric *f, size_t level,
		       const size_t without[2], struct np_mean *curve,
		       struct np_mean *impact)
{
	for (size_t k = 0; k < f->n_levels; k++) {
		curve[k] = f->pairs[level * f->n_levels + k];
		impact[k] = f->pairs[k * f->n_levels + level];
		if (k == without[0] || k == without[1])
			curve[k].n = impact[k].n = 0;
	}
}

/* Predict level v under level c from all other levels; NaN if impossible. */
static double predict(struct np_predictor *p, const struct np_fabric *f,
		      size_t v, size_t c, struct np_mean *scratch)
{
	const size_t without[2] = { v, c }, n = f->n_levels;
	struct np_program a[2] = {
		{ .name = f->level[v].name,
		  .curve = scratch,
		  .impact = scratch + n },
		{ .name = f->level[c].name,
		  .curve = scratch + 2 * n,
		  .impact = scratch + 3 * n },
	};
	const struct np_program *co = &a[1];
	struct np_prediction out;

	as_program(f, v, without, scratch, scratch + n);
	as_program(f, c, without, scratch + 2 * n, scratch + 3 * n);
	return np_predict(p, &a[0], &co, 1, NP_SCOPE_LEAF, &out, NULL) ?
		       NAN :
		       out.slowdown;
}

static void find_worst(const struct np_scored *s, size_t n,
		       struct np_self_check *out)
{
	out->worst_points = 0;
	for (size_t i = 0; i < n; i++) {
		struct np_moments m = { .n = 0 };

		for (size_t k = 0; k < n; k++) {
			double row = fabs(s[i * n + k].predicted -
					  s[i * n + k].measured);
			double col = fabs(s[k * n + i].predicted -
					  s[k * n + i].measured);

			if (isfinite(row))
				np_moments_add(&m, 100 * row);
			if (isfinite(col))
				np_moments_add(&m, 100 * col);
		}
		if (m.n && m.mean > out->worst_points) {
			out->worst = i;
			out->worst_points = m.mean;
		}
	}
}

/* Compute the errors of the model and of the best constant. */
static int score(const struct np_scored *s, size_t n, struct np_self_check *out)
{
	struct np_score model, baseline;
	double constant;
	int rc = np_accuracy_score(s, n * n, &model);

	if (!rc)
		rc = np_accuracy_score_constant(s, n * n, &constant, &baseline);
	if (rc)
		return rc;
	out->n = model.n;
	out->mean_points = model.mean_points;
	find_worst(s, n, out);
	out->constant_points = baseline.mean_points;
	out->doubtful = out->n && out->mean_points > NP_SELF_CHECK_POINTS &&
			out->mean_points >
				NP_SELF_CHECK_SHARE * out->constant_points;
	return 0;
}

int np_self_check(const struct np_fabric *f, struct np_self_check *out,
		  struct np_err *err)
{
	const struct np_predict_opt opt = { .strict = true, .seed = 1 };
	struct np_fabric own = *f; /* with a sharing coefficient of 1 */
	size_t n = f->n_levels;
	struct np_scored *s = calloc(n * n + 1, sizeof(*s));
	struct np_mean *scratch = calloc(4 * n + 1, sizeof(*scratch));
	struct np_predictor *p = NULL;
	int rc = -ENOMEM;

	*out = (struct np_self_check){ .n = 0 };
	own.sharing[NP_SCOPE_LEAF] = (struct np_mean){ 1, 1, NAN };
	if (s && scratch)
		rc = np_predictor_new(&own,
				      np_model_find(NP_MODEL_DEFAULT, NULL),
				      &opt, &p, err);
	for (size_t i = 0; !rc && f->pairs && i < n * n; i++) {
		bool known = np_mean_known(&f->pairs[i]);

		s[i].measured = known ? f->pairs[i].mean : NAN;
		s[i].predicted =
			known ? predict(p, &own, i / n, i % n, scratch) : NAN;
	}
	if (!rc && f->pairs)
		rc = score(s, n, out);
	if (rc == -ENOMEM)
		np_errf(err, rc, "out of memory");
	np_predictor_free(p);
	free(scratch);
	free(s);
	return rc;
}

bool np_self_check_fails(const struct np_fabric *f)
{
	struct np_self_check check;

	return !np_self_check(f, &check, NULL) && check.doubtful;
}
