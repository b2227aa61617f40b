/* Which block comes next. */
#include "np_blocks_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define GOLDEN_RATIO 0.61803398874989485

struct plan {
	const struct np_blocks_plan *p;
	const struct np_block *b;
	size_t n;
	const struct np_blocks_sorted *s;
	const struct np_blocks_level *level;
	size_t phase; /* in which the run is */
	size_t last;  /* level of the run's last loaded block */
	double left_sec; /* that the run may still lose */
};

static size_t blocks_here(const struct plan *a, size_t level)
{
	return a->s->cell[level * NP_BLOCKS_PHASES + a->phase].x.n;
}

/* After n blocks in a phase. */
static bool needs_more(const struct np_blocks_level *l, size_t n)
{
	return n < NP_BLOCKS_LEAST ||
	       (l->half > NP_BLOCKS_GOOD && n < NP_BLOCKS_MOST);
}

static double may_cost_sec(const struct plan *a, size_t level)
{
	const struct np_mean *m = &a->level[level].slowdown;

	if (!m->n)
		return a->p->block_sec;
	return a->p->block_sec * fmax(m->mean, 0) / (1 + fmax(m->mean, 0));
}

/* How often level came next after the last one. */
static size_t followed(const struct plan *a, size_t level)
{
	size_t before = NP_BLOCKS_NO_LEVEL, count = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (i && a->b[i].run != a->b[i - 1].run)
			before = NP_BLOCKS_NO_LEVEL;
		if (a->b[i].level == NP_BLOCKS_NO_LEVEL)
			continue;
		count += before == a->last && a->b[i].level == level;
		before = a->b[i].level;
	}
	return count;
}

/* Where no reason decides: strong and mild in turn. */
static double whim(size_t level)
{
	double x = (double)(level + 1) * GOLDEN_RATIO;

	return x - floor(x);
}

/* Those that need a block here most: how many it has. */
static size_t fewest(const struct plan *a)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < a->p->n_levels; i++)
		if (needs_more(&a->level[i], blocks_here(a, i)) &&
		    blocks_here(a, i) < least)
			least = blocks_here(a, i);
	return least;
}

static void choose(const struct plan *a, struct np_blocks_next *next)
{
	size_t least = fewest(a), best_followed = SIZE_MAX;

	for (size_t i = 0; least < SIZE_MAX && i < a->p->n_levels; i++) {
		size_t f = i == a->last ? SIZE_MAX - 1 : followed(a, i);

		if (blocks_here(a, i) != least ||
		    !needs_more(&a->level[i], least))
			continue;
		if (may_cost_sec(a, i) > a->left_sec) {
			next->waits = true;
		} else if (f < best_followed ||
			   (f == best_followed &&
			    next->level != NP_BLOCKS_NO_LEVEL &&
			    whim(i) < whim(next->level))) {
			best_followed = f;
			next->level = i;
		}
	}
	next->waits &= next->level == NP_BLOCKS_NO_LEVEL;
}

/* Everywhere; or it makes no sense to go on. */
static bool is_complete(const struct plan *a, const struct np_blocks *o)
{
	if (o->verdict == NP_BLOCKS_RESTLESS &&
	    o->n_dropped >= NP_BLOCKS_LEAST * a->p->n_levels)
		return true;
	for (size_t i = 0; i < a->p->n_levels; i++)
		if (needs_more(&a->level[i], a->level[i].least))
			return false;
	return true;
}

/* The level of the last loaded block; and what the run has lost so far. */
static double look_back(const struct plan *a, size_t n_here, size_t *last)
{
	double lost = 0;

	*last = NP_BLOCKS_NO_LEVEL;
	for (size_t i = a->n - n_here; i < a->n; i++) {
		lost += np_blocks_lost_sec(&a->b[i], &a->s->point[i]);
		if (a->b[i].level != NP_BLOCKS_NO_LEVEL)
			*last = a->b[i].level;
	}
	return lost;
}

static void plan_on(struct plan *a, size_t n_here, double run_sec,
		    const struct np_blocks *o, struct np_blocks_next *next)
{
	double lost = look_back(a, n_here, &a->last);

	next->complete = is_complete(a, o);
	if (next->complete || !n_here || o->verdict == NP_BLOCKS_SILENT ||
	    a->b[a->n - 1].level != NP_BLOCKS_NO_LEVEL)
		return;
	a->phase = a->s->point[a->n - 1].phase;
	if (a->phase == NP_BLOCKS_NO_PHASE || !a->s->phase[a->phase].rate)
		return;
	a->left_sec = a->p->share * (run_sec - lost) - lost;
	choose(a, next);
}

int np_blocks_plan_next(const struct np_blocks_plan *p,
			const struct np_block *b, size_t n, size_t n_here,
			double run_sec, struct np_blocks_next *out)
{
	struct np_blocks_level *level = calloc(p->n_levels + 1, sizeof(*level));
	struct np_blocks_next next = { .level = NP_BLOCKS_NO_LEVEL };
	struct plan a = { .p = p, .b = b, .n = n, .level = level };
	struct np_blocks_sorted s;
	struct np_blocks o;
	int rc = -ENOMEM;

	if (level)
		rc = np_blocks_sort(b, n, p->n_levels, &s);
	if (!rc) {
		a.s = &s;
		np_blocks_judge(b, n, NULL, &s, level, p->n_levels, &o);
		plan_on(&a, n_here, run_sec, &o, &next);
		np_blocks_sorted_free(&s);
		*out = next;
	}
	free(level);
	return rc;
}
