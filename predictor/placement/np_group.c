#include "np_group.h"

#include <errno.h>
#include <stdlib.h>

#include "np_array.h"

uint64_t np_group_free_in(const struct np_groups *g,
			  const struct np_subgroup *q)
{
	return q->switches ?
	       np_counts_sum(q->switches, q->free, q->loose_free,
			     g->at[q->group].set, g->p->lw) :
	       q->in_free + q->loose_free;
}

uint64_t np_group_usable_in(const struct np_groups *g,
			    const struct np_subgroup *q)
{
	return q->switches ?
	       np_counts_sum(q->switches, q->counts->usable,
			     q->counts->loose_usable, g->at[q->group].set,
			     g->p->lw) :
	       q->in_usable + q->counts->loose_usable;
}

bool np_group_meets(const struct np_groups *g, const struct np_request *r)
{
	return np_group_usable_in(g, &g->subgroup[r->subgroup]) >= r->need;
}

static uint32_t new_group(struct np_groups *g, uint32_t rank, bool together)
{
	uint32_t u = (uint32_t)g->n++, class = g->requests->at[rank].class;
	struct np_group_class *k = &g->of_class[class];

	g->at[u] = (struct np_group){
		.class = class, .subgroup = NP_NONE,
		.together = together, .next = NP_NONE,
		.set = g->bits + 2 * u * g->p->lw,
		.reach = g->bits + (2 * u + 1) * g->p->lw,
	};
	if (k->first == NP_NONE)
		k->first = u;
	else
		g->at[k->last].next = u;
	k->last = u;
	return u;
}

/* The group of a request: the class's, or its own, or that of its array. */
static uint32_t group_of(struct np_groups *g, uint32_t rank)
{
	const struct np_request *r = &g->requests->at[rank];
	const struct np_job *j = &g->p->s->job[r->job];
	bool alone = g->classes->at[r->class].self;
	bool together = alone && j->tasks > 1 &&
			np_class_together(g->classes, r->class, j,
					  g->p->counts[j->candidates],
					  g->p->scratch);
	uint32_t u = alone ? NP_NONE : g->of_class[r->class].first;

	if (together && r->task)
		u = g->requests->at[rank - 1].group;
	if (u == NP_NONE)
		u = new_group(g, rank, together);
	g->at[u].ready |= r->ready;
	return u;
}

static bool is_like(const struct np_subgroup *q, const struct np_job *j)
{
	return q->set == j->candidates && q->switches == j->switches &&
	       q->shares == !!(j->flags & NP_JOB_SHARES_NODES);
}

/* The first subgroup of the class that is like the new one, maybe itself. */
static void find_like(struct np_groups *g, uint32_t subgroup,
		      const struct np_job *j)
{
	struct np_subgroup *q = &g->subgroup[subgroup];
	struct np_group_class *k = &g->of_class[g->at[q->group].class];
	uint32_t i = k->like;

	while (i != NP_NONE && !is_like(&g->subgroup[i], j))
		i = g->subgroup[i].next_like;
	q->like = i;
	if (i != NP_NONE)
		return;
	q->like = subgroup;
	q->next_like = k->like;
	k->like = subgroup;
}

static uint32_t subgroup_of(struct np_groups *g, uint32_t group,
			    const struct np_job *j)
{
	bool shares = j->flags & NP_JOB_SHARES_NODES;
	const struct np_counts *c = g->p->counts[j->candidates];
	struct np_subgroup *q;
	uint32_t i;

	for (i = g->at[group].subgroup; i != NP_NONE; i = q->next) {
		q = &g->subgroup[i];
		if (is_like(q, j))
			return i;
	}
	if (np_array_room(&g->subgroup, &g->subgroup_room, g->n_subgroups + 1,
			  sizeof(*q)))
		return NP_NONE;
	i = (uint32_t)g->n_subgroups++;
	q = &g->subgroup[i];
	*q = (struct np_subgroup){
		.counts = c, .group = group, .next = g->at[group].subgroup,
		.set = j->candidates, .switches = j->switches,
		.shares = shares,
		.free = shares ? c->free_shared : c->free_alone,
		.loose_free = shares ? c->loose_free_shared :
				       c->loose_free_alone,
	};
	np_bits_or(g->at[group].reach, c->reach, g->p->lw);
	g->at[group].subgroup = i;
	find_like(g, i, j);
	return i;
}

/* Requests of a job share its wants evenly. */
static void join(struct np_groups *g, struct np_request *r,
		 struct np_subgroup *q, const struct np_job *j)
{
	uint32_t n = j->tasks < NP_PLACEMENT_MAX_TASKS ?
		     j->tasks : NP_PLACEMENT_MAX_TASKS;
	uint64_t wants = g->classes->at[r->class].self &&
			 !g->at[q->group].together ? r->need :
			 (uint64_t)r->need * j->tasks / n;

	q->n++;
	if (r->need > q->max_need)
		q->max_need = r->need;
	if (!r->ready)
		return;
	q->n_ready++;
	q->wanted += wants;
	g->at[q->group].demand += wants;
	r->cum = q->switches ? r->need : q->wanted;
}

static int lay_out(struct np_groups *g)
{
	uint32_t at = 0;

	g->by_subgroup = np_problem_alloc(g->p, g->requests->n,
					  sizeof(*g->by_subgroup));
	if (!g->by_subgroup)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_subgroups; i++) {
		struct np_subgroup *q = &g->subgroup[i];

		q->first = at;
		at += q->n;
		q->n = 0;
	}
	for (uint32_t i = 0; i < g->requests->n; i++) {
		struct np_subgroup *q;

		if (g->requests->at[i].subgroup == NP_NONE)
			continue;
		q = &g->subgroup[g->requests->at[i].subgroup];
		g->by_subgroup[q->first + q->n++] = i;
	}
	return 0;
}

/* Room for a group of each class, and of each request that is one alone. */
static int make_room(struct np_groups *g)
{
	size_t n = g->classes->n;

	for (size_t i = 0; i < g->requests->n; i++)
		n += g->classes->at[g->requests->at[i].class].self;
	g->at = np_problem_alloc(g->p, n, sizeof(*g->at));
	g->bits = np_problem_alloc(g->p, 2 * n * g->p->lw, sizeof(*g->bits));
	g->of_class = np_problem_alloc(g->p, g->classes->n,
				       sizeof(*g->of_class));
	g->left = np_problem_alloc(g->p, g->p->lw, sizeof(*g->left));
	g->offer = np_problem_alloc(g->p, g->p->n_leaves, sizeof(*g->offer));
	g->loss = calloc(g->classes->n * g->p->n_leaves + 1,
			 sizeof(*g->loss));
	if (!g->at || !g->bits || !g->of_class || !g->left ||
	    !g->offer || !g->loss)
		return -ENOMEM;
	for (size_t i = 0; i < g->classes->n; i++)
		g->of_class[i] = (struct np_group_class){
			NP_NONE, NP_NONE, NP_NONE, NULL, NULL
		};
	return 0;
}

static size_t party_of(const struct np_groups *g, uint32_t rank)
{
	const struct np_class *k =
		&g->classes->at[g->requests->at[rank].class];

	return k->trusted ? 0 : 1 + np_order_find(g->p->private_owner,
						  g->p->n_private, k->owner);
}

/* Requests of classes that are not quiet, in order of parties. */
static int gather_parties(struct np_groups *g)
{
	const struct np_requests *r = g->requests;
	struct np_party *to;

	g->n_parties = 1 + g->p->n_private;
	g->party = np_problem_alloc(g->p, g->n_parties + 2, sizeof(*g->party));
	g->by_party = np_problem_alloc(g->p, r->n, sizeof(*g->by_party));
	if (!g->party || !g->by_party)
		return -ENOMEM;
	to = g->party + 1;
	for (uint32_t i = 0; i < r->n; i++)
		if (!g->classes->at[r->at[i].class].quiet)
			to[party_of(g, i) + 1].request++;
	for (size_t i = 1; i <= g->n_parties; i++)
		to[i].request += to[i - 1].request;
	for (uint32_t i = 0; i < r->n; i++)
		if (!g->classes->at[r->at[i].class].quiet)
			g->by_party[to[party_of(g, i)].request++] = i;
	return 0;
}

static int add_request(struct np_groups *g, uint32_t rank)
{
	struct np_request *r = &g->requests->at[rank];
	const struct np_job *j = &g->p->s->job[r->job];

	r->group = group_of(g, rank);
	r->subgroup = subgroup_of(g, r->group, j);
	if (r->subgroup == NP_NONE)
		return -ENOMEM;
	join(g, r, &g->subgroup[r->subgroup], j);
	return 0;
}

/* What is kept of classes of several groups, which are all of one party. */
static int add_several(struct np_groups *g, const struct np_party *party)
{
	size_t words = np_bits_words(party[1].group - party->group);

	for (uint32_t i = party->group; i < party[1].group; i++) {
		struct np_group_class *k = &g->of_class[g->at[i].class];

		if (k->first == k->last)
			continue;
		if (i == k->first) {
			k->taker = np_problem_alloc(g->p, g->p->n_leaves,
						    sizeof(*k->taker));
			k->all = np_problem_alloc(g->p, words, sizeof(*k->all));
		}
		if (!k->taker || !k->all)
			return -ENOMEM;
		np_bits_set(k->all, i - party->group);
	}
	return 0;
}

static int add_party(struct np_groups *g, struct np_party *party)
{
	int rc = 0;

	for (uint32_t i = party->request; !rc && i < party[1].request; i++)
		rc = add_request(g, g->by_party[i]);
	party[1].group = (uint32_t)g->n;
	party[1].subgroup = (uint32_t)g->n_subgroups;
	return rc ? rc : add_several(g, party);
}

int np_groups_init(struct np_groups *g, struct np_problem *p,
		   struct np_classes *classes, struct np_requests *requests)
{
	int rc;

	*g = (struct np_groups){
		.p = p, .classes = classes, .requests = requests,
	};
	rc = make_room(g) ? -ENOMEM : gather_parties(g);
	for (size_t i = 0; !rc && i < g->n_parties; i++)
		rc = add_party(g, &g->party[i]);
	return rc ? rc : lay_out(g);
}

void np_groups_shared(struct np_groups *g)
{
	free(g->loss);
	g->loss = NULL;
}

void np_groups_free(struct np_groups *g)
{
	np_groups_shared(g);
	free(g->subgroup);
	free(g->undo);
}
