/*
 * The placement decision. In this order: the input and its memory ("problem"),
 * what runs on each leaf ("leaf loads"), classes of pending jobs, requests for
 * leaves, groups that share leaves, mode prefer, and the outcome of each job.
 *
 * Short names that recur: s a snapshot, p a problem, l leaves or leaf loads, c
 * classes, k a class, g groups, u a group, q a subgroup, r a request, j a job,
 * a an allocation, o an outcome. A number named class, group or profile is an
 * index.
 */
#include "np_placement.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_bits.h"
#include "np_snapshot.h"

/*
 * Classes of pending jobs, and the working data of one placement decision that
 * classes are computed from.
 *
 * A class is the set of pending jobs with the same profile, the same contact
 * with other jobs and, where it matters, the same owner. What the decision
 * finds out about one of them holds for all, so its cost depends on the number
 * of classes and not on that of jobs.
 *
 * What a class is, and what the running jobs on each leaf mean for it, is fixed
 * when the class is made; which classes hold which leaf changes. Invariants:
 *
 * - The bitmaps hard, soft, soft_own and relevant of a class say for every
 *   other class whether it must be avoided on all leaves, or perhaps on some;
 *   a class that is not in "relevant" never needs to be checked.
 * - class.held, class.n_held, classes.on_switch and, for trusted classes, the
 *   arrivals noted in the leaf loads all agree with class.n_holders.
 */

/* ---- Counts: what a set of nodes has on each leaf ---- */

/* Number of nodes of one set on each leaf, and without a leaf (no_leaf_*). */
struct np_counts {
	/* Columns, a number per leaf: of usable nodes; of idle ones, for a job
	   that does not share nodes; and of these with mixed ones, for a job
	   that does. */
	uint16_t *usable, *free_alone, *free_shared;
	uint64_t *reach; /* bitmap: leaves with any node of the set */
	uint32_t no_leaf_usable, no_leaf_free_alone, no_leaf_free_shared;
	uint64_t all_usable; /* on all leaves, and without one */
};

/* A job with a higher --switches is treated as one without a limit. */
#define NP_COUNTS_MAX_SWITCHES 64

/*
 * ---- Problem: the input of one decision, and its memory ----
 *
 * After problem_init() only the memory and the counts grow. A set of nodes
 * is counted once.
 */

#define NP_NONE UINT32_MAX

struct np_problem {
	const struct np_snapshot *snapshot;
	const struct np_slowdowns *table; /* predictions */
	struct np_policy policy;
	const struct np_outcome *outcome; /* per job; held_sec is filled in */
	uint32_t limit; /* the policy's max_slowdown as a load */
	bool what_if;	/* treat partitions in mode advise like enforce */
	const struct np_leaves *leaves; /* of the snapshot */
	size_t n_leaves, n_switches;
	size_t leaf_words; /* words of a bitmap of leaves */
	uint8_t rail_bit[NP_LEAVES_MAX_RAILS]; /* np_slowdowns_profile.rails */

	struct np_counts **counts; /* per set of the snapshot; NULL: not yet */
	uint16_t *leaf_usable, *leaf_free; /* of each leaf: usable and idle
					      nodes */
	uint32_t *leaf_order; /* leaves, most idle nodes first */
	uint32_t *private_owner; /* owners of jobs that only they see,
				    ascending */
	size_t n_private;
	uint64_t *no_leaves; /* an empty bitmap of leaves */
	uint64_t *scratch;   /* a bitmap of leaves */

	struct np_problem_block *blocks; /* memory of problem_alloc() */
};

/*
 * ---- Leaf loads: the running jobs on each leaf, and how much they suffer ----
 *
 * "Leaf" means a switch here and in the loads of classes: where nodes have
 * several rails, a job is on a switch of each rail that its profile loads.
 * What jobs get are leaves of struct np_leaves, each with all its switches.
 *
 * Running jobs on one leaf with the same profile and touch, and the same owner
 * where others do not see them, are one entry, struct np_leaf_job. Entries do
 * not change; what changes is how much of a sensitive entry's remaining
 * tolerance the classes that hold the leaf may take. Invariants:
 *
 * - Sensitive entries of a leaf precede its others.
 * - np_leaf_job.extra is the largest load that any arrival noted since the last
 *   clear_arrivals() adds to it.
 */

#define NP_ANY_OWNER UINT32_MAX

struct np_leaf_job {
	uint16_t profile;
	uint8_t touch;
	uint16_t extra; /* largest load that an arrival would add */
	uint32_t n;	/* jobs */
	uint32_t load;	/* on one of them, by the other public jobs there */
	uint32_t owner; /* NP_ANY_OWNER: visible to everybody */
	uint32_t job;	/* id of one of them */
};

struct np_aggressor {
	uint16_t profile;
	uint8_t touch;
	uint32_t n; /* jobs */
};

struct np_leaf_jobs {
	struct np_leaf_job *at;
	uint32_t *first; /* n_switches + 1: index of each leaf's first entry */
	/* Per leaf: number of sensitive entries, i.e. those that one or two
	   arrivals could slow beyond the limit. */
	uint32_t *sensitive;
	/* A packed copy of the entries that slow any profile. */
	struct np_aggressor *aggressor;
	uint32_t *first_aggressor; /* n_switches + 1 */
};

/* The jobs of one owner on one leaf that others do not see. */
struct np_user_load {
	uint32_t leaf;
	uint32_t first, end; /* range of entries in private.at */
	uint32_t from_user; /* index of its first load in from_user[] */
};

struct np_leaf_loads {
	struct np_problem *p;
	/* Jobs that everybody sees, and jobs that only their owner sees. */
	struct np_leaf_jobs public, private;
	/* By private owner, then leaf; owner i begins at first_user_load[i]. */
	struct np_user_load *user_load;
	uint32_t *first_user_load;
	/*
	 * For each np_user_load: its load on each public entry of the leaf,
	 * then on each of its own entries, where a job does not count itself.
	 */
	uint32_t *from_user;
};

/* ---- Classes ---- */

/* Per leaf: loads that follow from the running jobs there. */
struct np_class_loads {
	uint16_t *load;	  /* of a job of the class */
	uint16_t *victim; /* largest total load of a running job that the class
			     slows, with a job of the class there */
	uint16_t *added;  /* most that the class adds to such a job */
};

/* The maximum of each over all leaves. */
struct np_class_max {
	uint16_t load, victim, added;
};

struct np_class {
	/* What class_of() compares comes first. */
	uint16_t profile;
	uint8_t touch;
	bool trusted;
	uint32_t owner; /* NP_ANY_OWNER where it makes no difference */
	struct np_class_max public_max, full_max;
	bool self;  /* two of its jobs conflict on some leaf */
	bool conflict_free; /* certainly conflicts with nothing at all */
	bool known, conflicts; /* cached result of class_conflicts() */
	uint32_t n_compared; /* number of classes that its bitmaps cover */
	uint32_t job;	/* id of its first job */
	uint32_t n;	/* jobs and array tasks in the snapshot */
	uint32_t next;	/* next class of the same profile, or NP_NONE */
	uint32_t row_words; /* bits: the words of its bitmaps that are not 0,
			       and the word that the class itself is in */

	/* With the public jobs alone; victims are only the sensitive ones. */
	struct np_class_loads public;
	/* With its owner's private jobs as well; the same arrays if the owner
	   has none. */
	struct np_class_loads full;

	uint16_t *n_holders; /* per leaf: jobs and groups that hold it, i.e.
				class_hold() less class_drop() */
	uint16_t *n_held;    /* per switch: leaves of it that are held */
	/* Bitmaps. */
	uint64_t *open; /* leaves that no running job closes to it */
	uint64_t *held; /* leaves with holders */
	/* Leaves, and switches, that at most one of its jobs may use. */
	uint64_t *one_only_leaves, *one_only_switches;
};

struct np_classes {
	struct np_problem *p;
	struct np_leaf_loads *loads;
	struct np_class *at;
	size_t n, capacity;
	size_t words;		/* of a bitmap of classes; 0: not sealed */
	size_t n_sealed;	/* classes of the snapshot's jobs */
	uint32_t *of_profile;	/* last class of each profile, or NP_NONE */
	uint16_t *zeros;	/* per leaf: 0 */
	/*
	 * Bitmaps of classes, `words` each, one per class. The classes that it
	 * must avoid on every leaf; perhaps on some leaf, given the load there;
	 * of the same owner, perhaps on some leaf, given the load there that
	 * only this owner sees; and all that it may have to avoid for any of
	 * these reasons or for a third job's sake.
	 */
	uint64_t *hard, *soft, *soft_own, *relevant;
	/* Bitmaps of classes, one per switch and one per leaf. */
	uint64_t *on_switch; /* classes that hold a leaf of it */
	uint64_t *open_on; /* sealed classes that no running job keeps off */
};

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

/* Fill in the arrays that c points to. set: bitmap by position. */
static void counts_fill(const struct np_snapshot *s, const uint64_t *set,
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

/* Keep the n largest numbers in best[], largest first. */
static void keep_best(uint32_t *best, uint32_t n, uint32_t number)
{
	for (uint32_t k = 0; k < n && number; k++)
		if (number > best[k]) {
			uint32_t less = best[k];

			best[k] = number;
			number = less;
		}
}

/*
 * Sum of one column of counts over some leaves, plus the nodes without a leaf.
 * switches > 0: of only so many switches of the first rail, those with the most
 * nodes; the nodes without a leaf then count as one more switch to choose.
 */
static uint64_t counts_sum(const struct np_leaves *l, uint32_t switches,
			   const uint16_t *column, uint32_t no_leaf,
			   const uint64_t *leaves)
{
	uint32_t best[NP_COUNTS_MAX_SWITCHES] = { no_leaf };
	uint32_t n = 0, last = NP_NO_LEAF; /* nodes of the last switch */
	uint64_t sum = 0;

	if (!switches || switches > NP_COUNTS_MAX_SWITCHES) {
		NP_BITS_EACH(leaf, leaves, l->words)
			sum += column[leaf];
		return sum + no_leaf;
	}
	NP_BITS_EACH(leaf, leaves, l->words) {
		if (l->switches[l->first_switch[leaf]] != last) {
			keep_best(best, switches, n);
			n = 0;
			last = l->switches[l->first_switch[leaf]];
		}
		n += column[leaf];
	}
	keep_best(best, switches, n);
	for (uint32_t k = 0; k < switches; k++)
		sum += best[k];
	return sum;
}

/* ---- Switches of a leaf ---- */

/* Each switch of a leaf, as uint32_t *sw. */
#define EACH_SWITCH(sw, l, leaf)					\
	for (const uint32_t *all_ = (l)->switches,			\
			    *sw = all_ + (l)->first_switch[leaf],	\
			    *end_ = all_ + (l)->first_switch[(leaf) + 1]; \
	     sw < end_; sw++)

/* Each leaf of a switch, as uint32_t *leaf. */
#define EACH_LEAF(leaf, l, sw)						\
	for (const uint32_t *all_ = (l)->leaves_below,			\
			    *leaf = all_ + (l)->first_leaf[sw],		\
			    *end_ = all_ + (l)->first_leaf[(sw) + 1];	\
	     leaf < end_; leaf++)

/* Whether jobs of a profile load the rail of a switch. */
static bool loads_rail(const struct np_problem *p, uint32_t profile,
		       uint32_t sw)
{
	uint8_t rails = p->table->profile[profile].rails;

	return !rails || rails & p->rail_bit[p->leaves->rail[sw]];
}

/* ---- Problem ---- */

/* Memory of a problem is a list of blocks, all freed at its end. */
struct np_problem_block {
	struct np_problem_block *next;
	max_align_t data[];
};

/*
 * Zeroed memory for n items of so many bytes, freed with the problem. There is
 * room for one more item, so that n may be 0. NULL: out of memory.
 */
static void *problem_alloc(struct np_problem *p, size_t n, size_t item)
{
	size_t bytes = n * item + item;
	struct np_problem_block *b = calloc(1, sizeof(*b) + bytes);

	if (!b)
		return NULL;
	b->next = p->blocks;
	p->blocks = b;
	return b->data;
}

static void problem_free(struct np_problem *p)
{
	struct np_problem_block *b, *next;

	for (b = p->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
}

/* Whether a job has a profile that counts, at least for its owner's jobs. */
static bool problem_knows(const struct np_problem *p, const struct np_job *j)
{
	const struct np_slowdowns_profile *profile;

	if (j->profile == NP_PROFILE_UNKNOWN)
		return false;
	profile = &p->table->profile[j->profile];
	return profile->trusted || profile->owner == j->owner;
}

/* Whether other users' jobs take a job with a known profile into account. */
static bool problem_trusted(const struct np_problem *p,
			    const struct np_job *j)
{
	return p->table->profile[j->profile].trusted &&
	       !(j->flags & NP_JOB_UNPROVED);
}

/* Whether a job is in mode enforce, or treated as if it were. */
static bool problem_enforced(const struct np_problem *p, const struct np_job *j)
{
	return j->mode == NP_MODE_ENFORCE ||
	       (p->what_if && j->mode == NP_MODE_ADVISE);
}

/* Whether a job was held back as long as the policy allows in its mode. */
static bool problem_hold_expired(const struct np_problem *p,
				 const struct np_job *j, double held_sec)
{
	return held_sec >= (j->mode == NP_MODE_PREFER ?
				    NP_PLACEMENT_PATIENCE_SEC :
				    p->policy.max_hold_sec);
}

/*
 * Why placement does not decide about a job; 0 (NP_WHY_RUNNING) if it does, or
 * if the job is running.
 */
static enum np_why problem_exempt(const struct np_problem *p,
				  const struct np_job *j, int64_t now_sec)
{
	if (j->state == NP_JOB_RUNNING)
		return NP_WHY_RUNNING;
	if (j->mode == NP_MODE_OFF)
		return NP_WHY_OFF;
	if (!problem_knows(p, j))
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

/* Counts with all arrays allocated, for counts_fill(). NULL: out of memory. */
static struct np_counts *problem_counts_new(struct np_problem *p)
{
	struct np_counts *c = problem_alloc(p, 1, sizeof(*c));
	uint16_t *n = problem_alloc(p, 3 * p->n_leaves, sizeof(*n));
	uint64_t *reach = problem_alloc(p, p->leaf_words, sizeof(*reach));

	if (!c || !n || !reach)
		return NULL;
	c->usable = n;
	c->free_alone = n + p->n_leaves;
	c->free_shared = n + 2 * p->n_leaves;
	c->reach = reach;
	return c;
}

/* Counts of a set of the snapshot; NULL: out of memory. */
static const struct np_counts *problem_counts(struct np_problem *p,
					      uint32_t set)
{
	if (!p->counts[set]) {
		struct np_counts *c = problem_counts_new(p);

		if (!c)
			return NULL;
		counts_fill(p->snapshot, np_snapshot_set(p->snapshot, set), c);
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

/* Count the nodes of each leaf, and sort the leaves by them. 0 or -ENOMEM. */
static int count_leaves(struct np_problem *p)
{
	uint64_t *all =
		problem_alloc(p, p->snapshot->leaves->node_words, sizeof(*all));
	struct np_counts *c = problem_counts_new(p);

	if (!all || !c)
		return -ENOMEM;
	for (size_t i = 0; i < p->snapshot->leaves->n_nodes; i++)
		np_bits_set(all, i);
	counts_fill(p->snapshot, all, c);
	p->leaf_usable = c->usable;
	p->leaf_free = c->free_alone;
	p->leaf_order = problem_alloc(p, p->n_leaves, sizeof(uint32_t));
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

	for (uint32_t i = 0; i < p->snapshot->n_jobs; i++)
		n += !!(p->snapshot->job[i].flags & NP_JOB_UNPROVED);
	return n;
}

/*
 * Collect the owners of jobs that others do not see. A profile that is not
 * trusted has one owner, so one job of it is enough. 0 or -ENOMEM.
 */
static int gather_private(struct np_problem *p)
{
	bool *seen = problem_alloc(p, p->table->n, sizeof(*seen));

	p->private_owner =
		problem_alloc(p, p->table->n + count_unproved(p),
			      sizeof(uint32_t));
	if (!seen || !p->private_owner)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->snapshot->n_jobs; i++) {
		const struct np_job *j = &p->snapshot->job[i];

		if (!problem_knows(p, j) || problem_trusted(p, j))
			continue;
		if (!p->table->profile[j->profile].trusted) {
			if (seen[j->profile])
				continue;
			seen[j->profile] = true;
		}
		p->private_owner[p->n_private++] = j->owner;
	}
	p->n_private = np_order_unique(p->private_owner, p->n_private);
	return 0;
}

/* Whether the job's usable candidate nodes suffice, whatever else runs. */
static bool problem_feasible(const struct np_problem *p, const struct np_job *j,
			     const struct np_counts *c)
{
	uint64_t usable = c->all_usable;

	if (j->switches)
		usable = counts_sum(p->leaves, j->switches, c->usable,
				    c->no_leaf_usable, c->reach);
	return usable >= j->nodes_min;
}

/* A rail that no profile names has no bit; all jobs load one without a name. */
static void set_rail_bits(struct np_problem *p)
{
	const struct np_slowdowns_rails *r = &p->table->rails;

	p->rail_bit[0] = UINT8_MAX;
	for (size_t i = 1; i < p->leaves->n_rails; i++)
		for (unsigned k = 0; k < r->n; k++)
			if (!strcmp(p->leaves->rail_name[i], r->name[k]))
				p->rail_bit[i] = (uint8_t)(1u << k);
}

/*
 * other: problem of the same snapshot whose counts are reused and which must
 * live longer, or NULL. Returns 0 or -ENOMEM; problem_free() in either case.
 */
static int problem_init(struct np_problem *p, const struct np_snapshot *s,
			const struct np_slowdowns *t,
			const struct np_policy *policy,
			const struct np_outcome *outcome, bool what_if,
			const struct np_problem *other)
{
	*p = (struct np_problem){
		.snapshot = s, .table = t, .policy = *policy,
		.outcome = outcome,
		.limit = np_slowdowns_limit(policy->max_slowdown),
		.what_if = what_if,
		.leaves = s->leaves, .n_leaves = s->leaves->n,
		.n_switches = s->leaves->n_switches,
		.leaf_words = s->leaves->words,
	};
	set_rail_bits(p);
	p->counts = problem_alloc(p, s->set.n, sizeof(*p->counts));
	p->no_leaves = problem_alloc(p, p->leaf_words, sizeof(*p->no_leaves));
	p->scratch = problem_alloc(p, p->leaf_words, sizeof(*p->scratch));
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
	bool known = problem_knows(p, j);
	const struct np_slowdowns_profile *f;

	if (j->state != NP_JOB_RUNNING)
		return false;
	if (!known)
		profile = p->policy.unknown_as;
	if (profile == NP_PROFILE_UNKNOWN)
		return false;
	f = &p->table->profile[profile];
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

/* Merge entries of the same kind on each leaf, and close the gaps. */
static void merge_same_kind(const struct np_problem *p, struct np_leaf_jobs *c)
{
	uint32_t to = 0, at = 0;

	for (size_t i = 0; i < p->n_switches; i++) {
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
	c->first[p->n_switches] = to;
}

/*
 * Turn the counts in first[leaf + 1] into the index where each leaf begins, and
 * allocate the entries. 0 or -ENOMEM.
 */
static int alloc_jobs(struct np_problem *p, struct np_leaf_jobs *c)
{
	for (size_t i = 0; i < p->n_switches; i++)
		c->first[i + 1] += c->first[i];
	c->at = problem_alloc(p, c->first[p->n_switches], sizeof(*c->at));
	return c->at ? 0 : -ENOMEM;
}

static struct np_leaf_jobs *public_or_private(struct np_leaf_loads *l,
					      const struct np_leaf_job *r)
{
	return r->owner == NP_ANY_OWNER ? &l->public : &l->private;
}

/*
 * List the switches that a running job loads in sw[], each once. mark: per
 * switch, not yet the stamp. Returns how many.
 */
static uint32_t loaded_switches(const struct np_problem *p,
				const struct np_job *j, uint32_t profile,
				uint32_t *mark, uint32_t stamp, uint32_t *sw)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < j->n_leaves; k++)
		EACH_SWITCH(at, p->leaves, j->leaf[k])
			if (mark[*at] != stamp && loads_rail(p, profile, *at)) {
				mark[*at] = stamp;
				sw[n++] = *at;
			}
	return n;
}

/*
 * Make the entries of all leaves: count them, allocate, fill in and merge. 0 or
 * -ENOMEM.
 */
static int gather_jobs(struct np_leaf_loads *l)
{
	struct np_problem *p = l->p;
	const struct np_job *job = p->snapshot->job;
	uint32_t *mark = problem_alloc(p, p->n_switches, sizeof(*mark));
	uint32_t *sw = problem_alloc(p, p->n_switches, sizeof(*sw)), n;
	struct np_leaf_job r;

	if (!mark || !sw)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->snapshot->n_jobs; i++) {
		if (!leaf_job_of(p, &job[i], &r))
			continue;
		n = loaded_switches(p, &job[i], r.profile, mark, 2 * i + 1, sw);
		for (uint32_t k = 0; k < n; k++)
			public_or_private(l, &r)->first[sw[k] + 1]++;
	}
	if (alloc_jobs(p, &l->public) || alloc_jobs(p, &l->private))
		return -ENOMEM;
	for (uint32_t i = 0; i < p->snapshot->n_jobs; i++) {
		struct np_leaf_jobs *c;

		if (!leaf_job_of(p, &job[i], &r))
			continue;
		c = public_or_private(l, &r);
		n = loaded_switches(p, &job[i], r.profile, mark, 2 * i + 2, sw);
		for (uint32_t k = 0; k < n; k++)
			c->at[c->first[sw[k]]++] = r;
	}
	/* Filling advanced each first[leaf] to first[leaf + 1]: move back. */
	for (size_t i = p->n_switches; i > 0; i--) {
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
		       np_slowdowns_pair(l->p->table, r->profile, r->touch,
					 x->profile, x->touch);
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
		uint32_t most = l->p->table->most[r.profile];

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

	c->aggressor = problem_alloc(p, c->first[p->n_switches],
				     sizeof(*c->aggressor));
	c->first_aggressor = problem_alloc(p, p->n_switches + 1,
					   sizeof(*c->first_aggressor));
	if (!c->aggressor || !c->first_aggressor)
		return -ENOMEM;
	for (size_t leaf = 0; leaf < p->n_switches; leaf++) {
		for (uint32_t k = c->first[leaf]; k < c->first[leaf + 1]; k++) {
			const struct np_leaf_job *r = &c->at[k];

			if (p->table->profile[r->profile].aggressor)
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

/* The number of a job in the order; an array and its tasks have the same. */
static uint32_t order_number(const struct np_job *j)
{
	return j->array ? j->array : j->id;
}

/*
 * The order in which Slurm considers pending jobs: by priority, age and number.
 * Below 0 if x comes first.
 */
static int order_precedence(const struct np_job *x, const struct np_job *y)
{
	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	if (x->submit_sec != y->submit_sec)
		return x->submit_sec < y->submit_sec ? -1 : 1;
	if (order_number(x) != order_number(y))
		return order_number(x) < order_number(y) ? -1 : 1;
	/* A task that was split off an array has a higher id than the rest,
	   which must not come first and take the leaves of that task. */
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int by_precedence(const void *a, const void *b, void *arg)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct np_job *job = arg;
	int order = order_precedence(&job[i], &job[k]);

	return order ? order : i < k ? -1 : i > k;
}

/* Sort n indices of jobs by precedence. */
static void order_jobs(const struct np_snapshot *s, uint32_t *job, size_t n)
{
	qsort_r(job, n, sizeof(*job), by_precedence, s->job);
}

/* Whether a job may start now. */
static bool order_ready(const struct np_snapshot *s, const struct np_job *j)
{
	return j->state == NP_JOB_READY && j->eligible_sec <= s->now_sec;
}

/* Index of key among n ascending numbers; n if it is not there. */
static size_t order_find(const uint32_t *number, size_t n, uint32_t key)
{
	const uint32_t *at = n ? bsearch(&key, number, n, sizeof(key),
					 np_order_u32) : NULL;

	return at ? (size_t)(at - number) : n;
}

/*
 * Make the user loads in two passes: the first one only counts those of each
 * owner. Returns the length that from_user[] needs.
 */
static uint32_t fill_user_loads(struct np_leaf_loads *l)
{
	const struct np_leaf_jobs *c = &l->private;
	const struct np_problem *p = l->p;
	uint32_t *first = l->first_user_load, from_user = 0, end;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t leaf = 0; leaf < p->n_switches; leaf++)
			for (uint32_t k = c->first[leaf];
			     k < c->first[leaf + 1]; k = end) {
				size_t o = order_find(p->private_owner,
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

	l->first_user_load =
		problem_alloc(p, p->n_private + 2, sizeof(*l->first_user_load));
	l->user_load = problem_alloc(p, l->private.first[p->n_switches],
				     sizeof(*l->user_load));
	if (!l->first_user_load || !l->user_load)
		return -ENOMEM;
	l->from_user =
		problem_alloc(p, fill_user_loads(l), sizeof(*l->from_user));
	if (!l->from_user)
		return -ENOMEM;
	for (uint32_t k = 0; k < l->first_user_load[p->n_private]; k++)
		apply_user_load(l, &l->user_load[k]);
	return 0;
}

/* Returns 0 or -ENOMEM. */
static int leaf_loads_init(struct np_leaf_loads *l, struct np_problem *p)
{
	size_t n = p->n_switches + 2;

	l->p = p;
	l->public.first = problem_alloc(p, n, sizeof(uint32_t));
	l->private.first = problem_alloc(p, n, sizeof(uint32_t));
	l->public.sensitive = problem_alloc(p, n, sizeof(uint32_t));
	if (!l->public.first || !l->private.first || !l->public.sensitive ||
	    gather_jobs(l))
		return -ENOMEM;
	for (size_t leaf = 0; leaf < p->n_switches; leaf++)
		load_leaf(l, leaf);
	return pack_aggressors(l) ? -ENOMEM : make_user_loads(l);
}

/* The user loads of an owner, by leaf, and their number; NULL: none. */
static const struct np_user_load *
user_loads_of(const struct np_leaf_loads *l, uint32_t owner, size_t *n)
{
	const struct np_problem *p = l->p;
	size_t at = order_find(p->private_owner, p->n_private, owner);

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
		       np_slowdowns_pair(l->p->table, profile, touch,
					 x->profile, x->touch);
	}
	return sum;
}

static int by_leaf(const void *key, const void *load)
{
	uint32_t x = *(const uint32_t *)key;
	const struct np_user_load *e = load;

	return x < e->leaf ? -1 : x > e->leaf;
}

/*
 * Load of the private jobs that an owner has on a leaf, less one job of entry
 * `but`.
 */
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

/*
 * Note that a job that everybody sees may arrive on a leaf; see
 * np_leaf_job.extra.
 */
static void note_arrival(struct np_leaf_loads *l, uint32_t leaf,
			 uint32_t profile, uint32_t touch)
{
	const uint16_t *caused = np_slowdowns_caused(l->p->table, profile);
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
	const uint16_t *caused = np_slowdowns_caused(l->p->table, profile);
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

/* The largest load of the jobs on a leaf that everybody sees. */
static uint32_t leaf_load_worst(const struct np_leaf_loads *l, size_t leaf)
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
	return np_slowdowns_pair(c->p->table, victim->profile, victim->touch,
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
			np_slowdowns_pair(c->p->table, a->profile, a->touch,
					  r->profile, r->touch);

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
	const uint16_t *from_a = np_slowdowns_caused(c->p->table, a->profile);
	const uint16_t *from_b =
		np_slowdowns_caused(c->p->table, (b ? b : a)->profile);
	uint32_t owner = common_owner(a, b);

	for (uint32_t k = on->first[leaf]; k < on->first[leaf + 1]; k++) {
		const struct np_leaf_job *r = &on->at[k];
		uint32_t x, y;

		if (on == &l->private && r->owner != owner)
			continue;
		x = np_slowdowns_at(from_a, r->profile, r->touch & a->touch);
		y = !b ? 0 : np_slowdowns_at(from_b, r->profile,
					     r->touch & b->touch);
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

/* Quick test: certainly no running job there is slowed too much by both. */
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

/* Whether the running jobs on a leaf close it to a class. */
static bool is_closed(const struct np_classes *c, const struct np_class *k,
		      uint32_t leaf)
{
	return k->full.load[leaf] > c->p->limit ||
	       k->full.victim[leaf] > c->p->limit;
}

/*
 * Whether class a must avoid a leaf because of the jobs running there (b:
 * NP_NONE), or must avoid pending jobs of class b there. cause (may be NULL) is
 * set if so.
 */
static bool class_avoids(const struct np_classes *c, uint32_t a, uint32_t b,
			 uint32_t leaf, struct np_cause *cause)
{
	const struct np_class *ka = &c->at[a];
	const struct np_class *kb = b == NP_NONE ? NULL : &c->at[b];
	struct worst s = { 0 };
	/* Mostly the loads of the classes tell. Otherwise, and for the cause,
	   the running jobs there are checked one by one. */
	bool certain = kb ? exceeds_directly(c, ka, kb, leaf) :
			    is_closed(c, ka, leaf);

	if (!certain && (!kb || no_third_victim(c, ka, kb, leaf)))
		return false;
	if (certain && !cause)
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
			.slowdown = np_slowdowns_from_load(
				np_slowdowns_clamp(s.load)),
		};
	return s.load != 0;
}

/* Whether the jobs of two classes, or of one (b: a), load a switch. */
static bool both_load(const struct np_classes *c, uint32_t a, uint32_t b,
		      uint32_t sw)
{
	return loads_rail(c->p, c->at[a].profile, sw) &&
	       loads_rail(c->p, c->at[b].profile, sw);
}

/*
 * Whether a job of one class conflicts with one of the other on any of these
 * leaves, whichever of them has to yield; a may be b.
 */
static bool class_conflict_on(const struct np_classes *c, uint32_t a,
			      uint32_t b, const uint64_t *leaves)
{
	if (a == b)
		return np_bits_intersect(c->at[a].one_only_leaves, leaves,
					 c->p->leaf_words);
	if (!np_bits_test(c->relevant + a * c->words, b) &&
	    !np_bits_test(c->relevant + b * c->words, a))
		return false;
	NP_BITS_EACH(leaf, leaves, c->p->leaf_words)
		EACH_SWITCH(sw, c->p->leaves, leaf)
			if (both_load(c, a, b, *sw) &&
			    class_avoids(c, a, b, *sw, NULL))
				return true;
	return false;
}

/*
 * Whether class a must avoid a switch because of what runs there, or because of
 * the classes that hold it now.
 */
static bool switch_blocked(const struct np_classes *c, uint32_t a, uint32_t sw)
{
	const struct np_class *k = &c->at[a];
	const uint64_t *on = c->on_switch + sw * c->words;
	size_t row = a * c->words;

	for (uint32_t row_words = k->row_words; row_words;
	     row_words &= row_words - 1) {
		size_t w = np_bits_lowest(0, row_words);

		if (on[w] & c->hard[row + w])
			return true;
		for (uint64_t m = on[w] & c->soft[row + w]; m; m &= m - 1)
			if (exceeds_directly(c, k, &c->at[np_bits_lowest(w, m)],
					     sw))
				return true;
		for (uint64_t m = on[w] & c->soft_own[row + w]; m; m &= m - 1)
			if (class_avoids(c, a, np_bits_lowest(w, m), sw, NULL))
				return true;
	}
	/* The remaining case: a running job that suffers from two arrivals. */
	return is_leaf_full(c->loads, sw, k->profile, k->touch);
}

/* Whether class a must avoid a leaf, i.e. any switch of it that it loads. */
static bool class_blocked(const struct np_classes *c, uint32_t a, uint32_t leaf)
{
	const struct np_class *k = &c->at[a];

	if (!np_bits_test(k->open, leaf))
		return true;
	EACH_SWITCH(sw, c->p->leaves, leaf)
		if (loads_rail(c->p, k->profile, *sw) &&
		    switch_blocked(c, a, *sw))
			return true;
	return false;
}

/* Whether one more job of the class may use a leaf, given who holds it now. */
static bool class_can_take(const struct np_classes *c, uint32_t class,
			   const struct np_job *j, uint32_t leaf)
{
	const struct np_class *k = &c->at[class];

	if (np_bits_test(k->one_only_leaves, leaf))
		EACH_SWITCH(sw, c->p->leaves, leaf)
			if (np_bits_test(k->one_only_switches, *sw) &&
			    (k->n_held[*sw] || j->tasks > 1))
				return false;
	return !class_blocked(c, class, leaf);
}

/* A class holds its first leaf of a switch. */
static void enter_switch(struct np_classes *c, uint32_t class, uint32_t sw)
{
	const struct np_class *k = &c->at[class];

	np_bits_set(c->on_switch + sw * c->words, class);
	if (k->trusted)
		note_arrival(c->loads, sw, k->profile, k->touch);
}

/* A class gave up its last leaf of a switch. */
static void leave_switch(struct np_classes *c, uint32_t class, uint32_t sw)
{
	uint64_t *on = c->on_switch + sw * c->words;

	np_bits_clear(on, class);
	if (!c->at[class].trusted)
		return;
	clear_arrivals(c->loads, sw);
	NP_BITS_EACH(b, on, c->words)
		if (c->at[b].trusted)
			note_arrival(c->loads, sw, c->at[b].profile,
				     c->at[b].touch);
}

/* Record that a job or group of the class takes a leaf. */
static void class_hold(struct np_classes *c, uint32_t class, uint32_t leaf)
{
	struct np_class *k = &c->at[class];

	if (k->n_holders[leaf] < UINT16_MAX)
		k->n_holders[leaf]++;
	if (np_bits_test(k->held, leaf))
		return;
	np_bits_set(k->held, leaf);
	EACH_SWITCH(sw, c->p->leaves, leaf)
		if (loads_rail(c->p, k->profile, *sw) && !k->n_held[*sw]++)
			enter_switch(c, class, *sw);
}

/* Record that a job or group of the class gives up a leaf. */
static void class_drop(struct np_classes *c, uint32_t class, uint32_t leaf)
{
	struct np_class *k = &c->at[class];

	if (k->n_holders[leaf] < UINT16_MAX)
		k->n_holders[leaf]--;
	if (k->n_holders[leaf])
		return;
	np_bits_clear(k->held, leaf);
	EACH_SWITCH(sw, c->p->leaves, leaf)
		if (loads_rail(c->p, k->profile, *sw) && !--k->n_held[*sw])
			leave_switch(c, class, *sw);
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
		     j->nodes_min > c->p->snapshot->leaves->largest;

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

	if (order_find(p->private_owner, p->n_private, owner) < p->n_private)
		return true;
	for (size_t i = c->n_sealed; i < c->n; i++)
		if (!c->at[i].trusted && c->at[i].owner == owner)
			return true;
	return false;
}

/*
 * Allocate the loads of a class. One that slows nobody needs only its own.
 * false: out of memory.
 */
static bool add_loads(struct np_classes *c, bool is_aggressor,
		      struct np_class_loads *v)
{
	size_t n = c->p->n_switches;

	v->load =
		problem_alloc(c->p, is_aggressor ? 3 * n : n, sizeof(*v->load));
	if (!v->load)
		return false;
	v->victim = is_aggressor ? v->load + n : c->zeros;
	v->added = is_aggressor ? v->victim + n : c->zeros;
	return true;
}

/* Allocate a class and append it; false: out of memory. */
static bool add_class(struct np_classes *c, struct np_class *k)
{
	size_t bits = c->p->leaf_words + 1, n;
	uint64_t *words = problem_alloc(c->p, 3 * bits + c->p->n_switches /
					NP_BITS_WORD + 1, sizeof(*words));
	bool is_aggressor = c->p->table->profile[k->profile].aggressor;

	k->n_holders =
		problem_alloc(c->p, c->p->n_leaves, sizeof(*k->n_holders));
	k->n_held = problem_alloc(c->p, c->p->n_switches, sizeof(*k->n_held));
	if (!words || !k->n_holders || !k->n_held ||
	    !add_loads(c, is_aggressor, &k->public))
		return false;
	k->full = k->public;
	if (user_loads_of(c->loads, k->owner, &n) &&
	    !add_loads(c, is_aggressor, &k->full))
		return false;
	k->open = words;
	k->one_only_leaves = words + bits;
	k->held = words + 2 * bits;
	k->one_only_switches = words + 3 * bits;
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

/* Set the load on a class by the public jobs on a leaf. */
static void set_load(const struct np_classes *c, struct np_class *k,
		     size_t leaf, const uint16_t *suffered)
{
	const struct np_leaf_jobs *on = &c->loads->public;
	uint64_t load = 0;

	for (uint32_t i = on->first_aggressor[leaf];
	     i < on->first_aggressor[leaf + 1]; i++) {
		const struct np_aggressor *a = &on->aggressor[i];

		load += (uint64_t)a->n *
			np_slowdowns_at(suffered, a->profile,
					a->touch & k->touch);
	}
	k->public.load[leaf] = clamp16(load);
}

/* Set what a class would add to the sensitive public jobs on a leaf. */
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
	const uint16_t *caused = np_slowdowns_caused(c->p->table, k->profile);
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

/* Set the full loads of a class on a leaf where its owner has private jobs. */
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
	if (c->p->table->profile[k->profile].aggressor) {
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
	uint32_t pair = np_slowdowns_pair(c->p->table, k->profile, k->touch,
					  k->profile, k->touch);

	return maybe_direct(most, pair, most, pair, c->p->limit) ||
	       maybe_third(most, most, c->p->limit);
}

/* Fill in whether a job of the class may use a leaf; with two, if two may. */
static void check_leaf(struct np_classes *c, struct np_class *k, uint32_t leaf,
		       bool two)
{
	uint32_t me = (uint32_t)(k - c->at);

	EACH_SWITCH(sw, c->p->leaves, leaf)
		if (is_closed(c, k, *sw))
			return;
	np_bits_set(k->open, leaf);
	if (!two)
		return;
	EACH_SWITCH(sw, c->p->leaves, leaf)
		if (both_load(c, me, me, *sw) &&
		    (np_bits_test(k->one_only_switches, *sw) ||
		     class_avoids(c, me, me, *sw, NULL))) {
			np_bits_set(k->one_only_switches, *sw);
			np_bits_set(k->one_only_leaves, leaf);
			k->self = true;
		}
}

/*
 * Set the full loads of a class: a copy of those with public jobs, changed on
 * the leaves where its owner has private jobs.
 */
static void set_full_loads(const struct np_classes *c, struct np_class *k)
{
	size_t n;
	const struct np_user_load *e =
		user_loads_of(c->loads, k->owner, &n);

	k->full_max = k->public_max;
	if (k->full.load == k->public.load)
		return;
	memcpy(k->full.load, k->public.load,
	       (c->p->table->profile[k->profile].aggressor ? 3 : 1) *
	       c->p->n_switches * sizeof(*k->full.load));
	for (size_t i = 0; i < n; i++)
		if (loads_rail(c->p, k->profile, e[i].leaf))
			set_full_leaf(c, k, &e[i]);
}

/* Fill in what the running jobs on all leaves mean for a class. */
static void set_loads(struct np_classes *c, struct np_class *k)
{
	const uint16_t *suffered =
		np_slowdowns_suffered(c->p->table, k->profile);
	const uint16_t *caused = np_slowdowns_caused(c->p->table, k->profile);
	const struct np_slowdowns_profile *profile =
		&c->p->table->profile[k->profile];
	bool suffers = c->p->table->most[k->profile]; /* from anything */
	bool two;

	if (profile->inert) {
		for (uint32_t leaf = 0; leaf < c->p->n_leaves; leaf++)
			np_bits_set(k->open, leaf);
		return;
	}
	for (uint32_t sw = 0; sw < c->p->n_switches; sw++) {
		if (!loads_rail(c->p, k->profile, sw))
			continue;
		if (suffers)
			set_load(c, k, sw, suffered);
		if (profile->aggressor)
			set_added(c, k, sw, caused);
		update_max(&k->public_max, &k->public, sw);
	}
	set_full_loads(c, k);
	two = maybe_self(c, k);
	for (uint32_t leaf = 0; leaf < c->p->n_leaves; leaf++)
		check_leaf(c, k, leaf, two);
}

static bool class_open_everywhere(const struct np_classes *c, uint32_t class)
{
	return np_bits_count(c->at[class].open, c->p->leaf_words) ==
	       c->p->n_leaves;
}

/* Set what a's bitmaps say of b. ab: load on a by b; ba: load on b by a. */
static void compare_classes(struct np_classes *c, uint32_t a, uint32_t b,
			    uint32_t ab, uint32_t ba)
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

/* Compare a class with those that were made since this was last called. */
static void extend_row(struct np_classes *c, uint32_t class)
{
	struct np_class *k = &c->at[class];
	const uint16_t *suffered =
		np_slowdowns_suffered(c->p->table, k->profile);
	const uint16_t *caused = np_slowdowns_caused(c->p->table, k->profile);

	k->row_words |= 1u << class / NP_BITS_WORD;
	/* A class is not in its own bitmaps: one_only_leaves and
	   one_only_switches say where its jobs conflict with each other. */
	for (uint32_t b = k->n_compared; b < c->n; b++) {
		const struct np_class *x = &c->at[b];
		size_t at = x->profile * NP_N_TOUCH + (x->touch & k->touch);

		if (b != class)
			compare_classes(c, class, b, suffered[at], caused[at]);
	}
	k->n_compared = (uint32_t)c->n;
}

/*
 * The class of a job, made if needed and compared with all present classes.
 * NP_NONE: too many classes, or out of memory.
 */
static uint32_t class_of(struct np_classes *c, const struct np_job *j)
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

/* Returns 0 or -ENOMEM. */
static int classes_init(struct np_classes *c, struct np_problem *p,
			struct np_leaf_loads *loads)
{
	c->p = p;
	c->loads = loads;
	c->capacity = NP_PLACEMENT_MAX_CLASSES;
	c->at = problem_alloc(p, c->capacity + SPARE, sizeof(*c->at));
	c->of_profile = problem_alloc(p, p->table->n, sizeof(uint32_t));
	c->zeros = problem_alloc(p, p->n_switches, sizeof(*c->zeros));
	if (!c->at || !c->of_profile || !c->zeros)
		return -ENOMEM;
	memset(c->of_profile, 0xff, p->table->n * sizeof(uint32_t));
	return 0;
}

/* Trusted classes first, then by owner; else in the order they were made. */
static int class_by_owner(const void *a, const void *b, void *at)
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

/*
 * Give adjacent numbers to classes that may be relevant to each other, so that
 * their bitmaps have few words that are not 0. Returns the new number of each
 * class; NULL: out of memory.
 */
static uint32_t *classes_renumber(struct np_classes *c)
{
	struct np_class *at = problem_alloc(c->p, c->n + SPARE, sizeof(*at));
	uint32_t *order = problem_alloc(c->p, c->n, sizeof(*order));
	uint32_t *to = problem_alloc(c->p, c->n, sizeof(*to));

	if (!at || !order || !to)
		return NULL;
	for (uint32_t i = 0; i < c->n; i++)
		order[i] = i;
	qsort_r(order, c->n, sizeof(*order), class_by_owner, c->at);
	memset(c->of_profile, 0xff, c->p->table->n * sizeof(*c->of_profile));
	for (uint32_t i = 0; i < c->n; i++) {
		to[order[i]] = i;
		at[i] = c->at[order[i]];
		at[i].next = c->of_profile[at[i].profile];
		c->of_profile[at[i].profile] = i;
	}
	c->at = at;
	return to;
}

/* Allocate the bitmaps of classes. 0 or -ENOMEM. */
static int add_rows(struct np_classes *c)
{
	size_t cells = c->capacity * c->words;

	c->hard = problem_alloc(c->p, cells, sizeof(*c->hard));
	c->soft = problem_alloc(c->p, cells, sizeof(*c->soft));
	c->soft_own = problem_alloc(c->p, cells, sizeof(*c->soft_own));
	c->relevant = problem_alloc(c->p, cells, sizeof(*c->relevant));
	c->on_switch = problem_alloc(c->p, c->p->n_switches * c->words,
				     sizeof(*c->on_switch));
	c->open_on = problem_alloc(c->p, c->p->n_leaves * c->words,
				   sizeof(*c->open_on));
	return c->hard && c->soft && c->soft_own && c->relevant &&
	       c->on_switch && c->open_on ? 0 : -ENOMEM;
}

/*
 * All classes of the snapshot are made: compare them with each other. A limited
 * number can still be added. Returns 0 or -ENOMEM.
 */
static int classes_seal(struct np_classes *c)
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
				 class_open_everywhere(c, i);
		NP_BITS_EACH(leaf, c->at[i].open, c->p->leaf_words)
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

static bool conflict_on_any_leaf(const struct np_classes *c, uint32_t a,
				 uint32_t b)
{
	for (uint32_t sw = 0; sw < c->p->n_switches; sw++)
		if (both_load(c, a, b, sw) && class_avoids(c, a, b, sw, NULL))
			return true;
	return false;
}

/* Whether a class conflicts with anything in the snapshot, on any leaf. */
static bool class_conflicts(struct np_classes *c, uint32_t class)
{
	struct np_class *k = &c->at[class];

	if (k->conflict_free)
		return false;
	if (!k->known) {
		k->known = true;
		k->conflicts = (k->self && k->n > 1) ||
			   !class_open_everywhere(c, class);
		for (uint32_t b = 0; b < c->n && !k->conflicts; b++)
			k->conflicts = (is_relevant(c, class, b) ||
					is_relevant(c, b, class)) &&
				       conflict_on_any_leaf(c, class, b);
	}
	return k->conflicts;
}

/*
 * For an array whose class conflicts with itself on some leaves: the leaves
 * where its tasks may run together, as a bitmap in bits. false: these have too
 * few nodes.
 */
static bool class_array_leaves(const struct np_classes *c, uint32_t class,
			       const struct np_job *j,
			       const struct np_counts *counts, uint64_t *bits)
{
	const struct np_class *k = &c->at[class];

	for (size_t w = 0; w < c->p->leaf_words; w++)
		bits[w] = counts->reach[w] & k->open[w] &
			  ~k->one_only_leaves[w];
	return counts_sum(c->p->leaves, j->switches, counts->usable,
			  counts->no_leaf_usable, bits) >= j->nodes_min;
}

/*
 * ---- The allocation of leaves ----
 *
 * It has everything that one placement decision computes, in parts, each of
 * which depends only on those before it. It is kept for the submissions that
 * arrive until the next decision.
 *
 * Conflicting groups of jobs share the leaves by three rules. They are applied
 * in turn until nothing changes. Each keeps apart every pair that must be
 * apart, so the result is valid whenever the iteration stops.
 *
 *   keep   A group keeps the leaves that an earlier decision wrote into its
 *          jobs, as far as these are still open to it.
 *   grow   In order of precedence, each request gets more leaves if its group
 *          has too few free nodes to start it and the earlier requests of its
 *          subgroup now, or too few usable nodes to start it at all. It takes
 *          leaves that no conflicting group holds, then leaves that others can
 *          spare. A group can spare a leaf if none of its requests of higher
 *          precedence loses by it. All or nothing: a request takes no leaf
 *          unless it gets enough of them.
 *   widen  Leaves that no group needs go to the group that has least for its
 *          demand.
 *
 * A request only ever gains at the expense of requests of lower precedence, so
 * the iteration converges, and "keep" makes the next decision start from its
 * result. Jobs in mode prefer come after all groups and take nothing from them.
 */

/*
 * ---- Requests: the pending jobs and array tasks that need leaves ----
 *
 * Requests are sorted by precedence and do not change, except for the three
 * fields that groups_init() sets once. Invariants:
 *
 * - In order[], jobs that may start precede those that cannot by themselves.
 * - The requests of a job are adjacent, in the order of its tasks.
 */

struct np_request {
	uint32_t job; /* index in the snapshot */
	uint32_t class;
	uint32_t need; /* number of nodes */
	uint32_t task; /* counts up from 0 within the job */
	bool ready;    /* the job may start */

	uint32_t group, subgroup; /* NP_NONE: its class is conflict-free */
	uint64_t cum_nodes; /* nodes that the requests of the subgroup want, up
			       to this one and with it; with a limit on
			       switches only its own */
};

struct np_requests {
	uint32_t *order; /* jobs that placement decides about */
	size_t n_order;
	uint32_t *class; /* per job; NP_NONE: not decided about, or no class */
	struct np_request *at; /* of jobs in enforced partitions */
	size_t n;
	uint32_t *of_job; /* first request of a job, or NP_NONE */
};

/*
 * ---- Groups: requests that share one set of leaves ----
 *
 * All requests of a class form one group. Where jobs of the class conflict with
 * each other, each request is a group of its own, unless it belongs to an array
 * that finds enough leaves on which its tasks do not conflict. The requests of
 * a group with the same candidate nodes form a subgroup.
 *
 * A visibility group (vgroup) consists of all groups that everybody sees, or of
 * those of one owner that others do not see. Leaves are assigned to one
 * visibility group after the other, since a group cannot restrict one that does
 * not see it.
 *
 * Only group_hold() and group_drop() transfer leaves. Invariants:
 *
 * - The counts in_free and in_usable of a subgroup, and the group's supply, are
 *   those of the leaves in the group's set.
 * - No two groups hold a leaf that their classes must not share, provided that
 *   each was taken after group_can_take() or group_clear() allowed it.
 */

/*
 * The requests of a group with the same candidate nodes, the same limit on
 * switches, and jobs that all share nodes or do not.
 */
struct np_subgroup {
	const struct np_counts *counts;
	const uint16_t *free; /* the column of counts that applies to it */
	uint32_t no_leaf_free;
	uint32_t group, next; /* next subgroup of the group, or NP_NONE */
	uint32_t switches;
	uint32_t set;	/* handle of the candidate nodes */
	bool shares;	/* its jobs share nodes */
	/*
	 * Smallest number of free, or usable, nodes that a request failed to
	 * get in the current pass of "grow". Subgroups that differ only in
	 * their group share it, in the first of them, while they hold no leaf.
	 */
	uint64_t free_failed, usable_failed;
	uint32_t like, next_like; /* first such subgroup; the next one */
	uint32_t max_need; /* largest need of a request, nodes */
	uint32_t first, n; /* requests, in groups.by_subgroup */
	uint32_t n_ready;  /* of these may start; they come first */
	uint64_t wanted;   /* nodes that the ready requests want in total */
	uint64_t in_free, in_usable; /* nodes on the leaves held */
};

/* Requests that share one set of leaves. */
struct np_group {
	uint32_t class;
	uint32_t subgroup; /* first */
	uint32_t next;	 /* group of the same class, or NP_NONE */
	bool ready;	 /* has a request that may start */
	bool together;	 /* tasks of one array that do not conflict on its
			    leaves */
	bool placed;	 /* has a request with enough usable nodes */
	bool widened;	 /* was offered all leaves; only vacated ones are new */
	uint64_t *leaves; /* that it holds */
	uint64_t *reach;  /* leaves with candidate nodes */
	uint64_t demand, supply; /* nodes */
};

/* The groups of one class. */
struct np_group_class {
	uint32_t first, last; /* groups, by precedence */
	uint32_t like;	      /* list of its subgroups that are not alike */
	/* Only of classes with several groups, otherwise NULL. */
	uint32_t *last_taker; /* per leaf: the last group that took it */
	uint64_t *all;	      /* bitmap of the groups, counted from the first
				 one of the visibility group */
};

/* A leaf that a request may get. */
struct np_offer {
	uint32_t leaf;
	uint16_t nodes; /* that count for the request; 0: it is taken */
	uint16_t loss;	/* as in np_groups.loss */
};

/* A leaf that a group took, or gave up. */
struct np_transfer {
	uint32_t group, leaf;
	bool gives; /* it gave the leaf up */
};

/* Where a visibility group begins; it ends where the next one begins. */
struct np_vgroup {
	uint32_t request; /* in groups.by_vgroup */
	uint32_t group, subgroup;
};

struct np_groups {
	struct np_problem *p;
	struct np_classes *classes;
	struct np_requests *requests;
	struct np_group *at; /* by visibility group, then by precedence */
	size_t n;
	uint64_t *bits; /* memory of the groups' bitmaps */
	struct np_vgroup *vgroup; /* n_vgroups + 1; the first is public */
	size_t n_vgroups;
	/* Requests by rank, i.e. index in requests.at, sorted in two ways. */
	uint32_t *by_vgroup, *by_subgroup;
	struct np_subgroup *subgroup;
	size_t n_subgroups, subgroup_room;
	struct np_group_class *of_class; /* for each class */
	uint64_t *vacated;	/* leaves given up since the last "widen" */
	struct np_offer *offer; /* leaves that "grow" may ask for */
	size_t n_offers;
	/* For "grow", at [class * n_leaves + leaf]: 1 + number of classes that
	   lose the leaf if the class takes it; 0: not counted yet. */
	uint16_t *loss;
	struct np_transfer *undo; /* what group_roll_back() undoes */
	size_t n_undo, undo_room;
};

static inline struct np_class *np_group_class(const struct np_groups *g,
					      uint32_t group)
{
	return &g->classes->at[g->at[group].class];
}

/*
 * ---- Mode prefer: keep a job apart only where that cannot delay it ----
 *
 * Jobs are considered in Slurm's order. A job is restricted to leaves with so
 * many free nodes that it can start now, even if every job before it took all
 * it wants on these very leaves. Where that is not certain the job is
 * unrestricted, and may run concurrently with jobs that it conflicts with.
 *
 * Invariant: what the jobs considered so far may take is in reserved, on each
 * leaf that they are restricted to, or otherwise in wanted, of their partition.
 */

/* What the jobs considered so far may take, and what was decided about them. */
struct np_prefer {
	struct np_problem *p;
	struct np_classes *classes;
	const struct np_requests *requests;
	const struct np_groups *groups;
	uint32_t *reserved;  /* per leaf: nodes for restricted jobs */
	uint32_t *partition; /* n_partitions, ascending */
	uint64_t *wanted;    /* per partition: nodes for unrestricted jobs */
	uint64_t *reach;     /* per partition: bitmap of its jobs' leaves */
	size_t n_partitions;
	uint64_t **leaves; /* of each job; NULL: unrestricted */
};

/* ---- The allocation as a whole ---- */

struct np_allocation {
	struct np_problem problem;
	struct np_leaf_loads loads;
	struct np_classes classes;
	struct np_requests requests;
	struct np_groups groups;
	struct np_prefer prefer;
};

/* ---- Requests ---- */

/* Limit on the requests of array tasks beyond each job's first, in total. */
#define MAX_EXTRA_REQUESTS 4096

/* Add a request for each task of a job, as far as *extra allows. */
static void add_requests(struct np_requests *r, const struct np_problem *p,
			 uint32_t job, size_t *extra)
{
	const struct np_job *j = &p->snapshot->job[job];
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
			.need = j->nodes_min,
			.ready = order_ready(p->snapshot, j),
		};
}

/* Whether placement decides about a job. */
static bool decides_about(const struct np_problem *p, uint32_t i)
{
	const struct np_job *j = &p->snapshot->job[i];

	return j->state != NP_JOB_RUNNING &&
	       !problem_exempt(p, j, p->snapshot->now_sec) &&
	       !problem_hold_expired(p, j, p->outcome[i].held_sec) &&
	       (problem_enforced(p, j) || j->mode == NP_MODE_PREFER);
}

/*
 * Sort the jobs by precedence, but those that may start come before all others.
 * 0 or -ENOMEM.
 */
static int gather_order(struct np_requests *r, struct np_problem *p)
{
	size_t n = p->snapshot->n_jobs;
	size_t next_ready = 0, next_other = 0; /* places in r->order */
	uint32_t *all = problem_alloc(p, n, sizeof(*all));

	r->order = problem_alloc(p, n, sizeof(*r->order));
	r->class = problem_alloc(p, n, sizeof(*r->class));
	r->of_job = problem_alloc(p, n, sizeof(*r->of_job));
	if (!all || !r->order || !r->class || !r->of_job)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		r->class[i] = r->of_job[i] = NP_NONE;
		if (!decides_about(p, i))
			continue;
		all[r->n_order++] = i;
		next_other += order_ready(p->snapshot, &p->snapshot->job[i]);
	}
	order_jobs(p->snapshot, all, r->n_order);
	for (size_t i = 0; i < r->n_order; i++)
		if (order_ready(p->snapshot, &p->snapshot->job[all[i]]))
			r->order[next_ready++] = all[i];
		else
			r->order[next_other++] = all[i];
	return 0;
}

/* Find the class of each job that has enough nodes. 0 or -ENOMEM. */
static int find_classes(struct np_requests *r, struct np_problem *p,
			struct np_classes *c)
{
	for (size_t i = 0; i < r->n_order; i++) {
		uint32_t job = r->order[i];
		const struct np_job *j = &p->snapshot->job[job];
		const struct np_counts *n = problem_counts(p, j->candidates);

		if (!n)
			return -ENOMEM;
		if (!np_bits_any(n->reach, p->leaf_words) ||
		    !problem_feasible(p, j, n))
			continue;
		r->class[job] = class_of(c, j);
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
	to = classes_renumber(c);
	r->at = problem_alloc(p, r->n_order + MAX_EXTRA_REQUESTS,
			      sizeof(*r->at));
	if (!to || !r->at)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_order; i++) {
		uint32_t job = r->order[i];
		const struct np_job *j = &p->snapshot->job[job];

		if (r->class[job] == NP_NONE)
			continue;
		r->class[job] = to[r->class[job]];
		c->at[r->class[job]].n += j->tasks;
		if (problem_enforced(p, j))
			add_requests(r, p, job, &extra);
	}
	return 0;
}

/* ---- Groups ---- */

/* Free, and usable, nodes of a subgroup on the leaves that its group holds. */
static uint64_t group_free_in(const struct np_groups *g,
			      const struct np_subgroup *q)
{
	return q->switches ? counts_sum(g->p->leaves, q->switches, q->free,
					q->no_leaf_free,
					g->at[q->group].leaves) :
			     q->in_free + q->no_leaf_free;
}

static uint64_t group_usable_in(const struct np_groups *g,
				const struct np_subgroup *q)
{
	return q->switches ?
		       counts_sum(g->p->leaves, q->switches, q->counts->usable,
				  q->counts->no_leaf_usable,
				  g->at[q->group].leaves) :
		       q->in_usable + q->counts->no_leaf_usable;
}

/* Whether the leaves of a request's group have enough usable nodes for it. */
static bool group_served(const struct np_groups *g, const struct np_request *r)
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
		.leaves = g->bits + 2 * u * g->p->leaf_words,
		.reach = g->bits + (2 * u + 1) * g->p->leaf_words,
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
	const struct np_job *j = &g->p->snapshot->job[r->job];
	bool alone = g->classes->at[r->class].self;
	bool together = alone && j->tasks > 1 &&
			class_array_leaves(g->classes, r->class, j,
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

static bool
has_same_candidates(const struct np_subgroup *q, const struct np_job *j)
{
	return q->set == j->candidates && q->switches == j->switches &&
	       q->shares == !!(j->flags & NP_JOB_SHARES_NODES);
}

/*
 * Set q->like: the first such subgroup of the class, maybe the new one itself.
 */
static void set_like(struct np_groups *g, uint32_t subgroup,
		     const struct np_job *j)
{
	struct np_subgroup *q = &g->subgroup[subgroup];
	struct np_group_class *k = &g->of_class[g->at[q->group].class];
	uint32_t i = k->like;

	while (i != NP_NONE && !has_same_candidates(&g->subgroup[i], j))
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
		if (has_same_candidates(q, j))
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
	np_bits_or(g->at[group].reach, c->reach, g->p->leaf_words);
	g->at[group].subgroup = i;
	set_like(g, i, j);
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

/* Sort the requests by subgroup. 0 or -ENOMEM. */
static int index_requests(struct np_groups *g)
{
	uint32_t at = 0;

	g->by_subgroup =
		problem_alloc(g->p, g->requests->n, sizeof(*g->by_subgroup));
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
	g->at = problem_alloc(g->p, n, sizeof(*g->at));
	g->bits = problem_alloc(g->p, 2 * n * g->p->leaf_words,
				sizeof(*g->bits));
	g->of_class = problem_alloc(g->p, g->classes->n, sizeof(*g->of_class));
	g->vacated = problem_alloc(g->p, g->p->leaf_words, sizeof(*g->vacated));
	g->offer = problem_alloc(g->p, g->p->n_leaves, sizeof(*g->offer));
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

	return k->trusted ? 0 :
			    1 + order_find(g->p->private_owner, g->p->n_private,
					   k->owner);
}

/*
 * Sort the requests of all classes that are not conflict-free by visibility
 * group. 0 or -ENOMEM.
 */
static int gather_vgroups(struct np_groups *g)
{
	const struct np_requests *r = g->requests;
	struct np_vgroup *to;

	g->n_vgroups = 1 + g->p->n_private;
	g->vgroup =
		problem_alloc(g->p, g->n_vgroups + 2, sizeof(*g->vgroup));
	g->by_vgroup = problem_alloc(g->p, r->n, sizeof(*g->by_vgroup));
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
	const struct np_job *j = &g->p->snapshot->job[r->job];

	r->group = group_of(g, rank);
	r->subgroup = subgroup_of(g, r->group, j);
	if (r->subgroup == NP_NONE)
		return -ENOMEM;
	add_demand(g, r, &g->subgroup[r->subgroup], j);
	return 0;
}

/* Fill in last_taker and all of classes with several groups. 0 or -ENOMEM. */
static int index_classes(struct np_groups *g, const struct np_vgroup *vgroup)
{
	size_t words = np_bits_words(vgroup[1].group - vgroup->group);

	for (uint32_t i = vgroup->group; i < vgroup[1].group; i++) {
		struct np_group_class *k = &g->of_class[g->at[i].class];

		if (k->first == k->last)
			continue;
		if (i == k->first) {
			k->last_taker = problem_alloc(g->p, g->p->n_leaves,
						      sizeof(*k->last_taker));
			k->all = problem_alloc(g->p, words, sizeof(*k->all));
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

/* Free what is needed only while leaves are shared out. */
static void groups_free_scratch(struct np_groups *g)
{
	free(g->loss);
	g->loss = NULL;
}

static void groups_free(struct np_groups *g)
{
	groups_free_scratch(g);
	free(g->subgroup);
	free(g->undo);
}

/* ---- Transfer of leaves ---- */

/* A group takes a leaf, whether or not it may. */
static void group_hold(struct np_groups *g, uint32_t group, uint32_t leaf)
{
	struct np_group *u = &g->at[group];
	struct np_subgroup *q;

	np_bits_set(u->leaves, leaf);
	u->supply += g->p->leaf_usable[leaf];
	for (uint32_t i = u->subgroup; i != NP_NONE; i = q->next) {
		q = &g->subgroup[i];
		q->in_free += q->free[leaf];
		q->in_usable += q->counts->usable[leaf];
	}
	if (g->of_class[u->class].last_taker)
		g->of_class[u->class].last_taker[leaf] = group;
	class_hold(g->classes, u->class, leaf);
}

/* A group gives up a leaf that it holds. */
static void group_drop(struct np_groups *g, uint32_t group, uint32_t leaf)
{
	struct np_group *u = &g->at[group];
	struct np_subgroup *q;

	np_bits_clear(u->leaves, leaf);
	np_bits_set(g->vacated, leaf);
	u->supply -= g->p->leaf_usable[leaf];
	for (uint32_t i = u->subgroup; i != NP_NONE; i = q->next) {
		q = &g->subgroup[i];
		q->in_free -= q->free[leaf];
		q->in_usable -= q->counts->usable[leaf];
	}
	class_drop(g->classes, u->class, leaf);
}

/*
 * Whether a switch takes only one job of a group's class, and another group of
 * the class holds a leaf of it.
 */
static bool own_class_on(const struct np_groups *g, const struct np_group *u,
			 uint32_t sw)
{
	const struct np_class *k = &g->classes->at[u->class];

	if (np_bits_test(k->one_only_switches, sw))
		EACH_LEAF(leaf, g->p->leaves, sw)
			if (k->n_holders[*leaf] >
			    np_bits_test(u->leaves, *leaf))
				return true;
	return false;
}

/* Whether jobs of its own class keep a group off a leaf. */
static bool by_own_class(const struct np_groups *g, const struct np_group *u,
			 uint32_t leaf)
{
	if (!np_bits_test(g->classes->at[u->class].one_only_leaves, leaf))
		return false;
	if (u->together)
		return true;
	EACH_SWITCH(sw, g->p->leaves, leaf)
		if (own_class_on(g, u, *sw))
			return true;
	return false;
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
	       !class_blocked(g->classes, u->class, leaf);
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

/* Undo the transfers logged since n_undo was n, last one first. */
static void group_roll_back(struct np_groups *g, size_t n)
{
	while (g->n_undo > n) {
		const struct np_transfer *last = &g->undo[--g->n_undo];

		if (last->gives)
			group_hold(g, last->group, last->leaf);
		else
			group_drop(g, last->group, last->leaf);
	}
}

/*
 * Index of the first request of a subgroup for which so many free nodes are too
 * few.
 */
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
 * Whether no request of higher precedence than rank loses if its subgroup has
 * fewer nodes: `free` instead of had_free, and `usable` instead of had.
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

/*
 * Whether no request of higher precedence than rank loses if its group gives up
 * a leaf.
 */
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
		np_bits_clear(u->leaves, leaf);
		free = q->switches ? group_free_in(g, q) :
		       had_free - q->free[leaf];
		usable = q->switches ? group_usable_in(g, q) :
			 had - q->counts->usable[leaf];
		np_bits_set(u->leaves, leaf);
		if (!subgroup_spares(g, q, had_free, free, had, usable, rank))
			return false;
	}
	return true;
}

/*
 * Check whether all groups of a class that hold a leaf can spare it for a
 * request; with take, let them give it up. 0, -EBUSY (one cannot) or -ENOMEM.
 */
static int clear_class(struct np_groups *g, uint32_t rank, uint32_t class,
		       uint32_t leaf, bool take)
{
	uint32_t left = g->classes->at[class].n_holders[leaf];
	const uint32_t *last_taker = g->of_class[class].last_taker;
	uint32_t w = g->of_class[class].first;

	/* A single holder is most often the last one that took it. */
	if (left == 1 && last_taker &&
	    np_bits_test(g->at[last_taker[leaf]].leaves, leaf))
		w = last_taker[leaf];
	for (; left && w != NP_NONE; w = g->at[w].next) {
		if (!np_bits_test(g->at[w].leaves, leaf))
			continue;
		left--;
		if (w == g->requests->at[rank].group)
			continue;
		/* With several rails, it may have given up another leaf for
		   the same request. */
		if ((!take || !g->p->leaves->one_rail) &&
		    !group_spares(g, w, leaf, rank))
			return -EBUSY;
		if (!take)
			continue;
		if (group_log(g, w, leaf, true))
			return -ENOMEM;
		group_drop(g, w, leaf);
	}
	return 0;
}

/* clear_class() for all leaves of a switch. */
static int clear_switch(struct np_groups *g, uint32_t rank, uint32_t class,
			uint32_t sw, bool take)
{
	int rc = 0;

	EACH_LEAF(leaf, g->p->leaves, sw)
		if (!rc)
			rc = clear_class(g, rank, class, *leaf, take);
	return rc;
}

/*
 * Check whether all groups that keep a request's group off a switch can spare
 * it; with take, let them give it up. 0, -EBUSY or -ENOMEM.
 */
static int clear_all(struct np_groups *g, uint32_t rank, uint32_t sw, bool take)
{
	const struct np_group *me = &g->at[g->requests->at[rank].group];
	const struct np_classes *c = g->classes;
	const uint64_t *on = c->on_switch + sw * c->words;
	const uint64_t *relevant = c->relevant + me->class * c->words;
	int rc = 0;

	if (own_class_on(g, me, sw))
		rc = clear_switch(g, rank, me->class, sw, take);
	for (uint32_t row_words = c->at[me->class].row_words; row_words && !rc;
	     row_words &= row_words - 1) {
		size_t w = np_bits_lowest(0, row_words);

		for (uint64_t m = on[w] & relevant[w]; m && !rc; m &= m - 1) {
			uint32_t b = np_bits_lowest(w, m);

			if (!class_avoids(c, me->class, b, sw, NULL))
				continue;
			rc = c->at[b].trusted && !c->at[me->class].trusted ?
			     -EBUSY : clear_switch(g, rank, b, sw, take);
		}
	}
	return rc;
}

/* clear_all() for each switch of a leaf that the request's class loads. */
static int group_clear(struct np_groups *g, uint32_t rank, uint32_t leaf,
		       bool take)
{
	const struct np_group *me = &g->at[g->requests->at[rank].group];
	const struct np_class *k = &g->classes->at[me->class];
	int rc = 0;

	if (me->together && np_bits_test(k->one_only_leaves, leaf))
		return -EBUSY; /* its own tasks conflict there */
	EACH_SWITCH(sw, g->p->leaves, leaf)
		if (!rc && loads_rail(g->p, k->profile, *sw))
			rc = clear_all(g, rank, *sw, take);
	return rc;
}

/* ---- The rule "grow" ---- */

/* Free nodes, to start now; or usable ones, to start at all. */
enum want { WANT_FREE, WANT_USABLE };

/* What "grow" tries to get for one request. */
struct goal {
	uint32_t rank, group; /* of the request */
	struct np_subgroup *q;
	const uint16_t *column; /* nodes per leaf that count */
	uint16_t *loss; /* groups.loss of its class */
	uint64_t nodes; /* number to reach */
	enum want want;
};

/* Nodes that count for a goal and that its group has. */
static uint64_t
nodes_reached(const struct np_groups *g, const struct goal *goal)
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

	for (size_t w = 0; w < g->p->leaf_words; w++)
		for (uint64_t m = u->reach[w] & open[w] & ~u->leaves[w]; m;
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

/*
 * Whether a goal cannot have a leaf. evict: not even if others give it up;
 * otherwise: not without that.
 */
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

/*
 * Take a leaf for a goal; evict: from those who can spare it, if they can spare
 * all its switches. 0 or -errno.
 */
static int take_leaf(struct np_groups *g, const struct goal *goal,
		     uint32_t leaf, bool evict)
{
	size_t before = g->n_undo;
	int rc = evict ? group_clear(g, goal->rank, leaf, true) : 0;

	if (rc == -EBUSY) {
		group_roll_back(g, before);
		return 0;
	}
	if (!rc)
		rc = group_log(g, goal->group, leaf, false);
	if (!rc)
		group_hold(g, goal->group, leaf);
	return rc;
}

/*
 * Get leaves for a request: those that nobody has to give up, and then those
 * that others can spare. Returns 1 if it got what it wants, 0 if nothing
 * changed, or -ENOMEM.
 */
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

	if (nodes_reached(g, &goal) + gather_offers(g, &goal) < goal.nodes)
		return 0;
	g->n_undo = 0;
	while ((have = nodes_reached(g, &goal)) < goal.nodes && !rc) {
		uint32_t leaf = grow_pick(g, &goal, evict, goal.nodes - have);

		if (leaf != NP_NONE)
			rc = take_leaf(g, &goal, leaf, evict);
		else if (evict)
			break;
		else
			gather_offers(g, &goal);
		evict |= leaf == NP_NONE;
	}
	if (!rc && have >= goal.nodes)
		return 1;
	group_roll_back(g, 0);
	return rc;
}

/*
 * A group that has enough nodes for none of its requests gives up all its
 * leaves. Returns whether it had any.
 */
static bool give_up(struct np_groups *g, uint32_t group)
{
	struct np_group *u = &g->at[group];
	bool any = np_bits_any(u->leaves, g->p->leaf_words);

	if (u->placed)
		return false;
	NP_BITS_EACH(leaf, u->leaves, g->p->leaf_words)
		group_drop(g, group, (uint32_t)leaf);
	return any;
}

/*
 * Acquire nodes for a request, unless as many were already refused in this
 * pass. 0 or -ENOMEM.
 */
static int grow_by(struct np_groups *g, uint32_t rank, enum want want,
		   bool *changed)
{
	struct np_request *r = &g->requests->at[rank];
	struct np_subgroup *q = &g->subgroup[r->subgroup];
	uint64_t nodes = want == WANT_FREE ? r->cum_nodes : r->need, *failed;
	int rc;

	if (!np_bits_any(g->at[r->group].leaves, g->p->leaf_words))
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

/* Get a request what it lacks: free nodes, then usable ones. 0 or -ENOMEM. */
static int grow_request(struct np_groups *g, uint32_t rank, bool *changed)
{
	const struct np_request *r = &g->requests->at[rank];
	const struct np_subgroup *q = &g->subgroup[r->subgroup];
	int rc = 0;

	if (r->ready && group_free_in(g, q) < r->cum_nodes)
		rc = grow_by(g, rank, WANT_FREE, changed);
	if (!rc && group_usable_in(g, q) < r->need)
		rc = grow_by(g, rank, WANT_USABLE, changed);
	return rc;
}

/* Set "placed" of the groups of a visibility group. */
static void note_placed(struct np_groups *g, const struct np_vgroup *vgroup)
{
	for (uint32_t i = vgroup->group; i < vgroup[1].group; i++)
		g->at[i].placed = false;
	for (uint32_t i = vgroup->request; i < vgroup[1].request; i++) {
		const struct np_request *r = &g->requests->at[g->by_vgroup[i]];

		if (group_served(g, r))
			g->at[r->group].placed = true;
	}
}

/* Apply the rule once to each request of a visibility group. 0 or -ENOMEM. */
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

/* Index of a job's partition in prefer->partition; n_partitions: none. */
static size_t
partition_of(const struct np_prefer *prefer, const struct np_job *j)
{
	return order_find(prefer->partition, prefer->n_partitions,
			  j->partition);
}

static uint64_t nodes_of_all_tasks(const struct np_job *j)
{
	return (uint64_t)j->nodes_min * j->tasks;
}

/* Free nodes of a leaf that restricted jobs before this one cannot take. */
static uint32_t
certainly_free(const struct np_prefer *prefer, const struct np_job *j,
	       const struct np_counts *c, uint32_t leaf)
{
	uint32_t n = j->flags & NP_JOB_SHARES_NODES ? c->free_shared[leaf] :
		     c->free_alone[leaf];

	return n > prefer->reserved[leaf] ? n - prefer->reserved[leaf] : 0;
}

/* Nodes that unrestricted jobs before it may take on any of a job's leaves. */
static uint64_t wanted_before(const struct np_prefer *prefer,
			      const struct np_counts *c)
{
	size_t words = prefer->p->leaf_words;
	uint64_t n = 0;

	for (size_t i = 0; i < prefer->n_partitions; i++)
		if (np_bits_intersect(prefer->reach + i * words, c->reach,
				      words))
			n += prefer->wanted[i];
	return n;
}

/* The smallest leaf that has all missing nodes, or else the largest. */
static uint32_t prefer_pick(const struct np_prefer *prefer,
			    const struct np_job *j,
			    uint32_t class, const struct np_counts *c,
			    const uint64_t *set, uint64_t missing)
{
	uint32_t best = NP_NONE, most = 0;

	NP_BITS_EACH(at, c->reach, prefer->p->leaf_words) {
		uint32_t leaf = (uint32_t)at;
		uint32_t n = certainly_free(prefer, j, c, leaf);

		if (!n || np_bits_test(set, leaf) ||
		    (best != NP_NONE && most >= missing &&
		     (n < missing || n >= most)) ||
		    (best != NP_NONE && most < missing && n <= most) ||
		    !class_can_take(prefer->classes, class, j, leaf))
			continue;
		best = leaf;
		most = n;
	}
	return best;
}

/*
 * Find leaves, a bitmap set[], on which a job of mode prefer is kept apart
 * and can still start now. false: there are none.
 */
static bool prefer_find(const struct np_prefer *prefer, const struct np_job *j,
			uint32_t class, const struct np_counts *c,
			uint64_t *set)
{
	uint64_t need = nodes_of_all_tasks(j) + wanted_before(prefer, c);
	uint64_t have = 0, all = 0;
	uint32_t leaves = 0;

	if (!(prefer->p->policy.modes & 1u << NP_MODE_PREFER))
		return false; /* wanted[] and reserved[] were not filled in */
	memset(set, 0, prefer->p->leaf_words * sizeof(*set));
	NP_BITS_EACH(leaf, c->reach, prefer->p->leaf_words)
		all += certainly_free(prefer, j, c, (uint32_t)leaf);
	if (all < need)
		return false;
	while (have < need) {
		uint32_t leaf =
			prefer_pick(prefer, j, class, c, set, need - have);

		if (leaf == NP_NONE || (j->switches && leaves == j->switches))
			return false;
		np_bits_set(set, leaf);
		have += certainly_free(prefer, j, c, leaf);
		leaves++;
	}
	return true;
}

/* A restricted job may take all its nodes on any one of its leaves. */
static void reserve_leaves(struct np_prefer *prefer, const struct np_job *j,
			   const uint64_t *set)
{
	NP_BITS_EACH(leaf, set, prefer->p->leaf_words) {
		uint64_t n = prefer->reserved[leaf] + nodes_of_all_tasks(j);

		prefer->reserved[leaf] =
			n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
	}
}

/* Restrict a job, if that cannot delay it. 0 or -ENOMEM. */
static int
try_restrict(struct np_prefer *prefer, uint32_t job, uint64_t *scratch)
{
	const struct np_job *j = &prefer->p->snapshot->job[job];
	const struct np_counts *c = prefer->p->counts[j->candidates];
	uint32_t class = prefer->requests->class[job];
	uint64_t *set;

	if (!prefer_find(prefer, j, class, c, scratch))
		return 0;
	set = problem_alloc(prefer->p, prefer->p->leaf_words, sizeof(*set));
	if (!set)
		return -ENOMEM;
	memcpy(set, scratch, prefer->p->leaf_words * sizeof(*set));
	NP_BITS_EACH(leaf, set, prefer->p->leaf_words)
		class_hold(prefer->classes, class, (uint32_t)leaf);
	reserve_leaves(prefer, j, set);
	prefer->leaves[job] = set;
	return 0;
}

/*
 * Reserve the leaves of an enforced job; false: it is not one, or has no group.
 */
static bool reserve_enforced(struct np_prefer *prefer, uint32_t job)
{
	const struct np_requests *all = prefer->requests;
	uint32_t i = all->of_job[job];

	if (i == NP_NONE || all->at[i].group == NP_NONE)
		return false;
	for (; i < all->n && all->at[i].job == job; i++) {
		const struct np_request *r = &all->at[i];
		bool last = i + 1 == all->n || r[1].job != job ||
			    r[1].group != r->group;

		/* Once per group; requests that are held take nothing. */
		if (last && group_served(prefer->groups, r))
			reserve_leaves(prefer, &prefer->p->snapshot->job[job],
				       prefer->groups->at[r->group].leaves);
	}
	return true;
}

/*
 * Whether to restrict a job. A single job of a class that conflicts with itself
 * is restricted as well, so that the next one finds leaves.
 */
static bool should_restrict(struct np_prefer *prefer, const struct np_job *j,
			    uint32_t class)
{
	return j->mode == NP_MODE_PREFER && class != NP_NONE &&
	       (prefer->classes->at[class].self ||
		class_conflicts(prefer->classes, class));
}

/*
 * Restrict a job where that is possible, and count the nodes that it may take.
 * 0 or -ENOMEM.
 */
static int
account_job(struct np_prefer *prefer, uint32_t job, uint64_t *scratch)
{
	const struct np_job *j = &prefer->p->snapshot->job[job];
	size_t at = partition_of(prefer, j);
	int rc;

	if (reserve_enforced(prefer, job))
		return 0;
	if (should_restrict(prefer, j, prefer->requests->class[job])) {
		rc = try_restrict(prefer, job, scratch);
		if (rc || prefer->leaves[job])
			return rc;
	}
	prefer->wanted[at] += nodes_of_all_tasks(j);
	return 0;
}

/*
 * Count the nodes of a job that was submitted and may take them before the next
 * one does: on leaves[] if it is restricted to them, or else anywhere.
 */
static void prefer_admit(struct np_prefer *prefer, const struct np_job *j,
			 bool restricted, const uint64_t *leaves)
{
	size_t at = partition_of(prefer, j);

	if (restricted || at == prefer->n_partitions)
		reserve_leaves(prefer, j, leaves);
	else
		prefer->wanted[at] += nodes_of_all_tasks(j);
}

/* List the partitions of n jobs. */
static int gather_partitions(struct np_prefer *prefer, const uint32_t *order,
			     size_t n)
{
	uint32_t *part = problem_alloc(prefer->p, n, sizeof(*part));

	if (!part)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		part[i] = prefer->p->snapshot->job[order[i]].partition;
	prefer->n_partitions = np_order_unique(part, n);
	prefer->partition = part;
	prefer->wanted = problem_alloc(prefer->p, prefer->n_partitions,
				       sizeof(*prefer->wanted));
	prefer->reach = problem_alloc(
		prefer->p, prefer->n_partitions * prefer->p->leaf_words,
		sizeof(*prefer->reach));
	return prefer->wanted && prefer->reach ? 0 : -ENOMEM;
}

/* Find the leaves that the jobs of each partition can use. 0 or -ENOMEM. */
static int
gather_reach(struct np_prefer *prefer, const uint32_t *order, size_t n)
{
	size_t words = prefer->p->leaf_words;

	for (size_t i = 0; i < n; i++) {
		const struct np_job *j = &prefer->p->snapshot->job[order[i]];
		size_t at = partition_of(prefer, j);
		const struct np_counts *c =
			problem_counts(prefer->p, j->candidates);

		if (!c)
			return -ENOMEM;
		np_bits_or(prefer->reach + at * words, c->reach, words);
	}
	return 0;
}

/* Restrict the jobs of mode prefer that can be. Returns 0 or -ENOMEM. */
static int prefer_init(struct np_prefer *prefer, struct np_problem *p,
		       struct np_classes *classes,
		       const struct np_requests *requests,
		       const struct np_groups *groups)
{
	uint32_t *order = problem_alloc(p, p->snapshot->n_jobs, sizeof(*order));
	uint64_t *scratch = problem_alloc(p, p->leaf_words, sizeof(*scratch));
	size_t n = 0;
	int rc;

	*prefer = (struct np_prefer){
		.p = p,
		.classes = classes,
		.requests = requests,
		.groups = groups,
		.reserved = problem_alloc(p, p->n_leaves,
					  sizeof(*prefer->reserved)),
		.leaves = problem_alloc(p, p->snapshot->n_jobs,
					sizeof(*prefer->leaves)),
	};
	if (!order || !scratch || !prefer->reserved || !prefer->leaves)
		return -ENOMEM;
	if (!(p->policy.modes & 1u << NP_MODE_PREFER))
		return 0;
	for (uint32_t i = 0; i < p->snapshot->n_jobs; i++)
		if (order_ready(p->snapshot, &p->snapshot->job[i]))
			order[n++] = i;
	order_jobs(p->snapshot, order, n);
	rc = gather_partitions(prefer, order, n);
	if (!rc)
		rc = gather_reach(prefer, order, n);
	for (size_t i = 0; !rc && i < n; i++)
		rc = account_job(prefer, order[i], scratch);
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
 * State of the rule "widen". Groups are those of a visibility group, counted
 * from its first one; those that are ready come first.
 */
struct widening {
	struct np_groups *g;
	uint32_t first;
	size_t n, n_ready, words;
	uint64_t *want; /* per leaf a bitmap of the groups that ask for it */
};

/*
 * Whether a group can take a leaf. If not, it is removed from want[], and often
 * all groups of its class with it: no group gives up a leaf here, so what a
 * class cannot take it cannot take later on either.
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
	   groups of its class are not; with several rails, any group that
	   holds no other leaf of the same switch. */
	for (size_t k = 0; all && !u->together && w->g->p->leaves->one_rail &&
	     k < w->words; k++)
		want[k] &= ~all[k];
	return false;
}

/*
 * Give a leaf to the ready group with the least supply for its demand, and then
 * to all that can share it. Returns whether any group took it.
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
 * Enter a group into want[] of the leaves that it asks for: at first all, later
 * only those that were vacated since.
 */
static void request_leaves(const struct widening *w, size_t i)
{
	const struct np_group *u = &w->g->at[w->first + i];
	const uint64_t *open = w->g->classes->at[u->class].open;
	const uint64_t *left = w->g->vacated;

	for (size_t k = 0; k < w->g->p->leaf_words; k++)
		for (uint64_t m = u->reach[k] & open[k] & ~u->leaves[k] &
		     (u->widened ? left[k] : ~UINT64_C(0));
		     m; m &= m - 1)
			np_bits_set(w->want + np_bits_lowest(k, m) * w->words,
				    i);
}

/* Apply the rule "widen" to a visibility group. 0 or -ENOMEM. */
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
			request_leaves(&w, i);
		u[i].widened = u[i].placed;
	}
	for (size_t i = 0; n && i < g->p->n_leaves; i++)
		*changed |= widen_leaf(&w, g->p->leaf_order[i]);
	memset(g->vacated, 0, g->p->leaf_words * sizeof(*g->vacated));
	free(w.want);
	return 0;
}

/* Add to bits the leaves that an earlier decision wrote for a request. */
static void add_prior_leaves(const struct np_groups *g,
			     const struct np_request *r,
			     uint64_t *bits)
{
	const struct np_job *j = &g->p->snapshot->job[r->job];
	const uint64_t *reach = g->p->counts[j->candidates]->reach;

	if (r->task) /* the decision in the record is that of its first task */
		return;
	for (size_t w = 0; w < g->p->leaf_words; w++)
		if (j->prior == NP_PRIOR_UNRESTRICTED)
			bits[w] |= reach[w];
		else if (j->prior == NP_PRIOR_RESTRICTED)
			bits[w] |= reach[w] & j->prior_leaves[w];
}

/* Apply the rule "keep" to a visibility group. 0 or -ENOMEM. */
static int keep(struct np_groups *g, const struct np_vgroup *vgroup)
{
	size_t n = vgroup[1].group - vgroup->group, words = g->p->leaf_words;
	uint64_t *bits = calloc(n * words + 1, sizeof(*bits));

	if (!bits)
		return -ENOMEM;
	for (uint32_t i = vgroup->request; i < vgroup[1].request; i++) {
		const struct np_request *r = &g->requests->at[g->by_vgroup[i]];

		add_prior_leaves(g, r,
				 bits + (r->group - vgroup->group) * words);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t u = vgroup->group + i;
		const uint64_t *open = np_group_class(g, u)->open;

		NP_BITS_EACH(leaf, bits + i * words, words)
			if (np_bits_test(open, leaf) &&
			    group_can_take(g, u, (uint32_t)leaf))
				group_hold(g, u, (uint32_t)leaf);
	}
	free(bits);
	return 0;
}

/* Apply all rules to a visibility group until nothing changes. 0 or -ENOMEM. */
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
		const struct np_job *j = &p->snapshot->job[r->order[i]];
		uint32_t class = r->class[r->order[i]];
		const uint64_t *reach;

		if (class == NP_NONE || !c->at[class].conflict_free)
			continue;
		reach = p->counts[j->candidates]->reach;
		if (np_bits_subset(reach, c->at[class].held, p->leaf_words))
			continue;
		NP_BITS_EACH(leaf, reach, p->leaf_words)
			class_hold(c, class, (uint32_t)leaf);
	}
}

/* Share out the leaves among all classes and groups. 0 or -ENOMEM. */
static int share_leaves(struct np_allocation *a)
{
	int rc = 0;

	place_conflict_free(&a->problem, &a->classes, &a->requests);
	/* The public groups first; others do not see the private ones. */
	for (size_t i = 0; !rc && i < a->groups.n_vgroups; i++)
		rc = iterate(&a->groups, &a->groups.vgroup[i]);
	groups_free_scratch(&a->groups);
	return rc;
}

static void allocation_free(struct np_allocation *a)
{
	if (!a)
		return;
	groups_free(&a->groups);
	problem_free(&a->problem);
	free(a);
}

/*
 * other: allocation of the same snapshot that lives longer, or NULL. *out: free
 * with allocation_free(). Returns 0 or -ENOMEM.
 */
static int allocation_new(const struct np_snapshot *s,
			  const struct np_slowdowns *t,
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
	if (problem_init(p, s, t, policy, outcome, what_if,
			 other ? &other->problem : NULL) ||
	    leaf_loads_init(&a->loads, p) ||
	    classes_init(&a->classes, p, &a->loads) ||
	    requests_init(&a->requests, p, &a->classes) ||
	    classes_seal(&a->classes) ||
	    groups_init(&a->groups, p, &a->classes, &a->requests) ||
	    share_leaves(a) ||
	    prefer_init(&a->prefer, p, &a->classes, &a->requests, &a->groups)) {
		allocation_free(a);
		return -ENOMEM;
	}
	*out = a;
	return 0;
}

/* A submission that was decided since the snapshot. */
struct np_admitted {
	struct np_job job;
	int64_t at_sec;	  /* time of submission */
	uint64_t *leaves; /* that it may use */
	uint32_t class;
	bool class_known; /* conflicting jobs avoid its leaves */
	bool restricted;  /* it may use no others */
};

struct np_placement {
	struct np_snapshot *snapshot;
	struct np_slowdowns *table;
	struct np_policy policy;
	/*
	 * What is done; and what would be done if partitions in mode advise
	 * were in mode enforce. The same where that makes no difference.
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

void np_arrivals_init(struct np_arrivals *a, int64_t since_sec,
		      struct np_arrival *of, size_t n)
{
	*a = (struct np_arrivals){ .since_sec = since_sec, .of = of };
	if (n)
		qsort(of, n, sizeof(*of), np_order_u32);
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
					       np_order_u32) : NULL;

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
	const struct np_snapshot *snapshot;
	uint32_t *last_start; /* per leaf: of the jobs that started there since
				 the last decision, the one of lowest
				 precedence; NP_NONE */
	uint8_t *blocked;     /* per partition: whether a job ahead in the
				 queue waits for reasons other than placement */
};

/* Find the job of lowest precedence that started on each leaf. */
static void note_starts(struct hold_clock *c)
{
	const struct np_job *job = c->snapshot->job;

	for (uint32_t i = 0; i < c->snapshot->n_jobs; i++) {
		if (job[i].state != NP_JOB_RUNNING ||
		    job[i].start_sec <= c->snapshot->last_sec)
			continue;
		for (uint32_t k = 0; k < job[i].n_leaves; k++) {
			uint32_t *last = &c->last_start[job[i].leaf[k]];

			if (*last == NP_NONE ||
			    order_precedence(&job[i], &job[*last]) > 0)
				*last = i;
		}
	}
}

static bool has_candidate_on(const struct np_snapshot *s, const uint64_t *set,
			     uint32_t leaf)
{
	const uint32_t *first = s->leaves->first;
	size_t next = np_bits_next(set, s->leaves->node_words, first[leaf]);

	return next < first[leaf + 1];
}

/*
 * Whether a job of lower precedence started on a leaf that is closed to job j
 * although it has candidate nodes of j.
 */
static bool overtaken(const struct hold_clock *c, const struct np_job *j)
{
	const uint64_t *set = np_snapshot_set(c->snapshot, j->candidates);

	for (uint32_t leaf = 0; leaf < c->snapshot->leaves->n; leaf++) {
		uint32_t last = c->last_start[leaf];

		if (last != NP_NONE && !np_bits_test(j->prior_leaves, leaf) &&
		    order_precedence(j, &c->snapshot->job[last]) < 0 &&
		    has_candidate_on(c->snapshot, set, leaf))
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

/*
 * How long a job has been held back in total. To be called for all jobs in
 * order of precedence.
 */
static double held_sec_of(struct hold_clock *c, const struct np_job *j)
{
	bool held_back = false;

	if (j->state != NP_JOB_READY)
		return j->held_sec;
	if (j->prior == NP_PRIOR_HELD)
		held_back = true;
	else if (j->prior == NP_PRIOR_RESTRICTED)
		held_back = could_start(c->snapshot, j) ||
			    (!c->blocked[j->partition] && overtaken(c, j));
	else
		c->blocked[j->partition] = 1;
	return j->held_sec + (held_back ? elapsed_sec(c->snapshot, j) : 0);
}

/* Fill in held_sec of each job's outcome. 0 or -ENOMEM. */
static int count_holds(const struct np_snapshot *s, struct np_outcome *outcome)
{
	struct hold_clock c = { .snapshot = s };
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
	order_jobs(s, order, n);
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

/* A text while it is written. */
struct line {
	char *buf;
	size_t size, len; /* of buf; of the text so far */
};

__attribute__((format(printf, 2, 3)))
static void append(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (l->len + 1 >= l->size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(l->buf + l->len, l->size - l->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->len += (size_t)n < l->size - l->len ? (size_t)n :
			  l->size - l->len - 1;
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
			      "partitions, features, excluded nodes, or "
			      "--contiguous, --segment or --exclusive=topo",
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
	const struct np_leaves *leaves = p->snapshot->leaves;

	if (c->leaf == NP_NO_LEAF || c->leaf >= leaves->n_switches) {
		append(l, "%s", reasons[c->why]);
		return;
	}
	append(l, "on leaf switch %s ", leaves->switch_name[c->leaf]);
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
		append(l, " with another job of its kind");
		return;
	}
	append(l, " with ");
	append_job(l, c, c->other);
}

/* Number of leaves closed to a job. */
static unsigned n_closed(const struct np_placement *p,
			 const struct np_outcome *o)
{
	return (unsigned)(p->snapshot->leaves->n -
			  np_bits_count(o->leaves, p->snapshot->leaves->words));
}

const char *np_placement_text(const struct np_placement *p,
			      const struct np_job *job,
			      const struct np_outcome *o, char *buf,
			      size_t size)
{
	struct line l = { buf, size, 0 };

	if (!size)
		return buf;
	buf[0] = '\0';
	if (job->mode == NP_MODE_ADVISE && o->action != NP_ACT_NONE)
		append(&l, "advice, not applied: ");
	switch (o->action) {
	case NP_ACT_NONE:
		append(&l, "ignored: ");
		break;
	case NP_ACT_UNRESTRICTED:
		append(&l, "may run anywhere: ");
		break;
	case NP_ACT_RESTRICT:
		append(&l, "kept off %u of %zu leaf switches: ", n_closed(p, o),
		       p->snapshot->leaves->n);
		break;
	case NP_ACT_HOLD:
		append(&l, "held, for now for %lld s: ",
		       (long long)(o->until_sec > p->snapshot->now_sec ?
				   o->until_sec - p->snapshot->now_sec : 0));
		break;
	}
	if (o->tasks)
		append(&l, "%u tasks get leaf switches of their own; ",
		       o->tasks);
	append_cause(&l, p, job, &o->cause);
	if (o->held_sec >= 1)
		append(&l, "; held for %.0f s so far, at most %.0f s%s",
		       o->held_sec,
		       job->mode == NP_MODE_PREFER ? NP_PLACEMENT_PATIENCE_SEC :
						     p->policy.max_hold_sec,
		       job->mode == NP_MODE_PREFER ? "" : " (MaxDefer)");
	return buf;
}

/* ---- From the leaves held to the outcome of a job, and its cause ---- */

/* Limits of the search for a cause, which is for messages only. */
#define MAX_LEAVES_SEARCHED 64
#define MAX_CAUSES_FOUND 4

/* Find the worst cause on a switch; false: no conflict closes it. */
static bool cause_on_switch(const struct np_classes *c, uint32_t class,
			    uint32_t leaf, struct np_cause *cause)
{
	const struct np_class *k = &c->at[class];
	const uint64_t *on = c->on_switch + leaf * c->words;
	const uint64_t *relevant = c->relevant + class * c->words;
	struct np_cause one;
	bool any = false;

	if (is_closed(c, k, leaf))
		return class_avoids(c, class, NP_NONE, leaf, cause);
	for (uint32_t row_words = k->row_words; row_words;
	     row_words &= row_words - 1) {
		size_t w = np_bits_lowest(0, row_words);
		uint64_t m = on[w] & relevant[w];

		/* A class is not in its own bitmaps. */
		if (w == class / NP_BITS_WORD &&
		    np_bits_test(k->one_only_switches, leaf))
			m |= on[w] & UINT64_C(1) << class % NP_BITS_WORD;
		for (; m; m &= m - 1)
			if (class_avoids(c, class, np_bits_lowest(w, m), leaf,
					 &one) &&
			    (!any || one.slowdown > cause->slowdown)) {
				*cause = one;
				any = true;
			}
	}
	return any;
}

/* Find the worst cause on a closed leaf, i.e. on a switch that is loaded. */
static bool cause_on(const struct np_classes *c, uint32_t class,
		     uint32_t leaf, struct np_cause *cause)
{
	struct np_cause one;
	bool any = false;

	EACH_SWITCH(sw, c->p->leaves, leaf)
		if (loads_rail(c->p, c->at[class].profile, *sw) &&
		    cause_on_switch(c, class, *sw, &one) &&
		    (!any || one.slowdown > cause->slowdown)) {
			*cause = one;
			any = true;
		}
	return any;
}

/*
 * Find the worst cause on the first few leaves that are closed to a class, i.e.
 * not in open. If there is none, they were given to other groups, and the
 * reason is NP_WHY_FROM_PENDING.
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
	for (size_t w = 0; w < c->p->leaf_words; w++)
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
static int64_t end_of_hold(const struct np_policy *policy,
			   const struct np_job *j,
			   double held_sec, int64_t now_sec)
{
	/* A job that cannot start by itself is held only in case it becomes
	   able to before the next decision; that does not count as held. */
	bool waiting = j->state == NP_JOB_WAITING ||
		       j->eligible_sec > now_sec;
	double left = policy->max_hold_sec - (waiting ? 0 : held_sec);
	double step = waiting ? policy->max_hold_sec : policy->hold_step_sec;
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
		     int64_t now_sec, struct np_outcome *o)
{
	o->action = NP_ACT_HOLD;
	o->until_sec = end_of_hold(&a->problem.policy, j, o->held_sec, now_sec);
	if (class != NP_NONE)
		find_cause(&a->classes, class, reach, a->problem.no_leaves,
			   &o->cause);
}

/* Restrict a job to the leaves in set, of those it can reach. 0 or -ENOMEM. */
static int set_restricted(struct np_allocation *a, uint32_t class,
			  const uint64_t *set, const uint64_t *reach,
			  struct np_outcome *o)
{
	struct np_problem *p = &a->problem;
	uint64_t *open = problem_alloc(p, p->leaf_words, sizeof(*open));

	if (!open)
		return -ENOMEM;
	for (size_t w = 0; w < p->leaf_words; w++)
		open[w] = set[w] | ~reach[w];
	np_bits_trim(open, p->n_leaves);
	o->action = NP_ACT_RESTRICT;
	o->leaves = open;
	find_cause(&a->classes, class, reach, open, &o->cause);
	return 0;
}

static const uint64_t *reach_of(const struct np_allocation *a, uint32_t job)
{
	const struct np_job *j = &a->problem.snapshot->job[job];

	return a->problem.counts[j->candidates]->reach;
}

/*
 * Open the leaves in set to a job, unrestricted if these are all. 0 or -ENOMEM.
 */
static int open_leaves(struct np_allocation *a, uint32_t i, const uint64_t *set,
		       struct np_outcome *o)
{
	const uint64_t *reach = reach_of(a, i);

	if (!np_bits_subset(reach, set, a->problem.leaf_words))
		return set_restricted(a, a->requests.class[i], set, reach,
				      o);
	o->action = NP_ACT_UNRESTRICTED;
	o->cause.why = NP_WHY_FITS;
	return 0;
}

static void hold_job(struct np_allocation *a, uint32_t i, struct np_outcome *o)
{
	set_hold(a, &a->problem.snapshot->job[i], a->requests.class[i],
		 reach_of(a, i), a->problem.snapshot->now_sec, o);
}

/*
 * An array whose tasks conflict: each task gets leaves of its own, or is held.
 */
static int decide_tasks(struct np_allocation *a, uint32_t i,
			struct np_outcome *o)
{
	const struct np_requests *all = &a->requests;
	const struct np_request *r = &all->at[all->of_job[i]];
	const uint64_t *last = NULL;

	o->task_leaves = problem_alloc(&a->problem, NP_PLACEMENT_MAX_TASKS,
				       sizeof(*o->task_leaves));
	if (!o->task_leaves)
		return -ENOMEM;
	for (; r < all->at + all->n && r->job == i; r++) {
		struct np_outcome one;

		if (!group_served(&a->groups, r))
			continue;
		last = a->groups.at[r->group].leaves;
		if (open_leaves(a, i, last, &one))
			return -ENOMEM;
		o->task_leaves[o->tasks++] = one.action == NP_ACT_RESTRICT ?
					     one.leaves : NULL;
	}
	/* If all tasks have leaves, the last one keeps the array's record. */
	if (o->tasks == a->problem.snapshot->job[i].tasks) {
		o->tasks--;
		return open_leaves(a, i, last, o);
	}
	hold_job(a, i, o);
	if (o->tasks)
		o->cause.why = NP_WHY_TASKS;
	return 0;
}

/* Make the outcome of a job in an enforced partition. 0 or -ENOMEM. */
static int decide_enforced(struct np_allocation *a, uint32_t i,
			   struct np_outcome *o)
{
	const struct np_request *r = &a->requests.at[a->requests.of_job[i]];

	if (a->classes.at[r->class].self &&
	    a->problem.snapshot->job[i].tasks > 1 &&
	    !a->groups.at[r->group].together)
		return decide_tasks(a, i, o);
	if (group_served(&a->groups, r))
		return open_leaves(a, i, a->groups.at[r->group].leaves, o);
	hold_job(a, i, o);
	return 0;
}

/* Make the outcome of a job in mode prefer. 0 or -ENOMEM. */
static int decide_preferred(struct np_allocation *a, uint32_t i,
			    struct np_outcome *o)
{
	const struct np_job *j = &a->problem.snapshot->job[i];
	uint32_t class = a->requests.class[i];

	if (a->prefer.leaves[i])
		return open_leaves(a, i, a->prefer.leaves[i], o);
	o->action = NP_ACT_UNRESTRICTED;
	o->cause.why = NP_WHY_NO_ROOM_APART;
	if (!class_conflicts(&a->classes, class))
		o->cause.why = NP_WHY_HARMLESS;
	else if (a->classes.at[class].self && j->tasks > 1 &&
		 !class_array_leaves(&a->classes, class, j,
				     a->problem.counts[j->candidates],
				     a->problem.scratch))
		o->cause.why = NP_WHY_TASKS_TOGETHER;
	return 0;
}

/* Why a job that placement decides about has no class. */
static enum np_why why_no_class(const struct np_problem *p,
				const struct np_job *j)
{
	const struct np_counts *c = p->counts[j->candidates];

	if (!np_bits_any(c->reach, p->leaf_words))
		return NP_WHY_NO_LEAF;
	return problem_feasible(p, j, c) ? NP_WHY_TOO_MANY :
					    NP_WHY_TOO_FEW_NODES;
}

/* Make the outcome of the i-th job of the snapshot. 0 or -ENOMEM. */
static int decide_job(struct np_placement *p, uint32_t i, struct np_outcome *o)
{
	const struct np_job *j = &p->snapshot->job[i];
	struct np_allocation *a = np_placement_allocation(p, j);
	uint32_t class = a->requests.class[i];

	o->cause.why = problem_exempt(&a->problem, j, p->snapshot->now_sec);
	if (j->state == NP_JOB_RUNNING || o->cause.why)
		return 0;
	if (problem_hold_expired(&a->problem, j, o->held_sec)) {
		o->action = NP_ACT_UNRESTRICTED;
		o->cause.why = NP_WHY_HOLD_EXPIRED;
		return 0;
	}
	if (class == NP_NONE) {
		o->cause.why = why_no_class(&a->problem, j);
		return 0;
	}
	if (a->classes.at[class].conflict_free) {
		o->action = NP_ACT_UNRESTRICTED;
		o->cause.why = p->table->profile[j->profile].complete ?
			       NP_WHY_HARMLESS : NP_WHY_NOT_PREDICTED;
		return 0;
	}
	return j->mode == NP_MODE_PREFER ? decide_preferred(a, i, o) :
	       decide_enforced(a, i, o);
}

/* Word w of the bitmap of leaves that the prior decision opened to a job. */
static uint64_t open_before(const struct np_job *j, int64_t now_sec, size_t w)
{
	if (j->prior == NP_PRIOR_HELD && j->prior_until_sec > now_sec)
		return 0;
	return j->prior == NP_PRIOR_RESTRICTED ? j->prior_leaves[w] :
					     ~UINT64_C(0);
}

/* Word w of the bitmap of leaves that an outcome opens. */
static uint64_t open_after(const struct np_outcome *o, size_t w)
{
	if (o->action == NP_ACT_HOLD)
		return 0;
	return o->action == NP_ACT_RESTRICT ? o->leaves[w] : ~UINT64_C(0);
}

/* Fill in how an outcome differs from the prior one, on leaves in reach. */
static void
compare_with_prior(struct np_placement *p, uint32_t i, struct np_outcome *o)
{
	const struct np_job *j = &p->snapshot->job[i];
	const struct np_allocation *a = np_placement_allocation(p, j);
	const struct np_counts *c; /* NULL: none were needed */
	bool opens = false;

	if (j->state == NP_JOB_RUNNING)
		return;
	c = a->problem.counts[j->candidates];
	for (size_t w = 0; w < p->snapshot->leaves->words; w++) {
		uint64_t reach = c ? c->reach[w] : ~UINT64_C(0);
		uint64_t was = open_before(j, p->snapshot->now_sec, w) & reach;
		uint64_t is = open_after(o, w) & reach;

		o->changed |= was != is;
		o->narrows |= (was & ~is) != 0;
		opens |= (is & ~was) != 0;
	}
	if (o->action == NP_ACT_HOLD)
		o->changed |= j->prior != NP_PRIOR_HELD ||
			      j->prior_until_sec != o->until_sec;
	else
		o->changed |= j->prior == NP_PRIOR_HELD;
	o->changed |= o->tasks != 0;
	o->applied = j->mode != NP_MODE_ADVISE &&
		     o->action != NP_ACT_NONE;
	o->narrows &= o->applied;
	o->moves = o->narrows && o->action != NP_ACT_HOLD &&
		   (opens || o->tasks);
}

/* Fill in p->outcome, of which only held_sec is set. 0 or -ENOMEM. */
static int decide_jobs(struct np_placement *p)
{
	for (uint32_t i = 0; i < p->snapshot->n_jobs; i++) {
		struct np_outcome *o = &p->outcome[i];
		int rc;

		o->cause.leaf = NP_NO_LEAF;
		rc = decide_job(p, i, o);
		if (rc)
			return rc;
		compare_with_prior(p, i, o);
	}
	return 0;
}

void np_placement_causes(const struct np_placement *p, size_t i,
			 np_placement_cause_fn *fn, void *arg)
{
	const struct np_job *j = &p->snapshot->job[i];
	const struct np_allocation *a = np_placement_allocation(p, j);
	const struct np_outcome *o = &p->outcome[i];
	struct np_cause c;

	if (o->action != NP_ACT_RESTRICT && o->action != NP_ACT_HOLD)
		return;
	NP_BITS_EACH(leaf, reach_of(a, (uint32_t)i), p->snapshot->leaves->words)
		if (!(open_after(o, leaf / NP_BITS_WORD) >>
		      leaf % NP_BITS_WORD & 1) &&
		    cause_on(&a->classes, a->requests.class[i],
			     (uint32_t)leaf, &c))
			fn(arg, &c);
}

/* ---- One job that is being submitted ---- */

/*
 * Count the candidate nodes of a job, less the user's exclusions, into
 * p->scratch.
 */
static void count_candidates(struct np_placement *p, const struct np_job *j,
			     const uint64_t *minus)
{
	size_t words = p->snapshot->leaves->node_words;

	memcpy(p->scratch_set, np_snapshot_set(p->snapshot, j->candidates),
	       words * sizeof(uint64_t));
	if (minus)
		NP_BITS_EACH(node, minus, words)
			if (node < p->snapshot->leaves->n_nodes)
				np_bits_clear(p->scratch_set,
					      p->snapshot->leaves->place[node]);
	counts_fill(p->snapshot, p->scratch_set, p->scratch);
}

/*
 * Add to set[] the smallest leaf of can[] that has all missing nodes, or else
 * the largest. Returns false if no leaf has any.
 */
static bool add_leaf(size_t words, const uint16_t *column,
		     const uint64_t *can, uint64_t missing, uint64_t *set)
{
	uint32_t best = NP_NONE, most = 0;

	for (size_t w = 0; w < words; w++)
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
	uint64_t *leaves; /* that it gets */
	struct np_outcome *o;
};

/* Record the leaves that a submission may use in the journal. 0 or -ENOMEM. */
static int add_to_journal(struct np_placement *p, struct np_allocation *a,
			  const struct np_admitted *what)
{
	size_t words = p->snapshot->leaves->words;
	uint64_t *leaves = problem_alloc(&a->problem, words, sizeof(*leaves));
	struct np_admitted *to;

	if (!leaves || np_array_room(&p->journal, &p->journal_room,
				     p->n_admitted + 1, sizeof(*to)))
		return -ENOMEM;
	np_shares_add(&p->admitted, what->job.owner, 1);
	to = &p->journal[p->n_admitted++];
	memcpy(leaves, what->leaves, words * sizeof(*leaves));
	*to = *what;
	to->leaves = leaves;
	to->job.node = NULL;
	to->job.prior_leaves = NULL;
	if (what->class_known)
		NP_BITS_EACH(leaf, leaves, words)
			class_hold(&a->classes, what->class, (uint32_t)leaf);
	prefer_admit(&a->prefer, &what->job, what->restricted, leaves);
	return 0;
}

/* Whether the owner's share of the journal is used up. */
static bool is_share_used_up(const struct np_placement *p, uint32_t owner)
{
	return !np_shares_can_take(&p->admitted, owner, 1);
}

/* Let the job use all leaves with candidate nodes. */
static void lift_restriction(struct submission *s, enum np_why why)
{
	s->o->action = NP_ACT_UNRESTRICTED;
	s->o->cause.why = why;
	memcpy(s->leaves, s->counts->reach,
	       s->a->problem.leaf_words * sizeof(*s->leaves));
}

/* Hold the job; otherwise: the reason if no cause is found. */
static void hold_submission(struct submission *s, enum np_why otherwise)
{
	set_hold(s->a, s->job, s->class, s->counts->reach,
		 s->now_sec, s->o);
	if (s->o->cause.leaf == NP_NO_LEAF)
		s->o->cause.why = otherwise;
}

static int restrict_submission(struct submission *s)
{
	return set_restricted(s->a, s->class, s->leaves, s->counts->reach,
			      s->o);
}

/* Why a job may use all its leaves. */
static enum np_why why_unrestricted(const struct submission *s)
{
	const struct np_classes *c = &s->a->classes;
	size_t at = s->class * c->words;

	if (c->at[s->class].self || np_bits_any(c->hard + at, c->words) ||
	    np_bits_any(c->soft + at, c->words) ||
	    !class_open_everywhere(c, s->class))
		return NP_WHY_FITS;
	return c->p->table->profile[s->job->profile].complete ?
	       NP_WHY_HARMLESS : NP_WHY_NOT_PREDICTED;
}

/*
 * Choose leaves among can[]: those that its class holds already, and only as
 * many others as the job needs, so that later submissions find some as well.
 */
static bool choose_leaves(const struct submission *s, const uint16_t *column,
			  uint32_t no_leaf, const uint64_t *can)
{
	const uint64_t *held = s->a->classes.at[s->class].held;
	size_t words = s->a->problem.leaf_words;
	uint64_t have;

	for (size_t w = 0; w < words; w++)
		s->leaves[w] = can[w] & held[w];
	do {
		have = counts_sum(s->a->problem.leaves, s->job->switches,
				  column, no_leaf, s->leaves);
		if (have >= s->job->nodes_min)
			return true;
	} while (add_leaf(words, column, can, s->job->nodes_min - have,
			  s->leaves));
	return false;
}

/*
 * Choose leaves with enough free nodes, or else with enough usable ones. 0 or
 * -ENOMEM.
 */
static int place_enforced(struct submission *s, const uint64_t *can)
{
	const struct np_counts *c = s->counts;
	bool shares = s->job->flags & NP_JOB_SHARES_NODES;

	if (np_bits_subset(c->reach, can, s->a->problem.leaf_words)) {
		lift_restriction(s, why_unrestricted(s));
		return 0;
	}
	if (choose_leaves(s, shares ? c->free_shared : c->free_alone,
			  shares ? c->no_leaf_free_shared :
				   c->no_leaf_free_alone, can) ||
	    choose_leaves(s, c->usable, c->no_leaf_usable, can))
		return restrict_submission(s);
	hold_submission(s, s->job->tasks > 1 && s->a->classes.at[s->class].self
				   ? NP_WHY_TASKS
				   : NP_WHY_FROM_PENDING);
	return 0;
}

static int place_preferred(struct submission *s, const uint64_t *can)
{
	enum np_why why = why_unrestricted(s);

	if (np_bits_subset(s->counts->reach, can, s->a->problem.leaf_words) &&
	    why != NP_WHY_FITS)
		lift_restriction(s, why);
	else if (prefer_find(&s->a->prefer, s->job, s->class, s->counts,
			     s->leaves))
		return restrict_submission(s);
	else if (s->a->classes.at[s->class].self && s->job->tasks > 1)
		lift_restriction(s, NP_WHY_TASKS_TOGETHER);
	else
		lift_restriction(s, NP_WHY_NO_ROOM_APART);
	return 0;
}

/* Find the leaves that a submission may use, and choose among them. */
static int place_submission(struct submission *s)
{
	uint64_t can[NP_LEAVES_MAX / NP_BITS_WORD] = { 0 };

	/* Leaves that its class holds are checked too: a job that does not see
	   the class may have been admitted there since. */
	NP_BITS_EACH(leaf, s->counts->reach, s->a->problem.leaf_words)
		if (class_can_take(&s->a->classes, s->class, s->job,
				   (uint32_t)leaf))
			np_bits_set(can, leaf);
	return s->job->mode == NP_MODE_PREFER ? place_preferred(s, can) :
	       place_enforced(s, can);
}

/* Why a job is not placed, whatever other jobs there are; 0: it is. */
static enum np_why why_not_placed(struct submission *s)
{
	const struct np_problem *p = &s->a->problem;
	enum np_why why = problem_exempt(p, s->job, s->now_sec);

	if (why != NP_WHY_RUNNING)
		return why;
	if (!np_bits_any(s->counts->reach, p->leaf_words))
		return NP_WHY_NO_LEAF;
	if (!problem_feasible(p, s->job, s->counts))
		return NP_WHY_TOO_FEW_NODES;
	if (!is_share_used_up(s->p, s->job->owner))
		s->class = class_of(&s->a->classes, s->job);
	return s->class == NP_NONE ? NP_WHY_TOO_MANY : NP_WHY_RUNNING;
}

/*
 * Whether conflicting jobs avoid the leaves of this outcome. Leaves that a job
 * merely might use, unrestricted in spite of conflicts, are closed to nobody.
 */
static bool keeps_off(const struct np_outcome *o)
{
	return o->action != NP_ACT_NONE &&
	       o->cause.why != NP_WHY_NO_ROOM_APART &&
	       o->cause.why != NP_WHY_TASKS_TOGETHER;
}

/* Decide, and record the leaves in the journal. 0 or -ENOMEM. */
static int decide_submission(struct submission *s)
{
	struct np_admitted what = { .job = *s->job, .at_sec = s->now_sec };
	enum np_why why = why_not_placed(s);
	int rc = 0;

	if (!why)
		rc = place_submission(s);
	else if (why == NP_WHY_TOO_MANY && s->job->mode != NP_MODE_PREFER)
		hold_submission(s, why); /* the next decision takes it */
	else
		s->o->cause.why = why;
	if (rc || s->o->action == NP_ACT_HOLD ||
	    is_share_used_up(s->p, s->job->owner))
		return rc;
	if (s->o->action == NP_ACT_NONE) {
		if (!(s->a->problem.policy.modes & 1u << NP_MODE_PREFER))
			return 0; /* only mode prefer counts its nodes */
		memcpy(s->leaves, s->counts->reach,
		       s->a->problem.leaf_words * sizeof(*s->leaves));
	}
	what.leaves = s->leaves;
	what.restricted = s->o->action == NP_ACT_RESTRICT;
	what.class_known = keeps_off(s->o);
	what.class = s->class;
	return add_to_journal(s->p, s->a, &what);
}

static int check_submission(const struct np_placement *p,
			    const struct np_job *j,
			    struct np_err *err)
{
	if (j->state == NP_JOB_RUNNING || j->candidates >= p->snapshot->set.n ||
	    !j->tasks || !j->nodes_min ||
	    (unsigned)j->mode > NP_MODE_ENFORCE ||
	    j->profile < NP_PROFILE_UNKNOWN ||
	    (j->profile >= 0 && (size_t)j->profile >= p->table->n))
		return np_errf(err, -EINVAL, "job %u being submitted: state "
			       "%d, set of nodes %u, %u tasks of %u nodes, "
			       "mode %d or profile %d", j->id, (int)j->state,
			       j->candidates, j->tasks, j->nodes_min,
			       (int)j->mode, j->profile);
	return 0;
}

int np_placement_one(struct np_placement *p, const struct np_job *job,
		     const uint64_t *minus, int64_t now_sec,
		     struct np_outcome *o, struct np_err *err)
{
	struct submission s = {
		.p = p, .job = job, .counts = p->scratch, .class = NP_NONE,
		.leaves = p->scratch_leaves, .now_sec = now_sec, .o = o,
	};
	int rc;

	*o = (struct np_outcome){ .cause.leaf = NP_NO_LEAF };
	rc = check_submission(p, job, err);
	if (rc)
		return rc;
	s.a = np_placement_allocation(p, job);
	memset(s.leaves, 0, p->snapshot->leaves->words * sizeof(*s.leaves));
	count_candidates(p, job, minus);
	rc = decide_submission(&s);
	if (rc) {
		*o = (struct np_outcome){ .cause.leaf = NP_NO_LEAF };
		return np_errf(err, rc, "placement: out of memory");
	}
	o->changed = o->narrows = o->action == NP_ACT_RESTRICT ||
				  o->action == NP_ACT_HOLD;
	o->applied = job->mode != NP_MODE_ADVISE && o->action != NP_ACT_NONE;
	return 0;
}

void np_placement_carry(struct np_placement *to,
			const struct np_placement *from,
			struct np_arrivals *arrivals)
{
	const struct np_leaves *new = to->snapshot->leaves;
	const struct np_leaves *old = from->snapshot->leaves;

	if (to == from || new->n != old->n ||
	    new->n_switches != old->n_switches)
		return; /* another topology: the journal does not apply */
	for (size_t i = 0; i < from->n_admitted; i++) {
		struct np_admitted what = from->journal[i];
		struct np_allocation *a =
			np_placement_allocation(to, &what.job);

		if (what.at_sec < arrivals->since_sec ||
		    np_arrivals_take(arrivals, what.job.owner) ||
		    is_share_used_up(to, what.job.owner) ||
		    (what.class_known &&
		     (size_t)what.job.profile >= to->table->n))
			continue;
		if (what.class_known)
			what.class = class_of(&a->classes, &what.job);
		what.class_known = what.class_known && what.class != NP_NONE;
		if (add_to_journal(to, a, &what))
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
		class_hold(&a->classes, class, leaf);
	return 0;
}

/*
 * Whether the i-th job conflicts with an unwritten class on any leaf of a set;
 * NULL: on any leaf in reach.
 */
static bool
conflicts_with_unwritten(const struct np_placement *p, size_t i,
			 const uint64_t *set)
{
	const struct np_allocation *a = p->real;
	const uint64_t *open = set ? set :
		a->problem.counts[p->snapshot->job[i].candidates]->reach;

	for (size_t k = 0; k < p->n_unwritten; k++)
		if (class_conflict_on(&a->classes, a->requests.class[i],
				      p->unwritten[k], open))
			return true;
	return false;
}

bool np_placement_may_open(const struct np_placement *p, size_t i)
{
	const struct np_outcome *o = &p->outcome[i];

	if (!p->n_unwritten || !o->applied ||
	    p->real->requests.class[i] == NP_NONE)
		return true;
	for (uint32_t k = 0; k < o->tasks; k++)
		if (conflicts_with_unwritten(p, i, o->task_leaves[k]))
			return false;
	return o->action == NP_ACT_HOLD ||
	       !conflicts_with_unwritten(
		       p, i, o->action == NP_ACT_RESTRICT ? o->leaves : NULL);
}

void np_policy_init(struct np_policy *p)
{
	*p = (struct np_policy){
		.max_slowdown = 0.10,
		.max_hold_sec = 3600,
		.hold_step_sec = 60,
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

static int policy_check(const struct np_policy *p, const struct np_slowdowns *t,
			struct np_err *err)
{
	int rc;

	if (!(p->max_slowdown >= 0 && p->max_slowdown <= 100))
		return np_errf(err, -EINVAL,
			       "policy: MaxSlowdown %g; expected 0 to 100",
			       p->max_slowdown);
	rc = check_time("MaxDefer", p->max_hold_sec, err);
	if (!rc)
		rc = check_time("one hold", p->hold_step_sec, err);
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
	return policy_check(policy, t, err);
}

/* Make the allocation, and another one for mode advise if needed. */
static int make_allocations(struct np_placement *p)
{
	const struct np_job *job = p->snapshot->job;
	const unsigned act = 1u << NP_MODE_PREFER | 1u << NP_MODE_ENFORCE;
	unsigned *modes = &p->policy.modes;
	bool both;
	int rc;

	for (size_t i = 0; i < p->snapshot->n_jobs; i++)
		*modes |= 1u << job[i].mode;
	both = *modes & 1u << NP_MODE_ADVISE && *modes & act;
	rc = allocation_new(p->snapshot, p->table, &p->policy, p->outcome,
			    !(*modes & act), NULL, &p->real);
	p->advised = p->real;
	if (!rc && both) {
		p->advised = NULL;
		rc = allocation_new(p->snapshot, p->table, &p->policy,
				    p->outcome, true, p->real, &p->advised);
	}
	return rc;
}

/* Decide about all jobs of the snapshot. 0 or -errno. */
static int decide_all(struct np_placement *p)
{
	const struct np_leaves *l = p->snapshot->leaves;
	size_t n = p->snapshot->n_jobs;
	int rc;

	p->outcome = calloc(n + 1, sizeof(*p->outcome));
	p->scratch_set = calloc(l->node_words, sizeof(uint64_t));
	p->scratch_leaves = calloc(l->words + 1, sizeof(uint64_t));
	if (!p->outcome || !p->scratch_set || !p->scratch_leaves)
		return -ENOMEM;
	rc = count_holds(p->snapshot, p->outcome);
	if (!rc)
		rc = make_allocations(p);
	if (rc)
		return rc;
	p->scratch = problem_counts_new(&p->real->problem);
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
	p->snapshot = np_snapshot_ref(s);
	p->table = np_slowdowns_ref(t);
	p->policy = *policy;
	p->admitted.limit = NP_PLACEMENT_MAX_ADMITTED;
	rc = decide_all(p);
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
		allocation_free(p->advised);
	allocation_free(p->real);
	np_snapshot_unref(p->snapshot);
	np_slowdowns_unref(p->table);
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
	uint32_t worst = 0;

	EACH_SWITCH(sw, p->snapshot->leaves, leaf) {
		uint32_t load = leaf_load_worst(&p->real->loads, *sw);

		if (load > worst)
			worst = load;
	}
	return np_slowdowns_from_load(worst);
}
