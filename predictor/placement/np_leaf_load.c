#include "np_leaf_load.h"

#include <errno.h>
#include <stdlib.h>

/* What a running job is on its leaves; false: nothing. */
static bool tenant_of(const struct np_problem *p,
		      const struct np_job *j, struct np_tenant *r)
{
	int32_t profile = j->profile;
	bool known = np_problem_known(p, j);
	const struct np_press_profile *f;

	if (j->state != NP_JOB_RUNNING)
		return false;
	if (!known)
		profile = p->policy.unknown_as;
	if (profile == NP_PROFILE_UNKNOWN)
		return false;
	f = &p->t->profile[profile];
	if (f->inert)
		return false;
	*r = (struct np_tenant){
		.profile = (uint16_t)profile, .n = 1, .job = j->id,
		.touch = (j->flags & NP_JOB_SHARES_NODES ?
			  NP_TOUCH_NODE : 0) |
			 (j->n_leaves > 1 ? NP_TOUCH_UPLINK : 0),
		/* What the policy makes of unknown jobs is an
		   administrator's word. */
		.owner = !known || np_problem_trusted(p, j) ? NP_ANYBODY :
							      j->owner,
	};
	return true;
}

static int by_likeness(const void *a, const void *b)
{
	const struct np_tenant *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->profile != y->profile)
		return x->profile < y->profile ? -1 : 1;
	if (x->touch != y->touch)
		return x->touch < y->touch ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static bool alike(const struct np_tenant *a, const struct np_tenant *b)
{
	return a->owner == b->owner && a->profile == b->profile &&
	       a->touch == b->touch;
}

/* Put alike tenants together, leaf by leaf; the array only shrinks. */
static void merge(const struct np_problem *p, struct np_tenants *c)
{
	uint32_t to = 0, at = 0;

	for (size_t i = 0; i < p->n_leaves; i++) {
		uint32_t begin = to, end = c->first[i + 1];

		if (end - at > 1)
			qsort(c->tenant + at, end - at, sizeof(*c->tenant),
			      by_likeness);
		c->first[i] = begin;
		for (; at < end; at++) {
			struct np_tenant *r = &c->tenant[at];

			if (to > begin && alike(&c->tenant[to - 1], r))
				c->tenant[to - 1].n++;
			else
				c->tenant[to++] = *r;
		}
	}
	c->first[p->n_leaves] = to;
}

/* first[] from counts in first[leaf + 1] to where each leaf begins. */
static int allocate(struct np_problem *p, struct np_tenants *c)
{
	for (size_t i = 0; i < p->n_leaves; i++)
		c->first[i + 1] += c->first[i];
	c->tenant = np_problem_alloc(p, c->first[p->n_leaves],
				     sizeof(*c->tenant));
	return c->tenant ? 0 : -ENOMEM;
}

static struct np_tenants *seen_or_own(struct np_leaf_loads *l,
				      const struct np_tenant *r)
{
	return r->owner == NP_ANYBODY ? &l->seen : &l->own;
}

static int gather(struct np_leaf_loads *l)
{
	struct np_problem *p = l->p;
	const struct np_job *job = p->s->job;
	struct np_tenant r;

	for (size_t i = 0; i < p->s->n_jobs; i++) {
		const uint32_t *leaf = job[i].leaf;

		if (!tenant_of(p, &job[i], &r))
			continue;
		for (uint32_t k = 0; k < job[i].n_leaves; k++)
			seen_or_own(l, &r)->first[leaf[k] + 1]++;
	}
	if (allocate(p, &l->seen) || allocate(p, &l->own))
		return -ENOMEM;
	for (size_t i = 0; i < p->s->n_jobs; i++) {
		const uint32_t *leaf = job[i].leaf;
		struct np_tenants *c;

		if (!tenant_of(p, &job[i], &r))
			continue;
		c = seen_or_own(l, &r);
		for (uint32_t k = 0; k < job[i].n_leaves; k++)
			c->tenant[c->first[leaf[k]]++] = r;
	}
	/* Filling moved each first[] to the next leaf's; move them back. */
	for (size_t i = p->n_leaves; i > 0; i--) {
		l->seen.first[i] = l->seen.first[i - 1];
		l->own.first[i] = l->own.first[i - 1];
	}
	l->seen.first[0] = l->own.first[0] = 0;
	merge(p, &l->seen);
	merge(p, &l->own);
	return 0;
}

/* Load of r from the trusted tenants of a leaf; itself counts once less. */
static uint32_t load_of(const struct np_leaf_loads *l,
			const struct np_tenant *r, size_t leaf)
{
	const struct np_tenants *c = &l->seen;
	uint64_t sum = 0;

	for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++) {
		const struct np_tenant *x = &c->tenant[k];

		sum += (uint64_t)(x == r ? x->n - 1 : x->n) *
		       np_press_pair(l->p->t, r->profile, r->touch, x->profile,
				     x->touch);
	}
	return np_press_clamp(sum);
}

static void load_leaf(struct np_leaf_loads *l, size_t leaf)
{
	struct np_tenants *c = &l->seen, *own = &l->own;
	uint32_t to = c->first[leaf];

	for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++)
		c->tenant[k].load = load_of(l, &c->tenant[k], leaf);
	for (uint32_t k = own->first[leaf]; k < own->first[leaf + 1]; k++)
		own->tenant[k].load = load_of(l, &own->tenant[k], leaf);
	/* Two arrivals at most are looked at together. */
	for (uint32_t k = to; k < c->first[leaf + 1]; k++) {
		struct np_tenant r = c->tenant[k];
		uint32_t most = l->p->t->most[r.profile];

		if (!most || r.load + 2 * most <= l->p->limit)
			continue;
		c->tenant[k] = c->tenant[to];
		c->tenant[to++] = r;
	}
	c->sensitive[leaf] = to - c->first[leaf];
}

static int pack_aggressors(struct np_leaf_loads *l)
{
	struct np_problem *p = l->p;
	struct np_tenants *c = &l->seen;
	uint32_t n = 0;

	c->aggressor = np_problem_alloc(p, c->first[p->n_leaves],
					sizeof(*c->aggressor));
	c->first_aggressor = np_problem_alloc(p, p->n_leaves + 1,
					      sizeof(*c->first_aggressor));
	if (!c->aggressor || !c->first_aggressor)
		return -ENOMEM;
	for (size_t leaf = 0; leaf < p->n_leaves; leaf++) {
		for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++) {
			const struct np_tenant *r = &c->tenant[k];

			if (p->t->profile[r->profile].aggressor)
				c->aggressor[n++] = (struct np_aggressor){
					r->profile, r->touch, r->n
				};
		}
		c->first_aggressor[leaf + 1] = n;
	}
	return 0;
}

/* Tenants of a leaf are in order of owners. */
static uint32_t end_of_owner(const struct np_tenants *c, uint32_t at,
			     uint32_t end)
{
	uint32_t owner = c->tenant[at].owner;

	while (at < end && c->tenant[at].owner == owner)
		at++;
	return at;
}

/* Returns how many loads there are of tenants beside estates. */
static uint32_t fill_estates(struct np_leaf_loads *l)
{
	const struct np_tenants *c = &l->own;
	const struct np_problem *p = l->p;
	uint32_t *first = l->first_estate, felt = 0, end;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t leaf = 0; leaf < p->n_leaves; leaf++)
			for (uint32_t k = c->first[leaf];
			     k < c->first[leaf + 1]; k = end) {
				size_t o = np_order_find(p->private_owner,
							 p->n_private,
							 c->tenant[k].owner);

				end = end_of_owner(c, k, c->first[leaf + 1]);
				if (!pass) {
					first[o + 2]++;
					continue;
				}
				l->estate[first[o + 1]++] = (struct np_estate){
					leaf, k, end, felt
				};
				felt += end - k + l->seen.first[leaf + 1] -
					l->seen.first[leaf];
			}
		for (size_t o = 0; !pass && o < p->n_private; o++)
			first[o + 2] += first[o + 1];
	}
	return felt;
}

static void feel_estate(struct np_leaf_loads *l, const struct np_estate *e)
{
	const struct np_tenants *c = &l->seen;
	uint32_t *to = l->felt + e->felt;

	for (uint32_t k = c->first[e->leaf]; k < c->first[e->leaf + 1]; k++)
		*to++ = np_press_clamp(np_leaf_load_from(
			l, e, c->tenant[k].profile, c->tenant[k].touch, NULL));
	for (uint32_t k = e->first; k < e->end; k++) {
		const struct np_tenant *r = &l->own.tenant[k];

		*to++ = np_press_clamp(np_leaf_load_from(l, e, r->profile,
							 r->touch, r));
	}
}

static int make_estates(struct np_leaf_loads *l)
{
	struct np_problem *p = l->p;

	l->first_estate = np_problem_alloc(p, p->n_private + 2,
					   sizeof(*l->first_estate));
	l->estate = np_problem_alloc(p, l->own.first[p->n_leaves],
				     sizeof(*l->estate));
	if (!l->first_estate || !l->estate)
		return -ENOMEM;
	l->felt = np_problem_alloc(p, fill_estates(l), sizeof(*l->felt));
	if (!l->felt)
		return -ENOMEM;
	for (uint32_t k = 0; k < l->first_estate[p->n_private]; k++)
		feel_estate(l, &l->estate[k]);
	return 0;
}

int np_leaf_loads_init(struct np_leaf_loads *l, struct np_problem *p)
{
	size_t n = p->n_leaves + 2;

	l->p = p;
	l->seen.first = np_problem_alloc(p, n, sizeof(uint32_t));
	l->own.first = np_problem_alloc(p, n, sizeof(uint32_t));
	l->seen.sensitive = np_problem_alloc(p, n, sizeof(uint32_t));
	if (!l->seen.first || !l->own.first || !l->seen.sensitive ||
	    gather(l))
		return -ENOMEM;
	for (size_t leaf = 0; leaf < p->n_leaves; leaf++)
		load_leaf(l, leaf);
	return pack_aggressors(l) ? -ENOMEM : make_estates(l);
}

const struct np_estate *np_leaf_load_estates(const struct np_leaf_loads *l,
					     uint32_t owner, size_t *n)
{
	const struct np_problem *p = l->p;
	size_t at = np_order_find(p->private_owner, p->n_private, owner);

	*n = at < p->n_private ?
	     l->first_estate[at + 1] - l->first_estate[at] : 0;
	return *n ? l->estate + l->first_estate[at] : NULL;
}

uint64_t np_leaf_load_from(const struct np_leaf_loads *l,
			   const struct np_estate *e, uint32_t profile,
			   uint32_t touch, const struct np_tenant *but)
{
	uint64_t sum = 0;

	for (uint32_t k = e->first; k < e->end; k++) {
		const struct np_tenant *x = &l->own.tenant[k];

		sum += (uint64_t)(x == but ? x->n - 1 : x->n) *
		       np_press_pair(l->p->t, profile, touch, x->profile,
				     x->touch);
	}
	return sum;
}

static int by_leaf(const void *key, const void *estate)
{
	uint32_t x = *(const uint32_t *)key;
	const struct np_estate *e = estate;

	return x < e->leaf ? -1 : x > e->leaf;
}

uint64_t np_leaf_load_own(const struct np_leaf_loads *l, uint32_t profile,
			  uint32_t touch, uint32_t leaf, uint32_t owner,
			  const struct np_tenant *but)
{
	size_t n;
	const struct np_estate *e = np_leaf_load_estates(l, owner, &n);

	if (n)
		e = bsearch(&leaf, e, n, sizeof(*e), by_leaf);
	return e ? np_leaf_load_from(l, e, profile, touch, but) : 0;
}

void np_leaf_load_note(struct np_leaf_loads *l, uint32_t leaf,
		       uint32_t profile, uint32_t touch)
{
	const uint16_t *pushes = np_press_pushes(l->p->t, profile);
	struct np_tenant *r = l->seen.tenant + l->seen.first[leaf];
	uint32_t n = l->seen.sensitive[leaf];

	for (uint32_t i = 0; i < n; i++) {
		uint16_t x = np_press_at(pushes, r[i].profile,
					 r[i].touch & touch);

		if (x > r[i].extra)
			r[i].extra = x;
	}
}

void np_leaf_load_clear(struct np_leaf_loads *l, uint32_t leaf)
{
	struct np_tenant *r = l->seen.tenant + l->seen.first[leaf];

	for (uint32_t i = 0; i < l->seen.sensitive[leaf]; i++)
		r[i].extra = 0;
}

bool np_leaf_load_full(const struct np_leaf_loads *l, uint32_t leaf,
		       uint32_t profile, uint32_t touch)
{
	const uint16_t *pushes = np_press_pushes(l->p->t, profile);
	const struct np_tenant *r = l->seen.tenant + l->seen.first[leaf];

	for (uint32_t k = 0; k < l->seen.sensitive[leaf]; k++) {
		uint32_t x = np_press_at(pushes, r[k].profile,
					 r[k].touch & touch);

		if (x && r[k].extra &&
		    r[k].load + x + r[k].extra > l->p->limit)
			return true;
	}
	return false;
}

uint32_t np_leaf_load_worst(const struct np_leaf_loads *l, size_t leaf)
{
	const struct np_tenants *c = &l->seen;
	uint32_t worst = 0;

	for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++)
		if (c->tenant[k].load > worst)
			worst = c->tenant[k].load;
	return worst;
}
