#include "np_profile_levels.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_noise.h"

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/*
 * May its run time be compared with that of others?  Where srun's exit code is
 * known, so is the program's end, even if the probes were cut.
 */
static bool comparable(const struct np_record *r)
{
	return r->state != NP_RUN_RUNNING && r->exit_code == 0 &&
	       r->fingerprint && np_record_run_sec(r) > 0 &&
	       !np_run_has_neighbours(r);
}

/*
 * Median run time alone of the same workload; 0 if it never ran alone.
 * *error: relative variance of the mean of these; 0 if there is only one.
 */
static double alone_sec(const struct np_runs *runs, const enum np_run_use *use,
			const char *fingerprint, double *buf, double *error)
{
	struct np_moments m = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];

		/* A run without probes (one node a leaf) has its time, too. */
		if ((use[i] == NP_RUN_USED || use[i] == NP_RUN_EMPTY) &&
		    comparable(r) && !strcmp(r->fingerprint, fingerprint))
			buf[n++] = np_record_run_sec(r);
	}
	for (size_t i = 0; i < n; i++)
		np_moments_add(&m, buf[i]);
	*error = n ? np_moments_var(&m) / (m.mean * m.mean * (double)n) : 0;
	return n ? median(buf, n) : 0;
}

struct work {
	double *alone, *run, *base, *ratio, *rounds; /* one value per run */
};

/*
 * The scatter of one slowdown, such that that of all n is sd / sqrt(n): what
 * the time alone is uncertain by is common to them.
 */
static struct np_mean mean_of(const struct np_level_result *l,
			      const double *ratio, double alone_error)
{
	struct np_mean mean = { .n = (uint32_t)l->n_compared,
				.mean = l->slowdown, .sd = NAN };
	double r = 1 + l->slowdown;
	struct np_moments m = { 0 };

	for (size_t i = 0; i < l->n_compared; i++)
		np_moments_add(&m, ratio[i]);
	if (m.n > 1)
		mean.sd = sqrt(np_moments_var(&m) +
			       r * r * alone_error * (double)m.n);
	return mean;
}

static void compare(const struct np_runs *runs, const enum np_run_use *use,
		    struct np_level_result *l, struct work *w)
{
	double error = 0;

	for (size_t i = 0; i < runs->n; i++) {
		const struct np_record *r = runs->run[i];
		const struct np_moments *alone, *beside;
		double sec, e;

		if (use[i] != NP_RUN_LEVEL || strcmp(r->level->name, l->name) ||
		    strcmp(r->level->scope, l->scope))
			continue;
		l->n_runs++;
		alone = &r->level->alone_round_sec;
		beside = &r->level->beside_round_sec;
		if (alone->n && beside->n && alone->mean > 0)
			w->rounds[l->n_rounds++] =
				beside->mean / alone->mean - 1;
		sec = comparable(r) ? alone_sec(runs, use, r->fingerprint,
						w->alone, &e) : 0;
		if (sec <= 0)
			continue;
		error = e;
		w->run[l->n_compared] = np_record_run_sec(r);
		w->base[l->n_compared] = sec;
		w->ratio[l->n_compared++] = np_record_run_sec(r) / sec - 1;
	}
	if (l->n_rounds)
		l->level_slowdown = median(w->rounds, l->n_rounds);
	if (l->n_compared) {
		l->run_sec = median(w->run, l->n_compared);
		l->alone_sec = median(w->base, l->n_compared);
		l->slowdown = median(w->ratio, l->n_compared);
		l->mean = mean_of(l, w->ratio, error);
	}
}

static int by_name(const void *a, const void *b)
{
	const struct np_level_result *x = a, *y = b;
	int diff = strcmp(x->name, y->name);

	return diff ? diff : strcmp(x->scope, y->scope);
}

/* The levels that occur, each once. */
static size_t collect(const struct np_runs *runs, const enum np_run_use *use,
		      struct np_level_result *levels)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < runs->n; i++)
		if (use[i] == NP_RUN_LEVEL)
			levels[n++] = (struct np_level_result){
				.name = runs->run[i]->level->name,
				.scope = runs->run[i]->level->scope,
			};
	if (n)
		qsort(levels, n, sizeof(*levels), by_name);
	for (size_t i = 0; i < n; i++)
		if (!kept || by_name(&levels[kept - 1], &levels[i]))
			levels[kept++] = levels[i];
	return kept;
}

/* How much run times scatter is a matter of the program, not of one level. */
static void find_intervals(struct np_level_result *l, size_t n,
			   struct np_mean *work)
{
	double pooled;

	for (size_t i = 0; i < n; i++)
		work[i] = l[i].mean;
	pooled = np_noise_pooled(work, n);
	for (size_t i = 0; i < n; i++)
		if (l[i].n_compared)
			np_noise_interval(&l[i].mean, pooled, &l[i].low,
					  &l[i].high);
}

int np_profile_levels(const struct np_runs *runs, const enum np_run_use *use,
		      struct np_level_result **levels, size_t *n)
{
	struct np_level_result *found = calloc(runs->n + 1, sizeof(*found));
	double *buf = calloc(5 * (runs->n + 1), sizeof(*buf));
	struct np_mean *mean = calloc(runs->n + 1, sizeof(*mean));
	struct work w = {
		.alone = buf, .run = buf + runs->n, .base = buf + 2 * runs->n,
		.ratio = buf + 3 * runs->n, .rounds = buf + 4 * runs->n,
	};

	if (!found || !buf || !mean) {
		free(found);
		free(buf);
		free(mean);
		return -ENOMEM;
	}
	*n = collect(runs, use, found);
	for (size_t i = 0; i < *n; i++)
		compare(runs, use, &found[i], &w);
	find_intervals(found, *n, mean);
	free(mean);
	free(buf);
	*levels = found;
	return 0;
}
