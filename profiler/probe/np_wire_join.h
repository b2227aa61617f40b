#ifndef NP_WIRE_JOIN_H
#define NP_WIRE_JOIN_H

#include "np_wire.h"

#endif
