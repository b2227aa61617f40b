/* What blocks say of each level, and whether that can be believed. */
#include "np_blocks_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_RATE 1e4	/* bytes/s: less is not the program's work */
#define CALL_BYTES 1e4	/* for which a call stands: one a second is the least */
#define LEAST_DROPPED 3 /* before it is said of a program */
#define LEAST_REPEATS 2 /* degrees of freedom of the scatter */

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
