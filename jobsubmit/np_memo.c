#include "np_memo.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LISTS 4096
#define MAX_LIST_BYTES (16 << 20) /* of texts and bitmaps */

/* A list and its nodes. */
struct list {
	char *hosts;
	int rc;
	uint64_t *nodes;
};

struct np_memos {
	void *memo; /* tsearch(3) by id */
	void *list; /* by text */
	size_t n_lists, list_bytes;
	struct np_site *site; /* of the lists */
};

int np_memos_new(struct np_memos **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static void free_memo(void *p)
{
	struct np_memo *memo = p;

	free(memo->comment);
	free(memo);
}

static void free_list(void *p)
{
	struct list *l = p;

	free(l->hosts);
	free(l->nodes);
	free(l);
}

static void drop_lists(struct np_memos *m)
{
	tdestroy(m->list, free_list);
	m->list = NULL;
	m->n_lists = m->list_bytes = 0;
}

void np_memos_free(struct np_memos *m)
{
	if (!m)
		return;
	tdestroy(m->memo, free_memo);
	drop_lists(m);
	np_site_unref(m->site);
	free(m);
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = ((const struct np_memo *)a)->id;
	uint32_t y = ((const struct np_memo *)b)->id;

	return x < y ? -1 : x > y;
}

struct np_memo *np_memos_find(struct np_memos *m, uint32_t id)
{
	const struct np_memo key = { .id = id };
	void *at = tfind(&key, &m->memo, by_id);

	return at ? *(struct np_memo **)at : NULL;
}

struct np_memo *np_memos_at(struct np_memos *m, uint32_t id)
{
	struct np_memo *memo = np_memos_find(m, id);

	if (!memo) {
		memo = calloc(1, sizeof(*memo));
		if (!memo)
			return NULL;
		memo->id = id;
		if (!tsearch(memo, &m->memo, by_id)) {
			free(memo);
			return NULL;
		}
	}
	memo->seen = true;
	return memo;
}

/* Collects those that were not seen; the tree must not change under it. */
struct sweep {
	struct np_memo **gone;
	size_t n;
};

static void sweep_one(const void *node, VISIT which, void *arg)
{
	struct np_memo *memo = *(struct np_memo *const *)node;
	struct sweep *s = arg;
	struct np_memo **grown;

	if (which != postorder && which != leaf)
		return;
	if (!memo->seen) {
		grown = reallocarray(s->gone, s->n + 1, sizeof(*grown));
		if (grown) {
			s->gone = grown;
			s->gone[s->n++] = memo;
		}
	}
	memo->seen = false;
}

void np_memos_sweep(struct np_memos *m)
{
	struct sweep s = { NULL, 0 };

	twalk_r(m->memo, sweep_one, &s);
	for (size_t i = 0; i < s.n; i++) {
		tdelete(s.gone[i], &m->memo, by_id);
		free_memo(s.gone[i]);
	}
	free(s.gone);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct list *)a)->hosts,
		      ((const struct list *)b)->hosts);
}

int np_memos_parse(struct np_memos *m, struct np_site *site, const char *hosts,
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
