/* Between the files of np_evidence.h. */
#ifndef NP_EVIDENCE_IMPL_H
#define NP_EVIDENCE_IMPL_H

#include "np_evidence.h"

/* What runs are compared with; "", 0 and NULL: not said. */
struct np_evidence_fabric {
	const char *cluster, *transport, *scope;
	uint32_t message_bytes;
	double period_sec;
};

/* Says which runs count: np_evidence_use.c. */
void np_evidence_sort(const struct np_runs *runs,
		      const struct np_evidence_opt *opt,
		      const struct np_evidence_fabric *f,
		      struct np_evidence *e);

#endif
