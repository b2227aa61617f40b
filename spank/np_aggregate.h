/*
 * Aggregates what the probes and a level report into the run record.  Pure: the
 * caller reads the lines and the clock.
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

/* Probes that said bye; r->probe.n_processes: hello. */
uint32_t np_aggregate_byes(const struct np_aggregate *f);

/* Every process of the step has said hello. */
bool np_aggregate_impact_is_up(const struct np_aggregate *f);

/*
 * One report of CompressionB, an interference level, read at now_sec of a
 * monotonic clock; r->level must be there.  program_start_sec and
 * program_end_sec are on the same clock; NaN while the program has not started
 * or ended.  Rounds before the start were alone, those between start and end
 * beside it, the rest and the window that the start cuts are left out; so are
 * the program's first second, in which it is launched and wired up, and its
 * last half, unless there is no more of it.
 * Returns 0, or -EINVAL if the report had to be dropped.
 */
int np_aggregate_level_report(struct np_aggregate *f,
			      const struct np_report *rep,
			      double now_sec, double program_start_sec,
			      double program_end_sec);

/* The last windows, once all reports are in. */
void np_aggregate_level_done(struct np_aggregate *f, double program_end_sec);

/* Seconds that the level has been running alone or beside; 0: not yet. */
double np_aggregate_level_age(const struct np_aggregate *f, double now_sec);

#endif
