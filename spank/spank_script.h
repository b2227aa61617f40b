/* The end of a batch script, told to the attendants of its job (np_script.h). */
#ifndef SPANK_SCRIPT_H
#define SPANK_SCRIPT_H

#include <slurm/spank.h>

/* In slurmstepd, where a task has ended; of other steps nothing is told. */
void spank_script_ends(spank_t sp);

#endif
