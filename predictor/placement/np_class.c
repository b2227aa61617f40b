#include "np_class.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"

static uint64_t load_from_user(const struct np_leaf_loads *l,
			       const struct np_user_load *e, uint32_t profile,
			       uint32_t touch, const struct np_leaf_job *but);

/* ---- Counts ---- */

/* The bits of word k that are positions first to end - 1. */
static uint64_t word_mask(uint32_t first, uint32_t end, size_t k)
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

/* Nodes of a set at the positions first to end - 1. */
static struct count count_range(const struct np_snapshot *s,
				const uint64_t *set, uint32_t first,
				uint32_t end)
{
	struct count c = { 0 };

	if (first == end)
		return c;
	for (size_t k = first / NP_BITS_WORD; k <= (end - 1) / NP_BITS_WORD;
	     k++) {
		uint64_t w = set[k] & word_mask(first, end, k);

		c.any |= w != 0;
		c.usable += (unsigned)__builtin_popcountll(w & s->usable[k]);
		c.idle += (unsigned)__builtin_popcountll(w & s->idle[k]);
		c.idle_or_mixed +=
			(unsigned)__builtin_popcountll(w & s->idle_or_mixed[k]);
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
	c->no_leaf_usable = got.usable;
	c->all_usable += got.usable;
	c->no_leaf_free_alone = got.idle;
	c->no_leaf_free_shared = got.idle_or_mixed;
}

uint64_t np_counts_sum(uint32_t switches, const uint16_t *column,
		       uint32_t no_leaf, const uint64_t *leaves, size_t lw)
{
	uint32_t best[NP_COUNTS_MAX_SWITCHES] = { no_leaf };
	uint64_t sum = 0;

	if (!switches || switches > NP_COUNTS_MAX_SWITCHES) {
		NP_BITS_EACH(leaf, leaves, lw)
			sum += column[leaf];
		return sum + no_leaf;
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

/* ---- Problem ---- */

/* Memory of a problem is a list of blocks, all freed at its end. */
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

/* Whether the job has a profile that counts for its owner's jobs. */
static bool problem_known(const struct np_problem *p, const struct np_job *j)
{
	const struct np_slowdowns_profile *f;

	if (j->profile == NP_PROFILE_UNKNOWN)
		return false;
	f = &p->t->profile[j->profile];
	return f->trusted || f->owner == j->owner;
}

/* Whether other users' jobs take a job with a known profile into account. */
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

bool np_problem_hold_expired(const struct np_problem *p, const struct np_job *j,
			     double held_sec)
{
	return held_sec >= (j->mode == NP_MODE_PREFER ?
			    NP_PLACEMENT_PATIENCE_SEC :
			    p->policy.max_defer_sec);
}

enum np_why np_problem_exempt(const struct np_problem *p,
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

/* Count all nodes of each leaf, and order the leaves by them. */
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

/*
 * Collect the owners of jobs that others do not see. A private profile has one
 * owner, so one job of it is enough.
 */
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

bool np_problem_feasible(const struct np_problem *p, const struct np_job *j,
			 const struct np_counts *c)
{
	uint64_t usable = c->all_usable;

	if (j->switches)
		usable = np_counts_sum(j->switches, c->usable,
				       c->no_leaf_usable, c->reach, p->lw);
	return usable >= j->nodes_min;
}

int np_problem_init(struct np_problem *p, const struct np_snapshot *s,
		    const struct np_slowdowns *t, const struct np_policy *policy,
		    const struct np_outcome *outcome, bool what_if,
		    const struct np_problem *other)
{
	*p = (struct np_problem){
		.s = s, .t = t, .policy = *policy, .outcome = outcome,
		.limit = np_slowdowns_limit(policy->max_slowdown),
		.what_if = what_if,
		.n_leaves = s->leaves->n, .lw = s->leaves->words,
	};
	p->counts = np_problem_alloc(p, s->set.n, sizeof(*p->counts));
	p->no_leaves = np_problem_alloc(p, p->lw, sizeof(*p->no_leaves));
	p->scratch = np_problem_alloc(p, p->lw, sizeof(*p->scratch));
	if (!p->counts || !p->no_leaves || !p->scratch)
		return -ENOMEM;
	if (other)
		memcpy(p->counts, other->counts,
		       s->set.n * sizeof(*p->counts));
	return count_leaves(p) ? -ENOMEM : gather_private(p);
}

/* ---- Leaf loads ---- */

/* The entry that a running job makes on its leaves; false: it makes none. */
static bool leaf_job_of(const struct np_problem *p,
			const struct np_job *j, struct np_leaf_job *r)
{
	int32_t profile = j->profile;
	bool known = problem_known(p, j);
	const struct np_slowdowns_profile *f;

	if (j->state != NP_JOB_RUNNING)
		return false;
	if (!known)
		profile = p->policy.unknown_as;
	if (profile == NP_PROFILE_UNKNOWN)
		return false;
	f = &p->t->profile[profile];
	if (f->inert)
		return false;
	*r = (struct np_leaf_job){
		.profile = (uint16_t)profile, .n = 1, .job = j->id,
		.touch = (j->flags & NP_JOB_SHARES_NODES ?
			  NP_TOUCH_NODE : 0) |
			 (j->n_leaves > 1 ? NP_TOUCH_UPLINK : 0),
		/* The profile that stands for unknown jobs was chosen by an
		   administrator and is therefore visible to everybody. */
		.owner = !known || problem_trusted(p, j) ? NP_ANY_OWNER :
							      j->owner,
	};
	return true;
}

static int by_kind(const void *a, const void *b)
{
	const struct np_leaf_job *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->profile != y->profile)
		return x->profile < y->profile ? -1 : 1;
	if (x->touch != y->touch)
		return x->touch < y->touch ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static bool same_kind(const struct np_leaf_job *a, const struct np_leaf_job *b)
{
	return a->owner == b->owner && a->profile == b->profile &&
	       a->touch == b->touch;
}

/* Merge entries of the same kind on each leaf, in place. */
static void merge_same_kind(const struct np_problem *p, struct np_leaf_jobs *c)
{
	uint32_t to = 0, at = 0;

	for (size_t i = 0; i < p->n_leaves; i++) {
		uint32_t begin = to, end = c->first[i + 1];

		if (end - at > 1)
			qsort(c->at + at, end - at, sizeof(*c->at),
			      by_kind);
		c->first[i] = begin;
		for (; at < end; at++) {
			struct np_leaf_job *r = &c->at[at];

			if (to > begin && same_kind(&c->at[to - 1], r))
				c->at[to - 1].n++;
			else
				c->at[to++] = *r;
		}
	}
	c->first[p->n_leaves] = to;
}

/* Turn the counts in first[leaf + 1] into the index where each leaf begins. */
static int alloc_jobs(struct np_problem *p, struct np_leaf_jobs *c)
{
	for (size_t i = 0; i < p->n_leaves; i++)
		c->first[i + 1] += c->first[i];
	c->at = np_problem_alloc(p, c->first[p->n_leaves],
				 sizeof(*c->at));
	return c->at ? 0 : -ENOMEM;
}

static struct np_leaf_jobs *public_or_private(struct np_leaf_loads *l,
					      const struct np_leaf_job *r)
{
	return r->owner == NP_ANY_OWNER ? &l->public : &l->private;
}

/* Make the entries of all leaves: count, allocate, fill in, merge. */
static int gather_jobs(struct np_leaf_loads *l)
{
	struct np_problem *p = l->p;
	const struct np_job *job = p->s->job;
	struct np_leaf_job r;

	for (size_t i = 0; i < p->s->n_jobs; i++) {
		const uint32_t *leaf = job[i].leaf;

		if (!leaf_job_of(p, &job[i], &r))
			continue;
		for (uint32_t k = 0; k < job[i].n_leaves; k++)
			public_or_private(l, &r)->first[leaf[k] + 1]++;
	}
	if (alloc_jobs(p, &l->public) || alloc_jobs(p, &l->private))
		return -ENOMEM;
	for (size_t i = 0; i < p->s->n_jobs; i++) {
		const uint32_t *leaf = job[i].leaf;
		struct np_leaf_jobs *c;

		if (!leaf_job_of(p, &job[i], &r))
			continue;
		c = public_or_private(l, &r);
		for (uint32_t k = 0; k < job[i].n_leaves; k++)
			c->at[c->first[leaf[k]]++] = r;
	}
	/* Filling advanced each first[leaf] to first[leaf + 1]: move back. */
	for (size_t i = p->n_leaves; i > 0; i--) {
		l->public.first[i] = l->public.first[i - 1];
		l->private.first[i] = l->private.first[i - 1];
	}
	l->public.first[0] = l->private.first[0] = 0;
	merge_same_kind(p, &l->public);
	merge_same_kind(p, &l->private);
	return 0;
}

/* Load on a job of entry r by the public jobs on a leaf, except itself. */
static uint32_t load_of(const struct np_leaf_loads *l,
			const struct np_leaf_job *r, size_t leaf)
{
	const struct np_leaf_jobs *c = &l->public;
	uint64_t sum = 0;

	for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++) {
		const struct np_leaf_job *x = &c->at[k];

		sum += (uint64_t)(x == r ? x->n - 1 : x->n) *
		       np_slowdowns_pair(l->p->t, r->profile, r->touch, x->profile,
				     x->touch);
	}
	return np_slowdowns_clamp(sum);
}

/* Compute the loads of a leaf's entries, and which are sensitive. */
static void load_leaf(struct np_leaf_loads *l, size_t leaf)
{
	struct np_leaf_jobs *c = &l->public, *private = &l->private;
	uint32_t to = c->first[leaf];

	for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++)
		c->at[k].load = load_of(l, &c->at[k], leaf);
	for (uint32_t k = private->first[leaf]; k < private->first[leaf + 1];
	     k++)
		private->at[k].load = load_of(l, &private->at[k], leaf);
	/*
	 * Move the sensitive ones to the front. Conflicts are checked between
	 * two arrivals at most, hence twice the largest load.
	 */
	for (uint32_t k = to; k < c->first[leaf + 1]; k++) {
		struct np_leaf_job r = c->at[k];
		uint32_t most = l->p->t->most[r.profile];

		if (!most || r.load + 2 * most <= l->p->limit)
			continue;
		c->at[k] = c->at[to];
		c->at[to++] = r;
	}
	c->sensitive[leaf] = to - c->first[leaf];
}

/* Make the packed lists of entries that slow any profile. */
static int pack_aggressors(struct np_leaf_loads *l)
{
	struct np_problem *p = l->p;
	struct np_leaf_jobs *c = &l->public;
	uint32_t n = 0;

	c->aggressor = np_problem_alloc(p, c->first[p->n_leaves],
					sizeof(*c->aggressor));
	c->first_aggressor = np_problem_alloc(p, p->n_leaves + 1,
					      sizeof(*c->first_aggressor));
	if (!c->aggressor || !c->first_aggressor)
		return -ENOMEM;
	for (size_t leaf = 0; leaf < p->n_leaves; leaf++) {
		for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++) {
			const struct np_leaf_job *r = &c->at[k];

			if (p->t->profile[r->profile].aggressor)
				c->aggressor[n++] = (struct np_aggressor){
					r->profile, r->touch, r->n
				};
		}
		c->first_aggressor[leaf + 1] = n;
	}
	return 0;
}

/* End of an owner's entries on a leaf, where these are sorted by owner. */
static uint32_t end_of_owner(const struct np_leaf_jobs *c, uint32_t at,
			     uint32_t end)
{
	uint32_t owner = c->at[at].owner;

	while (at < end && c->at[at].owner == owner)
		at++;
	return at;
}

/*
 * Make the user loads, counting those of each owner in a first pass. Returns
 * the length that from_user[] needs.
 */
static uint32_t fill_user_loads(struct np_leaf_loads *l)
{
	const struct np_leaf_jobs *c = &l->private;
	const struct np_problem *p = l->p;
	uint32_t *first = l->first_user_load, from_user = 0, end;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t leaf = 0; leaf < p->n_leaves; leaf++)
			for (uint32_t k = c->first[leaf];
			     k < c->first[leaf + 1]; k = end) {
				size_t o = np_order_find(p->private_owner,
							 p->n_private,
							 c->at[k].owner);

				end = end_of_owner(c, k, c->first[leaf + 1]);
				if (!pass) {
					first[o + 2]++;
					continue;
				}
				l->user_load[first[o + 1]++] =
					(struct np_user_load){ leaf, k, end,
							       from_user };
				from_user += end - k +
					     l->public.first[leaf + 1] -
					     l->public.first[leaf];
			}
		for (size_t o = 0; !pass && o < p->n_private; o++)
			first[o + 2] += first[o + 1];
	}
	return from_user;
}

/* Fill in the loads that a user's private jobs put on the leaf's entries. */
static void
apply_user_load(struct np_leaf_loads *l, const struct np_user_load *e)
{
	const struct np_leaf_jobs *c = &l->public;
	uint32_t *to = l->from_user + e->from_user;

	for (uint32_t k = c->first[e->leaf]; k < c->first[e->leaf + 1]; k++)
		*to++ = np_slowdowns_clamp(load_from_user(
			l, e, c->at[k].profile, c->at[k].touch, NULL));
	for (uint32_t k = e->first; k < e->end; k++) {
		const struct np_leaf_job *r = &l->private.at[k];

		*to++ = np_slowdowns_clamp(load_from_user(l, e, r->profile,
						      r->touch, r));
	}
}

static int make_user_loads(struct np_leaf_loads *l)
{
	struct np_problem *p = l->p;

	l->first_user_load = np_problem_alloc(p, p->n_private + 2,
					      sizeof(*l->first_user_load));
	l->user_load = np_problem_alloc(p, l->private.first[p->n_leaves],
					sizeof(*l->user_load));
	if (!l->first_user_load || !l->user_load)
		return -ENOMEM;
	l->from_user =
		np_problem_alloc(p, fill_user_loads(l), sizeof(*l->from_user));
	if (!l->from_user)
		return -ENOMEM;
	for (uint32_t k = 0; k < l->first_user_load[p->n_private]; k++)
		apply_user_load(l, &l->user_load[k]);
	return 0;
}

int np_leaf_loads_init(struct np_leaf_loads *l, struct np_problem *p)
{
	size_t n = p->n_leaves + 2;

	l->p = p;
	l->public.first = np_problem_alloc(p, n, sizeof(uint32_t));
	l->private.first = np_problem_alloc(p, n, sizeof(uint32_t));
	l->public.sensitive = np_problem_alloc(p, n, sizeof(uint32_t));
	if (!l->public.first || !l->private.first || !l->public.sensitive ||
	    gather_jobs(l))
		return -ENOMEM;
	for (size_t leaf = 0; leaf < p->n_leaves; leaf++)
		load_leaf(l, leaf);
	return pack_aggressors(l) ? -ENOMEM : make_user_loads(l);
}

/* The user loads of an owner, by leaf, and their number; NULL: none. */
static const struct np_user_load *
user_loads_of(const struct np_leaf_loads *l, uint32_t owner, size_t *n)
{
	const struct np_problem *p = l->p;
	size_t at = np_order_find(p->private_owner, p->n_private, owner);

	*n = at < p->n_private ?
	     l->first_user_load[at + 1] - l->first_user_load[at] : 0;
	return *n ? l->user_load + l->first_user_load[at] : NULL;
}

/* Load of a user's private jobs on one leaf, less one job of entry `but`. */
static uint64_t load_from_user(const struct np_leaf_loads *l,
			       const struct np_user_load *e, uint32_t profile,
			       uint32_t touch, const struct np_leaf_job *but)
{
	uint64_t sum = 0;

	for (uint32_t k = e->first; k < e->end; k++) {
		const struct np_leaf_job *x = &l->private.at[k];

		sum += (uint64_t)(x == but ? x->n - 1 : x->n) *
		       np_slowdowns_pair(l->p->t, profile, touch, x->profile,
				     x->touch);
	}
	return sum;
}

static int by_leaf(const void *key, const void *load)
{
	uint32_t x = *(const uint32_t *)key;
	const struct np_user_load *e = load;

	return x < e->leaf ? -1 : x > e->leaf;
}

/* The same, for the private jobs that an owner has on a leaf; 0 if none. */
static uint64_t load_from_owner(const struct np_leaf_loads *l,
				uint32_t profile, uint32_t touch,
				uint32_t leaf, uint32_t owner,
				const struct np_leaf_job *but)
{
	size_t n;
	const struct np_user_load *e = user_loads_of(l, owner, &n);

	if (n)
		e = bsearch(&leaf, e, n, sizeof(*e), by_leaf);
	return e ? load_from_user(l, e, profile, touch, but) : 0;
}

/* Note that a public job may arrive on a leaf; see np_leaf_job.extra. */
static void note_arrival(struct np_leaf_loads *l, uint32_t leaf,
			 uint32_t profile, uint32_t touch)
{
	const uint16_t *caused = np_slowdowns_caused(l->p->t, profile);
	struct np_leaf_job *r = l->public.at + l->public.first[leaf];
	uint32_t n = l->public.sensitive[leaf];

	for (uint32_t i = 0; i < n; i++) {
		uint16_t x = np_slowdowns_at(caused, r[i].profile,
					 r[i].touch & touch);

		if (x > r[i].extra)
			r[i].extra = x;
	}
}

/* Forget all arrivals noted on a leaf. */
static void clear_arrivals(struct np_leaf_loads *l, uint32_t leaf)
{
	struct np_leaf_job *r = l->public.at + l->public.first[leaf];

	for (uint32_t i = 0; i < l->public.sensitive[leaf]; i++)
		r[i].extra = 0;
}

/*
 * Whether a running job on the leaf would be slowed too much by one more
 * arrival together with one that was noted.
 */
static bool is_leaf_full(const struct np_leaf_loads *l, uint32_t leaf,
			 uint32_t profile, uint32_t touch)
{
	const uint16_t *caused = np_slowdowns_caused(l->p->t, profile);
	const struct np_leaf_job *r = l->public.at + l->public.first[leaf];

	for (uint32_t k = 0; k < l->public.sensitive[leaf]; k++) {
		uint32_t x = np_slowdowns_at(caused, r[k].profile,
					 r[k].touch & touch);

		if (x && r[k].extra &&
		    r[k].load + x + r[k].extra > l->p->limit)
			return true;
	}
	return false;
}

uint32_t np_leaf_load_worst(const struct np_leaf_loads *l, size_t leaf)
{
	const struct np_leaf_jobs *c = &l->public;
	uint32_t worst = 0;

	for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++)
		if (c->at[k].load > worst)
			worst = c->at[k].load;
	return worst;
}

/* ---- Must a class avoid a leaf, and because of which jobs? ---- */

static uint32_t pair_load(const struct np_classes *c,
			  const struct np_class *victim,
			  const struct np_class *co)
{
	return np_slowdowns_pair(c->p->t, victim->profile, victim->touch,
			     co->profile, co->touch);
}

/* The owner whose private jobs count: one that is common to both classes. */
static uint32_t common_owner(const struct np_class *a, const struct np_class *b)
{
	return !b || a->owner == b->owner ? a->owner : NP_ANY_OWNER;
}

/* Loads of a that count when jobs of b are considered as well. */
static const struct np_class_loads *
loads_with(const struct np_class *a, const struct np_class *b)
{
	return a->owner == b->owner ? &a->full : &a->public;
}

/* The worst violation of the limit found so far. */
struct worst {
	uint64_t load; /* 0: none */
	bool self;     /* the victim is the job in question */
	uint32_t other, victim; /* job ids */
};

static void raise_worst(const struct np_classes *c, struct worst *s,
			uint64_t load, bool self, uint32_t other,
			uint32_t victim)
{
	if (load > c->p->limit && load > s->load)
		*s = (struct worst){ load, self, other, victim };
}

/* Find the running job on a leaf that slows a class most. */
static void worst_aggressor(const struct np_classes *c,
			    const struct np_class *a,
			    const struct np_leaf_jobs *on, uint32_t leaf,
			    uint64_t *most, uint32_t *job)
{
	for (uint32_t k = on->first[leaf]; k < on->first[leaf + 1]; k++) {
		const struct np_leaf_job *r = &on->at[k];
		uint64_t load = (uint64_t)r->n *
			np_slowdowns_pair(c->p->t, a->profile, a->touch, r->profile,
				      r->touch);

		if (on == &c->loads->private && r->owner != a->owner)
			continue;
		if (load > *most) {
			*most = load;
			*job = r->job;
		}
	}
}

/* Check the running jobs on a leaf as victims of a, or of a and b together. */
static void check_jobs(const struct np_classes *c,
		       const struct np_leaf_jobs *on,
		       const struct np_class *a, const struct np_class *b,
		       uint32_t leaf, struct worst *s)
{
	const struct np_leaf_loads *l = c->loads;
	const uint16_t *from_a = np_slowdowns_caused(c->p->t, a->profile);
	const uint16_t *from_b = np_slowdowns_caused(c->p->t, (b ? b : a)->profile);
	uint32_t owner = common_owner(a, b);

	for (uint32_t k = on->first[leaf]; k < on->first[leaf + 1]; k++) {
		const struct np_leaf_job *r = &on->at[k];
		uint32_t x, y;

		if (on == &l->private && r->owner != owner)
			continue;
		x = np_slowdowns_at(from_a, r->profile, r->touch & a->touch);
		y = b ? np_slowdowns_at(from_b, r->profile, r->touch & b->touch) :
			0;
		if (!x || (b && !y))
			continue;
		raise_worst(c, s,
			    r->load + x + y +
			    load_from_owner(l, r->profile, r->touch,
					    leaf, owner, r),
			    false, b ? b->job : r->job, r->job);
	}
}

/* Check a and b themselves as victims. */
static void check_classes(const struct np_classes *c, const struct np_class *a,
			  const struct np_class *b, uint32_t leaf,
			  struct worst *s)
{
	uint64_t most = 0;
	uint32_t who = 0, ab, ba;

	if (!b) {
		worst_aggressor(c, a, &c->loads->public, leaf, &most, &who);
		worst_aggressor(c, a, &c->loads->private, leaf, &most, &who);
		raise_worst(c, s, a->full.load[leaf], true, who, 0);
		return;
	}
	ab = pair_load(c, a, b);
	ba = pair_load(c, b, a);
	if (ab)
		raise_worst(c, s, loads_with(a, b)->load[leaf] + ab, true,
			    b->job, 0);
	if (ba)
		raise_worst(c, s, loads_with(b, a)->load[leaf] + ba, false,
			    b->job, b->job);
}

/* Whether a or b would be slowed too much by the other and what runs there. */
static bool exceeds_directly(const struct np_classes *c,
			     const struct np_class *a, const struct np_class *b,
			     uint32_t leaf)
{
	uint32_t ab = pair_load(c, a, b), ba = pair_load(c, b, a);

	return (ab && loads_with(a, b)->load[leaf] + ab > c->p->limit) ||
	       (ba && loads_with(b, a)->load[leaf] + ba > c->p->limit);
}

/* Quick test: certainly no running job there suffers too much from both. */
static bool no_third_victim(const struct np_classes *c,
			    const struct np_class *a, const struct np_class *b,
			    uint32_t leaf)
{
	const struct np_class_loads *va = loads_with(a, b),
				    *vb = loads_with(b, a);

	return !va->added[leaf] || !vb->added[leaf] ||
	       va->victim[leaf] + vb->added[leaf] <= (int64_t)c->p->limit ||
	       vb->victim[leaf] + va->added[leaf] <= (int64_t)c->p->limit;
}

bool np_class_avoids(const struct np_classes *c, uint32_t a, uint32_t b,
		     uint32_t leaf, struct np_cause *cause)
{
	const struct np_class *ka = &c->at[a];
	const struct np_class *kb = b == NP_NONE ? NULL : &c->at[b];
	struct worst s = { 0 };
	bool sure = kb ? exceeds_directly(c, ka, kb, leaf) :
			 !np_bits_test(ka->open, leaf);

	if (!sure && (!kb || no_third_victim(c, ka, kb, leaf)))
		return false;
	if (sure && !cause)
		return true;
	if (cause)
		check_classes(c, ka, kb, leaf, &s);
	check_jobs(c, &c->loads->public, ka, kb, leaf, &s);
	if (common_owner(ka, kb) != NP_ANY_OWNER)
		check_jobs(c, &c->loads->private, ka, kb, leaf, &s);
	if (s.load && cause)
		*cause = (struct np_cause){
			.why = kb ? NP_WHY_FROM_PENDING : NP_WHY_FROM_RUNNING,
			.leaf = leaf, .other = s.other, .victim = s.victim,
			.victim_self = s.self,
			.slowdown = np_slowdowns_from_load(np_slowdowns_clamp(s.load)),
		};
	return s.load != 0;
}

bool np_class_conflict_on(const struct np_classes *c, uint32_t a, uint32_t b,
			  const uint64_t *leaves)
{
	if (a == b)
		return np_bits_intersect(c->at[a].self_apart, leaves, c->p->lw);
	if (!np_bits_test(c->relevant + a * c->words, b) &&
	    !np_bits_test(c->relevant + b * c->words, a))
		return false;
	NP_BITS_EACH(leaf, leaves, c->p->lw)
		if (np_class_avoids(c, a, b, (uint32_t)leaf, NULL))
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
	for (uint32_t row_words = k->row_words; row_words;
	     row_words &= row_words - 1) {
		size_t w = np_bits_lowest(0, row_words);

		if (on[w] & c->hard[row + w])
			return true;
		for (uint64_t m = on[w] & c->soft[row + w]; m; m &= m - 1)
			if (exceeds_directly(c, k, &c->at[np_bits_lowest(w, m)],
					     leaf))
				return true;
		for (uint64_t m = on[w] & c->soft_own[row + w]; m; m &= m - 1)
			if (np_class_avoids(c, a, np_bits_lowest(w, m), leaf, NULL))
				return true;
	}
	/* The remaining case: a running job that suffers from two arrivals. */
	return is_leaf_full(c->loads, leaf, k->profile, k->touch);
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
		note_arrival(c->loads, leaf, k->profile, k->touch);
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
	clear_arrivals(c->loads, leaf);
	NP_BITS_EACH(b, on, c->words)
		if (c->at[b].trusted)
			note_arrival(c->loads, leaf, c->at[b].profile,
				     c->at[b].touch);
}

/* ---- Making classes and comparing them ---- */

/* Capacity for classes that are first submitted between two decisions. */
#define SPARE 128

_Static_assert(NP_PLACEMENT_MAX_CLASSES + SPARE <= 32 * NP_BITS_WORD,
	       "np_class.row_words has a bit for each word of a bitmap");

/* What a pending job will share with others; see NP_TOUCH_NODE. */
static uint8_t touch_of(const struct np_classes *c, const struct np_job *j)
{
	/* Slurm keeps a job under one leaf if it fits there. */
	bool spans = j->flags & NP_JOB_SPANS ||
		     j->nodes_min > c->p->s->leaves->largest;

	return (j->flags & NP_JOB_SHARES_NODES ? NP_TOUCH_NODE : 0) |
	       (spans ? NP_TOUCH_UPLINK : 0);
}

/* Whether jobs of class a take jobs of class b into account. */
static bool is_visible(const struct np_class *a, const struct np_class *b)
{
	return b->trusted || (a->owner != NP_ANY_OWNER && a->owner == b->owner);
}

/* Whether the owner has jobs, or a class, that others do not see. */
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

/* Allocate the loads of a class. One that slows nobody needs only its own. */
static bool add_loads(struct np_classes *c, bool is_aggressor,
		      struct np_class_loads *v)
{
	size_t n = c->p->n_leaves;

	v->load = np_problem_alloc(c->p, is_aggressor ? 3 * n : n,
				   sizeof(*v->load));
	if (!v->load)
		return false;
	v->victim = is_aggressor ? v->load + n : c->zeros;
	v->added = is_aggressor ? v->victim + n : c->zeros;
	return true;
}

/* Allocate a class and append it; false: out of memory. */
static bool add_class(struct np_classes *c, struct np_class *k)
{
	size_t bits = c->p->lw + 1, n;
	uint64_t *words = np_problem_alloc(c->p, 3 * bits, sizeof(*words));
	bool is_aggressor = c->p->t->profile[k->profile].aggressor;

	k->holders = np_problem_alloc(c->p, c->p->n_leaves,
				      sizeof(*k->holders));
	if (!words || !k->holders || !add_loads(c, is_aggressor, &k->public))
		return false;
	k->full = k->public;
	if (user_loads_of(c->loads, k->owner, &n) &&
	    !add_loads(c, is_aggressor, &k->full))
		return false;
	k->open = words;
	k->self_apart = words + bits;
	k->held = words + 2 * bits;
	c->at[c->n] = *k;
	return true;
}

static uint16_t clamp16(uint64_t load)
{
	return load < UINT16_MAX ? (uint16_t)load : UINT16_MAX;
}

/* Update the maximum over all leaves. */
static void update_max(struct np_class_max *m, const struct np_class_loads *v,
		       uint32_t leaf)
{
	if (v->load[leaf] > m->load)
		m->load = v->load[leaf];
	if (v->victim[leaf] > m->victim)
		m->victim = v->victim[leaf];
	if (v->added[leaf] > m->added)
		m->added = v->added[leaf];
}

/* Load on a class by the public jobs on a leaf. */
static void set_load(const struct np_classes *c, struct np_class *k,
		     size_t leaf, const uint16_t *suffered)
{
	const struct np_leaf_jobs *on = &c->loads->public;
	uint64_t load = 0;

	for (uint32_t i = on->first_aggressor[leaf];
	     i < on->first_aggressor[leaf + 1]; i++) {
		const struct np_aggressor *a = &on->aggressor[i];

		load += (uint64_t)a->n *
			np_slowdowns_at(suffered, a->profile, a->touch & k->touch);
	}
	k->public.load[leaf] = clamp16(load);
}

/* What a class would add to the sensitive public jobs on a leaf. */
static void set_added(const struct np_classes *c, struct np_class *k,
		      size_t leaf, const uint16_t *caused)
{
	const struct np_leaf_jobs *on = &c->loads->public;
	const struct np_leaf_job *r = on->at + on->first[leaf];
	uint32_t worst = 0, added = 0;

	for (size_t i = 0; i < on->sensitive[leaf]; i++) {
		uint32_t x = np_slowdowns_at(caused, r[i].profile,
					 r[i].touch & k->touch);

		if (!x)
			continue;
		if (x > added)
			added = x;
		if (r[i].load + x > worst)
			worst = r[i].load + x;
	}
	k->public.victim[leaf] = clamp16(worst);
	k->public.added[leaf] = (uint16_t)added;
}

/*
 * Extend the full loads of a class on one leaf by n entries r, which suffer
 * from_user[] from the private jobs of the class's owner.
 */
static void extend_full(const struct np_classes *c, struct np_class *k,
			uint32_t leaf, const struct np_leaf_job *r, uint32_t n,
			const uint32_t *from_user)
{
	const uint16_t *caused = np_slowdowns_caused(c->p->t, k->profile);
	uint32_t worst = k->full.victim[leaf], added = k->full.added[leaf];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t x = np_slowdowns_at(caused, r[i].profile,
					 r[i].touch & k->touch);

		if (!x)
			continue;
		if (x > added)
			added = x;
		if (r[i].load + x + from_user[i] > worst)
			worst = clamp16((uint64_t)r[i].load + x + from_user[i]);
	}
	k->full.victim[leaf] = clamp16(worst);
	k->full.added[leaf] = (uint16_t)added;
}

/* Full loads of a class on one leaf where its owner has private jobs. */
static void set_full_leaf(const struct np_classes *c, struct np_class *k,
			  const struct np_user_load *e)
{
	const struct np_leaf_loads *l = c->loads;
	uint32_t leaf = e->leaf, first = l->public.first[leaf];
	uint32_t n = l->public.first[leaf + 1] - first;
	const uint32_t *from_user = l->from_user + e->from_user;

	k->full.load[leaf] =
		clamp16(k->public.load[leaf] +
			load_from_user(l, e, k->profile, k->touch, NULL));
	if (c->p->t->profile[k->profile].aggressor) {
		extend_full(c, k, leaf, l->public.at + first, n, from_user);
		extend_full(c, k, leaf, l->private.at + e->first,
			    e->end - e->first, from_user + n);
	}
	update_max(&k->full_max, &k->full, leaf);
}

/* Whether one of two classes may suffer too much from the other somewhere. */
static bool maybe_direct(const struct np_class_max *a, uint32_t ab,
			 const struct np_class_max *b, uint32_t ba,
			 uint32_t limit)
{
	return (ab && a->load + ab > limit) || (ba && b->load + ba > limit);
}

/* Whether a running job may suffer too much from both classes somewhere. */
static bool maybe_third(const struct np_class_max *a,
			const struct np_class_max *b, uint32_t limit)
{
	return a->added && b->added && (uint32_t)a->victim + b->added > limit &&
	       (uint32_t)b->victim + a->added > limit;
}

/* Whether two jobs of a class may conflict somewhere. */
static bool maybe_self(const struct np_classes *c, const struct np_class *k)
{
	const struct np_class_max *most = &k->full_max;
	uint32_t pair = np_slowdowns_pair(c->p->t, k->profile, k->touch,
					  k->profile, k->touch);

	return maybe_direct(most, pair, most, pair, c->p->limit) ||
	       maybe_third(most, most, c->p->limit);
}

/* Fill in whether a job of the class may use a leaf; with two, if two may. */
static void check_leaf(struct np_classes *c, struct np_class *k, uint32_t leaf,
		       bool two)
{
	uint32_t me = (uint32_t)(k - c->at), limit = c->p->limit;

	if (k->full.load[leaf] > limit || k->full.victim[leaf] > limit)
		return;
	np_bits_set(k->open, leaf);
	if (!two || !np_class_avoids(c, me, me, leaf, NULL))
		return;
	np_bits_set(k->self_apart, leaf);
	k->self = true;
}

/* Full loads of a class: those with public jobs, then the owner's leaves. */
static void set_full_loads(const struct np_classes *c, struct np_class *k)
{
	size_t n;
	const struct np_user_load *e =
		user_loads_of(c->loads, k->owner, &n);

	k->full_max = k->public_max;
	if (k->full.load == k->public.load)
		return;
	memcpy(k->full.load, k->public.load,
	       (c->p->t->profile[k->profile].aggressor ? 3 : 1) *
	       c->p->n_leaves * sizeof(*k->full.load));
	for (size_t i = 0; i < n; i++)
		set_full_leaf(c, k, &e[i]);
}

/* Fill in what the running jobs on all leaves mean for a class. */
static void set_loads(struct np_classes *c, struct np_class *k)
{
	const uint16_t *suffered = np_slowdowns_suffered(c->p->t, k->profile);
	const uint16_t *caused = np_slowdowns_caused(c->p->t, k->profile);
	const struct np_slowdowns_profile *f = &c->p->t->profile[k->profile];
	bool feeling = c->p->t->most[k->profile], two;

	for (uint32_t leaf = 0; leaf < c->p->n_leaves; leaf++) {
		if (f->inert)
			np_bits_set(k->open, leaf);
		if (feeling)
			set_load(c, k, leaf, suffered);
		if (f->aggressor)
			set_added(c, k, leaf, caused);
		update_max(&k->public_max, &k->public, leaf);
	}
	if (f->inert)
		return;
	set_full_loads(c, k);
	two = maybe_self(c, k);
	for (uint32_t leaf = 0; leaf < c->p->n_leaves; leaf++)
		check_leaf(c, k, leaf, two);
}

bool np_class_open_everywhere(const struct np_classes *c, uint32_t class)
{
	return np_bits_count(c->at[class].open, c->p->lw) == c->p->n_leaves;
}

/* Set what a's bitmaps say of b; ab: load on a by b, ba: the inverse. */
static void compare(struct np_classes *c, uint32_t a, uint32_t b, uint32_t ab,
		    uint32_t ba)
{
	const struct np_class *ka = &c->at[a], *kb = &c->at[b];
	const struct np_class_max *ma = &ka->public_max, *mb = &kb->public_max;
	bool soft_own = ka->owner != NP_ANY_OWNER && ka->owner == kb->owner;
	uint32_t limit = c->p->limit;
	size_t at = a * c->words;

	if (!is_visible(ka, kb))
		return;
	if (soft_own) {
		ma = &ka->full_max;
		mb = &kb->full_max;
	}
	if (ab > limit || ba > limit)
		np_bits_set(c->hard + at, b);
	else if (maybe_direct(ma, ab, mb, ba, limit))
		np_bits_set((soft_own ? c->soft_own : c->soft) + at, b);
	else if (!maybe_third(ma, mb, limit))
		return;
	else if (soft_own)
		np_bits_set(c->soft_own + at, b);
	np_bits_set(c->relevant + at, b);
	c->at[a].row_words |= 1u << b / NP_BITS_WORD;
}

/* Compare a class with those that were made since the last time. */
static void extend_row(struct np_classes *c, uint32_t class)
{
	struct np_class *k = &c->at[class];
	const uint16_t *suffered = np_slowdowns_suffered(c->p->t, k->profile);
	const uint16_t *caused = np_slowdowns_caused(c->p->t, k->profile);

	k->row_words |= 1u << class / NP_BITS_WORD;
	/* A class does not appear in its own bitmaps, but in self_apart. */
	for (uint32_t b = k->n_compared; b < c->n; b++) {
		const struct np_class *x = &c->at[b];
		size_t at = x->profile * NP_N_TOUCH + (x->touch & k->touch);

		if (b != class)
			compare(c, class, b, suffered[at], caused[at]);
	}
	k->n_compared = (uint32_t)c->n;
}

uint32_t np_class_of(struct np_classes *c, const struct np_job *j)
{
	struct np_class k = {
		.profile = (uint16_t)j->profile,
		.touch = touch_of(c, j),
		.trusted = problem_trusted(c->p, j),
		.owner = NP_ANY_OWNER,
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
		if (c->n >= c->capacity || !add_class(c, &k))
			return NP_NONE;
		i = (uint32_t)c->n++;
		c->of_profile[k.profile] = i;
		if (c->words)
			set_loads(c, &c->at[i]);
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
	c->capacity = NP_PLACEMENT_MAX_CLASSES;
	c->at = np_problem_alloc(p, c->capacity + SPARE, sizeof(*c->at));
	c->of_profile = np_problem_alloc(p, p->t->n, sizeof(uint32_t));
	c->zeros = np_problem_alloc(p, p->n_leaves, sizeof(*c->zeros));
	if (!c->at || !c->of_profile || !c->zeros)
		return -ENOMEM;
	memset(c->of_profile, 0xff, p->t->n * sizeof(uint32_t));
	return 0;
}

/* Trusted classes first, then by owner; else in the order they were made. */
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
	size_t cells = c->capacity * c->words, on = c->p->n_leaves * c->words;

	c->hard = np_problem_alloc(c->p, cells, sizeof(*c->hard));
	c->soft = np_problem_alloc(c->p, cells, sizeof(*c->soft));
	c->soft_own = np_problem_alloc(c->p, cells, sizeof(*c->soft_own));
	c->relevant = np_problem_alloc(c->p, cells, sizeof(*c->relevant));
	c->on_leaf = np_problem_alloc(c->p, on, sizeof(*c->on_leaf));
	c->open_on = np_problem_alloc(c->p, on, sizeof(*c->open_on));
	return c->hard && c->soft && c->soft_own && c->relevant && c->on_leaf &&
	       c->open_on ? 0 : -ENOMEM;
}

int np_classes_seal(struct np_classes *c)
{
	c->n_sealed = c->n;
	c->capacity = c->n + SPARE;
	c->words = np_bits_words(c->capacity);
	if (add_rows(c))
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n; i++)
		set_loads(c, &c->at[i]);
	for (uint32_t i = 0; i < c->n; i++) {
		extend_row(c, i);
		c->at[i].conflict_free = !c->at[i].self &&
				 np_class_open_everywhere(c, i);
		NP_BITS_EACH(leaf, c->at[i].open, c->p->lw)
			np_bits_set(c->open_on + leaf * c->words, i);
	}
	for (uint32_t i = 0; i < c->n; i++)
		NP_BITS_EACH(b, c->relevant + i * c->words, c->words)
			c->at[i].conflict_free = c->at[b].conflict_free = false;
	return 0;
}

static bool is_relevant(const struct np_classes *c, uint32_t a, uint32_t b)
{
	return np_bits_test(c->relevant + a * c->words, b);
}

static bool
conflict_anywhere(const struct np_classes *c, uint32_t a, uint32_t b)
{
	for (uint32_t leaf = 0; leaf < c->p->n_leaves; leaf++)
		if (np_class_avoids(c, a, b, leaf, NULL))
			return true;
	return false;
}

bool np_class_conflicts(struct np_classes *c, uint32_t class)
{
	struct np_class *k = &c->at[class];

	if (k->conflict_free)
		return false;
	if (!k->known) {
		k->known = true;
		k->conflicts = (k->self && k->n > 1) ||
			   !np_class_open_everywhere(c, class);
		for (uint32_t b = 0; b < c->n && !k->conflicts; b++)
			k->conflicts = (is_relevant(c, class, b) ||
					is_relevant(c, b, class)) &&
				       conflict_anywhere(c, class, b);
	}
	return k->conflicts;
}

bool np_class_array_leaves(const struct np_classes *c, uint32_t class,
			   const struct np_job *j,
			   const struct np_counts *counts, uint64_t *bits)
{
	const struct np_class *k = &c->at[class];

	for (size_t w = 0; w < c->p->lw; w++)
		bits[w] = counts->reach[w] & k->open[w] & ~k->self_apart[w];
	return np_counts_sum(j->switches, counts->usable,
			     counts->no_leaf_usable, bits,
			     c->p->lw) >= j->nodes_min;
}
