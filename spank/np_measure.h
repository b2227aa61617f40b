/*
 * The measuring of one step: whom of the members to call, what they report,
 * and whether they still do.  Whoever calls has the clock and the record.
 */
#ifndef NP_MEASURE_H
#define NP_MEASURE_H

#include "np_conf.h"
#include "np_counters.h"
#include "np_course.h"
#include "np_level_steps.h"
#include "np_aggregate.h"
#include "np_order.h"
#include "np_membership.h"
#include "np_survey.h"

struct np_measure {
	const struct np_order *order; /* these are borrowed */
	const struct np_conf *conf;
	const struct np_survey *where;
	struct np_invite invite;
	double after_sec; /* of the step's life, when members come */
	struct np_record *r;
	/* Of a monotonic clock; NaN: not yet.  Its caller sets both. */
	double program_start_sec, program_end_sec;
	double now_sec;

	struct np_membership *members;
	struct np_level_steps level_steps; /* carries the level */
	struct np_aggregate *aggregate;
	struct np_counters *counters;
	struct np_course *course; /* of blocks inside the run; NULL: none */
	const char *block;	  /* level that its course wants; NULL: none */
	double block_sec;
	size_t expected;   /* members that are to come for the probes */
	bool picked, level_called;
	double first_sec;  /* when the first of them came */
	double level_sec;  /* when the level's steps were started */
	double lost_sec;   /* when a probe ended without its last word */
	bool cut;	   /* and the step went on */
	bool probes_told, memory_told, level_told;
};

/*
 * Take over listen_fd.  Returns 0 or -ENOMEM; free in any case.
 */
int np_measure_init(struct np_measure *m, int listen_fd);

/* Once m->where is known.  Returns 0 or -errno with err. */
int np_measure_start_level(struct np_measure *m, double now_sec,
			   struct np_err *err);

/* mpirun runs ranks on this host, where no task of the step joins for it. */
void np_measure_join_here(struct np_measure *m);

/* Take in what has come; np_membership_poll() says where from. */
void np_measure_serve(struct np_measure *m, double now_sec);

/*
 * What is due: call who has come.  Returns true, with cause, when it finds that
 * the probes or the level (what) will report no more while the step goes on;
 * once for each.
 */
bool np_measure_tick(struct np_measure *m, double now_sec, const char **what,
		     char *cause, size_t len);

/*
 * Every probe that was called came up and has said its last, or ended with the
 * step: Slurm kills what is left in a step's cgroup as soon as its last task
 * has ended.
 */
bool np_measure_complete(const struct np_measure *m);

/* Nobody of ours is left on the step's nodes, for the probes or at all. */
bool np_measure_probes_gone(const struct np_measure *m);
bool np_measure_all_gone(struct np_measure *m);

/* Send all home. */
void np_measure_end(struct np_measure *m);

#endif
