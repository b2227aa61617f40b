/*
 * Wire-up: how the processes of one step find each other.  A small table of
 * functions, so that PMIx stays in one file (np_pmix.c) and tests have a twin
 * in memory (np_wire_loop.c).
 */
#ifndef NP_WIRE_H
#define NP_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

struct np_wire;

struct np_wire_ops {
	/* Publish one value of this process, seen by all after a fence. */
	int (*put)(struct np_wire *w, const void *data, size_t len,
		   struct np_err *err);

	/*
	 * Wait for every process.  Returns 0, -ETIMEDOUT (some process never
	 * came) or another -errno.
	 */
	int (*fence)(struct np_wire *w, double timeout_sec,
		     struct np_err *err);

	/* A copy of what process `rank` has put; the caller frees *data. */
	int (*get)(struct np_wire *w, uint32_t rank, void **data, size_t *len,
		   struct np_err *err);

	void (*close)(struct np_wire *w);
};

/* Every implementation begins with this. */
struct np_wire {
	const struct np_wire_ops *ops;
	uint32_t rank, size;
};

/*
 * np_wire over PMIx, as `srun --mpi=pmix` and mpirun provide it.
 */

/*
 * Returns 0; -ENOENT if no PMIx server started this process; another -errno.
 * Close with (*out)->ops->close() as soon as the wiring is done: Slurm's PMIx
 * server kills the whole step when a connected process vanishes.
 */
int np_pmix_open(struct np_wire **out, struct np_err *err);

#endif
