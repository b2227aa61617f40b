#ifndef NP_LANES_H
#define NP_LANES_H

#include "np_nnls.h"

#endif
