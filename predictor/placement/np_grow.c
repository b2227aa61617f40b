/* The rule "grow" of np_allocation.h. */
#include "np_group.h"

enum want { WANT_FREE, WANT_USABLE };

struct goal {
	uint32_t rank, group;
	struct np_subgroup *q;
	const uint16_t *column;
	uint16_t *loss; /* row of the class; 0: unknown */
	uint64_t nodes;
	enum want want;
};

static uint64_t reached(const struct np_groups *g, const struct goal *goal)
{
	return goal->want == WANT_FREE ? np_group_free_in(g, goal->q) :
	       np_group_usable_in(g, goal->q);
}

/* 1 + classes that would lose a leaf to this one. */
static uint16_t count_loss(const struct np_groups *g, uint32_t class,
			   uint32_t leaf)
{
	const uint64_t *open = g->classes->open_on + leaf * g->classes->words;
	const uint64_t *hard = g->classes->hard + class * g->classes->words;
	uint16_t n = 1;

	for (uint32_t near = g->classes->at[class].near; near;
	     near &= near - 1) {
		size_t w = np_bits_at(0, near);

		n += (uint16_t)__builtin_popcountll(open[w] & hard[w]);
	}
	return n;
}

/*
 * How dear a leaf is when so many nodes are missing; the least is best.  One
 * leaf that is enough comes before several; of those, the one that costs others
 * least, then the tightest; else the largest.
 */
static uint64_t price(uint16_t loss, uint16_t nodes, uint64_t missing)
{
	return nodes >= missing ? (uint32_t)loss << 16 | nodes :
	       UINT64_C(1) << 32 | (uint32_t)(uint16_t)~nodes << 16 | loss;
}

/* Leaves that may be asked for, if nobody minds; returns their nodes. */
static uint64_t gather(struct np_groups *g, const struct goal *goal)
{
	const struct np_group *u = &g->at[goal->group];
	const uint64_t *open = g->classes->at[u->class].open;
	struct np_offer *to = g->offer;
	uint64_t sum = 0;

	for (size_t w = 0; w < g->p->lw; w++)
		for (uint64_t m = u->reach[w] & open[w] & ~u->set[w]; m;
		     m &= m - 1) {
			uint32_t leaf = np_bits_at(w, m);
			uint16_t nodes = goal->column[leaf];

			if (!nodes)
				continue;
			if (!goal->loss[leaf])
				goal->loss[leaf] =
					count_loss(g, u->class, leaf);
			*to++ = (struct np_offer){ leaf, nodes,
						   goal->loss[leaf] };
			sum += nodes;
		}
	g->n_offers = (size_t)(to - g->offer);
	return sum;
}

static bool refuses(struct np_groups *g, const struct goal *goal, bool evict,
		    uint32_t leaf)
{
	return evict ? np_group_clear(g, goal->rank, leaf, false) :
		       !np_group_can_take(g, goal->group, leaf);
}

/*
 * The best leaf to take next, from nobody or from whoever spares it.  As
 * leaves are taken nobody has more to spare, so who refuses is not asked again.
 */
static uint32_t pick(struct np_groups *g, const struct goal *goal, bool evict,
		     uint64_t missing)
{
	const struct np_offer *o = g->offer, *end = o + g->n_offers;
	struct np_offer *to = g->offer, *best = NULL;
	uint64_t least = UINT64_MAX;

	for (; o < end; o++) {
		uint64_t is = price(o->loss, o->nodes, missing);

		if (is < least) {
			if (!o->nodes || refuses(g, goal, evict, o->leaf))
				continue;
			best = to;
			least = is;
		}
		*to++ = *o;
	}
	g->n_offers = (size_t)(to - g->offer);
	if (!best)
		return NP_NONE;
	best->nodes = 0;
	return best->leaf;
}

static int take(struct np_groups *g, const struct goal *goal, uint32_t leaf,
		bool evict)
{
	int rc = evict ? np_group_clear(g, goal->rank, leaf, true) : 0;

	if (!rc)
		rc = np_group_log(g, goal->group, leaf, false);
	if (!rc)
		np_group_hold(g, goal->group, leaf);
	return rc;
}

/* 1: reached; 0: not, and nothing changed; or -ENOMEM. */
static int acquire(struct np_groups *g, uint32_t rank, enum want want)
{
	const struct np_request *r = &g->requests->at[rank];
	struct np_subgroup *q = &g->subgroup[r->subgroup];
	struct goal goal = {
		.rank = rank, .group = r->group, .q = q, .want = want,
		.column = want == WANT_FREE ? q->free : q->counts->usable,
		.loss = g->loss + r->class * g->p->n_leaves,
		.nodes = want == WANT_FREE ? r->cum : r->need,
	};
	bool evict = false;
	uint64_t have;
	int rc = 0;

	if (reached(g, &goal) + gather(g, &goal) < goal.nodes)
		return 0;
	g->n_undo = 0;
	while ((have = reached(g, &goal)) < goal.nodes && !rc) {
		uint32_t leaf = pick(g, &goal, evict, goal.nodes - have);

		if (leaf != NP_NONE)
			rc = take(g, &goal, leaf, evict);
		else if (evict)
			break;
		else
			gather(g, &goal);
		evict |= leaf == NP_NONE;
	}
	if (!rc && have >= goal.nodes)
		return 1;
	np_group_roll_back(g);
	return rc;
}

/* A group none of whose requests can ever start frees what it holds. */
static bool give_up(struct np_groups *g, uint32_t group)
{
	struct np_group *u = &g->at[group];
	bool any = np_bits_any(u->set, g->p->lw);

	if (u->placed)
		return false;
	NP_BITS_EACH(leaf, u->set, g->p->lw)
		np_group_drop(g, group, (uint32_t)leaf);
	return any;
}

/* Ask for nodes unless that was in vain already in this sweep. */
static int ask(struct np_groups *g, uint32_t rank, enum want want,
	       bool *changed)
{
	struct np_request *r = &g->requests->at[rank];
	struct np_subgroup *q = &g->subgroup[r->subgroup];
	uint64_t nodes = want == WANT_FREE ? r->cum : r->need, *vain;
	int rc;

	if (!np_bits_any(g->at[r->group].set, g->p->lw))
		q = &g->subgroup[q->like];
	vain = want == WANT_FREE ? &q->free_in_vain : &q->usable_in_vain;
	if (nodes >= *vain)
		return 0;
	rc = acquire(g, rank, want);
	if (rc < 0)
		return rc;
	if (!rc)
		*vain = nodes;
	*changed |= rc;
	return 0;
}

static int grow_request(struct np_groups *g, uint32_t rank, bool *changed)
{
	const struct np_request *r = &g->requests->at[rank];
	const struct np_subgroup *q = &g->subgroup[r->subgroup];
	int rc = 0;

	if (r->ready && np_group_free_in(g, q) < r->cum)
		rc = ask(g, rank, WANT_FREE, changed);
	if (!rc && np_group_usable_in(g, q) < r->need)
		rc = ask(g, rank, WANT_USABLE, changed);
	return rc;
}

/* Which groups of a party have a request whose need is met? */
static void note_placed(struct np_groups *g, const struct np_party *party)
{
	for (uint32_t i = party->group; i < party[1].group; i++)
		g->at[i].placed = false;
	for (uint32_t i = party->request; i < party[1].request; i++) {
		const struct np_request *r = &g->requests->at[g->by_party[i]];

		if (np_group_meets(g, r))
			g->at[r->group].placed = true;
	}
}

int np_grow(struct np_groups *g, const struct np_party *party, bool *changed)
{
	for (uint32_t i = party->subgroup; i < party[1].subgroup; i++) {
		g->subgroup[i].free_in_vain = UINT64_MAX;
		g->subgroup[i].usable_in_vain = UINT64_MAX;
	}
	for (uint32_t i = party->request; i < party[1].request; i++) {
		int rc = grow_request(g, g->by_party[i], changed);

		if (rc)
			return rc;
	}
	note_placed(g, party);
	for (uint32_t i = party->group; i < party[1].group; i++)
		*changed |= give_up(g, i);
	return 0;
}
