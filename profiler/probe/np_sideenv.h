#ifndef NP_SIDEENV_H
#define NP_SIDEENV_H

#include "np_sidestep.h"

#endif
