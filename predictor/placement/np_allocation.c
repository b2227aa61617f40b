#include "np_allocation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROUNDS 16

static bool would(const struct np_groups *g, uint32_t group, uint32_t leaf)
{
	const struct np_group *u = &g->at[group];

	return np_bits_test(u->reach, leaf) && !np_bits_test(u->set, leaf);
}

static bool can(const struct np_groups *g, uint32_t group, uint32_t leaf)
{
	return np_bits_test(np_group_class(g, group)->open, leaf) &&
	       np_group_can_take(g, group, leaf);
}

/* Has a less than b, each for its demand? */
static bool poorer(const struct np_group *a, const struct np_group *b)
{
	return a->supply * b->demand < b->supply * a->demand;
}

/*
 * The groups that may be given more, in order of precedence, with what is
 * asked of each on every leaf side by side.
 */
struct widening {
	struct np_groups *g;
	struct wide {
		uint32_t group, class;
		bool ready, widened;
	} *at;
	size_t n;
	uint32_t *refused; /* per class: 1 + the leaf that it cannot take */
};

/*
 * Leaves are only given away here, so what a class cannot take it cannot take
 * later on either.
 */
static bool wants(const struct widening *w, const struct wide *x,
		  uint32_t leaf)
{
	if (w->refused[x->class] == leaf + 1 || !would(w->g, x->group, leaf))
		return false;
	if (can(w->g, x->group, leaf))
		return true;
	/* Where tasks must be together, others of the class may still. */
	if (!w->g->at[x->group].together)
		w->refused[x->class] = leaf + 1;
	return false;
}

/*
 * Groups that may start come first, and the poorest of them first of all.  Who
 * was asked before wants a leaf only if somebody left it.
 */
static bool widen_leaf(const struct widening *w, uint32_t leaf)
{
	bool again = np_bits_test(w->g->left, leaf), any = false;
	const struct np_group *at = w->g->at;
	uint32_t first = NP_NONE;

	for (size_t i = 0; i < w->n && w->at[i].ready; i++)
		if ((again || !w->at[i].widened) &&
		    w->refused[w->at[i].class] != leaf + 1 &&
		    (first == NP_NONE ||
		     poorer(&at[w->at[i].group], &at[first])) &&
		    wants(w, &w->at[i], leaf))
			first = w->at[i].group;
	if (first != NP_NONE)
		np_group_hold(w->g, first, leaf);
	for (size_t i = 0; i < w->n; i++)
		if ((again || !w->at[i].widened) &&
		    wants(w, &w->at[i], leaf)) {
			np_group_hold(w->g, w->at[i].group, leaf);
			any = true;
		}
	return any || first != NP_NONE;
}

static void gather(struct widening *w, const struct np_party *party)
{
	for (uint32_t i = party->group; i < party[1].group; i++) {
		struct np_group *u = &w->g->at[i];

		if (u->placed)
			w->at[w->n++] = (struct wide){
				i, u->class, u->ready, u->widened
			};
		u->widened = u->placed;
	}
}

static int widen(struct np_groups *g, const struct np_party *party,
		 bool *changed)
{
	size_t n = party[1].group - party->group;
	struct widening w = {
		.g = g, .at = malloc((n + 1) * sizeof(*w.at)),
		.refused = calloc(g->classes->n + 1, sizeof(*w.refused)),
	};
	int rc = w.at && w.refused ? 0 : -ENOMEM;

	if (!rc)
		gather(&w, party);
	for (size_t i = 0; w.n && i < g->p->n_leaves; i++)
		*changed |= widen_leaf(&w, g->p->leaf_order[i]);
	memset(g->left, 0, g->p->lw * sizeof(*g->left));
	free(w.at);
	free(w.refused);
	return rc;
}

/* Leaves written before for a request, in its group's row of bits. */
static void prior(const struct np_groups *g, const struct np_request *r,
		  uint64_t *bits)
{
	const struct np_snapshot_job *j = &np_snapshot_jobs(g->p->s)[r->job];
	const uint64_t *reach = g->p->counts[j->in.candidates]->reach;

	if (r->task) /* what stands in the record stands for its first task */
		return;
	for (size_t w = 0; w < g->p->lw; w++)
		if (j->in.prior == NP_PRIOR_ANYWHERE)
			bits[w] |= reach[w];
		else if (j->in.prior == NP_PRIOR_LEAVES)
			bits[w] |= reach[w] & j->in.prior_leaves[w];
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
	for (uint32_t i = 0; i < n; i++)
		NP_BITS_EACH(leaf, bits + i * lw, lw)
			if (would(g, party->group + i, (uint32_t)leaf) &&
			    can(g, party->group + i, (uint32_t)leaf))
				np_group_hold(g, party->group + i,
					      (uint32_t)leaf);
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
	int rc = 0;

	place_quiet(&a->problem, &a->classes, &a->requests);
	/* Jobs that others do not see choose after, and around, the rest. */
	for (size_t i = 0; !rc && i < a->groups.n_parties; i++)
		rc = settle(&a->groups, &a->groups.party[i]);
	np_groups_shared(&a->groups);
	return rc;
}

int np_allocation_new(const struct np_snapshot *s, const struct np_press *t,
		      const struct np_policy *policy, const double *held_sec,
		      bool what_if, const struct np_allocation *other,
		      struct np_allocation **out)
{
	struct np_allocation *a = calloc(1, sizeof(*a));
	struct np_problem *p;

	if (!a)
		return -ENOMEM;
	p = &a->problem;
	if (np_problem_init(p, s, t, policy, held_sec, what_if,
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
