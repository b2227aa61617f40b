#include "np_blame.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_nnls.h"
#include "np_rng.h"

#define N_SAMPLES 400	/* samples of the posterior distribution */
#define N_ITERATIONS 6	/* iterations of reweighting outliers */
#define MIN_NOISE 0.012 /* relative noise of a run time */
#define MIN_FAST 4	/* fast runs needed to estimate the noise */
/*
 * Accounting has times in whole seconds. This is the standard deviation of the
 * error of a difference of two times.
 */
#define RESOLUTION_SEC 0.41
#define HUBER 2.0	   /* standard deviations beyond which weights drop */
#define UNKNOWN_SD 0.10	   /* prior of the unknown cause, like NEGLIGIBLE */
#define NEGLIGIBLE 0.03	   /* cost, relative to the time alone */
#define MIN_PART 0.15	   /* of the excess, for a blamed cause */
#define MIN_CONFIDENCE 0.8 /* in a blamed cause */
#define SLOW_SD 2.5	   /* excess of a slow run, standard deviations */
/*
 * A run is slow only if it also took longer than this share of the comparable
 * runs. The time alone is that of a run without any exposure. On a busy machine
 * there may be no such run, and all runs would count as slow.
 */
#define FAST_SHARE 0.2
#define UNMEASURED_FACTOR 3.0 /* on the noise of runs without exposures */

/*
 * The unknowns: time alone, cost of each cause, unknown cause of the last run.
 */
#define MAX_UNKNOWNS (NP_BLAME_MAX_CAUSES + 2)

/* The system of equations. All times in it are in units of scale. */
struct fit {
	const double *sec, *exposure;
	const struct np_blame_prior *prior;
	size_t n_runs, n_causes;
	bool has_unknown; /* the last run has an unknown cause */
	double scale;	  /* median run time, seconds */
	double noise;	  /* relative */
	double *weight;	  /* of each run, lower for outliers */
	bool *is_partial; /* an exposure of the run is unknown */
	struct np_nnls *nnls;
};

/* Quantile of sorted values, interpolated. */
static double quantile(const double *value, size_t n, double level)
{
	double position = level * (double)(n - 1);
	size_t i = (size_t)position;

	return i + 1 < n ? value[i] + (position - (double)i) *
					      (value[i + 1] - value[i]) :
			   value[i];
}

/* Quantile of values in any order. */
static int find_quantile(const double *value, size_t n, double level,
			 double *out)
{
	double *sorted = malloc((n + 1) * sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, value, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), np_order_double);
	*out = quantile(sorted, n, level);
	free(sorted);
	return 0;
}

static int median(const double *value, size_t n, double *out)
{
	return find_quantile(value, n, 0.5, out);
}

/* Exposure of a run to a cause, or 0 if it is unknown. */
static double exposure_of(const struct fit *fit, size_t run, size_t cause)
{
	double sec = fit->exposure[run * fit->n_causes + cause];

	return isnan(sec) ? 0 : sec / fit->scale;
}

static size_t count_unknowns(const struct fit *fit)
{
	return 1 + fit->n_causes + fit->has_unknown;
}

/* Fill in the row of a run in the system of equations. */
static void fill_row(const struct fit *fit, size_t run, double *row)
{
	row[0] = 1;
	for (size_t cause = 0; cause < fit->n_causes; cause++)
		row[1 + cause] = exposure_of(fit, run, cause);
	if (fit->has_unknown)
		row[1 + fit->n_causes] = run + 1 == fit->n_runs;
}

/* Standard deviation of a run's time, in units of fit->scale. */
static double run_sd(const struct fit *fit, size_t run)
{
	double sd =
		hypot(fit->noise * fit->sec[run], RESOLUTION_SEC) / fit->scale;

	return fit->is_partial[run] ? UNMEASURED_FACTOR * sd : sd;
}

/*
 * Solve the normal equations for x, the unknowns. If rng is not NULL, the data
 * are perturbed at random, so that x is a sample of the posterior distribution.
 */
static int solve(const struct fit *fit, struct np_rng *rng, double *x)
{
	double gram[MAX_UNKNOWNS * MAX_UNKNOWNS] = { 0 };
	double moment[MAX_UNKNOWNS] = { 0 }, row[MAX_UNKNOWNS];
	size_t n_unknowns = count_unknowns(fit);

	for (size_t i = 0; i < fit->n_runs; i++) {
		double sd = run_sd(fit, i), time = fit->sec[i] / fit->scale;
		double weight = fit->weight[i] / (sd * sd);

		fill_row(fit, i, row);
		if (rng)
			time += sd / sqrt(fit->weight[i]) * np_rng_normal(rng);
		for (size_t i_row = 0; i_row < n_unknowns; i_row++) {
			moment[i_row] += weight * row[i_row] * time;
			for (size_t column = 0; column < n_unknowns; column++)
				gram[i_row * MAX_UNKNOWNS + column] +=
					weight * row[i_row] * row[column];
		}
	}
	for (size_t i_row = 1; i_row < n_unknowns; i_row++) {
		bool is_unknown_cause = i_row == 1 + fit->n_causes;
		double sd = is_unknown_cause ? UNKNOWN_SD :
					       fit->prior[i_row - 1].sd;
		double mean = is_unknown_cause ? 0 : fit->prior[i_row - 1].mean;

		if (rng)
			mean += sd * np_rng_normal(rng);
		gram[i_row * MAX_UNKNOWNS + i_row] += 1 / (sd * sd);
		moment[i_row] += mean / (sd * sd);
	}
	return np_nnls_solve(fit->nnls, gram, MAX_UNKNOWNS, 0, moment,
			     n_unknowns, x, false, NULL);
}

/* Relative residual of a run: how much longer it took than the fit says. */
static double residual(const struct fit *fit, size_t run, const double *x)
{
	double row[MAX_UNKNOWNS], time = fit->sec[run] / fit->scale, fitted = 0;

	fill_row(fit, run, row);
	for (size_t i = 0; i < count_unknowns(fit); i++)
		fitted += row[i] * x[i];
	return (time - fitted) / time;
}

/*
 * Find the median of the absolute residuals, which is robust to outliers. If
 * fast is true, only runs that were faster than the fit are included; *n is the
 * number of runs.
 */
static int median_residual(const struct fit *fit, const double *x, bool fast,
			   double *abs_residual, double *out, size_t *n)
{
	*n = 0;
	for (size_t i = 0; i + fit->has_unknown < fit->n_runs; i++) {
		double relative = residual(fit, i, x);

		if (!fit->is_partial[i] && (!fast || relative < 0))
			abs_residual[(*n)++] = fabs(relative);
	}
	return *n ? median(abs_residual, *n, out) : 0;
}

/*
 * Estimate the noise and set the weights. Unknown causes make runs slower but
 * never faster, so the fast runs may show the noise better.
 */
static int update_weights(struct fit *fit, const double *x,
			  double *abs_residual)
{
	double typical = 0, fast = 0;
	size_t n, n_fast;

	if (median_residual(fit, x, true, abs_residual, &fast, &n_fast) ||
	    median_residual(fit, x, false, abs_residual, &typical, &n))
		return -ENOMEM;
	if (!n)
		return 0;
	if (n_fast >= MIN_FAST && fast < typical)
		typical = fast;
	/* The fit follows its own runs; correct for that if there are few. */
	fit->noise = fmax(1.4826 * typical *
				  sqrt((double)n / fmax((double)n - 1, 1)),
			  MIN_NOISE);
	for (size_t i = 0; i < fit->n_runs; i++) {
		double deviation = fabs(residual(fit, i, x)) * fit->sec[i] /
				   fit->scale / run_sd(fit, i);

		fit->weight[i] = deviation > HUBER ? HUBER / deviation : 1;
	}
	return 0;
}

static void free_fit(struct fit *fit)
{
	free(fit->weight);
	free(fit->is_partial);
	np_nnls_free(fit->nnls);
}

static int check_input(const struct fit *fit, struct np_err *err)
{
	if (fit->n_causes > NP_BLAME_MAX_CAUSES)
		return np_errf(err, -EINVAL, "more than %d causes",
			       NP_BLAME_MAX_CAUSES);
	for (size_t i = 0; i < fit->n_runs; i++) {
		if (!(fit->sec[i] > 0) || !isfinite(fit->sec[i]))
			return np_errf(err, -EINVAL,
				       "run %zu: a run time of %g s, expected "
				       "more than 0",
				       i, fit->sec[i]);
		for (size_t cause = 0; cause < fit->n_causes; cause++) {
			double sec = fit->exposure[i * fit->n_causes + cause];

			if (sec < 0 || isinf(sec))
				return np_errf(err, -EINVAL,
					       "run %zu: an exposure of %g s",
					       i, sec);
		}
	}
	return 0;
}

/* Compute weights, noise and the best solution x. */
static int fit_best(struct fit *fit, double *x, struct np_err *err)
{
	double *work;
	int rc = check_input(fit, err);

	if (rc)
		return rc;
	work = malloc((fit->n_runs + 1) * sizeof(*work));
	fit->weight = malloc((fit->n_runs + 1) * sizeof(*fit->weight));
	fit->is_partial = calloc(fit->n_runs + 1, sizeof(*fit->is_partial));
	fit->nnls = np_nnls_new(MAX_UNKNOWNS);
	if (!work || !fit->weight || !fit->is_partial || !fit->nnls ||
	    median(fit->sec, fit->n_runs - fit->has_unknown, &fit->scale))
		rc = -ENOMEM;
	for (size_t i = 0; !rc && i < fit->n_runs; i++) {
		fit->weight[i] = 1;
		/* What is unknown of the run in question does not matter. */
		for (size_t cause = 0; cause < fit->n_causes; cause++)
			fit->is_partial[i] |=
				isnan(fit->exposure[i * fit->n_causes + cause]) &&
				!(fit->has_unknown &&
				  isnan(fit->exposure[(fit->n_runs - 1) *
							      fit->n_causes +
						      cause]));
	}
	fit->noise = 0.03;
	for (int round = 0; !rc && round < N_ITERATIONS; round++) {
		rc = solve(fit, NULL, x);
		if (!rc)
			rc = update_weights(fit, x, work);
	}
	if (!rc)
		rc = solve(fit, NULL, x);
	free(work);
	return rc == -ENOMEM ? np_errf(err, rc, "out of memory") : rc;
}

/* Mean and interval of the samples, times a factor. Sorts the samples. */
static struct np_blame_range summarise_samples(double sample[N_SAMPLES],
					       double factor)
{
	const double tail = (1 - NP_BLAME_INTERVAL) / 2;
	double sum = 0;

	for (size_t i = 0; i < N_SAMPLES; i++)
		sum += sample[i];
	qsort(sample, N_SAMPLES, sizeof(*sample), np_order_double);
	return (struct np_blame_range){
		.mean = factor * sum / N_SAMPLES,
		.low = factor * quantile(sample, N_SAMPLES, tail),
		.high = factor * quantile(sample, N_SAMPLES, 1 - tail),
	};
}

/* Share of the samples that are above a limit. */
static double share_above(const double sample[N_SAMPLES], double limit)
{
	size_t n_above = 0;

	for (size_t i = 0; i < N_SAMPLES; i++)
		n_above += sample[i] > limit;
	return (double)n_above / N_SAMPLES;
}

static int sample_all(const struct fit *fit, double *x)
{
	struct np_rng *rng = np_rng_new(1, "blame");
	int rc = rng ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < N_SAMPLES; i++)
		rc = solve(fit, rng, x + i * MAX_UNKNOWNS);
	np_rng_free(rng);
	return rc;
}

/* The excess from which a run is slow, seconds. */
static double slow_limit(const struct np_blame *blame)
{
	double alone = blame->alone_sec.mean;
	double sd = hypot(blame->noise * alone, RESOLUTION_SEC);

	return fmax(NP_BLAME_LEAST_SHARE * alone, SLOW_SD * sd);
}

/*
 * Set the verdict. slow is the probability that the run was disturbed at all,
 * and within that its excess is below the limit. over_fast_sec is how much
 * longer it took than the fast comparable runs. certain_sec[] is the least cost
 * of each cause.
 *
 * The time of one run shows that it was slow only if it is beyond the noise.
 * The cost of a cause follows from all runs, and may be certain even if it is
 * less.
 */
static void set_verdict(struct np_blame *blame, double slow, double within,
			double over_fast_sec, const double *certain_sec)
{
	double excess = blame->excess_sec.mean, highest_cost = 0;
	double least = NP_BLAME_LEAST_SHARE * blame->alone_sec.mean;
	double limit = slow_limit(blame);
	bool by_time = fmin(excess, over_fast_sec) >= limit;

	blame->verdict = by_time ? NP_BLAME_UNEXPLAINED : NP_BLAME_NOT_SLOW;
	blame->confidence = excess < limit ? within : 1 - FAST_SHARE;
	if (over_fast_sec < least)
		return;
	for (size_t c = 0; c < blame->n_causes; c++) {
		struct np_blame_cause *cause = &blame->cause[c];

		cause->blamed = cause->examined &&
				cause->confidence >= MIN_CONFIDENCE &&
				cause->sec.mean >= MIN_PART * excess &&
				(by_time || certain_sec[c] >= least);
		if (cause->blamed && cause->sec.mean > highest_cost) {
			highest_cost = cause->sec.mean;
			blame->verdict = NP_BLAME_CAUSE;
			blame->confidence = cause->confidence;
		}
	}
	if (blame->verdict == NP_BLAME_UNEXPLAINED)
		blame->confidence = slow;
}

/* Sum of the costs that each cause would have for the last run by itself. */
static double sum_costs(const struct fit *fit, const double *x)
{
	double sum = 0;

	for (size_t cause = 0; cause < fit->n_causes; cause++)
		sum += exposure_of(fit, fit->n_runs - 1, cause) * x[1 + cause];
	return sum;
}

/*
 * Factor on the costs of the last run. As simultaneous causes overlap, their
 * costs are reduced in proportion if their sum exceeds the excess.
 */
static double overlap_factor(const struct fit *fit, const double *x)
{
	double excess = fit->sec[fit->n_runs - 1] / fit->scale - x[0];
	double costs = sum_costs(fit, x);

	return costs > excess ? fmax(excess, 0) / costs : 1;
}

/*
 * Are at least FAST_SHARE of the comparable runs known to have had no exposure
 * to a cause? Otherwise its cost is extrapolated.
 */
static bool has_unexposed(const struct fit *fit, size_t cause)
{
	size_t n = 0;

	for (size_t i = 0; i + 1 < fit->n_runs; i++) /* false for NaN */
		n += fit->exposure[i * fit->n_causes + cause] <= 0;
	return (double)n - 1 >= FAST_SHARE * (double)(fit->n_runs - 2);
}

static void summarise(const struct fit *fit, const double *x, double fast_sec,
		      struct np_blame *blame)
{
	const size_t last = fit->n_runs - 1;
	double sample[N_SAMPLES], certain_sec[NP_BLAME_MAX_CAUSES], slow,
		within;

	for (size_t i = 0; i < N_SAMPLES; i++)
		sample[i] = x[i * MAX_UNKNOWNS];
	blame->alone_sec = summarise_samples(sample, fit->scale);
	for (size_t i = 0; i < N_SAMPLES; i++)
		sample[i] = fit->sec[last] / fit->scale - x[i * MAX_UNKNOWNS];
	slow = share_above(sample,
			   NEGLIGIBLE * blame->alone_sec.mean / fit->scale);
	within = 1 - share_above(sample, slow_limit(blame) / fit->scale);
	blame->excess_sec = summarise_samples(sample, fit->scale);
	for (size_t cause = 0; cause < fit->n_causes; cause++) {
		for (size_t i = 0; i < N_SAMPLES; i++)
			sample[i] = overlap_factor(fit, x + i * MAX_UNKNOWNS) *
				    exposure_of(fit, last, cause) *
				    x[i * MAX_UNKNOWNS + 1 + cause];
		blame->cause[cause].confidence =
			share_above(sample, NEGLIGIBLE * blame->alone_sec.mean /
						    fit->scale);
		blame->cause[cause].sec = summarise_samples(sample, fit->scale);
		certain_sec[cause] = has_unexposed(fit, cause) ?
					     blame->cause[cause].sec.low :
					     0;
		blame->cause[cause].examined =
			!isnan(fit->exposure[last * fit->n_causes + cause]);
	}
	for (size_t i = 0; i < N_SAMPLES; i++) {
		sample[i] = fit->sec[last] / fit->scale - x[i * MAX_UNKNOWNS];
		sample[i] = fmax(sample[i], 0) -
			    overlap_factor(fit, x + i * MAX_UNKNOWNS) *
				    sum_costs(fit, x + i * MAX_UNKNOWNS);
	}
	blame->unexplained_sec = summarise_samples(sample, fit->scale);
	set_verdict(blame, slow, within, fit->sec[last] - fast_sec,
		    certain_sec);
}

int np_blame_run(const double *sec, const double *exposure, size_t n_runs,
		 size_t n_causes, const struct np_blame_prior *prior,
		 struct np_blame *out, struct np_err *err)
{
	struct fit fit = {
		.sec = sec,
		.exposure = exposure,
		.prior = prior,
		.n_runs = n_runs + 1,
		.n_causes = n_causes,
		.has_unknown = true,
	};
	double best[MAX_UNKNOWNS], fast_sec = 0, *x;
	int rc;

	*out = (struct np_blame){ .n_runs = n_runs, .n_causes = n_causes };
	if (n_runs && (median(sec, n_runs, &out->usual_sec) ||
		       find_quantile(sec, n_runs, FAST_SHARE, &fast_sec)))
		return np_errf(err, -ENOMEM, "out of memory");
	if (n_runs < NP_BLAME_LEAST_RUNS) {
		out->verdict = NP_BLAME_TOO_FEW;
		return check_input(&fit, err);
	}
	x = calloc(N_SAMPLES * MAX_UNKNOWNS, sizeof(*x));
	rc = x ? fit_best(&fit, best, err) : -ENOMEM;
	out->noise = fit.noise;
	if (!rc)
		rc = sample_all(&fit, x);
	if (!rc)
		summarise(&fit, x, fast_sec, out);
	free(x);
	free_fit(&fit);
	return rc;
}

int np_blame_costs(const double *sec, const double *exposure, size_t n,
		   size_t n_causes, const struct np_blame_prior *prior,
		   struct np_blame_range *cost, struct np_blame_range *total)
{
	struct fit fit = {
		.sec = sec,
		.exposure = exposure,
		.prior = prior,
		.n_runs = n,
		.n_causes = n_causes,
	};
	double best[MAX_UNKNOWNS],
		*x = calloc(N_SAMPLES * MAX_UNKNOWNS, sizeof(*x));
	double sample[N_SAMPLES];
	int rc = x ? fit_best(&fit, best, NULL) : -ENOMEM;

	if (!rc)
		rc = sample_all(&fit, x);
	for (size_t cause = 0; !rc && cause < n_causes; cause++) {
		double exposure_sum = 0;

		for (size_t i = 0; i < n; i++)
			exposure_sum += exposure_of(&fit, i, cause);
		for (size_t k = 0; k < N_SAMPLES; k++)
			sample[k] = x[k * MAX_UNKNOWNS + 1 + cause];
		cost[cause] = summarise_samples(sample, 1);
		total[cause] = cost[cause];
		total[cause].mean *= exposure_sum * fit.scale;
		total[cause].low *= exposure_sum * fit.scale;
		total[cause].high *= exposure_sum * fit.scale;
	}
	free(x);
	free_fit(&fit);
	return rc;
}
