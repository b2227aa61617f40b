#ifndef NP_LOOP_H
#define NP_LOOP_H

#include "np_engine.h"

#endif
