/*
 * Where a step runs, what of it can be measured and where its level goes; and
 * what a run record says of all that from the start.
 */
#ifndef NP_SURVEY_H
#define NP_SURVEY_H

#include "np_cluster.h"
#include "np_conf.h"
#include "np_fabric.h"
#include "np_order.h"
#include "np_record.h"

struct np_survey {
	struct np_leafmap *leaves;
	struct np_hosts step;	/* nodes of the measured step */
	struct np_hosts level;	/* where the interference level runs; if asked */
	enum np_scope scope;	/* of the level: NP_SCOPE_NODE or NP_SCOPE_LEAF */
};

/*
 * Ask slurmctld, in three requests, or four with a level, and plan.
 * Returns 0; -ENODEV if nothing can be measured (err says why); or another
 * -errno.
 */
int np_survey_make(const struct np_order *o, uint32_t max_level,
		   struct np_record *r, struct np_survey *s,
		   struct np_err *err);

/*
 * The plan alone, of s->step and s->leaves: notes the step's leaves in r, one
 * with a single node as skipped, and places the level.  job: nodes of the
 * allocation, without any for no level; busy: those with other steps.  Returns
 * as np_survey_make().
 *
 * A probe can run on every node of the step that shares its leaf with another
 * one.  The level runs on idle nodes of the allocation under such leaves,
 * where there are two or more on one, so that only the switch is shared;
 * otherwise on the step's nodes themselves.  Where that were more than
 * max_level, it runs on pairs of nodes of a leaf, evenly over all of them.
 */
int np_survey_plan(struct np_survey *s, const struct np_hosts *job,
		   const struct np_hosts *busy, uint32_t max_level,
		   struct np_record *r, struct np_err *err);

void np_survey_free(struct np_survey *s);

/*
 * Fill in what the order and the settings say, the cluster's name and Slurm's
 * version; start_date begins the record.  Returns 0 or -errno with err.
 */
int np_describe_step(struct np_record *r, const struct np_order *o,
		     const struct np_conf *conf, double start_date,
		     struct np_err *err);

/* As a record names it: "leaf" or "node". */
const char *np_describe_scope(const struct np_survey *where);

#endif
