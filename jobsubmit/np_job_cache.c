#include "np_job_cache.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

/* A user who was faster than the thread. */
struct overtaker {
	uint32_t uid;
	unsigned rounds;  /* in a row */
	bool now;	  /* in this one */
	int64_t rest_sec; /* left alone until then; 0: not */
};

struct np_job_cache {
	void *cached; /* tsearch(3) by id */
	struct overtaker *overtaker;
	size_t n_overtakers;
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

void np_job_cache_free(struct np_job_cache *m)
{
	if (!m)
		return;
	tdestroy(m->cached, free_cached);
	free(m->overtaker);
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

static struct overtaker *find_overtaker(const struct np_job_cache *m,
					uint32_t uid)
{
	for (size_t i = 0; i < m->n_overtakers; i++)
		if (m->overtaker[i].uid == uid)
			return &m->overtaker[i];
	return NULL;
}

void np_job_cache_overtaken(struct np_job_cache *m, uint32_t uid)
{
	struct overtaker *o = find_overtaker(m, uid);

	if (!o && np_array_more(&m->overtaker, m->n_overtakers, sizeof(*o)))
		return; /* it is counted from the next round on */
	if (!o) {
		o = &m->overtaker[m->n_overtakers++];
		*o = (struct overtaker){ .uid = uid };
	}
	o->now = true;
}

/* The clock may have been set back. */
static bool rests(const struct overtaker *o, int64_t now_sec)
{
	return o->rest_sec > now_sec &&
	       o->rest_sec <= now_sec + NP_OVERTAKEN_REST_SEC;
}

void np_job_cache_end_round(struct np_job_cache *m, int64_t now_sec,
			    void (*on_rest)(uint32_t uid))
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_overtakers; i++) {
		struct overtaker o = m->overtaker[i];

		if (o.now && ++o.rounds == NP_OVERTAKEN_ROUNDS) {
			o.rounds = 0;
			o.rest_sec = now_sec + NP_OVERTAKEN_REST_SEC;
			if (on_rest)
				on_rest(o.uid);
		}
		if (o.now || rests(&o, now_sec)) {
			o.now = false;
			m->overtaker[n++] = o;
		}
	}
	m->n_overtakers = n;
}

bool np_job_cache_rests(const struct np_job_cache *m, uint32_t uid,
			int64_t now_sec)
{
	const struct overtaker *o = find_overtaker(m, uid);

	return o && rests(o, now_sec);
}
