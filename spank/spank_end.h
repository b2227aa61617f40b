/*
 * The end of a step's tasks, in slurmstepd, which next kills what they left
 * behind.  Of a batch script it tells the attendants of its job (np_script.h).
 * Of another step it waits for netprof-join: where Slurm finds any process
 * (proctrack/cgroup), it looks again no sooner than after a second.
 */
#ifndef SPANK_END_H
#define SPANK_END_H

#include <sys/types.h>

#include <slurm/spank.h>

/* Before the tasks are forked. */
void spank_end_prepare(spank_t sp);

/* For a task: where the process is put that will be waited for; NULL: nowhere. */
pid_t *spank_end_joiner(void);

/* A task has ended. */
void spank_end_task(spank_t sp);

#endif
