#include "np_planner.h"

#include <stdbool.h>

typedef struct np_planner_level level_t;

static bool known(const level_t *l)
{
	return !isnan(l->impact);
}

/* Distance of level i to the nearest level that has a run. */
static double gap(const level_t *level, size_t n, size_t i)
{
	double least = INFINITY;

	for (size_t k = 0; k < n; k++)
		if (level[k].run_sec.n && known(&level[k]))
			least = fmin(least,
				     fabs(level[k].impact - level[i].impact));
	return least;
}

/* The level with the greatest (sign 1) or least (-1) known impact, or -1. */
static long extreme(const level_t *level, size_t n, double sign)
{
	long best = -1;

	for (size_t i = 0; i < n; i++)
		if (known(&level[i]) &&
		    (best < 0 ||
		     sign * level[i].impact > sign * level[best].impact))
			best = (long)i;
	return best;
}

static long widest_gap(const level_t *level, size_t n)
{
	double widest = -1;
	long best = -1;

	for (size_t i = 0; i < n; i++) {
		double here;

		if (level[i].run_sec.n || !known(&level[i]))
			continue;
		here = gap(level, n, i);
		/* prefer the greater impact, where curves are steeper */
		if (here > widest ||
		    (here == widest && level[i].impact > level[best].impact)) {
			widest = here;
			best = (long)i;
		}
	}
	return best;
}

/* A level without any run, or -1. */
static long uncovered(const level_t *level, size_t n)
{
	long best = extreme(level, n, 1);

	if (best >= 0 && !level[best].run_sec.n)
		return best;
	best = extreme(level, n, -1);
	if (best >= 0 && !level[best].run_sec.n)
		return best;
	best = widest_gap(level, n);
	for (size_t i = 0; best < 0 && i < n; i++)
		if (!level[i].run_sec.n)
			best = (long)i;
	return best;
}

static double relative_sd(const struct np_mean *m)
{
	return m->n > 1 && !isnan(m->sd) && m->mean > 0 ? m->sd / m->mean : NAN;
}

/*
 * Relative standard error of a mean. A single run is assumed to vary as much
 * as the runs alone, by fallback, or by 100 % if that is unknown, too.
 */
static double error(const struct np_mean *m, double fallback)
{
	double sd = relative_sd(m);

	if (isnan(sd))
		sd = isnan(fallback) ? 1 : fallback;
	return sd / sqrt(m->n);
}

static long repeat(const level_t *level, size_t n, double fallback,
		   unsigned want)
{
	long best = -1;
	double worst = -1;

	for (size_t i = 0; i < n; i++) {
		double e;

		if (level[i].run_sec.n >= want)
			continue;
		e = error(&level[i].run_sec, fallback);
		if (best < 0 || e > worst ||
		    (e == worst && level[i].impact > level[best].impact)) {
			worst = e;
			best = (long)i;
		}
	}
	return best;
}

long np_planner_next(const struct np_planner_level *level, size_t n_levels,
		     const struct np_mean *alone, unsigned want,
		     unsigned want_alone)
{
	unsigned first = want_alone < 2 ? want_alone : 2;
	long i;

	if (alone->n < first)
		return NP_PLANNER_ALONE;
	i = want ? uncovered(level, n_levels) : -1;
	if (i >= 0)
		return i;
	if (alone->n < want_alone)
		return NP_PLANNER_ALONE;
	i = repeat(level, n_levels, relative_sd(alone), want);
	return i >= 0 ? i : NP_PLANNER_COMPLETE;
}
