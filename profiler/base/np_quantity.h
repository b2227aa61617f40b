#ifndef NP_QUANTITY_H
#define NP_QUANTITY_H

#include "np_option.h"

#endif
