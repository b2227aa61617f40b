/*
 * What the callbacks and the thread share, behind one mutex that is only held
 * for moments: the last decision, and what users changed since.
 */
#ifndef NP_SHARED_H
#define NP_SHARED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_catalog.h"
#include "np_conf.h"
#include "np_note.h"
#include "np_placement.h"
#include "np_site.h"

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

/* A decision with all that is needed to use it; each part is shared. */
struct np_standing {
	struct np_placement *placement;
	struct np_site *site;
	struct np_app_index *index;
	uint32_t *set;	 /* of each partition of the site: its nodes, as a set
			    of the snapshot */
	int64_t now_sec; /* when the snapshot was taken */
};

/* What stands in a pending job from us, for job_modify. */
struct np_written {
	uint32_t id;
	uint32_t array, task; /* as in struct np_seen */
	char *ours;	   /* hostlist; NULL: none */
	int64_t until_sec; /* 0: none */
};

/* Under its lock, all of it. */
struct np_shared {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool woken;
	/* The thread is between looking at the cluster and publishing what it
	   decided, and wrote: what conflicts waits for it. */
	bool busy;
	struct np_conf conf;
	/* NULL: none was made yet, or np_shared_withdraw() was called. */
	struct np_standing *standing;
	struct np_written *written; /* by id */
	size_t n_written;
	struct np_changes *changes;
	/* The update that the thread sends just now, or NULL: job_modify sees
	   that one, too, and must know it from those of others. */
	const struct np_sending *sending;
	/* Monotonic: when a submission was let in last.  slurmctld makes a job
	   of it when its callback has returned. */
	double let_in_sec;
};

/* conf is copied.  Returns 0 or -ENOMEM. */
int np_shared_new(const struct np_conf *conf, struct np_shared **out);

/* When nobody uses it any more; slurmctld's own lives as long as it does. */
void np_shared_free(struct np_shared *d); /* NULL is allowed */

/* Replaces the settings. */
void np_shared_configure(struct np_shared *d, const struct np_conf *conf);

void np_shared_busy(struct np_shared *d, bool busy);
/* For the thread, which is busy: wait until it surely sees what was let in. */
#define NP_SHARED_IN_FLIGHT_SEC 0.2 /* mostly a millisecond */
void np_shared_settle(struct np_shared *d);

/*
 * With the lock: what stands in a job, or in one task of an array (else
 * NP_CHANGE_ALL); NULL: nothing.
 */
const struct np_written *np_shared_written(const struct np_shared *d,
					   uint32_t id,
					   uint32_t task);

/* For the thread: it sends this update now; NULL: it is over. */
void np_shared_sends(struct np_shared *d, const struct np_sending *s);

/* Wake the thread before its time; the other one with the lock. */
void np_shared_wake(struct np_shared *d);
void np_shared_wake_locked(struct np_shared *d);

/* For the thread: wait for so long, or until woken; true: woken. */
bool np_shared_wait(struct np_shared *d, double sec);

/*
 * A new decision replaces the last one, which is freed; s and all in it are
 * taken.  What was admitted and did not arrive yet is carried over; arrivals,
 * of the new one's snapshot, are counted off.  NULL for both: see below.
 */
void np_shared_publish(struct np_shared *d, struct np_standing *s,
		       struct np_arrivals *arrivals);

/* No decision is to be used any more. */
void np_shared_withdraw(struct np_shared *d);

/* In any order; the array and its texts are taken. */
void np_shared_note_written(struct np_shared *d, struct np_written *w,
			    size_t n);

/*
 * For the thread, as in np_shared.h: whose the jobs are that it saw; the
 * changes so far; those that were not looked at, for the next time; how many
 * there was no room for.
 */
void np_shared_know(struct np_shared *d, struct np_owner *owner, size_t n);
struct np_change *np_shared_take_changes(struct np_shared *d, size_t *n);
void np_shared_return_changes(struct np_shared *d, struct np_change *c,
			      size_t n);
unsigned np_shared_take_missed(struct np_shared *d, uint32_t *misser);

#endif
