/*
 * The applications of the store, as the placement decision knows them: a handle
 * for each profile, and how much the applications slow each other on the
 * calibrated fabric of the cluster. The catalog reads the store, so it must be
 * used by one thread that may block.
 *
 * The profile of a job is the published one of that name, or if there is none,
 * the job owner's own: so a user cannot evade a published profile by having one
 * of the same name. The index also says who is authorised to use a published
 * name: those whom Claim= names (np_conf.h), or else users whose own runs agree
 * with the profile.
 */
#ifndef NP_CATALOG_H
#define NP_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_clock.h"
#include "np_conf.h"
#include "np_conflict.h"
#include "np_fabric.h"
#include "np_run_summary.h"
#include "np_store.h"

/*
 * ---- the index: handles by name and user, and authorisation ----
 *
 * Authorisation decides whether a job counts as one of a published name.
 */

#define NP_APP_WHY 128

struct np_app_entry {
	char app[NP_APP_MAX + 1];
	bool published;
	uint32_t uid; /* owner; 0 if published */
	int32_t profile;
	bool agrees; /* not published: its runs agree with the published
			profile of that name */
	char refuted[NP_APP_WHY]; /* not published: why its runs contradict that
				     profile; "": they do not */
};

/* Who runs the job. Strings are borrowed. */
struct np_auth_request {
	uint32_t uid;
	const char *account;   /* NULL: not known */
	const char *partition; /* NULL: none */
};

/* Groups of a user: bit i is set for a member of the group of rule i. */
struct np_auth_user {
	uint32_t uid; /* first: np_order_u32() */
	uint64_t groups;
};

enum np_auth_match {
	NP_AUTH_NO_RULE, /* as if no line matched */
	NP_AUTH_ALLOWED,
	NP_AUTH_FORBIDDEN,
	NP_AUTH_UNKNOWN, /* depends on something that is not known */
};

/*
 * Does a rule allow this job to use the name app? user: NULL if the groups are
 * not known. Looks up and allocates nothing.
 */
enum np_auth_match np_auth_check(const struct np_auth_rule *rule, size_t n,
				 const char *app,
				 const struct np_auth_request *who,
				 const struct np_auth_user *user);

/* Return the bits of the rules that name one of these groups. */
uint64_t np_auth_groups(const struct np_auth_rule *rule, size_t n,
			const uint32_t *gid, size_t n_gids);

/* Does any rule name a group? */
bool np_auth_needs_groups(const struct np_auth_rule *rule, size_t n);

/* The rules, and what is known of the users. */
struct np_auth_rules {
	const struct np_auth_rule *rule;
	size_t n_rules;
	const struct np_auth_user *user; /* by ascending uid */
	size_t n_users;
};

/*
 * An index never changes, counts its references, and may be read by any thread.
 * entry[] and auth (NULL: no rules) are copied. unknown: the profile that is
 * used for applications without a profile.
 */
struct np_app_index;
int np_app_index_new(const struct np_app_entry *entry, size_t n,
		     int32_t unknown, const struct np_auth_rules *auth,
		     struct np_app_index **out);
struct np_app_index *np_app_index_ref(struct np_app_index *index);
void np_app_index_unref(struct np_app_index *index); /* NULL is allowed */

/*
 * Find the published profile of that name, whoever is authorised to use it, or
 * else the user's own; NP_PROFILE_UNKNOWN: none. No allocation, O(log n).
 */
int32_t np_app_index_find(const struct np_app_index *index, const char *app,
			  uint32_t uid);
int32_t np_app_index_unknown(const struct np_app_index *index);
size_t
np_app_index_n(const struct np_app_index *index); /* entries; for tests */

enum np_auth {
	NP_AUTH_GRANTED,      /* also if the name is not published */
	NP_AUTH_DENIED,	      /* Claim= names other users */
	NP_AUTH_CONTRADICTED, /* the user's own runs contradict it */
	NP_AUTH_PENDING,      /* account or groups are not known yet */
	NP_AUTH_OWN_JOBS,     /* no own runs support it, so it affects only the
			   * user's own jobs (NP_JOB_UNPROVED) */
};

/* Does the job count as one of that application? */
static inline bool np_auth_counts(enum np_auth auth)
{
	return auth == NP_AUTH_GRANTED || auth == NP_AUTH_OWN_JOBS;
}

/*
 * Find the profile of a user's job; NP_PROFILE_UNKNOWN if there is none, or the
 * job may not use it. Looks up no users, and allocates nothing.
 */
int32_t np_app_index_of_job(const struct np_app_index *index, const char *app,
			    const struct np_auth_request *who,
			    enum np_auth *auth);

/*
 * Return the reason for an authorisation in words: if own runs contradict the
 * profile, what they show. Valid until the last np_app_index_unref().
 */
const char *np_app_index_why(const struct np_app_index *index, const char *app,
			     uint32_t uid, enum np_auth auth);

/*
 * ---- consistency of a user's own runs with the published profile ----
 *
 * This compares what is known of both: the mean latency, how much each level
 * slows the program, and how much the program slows each level. The accepted
 * difference is NP_CONSISTENCY_SDS times the scatter of one published run, or
 * one of the shares below if that is more, as programs vary that much between
 * days and leaf switches; plus twice the error of the user's own mean.
 */

#define NP_CONSISTENCY_SDS 3.0
#define NP_CONSISTENCY_LATENCY 0.25 /* of the published mean latency */
#define NP_CONSISTENCY_SLOWDOWN 0.1 /* of 1 + published slowdown */

enum np_consistency {
	NP_CONSISTENCY_UNKNOWN, /* nothing is known about both */
	NP_CONSISTENCY_AGREES,
	NP_CONSISTENCY_REFUTED,
};

/*
 * Both summaries must be made for the calibration of that fabric. why: the
 * contradiction in words. Exported for tests.
 */
enum np_consistency np_consistency_check(const struct np_run_summary *own,
					 const struct np_run_summary *published,
					 const struct np_fabric *fabric,
					 char *why, size_t len);

/* ---- the catalog ---- */

/* Most applications of one user: those that jobs use, then the newest. */
#define NP_CATALOG_MAX_OF_USER 128
/*
 * Most log lines about the files of one user, or about published files, in an
 * hour; and about all files in a refresh. Hostile users cannot fill the log.
 */
#define NP_CATALOG_MAX_LINES 20
#define NP_CATALOG_MAX_WARNINGS 100
/*
 * Limits for reading the profiles of one user: bytes per second, and for how
 * many seconds unused bandwidth accumulates. Each reading of an application
 * counts as NP_CATALOG_LEAST_BYTES or more. Published profiles have no such
 * limit.
 */
#define NP_CATALOG_BYTES_PER_SEC (2u << 20)
#define NP_CATALOG_LEAST_BYTES (1u << 20)
#define NP_CATALOG_SAVED_SEC 128.0

struct np_catalog;

/*
 * Make a catalog, which has read nothing yet. cluster: its name. The
 * arguments are copied. Free with np_catalog_free(). Returns 0 or -ENOMEM
 * with err.
 */
int np_catalog_new(const char *store_dir, const char *cluster,
		   const struct np_place_conf *conf, struct np_catalog **out,
		   struct np_err *err);
void np_catalog_free(struct np_catalog *catalog); /* NULL is allowed */

/* Use another clock than the real one, for tests; borrowed. */
void np_catalog_set_clock(struct np_catalog *catalog,
			  const struct np_clock *clock);

/*
 * Register that a job of this user and application exists: for the next ten
 * minutes, its profile is read before others. This is cheap, and may be called
 * for every job before every refresh. Returns whether, because of this call,
 * another refresh may find something new.
 */
bool np_catalog_expect_job(struct np_catalog *catalog, const char *app,
			   uint32_t uid);

/*
 * If Claim= names groups, look up the groups of users with jobs, within about
 * budget_sec. This asks the user database, and is apart from
 * np_catalog_refresh(), which accesses nothing but the store.
 */
void np_catalog_refresh_groups(struct np_catalog *catalog, double budget_sec);

/*
 * Look for changes in the store, read them, and ask the models for missing
 * predictions. This stops soon after budget_sec, between two applications or
 * questions, and goes on with the next call. Users take turns, each within the
 * limit above; a profile beyond that limit stays as it is and is read later.
 * The directories of users without jobs, published/ and the calibration are
 * checked every five seconds. Profiles that are gone or cannot be read any
 * more become unknown.
 *
 * If there are more profiles than NP_CONFLICT_MAX_PROFILES, published ones have
 * priority, then those that jobs use, then the newest. A handle may then pass
 * from one profile to another, in which case *changed is true.
 *
 * *changed: earlier tables and indices are out of date; a table and an index
 * belong together. *more: something is left to do. Both are always set. warn
 * (may be NULL) is called once for each skipped file, and again if the file
 * changes; beyond NP_CATALOG_MAX_LINES, one line counts the rest. Returns 0;
 * or -errno with err if the store or the calibration cannot be used. Until a
 * later call succeeds, the index is then empty, so nothing conflicts.
 */
int np_catalog_refresh(struct np_catalog *catalog, double budget_sec,
		       np_store_warn_f *warn, void *arg, bool *changed,
		       bool *more, struct np_err *err);

/*
 * Get the table of slowdowns for the decision; np_slowdowns_unref(). A
 * slowdown counts as harmless if it was not predicted yet, cannot be predicted,
 * is doubtful (np_predict.h), or is at most 1 % (or MaxSlowdown). So do all at
 * a scope whose sharing coefficient is zero or was not measured. Returns 0 or
 * -ENOMEM with err.
 */
int np_catalog_table(struct np_catalog *catalog, struct np_slowdowns **out,
		     struct np_err *err);

/*
 * Include doubtful predictions in tables that are made after the next refresh.
 * This is for simulating how jobs slow each other, not for decisions. That
 * refresh asks the models again, but does not read applications again.
 */
void np_catalog_accept_doubtful(struct np_catalog *catalog);

/*
 * Get the index that belongs to the table; np_app_index_unref(). 0 or -ENOMEM.
 */
int np_catalog_index(struct np_catalog *catalog, struct np_app_index **out);

/*
 * Describe the calibration in use in one line, or say why there is none. Valid
 * until the next refresh.
 */
const char *np_catalog_fabric(const struct np_catalog *catalog);

/*
 * ---- Group cache, for np_catalog.c and unit tests ----
 *
 * Cache of which users are in the groups that Claim= names. As the user
 * database may be slow, the plugin in slurmctld asks it ahead of time, in a
 * thread, about the users whose jobs it has seen.
 */

/* Most users; beyond that, the one who had no job for longest is dropped. */
#define NP_GROUP_CACHE_MAX 16384
#define NP_GROUP_CACHE_FRESH_SEC 300 /* lifetime of an answer, seconds */
#define NP_GROUP_CACHE_RETRY_SEC 30  /* until a failed query is repeated */
/* time in each refresh for users who were never asked about */
#define NP_GROUP_CACHE_FIRST_SEC 5.0

/* Items, sorted by key, with which each begins. Empty when zeroed. */
struct np_cat_map {
	void **item;
	size_t n, room;
};

struct np_group_cache {
	struct np_cat_map users; /* those who had jobs */
};

void np_group_cache_free(struct np_group_cache *cache);

/*
 * Note that a job of this user exists. If memory is short, this does nothing.
 */
void np_group_cache_add(struct np_group_cache *cache, uint32_t uid, double now);

/*
 * List all groups of a user; the caller frees *gid. Returns 0, -ENOENT (there
 * is no such user) or another -errno: the database does not answer.
 */
typedef int np_groups_f(uint32_t uid, uint32_t **gid, size_t *n);

/*
 * Ask the database about the groups of users who have jobs: first of users it
 * was never asked about, and then, until `until`, of users whose answer is old.
 * If the database does not answer, its last answer is kept. Returns whether
 * anything has changed.
 */
bool np_group_cache_refresh(struct np_group_cache *cache,
			    const struct np_auth_rule *rule, size_t n,
			    np_groups_f *groups_of,
			    const struct np_clock *clock, double until);

/* List the known users, sorted by uid; malloc'ed. NULL: out of memory. */
struct np_auth_user *np_group_cache_list(const struct np_group_cache *cache,
					 size_t *n);

#endif
