/*
 * How well blocks know a slowdown.  x scatters within a run, s, and the mean
 * of a level in a phase scatters between runs, t.  With n blocks, m of them of
 * each run that has any, the error of the mean is
 *	s^2 / n + t^2 * sum(m^2) / n^2
 * s is pooled over the runs of all levels and phases.  t is the moment estimate
 * of an unbalanced one-way layout (Searle, Casella, McCulloch, Variance
 * Components, 1992, 3.6), moderated as in np_noise.h by what is usual; what
 * makes two runs differ may be the same for all of their levels, so that r runs
 * tell it with r - 1 degrees of freedom.  Those of the sum are Satterthwaite's.
 */
#include "np_blocks_impl.h"

#include <math.h>

#include <gsl/gsl_cdf.h>

#include "np_noise.h"

#define LEAST_WITHIN 4 /* degrees of freedom, for blocks of single runs */

static double square(double x)
{
	return x * x;
}

/* t^2 by the cells that more than one run is in; 0: none, or it is not seen. */
static double between_blocks(const struct np_blocks_sorted *s, size_t n_cells,
			     double within)
{
	double sum = 0, weight = 0;

	for (size_t i = 0; i < n_cells; i++) {
		const struct np_blocks_cell *c = &s->cell[i];
		double n = (double)c->x.n;

		if (c->n_runs < 2)
			continue;
		sum += c->x.m2 - c->within -
		       ((double)c->n_runs - 1) * square(within);
		weight += n - c->squares / n;
	}
	return weight > 0 ? fmax(sum / weight, 0) : 0;
}

/* In runs; where these repeat too little, in all, with what runs differ by. */
static struct np_blocks_error repeats(const struct np_blocks_sorted *s,
				      size_t n_cells)
{
	struct np_blocks_error e = { .all_df = 0 };
	double within = 0, all = 0;

	for (size_t i = 0; i < n_cells; i++) {
		const struct np_blocks_cell *c = &s->cell[i];

		if (!c->x.n)
			continue;
		within += c->within;
		e.within_df += (double)(c->x.n - c->n_runs);
		all += c->x.m2;
		e.all_df += (double)c->x.n - 1;
	}
	e.all = e.all_df > 0 ? sqrt(all / e.all_df) : NAN;
	if (e.within_df >= LEAST_WITHIN || e.within_df == e.all_df) {
		e.within = sqrt(within / e.within_df);
	} else {
		e.within = e.all;
		e.within_df = e.all_df;
	}
	if (!e.all_df) {
		e.within = NP_NOISE_DEFAULT;
		e.within_df = NP_NOISE_PRIOR;
	}
	return e;
}

struct np_blocks_error np_blocks_scatter(const struct np_blocks_sorted *s,
					 const struct np_mean *whole,
					 size_t n_levels, size_t n_runs)
{
	struct np_blocks_error e = repeats(s, n_levels * NP_BLOCKS_PHASES);
	double df = n_runs > 1 ? (double)n_runs - 1 : 0, one = 0;
	double sum = NP_NOISE_PRIOR * square(NP_NOISE_DEFAULT);

	sum += df * between_blocks(s, n_levels * NP_BLOCKS_PHASES, e.within);
	for (size_t i = 0; whole && i < n_levels; i++) {
		double f = np_noise_freedom(&whole[i], &one);

		sum += f * one;
		df += f;
	}
	e.between_df = NP_NOISE_PRIOR + df;
	e.between = sqrt(sum / e.between_df);
	return e;
}

/* Slowdowns of phases add up by the time alone in each. */
struct sums {
	double weight, mean, n;
	double within, between; /* variance; sd, as a run is in all phases */
};

static void add_phase(const struct np_blocks_phase *p,
		      const struct np_blocks_cell *c,
		      const struct np_blocks_error *e, struct sums *a)
{
	double n = (double)c->x.n, part;

	if (!n && p->rate > 0)
		return;
	a->weight += p->share;
	if (!n)
		return;
	part = p->share * n / c->speed;
	a->mean += part - p->share;
	a->within += square(part * e->within) / n;
	a->between += part * e->between * sqrt(c->squares) / n;
	a->n += n;
}

/* Is a phase one that each level has to be measured in? */
static bool matters(const struct np_blocks_phase *p)
{
	return p->rate > 0 && p->share >= NP_BLOCKS_SHARE;
}

static double half(double error, double df)
{
	return gsl_cdf_tdist_Pinv(0.975, df) * error;
}

static void bound(const struct np_blocks_error *e, const struct sums *a,
		  struct np_blocks_level *l)
{
	double mean = a->mean / a->weight, full = a->weight * (1 + mean);
	double within = a->within / square(full);
	double between = square(a->between / full), var = within + between, h;

	l->error = sqrt(var);
	l->df = var > 0 ? square(var) / (square(within) / e->within_df +
					 square(between) / e->between_df) :
			  e->within_df;
	l->slowdown = (struct np_mean){
		(uint32_t)a->n, mean, sqrt(a->n * var) * (1 + mean),
	};
	h = half(l->error, l->df);
	l->low = expm1(log1p(mean) - h);
	l->high = expm1(log1p(mean) + h);
	l->half = half(sqrt(within), e->within_df);
}

void np_blocks_judge_level(const struct np_blocks_sorted *s,
			   const struct np_blocks_cell *cell,
			   const struct np_blocks_error *e,
			   struct np_blocks_level *l)
{
	struct sums a = { .n = 0 };

	*l = (struct np_blocks_level){ .half = INFINITY, .least = SIZE_MAX };
	for (size_t k = 0; k < s->n_phases; k++) {
		if (matters(&s->phase[k]) && cell[k].x.n < l->least)
			l->least = cell[k].x.n;
		add_phase(&s->phase[k], &cell[k], e, &a);
	}
	if (l->least == SIZE_MAX)
		l->least = 0;
	if (l->least && a.weight > 0)
		bound(e, &a, l);
}
