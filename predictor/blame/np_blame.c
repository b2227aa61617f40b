#include "np_blame.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_nnls.h"
#include "np_rng.h"

#define SAMPLES 400	  /* samples of the posterior distribution */
#define ROUNDS 6	  /* iterations of reweighting outliers */
#define LEAST_NOISE 0.012 /* least relative noise of a run time */
#define LEAST_FAST 4	  /* fast runs needed to estimate the noise */
/*
 * Accounting has times in whole seconds; this is the standard deviation of the
 * error of a difference of two.
 */
#define RESOLUTION_SEC 0.41
#define HUBER 2.0	  /* standard deviations beyond which weights drop */
#define UNKNOWN_SD 0.10	  /* prior of the unknown cause, over the time alone */
#define LITTLE 0.03	  /* negligible cost, over the time alone */
#define LEAST_PART 0.15	  /* least part of the excess of a blamed cause */
#define SURE 0.8	  /* least confidence in a blamed cause */
#define SLOW_SD 2.5	  /* least excess of a slow run, standard deviations */
/*
 * A run is only slow if it also took longer than this share of the comparable
 * runs. The time alone is that of a run without any exposure. On a busy machine
 * there may be none, and all runs would be slow.
 */
#define FAST_SHARE 0.2
#define NOT_MEASURED 3.0  /* factor on the noise of runs without exposures */

/* Unknowns: time alone, cost of each cause, unknown cause of the last run. */
#define MAX_X (NP_BLAME_MAX_CAUSES + 2)

/* The system of equations. All times in it are in units of scale. */
struct fit {
	const double *sec, *exposure;
	const struct np_blame_prior *prior;
	size_t n, k;  /* runs; causes */
	bool unknown; /* the last run has an unknown cause */
	double scale; /* median run time, seconds */
	double noise; /* relative */
	double *weight; /* of each run, lower for outliers */
	bool *partly;	/* an exposure of the run is unknown */
	struct np_nnls *nnls;
};

/* Quantile of sorted values. */
static double quantile(const double *v, size_t n, double q)
{
	double at = q * (double)(n - 1);
	size_t i = (size_t)at;

	return i + 1 < n ? v[i] + (at - (double)i) * (v[i + 1] - v[i]) : v[i];
}

/* Quantile of values in any order. */
static int find_quantile(const double *v, size_t n, double q, double *out)
{
	double *sorted = malloc((n + 1) * sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, v, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), np_order_double);
	*out = quantile(sorted, n, q);
	free(sorted);
	return 0;
}

static int median(const double *v, size_t n, double *out)
{
	return find_quantile(v, n, 0.5, out);
}

/* Exposure of a run; unknown ones count as 0. */
static double exposed(const struct fit *f, size_t run, size_t cause)
{
	double x = f->exposure[run * f->k + cause];

	return isnan(x) ? 0 : x / f->scale;
}

static size_t unknowns(const struct fit *f)
{
	return 1 + f->k + f->unknown;
}

/* The row of one run in the system of equations. */
static void row(const struct fit *f, size_t run, double *a)
{
	a[0] = 1;
	for (size_t c = 0; c < f->k; c++)
		a[1 + c] = exposed(f, run, c);
	if (f->unknown)
		a[1 + f->k] = run + 1 == f->n;
}

/* Standard deviation of a run's time. */
static double sd_of(const struct fit *f, size_t run)
{
	double sd = hypot(f->noise * f->sec[run], RESOLUTION_SEC) / f->scale;

	return f->partly[run] ? NOT_MEASURED * sd : sd;
}

/* Solve for x; rng: with random perturbations, NULL: the best solution. */
static int solve(const struct fit *f, struct np_rng *rng, double *x)
{
	double gram[MAX_X * MAX_X] = { 0 }, h[MAX_X] = { 0 }, a[MAX_X];
	size_t m = unknowns(f);

	for (size_t i = 0; i < f->n; i++) {
		double sd = sd_of(f, i), y = f->sec[i] / f->scale;
		double w = f->weight[i] / (sd * sd);

		row(f, i, a);
		if (rng)
			y += sd / sqrt(f->weight[i]) * np_rng_normal(rng);
		for (size_t r = 0; r < m; r++) {
			h[r] += w * a[r] * y;
			for (size_t c = 0; c < m; c++)
				gram[r * MAX_X + c] += w * a[r] * a[c];
		}
	}
	for (size_t r = 1; r < m; r++) {
		bool own = r == 1 + f->k;
		double sd = own ? UNKNOWN_SD : f->prior[r - 1].sd;
		double mean = own ? 0 : f->prior[r - 1].mean;

		if (rng)
			mean += sd * np_rng_normal(rng);
		gram[r * MAX_X + r] += 1 / (sd * sd);
		h[r] += mean / (sd * sd);
	}
	return np_nnls_solve(f->nnls, gram, MAX_X, 0, h, m, x, false, NULL);
}

static double residual(const struct fit *f, size_t run, const double *x)
{
	double a[MAX_X], y = f->sec[run] / f->scale, fitted = 0;

	row(f, run, a);
	for (size_t c = 0; c < unknowns(f); c++)
		fitted += a[c] * x[c];
	return (y - fitted) / y;
}

/*
 * Median of the absolute residuals, which is robust to outliers; fast: only of
 * runs that were faster than the fit.
 */
static int middle(const struct fit *f, const double *x, bool fast,
		  double *abs_residual, double *mid, size_t *n)
{
	*n = 0;
	for (size_t i = 0; i + f->unknown < f->n; i++) {
		double r = residual(f, i, x);

		if (!f->partly[i] && (!fast || r < 0))
			abs_residual[(*n)++] = fabs(r);
	}
	return *n ? median(abs_residual, *n, mid) : 0;
}

/*
 * Estimate the noise and set the weights. Unknown causes make runs slower but
 * never faster, so the faster runs may be better evidence of the noise.
 */
static int weigh(struct fit *f, const double *x, double *abs_residual)
{
	double mid = 0, fast = 0;
	size_t n, n_fast;

	if (middle(f, x, true, abs_residual, &fast, &n_fast) ||
	    middle(f, x, false, abs_residual, &mid, &n))
		return -ENOMEM;
	if (!n)
		return 0;
	if (n_fast >= LEAST_FAST && fast < mid)
		mid = fast;
	/* Correct for the fit following its own runs, the fewer the more. */
	f->noise = fmax(1.4826 * mid * sqrt((double)n / fmax((double)n - 1, 1)),
			LEAST_NOISE);
	for (size_t i = 0; i < f->n; i++) {
		double r = fabs(residual(f, i, x)) * f->sec[i] / f->scale /
			   sd_of(f, i);

		f->weight[i] = r > HUBER ? HUBER / r : 1;
	}
	return 0;
}

static void release(struct fit *f)
{
	free(f->weight);
	free(f->partly);
	np_nnls_free(f->nnls);
}

static int check(const struct fit *f, struct np_err *err)
{
	if (f->k > NP_BLAME_MAX_CAUSES)
		return np_errf(err, -EINVAL, "more than %d causes",
			       NP_BLAME_MAX_CAUSES);
	for (size_t i = 0; i < f->n; i++) {
		if (!(f->sec[i] > 0) || !isfinite(f->sec[i]))
			return np_errf(err, -EINVAL, "run %zu: a run time of "
				       "%g s, expected more than 0", i,
				       f->sec[i]);
		for (size_t c = 0; c < f->k; c++) {
			double x = f->exposure[i * f->k + c];

			if (x < 0 || isinf(x))
				return np_errf(err, -EINVAL, "run %zu: an "
					       "exposure of %g s", i, x);
		}
	}
	return 0;
}

/* Compute weights, noise and the best solution x. */
static int prepare(struct fit *f, double *x, struct np_err *err)
{
	double *work;
	int rc = check(f, err);

	if (rc)
		return rc;
	work = malloc((f->n + 1) * sizeof(*work));
	f->weight = malloc((f->n + 1) * sizeof(*f->weight));
	f->partly = calloc(f->n + 1, sizeof(*f->partly));
	f->nnls = np_nnls_new(MAX_X);
	if (!work || !f->weight || !f->partly || !f->nnls ||
	    median(f->sec, f->n - f->unknown, &f->scale))
		rc = -ENOMEM;
	for (size_t i = 0; !rc && i < f->n; i++) {
		f->weight[i] = 1;
		/* Causes not known for the last run do not matter. */
		for (size_t c = 0; c < f->k; c++)
			f->partly[i] |= isnan(f->exposure[i * f->k + c]) &&
				!isnan(f->exposure[(f->n - 1) * f->k + c]);
	}
	f->noise = 0.03;
	for (int r = 0; !rc && r < ROUNDS; r++) {
		rc = solve(f, NULL, x);
		if (!rc)
			rc = weigh(f, x, work);
	}
	if (!rc)
		rc = solve(f, NULL, x);
	free(work);
	return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : rc;
}

/* Mean and interval of the samples, times a factor. Sorts v. */
static struct np_blame_range range_of(double v[SAMPLES], double times)
{
	const double tail = (1 - NP_BLAME_INTERVAL) / 2;
	double sum = 0;

	for (size_t i = 0; i < SAMPLES; i++)
		sum += v[i];
	qsort(v, SAMPLES, sizeof(*v), np_order_double);
	return (struct np_blame_range){
		.mean = times * sum / SAMPLES,
		.low = times * quantile(v, SAMPLES, tail),
		.high = times * quantile(v, SAMPLES, 1 - tail),
	};
}

/* Share of the samples above a limit. */
static double above(const double v[SAMPLES], double limit)
{
	size_t k = 0;

	for (size_t i = 0; i < SAMPLES; i++)
		k += v[i] > limit;
	return (double)k / SAMPLES;
}

static int sample_all(const struct fit *f, double *x)
{
	struct np_rng *rng = np_rng_new(1, "blame");
	int rc = rng ? 0 : -ENOMEM;

	for (size_t d = 0; !rc && d < SAMPLES; d++)
		rc = solve(f, rng, x + d * MAX_X);
	np_rng_free(rng);
	return rc;
}

/*
 * Set the verdict. slow: probability that the run is slow at all; over_fast_sec:
 * how much longer it took than the fast ones of the comparable runs; certain_sec:
 * what each cause cost it at least.
 *
 * The time of one run says that it was slow only beyond the noise of a run. What a
 * cause costs follows from all runs, and may be certain although it is less.
 */
static void judge(struct np_blame *b, double slow, double over_fast_sec,
		  const double *certain_sec)
{
	double excess = b->excess_sec.mean, alone = b->alone_sec.mean, most = 0;
	double sd = hypot(b->noise * alone, RESOLUTION_SEC);
	double least = NP_BLAME_LEAST_SHARE * alone;
	double limit = fmax(least, SLOW_SD * sd);
	bool by_time = fmin(excess, over_fast_sec) >= limit;

	b->verdict = by_time ? NP_BLAME_UNEXPLAINED : NP_BLAME_NOT_SLOW;
	b->confidence = excess < limit ? 1 - slow : 1 - FAST_SHARE;
	if (over_fast_sec < least)
		return;
	for (size_t c = 0; c < b->n_causes; c++) {
		struct np_blame_cause *cause = &b->cause[c];

		cause->blamed = cause->examined && cause->confidence >= SURE &&
				cause->sec.mean >= LEAST_PART * excess &&
				(by_time || certain_sec[c] >= least);
		if (cause->blamed && cause->sec.mean > most) {
			most = cause->sec.mean;
			b->verdict = NP_BLAME_CAUSE;
			b->confidence = cause->confidence;
		}
	}
	if (b->verdict == NP_BLAME_UNEXPLAINED)
		b->confidence = slow;
}

/* Sum of what each cause would cost the last run if it acted alone. */
static double all_causes(const struct fit *f, const double *x)
{
	double sum = 0;

	for (size_t c = 0; c < f->k; c++)
		sum += exposed(f, f->n - 1, c) * x[1 + c];
	return sum;
}

/*
 * Factor on the costs of the last run. Simultaneous causes overlap: where their
 * sum exceeds the excess, each is reduced in proportion.
 */
static double part(const struct fit *f, const double *x)
{
	double excess = f->sec[f->n - 1] / f->scale - x[0];
	double all = all_causes(f, x);

	return all > excess ? fmax(excess, 0) / all : 1;
}

/*
 * Whether a good part of the comparable runs had no exposure to a cause. Where all
 * had some, what it costs is extrapolated. 0 or -ENOMEM.
 */
static int some_without(const struct fit *f, size_t cause, bool *some)
{
	double least = 0;
	double *v = malloc(f->n * sizeof(*v));
	int rc = v ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < f->n; i++)
		v[i] = exposed(f, i, cause);
	if (!rc)
		rc = find_quantile(v, f->n - 1, FAST_SHARE, &least);
	*some = !rc && least <= 0;
	free(v);
	return rc;
}

static int summarise(const struct fit *f, const double *x, double fast_sec,
		     struct np_blame *b)
{
	const size_t last = f->n - 1;
	double v[SAMPLES], certain_sec[NP_BLAME_MAX_CAUSES], slow;
	bool some;

	for (size_t d = 0; d < SAMPLES; d++)
		v[d] = x[d * MAX_X];
	b->alone_sec = range_of(v, f->scale);
	for (size_t d = 0; d < SAMPLES; d++)
		v[d] = f->sec[last] / f->scale - x[d * MAX_X];
	slow = above(v, LITTLE * b->alone_sec.mean / f->scale);
	b->excess_sec = range_of(v, f->scale);
	for (size_t c = 0; c < f->k; c++) {
		for (size_t d = 0; d < SAMPLES; d++)
			v[d] = part(f, x + d * MAX_X) * exposed(f, last, c) *
			       x[d * MAX_X + 1 + c];
		b->cause[c].confidence = above(v, LITTLE * b->alone_sec.mean /
						  f->scale);
		b->cause[c].sec = range_of(v, f->scale);
		if (some_without(f, c, &some))
			return -ENOMEM;
		certain_sec[c] = some ? b->cause[c].sec.low : 0;
		b->cause[c].examined = !isnan(f->exposure[last * f->k + c]);
	}
	for (size_t d = 0; d < SAMPLES; d++) {
		v[d] = f->sec[last] / f->scale - x[d * MAX_X];
		v[d] = fmax(v[d], 0) - part(f, x + d * MAX_X) *
		       all_causes(f, x + d * MAX_X);
	}
	b->unexplained_sec = range_of(v, f->scale);
	judge(b, slow, f->sec[last] - fast_sec, certain_sec);
	return 0;
}

int np_blame_run(const double *sec, const double *exposure, size_t n_runs,
		 size_t n_causes, const struct np_blame_prior *prior,
		 struct np_blame *out, struct np_err *err)
{
	struct fit f = {
		.sec = sec, .exposure = exposure, .prior = prior,
		.n = n_runs + 1, .k = n_causes, .unknown = true,
	};
	double best[MAX_X], fast_sec = 0, *x;
	int rc;

	*out = (struct np_blame){ .n_runs = n_runs, .n_causes = n_causes };
	if (n_runs && (median(sec, n_runs, &out->usual_sec) ||
		       find_quantile(sec, n_runs, FAST_SHARE, &fast_sec)))
		return np_errf(err, -ENOMEM, "out of memory");
	if (n_runs < NP_BLAME_LEAST_RUNS) {
		out->verdict = NP_BLAME_TOO_FEW;
		return check(&f, err);
	}
	x = calloc(SAMPLES * MAX_X, sizeof(*x));
	rc = x ? prepare(&f, best, err) : -ENOMEM;
	out->noise = f.noise;
	if (!rc)
		rc = sample_all(&f, x);
	if (!rc)
		rc = summarise(&f, x, fast_sec, out);
	free(x);
	release(&f);
	return rc;
}

int np_blame_costs(const double *sec, const double *exposure, size_t n,
		   size_t n_causes, const struct np_blame_prior *prior,
		   struct np_blame_range *cost, struct np_blame_range *total)
{
	struct fit f = {
		.sec = sec, .exposure = exposure, .prior = prior, .n = n,
		.k = n_causes,
	};
	double best[MAX_X], *x = calloc(SAMPLES * MAX_X, sizeof(*x));
	double v[SAMPLES];
	int rc = x ? prepare(&f, best, NULL) : -ENOMEM;

	if (!rc)
		rc = sample_all(&f, x);
	for (size_t c = 0; !rc && c < n_causes; c++) {
		double all = 0;

		for (size_t i = 0; i < n; i++)
			all += exposed(&f, i, c);
		for (size_t d = 0; d < SAMPLES; d++)
			v[d] = x[d * MAX_X + 1 + c];
		cost[c] = range_of(v, 1);
		total[c] = cost[c];
		total[c].mean *= all * f.scale;
		total[c].low *= all * f.scale;
		total[c].high *= all * f.scale;
	}
	free(x);
	release(&f);
	return rc;
}
