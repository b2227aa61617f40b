/* Which phase each block is of, and what it says. */
#include "np_blocks_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_sort.h>

/* Phases as ranges of log(rate), and which is the quiet one. */
struct ranges {
	double low[NP_BLOCKS_PHASES], high[NP_BLOCKS_PHASES];
	size_t n, quiet; /* quiet: its number, or NP_BLOCKS_NO_PHASE */
	double floor;	 /* rates below are quiet */
};

static bool is_alone(const struct np_block *b)
{
	return b->level == NP_BLOCKS_NO_LEVEL;
}

static bool is_valid(const struct np_block *b, size_t n_levels)
{
	return (is_alone(b) || b->level < n_levels) && isfinite(b->sec) &&
	       b->sec > 0 && isfinite(b->rate) && b->rate >= 0;
}

static void add_range(struct ranges *r, const double *sorted, size_t n)
{
	if (n < 2 || r->n == NP_BLOCKS_PHASES)
		return;
	r->low[r->n] = sorted[0];
	r->high[r->n++] = sorted[n - 1];
}

/* v[n]: log rates of unloaded blocks that are not quiet; sorts them. */
static void find_ranges(double *v, size_t n, size_t n_quiet, struct ranges *r)
{
	size_t from = 0;

	r->quiet = NP_BLOCKS_NO_PHASE;
	if (n_quiet > 1) {
		r->quiet = r->n++;
		r->low[r->quiet] = r->high[r->quiet] = -INFINITY;
	}
	gsl_sort(v, 1, n);
	for (size_t i = 1; i <= n; i++)
		if (i == n || v[i] - v[i - 1] > NP_BLOCKS_APART) {
			add_range(r, v + from, i - from);
			from = i;
		}
}

static size_t phase_of(const struct ranges *r, double rate)
{
	double x = log(rate);

	if (rate <= 0 || rate < r->floor)
		return r->quiet;
	for (size_t k = 0; k < r->n; k++)
		if (k != r->quiet && x >= r->low[k] && x <= r->high[k])
			return k;
	return NP_BLOCKS_NO_PHASE;
}

static int find_phases(const struct np_block *b, size_t n,
		       struct np_blocks_sorted *s, struct ranges *r)
{
	double *v = calloc(n + 1, sizeof(*v));
	size_t used = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (is_alone(&b[i])) {
			s->top_rate = fmax(s->top_rate, b[i].rate);
			s->n_alone++;
		}
	*r = (struct ranges){ .floor = NP_BLOCKS_QUIET * s->top_rate };
	for (size_t i = 0; i < n; i++)
		if (is_alone(&b[i]) && b[i].rate > 0 && b[i].rate >= r->floor)
			v[used++] = log(b[i].rate);
	find_ranges(v, used, s->n_alone - used, r);
	free(v);
	s->n_phases = r->n;
	return 0;
}

/* A loaded block between two unloaded ones of its run. */
static bool has_neighbours(const struct np_block *b, size_t n, size_t i)
{
	return i > 0 && i + 1 < n && is_alone(&b[i - 1]) &&
	       is_alone(&b[i + 1]) && b[i - 1].run == b[i].run &&
	       b[i + 1].run == b[i].run;
}

/* b is the loaded block, with both its neighbours beside it. */
static struct np_blocks_point judge_loaded(const struct np_block *b,
					   const struct ranges *r)
{
	struct np_blocks_point p = {
		.use = NP_BLOCK_DROPPED, .phase = phase_of(r, b[-1].rate),
	};
	double before, after;

	if (p.phase == NP_BLOCKS_NO_PHASE ||
	    p.phase != phase_of(r, b[1].rate))
		return p;
	if (p.phase == r->quiet) {
		p.use = NP_BLOCK_QUIET;
		return p;
	}
	before = log(b[-1].rate);
	after = log(b[1].rate);
	/* Nothing at all: the program may have paused by itself. */
	if (fabs(after - before) > NP_BLOCKS_APART || b->rate <= 0 ||
	    b->rate < r->floor)
		return p;
	p.use = NP_BLOCK_COUNTS;
	p.x = (before + after) / 2 - log(b->rate);
	return p;
}

/* x of the run under way, of every cell: into the cells. */
static void end_run(struct np_moments *here, struct np_blocks_cell *cell,
		    size_t n_cells)
{
	for (size_t i = 0; i < n_cells; i++) {
		double n = (double)here[i].n;

		cell[i].within += here[i].m2;
		cell[i].squares += n * n;
		cell[i].n_runs += here[i].n > 0;
		here[i] = (struct np_moments){ 0 };
	}
}

static void add_to_cell(struct np_blocks_cell *cell, struct np_moments *here,
			double x)
{
	np_moments_add(&cell->x, x);
	np_moments_add(here, x);
	cell->speed += exp(-x);
}

static void judge_all(const struct np_block *b, size_t n,
		      const struct ranges *r, struct np_blocks_sorted *s,
		      struct np_moments *here, size_t n_cells)
{
	for (size_t i = 0; i < n; i++) {
		struct np_blocks_point *p = &s->point[i];
		size_t at;

		if (is_alone(&b[i]))
			*p = (struct np_blocks_point){
				NP_BLOCK_ALONE, phase_of(r, b[i].rate), 0
			};
		else if (!has_neighbours(b, n, i))
			*p = (struct np_blocks_point){
				NP_BLOCK_EDGE, NP_BLOCKS_NO_PHASE, 0
			};
		else
			*p = judge_loaded(&b[i], r);
		if (p->use == NP_BLOCK_COUNTS) {
			at = b[i].level * NP_BLOCKS_PHASES + p->phase;
			add_to_cell(&s->cell[at], &here[at], p->x);
		}
		if (i + 1 == n || b[i + 1].run != b[i].run)
			end_run(here, s->cell, n_cells);
	}
}

/* Time and rate of the phases, had there been no levels. */
static void weigh_phases(const struct np_block *b, size_t n,
			 const struct ranges *r, struct np_blocks_sorted *s)
{
	double sec[NP_BLOCKS_PHASES] = { 0 }, total = 0;
	struct np_moments rate[NP_BLOCKS_PHASES] = { { 0 } };

	for (size_t i = 0; i < n; i++) {
		const struct np_blocks_point *p = &s->point[i];
		double alone = b[i].sec * exp(-p->x);

		if (p->phase == NP_BLOCKS_NO_PHASE ||
		    p->use == NP_BLOCK_DROPPED)
			continue;
		sec[p->phase] += alone;
		total += alone;
		if (p->use == NP_BLOCK_ALONE)
			np_moments_add(&rate[p->phase], b[i].rate);
	}
	for (size_t k = 0; k < s->n_phases; k++)
		s->phase[k] = (struct np_blocks_phase){
			k == r->quiet ? 0 : rate[k].mean, sec[k] / total,
		};
}

int np_blocks_sort(const struct np_block *b, size_t n, size_t n_levels,
		   struct np_blocks_sorted *out)
{
	struct np_blocks_sorted s = { .n_phases = 0 };
	size_t n_cells = n_levels * NP_BLOCKS_PHASES;
	struct np_moments *here;
	struct ranges r;
	int rc = -ENOMEM;

	for (size_t i = 0; i < n; i++)
		if (!is_valid(&b[i], n_levels))
			return -EINVAL;
	s.point = calloc(n + 1, sizeof(*s.point));
	s.cell = calloc(n_cells + 1, sizeof(*s.cell));
	here = calloc(n_cells + 1, sizeof(*here));
	if (s.point && s.cell && here)
		rc = find_phases(b, n, &s, &r);
	if (!rc) {
		judge_all(b, n, &r, &s, here, n_cells);
		weigh_phases(b, n, &r, &s);
		*out = s;
	} else {
		np_blocks_sorted_free(&s);
	}
	free(here);
	return rc;
}

void np_blocks_sorted_free(struct np_blocks_sorted *s)
{
	free(s->point);
	free(s->cell);
	*s = (struct np_blocks_sorted){ .n_phases = 0 };
}
