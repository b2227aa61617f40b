/*
 * Which jobs would slow each other down too much.
 *
 * A profile stands for an application: whose records it was made from, and
 * whether it is trusted, because an administrator published it or its owner is
 * one of TrustedUsers. The caller's model predicts how much two profiles slow
 * each other. Its answers are cached here, pair by pair, and the placement
 * decision reads an immutable table of them.
 *
 * Several co-runners. The slowdown d of a victim v concurrent with x1 .. xn is
 * taken as
 *
 *     1 + d(v | x1 .. xn) = product over i of (1 + d(v | xi))
 *
 * In terms of log(1 + d), slowdowns then add up in any order, and the cost does
 * not grow with the number of combinations. On simulated switches with three
 * programs the mean error is 8.2 percentage points; the best model that sees
 * all co-runners at once errs by 6.9 (doc/validation/methods.md), but is too
 * slow for a decision over hundreds of leaf switches. A predicted speedup
 * counts as 0, so that no leaf becomes more attractive through a job that runs
 * there. A slowdown at or below the policy's "negligible" also counts as 0, so
 * that noise does not move jobs.
 *
 * Contact. Two jobs on the same leaf share its switch; they share nodes as well
 * if both accept shared nodes, and its uplink if both span several leaves. The
 * contact with the largest slowdown counts. Jobs without a common leaf do not
 * affect each other. Where nodes have several rails, jobs have a leaf in common
 * if there is a switch to which both are connected on a rail that both load.
 *
 * Visibility. Job a takes job b into account if b's profile is trusted and b's
 * use of its name is authorised (not NP_JOB_UNPROVED), or if both have the same
 * owner. So a user's own profile restricts only that user's jobs, and only a
 * trusted profile restricts other users' jobs.
 *
 * Conflict. A pending job a must avoid a leaf if a, or one of the jobs running
 * there that are visible to a, would be slowed beyond the limit once a runs
 * there too. It must avoid another pending job b that is visible to it if,
 * together with the running jobs that are visible to both, the slowdown of a,
 * of b or of one of those jobs would exceed the limit, and both a and b
 * contribute to it. Two pending jobs conflict on a leaf if either must avoid
 * the other. If both must, the one with lower precedence yields. If only one
 * must, because the other does not see it, that one yields, whatever the order.
 */
#ifndef NP_CONFLICT_H
#define NP_CONFLICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

/*
 * ---- Table of slowdowns ----
 *
 * What the decision knows of the profiles. Immutable once np_conflict_table()
 * returned it, and reference counted. A load is log(1 + slowdown) in units of
 * 1/10000: an integer, so that sums do not depend on their order.
 */

#define NP_SLOWDOWNS_UNIT 10000.0
#define NP_SLOWDOWNS_MAX UINT16_MAX /* about a slowdown of 700, or 70,000 % */

/*
 * What two jobs on one leaf share besides its switch; bits. Of one job: what it
 * shares with others that can share it as well.
 */
#define NP_TOUCH_NODE 1u
#define NP_TOUCH_UPLINK 2u
#define NP_N_TOUCH 4

/* What the table says of one profile. */
struct np_slowdowns_profile {
	uint32_t owner; /* uid */
	bool trusted;	/* published, or of one of TrustedUsers */
	bool complete;	/* the model was asked about every pair with it */
	bool aggressor; /* it slows at least one profile */
	bool inert;	/* it slows no profile and is slowed by none */
	uint8_t rails;	/* that it loads, bits by np_slowdowns.rails; 0: it
			   may load any */
};

#define NP_SLOWDOWNS_MAX_RAILS 8

/* Names of rails; each is a bit of np_slowdowns_profile.rails. */
struct np_slowdowns_rails {
	char name[NP_SLOWDOWNS_MAX_RAILS][64];
	unsigned n;
};

/* The table. */
struct np_slowdowns {
	int refs;
	size_t n;	   /* profiles */
	double negligible; /* slowdown up to which a pair counts as harmless */
	struct np_slowdowns_profile *profile;
	/*
	 * Loads, at [(a * n + b) * NP_N_TOUCH + touch]: that of a with b, and
	 * that of b with a. Both directions are kept, so that one row has all
	 * that concerns a.
	 */
	uint16_t *suffered, *caused;
	uint16_t *most; /* largest load of each profile with any other one */
	struct np_slowdowns_rails rails;
};

/* The row of loads that a victim suffers. */
static inline const uint16_t *
np_slowdowns_suffered(const struct np_slowdowns *table, uint32_t victim)
{
	return table->suffered + (size_t)victim * table->n * NP_N_TOUCH;
}

/* The row of loads that a co-runner causes. */
static inline const uint16_t *
np_slowdowns_caused(const struct np_slowdowns *table, uint32_t co)
{
	return table->caused + (size_t)co * table->n * NP_N_TOUCH;
}

/* One element of such a row. */
static inline uint16_t np_slowdowns_at(const uint16_t *row, uint32_t profile,
				       uint32_t touch)
{
	return row[profile * NP_N_TOUCH + touch];
}

/* Load of a job of one profile concurrent with a job of another. */
static inline uint32_t np_slowdowns_pair(const struct np_slowdowns *table,
					 uint32_t victim, uint32_t victim_touch,
					 uint32_t co, uint32_t co_touch)
{
	return np_slowdowns_at(np_slowdowns_suffered(table, victim), co,
			       victim_touch & co_touch);
}

/* Limit a sum of loads, so that sums of sums cannot overflow. */
static inline uint32_t np_slowdowns_clamp(uint64_t load)
{
	return load < 1u << 24 ? (uint32_t)load : 1u << 24;
}

/*
 * A table of n profiles with one reference. np_conflict.c fills it in; tests
 * make tables of their own. NULL: out of memory.
 */
struct np_slowdowns *np_slowdowns_new(size_t n);
struct np_slowdowns *np_slowdowns_ref(struct np_slowdowns *slowdowns);
void np_slowdowns_unref(struct np_slowdowns *slowdowns); /* NULL is allowed */

/*
 * Predicted slowdown, as a fraction, of a victim concurrent with one co-runner:
 * the largest over the contacts that the two flags allow. 0 for a profile that
 * the table does not have.
 */
double np_slowdowns_between(const struct np_slowdowns *slowdowns,
			    uint32_t victim, uint32_t co, bool both_share_nodes,
			    bool both_span);

/* Conversions. Speedups become load 0; others are rounded to nearest. */
uint16_t np_slowdowns_to_load(double slowdown);
double np_slowdowns_from_load(uint32_t load);

/* The largest load whose slowdown does not exceed max_slowdown. */
uint32_t np_slowdowns_limit(double max_slowdown);

/* ---- Cache of the model's answers ---- */

#define NP_CONFLICT_MAX_PROFILES 1024

/* Where a co-runner affects a victim; in the order of np_fabric.h's scopes. */
enum np_contact {
	NP_CONTACT_NODE,
	NP_CONTACT_LEAF,
	NP_CONTACT_UPLINK,
	NP_N_CONTACTS
};

/*
 * The caller's model. slowdown() predicts the slowdown of the victim with one
 * co-runner as a fraction (0.1: 10 % longer), with the sharing coefficient of
 * the contact applied; both are profile handles. It returns 0, or -errno where
 * the model has no answer: the pair then counts as harmless until
 * np_conflict_forget().
 */
struct np_oracle {
	int (*slowdown)(void *arg, uint32_t victim, uint32_t co,
			enum np_contact contact, double *slowdown);
	void *arg;
};

/* Profiles and the answers so far. To be used by one thread at a time. */
struct np_conflict;

/* oracle is copied. NULL: out of memory. */
struct np_conflict *np_conflict_new(const struct np_oracle *oracle);
void np_conflict_free(struct np_conflict *conflict); /* NULL is allowed */

/*
 * Add a profile; handles count up from 0. owner: uid whose records it was made
 * from. Returns 0, -E2BIG (NP_CONFLICT_MAX_PROFILES) or -ENOMEM.
 */
int np_conflict_add(struct np_conflict *conflict, uint32_t owner, bool trusted,
		    uint32_t *profile, struct np_err *err);

/*
 * Reuse a handle for another profile and forget all answers about the old one.
 * Handles are few and never freed, while applications come and go. Returns 0 or
 * -EINVAL (no such handle).
 */
int np_conflict_replace(struct np_conflict *conflict, uint32_t profile,
			uint32_t owner, bool trusted, struct np_err *err);

/*
 * The rails that a profile loads, "rail0,rail1"; NULL: it may load any, and so
 * do profiles with more than NP_SLOWDOWNS_MAX_RAILS different ones. If all
 * profiles together have more than that, those of trusted profiles come first.
 */
void np_conflict_set_rails(struct np_conflict *conflict, uint32_t profile,
			   const char *rails);

/* Forget the answers about a profile that changed; they are asked again. */
void np_conflict_forget(struct np_conflict *conflict, uint32_t profile);

/*
 * Ask the model for missing answers among profile[] (NULL: all profiles), in a
 * fixed order and at most max_predictions times. Returns how many are still
 * missing.
 */
size_t np_conflict_predict(struct np_conflict *conflict,
			   const uint32_t *profile, size_t n,
			   size_t max_predictions);

/*
 * The answers as a table. Pairs that were not asked yet count as harmless, and
 * the profile's "complete" says so. The same table is returned until something
 * changes. *out: release with np_slowdowns_unref(). Returns 0, -EINVAL
 * (negligible not within 0 to 1) or -ENOMEM.
 */
int np_conflict_table(struct np_conflict *conflict, double negligible,
		      struct np_slowdowns **out, struct np_err *err);

#endif
