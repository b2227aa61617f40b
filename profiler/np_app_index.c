#include "np_app_index.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "np_snapshot.h"

struct np_app_index {
	atomic_uint refs;
	int32_t unknown;
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

int np_app_index_new(const struct np_app_entry *entry, size_t n,
		     int32_t unknown, struct np_app_index **out)
{
	struct np_app_index *x = malloc(sizeof(*x) + n * sizeof(*entry));

	if (!x)
		return -ENOMEM;
	atomic_init(&x->refs, 1);
	x->unknown = unknown;
	x->n = n;
	if (n) {
		memcpy(x->entry, entry, n * sizeof(*entry));
		qsort(x->entry, n, sizeof(*entry), compare);
	}
	*out = x;
	return 0;
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
		free(x);
}

int32_t np_app_index_find(const struct np_app_index *x, const char *app,
			  uint32_t uid)
{
	struct np_app_entry key = { .published = true };
	const struct np_app_entry *found;

	if (strlen(app) > NP_APP_MAX)
		return NP_PROFILE_UNKNOWN;
	strcpy(key.app, app);
	found = bsearch(&key, x->entry, x->n, sizeof(key), compare);
	if (!found) {
		key.published = false;
		key.uid = uid;
		found = bsearch(&key, x->entry, x->n, sizeof(key), compare);
	}
	return found ? found->profile : NP_PROFILE_UNKNOWN;
}

int32_t np_app_index_unknown(const struct np_app_index *x)
{
	return x->unknown;
}

size_t np_app_index_n(const struct np_app_index *x)
{
	return x->n;
}
