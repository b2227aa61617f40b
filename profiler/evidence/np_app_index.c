#include "np_app_index.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "np_snapshot.h"

struct np_app_index {
	atomic_uint refs;
	int32_t unknown;
	struct np_app_claims claims; /* its lists are owned */
	size_t n;
	struct np_app_entry entry[]; /* in the order of compare() */
};

static int compare(const void *a, const void *b)
{
	const struct np_app_entry *x = a, *y = b;
	int rc = strcmp(x->app, y->app);

	if (!rc)
		rc = (int)y->published - (int)x->published;
	if (!rc && !x->published)
		rc = x->uid < y->uid ? -1 : x->uid > y->uid;
	return rc;
}

static void free_all(struct np_app_index *x)
{
	free((void *)x->claims.rule);
	free((void *)x->claims.user);
	free(x);
}

/* There is always one more. */
static const void *copy(const void *list, size_t n, size_t size)
{
	void *all = calloc(n + 1, size);

	return all && n ? memcpy(all, list, n * size) : all;
}

static int copy_claims(struct np_app_index *x, const struct np_app_claims *c)
{
	x->claims = *c;
	x->claims.rule = copy(c->rule, c->n_rules, sizeof(*c->rule));
	x->claims.user = copy(c->user, c->n_users, sizeof(*c->user));
	return x->claims.rule && x->claims.user ? 0 : -ENOMEM;
}

int np_app_index_new(const struct np_app_entry *entry, size_t n,
		     int32_t unknown, const struct np_app_claims *claims,
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
		qsort(x->entry, n, sizeof(*entry), compare);
	}
	rc = claims ? copy_claims(x, claims) : 0;
	if (rc)
		free_all(x);
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
		free_all(x);
}

/* A published one, or a user's own. */
static const struct np_app_entry *entry_of(const struct np_app_index *x,
					   const char *app, bool published,
					   uint32_t uid)
{
	struct np_app_entry key = { .published = published, .uid = uid };

	if (strlen(app) > NP_APP_MAX)
		return NULL;
	strcpy(key.app, app);
	return bsearch(&key, x->entry, x->n, sizeof(key), compare);
}

int32_t np_app_index_find(const struct np_app_index *x, const char *app,
			  uint32_t uid)
{
	const struct np_app_entry *found = entry_of(x, app, true, 0);

	if (!found)
		found = entry_of(x, app, false, uid);
	return found ? found->profile : NP_PROFILE_UNKNOWN;
}

static int by_uid(const void *a, const void *b)
{
	const struct np_claim_user *x = a, *y = b;

	return x->uid < y->uid ? -1 : x->uid > y->uid;
}

static enum np_claim judge(const struct np_app_index *x, const char *app,
			   const struct np_claimant *who)
{
	const struct np_claim_user key = { .uid = who->uid };
	const struct np_app_claims *c = &x->claims;
	const struct np_claim_user *user = c->n_users ?
		bsearch(&key, c->user, c->n_users, sizeof(key), by_uid) : NULL;
	const struct np_app_entry *own;

	switch (np_claim_ask(c->rule, c->n_rules, app, who, user)) {
	case NP_CLAIM_YES:
		return NP_CLAIM_HOLDS;
	case NP_CLAIM_NO:
		return NP_CLAIM_BARRED;
	case NP_CLAIM_MAYBE:
		return NP_CLAIM_UNCLEAR;
	case NP_CLAIM_SILENT:
		break;
	}
	own = entry_of(x, app, false, who->uid);
	return own && *own->refuted ? NP_CLAIM_REFUTED :
	       own && own->backed ? NP_CLAIM_HOLDS : NP_CLAIM_UNPROVED;
}

int32_t np_app_index_of_job(const struct np_app_index *x, const char *app,
			    const struct np_claimant *who,
			    enum np_claim *claim)
{
	const struct np_app_entry *found = entry_of(x, app, true, 0);

	*claim = found ? judge(x, app, who) : NP_CLAIM_HOLDS;
	if (!found)
		found = entry_of(x, app, false, who->uid);
	return found && np_claim_counts(*claim) ? found->profile :
						  NP_PROFILE_UNKNOWN;
}

const char *np_app_index_why(const struct np_app_index *x, const char *app,
			     uint32_t uid, enum np_claim claim)
{
	static const char *const why[] = {
		[NP_CLAIM_HOLDS] = "nothing speaks against it",
		[NP_CLAIM_BARRED] = "Claim= in netprof.conf names others",
		[NP_CLAIM_REFUTED] = "other figures",
		[NP_CLAIM_UNPROVED] =
			"neither Claim= nor own runs speak for it",
		[NP_CLAIM_UNCLEAR] = "groups that Claim= names are not known",
	};
	const struct np_app_entry *own = claim == NP_CLAIM_REFUTED ?
					 entry_of(x, app, false, uid) : NULL;

	return own && *own->refuted ? own->refuted : why[claim];
}

int32_t np_app_index_unknown(const struct np_app_index *x)
{
	return x->unknown;
}

size_t np_app_index_n(const struct np_app_index *x)
{
	return x->n;
}
