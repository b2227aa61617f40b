/* Leaves change hands. */
#include <errno.h>

#include "np_array.h"
#include "np_group.h"

void np_group_hold(struct np_groups *g, uint32_t group, uint32_t leaf)
{
	struct np_group *u = &g->at[group];
	struct np_subgroup *q;

	np_bits_set(u->set, leaf);
	u->supply += g->p->leaf_usable[leaf];
	for (uint32_t i = u->subgroup; i != NP_NONE; i = q->next) {
		q = &g->subgroup[i];
		q->in_free += q->free[leaf];
		q->in_usable += q->counts->usable[leaf];
	}
	if (g->of_class[u->class].taker)
		g->of_class[u->class].taker[leaf] = group;
	np_class_hold(g->classes, u->class, leaf);
}

void np_group_drop(struct np_groups *g, uint32_t group, uint32_t leaf)
{
	struct np_group *u = &g->at[group];
	struct np_subgroup *q;

	np_bits_clear(u->set, leaf);
	np_bits_set(g->left, leaf);
	u->supply -= g->p->leaf_usable[leaf];
	for (uint32_t i = u->subgroup; i != NP_NONE; i = q->next) {
		q = &g->subgroup[i];
		q->in_free -= q->free[leaf];
		q->in_usable -= q->counts->usable[leaf];
	}
	np_class_drop(g->classes, u->class, leaf);
}

/* Another group of the same class is on a leaf that takes only one. */
static bool by_own_class(const struct np_groups *g, const struct np_group *u,
			 uint32_t leaf)
{
	const struct np_class *k = &g->classes->at[u->class];

	return np_bits_test(k->self_apart, leaf) &&
	       (u->together || k->holders[leaf] > np_bits_test(u->set, leaf));
}

bool np_group_can_take(const struct np_groups *g, uint32_t group, uint32_t leaf)
{
	const struct np_group *u = &g->at[group];

	if (by_own_class(g, u, leaf))
		return false;
	/* Where the class is already, it may be. */
	return np_bits_test(g->classes->at[u->class].held, leaf) ||
	       !np_class_blocked(g->classes, u->class, leaf);
}

int np_group_log(struct np_groups *g, uint32_t group, uint32_t leaf, bool away)
{
	if (np_array_room(&g->undo, &g->undo_room, g->n_undo + 1,
			  sizeof(*g->undo)))
		return -ENOMEM;
	g->undo[g->n_undo++] = (struct np_taking){ group, leaf, away };
	return 0;
}

void np_group_roll_back(struct np_groups *g)
{
	while (g->n_undo) {
		const struct np_taking *last = &g->undo[--g->n_undo];

		if (last->away)
			np_group_hold(g, last->group, last->leaf);
		else
			np_group_drop(g, last->group, last->leaf);
	}
}

/* The first request of a subgroup that so many free nodes do not start. */
static uint32_t first_beyond(const struct np_groups *g,
			     const struct np_subgroup *q, uint64_t nodes)
{
	const uint32_t *request = g->by_subgroup + q->first;
	const struct np_request *all = g->requests->at;
	uint32_t lo = 0, hi = q->n_ready;

	if (q->switches) { /* each for itself */
		while (lo < hi && all[request[lo]].cum <= nodes)
			lo++;
		return lo;
	}
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (all[request[mid]].cum > nodes)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* No request before rank would lose if its subgroup had less. */
static bool subgroup_spares(const struct np_groups *g,
			    const struct np_subgroup *q,
			    uint64_t had_free, uint64_t free, uint64_t had,
			    uint64_t usable, uint32_t rank)
{
	const uint32_t *request = g->by_subgroup + q->first;
	const struct np_request *all = g->requests->at;

	for (uint32_t k = first_beyond(g, q, free); k < q->n_ready; k++) {
		const struct np_request *r = &all[request[k]];

		if (request[k] > rank || (!q->switches && r->cum > had_free))
			break;
		if (r->cum > free && r->cum <= had_free)
			return false;
	}
	for (uint32_t k = 0; q->max_need > usable && k < q->n; k++)
		if (request[k] < rank && all[request[k]].need > usable &&
		    all[request[k]].need <= had)
			return false;
	return true;
}

static bool group_spares(const struct np_groups *g, uint32_t group,
			 uint32_t leaf, uint32_t rank)
{
	const struct np_group *u = &g->at[group];
	struct np_subgroup *q;

	for (uint32_t i = u->subgroup; i != NP_NONE; i = q->next) {
		uint64_t had_free, had, free, usable;

		q = &g->subgroup[i];
		had_free = np_group_free_in(g, q);
		had = np_group_usable_in(g, q);
		np_bits_clear(u->set, leaf);
		free = q->switches ? np_group_free_in(g, q) :
		       had_free - q->free[leaf];
		usable = q->switches ? np_group_usable_in(g, q) :
			 had - q->counts->usable[leaf];
		np_bits_set(u->set, leaf);
		if (!subgroup_spares(g, q, had_free, free, had, usable, rank))
			return false;
	}
	return true;
}

/* The groups of a class that hold a leaf spare it, or with take leave it. */
static int clear_class(struct np_groups *g, uint32_t rank, uint32_t class,
		       uint32_t leaf, bool take)
{
	uint32_t left = g->classes->at[class].holders[leaf];
	const uint32_t *taker = g->of_class[class].taker;
	uint32_t w = g->of_class[class].first;

	/* If it is one, it is most often the last one to come. */
	if (left == 1 && taker && np_bits_test(g->at[taker[leaf]].set, leaf))
		w = taker[leaf];
	for (; left && w != NP_NONE; w = g->at[w].next) {
		if (!np_bits_test(g->at[w].set, leaf))
			continue;
		left--;
		if (w == g->requests->at[rank].group)
			continue;
		if (!take && !group_spares(g, w, leaf, rank))
			return -EBUSY;
		if (!take)
			continue;
		if (np_group_log(g, w, leaf, true))
			return -ENOMEM;
		np_group_drop(g, w, leaf);
	}
	return 0;
}

int np_group_clear(struct np_groups *g, uint32_t rank, uint32_t leaf, bool take)
{
	const struct np_group *me = &g->at[g->requests->at[rank].group];
	const struct np_classes *c = g->classes;
	const uint64_t *on = c->on_leaf + leaf * c->words;
	const uint64_t *mind = c->mind + me->class * c->words;
	int rc = 0;

	if (me->together && np_bits_test(c->at[me->class].self_apart, leaf))
		return -EBUSY; /* by itself it would be too many there */
	if (by_own_class(g, me, leaf))
		rc = clear_class(g, rank, me->class, leaf, take);
	for (uint32_t near = c->at[me->class].near; near && !rc;
	     near &= near - 1) {
		size_t w = np_bits_at(0, near);

		for (uint64_t m = on[w] & mind[w]; m && !rc; m &= m - 1) {
			uint32_t b = np_bits_at(w, m);

			if (!np_class_apart(c, me->class, b, leaf, NULL))
				continue;
			rc = c->at[b].trusted && !c->at[me->class].trusted ?
			     -EBUSY : clear_class(g, rank, b, leaf, take);
		}
	}
	return rc;
}
