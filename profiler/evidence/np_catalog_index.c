/* The handles that the catalog gave, by name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_catalog_impl.h"

int np_catalog_make_index(struct np_catalog *c, struct np_app_index **out)
{
	size_t most = c->trouble ? 0 : c->n_handles, n = 0;
	struct np_app_entry *e = calloc(most + 1, sizeof(*e));
	int32_t unknown = NP_PROFILE_UNKNOWN;
	struct np_claim_user *user = NULL;
	struct np_app_claims claims;
	int rc = e ? np_catalog_claims(c, &claims, &user) : -ENOMEM;

	if (!rc)
		np_catalog_judge_claims(c);
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
