/*
 * The cluster at one moment: Slurm's nodes and jobs as a sealed snapshot for
 * the decision, and beside it what is needed to write and to tell it.
 */
#ifndef NP_VIEW_H
#define NP_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "np_catalog.h"
#include "np_note.h"
#include "np_shared.h"
#include "np_site.h"
#include "np_snapshot.h"

/*
 * What the thread remembers of jobs from one decision to the next, beyond what
 * stands in them.
 */

struct np_cached_job {
	uint32_t id;
	double held_sec;   /* exactly, where the note is rounded */
	uint64_t said;	   /* digest of what was logged last */
	unsigned n_said;   /* lines about it in that hour */
	int64_t said_hour;
	char *comment;	   /* AdminComment with the last note; NULL: none.
			      Somebody may set another comment over it. */
	unsigned failures; /* updates that Slurm refused, in a row */
	bool seen;	   /* in the last view */
	bool his;	   /* all of its list is the user's, who set it while
			      left alone; see below */
};

struct np_job_cache;

int np_job_cache_new(struct np_job_cache **out);
void np_job_cache_free(struct np_job_cache *m); /* NULL is allowed */

/* The cached of a job; NULL: out of memory. Valid until the next call. */
struct np_cached_job *np_job_cache_at(struct np_job_cache *m, uint32_t id);

/* The same if there is one. */
struct np_cached_job *np_job_cache_find(struct np_job_cache *m, uint32_t id);

/*
 * Users who change their jobs between the thread's look and its update.  One
 * whose changes came first in so many decisions in a row is left alone for
 * some time, so that the others' jobs get what was decided.
 */
#define NP_OVERTAKEN_ROUNDS 5
#define NP_OVERTAKEN_REST_SEC 60

/* A change of this user's job came first, in the decision being written. */
void np_job_cache_overtaken(struct np_job_cache *m, uint32_t uid);

/*
 * That decision is written.  on_rest (may be NULL) hears of each user who is
 * left alone from now on.
 */
void np_job_cache_end_round(struct np_job_cache *m, int64_t now_sec,
			    void (*on_rest)(uint32_t uid));

/* Is the user left alone now? */
bool np_job_cache_rests(const struct np_job_cache *m, uint32_t uid,
			int64_t now_sec);

/* Forget the jobs that were not asked for since the last sweep. */
void np_job_cache_sweep(struct np_job_cache *m);

/* One job, in the order of the snapshot's jobs. */
struct np_seen {
	/* As the decision sees it; its profile is unknown where the claim does
	   not hold, and it started at 0 if it waits or is being requeued. */
	const struct np_job *in;
	uint32_t id, array, task; /* array 0: none; task: NP_SEEN_NO_TASK for
				     an array record of several */
	char app[NP_APP_MAX + 1]; /* "": not told */
	enum np_claim claim;
	int partition; /* of the site; -1: not known */
	uint32_t n_nodes;
	struct np_note note; /* of a pending job with what is the user's now */
	uint32_t *tasks; /* array record: the first tasks of it, at most
			    NP_PLACEMENT_MAX_TASKS */
	uint32_t n_tasks;

	/* Pending jobs that placement may write to, or has. */
	bool ours;
	char *comment;	     /* AdminComment as it stands; NULL: none */
	const uint64_t *user;	 /* bitmaps of nodes; equal ones are one */
	const uint64_t *written; /* what we excluded */
	const uint64_t *now;	 /* what stands there */
	uint64_t *bits;		 /* that hold them */
	int64_t begin_sec;   /* begin time that stands there; 0: none */
	bool stands;	     /* what the note says is what stands there */
};
#define NP_SEEN_NO_TASK UINT32_MAX

struct np_view {
	struct np_site *site;
	struct np_snapshot *snapshot;
	int64_t now_sec;
	uint32_t *set; /* of each partition, see np_shared.h */
	enum np_node_state *node; /* of each node */
	uint64_t *none; /* a bitmap without any */
	struct np_seen *job;
	size_t n_jobs;
};

/* Answers of Slurm that a view is made from. */
struct np_answers {
	node_info_msg_t *nodes;
	partition_info_msg_t *parts;
	job_info_msg_t *jobs;
	char *topology;
};

/* Some RPCs: for the thread only.  Returns 0 or -EIO with err. */
int np_answers_load(struct np_answers *a, struct np_err *err);
void np_answers_free(struct np_answers *a);

/*
 * Submissions since since_sec that are jobs now and were not in the answer
 * before, by what job_submit wrote into them: what it deferred was not
 * admitted.  *last_id: the highest id of the answer before, 0 at first; it
 * becomes this one's.  Free out->of.  Returns 0 or -ENOMEM.
 */
int np_answers_arrivals(const struct np_answers *a, int64_t since_sec,
			uint32_t *last_id, struct np_arrivals *out);

/*
 * index: NULL: no application is known.  change[]: what was changed since the
 * last view.  Returns 0 or -errno with err.
 */
int np_view_make(const struct np_answers *a, struct np_site *site,
		 const struct np_app_index *index,
		 const struct np_place_conf *conf, struct np_job_cache *cache,
		 const struct np_change *change, size_t n_changes,
		 int64_t now_sec, int64_t last_sec, struct np_view *out,
		 struct np_err *err);
void np_view_free(struct np_view *v);

/*
 * The application of a job: what its note says, or a rule of netprof.conf.
 * Returns whether there is one.
 */
bool np_view_app(const struct np_place_conf *conf, const slurm_job_info_t *j,
		 char app[NP_APP_MAX + 1]);

#endif
