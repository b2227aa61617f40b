/* Must jobs of one class stay off a leaf, and because of whom? */
#include "np_class.h"

static uint32_t beside(const struct np_classes *c,
		       const struct np_class *victim,
		       const struct np_class *co)
{
	return np_press_pair(c->p->t, victim->profile, victim->touch,
			     co->profile, co->touch);
}

/* Whose private tenants count: those that all concerned see. */
static uint32_t view(const struct np_class *a, const struct np_class *b)
{
	return !b || a->owner == b->owner ? a->owner : NP_ANYBODY;
}

/* What runs there for a, when b is to be there as well. */
static const struct np_class_view *
view_of(const struct np_class *a, const struct np_class *b)
{
	return a->owner == b->owner ? &a->own : &a->seen;
}

/* The worst so far. */
struct strain {
	uint64_t load; /* 0: nothing above the limit */
	bool self;
	uint32_t other, victim;
};

static void note(const struct np_classes *c, struct strain *s, uint64_t load,
		 bool self, uint32_t other, uint32_t victim)
{
	if (load > c->p->limit && load > s->load)
		*s = (struct strain){ load, self, other, victim };
}

/* The tenant of a leaf that does most to a class. */
static void worst_tenant(const struct np_classes *c, const struct np_class *a,
			 const struct np_tenants *on, uint32_t leaf,
			 uint64_t *most, uint32_t *job)
{
	for (uint32_t k = on->first[leaf]; k < on->first[leaf + 1]; k++) {
		const struct np_tenant *r = &on->tenant[k];
		uint64_t load = (uint64_t)r->n *
			np_press_pair(c->p->t, a->profile, a->touch, r->profile,
				      r->touch);

		if (on == &c->loads->own && r->owner != a->owner)
			continue;
		if (load > *most) {
			*most = load;
			*job = r->job;
		}
	}
}

static void strain_tenants(const struct np_classes *c,
			   const struct np_tenants *on,
			   const struct np_class *a, const struct np_class *b,
			   uint32_t leaf, struct strain *s)
{
	const struct np_leaf_loads *l = c->loads;
	const uint16_t *from_a = np_press_pushes(c->p->t, a->profile);
	const uint16_t *from_b = np_press_pushes(c->p->t, (b ? b : a)->profile);
	uint32_t owner = view(a, b);

	for (uint32_t k = on->first[leaf]; k < on->first[leaf + 1]; k++) {
		const struct np_tenant *r = &on->tenant[k];
		uint32_t x, y;

		if (on == &l->own && r->owner != owner)
			continue;
		x = np_press_at(from_a, r->profile, r->touch & a->touch);
		y = b ? np_press_at(from_b, r->profile, r->touch & b->touch) :
			0;
		if (!x || (b && !y))
			continue;
		note(c, s, r->load + x + y +
		     np_leaf_load_own(l, r->profile, r->touch, leaf, owner, r),
		     false, b ? b->job : r->job, r->job);
	}
}

static void strain_classes(const struct np_classes *c, const struct np_class *a,
			   const struct np_class *b, uint32_t leaf,
			   struct strain *s)
{
	uint64_t most = 0;
	uint32_t who = 0, ab, ba;

	if (!b) {
		worst_tenant(c, a, &c->loads->seen, leaf, &most, &who);
		worst_tenant(c, a, &c->loads->own, leaf, &most, &who);
		note(c, s, a->own.load[leaf], true, who, 0);
		return;
	}
	ab = beside(c, a, b);
	ba = beside(c, b, a);
	if (ab)
		note(c, s, view_of(a, b)->load[leaf] + ab, true, b->job, 0);
	if (ba)
		note(c, s, view_of(b, a)->load[leaf] + ba, false, b->job,
		     b->job);
}

/* With the load that runs there already, one of the two has too much. */
static bool direct(const struct np_classes *c, const struct np_class *a,
		   const struct np_class *b, uint32_t leaf)
{
	uint32_t ab = beside(c, a, b), ba = beside(c, b, a);

	return (ab && view_of(a, b)->load[leaf] + ab > c->p->limit) ||
	       (ba && view_of(b, a)->load[leaf] + ba > c->p->limit);
}

/* Nobody running there can have too much from both: at a glance. */
static bool no_third(const struct np_classes *c, const struct np_class *a,
		     const struct np_class *b, uint32_t leaf)
{
	const struct np_class_view *va = view_of(a, b), *vb = view_of(b, a);

	return !va->push[leaf] || !vb->push[leaf] ||
	       va->worst[leaf] + vb->push[leaf] <= (int64_t)c->p->limit ||
	       vb->worst[leaf] + va->push[leaf] <= (int64_t)c->p->limit;
}

bool np_class_apart(const struct np_classes *c, uint32_t a, uint32_t b,
		    uint32_t leaf, struct np_cause *cause)
{
	const struct np_class *ka = &c->at[a];
	const struct np_class *kb = b == NP_NONE ? NULL : &c->at[b];
	struct strain s = { 0 };
	bool sure = kb ? direct(c, ka, kb, leaf) :
			 !np_bits_test(ka->open, leaf);

	if (!sure && (!kb || no_third(c, ka, kb, leaf)))
		return false;
	if (sure && !cause)
		return true;
	if (cause)
		strain_classes(c, ka, kb, leaf, &s);
	strain_tenants(c, &c->loads->seen, ka, kb, leaf, &s);
	if (view(ka, kb) != NP_ANYBODY)
		strain_tenants(c, &c->loads->own, ka, kb, leaf, &s);
	if (s.load && cause)
		*cause = (struct np_cause){
			.why = kb ? NP_WHY_FROM_PENDING : NP_WHY_FROM_RUNNING,
			.leaf = leaf, .other = s.other, .victim = s.victim,
			.victim_self = s.self,
			.slowdown = np_press_fraction(np_press_clamp(s.load)),
		};
	return s.load != 0;
}

bool np_class_apart_on(const struct np_classes *c, uint32_t a, uint32_t b,
		       const uint64_t *leaves)
{
	if (a == b)
		return np_bits_meet(c->at[a].self_apart, leaves, c->p->lw);
	if (!np_bits_test(c->mind + a * c->words, b) &&
	    !np_bits_test(c->mind + b * c->words, a))
		return false;
	NP_BITS_EACH(leaf, leaves, c->p->lw)
		if (np_class_apart(c, a, b, (uint32_t)leaf, NULL))
			return true;
	return false;
}

bool np_class_blocked(const struct np_classes *c, uint32_t a, uint32_t leaf)
{
	const struct np_class *k = &c->at[a];
	const uint64_t *on = c->on_leaf + leaf * c->words;
	size_t row = a * c->words;

	if (!np_bits_test(k->open, leaf))
		return true;
	for (uint32_t near = k->near; near; near &= near - 1) {
		size_t w = np_bits_at(0, near);

		if (on[w] & c->hard[row + w])
			return true;
		for (uint64_t m = on[w] & c->soft[row + w]; m; m &= m - 1)
			if (direct(c, k, &c->at[np_bits_at(w, m)], leaf))
				return true;
		for (uint64_t m = on[w] & c->kin[row + w]; m; m &= m - 1)
			if (np_class_apart(c, a, np_bits_at(w, m), leaf, NULL))
				return true;
	}
	/* Would one running there have too much from both? */
	return np_leaf_load_full(c->loads, leaf, k->profile, k->touch);
}

bool np_class_can_take(const struct np_classes *c, uint32_t class,
		       const struct np_job *j, uint32_t leaf)
{
	const struct np_class *k = &c->at[class];

	return !(np_bits_test(k->self_apart, leaf) &&
		 (np_bits_test(k->held, leaf) || j->tasks > 1)) &&
	       !np_class_blocked(c, class, leaf);
}

void np_class_hold(struct np_classes *c, uint32_t class, uint32_t leaf)
{
	struct np_class *k = &c->at[class];

	if (k->holders[leaf] < UINT16_MAX)
		k->holders[leaf]++;
	if (np_bits_test(k->held, leaf))
		return;
	np_bits_set(k->held, leaf);
	np_bits_set(c->on_leaf + leaf * c->words, class);
	if (k->trusted)
		np_leaf_load_note(c->loads, leaf, k->profile, k->touch);
}

void np_class_drop(struct np_classes *c, uint32_t class, uint32_t leaf)
{
	struct np_class *k = &c->at[class];
	uint64_t *on = c->on_leaf + leaf * c->words;

	if (k->holders[leaf] < UINT16_MAX)
		k->holders[leaf]--;
	if (k->holders[leaf])
		return;
	np_bits_clear(k->held, leaf);
	np_bits_clear(on, class);
	if (!k->trusted)
		return;
	np_leaf_load_clear(c->loads, leaf);
	NP_BITS_EACH(b, on, c->words)
		if (c->at[b].trusted)
			np_leaf_load_note(c->loads, leaf, c->at[b].profile,
					  c->at[b].touch);
}
