#ifndef NP_NEAR_H
#define NP_NEAR_H

#include "np_text.h"

#endif
