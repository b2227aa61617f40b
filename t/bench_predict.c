/*
 * What a prediction costs: one pair, and the matrix of a busy cluster, on one
 * core. Made-up measurements of the sizes that occur: 40 levels, 60 bins.
 * The models take turns, so that a processor which is slow for a while is so
 * for all. A predictor keeps what it computed for a program, as placement
 * predicts the same programs many times; the first predictions show what it costs
 * without that. Exit 1 if `cross` takes more baselines (bench_baseline.h) than it
 * may, or another model more times what `cross` takes.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench_baseline.h"
#include "np_clock.h"
#include "np_predict.h"

#define LEVELS 40
#define BINS 60
#define PROGRAMS 200
#define TURNS 3
#define FIRST 25 /* pairs of which nearly all programs are new */
#define SINGLE_MAX_BASELINES 0.2
#define MATRIX_MAX_BASELINES 8000
#define DEFAULT_MAX 2.0 /* times cross, one and the matrix */
#define MODEL_MAX 5.0

static const char *const model[] = { "cross", NP_MODEL_DEFAULT, "mixture",
				     "queue", "ensemble" };
#define MODELS NP_ARRAY_SIZE(model)

static double edge[BINS + 1], count[1 + LEVELS + PROGRAMS][BINS];
static struct np_fabric_level level[LEVELS];
static struct np_mean pairs[LEVELS * LEVELS];
static struct np_mean curve[PROGRAMS][LEVELS], impact[PROGRAMS][LEVELS];
static char name[LEVELS + PROGRAMS][16];
static struct np_program program[PROGRAMS];
static const struct np_program *list[PROGRAMS];
static struct np_prediction all[PROGRAMS * PROGRAMS];
static int rc[PROGRAMS * PROGRAMS];

static const struct np_bins bins = { BINS, edge };
static struct np_fabric fabric = {
	.name = "bench",
	.bins = &bins,
	.level = level,
	.n_levels = LEVELS,
	.pairs = pairs,
	.sharing = { { 4, 1, 0.05 }, { 4, 0.8, 0.05 }, { 4, 0.2, 0.05 } },
};

static double uniform(void)
{
	static unsigned long long x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (double)(x >> 11) / (double)(1ull << 53);
}

/* 1000 probes, spread over many bins around a mean. */
static struct np_latency latency(double mean, double *to)
{
	struct np_latency l = { .count = to };

	for (int i = 0; i < 1000; i++) {
		double sec = 1e-6 + mean * -log(1 - uniform());
		size_t b = 0;

		while (b + 1 < BINS && sec >= edge[b + 1])
			b++;
		to[b]++;
		np_moments_add(&l.all, sec);
	}
	return l;
}

/* Three runs each, of something like s * p with 5 % of scatter. */
static struct np_mean slowdown(double suffers, double slows)
{
	double d = expm1(suffers * slows * (0.8 + 0.4 * uniform()));

	return (struct np_mean){ 3, d, 0.02 * (1 + d) };
}

static void make_up(void)
{
	double suffers[LEVELS], slows[LEVELS];

	for (size_t b = 0; b <= BINS; b++)
		edge[b] = b ? 1e-6 * pow(10, (double)b / 15) : 0;
	fabric.idle = latency(1e-6, count[0]);
	for (size_t i = 0; i < LEVELS; i++) {
		suffers[i] = 0.1 + 1.5 * uniform();
		slows[i] = (double)(i + 1) / LEVELS;
		snprintf(name[i], sizeof(name[i]), "c%zu", i);
		level[i].name = name[i];
		level[i].latency =
			latency(1e-6 * exp(6 * slows[i]), count[1 + i]);
	}
	for (size_t i = 0; i < LEVELS * LEVELS; i++)
		pairs[i] = slowdown(suffers[i / LEVELS], slows[i % LEVELS]);
	for (size_t a = 0; a < PROGRAMS; a++) {
		double own_suffers = 0.1 + 1.5 * uniform(), own = uniform();

		snprintf(name[LEVELS + a], sizeof(name[0]), "app%zu", a);
		program[a].name = name[LEVELS + a];
		program[a].latency =
			latency(1e-6 * exp(6 * own), count[1 + LEVELS + a]);
		for (size_t i = 0; i < LEVELS; i++) {
			curve[a][i] = slowdown(own_suffers, slows[i]);
			impact[a][i] = slowdown(suffers[i], own);
		}
		program[a].curve = curve[a];
		program[a].impact = impact[a];
		list[a] = &program[a];
	}
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), bench_by_size);
	return v[n / 2];
}

static void die(const char *what, const struct np_err *err)
{
	fprintf(stderr, "bench: %s: %s\n", what, err->text);
	exit(1);
}

static struct np_predictor *predictor(size_t m, size_t replicates)
{
	const struct np_predict_opt opt = { replicates, 1, true };
	struct np_err err = NP_ERR_INIT;
	struct np_predictor *p;

	if (np_predictor_new(&fabric, np_model_find(model[m], NULL), &opt, &p,
			     &err))
		die(model[m], &err);
	return p;
}

/* Seconds of the ith pair. */
static double one_of(struct np_predictor *p, size_t i)
{
	size_t v = i % PROGRAMS, c = (i * 7 + 1) % PROGRAMS;
	struct np_err err = NP_ERR_INIT;
	struct np_prediction out;
	double start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);

	if (np_predict(p, list[v], &list[c], 1, NP_SCOPE_LEAF, &out, &err))
		die("a pair", &err);
	return np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
}

/*
 * Median seconds of one prediction by each model, over the first pairs and over
 * all n.
 */
static void singles(size_t replicates, size_t n, double *first, double *to)
{
	double *sec = calloc(n * MODELS, sizeof(*sec));
	struct np_predictor *p[MODELS];

	for (size_t m = 0; m < MODELS; m++)
		p[m] = predictor(m, replicates);
	for (size_t i = 0; i < n; i++) {
		for (size_t m = 0; m < MODELS; m++)
			sec[m * n + i] = one_of(p[m], i);
		if (i % 100 == 0)
			bench_baseline();
	}
	for (size_t m = 0; m < MODELS; m++) {
		first[m] = median(sec + m * n, FIRST);
		to[m] = median(sec + m * n, n);
		np_predictor_free(p[m]);
	}
	free(sec);
}

/* Seconds of the whole matrix, the predictor included. */
static double matrix_of(size_t m, size_t replicates)
{
	struct np_err err = NP_ERR_INIT;
	double start = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID);
	struct np_predictor *p = predictor(m, replicates);

	if (np_predict_matrix(p, list, PROGRAMS, NP_SCOPE_LEAF, all, rc, &err))
		die(model[m], &err);
	np_predictor_free(p);
	return np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - start;
}

static void matrices(size_t replicates, double *to)
{
	double sec[MODELS][TURNS];

	for (size_t i = 0; i < TURNS; i++)
		for (size_t m = 0; m < MODELS; m++)
			sec[m][i] = matrix_of(m, replicates);
	for (size_t m = 0; m < MODELS; m++)
		to[m] = median(sec[m], TURNS);
}

static long peak_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* cross, the first, in baselines; another as so many times what cross takes. */
static bool check(size_t m, const double *one, const double *full)
{
	bool other = strcmp(model[m], NP_MODEL_DEFAULT);
	double most = other ? MODEL_MAX : DEFAULT_MAX;
	bool good;

	if (!m) {
		good = bench_within(model[0], one[0], SINGLE_MAX_BASELINES);
		return bench_within("its matrix", full[0],
				    MATRIX_MAX_BASELINES) &&
		       good;
	}
	good = one[m] <= most * one[0] && full[m] <= most * full[0];
	if (!good)
		printf("  too slow: %.1f and %.1f times cross, at most %g\n",
		       one[m] / one[0], full[m] / full[0], most);
	return good;
}

int main(void)
{
	double first[2][MODELS], one[MODELS], more[MODELS], full[MODELS];
	bool good = true;
	long before;

	make_up();
	printf("predictions: %d levels, %d bins, %d bootstrap samples, one "
	       "core; medians\n",
	       LEVELS, BINS, NP_PREDICT_REPLICATES);
	printf("%-10s %14s %14s %14s %12s\n", "model", "first, n=25",
	       "one, n=1000", "+90%, n=50", "matrix, n=3");
	before = peak_kib();
	singles(0, 1000, first[0], one);
	singles(NP_PREDICT_REPLICATES, 50, first[1], more);
	matrices(NP_PREDICT_REPLICATES, full);
	for (size_t m = 0; m < MODELS; m++) {
		printf("%-10s %11.1f us %11.1f us %11.1f us %10.2f s\n",
		       model[m], 1e6 * first[0][m], 1e6 * one[m], 1e6 * more[m],
		       full[m]);
		good = check(m, one, full) && good;
	}
	printf("matrix: %d x %d programs with intervals; memory beyond the "
	       "measurements %.1f MB at most\n",
	       PROGRAMS, PROGRAMS, (double)(peak_kib() - before) / 1024);
	printf("a baseline: %.0f us\n", 1e6 * bench_baseline());
	return !good;
}
