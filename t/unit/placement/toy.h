/*
 * A small world for tests of placement: leaves, nodes, applications and jobs,
 * as text or made up at random, from which snapshots and predictions are made.
 *
 * As text, one statement per line or between semicolons:
 *
 *   leaf a 4            a leaf switch with 4 nodes
 *   loose 2             nodes without a leaf
 *   down a 2            the last 2 nodes of leaf a are away
 *   switch x r1 0-1 4-5 a leaf switch of rail r1 with these nodes, counted from
 *                       0 over all leaves; the leaves are then on rail r0
 *   loads X r1          X loads only that rail
 *   app X [own=7]       a trusted profile, or one that user 7 made himself
 *   pair X Y .3 [node|leaf|uplink]   X with Y takes 30 % longer
 *   both X Y .3         the same both ways
 *   run 1 X a:2 b:1     job 1 runs X on 2 nodes of a and 1 of b
 *   job 2 X 4           job 2 waits for 4 nodes; X may be "-": unknown
 *   now 1000; last 990; max .1; hold 3600; as X
 *
 * Jobs take: prio= own= part= mode=off|advise|prefer|enforce tasks= switches=
 * on=a,b or on=loose (candidates) submit= begin= held= start=
 * prior=any|hold:T|a,b and the words shares spans nodelist reserved het
 * waiting.
 */
#ifndef NP_T_TOY_H
#define NP_T_TOY_H

#include "np_bits.h"
#include "np_placement.h"

#define W_MAX_LEAVES 64
#define W_MAX_NODES 512
#define W_MAX_APPS 32
#define W_MAX_JOBS 512
#define W_WORDS (W_MAX_NODES / 64)

struct w_job {
	struct np_job in;
	uint64_t candidates[W_WORDS]; /* nodes */
	uint64_t prior[1];	      /* leaves */
	uint32_t node[W_MAX_NODES];   /* running */
};

struct world {
	size_t n_leaves, n_nodes, n_apps, n_jobs;
	char leaf_name[W_MAX_LEAVES][8];
	uint32_t leaf_first[W_MAX_LEAVES + 1]; /* nodes of leaf i; the rest
						  after the last are loose */
	char switch_name[W_MAX_LEAVES][24], switch_rail[W_MAX_LEAVES][8];
	uint32_t switch_node[W_MAX_LEAVES][W_MAX_LEAVES];
	size_t n_switches, switch_nodes[W_MAX_LEAVES];
	char app_rails[W_MAX_APPS][8]; /* "": any */
	bool unavailable[W_MAX_NODES];
	char app_name[W_MAX_APPS][8];
	uint32_t app_owner[W_MAX_APPS];
	bool app_trusted[W_MAX_APPS];
	double slow[NP_N_CONTACTS][W_MAX_APPS][W_MAX_APPS]; /* victim, co */
	struct w_job job[W_MAX_JOBS];
	struct np_policy policy;
	int64_t now_sec, last_sec;
};

void w_init(struct world *w);
/* Aborts, naming the statement, if the text is not understood. */
void w_parse(struct world *w, const char *text);

uint32_t w_leaf_of(const struct world *w, uint32_t node); /* NP_NO_LEAF */

/* The sealed snapshot, the table of predictions, the decision; abort on
   failure. Free with the function of the type. */
struct np_snapshot *w_snapshot(const struct world *w);
struct np_slowdowns *w_slowdowns(const struct world *w);
struct np_placement *w_decide(const struct world *w);

/* The handle of a job's candidate nodes in a snapshot or decision of w. */
uint32_t w_candidates(const struct world *w, size_t job);

/* What a outcome opens: "none", "any", "hold" or "a,b"; static memory. */
const char *w_opens(const struct world *w, const struct np_outcome *v);

/* Write a outcome into the job, as the plugin would. */
void w_apply(struct world *w, size_t job, const struct np_outcome *v);

/* The index of a job id; aborts if there is none. */
size_t w_find(const struct world *w, uint32_t id);

/* Random numbers, the same everywhere. */
uint32_t w_random(uint64_t *seed, uint32_t below);

#endif
