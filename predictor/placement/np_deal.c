/* The frame of a decision: memory, whom it concerns, what nodes there are. */
#include "np_deal_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct np_deal_block {
	struct np_deal_block *next;
	max_align_t data[];
};

void *np_deal_alloc(struct np_deal *p, size_t n, size_t item)
{
	size_t bytes = n * item + item;
	struct np_deal_block *b = calloc(1, sizeof(*b) + bytes);

	if (!b)
		return NULL;
	b->next = p->blocks;
	p->blocks = b;
	p->bytes += bytes;
	return b->data;
}

void np_deal_free(struct np_deal *p)
{
	struct np_deal_block *b, *next;

	if (!p)
		return;
	for (b = p->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	free(p->cohort.at);
	free(p->undo.at);
	free(p);
}

bool np_deal_known(const struct np_deal *p, const struct np_job *j)
{
	const struct np_press_profile *f;

	if (j->profile == NP_PROFILE_UNKNOWN)
		return false;
	f = &p->t->profile[j->profile];
	return f->trusted || f->owner == j->owner;
}

bool np_deal_enforced(const struct np_deal *p, const struct np_job *j)
{
	return j->mode == NP_MODE_ENFORCE ||
	       (p->what_if && j->mode == NP_MODE_ADVISE);
}

bool np_deal_held_enough(const struct np_deal *p, const struct np_job *j,
			 double held_sec)
{
	return held_sec >= (j->mode == NP_MODE_PREFER ?
			       p->policy.prefer_patience_sec :
			       p->policy.max_defer_sec);
}

enum np_why np_deal_aside(const struct np_deal *p, const struct np_job *j,
			  int64_t now_sec)
{
	if (j->state == NP_JOB_RUNNING)
		return NP_WHY_RUNNING;
	if (j->mode == NP_MODE_OFF)
		return NP_WHY_OFF;
	if (!np_deal_known(p, j))
		return NP_WHY_UNKNOWN;
	if (j->flags & NP_JOB_NODELIST)
		return NP_WHY_NODELIST;
	if (j->flags & NP_JOB_RESERVATION)
		return NP_WHY_RESERVATION;
	if (j->flags & NP_JOB_HETEROGENEOUS)
		return NP_WHY_HETEROGENEOUS;
	if (j->flags & NP_JOB_CONSTRAINT)
		return NP_WHY_CONSTRAINT;
	if ((double)(j->eligible_sec - now_sec) > p->policy.horizon_sec)
		return NP_WHY_NOT_YET;
	return NP_WHY_RUNNING;
}

struct np_counts *np_deal_counts_new(struct np_deal *p)
{
	struct np_counts *c = np_deal_alloc(p, 1, sizeof(*c));
	uint16_t *n = np_deal_alloc(p, 3 * p->n_leaves, sizeof(*n));
	uint64_t *reach = np_deal_alloc(p, p->lw, sizeof(*reach));

	if (!c || !n || !reach)
		return NULL;
	c->usable = n;
	c->free_alone = n + p->n_leaves;
	c->free_shared = n + 2 * p->n_leaves;
	c->reach = reach;
	return c;
}

const struct np_counts *np_deal_counts(struct np_deal *p, uint32_t set)
{
	if (!p->counts[set]) {
		struct np_counts *c = np_deal_counts_new(p);

		if (!c)
			return NULL;
		np_snapshot_count(p->s, np_snapshot_set(p->s, set), c);
		p->counts[set] = c;
	}
	return p->counts[set];
}

/* What all nodes of each leaf offer, whoever asks. */
static int count_leaves(struct np_deal *p)
{
	uint64_t *all = np_deal_alloc(p, p->s->node_words, sizeof(*all));
	struct np_counts *c = np_deal_counts_new(p);

	if (!all || !c)
		return -ENOMEM;
	for (size_t i = 0; i < p->s->leaves->n_nodes; i++)
		np_bits_set(all, i);
	np_snapshot_count(p->s, all, c);
	p->leaf_usable = c->usable;
	p->leaf_free = c->free_alone;
	return 0;
}

/* Kinds of all pending jobs that are ours, and what they mean together. */
static int gather_kinds(struct np_deal *p)
{
	size_t room = NP_PLACEMENT_MAX_KINDS + NP_DEAL_SPARE_KINDS;
	size_t words;

	p->kind = np_deal_alloc(p, room, sizeof(*p->kind));
	p->kind_of_profile = np_deal_alloc(p, p->t->n, sizeof(uint32_t));
	if (!p->kind || !p->kind_of_profile)
		return -ENOMEM;
	memset(p->kind_of_profile, 0xff, p->t->n * sizeof(uint32_t));
	if (np_deal_seats(p))
		return -ENOMEM;
	p->n_first_kinds = p->n_kinds;
	p->kind_room = p->n_kinds + NP_DEAL_SPARE_KINDS;
	p->kw = np_bits_words(p->kind_room);
	words = p->kind_room * p->kw;
	p->hard = np_deal_alloc(p, words, sizeof(*p->hard));
	p->soft = np_deal_alloc(p, words, sizeof(*p->soft));
	p->kin = np_deal_alloc(p, words, sizeof(*p->kin));
	p->mind = np_deal_alloc(p, words, sizeof(*p->mind));
	p->on_leaf = np_deal_alloc(p, p->n_leaves * p->kw, sizeof(uint64_t));
	if (!p->hard || !p->soft || !p->kin || !p->mind || !p->on_leaf)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_kinds; i++)
		np_deal_kind_load(p, &p->kind[i]);
	for (uint32_t i = 0; i < p->n_kinds; i++)
		np_deal_kind_rows(p, i);
	for (size_t i = 0; i < p->n_kinds; i++) {
		struct np_kind *k = &p->kind[i];

		k->quiet = !k->self && np_deal_kind_full(p, k);
	}
	for (size_t i = 0; i < p->n_kinds; i++)
		NP_BITS_EACH(b, p->mind + i * p->kw, p->kw)
			p->kind[i].quiet = p->kind[b].quiet = false;
	return 0;
}

int np_deal_new(const struct np_snapshot *s, const struct np_press *t,
		const struct np_policy *policy, const double *held_sec,
		bool what_if, struct np_deal **out)
{
	struct np_deal *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->s = s;
	p->t = t;
	p->policy = *policy;
	p->limit = np_press_limit(policy->max_slowdown);
	p->held_sec = held_sec;
	p->what_if = what_if;
	p->n_leaves = s->leaves->n;
	p->lw = s->leaf_words;
	p->cohort.item = sizeof(struct np_cohort);
	p->undo.item = 2 * sizeof(uint32_t);
	p->counts = np_deal_alloc(p, s->set.n, sizeof(*p->counts));
	p->none = np_deal_alloc(p, p->lw, sizeof(*p->none));
	p->scratch = np_deal_alloc(p, p->lw, sizeof(*p->scratch));
	if (!p->counts || !p->none || !p->scratch || count_leaves(p) ||
	    np_deal_crowd(p) || gather_kinds(p) || np_deal_units(p) ||
	    np_deal_share(p) || np_deal_prefer(p)) {
		np_deal_free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}
