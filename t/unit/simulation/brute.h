/*
 * A second scheduler by the rules of np_simulate.h, for tests: second by
 * second, node by node, and with nothing of the simulator in it.
 */
#ifndef NP_T_BRUTE_H
#define NP_T_BRUTE_H

#include "np_simulate.h"

#define B_MAX_NODES 32
#define B_MAX_JOBS 64
#define B_MAX_USERS 3
#define B_MAX_PLAN 1400 /* seconds of bf_window and the longest limit */

struct b_outcome {
	int64_t start_sec, end_sec;
	int how;
	uint32_t node[B_MAX_NODES];
	size_t n_nodes;
	double left; /* seconds of work */
};

/* Plays the queue without placement; outcome: as many as there are jobs. */
void b_play(const struct np_sim_input *input, struct b_outcome *outcome);

#endif
