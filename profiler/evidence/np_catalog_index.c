/* The handles that the catalog gave, by name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_backing.h"
#include "np_catalog_impl.h"
#include "np_ids.h"


/* Whose own runs contradict a published name, and who is in which groups. */

/* What cannot be compared at the moment is left as it was. */
static void judge(struct np_catalog *c, struct np_cat_app *own)
{
	const struct np_cat_app *p = np_cat_map_find(&c->apps, NP_CAT_PUBLISHED,
						     own->key.app);

	if (!p || !p->there || !p->known)
		own->refuted[0] = '\0';
	else if (own->usable && p->usable &&
		 !np_backing_refuted(&own->evidence, &p->evidence,
				     c->cal.fabric,
				     own->refuted, sizeof(own->refuted)))
		own->refuted[0] = '\0';
}

/* Set refuted of each application. */
static void judge_claims(struct np_catalog *c)
{
	for (size_t i = 0; i < c->apps.n; i++) {
		struct np_cat_app *a = (struct np_cat_app *)c->apps.item[i];

		if (a->key.owner != NP_CAT_PUBLISHED && a->there && a->known)
			judge(c, a);
	}
}

void np_catalog_look_members(struct np_catalog *c, double until)
{
	const struct np_place_conf *p = &c->conf;

	if (np_members_look(&c->members, p->claim, p->n_claims, np_groups_of,
			    c->clock, until))
		np_catalog_reindex(c);
}

/* free(*user).  Returns 0 or -ENOMEM. */
static int claims_of(struct np_catalog *c, struct np_app_claims *out,
		     struct np_claim_user **user)
{
	*out = (struct np_app_claims){
		.rule = c->conf.claim, .n_rules = c->conf.n_claims,
	};
	*user = np_members_known(&c->members, &out->n_users);
	out->user = *user;
	return *user ? 0 : -ENOMEM;
}

int np_catalog_make_index(struct np_catalog *c, struct np_app_index **out)
{
	size_t most = c->trouble ? 0 : c->n_handles, n = 0;
	struct np_app_entry *e = calloc(most + 1, sizeof(*e));
	int32_t unknown = NP_PROFILE_UNKNOWN;
	struct np_claim_user *user = NULL;
	struct np_app_claims claims;
	int rc = e ? claims_of(c, &claims, &user) : -ENOMEM;

	if (!rc)
		judge_claims(c);
	most = rc ? 0 : most;
	for (size_t i = 0; most && i < c->apps.n; i++) {
		const struct np_cat_app *a =
			(const struct np_cat_app *)c->apps.item[i];
		bool published = a->key.owner == NP_CAT_PUBLISHED;

		if (!a->there || !a->known)
			continue;
		e[n] = (struct np_app_entry){
			.published = published, .profile = a->handle,
			.uid = published ? 0 : (uint32_t)a->key.owner,
			.refuted = a->refuted[0] ? a->refuted : NULL,
		};
		strcpy(e[n++].app, a->key.app);
		if (published && !strcmp(a->key.app, c->conf.unknown_as))
			unknown = a->handle;
	}
	if (!rc)
		rc = np_app_index_new(e, n, unknown, &claims, out);
	free(user);
	free(e);
	return rc;
}
