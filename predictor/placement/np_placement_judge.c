/* From leaves held to what is written into a job, and why. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_placement_impl.h"

/* Looking for the cause ends after so many leaves, or causes found. */
#define LEAVES_ASKED 64
#define CAUSES_FOUND 4

bool np_placement_cause_on(const struct np_deal *p, uint32_t kind,
			   uint32_t leaf, struct np_cause *cause)
{
	const struct np_kind *k = &p->kind[kind];
	const uint64_t *on = p->on_leaf + leaf * p->kw;
	struct np_cause c;
	bool any = false;

	if (!np_bits_test(k->open, leaf))
		return np_deal_apart(p, kind, NP_NONE, leaf, cause);
	NP_BITS_EACH(b, on, p->kw) {
		if (b == kind ? !np_bits_test(k->self_apart, leaf) :
		    !np_bits_test(p->mind + kind * p->kw, b))
			continue;
		if (np_deal_apart(p, kind, (uint32_t)b, leaf, &c) &&
		    (!any || c.slowdown > cause->slowdown)) {
			*cause = c;
			any = true;
		}
	}
	return any;
}

void np_placement_cause(const struct np_deal *p, uint32_t kind,
			const uint64_t *reach, const uint64_t *open,
			struct np_cause *cause)
{
	struct np_cause c;
	int asked = 0, found = 0;

	*cause = (struct np_cause){ .leaf = NP_NO_LEAF };
	for (size_t w = 0; w < p->lw; w++)
		for (uint64_t m = reach[w] & ~open[w]; m; m &= m - 1) {
			uint32_t leaf = np_bits_at(w, m);

			if (asked++ == LEAVES_ASKED || found == CAUSES_FOUND)
				return;
			if (!np_placement_cause_on(p, kind, leaf, &c))
				continue;
			if (!found++ || c.slowdown > cause->slowdown)
				*cause = c;
		}
}

int64_t np_placement_until(const struct np_policy *policy,
			   const struct np_job *j, double held_sec,
			   int64_t now_sec)
{
	/* One that cannot start by itself is only kept from starting before
	   anybody looks again, and that does not count. */
	bool waiting = j->state == NP_JOB_WAITING ||
		       j->eligible_sec > now_sec;
	double left = policy->max_defer_sec - (waiting ? 0 : held_sec);
	double step = waiting ? policy->max_defer_sec :
		      policy->defer_step_sec;
	int64_t until, last;

	if (left < 1)
		left = 1;
	last = now_sec + (int64_t)ceil(left);
	until = now_sec + (int64_t)ceil(step);
	if (j->prior == NP_PRIOR_DEFERRED &&
	    (double)(j->prior_until_sec - now_sec) > step / 2)
		until = j->prior_until_sec; /* good enough: no new update */
	if (until > last)
		until = last;
	return until > j->eligible_sec ? until : j->eligible_sec;
}

uint64_t *np_placement_open(struct np_deal *p, const uint64_t *set,
			    const uint64_t *reach)
{
	uint64_t *open = np_deal_alloc(p, p->lw, sizeof(*open));

	if (!open)
		return NULL;
	for (size_t w = 0; w < p->lw; w++)
		open[w] = set[w] | ~reach[w];
	if (p->n_leaves % NP_BITS_WORD)
		open[p->lw - 1] &= (UINT64_C(1) << p->n_leaves %
				    NP_BITS_WORD) - 1;
	return open;
}

static int confine(struct np_deal *p, const uint64_t *set,
		   const uint64_t *reach, uint32_t kind, struct np_outcome *v)
{
	uint64_t *open;

	if (np_bits_within(reach, set, p->lw)) {
		v->action = NP_ACT_ANYWHERE;
		v->cause.why = NP_WHY_FITS;
		return 0;
	}
	open = np_placement_open(p, set, reach);
	if (!open)
		return -ENOMEM;
	v->action = NP_ACT_CONFINE;
	v->leaves = open;
	np_placement_cause(p, kind, reach, open, &v->cause);
	if (v->cause.leaf == NP_NO_LEAF) /* closed to make room for others */
		v->cause.why = NP_WHY_FROM_PENDING;
	return 0;
}

static void defer(struct np_placement *p, struct np_deal *deal, uint32_t i,
		  struct np_outcome *v)
{
	const struct np_job *j = &np_snapshot_jobs(p->s)[i].in;

	v->action = NP_ACT_DEFER;
	v->until_sec = np_placement_until(&p->policy, j, v->held_sec,
					  p->s->now_sec);
	np_placement_cause(deal, deal->job_kind[i],
			   deal->counts[j->candidates]->reach, deal->none,
			   &v->cause);
	if (v->cause.leaf == NP_NO_LEAF)
		v->cause.why = NP_WHY_FROM_PENDING;
}

static bool seat_met(const struct np_deal *p, const struct np_seat *s)
{
	return np_deal_usable_in(p, np_deal_cohort(p, s->cohort)) >= s->need;
}

/* An array whose tasks conflict: each gets leaves, or waits. */
static int judge_tasks(struct np_placement *p, struct np_deal *deal,
		       uint32_t i, struct np_outcome *v)
{
	const struct np_job *j = &np_snapshot_jobs(p->s)[i].in;
	const uint64_t *reach = deal->counts[j->candidates]->reach;
	const struct np_seat *s = &deal->seat[deal->seat_of[i]], *last = NULL;
	uint32_t n = 0;

	p->first_task[i] = (uint32_t)p->task.n;
	for (; s < deal->seat + deal->n_seats && s->job == i; s++) {
		const uint64_t **leaves;
		struct np_outcome one;

		if (!seat_met(deal, s))
			continue;
		leaves = np_pool_add(&p->task, 1);
		if (!leaves ||
		    confine(deal, deal->unit[s->unit].set, reach, s->kind,
			    &one))
			return -ENOMEM;
		*leaves = one.action == NP_ACT_CONFINE ? one.leaves : NULL;
		last = s;
		n++;
	}
	if (n == j->tasks) { /* the last one stays in the record */
		v->tasks = n - 1;
		return confine(deal, deal->unit[last->unit].set, reach,
			       last->kind, v);
	}
	v->tasks = n;
	defer(p, deal, i, v);
	if (n)
		v->cause.why = NP_WHY_TASKS;
	return 0;
}

static int judge_enforced(struct np_placement *p, struct np_deal *deal,
			  uint32_t i, struct np_outcome *v)
{
	const struct np_job *j = &np_snapshot_jobs(p->s)[i].in;
	const struct np_seat *s = &deal->seat[deal->seat_of[i]];
	const struct np_unit *u = &deal->unit[s->unit];

	if (deal->kind[s->kind].self && j->tasks > 1 && !u->together)
		return judge_tasks(p, deal, i, v);
	if (seat_met(deal, s))
		return confine(deal, u->set,
			       deal->counts[j->candidates]->reach, s->kind, v);
	defer(p, deal, i, v);
	return 0;
}

static int judge_preferred(struct np_deal *deal, uint32_t i,
			   struct np_outcome *v)
{
	const struct np_job *j = &np_snapshot_jobs(deal->s)[i].in;
	uint32_t kind = deal->job_kind[i];

	if (deal->prefer_set[i])
		return confine(deal, deal->prefer_set[i],
			       deal->counts[j->candidates]->reach, kind, v);
	v->action = NP_ACT_ANYWHERE;
	v->cause.why = NP_WHY_NO_ROOM_APART;
	if (!np_deal_kind_meets(deal, kind))
		v->cause.why = NP_WHY_HARMLESS;
	else if (deal->kind[kind].self && j->tasks > 1 &&
		 !np_deal_together(deal, j, kind,
				   deal->counts[j->candidates], deal->scratch))
		v->cause.why = NP_WHY_TASKS_TOGETHER;
	return 0;
}

/* Why a job that is ours has no kind. */
static enum np_why not_placed(const struct np_deal *deal,
			      const struct np_job *j)
{
	const struct np_counts *c = deal->counts[j->candidates];

	if (!np_bits_any(c->reach, deal->lw))
		return NP_WHY_NO_LEAF;
	return np_deal_enough(deal, j, c) ? NP_WHY_TOO_MANY :
					    NP_WHY_TOO_FEW_NODES;
}

static int judge(struct np_placement *p, uint32_t i, struct np_outcome *v)
{
	const struct np_job *j = &np_snapshot_jobs(p->s)[i].in;
	struct np_deal *deal = np_placement_deal(p, j);
	uint32_t kind = deal->job_kind[i];

	v->cause.why = np_deal_aside(deal, j, p->s->now_sec);
	if (j->state == NP_JOB_RUNNING || v->cause.why)
		return 0;
	if (np_deal_held_enough(deal, j, v->held_sec)) {
		v->action = NP_ACT_ANYWHERE;
		v->cause.why = NP_WHY_HELD_LONG_ENOUGH;
		return 0;
	}
	if (kind == NP_NONE) {
		v->cause.why = not_placed(deal, j);
		return 0;
	}
	if (deal->kind[kind].quiet) {
		v->action = NP_ACT_ANYWHERE;
		v->cause.why = np_press_complete(p->t, (uint32_t)j->profile) ?
			       NP_WHY_HARMLESS : NP_WHY_NOT_PREDICTED;
		return 0;
	}
	return j->mode == NP_MODE_PREFER ? judge_preferred(deal, i, v) :
	       judge_enforced(p, deal, i, v);
}

/* Word w of the leaves that are open before, and by the outcome. */
static uint64_t open_before(const struct np_snapshot_job *j,
			    const struct np_snapshot *s, size_t w)
{
	if (j->in.prior == NP_PRIOR_DEFERRED &&
	    j->in.prior_until_sec > s->now_sec)
		return 0;
	return j->in.prior == NP_PRIOR_LEAVES ?
	       np_snapshot_prior(s, j)[w] : ~UINT64_C(0);
}

static uint64_t open_after(const struct np_outcome *v, size_t w)
{
	if (v->action == NP_ACT_DEFER)
		return 0;
	return v->action == NP_ACT_CONFINE ? v->leaves[w] : ~UINT64_C(0);
}

/* What differs on leaves that the job can reach. */
static void compare(struct np_placement *p, uint32_t i, struct np_outcome *v)
{
	const struct np_snapshot_job *j = &np_snapshot_jobs(p->s)[i];
	const struct np_counts *c = j->in.state == NP_JOB_RUNNING ? NULL :
		np_placement_deal(p, &j->in)->counts[j->in.candidates];

	bool opens = false;

	if (j->in.state == NP_JOB_RUNNING)
		return;
	for (size_t w = 0; w < p->s->leaf_words; w++) {
		uint64_t reach = c ? c->reach[w] : ~UINT64_C(0);
		uint64_t was = open_before(j, p->s, w) & reach;
		uint64_t is = open_after(v, w) & reach;

		v->changed |= was != is;
		v->narrows |= (was & ~is) != 0;
		opens |= (is & ~was) != 0;
	}
	if (v->action == NP_ACT_DEFER)
		v->changed |= j->in.prior != NP_PRIOR_DEFERRED ||
			      j->in.prior_until_sec != v->until_sec;
	else
		v->changed |= j->in.prior == NP_PRIOR_DEFERRED;
	v->changed |= v->tasks != 0;
	v->applied = j->in.mode != NP_MODE_ADVISE &&
		     v->action != NP_ACT_NONE;
	v->narrows &= v->applied;
	v->moves = v->narrows && v->action != NP_ACT_DEFER &&
		   (opens || v->tasks);
}

int np_placement_judge(struct np_placement *p)
{
	for (uint32_t i = 0; i < p->s->job.n; i++) {
		struct np_outcome *v = &p->outcome[i];
		int rc;

		v->held_sec = p->held_sec[i];
		v->cause.leaf = NP_NO_LEAF;
		rc = judge(p, i, v);
		if (rc)
			return rc;
		compare(p, i, v);
	}
	return 0;
}

void np_placement_causes(const struct np_placement *p, size_t i,
			 np_placement_cause_fn *fn, void *arg)
{
	const struct np_job *j = &np_snapshot_jobs(p->s)[i].in;
	const struct np_deal *deal = np_placement_deal(p, j);
	const struct np_outcome *v = &p->outcome[i];
	struct np_cause c;

	if (v->action != NP_ACT_CONFINE && v->action != NP_ACT_DEFER)
		return;
	NP_BITS_EACH(leaf, deal->counts[j->candidates]->reach, deal->lw)
		if (!(open_after(v, leaf / NP_BITS_WORD) >>
		      leaf % NP_BITS_WORD & 1) &&
		    np_placement_cause_on(deal, deal->job_kind[i],
					  (uint32_t)leaf, &c))
			fn(arg, &c);
}
