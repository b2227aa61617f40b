/* Detached evidence in few bytes, for np_kept.h. */
#ifndef NP_EVIDENCE_PACK_H
#define NP_EVIDENCE_PACK_H

#include "np_evidence.h"
#include "np_kept.h"

/* What the models need of e, on a calibration. */
void np_evidence_pack(FILE *f, const struct np_evidence *e);

/*
 * The reverse, as np_evidence_detach() leaves it; name is borrowed.  fabric:
 * the same as then.  Returns 0, -EINVAL (it is something else) or -ENOMEM.
 */
int np_evidence_unpack(struct np_pack *p, const struct np_fabric *fabric,
		       const char *name, struct np_evidence *out);

#endif
