#ifndef NP_REPLAY_IMPL_H
#define NP_REPLAY_IMPL_H

#include "np_replay.h"

#define NP_REPLAY_NONE UINT32_MAX

/* An operation that waits for another. */
struct np_replay_next {
	uint32_t op;
	bool on_start;
};

struct np_replay_dep {
	uint32_t before;
	struct np_replay_next next;
};

struct np_replay_app {
	uint32_t n_tasks;
	size_t n_ops, n_deps;
	struct np_replay_op *op;
	struct np_replay_dep *dep; /* only until the program is completed */
	/* of operation i: next[first[i]] .. next[first[i + 1] - 1] */
	size_t *first;
	struct np_replay_next *next;
	uint32_t *n_before; /* by operation: number of dependencies */
};

#endif
