#ifndef NP_METRICS_CONF_H
#define NP_METRICS_CONF_H

#include "np_conf.h"

#endif
