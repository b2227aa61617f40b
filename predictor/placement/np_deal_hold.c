/* Leaves change hands. */
#include <errno.h>

#include "np_deal_impl.h"

struct change {
	uint32_t unit, leaf; /* the top bit of leaf: taken away */
};
#define TAKEN_AWAY (UINT32_C(1) << 31)

void np_deal_hold(struct np_deal *p, uint32_t unit, uint32_t leaf)
{
	struct np_unit *u = &p->unit[unit];
	struct np_cohort *q;

	np_bits_set(u->set, leaf);
	u->supply += p->leaf_usable[leaf];
	for (uint32_t i = u->cohort; i != NP_NONE; i = q->next) {
		q = np_deal_cohort(p, i);
		q->in_free += q->free[leaf];
		q->in_usable += q->counts->usable[leaf];
	}
	np_deal_kind_hold(p, u->kind, leaf);
}

void np_deal_drop(struct np_deal *p, uint32_t unit, uint32_t leaf)
{
	struct np_unit *u = &p->unit[unit];
	struct np_cohort *q;

	np_bits_clear(u->set, leaf);
	u->supply -= p->leaf_usable[leaf];
	for (uint32_t i = u->cohort; i != NP_NONE; i = q->next) {
		q = np_deal_cohort(p, i);
		q->in_free -= q->free[leaf];
		q->in_usable -= q->counts->usable[leaf];
	}
	np_deal_kind_drop(p, u->kind, leaf);
}

/* Another unit of the same kind is on a leaf that takes only one. */
static bool by_own_kind(const struct np_deal *p, const struct np_unit *u,
			uint32_t leaf)
{
	const struct np_kind *k = &p->kind[u->kind];

	return np_bits_test(k->self_apart, leaf) &&
	       (u->together || k->holders[leaf] > np_bits_test(u->set, leaf));
}

bool np_deal_can_take(const struct np_deal *p, uint32_t unit, uint32_t leaf)
{
	const struct np_unit *u = &p->unit[unit];

	return !by_own_kind(p, u, leaf) && !np_deal_blocked(p, u->kind, leaf);
}

int np_deal_log(struct np_deal *p, uint32_t unit, uint32_t leaf)
{
	struct change *c = np_pool_add(&p->undo, 1);

	if (!c)
		return -ENOMEM;
	*c = (struct change){ unit, leaf };
	return 0;
}

void np_deal_roll_back(struct np_deal *p)
{
	struct change *c = p->undo.at;

	while (p->undo.n) {
		struct change *last = &c[--p->undo.n];

		if (last->leaf & TAKEN_AWAY)
			np_deal_hold(p, last->unit, last->leaf & ~TAKEN_AWAY);
		else
			np_deal_drop(p, last->unit, last->leaf);
	}
}

/* The first seat of a cohort that so many free nodes do not start. */
static uint32_t first_beyond(const struct np_deal *p,
			     const struct np_cohort *q, uint64_t nodes)
{
	const uint32_t *seat = p->by_cohort + q->first_seat;
	uint32_t lo = 0, hi = q->n_ready;

	if (q->switches) { /* each for itself */
		while (lo < hi && p->seat[seat[lo]].cum <= nodes)
			lo++;
		return lo;
	}
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (p->seat[seat[mid]].cum > nodes)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* No seat before rank would lose if its cohort had less. */
static bool cohort_spares(const struct np_deal *p, const struct np_cohort *q,
			  uint64_t had_free, uint64_t free, uint64_t had,
			  uint64_t usable, uint32_t rank)
{
	const uint32_t *seat = p->by_cohort + q->first_seat;

	for (uint32_t k = first_beyond(p, q, free); k < q->n_ready; k++) {
		const struct np_seat *s = &p->seat[seat[k]];

		if (seat[k] > rank || (!q->switches && s->cum > had_free))
			break;
		if (s->cum > free && s->cum <= had_free)
			return false;
	}
	for (uint32_t k = 0; q->max_need > usable && k < q->n_seats; k++)
		if (seat[k] < rank && p->seat[seat[k]].need > usable &&
		    p->seat[seat[k]].need <= had)
			return false;
	return true;
}

static bool unit_spares(const struct np_deal *p, uint32_t unit, uint32_t leaf,
			uint32_t rank)
{
	const struct np_unit *u = &p->unit[unit];
	struct np_cohort *q;

	for (uint32_t i = u->cohort; i != NP_NONE; i = q->next) {
		uint64_t had_free, had, free, usable;

		q = np_deal_cohort(p, i);
		had_free = np_deal_free_in(p, q);
		had = np_deal_usable_in(p, q);
		np_bits_clear(u->set, leaf);
		free = q->switches ? np_deal_free_in(p, q) :
		       had_free - q->free[leaf];
		usable = q->switches ? np_deal_usable_in(p, q) :
			 had - q->counts->usable[leaf];
		np_bits_set(u->set, leaf);
		if (!cohort_spares(p, q, had_free, free, had, usable, rank))
			return false;
	}
	return true;
}

/* The units of a kind that hold a leaf spare it, or with take leave it. */
static int clear_kind(struct np_deal *p, uint32_t rank, uint32_t kind,
		      uint32_t leaf, bool take)
{
	uint32_t left = p->kind[kind].holders[leaf];

	for (uint32_t w = p->kind[kind].unit; left && w != NP_NONE;
	     w = p->unit[w].next) {
		if (!np_bits_test(p->unit[w].set, leaf))
			continue;
		left--;
		if (w == p->seat[rank].unit)
			continue;
		if (!take && !unit_spares(p, w, leaf, rank))
			return -EBUSY;
		if (!take)
			continue;
		if (np_deal_log(p, w, leaf | TAKEN_AWAY))
			return -ENOMEM;
		np_deal_drop(p, w, leaf);
	}
	return 0;
}

int np_deal_clear(struct np_deal *p, uint32_t rank, uint32_t leaf, bool take)
{
	uint32_t me = p->seat[rank].unit, kind = p->unit[me].kind;
	const uint64_t *on = p->on_leaf + leaf * p->kw;
	const uint64_t *mind = p->mind + kind * p->kw;
	int rc = 0;

	if (p->unit[me].together &&
	    np_bits_test(p->kind[kind].self_apart, leaf))
		return -EBUSY; /* by itself it would be too many there */
	if (by_own_kind(p, &p->unit[me], leaf))
		rc = clear_kind(p, rank, kind, leaf, take);
	for (size_t w = 0; w < p->kw && !rc; w++)
		for (uint64_t m = on[w] & mind[w]; m && !rc; m &= m - 1) {
			uint32_t b = np_bits_at(w, m);

			if (!np_deal_apart(p, kind, b, leaf, NULL))
				continue;
			rc = p->kind[b].trusted && !p->kind[kind].trusted ?
			     -EBUSY : clear_kind(p, rank, b, leaf, take);
		}
	return rc;
}
