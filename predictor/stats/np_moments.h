/*
 * Moments of measured values, and what follows from them: time series, means
 * with their scatter, and the noise of a measured slowdown; and quantiles.
 */
#ifndef NP_MOMENTS_H
#define NP_MOMENTS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- moments ---- */

/*
 * Count, mean, variance and range of a stream of values, computed in one pass
 * and mergeable (Chan, Golub, LeVeque 1979). Empty when zeroed. The unit is
 * that of the values.
 */
struct np_moments {
	uint64_t n;
	double mean;
	double m2;	 /* sum of squared deviations from the mean */
	double min, max; /* undefined while n == 0 */
};

void np_moments_add(struct np_moments *moments, double x);
void np_moments_merge(struct np_moments *moments,
		      const struct np_moments *other);

/* Unbiased variance and its square root; 0 while n < 2. */
double np_moments_var(const struct np_moments *moments);
double np_moments_sd(const struct np_moments *moments);

/*
 * Half the width of the 95 % interval of the mean, by Student's t; INFINITY
 * while n < 2.
 */
double np_moments_half_width(const struct np_moments *moments);

/*
 * The number of standard errors by which the mean of normally distributed
 * values exceeds the truth with this probability, by Student's t; INFINITY
 * while n < 2.
 */
double np_moments_errors(const struct np_moments *moments, double probability);

/*
 * True if np_moments_add() can have produced these values: for checking input.
 */
int np_moments_valid(const struct np_moments *moments);

/* ---- time series ---- */

/*
 * Latency over time: consecutive windows of equal width with the moments of
 * each, so that the phases of a program can be seen.
 *
 * The number of windows is bounded. When a run outgrows NP_SERIES_MAX windows,
 * pairs of windows are merged and the width doubles. A window may be empty
 * (n == 0).
 */

#define NP_SERIES_MAX 2048

struct np_series {
	double width_sec;
	size_t n; /* windows in use: 0 .. n-1; the last one may still grow */
	struct np_moments w[NP_SERIES_MAX]; /* latency, seconds */
};

/* An empty series with windows of width_sec (> 0) seconds. */
void np_series_init(struct np_series *series, double width_sec);

/*
 * Merge moments measured around at_sec (seconds since the start of the run)
 * into the window that covers it. Times may be late and out of order. Returns
 * 0, or -EINVAL if at_sec is negative, not finite or beyond 10 years.
 */
int np_series_add(struct np_series *series, double at_sec,
		  const struct np_moments *moments);

/* ---- means of repeated measurements ---- */

/*
 * A quantity measured n times: a slowdown (T_with - T_alone) / T_alone, or a
 * sharing coefficient. Not measured when zeroed.
 */
struct np_mean {
	uint32_t n; /* 0: not measured, and the rest is undefined */
	double mean;
	double sd; /* of one measurement; NaN: unknown, as with n == 1 */
};

static inline struct np_mean np_mean_of(const struct np_moments *m)
{
	return (struct np_mean){
		.n = (uint32_t)m->n,
		.mean = m->mean,
		.sd = m->n > 1 ? np_moments_sd(m) : NAN,
	};
}

static inline bool np_mean_known(const struct np_mean *m)
{
	return m->n > 0;
}

/*
 * True for a slowdown that can be used: not measured at all, or finite and
 * above -1 (a program that takes no time), with an sd that is unknown or >= 0.
 */
static inline bool np_slowdown_valid(const struct np_mean *m)
{
	return !m->n || (isfinite(m->mean) && m->mean > -1 &&
			 (isnan(m->sd) || (isfinite(m->sd) && m->sd >= 0)));
}

/* ---- quantiles ---- */

/* The value nearest to a quantile of n, which become sorted; NaN if n is 0. */
double np_quantile(double *v, size_t n, double q);

/* The median of n values, which become sorted; NaN if n is 0. */
double np_median(double *v, size_t n);

/* ---- noise of a measured slowdown ---- */

/*
 * How far a measured slowdown may be from the truth.
 *
 * The scatter of run times is relative, so noise is the standard deviation of
 * log(1 + slowdown). With two or three runs each, a single sd says little. It
 * is shrunk towards that of the other measurements of the same program, as
 * moderated variances are (Smyth 2004), and where nothing was repeated, towards
 * NP_NOISE_DEFAULT. That is how much slowdowns of whole runs of MPI programs
 * differed on our own testbed when measured again: t/between
 * (doc/validation/accuracy.md).
 */

#define NP_NOISE_DEFAULT 0.027 /* of 1 + slowdown, for one run */
#define NP_NOISE_PRIOR 4.0     /* weight of the other measurements, in runs */

/*
 * Returns the degrees of freedom of the scatter of mean itself, n - 1, and sets
 * *square to its variance relative to (1 + mean)^2. Returns 0, and leaves
 * *square alone, if the scatter is not known.
 */
double np_noise_freedom(const struct np_mean *mean, double *square);

/* Pooled relative sd of one run over mean[n]; the default counts as one run. */
double np_noise_pooled(const struct np_mean *mean, size_t n);

/*
 * sd of log(1 + mean->mean), a measured mean, given the pooled sd of similar
 * ones.
 */
double np_noise_of_mean(const struct np_mean *mean, double pooled);

/*
 * The interval of a measured slowdown that has this probability, symmetric in
 * log(1 + slowdown): Student's t with the degrees of freedom of the sd above.
 */
void np_noise_interval_of(const struct np_mean *mean, double pooled,
			  double probability, double *low, double *high);

/* The same with a probability of 95 %. */
void np_noise_interval(const struct np_mean *mean, double pooled, double *low,
		       double *high);

#endif
