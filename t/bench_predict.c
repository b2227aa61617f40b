/*
 * What a prediction costs: one pair, and the matrix of a busy cluster, on one
 * core.  Made-up measurements of the sizes that occur: 40 levels, 60 bins.
 * Exit 1 if `cross` takes more yards (bench_yard.h) than it may, or another
 * model more times what `cross` takes.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bench_yard.h"
#include "np_predict.h"

#define LEVELS 40
#define BINS 60
#define PROGRAMS 200
#define SINGLE_MAX_YARDS 0.2
#define MATRIX_MAX_YARDS 8000
#define DEFAULT_MAX 2.5 /* times cross, of one; the goal is 2 */
#define DEFAULT_MATRIX_MAX 2.0
#define MODEL_MAX 5.0

static double edge[BINS + 1], count[1 + LEVELS + PROGRAMS][BINS];
static struct np_fabric_level level[LEVELS];
static struct np_mean beside[LEVELS * LEVELS];
static struct np_mean curve[PROGRAMS][LEVELS], pressure[PROGRAMS][LEVELS];
static char name[LEVELS + PROGRAMS][16];
static struct np_program program[PROGRAMS];
static const struct np_program *list[PROGRAMS];
static struct np_prediction all[PROGRAMS * PROGRAMS];
static int rc[PROGRAMS * PROGRAMS];

static const struct np_bins bins = { BINS, edge };
static struct np_fabric fabric = {
	.name = "bench", .bins = &bins, .level = level, .n_levels = LEVELS,
	.beside = beside,
	.coupling = { { 4, 1, 0.05 }, { 4, 0.8, 0.05 }, { 4, 0.2, 0.05 } },
};

static double now_sec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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
static struct np_mean slowdown(double suffers, double presses)
{
	double d = expm1(suffers * presses * (0.8 + 0.4 * uniform()));

	return (struct np_mean){ 3, d, 0.02 * (1 + d) };
}

static void make_up(void)
{
	double suffers[LEVELS], presses[LEVELS];

	for (size_t b = 0; b <= BINS; b++)
		edge[b] = b ? 1e-6 * pow(10, (double)b / 15) : 0;
	fabric.idle = latency(1e-6, count[0]);
	for (size_t i = 0; i < LEVELS; i++) {
		suffers[i] = 0.1 + 1.5 * uniform();
		presses[i] = (double)(i + 1) / LEVELS;
		snprintf(name[i], sizeof(name[i]), "c%zu", i);
		level[i].name = name[i];
		level[i].latency = latency(1e-6 * exp(6 * presses[i]),
					   count[1 + i]);
	}
	for (size_t i = 0; i < LEVELS * LEVELS; i++)
		beside[i] = slowdown(suffers[i / LEVELS], presses[i % LEVELS]);
	for (size_t a = 0; a < PROGRAMS; a++) {
		double own_suffers = 0.1 + 1.5 * uniform(), own = uniform();

		snprintf(name[LEVELS + a], sizeof(name[0]), "app%zu", a);
		program[a].name = name[LEVELS + a];
		program[a].latency = latency(1e-6 * exp(6 * own),
					     count[1 + LEVELS + a]);
		for (size_t i = 0; i < LEVELS; i++) {
			curve[a][i] = slowdown(own_suffers, presses[i]);
			pressure[a][i] = slowdown(suffers[i], own);
		}
		program[a].curve = curve[a];
		program[a].pressure = pressure[a];
		list[a] = &program[a];
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
	return v[n / 2];
}

static void die(const char *what, const struct np_err *err)
{
	fprintf(stderr, "bench: %s: %s\n", what, err->text);
	exit(1);
}

static struct np_predictor *predictor(const char *model, size_t replicates)
{
	const struct np_predict_opt opt = { replicates, 1, true };
	struct np_err err = NP_ERR_INIT;
	struct np_predictor *p;

	if (np_predictor_new(&fabric, np_model_find(model, NULL), &opt, &p,
			     &err))
		die(model, &err);
	return p;
}

/* Median seconds of one prediction, over as many pairs as there are. */
static double single(const char *model, size_t replicates, size_t n)
{
	struct np_predictor *p = predictor(model, replicates);
	double *sec = calloc(n, sizeof(*sec)), got;
	struct np_err err = NP_ERR_INIT;
	struct np_prediction out;

	for (size_t i = 0; i < n; i++) {
		size_t v = i % PROGRAMS, c = (i * 7 + 1) % PROGRAMS;
		double start = now_sec();

		if (np_predict(p, list[v], &list[c], 1, NP_SCOPE_LEAF, &out,
			       &err))
			die(model, &err);
		sec[i] = now_sec() - start;
		if (i % 100 == 0)
			bench_yard();
	}
	got = median(sec, n);
	np_predictor_free(p);
	free(sec);
	return got;
}

/* Median seconds of the whole matrix, the predictor included. */
static double matrix(const char *model, size_t replicates, size_t n)
{
	struct np_err err = NP_ERR_INIT;
	double *sec = calloc(n, sizeof(*sec)), got;

	for (size_t i = 0; i < n; i++) {
		double start = now_sec();
		struct np_predictor *p = predictor(model, replicates);

		if (np_predict_matrix(p, list, PROGRAMS, NP_SCOPE_LEAF, all,
				      rc, &err))
			die(model, &err);
		np_predictor_free(p);
		sec[i] = now_sec() - start;
	}
	got = median(sec, n);
	free(sec);
	return got;
}

static long peak_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* Of the model that the others are compared with. */
static double cross_one, cross_full;

static bool check(const char *model, double one, double full)
{
	bool other = strcmp(model, NP_MODEL_DEFAULT);
	double most = other ? MODEL_MAX : DEFAULT_MAX;
	double most_full = other ? MODEL_MAX : DEFAULT_MATRIX_MAX;
	bool good;

	if (cross_one) {
		good = one <= most * cross_one && full <= most_full * cross_full;
		if (!good)
			printf("  too slow: %.1f and %.1f times cross, at most "
			       "%g and %g\n", one / cross_one,
			       full / cross_full, most, most_full);
		return good;
	}
	cross_one = one;
	cross_full = full;
	good = bench_within(model, one, SINGLE_MAX_YARDS);
	return bench_within("its matrix", full, MATRIX_MAX_YARDS) && good;
}

int main(void)
{
	static const char *const model[] = { "cross", NP_MODEL_DEFAULT,
					     "mixture", "queue", "ensemble" };
	bool good = true;
	long before;

	make_up();
	printf("predictions: %d levels, %d bins, %d bootstrap samples, one "
	       "core; medians\n", LEVELS, BINS, NP_PREDICT_REPLICATES);
	printf("%-10s %14s %14s %12s %10s\n", "model", "one, n=1000",
	       "+90%, n=50", "matrix, n=3", "peak");
	before = peak_kib();
	for (size_t i = 0; i < NP_ARRAY_SIZE(model); i++) {
		double one = single(model[i], 0, 1000);
		double more = single(model[i], NP_PREDICT_REPLICATES, 50);
		double full = matrix(model[i], NP_PREDICT_REPLICATES, 3);

		printf("%-10s %11.1f us %11.1f us %10.2f s %6.1f MB\n",
		       model[i], 1e6 * one, 1e6 * more, full,
		       (double)(peak_kib() - before) / 1024);
		good = check(model[i], one, full) && good;
	}
	printf("matrix: %d x %d programs with intervals; peak: memory beyond "
	       "the measurements, %.1f MB\n", PROGRAMS, PROGRAMS,
	       (double)before / 1024);
	printf("a yard: %.0f us\n", 1e6 * bench_yard());
	return !good;
}
