#ifndef NP_SHARES_H
#define NP_SHARES_H

#include "np_array.h"

#endif
