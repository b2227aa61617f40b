/*
 * The callbacks job_submit and job_modify, and the state that they share with
 * the placement thread: the current decision, the values that placement wrote
 * into jobs, and the changes that users have requested since. One mutex, which
 * is only held briefly, protects it.
 */
#ifndef NP_SHARED_H
#define NP_SHARED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_annotation.h"
#include "np_catalog.h"
#include "np_cluster_map.h"
#include "np_conf.h"
#include "np_placement.h"
#include "np_slurm_compat.h"

/*
 * ---- Changes: what users requested to change in jobs since the last pass ----
 *
 * job_modify is called before Slurm checks whether the user is allowed to make
 * the change and whether it is possible. Whether it took effect is found out in
 * the next pass, by comparing what the job then contains with passed_on
 * and passed_on_begin_sec.
 *
 * Anybody can request anything, so the table has limits, and each user a share
 * of them. A change beyond the limits is only marked as missed: our next update
 * of that job is refused until another pass has read the job. If the thread has
 * not seen the job yet, this holds for all new jobs that the user may change.
 */

#define NP_CHANGES_MAX 1024
/*
 * A user gets a share (np_array.h) if that is less than these limits of a user.
 * root and SlurmUser may use up the whole table.
 */
#define NP_CHANGES_OF_USER 128
#define NP_CHANGES_OF_JOB 4	   /* by one user; Slurm may refuse the last */
#define NP_CHANGES_BYTES (4 << 20) /* of all texts */
#define NP_CHANGES_USER_BYTES (1 << 19)
#define NP_CHANGES_MAX_LIST NP_ANNOTATION_MAX_USER /* bytes of one list */

struct np_change {
	uint32_t id;	   /* of the job, or of the array it belongs to */
	uint32_t task;	   /* of the array; NP_CHANGE_ALL: not a single task */
	uint32_t uid;	   /* user who requested it */
	char *exc_nodes;   /* list that was requested; NULL: unchanged */
	char *passed_on;   /* list passed on to Slurm, including ours */
	int64_t begin_sec; /* begin time that was requested; 0: unchanged */
	int64_t passed_on_begin_sec; /* begin time passed on to Slurm */
	uint64_t order;		     /* counts up; set by np_changes_put() */
	size_t bytes; /* length of the texts; set by np_changes_put() */
};
#define NP_CHANGE_ALL UINT32_MAX

/* The owner of a job or array. */
struct np_owner {
	uint32_t id, uid; /* id first: np_order_u32() */
	bool missed;	  /* a change of it exceeded the limits */
	uint64_t doubt;	  /* order of its last doubtful request; 0: none */
	uint64_t sluid;	  /* of the job; 0: none, or of an array */
};

/* What placement wrote into a pending job; for job_modify. */
struct np_written {
	/* First: np_order_u32(). 0: a task that was split off its array, whose
	   id is not known before the next pass. */
	uint32_t id;
	uint32_t array, task; /* as in struct np_job_entry */
	char *ours;	      /* excluded nodes, a hostlist; NULL: none */
	int64_t until_sec;    /* begin time; 0: none */
};

/* An update that the thread is sending; texts are borrowed. */
struct np_sending {
	uint32_t id;	/* of the job; of the array if it is for one task */
	uint32_t array; /* 0: none */
	uint32_t task;	/* NP_CHANGE_ALL: not a single task */
	uint32_t owner;
	const char *exc_nodes, *comment; /* NULL: unchanged */
	/*
	 * Order of the last doubtful request that is known not to have changed
	 * the job; this holds for all earlier ones as well.
	 */
	uint64_t checked;
	/* What the job or task contains once it is updated. */
	const struct np_written *written;
};

struct np_changes;

/* Returns 0 or -ENOMEM. */
int np_changes_new(struct np_changes **out);
void np_changes_free(struct np_changes *changes); /* NULL is allowed */

/*
 * Whether Slurm certainly lets uid change jobs of this owner. Operators and
 * coordinators, which it allows as well, are not known here.
 */
bool np_may_change(uint32_t uid, uint32_t owner);

/*
 * Set the owners of the jobs in the last pass and of their arrays, sorted by
 * id, each once. Takes the array, and returns the former one, to be freed.
 */
struct np_owner *np_changes_set_owners(struct np_changes *changes,
				       struct np_owner *owner, size_t n);

/* The id of the known job with this SLUID. 0: there is none. */
uint32_t np_changes_id_of(const struct np_changes *changes, uint64_t sluid);

/* Whether id is a known job or array that uid may not change. */
bool np_changes_forbidden(const struct np_changes *changes, uint32_t id,
			  uint32_t uid);

/* Add a change; takes its texts. Returns false if it exceeds the limits. */
bool np_changes_put(struct np_changes *changes, const struct np_change *change);

/* Mark that a change of a job by uid was missed. */
void np_changes_mark_missed(struct np_changes *changes, uint32_t id,
			    uint32_t uid);

/* Mark that a change by uid of a job that is not known was missed. */
void np_changes_mark_new_job_missed(struct np_changes *changes, uint32_t uid);

/*
 * Whether the update being sent is out of date, because somebody who may change
 * the job did so since the last np_changes_take().
 */
bool np_changes_overtake(const struct np_changes *changes,
			 const struct np_sending *sending);

/*
 * A request is doubtful if Slurm may refuse it, as its user is an operator or
 * just anybody, or if it sets AdminComment, which no change contains. Before an
 * update is sent after such a request, the thread checks whether the job has
 * changed. These functions record a doubtful request of a known job or array,
 * and return the order of the last one since the last np_changes_take(), or 0.
 */
void np_changes_mark_doubtful(struct np_changes *changes, uint32_t id);
uint64_t np_changes_doubt(const struct np_changes *changes,
			  const struct np_sending *sending);

/*
 * Take all changes, oldest first; free them with np_change_list_free(). When
 * out of memory, none are taken, and they remain for the next call.
 */
struct np_change *np_changes_take(struct np_changes *changes, size_t *n);

/* Number of changes missed since the last call; *uid: user of the first. */
unsigned np_changes_take_missed(struct np_changes *changes, uint32_t *uid);

/* Put changes back that were taken but not used; takes change. */
void np_changes_return(struct np_changes *changes, struct np_change *change,
		       size_t n);
void np_change_list_free(struct np_change *change, size_t n);

/*
 * Find the changes of one job, of its array or of its task by users who may
 * change it, latest first and at most max. Returns how many.
 */
size_t np_changes_find(const struct np_change *change, size_t n, uint32_t id,
		       uint32_t array, uint32_t task, uint32_t owner,
		       const struct np_change **found, size_t max);
/*
 * Upper limit of the result: changes of job, array and task, each by the owner,
 * root and SlurmUser.
 */
#define NP_CHANGES_FOUND (3 * 3 * NP_CHANGES_OF_JOB)

/* ---- Shared state ---- */

/* The current decision, with what is needed to apply it. */
struct np_decision {
	struct np_placement *placement;
	struct np_cluster_map *map;
	struct np_app_index *index;
	uint32_t *set;	 /* nodes of each partition of the map, as handles of
			  the snapshot's sets */
	int64_t now_sec; /* when the snapshot was taken */
};

/* All members are protected by the lock. */
struct np_shared {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool woken;
	/* The thread is between reading the cluster's state and publishing its
	   decision, or its updates are incomplete. Submissions that others may
	   have to avoid are held meanwhile. */
	bool busy;
	struct np_conf conf; /* until has_conf, the defaults: placement is off */
	bool has_conf;	     /* netprof.conf could be read, and was valid */
	/* The current decision; NULL: none yet, or it was withdrawn. */
	struct np_decision *decision;
	struct np_written *written; /* by id */
	size_t n_written;
	/*
	 * The jobs updated since that list was made, in no order; no more than
	 * the thread updates in one pass.
	 */
	struct np_written *recent;
	size_t n_recent;
	struct np_changes *changes;
	/* The update that the thread is sending, or NULL. It passes through
	   job_modify, which must not mistake it for a user's change. */
	const struct np_sending *sending;
	double late_until_sec; /* CLOCK_MONOTONIC, until when an update to which
				  the thread got no answer may still arrive */
	/* CLOCK_MONOTONIC, when a submission was last allowed to start.
	   slurmctld makes a job of it only after the callback has returned. */
	double admitted_sec;
	double first_submit_sec; /* CLOCK_MONOTONIC; 0: none so far */
};

/* conf is copied. Returns 0 or -ENOMEM. */
int np_shared_new(const struct np_conf *conf, struct np_shared **out);

/* For tests; slurmctld's own lives as long as the process. NULL is allowed. */
void np_shared_free(struct np_shared *shared);

/* Replace the settings; NULL: netprof.conf has not been usable so far. */
void np_shared_configure(struct np_shared *shared, const struct np_conf *conf);

/*
 * Whether slurmctld has just begun to accept submissions, so that a first
 * decision is expected soon: a standby accepts none before it takes over. To be
 * asked for each submission, with the time of CLOCK_MONOTONIC.
 */
#define NP_SHARED_STARTING_SEC 30
bool np_shared_is_starting(struct np_shared *shared, double now_sec);
/* Start over: the next submission counts as the first one. */
void np_shared_restart(struct np_shared *shared);

void np_shared_set_busy(struct np_shared *shared, bool busy);
/*
 * For the thread, once it is busy: wait until the submission that was admitted
 * last is certainly visible as a job.
 */
#define NP_SHARED_IN_FLIGHT_SEC 0.2 /* usually takes 1 ms */
void np_shared_wait_in_flight(struct np_shared *shared);

/*
 * With the lock held: find the values that were written into a job, or into one
 * task of an array (task is NP_CHANGE_ALL otherwise). Returns NULL if there are
 * none.
 */
const struct np_written *np_shared_find_written(const struct np_shared *shared,
						uint32_t id, uint32_t task);

/* For the thread: set the update that it is sending; NULL: none. */
void np_shared_set_sending(struct np_shared *shared,
			   const struct np_sending *sending);

/* For the thread: an update got no answer, and may arrive later. */
#define NP_SHARED_LATE_SEC 600
void np_shared_expect_late(struct np_shared *shared);

/*
 * For the thread, after an update was refused: the order of the last doubtful
 * request of the job, if the update was refused for such requests only; or 0.
 */
uint64_t np_shared_doubt(struct np_shared *shared,
			 const struct np_sending *sending);

/* Make the thread start its next pass early. */
void np_shared_wake(struct np_shared *shared);

/* For the thread: wait for sec seconds; returns true if it was woken. */
bool np_shared_wait(struct np_shared *shared, double sec);

/*
 * Replace the current decision, which is freed. Takes ownership of the new one
 * and all that is in it. Submissions that the new decision's snapshot does not
 * show yet are carried over; arrivals are those that it shows. Both NULL:
 * np_shared_withdraw().
 */
void np_shared_publish(struct np_shared *shared, struct np_decision *decision,
		       struct np_arrivals *arrivals);

/* Discard the current decision; there is none until the next one. */
void np_shared_withdraw(struct np_shared *shared);

/*
 * Replace the list of what jobs contain, given in any order; takes written and
 * its texts.
 */
void np_shared_set_written(struct np_shared *shared, struct np_written *written,
			   size_t n);

/*
 * For the thread: the functions of np_changes, with the lock taken. The owners
 * may be in any order and have duplicates.
 */
void np_shared_set_owners(struct np_shared *shared, struct np_owner *owner,
			  size_t n);
struct np_change *np_shared_take_changes(struct np_shared *shared, size_t *n);
void np_shared_return_changes(struct np_shared *shared,
			      struct np_change *change, size_t n);
unsigned np_shared_take_missed(struct np_shared *shared, uint32_t *uid);

/*
 * ---- Callbacks ----
 *
 * They write into the job description that Slurm passes to them, and use no RPC
 * and no file.
 */

/*
 * Find the application that a submission names, with --netprofile=APP or else
 * NETPROF_APP; --netprofile without a value means the job's name. Returns
 * whether there is one. Exported for the tests.
 */
bool np_submit_app(const job_desc_msg_t *desc, char app[NP_APP_MAX + 1]);

/*
 * Decide about a submission and write the decision into its description.
 * starting: np_shared_is_starting().
 */
void np_submit(struct np_shared *shared, job_desc_msg_t *desc, int64_t now_sec,
	       bool starting);

/*
 * Handle the request of a user, an administrator or the placement thread to
 * change a job. Returns 0; or EAGAIN, to refuse an update of the thread because
 * somebody changed the job, or perhaps did, after the thread had read it.
 */
int np_modify(struct np_shared *shared, job_desc_msg_t *desc, uint32_t uid);

#endif
