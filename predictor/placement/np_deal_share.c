/*
 * Share the leaves among units in conflict.
 *
 * Three rules, applied until nothing changes; each keeps every pair that must
 * be apart apart, so the result is sound whenever they stop:
 *
 *   keep   A unit keeps the leaves that were written for it before, as far as
 *          they are still open to it.
 *   grow   In order of precedence, a seat whose unit has too few free nodes to
 *          start it and those of its kind before it now, or too few usable
 *          ones to start it ever, takes leaves: such as nobody holds that it
 *          must avoid, then such as others can spare.  Another unit spares a
 *          leaf if none of its seats of higher precedence loses by it.  All
 *          or nothing: leaves are taken only if that is enough.
 *   widen  What nobody needs goes to whoever has least for its demand.
 *
 * A seat is made better off only at the cost of seats behind it, so the rules
 * come to rest; what they come to rest at is kept by "keep" the next time.
 */
#include <errno.h>
#include <stdlib.h>

#include "np_deal_impl.h"

#define MAX_ROUNDS 16

static bool wants(const struct np_deal *p, uint32_t unit, uint32_t leaf)
{
	const struct np_unit *u = &p->unit[unit];

	return np_bits_test(u->reach, leaf) && !np_bits_test(u->set, leaf) &&
	       np_bits_test(p->kind[u->kind].open, leaf) &&
	       np_deal_can_take(p, unit, leaf);
}

/* Has a less than b, each for its demand? */
static bool poorer(const struct np_unit *a, const struct np_unit *b)
{
	return a->supply * b->demand < b->supply * a->demand;
}

/* Units that may start come first, and the poorest of them first of all. */
static bool widen_leaf(struct np_deal *p, const uint32_t *unit, size_t n,
		       uint32_t leaf)
{
	uint32_t first = NP_NONE;
	bool any = false;

	for (size_t i = 0; i < n && p->unit[unit[i]].ready; i++)
		if ((first == NP_NONE ||
		     poorer(&p->unit[unit[i]], &p->unit[first])) &&
		    wants(p, unit[i], leaf))
			first = unit[i];
	if (first != NP_NONE)
		np_deal_hold(p, first, leaf);
	for (size_t i = 0; i < n; i++)
		if (wants(p, unit[i], leaf)) {
			np_deal_hold(p, unit[i], leaf);
			any = true;
		}
	return any || first != NP_NONE;
}

static int widen(struct np_deal *p, bool trusted, bool *changed)
{
	uint32_t *unit = malloc((p->n_units + 1) * sizeof(*unit));
	size_t n = 0;

	if (!unit)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_units; i++)
		if (p->unit[i].placed &&
		    p->kind[p->unit[i].kind].trusted == trusted)
			unit[n++] = i;
	for (size_t i = 0; i < p->n_leaves; i++)
		*changed |= widen_leaf(p, unit, n, p->leaf_order[i]);
	free(unit);
	return 0;
}

/* Leaves written for a unit's jobs before. */
static void prior(const struct np_deal *p, const struct np_seat *s,
		  uint64_t *bits)
{
	const struct np_snapshot_job *j = &np_snapshot_jobs(p->s)[s->job];
	const struct np_counts *c = p->counts[j->in.candidates];

	if (s->task) /* what stands in the record stands for its first task */
		return;
	for (size_t w = 0; w < p->lw; w++)
		if (j->in.prior == NP_PRIOR_ANYWHERE)
			bits[w] |= c->reach[w];
		else if (j->in.prior == NP_PRIOR_LEAVES)
			bits[w] |= c->reach[w] & j->in.prior_leaves[w];
}

static int keep(struct np_deal *p, bool trusted)
{
	uint64_t *bits = calloc(p->n_units * p->lw + 1, sizeof(*bits));

	if (!bits)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_seats; i++)
		if (p->seat[i].unit != NP_NONE)
			prior(p, &p->seat[i],
			      bits + p->seat[i].unit * p->lw);
	for (uint32_t i = 0; i < p->n_units; i++) {
		if (p->kind[p->unit[i].kind].trusted != trusted)
			continue;
		NP_BITS_EACH(leaf, bits + i * p->lw, p->lw)
			if (wants(p, i, (uint32_t)leaf))
				np_deal_hold(p, i, (uint32_t)leaf);
	}
	free(bits);
	return 0;
}

static int settle(struct np_deal *p, bool trusted)
{
	bool changed = true;
	int rc = keep(p, trusted);

	for (int round = 0; !rc && changed && round < MAX_ROUNDS; round++) {
		changed = false;
		rc = np_deal_grow(p, trusted, &changed);
		if (!rc)
			rc = widen(p, trusted, &changed);
	}
	return rc;
}

static int by_free(const void *a, const void *b, void *arg)
{
	const struct np_deal *p = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (p->leaf_free[x] != p->leaf_free[y])
		return p->leaf_free[x] > p->leaf_free[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int prepare(struct np_deal *p)
{
	p->open_on = np_deal_alloc(p, p->n_leaves * p->kw, sizeof(uint64_t));
	p->leaf_order = np_deal_alloc(p, p->n_leaves, sizeof(uint32_t));
	if (!p->open_on || !p->leaf_order)
		return -ENOMEM;
	for (uint32_t leaf = 0; leaf < p->n_leaves; leaf++)
		p->leaf_order[leaf] = leaf;
	qsort_r(p->leaf_order, p->n_leaves, sizeof(uint32_t), by_free, p);
	for (uint32_t k = 0; k < p->n_kinds; k++)
		NP_BITS_EACH(leaf, p->kind[k].open, p->lw)
			np_bits_set(p->open_on + leaf * p->kw, k);
	return 0;
}

/* Those who conflict with nobody hold what they can reach. */
static void place_quiet(struct np_deal *p)
{
	const struct np_snapshot_job *job = np_snapshot_jobs(p->s);

	for (size_t i = 0; i < p->n_order; i++) {
		uint32_t kind = p->job_kind[p->order[i]];
		const struct np_counts *c;

		if (kind == NP_NONE || !p->kind[kind].quiet)
			continue;
		c = p->counts[job[p->order[i]].in.candidates];
		if (np_bits_within(c->reach, p->kind[kind].held, p->lw))
			continue;
		NP_BITS_EACH(leaf, c->reach, p->lw)
			np_deal_kind_hold(p, kind, (uint32_t)leaf);
	}
}

int np_deal_share(struct np_deal *p)
{
	int rc = prepare(p);

	if (!rc)
		place_quiet(p);

	/* Jobs that others do not see choose after, and around, the rest. */
	if (!rc)
		rc = settle(p, true);
	if (!rc)
		rc = settle(p, false);
	return rc;
}
