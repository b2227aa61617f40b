/* The rule "grow" of np_deal_share.c. */
#include <errno.h>

#include "np_deal_impl.h"

enum want { WANT_FREE, WANT_USABLE };

struct goal {
	uint32_t rank, unit;
	struct np_cohort *q;
	const uint16_t *column;
	uint64_t nodes;
	enum want want;
};

static uint64_t reached(const struct np_deal *p, const struct goal *g)
{
	return g->want == WANT_FREE ? np_deal_free_in(p, g->q) :
	       np_deal_usable_in(p, g->q);
}

/* Kinds that would lose a leaf to this one. */
static size_t loss(const struct np_deal *p, uint32_t kind, uint32_t leaf)
{
	const uint64_t *open = p->open_on + leaf * p->kw;
	const uint64_t *hard = p->hard + kind * p->kw;
	size_t n = 0;

	for (size_t w = 0; w < p->kw; w++)
		n += (size_t)__builtin_popcountll(open[w] & hard[w]);
	return n;
}

/*
 * Is leaf a the better one to take when so many nodes are missing?  One leaf
 * that is enough, rather than several; of those, the one that costs others
 * least, then the tightest; else the largest.
 */
static bool better(const struct np_deal *p, const struct goal *g, uint32_t a,
		   uint32_t b, uint64_t missing)
{
	uint32_t na = g->column[a], nb = g->column[b];
	uint32_t kind = p->unit[g->unit].kind;
	size_t la, lb;

	if ((na >= missing) != (nb >= missing))
		return na >= missing;
	if (na < missing && na != nb)
		return na > nb;
	la = loss(p, kind, a);
	lb = loss(p, kind, b);
	if (la != lb)
		return la < lb;
	return na != nb ? na < nb : a < b;
}

/* The best leaf to take next, from nobody or from whoever spares it. */
static uint32_t pick(struct np_deal *p, const struct goal *g, bool evict,
		     uint64_t missing)
{
	const struct np_unit *u = &p->unit[g->unit];
	const struct np_kind *k = &p->kind[u->kind];
	uint32_t best = NP_NONE;

	for (size_t w = 0; w < p->lw; w++)
		for (uint64_t m = u->reach[w] & k->open[w] & ~u->set[w]; m;
		     m &= m - 1) {
			uint32_t leaf = np_bits_at(w, m);

			if (!g->column[leaf] ||
			    (best != NP_NONE &&
			     !better(p, g, leaf, best, missing)))
				continue;
			if (evict ? !np_deal_clear(p, g->rank, leaf, false) :
			    np_deal_can_take(p, g->unit, leaf))
				best = leaf;
		}
	return best;
}

static int take(struct np_deal *p, const struct goal *g, uint32_t leaf,
		bool evict)
{
	int rc = evict ? np_deal_clear(p, g->rank, leaf, true) : 0;

	if (!rc)
		rc = np_deal_log(p, g->unit, leaf);
	if (!rc)
		np_deal_hold(p, g->unit, leaf);
	return rc;
}

/* Could all leaves together be enough? */
static bool in_reach(const struct np_deal *p, const struct goal *g)
{
	const struct np_unit *u = &p->unit[g->unit];
	const struct np_kind *k = &p->kind[u->kind];
	uint64_t sum = g->want == WANT_FREE ? g->q->loose_free :
		       g->q->counts->loose_usable;

	for (size_t w = 0; w < p->lw; w++)
		for (uint64_t m = u->reach[w] & (k->open[w] | u->set[w]); m;
		     m &= m - 1)
			sum += g->column[np_bits_at(w, m)];
	return sum >= g->nodes;
}

/* 1: reached; 0: not, and nothing changed; or -ENOMEM. */
static int acquire(struct np_deal *p, uint32_t rank, enum want want)
{
	const struct np_seat *s = &p->seat[rank];
	struct np_cohort *q = np_deal_cohort(p, s->cohort);
	struct goal g = {
		.rank = rank, .unit = s->unit, .q = q, .want = want,
		.column = want == WANT_FREE ? q->free : q->counts->usable,
		.nodes = want == WANT_FREE ? s->cum : s->need,
	};
	bool evict = false;
	uint64_t have;
	int rc = 0;

	if (!in_reach(p, &g))
		return 0;
	p->undo.n = 0;
	while ((have = reached(p, &g)) < g.nodes && !rc) {
		uint32_t leaf = pick(p, &g, evict, g.nodes - have);

		if (leaf != NP_NONE)
			rc = take(p, &g, leaf, evict);
		else if (evict)
			break;
		else
			evict = true;
	}
	if (!rc && have >= g.nodes)
		return 1;
	np_deal_roll_back(p);
	return rc;
}

/* A unit none of whose seats can ever start frees what it holds. */
static bool give_up(struct np_deal *p, uint32_t unit)
{
	struct np_unit *u = &p->unit[unit];
	bool any = np_bits_any(u->set, p->lw);

	if (u->placed)
		return false;
	NP_BITS_EACH(leaf, u->set, p->lw)
		np_deal_drop(p, unit, (uint32_t)leaf);
	return any;
}

/* Ask for nodes unless that was in vain already in this sweep. */
static int ask(struct np_deal *p, uint32_t rank, enum want want, bool *changed)
{
	struct np_seat *s = &p->seat[rank];
	struct np_cohort *q = np_deal_cohort(p, s->cohort);
	uint64_t nodes = want == WANT_FREE ? s->cum : s->need, *vain;
	int rc;

	if (!np_bits_any(p->unit[s->unit].set, p->lw))
		q = np_deal_cohort(p, q->like);
	vain = want == WANT_FREE ? &q->free_in_vain : &q->usable_in_vain;
	if (nodes >= *vain)
		return 0;
	rc = acquire(p, rank, want);
	if (rc < 0)
		return rc;
	if (!rc)
		*vain = nodes;
	*changed |= rc;
	return 0;
}

static int grow_seat(struct np_deal *p, uint32_t rank, bool *changed)
{
	const struct np_seat *s = &p->seat[rank];
	const struct np_cohort *q = np_deal_cohort(p, s->cohort);
	int rc = 0;

	if (s->ready && np_deal_free_in(p, q) < s->cum)
		rc = ask(p, rank, WANT_FREE, changed);
	if (!rc && np_deal_usable_in(p, q) < s->need)
		rc = ask(p, rank, WANT_USABLE, changed);
	return rc;
}

int np_deal_grow(struct np_deal *p, bool trusted, bool *changed)
{
	for (uint32_t i = 0; i < p->cohort.n; i++) {
		np_deal_cohort(p, i)->free_in_vain = UINT64_MAX;
		np_deal_cohort(p, i)->usable_in_vain = UINT64_MAX;
	}
	for (uint32_t i = 0; i < p->n_seats; i++) {
		int rc;

		if (p->seat[i].unit == NP_NONE ||
		    p->kind[p->seat[i].kind].trusted != trusted)
			continue;
		rc = grow_seat(p, i, changed);
		if (rc)
			return rc;
	}
	for (uint32_t i = 0; i < p->n_units; i++)
		p->unit[i].placed = false;
	for (uint32_t i = 0; i < p->n_seats; i++)
		if (p->seat[i].unit != NP_NONE &&
		    np_deal_usable_in(p, np_deal_cohort(p, p->seat[i].cohort))
		    >= p->seat[i].need)
			p->unit[p->seat[i].unit].placed = true;
	for (uint32_t i = 0; i < p->n_units; i++)
		if (p->kind[p->unit[i].kind].trusted == trusted)
			*changed |= give_up(p, i);
	return 0;
}
