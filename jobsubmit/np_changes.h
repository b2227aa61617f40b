/*
 * What was asked to be changed in jobs since the thread looked last.
 *
 * job_modify sees a change before Slurm looks whether he who asks may, and
 * whether it can be: what then stands in the job tells (put, put_begin_sec).
 * Anybody can ask for anything, so the table is bounded, and each user has a
 * share of it.  A change that there is no room for makes our next update of
 * that job wait for another look; of a job that the thread has not seen yet, of
 * all jobs that are new to it and that this user may change.
 */
#ifndef NP_CHANGES_H
#define NP_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_note.h"

#define NP_CHANGES_MAX 1024
#define NP_CHANGES_OF_USER 128	  /* root's and SlurmUser's: all */
#define NP_CHANGES_OF_JOB 4	  /* by one user; the last may be refused */
#define NP_CHANGES_BYTES (4 << 20) /* of texts */
#define NP_CHANGES_USER_BYTES (1 << 19)
#define NP_CHANGES_MAX_LIST NP_NOTE_MAX_USER /* bytes of a list */

struct np_change {
	uint32_t id;	 /* of the job, or of the array it belongs to */
	uint32_t task;	 /* of the array; NP_CHANGE_ALL: not of one alone */
	uint32_t uid;	 /* who asks */
	char *exc_nodes; /* the list as it was given; NULL: not touched */
	char *put;	 /* as it was handed on, with ours */
	int64_t begin_sec; /* 0: not touched */
	int64_t put_begin_sec;
	uint64_t order; /* which was later */
	size_t bytes;	/* of the texts; np_changes_put() fills in both */
};
#define NP_CHANGE_ALL UINT32_MAX

/* A job, or an array, and whose it is. */
struct np_owner {
	uint32_t id, uid;
	bool missed; /* a change of it there was no room for */
};

/* An update that the thread sends; texts are borrowed. */
struct np_sending {
	uint32_t id;	/* of the job; or of the array, for one task */
	uint32_t array; /* 0: none */
	uint32_t task;	/* NP_CHANGE_ALL: not of one alone */
	uint32_t owner;
	const char *exc_nodes, *comment; /* NULL: not touched */
};

struct np_changes;

/* Returns 0 or -ENOMEM. */
int np_changes_new(struct np_changes **out);
void np_changes_free(struct np_changes *t); /* NULL is allowed */

/*
 * Does Slurm surely let uid change a job of that owner?  Others that it lets
 * (operators, coordinators) are not known here.
 */
bool np_may_change(uint32_t uid, uint32_t owner);

/*
 * Whose the jobs are that the thread has seen, and their arrays, in any order
 * and some of them twice; the array is taken.
 */
void np_changes_know(struct np_changes *t, struct np_owner *owner, size_t n);

/* Is id a job or array that surely is not his to change? */
bool np_changes_strange(const struct np_changes *t, uint32_t id, uint32_t uid);

/* Takes the texts.  Returns whether there was room for it. */
bool np_changes_put(struct np_changes *t, const struct np_change *c);

/* One more change that there was no room for. */
void np_changes_miss(struct np_changes *t, uint32_t id, uint32_t uid);

/* Was the job changed by somebody who may, since the last take? */
bool np_changes_overtake(const struct np_changes *t,
			 const struct np_sending *s);

/*
 * All of them, the older first: to be freed with
 * np_change_list_free().  Out of memory: none, they stay for the next time.
 */
struct np_change *np_changes_take(struct np_changes *t, size_t *n);

/* How many there was no room for since the last call, and whose the first was. */
unsigned np_changes_missed(struct np_changes *t, uint32_t *misser);

/* They were not looked at: for the next time.  c is taken. */
void np_changes_return(struct np_changes *t, struct np_change *c, size_t n);
void np_change_list_free(struct np_change *c, size_t n);

/*
 * Of the list that np_changes_take() gave, those of one job by those who may
 * change it, the last one first: at most max.  Returns how many.
 */
size_t np_changes_of(const struct np_change *c, size_t n, uint32_t id,
		     uint32_t array, uint32_t task, uint32_t owner,
		     const struct np_change **found, size_t max);
/* No more than these: a job, its array and its task, by three users. */
#define NP_CHANGES_FOUND (3 * 3 * NP_CHANGES_OF_JOB)

#endif
