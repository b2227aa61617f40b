/* What blocks say of each level, and whether that can be believed. */
#include "np_blocks_impl.h"

#include <math.h>

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
	struct np_blocks o = { .n_phases = s->n_phases };
	struct np_blocks_error e;

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
	e = np_blocks_scatter(s, whole, n_levels, o.n_runs);
	o.scatter = e.all;
	o.between = e.between;
	for (size_t i = 0; i < n_levels; i++)
		np_blocks_judge_level(s, s->cell + i * NP_BLOCKS_PHASES, &e,
				      &level[i]);
	o.verdict = verdict(s, &o, e.all_df);
	*out = o;
}

int np_blocks_estimate(const struct np_block *b, size_t n,
		       const struct np_mean *whole,
		       struct np_blocks_level *level, size_t n_levels,
		       struct np_blocks *out)
{
	struct np_blocks_sorted s;
	int rc = np_blocks_sort(b, n, n_levels, &s);

	if (rc)
		return rc;
	np_blocks_judge(b, n, whole, &s, level, n_levels, out);
	np_blocks_sorted_free(&s);
	return 0;
}
