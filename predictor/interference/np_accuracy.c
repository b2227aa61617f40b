#include "np_accuracy.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

static double median(double *v, size_t n)
{
	if (!n)
		return NAN;
	gsl_sort(v, 1, n);
	return gsl_stats_median_from_sorted_data(v, 1, n);
}

static double share(size_t part, size_t whole)
{
	return whole ? (double)part / (double)whole : NAN;
}

/* Counts and sums over the pairs. */
struct tally {
	size_t near, far, hit, covered;
	double error, bias;
	double *errors, *widths;
};

static bool is_counted(const struct np_scored *s)
{
	return !isnan(s->predicted) && !isnan(s->measured);
}

static void count(const struct np_scored *s, struct tally *t,
		  struct np_score *out)
{
	double points = 100 * (s->predicted - s->measured);
	int harm = s->measured >= NP_ACCURACY_HARM;
	int called = s->predicted >= NP_ACCURACY_HARM;

	t->error += fabs(points);
	t->bias += points;
	t->near += fabs(points) <= NP_ACCURACY_NEAR;
	t->far += fabs(points) > NP_ACCURACY_FAR;
	t->errors[out->n++] = fabs(points);
	out->n_harm += (size_t)harm;
	out->n_called += (size_t)called;
	t->hit += (size_t)(harm && called);
	if (isnan(s->low) || isnan(s->high))
		return;
	t->widths[out->n_intervals++] = 100 * (s->high - s->low);
	t->covered += s->low <= s->measured && s->measured <= s->high;
}

int np_accuracy_score(const struct np_scored *s, size_t n,
		      struct np_score *out)
{
	struct tally t = { .errors = malloc((2 * n + 1) * sizeof(double)) };
	struct np_score got = { 0 };

	if (!t.errors)
		return -ENOMEM;
	t.widths = t.errors + n;
	for (size_t i = 0; i < n; i++)
		if (is_counted(&s[i]))
			count(&s[i], &t, &got);
	got.mean_points = got.n ? t.error / (double)got.n : NAN;
	got.bias_points = got.n ? t.bias / (double)got.n : NAN;
	got.median_points = median(t.errors, got.n);
	got.max_points = got.n ? t.errors[got.n - 1] :
				 NAN; /* median() sorted them */
	got.within_near = share(t.near, got.n);
	got.beyond_far = share(t.far, got.n);
	got.recall = share(t.hit, got.n_harm);
	got.precision = share(t.hit, got.n_called);
	got.coverage = share(t.covered, got.n_intervals);
	got.width_points = median(t.widths, got.n_intervals);
	free(t.errors);
	*out = got;
	return 0;
}

int np_accuracy_score_constant(const struct np_scored *s, size_t n,
			       double *constant, struct np_score *out)
{
	struct np_scored *same = malloc((n + 1) * sizeof(*same));
	double *measured = malloc((n + 1) * sizeof(*measured));
	int rc = same && measured ? 0 : -ENOMEM;
	size_t n_same = 0;

	for (size_t i = 0; !rc && i < n; i++)
		if (is_counted(&s[i])) {
			measured[n_same] = s[i].measured;
			same[n_same++].measured = s[i].measured;
		}
	if (!rc)
		*constant = median(measured, n_same);
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
