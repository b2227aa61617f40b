#ifndef NP_NUMBERS_H
#define NP_NUMBERS_H

#include "np_array.h"

#endif
