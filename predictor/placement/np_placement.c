#include "np_placement.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_allocation.h"
#include "np_array.h"

/* A submission that was decided since the snapshot. */
struct np_admitted {
	struct np_job job;
	int64_t at_sec;	  /* time of submission */
	uint64_t *leaves; /* that it may use */
	uint32_t class;
	bool class_known; /* conflicting jobs avoid its leaves */
	bool restricted;  /* to leaves */
};

struct np_placement {
	struct np_snapshot *s;
	struct np_slowdowns *t;
	struct np_policy policy;
	/*
	 * What is done; and what would be done if partitions in mode advise
	 * were enforced. The same where that makes no difference.
	 */
	struct np_allocation *real, *advised;
	struct np_outcome *outcome; /* per job */

	struct np_admitted *journal; /* submissions since the snapshot */
	size_t n_admitted, journal_room;
	struct np_shares admitted; /* their number, by owner */
	/* Classes of p->real with jobs that could not be updated. */
	uint32_t *unwritten;
	size_t n_unwritten;
	/* For the job being submitted. */
	struct np_counts *scratch;
	uint64_t *scratch_set; /* nodes, by position */
	uint64_t *scratch_leaves;
};

/* The allocation that decides for a job. */
static inline struct np_allocation *
np_placement_allocation(const struct np_placement *p, const struct np_job *j)
{
	return j->mode == NP_MODE_ADVISE ? p->advised : p->real;
}

/* ---- Arrivals ---- */

static int by_owner(const void *a, const void *b)
{
	uint32_t x = ((const struct np_arrival *)a)->owner;
	uint32_t y = ((const struct np_arrival *)b)->owner;

	return x < y ? -1 : x > y;
}

void np_arrivals_init(struct np_arrivals *a, int64_t since_sec,
		      struct np_arrival *of, size_t n)
{
	*a = (struct np_arrivals){ .since_sec = since_sec, .of = of };
	if (n)
		qsort(of, n, sizeof(*of), by_owner);
	for (size_t i = 0; i < n; i++)
		if (a->n && of[a->n - 1].owner == of[i].owner)
			of[a->n - 1].n += of[i].n;
		else
			of[a->n++] = of[i];
}

bool np_arrivals_take(struct np_arrivals *a, uint32_t owner)
{
	const struct np_arrival key = { .owner = owner };
	struct np_arrival *of = a->n ? bsearch(&key, a->of, a->n, sizeof(key),
					       by_owner) : NULL;

	if (!of || !of->n)
		return false;
	of->n--;
	return true;
}

/*
 * ---- How long placement has held each job back ----
 *
 * The time between two decisions counts for a job that was held during it, and
 * for one that was restricted to leaves and might have started otherwise:
 * either as many candidate nodes are free now as it needs, or it is at the head
 * of its partition's queue and jobs behind it started on leaves closed to it.
 *
 * The second case prevents starvation on a full cluster, where nodes go to the
 * next job in the same scheduling pass that frees them and are never seen free.
 * A job at the head that no other job overtakes finds them free in the end.
 */

struct hold_clock {
	const struct np_snapshot *s;
	uint32_t *last_start; /* per leaf: of the jobs that started since the
				 last decision, the one of lowest precedence;
				 NP_NONE */
	uint8_t *blocked;     /* per partition: a job ahead in the queue waits
				 for reasons other than placement */
};

/* Find the job of lowest precedence that started on each leaf. */
static void note_starts(struct hold_clock *c)
{
	const struct np_job *job = c->s->job;

	for (uint32_t i = 0; i < c->s->n_jobs; i++) {
		if (job[i].state != NP_JOB_RUNNING ||
		    job[i].start_sec <= c->s->last_sec)
			continue;
		for (uint32_t k = 0; k < job[i].n_leaves; k++) {
			uint32_t *last = &c->last_start[job[i].leaf[k]];

			if (*last == NP_NONE ||
			    np_order_precedence(&job[i], &job[*last]) > 0)
				*last = i;
		}
	}
}

static bool on_leaf(const struct np_snapshot *s, const uint64_t *set,
		    uint32_t leaf)
{
	const uint32_t *first = s->leaves->first;
	size_t next = np_bits_next(set, s->leaves->node_words, first[leaf]);

	return next < first[leaf + 1];
}

/* Whether a job of lower precedence started on a leaf that is closed to j. */
static bool overtaken(const struct hold_clock *c, const struct np_job *j)
{
	const uint64_t *set = np_snapshot_set(c->s, j->candidates);

	for (uint32_t leaf = 0; leaf < c->s->leaves->n; leaf++) {
		uint32_t last = c->last_start[leaf];

		if (last != NP_NONE && !np_bits_test(j->prior_leaves, leaf) &&
		    np_order_precedence(j, &c->s->job[last]) < 0 &&
		    on_leaf(c->s, set, leaf))
			return true;
	}
	return false;
}

/* Whether enough candidate nodes are free now, on any leaves. */
static bool could_start(const struct np_snapshot *s, const struct np_job *j)
{
	const uint64_t *set = np_snapshot_set(s, j->candidates);
	const uint64_t *free =
		j->flags & NP_JOB_SHARES_NODES ? s->idle_or_mixed : s->idle;
	size_t n = 0;

	for (size_t k = 0; k < s->leaves->node_words; k++)
		n += (size_t)__builtin_popcountll(set[k] & free[k]);
	return n >= j->nodes_min;
}

/* Time since the last decision during which a job could have started. */
static double elapsed_sec(const struct np_snapshot *s, const struct np_job *j)
{
	int64_t from = s->last_sec;

	if (!from)
		return 0;
	if (j->submit_sec > from)
		from = j->submit_sec;
	if (j->eligible_sec > from)
		from = j->eligible_sec;
	return s->now_sec > from ? (double)(s->now_sec - from) : 0;
}

/* Must be called in order of precedence. */
static double held_sec_of(struct hold_clock *c, const struct np_job *j)
{
	bool back = false;

	if (j->state != NP_JOB_READY)
		return j->held_sec;
	if (j->prior == NP_PRIOR_HELD)
		back = true;
	else if (j->prior == NP_PRIOR_RESTRICTED)
		back = could_start(c->s, j) ||
		       (!c->blocked[j->partition] && overtaken(c, j));
	else
		c->blocked[j->partition] = 1;
	return j->held_sec + (back ? elapsed_sec(c->s, j) : 0);
}

/* Fill in held_sec of each job's outcome. 0 or -ENOMEM. */
static int count_holds(const struct np_snapshot *s, struct np_outcome *outcome)
{
	struct hold_clock c = { .s = s };
	uint32_t *order = malloc((s->n_jobs + 1) * sizeof(*order));
	size_t n = 0;
	int rc = -ENOMEM;

	c.last_start = malloc((s->leaves->n + 1) * sizeof(*c.last_start));
	c.blocked = calloc(UINT16_MAX + 1, sizeof(*c.blocked));
	if (!order || !c.last_start || !c.blocked)
		goto out;
	memset(c.last_start, 0xff, s->leaves->n * sizeof(*c.last_start));
	note_starts(&c);
	for (uint32_t i = 0; i < s->n_jobs; i++)
		if (s->job[i].state != NP_JOB_RUNNING)
			order[n++] = i;
	np_order_jobs(s, order, n);
	for (size_t i = 0; i < n; i++)
		outcome[order[i]].held_sec = held_sec_of(&c, &s->job[order[i]]);
	rc = 0;
out:
	free(c.blocked);
	free(c.last_start);
	free(order);
	return rc;
}

/* ---- The reason in words ---- */

struct line {
	char *buf;
	size_t size, at;
};

__attribute__((format(printf, 2, 3)))
static void append(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (l->at + 1 >= l->size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(l->buf + l->at, l->size - l->at, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->at += (size_t)n < l->size - l->at ? (size_t)n :
			 l->size - l->at - 1;
}

static const char *const reasons[] = {
	[NP_WHY_RUNNING] = "it is running",
	[NP_WHY_OFF] = "placement is off in its partition",
	[NP_WHY_UNKNOWN] = "its application is not known, or its profile is "
			   "another user's and not trusted",
	[NP_WHY_NODELIST] = "it asks for nodes by name",
	[NP_WHY_RESERVATION] = "it runs in a reservation",
	[NP_WHY_HETEROGENEOUS] = "it is a component of a heterogeneous job, "
				 "and all components must start together",
	[NP_WHY_CONSTRAINT] = "placement cannot tell which nodes match its "
			      "partitions, features or excluded nodes",
	[NP_WHY_CHANGING] = "its user changes jobs faster than placement can "
			    "update them",
	[NP_WHY_NOT_YET] = "its begin time is too far in the future",
	[NP_WHY_NO_LEAF] = "none of its nodes is on a leaf switch",
	[NP_WHY_TOO_MANY] = "there are too many different kinds of jobs, or "
			    "its user submitted too many jobs at once",
	[NP_WHY_HARMLESS] = "it conflicts with no other job",
	[NP_WHY_NOT_PREDICTED] = "no conflict is known, but some predictions "
				 "are still missing",
	[NP_WHY_FITS] = "no conflicting job on its eligible leaf switches",
	[NP_WHY_HOLD_EXPIRED] = "the maximum hold time is reached",
	[NP_WHY_NO_ROOM_APART] = "too few nodes are free to keep it apart and "
				 "still start it now",
	[NP_WHY_TASKS_TOGETHER] = "the tasks of this array conflict with each "
				  "other, and mode prefer holds no job",
	[NP_WHY_FROM_RUNNING] = "it conflicts with running jobs",
	[NP_WHY_FROM_PENDING] = "leaf switches are reserved for jobs that "
				"conflict with it",
	[NP_WHY_TASKS] = "its tasks conflict with each other; each gets leaf "
			 "switches of its own in turn",
	[NP_WHY_TOO_FEW_NODES] = "too few of its nodes are usable, even "
				 "without placement",
};

/* Jobs submitted since the snapshot have no id yet. */
static void append_job(struct line *l, const struct np_cause *c, uint32_t id)
{
	const char *state = c->why == NP_WHY_FROM_RUNNING ? "running" :
			    "pending";

	if (id)
		append(l, "%s job %u", state, id);
	else
		append(l, "a %s job", state);
}

static void append_cause(struct line *l, const struct np_placement *p,
			 const struct np_job *job, const struct np_cause *c)
{
	const char *leaf;

	if (c->leaf == NP_NO_LEAF || c->leaf >= p->s->leaves->n) {
		append(l, "%s", reasons[c->why]);
		return;
	}
	leaf = p->s->leaves->name[c->leaf];
	append(l, "on leaf switch %s ", leaf);
	if (c->victim_self)
		append(l, "it");
	else if (c->victim == c->other)
		append_job(l, c, c->victim);
	else
		append(l, "running job %u", c->victim);
	append(l, " would be slowed by %.0f %% (limit %.0f %%)",
	       100 * c->slowdown, 100 * p->policy.max_slowdown);
	if (!c->victim_self && c->victim == c->other)
		return;
	if (c->other && c->other == job->id) {
		append(l, " beside another job of its kind");
		return;
	}
	append(l, " with ");
	append_job(l, c, c->other);
}

/* Number of leaves closed to a job. */
static unsigned closed(const struct np_placement *p,
		       const struct np_outcome *v)
{
	return (unsigned)(p->s->leaves->n -
			  np_bits_count(v->leaves, p->s->leaves->words));
}

const char *np_placement_text(const struct np_placement *p,
			      const struct np_job *job,
			      const struct np_outcome *v, char *buf,
			      size_t size)
{
	struct line l = { buf, size, 0 };

	if (!size)
		return buf;
	buf[0] = '\0';
	if (job->mode == NP_MODE_ADVISE && v->action != NP_ACT_NONE)
		append(&l, "advice, not applied: ");
	switch (v->action) {
	case NP_ACT_NONE:
		append(&l, "left alone: ");
		break;
	case NP_ACT_UNRESTRICTED:
		append(&l, "may run anywhere: ");
		break;
	case NP_ACT_RESTRICT:
		append(&l, "kept off %u of %zu leaf switches: ", closed(p, v),
		       p->s->leaves->n);
		break;
	case NP_ACT_HOLD:
		append(&l, "held, for %lld s at first: ",
		       (long long)(v->until_sec > p->s->now_sec ?
				   v->until_sec - p->s->now_sec : 0));
		break;
	}
	if (v->tasks)
		append(&l, "%u tasks get leaf switches of their own; ",
		       v->tasks);
	append_cause(&l, p, job, &v->cause);
	if (v->held_sec >= 1)
		append(&l, "; held back for %.0f s so far, %.0f s at most",
		       v->held_sec, job->mode == NP_MODE_PREFER ?
		       NP_PLACEMENT_PATIENCE_SEC : p->policy.max_defer_sec);
	return buf;
}

/* ---- From the leaves held to the outcome of a job, and its cause ---- */

/* The search for a cause ends after this many leaves, or causes. */
#define MAX_LEAVES_SEARCHED 64
#define MAX_CAUSES_FOUND 4

/* Find the worst cause on a closed leaf; false: no conflict closes it. */
static bool cause_on(const struct np_classes *c, uint32_t class,
		     uint32_t leaf, struct np_cause *cause)
{
	const struct np_class *k = &c->at[class];
	const uint64_t *on = c->on_leaf + leaf * c->words;
	const uint64_t *relevant = c->relevant + class * c->words;
	struct np_cause one;
	bool any = false;

	if (!np_bits_test(k->open, leaf))
		return np_class_avoids(c, class, NP_NONE, leaf, cause);
	for (uint32_t row_words = k->row_words; row_words;
	     row_words &= row_words - 1) {
		size_t w = np_bits_lowest(0, row_words);
		uint64_t m = on[w] & relevant[w];

		/* A class is not in its own bitmaps. */
		if (w == class / NP_BITS_WORD &&
		    np_bits_test(k->self_apart, leaf))
			m |= on[w] & UINT64_C(1) << class % NP_BITS_WORD;
		for (; m; m &= m - 1)
			if (np_class_avoids(c, class, np_bits_lowest(w, m), leaf,
					    &one) &&
			    (!any || one.slowdown > cause->slowdown)) {
				*cause = one;
				any = true;
			}
	}
	return any;
}

/*
 * The worst cause on the first few leaves that are closed to a class, i.e. not
 * in open. If there is none, they were given to other groups: FROM_PENDING.
 */
static void find_cause(const struct np_classes *c, uint32_t class,
		       const uint64_t *reach, const uint64_t *open,
		       struct np_cause *cause)
{
	struct np_cause one;
	int searched = 0, found = 0;

	*cause = (struct np_cause){
		.why = NP_WHY_FROM_PENDING, .leaf = NP_NO_LEAF
	};
	for (size_t w = 0; w < c->p->lw; w++)
		for (uint64_t m = reach[w] & ~open[w]; m; m &= m - 1) {
			uint32_t leaf = np_bits_lowest(w, m);

			if (searched++ == MAX_LEAVES_SEARCHED ||
			    found == MAX_CAUSES_FOUND)
				return;
			if (!cause_on(c, class, leaf, &one))
				continue;
			if (!found++ || one.slowdown > cause->slowdown)
				*cause = one;
		}
}

/* End of a hold, seconds since the epoch. */
static int64_t until(const struct np_policy *policy, const struct np_job *j,
		     double held_sec, int64_t now_sec)
{
	/* A job that cannot start by itself is held only in case it becomes
	   able to before the next decision; that does not count as held. */
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
	if (j->prior == NP_PRIOR_HELD &&
	    (double)(j->prior_until_sec - now_sec) > step / 2)
		end = j->prior_until_sec; /* close enough: saves an update */
	if (end > last)
		end = last;
	return end > j->eligible_sec ? end : j->eligible_sec;
}

/* Hold a job; class: NP_NONE if it is not known, and then no cause is set. */
static void set_hold(struct np_allocation *a, const struct np_job *j,
		     uint32_t class, const uint64_t *reach,
		     int64_t now_sec, struct np_outcome *v)
{
	v->action = NP_ACT_HOLD;
	v->until_sec = until(&a->problem.policy, j, v->held_sec, now_sec);
	if (class != NP_NONE)
		find_cause(&a->classes, class, reach, a->problem.no_leaves,
			   &v->cause);
}

/* Restrict a job to the leaves in set, of those it can reach. 0 or -ENOMEM. */
static int set_restricted(struct np_allocation *a, uint32_t class,
			  const uint64_t *set, const uint64_t *reach,
			  struct np_outcome *v)
{
	struct np_problem *p = &a->problem;
	uint64_t *open = np_problem_alloc(p, p->lw, sizeof(*open));

	if (!open)
		return -ENOMEM;
	for (size_t w = 0; w < p->lw; w++)
		open[w] = set[w] | ~reach[w];
	np_bits_trim(open, p->n_leaves);
	v->action = NP_ACT_RESTRICT;
	v->leaves = open;
	find_cause(&a->classes, class, reach, open, &v->cause);
	return 0;
}

static const uint64_t *reach_of(const struct np_allocation *a, uint32_t job)
{
	const struct np_job *j = &a->problem.s->job[job];

	return a->problem.counts[j->candidates]->reach;
}

/*
 * Open the leaves in set to a job, unrestricted if these are all. 0 or -ENOMEM.
 */
static int open_leaves(struct np_allocation *a, uint32_t i, const uint64_t *set,
		       struct np_outcome *v)
{
	const uint64_t *reach = reach_of(a, i);

	if (!np_bits_subset(reach, set, a->problem.lw))
		return set_restricted(a, a->requests.class[i], set, reach,
				      v);
	v->action = NP_ACT_UNRESTRICTED;
	v->cause.why = NP_WHY_FITS;
	return 0;
}

static void hold_job(struct np_allocation *a, uint32_t i, struct np_outcome *v)
{
	set_hold(a, &a->problem.s->job[i], a->requests.class[i],
		 reach_of(a, i), a->problem.s->now_sec, v);
}

/*
 * An array whose tasks conflict: each task gets leaves of its own, or is held.
 */
static int decide_tasks(struct np_allocation *a, uint32_t i,
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

		if (!np_group_served(&a->groups, r))
			continue;
		last = a->groups.at[r->group].set;
		if (open_leaves(a, i, last, &one))
			return -ENOMEM;
		v->task_leaves[v->tasks++] = one.action == NP_ACT_RESTRICT ?
					     one.leaves : NULL;
	}
	/* If all tasks have leaves, the last one keeps the array's record. */
	if (v->tasks == a->problem.s->job[i].tasks) {
		v->tasks--;
		return open_leaves(a, i, last, v);
	}
	hold_job(a, i, v);
	if (v->tasks)
		v->cause.why = NP_WHY_TASKS;
	return 0;
}

/* Outcome of a job in an enforced partition, from its requests. */
static int decide_enforced(struct np_allocation *a, uint32_t i,
			   struct np_outcome *v)
{
	const struct np_request *r = &a->requests.at[a->requests.of_job[i]];

	if (a->classes.at[r->class].self &&
	    a->problem.s->job[i].tasks > 1 &&
	    !a->groups.at[r->group].together)
		return decide_tasks(a, i, v);
	if (np_group_served(&a->groups, r))
		return open_leaves(a, i, a->groups.at[r->group].set, v);
	hold_job(a, i, v);
	return 0;
}

/* Outcome of a job in mode prefer. */
static int decide_preferred(struct np_allocation *a, uint32_t i,
			    struct np_outcome *v)
{
	const struct np_job *j = &a->problem.s->job[i];
	uint32_t class = a->requests.class[i];

	if (a->prefer.set[i])
		return open_leaves(a, i, a->prefer.set[i], v);
	v->action = NP_ACT_UNRESTRICTED;
	v->cause.why = NP_WHY_NO_ROOM_APART;
	if (!np_class_conflicts(&a->classes, class))
		v->cause.why = NP_WHY_HARMLESS;
	else if (a->classes.at[class].self && j->tasks > 1 &&
		 !np_class_array_leaves(&a->classes, class, j,
					a->problem.counts[j->candidates],
					a->problem.scratch))
		v->cause.why = NP_WHY_TASKS_TOGETHER;
	return 0;
}

/* Why a job that placement decides about has no class. */
static enum np_why why_no_class(const struct np_problem *p,
				const struct np_job *j)
{
	const struct np_counts *c = p->counts[j->candidates];

	if (!np_bits_any(c->reach, p->lw))
		return NP_WHY_NO_LEAF;
	return np_problem_feasible(p, j, c) ? NP_WHY_TOO_MANY :
					    NP_WHY_TOO_FEW_NODES;
}

/* Outcome of the i-th job of the snapshot. 0 or -ENOMEM. */
static int decide_job(struct np_placement *p, uint32_t i, struct np_outcome *v)
{
	const struct np_job *j = &p->s->job[i];
	struct np_allocation *a = np_placement_allocation(p, j);
	uint32_t class = a->requests.class[i];

	v->cause.why = np_problem_exempt(&a->problem, j, p->s->now_sec);
	if (j->state == NP_JOB_RUNNING || v->cause.why)
		return 0;
	if (np_problem_hold_expired(&a->problem, j, v->held_sec)) {
		v->action = NP_ACT_UNRESTRICTED;
		v->cause.why = NP_WHY_HOLD_EXPIRED;
		return 0;
	}
	if (class == NP_NONE) {
		v->cause.why = why_no_class(&a->problem, j);
		return 0;
	}
	if (a->classes.at[class].conflict_free) {
		v->action = NP_ACT_UNRESTRICTED;
		v->cause.why = p->t->profile[j->profile].complete ?
			       NP_WHY_HARMLESS : NP_WHY_NOT_PREDICTED;
		return 0;
	}
	return j->mode == NP_MODE_PREFER ? decide_preferred(a, i, v) :
	       decide_enforced(a, i, v);
}

/* Word w of the leaves open to a job by the prior decision, and by this one. */
static uint64_t open_before(const struct np_job *j, int64_t now_sec, size_t w)
{
	if (j->prior == NP_PRIOR_HELD && j->prior_until_sec > now_sec)
		return 0;
	return j->prior == NP_PRIOR_RESTRICTED ? j->prior_leaves[w] :
					     ~UINT64_C(0);
}

static uint64_t open_after(const struct np_outcome *v, size_t w)
{
	if (v->action == NP_ACT_HOLD)
		return 0;
	return v->action == NP_ACT_RESTRICT ? v->leaves[w] : ~UINT64_C(0);
}

/* Fill in how an outcome differs from the prior one, on leaves in reach. */
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
	if (v->action == NP_ACT_HOLD)
		v->changed |= j->prior != NP_PRIOR_HELD ||
			      j->prior_until_sec != v->until_sec;
	else
		v->changed |= j->prior == NP_PRIOR_HELD;
	v->changed |= v->tasks != 0;
	v->applied = j->mode != NP_MODE_ADVISE &&
		     v->action != NP_ACT_NONE;
	v->narrows &= v->applied;
	v->moves = v->narrows && v->action != NP_ACT_HOLD &&
		   (opens || v->tasks);
}

/* Fill in the rest of p->outcome. 0 or -ENOMEM. */
static int decide_jobs(struct np_placement *p)
{
	for (uint32_t i = 0; i < p->s->n_jobs; i++) {
		struct np_outcome *v = &p->outcome[i];
		int rc;

		v->cause.leaf = NP_NO_LEAF;
		rc = decide_job(p, i, v);
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

	if (v->action != NP_ACT_RESTRICT && v->action != NP_ACT_HOLD)
		return;
	NP_BITS_EACH(leaf, reach_of(a, (uint32_t)i), p->s->leaves->words)
		if (!(open_after(v, leaf / NP_BITS_WORD) >>
		      leaf % NP_BITS_WORD & 1) &&
		    cause_on(&a->classes, a->requests.class[i],
			     (uint32_t)leaf, &c))
			fn(arg, &c);
}

/* ---- One job that is being submitted ---- */

/* Count its candidate nodes, less the user's exclusions, into p->scratch. */
static void count(struct np_placement *p, const struct np_job *j,
		  const uint64_t *minus)
{
	size_t words = p->s->leaves->node_words;

	memcpy(p->scratch_set, np_snapshot_set(p->s, j->candidates),
	       words * sizeof(uint64_t));
	if (minus)
		NP_BITS_EACH(node, minus, words)
			if (node < p->s->leaves->n_nodes)
				np_bits_clear(p->scratch_set,
					      p->s->leaves->place[node]);
	np_counts_fill(p->s, p->scratch_set, p->scratch);
}

/* Add the smallest leaf that has all missing nodes, or else the largest. */
static bool add_leaf(size_t lw, const uint16_t *column,
		     const uint64_t *can, uint64_t missing, uint64_t *set)
{
	uint32_t best = NP_NONE, most = 0;

	for (size_t w = 0; w < lw; w++)
		for (uint64_t m = can[w] & ~set[w]; m; m &= m - 1) {
			uint32_t leaf = np_bits_lowest(w, m);
			uint32_t n = column[leaf];

			if (n >= missing ? most < missing || n < most :
			    n > most) {
				best = leaf;
				most = n;
			}
		}
	if (best != NP_NONE)
		np_bits_set(set, best);
	return best != NP_NONE;
}

/* One submission while it is decided. */
struct submission {
	struct np_placement *p;
	struct np_allocation *a;
	const struct np_job *job;
	const struct np_counts *counts;
	uint32_t class;
	int64_t now_sec;
	uint64_t *set; /* leaves it gets */
	struct np_outcome *v;
};

/* Record the leaves that a submission may use in the journal. 0 or -ENOMEM. */
static int admit(struct np_placement *p, struct np_allocation *a,
		 const struct np_admitted *what)
{
	size_t lw = p->s->leaves->words;
	uint64_t *leaves = np_problem_alloc(&a->problem, lw, sizeof(*leaves));
	struct np_admitted *to;

	if (!leaves || np_array_room(&p->journal, &p->journal_room,
				     p->n_admitted + 1, sizeof(*to)))
		return -ENOMEM;
	np_shares_add(&p->admitted, what->job.owner, 1);
	to = &p->journal[p->n_admitted++];
	memcpy(leaves, what->leaves, lw * sizeof(*leaves));
	*to = *what;
	to->leaves = leaves;
	to->job.node = NULL;
	to->job.prior_leaves = NULL;
	if (what->class_known)
		NP_BITS_EACH(leaf, leaves, lw)
			np_class_hold(&a->classes, what->class,
				      (uint32_t)leaf);
	np_prefer_admit(&a->prefer, &what->job, what->restricted, leaves);
	return 0;
}

/* Whether the owner's share of the journal is used up. */
static bool full(const struct np_placement *p, uint32_t owner)
{
	return !np_shares_left(&p->admitted, owner, 1);
}

static void allow_anywhere(struct submission *s, enum np_why why)
{
	s->v->action = NP_ACT_UNRESTRICTED;
	s->v->cause.why = why;
	memcpy(s->set, s->counts->reach, s->a->problem.lw * sizeof(*s->set));
}

static void hold_submission(struct submission *s, enum np_why otherwise)
{
	set_hold(s->a, s->job, s->class, s->counts->reach,
		 s->now_sec, s->v);
	if (s->v->cause.leaf == NP_NO_LEAF)
		s->v->cause.why = otherwise;
}

static int restrict_submission(struct submission *s)
{
	return set_restricted(s->a, s->class, s->set, s->counts->reach,
			      s->v);
}

/* Why a job may use all its leaves. */
static enum np_why why_unrestricted(const struct submission *s)
{
	const struct np_classes *c = &s->a->classes;
	size_t at = s->class * c->words;

	if (c->at[s->class].self || np_bits_any(c->hard + at, c->words) ||
	    np_bits_any(c->soft + at, c->words) ||
	    !np_class_open_everywhere(c, s->class))
		return NP_WHY_FITS;
	return c->p->t->profile[s->job->profile].complete ?
	       NP_WHY_HARMLESS : NP_WHY_NOT_PREDICTED;
}

/*
 * Choose leaves among can[]: those that its class holds already, and only as
 * many others as the job needs, so that later submissions find some as well.
 */
static bool choose(const struct submission *s, const uint16_t *column,
		   uint32_t no_leaf, const uint64_t *can)
{
	const uint64_t *held = s->a->classes.at[s->class].held;
	size_t lw = s->a->problem.lw;
	uint64_t have;

	for (size_t w = 0; w < lw; w++)
		s->set[w] = can[w] & held[w];
	do {
		have = np_counts_sum(s->job->switches, column, no_leaf, s->set,
				     lw);
		if (have >= s->job->nodes_min)
			return true;
	} while (add_leaf(lw, column, can, s->job->nodes_min - have, s->set));
	return false;
}

/* Choose leaves with enough free nodes, else with enough usable ones. */
static int place_enforced(struct submission *s, const uint64_t *can)
{
	const struct np_counts *c = s->counts;
	bool shares = s->job->flags & NP_JOB_SHARES_NODES;

	if (np_bits_subset(c->reach, can, s->a->problem.lw)) {
		allow_anywhere(s, why_unrestricted(s));
		return 0;
	}
	if ((shares ? choose(s, c->free_shared, c->no_leaf_free_shared, can) :
	     choose(s, c->free_alone, c->no_leaf_free_alone, can)) ||
	    choose(s, c->usable, c->no_leaf_usable, can))
		return restrict_submission(s);
	hold_submission(s, s->job->tasks > 1 && s->a->classes.at[s->class].self
				   ? NP_WHY_TASKS
				   : NP_WHY_FROM_PENDING);
	return 0;
}

static int place_preferred(struct submission *s, const uint64_t *can)
{
	enum np_why why = why_unrestricted(s);

	if (np_bits_subset(s->counts->reach, can, s->a->problem.lw) &&
	    why != NP_WHY_FITS)
		allow_anywhere(s, why);
	else if (np_prefer_find(&s->a->prefer, s->job, s->class, s->counts,
				s->set))
		return restrict_submission(s);
	else if (s->a->classes.at[s->class].self && s->job->tasks > 1)
		allow_anywhere(s, NP_WHY_TASKS_TOGETHER);
	else
		allow_anywhere(s, NP_WHY_NO_ROOM_APART);
	return 0;
}

/* Find the leaves that a submission may use, and choose among them. */
static int place(struct submission *s)
{
	uint64_t can[NP_LEAVES_MAX / NP_BITS_WORD] = { 0 };

	/* Leaves that its class holds are checked too: a job that does not see
	   the class may have been admitted there since. */
	NP_BITS_EACH(leaf, s->counts->reach, s->a->problem.lw)
		if (np_class_can_take(&s->a->classes, s->class, s->job,
				      (uint32_t)leaf))
			np_bits_set(can, leaf);
	return s->job->mode == NP_MODE_PREFER ? place_preferred(s, can) :
	       place_enforced(s, can);
}

/* Why a job is not placed, whatever other jobs there are; 0: it is. */
static enum np_why one_not_placed(struct submission *s)
{
	const struct np_problem *p = &s->a->problem;
	enum np_why why = np_problem_exempt(p, s->job, s->now_sec);

	if (why != NP_WHY_RUNNING)
		return why;
	if (!np_bits_any(s->counts->reach, p->lw))
		return NP_WHY_NO_LEAF;
	if (!np_problem_feasible(p, s->job, s->counts))
		return NP_WHY_TOO_FEW_NODES;
	if (!full(s->p, s->job->owner))
		s->class = np_class_of(&s->a->classes, s->job);
	return s->class == NP_NONE ? NP_WHY_TOO_MANY : NP_WHY_RUNNING;
}

/*
 * Whether conflicting jobs avoid the leaves of this outcome. Leaves that a job
 * merely might use, unrestricted in spite of conflicts, are closed to nobody.
 */
static bool keeps_off(const struct np_outcome *v)
{
	return v->action != NP_ACT_NONE &&
	       v->cause.why != NP_WHY_NO_ROOM_APART &&
	       v->cause.why != NP_WHY_TASKS_TOGETHER;
}

/* Decide, and record the leaves in the journal. 0 or -ENOMEM. */
static int decide_submission(struct submission *s)
{
	struct np_admitted what = { .job = *s->job, .at_sec = s->now_sec };
	enum np_why why = one_not_placed(s);
	int rc = 0;

	if (!why)
		rc = place(s);
	else if (why == NP_WHY_TOO_MANY && s->job->mode != NP_MODE_PREFER)
		hold_submission(s, why); /* the next decision takes it */
	else
		s->v->cause.why = why;
	if (rc || s->v->action == NP_ACT_HOLD ||
	    full(s->p, s->job->owner))
		return rc;
	if (s->v->action == NP_ACT_NONE) {
		if (!(s->a->problem.policy.modes & 1u << NP_MODE_PREFER))
			return 0; /* only mode prefer counts its nodes */
		memcpy(s->set, s->counts->reach,
		       s->a->problem.lw * sizeof(*s->set));
	}
	what.leaves = s->set;
	what.restricted = s->v->action == NP_ACT_RESTRICT;
	what.class_known = keeps_off(s->v);
	what.class = s->class;
	return admit(s->p, s->a, &what);
}

static int one_check(const struct np_placement *p, const struct np_job *j,
		     struct np_err *err)
{
	if (j->state == NP_JOB_RUNNING || j->candidates >= p->s->set.n ||
	    !j->tasks || !j->nodes_min ||
	    (unsigned)j->mode > NP_MODE_ENFORCE ||
	    j->profile < NP_PROFILE_UNKNOWN ||
	    (j->profile >= 0 && (size_t)j->profile >= p->t->n))
		return np_errf(err, -EINVAL, "job %u being submitted: state "
			       "%d, set of nodes %u, %u tasks of %u nodes, "
			       "mode %d or profile %d", j->id, (int)j->state,
			       j->candidates, j->tasks, j->nodes_min,
			       (int)j->mode, j->profile);
	return 0;
}

int np_placement_one(struct np_placement *p, const struct np_job *job,
		     const uint64_t *minus, int64_t now_sec,
		     struct np_outcome *v, struct np_err *err)
{
	struct submission s = {
		.p = p, .job = job, .counts = p->scratch, .class = NP_NONE,
		.set = p->scratch_leaves, .now_sec = now_sec, .v = v,
	};
	int rc;

	*v = (struct np_outcome){ .cause.leaf = NP_NO_LEAF };
	rc = one_check(p, job, err);
	if (rc)
		return rc;
	s.a = np_placement_allocation(p, job);
	memset(s.set, 0, p->s->leaves->words * sizeof(*s.set));
	count(p, job, minus);
	rc = decide_submission(&s);
	if (rc) {
		*v = (struct np_outcome){ .cause.leaf = NP_NO_LEAF };
		return np_errf(err, rc, "placement: out of memory");
	}
	v->changed = v->narrows = v->action == NP_ACT_RESTRICT ||
				  v->action == NP_ACT_HOLD;
	v->applied = job->mode != NP_MODE_ADVISE && v->action != NP_ACT_NONE;
	return 0;
}

void np_placement_carry(struct np_placement *to,
			const struct np_placement *from,
			struct np_arrivals *arrivals)
{
	if (to == from || to->s->leaves->n != from->s->leaves->n)
		return; /* another topology: the journal does not apply */
	for (size_t i = 0; i < from->n_admitted; i++) {
		struct np_admitted what = from->journal[i];
		struct np_allocation *a =
			np_placement_allocation(to, &what.job);

		if (what.at_sec < arrivals->since_sec ||
		    np_arrivals_take(arrivals, what.job.owner) ||
		    full(to, what.job.owner) ||
		    (what.class_known &&
		     (size_t)what.job.profile >= to->t->n))
			continue;
		if (what.class_known)
			what.class = np_class_of(&a->classes, &what.job);
		what.class_known = what.class_known && what.class != NP_NONE;
		if (admit(to, a, &what))
			return;
	}
}

/* ---- Jobs that could not be updated ---- */

int np_placement_unwritten(struct np_placement *p, size_t i)
{
	struct np_allocation *a = p->real;
	uint32_t class = a->requests.class[i];

	if (class == NP_NONE)
		return 0; /* no job avoids it */
	for (size_t k = 0; k < p->n_unwritten; k++)
		if (p->unwritten[k] == class)
			return 0;
	if (np_array_grow(&p->unwritten, p->n_unwritten, sizeof(*p->unwritten)))
		return -ENOMEM;
	p->unwritten[p->n_unwritten++] = class;
	for (uint32_t leaf = 0; leaf < a->problem.n_leaves; leaf++)
		np_class_hold(&a->classes, class, leaf);
	return 0;
}

/*
 * Whether the i-th job conflicts with an unwritten class on any leaf of a set;
 * NULL: on any leaf in reach.
 */
static bool
may_meet(const struct np_placement *p, size_t i, const uint64_t *set)
{
	const struct np_allocation *a = p->real;
	const uint64_t *open = set ? set :
		a->problem.counts[p->s->job[i].candidates]->reach;

	for (size_t k = 0; k < p->n_unwritten; k++)
		if (np_class_conflict_on(&a->classes, a->requests.class[i],
					 p->unwritten[k], open))
			return true;
	return false;
}

bool np_placement_may_open(const struct np_placement *p, size_t i)
{
	const struct np_outcome *v = &p->outcome[i];

	if (!p->n_unwritten || !v->applied ||
	    p->real->requests.class[i] == NP_NONE)
		return true;
	for (uint32_t k = 0; k < v->tasks; k++)
		if (may_meet(p, i, v->task_leaves[k]))
			return false;
	return v->action == NP_ACT_HOLD ||
	       !may_meet(p, i, v->action == NP_ACT_RESTRICT ? v->leaves : NULL);
}

void np_policy_init(struct np_policy *p)
{
	*p = (struct np_policy){
		.max_slowdown = 0.10,
		.max_defer_sec = 3600,
		.defer_step_sec = 60,
		.modes = 1u << NP_MODE_OFF | 1u << NP_MODE_ADVISE |
			 1u << NP_MODE_PREFER | 1u << NP_MODE_ENFORCE,
		.unknown_as = NP_PROFILE_UNKNOWN,
	};
}

static int check_time(const char *what, double sec, struct np_err *err)
{
	if (sec >= 1 && sec <= 1e9)
		return 0;
	return np_errf(err, -EINVAL, "policy: %s %g s; expected 1 to 1e9",
		       what, sec);
}

static int np_policy_check(const struct np_policy *p, const struct np_slowdowns *t,
			   struct np_err *err)
{
	int rc;

	if (!(p->max_slowdown >= 0 && p->max_slowdown <= 100))
		return np_errf(err, -EINVAL,
			       "policy: MaxSlowdown %g; expected 0 to 100",
			       p->max_slowdown);
	rc = check_time("MaxDefer", p->max_defer_sec, err);
	if (!rc)
		rc = check_time("one deferral", p->defer_step_sec, err);
	if (!rc && (p->unknown_as < NP_PROFILE_UNKNOWN ||
		    (p->unknown_as >= 0 &&
		     (size_t)p->unknown_as >= t->n)))
		return np_errf(err, -EINVAL,
			       "policy: unknown jobs count as profile %d, which"
			       " is not there", p->unknown_as);
	return rc;
}

static int placement_check(const struct np_snapshot *s,
			   const struct np_slowdowns *t,
			   const struct np_policy *policy, struct np_err *err)
{
	const struct np_job *job = s->job;

	if (!s->sealed)
		return np_errf(err, -EINVAL, "placement: unsealed snapshot");
	for (size_t i = 0; i < s->n_jobs; i++)
		if (job[i].profile != NP_PROFILE_UNKNOWN &&
		    (size_t)job[i].profile >= t->n)
			return np_errf(err, -EINVAL,
				       "job %u: profile %d of %zu",
				       job[i].id, job[i].profile, t->n);
	return np_policy_check(policy, t, err);
}

/* Make the allocation, and a second one for mode advise if needed. */
static int make_allocations(struct np_placement *p)
{
	const struct np_job *job = p->s->job;
	const unsigned act = 1u << NP_MODE_PREFER | 1u << NP_MODE_ENFORCE;
	unsigned *modes = &p->policy.modes;
	bool both;
	int rc;

	for (size_t i = 0; i < p->s->n_jobs; i++)
		*modes |= 1u << job[i].mode;
	both = *modes & 1u << NP_MODE_ADVISE && *modes & act;
	rc = np_allocation_new(p->s, p->t, &p->policy, p->outcome,
			       !(*modes & act), NULL, &p->real);
	p->advised = p->real;
	if (!rc && both) {
		p->advised = NULL;
		rc = np_allocation_new(p->s, p->t, &p->policy, p->outcome,
				       true, p->real, &p->advised);
	}
	return rc;
}

static int fill(struct np_placement *p)
{
	size_t n = p->s->n_jobs;
	int rc;

	p->outcome = calloc(n + 1, sizeof(*p->outcome));
	p->scratch_set = calloc(p->s->leaves->node_words, sizeof(uint64_t));
	p->scratch_leaves = calloc(p->s->leaves->words + 1, sizeof(uint64_t));
	if (!p->outcome || !p->scratch_set || !p->scratch_leaves)
		return -ENOMEM;
	rc = count_holds(p->s, p->outcome);
	if (!rc)
		rc = make_allocations(p);
	if (rc)
		return rc;
	p->scratch = np_problem_counts_new(&p->real->problem);
	return p->scratch ? decide_jobs(p) : -ENOMEM;
}

int np_placement_decide(struct np_snapshot *s, struct np_slowdowns *t,
			const struct np_policy *policy,
			struct np_placement **out, struct np_err *err)
{
	struct np_placement *p;
	int rc = placement_check(s, t, policy, err);

	if (rc)
		return rc;
	p = calloc(1, sizeof(*p));
	if (!p)
		return np_errf(err, -ENOMEM, "placement: out of memory");
	p->s = np_snapshot_ref(s);
	p->t = np_slowdowns_ref(t);
	p->policy = *policy;
	p->admitted.limit = NP_PLACEMENT_MAX_ADMITTED;
	rc = fill(p);
	if (rc) {
		np_placement_free(p);
		return np_errf(err, rc, "placement: out of memory");
	}
	*out = p;
	return 0;
}

void np_placement_free(struct np_placement *p)
{
	if (!p)
		return;
	if (p->advised != p->real)
		np_allocation_free(p->advised);
	np_allocation_free(p->real);
	np_snapshot_unref(p->s);
	np_slowdowns_unref(p->t);
	free(p->outcome);
	free(p->journal);
	np_shares_free(&p->admitted);
	free(p->unwritten);
	free(p->scratch_set);
	free(p->scratch_leaves);
	free(p);
}

const struct np_outcome *np_placement_at(const struct np_placement *p,
					 size_t i)
{
	return &p->outcome[i];
}

double np_placement_worst_slowdown(const struct np_placement *p, size_t leaf)
{
	return np_slowdowns_from_load(np_leaf_load_worst(&p->real->loads, leaf));
}
