/*
 * What blocks say of each level, how well, and whether that can be believed.
 *
 * x scatters within a run, s, and the mean of a level in a phase between runs,
 * t.  With n blocks, m of them of each run that has any, the error of the mean
 * is
 *	s^2 / n + t^2 * sum(m^2) / n^2
 * s is pooled over the runs of all levels and phases.  t is the moment estimate
 * of an unbalanced one-way layout (Searle, Casella, McCulloch, Variance
 * Components, 1992, 3.6), moderated as in np_noise.h by what is usual; what
 * makes two runs differ may be the same for all of their levels, so that r runs
 * tell it with r - 1 degrees of freedom.  Those of the sum are Satterthwaite's.
 */
#include "np_blocks_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include "np_noise.h"

#define LEAST_RATE 1e4	/* bytes/s: less is not the program's work */
#define CALL_BYTES 1e4	/* for which a call stands: one a second is the least */
#define LEAST_DROPPED 3 /* before it is said of a program */
#define LEAST_REPEATS 2 /* degrees of freedom of the scatter */
#define LEAST_WITHIN 4  /* the same, for blocks of single runs */

static const char *const words[] = {
	[NP_BLOCKS_FEW] = "too few blocks so far",
	[NP_BLOCKS_SILENT] = "the program sends next to nothing",
	[NP_BLOCKS_RESTLESS] =
		"its traffic changes within the time of a few blocks",
	[NP_BLOCKS_SCATTER] = "repeated blocks of one level do not agree",
	[NP_BLOCKS_DIFFER] =
		"its traffic and its MPI calls do not say the same",
	[NP_BLOCKS_USABLE] = "repeated blocks agree",
};

const char *np_blocks_words(enum np_blocks_verdict verdict)
{
	return words[verdict];
}

/* How blocks scatter in a run, and runs between each other: sd of x. */
struct error {
	double all, all_df; /* of all repeats; NaN and 0: there are none */
	double within, within_df;
	double between, between_df;
};

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
static struct error repeats(const struct np_blocks_sorted *s,
				      size_t n_cells)
{
	struct error e = { .all_df = 0 };
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

static struct error scatter(const struct np_blocks_sorted *s,
			    const struct np_mean *whole, size_t n_levels,
			    size_t n_runs)
{
	struct error e = repeats(s, n_levels * NP_BLOCKS_PHASES);
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
		      const struct error *e, struct sums *a)
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

static void bound(const struct error *e, const struct sums *a,
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

/* The mean over phases of one level, whose cells these are. */
static void judge_level(const struct np_blocks_sorted *s,
			const struct np_blocks_cell *cell,
			const struct error *e, struct np_blocks_level *l)
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

double np_blocks_lost_sec(const struct np_block *b,
			  const struct np_blocks_point *p)
{
	if (p->use == NP_BLOCK_COUNTS)
		return b->sec * -expm1(-fmax(p->x, 0));
	return p->use == NP_BLOCK_DROPPED || p->use == NP_BLOCK_EDGE ?
	       b->sec : 0;
}

static enum np_blocks_verdict verdict(const struct np_blocks_sorted *s,
				      const struct np_blocks *o, double df)
{
	if (s->n_alone > 1 && s->top_rate < LEAST_RATE)
		return NP_BLOCKS_SILENT;
	if (o->n_dropped >= LEAST_DROPPED && 2 * o->n_dropped > o->n_loaded)
		return NP_BLOCKS_RESTLESS;
	if (df < LEAST_REPEATS)
		return NP_BLOCKS_FEW;
	return o->scatter > NP_BLOCKS_DISAGREE ? NP_BLOCKS_SCATTER :
						 NP_BLOCKS_USABLE;
}

void np_blocks_judge(const struct np_block *b, size_t n,
		     const struct np_mean *whole,
		     const struct np_blocks_sorted *s,
		     struct np_blocks_level *level, size_t n_levels,
		     struct np_blocks *out)
{
	struct np_blocks o = { .n_phases = s->n_phases, .apart = NAN };
	struct error e;

	for (size_t i = 0; i < n; i++) {
		const struct np_blocks_point *p = &s->point[i];

		o.n_runs += !i || b[i].run != b[i - 1].run;
		o.n_loaded += p->use != NP_BLOCK_ALONE;
		o.n_dropped += p->use == NP_BLOCK_DROPPED;
		o.sec += b[i].sec;
		o.lost_sec += np_blocks_lost_sec(&b[i], p);
	}
	for (size_t k = 0; k < s->n_phases; k++)
		o.phase[k] = s->phase[k];
	e = scatter(s, whole, n_levels, o.n_runs);
	o.scatter = e.all;
	o.between = e.between;
	for (size_t i = 0; i < n_levels; i++)
		judge_level(s, s->cell + i * NP_BLOCKS_PHASES, &e, &level[i]);
	o.verdict = verdict(s, &o, e.all_df);
	*out = o;
}

static int estimate(const struct np_block *b, size_t n,
		    const struct np_mean *whole, struct np_blocks_level *level,
		    size_t n_levels, struct np_blocks *out)
{
	struct np_blocks_sorted s;
	int rc = np_blocks_sort(b, n, n_levels, &s);

	if (rc)
		return rc;
	np_blocks_judge(b, n, whole, &s, level, n_levels, out);
	np_blocks_sorted_free(&s);
	return 0;
}

/* Those of the runs in which all have calls, with these for bytes. */
static size_t list_calls(const struct np_block *b, size_t n,
			 struct np_block *out)
{
	size_t used = 0, first = 0; /* first: in out, of the run */
	bool known = true;

	for (size_t i = 0; i < n; i++) {
		if (i && b[i].run != b[i - 1].run) {
			first = used;
			known = true;
		}
		known &= b[i].calls >= 0;
		if (!known) {
			used = first;
			continue;
		}
		out[used] = b[i];
		out[used++].rate = b[i].calls * CALL_BYTES;
	}
	return used;
}

static double distance(const struct np_blocks_level *a,
		       const struct np_blocks_level *b, size_t n)
{
	double sum = 0, count = 0;

	for (size_t i = 0; i < n; i++)
		if (np_mean_known(&a[i].slowdown) &&
		    np_mean_known(&b[i].slowdown)) {
			sum += fabs(log1p(a[i].slowdown.mean) -
				    log1p(b[i].slowdown.mean));
			count++;
		}
	return count > 0 ? sum / count : NAN;
}

/* calls: as many levels, and what is said of them. */
static void choose(struct np_blocks_level *level, struct np_blocks *o,
		   const struct np_blocks_level *calls, size_t n_levels,
		   struct np_blocks *by_calls)
{
	bool bytes = o->verdict == NP_BLOCKS_USABLE;

	if (by_calls->verdict != NP_BLOCKS_USABLE)
		return;
	if (bytes)
		o->apart = by_calls->apart = distance(level, calls, n_levels);
	if (o->apart > NP_BLOCKS_DIFFER_BY) {
		o->verdict = NP_BLOCKS_DIFFER;
	} else if (!bytes || by_calls->scatter < o->scatter) {
		by_calls->by_calls = true;
		*o = *by_calls;
		memcpy(level, calls, n_levels * sizeof(*level));
	}
}

int np_blocks_estimate(const struct np_block *b, size_t n,
		       const struct np_mean *whole,
		       struct np_blocks_level *level, size_t n_levels,
		       struct np_blocks *out)
{
	int rc = estimate(b, n, whole, level, n_levels, out);
	struct np_block *calls = rc ? NULL : calloc(n + 1, sizeof(*calls));
	struct np_blocks_level *of = calloc(n_levels + 1, sizeof(*of));
	struct np_blocks o;
	size_t n_calls;

	if (!rc && calls && of) {
		n_calls = list_calls(b, n, calls);
		rc = estimate(calls, n_calls, whole, of, n_levels, &o);
		if (!rc)
			choose(level, out, of, n_levels, &o);
	} else if (!rc) {
		rc = -ENOMEM;
	}
	free(calls);
	free(of);
	return rc;
}
