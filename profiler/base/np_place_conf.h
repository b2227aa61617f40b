#ifndef NP_PLACE_CONF_H
#define NP_PLACE_CONF_H

#include "np_conf.h"

#endif
