#ifndef NP_CLAIM_H
#define NP_CLAIM_H

#include "np_app.h"

#endif
