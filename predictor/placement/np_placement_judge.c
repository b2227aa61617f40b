/* From leaves held to what is written into a job, and why. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_placement_impl.h"

/* Looking for the cause ends after so many leaves, or causes found. */
#define LEAVES_ASKED 64
#define CAUSES_FOUND 4

/* The worst cause on a closed leaf; false: no conflict closes it. */
static bool cause_on(const struct np_classes *c, uint32_t class,
		     uint32_t leaf, struct np_cause *cause)
{
	const struct np_class *k = &c->at[class];
	const uint64_t *on = c->on_leaf + leaf * c->words;
	const uint64_t *mind = c->mind + class * c->words;
	struct np_cause one;
	bool any = false;

	if (!np_bits_test(k->open, leaf))
		return np_class_apart(c, class, NP_NONE, leaf, cause);
	for (uint32_t near = k->near; near; near &= near - 1) {
		size_t w = np_bits_at(0, near);
		uint64_t m = on[w] & mind[w];

		/* Its row says nothing of itself. */
		if (w == class / NP_BITS_WORD &&
		    np_bits_test(k->self_apart, leaf))
			m |= on[w] & UINT64_C(1) << class % NP_BITS_WORD;
		for (; m; m &= m - 1)
			if (np_class_apart(c, class, np_bits_at(w, m), leaf,
					   &one) &&
			    (!any || one.slowdown > cause->slowdown)) {
				*cause = one;
				any = true;
			}
	}
	return any;
}

/*
 * The worst cause on the first few closed leaves of a class; else they are
 * closed to make room for others.  open: leaves that are not closed.
 */
static void find_cause(const struct np_classes *c, uint32_t class,
		       const uint64_t *reach, const uint64_t *open,
		       struct np_cause *cause)
{
	struct np_cause one;
	int asked = 0, found = 0;

	*cause = (struct np_cause){
		.why = NP_WHY_FROM_PENDING, .leaf = NP_NO_LEAF
	};
	for (size_t w = 0; w < c->p->lw; w++)
		for (uint64_t m = reach[w] & ~open[w]; m; m &= m - 1) {
			uint32_t leaf = np_bits_at(w, m);

			if (asked++ == LEAVES_ASKED || found == CAUSES_FOUND)
				return;
			if (!cause_on(c, class, leaf, &one))
				continue;
			if (!found++ || one.slowdown > cause->slowdown)
				*cause = one;
		}
}

/* When a deferral ends. */
static int64_t until(const struct np_policy *policy, const struct np_job *j,
		     double held_sec, int64_t now_sec)
{
	/* One that cannot start by itself is only kept from starting before
	   anybody looks again, and that does not count. */
	bool waiting = j->state == NP_JOB_WAITING ||
		       j->eligible_sec > now_sec;
	double left = policy->max_defer_sec - (waiting ? 0 : held_sec);
	double step = waiting ? policy->max_defer_sec :
		      policy->defer_step_sec;
	int64_t end, last;

	if (left < 1)
		left = 1;
	last = now_sec + (int64_t)ceil(left);
	end = now_sec + (int64_t)ceil(step);
	if (j->prior == NP_PRIOR_DEFERRED &&
	    (double)(j->prior_until_sec - now_sec) > step / 2)
		end = j->prior_until_sec; /* good enough: no new update */
	if (end > last)
		end = last;
	return end > j->eligible_sec ? end : j->eligible_sec;
}

void np_placement_defer(struct np_allocation *a, const struct np_job *j,
			uint32_t class, const uint64_t *reach, int64_t now_sec,
			struct np_outcome *v)
{
	v->action = NP_ACT_DEFER;
	v->until_sec = until(&a->problem.policy, j, v->held_sec, now_sec);
	if (class != NP_NONE)
		find_cause(&a->classes, class, reach, a->problem.none,
			   &v->cause);
}

int np_placement_confine(struct np_allocation *a, uint32_t class,
			 const uint64_t *set, const uint64_t *reach,
			 struct np_outcome *v)
{
	struct np_problem *p = &a->problem;
	uint64_t *open = np_problem_alloc(p, p->lw, sizeof(*open));

	if (!open)
		return -ENOMEM;
	for (size_t w = 0; w < p->lw; w++)
		open[w] = set[w] | ~reach[w];
	np_bits_end(open, p->n_leaves);
	v->action = NP_ACT_CONFINE;
	v->leaves = open;
	find_cause(&a->classes, class, reach, open, &v->cause);
	return 0;
}

static const uint64_t *reach_of(const struct np_allocation *a, uint32_t job)
{
	const struct np_job *j = &a->problem.s->job[job];

	return a->problem.counts[j->candidates]->reach;
}

/* A job, to the leaves of its group, or to those found for mode prefer. */
static int open_to(struct np_allocation *a, uint32_t i, const uint64_t *set,
		   struct np_outcome *v)
{
	const uint64_t *reach = reach_of(a, i);

	if (!np_bits_within(reach, set, a->problem.lw))
		return np_placement_confine(a, a->requests.class[i], set, reach,
					    v);
	v->action = NP_ACT_ANYWHERE;
	v->cause.why = NP_WHY_FITS;
	return 0;
}

static void defer(struct np_allocation *a, uint32_t i, struct np_outcome *v)
{
	np_placement_defer(a, &a->problem.s->job[i], a->requests.class[i],
			   reach_of(a, i), a->problem.s->now_sec, v);
}

/* An array whose tasks conflict: each gets leaves, or waits. */
static int judge_tasks(struct np_allocation *a, uint32_t i,
		       struct np_outcome *v)
{
	const struct np_requests *all = &a->requests;
	const struct np_request *r = &all->at[all->of_job[i]];
	const uint64_t *last = NULL;

	v->task_leaves = np_problem_alloc(&a->problem, NP_PLACEMENT_MAX_TASKS,
					  sizeof(*v->task_leaves));
	if (!v->task_leaves)
		return -ENOMEM;
	for (; r < all->at + all->n && r->job == i; r++) {
		struct np_outcome one;

		if (!np_group_meets(&a->groups, r))
			continue;
		last = a->groups.at[r->group].set;
		if (open_to(a, i, last, &one))
			return -ENOMEM;
		v->task_leaves[v->tasks++] = one.action == NP_ACT_CONFINE ?
					     one.leaves : NULL;
	}
	/* Where all have leaves, the last one stays in the record. */
	if (v->tasks == a->problem.s->job[i].tasks) {
		v->tasks--;
		return open_to(a, i, last, v);
	}
	defer(a, i, v);
	if (v->tasks)
		v->cause.why = NP_WHY_TASKS;
	return 0;
}

static int judge_enforced(struct np_allocation *a, uint32_t i,
			  struct np_outcome *v)
{
	const struct np_request *r = &a->requests.at[a->requests.of_job[i]];

	if (a->classes.at[r->class].self &&
	    a->problem.s->job[i].tasks > 1 &&
	    !a->groups.at[r->group].together)
		return judge_tasks(a, i, v);
	if (np_group_meets(&a->groups, r))
		return open_to(a, i, a->groups.at[r->group].set, v);
	defer(a, i, v);
	return 0;
}

static int judge_preferred(struct np_allocation *a, uint32_t i,
			   struct np_outcome *v)
{
	const struct np_job *j = &a->problem.s->job[i];
	uint32_t class = a->requests.class[i];

	if (a->prefer.set[i])
		return open_to(a, i, a->prefer.set[i], v);
	v->action = NP_ACT_ANYWHERE;
	v->cause.why = NP_WHY_NO_ROOM_APART;
	if (!np_class_meets(&a->classes, class))
		v->cause.why = NP_WHY_HARMLESS;
	else if (a->classes.at[class].self && j->tasks > 1 &&
		 !np_class_together(&a->classes, class, j,
				    a->problem.counts[j->candidates],
				    a->problem.scratch))
		v->cause.why = NP_WHY_TASKS_TOGETHER;
	return 0;
}

/* Why a job that is ours has no class. */
static enum np_why not_placed(const struct np_problem *p,
			      const struct np_job *j)
{
	const struct np_counts *c = p->counts[j->candidates];

	if (!np_bits_any(c->reach, p->lw))
		return NP_WHY_NO_LEAF;
	return np_problem_enough(p, j, c) ? NP_WHY_TOO_MANY :
					    NP_WHY_TOO_FEW_NODES;
}

static int judge(struct np_placement *p, uint32_t i, struct np_outcome *v)
{
	const struct np_job *j = &p->s->job[i];
	struct np_allocation *a = np_placement_allocation(p, j);
	uint32_t class = a->requests.class[i];

	v->cause.why = np_problem_aside(&a->problem, j, p->s->now_sec);
	if (j->state == NP_JOB_RUNNING || v->cause.why)
		return 0;
	if (np_problem_held_enough(&a->problem, j, v->held_sec)) {
		v->action = NP_ACT_ANYWHERE;
		v->cause.why = NP_WHY_HELD_LONG_ENOUGH;
		return 0;
	}
	if (class == NP_NONE) {
		v->cause.why = not_placed(&a->problem, j);
		return 0;
	}
	if (a->classes.at[class].quiet) {
		v->action = NP_ACT_ANYWHERE;
		v->cause.why = p->t->profile[j->profile].complete ?
			       NP_WHY_HARMLESS : NP_WHY_NOT_PREDICTED;
		return 0;
	}
	return j->mode == NP_MODE_PREFER ? judge_preferred(a, i, v) :
	       judge_enforced(a, i, v);
}

/* Word w of the leaves that are open before, and by the outcome. */
static uint64_t open_before(const struct np_job *j, int64_t now_sec, size_t w)
{
	if (j->prior == NP_PRIOR_DEFERRED && j->prior_until_sec > now_sec)
		return 0;
	return j->prior == NP_PRIOR_LEAVES ? j->prior_leaves[w] :
					     ~UINT64_C(0);
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
	const struct np_job *j = &p->s->job[i];
	const struct np_counts *c = j->state == NP_JOB_RUNNING ? NULL :
		np_placement_allocation(p, j)->problem
		.counts[j->candidates];

	bool opens = false;

	if (j->state == NP_JOB_RUNNING)
		return;
	for (size_t w = 0; w < p->s->leaves->words; w++) {
		uint64_t reach = c ? c->reach[w] : ~UINT64_C(0);
		uint64_t was = open_before(j, p->s->now_sec, w) & reach;
		uint64_t is = open_after(v, w) & reach;

		v->changed |= was != is;
		v->narrows |= (was & ~is) != 0;
		opens |= (is & ~was) != 0;
	}
	if (v->action == NP_ACT_DEFER)
		v->changed |= j->prior != NP_PRIOR_DEFERRED ||
			      j->prior_until_sec != v->until_sec;
	else
		v->changed |= j->prior == NP_PRIOR_DEFERRED;
	v->changed |= v->tasks != 0;
	v->applied = j->mode != NP_MODE_ADVISE &&
		     v->action != NP_ACT_NONE;
	v->narrows &= v->applied;
	v->moves = v->narrows && v->action != NP_ACT_DEFER &&
		   (opens || v->tasks);
}

int np_placement_judge(struct np_placement *p)
{
	for (uint32_t i = 0; i < p->s->n_jobs; i++) {
		struct np_outcome *v = &p->outcome[i];
		int rc;

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
	const struct np_job *j = &p->s->job[i];
	const struct np_allocation *a = np_placement_allocation(p, j);
	const struct np_outcome *v = &p->outcome[i];
	struct np_cause c;

	if (v->action != NP_ACT_CONFINE && v->action != NP_ACT_DEFER)
		return;
	NP_BITS_EACH(leaf, reach_of(a, (uint32_t)i), p->s->leaves->words)
		if (!(open_after(v, leaf / NP_BITS_WORD) >>
		      leaf % NP_BITS_WORD & 1) &&
		    cause_on(&a->classes, a->requests.class[i],
					  (uint32_t)leaf, &c))
			fn(arg, &c);
}
