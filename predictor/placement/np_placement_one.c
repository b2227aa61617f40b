/* One job that is being submitted, against the last decision. */
#include <errno.h>
#include <string.h>

#include "np_array.h"
#include "np_placement_impl.h"

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

/* Add the tightest leaf that is enough, or the largest. */
static bool add_leaf(size_t lw, const uint16_t *column,
		     const uint64_t *can, uint64_t missing, uint64_t *set)
{
	uint32_t best = NP_NONE, most = 0;

	for (size_t w = 0; w < lw; w++)
		for (uint64_t m = can[w] & ~set[w]; m; m &= m - 1) {
			uint32_t leaf = np_bits_at(w, m);
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

/* Everything that is known of one submission. */
struct submission {
	struct np_placement *p;
	struct np_allocation *a;
	const struct np_job *job;
	const struct np_counts *counts;
	uint32_t class;
	int64_t now_sec;
	uint64_t *set; /* leaves it takes */
	struct np_outcome *v;
};

/* Remember what was opened to a job, while there is room to. */
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
	np_prefer_admit(&a->prefer, &what->job, what->confined, leaves);
	return 0;
}

/* A user who submits too many at once waits, and no other user does. */
static bool full(const struct np_placement *p, uint32_t owner)
{
	return !np_shares_left(&p->admitted, owner, 1);
}

static void anywhere(struct submission *s, enum np_why why)
{
	s->v->action = NP_ACT_ANYWHERE;
	s->v->cause.why = why;
	memcpy(s->set, s->counts->reach, s->a->problem.lw * sizeof(*s->set));
}

static void postpone(struct submission *s, enum np_why otherwise)
{
	np_placement_defer(s->a, s->job, s->class, s->counts->reach,
			   s->now_sec, s->v);
	if (s->v->cause.leaf == NP_NO_LEAF)
		s->v->cause.why = otherwise;
}

static int confine(struct submission *s)
{
	return np_placement_confine(s->a, s->class, s->set, s->counts->reach,
				    s->v);
}

static enum np_why harmless(const struct submission *s)
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
 * Of the leaves that can be, those that its class holds and as many others as
 * it needs and not more, so that the next to come finds some as well.
 */
static bool choose(const struct submission *s, const uint16_t *column,
		   uint32_t loose, const uint64_t *can)
{
	const uint64_t *held = s->a->classes.at[s->class].held;
	size_t lw = s->a->problem.lw;
	uint64_t have;

	for (size_t w = 0; w < lw; w++)
		s->set[w] = can[w] & held[w];
	do {
		have = np_counts_sum(s->job->switches, column, loose, s->set,
				     lw);
		if (have >= s->job->nodes_min)
			return true;
	} while (add_leaf(lw, column, can, s->job->nodes_min - have, s->set));
	return false;
}

static int place_enforced(struct submission *s, const uint64_t *can)
{
	const struct np_counts *c = s->counts;
	bool shares = s->job->flags & NP_JOB_SHARES_NODES;

	if (np_bits_within(c->reach, can, s->a->problem.lw)) {
		anywhere(s, harmless(s));
		return 0;
	}
	if ((shares ? choose(s, c->free_shared, c->loose_free_shared, can) :
	     choose(s, c->free_alone, c->loose_free_alone, can)) ||
	    choose(s, c->usable, c->loose_usable, can))
		return confine(s);
	postpone(s, s->job->tasks > 1 && s->a->classes.at[s->class].self ?
		 NP_WHY_TASKS : NP_WHY_FROM_PENDING);
	return 0;
}

static int place_preferred(struct submission *s, const uint64_t *can)
{
	enum np_why why = harmless(s);

	if (np_bits_within(s->counts->reach, can, s->a->problem.lw) &&
	    why != NP_WHY_FITS)
		anywhere(s, why);
	else if (np_prefer_set(&s->a->prefer, s->job, s->class, s->counts,
			       s->set))
		return confine(s);
	else if (s->a->classes.at[s->class].self && s->job->tasks > 1)
		anywhere(s, NP_WHY_TASKS_TOGETHER);
	else
		anywhere(s, NP_WHY_NO_ROOM_APART);
	return 0;
}

static int place(struct submission *s)
{
	uint64_t can[NP_LEAVES_MAX / NP_BITS_WORD] = { 0 };

	/* Not even where its class is without looking: who does not see that
	   class may have come there since. */
	NP_BITS_EACH(leaf, s->counts->reach, s->a->problem.lw)
		if (np_class_can_take(&s->a->classes, s->class, s->job,
				      (uint32_t)leaf))
			np_bits_set(can, leaf);
	return s->job->mode == NP_MODE_PREFER ? place_preferred(s, can) :
	       place_enforced(s, can);
}

/* What is decided without looking at others. */
static enum np_why not_placed(struct submission *s)
{
	const struct np_problem *p = &s->a->problem;
	enum np_why why = np_problem_aside(p, s->job, s->now_sec);

	if (why != NP_WHY_RUNNING)
		return why;
	if (!np_bits_any(s->counts->reach, p->lw))
		return NP_WHY_NO_LEAF;
	if (!np_problem_enough(p, s->job, s->counts))
		return NP_WHY_TOO_FEW_NODES;
	if (!full(s->p, s->job->owner))
		s->class = np_class_of(&s->a->classes, s->job);
	return s->class == NP_NONE ? NP_WHY_TOO_MANY : NP_WHY_RUNNING;
}

/* Nobody is kept away from where a job merely might go. */
static bool keeps_off(const struct np_outcome *v)
{
	return v->action != NP_ACT_NONE &&
	       v->cause.why != NP_WHY_NO_ROOM_APART &&
	       v->cause.why != NP_WHY_TASKS_TOGETHER;
}

static int decide(struct submission *s)
{
	struct np_admitted what = { .job = *s->job, .at_sec = s->now_sec };
	enum np_why why = not_placed(s);
	int rc = 0;

	if (!why)
		rc = place(s);
	else if (why == NP_WHY_TOO_MANY && s->job->mode != NP_MODE_PREFER)
		postpone(s, why); /* the next decision takes it */
	else
		s->v->cause.why = why;
	if (rc || s->v->action == NP_ACT_DEFER ||
	    full(s->p, s->job->owner))
		return rc;
	if (s->v->action == NP_ACT_NONE) {
		if (!(s->a->problem.policy.modes & 1u << NP_MODE_PREFER))
			return 0; /* who else takes nodes matters to no one */
		memcpy(s->set, s->counts->reach,
		       s->a->problem.lw * sizeof(*s->set));
	}
	what.leaves = s->set;
	what.confined = s->v->action == NP_ACT_CONFINE;
	what.class_known = keeps_off(s->v);
	what.class = s->class;
	return admit(s->p, s->a, &what);
}

static int check(const struct np_placement *p, const struct np_job *j,
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
	rc = check(p, job, err);
	if (rc)
		return rc;
	s.a = np_placement_allocation(p, job);
	memset(s.set, 0, p->s->leaves->words * sizeof(*s.set));
	count(p, job, minus);
	rc = decide(&s);
	if (rc) {
		*v = (struct np_outcome){ .cause.leaf = NP_NO_LEAF };
		return np_errf(err, rc, "placement: out of memory");
	}
	v->changed = v->narrows = v->action == NP_ACT_CONFINE ||
				  v->action == NP_ACT_DEFER;
	v->applied = job->mode != NP_MODE_ADVISE && v->action != NP_ACT_NONE;
	return 0;
}

void np_placement_carry(struct np_placement *to,
			const struct np_placement *from,
			struct np_arrivals *arrivals)
{
	if (to == from || to->s->leaves->n != from->s->leaves->n)
		return; /* other leaves: what was opened means nothing now */
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
