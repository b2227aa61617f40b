/*
 * Which jobs would hurt each other.
 *
 * A profile is what is known of an application: who measured it, and whether
 * an administrator trusts it (published it).  What two profiles do to each
 * other is asked from the caller's model, pair by pair, and remembered; the
 * decision then reads an immutable table of the answers.
 *
 * Several co-runners.  The slowdown of a victim v beside x1 .. xn is taken as
 *
 *     1 + d(v | x1 .. xn) = product over i of (1 + d(v | xi))
 *
 * so that loads add in log(1 + d), in any order, at a cost that does not grow
 * with the number of sets.  On simulated switches with three programs it errs
 * by 8.2 points on average where the best model that sees all co-runners at
 * once errs by 6.9 (doc/validation/methods.md); a decision over hundreds of leaves could
 * not ask that model in time.  A predicted gain counts as 0, so that a leaf
 * never becomes better by another job; a slowdown at or below the policy's
 * "negligible" counts as 0 as well, so that noise does not move jobs.
 *
 * Where they meet.  Two jobs on one leaf touch at the leaf's switch, on common
 * nodes if both share nodes, and at its uplink if both span leaves; the worst
 * of the contacts that apply counts.  Jobs without a common leaf do not touch.
 *
 * Who sees whom.  Job a sees job b if b's profile is trusted, and not only its
 * owner says that b is of it (NP_JOB_UNPROVED), or if both have the same owner: a
 * user's own profile limits that user's jobs, and only a trusted profile pushes
 * the jobs of others away.
 *
 * Conflict.  A pending job a must avoid a leaf if, with everything running
 * there that a sees, the predicted slowdown of a, or with a of one of those,
 * would exceed the limit.  It must avoid another pending job b that it sees if,
 * with everything running there that both see, the predicted slowdown of a, of
 * b or of a third one running there would exceed it, and both a and b have a
 * part in that.  Two pending jobs conflict on a leaf if either must avoid the
 * other.  If both must, the one that comes later yields; if one must, as the
 * other does not see it, it yields whatever the order.
 */
#ifndef NP_CONFLICT_H
#define NP_CONFLICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_press.h"

#define NP_CONFLICT_MAX_PROFILES 1024

/* Where an interferer touches a victim; same order as np_fabric.h's scopes. */
enum np_contact {
	NP_CONTACT_NODE,
	NP_CONTACT_LEAF,
	NP_CONTACT_UPLINK,
	NP_N_CONTACTS
};

/*
 * The caller's model.  slowdown(): of the victim beside one co-runner, both
 * profile handles, as a fraction (0.1: 10 % longer); with the coupling of that
 * contact applied.  Returns 0, or -errno where the model has no answer: that
 * pair then counts as harmless until it is forgotten and asked again.
 */
struct np_oracle {
	int (*slowdown)(void *arg, uint32_t victim, uint32_t co,
			enum np_contact contact, double *slowdown);
	void *arg;
};

/* Profiles and the answers so far.  Used by one thread. */
struct np_conflict;

/* *out: free with np_conflict_free().  Returns 0 or -ENOMEM. */
int np_conflict_new(const struct np_oracle *oracle, struct np_conflict **out,
		    struct np_err *err);
void np_conflict_free(struct np_conflict *c); /* NULL is allowed */

/*
 * Add a profile; handles count up from 0.  owner: whose records it was made
 * from.  Returns 0, -E2BIG (NP_CONFLICT_MAX_PROFILES) or -ENOMEM.
 */
int np_conflict_add(struct np_conflict *c, uint32_t owner, bool trusted,
		    uint32_t *profile, struct np_err *err);

/*
 * From now on the handle stands for another profile: what was answered about
 * the former is forgotten.  Handles are few and never go away, applications
 * come and go.  Returns 0 or -EINVAL (no such handle).
 */
int np_conflict_replace(struct np_conflict *c, uint32_t profile,
			uint32_t owner, bool trusted, struct np_err *err);

/* A profile changed: what was answered about it will be asked again. */
void np_conflict_forget(struct np_conflict *c, uint32_t profile);

/*
 * Ask what is missing among profile[] (NULL: all), at most max_asks times, in
 * a fixed order.  Returns how many answers are still missing.
 */
size_t np_conflict_ask(struct np_conflict *c, const uint32_t *profile,
		       size_t n, size_t max_asks);

/*
 * The answers as a table.  A pair not asked yet counts as
 * harmless (np_press_profile.complete).  The same table is handed out until
 * something changes.  *out: release with np_press_unref().  Returns 0,
 * -EINVAL (negligible not in [0, 1]) or -ENOMEM.
 */
int np_conflict_table(struct np_conflict *c, double negligible,
		      struct np_press **out, struct np_err *err);

#endif
