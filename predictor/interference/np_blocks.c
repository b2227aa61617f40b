/* What blocks say of each level, and whether that can be believed. */
#include "np_blocks_impl.h"

#include <math.h>

#include "np_noise.h"

#define LEAST_RATE 1e4	/* bytes/s: less is not the program's work */
#define LEAST_DROPPED 3 /* before it is said of a program */
#define LEAST_REPEATS 2 /* degrees of freedom of the scatter */

static const char *const words[] = {
	[NP_BLOCKS_FEW] = "too few blocks so far",
	[NP_BLOCKS_SILENT] = "the program sends next to nothing",
	[NP_BLOCKS_RESTLESS] =
		"its traffic changes within the time of a few blocks",
	[NP_BLOCKS_SCATTER] = "repeated blocks of one level do not agree",
	[NP_BLOCKS_USABLE] = "repeated blocks agree",
};

const char *np_blocks_words(enum np_blocks_verdict verdict)
{
	return words[verdict];
}

bool np_blocks_phase_matters(const struct np_blocks_phase *p)
{
	return p->rate > 0 && p->share >= NP_BLOCKS_SHARE;
}

double np_blocks_lost_sec(const struct np_block *b,
			  const struct np_blocks_point *p)
{
	if (p->use == NP_BLOCK_COUNTS)
		return b->sec * -expm1(-fmax(p->x, 0));
	return p->use == NP_BLOCK_DROPPED || p->use == NP_BLOCK_EDGE ?
	       b->sec : 0;
}

/* Pooled over all levels and phases; *df: from so many repeats. */
static double scatter(const struct np_blocks_sorted *s, size_t n_levels,
		      double *df)
{
	double squares = 0;

	*df = 0;
	for (size_t i = 0; i < n_levels * NP_BLOCKS_PHASES; i++)
		if (s->cell[i].n > 1) {
			squares += s->cell[i].m2;
			*df += (double)s->cell[i].n - 1;
		}
	return *df > 0 ? sqrt(squares / *df) : NAN;
}

/* The mean over phases of one level, whose cells these are. */
static void judge_level(const struct np_blocks_sorted *s,
			const struct np_moments *cell, double sd,
			struct np_blocks_level *l)
{
	double weight = 0, sum = 0, var = 0, n = 0;

	*l = (struct np_blocks_level){ .half = INFINITY, .least = SIZE_MAX };
	for (size_t k = 0; k < s->n_phases; k++) {
		const struct np_blocks_phase *p = &s->phase[k];
		double part;

		if (np_blocks_phase_matters(p) && cell[k].n < l->least)
			l->least = cell[k].n;
		if (!cell[k].n && p->rate > 0)
			continue;
		weight += p->share;
		if (!cell[k].n)
			continue;
		part = p->share * exp(cell[k].mean);
		sum += part - p->share;
		var += part * part * sd * sd / (double)cell[k].n;
		n += (double)cell[k].n;
	}
	if (l->least == SIZE_MAX)
		l->least = 0;
	if (l->least && weight > 0)
		l->slowdown = (struct np_mean){
			(uint32_t)n, sum / weight, sqrt(n * var) / weight,
		};
}

static void bound_levels(struct np_blocks_level *level, size_t n,
			 double sd)
{
	for (size_t i = 0; i < n; i++) {
		struct np_blocks_level *l = &level[i];

		if (!l->slowdown.n)
			continue;
		np_noise_interval(&l->slowdown, isnan(sd) ? NP_NOISE_DEFAULT :
				  sd, &l->low, &l->high);
		l->half = (log1p(l->high) - log1p(l->low)) / 2;
	}
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
		     const struct np_blocks_sorted *s,
		     struct np_blocks_level *level, size_t n_levels,
		     struct np_blocks *out)
{
	struct np_blocks o = { .n_phases = s->n_phases };
	double df;

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
	o.scatter = scatter(s, n_levels, &df);
	for (size_t i = 0; i < n_levels; i++)
		judge_level(s, s->cell + i * NP_BLOCKS_PHASES, o.scatter,
			    &level[i]);
	bound_levels(level, n_levels, o.scatter);
	o.verdict = verdict(s, &o, df);
	*out = o;
}

int np_blocks_estimate(const struct np_block *b, size_t n,
		       struct np_blocks_level *level, size_t n_levels,
		       struct np_blocks *out)
{
	struct np_blocks_sorted s;
	int rc = np_blocks_sort(b, n, n_levels, &s);

	if (rc)
		return rc;
	np_blocks_judge(b, n, &s, level, n_levels, out);
	np_blocks_sorted_free(&s);
	return 0;
}
