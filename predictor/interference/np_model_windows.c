/*
 * The queue model for a co-runner with phases (own derivation): a utilisation
 * for each window of its run, the curve read at each, and speeds averaged,
 *	1/(1 + d_A) = mean over t of 1/(1 + p_A(rho_t)).
 *
 * x: [0] the number of windows, then their utilisations.
 */
#include "np_model_impl.h"

#include <math.h>

int np_windows_describe(const struct np_model *m, struct np_data *v, double *x,
			bool warm)
{
	size_t n = v->co->n_windows;
	int rc = 0;

	(void)m, (void)warm;
	x[0] = (double)n;
	for (size_t t = 0; !rc && t < n; t++)
		rc = np_queue_rho_of(v, false, v->co->window[t], &x[1 + t]);
	return rc;
}

int np_windows_join(const struct np_model *m, struct np_data *v,
		    const double *x, const double *y, double *log_slow)
{
	size_t n = (size_t)x[0];
	bool outside = false;
	double speed = 0;

	(void)m;
	for (size_t t = 0; t < n; t++)
		speed += 1 / (1 + np_queue_read(y, x[1 + t], &outside));
	if (outside)
		v->flags |= NP_PRED_BEYOND;
	*log_slow = -log(speed / (double)n);
	return 0;
}
