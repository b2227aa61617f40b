#ifndef NP_SIDECMD_H
#define NP_SIDECMD_H

#include "np_sidestep.h"

#endif
