#ifndef NP_MEAN_H
#define NP_MEAN_H

#include "np_moments.h"

#endif
