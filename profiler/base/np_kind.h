#ifndef NP_KIND_H
#define NP_KIND_H

#include "np_read.h"

#endif
