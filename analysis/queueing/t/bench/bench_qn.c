/*
 * Cost of queueing networks, and accuracy of approximations.
 *
 *	bench_qn
 *
 * Prints one line per quantity: CPU time, because others may use the machine,
 * and growth of the peak of memory; then the errors of throughputs of
 * approximations over random networks. Exit status 1 if a goal is missed: four
 * classes of 20 customers at ten stations, exactly, within 1 s.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "np_array.h"
#include "np_clock.h"
#include "np_qn.h"
#include "np_rng.h"

#define STATIONS 10
#define CLASSES 4
#define NETWORKS 1000

static const struct np_qn_cost any = { 1e10, 1e15 };

struct bench {
	struct np_qn net;
	struct np_qn_station station[STATIONS];
	struct np_qn_class class[CLASSES];
	double visits[STATIONS][CLASSES], service[STATIONS][CLASSES];
};

static void make(struct bench *b, struct np_rng *r, size_t classes,
		 uint64_t customers)
{
	b->net = (struct np_qn){ b->station, STATIONS, b->class, classes };
	for (size_t c = 0; c < classes; c++)
		b->class[c] = (struct np_qn_class){
			"class", customers, 0.1 * (double)np_rng_below(r, 100)
		};
	for (size_t k = 0; k < STATIONS; k++) {
		b->station[k] = (struct np_qn_station){
			.name = "station",
			.servers = 1,
			.visits = b->visits[k],
			.service_sec = b->service[k],
		};
		for (size_t c = 0; c < classes; c++) {
			b->visits[k][c] = 1;
			b->service[k][c] = pow(
				10, -3 * (double)np_rng_below(r, 1000) / 1000);
		}
	}
}

static double peak_mb(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_maxrss / 1024;
}

static void solve(const struct bench *b, np_qn_method *method,
		  struct np_qn_solution *s)
{
	struct np_err err = NP_ERR_INIT;

	if (!method(&b->net, &any, s, &err))
		return;
	fprintf(stderr, "bench_qn: %s\n", err.text);
	exit(1);
}

static double timed(const char *what, const struct bench *b,
		    np_qn_method *method)
{
	struct np_qn_solution s;
	double sec = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID), before = peak_mb();

	solve(b, method, &s);
	sec = np_clock_sec(CLOCK_PROCESS_CPUTIME_ID) - sec;
	printf("%-56s %7.3f s %7.1f MB\n", what, sec, peak_mb() - before);
	np_qn_solution_free(&s);
	return sec;
}

/* Error of the class with the largest error, in percent. */
static double error_of(const struct bench *b, np_qn_method *method,
		       const struct np_qn_solution *exact)
{
	struct np_qn_solution s;
	double most = 0;

	solve(b, method, &s);
	for (size_t c = 0; c < b->net.n_classes; c++)
		most = fmax(
			most,
			100 * fabs(s.x_per_sec[c] / exact->x_per_sec[c] - 1));
	np_qn_solution_free(&s);
	return most;
}

static void print_errors(const char *name, double *e)
{
	qsort(e, NETWORKS, sizeof(*e), np_order_double);
	printf("  %-12s median %6.3f %%, 90th percentile %6.3f %%, "
	       "largest %6.3f %%\n",
	       name, e[NETWORKS / 2], e[NETWORKS * 9 / 10], e[NETWORKS - 1]);
}

/* Networks with this many classes of up to `most` customers. */
static void errors(struct np_rng *r, size_t classes, size_t most, int servers)
{
	static double schweitzer[NETWORKS], linearizer[NETWORKS];
	struct bench b;

	for (size_t i = 0; i < NETWORKS; i++) {
		struct np_qn_solution s;

		make(&b, r, classes, 1 + np_rng_below(r, most));
		for (size_t k = 0; k < STATIONS; k++)
			if (servers)
				b.station[k].servers =
					1 + (uint32_t)np_rng_below(r, 16);
		solve(&b, servers ? np_qn_convolution : np_qn_mva, &s);
		schweitzer[i] = error_of(&b, np_qn_schweitzer, &s);
		linearizer[i] = error_of(&b, np_qn_linearizer, &s);
		np_qn_solution_free(&s);
	}
	printf("throughput of %d random networks: %zu class%s of 1 to %zu, "
	       "%d stations%s\n",
	       NETWORKS, classes, classes > 1 ? "es" : "", most, STATIONS,
	       servers ? " of 1 to 16 servers" : "");
	print_errors("schweitzer", schweitzer);
	print_errors("linearizer", linearizer);
}

int main(void)
{
	struct np_rng *r = np_rng_new(1, "bench_qn");
	struct bench b;
	double sec;

	if (!r)
		return 1;
	make(&b, r, 4, 20);
	sec = timed("4 classes of 20, 10 stations, mean value analysis", &b,
		    np_qn_mva);
	printf("  memory that it stated before: %.2f MB\n",
	       np_qn_mva_cost(&b.net).bytes / 1e6);
	timed("  the same by linearizer", &b, np_qn_linearizer);
	make(&b, r, 1, 1000000);
	timed("10^6 customers, 10 stations, mean value analysis", &b,
	      np_qn_mva);
	timed("  the same by convolution", &b, np_qn_convolution);
	b.station[3].servers = 16;
	timed("  the same, one station of 16 servers", &b, np_qn_convolution);
	errors(r, 1, 100, 0);
	errors(r, 3, 10, 0);
	errors(r, 1, 100, 1);
	np_rng_free(r);
	if (sec < 1)
		return 0;
	fprintf(stderr, "bench_qn: 4 classes of 20 took %.2f s, goal 1 s\n",
		sec);
	return 1;
}
