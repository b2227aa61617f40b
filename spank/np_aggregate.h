/*
 * Aggregates what the probes report into the run record.  Pure: the caller
 * reads the lines.
 */
#ifndef NP_AGGREGATE_H
#define NP_AGGREGATE_H

#include <stdbool.h>

#include "np_record.h"
#include "np_report.h"

struct np_aggregate;

/* r is borrowed and must outlive the aggregate.  NULL: out of memory. */
struct np_aggregate *np_aggregate_new(struct np_record *r);
void np_aggregate_free(struct np_aggregate *f); /* NULL is allowed */

/* One report of ImpactB.  Returns 0, or -errno if it had to be dropped. */
int np_aggregate_impact(struct np_aggregate *f, const struct np_report *rep);

/* Probes that said hello, and that said bye. */
uint32_t np_aggregate_hellos(const struct np_aggregate *f);
uint32_t np_aggregate_byes(const struct np_aggregate *f);

/* Every process of the step has said hello. */
bool np_aggregate_impact_is_up(const struct np_aggregate *f);

#endif
