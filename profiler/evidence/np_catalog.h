/*
 * The applications of the store as the placement decision knows them: a handle
 * for each profile, and what each does to each other on the cluster's
 * calibrated fabric.  Reads the store; for one thread, which may wait.
 *
 * A job's application is looked up as the published profile of that name, or
 * else as the job owner's own: a published name cannot be dodged by a profile
 * of one's own.  Who may claim a published name is in the index, too: by Claim=
 * (np_claim.h), or else by the own runs (np_catalog.h).
 */
#ifndef NP_CATALOG_H
#define NP_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_app.h"
#include "np_claim.h"
#include "np_clock.h"
#include "np_conflict.h"
#include "np_evidence.h"
#include "np_fabric.h"
#include "np_place_conf.h"
#include "np_store.h"

/*
 * Handles of applications by name and user, and who may claim a published
 * name; made by np_catalog.h.
 */

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

/*
 * Do a user's own runs back the published profile of the name they go by?
 *
 * What both know is compared: the mean latency beside it, what each level does
 * to it, and what it does to each level.  One run of the published profile
 * scatters so much; NP_BACKING_SDS times that is its spread, and no less than
 * the shares below, by which programs differ from day to day and from leaf to
 * leaf.  Twice the error of the user's own mean is added.
 */

#define NP_BACKING_SDS 3.0
#define NP_BACKING_LATENCY 0.25 /* of the published mean */
#define NP_BACKING_SLOWDOWN 0.1 /* of 1 + slowdown */

enum np_backing {
	NP_BACKING_NOTHING, /* nothing is known of both */
	NP_BACKING_AGREES,
	NP_BACKING_REFUTED,
};

/*
 * Both of the calibration whose fabric that is.  why: in words, where they are
 * contradicted.
 */
enum np_backing np_backing_judge(const struct np_evidence *own,
				 const struct np_evidence *published,
				 const struct np_fabric *f, char *why,
				 size_t len);

/* Of one user: what is wanted, then the newest. */
#define NP_CATALOG_MAX_OF_USER 128
/*
 * Lines about the files of one user, or about published ones, within an hour;
 * and of all at one refresh.  Hostile users do not fill the log.
 */
#define NP_CATALOG_MAX_LINES 20
#define NP_CATALOG_MAX_WARNINGS 100
/*
 * What is read of one user's profiles: so many bytes a second, and what was
 * not used of that for so long; each reading of an application counts as
 * NP_CATALOG_LEAST_BYTES or more.  Published ones have no such limit.
 */
#define NP_CATALOG_BYTES_PER_SEC (2u << 20)
#define NP_CATALOG_LEAST_BYTES (1u << 20)
#define NP_CATALOG_SAVED_SEC 128.0

struct np_catalog;

/*
 * Nothing is read yet.  cluster: its name.  conf and store_dir are copied.
 * *out: free with np_catalog_free().  Returns 0 or -ENOMEM.
 */
int np_catalog_new(const char *store_dir, const char *cluster,
		   const struct np_place_conf *conf, struct np_catalog **out,
		   struct np_err *err);
void np_catalog_free(struct np_catalog *c); /* NULL is allowed */

/* Another clock than the real one, for tests; borrowed. */
void np_catalog_set_clock(struct np_catalog *c, const struct np_clock *clock);

/*
 * Jobs of this user and application are there, or were until ten minutes after:
 * read their profile before others.  Cheap; may be called for every job at
 * every refresh.  Returns whether that is news, so that another refresh may
 * find what the last one did not look for.
 */
bool np_catalog_want(struct np_catalog *c, const char *app, uint32_t uid);

/*
 * Look what changed in the store, read it, and ask the models what is not known
 * yet; stops soon after budget_sec, between applications and questions, and
 * goes on with the next call.  Users are served in turn, each within the limit
 * above; what is beyond it stays as it was read before, and is read later.
 * Users for whom nothing is wanted, published/ and
 * the calibration are looked at every five seconds.  Profiles that are gone, or
 * that can no longer be read, count as unknown from then on.  Of more profiles
 * than NP_CONFLICT_MAX_PROFILES the published ones are known, then those
 * wanted, then the newest; a handle may then come to stand for another one,
 * for which *changed is true.
 * *changed: a table or index taken before is out of date; the two belong
 * together.  *more: there is still something to do.  Both are always set.
 * warn (may be NULL) is called for each file that is skipped, once as long as
 * it does not change; beyond NP_CATALOG_MAX_LINES a line says how many more
 * there were.
 * Returns 0; or with err -errno where the store or the calibration cannot be
 * used: then nothing conflicts, as the index is empty, until a later call
 * finds it again.
 */
int np_catalog_refresh(struct np_catalog *c, double budget_sec,
		       np_store_warn_f *warn, void *arg, bool *changed,
		       bool *more, struct np_err *err);

/*
 * What the decision needs; np_press_unref().  What was not asked yet, has no
 * answer or a doubtful one (np_predict.h), or is at most 1 % (and MaxSlowdown)
 * counts as harmless, and so does where the coupling says that it makes no
 * difference, or was not measured. Returns 0 or -ENOMEM.
 */
int np_catalog_table(struct np_catalog *c, struct np_press **out,
		     struct np_err *err);

/*
 * Handles by name, as they were when it was taken; np_app_index_unref().
 * Returns 0 or -ENOMEM.
 */
int np_catalog_index(struct np_catalog *c, struct np_app_index **out);

/*
 * One line on the calibration in use: its date, or why there is none.  Until
 * the next refresh.
 */
const char *np_catalog_fabric(const struct np_catalog *c);

#endif
