/* --netprofile-trace on a node of the step. */
#ifndef SPANK_TRACING_H
#define SPANK_TRACING_H

#include <slurm/spank.h>

/*
 * In a task, as the user, before it becomes the user's program: what srun told
 * of it (np_tracing.h) leaves the environment, and what traces enters it.
 */
void spank_tracing_task(spank_t sp);

#endif
