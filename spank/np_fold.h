/*
 * Folds what the probes report into the run record.  Pure: the caller reads
 * the lines.
 */
#ifndef NP_FOLD_H
#define NP_FOLD_H

#include <stdbool.h>

#include "np_record.h"
#include "np_report.h"

struct np_fold;

/* r is borrowed and must outlive the fold.  NULL: out of memory. */
struct np_fold *np_fold_new(struct np_record *r);
void np_fold_free(struct np_fold *f); /* NULL is allowed */

/* One report of ImpactB.  Returns 0, or -errno if it had to be dropped. */
int np_fold_impact(struct np_fold *f, const struct np_report *rep);

/* Probes that said hello, and that said bye. */
uint32_t np_fold_hellos(const struct np_fold *f);
uint32_t np_fold_byes(const struct np_fold *f);

/* Every process of the step has said hello. */
bool np_fold_impact_is_up(const struct np_fold *f);

#endif
