#ifndef NP_ARGS_H
#define NP_ARGS_H

#include "np_option.h"

#endif
