/*
 * Who is in the groups that Claim= names: asked ahead, by the thread, for the
 * users whose jobs were seen, as the user database may be slow.
 */
#ifndef NP_MEMBERS_H
#define NP_MEMBERS_H

#include "np_claim.h"
#include "np_clock.h"

#define NP_MEMBERS_MAX 16384	  /* users; who had no job for longest goes */
#define NP_MEMBERS_FRESH_SEC 300  /* what is known holds for so long */
#define NP_MEMBERS_RETRY_SEC 30	  /* where the database did not answer */
#define NP_MEMBERS_FIRST_SEC 5.0  /* in one round, for those never asked */

struct np_member {
	struct np_claim_user user;
	double due, wanted;
	bool known;
};

/* Zeroed, it is empty. */
struct np_members {
	struct np_member *at; /* by uid */
	size_t n;
};

void np_members_free(struct np_members *m);

/* Jobs of this user are there.  Without memory it is not known. */
void np_members_want(struct np_members *m, uint32_t uid, double now);

/* np_groups_of(), or a test's. */
typedef int np_groups_f(uint32_t uid, uint32_t **gid, size_t *n);

/*
 * Ask for those that are wanted: first of whom nothing is known, then of whom
 * it was asked long ago, the latter until that time.  What a database that does
 * not answer said last is kept.  Returns whether anything is known now that was
 * not.
 */
bool np_members_look(struct np_members *m, const struct np_claim_rule *rule,
		     size_t n, np_groups_f *groups_of,
		     const struct np_clock *clock, double until);

/* Those known, by uid, malloc'ed; NULL: out of memory. */
struct np_claim_user *np_members_known(const struct np_members *m, size_t *n);

#endif
