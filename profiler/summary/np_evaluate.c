#include "np_evaluate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* One evaluation. */
struct evaluation {
	const struct np_measured_set *s;
	struct np_predictor *p;
	const struct np_program **app;
	struct np_prediction *pair; /* n_apps x n_apps */
	int *pair_rc;
	struct np_err *why;
};

/* Predict one case. */
static int predict_case(struct evaluation *t, const struct np_measured_case *c,
			struct np_prediction *out)
{
	const struct np_program *co[NP_MEASURED_MAX_CO];
	struct np_err why = NP_ERR_INIT;
	int rc;

	for (size_t i = 0; i < c->n_co; i++)
		co[i] = t->app[c->co[i]];
	rc = np_predict(t->p, t->app[c->victim], co, c->n_co, NP_SCOPE_LEAF,
			out, &why);
	if (rc && t->why && !t->why->text[0])
		*t->why = why;
	return rc;
}

/* Take the answer from the matrix if it has one; else ask, to learn why not. */
static int evaluate_case(struct evaluation *t, const struct np_measured_case *c,
			 struct np_prediction *out)
{
	size_t at = c->victim * t->s->n_apps + c->co[0];

	*out = (struct np_prediction){
		.slowdown = NAN,
		.low = NAN,
		.high = NAN,
	};
	if (c->n_co == 1 && !t->pair_rc[at]) {
		*out = t->pair[at];
		return 0;
	}
	return predict_case(t, c, out);
}

int np_evaluate(const struct np_measured_set *s, const struct np_model *m,
		const struct np_predict_opt *opt, struct np_prediction *out,
		int *rc, struct np_err *why, struct np_err *err)
{
	size_t n = s->n_apps;
	struct evaluation t = { .s = s, .why = why };
	int ret = np_predictor_new(&s->fabric, m, opt, &t.p, err);

	if (ret)
		return ret;
	t.app = calloc(n + 1, sizeof(*t.app));
	t.pair = calloc(n * n + 1, sizeof(*t.pair));
	t.pair_rc = calloc(n * n + 1, sizeof(*t.pair_rc));
	if (!t.app || !t.pair || !t.pair_rc)
		ret = np_errf(err, -ENOMEM, "%s: no memory for %zu programs",
			      s->name, n);
	for (size_t i = 0; !ret && i < n; i++)
		t.app[i] = &s->app[i];
	if (!ret)
		ret = np_predict_matrix(t.p, t.app, n, NP_SCOPE_LEAF, t.pair,
					t.pair_rc, err);
	for (size_t i = 0; !ret && i < s->n_rows; i++)
		rc[i] = evaluate_case(&t, &s->row[i], &out[i]);
	free(t.app);
	free(t.pair);
	free(t.pair_rc);
	np_predictor_free(t.p);
	return ret;
}

struct np_scored np_evaluate_scored(const struct np_prediction *p,
				    const struct np_measured_case *c)
{
	return (struct np_scored){
		.predicted = p->slowdown,
		.low = p->low,
		.high = p->high,
		.measured = c->slowdown.mean,
	};
}
