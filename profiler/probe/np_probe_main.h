#ifndef NP_PROBE_MAIN_H
#define NP_PROBE_MAIN_H

#include "np_probe.h"

#endif
