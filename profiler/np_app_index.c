/* Handles of applications by name; declared in np_catalog.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_catalog_impl.h"

struct entry {
	struct np_cat_key key;
	int32_t handle;
};

struct np_app_index {
	int refs;
	int32_t unknown;
	size_t n;
	struct entry e[]; /* sorted by key */
};

struct np_app_index *np_app_index_ref(struct np_app_index *x)
{
	__atomic_add_fetch(&x->refs, 1, __ATOMIC_RELAXED);
	return x;
}

void np_app_index_unref(struct np_app_index *x)
{
	if (!x || __atomic_sub_fetch(&x->refs, 1, __ATOMIC_ACQ_REL))
		return;
	free(x);
}

static int compare(const void *p, const void *q)
{
	const struct np_cat_key *a = p, *b = q;

	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return strcmp(a->app, b->app);
}

static int32_t find(const struct np_app_index *x, int64_t owner,
		    const char *app)
{
	struct np_cat_key key = { .owner = owner };
	const struct entry *e;

	if (strnlen(app, sizeof(key.app)) == sizeof(key.app))
		return NP_PROFILE_UNKNOWN;
	strcpy(key.app, app);
	e = bsearch(&key, x->e, x->n, sizeof(*x->e), compare);
	return e ? e->handle : NP_PROFILE_UNKNOWN;
}

int32_t np_app_index_find(const struct np_app_index *x, const char *app,
			  uint32_t uid)
{
	int32_t handle = find(x, NP_CAT_PUBLISHED, app);

	return handle == NP_PROFILE_UNKNOWN ? find(x, uid, app) : handle;
}

size_t np_app_index_n(const struct np_app_index *x)
{
	return x->n;
}

int32_t np_app_index_unknown(const struct np_app_index *x)
{
	return x->unknown;
}

/* The applications of the catalog are sorted already. */
int np_app_index_make(const struct np_catalog *c, struct np_app_index **out)
{
	size_t most = c->trouble ? 0 : c->n_handles;
	struct np_app_index *x = calloc(1, sizeof(*x) + most * sizeof(x->e[0]));

	if (!x)
		return -ENOMEM;
	x->refs = 1;
	for (size_t i = 0; most && i < c->apps.n; i++) {
		const struct np_cat_app *a =
			(const struct np_cat_app *)c->apps.item[i];

		if (a->there && a->known)
			x->e[x->n++] = (struct entry){ a->key, a->handle };
	}
	x->unknown = find(x, NP_CAT_PUBLISHED, c->conf.unknown_as);
	*out = x;
	return 0;
}
