#include "np_class.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"

static uint64_t leaf_load_from(const struct np_leaf_loads *l,
			       const struct np_estate *e, uint32_t profile,
			       uint32_t touch, const struct np_tenant *but);

/* Bits from .. to-1 of word k of a run that covers places first .. end-1. */
static uint64_t mask_of(uint32_t first, uint32_t end, size_t k)
{
	uint64_t m = ~UINT64_C(0);
	size_t base = k * NP_BITS_WORD;

	if (first > base)
		m &= ~UINT64_C(0) << (first - base);
	if (end < base + NP_BITS_WORD)
		m &= (UINT64_C(1) << (end - base)) - 1;
	return m;
}

struct count {
	unsigned any; /* 0 or 1 */
	unsigned usable, idle, idle_or_mixed;
};

static struct count count_range(const struct np_snapshot *s,
				const uint64_t *set, uint32_t first,
				uint32_t end)
{
	struct count c = { 0 };

	if (first == end)
		return c;
	for (size_t k = first / NP_BITS_WORD; k <= (end - 1) / NP_BITS_WORD;
	     k++) {
		uint64_t w = set[k] & mask_of(first, end, k);

		c.any |= w != 0;
		c.usable += (unsigned)__builtin_popcountll(w & s->usable[k]);
		c.idle += (unsigned)__builtin_popcountll(w & s->idle[k]);
		c.idle_or_mixed += (unsigned)__builtin_popcountll(w & s->idle_or_mixed[k]);
	}
	return c;
}

void np_counts_fill(const struct np_snapshot *s, const uint64_t *set,
		    struct np_counts *c)
{
	const struct np_leaves *l = s->leaves;
	struct count got;

	memset(c->reach, 0, l->words * sizeof(*c->reach));
	c->all_usable = 0;
	for (size_t i = 0; i < l->n; i++) {
		got = count_range(s, set, l->first[i], l->first[i + 1]);
		c->usable[i] = (uint16_t)got.usable;
		c->all_usable += got.usable;
		c->free_alone[i] = (uint16_t)got.idle;
		c->free_shared[i] = (uint16_t)got.idle_or_mixed;
		if (got.any)
			np_bits_set(c->reach, i);
	}
	got = count_range(s, set, l->first[l->n], (uint32_t)l->n_nodes);
	c->loose_usable = got.usable;
	c->all_usable += got.usable;
	c->loose_free_alone = got.idle;
	c->loose_free_shared = got.idle_or_mixed;
}

uint64_t np_counts_sum(uint32_t switches, const uint16_t *column,
		       uint32_t loose, const uint64_t *leaves, size_t lw)
{
	uint32_t best[NP_COUNTS_MAX_SWITCHES] = { loose };
	uint64_t sum = 0;

	if (!switches || switches > NP_COUNTS_MAX_SWITCHES) {
		NP_BITS_EACH(leaf, leaves, lw)
			sum += column[leaf];
		return sum + loose;
	}
	NP_BITS_EACH(leaf, leaves, lw) {
		uint32_t n = column[leaf];

		for (uint32_t k = 0; k < switches && n; k++)
			if (n > best[k]) {
				uint32_t less = best[k];

				best[k] = n;
				n = less;
			}
	}
	for (uint32_t k = 0; k < switches; k++)
		sum += best[k];
	return sum;
}

struct np_problem_block {
	struct np_problem_block *next;
	max_align_t data[];
};

void *np_problem_alloc(struct np_problem *p, size_t n, size_t item)
{
	size_t bytes = n * item + item;
	struct np_problem_block *b = calloc(1, sizeof(*b) + bytes);

	if (!b)
		return NULL;
	b->next = p->blocks;
	p->blocks = b;
	return b->data;
}

void np_problem_free(struct np_problem *p)
{
	struct np_problem_block *b, *next;

	for (b = p->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
}

static bool problem_known(const struct np_problem *p, const struct np_job *j)
{
	const struct np_press_profile *f;

	if (j->profile == NP_PROFILE_UNKNOWN)
		return false;
	f = &p->t->profile[j->profile];
	return f->trusted || f->owner == j->owner;
}

/* Is the job's application known, as far as the job's owner goes? */
/* Is it seen by jobs of others than its owner? */
static bool problem_trusted(const struct np_problem *p,
			    const struct np_job *j)
{
	return p->t->profile[j->profile].trusted &&
	       !(j->flags & NP_JOB_UNPROVED);
}

bool np_problem_enforced(const struct np_problem *p, const struct np_job *j)
{
	return j->mode == NP_MODE_ENFORCE ||
	       (p->what_if && j->mode == NP_MODE_ADVISE);
}

bool np_problem_held_enough(const struct np_problem *p, const struct np_job *j,
			    double held_sec)
{
	return held_sec >= (j->mode == NP_MODE_PREFER ?
			       NP_PLACEMENT_PATIENCE_SEC :
			       p->policy.max_defer_sec);
}

enum np_why np_problem_aside(const struct np_problem *p,
			     const struct np_job *j, int64_t now_sec)
{
	if (j->state == NP_JOB_RUNNING)
		return NP_WHY_RUNNING;
	if (j->mode == NP_MODE_OFF)
		return NP_WHY_OFF;
	if (!problem_known(p, j))
		return NP_WHY_UNKNOWN;
	if (j->flags & NP_JOB_NODELIST)
		return NP_WHY_NODELIST;
	if (j->flags & NP_JOB_RESERVATION)
		return NP_WHY_RESERVATION;
	if (j->flags & NP_JOB_HETEROGENEOUS)
		return NP_WHY_HETEROGENEOUS;
	if (j->flags & NP_JOB_CONSTRAINT)
		return NP_WHY_CONSTRAINT;
	if (j->flags & NP_JOB_CHANGING)
		return NP_WHY_CHANGING;
	if (j->eligible_sec - now_sec > NP_PLACEMENT_HORIZON_SEC)
		return NP_WHY_NOT_YET;
	return NP_WHY_RUNNING;
}

struct np_counts *np_problem_counts_new(struct np_problem *p)
{
	struct np_counts *c = np_problem_alloc(p, 1, sizeof(*c));
	uint16_t *n = np_problem_alloc(p, 3 * p->n_leaves, sizeof(*n));
	uint64_t *reach = np_problem_alloc(p, p->lw, sizeof(*reach));

	if (!c || !n || !reach)
		return NULL;
	c->usable = n;
	c->free_alone = n + p->n_leaves;
	c->free_shared = n + 2 * p->n_leaves;
	c->reach = reach;
	return c;
}

const struct np_counts *np_problem_counts(struct np_problem *p, uint32_t set)
{
	if (!p->counts[set]) {
		struct np_counts *c = np_problem_counts_new(p);

		if (!c)
			return NULL;
		np_counts_fill(p->s, np_snapshot_set(p->s, set), c);
		p->counts[set] = c;
	}
	return p->counts[set];
}

static int by_free(const void *a, const void *b, void *arg)
{
	const struct np_problem *p = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (p->leaf_free[x] != p->leaf_free[y])
		return p->leaf_free[x] > p->leaf_free[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* What all nodes of each leaf offer, whoever asks. */
static int count_leaves(struct np_problem *p)
{
	uint64_t *all = np_problem_alloc(p, p->s->leaves->node_words,
					 sizeof(*all));
	struct np_counts *c = np_problem_counts_new(p);

	if (!all || !c)
		return -ENOMEM;
	for (size_t i = 0; i < p->s->leaves->n_nodes; i++)
		np_bits_set(all, i);
	np_counts_fill(p->s, all, c);
	p->leaf_usable = c->usable;
	p->leaf_free = c->free_alone;
	p->leaf_order = np_problem_alloc(p, p->n_leaves, sizeof(uint32_t));
	if (!p->leaf_order)
		return -ENOMEM;
	for (uint32_t leaf = 0; leaf < p->n_leaves; leaf++)
		p->leaf_order[leaf] = leaf;
	qsort_r(p->leaf_order, p->n_leaves, sizeof(uint32_t), by_free, p);
	return 0;
}

static size_t count_unproved(const struct np_problem *p)
{
	size_t n = 0;

	for (uint32_t i = 0; i < p->s->n_jobs; i++)
		n += !!(p->s->job[i].flags & NP_JOB_UNPROVED);
	return n;
}

/* Owners of jobs that others do not see: of a private profile there is one. */
static int gather_private(struct np_problem *p)
{
	bool *seen = np_problem_alloc(p, p->t->n, sizeof(*seen));

	p->private_owner = np_problem_alloc(p, p->t->n + count_unproved(p),
					    sizeof(uint32_t));
	if (!seen || !p->private_owner)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->s->n_jobs; i++) {
		const struct np_job *j = &p->s->job[i];

		if (!problem_known(p, j) || problem_trusted(p, j))
			continue;
		if (!p->t->profile[j->profile].trusted) {
			if (seen[j->profile])
				continue;
			seen[j->profile] = true;
		}
		p->private_owner[p->n_private++] = j->owner;
	}
	p->n_private = np_order_unique(p->private_owner, p->n_private);
	return 0;
}

bool np_problem_enough(const struct np_problem *p, const struct np_job *j,
		       const struct np_counts *c)
{
	return (j->switches ? np_counts_sum(j->switches, c->usable,
					    c->loose_usable, c->reach, p->lw) :
			      c->all_usable) >= j->nodes_min;
}

int np_problem_init(struct np_problem *p, const struct np_snapshot *s,
		    const struct np_press *t, const struct np_policy *policy,
		    const struct np_outcome *outcome, bool what_if,
		    const struct np_problem *other)
{
	*p = (struct np_problem){
		.s = s, .t = t, .policy = *policy, .outcome = outcome,
		.limit = np_press_limit(policy->max_slowdown),
		.what_if = what_if,
		.n_leaves = s->leaves->n, .lw = s->leaves->words,
	};
	p->counts = np_problem_alloc(p, s->set.n, sizeof(*p->counts));
	p->none = np_problem_alloc(p, p->lw, sizeof(*p->none));
	p->scratch = np_problem_alloc(p, p->lw, sizeof(*p->scratch));
	if (!p->counts || !p->none || !p->scratch)
		return -ENOMEM;
	if (other)
		memcpy(p->counts, other->counts,
		       s->set.n * sizeof(*p->counts));
	return count_leaves(p) ? -ENOMEM : gather_private(p);
}

/* What a running job is on its leaves; false: nothing. */
static bool tenant_of(const struct np_problem *p,
		      const struct np_job *j, struct np_tenant *r)
{
	int32_t profile = j->profile;
	bool known = problem_known(p, j);
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
		.owner = !known || problem_trusted(p, j) ? NP_ANYBODY :
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

static void load_load_leaf(struct np_leaf_loads *l, size_t leaf)
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
		*to++ = np_press_clamp(leaf_load_from(
			l, e, c->tenant[k].profile, c->tenant[k].touch, NULL));
	for (uint32_t k = e->first; k < e->end; k++) {
		const struct np_tenant *r = &l->own.tenant[k];

		*to++ = np_press_clamp(leaf_load_from(l, e, r->profile,
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
		load_load_leaf(l, leaf);
	return pack_aggressors(l) ? -ENOMEM : make_estates(l);
}

/* What an owner has, in order of leaves; NULL: nothing. */
static const struct np_estate *
leaf_load_estates(const struct np_leaf_loads *l, uint32_t owner, size_t *n)
{
	const struct np_problem *p = l->p;
	size_t at = np_order_find(p->private_owner, p->n_private, owner);

	*n = at < p->n_private ?
	     l->first_estate[at + 1] - l->first_estate[at] : 0;
	return *n ? l->estate + l->first_estate[at] : NULL;
}

/* Load from an estate, one of its tenants left out. */
static uint64_t leaf_load_from(const struct np_leaf_loads *l,
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

/* The same from what an owner has on a leaf, if anything. */
static uint64_t leaf_load_own(const struct np_leaf_loads *l,
			      uint32_t profile, uint32_t touch,
			      uint32_t leaf, uint32_t owner,
			      const struct np_tenant *but)
{
	size_t n;
	const struct np_estate *e = leaf_load_estates(l, owner, &n);

	if (n)
		e = bsearch(&leaf, e, n, sizeof(*e), by_leaf);
	return e ? leaf_load_from(l, e, profile, touch, but) : 0;
}

/* A job that all see may come; one more would be too much for a tenant. */
static void leaf_load_note(struct np_leaf_loads *l, uint32_t leaf,
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

/* None of those noted may come any more. */
static void leaf_load_clear(struct np_leaf_loads *l, uint32_t leaf)
{
	struct np_tenant *r = l->seen.tenant + l->seen.first[leaf];

	for (uint32_t i = 0; i < l->seen.sensitive[leaf]; i++)
		r[i].extra = 0;
}

static bool leaf_load_full(const struct np_leaf_loads *l, uint32_t leaf,
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

/* Must jobs of one class stay off a leaf, and because of whom? */

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
		     leaf_load_own(l, r->profile, r->touch, leaf, owner, r),
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
	return leaf_load_full(c->loads, leaf, k->profile, k->touch);
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
		leaf_load_note(c->loads, leaf, k->profile, k->touch);
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
	leaf_load_clear(c->loads, leaf);
	NP_BITS_EACH(b, on, c->words)
		if (c->at[b].trusted)
			leaf_load_note(c->loads, leaf, c->at[b].profile,
				       c->at[b].touch);
}

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
	if (leaf_load_estates(c->loads, k->owner, &n) &&
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

static void class_load_leaf(const struct np_classes *c, struct np_class *k,
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
		       leaf_load_from(l, e, k->profile, k->touch, NULL));
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
		leaf_load_estates(c->loads, k->owner, &n);

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
			class_load_leaf(c, k, leaf, feels);
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
		.trusted = problem_trusted(c->p, j),
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
