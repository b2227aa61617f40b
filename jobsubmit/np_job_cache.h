/*
 * What the thread remembers of jobs from one decision to the next, beyond what
 * stands in them.
 */
#ifndef NP_JOB_CACHE_H
#define NP_JOB_CACHE_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
