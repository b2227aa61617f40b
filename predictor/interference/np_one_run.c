/*
 * Estimation of slowdowns from intervals, their errors, and the selection of
 * the next interval.
 *
 * Let s be the standard deviation of x within a run, and t that of the mean of
 * a level and phase between runs.  If m intervals of each run add up to n, the
 * variance of the mean is
 *	s^2 / n + t^2 * sum(m^2) / n^2
 * s is pooled over all levels, phases and runs.  t is the moment estimator of
 * an unbalanced one-way layout (Searle, Casella, McCulloch, Variance
 * Components, 1992, 3.6), combined with a prior as in np_moments.h.  A run can
 * differ from another in all of its levels alike, so r runs have r - 1 degrees
 * of freedom. Those of the sum follow from Satterthwaite's formula.
 */
#include "np_one_run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>

#include "np_moments.h"

#define NP_ONE_RUN_NO_PHASE ((size_t)-1)

enum np_one_run_use {
	NP_INTERVAL_ALONE,   /* without load */
	NP_INTERVAL_COUNTS,  /* x is known */
	NP_INTERVAL_QUIET,   /* in a phase without traffic to slow down */
	NP_INTERVAL_DROPPED, /* it and its neighbours are not of one phase */
	NP_INTERVAL_EDGE,    /* a neighbour is missing */
};

struct np_one_run_point {
	enum np_one_run_use use;
	size_t phase; /* or NP_ONE_RUN_NO_PHASE */
	double x;     /* log(1 + slowdown); 0 if unknown */
};

/* The intervals of one level in one phase. */
struct np_one_run_cell {
	struct np_moments x;
	double speed;	/* sum of exp(-x) */
	double within;	/* sum of squared differences from the runs' means */
	double squares; /* sum over the runs of (number of intervals)^2 */
	size_t n_runs;
};

/* The classification of all intervals; free with free_sorted(). */
struct np_one_run_sorted {
	struct np_one_run_point *point; /* of each interval */
	struct np_one_run_cell *cell;	/* of level, phase after phase */
	struct np_one_run_phase phase[NP_ONE_RUN_PHASES];
	size_t n_phases;
	double alone_squares; /* sum of x^2 of unloaded intervals */
	size_t n_alone_x;     /* number of these; see add_unloaded() */
	double top_rate;      /* highest rate of an unloaded interval, or 0 */
	size_t n_alone;	      /* number of unloaded intervals */
};

static void free_sorted(struct np_one_run_sorted *s);

/* Assignment of intervals to phases. */

/* Phases as ranges of log(rate). */
struct ranges {
	double low[NP_ONE_RUN_PHASES], high[NP_ONE_RUN_PHASES];
	size_t n, quiet; /* index of the quiet phase, or NP_ONE_RUN_NO_PHASE */
	double floor;	 /* lower rates are quiet */
};

static bool is_alone(const struct np_interval *b)
{
	return b->level == NP_INTERVAL_NO_LEVEL;
}

static bool is_valid(const struct np_interval *b, size_t n_levels)
{
	return (is_alone(b) || b->level < n_levels) && isfinite(b->sec) &&
	       b->sec > 0 && isfinite(b->rate) && b->rate >= 0;
}

static void add_range(struct ranges *r, const double *sorted, size_t n)
{
	if (n < 2 || r->n == NP_ONE_RUN_PHASES)
		return;
	r->low[r->n] = sorted[0];
	r->high[r->n++] = sorted[n - 1];
}

/* Find the phases from log(rate) of the unloaded intervals v[n], and sort v. */
static void find_ranges(double *v, size_t n, size_t n_quiet, struct ranges *r)
{
	size_t from = 0;

	r->quiet = NP_ONE_RUN_NO_PHASE;
	if (n_quiet > 1) {
		r->quiet = r->n++;
		r->low[r->quiet] = r->high[r->quiet] = -INFINITY;
	}
	gsl_sort(v, 1, n);
	for (size_t i = 1; i <= n; i++)
		if (i == n || v[i] - v[i - 1] > NP_ONE_RUN_APART) {
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
	return NP_ONE_RUN_NO_PHASE;
}

static int find_phases(const struct np_interval *b, size_t n,
		       struct np_one_run_sorted *s, struct ranges *r)
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
	*r = (struct ranges){ .floor = NP_ONE_RUN_QUIET * s->top_rate };
	for (size_t i = 0; i < n; i++)
		if (is_alone(&b[i]) && b[i].rate > 0 && b[i].rate >= r->floor)
			v[used++] = log(b[i].rate);
	find_ranges(v, used, s->n_alone - used, r);
	free(v);
	s->n_phases = r->n;
	return 0;
}

/* True if a loaded interval has an unloaded interval of its run on both sides. */
static bool has_neighbours(const struct np_interval *b, size_t n, size_t i)
{
	return i > 0 && i + 1 < n && is_alone(&b[i - 1]) &&
	       is_alone(&b[i + 1]) && b[i - 1].run == b[i].run &&
	       b[i + 1].run == b[i].run;
}

/* Classify the loaded interval *b, whose neighbours are b[-1] and b[1]. */
static struct np_one_run_point judge_loaded(const struct np_interval *b,
					    const struct ranges *r)
{
	struct np_one_run_point p = {
		.use = NP_INTERVAL_DROPPED,
		.phase = phase_of(r, b[-1].rate),
	};
	double before, after;

	if (p.phase == NP_ONE_RUN_NO_PHASE || p.phase != phase_of(r, b[1].rate))
		return p;
	if (p.phase == r->quiet) {
		p.use = NP_INTERVAL_QUIET;
		return p;
	}
	before = log(b[-1].rate);
	after = log(b[1].rate);
	/* If there was no traffic at all, the program may have paused. */
	if (fabs(after - before) > NP_ONE_RUN_APART || b->rate <= 0 ||
	    b->rate < r->floor)
		return p;
	p.use = NP_INTERVAL_COUNTS;
	p.x = (before + after) / 2 - log(b->rate);
	return p;
}

/* Add the moments of a finished run to the cells, and clear them. */
static void end_run(struct np_moments *here, struct np_one_run_cell *cell,
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

static void add_to_cell(struct np_one_run_cell *cell, struct np_moments *here,
			double x)
{
	np_moments_add(&cell->x, x);
	np_moments_add(here, x);
	cell->speed += exp(-x);
}

static void judge_all(const struct np_interval *b, size_t n,
		      const struct ranges *r, struct np_one_run_sorted *s,
		      struct np_moments *here, size_t n_cells)
{
	for (size_t i = 0; i < n; i++) {
		struct np_one_run_point *p = &s->point[i];
		size_t at;

		if (is_alone(&b[i]))
			*p = (struct np_one_run_point){ NP_INTERVAL_ALONE,
							phase_of(r, b[i].rate),
							0 };
		else if (!has_neighbours(b, n, i))
			*p = (struct np_one_run_point){ NP_INTERVAL_EDGE,
							NP_ONE_RUN_NO_PHASE,
							0 };
		else
			*p = judge_loaded(&b[i], r);
		if (p->use == NP_INTERVAL_COUNTS) {
			at = b[i].level * NP_ONE_RUN_PHASES + p->phase;
			add_to_cell(&s->cell[at], &here[at], p->x);
		}
		if (i + 1 == n || b[i + 1].run != b[i].run)
			end_run(here, s->cell, n_cells);
	}
}

/*
 * The scatter of unloaded intervals.  One that lies between two others of its
 * run and phase has an x like a loaded interval, which would be 0
 * without noise.
 */
static void add_unloaded(const struct np_interval *b, size_t n,
			 const struct ranges *r, struct np_one_run_sorted *s)
{
	size_t at[3]; /* the last unloaded intervals of a run and phase */
	size_t seen = 0;

	for (size_t i = 0; i < n; i++) {
		size_t phase = s->point[i].phase;
		double x;

		if (i && b[i].run != b[i - 1].run)
			seen = 0;
		if (!is_alone(&b[i]))
			continue;
		if (phase == NP_ONE_RUN_NO_PHASE || phase == r->quiet ||
		    (seen && s->point[at[seen - 1]].phase != phase))
			seen = 0;
		if (phase == NP_ONE_RUN_NO_PHASE || phase == r->quiet)
			continue;
		at[seen++] = i;
		if (seen < 3)
			continue;
		x = (log(b[at[0]].rate) + log(b[at[2]].rate)) / 2 -
		    log(b[at[1]].rate);
		s->alone_squares += x * x;
		s->n_alone_x++;
		at[0] = at[1];
		at[1] = at[2];
		seen = 2;
	}
}

/* Time and rate of the phases without load. */
static void weigh_phases(const struct np_interval *b, size_t n,
			 const struct ranges *r, struct np_one_run_sorted *s)
{
	double sec[NP_ONE_RUN_PHASES] = { 0 }, total = 0;
	struct np_moments rate[NP_ONE_RUN_PHASES] = { { 0 } };

	for (size_t i = 0; i < n; i++) {
		const struct np_one_run_point *p = &s->point[i];
		double alone = b[i].sec * exp(-p->x);

		if (p->phase == NP_ONE_RUN_NO_PHASE ||
		    p->use == NP_INTERVAL_DROPPED)
			continue;
		sec[p->phase] += alone;
		total += alone;
		if (p->use == NP_INTERVAL_ALONE)
			np_moments_add(&rate[p->phase], b[i].rate);
	}
	for (size_t k = 0; k < s->n_phases; k++)
		s->phase[k] = (struct np_one_run_phase){
			k == r->quiet ? 0 : rate[k].mean,
			sec[k] / total,
		};
}

static int classify(const struct np_interval *b, size_t n, size_t n_levels,
		    struct np_one_run_sorted *out)
{
	struct np_one_run_sorted s = { .n_phases = 0 };
	size_t n_cells = n_levels * NP_ONE_RUN_PHASES;
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
		add_unloaded(b, n, &r, &s);
		weigh_phases(b, n, &r, &s);
		*out = s;
	} else {
		free_sorted(&s);
	}
	free(here);
	return rc;
}

static void free_sorted(struct np_one_run_sorted *s)
{
	free(s->point);
	free(s->cell);
	*s = (struct np_one_run_sorted){ .n_phases = 0 };
}

#define LEAST_RATE 1e4	/* bytes/s below which a program is silent */
#define CALL_BYTES 1e4	/* an MPI call counts as so many bytes: 1/s suffices */
#define LEAST_DROPPED 3 /* dropped intervals before NP_ONE_RUN_RESTLESS */
#define LEAST_REPEATS 2 /* degrees of freedom needed to judge the scatter */
#define LEAST_WITHIN 4	/* the same, for the scatter within runs */

static const char *const words[] = {
	[NP_ONE_RUN_FEW] = "too few intervals so far",
	[NP_ONE_RUN_SILENT] = "the program sends next to nothing",
	[NP_ONE_RUN_RESTLESS] =
		"its traffic changes within the time of a few intervals",
	[NP_ONE_RUN_SCATTER] = "repeated intervals of one level do not agree",
	[NP_ONE_RUN_DIFFER] =
		"its traffic and its MPI calls do not say the same",
	[NP_ONE_RUN_USABLE] = "repeated intervals agree",
};

const char *np_one_run_words(enum np_one_run_verdict verdict)
{
	return words[verdict];
}

/* Standard deviations of x and their degrees of freedom. */
struct error {
	double all, all_df; /* all repeats; NaN and 0 if there are none */
	double within, within_df;
	double between, between_df;
};

static double square(double x)
{
	return x * x;
}

/* Estimate t^2 from the cells with more than one run; 0 if there are none. */
static double between_intervals(const struct np_one_run_sorted *s,
				size_t n_cells, double within)
{
	double sum = 0, weight = 0;

	for (size_t i = 0; i < n_cells; i++) {
		const struct np_one_run_cell *c = &s->cell[i];
		double n = (double)c->x.n;

		if (c->n_runs < 2)
			continue;
		sum += c->x.m2 - c->within -
		       ((double)c->n_runs - 1) * square(within);
		weight += n - c->squares / n;
	}
	return weight > 0 ? fmax(sum / weight, 0) : 0;
}

/*
 * Before levels have been repeated, the unloaded intervals show how much
 * intervals scatter.  Two of their x share two intervals, which halves the
 * degrees of freedom. They cannot show that loaded intervals disagree, so a
 * large scatter is not used.
 */
static void use_unloaded(const struct np_one_run_sorted *s, struct error *e)
{
	double df = (double)s->n_alone_x / 2, sd;

	if (df < LEAST_REPEATS)
		return;
	sd = sqrt(s->alone_squares / (double)s->n_alone_x);
	if (sd > NP_ONE_RUN_DISAGREE)
		return;
	e->all = e->within = fmax(sd, NP_NOISE_DEFAULT);
	e->all_df = e->within_df = df;
}

/*
 * The scatter within runs.  If too few intervals were repeated within a run,
 * use the scatter of all repeats, which includes differences between runs.
 */
static struct error repeats(const struct np_one_run_sorted *s, size_t n_cells)
{
	struct error e = { .all_df = 0 };
	double within = 0, all = 0;

	for (size_t i = 0; i < n_cells; i++) {
		const struct np_one_run_cell *c = &s->cell[i];

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
	if (e.all_df < LEAST_REPEATS)
		use_unloaded(s, &e);
	return e;
}

static struct error scatter(const struct np_one_run_sorted *s,
			    const struct np_mean *whole, size_t n_levels,
			    size_t n_runs)
{
	struct error e = repeats(s, n_levels * NP_ONE_RUN_PHASES);
	double df = n_runs > 1 ? (double)n_runs - 1 : 0, one = 0;
	double sum = NP_NOISE_PRIOR * square(NP_NOISE_DEFAULT);

	sum += df *
	       between_intervals(s, n_levels * NP_ONE_RUN_PHASES, e.within);
	for (size_t i = 0; whole && i < n_levels; i++) {
		double f = np_noise_freedom(&whole[i], &one);

		sum += f * one;
		df += f;
	}
	e.between_df = NP_NOISE_PRIOR + df;
	e.between = sqrt(sum / e.between_df);
	return e;
}

/* Sums over the phases, weighted by the time of each without load. */
struct sums {
	double weight, mean, n;
	double within;	/* variance */
	double between; /* sd: a run differs in all phases alike */
};

static void add_phase(const struct np_one_run_phase *p,
		      const struct np_one_run_cell *c, const struct error *e,
		      struct sums *a)
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

/* True if each level must be measured in this phase. */
static bool matters(const struct np_one_run_phase *p)
{
	return p->rate > 0 && p->share >= NP_ONE_RUN_SHARE;
}

static double half_width(double error, double df)
{
	return gsl_cdf_tdist_Pinv(0.975, df) * error;
}

static void bound(const struct error *e, const struct sums *a,
		  struct np_one_run_level *l)
{
	double mean = a->mean / a->weight, full = a->weight * (1 + mean);
	double within = a->within / square(full);
	double between = square(a->between / full), var = within + between, h;

	l->error = sqrt(var);
	l->df = var > 0 ? square(var) / (square(within) / e->within_df +
					 square(between) / e->between_df) :
			  e->within_df;
	l->slowdown = (struct np_mean){
		(uint32_t)a->n,
		mean,
		sqrt(a->n * var) * (1 + mean),
	};
	h = half_width(l->error, l->df);
	l->low = expm1(log1p(mean) - h);
	l->high = expm1(log1p(mean) + h);
	l->half_width = half_width(sqrt(within), e->within_df);
}

/* The mean over the phases for one level, whose cells are given. */
static void judge_level(const struct np_one_run_sorted *s,
			const struct np_one_run_cell *cell,
			const struct error *e, struct np_one_run_level *l)
{
	struct sums a = { .n = 0 };

	*l = (struct np_one_run_level){ .half_width = INFINITY,
					.least = SIZE_MAX };
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

/* Upper limit of the time by which an interval prolonged the run, seconds. */
static double lost_sec(const struct np_interval *b,
		       const struct np_one_run_point *p)
{
	if (p->use == NP_INTERVAL_COUNTS)
		return b->sec * -expm1(-fmax(p->x, 0));
	return p->use == NP_INTERVAL_DROPPED || p->use == NP_INTERVAL_EDGE ?
		       b->sec :
		       0;
}

static enum np_one_run_verdict verdict(const struct np_one_run_sorted *s,
				       const struct np_one_run *o, double df)
{
	if (s->n_alone > 1 && s->top_rate < LEAST_RATE)
		return NP_ONE_RUN_SILENT;
	if (o->n_dropped >= LEAST_DROPPED && 2 * o->n_dropped > o->n_loaded)
		return NP_ONE_RUN_RESTLESS;
	if (df < LEAST_REPEATS)
		return NP_ONE_RUN_FEW;
	return o->scatter > NP_ONE_RUN_DISAGREE ? NP_ONE_RUN_SCATTER :
						  NP_ONE_RUN_USABLE;
}

/* The estimates for classified intervals. */
static void make_estimates(const struct np_interval *b, size_t n,
			   const struct np_mean *whole,
			   const struct np_one_run_sorted *s,
			   struct np_one_run_level *level, size_t n_levels,
			   struct np_one_run *out)
{
	struct np_one_run o = { .n_phases = s->n_phases, .apart = NAN };
	struct error e;

	for (size_t i = 0; i < n; i++) {
		const struct np_one_run_point *p = &s->point[i];

		o.n_runs += !i || b[i].run != b[i - 1].run;
		o.n_loaded += p->use != NP_INTERVAL_ALONE;
		o.n_dropped += p->use == NP_INTERVAL_DROPPED;
		o.sec += b[i].sec;
		o.lost_sec += lost_sec(&b[i], p);
	}
	for (size_t k = 0; k < s->n_phases; k++)
		o.phase[k] = s->phase[k];
	e = scatter(s, whole, n_levels, o.n_runs);
	o.scatter = e.all;
	o.between = e.between;
	for (size_t i = 0; i < n_levels; i++)
		judge_level(s, s->cell + i * NP_ONE_RUN_PHASES, &e, &level[i]);
	o.verdict = verdict(s, &o, e.all_df);
	*out = o;
}

static int estimate(const struct np_interval *b, size_t n,
		    const struct np_mean *whole, struct np_one_run_level *level,
		    size_t n_levels, struct np_one_run *out)
{
	struct np_one_run_sorted s;
	int rc = classify(b, n, n_levels, &s);

	if (rc)
		return rc;
	make_estimates(b, n, whole, &s, level, n_levels, out);
	free_sorted(&s);
	return 0;
}

/* Copy the runs whose intervals all have MPI calls, with calls as the rate. */
static size_t list_calls(const struct np_interval *b, size_t n,
			 struct np_interval *out)
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

static double distance(const struct np_one_run_level *a,
		       const struct np_one_run_level *b, size_t n)
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

/* Choose between the estimates by bytes and those by MPI calls. */
static void choose_bytes_or_calls(struct np_one_run_level *level,
				  struct np_one_run *o,
				  const struct np_one_run_level *calls,
				  size_t n_levels, struct np_one_run *by_calls)
{
	bool bytes = o->verdict == NP_ONE_RUN_USABLE;

	if (by_calls->verdict != NP_ONE_RUN_USABLE)
		return;
	if (bytes)
		o->apart = by_calls->apart = distance(level, calls, n_levels);
	if (o->apart > NP_ONE_RUN_DIFFER_BY) {
		o->verdict = NP_ONE_RUN_DIFFER;
	} else if (!bytes || by_calls->scatter < o->scatter) {
		by_calls->by_calls = true;
		*o = *by_calls;
		memcpy(level, calls, n_levels * sizeof(*level));
	}
}

int np_one_run_estimate(const struct np_interval *b, size_t n,
			const struct np_mean *whole,
			struct np_one_run_level *level, size_t n_levels,
			struct np_one_run *out)
{
	int rc = estimate(b, n, whole, level, n_levels, out);
	struct np_interval *calls = rc ? NULL : calloc(n + 1, sizeof(*calls));
	struct np_one_run_level *of = calloc(n_levels + 1, sizeof(*of));
	struct np_one_run o;
	size_t n_calls;

	if (!rc && calls && of) {
		n_calls = list_calls(b, n, calls);
		rc = estimate(calls, n_calls, whole, of, n_levels, &o);
		if (!rc)
			choose_bytes_or_calls(level, out, of, n_levels, &o);
	} else if (!rc) {
		rc = -ENOMEM;
	}
	free(calls);
	free(of);
	return rc;
}

/* Selection of the next interval. */

#define GOLDEN_RATIO 0.61803398874989485

struct plan {
	const struct np_one_run_schedule *p;
	const struct np_interval *b;
	size_t n, n_here; /* all intervals; those of this run, which are last */
	const struct np_one_run_sorted *s;
	const struct np_one_run_level *level;
	size_t phase;	 /* current phase of the run */
	size_t last;	 /* level of the run's last loaded interval */
	double left_sec; /* time that the run may still lose */
};

static size_t count_here(const struct plan *a, size_t level)
{
	return a->s->cell[level * NP_ONE_RUN_PHASES + a->phase].x.n;
}

/* Has this run a loaded interval of the level, in any phase? */
static bool is_in_run(const struct plan *a, size_t level)
{
	for (size_t i = a->n - a->n_here; i < a->n; i++)
		if (a->b[i].level == level)
			return true;
	return false;
}

/*
 * True if a level with n intervals in a phase needs another in this run.  A
 * level that is known well enough from one interval gets the next one from a
 * later run, which also shows how much runs differ.
 */
static bool needs_more(const struct plan *a, size_t level, size_t n)
{
	if (!n || a->level[level].half_width > NP_ONE_RUN_HALF_WIDTH)
		return n < NP_ONE_RUN_MAX;
	return n < NP_ONE_RUN_MIN && !is_in_run(a, level);
}

static double may_cost_sec(const struct plan *a, size_t level)
{
	const struct np_mean *m = &a->level[level].slowdown;

	if (!m->n)
		return a->p->interval_sec;
	return a->p->interval_sec * fmax(m->mean, 0) / (1 + fmax(m->mean, 0));
}

/* How often this level has followed the level a->last. */
static size_t followed(const struct plan *a, size_t level)
{
	size_t before = NP_INTERVAL_NO_LEVEL, count = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (i && a->b[i].run != a->b[i - 1].run)
			before = NP_INTERVAL_NO_LEVEL;
		if (a->b[i].level == NP_INTERVAL_NO_LEVEL)
			continue;
		count += before == a->last && a->b[i].level == level;
		before = a->b[i].level;
	}
	return count;
}

/* Tie breaker that alternates between strong and weak levels. */
static double tie_order(size_t level)
{
	double x = (double)(level + 1) * GOLDEN_RATIO;

	return x - floor(x);
}

/* Distance to the nearest level with an interval in this phase, as an index. */
static size_t gap(const struct plan *a, size_t level)
{
	size_t least = SIZE_MAX;

	for (size_t k = 0; k < a->p->n_levels; k++) {
		size_t far = k > level ? k - level : level - k;

		if (count_here(a, k) && far < least)
			least = far;
	}
	return least;
}

/*
 * Which of two equally needed levels comes first?  As long as levels have no
 * interval, the one in the largest gap, starting with the last and strongest,
 * so that a short run covers the whole range.
 */
static bool precedes(const struct plan *a, size_t level, size_t other)
{
	size_t here = gap(a, level), there = gap(a, other);

	if (count_here(a, level))
		return tie_order(level) < tie_order(other);
	return here != there ? here > there : level > other;
}

/* The least number of intervals in this phase of a level that needs more. */
static size_t fewest(const struct plan *a)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < a->p->n_levels; i++)
		if (needs_more(a, i, count_here(a, i)) &&
		    count_here(a, i) < least)
			least = count_here(a, i);
	return least;
}

static void plan_select_level(const struct plan *a,
			      struct np_one_run_next *next)
{
	size_t least = fewest(a), best_followed = SIZE_MAX;

	for (size_t i = 0; least < SIZE_MAX && i < a->p->n_levels; i++) {
		size_t f = i == a->last ? SIZE_MAX - 1 : followed(a, i);

		if (count_here(a, i) != least || !needs_more(a, i, least))
			continue;
		if (may_cost_sec(a, i) > a->left_sec) {
			next->waits = true;
		} else if (f < best_followed ||
			   (f == best_followed &&
			    next->level != NP_INTERVAL_NO_LEVEL &&
			    precedes(a, i, next->level))) {
			best_followed = f;
			next->level = i;
		}
	}
	next->waits &= next->level == NP_INTERVAL_NO_LEVEL;
}

/*
 * True if no level needs more intervals in this run, or the program is too
 * irregular.
 */
static bool is_complete(const struct plan *a, const struct np_one_run *o)
{
	if (o->verdict == NP_ONE_RUN_RESTLESS &&
	    o->n_dropped >= NP_ONE_RUN_MIN * a->p->n_levels)
		return true;
	for (size_t i = 0; i < a->p->n_levels; i++)
		if (needs_more(a, i, a->level[i].least))
			return false;
	return true;
}

/* Set *last to the level of the last loaded interval; return the lost time. */
static double look_back(const struct plan *a, size_t *last)
{
	double lost = 0;

	*last = NP_INTERVAL_NO_LEVEL;
	for (size_t i = a->n - a->n_here; i < a->n; i++) {
		lost += lost_sec(&a->b[i], &a->s->point[i]);
		if (a->b[i].level != NP_INTERVAL_NO_LEVEL)
			*last = a->b[i].level;
	}
	return lost;
}

static void plan_on(struct plan *a, double run_sec, const struct np_one_run *o,
		    struct np_one_run_next *next)
{
	double lost = look_back(a, &a->last);

	next->complete = is_complete(a, o);
	if (next->complete || !a->n_here || o->verdict == NP_ONE_RUN_SILENT ||
	    a->b[a->n - 1].level != NP_INTERVAL_NO_LEVEL)
		return;
	a->phase = a->s->point[a->n - 1].phase;
	if (a->phase == NP_ONE_RUN_NO_PHASE || !a->s->phase[a->phase].rate)
		return;
	a->left_sec = a->p->share * (run_sec - lost) - lost;
	plan_select_level(a, next);
}

int np_one_run_next_interval(const struct np_one_run_schedule *p,
			     const struct np_interval *b, size_t n,
			     size_t n_here, double run_sec,
			     struct np_one_run_next *out)
{
	struct np_one_run_level *level =
		calloc(p->n_levels + 1, sizeof(*level));
	struct np_one_run_next next = { .level = NP_INTERVAL_NO_LEVEL };
	struct plan a = {
		.p = p, .b = b, .n = n, .n_here = n_here, .level = level
	};
	struct np_one_run_sorted s;
	struct np_one_run o;
	int rc = -ENOMEM;

	if (level)
		rc = classify(b, n, p->n_levels, &s);
	if (!rc) {
		a.s = &s;
		make_estimates(b, n, NULL, &s, level, p->n_levels, &o);
		plan_on(&a, run_sec, &o, &next);
		free_sorted(&s);
		*out = next;
	}
	free(level);
	return rc;
}
