/*
 * The course of one run through its blocks (np_blocks.h): which level comes
 * when, and what the counters of the step's nodes say of each.  Before the
 * program starts, levels whose rounds alone are not known yet run for a moment,
 * so that those of the blocks say how the program slows them.  Pure: the caller
 * has the clock, calls the level's processes and hands in what is reported.
 */
#ifndef NP_COURSE_H
#define NP_COURSE_H

#include <stdbool.h>

#include "np_blocks.h"
#include "np_record.h"

/* What is known when a run begins; owned by whoever made it. */
struct np_course_history {
	char **name; /* of the levels, each as np_level_parse() takes it */
	bool *is_led; /* levels whose rounds alone are known */
	size_t n_levels;
	struct np_block *block; /* of earlier runs */
	size_t n_blocks;
	double share;
};

void np_course_history_free(struct np_course_history *p);

#define NP_COURSE_WINDOW_SEC 0.25 /* what every report is of */

struct np_course;

/* r and history are borrowed.  NULL: out of memory. */
struct np_course *np_course_new(struct np_record *r,
				const struct np_course_history *history);
void np_course_free(struct np_course *c); /* NULL is allowed */

/* A node's devices moved bytes in elapsed_sec, as is heard now. */
void np_course_moved(struct np_course *c, size_t node, double now_sec,
		     double elapsed_sec, double bytes);

/* The same of MPI calls, where these are counted. */
void np_course_called(struct np_course *c, size_t node, double now_sec,
		      double elapsed_sec, double calls);

/* The level that was called is up; and its rounds of the last window. */
void np_course_level_up(struct np_course *c, double now_sec);
void np_course_rounds(struct np_course *c, double now_sec,
		      const struct np_moments *sec);

/* The program may start. */
bool np_course_is_led_in(const struct np_course *c);

/* It was called for, and has not come up yet. */
bool np_course_wants_level(const struct np_course *c);

/* No level has run in the last window, or may have. */
bool np_course_is_alone(const struct np_course *c, double now_sec);

/*
 * What is due at now_sec, of a run that began at start_sec; NaN: not yet.
 * Returns the name of a level to call now for *sec seconds, or NULL.
 */
const char *np_course_tick(struct np_course *c, double now_sec,
			   double start_sec, double *sec);

/* When np_course_tick() is to be called again. */
double np_course_due_sec(const struct np_course *c);

#endif
