/*
 * np_wire over PMIx, as `srun --mpi=pmix` and mpirun provide it.
 */
#ifndef NP_PMIX_H
#define NP_PMIX_H

#include "np_wire.h"

/*
 * Returns 0; -ENOENT if no PMIx server started this process; another -errno.
 * Close with (*out)->ops->close() as soon as the wiring is done: Slurm's PMIx
 * server kills the whole step when a connected process vanishes.
 */
int np_pmix_open(struct np_wire **out, struct np_err *err);

#endif
