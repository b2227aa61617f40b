/*
 * What holds for every cluster: thousands of small random ones, the same each
 * time, held against oracle.h.
 */
#include "t.h"
#include "random_toy.h"

static struct world world, other;

/* The leaves open to each bound job and to each task given its own. */
struct set {
	size_t job;
	uint64_t open;
	uint32_t tasks; /* that share it */
};

static size_t gather(const struct world *w, const struct np_placement *p,
		     struct set *set)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_jobs; i++) {
		const struct np_outcome *v = np_outcome_of(p, i);

		if (!rw_bound(w, i, v))
			continue;
		set[n++] = (struct set){ i, o_open(w, i, v),
					 w->job[i].in.tasks - v->tasks };
		for (uint32_t k = 0; k < v->tasks; k++) {
			const uint64_t *l = v->task_leaves[k];

			set[n++] = (struct set){
				i, o_reach(w, i) & (l ? *l : ~UINT64_C(0)), 1
			};
		}
	}
	return n;
}

static bool apart(const struct world *w, const struct set *set, size_t n)
{
	for (uint32_t leaf = 0; leaf < w->n_leaves; leaf++)
		for (size_t i = 0; i < n; i++) {
			if (!(set[i].open >> leaf & 1))
				continue;
			if (o_avoids(w, set[i].job, -1, leaf) ||
			    (set[i].tasks > 1 &&
			     o_conflict(w, set[i].job, set[i].job, leaf)))
				return false;
			for (size_t k = i + 1; k < n; k++)
				if (set[k].open >> leaf & 1 &&
				    o_conflict(w, set[i].job, set[k].job, leaf))
					return false;
		}
	return true;
}

static bool feasible(const struct world *w, const struct np_placement *p,
		     const struct set *set, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (np_outcome_of(p, set[i].job)->action != NP_ACT_HOLD &&
		    o_nodes(w, set[i].job, set[i].open, false) <
			    w->job[set[i].job].in.nodes_min)
			return false;
	return true;
}

T_TEST("jobs that conflict never have a leaf in common, and all enough nodes")
{
	struct set set[W_MAX_JOBS * 4];
	unsigned sets = 0, restricted = 0, held = 0, tasks = 0;

	for (uint64_t k = 0; k < RW_WORLDS; k++) {
		struct np_placement *p;
		size_t n;

		rw_make(&world, k, k % 2);
		p = w_decide(&world);
		n = gather(&world, p, set);
		sets += (unsigned)n;
		if (!apart(&world, set, n))
			T_ROW(rw_row("conflicting jobs may meet", k), 0);
		if (!feasible(&world, p, set, n))
			T_ROW(rw_row("too few nodes", k), 0);
		for (size_t i = 0; i < world.n_jobs; i++) {
			const struct np_outcome *v = np_outcome_of(p, i);

			restricted += v->action == NP_ACT_RESTRICT;
			held += v->action == NP_ACT_HOLD;
			tasks += v->tasks;
		}
		np_placement_free(p);
	}
	/* Otherwise this shows nothing. */
	T_CHECK(sets > 5000 && restricted > 1000 && held > 500 && tasks > 100);
}

/* A job that conflicts with nobody, on any leaf. */
static bool harmless(const struct world *w, size_t a)
{
	for (uint32_t leaf = 0; leaf < w->n_leaves; leaf++) {
		if (o_avoids(w, a, -1, leaf) ||
		    (w->job[a].in.tasks > 1 && o_conflict(w, a, a, leaf)))
			return false;
		for (size_t b = 0; b < w->n_jobs; b++)
			if (b != a && w->job[b].in.state != NP_JOB_RUNNING &&
			    o_conflict(w, a, b, leaf))
				return false;
	}
	return true;
}

T_TEST("jobs that conflict with nobody are unrestricted")
{
	unsigned seen = 0;

	for (uint64_t k = 0; k < RW_WORLDS; k++) {
		struct np_placement *p;

		rw_make(&world, k, true);
		p = w_decide(&world);
		for (size_t i = 0; i < world.n_jobs; i++) {
			const struct np_outcome *v = np_outcome_of(p, i);

			if (!o_ours(&world, i) || !harmless(&world, i) ||
			    v->action == NP_ACT_NONE)
				continue;
			seen++;
			if (v->action != NP_ACT_UNRESTRICTED)
				T_ROW(rw_row("harmless job constrained", k), 0);
		}
		np_placement_free(p);
	}
	T_CHECK(seen > 500);
}

static bool same_outcomes(const struct world *a, const struct np_placement *p,
			  const struct world *b, const struct np_placement *q)
{
	for (size_t i = 0; i < a->n_jobs; i++) {
		size_t k = w_find(b, a->job[i].in.id);
		const struct np_outcome *v = np_outcome_of(p, i);
		const struct np_outcome *u = np_outcome_of(q, k);

		if (v->action != u->action || v->tasks != u->tasks ||
		    v->until_sec != u->until_sec ||
		    v->held_sec != u->held_sec ||
		    o_open(a, i, v) != o_open(b, k, u))
			return false;
	}
	return true;
}

T_TEST("the decision does not depend on the order of the jobs")
{
	for (uint64_t k = 0; k < RW_WORLDS; k++) {
		struct np_placement *p, *q;
		uint64_t seed = k;

		rw_make(&world, k, true);
		p = w_decide(&world);
		other = world;
		for (uint32_t i = (uint32_t)other.n_jobs; i > 1; i--) {
			uint32_t to = w_random(&seed, i);
			struct w_job t = other.job[to];

			other.job[to] = other.job[i - 1];
			other.job[i - 1] = t;
		}
		q = w_decide(&other);
		if (!same_outcomes(&world, p, &other, q))
			T_ROW(rw_row("order of the jobs matters", k), 0);
		np_placement_free(p);
		np_placement_free(q);
	}
}

/* Split off the tasks that got leaves of their own. */
static void split(struct world *w, size_t job, const struct np_placement *p)
{
	const struct np_outcome *v = np_outcome_of(p, job);

	for (uint32_t k = 0; k < v->tasks; k++) {
		const uint64_t *l = v->task_leaves[k];
		struct w_job *to = &w->job[w->n_jobs++];

		*to = w->job[job];
		to->in.id = (uint32_t)(10000 + w->n_jobs);
		to->in.tasks = 1;
		to->in.array = w->job[job].in.id;
		to->in.task = k;
		to->in.prior = l ? NP_PRIOR_RESTRICTED : NP_PRIOR_UNRESTRICTED;
		to->prior[0] = l ? *l : 0;
		to->in.held_sec = v->held_sec;
	}
	w->job[job].in.array = w->job[job].in.id;
	w->job[job].in.task = v->tasks;
	w->job[job].in.tasks -= v->tasks;
}

T_TEST("a decision that was applied is made again")
{
	unsigned changed = 0, moved = 0;

	for (uint64_t k = 0; k < RW_WORLDS; k++) {
		struct np_placement *p;
		bool more = false;
		size_t n;

		rw_make(&world, k, k % 2);
		p = w_decide(&world);
		n = world.n_jobs;
		for (size_t i = 0; i < n; i++) {
			changed += np_outcome_of(p, i)->changed;
			/* The next decision splits off the next tasks. */
			more |= np_outcome_of(p, i)->tasks ==
				NP_PLACEMENT_MAX_TASKS;
			w_apply(&world, i, np_outcome_of(p, i));
			if (n + 33 * world.n_jobs < 33 * W_MAX_JOBS)
				split(&world, i, p);
		}
		np_placement_free(p);
		world.last_sec = world.now_sec;
		p = w_decide(&world);
		for (size_t i = 0; i < world.n_jobs; i++)
			/* Advice is worked out for jobs as they are: when
			   those move, it may change. */
			moved += np_outcome_of(p, i)->changed &&
				 (k % 2 == 0 ||
				  world.job[i].in.mode != NP_MODE_ADVISE);
		if (moved && !more) {
			T_ROW(rw_row("a second decision changes the first", k),
			      0);
		}
		moved = 0;
		np_placement_free(p);
	}
	T_CHECK(changed > 5000);
}

static uint64_t open_before(const struct world *w, size_t i)
{
	const struct w_job *j = &w->job[i];

	return j->in.prior == NP_PRIOR_HELD &&
			       j->in.prior_until_sec > w->now_sec ?
		       0 :
	       j->in.prior == NP_PRIOR_RESTRICTED ?
		       j->prior[0] & o_reach(w, i) :
		       o_reach(w, i);
}

/* While an answer is written: what is open to each job, before and now. */
struct writing {
	const struct world *w;
	const struct np_placement *p;
	uint64_t was[W_MAX_JOBS], now[W_MAX_JOBS];
	unsigned met; /* pairs that may meet now, and could not before */
};

static void write_set(struct writing *s, size_t i, uint64_t set)
{
	s->now[i] = set;
	for (size_t b = 0; b < s->w->n_jobs; b++) {
		uint64_t both = set & s->now[b] & ~(s->was[i] & s->was[b]);

		if (b == i || !rw_bound(s->w, b, np_outcome_of(s->p, b)))
			continue;
		for (uint32_t leaf = 0; leaf < s->w->n_leaves; leaf++)
			s->met += both >> leaf & 1 &&
				  (o_avoids(s->w, i, (long)b, leaf) ||
				   o_avoids(s->w, b, (long)i, leaf));
	}
}

/* As np_apply() does it. */
static void write_decision(struct writing *s)
{
	for (int then = 0; then < 2; then++)
		for (size_t i = 0; i < s->w->n_jobs; i++) {
			const struct np_outcome *v = np_outcome_of(s->p, i);

			if (!rw_bound(s->w, i, v))
				continue;
			if (then ? !v->narrows || v->reassigns : v->narrows)
				write_set(s, i,
					  !then && v->reassigns ?
						  0 :
						  o_open(s->w, i, v));
		}
}

/* Half of the jobs are decided on; then others come, and all ranks change. */
T_TEST("no moment of writing a decision brings jobs together")
{
	static struct writing s;
	unsigned moved = 0;

	for (uint64_t k = 0; k < RW_WORLDS; k++) {
		size_t all;

		rw_make(&world, k, false);
		all = world.n_jobs;
		world.n_jobs = (all + 1) / 2;
		s = (struct writing){ .w = &world, .p = w_decide(&world) };
		for (size_t i = 0; i < world.n_jobs; i++)
			w_apply(&world, i, np_outcome_of(s.p, i));
		np_placement_free((struct np_placement *)s.p);
		world.n_jobs = all;
		for (size_t i = 0; i < all; i++) {
			world.job[i].in.priority ^= 0x55;
			s.was[i] = s.now[i] = open_before(&world, i);
		}
		world.last_sec = world.now_sec;
		s.p = w_decide(&world);
		for (size_t i = 0; i < all; i++)
			moved += np_outcome_of(s.p, i)->reassigns;
		write_decision(&s);
		np_placement_free((struct np_placement *)s.p);
		if (s.met)
			T_ROW(rw_row("jobs may meet half-way", k), 0);
	}
	T_ROW("jobs move", moved > 100);
}

static bool before(const struct np_job *a, const struct np_job *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->submit_sec != b->submit_sec)
		return a->submit_sec < b->submit_sec;
	return a->id < b->id;
}

static bool ready(const struct world *w, size_t i)
{
	return w->job[i].in.state == NP_JOB_READY &&
	       w->job[i].in.eligible_sec <= w->now_sec;
}

/* Nodes that jobs before this one might take on its leaves. */
static unsigned taken_before(const struct world *w,
			     const struct np_placement *p, size_t job,
			     uint64_t open)
{
	unsigned n = 0;

	for (size_t i = 0; i < w->n_jobs; i++) {
		const struct np_outcome *v = np_outcome_of(p, i);

		if (i != job && ready(w, i) && v->action != NP_ACT_HOLD &&
		    before(&w->job[i].in, &w->job[job].in) &&
		    (v->applied ? o_open(w, i, v) : o_reach(w, i)) & open)
			n += w->job[i].in.nodes_min * w->job[i].in.tasks;
	}
	return n;
}

T_TEST("prefer never delays a job")
{
	unsigned restricted = 0;

	for (uint64_t k = 0; k < RW_WORLDS; k++) {
		struct np_placement *p;

		rw_make(&world, k, true);
		for (size_t i = 0; i < world.n_jobs; i++) {
			if (k % 3 && world.job[i].in.mode == NP_MODE_ENFORCE)
				world.job[i].in.mode = NP_MODE_PREFER;
			world.job[i].in.held_sec /= 1000;
		}
		p = w_decide(&world);
		for (size_t i = 0; i < world.n_jobs; i++) {
			const struct np_outcome *v = np_outcome_of(p, i);
			uint64_t open = o_open(&world, i, v);

			if (world.job[i].in.mode != NP_MODE_PREFER)
				continue;
			if (v->action == NP_ACT_HOLD)
				T_ROW(rw_row("prefer holds", k), 0);
			if (v->action != NP_ACT_RESTRICT)
				continue;
			restricted++;
			if (!ready(&world, i) ||
			    o_nodes(&world, i, open, true) <
				    taken_before(&world, p, i, open) +
					    world.job[i].in.nodes_min *
						    world.job[i].in.tasks)
				T_ROW(rw_row("prefer may delay", k), 0);
		}
		np_placement_free(p);
	}
	T_CHECK(restricted > 300);
}

T_TEST("advise is enforce, not applied")
{
	for (uint64_t k = 0; k < RW_WORLDS; k++) {
		struct np_placement *p, *q;

		rw_make(&world, k, false);
		other = world;
		for (size_t i = 0; i < other.n_jobs; i++)
			other.job[i].in.mode = NP_MODE_ADVISE;
		p = w_decide(&world);
		q = w_decide(&other);
		if (!same_outcomes(&world, p, &other, q))
			T_ROW(rw_row("advice differs", k), 0);
		for (size_t i = 0; i < other.n_jobs; i++)
			if (np_outcome_of(q, i)->applied)
				T_ROW(rw_row("advice applied", k), 0);
		np_placement_free(p);
		np_placement_free(q);
	}
}
