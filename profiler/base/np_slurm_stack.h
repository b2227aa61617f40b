#ifndef NP_SLURM_STACK_H
#define NP_SLURM_STACK_H

#include "np_slurm_file.h"

#endif
