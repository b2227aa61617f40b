#include "np_allocation.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_ROUNDS 16

static bool wants(const struct np_groups *g, uint32_t group, uint32_t leaf)
{
	const struct np_group *u = &g->at[group];

	return np_bits_test(u->reach, leaf) && !np_bits_test(u->set, leaf) &&
	       np_bits_test(np_group_class(g, group)->open, leaf) &&
	       np_group_can_take(g, group, leaf);
}

/* Has a less than b, each for its demand? */
static bool poorer(const struct np_group *a, const struct np_group *b)
{
	return a->supply * b->demand < b->supply * a->demand;
}

/* Groups that may start come first, and the poorest of them first of all. */
static bool widen_leaf(struct np_groups *g, const uint32_t *group, size_t n,
		       uint32_t leaf)
{
	uint32_t first = NP_NONE;
	bool any = false;

	for (size_t i = 0; i < n && g->at[group[i]].ready; i++)
		if ((first == NP_NONE ||
		     poorer(&g->at[group[i]], &g->at[first])) &&
		    wants(g, group[i], leaf))
			first = group[i];
	if (first != NP_NONE)
		np_group_hold(g, first, leaf);
	for (size_t i = 0; i < n; i++)
		if (wants(g, group[i], leaf)) {
			np_group_hold(g, group[i], leaf);
			any = true;
		}
	return any || first != NP_NONE;
}

static int widen(struct np_groups *g, bool trusted, bool *changed)
{
	uint32_t *group = malloc((g->n + 1) * sizeof(*group));
	size_t n = 0;

	if (!group)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n; i++)
		if (g->at[i].placed &&
		    np_group_class(g, i)->trusted == trusted)
			group[n++] = i;
	for (size_t i = 0; i < g->p->n_leaves; i++)
		*changed |= widen_leaf(g, group, n, g->p->leaf_order[i]);
	free(group);
	return 0;
}

/* Leaves written before for a group's request, in the group's row of bits. */
static void prior(const struct np_groups *g, const struct np_request *r,
		  uint64_t *bits)
{
	const struct np_snapshot_job *j = &np_snapshot_jobs(g->p->s)[r->job];
	const uint64_t *reach = g->p->counts[j->in.candidates]->reach;

	if (r->group == NP_NONE)
		return;
	bits += r->group * g->p->lw;
	if (r->task) /* what stands in the record stands for its first task */
		return;
	for (size_t w = 0; w < g->p->lw; w++)
		if (j->in.prior == NP_PRIOR_ANYWHERE)
			bits[w] |= reach[w];
		else if (j->in.prior == NP_PRIOR_LEAVES)
			bits[w] |= reach[w] & j->in.prior_leaves[w];
}

static int keep(struct np_groups *g, bool trusted)
{
	uint64_t *bits = calloc(g->n * g->p->lw + 1, sizeof(*bits));

	if (!bits)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->requests->n; i++)
		prior(g, &g->requests->at[i], bits);
	for (uint32_t i = 0; i < g->n; i++) {
		if (np_group_class(g, i)->trusted != trusted)
			continue;
		NP_BITS_EACH(leaf, bits + i * g->p->lw, g->p->lw)
			if (wants(g, i, (uint32_t)leaf))
				np_group_hold(g, i, (uint32_t)leaf);
	}
	free(bits);
	return 0;
}

static int settle(struct np_groups *g, bool trusted)
{
	bool changed = true;
	int rc = keep(g, trusted);

	for (int round = 0; !rc && changed && round < MAX_ROUNDS; round++) {
		changed = false;
		rc = np_grow(g, trusted, &changed);
		if (!rc)
			rc = widen(g, trusted, &changed);
	}
	return rc;
}

/* Those who conflict with nobody hold what they can reach. */
static void place_quiet(struct np_problem *p, struct np_classes *c,
			const struct np_requests *r)
{
	for (size_t i = 0; i < r->n_order; i++) {
		const struct np_job *j = np_problem_job(p, r->order[i]);
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
	int rc;

	place_quiet(&a->problem, &a->classes, &a->requests);
	/* Jobs that others do not see choose after, and around, the rest. */
	rc = settle(&a->groups, true);
	return rc ? rc : settle(&a->groups, false);
}

int np_allocation_new(const struct np_snapshot *s, const struct np_press *t,
		      const struct np_policy *policy, const double *held_sec,
		      bool what_if, struct np_allocation **out)
{
	struct np_allocation *a = calloc(1, sizeof(*a));
	struct np_problem *p;

	if (!a)
		return -ENOMEM;
	p = &a->problem;
	if (np_problem_init(p, s, t, policy, held_sec, what_if) ||
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
