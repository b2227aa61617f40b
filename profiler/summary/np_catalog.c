#include "np_catalog.h"

#include <errno.h>
#include <fnmatch.h>
#include <grp.h>
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
#include "np_snapshot.h"
#include "np_text.h"

/* ---- who may use a published name ---- */

#define MAX_TEXT 1024 /* longest text matched; users choose it */

static bool matches(const char *pattern, const char *text)
{
	return text && *text && strnlen(text, MAX_TEXT + 1) <= MAX_TEXT &&
	       !fnmatch(pattern, text, 0);
}

static enum np_auth_match evaluate_rule(const struct np_auth_rule *r, size_t i,
					const struct np_auth_request *who,
					const struct np_auth_user *user)
{
	bool yes = false;

	switch (r->by) {
	case NP_AUTH_BY_ALL:
		yes = true;
		break;
	case NP_AUTH_BY_DEFAULT:
		return NP_AUTH_NO_RULE;
	case NP_AUTH_BY_USER:
		yes = r->id == who->uid;
		break;
	case NP_AUTH_BY_GROUP:
		if (!user)
			return NP_AUTH_UNKNOWN;
		yes = user->groups >> i & 1;
		break;
	case NP_AUTH_BY_ACCOUNT:
		if (!who->account)
			return NP_AUTH_UNKNOWN;
		yes = matches(r->name, who->account);
		break;
	case NP_AUTH_BY_PARTITION:
		yes = matches(r->name, who->partition);
		break;
	}
	return yes ? NP_AUTH_ALLOWED : NP_AUTH_FORBIDDEN;
}

enum np_auth_match np_auth_check(const struct np_auth_rule *rule, size_t n,
				 const char *app,
				 const struct np_auth_request *who,
				 const struct np_auth_user *user)
{
	/* number of rules by answer */
	size_t found[] = { [NP_AUTH_UNKNOWN] = 0 };

	for (size_t i = 0; i < n; i++)
		if (matches(rule[i].pattern, app))
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

/* ---- groups of users ---- */

#define PW_BYTES 16384 /* bytes for one entry of the user database */
#define GROUPS 64      /* groups of one user, at first */

static int groups_of_name(const char *user, gid_t own, uint32_t **gid,
			  size_t *n)
{
	gid_t *list = NULL;
	int count = GROUPS, room;

	do {
		gid_t *grown = reallocarray(list, (size_t)count,
					    sizeof(*grown));

		if (!grown) {
			free(list);
			return -ENOMEM;
		}
		list = grown;
		room = count;
		/* It returns the number of groups if they do not fit. */
	} while (getgrouplist(user, own, list, &count) < 0 && count > room);
	*n = (size_t)(count < room ? count : room);
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

/* Groups of users without a job for longer are not looked up. */
#define GROUPS_WANTED_SEC 60.0

void np_group_cache_free(struct np_group_cache *m)
{
	free(m->at);
	*m = (struct np_group_cache){ .n = 0 };
}

/* Index of the first user that does not precede uid. */
static size_t place_of(const struct np_group_cache *m, uint32_t uid)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->at[mid].user.uid < uid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void drop_oldest(struct np_group_cache *m)
{
	size_t oldest = 0;

	for (size_t i = 1; i < m->n; i++)
		if (m->at[i].wanted < m->at[oldest].wanted)
			oldest = i;
	m->n--;
	memmove(m->at + oldest, m->at + oldest + 1,
		(m->n - oldest) * sizeof(*m->at));
}

static bool make_room(struct np_group_cache *m)
{
	if (m->n == NP_GROUP_CACHE_MAX)
		drop_oldest(m);
	return !np_array_grow(&m->at, m->n, sizeof(*m->at));
}

void np_group_cache_add(struct np_group_cache *m, uint32_t uid, double now)
{
	size_t i = place_of(m, uid);

	if (i == m->n || m->at[i].user.uid != uid) {
		if (!make_room(m))
			return;
		i = place_of(m, uid);
		memmove(m->at + i + 1, m->at + i, (m->n - i) * sizeof(*m->at));
		m->at[i] = (struct np_group_cache_entry){ .user.uid = uid };
		m->n++;
	}
	m->at[i].wanted = now;
}

/* A user that does not exist is known, too: to be in no group. */
static bool query(struct np_group_cache_entry *one,
		  const struct np_auth_rule *rule, size_t n,
		  np_groups_f *groups_of, const struct np_clock *clock)
{
	uint32_t *gid = NULL;
	size_t n_gids = 0;
	int rc = groups_of(one->user.uid, &gid, &n_gids);
	uint64_t groups = np_auth_groups(rule, n, gid, n_gids);
	bool answered = !rc || rc == -ENOENT, changed;

	free(gid);
	one->due = clock->now_sec(clock) + (answered ? NP_GROUP_CACHE_FRESH_SEC :
						       NP_GROUP_CACHE_RETRY_SEC);
	if (!answered)
		return false;
	changed = !one->known || one->user.groups != groups;
	one->user.groups = groups;
	one->known = true;
	return changed;
}

/*
 * Two passes: the users never asked about get at least
 * NP_GROUP_CACHE_FIRST_SEC, even if `until` is earlier; then those whose answer
 * is old.
 */
bool np_group_cache_refresh(struct np_group_cache *m,
			    const struct np_auth_rule *rule, size_t n,
			    np_groups_f *groups_of,
			    const struct np_clock *clock, double until)
{
	double now = clock->now_sec(clock);
	double first = now + NP_GROUP_CACHE_FIRST_SEC;
	bool changed = false;

	for (int refresh = 0; refresh < 2; refresh++) {
		double end = refresh ? until : first > until ? first : until;

		for (size_t i = 0; i < m->n; i++) {
			struct np_group_cache_entry *one = &m->at[i];

			if (one->known != refresh || one->due > now ||
			    now - one->wanted > GROUPS_WANTED_SEC)
				continue;
			if (clock->now_sec(clock) >= end)
				break;
			changed |= query(one, rule, n, groups_of, clock);
		}
	}
	return changed;
}

struct np_auth_user *np_group_cache_list(const struct np_group_cache *m,
					 size_t *n)
{
	struct np_auth_user *list = calloc(m->n + 1, sizeof(*list));

	*n = 0;
	for (size_t i = 0; list && i < m->n; i++)
		if (m->at[i].known)
			list[(*n)++] = m->at[i].user;
	return list;
}

/*
 * A refresh goes through sections of this file: it loads the calibration, lists
 * the applications and finds changed ones, reads an application and summarises
 * it for the models, and asks these for slowdowns.
 *
 * Names: a "wanted" application or owner is one that existing jobs use; a
 * "place" is a directory whose problems are logged.
 */

#define NP_CAT_PUBLISHED (-1) /* owner of the published applications */
#define NP_CAT_MAX_OWNERS 131072

/* Owner and application; the first member of every item of a map. */
struct np_cat_key {
	int64_t owner; /* uid, or NP_CAT_PUBLISHED */
	char app[NP_APP_MAX + 1];
};

/* Items, sorted by key. */
struct np_cat_map {
	void **item; /* each begins with its key */
	size_t n, room;
};

/* Log lines about a place, as hashes: of its last reading, and of this one. */
struct log_state {
	uint64_t *old, *now;
	size_t n_old, n_now;
};

/* Jobs of this owner and application exist, until a date. */
struct np_cat_want {
	struct np_cat_key key;
	double until;
};

/* Log lines about an owner's files within an hour. */
struct owner_lines {
	double until;	     /* end of the hour; 0: no line yet */
	size_t logged, counted; /* lines written; only counted */
};

/* A user, or the published applications: a directory in the store. */
struct np_cat_owner {
	struct np_cat_key key;
	double due;	     /* time of the next look at the directory */
	double cost_sec;     /* duration of the last look */
	double wanted_until; /* jobs of the user exist until then */
	double paid_until;   /* nothing more is read before then */
	uint64_t turn;	     /* of the last reading; longest ago is next */
	bool listed;	     /* has a directory */
	struct log_state logged;
	struct owner_lines lines;
};

struct np_cat_app {
	struct np_cat_key key;
	struct np_store_stamp stamp;
	double wanted_until; /* jobs of it exist until then */
	double again;  /* time to read again, as np_store_is_racy(); 0: not */
	uint64_t turn; /* of its last reading; 0: never read */
	bool stamped;  /* it was read after the stamp changed */
	bool seen;     /* by the look in progress */
	bool there;    /* the last look saw it */
	bool to_read;
	bool known;	/* goes into the index */
	bool usable;	/* summary is for the calibration in use */
	bool no_room;	/* no handle was free for it */
	int32_t handle; /* NP_PROFILE_UNKNOWN: none */
	size_t fabric;	/* on which it was measured */
	struct np_run_summary summary;
	bool agrees; /* as in struct np_app_entry */
	char refuted[NP_APP_WHY];
	struct log_state logged;
};

/* Calibrations in use: of several rails, or networks of partitions. */
#define MAX_FABRICS 4
#define MAX_UNCALIBRATED 8

struct fabric {
	struct np_calibration cal;
	struct np_predictor *models;  /* without intervals, fast */
	struct np_predictor *checked; /* with intervals, for conflicts */
};

struct np_catalog {
	char *store_dir, *cluster;
	struct np_place_conf conf;
	const struct np_clock *clock;
	struct np_clock real;

	struct np_cat_map owners, apps, wants;
	size_t n_to_read;
	uint64_t turn;	      /* number of the last reading */
	double uids_due;      /* time of the next look at users/ */
	double cost_sec;      /* of looking at every owner once */
	double idle_until[2]; /* no owner is due before: [wanted only] */
	size_t cursor[2];     /* last owner found: [wanted only] */
	struct log_state uids_logged;

	/* The newest calibration, then those of other fabrics that programs
	   use; none: not calibrated. */
	struct fabric fabrics[MAX_FABRICS];
	size_t n_fabrics;
	/* Rails and transports without a calibration: the first one counts. */
	char uncalibrated[MAX_UNCALIBRATED][160];
	size_t n_uncalibrated;
	struct np_store_stamp cal_stamp;
	double cal_due, cal_again; /* next look; second reading if racy, or 0 */
	int cal_rc;		   /* of the last attempt to load it */
	struct np_err cal_err;
	struct log_state cal_logged;
	struct np_err described; /* the newest calibration in words */

	struct np_conflict *conflict;
	struct np_cat_app *by_handle[NP_CONFLICT_MAX_PROFILES];
	size_t n_handles;
	bool predicted_wanted,
		predicted_all; /* no answer of these is missing */
	bool predict_next;     /* ask before the next reading */
	bool accepts_doubtful;

	struct np_group_cache members; /* of groups named by Claim= */

	bool trouble; /* nothing can be used, because of why */
	struct np_err why;
	bool changed;		    /* since the last refresh */
	struct np_app_index *index; /* NULL: out of date */

	/* Valid during a refresh. */
	struct np_store *store;
	np_store_warn_f *warn;
	void *warn_arg;
	size_t n_warned;
	struct log_state *saying;    /* the place being read */
	struct np_cat_owner *teller; /* its owner, or NULL */
};

/* ---- the index ---- */

struct np_app_index {
	atomic_uint refs;
	int32_t unknown;
	struct np_auth_rules auth; /* its lists are owned */
	size_t n;
	struct np_app_entry entry[]; /* sorted by app_index_compare() */
};

/* Order of entries: by name, published ones first, then by uid. */
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

static void free_index(struct np_app_index *x)
{
	free((void *)x->auth.rule);
	free((void *)x->auth.user);
	free(x);
}

/* A copy of a list, with room for one more, so that it is never NULL. */
static const void *copy_list(const void *list, size_t n, size_t size)
{
	void *all = calloc(n + 1, size);

	return all && n ? memcpy(all, list, n * size) : all;
}

/* Copy the rules and users, as the index outlives the configuration. */
static int copy_auth(struct np_app_index *x, const struct np_auth_rules *c)
{
	x->auth = *c;
	x->auth.rule = copy_list(c->rule, c->n_rules, sizeof(*c->rule));
	x->auth.user = copy_list(c->user, c->n_users, sizeof(*c->user));
	return x->auth.rule && x->auth.user ? 0 : -ENOMEM;
}

int np_app_index_new(const struct np_app_entry *entry, size_t n,
		     int32_t unknown, const struct np_auth_rules *auth,
		     struct np_app_index **out)
{
	struct np_app_index *x = calloc(1, sizeof(*x) + n * sizeof(*entry));
	int rc;

	if (!x)
		return -ENOMEM;
	atomic_init(&x->refs, 1);
	x->unknown = unknown;
	x->n = n;
	if (n) {
		memcpy(x->entry, entry, n * sizeof(*entry));
		qsort(x->entry, n, sizeof(*entry), app_index_compare);
	}
	rc = auth ? copy_auth(x, auth) : 0;
	if (rc)
		free_index(x);
	else
		*out = x;
	return rc;
}

struct np_app_index *np_app_index_ref(struct np_app_index *x)
{
	if (x)
		atomic_fetch_add(&x->refs, 1);
	return x;
}

void np_app_index_unref(struct np_app_index *x)
{
	if (x && atomic_fetch_sub(&x->refs, 1) == 1)
		free_index(x);
}

/* The entry of a published profile, or of a user's own. */
static const struct np_app_entry *entry_of(const struct np_app_index *x,
					   const char *app, bool published,
					   uint32_t uid)
{
	struct np_app_entry key = { .published = published, .uid = uid };

	if (strlen(app) > NP_APP_MAX)
		return NULL;
	strcpy(key.app, app);
	return bsearch(&key, x->entry, x->n, sizeof(key), app_index_compare);
}

int32_t np_app_index_find(const struct np_app_index *x, const char *app,
			  uint32_t uid)
{
	const struct np_app_entry *found = entry_of(x, app, true, 0);

	if (!found)
		found = entry_of(x, app, false, uid);
	return found ? found->profile : NP_PROFILE_UNKNOWN;
}

/*
 * May a user use a published name?  Claim= decides first, then the
 * user's own runs.
 */
static enum np_auth app_index_judge(const struct np_app_index *x,
				    const char *app,
				    const struct np_auth_request *who)
{
	const struct np_auth_user key = { .uid = who->uid };
	const struct np_auth_rules *c = &x->auth;
	const struct np_auth_user *user =
		c->n_users ? bsearch(&key, c->user, c->n_users, sizeof(key),
				     np_order_u32) :
			     NULL;
	const struct np_app_entry *own;

	switch (np_auth_check(c->rule, c->n_rules, app, who, user)) {
	case NP_AUTH_ALLOWED:
		return NP_AUTH_GRANTED;
	case NP_AUTH_FORBIDDEN:
		return NP_AUTH_DENIED;
	case NP_AUTH_UNKNOWN:
		return NP_AUTH_PENDING;
	case NP_AUTH_NO_RULE:
		break;
	}
	own = entry_of(x, app, false, who->uid);
	return own && *own->refuted ? NP_AUTH_CONTRADICTED :
	       own && own->agrees   ? NP_AUTH_GRANTED :
				      NP_AUTH_OWN_JOBS;
}

int32_t np_app_index_of_job(const struct np_app_index *x, const char *app,
			    const struct np_auth_request *who,
			    enum np_auth *auth)
{
	const struct np_app_entry *found = entry_of(x, app, true, 0);

	*auth = found ? app_index_judge(x, app, who) : NP_AUTH_GRANTED;
	if (!found)
		found = entry_of(x, app, false, who->uid);
	return found && np_auth_counts(*auth) ? found->profile :
						NP_PROFILE_UNKNOWN;
}

const char *np_app_index_why(const struct np_app_index *x, const char *app,
			     uint32_t uid, enum np_auth auth)
{
	static const char *const why[] = {
		[NP_AUTH_GRANTED] = "nothing speaks against it",
		[NP_AUTH_DENIED] = "Claim= in netprof.conf names others",
		[NP_AUTH_CONTRADICTED] = "other figures",
		[NP_AUTH_OWN_JOBS] = "neither Claim= nor own runs speak for it",
		[NP_AUTH_PENDING] = "groups that Claim= names are not known",
	};
	const struct np_app_entry *own = auth == NP_AUTH_CONTRADICTED ?
						 entry_of(x, app, false, uid) :
						 NULL;

	return own && *own->refuted ? own->refuted : why[auth];
}

int32_t np_app_index_unknown(const struct np_app_index *x)
{
	return x->unknown;
}

size_t np_app_index_n(const struct np_app_index *x)
{
	return x->n;
}

/* ---- comparing a user's own runs with the published profile ---- */

#define OWN_ERRORS 2.0 /* standard errors of the user's own mean */

/* Compare the mean latencies of a user's own runs and of the profile. */
static enum np_consistency latency_backs(const struct np_run_summary *own,
					 const struct np_run_summary *published,
					 char *why, size_t len)
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
	snprintf(why, len,
		 "mean latency %.3g us, published %.3g us, give or "
		 "take %.2g us",
		 1e6 * a->mean, 1e6 * b->mean, 1e6 * spread);
	return NP_CONSISTENCY_REFUTED;
}

/* Compare two lists of slowdowns; NULL: none is known. */
static enum np_consistency slowdowns_back(const struct np_mean *own,
					  const struct np_mean *published,
					  const struct np_fabric *f,
					  const char *what, char *why,
					  size_t len)
{
	enum np_consistency consistency = NP_CONSISTENCY_UNKNOWN;
	size_t n = own && published ? f->n_levels : 0;
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
			 "%s level %.16s %.0f %%, published %.0f %%, "
			 "give or take %.0f",
			 what, f->level[i].name, 100 * a->mean, 100 * b->mean,
			 100 * (1 + b->mean) * expm1(most));
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
					 const struct np_fabric *f, char *why,
					 size_t len)
{
	const struct np_program *a = &own->program, *b = &published->program;
	enum np_consistency so_far = latency_backs(own, published, why, len);

	if (so_far != NP_CONSISTENCY_REFUTED)
		so_far =
			stronger(so_far, slowdowns_back(a->curve, b->curve, f,
							"slowed by", why, len));
	if (so_far != NP_CONSISTENCY_REFUTED)
		so_far = stronger(so_far, slowdowns_back(a->impact, b->impact,
							 f, "slows", why, len));
	return so_far;
}

/* ---- maps: sorted pointers to items by owner and application ---- */

static int item_compare(const void *item, int64_t owner, const char *app)
{
	const struct np_cat_key *k = item;

	if (k->owner != owner)
		return k->owner < owner ? -1 : 1;
	return strcmp(k->app, app);
}

/* Index of the first item that is not before the key. */
static size_t cat_map_at(const struct np_cat_map *m, int64_t owner,
			 const char *app)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (item_compare(m->item[mid], owner, app) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Returns NULL if there is no such item. */
static void *cat_map_find(const struct np_cat_map *m, int64_t owner,
			  const char *app)
{
	size_t i = cat_map_at(m, owner, app);

	return i < m->n && !item_compare(m->item[i], owner, app) ? m->item[i] :
								   NULL;
}

/* Add an item of size bytes, all zero except its key; NULL: out of memory. */
static void *cat_map_add(struct np_cat_map *m, int64_t owner, const char *app,
			 size_t size)
{
	size_t i = cat_map_at(m, owner, app);
	struct np_cat_key *k = calloc(1, size);

	if (!k ||
	    np_array_room(&m->item, &m->room, m->n + 1, sizeof(*m->item))) {
		free(k);
		return NULL;
	}
	k->owner = owner;
	strcpy(k->app, app);
	memmove(m->item + i + 1, m->item + i, (m->n - i) * sizeof(*m->item));
	m->item[i] = k;
	m->n++;
	return k;
}

/* Remove the i-th item and free() it. */
static void cat_map_remove(struct np_cat_map *m, size_t i)
{
	free(m->item[i]);
	m->n--;
	memmove(m->item + i, m->item + i + 1, (m->n - i) * sizeof(*m->item));
}

static void cat_map_free(struct np_cat_map *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->item[i]);
	free(m->item);
}

/* ---- owners and applications ---- */

static double catalog_now(const struct np_catalog *c)
{
	return c->clock->now_sec(c->clock);
}

/* Do jobs exist until this date, which is not over yet? */
static bool catalog_is_wanted(const struct np_catalog *c, double until)
{
	return until && catalog_now(c) < until;
}

/* The index is out of date: drop it. */
static void catalog_reindex(struct np_catalog *c)
{
	np_app_index_unref(c->index);
	c->index = NULL;
	c->changed = true;
}

static bool catalog_same_stamp(const struct np_store_stamp *a,
			       const struct np_store_stamp *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->sec == b->sec &&
	       a->nsec == b->nsec;
}

/* The state of an owner, new if unknown; NULL: too many, or no memory. */
static struct np_cat_owner *catalog_owner(struct np_catalog *c, int64_t owner)
{
	struct np_cat_owner *o = cat_map_find(&c->owners, owner, "");

	if (!o && c->owners.n < NP_CAT_MAX_OWNERS) {
		o = cat_map_add(&c->owners, owner, "", sizeof(*o));
		if (o)
			o->paid_until = catalog_now(c) - NP_CATALOG_SAVED_SEC;
	}
	if (o && !o->due)
		c->idle_until[false] = c->idle_until[true] = 0;
	return o;
}

/* Would a new entry of this owner be equal, because all its reading is paid? */
static bool catalog_is_settled(const struct np_catalog *c,
			       const struct np_cat_owner *o)
{
	return o->paid_until <= catalog_now(c) - NP_CATALOG_SAVED_SEC;
}

/* Mark an application to be read, or not; counts the marked ones. */
static void catalog_set_to_read(struct np_catalog *c, struct np_cat_app *a,
				bool to_read)
{
	if (a->to_read != to_read)
		c->n_to_read += to_read ? 1 : (size_t)-1;
	a->to_read = to_read;
	/* Its answers could not be asked before: see to_predict(). */
	if (!to_read && !a->usable)
		c->predicted_wanted = c->predicted_all = false;
}

static void catalog_drop_summary(struct np_cat_app *a)
{
	np_run_summary_free(&a->summary);
	a->usable = false;
}

/* The stamp of a if it is newer than that of b; else NULL. */
static const struct np_store_stamp *newer(const struct np_cat_app *a,
					  const struct np_cat_app *b)
{
	const struct np_store_stamp *x = &a->stamp, *y = &b->stamp;

	if (x->sec != y->sec)
		return x->sec > y->sec ? x : NULL;
	return x->nsec > y->nsec ? x : NULL;
}

/* Does a keep its handle rather than b, if there is no room for both? */
static bool catalog_outranks(const struct np_catalog *c,
			     const struct np_cat_app *a,
			     const struct np_cat_app *b)
{
	int x = a->key.owner == NP_CAT_PUBLISHED ?
			2 :
			catalog_is_wanted(c, a->wanted_until);
	int y = b->key.owner == NP_CAT_PUBLISHED ?
			2 :
			catalog_is_wanted(c, b->wanted_until);

	if (a->there != b->there)
		return a->there;
	return x != y ? x > y : newer(a, b) != NULL;
}

/*
 * ---- handles ----
 *
 * There are fewer handles than applications, and they never go away.
 */

/* Is a handle free, or can one be taken from a missing application? */
static bool catalog_has_room(const struct np_catalog *c)
{
	if (c->n_handles < NP_CONFLICT_MAX_PROFILES)
		return true;
	for (size_t i = 0; i < c->n_handles; i++)
		if (!c->by_handle[i] || !c->by_handle[i]->there)
			return true;
	return false;
}

/* Drop all answers about an application. */
static void catalog_forget(struct np_catalog *c, const struct np_cat_app *a)
{
	if (a->handle == NP_PROFILE_UNKNOWN)
		return;
	np_conflict_forget(c->conflict, (uint32_t)a->handle);
	c->predicted_wanted = c->predicted_all = false;
	c->changed = true;
}

/* The handle to reuse: one that is free, or that of the least important. */
static uint32_t least_needed(const struct np_catalog *c)
{
	uint32_t least = 0;

	for (uint32_t i = 0; i < c->n_handles; i++) {
		const struct np_cat_app *a = c->by_handle[i];

		if (!a)
			return i;
		if (catalog_outranks(c, c->by_handle[least], a))
			least = i;
	}
	return least;
}

/* Take the handle away; the application is unknown until there is room. */
static void evict(struct np_catalog *c, uint32_t handle)
{
	struct np_cat_app *a = c->by_handle[handle];

	if (!a)
		return;
	catalog_drop_summary(a);
	catalog_set_to_read(c, a, false);
	if (a->known)
		catalog_reindex(c);
	a->handle = NP_PROFILE_UNKNOWN;
	a->known = false;
	a->no_room = true;
	c->by_handle[handle] = NULL;
}

/* May this owner's profiles restrict the jobs of other users? */
static bool is_trusted(const struct np_catalog *c, int64_t owner)
{
	for (size_t i = 0; i < c->conf.n_trusted; i++)
		if (c->conf.trusted[i] == owner)
			return true;
	return owner == NP_CAT_PUBLISHED;
}

/* Give it a handle; sets a->no_room if all others are more important. */
static int catalog_take_handle(struct np_catalog *c, struct np_cat_app *a,
			       struct np_err *err)
{
	int64_t owner = a->key.owner;
	uint32_t uid = owner == NP_CAT_PUBLISHED ? 0 : (uint32_t)owner, h;
	bool trusted = is_trusted(c, owner);
	int rc;

	if (c->n_handles < NP_CONFLICT_MAX_PROFILES) {
		rc = np_conflict_add(c->conflict, uid, trusted, &h, err);
		if (rc)
			return rc;
		c->n_handles++;
	} else {
		h = least_needed(c);
		if (c->by_handle[h] &&
		    !catalog_outranks(c, a, c->by_handle[h])) {
			a->no_room = true;
			return 0;
		}
		rc = np_conflict_replace(c->conflict, h, uid, trusted, err);
		if (rc)
			return rc;
		evict(c, h);
	}
	c->by_handle[h] = a;
	a->handle = (int32_t)h;
	catalog_forget(c, a);
	catalog_reindex(c);
	return 0;
}

/* ---- log lines: each problem with a file once, as long as it exists ---- */

#define HOUR_SEC 3600.0
#define MAX_LINES 256 /* of one place; np_store.h reports a hundred files */

static void log_state_free(struct log_state *s)
{
	free(s->old);
	free(s->now);
	*s = (struct log_state){ .n_old = 0 };
}

static bool has_hash(const uint64_t *set, size_t n, uint64_t h)
{
	for (size_t i = 0; i < n; i++)
		if (set[i] == h)
			return true;
	return false;
}

/* Remember a line of the place that is being read. */
static void remember(struct log_state *s, uint64_t h)
{
	if (s->n_now == MAX_LINES ||
	    np_array_resize(&s->now, s->n_now + 1, sizeof(*s->now)))
		return; /* then it will be logged again */
	s->now[s->n_now++] = h;
}

/* Begin to read a place of that owner (or NULL). */
static void catalog_log_begin(struct np_catalog *c, struct log_state *place,
			      struct np_cat_owner *owner)
{
	c->saying = place;
	c->teller = owner;
	place->n_now = 0;
	place->now = NULL;
}

/* The lines of this reading replace those of the previous one. */
static void catalog_log_end(struct np_catalog *c)
{
	struct log_state *s = c->saying;

	free(s->old);
	s->old = s->now;
	s->n_old = s->n_now;
	s->n_now = 0;
	s->now = NULL;
	c->saying = NULL;
	c->teller = NULL;
}

/* "/store/users/1000" */
static void path_of(const struct np_catalog *c, const struct np_cat_owner *o,
		    struct np_err *out)
{
	if (o->key.owner == NP_CAT_PUBLISHED)
		np_errf(out, 0, "%s/" NP_STORE_PUBLIC, c->store_dir);
	else
		np_errf(out, 0, "%s/" NP_STORE_USERS "/%u", c->store_dir,
			(uint32_t)o->key.owner);
}

/* Log a line; false: too many lines in this refresh. */
static bool log_line(struct np_catalog *c, const char *line)
{
	if (c->n_warned > NP_CATALOG_MAX_WARNINGS)
		return false;
	if (c->warn)
		c->warn(c->n_warned == NP_CATALOG_MAX_WARNINGS ?
				"more files were skipped than are reported" :
				line,
			c->warn_arg);
	return c->n_warned++ < NP_CATALOG_MAX_WARNINGS;
}

/* After the hour, log how many lines were only counted. */
static void catalog_sum_up(struct np_catalog *c, struct np_cat_owner *o)
{
	struct np_err path, line;

	if (!o->lines.until || catalog_now(c) < o->lines.until)
		return;
	path_of(c, o, &path);
	np_errf(&line, 0,
		"%.150s: %zu more files or directories were skipped "
		"in the last hour than were reported",
		path.text, o->lines.counted);
	if (!o->lines.counted || log_line(c, line.text))
		o->lines = (struct owner_lines){ .until = 0 };
}

/* Log or count a line about an owner's files; false: try again later. */
static bool log_of_owner(struct np_catalog *c, struct np_cat_owner *o,
			 const char *line)
{
	struct np_err path, last;

	catalog_sum_up(c, o);
	if (o->lines.logged < NP_CATALOG_MAX_LINES) {
		if (!log_line(c, line))
			return false;
		if (!o->lines.until)
			o->lines.until = catalog_now(c) + HOUR_SEC;
		o->lines.logged++;
		return true;
	}
	if (!o->lines.counted) {
		path_of(c, o, &path);
		np_errf(&last, 0,
			"%.150s: no more than %d lines are reported "
			"in an hour, the others are counted",
			path.text, NP_CATALOG_MAX_LINES);
		if (!log_line(c, last.text))
			return false;
	}
	o->lines.counted++;
	return true;
}

/* Log a line, unless it was logged before or the owner has too many. */
static void catalog_log(const char *line, void *catalog)
{
	struct np_catalog *c = catalog;
	struct log_state *s = c->saying;
	uint64_t h = np_hash(NP_HASH, line, strlen(line));

	/* A line that cannot be logged now is tried at the next reading. */
	if (!has_hash(s->old, s->n_old, h) &&
	    !(c->teller ? log_of_owner(c, c->teller, line) : log_line(c, line)))
		return;
	remember(s, h);
}

/* ---- the calibration: after a change, everything is read again ---- */

#define POLL_SEC 5.0 /* between looks at the same thing */

static void fabric_close(struct fabric *f)
{
	np_predictor_free(f->models);
	np_predictor_free(f->checked);
	np_calibration_free(&f->cal);
}

static void catalog_uncalibrate(struct np_catalog *c)
{
	for (size_t i = 0; i < c->n_fabrics; i++)
		fabric_close(&c->fabrics[i]);
	c->n_fabrics = c->n_uncalibrated = 0;
}

/* The sharing coefficient of a scope in words, for example "0.91". */
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
static void describe(struct np_catalog *c)
{
	const struct np_calibration *cal = &c->fabrics[0].cal;
	const char *const *names = np_scope_names;
	time_t t = (time_t)cal->date;
	char text[NP_N_SCOPES][32], date[32] = "an unknown date";
	struct tm tm;

	if (cal->date > 0 && gmtime_r(&t, &tm))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	for (int i = 0; i < NP_N_SCOPES; i++)
		sharing_text(cal, (enum np_scope)i, text[i],
			     sizeof(text[i]));
	np_errf(&c->described, 0,
		"of %s, cluster %.64s, %zu levels at scope %.16s; sharing "
		"coefficients: %s %s, %s %s, %s %s",
		date, cal->cluster, cal->fabric->n_levels,
		np_scope_name(cal->scope), names[0], text[0], names[1],
		text[1], names[2], text[2]);
}

/* Drop everything that was derived from the previous calibration. */
static void drop_derived(struct np_catalog *c)
{
	for (size_t i = 0; i < c->apps.n; i++) {
		struct np_cat_app *a = c->apps.item[i];

		catalog_drop_summary(a);
		catalog_forget(c, a);
		if (a->there)
			catalog_set_to_read(c, a, true);
		else /* read it when it appears again */
			a->stamp = (struct np_store_stamp){ .dev = 0 };
	}
	c->changed = true;
}

#define CHECK_REPLICATES 50 /* bootstrap samples of an interval */

/* Load a calibration, and make the models for it. */
static int fabric_open(const struct np_catalog *c,
		       const struct np_fabric_of *of, struct fabric *out,
		       struct np_err *err)
{
	static const struct np_predict_opt fast = { .replicates = 0,
						    .seed = 1 };
	static const struct np_predict_opt full = { CHECK_REPLICATES, 1 };
	const struct np_model *m = np_model_find(NP_MODEL_DEFAULT, NULL);
	struct fabric f = { .models = NULL };
	int rc = np_fabric_store_load_of(c->store, c->cluster, NULL, of,
					 &f.cal, err);

	if (rc)
		return rc;
	rc = np_predictor_new(f.cal.fabric, m, &fast, &f.models, err);
	if (!rc)
		rc = np_predictor_new(f.cal.fabric, m, &full, &f.checked, err);
	if (rc)
		fabric_close(&f);
	else
		*out = f;
	return rc;
}

/* Load the newest calibration. */
static int fabric_load(struct np_catalog *c, struct np_err *err)
{
	static const struct np_fabric_of any;
	struct fabric f;
	int rc = fabric_open(c, &any, &f, err);

	if (rc)
		return rc;
	catalog_uncalibrate(c);
	c->fabrics[c->n_fabrics++] = f;
	catalog_log_begin(c, &c->cal_logged, NULL);
	if (f.cal.n_skipped)
		catalog_log(f.cal.skipped.text, c);
	catalog_log_end(c);
	describe(c);
	return 0;
}

/* Does this fabric lack a calibration? If not, note that it does. */
static bool is_uncalibrated(struct np_catalog *c, const struct np_fabric_of *of)
{
	char key[sizeof(c->uncalibrated[0])];

	snprintf(key, sizeof(key), "%s %s", of->rail ? of->rail : "",
		 of->rail || !of->transport ? "" : of->transport);
	for (size_t i = 0; i < c->n_uncalibrated; i++)
		if (!strcmp(c->uncalibrated[i], key))
			return true;
	if (c->n_uncalibrated == MAX_UNCALIBRATED)
		return true;
	strcpy(c->uncalibrated[c->n_uncalibrated++], key);
	return false;
}

/*
 * The fabric of the newest of these runs: one that is in use, or else another
 * one that was calibrated, or else the first. Each is looked for once.
 */
static size_t fabric_of(struct np_catalog *c, const struct np_runs *runs)
{
	const struct np_record *newest = NULL;
	struct np_fabric_of of = { NULL };
	struct fabric f;

	for (size_t i = 0; i < runs->n; i++)
		if (!newest || runs->run[i]->start > newest->start)
			newest = runs->run[i];
	if (newest) {
		of.rail = np_run_rail(newest);
		of.transport = newest->probe.transport;
	}
	for (size_t i = 0; i < c->n_fabrics; i++)
		if (np_fabric_is_of(&c->fabrics[i].cal, &of))
			return i;
	if (c->n_fabrics == MAX_FABRICS || is_uncalibrated(c, &of) ||
	    fabric_open(c, &of, &f, NULL))
		return 0;
	if (!np_fabric_is_of(&f.cal, &of)) {
		fabric_close(&f);
		return 0;
	}
	c->n_uncalibrated--;
	c->fabrics[c->n_fabrics] = f;
	return c->n_fabrics++;
}

/* Is there a newer one than the one that is in use, or that failed? */
static int look_at_calibration(struct np_catalog *c, double now, bool *other,
			       struct np_err *err)
{
	struct np_store_stamp stamp;
	int rc = np_fabric_store_stamp(c->store, c->cluster, &stamp, err);

	if (rc) {
		c->cal_stamp = (struct np_store_stamp){ .dev = 0 };
		return rc;
	}
	*other = !catalog_same_stamp(&stamp, &c->cal_stamp);
	if (*other) {
		c->cal_again =
			np_store_is_racy(&stamp) ? now + NP_STORE_RACY_SEC : 0;
	} else if (c->cal_again && now >= c->cal_again) {
		*other = true;
		c->cal_again = 0;
	}
	c->cal_stamp = stamp;
	return 0;
}

/* Load the calibration if it is due.  Returns 0 or -errno with err. */
static int catalog_calibrate(struct np_catalog *c, struct np_err *err)
{
	double now = catalog_now(c);
	bool other = false;
	int rc;

	if (now < c->cal_due)
		goto out;
	c->cal_due = now + POLL_SEC;
	rc = look_at_calibration(c, now, &other, &c->cal_err);
	if (!rc && !other)
		goto out; /* unchanged */
	if (!rc)
		rc = fabric_load(c, &c->cal_err);
	if (rc)
		catalog_uncalibrate(c);
	else
		drop_derived(c);
	if (rc && rc != -ENOENT && rc != -EINVAL) /* may be temporary */
		c->cal_stamp = (struct np_store_stamp){ .dev = 0 };
	c->cal_rc = rc;
out:
	return c->cal_rc ? np_errf(err, c->cal_rc, "%s", c->cal_err.text) : 0;
}

/* ---- listing applications: only directories are opened, no files ---- */

#define POLL_WANTED_SEC 1.0 /* ... if a job needs its application */
#define MAX_COST 0.05 /* share of the time spent on looking */
#define MAX_APPS 8192 /* of all owners; there are fewer handles */

/* Is this owner looked at every second: published, or with jobs? */
static bool is_urgent(const struct np_catalog *c, const struct np_cat_owner *o)
{
	return o->key.owner == NP_CAT_PUBLISHED ||
	       catalog_is_wanted(c, o->wanted_until);
}

/*
 * The next owner to look at, or NULL.  Owners take turns, starting after the
 * last one found, so that none starves.
 */
static struct np_cat_owner *catalog_due(struct np_catalog *c, bool wanted)
{
	double now = catalog_now(c), next = INFINITY;
	size_t n = c->owners.n;

	if (now < c->idle_until[wanted])
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t at = (c->cursor[wanted] + i) % n;
		struct np_cat_owner *o = c->owners.item[at];

		if (wanted && !is_urgent(c, o))
			continue;
		if (o->due <= now) {
			c->cursor[wanted] = at;
			return o;
		}
		next = fmin(next, o->due);
	}
	c->idle_until[wanted] = next;
	return NULL;
}

/* The range of an owner's applications: from *first, as many as returned. */
static size_t apps_of(const struct np_catalog *c, int64_t owner, size_t *first)
{
	*first = cat_map_at(&c->apps, owner, "");
	return cat_map_at(&c->apps, owner + 1, "") - *first;
}

/* It has disappeared.  It keeps its handle, and has it again if it returns. */
static void remove_app(struct np_catalog *c, size_t i)
{
	struct np_cat_app *a = c->apps.item[i];

	if (a->known)
		catalog_reindex(c);
	catalog_set_to_read(c, a, false);
	catalog_drop_summary(a);
	a->there = a->known = false;
	log_state_free(&a->logged);
	if (a->handle == NP_PROFILE_UNKNOWN) {
		cat_map_remove(&c->apps, i);
		return;
	}
	catalog_forget(c, a);
	a->stamp = (struct np_store_stamp){ .dev = 0 };
}

/* Make room for a newcomer by removing a less important application. */
static bool make_room_for(struct np_catalog *c,
			  const struct np_cat_app *newcomer)
{
	struct np_cat_app *least = NULL;

	if (c->apps.n < MAX_APPS)
		return true;
	for (size_t i = 0; i < c->apps.n; i++) {
		struct np_cat_app *a = c->apps.item[i];

		if (!least || catalog_outranks(c, least, a))
			least = a;
	}
	if (!catalog_outranks(c, newcomer, least))
		return false;
	if (least->handle != NP_PROFILE_UNKNOWN) {
		catalog_forget(c, least);
		c->by_handle[least->handle] = NULL;
		least->handle = NP_PROFILE_UNKNOWN;
	}
	remove_app(c, cat_map_at(&c->apps, least->key.owner, least->key.app));
	return true;
}

/* Add an application that appeared; *out NULL: no room for it. */
static int add_app(struct np_catalog *c, int64_t owner,
		   const struct np_store_app *found, struct np_cat_app **out)
{
	struct np_cat_want *w = cat_map_find(&c->wants, owner, found->name);
	struct np_cat_app like = {
		.key.owner = owner, .stamp = found->stamp, .there = true,
		.wanted_until = w ? w->until : 0,
	}, *a;

	*out = NULL;
	if (!make_room_for(c, &like))
		return 0;
	a = cat_map_add(&c->apps, owner, found->name, sizeof(*a));
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
static int update_app(struct np_catalog *c, int64_t owner,
		      const struct np_store_app *found)
{
	struct np_cat_app *a = cat_map_find(&c->apps, owner, found->name);
	int rc = a ? 0 : add_app(c, owner, found, &a);

	if (!a)
		return rc;
	a->seen = true;
	if (!a->there && a->known)
		catalog_reindex(c);
	a->there = true;
	if (!catalog_same_stamp(&a->stamp, &found->stamp)) {
		a->stamp = found->stamp;
		a->stamped = false;
		a->again = 0;
		catalog_set_to_read(c, a, true);
	} else if (a->again && catalog_now(c) >= a->again) {
		a->again = 0;
		catalog_set_to_read(c, a, true);
	} else if (a->no_room && catalog_has_room(c)) {
		catalog_set_to_read(c, a, true);
	}
	return 0;
}

/* An application that may be one too many: wanted ones first, then newest. */
struct choice {
	const struct np_store_app *app;
	bool wanted;
};

/* Order of a user's applications, if there are too many. */
static int wanted_then_newest(const void *p, const void *q)
{
	const struct choice *x = p, *y = q;
	const struct np_store_stamp *a = &x->app->stamp, *b = &y->app->stamp;

	if (x->wanted != y->wanted)
		return x->wanted ? -1 : 1;
	if (a->sec != b->sec)
		return a->sec > b->sec ? -1 : 1;
	if (a->nsec != b->nsec)
		return a->nsec > b->nsec ? -1 : 1;
	return strcmp(x->app->name, y->app->name);
}

/* Update the applications of an owner, within the limit for one owner. */
static int update_apps(struct np_catalog *c, int64_t owner,
		       const struct np_store_app *apps, size_t n)
{
	size_t most = owner == NP_CAT_PUBLISHED ? NP_CONFLICT_MAX_PROFILES :
						  NP_CATALOG_MAX_OF_USER;
	struct choice *choice = calloc(n + 1, sizeof(*choice));
	size_t n_choice = 0;
	int rc = choice ? 0 : -ENOMEM;

	for (size_t i = 0; choice && i < n; i++) {
		struct np_cat_want *w =
			cat_map_find(&c->wants, owner, apps[i].name);

		/* Runs of the idle network are no application. */
		if (strcmp(apps[i].name, NP_IDLE_APP))
			choice[n_choice++] = (struct choice){
				&apps[i], w && catalog_is_wanted(c, w->until)
			};
	}
	if (n_choice > most)
		qsort(choice, n_choice, sizeof(*choice), wanted_then_newest);
	for (size_t i = 0; !rc && i < n_choice && i < most; i++)
		rc = update_app(c, owner, choice[i].app);
	free(choice);
	return rc;
}

/* Update all applications of an owner, and remove those that are gone. */
static int update_owner(struct np_catalog *c, int64_t owner,
			const struct np_store_app *apps, size_t n)
{
	size_t first, count = apps_of(c, owner, &first);
	int rc;

	for (size_t i = 0; i < count; i++)
		((struct np_cat_app *)c->apps.item[first + i])->seen = false;
	rc = update_apps(c, owner, apps, n);
	if (rc)
		return rc;
	count = apps_of(c, owner, &first);
	for (size_t i = first + count; i-- > first;) {
		struct np_cat_app *a = c->apps.item[i];

		if (!a->seen &&
		    (a->there || a->known || a->handle == NP_PROFILE_UNKNOWN))
			remove_app(c, i);
	}
	return 0;
}

/* Schedule the next look, so that looking takes a small share of the time. */
static void schedule_look(struct np_catalog *c, struct np_cat_owner *o,
			  double began)
{
	double now = catalog_now(c);
	bool wanted = catalog_is_wanted(c, o->wanted_until);

	c->cost_sec += now - began - o->cost_sec;
	o->cost_sec = now - began;
	o->due = now +
		 fmax(wanted ? POLL_WANTED_SEC : POLL_SEC,
		      (is_urgent(c, o) ? o->cost_sec : c->cost_sec) / MAX_COST);
	c->idle_until[false] = fmin(c->idle_until[false], o->due);
	c->idle_until[true] = fmin(c->idle_until[true], o->due);
}

/* Look at the directory of one owner. */
static int catalog_look(struct np_catalog *c, struct np_cat_owner *o,
			struct np_err *err)
{
	bool public = o->key.owner == NP_CAT_PUBLISHED;
	struct np_store_app *apps = NULL;
	struct np_err why = NP_ERR_INIT;
	double began = catalog_now(c);
	size_t n = 0;
	int rc = np_store_list_apps(c->store,
				    public ? NP_STORE_PUBLISHED : NP_STORE_USER,
				    (uid_t)o->key.owner, &apps, &n, &why);

	if (rc && (public || rc == -ENOMEM))
		return np_errf(err, rc, "%s", why.text);
	/* A user's unusable directory is a problem of that user alone. */
	catalog_sum_up(c, o);
	catalog_log_begin(c, &o->logged, o);
	if (rc)
		catalog_log(why.text, c);
	catalog_log_end(c);
	rc = update_owner(c, o->key.owner, apps, n);
	free(apps);
	schedule_look(c, o, began);
	return rc ? np_errf(err, rc, "catalog: out of memory") : 0;
}

/*
 * Remove users without a directory, unless jobs of them exist; and not before
 * their reading is paid, because a directory can be renamed and back to get a
 * fresh account.
 */
static int update_owners(struct np_catalog *c, const uid_t *uids, size_t n)
{
	for (size_t i = 0; i < c->owners.n; i++)
		((struct np_cat_owner *)c->owners.item[i])->listed = false;
	for (size_t i = 0; i < n; i++) {
		struct np_cat_owner *o = catalog_owner(c, uids[i]);

		if (o)
			o->listed = true;
		else if (c->owners.n < NP_CAT_MAX_OWNERS)
			return -ENOMEM;
	}
	for (size_t i = c->owners.n; i-- > 0;) {
		struct np_cat_owner *o = c->owners.item[i];
		int rc;

		if (o->listed || is_urgent(c, o) || o->lines.until ||
		    !catalog_is_settled(c, o))
			continue;
		rc = update_owner(c, o->key.owner, NULL, 0);
		if (rc)
			return rc;
		c->cost_sec -= o->cost_sec;
		log_state_free(&o->logged);
		cat_map_remove(&c->owners, i);
	}
	return 0;
}

/* Look at users/, for owners that appeared or disappeared. */
static int catalog_look_uids(struct np_catalog *c, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	double began = catalog_now(c), now;
	uid_t *uids = NULL;
	size_t n = 0;
	int rc;

	catalog_log_begin(c, &c->uids_logged, NULL);
	rc = np_store_uids(c->store, &uids, &n, catalog_log, c, &why);
	if (rc && rc != -ENOMEM)
		catalog_log(why.text, c);
	catalog_log_end(c);
	if (rc == -ENOMEM)
		return np_errf(err, rc, "%s", why.text);
	rc = update_owners(c, uids, n);
	free(uids);
	now = catalog_now(c);
	c->uids_due = now + fmax(POLL_SEC, (now - began) / MAX_COST);
	return rc ? np_errf(err, rc, "catalog: out of memory") : 0;
}

/* Forget what exists, and look at everything again. */
static void catalog_forget_all(struct np_catalog *c)
{
	for (size_t i = 0; i < c->owners.n; i++)
		((struct np_cat_owner *)c->owners.item[i])->due = 0;
	for (size_t i = 0; i < c->apps.n; i++)
		((struct np_cat_app *)c->apps.item[i])->there = false;
	c->uids_due = c->idle_until[false] = c->idle_until[true] = 0;
	c->cursor[false] = c->cursor[true] = 0; /* published/ first */
	c->cal_due = 0;
	catalog_reindex(c);
}

/* ---- reading an application's runs, and keeping their summary ---- */

/*
 * Each reading costs its owner time at a steady rate, and no more is read
 * before that time has passed.  So a user who changes files all the time, or
 * links huge ones, leaves the time to others.
 */
static bool may_read(const struct np_catalog *c, const struct np_cat_owner *o)
{
	return o && (o->key.owner == NP_CAT_PUBLISHED ||
		     o->paid_until <= catalog_now(c));
}

/* Charge an owner for having read so many bytes. */
static void charge_owner(const struct np_catalog *c, struct np_cat_owner *o,
			 size_t bytes)
{
	double saved = catalog_now(c) - NP_CATALOG_SAVED_SEC;

	o->paid_until = fmax(o->paid_until, saved) +
			fmax((double)bytes, NP_CATALOG_LEAST_BYTES) /
				NP_CATALOG_BYTES_PER_SEC;
}

/* The application to read first, and its owner. */
struct candidate {
	const struct np_cat_owner *owner;
	struct np_cat_app *app;
};

/* Is a before b: wanted first, then the owner whose turn was longest ago. */
static bool is_before(const struct np_catalog *c, const struct candidate *a,
		      const struct candidate *b)
{
	bool x = catalog_is_wanted(c, a->app->wanted_until);
	bool y = catalog_is_wanted(c, b->app->wanted_until);

	if (x != y)
		return x;
	if (a->owner->turn != b->owner->turn)
		return a->owner->turn < b->owner->turn;
	if (a->app->turn != b->app->turn)
		return a->app->turn < b->app->turn;
	return catalog_outranks(c, a->app, b->app);
}

/* The next application to read, or NULL; owners take turns. */
static struct np_cat_app *catalog_next(const struct np_catalog *c, bool wanted)
{
	struct candidate best = { .app = NULL }, at = { .owner = NULL };

	for (size_t i = 0; c->n_to_read && i < c->apps.n; i++) {
		at.app = c->apps.item[i];
		if (!at.app->to_read || !at.app->there ||
		    (wanted && !catalog_is_wanted(c, at.app->wanted_until)))
			continue;
		if (!at.owner || at.owner->key.owner != at.app->key.owner)
			at.owner =
				cat_map_find(&c->owners, at.app->key.owner, "");
		if (may_read(c, at.owner) &&
		    (!best.app || is_before(c, &at, &best)))
			best = at;
	}
	return best.app;
}

/*
 * Read and summarise, and set a->fabric; *bytes: how much was read.
 * Returns 0, -ENODATA (logged if there is a reason) or -ENOMEM.
 */
static int read_summary(struct np_catalog *c, struct np_cat_app *a,
			struct np_run_summary *out, size_t *bytes)
{
	struct np_run_summary_opt opt = { .calibration = NULL };
	struct np_err why = NP_ERR_INIT;
	struct np_runs runs;
	int rc = np_store_load(c->store,
			       a->key.owner == NP_CAT_PUBLISHED ?
				       NP_STORE_PUBLISHED :
				       NP_STORE_USER,
			       (uid_t)a->key.owner, a->key.app, catalog_log, c,
			       &runs, &why);

	*bytes = rc ? 0 : runs.bytes;
	if (!rc) {
		a->fabric = fabric_of(c, &runs);
		opt.calibration = &c->fabrics[a->fabric].cal;
		rc = np_run_summary_make(&runs, &opt, out);
		if (!rc) /* a thousand runs are too much to keep in memory */
			np_run_summary_detach(out, a->key.app);
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
		catalog_log(why.text, c);
	return -ENODATA;
}

/* Replace its summary; s NULL: it has none. */
static int replace_summary(struct np_catalog *c, struct np_cat_app *a,
			   const struct np_run_summary *s, struct np_err *err)
{
	bool known = a->known;
	int rc = 0;

	catalog_drop_summary(a);
	catalog_forget(c, a);
	a->known = a->no_room = false;
	if (s) {
		a->summary = *s;
		a->usable = a->known = true;
		if (a->handle == NP_PROFILE_UNKNOWN)
			rc = catalog_take_handle(c, a, err);
	}
	if (rc || a->no_room) {
		catalog_drop_summary(a);
		a->known = false;
	} else if (a->known) {
		np_conflict_set_rails(c->conflict, (uint32_t)a->handle,
				      a->summary.rails);
	}
	/* Other runs may back a name that the previous ones did not. */
	if (a->known || known)
		catalog_reindex(c);
	return rc;
}

/* Read one application and replace its summary. */
static int catalog_read(struct np_catalog *c, struct np_cat_app *a,
			struct np_err *err)
{
	struct np_cat_owner *o = catalog_owner(c, a->key.owner);
	struct np_run_summary s;
	size_t bytes;
	int rc;

	catalog_log_begin(c, &a->logged, o);
	rc = read_summary(c, a, &s, &bytes);
	catalog_log_end(c);
	a->turn = ++c->turn;
	if (o) {
		o->turn = c->turn;
		charge_owner(c, o, bytes);
	}
	if (rc == -ENOMEM)
		return np_errf(err, rc, "%s: out of memory", a->key.app);
	if (!a->stamped && np_store_is_racy(&a->stamp))
		a->again = catalog_now(c) + NP_STORE_RACY_SEC;
	a->stamped = true;
	rc = replace_summary(c, a, rc ? NULL : &s, err);
	catalog_set_to_read(c, a, rc != 0);
	return rc;
}

/* ---- asking the models ---- */

#define WANTED_SEC 600.0
#define MAX_WANTS 32768 /* two for each user and application */
#define NEGLIGIBLE 0.01 /* smaller slowdowns are noise */
#define SLICE 64	/* questions between two looks at the clock */

/*
 * Predict a slowdown with the default model.  Only a slowdown that makes a
 * conflict is worth an interval, which tells whether it may be acted upon.
 */
static int predict(void *arg, uint32_t victim, uint32_t co,
		   enum np_contact contact, double *slowdown)
{
	struct np_catalog *c = arg;
	const struct np_cat_app *v = c->by_handle[victim];
	const struct np_cat_app *x = c->by_handle[co];
	enum np_scope scope = (enum np_scope)contact; /* same order */
	const struct fabric *f;
	const struct np_mean *sharing;
	const struct np_program *program;
	struct np_prediction p;
	int rc;

	c->changed = true;
	/* Fabrics that were calibrated apart cannot be compared. */
	if (!v || !x || !v->usable || !x->usable || v->fabric != x->fabric)
		return -ENODATA;
	f = &c->fabrics[v->fabric];
	sharing = &f->cal.fabric->sharing[scope];
	/* Interference at that scope has to be measured, not assumed. */
	if (!np_mean_known(sharing))
		return -ENODATA;
	if (np_sharing_coef_none(sharing)) {
		*slowdown = 0;
		return 0;
	}
	program = &x->summary.program;
	rc = np_predict(f->models, &v->summary.program, &program, 1, scope, &p,
			NULL);
	if (!rc && p.slowdown > c->conf.max_slowdown)
		rc = np_predict(f->checked, &v->summary.program, &program, 1,
				scope, &p, NULL);
	if (rc)
		return rc;
	if (p.flags & NP_PRED_DOUBTFUL && !c->accepts_doubtful)
		return -ENODATA;
	*slowdown = p.slowdown;
	return 0;
}

int np_catalog_new(const char *store_dir, const char *cluster,
		   const struct np_place_conf *conf, struct np_catalog **out,
		   struct np_err *err)
{
	struct np_catalog *c = calloc(1, sizeof(*c));
	const struct np_oracle oracle = { predict, c };

	if (c) {
		c->store_dir = strdup(store_dir);
		c->cluster = strdup(cluster);
		c->conf = *conf;
		np_clock_init(&c->real, -1);
		c->clock = &c->real;
		c->conflict = np_conflict_new(&oracle);
	}
	if (!c || !c->store_dir || !c->cluster || !c->conflict ||
	    !catalog_owner(c, NP_CAT_PUBLISHED)) {
		np_catalog_free(c);
		return np_errf(err, -ENOMEM, "catalog: out of memory");
	}
	*out = c;
	return 0;
}

void np_catalog_free(struct np_catalog *c)
{
	if (!c)
		return;
	np_app_index_unref(c->index);
	np_conflict_free(c->conflict);
	catalog_uncalibrate(c);
	for (size_t i = 0; i < c->apps.n; i++) {
		struct np_cat_app *a = c->apps.item[i];

		catalog_drop_summary(a);
		log_state_free(&a->logged);
	}
	for (size_t i = 0; i < c->owners.n; i++)
		log_state_free(&((struct np_cat_owner *)
				 c->owners.item[i])->logged);
	cat_map_free(&c->apps);
	cat_map_free(&c->owners);
	cat_map_free(&c->wants);
	log_state_free(&c->uids_logged);
	log_state_free(&c->cal_logged);
	np_group_cache_free(&c->members);
	free(c->store_dir);
	free(c->cluster);
	free(c);
}

void np_catalog_set_clock(struct np_catalog *c, const struct np_clock *clock)
{
	c->clock = clock;
}

/* Note that jobs exist, even of unseen ones.  Is something new to be read? */
static bool note_want(struct np_catalog *c, int64_t owner, const char *app,
		      double until)
{
	struct np_cat_want *w = cat_map_find(&c->wants, owner, app);
	struct np_cat_app *a = cat_map_find(&c->apps, owner, app);
	bool news;

	if (!w && c->wants.n < MAX_WANTS)
		w = cat_map_add(&c->wants, owner, app, sizeof(*w));
	if (w)
		w->until = until;
	if (!a)
		return false;
	news = !catalog_is_wanted(c, a->wanted_until);
	if (news) {
		c->predicted_wanted = c->predicted_all;
		if (a->no_room && a->there)
			catalog_set_to_read(c, a, true);
	}
	a->wanted_until = until;
	return news && (a->to_read || !c->predicted_wanted);
}

bool np_catalog_note_job(struct np_catalog *c, const char *app, uint32_t uid)
{
	double now = catalog_now(c), until = now + WANTED_SEC;
	struct np_cat_owner *o;
	bool news;

	if (np_app_check(app, NULL) || !strcmp(app, NP_IDLE_APP))
		return false;
	o = catalog_owner(c, uid);
	news = o && !catalog_is_wanted(c, o->wanted_until);
	if (news) {
		o->due = 0;
		c->idle_until[false] = c->idle_until[true] = 0;
	}
	if (o)
		o->wanted_until = until;
	if (np_auth_needs_groups(c->conf.auth_rule, c->conf.n_auth_rules))
		np_group_cache_add(&c->members, uid, now);
	news |= note_want(c, NP_CAT_PUBLISHED, app, until);
	return note_want(c, uid, app, until) || news;
}

/* Forget applications without jobs. */
static void purge_wants(struct np_catalog *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->wants.n; i++) {
		struct np_cat_want *w = c->wants.item[i];

		if (catalog_is_wanted(c, w->until))
			c->wants.item[n++] = w;
		else
			free(w);
	}
	c->wants.n = n;
}

/*
 * List the handles that can be asked now.  For a missing application "no
 * answer" is the answer; one that has yet to be read has to wait.
 */
static size_t to_predict(const struct np_catalog *c, bool wanted,
			 uint32_t *list)
{
	size_t n = 0;

	for (uint32_t h = 0; h < c->n_handles; h++) {
		const struct np_cat_app *a = c->by_handle[h];

		if (wanted ? a && a->usable && a->there &&
				     catalog_is_wanted(c, a->wanted_until) :
			     !a || a->usable || !a->to_read)
			list[n++] = h;
	}
	return n;
}

/* Ask for a slice of missing answers, of wanted applications or of all. */
static void predict_slice(struct np_catalog *c, bool wanted)
{
	uint32_t list[NP_CONFLICT_MAX_PROFILES];
	size_t n = to_predict(c, wanted, list);
	size_t missing = np_conflict_predict(c->conflict, list, n, SLICE);

	if (missing)
		return;
	c->predicted_wanted = true;
	if (!wanted)
		c->predicted_all = true;
}

/* ---- a refresh ---- */

/* The next thing to do: first what jobs wait for, then the rest. */
struct todo {
	enum { NOTHING, LOOK, LOOK_UIDS, READ, PREDICT } what;
	struct np_cat_owner *owner;
	struct np_cat_app *app;
	bool wanted;
};

/* What to do next: first for wanted applications, then for all. */
static struct todo next_todo(struct np_catalog *c)
{
	struct todo t = { .what = NOTHING };

	for (int rest = 0; rest < 2; rest++) {
		bool asked = rest ? c->predicted_all : c->predicted_wanted;

		t.wanted = !rest;
		if (rest && catalog_now(c) >= c->uids_due)
			t.what = LOOK_UIDS;
		else if ((t.owner = catalog_due(c, t.wanted)))
			t.what = LOOK;
		else if (c->predict_next && !asked)
			t.what = PREDICT; /* also during endless reading */
		else if ((t.app = catalog_next(c, t.wanted)))
			t.what = READ;
		else if (!asked)
			t.what = PREDICT;
		if (t.what != NOTHING)
			break;
	}
	return t;
}

/* Do one thing. */
static int run_todo(struct np_catalog *c, const struct todo *t,
		    struct np_err *err)
{
	if (t->what == READ || t->what == PREDICT)
		c->predict_next = t->what == READ;
	switch (t->what) {
	case NOTHING:
		break;
	case LOOK:
		return catalog_look(c, t->owner, err);
	case LOOK_UIDS:
		return catalog_look_uids(c, err);
	case READ:
		return catalog_read(c, t->app, err);
	case PREDICT:
		predict_slice(c, t->wanted);
		break;
	}
	return 0;
}

/* Do one thing after the other until a time; at least one. */
static int work_until(struct np_catalog *c, double until, bool *more,
		      struct np_err *err)
{
	struct todo t = next_todo(c);
	int rc = 0;

	do {
		rc = run_todo(c, &t, err);
		if (!rc)
			t = next_todo(c);
	} while (!rc && t.what != NOTHING && catalog_now(c) < until);
	*more = !rc && t.what != NOTHING;
	return rc;
}

/* Nothing that was known is reliable until it is seen again. */
static void mark_unusable(struct np_catalog *c, const struct np_err *why)
{
	c->why = *why;
	if (c->trouble)
		return;
	c->trouble = true;
	catalog_forget_all(c);
}

/* One refresh with an open store. */
static int refresh(struct np_catalog *c, double until, bool *more,
		   struct np_err *err)
{
	int rc = np_store_open(c->store_dir, &c->store, err);

	if (rc)
		return rc;
	rc = catalog_calibrate(c, err);
	if (!rc)
		rc = work_until(c, until, more, err);
	if (!rc && c->trouble) {
		c->trouble = false;
		catalog_reindex(c);
	}
	np_store_close(c->store);
	c->store = NULL;
	return rc;
}

/* Look up the groups of users who have jobs. */
static void look_members(struct np_catalog *c, double until)
{
	const struct np_place_conf *p = &c->conf;

	if (np_group_cache_refresh(&c->members, p->auth_rule, p->n_auth_rules,
				   groups_by_uid, c->clock, until))
		catalog_reindex(c);
}

int np_catalog_refresh(struct np_catalog *c, double budget_sec,
		       np_store_warn_f *warn, void *arg, bool *changed,
		       bool *more, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	int rc;

	c->warn = warn;
	c->warn_arg = arg;
	c->n_warned = 0;
	*more = false;
	purge_wants(c);
	look_members(c, catalog_now(c) + budget_sec);
	rc = refresh(c, catalog_now(c) + budget_sec, more, &why);
	if (rc) {
		mark_unusable(c, &why);
		np_errf(err, rc, "%s", why.text);
	}
	*changed = c->changed;
	c->changed = false;
	return rc;
}

/* ---- results for the placement decision ---- */

void np_catalog_accept_doubtful(struct np_catalog *c)
{
	c->accepts_doubtful = true;
	c->predicted_wanted = c->predicted_all = false;
	for (uint32_t h = 0; h < c->n_handles; h++)
		np_conflict_forget(c->conflict, h);
}

int np_catalog_table(struct np_catalog *c, struct np_slowdowns **out,
		     struct np_err *err)
{
	return np_conflict_table(
		c->conflict, fmin(NEGLIGIBLE, c->conf.max_slowdown), out, err);
}

/*
 * Decide whether a user's own runs back or contradict a published name.  If
 * they cannot be compared at the moment, nothing changes.
 */
static void catalog_judge(struct np_catalog *c, struct np_cat_app *own)
{
	const struct np_cat_app *p =
		cat_map_find(&c->apps, NP_CAT_PUBLISHED, own->key.app);
	enum np_consistency consistency = NP_CONSISTENCY_UNKNOWN;

	if (p && p->there && p->known) {
		if (!own->usable || !p->usable)
			return;
		if (own->fabric == p->fabric)
			consistency = np_consistency_check(
				&own->summary, &p->summary,
				c->fabrics[p->fabric].cal.fabric, own->refuted,
				sizeof(own->refuted));
	}
	own->agrees = consistency == NP_CONSISTENCY_AGREES;
	if (consistency != NP_CONSISTENCY_REFUTED)
		own->refuted[0] = '\0';
}

/* Set backed and refuted of each application of a user. */
static void check_own_runs(struct np_catalog *c)
{
	for (size_t i = 0; i < c->apps.n; i++) {
		struct np_cat_app *a = c->apps.item[i];

		if (a->key.owner != NP_CAT_PUBLISHED && a->there && a->known)
			catalog_judge(c, a);
	}
}

/* Make the index of all known applications. */
static int make_index(struct np_catalog *c, struct np_app_index **out)
{
	size_t n_apps = c->trouble ? 0 : c->apps.n, n = 0, n_users = 0;
	struct np_auth_user *user = np_group_cache_list(&c->members, &n_users);
	const struct np_auth_rules auth = {
		c->conf.auth_rule,
		c->conf.n_auth_rules,
		user,
		n_users,
	};
	struct np_app_entry *e = calloc(c->n_handles + 1, sizeof(*e));
	int32_t unknown = NP_PROFILE_UNKNOWN;
	int rc = -ENOMEM;

	check_own_runs(c);
	for (size_t i = 0; e && i < n_apps; i++) {
		const struct np_cat_app *a = c->apps.item[i];
		bool published = a->key.owner == NP_CAT_PUBLISHED;

		if (!a->there || !a->known)
			continue;
		e[n] = (struct np_app_entry){
			.published = published,
			.profile = a->handle,
			.uid = published ? 0 : (uint32_t)a->key.owner,
		};
		e[n].agrees = a->agrees;
		strcpy(e[n].refuted, a->refuted);
		strcpy(e[n++].app, a->key.app);
		if (published && !strcmp(a->key.app, c->conf.unknown_as))
			unknown = a->handle;
	}
	if (e && user)
		rc = np_app_index_new(e, n, unknown, &auth, out);
	free(user);
	free(e);
	return rc;
}

int np_catalog_index(struct np_catalog *c, struct np_app_index **out)
{
	int rc = c->index ? 0 : make_index(c, &c->index);

	if (!rc)
		*out = np_app_index_ref(c->index);
	return rc;
}

const char *np_catalog_fabric(const struct np_catalog *c)
{
	return c->trouble    ? c->why.text :
	       c->n_fabrics  ? c->described.text :
			       "not read yet";
}
