/*
 * The placement decision: which leaf switches a pending job may use, so that
 * jobs that would slow each other down do not share one.
 *
 * A pure function of a snapshot (np_snapshot.h), a table of predicted slowdowns
 * (np_conflict.h, which defines "conflict") and a policy. The same input gives
 * the same answer, and a snapshot in which an answer is applied gives the same
 * answer again. doc/developer/placement.md explains why this is safe to use
 * with Slurm's scheduler.
 *
 * Guarantees for jobs in partitions in mode enforce:
 *
 * - No leaf is open to two pending jobs that conflict there, nor to a pending
 *   job that must avoid a job running there. Exceptions are jobs that placement
 *   ignores (NP_ACT_NONE, with a reason) and jobs released after max_hold_sec.
 * - The leaves open to a job have at least as many usable candidate nodes as it
 *   needs, within the number of switches that it accepts.
 * - A job that conflicts with no other job may use every leaf.
 * - A job is held back (np_outcome.held_sec) for at most max_hold_sec plus the
 *   time since the last decision.
 *
 * In mode prefer a job is restricted only to leaves where enough nodes are free
 * to start it now, whatever the jobs before it take, and it is never held. In
 * mode advise the outcome is what it would be if all partitions in mode advise
 * were in mode enforce, and must not be applied.
 */
#ifndef NP_PLACEMENT_H
#define NP_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_conflict.h"
#include "np_err.h"
#include "np_snapshot.h"

/*
 * ---- Arrivals ----
 *
 * The submissions that a new snapshot shows as jobs. Each submission is counted
 * once: in the journal of the decision that admitted it until a snapshot shows
 * it, and in the snapshot from then on.
 */

struct np_arrivals {
	int64_t since_sec; /* older submissions have arrived, or never will */
	struct np_arrival *of; /* one per owner, ascending */
	size_t n;
};

struct np_arrival {
	uint32_t owner; /* uid; first: np_order_u32() */
	uint32_t n;	/* of the owner's jobs that are new in the snapshot */
};

/* of: n entries in any order, several per owner allowed; they are merged. */
void np_arrivals_init(struct np_arrivals *arrivals, int64_t since_sec,
		      struct np_arrival *of, size_t n);

/* Take one arrival of an owner off the list; false: none is left. */
bool np_arrivals_take(struct np_arrivals *arrivals, uint32_t owner);

/* ---- Policy ---- */

struct np_policy {
	double max_slowdown;  /* above this jobs conflict; fraction >= 0 */
	double max_hold_sec;  /* longest time to hold a job back, >= 1 */
	double hold_step_sec; /* length of one hold: several intervals between
				 decisions, so that a hold ends only if no more
				 decisions are made */
	unsigned modes; /* modes in use, bits 1 << enum np_mode: those of the
			   partitions; those of the snapshot's jobs are added.
			   For np_placement_submit(). */
	int32_t unknown_as; /* profile to assume for running jobs of unknown
			       applications; NP_PROFILE_UNKNOWN: they cause no
			       load */
};

/* 10 %, 1 hour, 1 minute, every mode, no load. */
void np_policy_init(struct np_policy *policy);

/* ---- Outcome ---- */

enum np_action {
	NP_ACT_NONE,	     /* placement does not decide about the job: remove
				what was written into it before */
	NP_ACT_UNRESTRICTED, /* the job may use all leaves */
	NP_ACT_RESTRICT,     /* only .leaves, and nodes without a leaf */
	NP_ACT_HOLD,	     /* none, until .until_sec */
};

/* The reason of an action. */
enum np_why {
	/* NP_ACT_NONE */
	NP_WHY_RUNNING,
	NP_WHY_OFF,	 /* its partition is in mode off */
	NP_WHY_UNKNOWN,	 /* unknown application, or the profile is another
			     user's and not trusted */
	NP_WHY_NODELIST, /* the user chose nodes by name */
	NP_WHY_RESERVATION,
	NP_WHY_HETEROGENEOUS, /* its components must start together */
	NP_WHY_CONSTRAINT,    /* unclear which nodes match its request */
	NP_WHY_CHANGING,      /* its owner changes jobs faster than they can be
			     updated */
	NP_WHY_URGENT,	      /* it has a deadline, or must start at once */
	NP_WHY_NOT_YET,	      /* its begin time is too far in the future */
	NP_WHY_NO_LEAF,	      /* no candidate node is on a leaf */
	NP_WHY_TOO_FEW_NODES, /* fewer usable candidate nodes than it needs,
				 even without placement */
	NP_WHY_TOO_MANY,      /* more classes than its owner's share of
			     NP_PLACEMENT_MAX_CLASSES, or more submissions
			     since the last decision than the owner's share of
			     NP_PLACEMENT_MAX_ADMITTED; also with NP_ACT_HOLD */
	/* NP_ACT_UNRESTRICTED */
	NP_WHY_HARMLESS,       /* conflicts with no pending or running job */
	NP_WHY_NOT_PREDICTED,  /* the same, but predictions are missing */
	NP_WHY_FITS,	       /* conflicts with jobs, but none on its leaves */
	NP_WHY_HOLD_EXPIRED,   /* held back for max_hold_sec, or in mode prefer
				  for NP_PLACEMENT_PATIENCE_SEC */
	NP_WHY_NO_ROOM_APART,  /* prefer: it could not start apart now */
	NP_WHY_TASKS_TOGETHER, /* prefer: array whose tasks conflict */
	/* NP_ACT_RESTRICT, NP_ACT_HOLD: the job must avoid .other */
	NP_WHY_FROM_RUNNING,
	NP_WHY_FROM_PENDING,
	/* NP_ACT_HOLD */
	NP_WHY_TASKS, /* array whose tasks conflict: the other tasks wait */
};

/* Jobs whose begin time is further in the future are ignored. */
#define NP_PLACEMENT_HORIZON_SEC 60
/* A job restricted in mode prefer is released if it did not start by then. */
#define NP_PLACEMENT_PATIENCE_SEC 30
#define NP_PLACEMENT_MAX_CLASSES 1024
/* Maximum number of tasks of one array that get leaves in one decision. */
#define NP_PLACEMENT_MAX_TASKS 32
/* Submissions recorded between two decisions, shared fairly among owners. */
#define NP_PLACEMENT_MAX_ADMITTED 4096

/* Why an outcome is as it is, with an example. */
struct np_cause {
	enum np_why why;
	/*
	 * Set for FROM_RUNNING and FROM_PENDING, and for NP_ACT_HOLD where
	 * known: the worst leaf, a conflicting job there, the job that would be
	 * slowed too much (this one, the other or a third one), and by how
	 * much.
	 */
	uint32_t leaf;	  /* a switch of np_leaves; NP_NO_LEAF: not set */
	uint32_t other;	  /* job id */
	uint32_t victim;  /* job id; 0: this job */
	bool victim_self; /* the victim is this job */
	double slowdown;  /* predicted, fraction */
};

struct np_outcome {
	enum np_action action;
	bool applied; /* false: advice only, or nothing to do */
	bool changed; /* differs from the prior decision */
	/*
	 * The order of updates, so that no intermediate state allows a
	 * conflict. An outcome that narrows (closes an open leaf, or holds the
	 * job) is written first. One that reassigns also narrows, but opens
	 * leaves that other jobs may still use, or splits an array: the job is
	 * held first, and its outcome is written after all that narrow. The
	 * record of an array is written after the tasks split off it.
	 */
	bool narrows, reassigns;
	const uint64_t *leaves; /* NP_ACT_RESTRICT: bitmap, owned by the
				   placement */
	int64_t until_sec;	/* NP_ACT_HOLD: seconds since the epoch */
	double held_sec; /* how long the job was held back so far; to pass in
			    with the next snapshot */
	/*
	 * Arrays: this many tasks, the first ones, are to be split off, each
	 * with leaves of its own (NULL: unrestricted). The rest of the outcome
	 * is that of the remaining tasks.
	 */
	uint32_t tasks;
	const uint64_t **task_leaves;
	struct np_cause cause;
};

/* ---- The decision ---- */

struct np_placement;

/*
 * Decide for all pending jobs of a sealed snapshot. Takes references to
 * snapshot and slowdowns. *out: free with np_placement_free(). Returns 0,
 * -EINVAL with err (invalid policy, unsealed snapshot, or a profile that the
 * table does not have) or -ENOMEM.
 */
int np_placement_decide(struct np_snapshot *snapshot,
			struct np_slowdowns *slowdowns,
			const struct np_policy *policy,
			struct np_placement **out, struct np_err *err);
void np_placement_free(struct np_placement *placement); /* NULL is allowed */

/* The outcome of the snapshot's i-th job, which may be a running one. */
const struct np_outcome *np_outcome_of(const struct np_placement *placement,
				       size_t i);

/*
 * Decide for one job that is being submitted, given the last decision and all
 * submissions since, and record the answer, so that two calls never open a leaf
 * to jobs that conflict there.
 *
 * job->id may be 0. job->candidates is a set of the snapshot; excluded is a
 * bitmap of nodes to remove from it (the user's own exclusions), or NULL.
 * outcome->leaves is owned by the placement.
 *
 * Time and memory depend on the number of leaves and classes, not on that of
 * jobs. Each owner has a share (np_array.h) of NP_PLACEMENT_MAX_ADMITTED
 * calls. Beyond it the answer is a short hold in mode enforce, and NP_ACT_NONE
 * in mode prefer. Calls for one placement must not overlap.
 *
 * Returns 0; or -EINVAL with err (an impossible job) or -ENOMEM, and then the
 * action is NP_ACT_NONE.
 */
int np_placement_submit(struct np_placement *placement,
			const struct np_job *job, const uint64_t *excluded,
			int64_t now_sec, struct np_outcome *outcome,
			struct np_err *err);

/*
 * Before a new decision replaces an old one: copy those submissions from the
 * old journal that the new snapshot does not show yet. Each arrival of a user
 * is taken to be that user's oldest submission.
 */
void np_placement_carry(struct np_placement *to,
			const struct np_placement *from,
			struct np_arrivals *arrivals);

/*
 * The i-th job, whose outcome narrows, could not be updated. From now on it
 * counts as one that may use any leaf, both for np_placement_may_widen() and for
 * submissions. Returns 0 or -ENOMEM.
 */
int np_placement_update_failed(struct np_placement *placement, size_t i);

/* Whether the i-th job's outcome is safe although some jobs are not updated. */
bool np_placement_may_widen(const struct np_placement *placement, size_t i);

/*
 * The outcome of a job in one line of plain text without a newline, cut to
 * size - 1 bytes. Returns buf.
 */
const char *np_placement_text(const struct np_placement *placement,
			      const struct np_job *job,
			      const struct np_outcome *outcome, char *buf,
			      size_t size);

/*
 * Call fn for each leaf among the i-th job's candidates that a conflict closes
 * to it, ascending, with the worst cause there; cause.leaf is set.
 */
typedef void np_placement_cause_fn(void *arg, const struct np_cause *cause);
void np_placement_causes(const struct np_placement *placement, size_t i,
			 np_placement_cause_fn *fn, void *arg);

/* Worst predicted slowdown of the jobs running on a leaf, as a fraction. */
double np_placement_worst_slowdown(const struct np_placement *placement,
				   size_t leaf);

#endif
