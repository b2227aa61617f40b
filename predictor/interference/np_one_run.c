/*
 * Estimation of slowdowns from intervals, their errors, and the selection of
 * the next interval.
 *
 * Let s be the standard deviation of x within a run, and t that of the mean of
 * a level and phase between runs. If m intervals of each run add up to n, the
 * variance of the mean is
 *	s^2 / n + t^2 * sum(m^2) / n^2
 * s is pooled over all levels, phases and runs. t is the moment estimator of
 * an unbalanced one-way layout (Searle, Casella, McCulloch, Variance
 * Components, 1992, 3.6), combined with a prior as in np_moments.h. A run can
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
	struct np_moments here; /* x in the current run, until it ends */
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

static bool is_alone(const struct np_interval *interval)
{
	return interval->level == NP_INTERVAL_NO_LEVEL;
}

static bool is_valid(const struct np_interval *interval, size_t n_levels)
{
	return (is_alone(interval) || interval->level < n_levels) &&
	       isfinite(interval->sec) && interval->sec > 0 &&
	       isfinite(interval->rate) && interval->rate >= 0;
}

static void add_range(struct ranges *ranges, const double *sorted, size_t n)
{
	if (n < 2 || ranges->n == NP_ONE_RUN_PHASES)
		return;
	ranges->low[ranges->n] = sorted[0];
	ranges->high[ranges->n++] = sorted[n - 1];
}

/* Find the phases from log(rate) of the unloaded intervals v[n], and sort v. */
static void find_ranges(double *v, size_t n, size_t n_quiet,
			struct ranges *ranges)
{
	size_t from = 0;

	ranges->quiet = NP_ONE_RUN_NO_PHASE;
	if (n_quiet > 1) {
		ranges->quiet = ranges->n++;
		ranges->low[ranges->quiet] = ranges->high[ranges->quiet] =
			-INFINITY;
	}
	gsl_sort(v, 1, n);
	for (size_t i = 1; i <= n; i++)
		if (i == n || v[i] - v[i - 1] > NP_ONE_RUN_APART) {
			add_range(ranges, v + from, i - from);
			from = i;
		}
}

static size_t phase_of(const struct ranges *ranges, double rate)
{
	double x = log(rate);

	if (rate <= 0 || rate < ranges->floor)
		return ranges->quiet;
	for (size_t k = 0; k < ranges->n; k++)
		if (k != ranges->quiet && x >= ranges->low[k] &&
		    x <= ranges->high[k])
			return k;
	return NP_ONE_RUN_NO_PHASE;
}

static int find_phases(const struct np_interval *interval, size_t n,
		       struct np_one_run_sorted *sorted, struct ranges *ranges)
{
	double *v = calloc(n + 1, sizeof(*v));
	size_t used = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (is_alone(&interval[i])) {
			sorted->top_rate =
				fmax(sorted->top_rate, interval[i].rate);
			sorted->n_alone++;
		}
	*ranges =
		(struct ranges){ .floor = NP_ONE_RUN_QUIET * sorted->top_rate };
	for (size_t i = 0; i < n; i++)
		if (is_alone(&interval[i]) && interval[i].rate > 0 &&
		    interval[i].rate >= ranges->floor)
			v[used++] = log(interval[i].rate);
	find_ranges(v, used, sorted->n_alone - used, ranges);
	free(v);
	sorted->n_phases = ranges->n;
	return 0;
}

/*
 * True if a loaded interval has an unloaded interval of its run on both sides.
 */
static bool has_neighbours(const struct np_interval *interval, size_t n,
			   size_t i)
{
	return i > 0 && i + 1 < n && is_alone(&interval[i - 1]) &&
	       is_alone(&interval[i + 1]) &&
	       interval[i - 1].run == interval[i].run &&
	       interval[i + 1].run == interval[i].run;
}

/*
 * Classify the loaded interval *interval, between interval[-1] and interval[1].
 */
static struct np_one_run_point judge_loaded(const struct np_interval *interval,
					    const struct ranges *ranges)
{
	struct np_one_run_point point = {
		.use = NP_INTERVAL_DROPPED,
		.phase = phase_of(ranges, interval[-1].rate),
	};
	double before, after;

	if (point.phase == NP_ONE_RUN_NO_PHASE ||
	    point.phase != phase_of(ranges, interval[1].rate))
		return point;
	if (point.phase == ranges->quiet) {
		point.use = NP_INTERVAL_QUIET;
		return point;
	}
	before = log(interval[-1].rate);
	after = log(interval[1].rate);
	/* If there was no traffic at all, the program may have paused. */
	if (fabs(after - before) > NP_ONE_RUN_APART || interval->rate <= 0 ||
	    interval->rate < ranges->floor)
		return point;
	point.use = NP_INTERVAL_COUNTS;
	point.x = (before + after) / 2 - log(interval->rate);
	return point;
}

/* Add the moments of a finished run to the cells, and clear them. */
static void end_run(struct np_one_run_cell *cell, size_t n_cells)
{
	for (size_t i = 0; i < n_cells; i++) {
		double n = (double)cell[i].here.n;

		cell[i].within += cell[i].here.m2;
		cell[i].squares += n * n;
		cell[i].n_runs += cell[i].here.n > 0;
		cell[i].here = (struct np_moments){ 0 };
	}
}

static void add_to_cell(struct np_one_run_cell *cell, double x)
{
	np_moments_add(&cell->x, x);
	np_moments_add(&cell->here, x);
	cell->speed += exp(-x);
}

static void judge_all(const struct np_interval *interval, size_t n,
		      const struct ranges *ranges,
		      struct np_one_run_sorted *sorted, size_t n_cells)
{
	for (size_t i = 0; i < n; i++) {
		struct np_one_run_point *point = &sorted->point[i];

		if (is_alone(&interval[i]))
			*point = (struct np_one_run_point){
				NP_INTERVAL_ALONE,
				phase_of(ranges, interval[i].rate), 0
			};
		else if (!has_neighbours(interval, n, i))
			*point = (struct np_one_run_point){ NP_INTERVAL_EDGE,
							    NP_ONE_RUN_NO_PHASE,
							    0 };
		else
			*point = judge_loaded(&interval[i], ranges);
		if (point->use == NP_INTERVAL_COUNTS)
			add_to_cell(&sorted->cell[interval[i].level *
							  NP_ONE_RUN_PHASES +
						  point->phase],
				    point->x);
		if (i + 1 == n || interval[i + 1].run != interval[i].run)
			end_run(sorted->cell, n_cells);
	}
}

/*
 * The scatter of unloaded intervals. One that lies between two others of its
 * run and phase has an x like a loaded interval, which would be 0
 * without noise.
 */
static void add_unloaded(const struct np_interval *interval, size_t n,
			 const struct ranges *ranges,
			 struct np_one_run_sorted *sorted)
{
	size_t at[3]; /* the last unloaded intervals of a run and phase */
	size_t seen = 0;

	for (size_t i = 0; i < n; i++) {
		size_t phase = sorted->point[i].phase;
		double x;

		if (i && interval[i].run != interval[i - 1].run)
			seen = 0;
		if (!is_alone(&interval[i]))
			continue;
		if (phase == NP_ONE_RUN_NO_PHASE || phase == ranges->quiet ||
		    (seen && sorted->point[at[seen - 1]].phase != phase))
			seen = 0;
		if (phase == NP_ONE_RUN_NO_PHASE || phase == ranges->quiet)
			continue;
		at[seen++] = i;
		if (seen < 3)
			continue;
		x = (log(interval[at[0]].rate) + log(interval[at[2]].rate)) /
			    2 -
		    log(interval[at[1]].rate);
		sorted->alone_squares += x * x;
		sorted->n_alone_x++;
		at[0] = at[1];
		at[1] = at[2];
		seen = 2;
	}
}

/* Time and rate of the phases without load. */
static void weigh_phases(const struct np_interval *interval, size_t n,
			 const struct ranges *ranges,
			 struct np_one_run_sorted *sorted)
{
	double sec[NP_ONE_RUN_PHASES] = { 0 }, total = 0;
	struct np_moments rate[NP_ONE_RUN_PHASES] = { { 0 } };

	for (size_t i = 0; i < n; i++) {
		const struct np_one_run_point *point = &sorted->point[i];
		double alone = interval[i].sec * exp(-point->x);

		if (point->phase == NP_ONE_RUN_NO_PHASE ||
		    point->use == NP_INTERVAL_DROPPED)
			continue;
		sec[point->phase] += alone;
		total += alone;
		if (point->use == NP_INTERVAL_ALONE)
			np_moments_add(&rate[point->phase], interval[i].rate);
	}
	for (size_t k = 0; k < sorted->n_phases; k++)
		sorted->phase[k] = (struct np_one_run_phase){
			k == ranges->quiet ? 0 : rate[k].mean,
			sec[k] / total,
		};
}

static int classify(const struct np_interval *interval, size_t n,
		    size_t n_levels, struct np_one_run_sorted *out)
{
	struct np_one_run_sorted sorted = { .n_phases = 0 };
	size_t n_cells = n_levels * NP_ONE_RUN_PHASES;
	struct ranges ranges;
	int rc = -ENOMEM;

	for (size_t i = 0; i < n; i++)
		if (!is_valid(&interval[i], n_levels))
			return -EINVAL;
	sorted.point = calloc(n + 1, sizeof(*sorted.point));
	sorted.cell = calloc(n_cells + 1, sizeof(*sorted.cell));
	if (sorted.point && sorted.cell)
		rc = find_phases(interval, n, &sorted, &ranges);
	if (!rc) {
		judge_all(interval, n, &ranges, &sorted, n_cells);
		add_unloaded(interval, n, &ranges, &sorted);
		weigh_phases(interval, n, &ranges, &sorted);
		*out = sorted;
	} else {
		free_sorted(&sorted);
	}
	return rc;
}

static void free_sorted(struct np_one_run_sorted *sorted)
{
	free(sorted->point);
	free(sorted->cell);
	*sorted = (struct np_one_run_sorted){ .n_phases = 0 };
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
	[NP_ONE_RUN_REFUTED] =
		"the times of whole runs under load do not say the same",
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
static double between_intervals(const struct np_one_run_sorted *sorted,
				size_t n_cells, double within)
{
	double sum = 0, weight = 0;

	for (size_t i = 0; i < n_cells; i++) {
		const struct np_one_run_cell *cell = &sorted->cell[i];
		double n = (double)cell->x.n;

		if (cell->n_runs < 2)
			continue;
		sum += cell->x.m2 - cell->within -
		       ((double)cell->n_runs - 1) * square(within);
		weight += n - cell->squares / n;
	}
	return weight > 0 ? fmax(sum / weight, 0) : 0;
}

/*
 * Before levels have been repeated, the unloaded intervals show how much
 * intervals scatter. Two of their x share two intervals, which halves the
 * degrees of freedom. They cannot show that loaded intervals disagree, so a
 * large scatter is not used.
 */
static void use_unloaded(const struct np_one_run_sorted *sorted,
			 struct error *error)
{
	double df = (double)sorted->n_alone_x / 2, sd;

	if (df < LEAST_REPEATS)
		return;
	sd = sqrt(sorted->alone_squares / (double)sorted->n_alone_x);
	if (sd > NP_ONE_RUN_DISAGREE)
		return;
	error->all = error->within = fmax(sd, NP_NOISE_DEFAULT);
	error->all_df = error->within_df = df;
}

/*
 * The scatter within runs. If too few intervals were repeated within a run,
 * use the scatter of all repeats, which includes differences between runs.
 */
static struct error repeats(const struct np_one_run_sorted *sorted,
			    size_t n_cells)
{
	struct error error = { .all_df = 0 };
	double within = 0, all = 0;

	for (size_t i = 0; i < n_cells; i++) {
		const struct np_one_run_cell *cell = &sorted->cell[i];

		if (!cell->x.n)
			continue;
		within += cell->within;
		error.within_df += (double)(cell->x.n - cell->n_runs);
		all += cell->x.m2;
		error.all_df += (double)cell->x.n - 1;
	}
	error.all = error.all_df > 0 ? sqrt(all / error.all_df) : NAN;
	if (error.within_df >= LEAST_WITHIN ||
	    error.within_df == error.all_df) {
		error.within = sqrt(within / error.within_df);
	} else {
		error.within = error.all;
		error.within_df = error.all_df;
	}
	if (!error.all_df) {
		error.within = NP_NOISE_DEFAULT;
		error.within_df = NP_NOISE_PRIOR;
	}
	if (error.all_df < LEAST_REPEATS)
		use_unloaded(sorted, &error);
	return error;
}

static struct error scatter(const struct np_one_run_sorted *sorted,
			    const struct np_mean *whole, size_t n_levels,
			    size_t n_runs)
{
	struct error error = repeats(sorted, n_levels * NP_ONE_RUN_PHASES);
	double df = n_runs > 1 ? (double)n_runs - 1 : 0, one = 0;
	double sum = NP_NOISE_PRIOR * square(NP_NOISE_DEFAULT);

	sum += df * between_intervals(sorted, n_levels * NP_ONE_RUN_PHASES,
				      error.within);
	for (size_t i = 0; whole && i < n_levels; i++) {
		double f = np_noise_freedom(&whole[i], &one);

		sum += f * one;
		df += f;
	}
	error.between_df = NP_NOISE_PRIOR + df;
	error.between = sqrt(sum / error.between_df);
	return error;
}

/* Sums over the phases, weighted by the time of each without load. */
struct sums {
	double weight, mean, n;
	double within;	/* variance */
	double between; /* sd: a run differs in all phases alike */
};

static void add_phase(const struct np_one_run_phase *phase,
		      const struct np_one_run_cell *cell,
		      const struct error *error, struct sums *sums)
{
	double n = (double)cell->x.n, part;

	if (!n && phase->rate > 0)
		return;
	sums->weight += phase->share;
	if (!n)
		return;
	part = phase->share * n / cell->speed;
	sums->mean += part - phase->share;
	sums->within += square(part * error->within) / n;
	sums->between += part * error->between * sqrt(cell->squares) / n;
	sums->n += n;
}

/* True if each level must be measured in this phase. */
static bool matters(const struct np_one_run_phase *phase)
{
	return phase->rate > 0 && phase->share >= NP_ONE_RUN_SHARE;
}

static double half_width(double error, double df)
{
	return gsl_cdf_tdist_Pinv(0.975, df) * error;
}

static void bound(const struct error *error, const struct sums *sums,
		  struct np_one_run_level *level)
{
	double mean = sums->mean / sums->weight,
	       full = sums->weight * (1 + mean);
	double within = sums->within / square(full);
	double between = square(sums->between / full), var = within + between,
	       h;

	level->error = sqrt(var);
	level->df =
		var > 0 ? square(var) / (square(within) / error->within_df +
					 square(between) / error->between_df) :
			  error->within_df;
	level->slowdown = (struct np_mean){
		(uint32_t)sums->n,
		mean,
		sqrt(sums->n * var) * (1 + mean),
	};
	h = half_width(level->error, level->df);
	level->low = expm1(log1p(mean) - h);
	level->high = expm1(log1p(mean) + h);
	level->half_width = half_width(sqrt(within), error->within_df);
}

/* The mean over the phases for one level, whose cells are given. */
static void judge_level(const struct np_one_run_sorted *sorted,
			const struct np_one_run_cell *cell,
			const struct error *error,
			struct np_one_run_level *level)
{
	struct sums sums = { .n = 0 };

	*level = (struct np_one_run_level){ .half_width = INFINITY,
					    .least = SIZE_MAX };
	for (size_t k = 0; k < sorted->n_phases; k++) {
		if (matters(&sorted->phase[k]) && cell[k].x.n < level->least)
			level->least = cell[k].x.n;
		add_phase(&sorted->phase[k], &cell[k], error, &sums);
	}
	if (level->least == SIZE_MAX)
		level->least = 0;
	if (level->least && sums.weight > 0)
		bound(error, &sums, level);
}

/* Upper limit of the time by which an interval prolonged the run, seconds. */
static double lost_sec(const struct np_interval *interval,
		       const struct np_one_run_point *point)
{
	if (point->use == NP_INTERVAL_COUNTS)
		return interval->sec * -expm1(-fmax(point->x, 0));
	return point->use == NP_INTERVAL_DROPPED ||
			       point->use == NP_INTERVAL_EDGE ?
		       interval->sec :
		       0;
}

static enum np_one_run_verdict verdict(const struct np_one_run_sorted *sorted,
				       const struct np_one_run *run, double df)
{
	if (sorted->n_alone > 1 && sorted->top_rate < LEAST_RATE)
		return NP_ONE_RUN_SILENT;
	if (run->n_dropped >= LEAST_DROPPED &&
	    2 * run->n_dropped > run->n_loaded)
		return NP_ONE_RUN_RESTLESS;
	if (df < LEAST_REPEATS)
		return NP_ONE_RUN_FEW;
	return run->scatter > NP_ONE_RUN_DISAGREE ? NP_ONE_RUN_SCATTER :
						    NP_ONE_RUN_USABLE;
}

/* The estimates for classified intervals. */
static void make_estimates(const struct np_interval *interval, size_t n,
			   const struct np_mean *whole,
			   const struct np_one_run_sorted *sorted,
			   struct np_one_run_level *level, size_t n_levels,
			   struct np_one_run *out)
{
	struct np_one_run run = { .n_phases = sorted->n_phases, .apart = NAN };
	struct error error;

	for (size_t i = 0; i < n; i++) {
		const struct np_one_run_point *point = &sorted->point[i];

		run.n_runs += !i || interval[i].run != interval[i - 1].run;
		run.n_loaded += point->use != NP_INTERVAL_ALONE;
		run.n_dropped += point->use == NP_INTERVAL_DROPPED;
		run.sec += interval[i].sec;
		run.lost_sec += lost_sec(&interval[i], point);
	}
	for (size_t k = 0; k < sorted->n_phases; k++)
		run.phase[k] = sorted->phase[k];
	error = scatter(sorted, whole, n_levels, run.n_runs);
	run.scatter = error.all;
	run.between = error.between;
	for (size_t i = 0; i < n_levels; i++)
		judge_level(sorted, sorted->cell + i * NP_ONE_RUN_PHASES,
			    &error, &level[i]);
	run.verdict = verdict(sorted, &run, error.all_df);
	*out = run;
}

static int estimate(const struct np_interval *interval, size_t n,
		    const struct np_mean *whole, struct np_one_run_level *level,
		    size_t n_levels, struct np_one_run *out)
{
	struct np_one_run_sorted sorted;
	int rc = classify(interval, n, n_levels, &sorted);

	if (rc)
		return rc;
	make_estimates(interval, n, whole, &sorted, level, n_levels, out);
	free_sorted(&sorted);
	return 0;
}

/* Copy the runs whose intervals all have MPI calls, with calls as the rate. */
static size_t list_calls(const struct np_interval *interval, size_t n,
			 struct np_interval *out)
{
	size_t used = 0, first = 0; /* first: in out, of the run */
	bool known = true;

	for (size_t i = 0; i < n; i++) {
		if (i && interval[i].run != interval[i - 1].run) {
			first = used;
			known = true;
		}
		known &= interval[i].calls >= 0;
		if (!known) {
			used = first;
			continue;
		}
		out[used] = interval[i];
		out[used++].rate = interval[i].calls * CALL_BYTES;
	}
	return used;
}

/* Differences between two sources of the slowdowns by some levels. */
struct differences {
	double sum; /* of log(1 + slowdown), absolute */
	size_t n;
};

static void add_difference(struct differences *all, const struct np_mean *a,
			   const struct np_mean *b)
{
	if (!np_mean_known(a) || !np_mean_known(b))
		return;
	all->sum += fabs(log1p(a->mean) - log1p(b->mean));
	all->n++;
}

static double distance(const struct np_one_run_level *a,
		       const struct np_one_run_level *b, size_t n)
{
	struct differences all = { .n = 0 };

	for (size_t i = 0; i < n; i++)
		add_difference(&all, &a[i].slowdown, &b[i].slowdown);
	return all.n ? all.sum / (double)all.n : NAN;
}

/*
 * Do the run times of whole runs differ from what the intervals say? A single
 * level does not count: one disturbed run would refute all intervals.
 */
static bool are_refuted(const struct np_one_run_level *level,
			const struct np_mean *whole, size_t n)
{
	struct differences all = { .n = 0 };

	for (size_t i = 0; whole && i < n; i++)
		add_difference(&all, &level[i].slowdown, &whole[i]);
	return all.n > 1 && all.sum > NP_ONE_RUN_DIFFER_BY * (double)all.n;
}

/* Choose between the estimates by bytes and those by MPI calls. */
static void select_bytes_or_calls(struct np_one_run_level *level,
				  struct np_one_run *run,
				  const struct np_one_run_level *calls,
				  size_t n_levels, struct np_one_run *by_calls)
{
	bool bytes = run->verdict == NP_ONE_RUN_USABLE;

	if (by_calls->verdict != NP_ONE_RUN_USABLE)
		return;
	if (bytes)
		run->apart = by_calls->apart = distance(level, calls, n_levels);
	if (run->apart > NP_ONE_RUN_DIFFER_BY) {
		run->verdict = NP_ONE_RUN_DIFFER;
	} else if (!bytes || by_calls->scatter < run->scatter) {
		by_calls->by_calls = true;
		*run = *by_calls;
		memcpy(level, calls, n_levels * sizeof(*level));
	}
}

int np_one_run_estimate(const struct np_interval *interval, size_t n,
			const struct np_mean *whole,
			struct np_one_run_level *level, size_t n_levels,
			struct np_one_run *out)
{
	int rc = estimate(interval, n, whole, level, n_levels, out);
	struct np_interval *calls = rc ? NULL : calloc(n + 1, sizeof(*calls));
	struct np_one_run_level *of = calloc(n_levels + 1, sizeof(*of));
	struct np_one_run run;
	size_t n_calls;

	if (!rc && calls && of) {
		n_calls = list_calls(interval, n, calls);
		rc = estimate(calls, n_calls, whole, of, n_levels, &run);
		if (!rc)
			select_bytes_or_calls(level, out, of, n_levels, &run);
		if (!rc && out->verdict == NP_ONE_RUN_USABLE &&
		    are_refuted(level, whole, n_levels))
			out->verdict = NP_ONE_RUN_REFUTED;
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

static size_t count_here(const struct plan *plan, size_t level)
{
	return plan->s->cell[level * NP_ONE_RUN_PHASES + plan->phase].x.n;
}

/* Has this run a loaded interval of the level, in any phase? */
static bool is_in_run(const struct plan *plan, size_t level)
{
	for (size_t i = plan->n - plan->n_here; i < plan->n; i++)
		if (plan->b[i].level == level)
			return true;
	return false;
}

/*
 * True if a level with n intervals in a phase needs another in this run. A
 * level that is known well enough from one interval gets the next one from a
 * later run, which also shows how much runs differ.
 */
static bool needs_more(const struct plan *plan, size_t level, size_t n)
{
	if (!n || plan->level[level].half_width > NP_ONE_RUN_HALF_WIDTH)
		return n < NP_ONE_RUN_MAX;
	return n < NP_ONE_RUN_MIN && !is_in_run(plan, level);
}

static double may_cost_sec(const struct plan *plan, size_t level)
{
	const struct np_mean *mean = &plan->level[level].slowdown;

	if (!mean->n)
		return plan->p->interval_sec;
	return plan->p->interval_sec * fmax(mean->mean, 0) /
	       (1 + fmax(mean->mean, 0));
}

/* How often this level has followed the level plan->last. */
static size_t followed(const struct plan *plan, size_t level)
{
	size_t before = NP_INTERVAL_NO_LEVEL, count = 0;

	for (size_t i = 0; i < plan->n; i++) {
		if (i && plan->b[i].run != plan->b[i - 1].run)
			before = NP_INTERVAL_NO_LEVEL;
		if (plan->b[i].level == NP_INTERVAL_NO_LEVEL)
			continue;
		count += before == plan->last && plan->b[i].level == level;
		before = plan->b[i].level;
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
static size_t gap(const struct plan *plan, size_t level)
{
	size_t least = SIZE_MAX;

	for (size_t k = 0; k < plan->p->n_levels; k++) {
		size_t far = k > level ? k - level : level - k;

		if (count_here(plan, k) && far < least)
			least = far;
	}
	return least;
}

/*
 * Which of two equally needed levels comes first? As long as levels have no
 * interval, the one in the largest gap, starting with the last and strongest,
 * so that a short run covers the whole range.
 */
static bool precedes(const struct plan *plan, size_t level, size_t other)
{
	size_t here = gap(plan, level), there = gap(plan, other);

	if (count_here(plan, level))
		return tie_order(level) < tie_order(other);
	return here != there ? here > there : level > other;
}

/* The least number of intervals in this phase of a level that needs more. */
static size_t fewest(const struct plan *plan)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < plan->p->n_levels; i++)
		if (needs_more(plan, i, count_here(plan, i)) &&
		    count_here(plan, i) < least)
			least = count_here(plan, i);
	return least;
}

static void plan_select_level(const struct plan *plan,
			      struct np_one_run_next *next)
{
	size_t least = fewest(plan), best_followed = SIZE_MAX;

	for (size_t i = 0; least < SIZE_MAX && i < plan->p->n_levels; i++) {
		size_t f = i == plan->last ? SIZE_MAX - 1 : followed(plan, i);

		if (count_here(plan, i) != least ||
		    !needs_more(plan, i, least) ||
		    may_cost_sec(plan, i) > plan->left_sec)
			continue;
		if (f < best_followed || (f == best_followed &&
					  next->level != NP_INTERVAL_NO_LEVEL &&
					  precedes(plan, i, next->level))) {
			best_followed = f;
			next->level = i;
		}
	}
}

/*
 * True if no level needs more intervals in this run, or the program is too
 * irregular.
 */
static bool is_complete(const struct plan *plan, const struct np_one_run *run)
{
	if (run->verdict == NP_ONE_RUN_RESTLESS &&
	    run->n_dropped >= NP_ONE_RUN_MIN * plan->p->n_levels)
		return true;
	for (size_t i = 0; i < plan->p->n_levels; i++)
		if (needs_more(plan, i, plan->level[i].least))
			return false;
	return true;
}

/* Set *last to the level of the last loaded interval; return the lost time. */
static double look_back(const struct plan *plan, size_t *last)
{
	double lost = 0;

	*last = NP_INTERVAL_NO_LEVEL;
	for (size_t i = plan->n - plan->n_here; i < plan->n; i++) {
		lost += lost_sec(&plan->b[i], &plan->s->point[i]);
		if (plan->b[i].level != NP_INTERVAL_NO_LEVEL)
			*last = plan->b[i].level;
	}
	return lost;
}

static void plan_on(struct plan *plan, double run_sec,
		    const struct np_one_run *run, struct np_one_run_next *next)
{
	double lost = look_back(plan, &plan->last);

	next->complete = is_complete(plan, run);
	if (next->complete || !plan->n_here ||
	    run->verdict == NP_ONE_RUN_SILENT ||
	    plan->b[plan->n - 1].level != NP_INTERVAL_NO_LEVEL)
		return;
	plan->phase = plan->s->point[plan->n - 1].phase;
	if (plan->phase == NP_ONE_RUN_NO_PHASE ||
	    !plan->s->phase[plan->phase].rate)
		return;
	plan->left_sec = plan->p->share * (run_sec - lost) - lost;
	plan_select_level(plan, next);
}

int np_one_run_next_interval(const struct np_one_run_schedule *schedule,
			     const struct np_interval *interval, size_t n,
			     size_t n_here, double run_sec,
			     struct np_one_run_next *out)
{
	struct np_one_run_level *level =
		calloc(schedule->n_levels + 1, sizeof(*level));
	struct np_one_run_next next = { .level = NP_INTERVAL_NO_LEVEL };
	struct plan plan = { .p = schedule,
			     .b = interval,
			     .n = n,
			     .n_here = n_here,
			     .level = level };
	struct np_one_run_sorted sorted;
	struct np_one_run run;
	int rc = -ENOMEM;

	if (level)
		rc = classify(interval, n, schedule->n_levels, &sorted);
	if (!rc) {
		plan.s = &sorted;
		make_estimates(interval, n, NULL, &sorted, level,
			       schedule->n_levels, &run);
		plan_on(&plan, run_sec, &run, &next);
		free_sorted(&sorted);
		*out = next;
	}
	free(level);
	return rc;
}
