#include "t.h"
#include "np_one_run.h"
#include "np_rng.h"

#define NONE NP_INTERVAL_NO_LEVEL
#define LEVELS 8
#define INTERVALS 4096
#define SETTLE_SEC 0.5
#define INTERVAL_SEC 3.0

/* A program, by the work that it has done: seconds alone. */
struct program {
	const char *name;
	double alone_sec; /* of a run */
	double phase_sec; /* then it changes to the other phase; 0: never */
	double rate[2];	  /* bytes a second of work in both */
	double slow[2];	  /* of the hardest level; of others in part */
	double drift;	  /* of log(rate), over a run */
	double noise;	  /* sd of log(rate) of an interval */
};

struct schedule {
	struct np_interval b[INTERVALS];
	size_t n, from;		     /* from: first of the run under way */
	double run_sec, worst_share; /* of time lost, at any time */
	bool complete;
};

static size_t phase_at(const struct program *g, double done_sec)
{
	return g->phase_sec > 0 &&
	       (long)floor(done_sec / g->phase_sec) % 2 == 1;
}

static double truth(const struct program *g, size_t phase, size_t level)
{
	return level == NONE ?
		       0 :
		       g->slow[phase] * pow((double)(level + 1) / LEVELS, 2);
}

/* Over a whole run. */
static double true_slowdown(const struct program *g, size_t level)
{
	double sum = 0, step = 0.01;
	size_t n = 0;

	for (double at = 0; at < g->alone_sec; at += step, n++)
		sum += truth(g, phase_at(g, at), level);
	return sum / (double)n;
}

/* Work on for sec under a level; bytes are counted unless NULL. */
static void work(const struct program *g, size_t level, double sec,
		 double *done_sec, double *bytes)
{
	double step = 0.01;

	for (double at = 0; at < sec && *done_sec < g->alone_sec; at += step) {
		size_t k = phase_at(g, *done_sec);
		double part = step / (1 + truth(g, k, level));

		if (bytes)
			*bytes += part * g->rate[k] *
				  exp(g->drift * *done_sec / g->alone_sec);
		*done_sec += part;
	}
}

static void run(const struct program *g, double share, struct np_rng *r,
		struct schedule *c)
{
	const struct np_one_run_schedule plan = { LEVELS, INTERVAL_SEC, share };
	uint32_t number = c->n ? c->b[c->n - 1].run + 1 : 0;
	double done = 0, sec = 0;

	for (c->from = c->n; c->n < INTERVALS;) {
		struct np_one_run_next next;
		double bytes = 0, noise = exp(g->noise * np_rng_normal(r));

		T_ROW(g->name,
		      !np_one_run_next_interval(&plan, c->b, c->n,
						c->n - c->from, sec, &next));
		c->complete = next.complete;
		work(g, next.level, SETTLE_SEC, &done, NULL);
		work(g, next.level, INTERVAL_SEC - SETTLE_SEC, &done, &bytes);
		if (done >= g->alone_sec)
			break;
		sec += INTERVAL_SEC;
		c->worst_share = fmax(c->worst_share, (sec - done) / done);
		c->b[c->n++] = (struct np_interval){
			number,
			next.level,
			INTERVAL_SEC,
			bytes / (INTERVAL_SEC - SETTLE_SEC) * noise,
		};
	}
	c->run_sec = sec;
}

static struct schedule *runs(const struct program *g, size_t n, double share,
			     uint64_t seed)
{
	struct schedule *c = calloc(1, sizeof(*c));
	struct np_rng *r = np_rng_new(seed, g->name);

	for (size_t i = 0; c && r && i < n; i++)
		run(g, share, r, c);
	np_rng_free(r);
	return c;
}

/* ---- curves ---- */

static const struct program steady = {
	"steady", 120, 0, { 1e6, 0 }, { 1, 0 }, 0, 0.01,
};

#define RESTLESS \
	{ \
		"phases as short as intervals", 300, 4, { 3e6, 5e5 }, \
			{ 1, 0.2 }, 0, 0.01 \
	}
#define SILENT \
	{ \
		"silent", 120, 0, { 0, 0 }, { 1, 0 }, 0, 0 \
	}

/* clang-format off */
static const struct {
	struct program g;
	size_t n_runs;
	enum np_one_run_verdict verdict;
	double within; /* of 1 + slowdown, every level; 0: not asked */
} rows[] = {
	{ { "steady, two minutes", 120, 0, { 1e6, 0 }, { 1, 0 }, 0, 0.01 }, 2,
	  NP_ONE_RUN_USABLE, 0.03 },
	{ { "not slowed at all", 120, 0, { 1e6, 0 }, { 0, 0 }, 0, 0.01 }, 2,
	  NP_ONE_RUN_USABLE, 0.03 },
	{ { "drift to a third", 120, 0, { 1e6, 0 }, { 1, 0 }, -1.1, 0.01 }, 2,
	  NP_ONE_RUN_USABLE, 0.03 },
	{ { "two phases of a minute",
	    1800,
	    60,
	    { 3e6, 5e5 },
	    { 2, 0.2 },
	    0,
	    0.01 },
	  1,
	  NP_ONE_RUN_USABLE,
	  0.05 },
	{ { "a phase without traffic", 1200, 60, { 3e6, 0 }, { 2, 0 }, 0, 0.01 },
	  1,
	  NP_ONE_RUN_USABLE,
	  0.05 },
	{ { "steady, slowed twelvefold", 600, 0, { 1e6, 0 }, { 11, 0 }, 0, 0.01 },
	  1,
	  NP_ONE_RUN_USABLE,
	  0.03 },
	{ { "ends early, eight times", 30, 0, { 1e6, 0 }, { 1, 0 }, 0, 0.01 },
	  8, NP_ONE_RUN_USABLE, 0.03 },
	{ { "ends early, once", 12, 0, { 1e6, 0 }, { 1, 0 }, 0, 0.01 }, 1,
	  NP_ONE_RUN_FEW, 0 },
	{ RESTLESS, 1, NP_ONE_RUN_RESTLESS, 0 },
	{ { "bursts far shorter than intervals",
	    120,
	    0.05,
	    { 3e6, 5e5 },
	    { 1, 1 },
	    0,
	    0.01 },
	  1,
	  NP_ONE_RUN_USABLE,
	  0.05 },
	{ SILENT, 1, NP_ONE_RUN_SILENT, 0 },
};
/* clang-format on */

T_TEST("programs have the curve that they have")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		struct schedule *c = runs(&rows[i].g, rows[i].n_runs, 0.2, i);
		struct np_one_run_level level[LEVELS];
		const char *name = rows[i].g.name;
		struct np_one_run o;

		T_ROW(name, c && !np_one_run_estimate(c->b, c->n, NULL, level,
						      LEVELS, &o));
		T_ROW(name, o.verdict == rows[i].verdict);
		for (size_t k = 0; rows[i].within > 0 && k < LEVELS; k++) {
			double want = true_slowdown(&rows[i].g, k);

			T_ROW(name,
			      level[k].slowdown.n &&
				      fabs(level[k].slowdown.mean - want) <
					      rows[i].within * (1 + want));
		}
		free(c);
	}
}

static size_t missed_by(const struct program *g,
			const struct np_one_run_level level[LEVELS])
{
	size_t missed = 0;

	for (size_t k = 0; k < LEVELS; k++) {
		double want = true_slowdown(g, k);

		missed += level[k].low > want || level[k].high < want;
	}
	return missed;
}

/* Phases of half an interval and of several: refused, or with wide intervals. */
T_TEST("a restless program is never taken for a steady one")
{
	struct program g = RESTLESS;

	for (g.phase_sec = 1.5; g.phase_sec < 12; g.phase_sec *= 1.3)
		for (uint64_t seed = 0; seed < 5; seed++) {
			struct schedule *c = runs(&g, 1, 0.2, seed);
			struct np_one_run_level level[LEVELS];
			struct np_one_run o;

			T_CHECK(c && !np_one_run_estimate(c->b, c->n, NULL,
							  level, LEVELS, &o));
			if (g.phase_sec > 1.6)
				T_CHECK(o.verdict != NP_ONE_RUN_USABLE);
			else
				T_CHECK(missed_by(&g, level) <= 1);
			free(c);
		}
}

/* 95 % intervals: of 240, some 12 miss. */
T_TEST("intervals hold what they promise")
{
	struct program g = steady;
	size_t missed = 0, n = 0;

	g.noise = 0.03;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct schedule *c = runs(&g, 3, 0.2, seed);
		struct np_one_run_level level[LEVELS];
		struct np_one_run o;

		T_CHECK(c && !np_one_run_estimate(c->b, c->n, NULL, level,
						  LEVELS, &o));
		missed += missed_by(&g, level);
		n += LEVELS;
		free(c);
	}
	T_CHECK(n == 240 && missed <= 24);
}

/* ---- the plan ---- */

T_TEST("intervals alternate, balanced and with varied neighbours")
{
	struct schedule *c = runs(&steady, 1, 0.5, 3);
	size_t count[LEVELS] = { 0 }, pair[LEVELS][LEVELS] = { { 0 } };
	size_t before = NONE;

	T_CHECK(c && c->n > 2 * LEVELS && c->b[0].level == NONE);
	for (size_t i = 0; c && i < c->n; i++) {
		size_t k = c->b[i].level, least = SIZE_MAX;

		if (k == NONE)
			continue;
		T_CHECK(c->b[i - 1].level == NONE);
		T_CHECK(i + 1 == c->n || c->b[i + 1].level == NONE);
		for (size_t m = 0; m < LEVELS; m++)
			least = count[m] < least ? count[m] : least;
		if (least < NP_ONE_RUN_MIN)
			T_CHECK(count[k]++ == least);
		if (before != NONE) {
			T_CHECK(before != k);
			T_CHECK(++pair[before][k] <= 2);
		}
		before = k;
	}
	free(c);
}

T_TEST("a run does not become longer than its share")
{
	static const double share[] = { 0.02, 0.1, 0.2, 0.5 };

	for (size_t i = 0; i < NP_ARRAY_SIZE(share); i++)
		for (double slow = 0.1; slow < 50; slow *= 3) {
			struct program g = steady;
			struct schedule *c;

			g.slow[0] = slow;
			g.alone_sec = 400;
			c = runs(&g, 1, share[i], i);
			/* a hundredth for what noise makes of the cost */
			T_CHECK(c && c->worst_share <= share[i] + 0.01);
			free(c);
		}
}

T_TEST("a share of nothing starts no level")
{
	struct schedule *c = runs(&steady, 1, 0, 1);
	bool loaded = false;

	for (size_t i = 0; c && i < c->n; i++)
		loaded |= c->b[i].level != NONE;
	T_CHECK(c && c->n > 30 && !loaded);
	free(c);
}

/* Silence costs nothing, and what is complete is left alone. */
T_TEST("silence and what is complete start no level")
{
	struct program g = SILENT;
	struct schedule *c = runs(&g, 1, 0.2, 1);

	for (size_t i = 0; c && i < c->n; i++)
		T_CHECK(c->b[i].level == NONE);
	free(c);
	g = steady;
	g.alone_sec = 1000;
	c = runs(&g, 1, 0.2, 1);
	T_CHECK(c && c->complete && c->n > 200);
	for (size_t i = 60; c && i < c->n; i++)
		T_CHECK(c->b[i].level == NONE);
	free(c);
}

static void count_intervals(const struct schedule *c, size_t from,
			    size_t *least, size_t *most)
{
	size_t count[LEVELS] = { 0 };

	*least = SIZE_MAX;
	*most = 0;
	for (size_t i = from; i < c->n; i++)
		if (c->b[i].level != NONE)
			count[c->b[i].level]++;
	for (size_t k = 0; k < LEVELS; k++) {
		*least = count[k] < *least ? count[k] : *least;
		*most = count[k] > *most ? count[k] : *most;
	}
}

/*
 * A level that one interval measures well enough gets the next one from another
 * run, and a third run has nothing to do.
 */
T_TEST("what is known well enough is repeated in later runs only")
{
	struct program g = steady;
	struct np_rng *r = np_rng_new(5, g.name);
	struct schedule *c = calloc(1, sizeof(*c));
	size_t least, most;

	T_CHECK(c && r);
	g.alone_sec = 400;
	run(&g, 0.5, r, c);
	count_intervals(c, 0, &least, &most);
	T_CHECK(c->complete && least == 1 && most <= 2);
	run(&g, 0.5, r, c);
	count_intervals(c, 0, &least, &most);
	T_CHECK(c->complete && least == 2 && most == 2);
	run(&g, 0.5, r, c);
	count_intervals(c, c->from, &least, &most);
	T_CHECK(c->complete && most == 0);
	free(c);
	np_rng_free(r);
	/* One that scatters is measured until it is known, in one run. */
	g.noise = 0.04;
	g.alone_sec = 1000;
	c = runs(&g, 1, 0.5, 6);
	T_CHECK(c != NULL);
	count_intervals(c, 0, &least, &most);
	T_CHECK(c->complete && least >= 3 && most <= NP_ONE_RUN_MAX);
	free(c);
}

/* Levels that one run did not come to come first in the next. */
T_TEST("the next run goes on where one stopped")
{
	struct program g = steady;
	struct schedule *c;
	size_t least, most;

	g.alone_sec = 60;
	c = runs(&g, 2, 0.2, 4);
	T_CHECK(c != NULL);
	count_intervals(c, 0, &least, &most);
	T_CHECK(c && least >= 1 && most - least <= 2);
	free(c);
}
