/*
 * Folds what the probes report into the run record.  Pure: the caller reads
 * the lines and the clock.
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

/*
 * One report of CompressionB, read at now_sec of a monotonic clock.
 * program_start_sec and program_end_sec are on the same clock; NaN while the
 * program has not started or ended.  Rounds before the start were alone,
 * those between start and end beside it, the rest and the window that the
 * start cuts are left out; so are the program's first second, in which it is
 * launched and wired up, and its last half, unless there is no more of it.
 */
int np_fold_level(struct np_fold *f, const struct np_report *rep,
		  double now_sec, double program_start_sec,
		  double program_end_sec);

/* The last windows, once all reports are in. */
void np_fold_level_done(struct np_fold *f, double program_end_sec);

/* Seconds that the level has been running alone or beside; 0: not yet. */
double np_fold_level_age(const struct np_fold *f, double now_sec);

/* Probes that said hello, and that said bye. */
uint32_t np_fold_hellos(const struct np_fold *f);
uint32_t np_fold_byes(const struct np_fold *f);

/* Every process of the step has said hello. */
bool np_fold_impact_is_up(const struct np_fold *f);
bool np_fold_level_is_up(const struct np_fold *f);

#endif
