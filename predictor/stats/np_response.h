#ifndef NP_RESPONSE_H
#define NP_RESPONSE_H

#include "np_loggps.h"

#endif
