/*
 * The victim's own execution graph under the latency that the co-runner adds
 * (own derivation, doc/validation/methods.md).  The probes beside the co-runner say how
 * latencies are distributed; what they exceed those of the idle fabric by,
 * quantile by quantile, is added to each message of the victim, and speeds are
 * averaged, as a network stays in one state for longer than one message:
 *
 *	1/(1 + d_A) = mean over q of 1/R_A(Q_B(q) - Q_idle(q), g)
 *
 * R_A: np_response.h.  g: how much longer a byte takes, which a level shows
 * that does nothing but send much: 1 + its slowdown by the co-runner, of the
 * level that sends most.
 *
 * x: the excess at each quantile, in seconds, then g.
 */
#include "np_model_impl.h"

#include <errno.h>
#include <math.h>

#include "np_response.h"

/* The latency below which this share is; linear within a bin. */
static double quantile(const struct np_bins *bins, const double *cdf,
		       double share)
{
	double low, high, below;
	size_t b = 0;

	while (b + 1 < bins->n && cdf[b] < share)
		b++;
	low = bins->edge[b];
	high = bins->edge[b + 1];
	below = b ? cdf[b - 1] : 0;
	if (!isfinite(high) || !(cdf[b] > below))
		return low;
	return low + (high - low) * (share - below) / (cdf[b] - below);
}

/* How much longer a level's rounds take beside the co-runner; 1: not known. */
static double rounds(struct np_data *v, size_t level)
{
	return level < v->fabric->n_levels ? exp(v->co->log_pressure[level]) :
					     1;
}

/* What is not known is 1. */
static double gap_times(struct np_data *v)
{
	double times = rounds(v, v->fabric->bulk_level);

	if (times == 1)
		v->flags |= NP_PRED_NO_PRESSURE;
	return fmax(1, times);
}

/* Keep the shape of the excess, but let its mean be what is felt elsewhere. */
static int scale_to_felt(struct np_data *v, double *x)
{
	double times = rounds(v, v->fabric->brief_level), sum = 0, felt;

	if (times == 1)
		return np_errf(v->err, -ENODATA, "how much it slows the level "
			       "that sends least was not measured");
	for (size_t i = 0; i < NP_TOLERANCE_QUANTILES; i++)
		sum += x[i];
	felt = fmax(0, times - 1) * v->fabric->idle.mean;
	for (size_t i = 0; sum > 0 && i < NP_TOLERANCE_QUANTILES; i++)
		x[i] *= fmin(1, felt * NP_TOLERANCE_QUANTILES / sum);
	return 0;
}

int np_tolerance_describe(struct np_data *v, double *x)
{
	const struct np_bins *bins = v->fabric->bins;

	for (size_t i = 0; i < NP_TOLERANCE_QUANTILES; i++) {
		double share = ((double)i + 0.5) / NP_TOLERANCE_QUANTILES;

		x[i] = fmax(0, quantile(bins, v->co->latency.cdf, share) -
			       quantile(bins, v->fabric->idle.cdf, share));
	}
	x[NP_TOLERANCE_QUANTILES] = gap_times(v);
	return v->model->variant == NP_TOLERANCE_FELT ? scale_to_felt(v, x) : 0;
}

int np_tolerance_respond(struct np_data *v, double *y)
{
	y[0] = 0;
	return v->victim->response ? 0 : np_errf(v->err, -ENODATA,
						 "a level has no trace");
}

int np_tolerance_join(struct np_data *v, const double *x, const double *y,
		      double *log_slow)
{
	double speed = 0;

	(void)y;
	for (size_t i = 0; i < NP_TOLERANCE_QUANTILES; i++)
		speed += 1 / np_response_at(v->victim->response, x[i],
					    x[NP_TOLERANCE_QUANTILES]);
	*log_slow = -log(speed / NP_TOLERANCE_QUANTILES);
	return 0;
}
