/*
 * The queue model of [C]: the co-runner's utilisation of the switch, by the
 * Pollaczek-Khinchine formula from the mean latency beside it, read on the
 * victim's curve over the utilisation of the levels.
 *
 * x[0]: the co-runner's utilisation; y: the victim's curve (np_curve.h).
 */
#include "np_model_impl.h"

#include <math.h>

#include "np_curve.h"
#include "np_queue.h"

/* Utilisation at a mean latency; -EINVAL with v->err if there is none. */
static int rho_of(const struct np_data *v, double mean, double *rho)
{
	const struct np_data_latency *idle = &v->fabric->idle;
	struct np_service s = {
		.mu_per_sec = 1 / idle->mean, .var_sec2 = idle->sd * idle->sd,
	};

	return np_queue_rho(&s, mean, rho, v->err);
}

int np_queue_describe(struct np_data *v, double *x)
{
	return rho_of(v, v->co->latency.mean, &x[0]);
}

int np_queue_respond(struct np_data *v, double *y)
{
	const struct np_levels *col = v->col;
	double rho[col->n + 1], slow[col->n + 1];
	int rc = 0;

	for (size_t i = 0; !rc && i < col->n; i++) {
		slow[i] = 1 / exp(-v->victim->log_curve[col->at[i]]) - 1;
		rc = rho_of(v, v->fabric->level[col->at[i]].mean, &rho[i]);
	}
	return rc ? rc : np_curve_fit(NP_CURVE_LINE, rho, slow, col->n, y,
				      v->err);
}

int np_queue_join(struct np_data *v, const double *x, const double *y,
		  double *log_slow)
{
	bool outside = false;

	*log_slow = log1p(np_curve_at(y, x[0], &outside));
	if (outside)
		v->flags |= NP_PRED_BEYOND;
	return 0;
}
