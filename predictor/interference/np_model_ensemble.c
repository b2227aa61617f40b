/*
 * The members' answers, averaged as logarithms with weights that the levels
 * choose (np_loo_ensemble()): one set for co-runners within what the levels
 * cover, another for those beyond, where the members differ most.
 */
#include "np_model_impl.h"

/*
 * x: weights as in twosided (n + 1), unexplained pressure (n), pressure (n),
 * weights as in open (n + 1)
 */
int np_ensemble_describe(struct np_data *v, double *x)
{
	size_t n = v->fabric->n_levels;
	int rc = np_twosided_describe(v, x);

	if (!rc)
		rc = np_victim_describe(v, x + 2 * n + 1);
	return rc ? rc : np_open_describe(v, x + 3 * n + 1);
}

/* y: log curve (n), victim shrunk (n), speeds (n), victim (n) */
int np_ensemble_respond(struct np_data *v, double *y)
{
	size_t n = v->fabric->n_levels;
	int rc = np_twosided_respond(v, y);

	if (rc)
		return rc;
	np_weights_curve(v, NP_AVERAGE_HARMONIC, y + 2 * n);
	return np_victim_respond(v, y + 3 * n);
}

void np_ensemble_members(struct np_data *v, const double *x, const double *y,
			 double out[NP_ENSEMBLE_MEMBERS])
{
	size_t n = v->fabric->n_levels;

	out[0] = np_weights_join(v, NP_AVERAGE_HARMONIC, x, y + 2 * n);
	out[1] = np_weights_join(v, NP_AVERAGE_LOG, x + 3 * n + 1, y);
	np_victim_join(v, x + 2 * n + 1, y + 3 * n, &out[2]);
	np_twosided_join(v, x, y, &out[3]);
}

int np_ensemble_join(struct np_data *v, const double *x, const double *y,
		     double *log_slow)
{
	const double *weight = v->ensemble;
	double member[NP_ENSEMBLE_MEMBERS], sum = 0;

	if (v->flags & NP_PRED_BEYOND)
		weight += NP_ENSEMBLE_MEMBERS;
	np_ensemble_members(v, x, y, member);
	for (size_t i = 0; i < NP_ENSEMBLE_MEMBERS; i++)
		sum += weight[i] * member[i];
	*log_slow = sum;
	return 0;
}
