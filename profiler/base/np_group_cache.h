/*
 * Cache of the group membership of users, for the groups named in Claim=. The
 * user database may be slow, so slurmctld's plugin asks it ahead of time, in a
 * thread, for the users whose jobs it has seen.
 */
#ifndef NP_GROUP_CACHE_H
#define NP_GROUP_CACHE_H

#include "np_app.h"
#include "np_clock.h"

/* users; the one without a job for longest is dropped */
#define NP_GROUP_CACHE_MAX 16384
#define NP_GROUP_CACHE_FRESH_SEC 300  /* lifetime of an answer, seconds */
#define NP_GROUP_CACHE_RETRY_SEC 30	  /* seconds until a failed query is repeated */
/* seconds per pass for users never asked about */
#define NP_GROUP_CACHE_FIRST_SEC 5.0

struct np_group_cache_entry {
	struct np_claim_user user;
	double due;	 /* when to ask again, on the clock */
	double wanted;	 /* when a job of the user was last seen */
	bool known;	 /* user.groups is valid */
};

/* Empty when zeroed. */
struct np_group_cache {
	struct np_group_cache_entry *at; /* sorted by uid */
	size_t n;
};

void np_group_cache_free(struct np_group_cache *m);

/* A job of this user exists. Without memory the user stays unknown. */
void np_group_cache_add(struct np_group_cache *m, uint32_t uid, double now);

/* np_groups_of(), or a function of a test. */
typedef int np_groups_f(uint32_t uid, uint32_t **gid, size_t *n);

/*
 * Ask the database about the users that have jobs: first about those of whom
 * nothing is known, then about those whose answer is old, the latter until
 * `until`. If the database does not answer, its last answer is kept. Returns
 * true if anything is known now that was not known before.
 */
bool np_group_cache_refresh(struct np_group_cache *m, const struct np_claim_rule *rule,
		     size_t n, np_groups_f *groups_of,
		     const struct np_clock *clock, double until);

/* The known users, sorted by uid, malloc'ed; NULL: out of memory. */
struct np_claim_user *np_group_cache_list(const struct np_group_cache *m, size_t *n);

#endif
