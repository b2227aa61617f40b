/*
 * Collective operations as point-to-point messages: for one rank and algorithm,
 * a list of steps in rounds. A round begins when all steps of the round before
 * have ended; steps of one round are independent of each other.
 *
 * These are the textbook algorithms that MPI libraries implement: R. Thakur, R.
 * Rabenseifner, W. Gropp, Optimization of Collective Communication Operations
 * in MPICH, 2005; D. Hensgen, R. Finkel, U. Manber, Two Algorithms for Barrier
 * Synchronization, 1988; J. Bruck et al., 1997.
 */
#ifndef NP_COLLECTIVE_H
#define NP_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

/* The values are stored in traces: append only. */
enum np_collective {
	NP_BARRIER,
	NP_BCAST,
	NP_GATHER,
	NP_SCATTER,
	NP_ALLGATHER,
	NP_ALLTOALL,
	NP_REDUCE,
	NP_ALLREDUCE,
	NP_REDUCE_SCATTER,
	NP_SCAN,
	NP_EXSCAN,
	/* sizes are known to one rank only */
	NP_GATHERV,
	NP_SCATTERV,
	NP_ALLTOALLV,
	NP_N_COLLECTIVES
};

enum np_algorithm {
	NP_LINEAR,
	NP_BINOMIAL,
	NP_RECURSIVE_DOUBLING,
	NP_DISSEMINATION,
	NP_RING,
	NP_N_ALGORITHMS
};

/* Name in lower case, for example "allreduce". */
const char *np_collective_name(enum np_collective c);

/*
 * Which algorithm a collective uses from which size on. The defaults resemble
 * those of Open MPI and MPICH.
 */
struct np_choice {
	enum np_collective collective;
	uint64_t from_bytes;
	enum np_algorithm algorithm;
};
#define NP_MAX_CHOICES 64
struct np_choices {
	/* the last one that fits applies */
	struct np_choice own[NP_MAX_CHOICES];
	size_t n;
};

/*
 * For np_option.h: adds "allreduce=ring", or "allreduce:64K=ring" for sizes from
 * 64 KiB on, to a struct np_choices. Returns 0 or -EINVAL with err.
 */
int np_choices_add(char *text, void *choices, struct np_err *err);

/* choices: NULL for the defaults only. bytes: as in np_collective_call. */
enum np_algorithm np_choices_pick(const struct np_choices *choices,
				  enum np_collective c, uint32_t size,
				  uint64_t bytes);

/* Whether this algorithm exists for this collective; exported for tests. */
bool np_algorithm_does(enum np_algorithm a, enum np_collective c);

struct np_step {
	bool send; /* false: receive */
	uint32_t peer;
	uint32_t round;
	uint64_t bytes;
};

/* The part of one rank in a collective. */
struct np_collective_call {
	enum np_collective collective;
	enum np_algorithm algorithm;
	uint32_t rank, size, root;
	/*
	 * 0 for a barrier; the whole buffer for bcast, reduce, allreduce, scan
	 * and reduce_scatter; else the block of one rank, this rank's own if
	 * they differ.
	 */
	uint64_t bytes;
	/*
	 * NULL, or bytes by rank: what each contributes (allgather) or receives
	 * (reduce_scatter), the blocks of the root (gatherv, scatterv), what
	 * this rank sends to each (alltoallv).
	 */
	const uint64_t *blocks;
};

struct np_steps {
	struct np_step *step;
	size_t n, room;
};

/*
 * Replaces the content of s, which is zero at first, by the steps of one rank
 * in the order of their rounds. Returns 0 or -ENOMEM. Free with
 * np_steps_free().
 */
int np_collective_steps(const struct np_collective_call *c, struct np_steps *s);
void np_steps_free(struct np_steps *s);

#endif
