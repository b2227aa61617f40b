/*
 * What slurmctld of the large cluster (bench_big.h) answers, and does when it
 * is requested to, for bench_submit.
 */
#ifndef NP_BENCH_CTLD_H
#define NP_BENCH_CTLD_H

#include "bench_big.h"
#include "np_apply.h"
#include "np_job_snapshot.h"

#define BENCH_NOW 1700000000

/* shuffled: their numbers do not go up as their indices do. */
void ctld_make_nodes(bool shuffled);

/* Those that run, then those that wait, with the note of who named them. */
void ctld_make_jobs(const struct bench_mix *m);

/* The first n pending ones are records of one array, whose owner this is. */
uint32_t ctld_make_array(uint32_t n, uint32_t *id);

/* All that runs ends at once. */
void ctld_end_jobs(void);

/* As of now; borrowed. */
const struct np_ctld_info *ctld_info(void);

/* One of the partitions whose mode the mix has, drawn. */
char *ctld_partition(const struct bench_mix *m);

/* bits: room for as many words as the map has. */
void ctld_update(uint32_t id, const struct np_update *u,
		 const struct np_cluster_map *map, uint64_t *bits);

/* That texts and lists of jobs have become longer by updates. */
size_t ctld_bytes(void);

#endif
