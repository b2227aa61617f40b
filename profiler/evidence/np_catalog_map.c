/* Items by owner and application: sorted pointers, some thousand of them. */
#include "np_catalog_impl.h"

#include <stdlib.h>
#include <string.h>

static int compare(const struct np_cat_key *k, int64_t owner, const char *app)
{
	if (k->owner != owner)
		return k->owner < owner ? -1 : 1;
	return strcmp(k->app, app);
}

size_t np_cat_map_at(const struct np_cat_map *m, int64_t owner,
		     const char *app)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare(m->item[mid], owner, app) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void *np_cat_map_find(const struct np_cat_map *m, int64_t owner,
		      const char *app)
{
	size_t i = np_cat_map_at(m, owner, app);

	return i < m->n && !compare(m->item[i], owner, app) ? m->item[i] : NULL;
}

void *np_cat_map_add(struct np_cat_map *m, int64_t owner, const char *app,
		     size_t size)
{
	size_t i = np_cat_map_at(m, owner, app);
	struct np_cat_key *k = calloc(1, size);

	if (k && m->n == m->room) {
		size_t room = m->room ? 2 * m->room : 64;
		struct np_cat_key **grown =
			reallocarray(m->item, room, sizeof(*grown));

		if (!grown) {
			free(k);
			return NULL;
		}
		m->item = grown;
		m->room = room;
	}
	if (!k)
		return NULL;
	k->owner = owner;
	strcpy(k->app, app);
	memmove(m->item + i + 1, m->item + i, (m->n - i) * sizeof(*m->item));
	m->item[i] = k;
	m->n++;
	return k;
}

void np_cat_map_remove(struct np_cat_map *m, size_t i)
{
	free(m->item[i]);
	m->n--;
	memmove(m->item + i, m->item + i + 1, (m->n - i) * sizeof(*m->item));
}

void np_cat_map_free(struct np_cat_map *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->item[i]);
	free(m->item);
}
