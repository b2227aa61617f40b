#ifndef NP_IDS_H
#define NP_IDS_H

#include "np_app.h"

#endif
