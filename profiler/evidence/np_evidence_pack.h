/* Moved to np_evidence.h. */
#ifndef NP_EVIDENCE_PACK_H
#define NP_EVIDENCE_PACK_H

#include "np_evidence.h"

#endif
