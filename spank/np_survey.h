/*
 * Where a step runs, what of it can be measured and where its level goes.
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
	struct np_hosts level;	/* where the interference level runs; if asked */
	enum np_scope scope;	/* of the level */
};

/*
 * Ask slurmctld, in two requests, or four with a level, and plan.
 * Returns 0; -ENODEV if nothing can be measured (err says why); or another
 * -errno.
 */
int np_survey_make(const struct np_order *o, uint32_t max_level,
		   struct np_record *r, struct np_survey *s,
		   struct np_err *err);

/*
 * The plan alone, of s->step and s->leaves: notes the step's leaves in r, one
 * with a single node as skipped, and places the level.  job: nodes of the
 * allocation, busy: those with other steps; both NULL: no level.  Returns as
 * np_survey_make().
 */
int np_survey_plan(struct np_survey *s, const struct np_hosts *job,
		   const struct np_hosts *busy, uint32_t max_level,
		   struct np_record *r, struct np_err *err);

void np_survey_free(struct np_survey *s);

#endif
