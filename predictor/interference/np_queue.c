#include "np_queue.h"

#include <errno.h>
#include <math.h>

int np_queue_service(const struct np_moments *idle, struct np_service *out)
{
	if (!idle->n || !np_moments_valid(idle) || idle->min <= 0)
		return -EINVAL;
	out->mu_per_sec = 1 / idle->mean;
	out->var_sec2 = np_moments_var(idle);
	return 0;
}

static int service_valid(const struct np_service *s)
{
	return isfinite(s->mu_per_sec) && s->mu_per_sec > 0 &&
	       isfinite(s->var_sec2) && s->var_sec2 >= 0;
}

int np_queue_utilisation(const struct np_service *s, double w_sec,
			 double *utilisation, struct np_err *err)
{
	double y, k;

	if (!service_valid(s))
		return np_errf(err, -EINVAL,
			       "service rate %g per second, variance %g: "
			       "expected finite, positive and not negative",
			       s->mu_per_sec, s->var_sec2);
	if (!isfinite(w_sec) || w_sec <= 0)
		return np_errf(err, -EINVAL,
			       "latency %g s: expected a positive, finite time",
			       w_sec);
	y = 2 * (s->mu_per_sec * w_sec - 1);
	k = 1 + s->mu_per_sec * s->mu_per_sec * s->var_sec2;
	*utilisation = y <= 0 ? 0 : y / (y + k);
	return 0;
}

/* Elements at the start of a fitted curve; the knots follow. */
enum { LO, HI, KNOTS, CONSTANT, SLOPE, HEAD };

/* Insert a point into the sorted knots; an equal rho is averaged by weight. */
static size_t insert(double *x, double *y, double *w, size_t n,
		     double utilisation, double slow)
{
	size_t at = n;

	while (at > 0 && x[at - 1] > utilisation)
		at--;
	if (at > 0 && x[at - 1] == utilisation) {
		w[at - 1] += 1;
		y[at - 1] += (slow - y[at - 1]) / w[at - 1];
		return n;
	}
	for (size_t i = n; i > at; i--) {
		x[i] = x[i - 1];
		y[i] = y[i - 1];
		w[i] = w[i - 1];
	}
	x[at] = utilisation;
	y[at] = slow;
	w[at] = 1;
	return n + 1;
}

static void line(double *curve, const double *x, const double *y,
		 const double *w, size_t n)
{
	double sw = 0, mx = 0, my = 0, sxx = 0, sxy = 0;

	for (size_t i = 0; i < n; i++) {
		sw += w[i];
		mx += (x[i] - mx) * w[i] / sw;
		my += (y[i] - my) * w[i] / sw;
	}
	for (size_t i = 0; i < n; i++) {
		sxx += w[i] * (x[i] - mx) * (x[i] - mx);
		sxy += w[i] * (x[i] - mx) * (y[i] - my);
	}
	curve[SLOPE] = sxy / sxx;
	curve[CONSTANT] = my - curve[SLOPE] * mx;
	curve[KNOTS] = 0;
}

/*
 * Replace y by the nearest non-decreasing sequence (pool adjacent violators).
 */
static void pool(double *y, double *w, size_t n)
{
	size_t len[n], blocks = 0;

	for (size_t i = 0; i < n; i++) {
		double value = y[i], weight = w[i];
		size_t count = 1;

		while (blocks > 0 && y[blocks - 1] >= value) {
			blocks--;
			value = (value * weight + y[blocks] * w[blocks]) /
				(weight + w[blocks]);
			weight += w[blocks];
			count += len[blocks];
		}
		y[blocks] = value;
		w[blocks] = weight;
		len[blocks++] = count;
	}
	/* Expand the pooled values in place, starting from the end. */
	for (size_t b = blocks, to = n; b-- > 0;)
		for (size_t k = len[b]; k-- > 0;)
			y[--to] = y[b];
}

int np_curve_fit(enum np_curve_shape shape, const double *utilisation,
		 const double *slow, size_t n, double *curve,
		 struct np_err *err)
{
	double *x = curve + HEAD, *y = x + n, w[n ? n : 1];
	double lo = INFINITY, hi = -INFINITY;
	size_t knots = 0;

	for (size_t i = 0; i < n; i++) {
		lo = fmin(lo, utilisation[i]);
		hi = fmax(hi, utilisation[i]);
		if (utilisation[i] < NP_CURVE_FIT_MAX)
			knots = insert(x, y, w, knots, utilisation[i], slow[i]);
	}
	if (knots < 2)
		return np_errf(err, -EDOM,
			       "%zu distinct utilisations below %g, expected "
			       "at least 2 for a curve",
			       knots, NP_CURVE_FIT_MAX);
	curve[LO] = lo;
	curve[HI] = hi;
	curve[KNOTS] = (double)knots;
	if (shape == NP_CURVE_LINE) {
		line(curve, x, y, w, knots);
		return 0;
	}
	pool(y, w, knots);
	for (size_t i = 0; i < knots; i++) /* move y directly after x */
		x[knots + i] = y[i];
	return 0;
}

static double between(const double *x, const double *y, size_t n, double at)
{
	size_t i = 1;

	if (at <= x[0])
		return y[0];
	if (at >= x[n - 1])
		return y[n - 1];
	while (x[i] < at)
		i++;
	return y[i - 1] +
	       (y[i] - y[i - 1]) * (at - x[i - 1]) / (x[i] - x[i - 1]);
}

double np_curve_at(const double *curve, double utilisation, bool *outside)
{
	size_t n = (size_t)curve[KNOTS];
	double at = fmin(fmax(utilisation, curve[LO]), curve[HI]);

	if (at != utilisation && outside)
		*outside = true;
	if (!n)
		return fmax(0, curve[CONSTANT] + curve[SLOPE] * at);
	return between(curve + HEAD, curve + HEAD + n, n, at);
}
