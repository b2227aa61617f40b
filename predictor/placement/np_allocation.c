#include "np_allocation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

/* ---- Requests ---- */

/* Limit on the requests of array tasks beyond each job's first, in total. */
#define MAX_EXTRA_REQUESTS 4096

/* Add a request for each task of a job, as far as *extra allows. */
static void add_requests(struct np_requests *r, const struct np_problem *p,
		uint32_t job, size_t *extra)
{
	const struct np_job *j = &p->s->job[job];
	uint32_t n = j->tasks;

	if (n > NP_PLACEMENT_MAX_TASKS)
		n = NP_PLACEMENT_MAX_TASKS;
	if (n - 1 > *extra)
		n = (uint32_t)*extra + 1;
	*extra -= n - 1;
	r->of_job[job] = (uint32_t)r->n;
	for (uint32_t k = 0; k < n; k++)
		r->at[r->n++] = (struct np_request){
			.job = job, .class = r->class[job],
			.group = NP_NONE, .subgroup = NP_NONE, .task = k,
			.need = j->nodes_min, .ready = np_order_ready(p->s, j),
		};
}

/* Whether placement decides about a job. */
static bool is_ours(const struct np_problem *p, uint32_t i)
{
	const struct np_job *j = &p->s->job[i];

	return j->state != NP_JOB_RUNNING &&
	       !np_problem_exempt(p, j, p->s->now_sec) &&
	       !np_problem_hold_expired(p, j, p->outcome[i].held_sec) &&
	       (np_problem_enforced(p, j) || j->mode == NP_MODE_PREFER);
}

/* Sort the jobs by precedence, those that may start before all others. */
static int gather_order(struct np_requests *r, struct np_problem *p)
{
	size_t n = p->s->n_jobs, pass[2] = { 0 };
	uint32_t *all = np_problem_alloc(p, n, sizeof(*all));

	r->order = np_problem_alloc(p, n, sizeof(*r->order));
	r->class = np_problem_alloc(p, n, sizeof(*r->class));
	r->of_job = np_problem_alloc(p, n, sizeof(*r->of_job));
	if (!all || !r->order || !r->class || !r->of_job)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		r->class[i] = r->of_job[i] = NP_NONE;
		if (!is_ours(p, i))
			continue;
		all[r->n_order++] = i;
		pass[1] += np_order_ready(p->s, &p->s->job[i]);
	}
	np_order_jobs(p->s, all, r->n_order);
	for (size_t i = 0; i < r->n_order; i++) {
		bool ready = np_order_ready(p->s, &p->s->job[all[i]]);

		r->order[pass[!ready]++] = all[i];
	}
	return 0;
}

/* Find the class of each job that has enough nodes on leaves. */
static int find_classes(struct np_requests *r, struct np_problem *p,
			struct np_classes *c)
{
	for (size_t i = 0; i < r->n_order; i++) {
		uint32_t job = r->order[i];
		const struct np_job *j = &p->s->job[job];
		const struct np_counts *n = np_problem_counts(p, j->candidates);

		if (!n)
			return -ENOMEM;
		if (!np_bits_any(n->reach, p->lw) ||
		    !np_problem_feasible(p, j, n))
			continue;
		r->class[job] = np_class_of(c, j);
	}
	return 0;
}

/*
 * Make the requests, and the classes of all jobs that placement decides about,
 * in mode prefer as well. Returns 0 or -ENOMEM.
 */
static int requests_init(struct np_requests *r, struct np_problem *p,
			 struct np_classes *c)
{
	size_t extra = MAX_EXTRA_REQUESTS;
	const uint32_t *to;

	if (gather_order(r, p) || find_classes(r, p, c))
		return -ENOMEM;
	to = np_classes_renumber(c);
	r->at = np_problem_alloc(p, r->n_order + MAX_EXTRA_REQUESTS,
				 sizeof(*r->at));
	if (!to || !r->at)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_order; i++) {
		uint32_t job = r->order[i];
		const struct np_job *j = &p->s->job[job];

		if (r->class[job] == NP_NONE)
			continue;
		r->class[job] = to[r->class[job]];
		c->at[r->class[job]].n += j->tasks;
		if (np_problem_enforced(p, j))
			add_requests(r, p, job, &extra);
	}
	return 0;
}

/* ---- Groups ---- */

/* Free, and usable, nodes of a subgroup on the leaves that its group holds. */
static uint64_t group_free_in(const struct np_groups *g,
			      const struct np_subgroup *q)
{
	return q->switches ?
	       np_counts_sum(q->switches, q->free, q->no_leaf_free,
			     g->at[q->group].set, g->p->lw) :
	       q->in_free + q->no_leaf_free;
}

static uint64_t group_usable_in(const struct np_groups *g,
				const struct np_subgroup *q)
{
	return q->switches ?
	       np_counts_sum(q->switches, q->counts->usable,
			     q->counts->no_leaf_usable, g->at[q->group].set,
			     g->p->lw) :
	       q->in_usable + q->counts->no_leaf_usable;
}

bool np_group_served(const struct np_groups *g, const struct np_request *r)
{
	return group_usable_in(g, &g->subgroup[r->subgroup]) >= r->need;
}

/* Append a group that begins with the request of that rank. */
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

/*
 * The group of a request, made if needed: its class's, its array's or its own.
 */
static uint32_t group_of(struct np_groups *g, uint32_t rank)
{
	const struct np_request *r = &g->requests->at[rank];
	const struct np_job *j = &g->p->s->job[r->job];
	bool alone = g->classes->at[r->class].self;
	bool together = alone && j->tasks > 1 &&
			np_class_array_leaves(g->classes, r->class, j,
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

/*
 * Set q->like: the first such subgroup of the class, maybe the new one itself.
 */
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

/* The subgroup of a job in its group, made if needed. NP_NONE: no memory. */
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
		.no_leaf_free = shares ? c->no_leaf_free_shared :
				       c->no_leaf_free_alone,
	};
	np_bits_or(g->at[group].reach, c->reach, g->p->lw);
	g->at[group].subgroup = i;
	find_like(g, i, j);
	return i;
}

/* Add a request to its subgroup's demand; a job's requests share it evenly. */
static void add_demand(struct np_groups *g, struct np_request *r,
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
	r->cum_nodes = q->switches ? r->need : q->wanted;
}

/* Make by_subgroup[]. */
static int index_requests(struct np_groups *g)
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

/*
 * Allocate for the largest possible number of groups: one per class, and one
 * per request of a class that conflicts with itself.
 */
static int make_room(struct np_groups *g)
{
	size_t n = g->classes->n;

	for (size_t i = 0; i < g->requests->n; i++)
		n += g->classes->at[g->requests->at[i].class].self;
	g->at = np_problem_alloc(g->p, n, sizeof(*g->at));
	g->bits = np_problem_alloc(g->p, 2 * n * g->p->lw, sizeof(*g->bits));
	g->of_class = np_problem_alloc(g->p, g->classes->n,
				       sizeof(*g->of_class));
	g->vacated = np_problem_alloc(g->p, g->p->lw, sizeof(*g->vacated));
	g->offer = np_problem_alloc(g->p, g->p->n_leaves, sizeof(*g->offer));
	g->loss = calloc(g->classes->n * g->p->n_leaves + 1,
			 sizeof(*g->loss));
	if (!g->at || !g->bits || !g->of_class || !g->vacated ||
	    !g->offer || !g->loss)
		return -ENOMEM;
	for (size_t i = 0; i < g->classes->n; i++)
		g->of_class[i] = (struct np_group_class){
			NP_NONE, NP_NONE, NP_NONE, NULL, NULL
		};
	return 0;
}

static size_t vgroup_of(const struct np_groups *g, uint32_t rank)
{
	const struct np_class *k =
		&g->classes->at[g->requests->at[rank].class];

	return k->trusted ? 0 : 1 + np_order_find(g->p->private_owner,
						  g->p->n_private, k->owner);
}

/* Make by_vgroup[]: the requests of all classes that are not conflict-free. */
static int gather_vgroups(struct np_groups *g)
{
	const struct np_requests *r = g->requests;
	struct np_vgroup *to;

	g->n_vgroups = 1 + g->p->n_private;
	g->vgroup =
		np_problem_alloc(g->p, g->n_vgroups + 2, sizeof(*g->vgroup));
	g->by_vgroup = np_problem_alloc(g->p, r->n, sizeof(*g->by_vgroup));
	if (!g->vgroup || !g->by_vgroup)
		return -ENOMEM;
	to = g->vgroup + 1;
	for (uint32_t i = 0; i < r->n; i++)
		if (!g->classes->at[r->at[i].class].conflict_free)
			to[vgroup_of(g, i) + 1].request++;
	for (size_t i = 1; i <= g->n_vgroups; i++)
		to[i].request += to[i - 1].request;
	for (uint32_t i = 0; i < r->n; i++)
		if (!g->classes->at[r->at[i].class].conflict_free)
			g->by_vgroup[to[vgroup_of(g, i)].request++] = i;
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
	add_demand(g, r, &g->subgroup[r->subgroup], j);
	return 0;
}

/* Make last_taker and all for classes of several groups in a vgroup. */
static int index_classes(struct np_groups *g, const struct np_vgroup *vgroup)
{
	size_t words = np_bits_words(vgroup[1].group - vgroup->group);

	for (uint32_t i = vgroup->group; i < vgroup[1].group; i++) {
		struct np_group_class *k = &g->of_class[g->at[i].class];

		if (k->first == k->last)
			continue;
		if (i == k->first) {
			k->last_taker = np_problem_alloc(
				g->p, g->p->n_leaves, sizeof(*k->last_taker));
			k->all = np_problem_alloc(g->p, words, sizeof(*k->all));
		}
		if (!k->last_taker || !k->all)
			return -ENOMEM;
		np_bits_set(k->all, i - vgroup->group);
	}
	return 0;
}

static int add_vgroup(struct np_groups *g, struct np_vgroup *vgroup)
{
	int rc = 0;

	for (uint32_t i = vgroup->request; !rc && i < vgroup[1].request; i++)
		rc = add_request(g, g->by_vgroup[i]);
	vgroup[1].group = (uint32_t)g->n;
	vgroup[1].subgroup = (uint32_t)g->n_subgroups;
	return rc ? rc : index_classes(g, vgroup);
}

/* Returns 0 or -ENOMEM; groups_free() in either case. */
static int groups_init(struct np_groups *g, struct np_problem *p,
		       struct np_classes *classes,
		       struct np_requests *requests)
{
	int rc;

	*g = (struct np_groups){
		.p = p, .classes = classes, .requests = requests,
	};
	rc = make_room(g) ? -ENOMEM : gather_vgroups(g);
	for (size_t i = 0; !rc && i < g->n_vgroups; i++)
		rc = add_vgroup(g, &g->vgroup[i]);
	return rc ? rc : index_requests(g);
}

/* All leaves are shared: free what was only needed for that. */
static void groups_shared(struct np_groups *g)
{
	free(g->loss);
	g->loss = NULL;
}

static void groups_free(struct np_groups *g)
{
	groups_shared(g);
	free(g->subgroup);
	free(g->undo);
}

/* ---- Transfer of leaves ---- */

/* A group takes a leaf, whether or not it may. */
static void group_hold(struct np_groups *g, uint32_t group, uint32_t leaf)
{
	struct np_group *u = &g->at[group];
	struct np_subgroup *q;

	np_bits_set(u->set, leaf);
	u->supply += g->p->leaf_usable[leaf];
	for (uint32_t i = u->subgroup; i != NP_NONE; i = q->next) {
		q = &g->subgroup[i];
		q->in_free += q->free[leaf];
		q->in_usable += q->counts->usable[leaf];
	}
	if (g->of_class[u->class].last_taker)
		g->of_class[u->class].last_taker[leaf] = group;
	np_class_hold(g->classes, u->class, leaf);
}

/* A group gives up a leaf that it holds. */
static void group_drop(struct np_groups *g, uint32_t group, uint32_t leaf)
{
	struct np_group *u = &g->at[group];
	struct np_subgroup *q;

	np_bits_clear(u->set, leaf);
	np_bits_set(g->vacated, leaf);
	u->supply -= g->p->leaf_usable[leaf];
	for (uint32_t i = u->subgroup; i != NP_NONE; i = q->next) {
		q = &g->subgroup[i];
		q->in_free -= q->free[leaf];
		q->in_usable -= q->counts->usable[leaf];
	}
	np_class_drop(g->classes, u->class, leaf);
}

/* Whether its own class keeps a group off a leaf that takes only one of it. */
static bool by_own_class(const struct np_groups *g, const struct np_group *u,
			 uint32_t leaf)
{
	const struct np_class *k = &g->classes->at[u->class];

	return np_bits_test(k->self_apart, leaf) &&
	       (u->together || k->holders[leaf] > np_bits_test(u->set, leaf));
}

/* Whether a group may take a leaf without anybody giving it up. */
static bool group_can_take(const struct np_groups *g, uint32_t group,
			   uint32_t leaf)
{
	const struct np_group *u = &g->at[group];

	if (by_own_class(g, u, leaf))
		return false;
	/* The class was allowed on the leaves that it holds. */
	return np_bits_test(g->classes->at[u->class].held, leaf) ||
	       !np_class_blocked(g->classes, u->class, leaf);
}

/* Log a transfer for group_roll_back(). 0 or -ENOMEM. */
static int group_log(struct np_groups *g, uint32_t group, uint32_t leaf,
		     bool gives)
{
	if (np_array_room(&g->undo, &g->undo_room, g->n_undo + 1,
			  sizeof(*g->undo)))
		return -ENOMEM;
	g->undo[g->n_undo++] = (struct np_transfer){ group, leaf, gives };
	return 0;
}

/* Undo the transfers logged since n_undo was set to 0, last one first. */
static void group_roll_back(struct np_groups *g)
{
	while (g->n_undo) {
		const struct np_transfer *last = &g->undo[--g->n_undo];

		if (last->gives)
			group_hold(g, last->group, last->leaf);
		else
			group_drop(g, last->group, last->leaf);
	}
}

/* Index of the first request of a subgroup that needs more free nodes. */
static uint32_t first_beyond(const struct np_groups *g,
			     const struct np_subgroup *q, uint64_t nodes)
{
	const uint32_t *request = g->by_subgroup + q->first;
	const struct np_request *all = g->requests->at;
	uint32_t lo = 0, hi = q->n_ready;

	if (q->switches) { /* cum_nodes is each request's own need */
		while (lo < hi && all[request[lo]].cum_nodes <= nodes)
			lo++;
		return lo;
	}
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (all[request[mid]].cum_nodes > nodes)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/*
 * Whether no request before rank loses if its subgroup has fewer nodes: free
 * instead of had_free, usable instead of had.
 */
static bool subgroup_spares(const struct np_groups *g,
			    const struct np_subgroup *q,
			    uint64_t had_free, uint64_t free, uint64_t had,
			    uint64_t usable, uint32_t rank)
{
	const uint32_t *request = g->by_subgroup + q->first;
	const struct np_request *all = g->requests->at;

	for (uint32_t k = first_beyond(g, q, free); k < q->n_ready; k++) {
		const struct np_request *r = &all[request[k]];

		if (request[k] > rank ||
		    (!q->switches && r->cum_nodes > had_free))
			break;
		if (r->cum_nodes > free && r->cum_nodes <= had_free)
			return false;
	}
	for (uint32_t k = 0; q->max_need > usable && k < q->n; k++)
		if (request[k] < rank && all[request[k]].need > usable &&
		    all[request[k]].need <= had)
			return false;
	return true;
}

/* Whether no request before rank loses if its group gives up a leaf. */
static bool group_spares(const struct np_groups *g, uint32_t group,
			 uint32_t leaf, uint32_t rank)
{
	const struct np_group *u = &g->at[group];
	struct np_subgroup *q;

	for (uint32_t i = u->subgroup; i != NP_NONE; i = q->next) {
		uint64_t had_free, had, free, usable;

		q = &g->subgroup[i];
		had_free = group_free_in(g, q);
		had = group_usable_in(g, q);
		np_bits_clear(u->set, leaf);
		free = q->switches ? group_free_in(g, q) :
		       had_free - q->free[leaf];
		usable = q->switches ? group_usable_in(g, q) :
			 had - q->counts->usable[leaf];
		np_bits_set(u->set, leaf);
		if (!subgroup_spares(g, q, had_free, free, had, usable, rank))
			return false;
	}
	return true;
}

/*
 * Whether all groups of a class that hold a leaf can spare it; with take: they
 * can, and give it up. 0, -EBUSY or -ENOMEM.
 */
static int clear_class(struct np_groups *g, uint32_t rank, uint32_t class,
		       uint32_t leaf, bool take)
{
	uint32_t left = g->classes->at[class].holders[leaf];
	const uint32_t *last_taker = g->of_class[class].last_taker;
	uint32_t w = g->of_class[class].first;

	/* A single holder is most often the last one that took it. */
	if (left == 1 && last_taker &&
	    np_bits_test(g->at[last_taker[leaf]].set, leaf))
		w = last_taker[leaf];
	for (; left && w != NP_NONE; w = g->at[w].next) {
		if (!np_bits_test(g->at[w].set, leaf))
			continue;
		left--;
		if (w == g->requests->at[rank].group)
			continue;
		if (!take && !group_spares(g, w, leaf, rank))
			return -EBUSY;
		if (!take)
			continue;
		if (group_log(g, w, leaf, true))
			return -ENOMEM;
		group_drop(g, w, leaf);
	}
	return 0;
}

/*
 * Whether all groups that keep a request's group off a leaf can spare it; with
 * take: they can, and give it up. 0, -EBUSY or -ENOMEM.
 */
static int group_clear(struct np_groups *g, uint32_t rank, uint32_t leaf,
		       bool take)
{
	const struct np_group *me = &g->at[g->requests->at[rank].group];
	const struct np_classes *c = g->classes;
	const uint64_t *on = c->on_leaf + leaf * c->words;
	const uint64_t *relevant = c->relevant + me->class * c->words;
	int rc = 0;

	if (me->together && np_bits_test(c->at[me->class].self_apart, leaf))
		return -EBUSY; /* its own tasks conflict there */
	if (by_own_class(g, me, leaf))
		rc = clear_class(g, rank, me->class, leaf, take);
	for (uint32_t row_words = c->at[me->class].row_words; row_words && !rc;
	     row_words &= row_words - 1) {
		size_t w = np_bits_lowest(0, row_words);

		for (uint64_t m = on[w] & relevant[w]; m && !rc; m &= m - 1) {
			uint32_t b = np_bits_lowest(w, m);

			if (!np_class_avoids(c, me->class, b, leaf, NULL))
				continue;
			rc = c->at[b].trusted && !c->at[me->class].trusted ?
			     -EBUSY : clear_class(g, rank, b, leaf, take);
		}
	}
	return rc;
}

/* ---- The rule "grow" ---- */

/* Free nodes, to start now; or usable ones, to start at all. */
enum want { WANT_FREE, WANT_USABLE };

/* What one request tries to get. */
struct goal {
	uint32_t rank, group; /* of the request */
	struct np_subgroup *q;
	const uint16_t *column; /* nodes per leaf that count */
	uint16_t *loss; /* groups.loss of its class */
	uint64_t nodes; /* number to reach */
	enum want want;
};

static uint64_t reached(const struct np_groups *g, const struct goal *goal)
{
	return goal->want == WANT_FREE ? group_free_in(g, goal->q) :
	       group_usable_in(g, goal->q);
}

/* 1 + number of classes that could use the leaf and lose it to this one. */
static uint16_t count_loss(const struct np_groups *g, uint32_t class,
			   uint32_t leaf)
{
	const uint64_t *open = g->classes->open_on + leaf * g->classes->words;
	const uint64_t *hard = g->classes->hard + class * g->classes->words;
	uint16_t n = 1;

	for (uint32_t row_words = g->classes->at[class].row_words; row_words;
	     row_words &= row_words - 1) {
		size_t w = np_bits_lowest(0, row_words);

		n += (uint16_t)__builtin_popcountll(open[w] & hard[w]);
	}
	return n;
}

/*
 * Price of a leaf when so many nodes are missing; the lowest is best. A leaf
 * that suffices alone comes first: of several, the one that fewest classes
 * lose, then the one with fewest nodes. Else the leaf with most nodes is best.
 */
static uint64_t price(uint16_t loss, uint16_t nodes, uint64_t missing)
{
	return nodes >= missing ? (uint32_t)loss << 16 | nodes :
	       UINT64_C(1) << 32 | (uint32_t)(uint16_t)~nodes << 16 | loss;
}

/* Make the list of leaves that a goal may ask for; returns their nodes. */
static uint64_t gather_offers(struct np_groups *g, const struct goal *goal)
{
	const struct np_group *u = &g->at[goal->group];
	const uint64_t *open = g->classes->at[u->class].open;
	struct np_offer *to = g->offer;
	uint64_t sum = 0;

	for (size_t w = 0; w < g->p->lw; w++)
		for (uint64_t m = u->reach[w] & open[w] & ~u->set[w]; m;
		     m &= m - 1) {
			uint32_t leaf = np_bits_lowest(w, m);
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

/* Whether the goal cannot have a leaf; evict: not even if others give it up. */
static bool refuses(struct np_groups *g, const struct goal *goal, bool evict,
		    uint32_t leaf)
{
	return evict ? group_clear(g, goal->rank, leaf, false) :
		       !group_can_take(g, goal->group, leaf);
}

/*
 * The best leaf to take next, NP_NONE if there is none. A leaf that was refused
 * is removed from the list: while leaves are taken, others only have less to
 * spare.
 */
static uint32_t grow_pick(struct np_groups *g, const struct goal *goal,
			  bool evict, uint64_t missing)
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

/* Take a leaf for a goal; evict: from those who can spare it. 0 or -errno. */
static int take(struct np_groups *g, const struct goal *goal, uint32_t leaf,
		bool evict)
{
	int rc = evict ? group_clear(g, goal->rank, leaf, true) : 0;

	if (!rc)
		rc = group_log(g, goal->group, leaf, false);
	if (!rc)
		group_hold(g, goal->group, leaf);
	return rc;
}

/* Returns 1: the request got what it wants; 0: nothing changed; or -ENOMEM. */
static int acquire(struct np_groups *g, uint32_t rank, enum want want)
{
	const struct np_request *r = &g->requests->at[rank];
	struct np_subgroup *q = &g->subgroup[r->subgroup];
	struct goal goal = {
		.rank = rank, .group = r->group, .q = q, .want = want,
		.column = want == WANT_FREE ? q->free : q->counts->usable,
		.loss = g->loss + r->class * g->p->n_leaves,
		.nodes = want == WANT_FREE ? r->cum_nodes : r->need,
	};
	bool evict = false;
	uint64_t have;
	int rc = 0;

	if (reached(g, &goal) + gather_offers(g, &goal) < goal.nodes)
		return 0;
	g->n_undo = 0;
	while ((have = reached(g, &goal)) < goal.nodes && !rc) {
		uint32_t leaf = grow_pick(g, &goal, evict, goal.nodes - have);

		if (leaf != NP_NONE)
			rc = take(g, &goal, leaf, evict);
		else if (evict)
			break;
		else
			gather_offers(g, &goal);
		evict |= leaf == NP_NONE;
	}
	if (!rc && have >= goal.nodes)
		return 1;
	group_roll_back(g);
	return rc;
}

/* A group none of whose requests is served gives up all its leaves. */
static bool give_up(struct np_groups *g, uint32_t group)
{
	struct np_group *u = &g->at[group];
	bool any = np_bits_any(u->set, g->p->lw);

	if (u->placed)
		return false;
	NP_BITS_EACH(leaf, u->set, g->p->lw)
		group_drop(g, group, (uint32_t)leaf);
	return any;
}

/* Ask for nodes, unless as many were refused already in this pass. */
static int grow_ask(struct np_groups *g, uint32_t rank, enum want want,
		    bool *changed)
{
	struct np_request *r = &g->requests->at[rank];
	struct np_subgroup *q = &g->subgroup[r->subgroup];
	uint64_t nodes = want == WANT_FREE ? r->cum_nodes : r->need, *failed;
	int rc;

	if (!np_bits_any(g->at[r->group].set, g->p->lw))
		q = &g->subgroup[q->like];
	failed = want == WANT_FREE ? &q->free_failed : &q->usable_failed;
	if (nodes >= *failed)
		return 0;
	rc = acquire(g, rank, want);
	if (rc < 0)
		return rc;
	if (!rc)
		*failed = nodes;
	*changed |= rc;
	return 0;
}

/* Get a request what it lacks: free nodes first, then usable ones. */
static int grow_request(struct np_groups *g, uint32_t rank, bool *changed)
{
	const struct np_request *r = &g->requests->at[rank];
	const struct np_subgroup *q = &g->subgroup[r->subgroup];
	int rc = 0;

	if (r->ready && group_free_in(g, q) < r->cum_nodes)
		rc = grow_ask(g, rank, WANT_FREE, changed);
	if (!rc && group_usable_in(g, q) < r->need)
		rc = grow_ask(g, rank, WANT_USABLE, changed);
	return rc;
}

/* Set "placed" of the groups of a visibility group. */
static void note_placed(struct np_groups *g, const struct np_vgroup *vgroup)
{
	for (uint32_t i = vgroup->group; i < vgroup[1].group; i++)
		g->at[i].placed = false;
	for (uint32_t i = vgroup->request; i < vgroup[1].request; i++) {
		const struct np_request *r = &g->requests->at[g->by_vgroup[i]];

		if (np_group_served(g, r))
			g->at[r->group].placed = true;
	}
}

/* Apply the rule once to every request of a visibility group. */
static int grow(struct np_groups *g, const struct np_vgroup *vgroup,
		bool *changed)
{
	for (uint32_t i = vgroup->subgroup; i < vgroup[1].subgroup; i++) {
		g->subgroup[i].free_failed = UINT64_MAX;
		g->subgroup[i].usable_failed = UINT64_MAX;
	}
	for (uint32_t i = vgroup->request; i < vgroup[1].request; i++) {
		int rc = grow_request(g, g->by_vgroup[i], changed);

		if (rc)
			return rc;
	}
	note_placed(g, vgroup);
	for (uint32_t i = vgroup->group; i < vgroup[1].group; i++)
		*changed |= give_up(g, i);
	return 0;
}

/* ---- Mode prefer ---- */

static uint64_t nodes_of(const struct np_job *j)
{
	return (uint64_t)j->nodes_min * j->tasks;
}

/* Free nodes of a leaf that restricted jobs before this one cannot take. */
static uint32_t certain_nodes(const struct np_prefer *f, const struct np_job *j,
			      const struct np_counts *c, uint32_t leaf)
{
	uint32_t n = j->flags & NP_JOB_SHARES_NODES ? c->free_shared[leaf] :
		     c->free_alone[leaf];

	return n > f->reserved[leaf] ? n - f->reserved[leaf] : 0;
}

/* Nodes that unrestricted jobs before it may take on any of a job's leaves. */
static uint64_t wanted_before(const struct np_prefer *f,
			      const struct np_counts *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < f->n_partitions; i++)
		if (np_bits_intersect(f->reach + i * f->p->lw, c->reach, f->p->lw))
			n += f->wanted[i];
	return n;
}

/* The smallest leaf that has all missing nodes, or else the largest. */
static uint32_t prefer_pick(const struct np_prefer *f, const struct np_job *j,
			    uint32_t class, const struct np_counts *c,
			    const uint64_t *set, uint64_t missing)
{
	uint32_t best = NP_NONE, most = 0;

	NP_BITS_EACH(at, c->reach, f->p->lw) {
		uint32_t leaf = (uint32_t)at, n = certain_nodes(f, j, c, leaf);

		if (!n || np_bits_test(set, leaf) ||
		    (best != NP_NONE && most >= missing &&
		     (n < missing || n >= most)) ||
		    (best != NP_NONE && most < missing && n <= most) ||
		    !np_class_can_take(f->classes, class, j, leaf))
			continue;
		best = leaf;
		most = n;
	}
	return best;
}

bool np_prefer_find(const struct np_prefer *f, const struct np_job *j,
		    uint32_t class, const struct np_counts *c, uint64_t *set)
{
	uint64_t need = nodes_of(j) + wanted_before(f, c), have = 0;
	uint64_t all = 0;
	uint32_t leaves = 0;

	if (!(f->p->policy.modes & 1u << NP_MODE_PREFER))
		return false; /* wanted[] and reserved[] were not filled in */
	memset(set, 0, f->p->lw * sizeof(*set));
	NP_BITS_EACH(leaf, c->reach, f->p->lw)
		all += certain_nodes(f, j, c, (uint32_t)leaf);
	if (all < need)
		return false;
	while (have < need) {
		uint32_t leaf = prefer_pick(f, j, class, c, set, need - have);

		if (leaf == NP_NONE || (j->switches && leaves == j->switches))
			return false;
		np_bits_set(set, leaf);
		have += certain_nodes(f, j, c, leaf);
		leaves++;
	}
	return true;
}

/* A restricted job may take all its nodes on any one of its leaves. */
static void reserve(struct np_prefer *f, const struct np_job *j,
		    const uint64_t *set)
{
	NP_BITS_EACH(leaf, set, f->p->lw) {
		uint64_t n = f->reserved[leaf] + nodes_of(j);

		f->reserved[leaf] = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	}
}

/* Restrict a job, if that cannot delay it. 0 or -ENOMEM. */
static int try_restrict(struct np_prefer *f, uint32_t job, uint64_t *scratch)
{
	const struct np_job *j = &f->p->s->job[job];
	const struct np_counts *c = f->p->counts[j->candidates];
	uint32_t class = f->requests->class[job];
	uint64_t *set;

	if (!np_prefer_find(f, j, class, c, scratch))
		return 0;
	set = np_problem_alloc(f->p, f->p->lw, sizeof(*set));
	if (!set)
		return -ENOMEM;
	memcpy(set, scratch, f->p->lw * sizeof(*set));
	NP_BITS_EACH(leaf, set, f->p->lw)
		np_class_hold(f->classes, class, (uint32_t)leaf);
	reserve(f, j, set);
	f->set[job] = set;
	return 0;
}

/*
 * Reserve the leaves of an enforced job; false: it is not one, or has no group.
 */
static bool enforced_set(struct np_prefer *f, uint32_t job)
{
	const struct np_requests *all = f->requests;
	uint32_t i = all->of_job[job];

	if (i == NP_NONE || all->at[i].group == NP_NONE)
		return false;
	for (; i < all->n && all->at[i].job == job; i++) {
		const struct np_request *r = &all->at[i];
		bool last = i + 1 == all->n || r[1].job != job ||
			    r[1].group != r->group;

		/* Once per group; requests that are held take nothing. */
		if (last && np_group_served(f->groups, r))
			reserve(f, &f->p->s->job[job],
				f->groups->at[r->group].set);
	}
	return true;
}

/*
 * Whether to restrict a job. A single job of a class that conflicts with itself
 * is restricted as well, so that the next one finds leaves.
 */
static bool should_restrict(struct np_prefer *f, const struct np_job *j,
			    uint32_t class)
{
	return j->mode == NP_MODE_PREFER && class != NP_NONE &&
	       (f->classes->at[class].self ||
		np_class_conflicts(f->classes, class));
}

/* Count what a job may take, and restrict it first where that is possible. */
static int account_job(struct np_prefer *f, uint32_t job, uint64_t *scratch)
{
	const struct np_job *j = &f->p->s->job[job];
	size_t at = np_order_find(f->partition, f->n_partitions,
				  j->partition);
	int rc;

	if (enforced_set(f, job))
		return 0;
	if (should_restrict(f, j, f->requests->class[job])) {
		rc = try_restrict(f, job, scratch);
		if (rc || f->set[job])
			return rc;
	}
	f->wanted[at] += nodes_of(j);
	return 0;
}

void np_prefer_admit(struct np_prefer *f, const struct np_job *j,
		     bool restricted, const uint64_t *leaves)
{
	size_t at = np_order_find(f->partition, f->n_partitions, j->partition);

	if (restricted || at == f->n_partitions)
		reserve(f, j, leaves);
	else
		f->wanted[at] += nodes_of(j);
}

/* List the partitions of n jobs. */
static int gather_partitions(struct np_prefer *f, const uint32_t *order,
			     size_t n)
{
	uint32_t *part = np_problem_alloc(f->p, n, sizeof(*part));

	if (!part)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		part[i] = f->p->s->job[order[i]].partition;
	f->n_partitions = np_order_unique(part, n);
	f->partition = part;
	f->wanted = np_problem_alloc(f->p, f->n_partitions,
				     sizeof(*f->wanted));
	f->reach = np_problem_alloc(f->p, f->n_partitions * f->p->lw,
				    sizeof(*f->reach));
	return f->wanted && f->reach ? 0 : -ENOMEM;
}

/* Find out the leaves that the jobs of each partition can use. */
static int gather_reach(struct np_prefer *f, const uint32_t *order, size_t n)
{
	size_t lw = f->p->lw;

	for (size_t i = 0; i < n; i++) {
		const struct np_job *j = &f->p->s->job[order[i]];
		size_t at = np_order_find(f->partition, f->n_partitions,
					  j->partition);
		const struct np_counts *c =
			np_problem_counts(f->p, j->candidates);

		if (!c)
			return -ENOMEM;
		np_bits_or(f->reach + at * lw, c->reach, lw);
	}
	return 0;
}

/* Restrict the jobs of mode prefer that can be. Returns 0 or -ENOMEM. */
static int prefer_init(struct np_prefer *f, struct np_problem *p,
		       struct np_classes *classes,
		       const struct np_requests *requests,
		       const struct np_groups *groups)
{
	uint32_t *order = np_problem_alloc(p, p->s->n_jobs, sizeof(*order));
	uint64_t *scratch = np_problem_alloc(p, p->lw, sizeof(*scratch));
	size_t n = 0;
	int rc;

	*f = (struct np_prefer){
		.p = p, .classes = classes, .requests = requests,
		.groups = groups,
		.reserved = np_problem_alloc(p, p->n_leaves,
					     sizeof(*f->reserved)),
		.set = np_problem_alloc(p, p->s->n_jobs, sizeof(*f->set)),
	};
	if (!order || !scratch || !f->reserved || !f->set)
		return -ENOMEM;
	if (!(p->policy.modes & 1u << NP_MODE_PREFER))
		return 0;
	for (uint32_t i = 0; i < p->s->n_jobs; i++)
		if (np_order_ready(p->s, &p->s->job[i]))
			order[n++] = i;
	np_order_jobs(p->s, order, n);
	rc = gather_partitions(f, order, n);
	if (!rc)
		rc = gather_reach(f, order, n);
	for (size_t i = 0; !rc && i < n; i++)
		rc = account_job(f, order[i], scratch);
	return rc;
}

/* ---- The rules "widen" and "keep", and their iteration ---- */

#define MAX_ITERATIONS 16

/* Whether a has less supply for its demand than b. */
static bool has_less(const struct np_group *a, const struct np_group *b)
{
	return a->supply * b->demand < b->supply * a->demand;
}

/*
 * The groups of a visibility group, counted from its first; ready ones first.
 */
struct widening {
	struct np_groups *g;
	uint32_t first;
	size_t n, n_ready, words;
	uint64_t *want; /* per leaf a bitmap of the groups that ask for it */
};

/*
 * Leaves are only given away here, so what a class cannot take it cannot take
 * later on either: none of its groups wants the leaf any more.
 */
static bool can_widen(const struct widening *w, size_t i, uint32_t leaf,
		      uint64_t *want)
{
	uint32_t group = w->first + (uint32_t)i;
	const struct np_group *u = &w->g->at[group];
	const uint64_t *all = w->g->of_class[u->class].all;

	if (group_can_take(w->g, group, leaf))
		return true;
	np_bits_clear(want, i);
	/* A group of tasks that stay together may be refused where other
	   groups of its class are not. */
	for (size_t k = 0; all && !u->together && k < w->words; k++)
		want[k] &= ~all[k];
	return false;
}

/*
 * Give a leaf to the ready group with least supply, then to all that can share.
 */
static bool widen_leaf(const struct widening *w, uint32_t leaf)
{
	uint64_t *want = w->want + leaf * w->words;
	const struct np_group *at = w->g->at + w->first;
	size_t poorest = w->n;
	bool any = false;

	NP_BITS_EACH(i, want, w->words) {
		if (i >= w->n_ready)
			break;
		if ((poorest == w->n || has_less(&at[i], &at[poorest])) &&
		    can_widen(w, i, leaf, want))
			poorest = i;
	}
	if (poorest < w->n) {
		group_hold(w->g, w->first + (uint32_t)poorest, leaf);
		np_bits_clear(want, poorest);
		any = true;
	}
	NP_BITS_EACH(i, want, w->words)
		if (can_widen(w, i, leaf, want)) {
			group_hold(w->g, w->first + (uint32_t)i, leaf);
			any = true;
		}
	return any;
}

/*
 * Enter a group for the leaves it asks for: once all, later the vacated ones.
 */
static void ask_leaves(const struct widening *w, size_t i)
{
	const struct np_group *u = &w->g->at[w->first + i];
	const uint64_t *open = w->g->classes->at[u->class].open;
	const uint64_t *left = w->g->vacated;

	for (size_t k = 0; k < w->g->p->lw; k++)
		for (uint64_t m = u->reach[k] & open[k] & ~u->set[k] &
		     (u->widened ? left[k] : ~UINT64_C(0));
		     m; m &= m - 1)
			np_bits_set(w->want + np_bits_lowest(k, m) * w->words, i);
}

/* The rule "widen", for the groups of a visibility group. */
static int widen(struct np_groups *g, const struct np_vgroup *vgroup,
		 bool *changed)
{
	size_t n = vgroup[1].group - vgroup->group, words = np_bits_words(n);
	struct np_group *u = g->at + vgroup->group;
	struct widening w = {
		.g = g, .first = vgroup->group, .n = n, .words = words,
		.want = calloc(g->p->n_leaves * words + 1, sizeof(*w.want)),
	};

	if (!w.want)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		w.n_ready += u[i].ready;
		if (u[i].placed)
			ask_leaves(&w, i);
		u[i].widened = u[i].placed;
	}
	for (size_t i = 0; n && i < g->p->n_leaves; i++)
		*changed |= widen_leaf(&w, g->p->leaf_order[i]);
	memset(g->vacated, 0, g->p->lw * sizeof(*g->vacated));
	free(w.want);
	return 0;
}

/* Add the leaves written for a request by an earlier decision to bits. */
static void prior(const struct np_groups *g, const struct np_request *r,
		  uint64_t *bits)
{
	const struct np_job *j = &g->p->s->job[r->job];
	const uint64_t *reach = g->p->counts[j->candidates]->reach;

	if (r->task) /* the decision in the record is that of its first task */
		return;
	for (size_t w = 0; w < g->p->lw; w++)
		if (j->prior == NP_PRIOR_UNRESTRICTED)
			bits[w] |= reach[w];
		else if (j->prior == NP_PRIOR_RESTRICTED)
			bits[w] |= reach[w] & j->prior_leaves[w];
}

/* The rule "keep", for the groups of a visibility group. */
static int keep(struct np_groups *g, const struct np_vgroup *vgroup)
{
	size_t n = vgroup[1].group - vgroup->group, lw = g->p->lw;
	uint64_t *bits = calloc(n * lw + 1, sizeof(*bits));

	if (!bits)
		return -ENOMEM;
	for (uint32_t i = vgroup->request; i < vgroup[1].request; i++) {
		const struct np_request *r = &g->requests->at[g->by_vgroup[i]];

		prior(g, r, bits + (r->group - vgroup->group) * lw);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t u = vgroup->group + i;
		const uint64_t *open = np_group_class(g, u)->open;

		NP_BITS_EACH(leaf, bits + i * lw, lw)
			if (np_bits_test(open, leaf) &&
			    group_can_take(g, u, (uint32_t)leaf))
				group_hold(g, u, (uint32_t)leaf);
	}
	free(bits);
	return 0;
}

/* Apply all rules to a visibility group until nothing changes. */
static int iterate(struct np_groups *g, const struct np_vgroup *vgroup)
{
	bool changed = true;
	int rc = keep(g, vgroup);

	for (int round = 0; !rc && changed && round < MAX_ITERATIONS; round++) {
		changed = false;
		rc = grow(g, vgroup, &changed);
		if (!rc)
			rc = widen(g, vgroup, &changed);
	}
	return rc;
}

/* Conflict-free classes hold all leaves that their jobs can use. */
static void place_conflict_free(struct np_problem *p, struct np_classes *c,
				const struct np_requests *r)
{
	for (size_t i = 0; i < r->n_order; i++) {
		const struct np_job *j = &p->s->job[r->order[i]];
		uint32_t class = r->class[r->order[i]];
		const uint64_t *reach;

		if (class == NP_NONE || !c->at[class].conflict_free)
			continue;
		reach = p->counts[j->candidates]->reach;
		if (np_bits_subset(reach, c->at[class].held, p->lw))
			continue;
		NP_BITS_EACH(leaf, reach, p->lw)
			np_class_hold(c, class, (uint32_t)leaf);
	}
}

/* Share the leaves among all classes and groups. */
static int share(struct np_allocation *a)
{
	int rc = 0;

	place_conflict_free(&a->problem, &a->classes, &a->requests);
	/* The public groups first; others do not see the private ones. */
	for (size_t i = 0; !rc && i < a->groups.n_vgroups; i++)
		rc = iterate(&a->groups, &a->groups.vgroup[i]);
	groups_shared(&a->groups);
	return rc;
}

int np_allocation_new(const struct np_snapshot *s, const struct np_slowdowns *t,
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
	    requests_init(&a->requests, p, &a->classes) ||
	    np_classes_seal(&a->classes) ||
	    groups_init(&a->groups, p, &a->classes, &a->requests) ||
	    share(a) ||
	    prefer_init(&a->prefer, p, &a->classes, &a->requests,
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
	groups_free(&a->groups);
	np_problem_free(&a->problem);
	free(a);
}
