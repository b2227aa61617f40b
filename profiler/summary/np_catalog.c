/*
 * The catalog of applications: who may use a published name, the groups of
 * users, the index that the decisions use, the comparison of a user's runs with
 * a published profile, and the catalog, which is kept up to date by refreshes.
 */
#include "np_catalog.h"

#include <errno.h>
#include <fnmatch.h>
#include <grp.h>
#include <limits.h>
#include <math.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "np_array.h"
#include "np_fabric_store.h"
#include "np_moments.h"
#include "np_predict.h"
#include "np_self_check.h"
#include "np_snapshot.h"
#include "np_text.h"

/* ---- who may use a published name ---- */

#define MAX_TEXT 1024 /* longest text that is matched: users choose it */

static bool matches(const char *pattern, const char *text, int flags)
{
	return text && *text && strnlen(text, MAX_TEXT + 1) <= MAX_TEXT &&
	       !fnmatch(pattern, text, flags);
}

static enum np_auth_match evaluate_rule(const struct np_auth_rule *rule,
					size_t number,
					const struct np_auth_request *who,
					const struct np_auth_user *user)
{
	bool yes = false;

	switch (rule->by) {
	case NP_AUTH_BY_ALL:
		yes = true;
		break;
	case NP_AUTH_BY_DEFAULT:
		return NP_AUTH_NO_RULE;
	case NP_AUTH_BY_USER:
		yes = rule->id == who->uid;
		break;
	case NP_AUTH_BY_GROUP:
		if (!user)
			return NP_AUTH_UNKNOWN;
		yes = user->groups >> number & 1;
		break;
	case NP_AUTH_BY_ACCOUNT:
		if (!who->account)
			return NP_AUTH_UNKNOWN;
		/* Slurm stores the names of accounts in lower case. */
		yes = matches(rule->name, who->account, FNM_CASEFOLD);
		break;
	case NP_AUTH_BY_PARTITION:
		yes = matches(rule->name, who->partition, 0);
		break;
	}
	return yes ? NP_AUTH_ALLOWED : NP_AUTH_FORBIDDEN;
}

enum np_auth_match np_auth_check(const struct np_auth_rule *rule, size_t n,
				 const char *app,
				 const struct np_auth_request *who,
				 const struct np_auth_user *user)
{
	/* Number of rules that gave each answer. */
	size_t found[] = { [NP_AUTH_UNKNOWN] = 0 };

	for (size_t i = 0; i < n; i++)
		if (matches(rule[i].pattern, app, 0))
			found[evaluate_rule(&rule[i], i, who, user)]++;
	if (found[NP_AUTH_ALLOWED])
		return NP_AUTH_ALLOWED;
	if (found[NP_AUTH_NO_RULE])
		return NP_AUTH_NO_RULE;
	return found[NP_AUTH_UNKNOWN]	? NP_AUTH_UNKNOWN :
	       found[NP_AUTH_FORBIDDEN] ? NP_AUTH_FORBIDDEN :
					  NP_AUTH_NO_RULE;
}

uint64_t np_auth_groups(const struct np_auth_rule *rule, size_t n,
			const uint32_t *gid, size_t n_gids)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; rule[i].by == NP_AUTH_BY_GROUP && k < n_gids;
		     k++)
			if (rule[i].id == gid[k])
				bits |= UINT64_C(1) << i;
	return bits;
}

bool np_auth_needs_groups(const struct np_auth_rule *rule, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rule[i].by == NP_AUTH_BY_GROUP)
			return true;
	return false;
}

/* ---- maps: sorted pointers to items by owner and application ---- */

/* Owner and application; the first member of every item of a map. */
struct np_cat_key {
	int64_t owner; /* uid, or NP_CAT_PUBLISHED */
	char app[NP_APP_MAX + 1];
};

static int item_compare(const void *item, int64_t owner, const char *app)
{
	const struct np_cat_key *key = item;

	if (key->owner != owner)
		return key->owner < owner ? -1 : 1;
	return strcmp(key->app, app);
}

/* Find the index of the first item that is not before the key. */
static size_t cat_map_at(const struct np_cat_map *map, int64_t owner,
			 const char *app)
{
	size_t low = 0, high = map->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (item_compare(map->item[mid], owner, app) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Find an item; NULL: there is none. */
static void *cat_map_find(const struct np_cat_map *map, int64_t owner,
			  const char *app)
{
	size_t i = cat_map_at(map, owner, app);

	return i < map->n && !item_compare(map->item[i], owner, app) ?
		       map->item[i] :
		       NULL;
}

/* Add an item of size bytes, all zero except its key; NULL: out of memory. */
static void *cat_map_add(struct np_cat_map *map, int64_t owner, const char *app,
			 size_t size)
{
	size_t i = cat_map_at(map, owner, app);
	struct np_cat_key *key = calloc(1, size);

	if (!key || np_array_reserve(&map->item, &map->room, map->n + 1,
				     sizeof(*map->item))) {
		free(key);
		return NULL;
	}
	key->owner = owner;
	strcpy(key->app, app);
	memmove(map->item + i + 1, map->item + i,
		(map->n - i) * sizeof(*map->item));
	map->item[i] = key;
	map->n++;
	return key;
}

/* Remove the i-th item and free() it. */
static void cat_map_remove(struct np_cat_map *map, size_t i)
{
	free(map->item[i]);
	map->n--;
	memmove(map->item + i, map->item + i + 1,
		(map->n - i) * sizeof(*map->item));
}

static void cat_map_free(struct np_cat_map *map)
{
	for (size_t i = 0; i < map->n; i++)
		free(map->item[i]);
	free(map->item);
}

/* ---- groups of users ---- */

#define PW_BYTES 16384 /* bytes for one entry of the user database */

/* A process has NGROUPS_MAX groups at most, so further ones do not count. */
static int groups_of_name(const char *user, gid_t own, uint32_t **gid,
			  size_t *n)
{
	gid_t *list = malloc(NGROUPS_MAX * sizeof(*list));
	int count = NGROUPS_MAX;

	if (!list)
		return -ENOMEM;
	/* If the list is too short, count is set to the length needed. */
	getgrouplist(user, own, list, &count);
	*n = (size_t)(count < NGROUPS_MAX ? count : NGROUPS_MAX);
	*gid = list;
	return 0;
}

_Static_assert(sizeof(gid_t) == sizeof(uint32_t), "groups are handed over");

static int groups_by_uid(uint32_t uid, uint32_t **gid, size_t *n)
{
	char room[PW_BYTES];
	struct passwd pw, *found = NULL;
	int rc = getpwuid_r(uid, &pw, room, sizeof(room), &found);

	if (rc)
		return -rc;
	return found ? groups_of_name(pw.pw_name, pw.pw_gid, gid, n) : -ENOENT;
}

/* Groups are not looked up for users who had no job for longer than this. */
#define GROUPS_WANTED_SEC 60.0

struct np_group_cache_entry {
	struct np_cat_key key; /* owner: the user */
	uint64_t groups;       /* as in struct np_auth_user */
	double due;	       /* when to ask again, on the clock */
	double wanted;	       /* when a job of the user was last seen */
	bool known;	       /* groups is valid */
};

void np_group_cache_free(struct np_group_cache *cache)
{
	cat_map_free(&cache->users);
	*cache = (struct np_group_cache){ .users = { .n = 0 } };
}

static void drop_least_wanted(struct np_cat_map *users)
{
	size_t least = 0;

	for (size_t i = 1; i < users->n; i++) {
		const struct np_group_cache_entry *a = users->item[i];
		const struct np_group_cache_entry *b = users->item[least];

		if (a->wanted < b->wanted)
			least = i;
	}
	cat_map_remove(users, least);
}

void np_group_cache_add(struct np_group_cache *cache, uint32_t uid, double now)
{
	struct np_cat_map *users = &cache->users;
	struct np_group_cache_entry *one = cat_map_find(users, uid, "");

	if (!one) {
		if (users->n == NP_GROUP_CACHE_MAX)
			drop_least_wanted(users);
		one = cat_map_add(users, uid, "", sizeof(*one));
	}
	if (one)
		one->wanted = now;
}

/*
 * Ask for the groups of a user. A user that does not exist is in no group.
 * Returns whether the answer is new.
 */
static bool query_groups(struct np_group_cache_entry *one,
			 const struct np_auth_rule *rule, size_t n,
			 np_groups_f *groups_of, const struct np_clock *clock)
{
	uint32_t *gid = NULL;
	size_t n_gids = 0;
	int rc = groups_of((uint32_t)one->key.owner, &gid, &n_gids);
	uint64_t groups = np_auth_groups(rule, n, gid, n_gids);
	bool responded = !rc || rc == -ENOENT, changed;

	free(gid);
	one->due = clock->now_sec(clock) + (responded ?
						    NP_GROUP_CACHE_FRESH_SEC :
						    NP_GROUP_CACHE_RETRY_SEC);
	if (!responded)
		return false;
	changed = !one->known || one->groups != groups;
	one->groups = groups;
	one->known = true;
	return changed;
}

/*
 * The first pass asks about users who were never asked about, for
 * NP_GROUP_CACHE_FIRST_SEC even if `until` is earlier. The second pass asks
 * about users whose answer is old.
 */
bool np_group_cache_refresh(struct np_group_cache *cache,
			    const struct np_auth_rule *rule, size_t n,
			    np_groups_f *groups_of,
			    const struct np_clock *clock, double until)
{
	double now = clock->now_sec(clock);
	double first = now + NP_GROUP_CACHE_FIRST_SEC;
	bool changed = false;

	for (int refresh = 0; refresh < 2; refresh++) {
		double end = refresh ? until : first > until ? first : until;

		for (size_t i = 0; i < cache->users.n; i++) {
			struct np_group_cache_entry *one = cache->users.item[i];

			if (one->known != refresh || one->due > now ||
			    now - one->wanted > GROUPS_WANTED_SEC)
				continue;
			if (clock->now_sec(clock) >= end)
				break;
			changed |= query_groups(one, rule, n, groups_of, clock);
		}
	}
	return changed;
}

struct np_auth_user *np_group_cache_list(const struct np_group_cache *cache,
					 size_t *n)
{
	struct np_auth_user *list = calloc(cache->users.n + 1, sizeof(*list));

	*n = 0;
	for (size_t i = 0; list && i < cache->users.n; i++) {
		const struct np_group_cache_entry *one = cache->users.item[i];

		if (one->known)
			list[(*n)++] =
				(struct np_auth_user){ (uint32_t)one->key.owner,
						       one->groups };
	}
	return list;
}

/*
 * ---- the catalog ----
 *
 * A refresh goes through the sections below: it loads the calibration, scans
 * the directories of applications for changes, reads the runs of an application
 * and summarises them for the models, and asks the models for slowdowns.
 *
 * An application or owner is "wanted" if jobs of it exist. A "place" is a
 * directory whose problems are logged.
 */

#define NP_CAT_PUBLISHED (-1) /* owner of the published applications */
#define NP_CAT_MAX_OWNERS 131072

/*
 * Hashes of the log lines about a place: of its last reading, and of this one.
 */
struct log_state {
	uint64_t *old, *now;
	size_t n_old, n_now;
};

/* Jobs of this owner and application exist until a time. */
struct np_cat_wanted {
	struct np_cat_key key;
	double until;
};

/* Log lines about the files of an owner within an hour. */
struct owner_lines {
	double until;	/* end of the hour; 0: there was no line yet */
	size_t logged;	/* lines written to the log */
	size_t counted; /* more lines, which were only counted */
};

/* A user, or the published applications: a directory in the store. */
struct np_cat_owner {
	struct np_cat_key key;
	double due;	      /* time of the next scan of the directory */
	double scan_sec;      /* duration of the last scan */
	double wanted_until;  /* jobs of the user exist until then */
	double may_read_from; /* no application is read before then */
	uint64_t read_number; /* of its last reading; the lowest is next */
	bool listed;	      /* the directory exists */
	struct log_state logged;
	struct owner_lines lines;
};

/* An application of one owner. */
struct np_cat_app {
	struct np_cat_key key;
	struct np_store_stamp stamp; /* by the last scan */
	double wanted_until;	     /* jobs of it exist until then */
	double reread_due;    /* when to read again, because the stamp may miss
			      * a change (np_store_is_racy()); 0: never */
	uint64_t read_number; /* of its last reading; 0: never read */
	bool read_since_change; /* it was read after the stamp changed */
	bool found;		/* by the scan in progress */
	bool exists;		/* the last scan found it */
	bool to_read;
	bool known;	/* it belongs into the index */
	bool usable;	/* it has a summary for the calibration in use */
	bool no_room;	/* there was no handle for it */
	int32_t handle; /* NP_PROFILE_UNKNOWN: none */
	size_t fabric;	/* index of the fabric on which it was measured */
	struct np_run_summary summary;
	bool agrees; /* as in struct np_app_entry */
	char refuted[NP_APP_WHY];
	struct log_state logged;
};

/* Most calibrations in use: of several rails, or of partitions' networks. */
#define MAX_FABRICS 4
#define MAX_UNCALIBRATED 8

struct fabric {
	struct np_calibration cal;
	struct np_predictor *models;  /* without intervals, fast */
	struct np_predictor *checked; /* with intervals, for conflicts */
	bool doubtful;		      /* np_self_check_fails() */
};

struct np_catalog {
	char *store_dir, *cluster;
	struct np_place_conf conf;
	const struct np_clock *clock;
	struct np_clock real;

	struct np_cat_map owners, apps, wanted;
	size_t n_to_read;     /* applications */
	uint64_t read_number; /* of the last reading of any application */
	double users_due;     /* time of the next scan of users/ */
	double scan_sec;      /* of scanning every owner once */
	double idle_until[2]; /* no owner is due before: [wanted only] */
	size_t cursor[2];     /* last owner scanned: [wanted only] */
	struct log_state users_logged;

	/*
	 * The newest calibration, and then those of other fabrics that
	 * applications use. 0 fabrics: the cluster is not calibrated.
	 */
	struct fabric fabrics[MAX_FABRICS];
	size_t n_fabrics;
	/*
	 * The last rails and transports that were found to have no calibration;
	 * fabrics[0] is used for them. As runs may name any rail, a new one
	 * replaces the oldest.
	 */
	char uncalibrated[MAX_UNCALIBRATED][160];
	size_t n_uncalibrated; /* number found, of which some were replaced */
	struct np_store_stamp cal_stamp;
	double cal_due;	       /* time of the next look for a calibration */
	double cal_reread_due; /* as np_cat_app.reread_due */
	int cal_rc;	       /* of the last attempt to load it */
	struct np_err cal_err;
	struct log_state cal_logged;
	struct np_err described; /* the newest calibration in words */

	struct np_conflict *conflict;
	struct np_cat_app *by_handle[NP_CONFLICT_MAX_PROFILES];
	size_t n_handles;
	/* No answer is missing about wanted applications, or about all. */
	bool predicted_wanted, predicted_all;
	bool predict_next; /* before an application is read again */
	bool accepts_doubtful;

	struct np_group_cache groups_of_users; /* for Claim= */

	bool trouble; /* nothing can be used, because of why */
	struct np_err why;
	bool changed;		    /* since the last refresh */
	struct np_app_index *index; /* NULL: out of date */

	/* Valid during a refresh. */
	struct np_store *store;
	np_store_warn_f *warn;
	void *warn_arg;
	size_t n_warned;
	struct log_state *log;		/* of the place being read */
	struct np_cat_owner *log_owner; /* whose place it is, or NULL */
};

/* ---- the index ---- */

struct np_app_index {
	atomic_uint refs;
	int32_t unknown;
	struct np_auth_rules auth; /* its lists are owned */
	size_t n;
	struct np_app_entry entry[]; /* sorted by app_index_compare() */
};

/* Order entries by name, published ones first, then by uid. */
static int app_index_compare(const void *a, const void *b)
{
	const struct np_app_entry *x = a, *y = b;
	int rc = strcmp(x->app, y->app);

	if (!rc)
		rc = (int)y->published - (int)x->published;
	if (!rc && !x->published)
		rc = x->uid < y->uid ? -1 : x->uid > y->uid;
	return rc;
}

static void free_index(struct np_app_index *index)
{
	free((void *)index->auth.rule);
	free((void *)index->auth.user);
	free(index);
}

/* Copy a list, one element longer so that it is never empty. */
static const void *copy_list(const void *list, size_t n, size_t size)
{
	void *all = calloc(n + 1, size);

	return all && n ? memcpy(all, list, n * size) : all;
}

/* Copy rules and users, because the index outlives the configuration. */
static int copy_auth(struct np_app_index *index,
		     const struct np_auth_rules *auth)
{
	index->auth = *auth;
	index->auth.rule =
		copy_list(auth->rule, auth->n_rules, sizeof(*auth->rule));
	index->auth.user =
		copy_list(auth->user, auth->n_users, sizeof(*auth->user));
	return index->auth.rule && index->auth.user ? 0 : -ENOMEM;
}

int np_app_index_new(const struct np_app_entry *entry, size_t n,
		     int32_t unknown, const struct np_auth_rules *auth,
		     struct np_app_index **out)
{
	struct np_app_index *index =
		calloc(1, sizeof(*index) + n * sizeof(*entry));
	int rc;

	if (!index)
		return -ENOMEM;
	atomic_init(&index->refs, 1);
	index->unknown = unknown;
	index->n = n;
	if (n) {
		memcpy(index->entry, entry, n * sizeof(*entry));
		qsort(index->entry, n, sizeof(*entry), app_index_compare);
	}
	rc = auth ? copy_auth(index, auth) : 0;
	if (rc)
		free_index(index);
	else
		*out = index;
	return rc;
}

struct np_app_index *np_app_index_ref(struct np_app_index *index)
{
	if (index)
		atomic_fetch_add(&index->refs, 1);
	return index;
}

void np_app_index_unref(struct np_app_index *index)
{
	if (index && atomic_fetch_sub(&index->refs, 1) == 1)
		free_index(index);
}

/* Find the entry of a published profile, or of a user's own; NULL: none. */
static const struct np_app_entry *find_entry(const struct np_app_index *index,
					     const char *app, bool published,
					     uint32_t uid)
{
	struct np_app_entry key = { .published = published, .uid = uid };

	if (strlen(app) > NP_APP_MAX)
		return NULL;
	strcpy(key.app, app);
	return bsearch(&key, index->entry, index->n, sizeof(key),
		       app_index_compare);
}

int32_t np_app_index_find(const struct np_app_index *index, const char *app,
			  uint32_t uid)
{
	const struct np_app_entry *found = find_entry(index, app, true, 0);

	if (!found)
		found = find_entry(index, app, false, uid);
	return found ? found->profile : NP_PROFILE_UNKNOWN;
}

/*
 * May a user use a published name? Claim= decides, and where it does not, the
 * user's own runs do.
 */
static enum np_auth authorise(const struct np_app_index *index, const char *app,
			      const struct np_auth_request *who)
{
	const struct np_auth_user key = { .uid = who->uid };
	const struct np_auth_rules *auth = &index->auth;
	const struct np_auth_user *user =
		auth->n_users ? bsearch(&key, auth->user, auth->n_users,
					sizeof(key), np_order_u32) :
				NULL;
	const struct np_app_entry *own;

	switch (np_auth_check(auth->rule, auth->n_rules, app, who, user)) {
	case NP_AUTH_ALLOWED:
		return NP_AUTH_GRANTED;
	case NP_AUTH_FORBIDDEN:
		return NP_AUTH_DENIED;
	case NP_AUTH_UNKNOWN:
		return NP_AUTH_PENDING;
	case NP_AUTH_NO_RULE:
		break;
	}
	own = find_entry(index, app, false, who->uid);
	return own && *own->refuted ? NP_AUTH_CONTRADICTED :
	       own && own->agrees   ? NP_AUTH_GRANTED :
				      NP_AUTH_OWN_JOBS;
}

int32_t np_app_index_of_job(const struct np_app_index *index, const char *app,
			    const struct np_auth_request *who,
			    enum np_auth *auth)
{
	const struct np_app_entry *found = find_entry(index, app, true, 0);

	*auth = found ? authorise(index, app, who) : NP_AUTH_GRANTED;
	if (!found)
		found = find_entry(index, app, false, who->uid);
	return found && np_auth_counts(*auth) ? found->profile :
						NP_PROFILE_UNKNOWN;
}

const char *np_app_index_why(const struct np_app_index *index, const char *app,
			     uint32_t uid, enum np_auth auth)
{
	static const char *const why[] = {
		[NP_AUTH_GRANTED] = "it is authorised",
		[NP_AUTH_DENIED] = "Claim= in netprof.conf names others",
		[NP_AUTH_CONTRADICTED] =
			"own runs differ from the published profile",
		[NP_AUTH_OWN_JOBS] = "neither Claim= nor own runs support it",
		[NP_AUTH_PENDING] =
			"the groups that Claim= names are not known yet",
	};
	const struct np_app_entry *own =
		auth == NP_AUTH_CONTRADICTED ?
			find_entry(index, app, false, uid) :
			NULL;

	return own && *own->refuted ? own->refuted : why[auth];
}

int32_t np_app_index_unknown(const struct np_app_index *index)
{
	return index->unknown;
}

size_t np_app_index_n(const struct np_app_index *index)
{
	return index->n;
}

/* ---- comparing a user's own runs with the published profile ---- */

#define OWN_ERRORS 2.0 /* standard errors of the user's own mean */

/* Compare the mean latencies of a user's own runs and of the profile. */
static enum np_consistency
compare_latency(const struct np_run_summary *own,
		const struct np_run_summary *published, char *why, size_t len)
{
	const struct np_mean *a = &own->latency_sec;
	const struct np_mean *b = &published->latency_sec;
	const struct np_moments *all = &own->program.latency.all;
	double spread;

	/* Latencies at another period of the probes cannot be compared. */
	if (!np_mean_known(a) || !np_mean_known(b) ||
	    own->latency.other_period || published->latency.other_period)
		return NP_CONSISTENCY_UNKNOWN;
	spread = NP_CONSISTENCY_LATENCY * b->mean;
	if (!isnan(b->sd))
		spread = fmax(spread, NP_CONSISTENCY_SDS * b->sd);
	spread += OWN_ERRORS * np_moments_sd(all) / sqrt((double)all->n);
	if (fabs(a->mean - b->mean) <= spread)
		return NP_CONSISTENCY_AGREES;
	snprintf(
		why, len,
		"mean latency %.3g us, published %.3g us, give or take %.2g us",
		1e6 * a->mean, 1e6 * b->mean, 1e6 * spread);
	return NP_CONSISTENCY_REFUTED;
}

/* Compare two lists of slowdowns. NULL: none of them is known. */
static enum np_consistency compare_slowdowns(const struct np_mean *own,
					     const struct np_mean *published,
					     const struct np_fabric *fabric,
					     const char *what, char *why,
					     size_t len)
{
	enum np_consistency consistency = NP_CONSISTENCY_UNKNOWN;
	size_t n = own && published ? fabric->n_levels : 0;
	double own_noise = np_noise_pooled(own, n), spread;

	spread = fmax(NP_CONSISTENCY_SDS * np_noise_pooled(published, n),
		      log1p(NP_CONSISTENCY_SLOWDOWN));
	for (size_t i = 0; i < n; i++) {
		const struct np_mean *a = &own[i], *b = &published[i];
		double most;

		if (!np_mean_known(a) || !np_mean_known(b))
			continue;
		consistency = NP_CONSISTENCY_AGREES;
		most = spread + OWN_ERRORS * np_noise_of_mean(a, own_noise);
		if (fabs(log1p(a->mean) - log1p(b->mean)) <= most)
			continue;
		snprintf(why, len,
			 "%s level %.16s %.0f %%, published %.0f %%, give or "
			 "take %.0f",
			 what, fabric->level[i].name, 100 * a->mean,
			 100 * b->mean, 100 * (1 + b->mean) * expm1(most));
		return NP_CONSISTENCY_REFUTED;
	}
	return consistency;
}

static enum np_consistency stronger(enum np_consistency a,
				    enum np_consistency b)
{
	return a > b ? a : b;
}

enum np_consistency np_consistency_check(const struct np_run_summary *own,
					 const struct np_run_summary *published,
					 const struct np_fabric *fabric,
					 char *why, size_t len)
{
	const struct np_program *a = &own->program, *b = &published->program;
	enum np_consistency so_far = compare_latency(own, published, why, len);

	if (so_far != NP_CONSISTENCY_REFUTED)
		so_far = stronger(so_far,
				  compare_slowdowns(a->curve, b->curve, fabric,
						    "slowed by", why, len));
	if (so_far != NP_CONSISTENCY_REFUTED)
		so_far = stronger(so_far,
				  compare_slowdowns(a->impact, b->impact,
						    fabric, "slows", why, len));
	return so_far;
}

/* ---- owners and applications ---- */

static double catalog_now(const struct np_catalog *catalog)
{
	return catalog->clock->now_sec(catalog->clock);
}

/* Is this the time until which jobs exist, and not over yet? */
static bool is_wanted(const struct np_catalog *catalog, double until)
{
	return until && catalog_now(catalog) < until;
}

/* Drop the index, which is out of date. */
static void drop_index(struct np_catalog *catalog)
{
	np_app_index_unref(catalog->index);
	catalog->index = NULL;
	catalog->changed = true;
}

static bool same_stamp(const struct np_store_stamp *a,
		       const struct np_store_stamp *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->sec == b->sec &&
	       a->nsec == b->nsec;
}

/* Find or add an owner; NULL: there are too many, or out of memory. */
static struct np_cat_owner *owner_of(struct np_catalog *catalog, int64_t owner)
{
	struct np_cat_owner *user = cat_map_find(&catalog->owners, owner, "");

	if (!user && catalog->owners.n < NP_CAT_MAX_OWNERS) {
		user = cat_map_add(&catalog->owners, owner, "", sizeof(*user));
		if (user)
			user->may_read_from =
				catalog_now(catalog) - NP_CATALOG_SAVED_SEC;
	}
	if (user && !user->due)
		catalog->idle_until[false] = catalog->idle_until[true] = 0;
	return user;
}

/*
 * May the owner read as much as a new one? If so, nothing is lost if it is
 * forgotten.
 */
static bool has_no_reading_debt(const struct np_catalog *catalog,
				const struct np_cat_owner *owner)
{
	return owner->may_read_from <=
	       catalog_now(catalog) - NP_CATALOG_SAVED_SEC;
}

/* Mark an application to be read, or not, and count the marked ones. */
static void set_to_read(struct np_catalog *catalog, struct np_cat_app *app,
			bool to_read)
{
	if (app->to_read != to_read)
		catalog->n_to_read += to_read ? 1 : (size_t)-1;
	app->to_read = to_read;
	/* Questions about it can be asked only now: see to_predict(). */
	if (!to_read && !app->usable)
		catalog->predicted_wanted = catalog->predicted_all = false;
}

static void drop_summary(struct np_cat_app *app)
{
	np_run_summary_free(&app->summary);
	app->usable = false;
}

/* The newest first. */
static int by_stamp(const struct np_store_stamp *a,
		    const struct np_store_stamp *b)
{
	if (a->sec != b->sec)
		return a->sec > b->sec ? -1 : 1;
	return (a->nsec < b->nsec) - (a->nsec > b->nsec);
}

/* Should a have a handle rather than b, if there is no room for both? */
static bool outranks(const struct np_catalog *catalog,
		     const struct np_cat_app *a, const struct np_cat_app *b)
{
	int x = a->key.owner == NP_CAT_PUBLISHED ?
			2 :
			is_wanted(catalog, a->wanted_until);
	int y = b->key.owner == NP_CAT_PUBLISHED ?
			2 :
			is_wanted(catalog, b->wanted_until);

	if (a->exists != b->exists)
		return a->exists;
	return x != y ? x > y : by_stamp(&a->stamp, &b->stamp) < 0;
}

/*
 * ---- handles ----
 *
 * There are fewer handles than applications, and they never go away.
 */

/* Is a handle unused, or that of an application that does not exist? */
static bool has_free_handle(const struct np_catalog *catalog)
{
	if (catalog->n_handles < NP_CONFLICT_MAX_PROFILES)
		return true;
	for (size_t i = 0; i < catalog->n_handles; i++)
		if (!catalog->by_handle[i] || !catalog->by_handle[i]->exists)
			return true;
	return false;
}

/* Drop all answers about an application. */
static void forget_predictions(struct np_catalog *catalog,
			       const struct np_cat_app *app)
{
	if (app->handle == NP_PROFILE_UNKNOWN)
		return;
	np_conflict_forget(catalog->conflict, (uint32_t)app->handle);
	catalog->predicted_wanted = catalog->predicted_all = false;
	catalog->changed = true;
}

/*
 * Find a handle that is free, or else that of the least important application.
 */
static uint32_t least_important_handle(const struct np_catalog *catalog)
{
	uint32_t least = 0;

	for (uint32_t i = 0; i < catalog->n_handles; i++) {
		const struct np_cat_app *app = catalog->by_handle[i];

		if (!app)
			return i;
		if (outranks(catalog, catalog->by_handle[least], app))
			least = i;
	}
	return least;
}

/* Release a handle. Its application is unknown until there is room. */
static void release_handle(struct np_catalog *catalog, uint32_t handle)
{
	struct np_cat_app *app = catalog->by_handle[handle];

	if (!app)
		return;
	drop_summary(app);
	set_to_read(catalog, app, false);
	if (app->known)
		drop_index(catalog);
	app->handle = NP_PROFILE_UNKNOWN;
	app->known = false;
	app->no_room = true;
	catalog->by_handle[handle] = NULL;
}

/* May this owner's profiles restrict the jobs of other users? */
static bool is_trusted(const struct np_catalog *catalog, int64_t owner)
{
	for (size_t i = 0; i < catalog->conf.n_trusted; i++)
		if (catalog->conf.trusted[i] == owner)
			return true;
	return owner == NP_CAT_PUBLISHED;
}

/* Give an application a handle, or set no_room if all others outrank it. */
static int assign_handle(struct np_catalog *catalog, struct np_cat_app *app,
			 struct np_err *err)
{
	int64_t owner = app->key.owner;
	uint32_t uid = owner == NP_CAT_PUBLISHED ? 0 : (uint32_t)owner, handle;
	bool trusted = is_trusted(catalog, owner);
	int rc;

	if (catalog->n_handles < NP_CONFLICT_MAX_PROFILES) {
		rc = np_conflict_add(catalog->conflict, uid, trusted, &handle,
				     err);
		if (rc)
			return rc;
		catalog->n_handles++;
	} else {
		handle = least_important_handle(catalog);
		if (catalog->by_handle[handle] &&
		    !outranks(catalog, app, catalog->by_handle[handle])) {
			app->no_room = true;
			return 0;
		}
		rc = np_conflict_replace(catalog->conflict, handle, uid,
					 trusted, err);
		if (rc)
			return rc;
		release_handle(catalog, handle);
	}
	catalog->by_handle[handle] = app;
	app->handle = (int32_t)handle;
	forget_predictions(catalog, app);
	drop_index(catalog);
	return 0;
}

/*
 * ---- log lines ----
 *
 * Each problem with a file is logged once, as long as it exists.
 */

#define HOUR_SEC 3600.0
#define MAX_LINES_OF_PLACE \
	256 /* of one place; np_store.h reports a hundred files */

static void log_state_free(struct log_state *log)
{
	free(log->old);
	free(log->now);
	*log = (struct log_state){ .n_old = 0 };
}

static bool has_hash(const uint64_t *set, size_t n, uint64_t hash)
{
	for (size_t i = 0; i < n; i++)
		if (set[i] == hash)
			return true;
	return false;
}

/* Remember that a line was logged about the place that is being read. */
static void remember_line(struct log_state *log, uint64_t hash)
{
	if (log->n_now == MAX_LINES_OF_PLACE ||
	    np_array_resize(&log->now, log->n_now + 1, sizeof(*log->now)))
		return; /* it will be logged again */
	log->now[log->n_now++] = hash;
}

/* Begin to read a place of an owner, or of none (NULL). */
static void begin_place(struct np_catalog *catalog, struct log_state *place,
			struct np_cat_owner *owner)
{
	catalog->log = place;
	catalog->log_owner = owner;
	place->n_now = 0;
	place->now = NULL;
}

/* End the reading: its lines replace those of the previous one. */
static void end_place(struct np_catalog *catalog)
{
	struct log_state *log = catalog->log;

	free(log->old);
	log->old = log->now;
	log->n_old = log->n_now;
	log->n_now = 0;
	log->now = NULL;
	catalog->log = NULL;
	catalog->log_owner = NULL;
}

/* Write the path of an owner's directory, such as "/store/users/1000". */
static void path_of(const struct np_catalog *catalog,
		    const struct np_cat_owner *owner, struct np_err *out)
{
	if (owner->key.owner == NP_CAT_PUBLISHED)
		np_errf(out, 0, "%s/" NP_STORE_PUBLIC, catalog->store_dir);
	else
		np_errf(out, 0, "%s/" NP_STORE_USERS "/%u", catalog->store_dir,
			(uint32_t)owner->key.owner);
}

/* Log a line. Returns false if this refresh has logged too many. */
static bool log_line(struct np_catalog *catalog, const char *line)
{
	if (catalog->n_warned > NP_CATALOG_MAX_WARNINGS)
		return false;
	if (catalog->warn)
		catalog->warn(
			catalog->n_warned == NP_CATALOG_MAX_WARNINGS ?
				"more files were skipped than are reported" :
				line,
			catalog->warn_arg);
	return catalog->n_warned++ < NP_CATALOG_MAX_WARNINGS;
}

/* At the end of the hour, log how many lines were only counted. */
static void log_hourly_count(struct np_catalog *catalog,
			     struct np_cat_owner *owner)
{
	struct np_err path, line;

	if (!owner->lines.until || catalog_now(catalog) < owner->lines.until)
		return;
	path_of(catalog, owner, &path);
	np_errf(&line, 0,
		"%.150s: %zu more files or directories were skipped in the "
		"last hour than were reported",
		path.text, owner->lines.counted);
	if (!owner->lines.counted || log_line(catalog, line.text))
		owner->lines = (struct owner_lines){ .until = 0 };
}

/* Log or count a line about an owner's files. false: try again later. */
static bool log_for_owner(struct np_catalog *catalog,
			  struct np_cat_owner *owner, const char *line)
{
	struct np_err path, last;

	log_hourly_count(catalog, owner);
	if (owner->lines.logged < NP_CATALOG_MAX_LINES) {
		if (!log_line(catalog, line))
			return false;
		if (!owner->lines.until)
			owner->lines.until = catalog_now(catalog) + HOUR_SEC;
		owner->lines.logged++;
		return true;
	}
	if (!owner->lines.counted) {
		path_of(catalog, owner, &path);
		np_errf(&last, 0,
			"%.150s: no more than %d lines are reported in an "
			"hour, the others are counted",
			path.text, NP_CATALOG_MAX_LINES);
		if (!log_line(catalog, last.text))
			return false;
	}
	owner->lines.counted++;
	return true;
}

/* Log a line, unless it was logged before, or the owner has too many. */
static void log_problem(const char *line, void *arg)
{
	struct np_catalog *catalog = arg;
	struct log_state *log = catalog->log;
	uint64_t hash = np_hash(NP_HASH, line, strlen(line));

	/* If a line cannot be logged now, the next reading tries again. */
	if (!has_hash(log->old, log->n_old, hash) &&
	    !(catalog->log_owner ?
		      log_for_owner(catalog, catalog->log_owner, line) :
		      log_line(catalog, line)))
		return;
	remember_line(log, hash);
}

/*
 * ---- the calibration ----
 *
 * After a change of the calibration, everything is read again.
 */

#define POLL_SEC 5.0 /* between scans of the same place */

static void fabric_close(struct fabric *fabric)
{
	np_predictor_free(fabric->models);
	np_predictor_free(fabric->checked);
	np_calibration_free(&fabric->cal);
}

static void close_fabrics(struct np_catalog *catalog)
{
	for (size_t i = 0; i < catalog->n_fabrics; i++)
		fabric_close(&catalog->fabrics[i]);
	catalog->n_fabrics = catalog->n_uncalibrated = 0;
}

/* Write the sharing coefficient of a scope: "0.91", or why there is none. */
static void sharing_text(const struct np_calibration *cal, enum np_scope scope,
			 char *buf, size_t len)
{
	const struct np_mean *k = &cal->fabric->sharing[scope];

	if (!np_mean_known(k))
		snprintf(buf, len, "not measured");
	else if (np_sharing_coef_none(k))
		snprintf(buf, len, "no effect");
	else
		snprintf(buf, len, "%.2f", k->mean);
}

/* Describe the calibration in use, for np_catalog_fabric(). */
static void describe(struct np_catalog *catalog)
{
	const struct np_calibration *cal = &catalog->fabrics[0].cal;
	const char *const *names = np_scope_names;
	time_t t = (time_t)cal->date;
	char text[NP_N_SCOPES][32], date[32] = "an unknown date";
	struct tm tm;

	if (cal->date > 0 && gmtime_r(&t, &tm))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	for (int i = 0; i < NP_N_SCOPES; i++)
		sharing_text(cal, (enum np_scope)i, text[i], sizeof(text[i]));
	np_errf(&catalog->described, 0,
		"of %s, cluster %.64s, %zu levels at scope %.16s; sharing "
		"coefficients: %s %s, %s %s, %s %s",
		date, cal->cluster, cal->fabric->n_levels,
		np_scope_name(cal->scope), names[0], text[0], names[1], text[1],
		names[2], text[2]);
}

/* Drop everything that was computed with the previous calibration. */
static void drop_derived(struct np_catalog *catalog)
{
	for (size_t i = 0; i < catalog->apps.n; i++) {
		struct np_cat_app *app = catalog->apps.item[i];

		drop_summary(app);
		forget_predictions(catalog, app);
		if (app->exists)
			set_to_read(catalog, app, true);
		else /* read it when it exists again */
			app->stamp = (struct np_store_stamp){ .dev = 0 };
	}
	catalog->changed = true;
}

#define CHECK_REPLICATES 50 /* bootstrap samples of an interval */

/*
 * Load the calibration of a fabric, and make its models. Returns 0, -ENOENT
 * (there is only one of another fabric) or another -errno with err.
 */
static int fabric_open(const struct np_catalog *catalog,
		       const struct np_fabric_of *of, struct fabric *out,
		       struct np_err *err)
{
	struct np_predict_opt opt = { .replicates = 0, .seed = 1 };
	const struct np_model *m = np_model_find(NP_MODEL_DEFAULT, NULL);
	struct fabric fabric = { .models = NULL };
	int rc = np_fabric_store_load_of(catalog->store, catalog->cluster, NULL,
					 of, &fabric.cal, err);

	if (rc)
		return rc;
	if (!np_fabric_is_of(&fabric.cal, of))
		rc = -ENOENT;
	if (!rc) {
		opt.doubtful = fabric.doubtful =
			np_self_check_fails(fabric.cal.fabric);
		rc = np_predictor_new(fabric.cal.fabric, m, &opt,
				      &fabric.models, err);
	}
	opt.replicates = CHECK_REPLICATES;
	if (!rc)
		rc = np_predictor_new(fabric.cal.fabric, m, &opt,
				      &fabric.checked, err);
	if (rc)
		fabric_close(&fabric);
	else
		*out = fabric;
	return rc;
}

/* Load the newest calibration. */
static int fabric_load(struct np_catalog *catalog, struct np_err *err)
{
	static const struct np_fabric_of any;
	struct fabric fabric;
	int rc = fabric_open(catalog, &any, &fabric, err);

	if (rc)
		return rc;
	close_fabrics(catalog);
	catalog->fabrics[catalog->n_fabrics++] = fabric;
	begin_place(catalog, &catalog->cal_logged, NULL);
	if (fabric.cal.n_skipped)
		log_problem(fabric.cal.skipped.text, catalog);
	if (fabric.doubtful)
		log_problem("the load levels of the calibration do not predict "
			    "each other (netprof check), so placement ignores "
			    "its predictions; netprof calibrate measures it "
			    "again",
			    catalog);
	end_place(catalog);
	describe(catalog);
	return 0;
}

/* Open a fabric, unless it is known to have no calibration. */
static int find_fabric(struct np_catalog *catalog,
		       const struct np_fabric_of *of, struct fabric *out)
{
	char key[sizeof(catalog->uncalibrated[0])];
	int rc;

	snprintf(key, sizeof(key), "%s %s", of->rail ? of->rail : "",
		 of->rail || !of->transport ? "" : of->transport);
	for (size_t i = 0; i < catalog->n_uncalibrated && i < MAX_UNCALIBRATED;
	     i++)
		if (!strcmp(catalog->uncalibrated[i], key))
			return -ENOENT;
	rc = fabric_open(catalog, of, out, NULL);
	if (rc)
		strcpy(catalog->uncalibrated[catalog->n_uncalibrated++ %
					     MAX_UNCALIBRATED],
		       key);
	return rc;
}

/*
 * Find the fabric of the newest of these runs: a fabric in use, or else another
 * one that was calibrated and is looked for only once, or else fabrics[0].
 */
static size_t fabric_of(struct np_catalog *catalog, const struct np_runs *runs)
{
	const struct np_record *newest = NULL;
	struct np_fabric_of of = { NULL };
	struct fabric fabric;

	for (size_t i = 0; i < runs->n; i++)
		if (!newest || runs->run[i]->start > newest->start)
			newest = runs->run[i];
	if (newest) {
		of.rail = np_run_rail(newest);
		of.transport = newest->probe.transport;
	}
	for (size_t i = 0; i < catalog->n_fabrics; i++)
		if (np_fabric_is_of(&catalog->fabrics[i].cal, &of))
			return i;
	if (catalog->n_fabrics == MAX_FABRICS ||
	    find_fabric(catalog, &of, &fabric))
		return 0;
	catalog->fabrics[catalog->n_fabrics] = fabric;
	return catalog->n_fabrics++;
}

/*
 * Find out whether there is another calibration than the one that is in use, or
 * that could not be loaded.
 */
static int check_calibration(struct np_catalog *catalog, double now,
			     bool *other, struct np_err *err)
{
	struct np_store_stamp stamp;
	int rc = np_fabric_store_stamp(catalog->store, catalog->cluster, &stamp,
				       err);

	if (rc) {
		catalog->cal_stamp = (struct np_store_stamp){ .dev = 0 };
		return rc;
	}
	*other = !same_stamp(&stamp, &catalog->cal_stamp);
	if (*other) {
		catalog->cal_reread_due =
			np_store_is_racy(&stamp) ? now + NP_STORE_RACY_SEC : 0;
	} else if (catalog->cal_reread_due && now >= catalog->cal_reread_due) {
		*other = true;
		catalog->cal_reread_due = 0;
	}
	catalog->cal_stamp = stamp;
	return 0;
}

/* Load the calibration if it has changed. Returns 0 or -errno with err. */
static int refresh_calibration(struct np_catalog *catalog, struct np_err *err)
{
	double now = catalog_now(catalog);
	bool other = false;
	int rc;

	if (now < catalog->cal_due)
		goto out;
	catalog->cal_due = now + POLL_SEC;
	rc = check_calibration(catalog, now, &other, &catalog->cal_err);
	if (!rc && !other)
		goto out; /* unchanged */
	if (!rc)
		rc = fabric_load(catalog, &catalog->cal_err);
	if (rc)
		close_fabrics(catalog);
	else
		drop_derived(catalog);
	if (rc && rc != -ENOENT && rc != -EINVAL) /* temporary, perhaps */
		catalog->cal_stamp = (struct np_store_stamp){ .dev = 0 };
	catalog->cal_rc = rc;
out:
	return catalog->cal_rc ? np_errf(err, catalog->cal_rc, "%s",
					 catalog->cal_err.text) :
				 0;
}

/*
 * ---- scanning for applications ----
 *
 * Only directories are opened here, no files.
 */

#define POLL_WANTED_SEC 1.0 /* the same, if a job needs its application */
#define MAX_SCAN_SHARE 0.05 /* share of the time that is spent on scans */
#define MAX_APPS 8192	    /* of all owners; there are fewer handles */

/* Is this owner scanned every second, because it has jobs or is published? */
static bool is_urgent(const struct np_catalog *catalog,
		      const struct np_cat_owner *owner)
{
	return owner->key.owner == NP_CAT_PUBLISHED ||
	       is_wanted(catalog, owner->wanted_until);
}

/*
 * Find the next owner to be scanned, or NULL. Owners take turns: the search
 * begins at the last one, so that none is passed over forever.
 */
static struct np_cat_owner *next_owner(struct np_catalog *catalog, bool wanted)
{
	double now = catalog_now(catalog), next = INFINITY;
	size_t n = catalog->owners.n;

	if (now < catalog->idle_until[wanted])
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t at = (catalog->cursor[wanted] + i) % n;
		struct np_cat_owner *owner = catalog->owners.item[at];

		if (wanted && !is_urgent(catalog, owner))
			continue;
		if (owner->due <= now) {
			catalog->cursor[wanted] = at;
			return owner;
		}
		next = fmin(next, owner->due);
	}
	catalog->idle_until[wanted] = next;
	return NULL;
}

/* Find the applications of an owner. Returns their number, from *first on. */
static size_t apps_of(const struct np_catalog *catalog, int64_t owner,
		      size_t *first)
{
	*first = cat_map_at(&catalog->apps, owner, "");
	return cat_map_at(&catalog->apps, owner + 1, "") - *first;
}

/*
 * Handle an application that does not exist any more. It keeps its handle, for
 * the case that it exists again.
 */
static void remove_app(struct np_catalog *catalog, size_t i)
{
	struct np_cat_app *app = catalog->apps.item[i];

	if (app->known)
		drop_index(catalog);
	set_to_read(catalog, app, false);
	drop_summary(app);
	app->exists = app->known = false;
	log_state_free(&app->logged);
	if (app->handle == NP_PROFILE_UNKNOWN) {
		cat_map_remove(&catalog->apps, i);
		return;
	}
	forget_predictions(catalog, app);
	app->stamp = (struct np_store_stamp){ .dev = 0 };
}

/* Make room for a new application, by removing one that it outranks. */
static bool make_room_for(struct np_catalog *catalog,
			  const struct np_cat_app *newcomer)
{
	struct np_cat_app *least = NULL;

	if (catalog->apps.n < MAX_APPS)
		return true;
	for (size_t i = 0; i < catalog->apps.n; i++) {
		struct np_cat_app *app = catalog->apps.item[i];

		if (!least || outranks(catalog, least, app))
			least = app;
	}
	if (!outranks(catalog, newcomer, least))
		return false;
	if (least->handle != NP_PROFILE_UNKNOWN) {
		forget_predictions(catalog, least);
		catalog->by_handle[least->handle] = NULL;
		least->handle = NP_PROFILE_UNKNOWN;
	}
	remove_app(catalog, cat_map_at(&catalog->apps, least->key.owner,
				       least->key.app));
	return true;
}

/* Add a new application; *out NULL: there is no room for it. */
static int add_app(struct np_catalog *catalog, int64_t owner,
		   const struct np_store_app *found, struct np_cat_app **out)
{
	struct np_cat_wanted *want =
		cat_map_find(&catalog->wanted, owner, found->name);
	struct np_cat_app like = {
		.key.owner = owner, .stamp = found->stamp, .exists = true,
		.wanted_until = want ? want->until : 0,
	}, *a;

	*out = NULL;
	if (!make_room_for(catalog, &like))
		return 0;
	a = cat_map_add(&catalog->apps, owner, found->name, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->handle = NP_PROFILE_UNKNOWN;
	a->wanted_until = like.wanted_until;
	*out = a;
	return 0;
}

/*
 * Compare a directory with what is known of its application, and mark it to be
 * read after a change.
 */
static int update_app(struct np_catalog *catalog, int64_t owner,
		      const struct np_store_app *found)
{
	struct np_cat_app *app =
		cat_map_find(&catalog->apps, owner, found->name);
	int rc = app ? 0 : add_app(catalog, owner, found, &app);

	if (!app)
		return rc;
	app->found = true;
	if (!app->exists && app->known)
		drop_index(catalog);
	app->exists = true;
	if (!same_stamp(&app->stamp, &found->stamp)) {
		app->stamp = found->stamp;
		app->read_since_change = false;
		app->reread_due = 0;
		set_to_read(catalog, app, true);
	} else if (app->reread_due && catalog_now(catalog) >= app->reread_due) {
		app->reread_due = 0;
		set_to_read(catalog, app, true);
	} else if (app->no_room && has_free_handle(catalog)) {
		set_to_read(catalog, app, true);
	}
	return 0;
}

/* An application of an owner who may have too many. */
struct choice {
	const struct np_store_app *app;
	bool wanted;
};

/* Order applications: wanted ones first, then the newest. */
static int wanted_then_newest(const void *p, const void *q)
{
	const struct choice *x = p, *y = q;
	int order = by_stamp(&x->app->stamp, &y->app->stamp);

	if (x->wanted != y->wanted)
		return x->wanted ? -1 : 1;
	return order ? order : strcmp(x->app->name, y->app->name);
}

/* Update the applications of an owner, within the limit for one owner. */
static int update_apps(struct np_catalog *catalog, int64_t owner,
		       const struct np_store_app *apps, size_t n)
{
	size_t most = owner == NP_CAT_PUBLISHED ? NP_CONFLICT_MAX_PROFILES :
						  NP_CATALOG_MAX_OF_USER;
	struct choice *choice = calloc(n + 1, sizeof(*choice));
	size_t n_choice = 0;
	int rc = choice ? 0 : -ENOMEM;

	for (size_t i = 0; choice && i < n; i++) {
		struct np_cat_wanted *want =
			cat_map_find(&catalog->wanted, owner, apps[i].name);

		/* Runs of the idle network are not an application. */
		if (strcmp(apps[i].name, NP_IDLE_APP))
			choice[n_choice++] = (struct choice){
				&apps[i],
				want && is_wanted(catalog, want->until)
			};
	}
	if (n_choice > most)
		qsort(choice, n_choice, sizeof(*choice), wanted_then_newest);
	for (size_t i = 0; !rc && i < n_choice && i < most; i++)
		rc = update_app(catalog, owner, choice[i].app);
	free(choice);
	return rc;
}

/* Update all applications of an owner, and remove those that are gone. */
static int update_owner(struct np_catalog *catalog, int64_t owner,
			const struct np_store_app *apps, size_t n)
{
	size_t first, count = apps_of(catalog, owner, &first);
	int rc;

	for (size_t i = 0; i < count; i++)
		((struct np_cat_app *)catalog->apps.item[first + i])->found =
			false;
	rc = update_apps(catalog, owner, apps, n);
	if (rc)
		return rc;
	count = apps_of(catalog, owner, &first);
	for (size_t i = first + count; i-- > first;) {
		struct np_cat_app *app = catalog->apps.item[i];

		if (!app->found && (app->exists || app->known ||
				    app->handle == NP_PROFILE_UNKNOWN))
			remove_app(catalog, i);
	}
	return 0;
}

/* Schedule the next scan, so that scans take a small share of the time. */
static void schedule_scan(struct np_catalog *catalog,
			  struct np_cat_owner *owner, double began)
{
	double now = catalog_now(catalog);
	bool wanted = is_wanted(catalog, owner->wanted_until);

	catalog->scan_sec += now - began - owner->scan_sec;
	owner->scan_sec = now - began;
	owner->due =
		now + fmax(wanted ? POLL_WANTED_SEC : POLL_SEC,
			   (is_urgent(catalog, owner) ? owner->scan_sec :
							catalog->scan_sec) /
				   MAX_SCAN_SHARE);
	catalog->idle_until[false] =
		fmin(catalog->idle_until[false], owner->due);
	catalog->idle_until[true] = fmin(catalog->idle_until[true], owner->due);
}

/* Scan the directory of one owner. */
static int scan_owner(struct np_catalog *catalog, struct np_cat_owner *owner,
		      struct np_err *err)
{
	bool public = owner->key.owner == NP_CAT_PUBLISHED;
	struct np_store_app *apps = NULL;
	struct np_err why = NP_ERR_INIT;
	double began = catalog_now(catalog);
	size_t n = 0;
	int rc = np_store_list_apps(catalog->store,
				    public ? NP_STORE_PUBLISHED : NP_STORE_USER,
				    (uid_t)owner->key.owner, &apps, &n, &why);

	if (rc && (public || rc == -ENOMEM))
		return np_errf(err, rc, "%s", why.text);
	/* That a user's directory is unusable affects only that user. */
	log_hourly_count(catalog, owner);
	begin_place(catalog, &owner->logged, owner);
	if (rc)
		log_problem(why.text, catalog);
	end_place(catalog);
	rc = update_owner(catalog, owner->key.owner, apps, n);
	free(apps);
	schedule_scan(catalog, owner, began);
	return rc ? np_errf(err, rc, "catalog: out of memory") : 0;
}

/*
 * Add new users, and remove those without a directory, unless they have jobs or
 * have to wait before more is read for them. Otherwise a user could rename the
 * directory and rename it back, to be read without waiting.
 */
static int update_owners(struct np_catalog *catalog, const uid_t *uids,
			 size_t n)
{
	for (size_t i = 0; i < catalog->owners.n; i++)
		((struct np_cat_owner *)catalog->owners.item[i])->listed =
			false;
	for (size_t i = 0; i < n; i++) {
		struct np_cat_owner *owner = owner_of(catalog, uids[i]);

		if (owner)
			owner->listed = true;
		else if (catalog->owners.n < NP_CAT_MAX_OWNERS)
			return -ENOMEM;
	}
	for (size_t i = catalog->owners.n; i-- > 0;) {
		struct np_cat_owner *owner = catalog->owners.item[i];
		int rc;

		if (owner->listed || is_urgent(catalog, owner) ||
		    owner->lines.until || !has_no_reading_debt(catalog, owner))
			continue;
		rc = update_owner(catalog, owner->key.owner, NULL, 0);
		if (rc)
			return rc;
		catalog->scan_sec -= owner->scan_sec;
		log_state_free(&owner->logged);
		cat_map_remove(&catalog->owners, i);
	}
	return 0;
}

/* Scan users/ for owners that are new or gone. */
static int scan_users(struct np_catalog *catalog, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	double began = catalog_now(catalog), now;
	uid_t *uids = NULL;
	size_t n = 0;
	int rc;

	begin_place(catalog, &catalog->users_logged, NULL);
	rc = np_store_uids(catalog->store, &uids, &n, log_problem, catalog,
			   &why);
	if (rc && rc != -ENOMEM)
		log_problem(why.text, catalog);
	end_place(catalog);
	if (rc == -ENOMEM)
		return np_errf(err, rc, "%s", why.text);
	rc = update_owners(catalog, uids, n);
	free(uids);
	now = catalog_now(catalog);
	catalog->users_due =
		now + fmax(POLL_SEC, (now - began) / MAX_SCAN_SHARE);
	return rc ? np_errf(err, rc, "catalog: out of memory") : 0;
}

/* Forget which applications exist, and scan everything again. */
static void rescan_everything(struct np_catalog *catalog)
{
	for (size_t i = 0; i < catalog->owners.n; i++)
		((struct np_cat_owner *)catalog->owners.item[i])->due = 0;
	for (size_t i = 0; i < catalog->apps.n; i++)
		((struct np_cat_app *)catalog->apps.item[i])->exists = false;
	catalog->users_due = catalog->idle_until[false] =
		catalog->idle_until[true] = 0;
	catalog->cursor[false] = catalog->cursor[true] =
		0; /* published/ is first */
	catalog->cal_due = 0;
	drop_index(catalog);
}

/* ---- reading an application's runs, and keeping their summary ---- */

/*
 * Whether more may be read for this owner. After each read, the owner has to
 * wait for a time proportional to the bytes read, so that a user who keeps
 * changing files, or links huge ones, does not take time from others.
 */
static bool may_read(const struct np_catalog *catalog,
		     const struct np_cat_owner *owner)
{
	return owner && (owner->key.owner == NP_CAT_PUBLISHED ||
			 owner->may_read_from <= catalog_now(catalog));
}

/* Make an owner wait for a time that depends on the bytes just read. */
static void charge_owner(const struct np_catalog *catalog,
			 struct np_cat_owner *owner, size_t bytes)
{
	double saved = catalog_now(catalog) - NP_CATALOG_SAVED_SEC;

	owner->may_read_from = fmax(owner->may_read_from, saved) +
			       fmax((double)bytes, NP_CATALOG_LEAST_BYTES) /
				       NP_CATALOG_BYTES_PER_SEC;
}

/* An application that may be read next, and its owner. */
struct candidate {
	const struct np_cat_owner *owner;
	struct np_cat_app *app;
};

/*
 * Whether a is read before b: wanted applications come first, then those of the
 * owner who has waited longest.
 */
static bool is_before(const struct np_catalog *catalog,
		      const struct candidate *a, const struct candidate *b)
{
	bool x = is_wanted(catalog, a->app->wanted_until);
	bool y = is_wanted(catalog, b->app->wanted_until);

	if (x != y)
		return x;
	if (a->owner->read_number != b->owner->read_number)
		return a->owner->read_number < b->owner->read_number;
	if (a->app->read_number != b->app->read_number)
		return a->app->read_number < b->app->read_number;
	return outranks(catalog, a->app, b->app);
}

/* Find the next application to be read, or NULL. Owners take turns. */
static struct np_cat_app *next_app(const struct np_catalog *catalog,
				   bool wanted)
{
	struct candidate best = { .app = NULL }, at = { .owner = NULL };

	for (size_t i = 0; catalog->n_to_read && i < catalog->apps.n; i++) {
		at.app = catalog->apps.item[i];
		if (!at.app->to_read || !at.app->exists ||
		    (wanted && !is_wanted(catalog, at.app->wanted_until)))
			continue;
		if (!at.owner || at.owner->key.owner != at.app->key.owner)
			at.owner = cat_map_find(&catalog->owners,
						at.app->key.owner, "");
		if (may_read(catalog, at.owner) &&
		    (!best.app || is_before(catalog, &at, &best)))
			best = at;
	}
	return best.app;
}

/*
 * Read and summarise an application, and set its fabric. *bytes: how much was
 * read. Returns 0, -ENODATA (the reason, if there is one, is logged) or
 * -ENOMEM.
 */
static int read_summary(struct np_catalog *catalog, struct np_cat_app *app,
			struct np_run_summary *out, size_t *bytes)
{
	struct np_run_summary_opt opt = { .calibration = NULL };
	struct np_err why = NP_ERR_INIT;
	struct np_runs runs;
	int rc = np_store_load(catalog->store,
			       app->key.owner == NP_CAT_PUBLISHED ?
				       NP_STORE_PUBLISHED :
				       NP_STORE_USER,
			       (uid_t)app->key.owner, app->key.app, log_problem,
			       catalog, &runs, &why);

	*bytes = rc ? 0 : runs.bytes;
	if (!rc) {
		app->fabric = fabric_of(catalog, &runs);
		opt.calibration = &catalog->fabrics[app->fabric].cal;
		rc = np_run_summary_make(&runs, &opt, out);
		if (!rc) /* there may be a thousand runs: keep none of them */
			np_run_summary_detach(out, app->key.app);
		np_runs_free(&runs);
		if (rc)
			return rc;
		rc = np_program_check(&out->program, opt.calibration->fabric,
				      &why);
		if (!rc && np_run_summary_has_data(out))
			return 0;
		np_run_summary_free(out);
	}
	if (rc == -ENOMEM)
		return rc;
	if (rc && rc != -ENOENT)
		log_problem(why.text, catalog);
	return -ENODATA;
}

/* Replace the summary of an application; NULL: it has none. */
static int replace_summary(struct np_catalog *catalog, struct np_cat_app *app,
			   const struct np_run_summary *summary,
			   struct np_err *err)
{
	bool known = app->known;
	int rc = 0;

	drop_summary(app);
	forget_predictions(catalog, app);
	app->known = app->no_room = false;
	if (summary) {
		app->summary = *summary;
		app->usable = app->known = true;
		if (app->handle == NP_PROFILE_UNKNOWN)
			rc = assign_handle(catalog, app, err);
	}
	if (rc || app->no_room) {
		drop_summary(app);
		app->known = false;
	} else if (app->known) {
		np_conflict_set_rails(catalog->conflict, (uint32_t)app->handle,
				      app->summary.rails);
	}
	/* The new runs may agree with a published name, or contradict it. */
	if (app->known || known)
		drop_index(catalog);
	return rc;
}

/* Read one application and replace its summary. */
static int read_app(struct np_catalog *catalog, struct np_cat_app *app,
		    struct np_err *err)
{
	struct np_cat_owner *owner = owner_of(catalog, app->key.owner);
	struct np_run_summary summary;
	size_t bytes;
	int rc;

	begin_place(catalog, &app->logged, owner);
	rc = read_summary(catalog, app, &summary, &bytes);
	end_place(catalog);
	app->read_number = ++catalog->read_number;
	if (owner) {
		owner->read_number = catalog->read_number;
		charge_owner(catalog, owner, bytes);
	}
	if (rc == -ENOMEM)
		return np_errf(err, rc, "%s: out of memory", app->key.app);
	if (!app->read_since_change && np_store_is_racy(&app->stamp))
		app->reread_due = catalog_now(catalog) + NP_STORE_RACY_SEC;
	app->read_since_change = true;
	rc = replace_summary(catalog, app, rc ? NULL : &summary, err);
	set_to_read(catalog, app, rc != 0);
	return rc;
}

/* ---- asking the models ---- */

#define WANTED_SEC 600.0
#define MAX_WANTED 32768   /* two for each user and application */
#define NEGLIGIBLE 0.01	   /* smaller slowdowns are noise */
#define SLICE_QUESTIONS 64 /* between two looks at the clock */

/*
 * Predict a slowdown with the default model. Only for a slowdown that means a
 * conflict, an interval is computed: it shows whether the prediction is
 * doubtful.
 */
static int predict(void *arg, uint32_t victim, uint32_t co,
		   enum np_contact contact, double *slowdown)
{
	struct np_catalog *catalog = arg;
	const struct np_cat_app *v = catalog->by_handle[victim];
	const struct np_cat_app *x = catalog->by_handle[co];
	enum np_scope scope = (enum np_scope)contact; /* same order */
	const struct fabric *fabric;
	const struct np_mean *sharing;
	const struct np_program *program;
	struct np_prediction p;
	int rc;

	catalog->changed = true;
	/* Levels of two calibrations cannot be compared. */
	if (!v || !x || !v->usable || !x->usable || v->fabric != x->fabric)
		return -ENODATA;
	fabric = &catalog->fabrics[v->fabric];
	sharing = &fabric->cal.fabric->sharing[scope];
	/* Without a measurement at that scope, nothing is assumed. */
	if (!np_mean_known(sharing))
		return -ENODATA;
	if (np_sharing_coef_none(sharing)) {
		*slowdown = 0;
		return 0;
	}
	program = &x->summary.program;
	rc = np_predict(fabric->models, &v->summary.program, &program, 1, scope,
			&p, NULL);
	if (!rc && p.slowdown > catalog->conf.max_slowdown)
		rc = np_predict(fabric->checked, &v->summary.program, &program,
				1, scope, &p, NULL);
	if (rc)
		return rc;
	if (p.flags & NP_PRED_DOUBTFUL && !catalog->accepts_doubtful)
		return -ENODATA;
	*slowdown = p.slowdown;
	return 0;
}

int np_catalog_new(const char *store_dir, const char *cluster,
		   const struct np_place_conf *conf, struct np_catalog **out,
		   struct np_err *err)
{
	struct np_catalog *catalog = calloc(1, sizeof(*catalog));
	const struct np_oracle oracle = { predict, catalog };

	if (catalog) {
		catalog->store_dir = strdup(store_dir);
		catalog->cluster = strdup(cluster);
		catalog->conf = *conf;
		np_clock_init(&catalog->real, -1);
		catalog->clock = &catalog->real;
		catalog->conflict = np_conflict_new(&oracle);
	}
	if (!catalog || !catalog->store_dir || !catalog->cluster ||
	    !catalog->conflict || !owner_of(catalog, NP_CAT_PUBLISHED)) {
		np_catalog_free(catalog);
		return np_errf(err, -ENOMEM, "catalog: out of memory");
	}
	*out = catalog;
	return 0;
}

void np_catalog_free(struct np_catalog *catalog)
{
	if (!catalog)
		return;
	np_app_index_unref(catalog->index);
	np_conflict_free(catalog->conflict);
	close_fabrics(catalog);
	for (size_t i = 0; i < catalog->apps.n; i++) {
		struct np_cat_app *app = catalog->apps.item[i];

		drop_summary(app);
		log_state_free(&app->logged);
	}
	for (size_t i = 0; i < catalog->owners.n; i++)
		log_state_free(&((struct np_cat_owner *)catalog->owners.item[i])
					->logged);
	cat_map_free(&catalog->apps);
	cat_map_free(&catalog->owners);
	cat_map_free(&catalog->wanted);
	log_state_free(&catalog->users_logged);
	log_state_free(&catalog->cal_logged);
	np_group_cache_free(&catalog->groups_of_users);
	free(catalog->store_dir);
	free(catalog->cluster);
	free(catalog);
}

void np_catalog_set_clock(struct np_catalog *catalog,
			  const struct np_clock *clock)
{
	catalog->clock = clock;
}

/*
 * Register that jobs of an application exist, even if it was not found yet.
 * Returns whether it has to be read, or asked about.
 */
static bool mark_wanted(struct np_catalog *catalog, int64_t owner,
			const char *app, double until)
{
	struct np_cat_wanted *want = cat_map_find(&catalog->wanted, owner, app);
	struct np_cat_app *item = cat_map_find(&catalog->apps, owner, app);
	bool news;

	if (!want && catalog->wanted.n < MAX_WANTED)
		want = cat_map_add(&catalog->wanted, owner, app, sizeof(*want));
	if (want)
		want->until = until;
	if (!item)
		return false;
	news = !is_wanted(catalog, item->wanted_until);
	if (news) {
		catalog->predicted_wanted = catalog->predicted_all;
		if (item->no_room && item->exists)
			set_to_read(catalog, item, true);
	}
	item->wanted_until = until;
	return news && (item->to_read || !catalog->predicted_wanted);
}

bool np_catalog_expect_job(struct np_catalog *catalog, const char *app,
			   uint32_t uid)
{
	double now = catalog_now(catalog), until = now + WANTED_SEC;
	struct np_cat_owner *owner;
	bool news;

	if (np_app_check(app, NULL) || !strcmp(app, NP_IDLE_APP))
		return false;
	owner = owner_of(catalog, uid);
	news = owner && !is_wanted(catalog, owner->wanted_until);
	if (news) {
		owner->due = 0;
		catalog->idle_until[false] = catalog->idle_until[true] = 0;
	}
	if (owner)
		owner->wanted_until = until;
	if (np_auth_needs_groups(catalog->conf.auth_rule,
				 catalog->conf.n_auth_rules))
		np_group_cache_add(&catalog->groups_of_users, uid, now);
	news |= mark_wanted(catalog, NP_CAT_PUBLISHED, app, until);
	return mark_wanted(catalog, uid, app, until) || news;
}

/* Forget the applications that have no jobs any more. */
static void purge_wanted(struct np_catalog *catalog)
{
	size_t n = 0;

	for (size_t i = 0; i < catalog->wanted.n; i++) {
		struct np_cat_wanted *want = catalog->wanted.item[i];

		if (is_wanted(catalog, want->until))
			catalog->wanted.item[n++] = want;
		else
			free(want);
	}
	catalog->wanted.n = n;
}

/*
 * List the handles about which the models can be asked now. If an application
 * does not exist, they have no answer, which counts as one. If it has yet to
 * be read, it has to wait.
 */
static size_t to_predict(const struct np_catalog *catalog, bool wanted,
			 uint32_t *list)
{
	size_t n = 0;

	for (uint32_t h = 0; h < catalog->n_handles; h++) {
		const struct np_cat_app *app = catalog->by_handle[h];

		if (wanted ? app && app->usable && app->exists &&
				     is_wanted(catalog, app->wanted_until) :
			     !app || app->usable || !app->to_read)
			list[n++] = h;
	}
	return n;
}

/* Ask the models for some of the missing answers, on wanted or all handles. */
static void predict_slice(struct np_catalog *catalog, bool wanted)
{
	uint32_t list[NP_CONFLICT_MAX_PROFILES];
	size_t n = to_predict(catalog, wanted, list);
	size_t missing = np_conflict_predict(catalog->conflict, list, n,
					     SLICE_QUESTIONS);

	if (missing)
		return;
	catalog->predicted_wanted = true;
	if (!wanted)
		catalog->predicted_all = true;
}

/* ---- a refresh ---- */

/* One thing to do in a refresh. */
struct todo {
	enum { NOTHING, SCAN_OWNER, SCAN_USERS, READ_APP, PREDICT } what;
	struct np_cat_owner *owner;
	struct np_cat_app *app;
	bool wanted;
};

/* Find out what to do next: first for wanted applications, then for all. */
static struct todo next_todo(struct np_catalog *catalog)
{
	struct todo todo = { .what = NOTHING };

	for (int rest = 0; rest < 2; rest++) {
		bool predicted = rest ? catalog->predicted_all :
					catalog->predicted_wanted;

		todo.wanted = !rest;
		if (rest && catalog_now(catalog) >= catalog->users_due)
			todo.what = SCAN_USERS;
		else if ((todo.owner = next_owner(catalog, todo.wanted)))
			todo.what = SCAN_OWNER;
		else if (catalog->predict_next && !predicted)
			todo.what = PREDICT; /* even if reading never ends */
		else if ((todo.app = next_app(catalog, todo.wanted)))
			todo.what = READ_APP;
		else if (!predicted)
			todo.what = PREDICT;
		if (todo.what != NOTHING)
			break;
	}
	return todo;
}

/* Do one thing. */
static int run_todo(struct np_catalog *catalog, const struct todo *todo,
		    struct np_err *err)
{
	if (todo->what == READ_APP || todo->what == PREDICT)
		catalog->predict_next = todo->what == READ_APP;
	switch (todo->what) {
	case NOTHING:
		break;
	case SCAN_OWNER:
		return scan_owner(catalog, todo->owner, err);
	case SCAN_USERS:
		return scan_users(catalog, err);
	case READ_APP:
		return read_app(catalog, todo->app, err);
	case PREDICT:
		predict_slice(catalog, todo->wanted);
		break;
	}
	return 0;
}

/* Do one thing after the other until a time, but at least one. */
static int work_until(struct np_catalog *catalog, double until, bool *more,
		      struct np_err *err)
{
	struct todo todo = next_todo(catalog);
	int rc = 0;

	do {
		rc = run_todo(catalog, &todo, err);
		if (!rc)
			todo = next_todo(catalog);
	} while (!rc && todo.what != NOTHING && catalog_now(catalog) < until);
	*more = !rc && todo.what != NOTHING;
	return rc;
}

/* After a failure, use nothing until it is scanned and read again. */
static void mark_unusable(struct np_catalog *catalog, const struct np_err *why)
{
	catalog->why = *why;
	if (catalog->trouble)
		return;
	catalog->trouble = true;
	rescan_everything(catalog);
}

/* Open the store and refresh the catalog. */
static int refresh(struct np_catalog *catalog, double until, bool *more,
		   struct np_err *err)
{
	int rc = np_store_open(catalog->store_dir, &catalog->store, err);

	if (rc)
		return rc;
	rc = refresh_calibration(catalog, err);
	if (!rc)
		rc = work_until(catalog, until, more, err);
	if (!rc && catalog->trouble) {
		catalog->trouble = false;
		drop_index(catalog);
	}
	np_store_close(catalog->store);
	catalog->store = NULL;
	return rc;
}

void np_catalog_refresh_groups(struct np_catalog *catalog, double budget_sec)
{
	const struct np_place_conf *p = &catalog->conf;

	if (np_group_cache_refresh(&catalog->groups_of_users, p->auth_rule,
				   p->n_auth_rules, groups_by_uid,
				   catalog->clock,
				   catalog_now(catalog) + budget_sec))
		drop_index(catalog);
}

int np_catalog_refresh(struct np_catalog *catalog, double budget_sec,
		       np_store_warn_f *warn, void *arg, bool *changed,
		       bool *more, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	int rc;

	catalog->warn = warn;
	catalog->warn_arg = arg;
	catalog->n_warned = 0;
	*more = false;
	purge_wanted(catalog);
	rc = refresh(catalog, catalog_now(catalog) + budget_sec, more, &why);
	if (rc) {
		mark_unusable(catalog, &why);
		np_errf(err, rc, "%s", why.text);
	}
	*changed = catalog->changed;
	catalog->changed = false;
	return rc;
}

/* ---- results for the placement decision ---- */

void np_catalog_accept_doubtful(struct np_catalog *catalog)
{
	catalog->accepts_doubtful = true;
	catalog->predicted_wanted = catalog->predicted_all = false;
	for (uint32_t h = 0; h < catalog->n_handles; h++)
		np_conflict_forget(catalog->conflict, h);
}

int np_catalog_table(struct np_catalog *catalog, struct np_slowdowns **out,
		     struct np_err *err)
{
	return np_conflict_table(catalog->conflict,
				 fmin(NEGLIGIBLE, catalog->conf.max_slowdown),
				 out, err);
}

/*
 * Check whether a user's own runs agree with the published profile of that name
 * or contradict it. If they cannot be compared at present, nothing changes.
 */
static void check_published_name(struct np_catalog *catalog,
				 struct np_cat_app *own)
{
	const struct np_cat_app *p =
		cat_map_find(&catalog->apps, NP_CAT_PUBLISHED, own->key.app);
	enum np_consistency consistency = NP_CONSISTENCY_UNKNOWN;

	if (p && p->exists && p->known) {
		if (!own->usable || !p->usable)
			return;
		if (own->fabric == p->fabric)
			consistency = np_consistency_check(
				&own->summary, &p->summary,
				catalog->fabrics[p->fabric].cal.fabric,
				own->refuted, sizeof(own->refuted));
	}
	own->agrees = consistency == NP_CONSISTENCY_AGREES;
	if (consistency != NP_CONSISTENCY_REFUTED)
		own->refuted[0] = '\0';
}

/* Set agrees and refuted of each application of a user. */
static void check_own_runs(struct np_catalog *catalog)
{
	for (size_t i = 0; i < catalog->apps.n; i++) {
		struct np_cat_app *app = catalog->apps.item[i];

		if (app->key.owner != NP_CAT_PUBLISHED && app->exists &&
		    app->known)
			check_published_name(catalog, app);
	}
}

/* Make the index of all known applications. */
static int make_index(struct np_catalog *catalog, struct np_app_index **out)
{
	size_t n_apps = catalog->trouble ? 0 : catalog->apps.n, n = 0,
	       n_users = 0;
	struct np_auth_user *user =
		np_group_cache_list(&catalog->groups_of_users, &n_users);
	const struct np_auth_rules auth = {
		catalog->conf.auth_rule,
		catalog->conf.n_auth_rules,
		user,
		n_users,
	};
	struct np_app_entry *entry =
		calloc(catalog->n_handles + 1, sizeof(*entry));
	int32_t unknown = NP_PROFILE_UNKNOWN;
	int rc = -ENOMEM;

	check_own_runs(catalog);
	for (size_t i = 0; entry && i < n_apps; i++) {
		const struct np_cat_app *app = catalog->apps.item[i];
		bool published = app->key.owner == NP_CAT_PUBLISHED;

		if (!app->exists || !app->known)
			continue;
		entry[n] = (struct np_app_entry){
			.published = published,
			.profile = app->handle,
			.uid = published ? 0 : (uint32_t)app->key.owner,
		};
		entry[n].agrees = app->agrees;
		strcpy(entry[n].refuted, app->refuted);
		strcpy(entry[n++].app, app->key.app);
		if (published &&
		    !strcmp(app->key.app, catalog->conf.unknown_as))
			unknown = app->handle;
	}
	if (entry && user)
		rc = np_app_index_new(entry, n, unknown, &auth, out);
	free(user);
	free(entry);
	return rc;
}

int np_catalog_index(struct np_catalog *catalog, struct np_app_index **out)
{
	int rc = catalog->index ? 0 : make_index(catalog, &catalog->index);

	if (!rc)
		*out = np_app_index_ref(catalog->index);
	return rc;
}

const char *np_catalog_fabric(const struct np_catalog *catalog)
{
	return catalog->trouble	  ? catalog->why.text :
	       catalog->n_fabrics ? catalog->described.text :
				    "not read yet";
}
