/* Whose own runs contradict a published name, and who is in which groups. */
#include <errno.h>
#include <stdlib.h>

#include "np_backing.h"
#include "np_catalog_impl.h"
#include "np_ids.h"

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

void np_catalog_judge_claims(struct np_catalog *c)
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

int np_catalog_claims(struct np_catalog *c, struct np_app_claims *out,
		      struct np_claim_user **user)
{
	*out = (struct np_app_claims){
		.rule = c->conf.claim, .n_rules = c->conf.n_claims,
	};
	*user = np_members_known(&c->members, &out->n_users);
	out->user = *user;
	return *user ? 0 : -ENOMEM;
}
