#ifndef NP_PAIRING_H
#define NP_PAIRING_H

#include "np_engine.h"

#endif
