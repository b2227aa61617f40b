/*
 * What the plugin does on a step's nodes.  In the first task it starts
 * netprof-join, where the step was invited (np_invite.h), and each task gets
 * what traces it (np_tracing.h).  When the tasks have ended, as root in
 * slurmstepd, which next kills what they left behind: of a batch script it
 * tells the attendants of its job (np_script.h); of another step it waits for
 * netprof-join, since where Slurm finds any process (proctrack/cgroup), it
 * looks again no sooner than after a second.
 */
#ifndef SPANK_NODE_H
#define SPANK_NODE_H

#include <slurm/spank.h>

/* Before the tasks are forked; in other Slurm programs nothing. */
void spank_node_prepare(spank_t sp);

/*
 * In each task just before it becomes the user's program, as the user; takes
 * the invitation, and what srun told of traces, out of its environment.
 */
void spank_node_task_starts(spank_t sp);

/* In slurmstepd: a task has ended. */
void spank_node_task_ends(spank_t sp);

#endif
