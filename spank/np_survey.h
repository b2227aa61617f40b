/*
 * Where a step runs and where its probes go: asks slurmctld, then np_place().
 */
#ifndef NP_SURVEY_H
#define NP_SURVEY_H

#include "np_cluster.h"
#include "np_order.h"
#include "np_place.h"
#include "np_record.h"

struct np_survey {
	struct np_leafmap *leaves;
	struct np_hosts step;	/* nodes of the measured step */
	struct np_hosts probes; /* those with a partner on their leaf */
	struct np_hosts level;	/* where the interference level runs */
	enum np_scope scope;
};

/*
 * Survey the step of the order and note its leaves in r: a leaf with one node
 * is marked as skipped.  Returns 0; -ENODEV if nothing can be measured (err
 * says why); or another -errno.
 */
int np_survey_make(const struct np_order *o, struct np_record *r,
		   struct np_survey *s, struct np_err *err);
void np_survey_free(struct np_survey *s);

#endif
