/* Must jobs of one kind stay off a leaf, and because of whom? */
#include <string.h>

#include "np_deal_impl.h"

uint64_t np_deal_own_load(const struct np_deal *p, uint32_t profile,
			  uint32_t touch, uint32_t leaf, uint32_t owner,
			  const struct np_runner *but)
{
	const struct np_crowd *c = &p->own;
	uint64_t sum = 0;

	if (owner == NP_ANYBODY)
		return 0;
	for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++) {
		const struct np_runner *x = &c->runner[k];

		if (x->owner == owner)
			sum += (uint64_t)(x == but ? x->n - 1 : x->n) *
			       np_deal_pair(p->t, profile, touch, x->profile,
					    x->touch);
	}
	return sum;
}

static uint32_t beside(const struct np_deal *p, const struct np_kind *victim,
		       const struct np_kind *co)
{
	return np_deal_pair(p->t, victim->profile, victim->touch, co->profile,
			    co->touch);
}

static uint32_t runner_beside(const struct np_deal *p,
			      const struct np_runner *victim,
			      const struct np_kind *co)
{
	return np_deal_pair(p->t, victim->profile, victim->touch, co->profile,
			    co->touch);
}

/* Whose private runners count: those that all concerned see. */
static uint32_t view(const struct np_kind *a, const struct np_kind *b)
{
	return !b || a->owner == b->owner ? a->owner : NP_ANYBODY;
}

/* What runs there for a, when b is to be there as well. */
static const struct np_kind_view *view_of(const struct np_kind *a,
				     const struct np_kind *b)
{
	return a->owner == b->owner ? &a->own : &a->seen;
}

/* The worst so far. */
struct strain {
	uint64_t load; /* 0: nothing above the limit */
	bool self;
	uint32_t other, victim;
};

static void note(const struct np_deal *p, struct strain *s, uint64_t load,
		 bool self, uint32_t other, uint32_t victim)
{
	if (load > p->limit && load > s->load)
		*s = (struct strain){ load, self, other, victim };
}

/* The runner of a leaf that does most to a kind. */
static void worst_runner(const struct np_deal *p, const struct np_kind *a,
			 const struct np_crowd *c, uint32_t leaf,
			 uint64_t *most, uint32_t *job)
{
	for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++) {
		const struct np_runner *r = &c->runner[k];
		uint64_t load = (uint64_t)r->n *
			np_deal_pair(p->t, a->profile, a->touch, r->profile,
				     r->touch);

		if (c == &p->own && r->owner != a->owner)
			continue;
		if (load > *most) {
			*most = load;
			*job = r->job;
		}
	}
}

static void strain_runners(const struct np_deal *p, const struct np_crowd *c,
			   const struct np_kind *a, const struct np_kind *b,
			   uint32_t leaf, struct strain *s)
{
	uint32_t owner = view(a, b);

	for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++) {
		const struct np_runner *r = &c->runner[k];
		uint32_t x = runner_beside(p, r, a);
		uint32_t y = b ? runner_beside(p, r, b) : 0;

		if (!x || (b && !y) || (c == &p->own && r->owner != owner))
			continue;
		note(p, s, r->load + x + y +
		     np_deal_own_load(p, r->profile, r->touch, leaf, owner, r),
		     false, b ? b->job : r->job, r->job);
	}
}

static void strain_kinds(const struct np_deal *p, const struct np_kind *a,
			 const struct np_kind *b, uint32_t leaf,
			 struct strain *s)
{
	uint64_t most = 0;
	uint32_t who = 0, ab, ba;

	if (!b) {
		worst_runner(p, a, &p->seen, leaf, &most, &who);
		worst_runner(p, a, &p->own, leaf, &most, &who);
		note(p, s, a->own.load[leaf], true, who, 0);
		return;
	}
	ab = beside(p, a, b);
	ba = beside(p, b, a);
	if (ab)
		note(p, s, view_of(a, b)->load[leaf] + ab, true, b->job, 0);
	if (ba)
		note(p, s, view_of(b, a)->load[leaf] + ba, false, b->job,
		     b->job);
}

/* With the load that runs there already, one of the two has too much. */
static bool direct(const struct np_deal *p, const struct np_kind *a,
		   const struct np_kind *b, uint32_t leaf)
{
	uint32_t ab = beside(p, a, b), ba = beside(p, b, a);

	return (ab && view_of(a, b)->load[leaf] + ab > p->limit) ||
	       (ba && view_of(b, a)->load[leaf] + ba > p->limit);
}

/* Nobody running there can have too much from both: at a glance. */
static bool no_third(const struct np_deal *p, const struct np_kind *a,
		     const struct np_kind *b, uint32_t leaf)
{
	const struct np_kind_view *va = view_of(a, b), *vb = view_of(b, a);

	return !va->push[leaf] || !vb->push[leaf] ||
	       va->worst[leaf] + vb->push[leaf] <= (int64_t)p->limit ||
	       vb->worst[leaf] + va->push[leaf] <= (int64_t)p->limit;
}

bool np_deal_apart(const struct np_deal *p, uint32_t a, uint32_t b,
		   uint32_t leaf, struct np_cause *cause)
{
	const struct np_kind *ka = &p->kind[a];
	const struct np_kind *kb = b == NP_NONE ? NULL : &p->kind[b];
	struct strain s = { 0 };
	bool sure = kb ? direct(p, ka, kb, leaf) :
			 !np_bits_test(ka->open, leaf);

	if (!sure && (!kb || no_third(p, ka, kb, leaf)))
		return false;
	if (sure && !cause)
		return true;
	if (cause)
		strain_kinds(p, ka, kb, leaf, &s);
	strain_runners(p, &p->seen, ka, kb, leaf, &s);
	if (view(ka, kb) != NP_ANYBODY)
		strain_runners(p, &p->own, ka, kb, leaf, &s);
	if (s.load && cause)
		*cause = (struct np_cause){
			.why = kb ? NP_WHY_FROM_PENDING : NP_WHY_FROM_RUNNING,
			.leaf = leaf, .other = s.other, .victim = s.victim,
			.victim_self = s.self,
			.slowdown = np_press_fraction(np_deal_clamp(s.load)),
		};
	return s.load != 0;
}

/* A third job, running there, would have too much from both. */
static bool third(const struct np_deal *p, const struct np_kind *a,
		  uint32_t leaf)
{
	const struct np_runner *r = p->seen.runner + p->seen.first[leaf];

	if (!a->seen.push[leaf] ||
	    (uint32_t)a->seen.worst[leaf] + p->extra_max[leaf] <= p->limit)
		return false;
	for (uint32_t k = 0; k < p->seen.tender[leaf]; k++) {
		uint32_t x = runner_beside(p, &r[k], a);

		if (x && r[k].extra &&
		    r[k].load + x + r[k].extra > p->limit)
			return true;
	}
	return false;
}

static bool any_apart(const struct np_deal *p, uint32_t a, uint32_t leaf,
		      const uint64_t *among)
{
	const uint64_t *on = p->on_leaf + leaf * p->kw;

	for (size_t w = 0; w < p->kw; w++) {
		for (uint64_t m = on[w] & among[w]; m; m &= m - 1) {
			uint32_t b = np_bits_at(w, m);

			if (np_deal_apart(p, a, b, leaf, NULL))
				return true;
		}
	}
	return false;
}

bool np_deal_blocked(const struct np_deal *p, uint32_t a, uint32_t leaf)
{
	const struct np_kind *k = &p->kind[a];
	const uint64_t *on = p->on_leaf + leaf * p->kw;
	const uint64_t *soft = p->soft + a * p->kw;

	if (!np_bits_test(k->open, leaf) ||
	    np_bits_meet(on, p->hard + a * p->kw, p->kw))
		return true;
	for (size_t w = 0; w < p->kw; w++)
		for (uint64_t m = on[w] & soft[w]; m; m &= m - 1)
			if (direct(p, k, &p->kind[np_bits_at(w, m)], leaf))
				return true;
	return third(p, k, leaf) ||
	       (k->owner != NP_ANYBODY &&
		any_apart(p, a, leaf, p->kin + a * p->kw));
}

/* What the trusted kinds on a leaf would add to each tender runner. */
static void extra(struct np_deal *p, uint32_t leaf, const struct np_kind *k)
{
	struct np_runner *r = p->seen.runner + p->seen.first[leaf];

	for (uint32_t i = 0; i < p->seen.tender[leaf]; i++) {
		uint32_t x = runner_beside(p, &r[i], k);

		if (x > r[i].extra)
			r[i].extra = (uint16_t)x;
		if (x > p->extra_max[leaf])
			p->extra_max[leaf] = (uint16_t)x;
	}
}

void np_deal_kind_hold(struct np_deal *p, uint32_t kind, uint32_t leaf)
{
	struct np_kind *k = &p->kind[kind];

	if (k->holders[leaf] < UINT16_MAX)
		k->holders[leaf]++;
	if (np_bits_test(k->held, leaf))
		return;
	np_bits_set(k->held, leaf);
	np_bits_set(p->on_leaf + leaf * p->kw, kind);
	if (k->trusted)
		extra(p, leaf, k);
}

void np_deal_kind_drop(struct np_deal *p, uint32_t kind, uint32_t leaf)
{
	struct np_kind *k = &p->kind[kind];
	uint64_t *on = p->on_leaf + leaf * p->kw;
	struct np_runner *r = p->seen.runner + p->seen.first[leaf];

	if (k->holders[leaf] < UINT16_MAX)
		k->holders[leaf]--;
	if (k->holders[leaf])
		return;
	np_bits_clear(k->held, leaf);
	np_bits_clear(on, kind);
	if (!k->trusted)
		return;
	for (uint32_t i = 0; i < p->seen.tender[leaf]; i++)
		r[i].extra = 0;
	p->extra_max[leaf] = 0;
	NP_BITS_EACH(b, on, p->kw)
		if (p->kind[b].trusted)
			extra(p, leaf, &p->kind[b]);
}
