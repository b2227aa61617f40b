#include "np_group_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

#define WANTED_SEC 60.0 /* users without a job for longer are not asked about */

void np_group_cache_free(struct np_group_cache *m)
{
	free(m->at);
	*m = (struct np_group_cache){ .n = 0 };
}

/* Index of the first user that does not precede uid. */
static size_t place_of(const struct np_group_cache *m, uint32_t uid)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->at[mid].user.uid < uid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void drop_oldest(struct np_group_cache *m)
{
	size_t oldest = 0;

	for (size_t i = 1; i < m->n; i++)
		if (m->at[i].wanted < m->at[oldest].wanted)
			oldest = i;
	m->n--;
	memmove(m->at + oldest, m->at + oldest + 1,
		(m->n - oldest) * sizeof(*m->at));
}

static bool make_room(struct np_group_cache *m)
{
	if (m->n == NP_GROUP_CACHE_MAX)
		drop_oldest(m);
	return !np_array_grow(&m->at, m->n, sizeof(*m->at));
}

void np_group_cache_add(struct np_group_cache *m, uint32_t uid, double now)
{
	size_t i = place_of(m, uid);

	if (i == m->n || m->at[i].user.uid != uid) {
		if (!make_room(m))
			return;
		i = place_of(m, uid);
		memmove(m->at + i + 1, m->at + i, (m->n - i) * sizeof(*m->at));
		m->at[i] = (struct np_group_cache_entry){ .user.uid = uid };
		m->n++;
	}
	m->at[i].wanted = now;
}

/* A user that does not exist is known, too: to be in no group. */
static bool query(struct np_group_cache_entry *one, const struct np_claim_rule *rule,
		  size_t n, np_groups_f *groups_of,
		  const struct np_clock *clock)
{
	uint32_t *gid = NULL;
	size_t n_gids = 0;
	int rc = groups_of(one->user.uid, &gid, &n_gids);
	uint64_t groups = np_claim_groups(rule, n, gid, n_gids);
	bool answered = !rc || rc == -ENOENT, changed;

	free(gid);
	one->due = clock->now_sec(clock) + (answered ? NP_GROUP_CACHE_FRESH_SEC :
						       NP_GROUP_CACHE_RETRY_SEC);
	if (!answered)
		return false;
	changed = !one->known || one->user.groups != groups;
	one->user.groups = groups;
	one->known = true;
	return changed;
}

/*
 * Two passes: the users never asked about get at least NP_GROUP_CACHE_FIRST_SEC,
 * even if `until` is earlier; then those whose answer is old.
 */
bool np_group_cache_refresh(struct np_group_cache *m, const struct np_claim_rule *rule,
		     size_t n, np_groups_f *groups_of,
		     const struct np_clock *clock, double until)
{
	double now = clock->now_sec(clock);
	double first = now + NP_GROUP_CACHE_FIRST_SEC;
	bool changed = false;

	for (int refresh = 0; refresh < 2; refresh++) {
		double end = refresh ? until : first > until ? first : until;

		for (size_t i = 0; i < m->n; i++) {
			struct np_group_cache_entry *one = &m->at[i];

			if (one->known != refresh || one->due > now ||
			    now - one->wanted > WANTED_SEC)
				continue;
			if (clock->now_sec(clock) >= end)
				break;
			changed |= query(one, rule, n, groups_of, clock);
		}
	}
	return changed;
}

struct np_claim_user *np_group_cache_list(const struct np_group_cache *m, size_t *n)
{
	struct np_claim_user *list = calloc(m->n + 1, sizeof(*list));

	*n = 0;
	for (size_t i = 0; list && i < m->n; i++)
		if (m->at[i].known)
			list[(*n)++] = m->at[i].user;
	return list;
}
