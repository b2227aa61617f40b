/* What the benches of the large cluster share: sizes, applications, clocks. */
#ifndef NP_BENCH_BIG_H
#define NP_BENCH_BIG_H

#include <stddef.h>
#include <stdint.h>

#include "np_conflict.h"
#include "np_err.h"

#define BENCH_NODES 10000
#define BENCH_LEAVES 600
#define BENCH_RUNNING 15000
#define BENCH_PENDING 5000
#define BENCH_USERS 50 /* application i is of user i % BENCH_USERS */

/* A mix of applications. */
struct bench_mix {
	const char *name;
	uint32_t profiles;
	double loud;	  /* share of the profiles that slow others */
	double trusted;	  /* share that an administrator published */
	double most;	  /* worst slowdown */
	unsigned modes;	  /* 1 << enum np_mode, drawn evenly */
	double usual_max; /* times a decision of the usual mix */
};
extern const struct bench_mix bench_mixes[]; /* the first is the usual one */
extern const size_t bench_n_mixes;

/* The same numbers in every run: in [0, 1), and whole ones below n. */
double bench_random(void);
uint32_t bench_below(uint32_t n);

struct bench_span {
	double wall_sec, cpu_sec;
};
struct bench_span bench_now(void);
struct bench_span bench_since(struct bench_span begin);

/* Ends the program if rc is not 0. */
void bench_must(int rc, const struct np_err *err);

/* What the applications of a mix, "app0", "app1" ..., do to each other. */
struct np_slowdowns *bench_slowdowns(const struct bench_mix *m);

/* The first node of a leaf; also of the one behind the last. */
uint32_t bench_first_node(uint32_t leaf);

/* All leaves with their nodes; the names are static. */
struct np_leaves *bench_leaves(void);

/* Prints median, p99 and maximum; returns p99 of the CPU time, in seconds. */
double bench_report(const char *mix, const char *what, struct bench_span *t,
		    size_t n, double unit_sec, const char *unit);

#endif
