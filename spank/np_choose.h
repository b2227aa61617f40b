/*
 * Which level a run that is flagged by --netprofile-calibrate takes: what the
 * user's own runs of the same workload still lack.
 */
#ifndef NP_CHOOSE_H
#define NP_CHOOSE_H

#include "np_course.h"
#include "np_level.h"
#include "np_record.h"
#include "np_store.h"

/* A choice that others must not make as well, until it is in the store. */
struct np_choice {
	char level[NP_LEVEL_NAME]; /* "": none */
	bool complete; /* the curve has all it needs */
	/*
	 * With levels: the run is to be cut into blocks instead.  Free with
	 * np_course_history_free().
	 */
	struct np_course_history history;
	int lock;      /* -1: none */
};

#define NP_CHOICE_INIT { .lock = -1 }

/*
 * r: application, cluster and fingerprint of the run; scope: where its level
 * would run.  Levels are those of the cluster's calibration at this scope, or
 * else c0 to c7.  Holds a lock of the application until np_choice_end(), after
 * the run's record was saved, so that runs which start together choose
 * differently.  share: by how much blocks inside the run may make it longer; 0: no
 * blocks.  Returns 0, or -errno with err and the choice of none.
 */
int np_choose(struct np_store *s, const struct np_record *r,
	      const char *scope, double share, double now, struct np_choice *out,
	      struct np_err *err);
void np_choice_end(struct np_choice *c);

#endif
