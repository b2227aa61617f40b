/*
 * The placement decision: which leaves a pending job may use, so that jobs
 * that would hurt each other do not meet on one leaf switch.
 *
 * A pure function of a snapshot (np_snapshot.h), a table of predictions
 * (np_conflict.h, which defines "conflict") and a policy.  The same input
 * gives the same answer, and an answer that was applied is given again.
 * doc/developer/placement.md tells why this is sound with Slurm's scheduler.
 *
 * What holds for the answer, for jobs in partitions whose mode is enforce:
 * - no leaf is open to two pending jobs that conflict there, nor to a pending
 *   job that must avoid one running there; except to jobs that are left alone
 *   (np_why says why) or were held back for max_defer_sec and let go;
 * - the open leaves hold at least as many usable candidate nodes as the job
 *   needs, within as many switches as it accepts;
 * - a job that conflicts with nobody may use every leaf;
 * - a job is held back (np_outcome.held_sec) for at most max_defer_sec, and
 *   the time since the last decision.
 * In mode prefer a job is confined only where, whatever the jobs before it
 * take, enough nodes are free for it to start now, and never deferred.  In
 * mode advise the outcome is that of enforce with the whole cluster's advise
 * partitions enforced, and is not to be applied.
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
 * Which submissions have become jobs.  Until then they stand in the decision
 * that admitted them, and from then on in the snapshot, but never in both.
 */

struct np_arrivals {
	int64_t since_sec; /* what was submitted before has arrived, or never
			      will */
	struct np_arrival *of; /* by ascending owner, each once */
	size_t n;
};

struct np_arrival {
	uint32_t owner; /* uid */
	uint32_t n;	/* of his jobs, new in a snapshot */
};

/* Of jobs in any order, as many of one owner as there are entries of his. */
void np_arrivals_init(struct np_arrivals *a, int64_t since_sec,
		      struct np_arrival *of, size_t n);

/* Count one off; false: no more of his has arrived. */
bool np_arrivals_take(struct np_arrivals *a, uint32_t owner);

struct np_policy {
	double max_slowdown;	    /* fraction, at least 0 */
	double max_defer_sec;	    /* a job is held back no longer; >= 1 */
	double defer_step_sec;	    /* of one deferral: several intervals
				       between decisions, so that it ends only
				       when nobody decides any more */
	unsigned modes; /* partitions' modes in use, 1 << enum np_mode each,
			   for np_placement_one(); those of the snapshot's
			   jobs are added */
	int32_t unknown_as;	    /* running unknown jobs count as this
				       profile; NP_PROFILE_UNKNOWN: no load */
};

/* 10 %, 1 hour, 1 minute, every mode, no load. */
void np_policy_init(struct np_policy *p);

enum np_action {
	NP_ACT_NONE,	 /* left alone: not ours to decide; what was written
			    before has to go */
	NP_ACT_ANYWHERE, /* no leaf is closed */
	NP_ACT_CONFINE,	 /* only the leaves in .leaves, and nodes without */
	NP_ACT_DEFER,	 /* not before .until_sec */
};

enum np_why {
	/* NP_ACT_NONE */
	NP_WHY_RUNNING,	  /* it runs already */
	NP_WHY_OFF,	  /* mode off in its partition */
	NP_WHY_UNKNOWN,	  /* unknown application, or a profile of somebody
			     else that is not trusted */
	NP_WHY_NODELIST,  /* the user chose the nodes */
	NP_WHY_RESERVATION,   /* it runs on a reservation's nodes */
	NP_WHY_HETEROGENEOUS, /* its components have to start together */
	NP_WHY_CONSTRAINT,    /* which nodes would do is not known */
	NP_WHY_CHANGING,  /* its owner changes jobs faster than they are
			     written */
	NP_WHY_NOT_YET,	  /* its own begin time is far away */
	NP_WHY_NO_LEAF,	  /* no candidate node is on a leaf */
	NP_WHY_TOO_FEW_NODES, /* fewer usable candidate nodes than it needs,
				 whatever we do */
	NP_WHY_TOO_MANY,  /* more classes than NP_PLACEMENT_MAX_CLASSES, or
			     more submissions of its owner than their share
			     of NP_PLACEMENT_MAX_ADMITTED since the last
			     decision; also with DEFER */
	/* NP_ACT_ANYWHERE */
	NP_WHY_HARMLESS,      /* conflicts with nobody pending or running */
	NP_WHY_NOT_PREDICTED, /* the same, but not all was predicted yet */
	NP_WHY_FITS,	/* conflicts with some, with nobody where it may go */
	NP_WHY_HELD_LONG_ENOUGH, /* max_defer_sec, or the patience */
	NP_WHY_NO_ROOM_APART, /* prefer: it could not start now apart */
	NP_WHY_TASKS_TOGETHER, /* prefer: array whose tasks conflict */
	/* NP_ACT_CONFINE, NP_ACT_DEFER: kept away from .other */
	NP_WHY_FROM_RUNNING,
	NP_WHY_FROM_PENDING,
	/* NP_ACT_DEFER */
	NP_WHY_TASKS, /* array whose tasks conflict: the rest of it waits */
};

/* A job whose own begin time is further away is not looked at. */
#define NP_PLACEMENT_HORIZON_SEC 60
/* A job confined in mode prefer that has not started by then is let go. */
#define NP_PLACEMENT_PATIENCE_SEC 30
#define NP_PLACEMENT_MAX_CLASSES 1024
/* Array tasks that get leaves of their own in one decision. */
#define NP_PLACEMENT_MAX_TASKS 32
/* Submissions remembered between two decisions, shared by their owners. */
#define NP_PLACEMENT_MAX_ADMITTED 4096

struct np_cause {
	enum np_why why;
	/*
	 * Set for FROM_RUNNING and FROM_PENDING, and for DEFER where known:
	 * the worst leaf, the job there, whose slowdown would be too much
	 * (of this job, of the other, or of a third one) and how much.
	 */
	uint32_t leaf;	 /* NP_NO_LEAF: not set */
	uint32_t other;	 /* job id */
	uint32_t victim; /* job id; the job's own: 0 before it has one */
	bool victim_self;
	double slowdown; /* predicted, fraction */
};

struct np_outcome {
	enum np_action action;
	bool applied; /* false: advice, or nothing to do */
	bool changed; /* differs from what was written before */
	/*
	 * No moment of writing is to be less safe than before: what narrows
	 * (closes a leaf that was open, or defers) is written first.  What
	 * moves also opens leaves, which others may still have, or is an array
	 * that is split: it is deferred first, and written when all that
	 * narrows is.  A record is written after the tasks split off it.
	 */
	bool narrows, moves;
	const uint64_t *leaves; /* CONFINE: bitmap, owned by the placement */
	int64_t until_sec;	/* DEFER */
	double held_sec; /* to be passed in with the next snapshot */
	/* Array: so many tasks, the first ones, are to be split off with leaves
	   of their own, NULL: anywhere; the outcome is for the rest. */
	uint32_t tasks;
	const uint64_t **task_leaves;
	struct np_cause cause;
};

struct np_placement;

/*
 * Decide for all pending jobs of a sealed snapshot.  Snapshot and table are
 * shared.  *out: free with np_placement_free().  Returns 0, -EINVAL with err
 * (policy, unsealed snapshot, a profile the table does not have) or -ENOMEM.
 */
int np_placement_decide(struct np_snapshot *s, struct np_press *t,
			const struct np_policy *policy,
			struct np_placement **out, struct np_err *err);
void np_placement_free(struct np_placement *p); /* NULL is allowed */

/* The outcome for the i-th job of the snapshot; running jobs have one too. */
const struct np_outcome *np_placement_at(const struct np_placement *p,
					 size_t i);

/*
 * Decide for one job that is being submitted, against the last decision and
 * what was admitted since, and remember the answer: two calls never open one
 * leaf to jobs that conflict there.  job->id may be 0; job->candidates is a
 * set of the snapshot; minus: nodes to take out of it (the user's own
 * exclusions) as a bitmap, or NULL.  Neither
 * cost nor memory depend on the number of jobs: it looks at leaves and at
 * classes of jobs.  Of NP_PLACEMENT_MAX_ADMITTED calls an owner gets a share
 * (np_shares.h), and beyond it an answer without looking (a short deferral in
 * mode enforce, left alone in mode prefer).  Calls for one placement must not
 * overlap.  v->leaves is owned by the placement.
 * Returns 0, -EINVAL with err (the job) or -ENOMEM, and then v says
 * NP_ACT_NONE.
 */
int np_placement_one(struct np_placement *p, const struct np_job *job,
		     const uint64_t *minus, int64_t now_sec,
		     struct np_outcome *v, struct np_err *err);

/*
 * Before a new decision replaces an old one: remember in it what the old one
 * admitted and the new one's snapshot does not show yet.  Of a user's, the
 * oldest are those that arrived.
 */
void np_placement_carry(struct np_placement *to,
			const struct np_placement *from,
			struct np_arrivals *arrivals);

/*
 * The i-th job, whose outcome narrows, could not be written.  From here on it
 * counts as one that may be on any leaf, for np_placement_may_open() and for
 * submissions.  Returns 0 or -ENOMEM.
 */
int np_placement_unwritten(struct np_placement *p, size_t i);

/* Does the outcome of the i-th job keep it away from those jobs? */
bool np_placement_may_open(const struct np_placement *p, size_t i);

/*
 * One line for people, without a newline; cut at size - 1.  Returns buf.  job:
 * what the outcome is about.
 */
const char *np_placement_text(const struct np_placement *p,
			      const struct np_job *job,
			      const struct np_outcome *v, char *buf,
			      size_t size);

/*
 * Every leaf among the i-th job's candidates that is closed to it by a
 * conflict, with the worst cause there, ascending; cause.leaf is set.
 */
typedef void np_placement_cause_fn(void *arg, const struct np_cause *cause);
void np_placement_causes(const struct np_placement *p, size_t i,
			 np_placement_cause_fn *fn, void *arg);

/* Predicted load of what runs on a leaf: the worst slowdown there. */
double np_placement_strain(const struct np_placement *p, size_t leaf);

#endif
