/* What runs on each leaf, alike jobs put together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_deal_impl.h"

struct guest {
	uint16_t profile;
	uint8_t touch;
	bool trusted;
	uint32_t owner;
};

/* What a running job counts as; false: as nothing. */
static bool guest_of(const struct np_deal *p, const struct np_snapshot_job *j,
		     struct guest *g)
{
	int32_t profile = j->in.profile;
	const struct np_press_profile *f;

	if (j->in.state != NP_JOB_RUNNING)
		return false;
	if (!np_deal_known(p, &j->in))
		profile = p->policy.unknown_as;
	if (profile == NP_PROFILE_UNKNOWN)
		return false;
	f = &p->t->profile[profile];
	if (f->mute)
		return false;
	g->profile = (uint16_t)profile;
	g->touch = (j->in.flags & NP_JOB_SHARES_NODES ? NP_TOUCH_NODE : 0) |
		   (j->n_leaves > 1 ? NP_TOUCH_UPLINK : 0);
	/* What the policy makes of unknown jobs is an administrator's word. */
	g->trusted = f->trusted || !np_deal_known(p, &j->in);
	g->owner = g->trusted ? NP_ANYBODY : j->in.owner;
	return true;
}

static int by_likeness(const void *a, const void *b)
{
	const struct np_runner *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->profile != y->profile)
		return x->profile < y->profile ? -1 : 1;
	if (x->touch != y->touch)
		return x->touch < y->touch ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static bool alike(const struct np_runner *a, const struct np_runner *b)
{
	return a->owner == b->owner && a->profile == b->profile &&
	       a->touch == b->touch;
}

/* Put alike runners together, leaf by leaf; the array only shrinks. */
static void merge(struct np_deal *p, struct np_crowd *c)
{
	uint32_t to = 0, at = 0;

	for (size_t i = 0; i < p->n_leaves; i++) {
		uint32_t begin = to, end = c->first[i + 1];

		if (end - at > 1)
			qsort(c->runner + at, end - at, sizeof(*c->runner),
			      by_likeness);
		c->first[i] = begin;
		for (; at < end; at++) {
			struct np_runner *r = &c->runner[at];

			if (to > begin && alike(&c->runner[to - 1], r))
				c->runner[to - 1].n++;
			else
				c->runner[to++] = *r;
		}
	}
	c->first[p->n_leaves] = to;
}

/* first[] from counts in first[leaf + 1] to where each leaf begins. */
static int allocate(struct np_deal *p, struct np_crowd *c)
{
	for (size_t i = 0; i < p->n_leaves; i++)
		c->first[i + 1] += c->first[i];
	c->runner = np_deal_alloc(p, c->first[p->n_leaves],
				  sizeof(*c->runner));
	return c->runner ? 0 : -ENOMEM;
}

static int gather(struct np_deal *p)
{
	const struct np_snapshot_job *job = np_snapshot_jobs(p->s);
	struct guest g;

	for (size_t i = 0; i < p->s->job.n; i++) {
		const uint32_t *leaf = np_snapshot_on(p->s, &job[i]);
		struct np_crowd *c;

		if (!guest_of(p, &job[i], &g))
			continue;
		c = g.trusted ? &p->seen : &p->own;
		for (uint32_t k = 0; k < job[i].n_leaves; k++)
			c->first[leaf[k] + 1]++;
	}
	if (allocate(p, &p->seen) || allocate(p, &p->own))
		return -ENOMEM;
	for (size_t i = 0; i < p->s->job.n; i++) {
		const uint32_t *leaf = np_snapshot_on(p->s, &job[i]);
		struct np_crowd *c;

		if (!guest_of(p, &job[i], &g))
			continue;
		c = g.trusted ? &p->seen : &p->own;
		for (uint32_t k = 0; k < job[i].n_leaves; k++)
			c->runner[c->first[leaf[k]]++] = (struct np_runner){
				.profile = g.profile, .touch = g.touch,
				.n = 1, .owner = g.owner,
				.job = job[i].in.id,
			};
	}
	/* Filling moved each first[] to the next leaf's; move them back. */
	for (size_t i = p->n_leaves; i > 0; i--) {
		p->seen.first[i] = p->seen.first[i - 1];
		p->own.first[i] = p->own.first[i - 1];
	}
	p->seen.first[0] = p->own.first[0] = 0;
	merge(p, &p->seen);
	merge(p, &p->own);
	return 0;
}

/* Load of r from the trusted runners of a leaf; itself counts once less. */
static uint32_t load_of(const struct np_deal *p, const struct np_runner *r,
			size_t leaf)
{
	const struct np_crowd *c = &p->seen;
	uint64_t sum = 0;

	for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++) {
		const struct np_runner *x = &c->runner[k];

		sum += (uint64_t)(x == r ? x->n - 1 : x->n) *
		       np_deal_pair(p->t, r->profile, r->touch, x->profile,
				    x->touch);
	}
	return np_deal_clamp(sum);
}

static void load_leaf(struct np_deal *p, size_t leaf)
{
	struct np_crowd *c = &p->seen;
	uint32_t to = c->first[leaf];

	for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++)
		c->runner[k].load = load_of(p, &c->runner[k], leaf);
	for (uint32_t k = p->own.first[leaf]; k < p->own.first[leaf + 1]; k++)
		p->own.runner[k].load = load_of(p, &p->own.runner[k], leaf);
	/* Two arrivals at most are looked at together. */
	for (uint32_t k = to; k < c->first[leaf + 1]; k++) {
		struct np_runner r = c->runner[k];
		uint32_t most = p->t->most[r.profile];

		if (!most || r.load + 2 * most <= p->limit)
			continue;
		r.tender = 1;
		c->runner[k] = c->runner[to];
		c->runner[to++] = r;
	}
	c->tender[leaf] = to - c->first[leaf];
}

static int pack_loud(struct np_deal *p)
{
	struct np_crowd *c = &p->seen;
	uint32_t n = 0;

	c->loud = np_deal_alloc(p, c->first[p->n_leaves], sizeof(*c->loud));
	c->first_loud = np_deal_alloc(p, p->n_leaves + 1,
				      sizeof(*c->first_loud));
	if (!c->loud || !c->first_loud)
		return -ENOMEM;
	for (size_t leaf = 0; leaf < p->n_leaves; leaf++) {
		for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++) {
			const struct np_runner *r = &c->runner[k];

			if (p->t->profile[r->profile].loud)
				c->loud[n++] = (struct np_loud){
					r->profile, r->touch, r->n
				};
		}
		c->first_loud[leaf + 1] = n;
	}
	return 0;
}

int np_deal_crowd(struct np_deal *p)
{
	size_t n = p->n_leaves + 2;

	p->seen.first = np_deal_alloc(p, n, sizeof(uint32_t));
	p->own.first = np_deal_alloc(p, n, sizeof(uint32_t));
	p->seen.tender = np_deal_alloc(p, n, sizeof(uint32_t));
	p->extra_max = np_deal_alloc(p, n, sizeof(uint16_t));
	if (!p->seen.first || !p->own.first || !p->seen.tender ||
	    !p->extra_max || gather(p))
		return -ENOMEM;
	for (size_t leaf = 0; leaf < p->n_leaves; leaf++)
		load_leaf(p, leaf);
	return pack_loud(p);
}
