#ifndef NP_PINGPONG_H
#define NP_PINGPONG_H

#include "np_engine.h"

#endif
