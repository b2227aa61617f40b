/* Kinds of pending jobs, and whom each must avoid. */
#include "np_deal_impl.h"

uint8_t np_deal_touch(const struct np_deal *p, const struct np_job *j)
{
	/* Slurm keeps a job under one leaf if it fits. */
	bool spans = j->flags & NP_JOB_SPANS ||
		     j->nodes_min > p->s->leaves->largest;

	return (j->flags & NP_JOB_SHARES_NODES ? NP_TOUCH_NODE : 0) |
	       (spans ? NP_TOUCH_UPLINK : 0);
}

bool np_deal_sees(const struct np_kind *a, const struct np_kind *b)
{
	return b->trusted || (a->owner != NP_ANYBODY && a->owner == b->owner);
}

/* An owner makes a difference if jobs of his are seen by him alone. */
static bool is_private(const struct np_deal *p, uint32_t owner)
{
	if (np_deal_find(p->private_owner, p->n_private, owner) < p->n_private)
		return true;
	for (size_t i = p->n_first_kinds; i < p->n_kinds; i++)
		if (!p->kind[i].trusted && p->kind[i].owner == owner)
			return true;
	return false;
}

static bool add_view(struct np_deal *p, struct np_kind_view *v)
{
	v->load = np_deal_alloc(p, 3 * p->n_leaves + 1, sizeof(*v->load));
	if (!v->load)
		return false;
	v->worst = v->load + p->n_leaves;
	v->push = v->worst + p->n_leaves;
	return true;
}

/* Does an owner have private jobs running on a leaf? */
static bool runs_on(const struct np_deal *p, uint32_t owner, uint32_t leaf)
{
	const struct np_crowd *c = &p->own;

	for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++)
		if (c->runner[k].owner == owner)
			return true;
	return false;
}

static bool runs(const struct np_deal *p, uint32_t owner)
{
	for (uint32_t leaf = 0; leaf < p->n_leaves; leaf++)
		if (runs_on(p, owner, leaf))
			return true;
	return false;
}

static bool add_kind(struct np_deal *p, struct np_kind *k)
{
	size_t bits = p->lw + 1;
	uint64_t *words = np_deal_alloc(p, 3 * bits, sizeof(*words));

	k->holders = np_deal_alloc(p, p->n_leaves, sizeof(*k->holders));
	if (!words || !k->holders || !add_view(p, &k->seen))
		return false;
	k->own = k->seen;
	if (k->owner != NP_ANYBODY && runs(p, k->owner) &&
	    !add_view(p, &k->own))
		return false;
	k->open = words;
	k->self_apart = words + bits;
	k->held = words + 2 * bits;
	p->kind[p->n_kinds] = *k;
	return true;
}

uint32_t np_deal_kind_of(struct np_deal *p, const struct np_job *j,
			 size_t room)
{
	struct np_kind k = {
		.profile = (uint16_t)j->profile,
		.touch = np_deal_touch(p, j),
		.trusted = p->t->profile[j->profile].trusted,
		.owner = NP_ANYBODY,
		.job = j->id,
		.unit = NP_NONE,
		.last_unit = NP_NONE,
		.cohort = NP_NONE,
	};

	if (!k.trusted || is_private(p, j->owner))
		k.owner = j->owner;
	k.next = p->kind_of_profile[k.profile];
	for (uint32_t i = k.next; i != NP_NONE; i = p->kind[i].next)
		if (p->kind[i].touch == k.touch && p->kind[i].owner == k.owner)
			return i;
	if (p->n_kinds >= room || !add_kind(p, &k))
		return NP_NONE;
	p->kind_of_profile[k.profile] = (uint32_t)p->n_kinds;
	return (uint32_t)p->n_kinds++;
}

static uint16_t narrow(uint64_t load)
{
	return load < UINT16_MAX ? (uint16_t)load : UINT16_MAX;
}

static void see_leaf(const struct np_deal *p, struct np_kind *k, size_t leaf,
		     const uint16_t *feels, const uint16_t *pushes)
{
	const struct np_crowd *c = &p->seen;
	const struct np_runner *r = c->runner + c->first[leaf];
	uint32_t worst = 0, push = 0;
	uint64_t load = 0;

	for (size_t i = c->first_loud[leaf]; i < c->first_loud[leaf + 1]; i++)
		load += (uint64_t)c->loud[i].n *
			feels[c->loud[i].profile * NP_N_TOUCH +
			      (c->loud[i].touch & k->touch)];
	for (size_t i = 0; i < c->tender[leaf]; i++) {
		uint32_t x = pushes[r[i].profile * NP_N_TOUCH +
				    (r[i].touch & k->touch)];

		if (!x)
			continue;
		if (x > push)
			push = x;
		if (r[i].load + x > worst)
			worst = r[i].load + x;
	}
	k->seen.load[leaf] = narrow(load);
	k->seen.worst[leaf] = narrow(worst);
	k->seen.push[leaf] = (uint16_t)push;
	if (k->seen.load[leaf] > k->max_load)
		k->max_load = k->seen.load[leaf];
	if (k->seen.worst[leaf] > k->max_worst)
		k->max_worst = k->seen.worst[leaf];
	if (k->seen.push[leaf] > k->max_push)
		k->max_push = k->seen.push[leaf];
}

static void see_own(const struct np_deal *p, const struct np_crowd *c,
		    struct np_kind *k, uint32_t leaf)
{
	const uint16_t *pushes = np_press_pushes(p->t, k->profile);
	uint32_t worst = k->own.worst[leaf], push = k->own.push[leaf];

	for (uint32_t i = c->first[leaf]; i < c->first[leaf + 1]; i++) {
		const struct np_runner *r = &c->runner[i];
		uint32_t x = pushes[r->profile * NP_N_TOUCH +
				    (r->touch & k->touch)];
		uint64_t load;

		if (!x || (c == &p->own && r->owner != k->owner))
			continue;
		load = r->load + x + np_deal_own_load(p, r->profile, r->touch,
						      leaf, k->owner, r);
		if (x > push)
			push = x;
		if (load > worst)
			worst = narrow(load);
	}
	k->own.worst[leaf] = narrow(worst);
	k->own.push[leaf] = (uint16_t)push;
}

static void own_leaf(const struct np_deal *p, struct np_kind *k, uint32_t leaf)
{
	k->own.load[leaf] = k->seen.load[leaf];
	k->own.worst[leaf] = k->seen.worst[leaf];
	k->own.push[leaf] = k->seen.push[leaf];
	if (!runs_on(p, k->owner, leaf))
		return;
	k->own.load[leaf] =
		narrow(k->seen.load[leaf] +
		       np_deal_own_load(p, k->profile, k->touch, leaf,
					k->owner, NULL));
	see_own(p, &p->seen, k, leaf);
	see_own(p, &p->own, k, leaf);
}

/* May one of its jobs be on a leaf; and may two? */
static void open_leaf(struct np_deal *p, struct np_kind *k, uint32_t leaf)
{
	uint32_t me = (uint32_t)(k - p->kind);

	if (k->own.load[leaf] > p->limit || k->own.worst[leaf] > p->limit)
		return;
	np_bits_set(k->open, leaf);
	if (!np_deal_apart(p, me, me, leaf, NULL))
		return;
	np_bits_set(k->self_apart, leaf);
	k->self = true;
}

void np_deal_kind_load(struct np_deal *p, struct np_kind *k)
{
	const uint16_t *feels = np_press_feels(p->t, k->profile);
	const uint16_t *pushes = np_press_pushes(p->t, k->profile);
	bool mute = p->t->profile[k->profile].mute;

	for (uint32_t leaf = 0; leaf < p->n_leaves; leaf++) {
		if (mute) {
			np_bits_set(k->open, leaf);
			continue;
		}
		see_leaf(p, k, leaf, feels, pushes);
		if (k->own.load != k->seen.load)
			own_leaf(p, k, leaf);
		open_leaf(p, k, leaf);
	}
}

bool np_deal_kind_full(const struct np_deal *p, const struct np_kind *k)
{
	return np_bits_count(k->open, p->lw) == p->n_leaves;
}

/* What a must think of b, given the load of each beside the other. */
static void row(struct np_deal *p, uint32_t a, uint32_t b, uint32_t ab,
		uint32_t ba)
{
	const struct np_kind *ka = &p->kind[a], *kb = &p->kind[b];
	size_t at = a * p->kw;
	bool kin = ka->owner != NP_ANYBODY && ka->owner == kb->owner;

	if (!np_deal_sees(ka, kb))
		return;
	if (kin)
		np_bits_set(p->kin + at, b);
	if (ab > p->limit || ba > p->limit)
		np_bits_set(p->hard + at, b);
	else if ((ab && ka->max_load + ab > p->limit) ||
		 (ba && kb->max_load + ba > p->limit))
		np_bits_set(p->soft + at, b);
	else if (!kin && (!ka->max_push || !kb->max_push ||
			  ka->max_worst + kb->max_push <= p->limit ||
			  kb->max_worst + ka->max_push <= p->limit))
		return;
	np_bits_set(p->mind + at, b);
}

void np_deal_kind_rows(struct np_deal *p, uint32_t kind)
{
	const struct np_kind *k = &p->kind[kind], *x;
	const uint16_t *feels = np_press_feels(p->t, k->profile);
	const uint16_t *pushes = np_press_pushes(p->t, k->profile);

	/* self_apart says what it must think of itself. */
	for (uint32_t b = 0; b < kind; b++) {
		size_t at;

		x = &p->kind[b];
		at = x->profile * NP_N_TOUCH + (x->touch & k->touch);
		row(p, kind, b, feels[at], pushes[at]);
		row(p, b, kind, pushes[at], feels[at]);
	}
}

static bool meets(const struct np_deal *p, uint32_t a, uint32_t b)
{
	for (uint32_t leaf = 0; leaf < p->n_leaves; leaf++)
		if (np_deal_apart(p, a, b, leaf, NULL))
			return true;
	return false;
}

bool np_deal_kind_meets(struct np_deal *p, uint32_t kind)
{
	struct np_kind *k = &p->kind[kind];

	if (k->quiet)
		return false;
	if (!k->asked) {
		k->asked = true;
		k->meets = (k->self && k->n > 1) ||
			   !np_deal_kind_full(p, k);
		for (uint32_t b = 0; b < p->n_kinds && !k->meets; b++)
			k->meets = (np_bits_test(p->mind + kind * p->kw, b) ||
				    np_bits_test(p->mind + b * p->kw, kind)) &&
				   meets(p, kind, b);
	}
	return k->meets;
}
