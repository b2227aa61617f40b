#include "np_job_cache.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

#define MAX_LISTS 4096
#define MAX_LIST_BYTES (16 << 20) /* of texts and bitmaps */

/* A list and its nodes. */
struct list {
	char *hosts;
	int rc;
	uint64_t *nodes;
};

struct np_job_cache {
	void *cached; /* tsearch(3) by id */
	void *list; /* by text */
	size_t n_lists, list_bytes;
	struct np_site *site; /* of the lists */
};

int np_job_cache_new(struct np_job_cache **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static void free_cached(void *p)
{
	struct np_cached_job *cached = p;

	free(cached->comment);
	free(cached);
}

static void free_list(void *p)
{
	struct list *l = p;

	free(l->hosts);
	free(l->nodes);
	free(l);
}

static void drop_lists(struct np_job_cache *m)
{
	tdestroy(m->list, free_list);
	m->list = NULL;
	m->n_lists = m->list_bytes = 0;
}

void np_job_cache_free(struct np_job_cache *m)
{
	if (!m)
		return;
	tdestroy(m->cached, free_cached);
	drop_lists(m);
	np_site_unref(m->site);
	free(m);
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = ((const struct np_cached_job *)a)->id;
	uint32_t y = ((const struct np_cached_job *)b)->id;

	return x < y ? -1 : x > y;
}

struct np_cached_job *np_job_cache_find(struct np_job_cache *m, uint32_t id)
{
	const struct np_cached_job key = { .id = id };
	void *at = tfind(&key, &m->cached, by_id);

	return at ? *(struct np_cached_job **)at : NULL;
}

struct np_cached_job *np_job_cache_at(struct np_job_cache *m, uint32_t id)
{
	struct np_cached_job *cached = np_job_cache_find(m, id);

	if (!cached) {
		cached = calloc(1, sizeof(*cached));
		if (!cached)
			return NULL;
		cached->id = id;
		if (!tsearch(cached, &m->cached, by_id)) {
			free(cached);
			return NULL;
		}
	}
	cached->seen = true;
	return cached;
}

/* Collects those that were not seen; the tree must not change under it. */
struct sweep {
	struct np_cached_job **gone;
	size_t n;
};

static void sweep_one(const void *node, VISIT which, void *arg)
{
	struct np_cached_job *cached = *(struct np_cached_job *const *)node;
	struct sweep *s = arg;

	if (which != postorder && which != leaf)
		return;
	if (!cached->seen && !np_array_more(&s->gone, s->n, sizeof(*s->gone)))
		s->gone[s->n++] = cached;
	cached->seen = false;
}

void np_job_cache_sweep(struct np_job_cache *m)
{
	struct sweep s = { NULL, 0 };

	twalk_r(m->cached, sweep_one, &s);
	for (size_t i = 0; i < s.n; i++) {
		tdelete(s.gone[i], &m->cached, by_id);
		free_cached(s.gone[i]);
	}
	free(s.gone);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct list *)a)->hosts,
		      ((const struct list *)b)->hosts);
}

int np_job_cache_parse(struct np_job_cache *m, struct np_site *site,
		       const char *hosts,
		       const uint64_t **nodes)
{
	const struct list key = { .hosts = (char *)(hosts ? hosts : "") };
	struct list *l;
	size_t bytes;
	void *at;

	if (m->site != site) {
		drop_lists(m);
		np_site_unref(m->site);
		m->site = np_site_ref(site);
	}
	at = tfind(&key, &m->list, by_text);
	if (at) {
		l = *(struct list **)at;
		*nodes = l->nodes;
		return l->rc;
	}
	bytes = strlen(key.hosts) + np_site_words(site) * sizeof(*l->nodes);
	if (m->n_lists == MAX_LISTS ||
	    (m->n_lists && m->list_bytes + bytes > MAX_LIST_BYTES))
		drop_lists(m);
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->hosts = strdup(key.hosts);
	l->nodes = calloc(np_site_words(site), sizeof(*l->nodes));
	if (!l->hosts || !l->nodes || !tsearch(l, &m->list, by_text)) {
		free_list(l);
		return -ENOMEM;
	}
	m->n_lists++;
	m->list_bytes += bytes;
	l->rc = np_site_parse(site, key.hosts, l->nodes);
	*nodes = l->nodes;
	return l->rc;
}
