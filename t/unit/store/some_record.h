/* Run records made up for tests, the same for the same seed. */
#ifndef NP_T_SOME_RECORD_H
#define NP_T_SOME_RECORD_H

#include <stdint.h>

#include "np_record.h"

/* A small generator of its own: rand() differs between libraries. */
struct t_rng {
	uint64_t state;
};

uint32_t t_rand(struct t_rng *g);
double t_uniform(struct t_rng *g); /* 0 <= x < 1 */

/* Any valid record: leaves with and without probes, level, array, notes. */
struct np_record *t_some_record(uint64_t seed);

/* A successful run of so many seconds, alone, with latencies, on cluster hpc. */
struct np_record *t_run_alone(double sec);

/* One latency, measured at_sec after the start of the run. */
void t_add_probe(struct np_leaf_run *leaf, double at_sec, double sec);

/* n samples of about base_sec into a leaf, spread over the seconds of a run. */
void t_add_latency(struct np_leaf_run *leaf, struct t_rng *g, size_t n,
		   double base_sec, double run_sec);

/* What np_record_from_json() makes of "some.json", and returns in *rc. */
struct np_record *t_parse_record(const char *text, size_t len, int *rc,
				 struct np_err *err);

#endif
