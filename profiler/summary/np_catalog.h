/*
 * The applications of the store as the placement decision knows them: a handle
 * for each profile, and how much each slows each other on the calibrated fabric
 * of the cluster.  Reads the store, so it belongs in one thread that may block.
 *
 * A job's application is the published profile of that name, or else the job
 * owner's own profile: a user cannot dodge a published name with a profile of
 * their own.  Who is authorised to use a published name is in the index, too:
 * by Claim= (np_conf.h), or else by the user's own runs.
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

/* Whose job it is; strings are borrowed. */
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
 * May this job use the name app? user: NULL if its groups are not known. Does
 * no look-up and no allocation.
 */
enum np_auth_match np_auth_check(const struct np_auth_rule *rule, size_t n,
				 const char *app,
				 const struct np_auth_request *who,
				 const struct np_auth_user *user);

/* The bits of the rules that name one of these groups. */
uint64_t np_auth_groups(const struct np_auth_rule *rule, size_t n,
			const uint32_t *gid, size_t n_gids);

/* True if a rule names a group. */
bool np_auth_needs_groups(const struct np_auth_rule *rule, size_t n);

/* The rules, and what is known of the users. */
struct np_auth_rules {
	const struct np_auth_rule *rule;
	size_t n_rules;
	const struct np_auth_user *user; /* by ascending uid */
	size_t n_users;
};

/*
 * An index is immutable, counts its references, and may be read by any thread.
 * entry[] and auth (NULL: no rules) are copied.  unknown: the profile that
 * stands for applications without a profile.
 */
struct np_app_index;
int np_app_index_new(const struct np_app_entry *entry, size_t n,
		     int32_t unknown, const struct np_auth_rules *auth,
		     struct np_app_index **out);
struct np_app_index *np_app_index_ref(struct np_app_index *x);
void np_app_index_unref(struct np_app_index *x); /* NULL is allowed */

/*
 * The published profile of that name, whoever is authorised to use it, or else
 * the user's own; NP_PROFILE_UNKNOWN: none.  No allocation, O(log n).
 */
int32_t np_app_index_find(const struct np_app_index *x, const char *app,
			  uint32_t uid);
int32_t np_app_index_unknown(const struct np_app_index *x);
size_t np_app_index_n(const struct np_app_index *x); /* entries; for tests */

enum np_auth {
	NP_AUTH_GRANTED,      /* also if the name is not published */
	NP_AUTH_DENIED,	      /* Claim= names other users */
	NP_AUTH_CONTRADICTED, /* the user's own runs contradict it */
	NP_AUTH_PENDING,  /* the user's account or groups are not known yet */
	NP_AUTH_OWN_JOBS, /* no runs that show it: it affects only the user's own
			      jobs (NP_JOB_UNPROVED) */
};

/* Does the job count as one of that application? */
static inline bool np_auth_counts(enum np_auth auth)
{
	return auth == NP_AUTH_GRANTED || auth == NP_AUTH_OWN_JOBS;
}

/*
 * The profile of a user's job; NP_PROFILE_UNKNOWN if the name does not count.
 * No lookup of users, no allocation.
 */
int32_t np_app_index_of_job(const struct np_app_index *x, const char *app,
			    const struct np_auth_request *who,
			    enum np_auth *auth);

/*
 * The reason why a name is denied, in words; if own runs contradict it, what
 * the runs show.  Valid until the last np_app_index_unref().
 */
const char *np_app_index_why(const struct np_app_index *x, const char *app,
			     uint32_t uid, enum np_auth auth);

/*
 * ---- do a user's own runs agree with the published profile of their name?
 * ----
 *
 * Compared is what both profiles know: the mean latency, how much each level
 * slows the program, and how much the program slows each level.  The accepted
 * difference is NP_CONSISTENCY_SDS times the scatter of one published run, or
 * the shares below, by which programs vary between days and leaf switches, if
 * that is more; plus twice the error of the user's own mean.
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
 * Both summaries are of the calibration with that fabric.  why: the
 * contradiction in words.  Exported for tests.
 */
enum np_consistency np_consistency_check(const struct np_run_summary *own,
					 const struct np_run_summary *published,
					 const struct np_fabric *f, char *why,
					 size_t len);

/* ---- the catalog ---- */

/* Applications of one user: those that jobs use, then the newest. */
#define NP_CATALOG_MAX_OF_USER 128
/*
 * Log lines about the files of one user, or about published files, per hour;
 * and about all of them per refresh.  Hostile users cannot fill the log.
 */
#define NP_CATALOG_MAX_LINES 20
#define NP_CATALOG_MAX_WARNINGS 100
/*
 * Bandwidth limit for reading one user's profiles, and for how long unused
 * bandwidth accumulates.  Each reading of an application counts as
 * NP_CATALOG_LEAST_BYTES or more.  Published profiles have no such limit.
 */
#define NP_CATALOG_BYTES_PER_SEC (2u << 20)
#define NP_CATALOG_LEAST_BYTES (1u << 20)
#define NP_CATALOG_SAVED_SEC 128.0

struct np_catalog;

/*
 * A catalog that has read nothing yet.  cluster: its name.  The arguments are
 * copied.  Free with np_catalog_free().  Returns 0 or -ENOMEM.
 */
int np_catalog_new(const char *store_dir, const char *cluster,
		   const struct np_place_conf *conf, struct np_catalog **out,
		   struct np_err *err);
void np_catalog_free(struct np_catalog *c); /* NULL is allowed */

/* Use another clock than the real one, for tests; borrowed. */
void np_catalog_set_clock(struct np_catalog *c, const struct np_clock *clock);

/*
 * A job of this user and application exists: read its profile before others,
 * for the next ten minutes.  Cheap; may be called for every job before every
 * refresh.  Returns whether another refresh could find something new because of
 * this call.
 */
bool np_catalog_note_job(struct np_catalog *c, const char *app, uint32_t uid);

/*
 * Look for changes in the store, read them, and ask the models for missing
 * answers.  Stops soon after budget_sec, between applications and questions,
 * and continues with the next call.  Users are served in turn, each within the
 * limit above; beyond it a profile stays as it is and is read later.  The
 * directories of users without jobs, published/ and the calibration are checked
 * every five seconds.  Profiles that are gone or can no longer be read become
 * unknown.
 *
 * If there are more profiles than NP_CONFLICT_MAX_PROFILES, the published ones
 * are known, then those that jobs use, then the newest.  A handle may then be
 * given to another profile; *changed is true in that case.
 *
 * *changed: earlier tables and indices are out of date; a table and an index
 * belong together.  *more: something is left to do.  Both are always set. warn
 * (may be NULL) is called once for each skipped file, and again if the file
 * changes; beyond NP_CATALOG_MAX_LINES one line counts the rest. Returns 0; or
 * with err -errno if the store or the calibration cannot be used. Then the
 * index is empty, so nothing conflicts, until a later call succeeds.
 */
int np_catalog_refresh(struct np_catalog *c, double budget_sec,
		       np_store_warn_f *warn, void *arg, bool *changed,
		       bool *more, struct np_err *err);

/*
 * The table of slowdowns for the decision; np_slowdowns_unref().  A slowdown
 * counts as harmless if it was not asked yet, has no answer or a doubtful one
 * (np_predict.h), or is at most 1 % (or MaxSlowdown); and so it does at a scope
 * whose sharing coefficient is zero or was not measured.  Returns 0 or -ENOMEM.
 */
int np_catalog_table(struct np_catalog *c, struct np_slowdowns **out,
		     struct np_err *err);

/*
 * Tables made after the next refresh have doubtful predictions as they are: for a
 * simulation of how jobs slow each other, not for decisions.  That refresh asks
 * the models anew, and reads nothing again.
 */
void np_catalog_accept_doubtful(struct np_catalog *c);

/* The index that belongs to the table; np_app_index_unref().  0 or -ENOMEM. */
int np_catalog_index(struct np_catalog *c, struct np_app_index **out);

/*
 * One line about the calibration in use: its date, or why there is none.  Valid
 * until the next refresh.
 */
const char *np_catalog_fabric(const struct np_catalog *c);

/*
 * ---- Group cache, for np_catalog.c and unit tests ----
 *
 * Cache of the group membership of users, for the groups named in Claim=. The
 * user database may be slow, so slurmctld's plugin asks it ahead of time, in a
 * thread, for the users whose jobs it has seen.
 */

/* users; the one without a job for longest is dropped */
#define NP_GROUP_CACHE_MAX 16384
#define NP_GROUP_CACHE_FRESH_SEC 300  /* lifetime of an answer, seconds */
#define NP_GROUP_CACHE_RETRY_SEC 30	  /* seconds until a failed query is repeated */
/* seconds per pass for users never asked about */
#define NP_GROUP_CACHE_FIRST_SEC 5.0

struct np_group_cache_entry {
	struct np_auth_user user;
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

/*
 * All groups of a user; the caller frees *gid. Returns 0, -ENOENT (no such
 * user) or another -errno: the database does not answer.
 */
typedef int np_groups_f(uint32_t uid, uint32_t **gid, size_t *n);

/*
 * Ask the database about the users that have jobs: first about those of whom
 * nothing is known, then about those whose answer is old, the latter until
 * `until`. If the database does not answer, its last answer is kept. Returns
 * true if anything is known now that was not known before.
 */
bool np_group_cache_refresh(struct np_group_cache *m,
			    const struct np_auth_rule *rule, size_t n,
			    np_groups_f *groups_of,
			    const struct np_clock *clock, double until);

/* The known users, sorted by uid, malloc'ed; NULL: out of memory. */
struct np_auth_user *np_group_cache_list(const struct np_group_cache *m,
					 size_t *n);

#endif
