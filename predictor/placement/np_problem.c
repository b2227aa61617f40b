#include "np_problem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

bool np_problem_known(const struct np_problem *p, const struct np_job *j)
{
	const struct np_press_profile *f;

	if (j->profile == NP_PROFILE_UNKNOWN)
		return false;
	f = &p->t->profile[j->profile];
	return f->trusted || f->owner == j->owner;
}

bool np_problem_trusted(const struct np_problem *p, const struct np_job *j)
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
	if (!np_problem_known(p, j))
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

		if (!np_problem_known(p, j) || np_problem_trusted(p, j))
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
