/* Moved to np_evidence.h. */
#ifndef NP_CURVE_COUNT_H
#define NP_CURVE_COUNT_H

#include "np_evidence.h"

#endif
