#ifndef NP_STOP_H
#define NP_STOP_H

#include "np_clock.h"

#endif
