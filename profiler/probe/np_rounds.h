#ifndef NP_ROUNDS_H
#define NP_ROUNDS_H

#include "np_engine.h"

#endif
