/* What a run record says from the start: step, probes, interference level. */
#ifndef NP_DESCRIBE_H
#define NP_DESCRIBE_H

#include "np_conf.h"
#include "np_level.h"
#include "np_order.h"
#include "np_record.h"
#include "np_survey.h"

/*
 * Fill in what the order and the settings say, the cluster's name and Slurm's
 * version; start_date begins the record.  Returns 0 or -errno with err.
 */
int np_describe_step(struct np_record *r, const struct np_order *o,
		     const struct np_conf *conf, double start_date,
		     struct np_err *err);

/* The interference level and where it runs.  Returns 0 or -ENOMEM. */
int np_describe_level(struct np_record *r, const struct np_level *level,
		      const struct np_survey *where);

/* As a record names it: "leaf" or "node". */
const char *np_describe_scope(const struct np_survey *where);

#endif
