/*
 * Aggregates what an interference level reports into the run record: its rounds
 * alone, and beside the program at work.  Pure: the caller reads the lines and
 * the clock.
 */
#ifndef NP_AGGREGATE_LEVEL_H
#define NP_AGGREGATE_LEVEL_H

#include <stdbool.h>

#include "np_record.h"
#include "np_report.h"

struct np_aggregate_level;

/*
 * r is borrowed and must outlive the aggregate; r->level must be there when
 * reports come.  NULL: out of memory.
 */
struct np_aggregate_level *np_aggregate_level_new(struct np_record *r);
/* NULL is allowed. */
void np_aggregate_level_free(struct np_aggregate_level *f);

/*
 * One report of CompressionB, read at now_sec of a monotonic clock.
 * program_start_sec and program_end_sec are on the same clock; NaN while the
 * program has not started or ended.  Rounds before the start were alone,
 * those between start and end beside it, the rest and the window that the
 * start cuts are left out; so are the program's first second, in which it is
 * launched and wired up, and its last half, unless there is no more of it.
 * Returns 0, or -EINVAL if the report had to be dropped.
 */
int np_aggregate_level_report(struct np_aggregate_level *f,
			      const struct np_report *rep,
			      double now_sec, double program_start_sec,
			      double program_end_sec);

/* The last windows, once all reports are in. */
void np_aggregate_level_done(struct np_aggregate_level *f,
			     double program_end_sec);

/* Seconds that the level has been running alone or beside; 0: not yet. */
double np_aggregate_level_age(const struct np_aggregate_level *f,
			      double now_sec);

#endif
