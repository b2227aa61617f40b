/*
 * Collective operations as the messages that an algorithm sends: for one rank
 * a list of steps in rounds.  A round begins when all steps of the round before
 * are done; steps of one round need not wait for each other.
 *
 * The algorithms are the textbook's, as MPI libraries have them: R. Thakur,
 * R. Rabenseifner, W. Gropp, Optimization of Collective Communication
 * Operations in MPICH, 2005; D. Hensgen, R. Finkel, U. Manber, Two Algorithms
 * for Barrier Synchronization, 1988; J. Bruck et al., 1997.
 */
#ifndef NP_COLLECTIVE_H
#define NP_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

/* As traces number them: append only. */
enum np_collective {
	NP_BARRIER, NP_BCAST, NP_GATHER, NP_SCATTER, NP_ALLGATHER, NP_ALLTOALL,
	NP_REDUCE, NP_ALLREDUCE, NP_REDUCE_SCATTER, NP_SCAN, NP_EXSCAN,
	NP_GATHERV, NP_SCATTERV, NP_ALLTOALLV, /* of sizes known to one rank */
	NP_N_COLLECTIVES
};

enum np_algorithm {
	NP_LINEAR, NP_BINOMIAL, NP_RECURSIVE_DOUBLING, NP_DISSEMINATION,
	NP_RING, NP_N_ALGORITHMS
};

/* "allreduce" */
const char *np_collective_name(enum np_collective c);

/*
 * Which algorithm is taken for which collective from which size on: at first
 * much as Open MPI and MPICH do.
 */
struct np_choice {
	enum np_collective collective;
	uint64_t from_bytes;
	enum np_algorithm algorithm;
};
#define NP_MAX_CHOICES 64
struct np_choices {
	struct np_choice own[NP_MAX_CHOICES]; /* the last that fits wins */
	size_t n;
};

/*
 * Add "allreduce=ring" or "allreduce:64K=ring": from that many bytes on.
 * Returns 0 or -EINVAL with err.
 */
int np_choices_add(struct np_choices *c, const char *text, struct np_err *err);

/* choices: may be NULL; bytes: as the algorithm's size, see below. */
enum np_algorithm np_choices_pick(const struct np_choices *choices,
				  enum np_collective c, uint32_t size,
				  uint64_t bytes);

/* Has the collective such an algorithm? */
bool np_algorithm_does(enum np_algorithm a, enum np_collective c);

struct np_step {
	bool send; /* else receive */
	uint32_t peer;
	uint32_t round;
	uint64_t bytes;
};

/* One rank's part. */
struct np_collective_call {
	enum np_collective collective;
	enum np_algorithm algorithm;
	uint32_t rank, size, root;
	/*
	 * Of a barrier 0; bcast, reduce, allreduce, scan, reduce_scatter: of
	 * the whole buffer; of the others: of one rank's block, the own one
	 * if they differ.
	 */
	uint64_t bytes;
	/*
	 * NULL, or of each rank: what it contributes (allgather) or gets
	 * (reduce_scatter), what the root has of it (gatherv, scatterv), what
	 * this one sends to it (alltoallv).
	 */
	const uint64_t *blocks;
};

struct np_steps {
	struct np_step *step;
	size_t n, room;
};

/*
 * Replaces what s holds, which is zero at first.  Steps stand in the order of
 * their rounds.  Returns 0 or -ENOMEM.  Free with np_steps_free().
 */
int np_collective_steps(const struct np_collective_call *c, struct np_steps *s);
void np_steps_free(struct np_steps *s);

#endif
