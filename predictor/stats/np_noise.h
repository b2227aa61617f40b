#ifndef NP_NOISE_H
#define NP_NOISE_H

#include "np_moments.h"

#endif
