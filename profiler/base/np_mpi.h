#ifndef NP_MPI_H
#define NP_MPI_H

#include "np_elf.h"

#endif
