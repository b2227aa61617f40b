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

/*
 * What profiles do to each other, as the decision reads it: np_conflict.h makes
 * it.  Immutable; shared by counting references.  A load is log(1 + slowdown) in units of 1/10000,
 * whole numbers, so that sums do not depend on the order of the summands.
 */

#define NP_PRESS_UNIT 10000.0
#define NP_PRESS_MAX UINT16_MAX /* a slowdown of 700 or more */

/* What a job does that decides where it touches others. */
#define NP_TOUCH_NODE 1u
#define NP_TOUCH_UPLINK 2u
#define NP_N_TOUCH 4

struct np_press_profile {
	uint32_t owner;
	bool trusted;
	bool complete;  /* every pair with it has been asked */
	bool aggressor; /* presses on somebody */
	bool inert; /* neither presses on anybody nor feels anybody */
};

struct np_press {
	int refs;
	size_t n; /* profiles */
	double negligible;
	struct np_press_profile *profile;
	/*
	 * [(a * n + b) * NP_N_TOUCH + touch]: load of a beside b, and load of
	 * b beside a.  Both, so that a row holds all that concerns a.
	 */
	uint16_t *feels, *pushes;
	uint16_t *most; /* largest load of a beside anybody, any touch */
};

static inline const uint16_t *np_press_feels(const struct np_press *t,
					     uint32_t victim)
{
	return t->feels + (size_t)victim * t->n * NP_N_TOUCH;
}

static inline const uint16_t *np_press_pushes(const struct np_press *t,
					      uint32_t co)
{
	return t->pushes + (size_t)co * t->n * NP_N_TOUCH;
}

/* One of such a row. */
static inline uint16_t np_press_at(const uint16_t *row, uint32_t profile,
				   uint32_t touch)
{
	return row[profile * NP_N_TOUCH + touch];
}

/* Load of one job beside another, by profile and touch. */
static inline uint32_t np_press_pair(const struct np_press *t, uint32_t victim,
				     uint32_t victim_touch, uint32_t co,
				     uint32_t co_touch)
{
	return np_press_at(np_press_feels(t, victim), co,
			   victim_touch & co_touch);
}

/* Loads stay far from the end of their type whatever is added. */
static inline uint32_t np_press_clamp(uint64_t load)
{
	return load < 1u << 24 ? (uint32_t)load : 1u << 24;
}

/*
 * For n profiles, without names and with nobody slowed by anybody; one
 * reference.  NULL: out of memory.
 */
struct np_press *np_press_new(size_t n);
struct np_press *np_press_ref(struct np_press *t);
void np_press_unref(struct np_press *t); /* NULL is allowed */

/*
 * Predicted slowdown of a victim beside one co-runner, as the decision counts
 * it: the worst of the contacts that both share_nodes and both_span allow.
 */
double np_press_slowdown(const struct np_press *t, uint32_t victim,
			 uint32_t co, bool both_share_nodes, bool both_span);

/* A slowdown as a load: rounded to nearest, gains to 0. */
uint16_t np_press_load(double slowdown);
double np_press_fraction(uint32_t load); /* and back */

/* The largest load whose slowdown does not exceed the limit. */
uint32_t np_press_limit(double max_slowdown);

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
