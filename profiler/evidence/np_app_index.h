/*
 * Handles of applications by name and user, and who may claim a published
 * name; made by np_catalog.h.
 */
#ifndef NP_APP_INDEX_H
#define NP_APP_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_app.h"
#include "np_claim.h"

#define NP_APP_WHY 128

struct np_app_entry {
	char app[NP_APP_MAX + 1];
	bool published;
	uint32_t uid; /* of a user's own; 0 for published ones */
	int32_t profile;
	bool backed; /* of a user's own: its runs agree with the published
			profile of that name */
	char refuted[NP_APP_WHY]; /* of a user's own: why they contradict it;
				     "": they do not */
};

/* All that is known of who may claim what. */
struct np_app_claims {
	const struct np_claim_rule *rule;
	size_t n_rules;
	const struct np_claim_user *user; /* by ascending uid */
	size_t n_users;
};

/*
 * Immutable, shared by counting references, read by any thread.  entry[] and
 * claims (NULL: no rules) are copied.  unknown: what applications without a
 * profile count as.
 */
struct np_app_index;
int np_app_index_new(const struct np_app_entry *entry, size_t n,
		     int32_t unknown, const struct np_app_claims *claims,
		     struct np_app_index **out);
struct np_app_index *np_app_index_ref(struct np_app_index *x);
void np_app_index_unref(struct np_app_index *x); /* NULL is allowed */

/*
 * The published profile of that name, whoever may claim it, or else the user's
 * own; NP_PROFILE_UNKNOWN: there is none.  No allocation, O(log n).
 */
int32_t np_app_index_find(const struct np_app_index *x, const char *app,
			  uint32_t uid);
int32_t np_app_index_unknown(const struct np_app_index *x);
size_t np_app_index_n(const struct np_app_index *x);

enum np_claim {
	NP_CLAIM_HOLDS,    /* or it is no published name */
	NP_CLAIM_BARRED,   /* Claim= names others */
	NP_CLAIM_REFUTED,  /* his own runs contradict it */
	NP_CLAIM_UNCLEAR,  /* his account or groups are not known yet */
	NP_CLAIM_UNPROVED, /* nothing but his word speaks for it: it counts for
			      his own jobs only (NP_JOB_UNPROVED) */
};

/* Is the job one of that application for anybody? */
static inline bool np_claim_counts(enum np_claim claim)
{
	return claim == NP_CLAIM_HOLDS || claim == NP_CLAIM_UNPROVED;
}

/*
 * The same for a job of somebody, NP_PROFILE_UNKNOWN where the claim does not
 * count.  No look-up, no allocation.
 */
int32_t np_app_index_of_job(const struct np_app_index *x, const char *app,
			    const struct np_claimant *who,
			    enum np_claim *claim);

/*
 * Why a claim does not hold, in words; of one that own runs contradict, what
 * they say.  Until the last np_app_index_unref().
 */
const char *np_app_index_why(const struct np_app_index *x, const char *app,
			     uint32_t uid, enum np_claim claim);

#endif
