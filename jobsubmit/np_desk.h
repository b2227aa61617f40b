/*
 * What the callbacks and the thread share, behind one mutex that is only held
 * for moments: the last decision, and what users changed since.
 */
#ifndef NP_DESK_H
#define NP_DESK_H

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

struct np_desk;

/* conf is copied.  Returns 0 or -ENOMEM. */
int np_desk_new(const struct np_conf *conf, struct np_desk **out);

/* When nobody uses it any more; slurmctld's own lives as long as it does. */
void np_desk_free(struct np_desk *d); /* NULL is allowed */

/* Replaces the settings. */
void np_desk_configure(struct np_desk *d, const struct np_conf *conf);

/*
 * Lock it for a callback and look; until np_desk_unlock().  The standing
 * decision is NULL before the first one, or after np_desk_withdraw().
 */
struct np_standing *np_desk_lock(struct np_desk *d,
				 const struct np_conf **conf);
void np_desk_unlock(struct np_desk *d);

/*
 * Only between lock and unlock: is the thread between looking at the cluster
 * and publishing what it decided, and wrote?  What conflicts then waits for it.
 */
bool np_desk_is_busy(const struct np_desk *d);
void np_desk_busy(struct np_desk *d, bool busy); /* for the thread */

/*
 * A submission was let in, and slurmctld makes a job of it when its callback
 * has returned: between lock and unlock.  For the thread, which is busy: wait
 * until it surely sees what was let in.
 */
#define NP_DESK_IN_FLIGHT_SEC 0.2 /* mostly a millisecond */
void np_desk_let_in(struct np_desk *d);
void np_desk_settle(struct np_desk *d);

/*
 * Only between lock and unlock: what stands in a job, or in one task of an
 * array (else NP_CHANGE_ALL); NULL: nothing.
 */
const struct np_written *np_desk_written(const struct np_desk *d, uint32_t id,
					 uint32_t task);

/*
 * Only between lock and unlock: what somebody changes in a job, if there is
 * room for it, and whether it surely is not his to change; see np_changes.h.
 */
void np_desk_changed(struct np_desk *d, const struct np_change *c);
void np_desk_missed(struct np_desk *d, uint32_t id, uint32_t uid);
bool np_desk_strange(const struct np_desk *d, uint32_t id, uint32_t uid);

/*
 * For the thread: it sends this update now; NULL: it is over.  job_modify
 * sees that one, too, and must know it from those of others.
 */
void np_desk_sends(struct np_desk *d, const struct np_sending *s);

/*
 * Only between lock and unlock: what the thread sends, or NULL; and whether
 * the job it is for was changed by somebody since the thread looked.
 */
const struct np_sending *np_desk_sending(const struct np_desk *d);
bool np_desk_overtaken(const struct np_desk *d, const struct np_sending *s);

/* Wake the thread before its time; the other one between lock and unlock. */
void np_desk_wake(struct np_desk *d);
void np_desk_wake_locked(struct np_desk *d);

/* For the thread: wait for so long, or until woken; true: woken. */
bool np_desk_wait(struct np_desk *d, double sec);

/*
 * A new decision replaces the last one, which is freed; s and all in it are
 * taken.  What was admitted at since_sec or later is carried over.
 */
void np_desk_publish(struct np_desk *d, struct np_standing *s,
		     int64_t since_sec);

/* No decision is to be used any more. */
void np_desk_withdraw(struct np_desk *d);

/* n entries by ascending id; the array and its texts are taken. */
void np_desk_note_written(struct np_desk *d, struct np_written *w, size_t n);
void np_written_free(struct np_written *w, size_t n);

/*
 * For the thread, as in np_changes.h: whose the jobs are that it saw; the
 * changes so far; those that were not looked at, for the next time; how many
 * there was no room for.
 */
void np_desk_know(struct np_desk *d, struct np_owner *owner, size_t n);
struct np_change *np_desk_take_changes(struct np_desk *d, size_t *n);
void np_desk_return_changes(struct np_desk *d, struct np_change *c, size_t n);
unsigned np_desk_take_missed(struct np_desk *d, uint32_t *misser);

#endif
