/*
 * What the callbacks and the thread share, behind one mutex that is only held
 * for moments: the last decision, and what users changed since.
 */
#ifndef NP_SHARED_H
#define NP_SHARED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "np_catalog.h"
#include "np_changes.h"
#include "np_conf.h"
#include "np_placement.h"
#include "np_site.h"

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
 * For the thread, as in np_changes.h: whose the jobs are that it saw; the
 * changes so far; those that were not looked at, for the next time; how many
 * there was no room for.
 */
void np_shared_know(struct np_shared *d, struct np_owner *owner, size_t n);
struct np_change *np_shared_take_changes(struct np_shared *d, size_t *n);
void np_shared_return_changes(struct np_shared *d, struct np_change *c,
			      size_t n);
unsigned np_shared_take_missed(struct np_shared *d, uint32_t *misser);

#endif
