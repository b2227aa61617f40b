#ifndef NP_HIST_H
#define NP_HIST_H

#include "np_latency.h"

#endif
