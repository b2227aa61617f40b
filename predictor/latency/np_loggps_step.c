/* Where rendezvous begins. */
#include "np_loggps_impl.h"

#include <math.h>

#define LEAST_STEP 0.5	  /* of the shortest message's time */
#define LEAST_SHARE 0.05  /* of the time where it is */

/* Sums of one side of a step. */
struct side {
	double x, y, xx, xy; /* means, then sums about them */
};

static struct side sums(const uint32_t *x, const double *y)
{
	struct side s = { 0 };

	for (size_t i = 0; i < NP_LOGGPS_SIDE; i++) {
		s.x += (double)x[i] / NP_LOGGPS_SIDE;
		s.y += y[i] / NP_LOGGPS_SIDE;
	}
	for (size_t i = 0; i < NP_LOGGPS_SIDE; i++) {
		s.xx += ((double)x[i] - s.x) * ((double)x[i] - s.x);
		s.xy += ((double)x[i] - s.x) * (y[i] - s.y);
	}
	return s;
}

/* The step between sizes at - 1 and at. */
static double step_of(const uint32_t *bytes, const double *sec, size_t at)
{
	size_t from = at - NP_LOGGPS_SIDE;
	struct side a = sums(bytes + from, sec + from);
	struct side b = sums(bytes + at, sec + at);
	double middle = ((double)bytes[at - 1] + bytes[at]) / 2;
	double slope = (a.xy + b.xy) / (a.xx + b.xx);
	double one = b.y - a.y - slope * (b.x - a.x);
	double two = b.y + b.xy / b.xx * (middle - b.x) -
		     (a.y + a.xy / a.xx * (middle - a.x));

	return fmin(one, two);
}

size_t np_loggps_find_step(const struct np_loggps_trips *t,
			   struct np_loggps_value *step)
{
	double sec[NP_LOGGPS_MAX_SIZES], most = 0;
	struct np_loggps_value sure;
	size_t best = 0;

	*step = (struct np_loggps_value){ 0 };
	for (size_t i = 0; i < t->n_sizes; i++)
		sec[i] = np_loggps_trip(t, i);
	for (size_t i = NP_LOGGPS_SIDE; i + NP_LOGGPS_SIDE <= t->n_sizes; i++) {
		double here = step_of(t->bytes, sec, i);

		if (here > most && here >= LEAST_STEP * sec[0] &&
		    here >= LEAST_SHARE * sec[i]) {
			most = here;
			best = i;
		}
	}
	if (!best)
		return 0;
	for (size_t b = 0; b < t->n_blocks; b++)
		t->scratch[b] = step_of(t->bytes, t->sec + b * t->n_sizes,
					best);
	/* The greatest of many: each of them must be as unlikely as all. */
	sure = np_loggps_median_at(t->scratch, t->n_blocks, 1 -
				   (1 - NP_LOGGPS_CONFIDENCE) /
				   (double)t->n_sizes);
	if (sure.low < LEAST_STEP * sec[0] ||
	    sure.low < LEAST_SHARE * sec[best])
		return 0;
	*step = np_loggps_median(t->scratch, t->n_blocks);
	return best;
}
