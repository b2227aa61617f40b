#include "np_allocation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROUNDS 16

/* Has a less than b, each for its demand? */
static bool poorer(const struct np_group *a, const struct np_group *b)
{
	return a->supply * b->demand < b->supply * a->demand;
}

/* Groups of a party, by numbers from its first one, those ready first. */
struct widening {
	struct np_groups *g;
	uint32_t first;
	size_t n, n_ready, words;
	uint64_t *want; /* per leaf a row of words: which of them ask */
};

/*
 * Leaves are only given away here, so what a class cannot take it cannot take
 * later on either: none of its groups wants the leaf any more.
 */
static bool may(const struct widening *w, size_t i, uint32_t leaf,
		uint64_t *want)
{
	uint32_t group = w->first + (uint32_t)i;
	const struct np_group *u = &w->g->at[group];
	const uint64_t *all = w->g->of_class[u->class].all;

	if (np_group_can_take(w->g, group, leaf))
		return true;
	np_bits_clear(want, i);
	/* Where tasks must be together, others of the class may still. */
	for (size_t k = 0; all && !u->together && k < w->words; k++)
		want[k] &= ~all[k];
	return false;
}

/* Groups that may start come first, and the poorest of them first of all. */
static bool widen_leaf(const struct widening *w, uint32_t leaf)
{
	uint64_t *want = w->want + leaf * w->words;
	const struct np_group *at = w->g->at + w->first;
	size_t poorest = w->n;
	bool any = false;

	NP_BITS_EACH(i, want, w->words) {
		if (i >= w->n_ready)
			break;
		if ((poorest == w->n || poorer(&at[i], &at[poorest])) &&
		    may(w, i, leaf, want))
			poorest = i;
	}
	if (poorest < w->n) {
		np_group_hold(w->g, w->first + (uint32_t)poorest, leaf);
		np_bits_clear(want, poorest);
		any = true;
	}
	NP_BITS_EACH(i, want, w->words)
		if (may(w, i, leaf, want)) {
			np_group_hold(w->g, w->first + (uint32_t)i, leaf);
			any = true;
		}
	return any;
}

/* Who was asked before wants a leaf only if somebody left it. */
static void ask(const struct widening *w, size_t i)
{
	const struct np_group *u = &w->g->at[w->first + i];
	const uint64_t *open = w->g->classes->at[u->class].open;
	const uint64_t *left = w->g->left;

	for (size_t k = 0; k < w->g->p->lw; k++)
		for (uint64_t m = u->reach[k] & open[k] & ~u->set[k] &
				  (u->widened ? left[k] : ~UINT64_C(0));
		     m; m &= m - 1)
			np_bits_set(w->want + np_bits_at(k, m) * w->words, i);
}

static int widen(struct np_groups *g, const struct np_party *party,
		 bool *changed)
{
	size_t n = party[1].group - party->group, words = np_bits_words(n);
	struct np_group *u = g->at + party->group;
	struct widening w = {
		.g = g, .first = party->group, .n = n, .words = words,
		.want = calloc(g->p->n_leaves * words + 1, sizeof(*w.want)),
	};

	if (!w.want)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		w.n_ready += u[i].ready;
		if (u[i].placed)
			ask(&w, i);
		u[i].widened = u[i].placed;
	}
	for (size_t i = 0; n && i < g->p->n_leaves; i++)
		*changed |= widen_leaf(&w, g->p->leaf_order[i]);
	memset(g->left, 0, g->p->lw * sizeof(*g->left));
	free(w.want);
	return 0;
}

/* Leaves written before for a request, in its group's row of bits. */
static void prior(const struct np_groups *g, const struct np_request *r,
		  uint64_t *bits)
{
	const struct np_job *j = &g->p->s->job[r->job];
	const uint64_t *reach = g->p->counts[j->candidates]->reach;

	if (r->task) /* what stands in the record stands for its first task */
		return;
	for (size_t w = 0; w < g->p->lw; w++)
		if (j->prior == NP_PRIOR_ANYWHERE)
			bits[w] |= reach[w];
		else if (j->prior == NP_PRIOR_LEAVES)
			bits[w] |= reach[w] & j->prior_leaves[w];
}

static int keep(struct np_groups *g, const struct np_party *party)
{
	size_t n = party[1].group - party->group, lw = g->p->lw;
	uint64_t *bits = calloc(n * lw + 1, sizeof(*bits));

	if (!bits)
		return -ENOMEM;
	for (uint32_t i = party->request; i < party[1].request; i++) {
		const struct np_request *r = &g->requests->at[g->by_party[i]];

		prior(g, r, bits + (r->group - party->group) * lw);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t u = party->group + i;
		const uint64_t *open = np_group_class(g, u)->open;

		NP_BITS_EACH(leaf, bits + i * lw, lw)
			if (np_bits_test(open, leaf) &&
			    np_group_can_take(g, u, (uint32_t)leaf))
				np_group_hold(g, u, (uint32_t)leaf);
	}
	free(bits);
	return 0;
}

static int settle(struct np_groups *g, const struct np_party *party)
{
	bool changed = true;
	int rc = keep(g, party);

	for (int round = 0; !rc && changed && round < MAX_ROUNDS; round++) {
		changed = false;
		rc = np_grow(g, party, &changed);
		if (!rc)
			rc = widen(g, party, &changed);
	}
	return rc;
}

/* Those who conflict with nobody hold what they can reach. */
static void place_quiet(struct np_problem *p, struct np_classes *c,
			const struct np_requests *r)
{
	for (size_t i = 0; i < r->n_order; i++) {
		const struct np_job *j = &p->s->job[r->order[i]];
		uint32_t class = r->class[r->order[i]];
		const uint64_t *reach;

		if (class == NP_NONE || !c->at[class].quiet)
			continue;
		reach = p->counts[j->candidates]->reach;
		if (np_bits_within(reach, c->at[class].held, p->lw))
			continue;
		NP_BITS_EACH(leaf, reach, p->lw)
			np_class_hold(c, class, (uint32_t)leaf);
	}
}

static int share(struct np_allocation *a)
{
	int rc = 0;

	place_quiet(&a->problem, &a->classes, &a->requests);
	/* Jobs that others do not see choose after, and around, the rest. */
	for (size_t i = 0; !rc && i < a->groups.n_parties; i++)
		rc = settle(&a->groups, &a->groups.party[i]);
	np_groups_shared(&a->groups);
	return rc;
}

int np_allocation_new(const struct np_snapshot *s, const struct np_press *t,
		      const struct np_policy *policy,
		      const struct np_outcome *outcome, bool what_if,
		      const struct np_allocation *other,
		      struct np_allocation **out)
{
	struct np_allocation *a = calloc(1, sizeof(*a));
	struct np_problem *p;

	if (!a)
		return -ENOMEM;
	p = &a->problem;
	if (np_problem_init(p, s, t, policy, outcome, what_if,
			    other ? &other->problem : NULL) ||
	    np_leaf_loads_init(&a->loads, p) ||
	    np_classes_init(&a->classes, p, &a->loads) ||
	    np_requests_init(&a->requests, p, &a->classes) ||
	    np_classes_seal(&a->classes) ||
	    np_groups_init(&a->groups, p, &a->classes, &a->requests) ||
	    share(a) ||
	    np_prefer_init(&a->prefer, p, &a->classes, &a->requests,
			   &a->groups)) {
		np_allocation_free(a);
		return -ENOMEM;
	}
	*out = a;
	return 0;
}

void np_allocation_free(struct np_allocation *a)
{
	if (!a)
		return;
	np_groups_free(&a->groups);
	np_problem_free(&a->problem);
	free(a);
}
