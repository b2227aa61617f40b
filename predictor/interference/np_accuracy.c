#include "np_accuracy.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "np_moments.h"

static double share(size_t part, size_t whole)
{
	return whole ? (double)part / (double)whole : NAN;
}

/* Counts and sums over the pairs; errors and widths in percentage points. */
struct tally {
	size_t near, far, hits, covered;
	double error_sum, bias_sum;
	double *errors, *widths; /* one for each pair, and for each interval */
};

static bool is_counted(const struct np_scored *scored)
{
	return !isnan(scored->predicted) && !isnan(scored->measured);
}

/* Add a pair to the tally and to the counts of *out. */
static void count_pair(const struct np_scored *scored, struct tally *tally,
		       struct np_score *out)
{
	double points = 100 * (scored->predicted - scored->measured);
	int harm = scored->measured >= NP_ACCURACY_HARM;
	int predicted_harm = scored->predicted >= NP_ACCURACY_HARM;

	tally->error_sum += fabs(points);
	tally->bias_sum += points;
	tally->near += fabs(points) <= NP_ACCURACY_NEAR;
	tally->far += fabs(points) > NP_ACCURACY_FAR;
	tally->errors[out->n++] = fabs(points);
	out->n_harm += (size_t)harm;
	out->n_predicted_harm += (size_t)predicted_harm;
	tally->hits += (size_t)(harm && predicted_harm);
	if (isnan(scored->low) || isnan(scored->high))
		return;
	tally->widths[out->n_intervals++] = 100 * (scored->high - scored->low);
	tally->covered += scored->low <= scored->measured &&
			  scored->measured <= scored->high;
}

int np_accuracy_score(const struct np_scored *scored, size_t n,
		      struct np_score *out)
{
	struct tally tally = { .errors = malloc((2 * n + 1) * sizeof(double)) };
	struct np_score got = { 0 };

	if (!tally.errors)
		return -ENOMEM;
	tally.widths = tally.errors + n;
	for (size_t i = 0; i < n; i++)
		if (is_counted(&scored[i]))
			count_pair(&scored[i], &tally, &got);
	got.mean_points = got.n ? tally.error_sum / (double)got.n : NAN;
	got.bias_points = got.n ? tally.bias_sum / (double)got.n : NAN;
	got.median_points = np_median(tally.errors, got.n);
	/* np_median() has sorted them. */
	got.max_points = got.n ? tally.errors[got.n - 1] : NAN;
	got.within_near = share(tally.near, got.n);
	got.beyond_far = share(tally.far, got.n);
	got.recall = share(tally.hits, got.n_harm);
	got.precision = share(tally.hits, got.n_predicted_harm);
	got.coverage = share(tally.covered, got.n_intervals);
	got.width_points = np_median(tally.widths, got.n_intervals);
	free(tally.errors);
	*out = got;
	return 0;
}

int np_accuracy_score_constant(const struct np_scored *scored, size_t n,
			       double *constant, struct np_score *out)
{
	struct np_scored *same = malloc((n + 1) * sizeof(*same));
	double *measured = malloc((n + 1) * sizeof(*measured));
	int rc = same && measured ? 0 : -ENOMEM;
	size_t n_same = 0;

	for (size_t i = 0; !rc && i < n; i++)
		if (is_counted(&scored[i])) {
			measured[n_same] = scored[i].measured;
			same[n_same++].measured = scored[i].measured;
		}
	if (!rc)
		*constant = np_median(measured, n_same);
	for (size_t i = 0; !rc && i < n_same; i++) {
		same[i].predicted = *constant;
		same[i].low = same[i].high = NAN;
	}
	if (!rc)
		rc = np_accuracy_score(same, n_same, out);
	free(measured);
	free(same);
	return rc;
}
