#include "np_class.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Room for classes that turn up between two decisions. */
#define SPARE 128

_Static_assert(NP_PLACEMENT_MAX_CLASSES + SPARE <= 32 * NP_BITS_WORD,
	       "np_class.near has a bit for each word of a row");

static uint8_t touch_of(const struct np_classes *c, const struct np_job *j)
{
	/* Slurm keeps a job under one leaf if it fits. */
	bool spans = j->flags & NP_JOB_SPANS ||
		     j->nodes_min > c->p->s->leaves->largest;

	return (j->flags & NP_JOB_SHARES_NODES ? NP_TOUCH_NODE : 0) |
	       (spans ? NP_TOUCH_UPLINK : 0);
}

static bool sees(const struct np_class *a, const struct np_class *b)
{
	return b->trusted || (a->owner != NP_ANYBODY && a->owner == b->owner);
}

/* An owner makes a difference if jobs of his are seen by him alone. */
static bool is_private(const struct np_classes *c, uint32_t owner)
{
	const struct np_problem *p = c->p;

	if (np_order_find(p->private_owner, p->n_private, owner) < p->n_private)
		return true;
	for (size_t i = c->n_sealed; i < c->n; i++)
		if (!c->at[i].trusted && c->at[i].owner == owner)
			return true;
	return false;
}

/* Who presses on nobody has only a load of its own. */
static bool add_view(struct np_classes *c, bool presses,
		     struct np_class_view *v)
{
	size_t n = c->p->n_leaves;

	v->load = np_problem_alloc(c->p, presses ? 3 * n : n,
				   sizeof(*v->load));
	if (!v->load)
		return false;
	v->worst = presses ? v->load + n : c->nothing;
	v->push = presses ? v->worst + n : c->nothing;
	return true;
}

static bool add_class(struct np_classes *c, struct np_class *k)
{
	size_t bits = c->p->lw + 1, n;
	uint64_t *words = np_problem_alloc(c->p, 3 * bits, sizeof(*words));
	bool presses = c->p->t->profile[k->profile].aggressor;

	k->holders = np_problem_alloc(c->p, c->p->n_leaves,
				      sizeof(*k->holders));
	if (!words || !k->holders || !add_view(c, presses, &k->seen))
		return false;
	k->own = k->seen;
	if (np_leaf_load_estates(c->loads, k->owner, &n) &&
	    !add_view(c, presses, &k->own))
		return false;
	k->open = words;
	k->self_apart = words + bits;
	k->held = words + 2 * bits;
	c->at[c->n] = *k;
	return true;
}

static uint16_t narrow(uint64_t load)
{
	return load < UINT16_MAX ? (uint16_t)load : UINT16_MAX;
}

static void raise(struct np_class_most *m, const struct np_class_view *v,
		  uint32_t leaf)
{
	if (v->load[leaf] > m->load)
		m->load = v->load[leaf];
	if (v->worst[leaf] > m->worst)
		m->worst = v->worst[leaf];
	if (v->push[leaf] > m->push)
		m->push = v->push[leaf];
}

static void load_leaf(const struct np_classes *c, struct np_class *k,
		      size_t leaf, const uint16_t *feels)
{
	const struct np_tenants *on = &c->loads->seen;
	uint64_t load = 0;

	for (uint32_t i = on->first_aggressor[leaf];
	     i < on->first_aggressor[leaf + 1]; i++) {
		const struct np_aggressor *a = &on->aggressor[i];

		load += (uint64_t)a->n *
			np_press_at(feels, a->profile, a->touch & k->touch);
	}
	k->seen.load[leaf] = narrow(load);
}

static void push_leaf(const struct np_classes *c, struct np_class *k,
		      size_t leaf, const uint16_t *pushes)
{
	const struct np_tenants *on = &c->loads->seen;
	const struct np_tenant *r = on->tenant + on->first[leaf];
	uint32_t worst = 0, push = 0;

	for (size_t i = 0; i < on->sensitive[leaf]; i++) {
		uint32_t x = np_press_at(pushes, r[i].profile,
					 r[i].touch & k->touch);

		if (!x)
			continue;
		if (x > push)
			push = x;
		if (r[i].load + x > worst)
			worst = r[i].load + x;
	}
	k->seen.worst[leaf] = narrow(worst);
	k->seen.push[leaf] = (uint16_t)push;
}

/* Tenants r, n of them, who feel an estate of the class's owner as well. */
static void push_own(const struct np_classes *c, struct np_class *k,
		     uint32_t leaf, const struct np_tenant *r, uint32_t n,
		     const uint32_t *felt)
{
	const uint16_t *pushes = np_press_pushes(c->p->t, k->profile);
	uint32_t worst = k->own.worst[leaf], push = k->own.push[leaf];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t x = np_press_at(pushes, r[i].profile,
					 r[i].touch & k->touch);

		if (!x)
			continue;
		if (x > push)
			push = x;
		if (r[i].load + x + felt[i] > worst)
			worst = narrow((uint64_t)r[i].load + x + felt[i]);
	}
	k->own.worst[leaf] = narrow(worst);
	k->own.push[leaf] = (uint16_t)push;
}

static void own_leaf(const struct np_classes *c, struct np_class *k,
		     const struct np_estate *e)
{
	const struct np_leaf_loads *l = c->loads;
	uint32_t leaf = e->leaf, first = l->seen.first[leaf];
	uint32_t n = l->seen.first[leaf + 1] - first;
	const uint32_t *felt = l->felt + e->felt;

	k->own.load[leaf] =
		narrow(k->seen.load[leaf] +
		       np_leaf_load_from(l, e, k->profile, k->touch, NULL));
	if (c->p->t->profile[k->profile].aggressor) {
		push_own(c, k, leaf, l->seen.tenant + first, n, felt);
		push_own(c, k, leaf, l->own.tenant + e->first,
			 e->end - e->first, felt + n);
	}
	raise(&k->own_most, &k->own, leaf);
}

/* One of two classes may have too much on some leaf, beside the other. */
static bool maybe_direct(const struct np_class_most *a, uint32_t ab,
			 const struct np_class_most *b, uint32_t ba,
			 uint32_t limit)
{
	return (ab && a->load + ab > limit) || (ba && b->load + ba > limit);
}

/* A tenant may have too much from both. */
static bool maybe_third(const struct np_class_most *a,
			const struct np_class_most *b, uint32_t limit)
{
	return a->push && b->push && (uint32_t)a->worst + b->push > limit &&
	       (uint32_t)b->worst + a->push > limit;
}

/* Two jobs of a class may have too much on some leaf. */
static bool maybe_self(const struct np_classes *c, const struct np_class *k)
{
	const struct np_class_most *most = &k->own_most;
	uint32_t beside = np_press_pair(c->p->t, k->profile, k->touch,
					k->profile, k->touch);

	return maybe_direct(most, beside, most, beside, c->p->limit) ||
	       maybe_third(most, most, c->p->limit);
}

/* May one of its jobs be on a leaf; and, where asked for, may two? */
static void open_leaf(struct np_classes *c, struct np_class *k, uint32_t leaf,
		      bool two)
{
	uint32_t me = (uint32_t)(k - c->at), limit = c->p->limit;

	if (k->own.load[leaf] > limit || k->own.worst[leaf] > limit)
		return;
	np_bits_set(k->open, leaf);
	if (!two || !np_class_apart(c, me, me, leaf, NULL))
		return;
	np_bits_set(k->self_apart, leaf);
	k->self = true;
}

static void own_leaves(const struct np_classes *c, struct np_class *k)
{
	size_t n;
	const struct np_estate *e =
		np_leaf_load_estates(c->loads, k->owner, &n);

	k->own_most = k->seen_most;
	if (k->own.load == k->seen.load)
		return;
	memcpy(k->own.load, k->seen.load,
	       (c->p->t->profile[k->profile].aggressor ? 3 : 1) *
	       c->p->n_leaves * sizeof(*k->own.load));
	for (size_t i = 0; i < n; i++)
		own_leaf(c, k, &e[i]);
}

/* Fill in what the tenants mean for a class. */
static void view_leaves(struct np_classes *c, struct np_class *k)
{
	const uint16_t *feels = np_press_feels(c->p->t, k->profile);
	const uint16_t *pushes = np_press_pushes(c->p->t, k->profile);
	const struct np_press_profile *f = &c->p->t->profile[k->profile];
	bool feeling = c->p->t->most[k->profile], two;

	for (uint32_t leaf = 0; leaf < c->p->n_leaves; leaf++) {
		if (f->inert)
			np_bits_set(k->open, leaf);
		if (feeling)
			load_leaf(c, k, leaf, feels);
		if (f->aggressor)
			push_leaf(c, k, leaf, pushes);
		raise(&k->seen_most, &k->seen, leaf);
	}
	if (f->inert)
		return;
	own_leaves(c, k);
	two = maybe_self(c, k);
	for (uint32_t leaf = 0; leaf < c->p->n_leaves; leaf++)
		open_leaf(c, k, leaf, two);
}

bool np_class_open_everywhere(const struct np_classes *c, uint32_t class)
{
	return np_bits_count(c->at[class].open, c->p->lw) == c->p->n_leaves;
}

/* What a must think of b, given the load of each beside the other. */
static void row(struct np_classes *c, uint32_t a, uint32_t b, uint32_t ab,
		uint32_t ba)
{
	const struct np_class *ka = &c->at[a], *kb = &c->at[b];
	const struct np_class_most *ma = &ka->seen_most, *mb = &kb->seen_most;
	bool kin = ka->owner != NP_ANYBODY && ka->owner == kb->owner;
	uint32_t limit = c->p->limit;
	size_t at = a * c->words;

	if (!sees(ka, kb))
		return;
	if (kin) {
		ma = &ka->own_most;
		mb = &kb->own_most;
	}
	if (ab > limit || ba > limit)
		np_bits_set(c->hard + at, b);
	else if (maybe_direct(ma, ab, mb, ba, limit))
		np_bits_set((kin ? c->kin : c->soft) + at, b);
	else if (!maybe_third(ma, mb, limit))
		return;
	else if (kin)
		np_bits_set(c->kin + at, b);
	np_bits_set(c->mind + at, b);
	c->at[a].near |= 1u << b / NP_BITS_WORD;
}

/* What a class must think of all there are by now. */
static void extend_row(struct np_classes *c, uint32_t class)
{
	struct np_class *k = &c->at[class];
	const uint16_t *feels = np_press_feels(c->p->t, k->profile);
	const uint16_t *pushes = np_press_pushes(c->p->t, k->profile);

	k->near |= 1u << class / NP_BITS_WORD;
	/* self_apart says what it must think of itself. */
	for (uint32_t b = k->n_row; b < c->n; b++) {
		const struct np_class *x = &c->at[b];
		size_t at = x->profile * NP_N_TOUCH + (x->touch & k->touch);

		if (b != class)
			row(c, class, b, feels[at], pushes[at]);
	}
	k->n_row = (uint32_t)c->n;
}

uint32_t np_class_of(struct np_classes *c, const struct np_job *j)
{
	struct np_class k = {
		.profile = (uint16_t)j->profile,
		.touch = touch_of(c, j),
		.trusted = np_problem_trusted(c->p, j),
		.owner = NP_ANYBODY,
		.job = j->id,
	};
	uint32_t i;

	if (!k.trusted || is_private(c, j->owner))
		k.owner = j->owner;
	k.next = c->of_profile[k.profile];
	for (i = k.next; i != NP_NONE; i = c->at[i].next)
		if (c->at[i].touch == k.touch && c->at[i].owner == k.owner &&
		    c->at[i].trusted == k.trusted)
			break;
	if (i == NP_NONE) {
		if (c->n >= c->room || !add_class(c, &k))
			return NP_NONE;
		i = (uint32_t)c->n++;
		c->of_profile[k.profile] = i;
		if (c->words)
			view_leaves(c, &c->at[i]);
	}
	if (c->words)
		extend_row(c, i);
	return i;
}

int np_classes_init(struct np_classes *c, struct np_problem *p,
		    struct np_leaf_loads *loads)
{
	c->p = p;
	c->loads = loads;
	c->room = NP_PLACEMENT_MAX_CLASSES;
	c->at = np_problem_alloc(p, c->room + SPARE, sizeof(*c->at));
	c->of_profile = np_problem_alloc(p, p->t->n, sizeof(uint32_t));
	c->nothing = np_problem_alloc(p, p->n_leaves, sizeof(*c->nothing));
	if (!c->at || !c->of_profile || !c->nothing)
		return -ENOMEM;
	memset(c->of_profile, 0xff, p->t->n * sizeof(uint32_t));
	return 0;
}

/* Trusted ones, then those of one owner side by side; else as they came. */
static int by_owner(const void *a, const void *b, void *at)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct np_class *x = (struct np_class *)at + i;
	const struct np_class *y = (struct np_class *)at + k;

	if (x->trusted != y->trusted)
		return x->trusted ? -1 : 1;
	if (!x->trusted && x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return i < k ? -1 : i > k;
}

uint32_t *np_classes_renumber(struct np_classes *c)
{
	struct np_class *at = np_problem_alloc(c->p, c->n + SPARE, sizeof(*at));
	uint32_t *order = np_problem_alloc(c->p, c->n, sizeof(*order));
	uint32_t *to = np_problem_alloc(c->p, c->n, sizeof(*to));

	if (!at || !order || !to)
		return NULL;
	for (uint32_t i = 0; i < c->n; i++)
		order[i] = i;
	qsort_r(order, c->n, sizeof(*order), by_owner, c->at);
	memset(c->of_profile, 0xff, c->p->t->n * sizeof(*c->of_profile));
	for (uint32_t i = 0; i < c->n; i++) {
		to[order[i]] = i;
		at[i] = c->at[order[i]];
		at[i].next = c->of_profile[at[i].profile];
		c->of_profile[at[i].profile] = i;
	}
	c->at = at;
	return to;
}

static int add_rows(struct np_classes *c)
{
	size_t cells = c->room * c->words, on = c->p->n_leaves * c->words;

	c->hard = np_problem_alloc(c->p, cells, sizeof(*c->hard));
	c->soft = np_problem_alloc(c->p, cells, sizeof(*c->soft));
	c->kin = np_problem_alloc(c->p, cells, sizeof(*c->kin));
	c->mind = np_problem_alloc(c->p, cells, sizeof(*c->mind));
	c->on_leaf = np_problem_alloc(c->p, on, sizeof(*c->on_leaf));
	c->open_on = np_problem_alloc(c->p, on, sizeof(*c->open_on));
	return c->hard && c->soft && c->kin && c->mind && c->on_leaf &&
	       c->open_on ? 0 : -ENOMEM;
}

int np_classes_seal(struct np_classes *c)
{
	c->n_sealed = c->n;
	c->room = c->n + SPARE;
	c->words = np_bits_words(c->room);
	if (add_rows(c))
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n; i++)
		view_leaves(c, &c->at[i]);
	for (uint32_t i = 0; i < c->n; i++) {
		extend_row(c, i);
		c->at[i].quiet = !c->at[i].self &&
				 np_class_open_everywhere(c, i);
		NP_BITS_EACH(leaf, c->at[i].open, c->p->lw)
			np_bits_set(c->open_on + leaf * c->words, i);
	}
	for (uint32_t i = 0; i < c->n; i++)
		NP_BITS_EACH(b, c->mind + i * c->words, c->words)
			c->at[i].quiet = c->at[b].quiet = false;
	return 0;
}

static bool minds(const struct np_classes *c, uint32_t a, uint32_t b)
{
	return np_bits_test(c->mind + a * c->words, b);
}

static bool meets(const struct np_classes *c, uint32_t a, uint32_t b)
{
	for (uint32_t leaf = 0; leaf < c->p->n_leaves; leaf++)
		if (np_class_apart(c, a, b, leaf, NULL))
			return true;
	return false;
}

bool np_class_meets(struct np_classes *c, uint32_t class)
{
	struct np_class *k = &c->at[class];

	if (k->quiet)
		return false;
	if (!k->asked) {
		k->asked = true;
		k->meets = (k->self && k->n > 1) ||
			   !np_class_open_everywhere(c, class);
		for (uint32_t b = 0; b < c->n && !k->meets; b++)
			k->meets = (minds(c, class, b) || minds(c, b, class)) &&
				   meets(c, class, b);
	}
	return k->meets;
}

bool np_class_together(const struct np_classes *c, uint32_t class,
		       const struct np_job *j, const struct np_counts *counts,
		       uint64_t *bits)
{
	const struct np_class *k = &c->at[class];

	for (size_t w = 0; w < c->p->lw; w++)
		bits[w] = counts->reach[w] & k->open[w] & ~k->self_apart[w];
	return np_counts_sum(j->switches, counts->usable, counts->loose_usable,
			     bits, c->p->lw) >= j->nodes_min;
}
