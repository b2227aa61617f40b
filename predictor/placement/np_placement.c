/*
 * The placement decision. Its parts, in the order of this file: the input and
 * its memory ("problem"), the running jobs on each leaf ("leaf loads"), classes
 * of pending jobs, requests for leaves, groups that share leaves, mode prefer,
 * and the outcome of each job.
 *
 * A number named class, group, subgroup or profile is an index. In functions
 * that use the structure as well, the structure has that name and its index is
 * "id". Classes and groups hold leaves; a job that gets no leaf is held back.
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
	/* Columns, a number per leaf: usable nodes; idle nodes, for jobs that
	   do not share nodes; idle and mixed nodes, for jobs that do. */
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
 * After problem_init() only memory and counts are added. Each set of nodes is
 * counted at most once.
 */

#define NP_NONE UINT32_MAX

struct np_problem {
	const struct np_snapshot *snapshot;
	const struct np_job *job;	  /* of the snapshot */
	const struct np_slowdowns *table; /* predictions */
	struct np_policy policy;
	const struct np_outcome *outcome; /* per job; held_sec is filled in */
	uint32_t limit; /* the policy's max_slowdown as a load */
	bool what_if;	/* treat partitions in mode advise like enforce */
	const struct np_leaves *leaves; /* of the snapshot */
	size_t n_leaves, n_switches;
	size_t leaf_words;		       /* words of a bitmap of leaves */
	uint8_t rail_bit[NP_LEAVES_MAX_RAILS]; /* of each rail, as in
						  np_slowdowns_profile.rails */

	struct np_counts **counts; /* per set of the snapshot; NULL: not yet */
	uint16_t *leaf_usable, *leaf_free; /* usable, and idle, nodes of each
					      leaf */
	uint32_t *leaf_order;		   /* leaves, most idle nodes first */
	uint32_t *private_owner;	   /* owners of jobs that only they see,
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
	uint32_t leaf;	     /* first, as np_order_u32() expects */
	uint32_t first, end; /* range of entries in private.at */
	uint32_t from_user;  /* index of its first load in from_user[] */
};

struct np_leaf_loads {
	struct np_problem *problem;
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
	bool self_conflict; /* two of its jobs conflict on some leaf */
	bool conflict_free; /* certainly conflicts with nothing at all */
	bool conflicts_known, conflicts; /* cached by class_conflicts() */
	uint32_t n_compared; /* number of classes that its bitmaps cover */
	uint32_t job;	     /* id of its first job */
	uint32_t n;	     /* jobs and array tasks in the snapshot */
	uint32_t next;	     /* next class of the same profile, or NP_NONE */
	uint32_t row_words;  /* bits: the words of its bitmaps that are not 0,
			       and the word that the class itself is in */

	/* With the public jobs alone; victims are only the sensitive ones. */
	struct np_class_loads public;
	/* With its owner's private jobs as well; the same arrays if the owner
	   has none. */
	struct np_class_loads full;

	uint16_t *n_holders; /* per leaf: jobs and groups that hold it, i.e.
				class_take() less class_release() */
	uint16_t *n_held;    /* per switch: leaves of it that are held */
	/* Bitmaps. */
	uint64_t *open; /* leaves that no running job closes to it */
	uint64_t *held; /* leaves with holders */
	/* Leaves, and switches, that at most one of its jobs may use. */
	uint64_t *one_only_leaves, *one_only_switches;
};

struct np_classes {
	struct np_problem *problem;
	struct np_leaf_loads *loads;
	struct np_class *at;
	size_t n, capacity;
	size_t words;		 /* of a bitmap of classes; 0: not sealed */
	size_t n_sealed;	 /* classes of the snapshot's jobs */
	struct np_shares shares; /* of the classes that may be made, by the
				    owner of the job that first needs one */
	uint32_t *of_profile;	 /* last class of each profile, or NP_NONE */
	uint16_t *zeros;	 /* per leaf: 0 */
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
	uint64_t *open_on;   /* sealed classes that no running job keeps off */
};

static uint64_t load_from_user(const struct np_leaf_loads *loads,
			       const struct np_user_load *load,
			       uint32_t profile, uint32_t touch,
			       const struct np_leaf_job *except);

/* ---- Counts ---- */

/* Mask of the positions first to end - 1 in one word of a bitmap. */
static uint64_t word_mask(uint32_t first, uint32_t end, size_t word)
{
	uint64_t mask = ~UINT64_C(0);
	size_t base = word * NP_BITS_WORD;

	if (first > base)
		mask &= ~UINT64_C(0) << (first - base);
	if (end < base + NP_BITS_WORD)
		mask &= (UINT64_C(1) << (end - base)) - 1;
	return mask;
}

struct count {
	unsigned any; /* 0 or 1 */
	unsigned usable, idle, idle_or_mixed;
};

/* Nodes of a set at the positions first to end - 1. */
static struct count count_range(const struct np_snapshot *snapshot,
				const uint64_t *set, uint32_t first,
				uint32_t end)
{
	struct count count = { 0 };

	if (first == end)
		return count;
	for (size_t k = first / NP_BITS_WORD; k <= (end - 1) / NP_BITS_WORD;
	     k++) {
		uint64_t nodes = set[k] & word_mask(first, end, k);

		count.any |= nodes != 0;
		count.usable += np_bits_popcount(nodes & snapshot->usable[k]);
		count.idle += np_bits_popcount(nodes & snapshot->idle[k]);
		count.idle_or_mixed +=
			np_bits_popcount(nodes & snapshot->idle_or_mixed[k]);
	}
	return count;
}

/* Fill in the arrays that counts points to. set: bitmap by position. */
static void counts_fill(const struct np_snapshot *snapshot, const uint64_t *set,
			struct np_counts *counts)
{
	const struct np_leaves *leaves = snapshot->leaves;
	struct count got;

	memset(counts->reach, 0, leaves->words * sizeof(*counts->reach));
	counts->all_usable = 0;
	for (size_t i = 0; i < leaves->n; i++) {
		got = count_range(snapshot, set, leaves->first[i],
				  leaves->first[i + 1]);
		counts->usable[i] = (uint16_t)got.usable;
		counts->all_usable += got.usable;
		counts->free_alone[i] = (uint16_t)got.idle;
		counts->free_shared[i] = (uint16_t)got.idle_or_mixed;
		if (got.any)
			np_bits_set(counts->reach, i);
	}
	got = count_range(snapshot, set, leaves->first[leaves->n],
			  (uint32_t)leaves->n_nodes);
	counts->no_leaf_usable = got.usable;
	counts->all_usable += got.usable;
	counts->no_leaf_free_alone = got.idle;
	counts->no_leaf_free_shared = got.idle_or_mixed;
}

/* Insert a number into best[], the n largest so far in descending order. */
static void keep_largest(uint32_t *best, uint32_t n, uint32_t number)
{
	for (uint32_t k = 0; k < n && number; k++)
		if (number > best[k]) {
			uint32_t less = best[k];

			best[k] = number;
			number = less;
		}
}

/*
 * Sum of one column of counts over the leaves in set[], plus the nodes without
 * a leaf. If switches is not 0, only so many switches of the first rail count,
 * those with the most nodes; the nodes without a leaf then count as one more.
 */
static uint64_t counts_sum(const struct np_leaves *leaves, uint32_t switches,
			   const uint16_t *column, uint32_t no_leaf,
			   const uint64_t *set)
{
	uint32_t best[NP_COUNTS_MAX_SWITCHES] = { no_leaf };
	uint32_t nodes = 0, last = NP_NO_LEAF; /* nodes of the last switch */
	uint64_t sum = 0;

	if (!switches || switches > NP_COUNTS_MAX_SWITCHES) {
		NP_BITS_EACH(leaf, set, leaves->words)
			sum += column[leaf];
		return sum + no_leaf;
	}
	NP_BITS_EACH(leaf, set, leaves->words) {
		if (leaves->switches[leaves->first_switch[leaf]] != last) {
			keep_largest(best, switches, nodes);
			nodes = 0;
			last = leaves->switches[leaves->first_switch[leaf]];
		}
		nodes += column[leaf];
	}
	keep_largest(best, switches, nodes);
	for (uint32_t k = 0; k < switches; k++)
		sum += best[k];
	return sum;
}

/* ---- Switches of a leaf ---- */

/* For each switch of a leaf; sw points to its number. */
#define EACH_SWITCH(sw, l, leaf) \
	for (const uint32_t *all_ = (l)->switches, \
			    *sw = all_ + (l)->first_switch[leaf], \
			    *end_ = all_ + (l)->first_switch[(leaf) + 1]; \
	     sw < end_; sw++)

/* For each leaf of a switch; leaf points to its number. */
#define EACH_LEAF(leaf, l, sw) \
	for (const uint32_t *all_ = (l)->leaves_below, \
			    *leaf = all_ + (l)->first_leaf[sw], \
			    *end_ = all_ + (l)->first_leaf[(sw) + 1]; \
	     leaf < end_; leaf++)

/* Whether jobs of a profile load the rail of a switch. */
static bool loads_rail(const struct np_problem *problem, uint32_t profile,
		       uint32_t sw)
{
	uint8_t rails = problem->table->profile[profile].rails;

	return !rails || rails & problem->rail_bit[problem->leaves->rail[sw]];
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
static void *problem_alloc(struct np_problem *problem, size_t n, size_t item)
{
	size_t bytes = n * item + item;
	struct np_problem_block *block = calloc(1, sizeof(*block) + bytes);

	if (!block)
		return NULL;
	block->next = problem->blocks;
	problem->blocks = block;
	return block->data;
}

static void problem_free(struct np_problem *problem)
{
	struct np_problem_block *block, *next;

	for (block = problem->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
}

/* Whether a job has a profile that counts, at least for its owner's jobs. */
static bool profile_counts(const struct np_problem *problem,
			   const struct np_job *job)
{
	const struct np_slowdowns_profile *profile;

	if (job->profile == NP_PROFILE_UNKNOWN)
		return false;
	profile = &problem->table->profile[job->profile];
	return profile->trusted || profile->owner == job->owner;
}

/* Whether other users' jobs take a job with a known profile into account. */
static bool is_public(const struct np_problem *problem,
		      const struct np_job *job)
{
	return problem->table->profile[job->profile].trusted &&
	       !(job->flags & NP_JOB_UNPROVED);
}

/* Whether a job is in mode enforce, or treated as if it were. */
static bool is_enforced(const struct np_problem *problem,
			const struct np_job *job)
{
	return job->mode == NP_MODE_ENFORCE ||
	       (problem->what_if && job->mode == NP_MODE_ADVISE);
}

/* Whether a job was held back as long as the policy allows in its mode. */
static bool hold_expired(const struct np_problem *problem,
			 const struct np_job *job, double held_sec)
{
	return held_sec >= (job->mode == NP_MODE_PREFER ?
				    NP_PLACEMENT_PATIENCE_SEC :
				    problem->policy.max_hold_sec);
}

/*
 * Why placement does not decide about a job; 0 (NP_WHY_RUNNING) if it does, or
 * if the job is running.
 */
static enum np_why why_exempt(const struct np_problem *problem,
			      const struct np_job *job, int64_t now_sec)
{
	if (job->state == NP_JOB_RUNNING)
		return NP_WHY_RUNNING;
	if (job->mode == NP_MODE_OFF)
		return NP_WHY_OFF;
	if (!profile_counts(problem, job))
		return NP_WHY_UNKNOWN;
	if (job->flags & NP_JOB_NODELIST)
		return NP_WHY_NODELIST;
	if (job->flags & NP_JOB_RESERVATION)
		return NP_WHY_RESERVATION;
	if (job->flags & NP_JOB_HETEROGENEOUS)
		return NP_WHY_HETEROGENEOUS;
	if (job->flags & NP_JOB_CONSTRAINT)
		return NP_WHY_CONSTRAINT;
	if (job->flags & NP_JOB_CHANGING)
		return NP_WHY_CHANGING;
	if (job->flags & NP_JOB_URGENT)
		return NP_WHY_URGENT;
	if (job->eligible_sec - now_sec > NP_PLACEMENT_HORIZON_SEC)
		return NP_WHY_NOT_YET;
	return NP_WHY_RUNNING;
}

/* Counts with all arrays allocated, for counts_fill(). NULL: out of memory. */
static struct np_counts *counts_new(struct np_problem *problem)
{
	struct np_counts *counts = problem_alloc(problem, 1, sizeof(*counts));
	uint16_t *n = problem_alloc(problem, 3 * problem->n_leaves, sizeof(*n));
	uint64_t *reach =
		problem_alloc(problem, problem->leaf_words, sizeof(*reach));

	if (!counts || !n || !reach)
		return NULL;
	counts->usable = n;
	counts->free_alone = n + problem->n_leaves;
	counts->free_shared = n + 2 * problem->n_leaves;
	counts->reach = reach;
	return counts;
}

/* Counts of a set of the snapshot; NULL: out of memory. */
static const struct np_counts *counts_of(struct np_problem *problem,
					 uint32_t set)
{
	if (!problem->counts[set]) {
		struct np_counts *counts = counts_new(problem);

		if (!counts)
			return NULL;
		counts_fill(problem->snapshot,
			    np_snapshot_set(problem->snapshot, set), counts);
		problem->counts[set] = counts;
	}
	return problem->counts[set];
}

static int by_free(const void *a, const void *b, void *arg)
{
	const struct np_problem *problem = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (problem->leaf_free[x] != problem->leaf_free[y])
		return problem->leaf_free[x] > problem->leaf_free[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Count the nodes of each leaf, and sort the leaves by them. 0 or -ENOMEM. */
static int count_leaves(struct np_problem *problem)
{
	uint64_t *all = problem_alloc(
		problem, problem->snapshot->leaves->node_words, sizeof(*all));
	struct np_counts *counts = counts_new(problem);

	if (!all || !counts)
		return -ENOMEM;
	for (size_t i = 0; i < problem->snapshot->leaves->n_nodes; i++)
		np_bits_set(all, i);
	counts_fill(problem->snapshot, all, counts);
	problem->leaf_usable = counts->usable;
	problem->leaf_free = counts->free_alone;
	problem->leaf_order =
		problem_alloc(problem, problem->n_leaves, sizeof(uint32_t));
	if (!problem->leaf_order)
		return -ENOMEM;
	for (uint32_t leaf = 0; leaf < problem->n_leaves; leaf++)
		problem->leaf_order[leaf] = leaf;
	qsort_r(problem->leaf_order, problem->n_leaves, sizeof(uint32_t),
		by_free, problem);
	return 0;
}

static size_t count_unproved(const struct np_problem *problem)
{
	size_t n = 0;

	for (uint32_t i = 0; i < problem->snapshot->n_jobs; i++)
		n += !!(problem->job[i].flags & NP_JOB_UNPROVED);
	return n;
}

/*
 * Collect the owners of jobs that others do not see. A profile that is not
 * trusted has one owner, so one job of it is enough. 0 or -ENOMEM.
 */
static int gather_private_owners(struct np_problem *problem)
{
	bool *seen = problem_alloc(problem, problem->table->n, sizeof(*seen));

	problem->private_owner = problem_alloc(
		problem, problem->table->n + count_unproved(problem),
		sizeof(uint32_t));
	if (!seen || !problem->private_owner)
		return -ENOMEM;
	for (uint32_t i = 0; i < problem->snapshot->n_jobs; i++) {
		const struct np_job *job = &problem->job[i];

		if (!profile_counts(problem, job) || is_public(problem, job))
			continue;
		if (!problem->table->profile[job->profile].trusted) {
			if (seen[job->profile])
				continue;
			seen[job->profile] = true;
		}
		problem->private_owner[problem->n_private++] = job->owner;
	}
	problem->n_private =
		np_order_unique(problem->private_owner, problem->n_private);
	return 0;
}

/* Whether the job's usable candidate nodes suffice, whatever else runs. */
static bool is_feasible(const struct np_problem *problem,
			const struct np_job *job,
			const struct np_counts *counts)
{
	uint64_t usable = counts->all_usable;

	if (job->switches)
		usable = counts_sum(problem->leaves, job->switches,
				    counts->usable, counts->no_leaf_usable,
				    counts->reach);
	return usable >= job->nodes_min;
}

/*
 * Set the bit of each rail. A rail that no profile names has none. All jobs
 * load the rail without a name.
 */
static void set_rail_bits(struct np_problem *problem)
{
	const struct np_slowdowns_rails *rails = &problem->table->rails;

	problem->rail_bit[0] = UINT8_MAX;
	for (size_t i = 1; i < problem->leaves->n_rails; i++)
		for (unsigned k = 0; k < rails->n; k++)
			if (!strcmp(problem->leaves->rail_name[i],
				    rails->name[k]))
				problem->rail_bit[i] = (uint8_t)(1u << k);
}

/*
 * other: problem of the same snapshot whose counts are reused and which must
 * live longer, or NULL. Returns 0 or -ENOMEM; problem_free() in either case.
 */
static int problem_init(struct np_problem *problem,
			const struct np_snapshot *snapshot,
			const struct np_slowdowns *slowdowns,
			const struct np_policy *policy,
			const struct np_outcome *outcome, bool what_if,
			const struct np_problem *other)
{
	*problem = (struct np_problem){
		.snapshot = snapshot,
		.job = snapshot->job,
		.table = slowdowns,
		.policy = *policy,
		.outcome = outcome,
		.what_if = what_if,
		.limit = np_slowdowns_limit(policy->max_slowdown),
		.leaves = snapshot->leaves,
		.n_leaves = snapshot->leaves->n,
		.n_switches = snapshot->leaves->n_switches,
		.leaf_words = snapshot->leaves->words,
	};
	set_rail_bits(problem);
	problem->counts = problem_alloc(problem, snapshot->set.n,
					sizeof(*problem->counts));
	problem->no_leaves = problem_alloc(problem, problem->leaf_words,
					   sizeof(*problem->no_leaves));
	problem->scratch = problem_alloc(problem, problem->leaf_words,
					 sizeof(*problem->scratch));
	if (!problem->counts || !problem->no_leaves || !problem->scratch)
		return -ENOMEM;
	if (other)
		memcpy(problem->counts, other->counts,
		       snapshot->set.n * sizeof(*problem->counts));
	return count_leaves(problem) ? -ENOMEM : gather_private_owners(problem);
}

/* ---- Leaf loads ---- */

/* The entry that a running job makes on its leaves; false: it makes none. */
static bool leaf_job_of(const struct np_problem *problem,
			const struct np_job *job, struct np_leaf_job *leaf_job)
{
	int32_t profile = job->profile;
	bool known = profile_counts(problem, job);
	const struct np_slowdowns_profile *slowdowns_profile;

	if (job->state != NP_JOB_RUNNING)
		return false;
	if (!known)
		profile = problem->policy.unknown_as;
	if (profile == NP_PROFILE_UNKNOWN)
		return false;
	slowdowns_profile = &problem->table->profile[profile];
	if (slowdowns_profile->inert)
		return false;
	*leaf_job = (struct np_leaf_job){
		.profile = (uint16_t)profile,
		.n = 1,
		.job = job->id,
		.touch =
			(job->flags & NP_JOB_SHARES_NODES ? NP_TOUCH_NODE : 0) |
			(job->n_leaves > 1 ? NP_TOUCH_UPLINK : 0),
		/* The profile that stands for unknown jobs was chosen by an
		   administrator and is therefore visible to everybody. */
		.owner = !known || is_public(problem, job) ? NP_ANY_OWNER :
							     job->owner,
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
static void merge_same_kind(const struct np_problem *problem,
			    struct np_leaf_jobs *jobs)
{
	uint32_t to = 0, at = 0;

	for (size_t i = 0; i < problem->n_switches; i++) {
		uint32_t begin = to, end = jobs->first[i + 1];

		if (end - at > 1)
			qsort(jobs->at + at, end - at, sizeof(*jobs->at),
			      by_kind);
		jobs->first[i] = begin;
		for (; at < end; at++) {
			struct np_leaf_job *job = &jobs->at[at];

			if (to > begin && same_kind(&jobs->at[to - 1], job))
				jobs->at[to - 1].n++;
			else
				jobs->at[to++] = *job;
		}
	}
	jobs->first[problem->n_switches] = to;
}

/*
 * Turn the counts in first[leaf + 1] into the index where each leaf begins, and
 * allocate the entries. 0 or -ENOMEM.
 */
static int alloc_jobs(struct np_problem *problem, struct np_leaf_jobs *jobs)
{
	for (size_t i = 0; i < problem->n_switches; i++)
		jobs->first[i + 1] += jobs->first[i];
	jobs->at = problem_alloc(problem, jobs->first[problem->n_switches],
				 sizeof(*jobs->at));
	return jobs->at ? 0 : -ENOMEM;
}

static struct np_leaf_jobs *public_or_private(struct np_leaf_loads *loads,
					      const struct np_leaf_job *job)
{
	return job->owner == NP_ANY_OWNER ? &loads->public : &loads->private;
}

/*
 * List in sw[] the switches that a running job loads, each once, and return how
 * many. mark[] has a number per switch, equal to stamp if it is listed already;
 * each call needs a new stamp.
 */
static uint32_t loaded_switches(const struct np_problem *problem,
				const struct np_job *job, uint32_t profile,
				uint32_t *mark, uint32_t stamp, uint32_t *sw)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < job->n_leaves; k++)
		EACH_SWITCH(at, problem->leaves, job->leaf[k])
			if (mark[*at] != stamp &&
			    loads_rail(problem, profile, *at)) {
				mark[*at] = stamp;
				sw[n++] = *at;
			}
	return n;
}

/*
 * Make the entries of all leaves: count them, allocate, fill in and merge. 0 or
 * -ENOMEM.
 */
static int gather_jobs(struct np_leaf_loads *loads)
{
	struct np_problem *problem = loads->problem;
	const struct np_job *job = problem->job;
	uint32_t *mark =
		problem_alloc(problem, problem->n_switches, sizeof(*mark));
	uint32_t *sw = problem_alloc(problem, problem->n_switches, sizeof(*sw)),
		 n;
	struct np_leaf_job leaf_job;

	if (!mark || !sw)
		return -ENOMEM;
	for (uint32_t i = 0; i < problem->snapshot->n_jobs; i++) {
		if (!leaf_job_of(problem, &job[i], &leaf_job))
			continue;
		n = loaded_switches(problem, &job[i], leaf_job.profile, mark,
				    2 * i + 1, sw);
		for (uint32_t k = 0; k < n; k++)
			public_or_private(loads, &leaf_job)->first[sw[k] + 1]++;
	}
	if (alloc_jobs(problem, &loads->public) ||
	    alloc_jobs(problem, &loads->private))
		return -ENOMEM;
	for (uint32_t i = 0; i < problem->snapshot->n_jobs; i++) {
		struct np_leaf_jobs *jobs;

		if (!leaf_job_of(problem, &job[i], &leaf_job))
			continue;
		jobs = public_or_private(loads, &leaf_job);
		n = loaded_switches(problem, &job[i], leaf_job.profile, mark,
				    2 * i + 2, sw);
		for (uint32_t k = 0; k < n; k++)
			jobs->at[jobs->first[sw[k]]++] = leaf_job;
	}
	/* Filling advanced each first[leaf] to first[leaf + 1]: move back. */
	for (size_t i = problem->n_switches; i > 0; i--) {
		loads->public.first[i] = loads->public.first[i - 1];
		loads->private.first[i] = loads->private.first[i - 1];
	}
	loads->public.first[0] = loads->private.first[0] = 0;
	merge_same_kind(problem, &loads->public);
	merge_same_kind(problem, &loads->private);
	return 0;
}

/* Load on one job of an entry by the other public jobs on a leaf. */
static uint32_t load_of(const struct np_leaf_loads *loads,
			const struct np_leaf_job *victim, size_t leaf)
{
	const struct np_leaf_jobs *jobs = &loads->public;
	uint64_t sum = 0;

	for (uint32_t k = jobs->first[leaf]; k < jobs->first[leaf + 1]; k++) {
		const struct np_leaf_job *other = &jobs->at[k];

		sum += (uint64_t)(other == victim ? other->n - 1 : other->n) *
		       np_slowdowns_pair(loads->problem->table, victim->profile,
					 victim->touch, other->profile,
					 other->touch);
	}
	return np_slowdowns_clamp(sum);
}

/* Compute the loads of a leaf's entries, and which are sensitive. */
static void load_leaf(struct np_leaf_loads *loads, size_t leaf)
{
	struct np_leaf_jobs *jobs = &loads->public, *own = &loads->private;
	uint32_t to = jobs->first[leaf];

	for (uint32_t k = jobs->first[leaf]; k < jobs->first[leaf + 1]; k++)
		jobs->at[k].load = load_of(loads, &jobs->at[k], leaf);
	for (uint32_t k = own->first[leaf]; k < own->first[leaf + 1]; k++)
		own->at[k].load = load_of(loads, &own->at[k], leaf);
	/*
	 * Move the sensitive ones to the front. Conflicts are checked between
	 * two arrivals at most, hence twice the largest load.
	 */
	for (uint32_t k = to; k < jobs->first[leaf + 1]; k++) {
		struct np_leaf_job job = jobs->at[k];
		uint32_t most = loads->problem->table->most[job.profile];

		if (!most || job.load + 2 * most <= loads->problem->limit)
			continue;
		jobs->at[k] = jobs->at[to];
		jobs->at[to++] = job;
	}
	jobs->sensitive[leaf] = to - jobs->first[leaf];
}

/* Make the packed lists of entries that slow any profile. 0 or -ENOMEM. */
static int pack_aggressors(struct np_leaf_loads *loads)
{
	struct np_problem *problem = loads->problem;
	struct np_leaf_jobs *jobs = &loads->public;
	uint32_t n = 0;

	jobs->aggressor = problem_alloc(problem,
					jobs->first[problem->n_switches],
					sizeof(*jobs->aggressor));
	jobs->first_aggressor = problem_alloc(problem, problem->n_switches + 1,
					      sizeof(*jobs->first_aggressor));
	if (!jobs->aggressor || !jobs->first_aggressor)
		return -ENOMEM;
	for (size_t leaf = 0; leaf < problem->n_switches; leaf++) {
		for (uint32_t k = jobs->first[leaf]; k < jobs->first[leaf + 1];
		     k++) {
			const struct np_leaf_job *job = &jobs->at[k];

			if (problem->table->profile[job->profile].aggressor)
				jobs->aggressor[n++] = (struct np_aggressor){
					job->profile, job->touch, job->n
				};
		}
		jobs->first_aggressor[leaf + 1] = n;
	}
	return 0;
}

/* End of an owner's entries on a leaf, where these are sorted by owner. */
static uint32_t end_of_owner(const struct np_leaf_jobs *jobs, uint32_t at,
			     uint32_t end)
{
	uint32_t owner = jobs->at[at].owner;

	while (at < end && jobs->at[at].owner == owner)
		at++;
	return at;
}

/* A job's number in the order of precedence; all tasks of an array have one. */
static uint32_t array_or_job_id(const struct np_job *job)
{
	return job->array ? job->array : job->id;
}

/*
 * The order in which Slurm considers pending jobs: by priority, age and number.
 * Below 0 if x comes first.
 */
static int compare_precedence(const struct np_job *x, const struct np_job *y)
{
	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	if (x->submit_sec != y->submit_sec)
		return x->submit_sec < y->submit_sec ? -1 : 1;
	if (array_or_job_id(x) != array_or_job_id(y))
		return array_or_job_id(x) < array_or_job_id(y) ? -1 : 1;
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
	int order = compare_precedence(&job[i], &job[k]);

	return order ? order : i < k ? -1 : i > k;
}

/* Sort n indices of jobs by precedence. */
static void sort_by_precedence(const struct np_snapshot *snapshot,
			       uint32_t *job, size_t n)
{
	qsort_r(job, n, sizeof(*job), by_precedence, snapshot->job);
}

/* Whether Slurm may start a job now. */
static bool may_start_now(const struct np_snapshot *snapshot,
			  const struct np_job *job)
{
	return job->state == NP_JOB_READY &&
	       job->eligible_sec <= snapshot->now_sec;
}

/* Index of key among n ascending numbers; n if it is not there. */
static size_t find_number(const uint32_t *number, size_t n, uint32_t key)
{
	const uint32_t *at =
		n ? bsearch(&key, number, n, sizeof(key), np_order_u32) : NULL;

	return at ? (size_t)(at - number) : n;
}

/*
 * Make the user loads in two passes: the first one only counts those of each
 * owner. Returns the length that from_user[] needs.
 */
static uint32_t fill_user_loads(struct np_leaf_loads *loads)
{
	const struct np_leaf_jobs *jobs = &loads->private;
	const struct np_problem *problem = loads->problem;
	uint32_t *first = loads->first_user_load, from_user = 0, end;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t leaf = 0; leaf < problem->n_switches; leaf++)
			for (uint32_t k = jobs->first[leaf];
			     k < jobs->first[leaf + 1]; k = end) {
				size_t owner = find_number(
					problem->private_owner,
					problem->n_private, jobs->at[k].owner);

				end = end_of_owner(jobs, k,
						   jobs->first[leaf + 1]);
				if (!pass) {
					first[owner + 2]++;
					continue;
				}
				loads->user_load[first[owner + 1]++] =
					(struct np_user_load){ leaf, k, end,
							       from_user };
				from_user += end - k +
					     loads->public.first[leaf + 1] -
					     loads->public.first[leaf];
			}
		for (size_t owner = 0; !pass && owner < problem->n_private;
		     owner++)
			first[owner + 2] += first[owner + 1];
	}
	return from_user;
}

/* Fill in the loads that a user's private jobs put on the leaf's entries. */
static void apply_user_load(struct np_leaf_loads *loads,
			    const struct np_user_load *load)
{
	const struct np_leaf_jobs *jobs = &loads->public;
	uint32_t *to = loads->from_user + load->from_user;

	for (uint32_t k = jobs->first[load->leaf];
	     k < jobs->first[load->leaf + 1]; k++)
		*to++ = np_slowdowns_clamp(
			load_from_user(loads, load, jobs->at[k].profile,
				       jobs->at[k].touch, NULL));
	for (uint32_t k = load->first; k < load->end; k++) {
		const struct np_leaf_job *job = &loads->private.at[k];

		*to++ = np_slowdowns_clamp(load_from_user(
			loads, load, job->profile, job->touch, job));
	}
}

static int make_user_loads(struct np_leaf_loads *loads)
{
	struct np_problem *problem = loads->problem;

	loads->first_user_load = problem_alloc(problem, problem->n_private + 2,
					       sizeof(*loads->first_user_load));
	loads->user_load = problem_alloc(
		problem, loads->private.first[problem->n_switches],
		sizeof(*loads->user_load));
	if (!loads->first_user_load || !loads->user_load)
		return -ENOMEM;
	loads->from_user = problem_alloc(problem, fill_user_loads(loads),
					 sizeof(*loads->from_user));
	if (!loads->from_user)
		return -ENOMEM;
	for (uint32_t k = 0; k < loads->first_user_load[problem->n_private];
	     k++)
		apply_user_load(loads, &loads->user_load[k]);
	return 0;
}

/* Returns 0 or -ENOMEM. */
static int leaf_loads_init(struct np_leaf_loads *loads,
			   struct np_problem *problem)
{
	size_t n = problem->n_switches + 2;

	loads->problem = problem;
	loads->public.first = problem_alloc(problem, n, sizeof(uint32_t));
	loads->private.first = problem_alloc(problem, n, sizeof(uint32_t));
	loads->public.sensitive = problem_alloc(problem, n, sizeof(uint32_t));
	if (!loads->public.first || !loads->private.first ||
	    !loads->public.sensitive || gather_jobs(loads))
		return -ENOMEM;
	for (size_t leaf = 0; leaf < problem->n_switches; leaf++)
		load_leaf(loads, leaf);
	return pack_aggressors(loads) ? -ENOMEM : make_user_loads(loads);
}

/* The user loads of an owner, by leaf, and their number; NULL: none. */
static const struct np_user_load *
user_loads_of(const struct np_leaf_loads *loads, uint32_t owner, size_t *n)
{
	const struct np_problem *problem = loads->problem;
	size_t at =
		find_number(problem->private_owner, problem->n_private, owner);

	*n = at < problem->n_private ? loads->first_user_load[at + 1] -
					       loads->first_user_load[at] :
				       0;
	return *n ? loads->user_load + loads->first_user_load[at] : NULL;
}

/* Load of a user's private jobs on a leaf, less one job of entry `except`. */
static uint64_t load_from_user(const struct np_leaf_loads *loads,
			       const struct np_user_load *load,
			       uint32_t profile, uint32_t touch,
			       const struct np_leaf_job *except)
{
	uint64_t sum = 0;

	for (uint32_t k = load->first; k < load->end; k++) {
		const struct np_leaf_job *job = &loads->private.at[k];

		sum += (uint64_t)(job == except ? job->n - 1 : job->n) *
		       np_slowdowns_pair(loads->problem->table, profile, touch,
					 job->profile, job->touch);
	}
	return sum;
}

/* The same of the private jobs that an owner has on a leaf. */
static uint64_t load_from_owner(const struct np_leaf_loads *loads,
				uint32_t profile, uint32_t touch, uint32_t leaf,
				uint32_t owner,
				const struct np_leaf_job *except)
{
	size_t n;
	const struct np_user_load *load = user_loads_of(loads, owner, &n);

	if (n)
		load = bsearch(&leaf, load, n, sizeof(*load), np_order_u32);
	return load ? load_from_user(loads, load, profile, touch, except) : 0;
}

/* Load on a job of an entry by a job whose row of caused loads is given. */
static uint16_t load_on(const struct np_leaf_job *job, const uint16_t *caused,
			uint32_t touch)
{
	return np_slowdowns_at(caused, job->profile, job->touch & touch);
}

/* Record a possible arrival of a public job on a leaf, in np_leaf_job.extra. */
static void record_arrival(struct np_leaf_loads *loads, uint32_t leaf,
			   uint32_t profile, uint32_t touch)
{
	const uint16_t *caused =
		np_slowdowns_caused(loads->problem->table, profile);
	struct np_leaf_job *job = loads->public.at + loads->public.first[leaf];
	uint32_t n = loads->public.sensitive[leaf];

	for (uint32_t i = 0; i < n; i++) {
		uint16_t added = load_on(&job[i], caused, touch);

		if (added > job[i].extra)
			job[i].extra = added;
	}
}

/* Forget all arrivals noted on a leaf. */
static void clear_arrivals(struct np_leaf_loads *loads, uint32_t leaf)
{
	struct np_leaf_job *job = loads->public.at + loads->public.first[leaf];

	for (uint32_t i = 0; i < loads->public.sensitive[leaf]; i++)
		job[i].extra = 0;
}

/*
 * Whether one more arrival, together with one that was noted, would slow a
 * running job on the leaf too much.
 */
static bool is_leaf_full(const struct np_leaf_loads *loads, uint32_t leaf,
			 uint32_t profile, uint32_t touch)
{
	const uint16_t *caused =
		np_slowdowns_caused(loads->problem->table, profile);
	const struct np_leaf_job *job =
		loads->public.at + loads->public.first[leaf];

	for (uint32_t k = 0; k < loads->public.sensitive[leaf]; k++) {
		uint32_t added = load_on(&job[k], caused, touch);

		if (added && job[k].extra &&
		    job[k].load + added + job[k].extra > loads->problem->limit)
			return true;
	}
	return false;
}

/* The largest load of the public jobs on a leaf. */
static uint32_t leaf_load_worst(const struct np_leaf_loads *loads, size_t leaf)
{
	const struct np_leaf_jobs *jobs = &loads->public;
	uint32_t worst = 0;

	for (uint32_t k = jobs->first[leaf]; k < jobs->first[leaf + 1]; k++)
		if (jobs->at[k].load > worst)
			worst = jobs->at[k].load;
	return worst;
}

/* ---- Must a class avoid a leaf, and because of which jobs? ---- */

static uint32_t pair_load(const struct np_classes *classes,
			  const struct np_class *victim,
			  const struct np_class *co)
{
	return np_slowdowns_pair(classes->problem->table, victim->profile,
				 victim->touch, co->profile, co->touch);
}

/* The owner, common to both classes, whose private jobs count. */
static uint32_t common_owner(const struct np_class *class,
			     const struct np_class *other)
{
	return !other || class->owner == other->owner ? class->owner :
							NP_ANY_OWNER;
}

/* Loads of a class that count if jobs of the other are considered as well. */
static const struct np_class_loads *loads_with(const struct np_class *class,
					       const struct np_class *other)
{
	return class->owner == other->owner ? &class->full : &class->public;
}

/* The worst violation of the limit found so far. */
struct worst {
	uint64_t load;		/* 0: none */
	bool self;		/* the victim is the job in question */
	uint32_t other, victim; /* job ids */
};

static void raise_worst(const struct np_classes *classes, struct worst *worst,
			uint64_t load, bool self, uint32_t other,
			uint32_t victim)
{
	if (load > classes->problem->limit && load > worst->load)
		*worst = (struct worst){ load, self, other, victim };
}

/* Find the running job on a leaf that slows a class most. */
static void worst_aggressor(const struct np_classes *classes,
			    const struct np_class *class,
			    const struct np_leaf_jobs *jobs, uint32_t leaf,
			    uint64_t *most, uint32_t *aggressor)
{
	for (uint32_t k = jobs->first[leaf]; k < jobs->first[leaf + 1]; k++) {
		const struct np_leaf_job *leaf_job = &jobs->at[k];
		uint64_t load = (uint64_t)leaf_job->n *
				np_slowdowns_pair(classes->problem->table,
						  class->profile, class->touch,
						  leaf_job->profile,
						  leaf_job->touch);

		if (jobs == &classes->loads->private &&
		    leaf_job->owner != class->owner)
			continue;
		if (load > *most) {
			*most = load;
			*aggressor = leaf_job->job;
		}
	}
}

/* Check the running jobs on a leaf as victims of one class or of two. */
static void check_jobs(const struct np_classes *classes,
		       const struct np_leaf_jobs *jobs,
		       const struct np_class *class,
		       const struct np_class *other, uint32_t leaf,
		       struct worst *worst)
{
	const struct np_leaf_loads *loads = classes->loads;
	const uint16_t *caused =
		np_slowdowns_caused(classes->problem->table, class->profile);
	const uint16_t *other_caused = np_slowdowns_caused(
		classes->problem->table, (other ? other : class)->profile);
	uint32_t owner = common_owner(class, other);

	for (uint32_t k = jobs->first[leaf]; k < jobs->first[leaf + 1]; k++) {
		const struct np_leaf_job *job = &jobs->at[k];
		uint32_t load, other_load;

		if (jobs == &loads->private && job->owner != owner)
			continue;
		load = load_on(job, caused, class->touch);
		other_load = other ? load_on(job, other_caused, other->touch) :
				     0;
		if (!load || (other && !other_load))
			continue;
		raise_worst(classes, worst,
			    job->load + load + other_load +
				    load_from_owner(loads, job->profile,
						    job->touch, leaf, owner,
						    job),
			    false, other ? other->job : job->job, job->job);
	}
}

/* Check the classes themselves as victims; other may be NULL. */
static void check_classes(const struct np_classes *classes,
			  const struct np_class *class,
			  const struct np_class *other, uint32_t leaf,
			  struct worst *worst)
{
	uint64_t most = 0;
	uint32_t job = 0, suffered, caused;

	if (!other) {
		worst_aggressor(classes, class, &classes->loads->public, leaf,
				&most, &job);
		worst_aggressor(classes, class, &classes->loads->private, leaf,
				&most, &job);
		raise_worst(classes, worst, class->full.load[leaf], true, job,
			    0);
		return;
	}
	suffered = pair_load(classes, class, other);
	caused = pair_load(classes, other, class);
	if (suffered)
		raise_worst(classes, worst,
			    loads_with(class, other)->load[leaf] + suffered,
			    true, other->job, 0);
	if (caused)
		raise_worst(classes, worst,
			    loads_with(other, class)->load[leaf] + caused,
			    false, other->job, other->job);
}

/* Whether either class is slowed too much by the other and what runs there. */
static bool exceeds_directly(const struct np_classes *classes,
			     const struct np_class *class,
			     const struct np_class *other, uint32_t leaf)
{
	uint32_t suffered = pair_load(classes, class, other);
	uint32_t caused = pair_load(classes, other, class);
	uint32_t limit = classes->problem->limit;

	return (suffered &&
		loads_with(class, other)->load[leaf] + suffered > limit) ||
	       (caused &&
		loads_with(other, class)->load[leaf] + caused > limit);
}

/* Quick test: certainly both together slow no running job there too much. */
static bool no_third_victim(const struct np_classes *classes,
			    const struct np_class *class,
			    const struct np_class *other, uint32_t leaf)
{
	const struct np_class_loads *loads = loads_with(class, other),
				    *other_loads = loads_with(other, class);

	return !loads->added[leaf] || !other_loads->added[leaf] ||
	       loads->victim[leaf] + other_loads->added[leaf] <=
		       (int64_t)classes->problem->limit ||
	       other_loads->victim[leaf] + loads->added[leaf] <=
		       (int64_t)classes->problem->limit;
}

/* Whether the running jobs on a leaf close it to a class. */
static bool is_closed(const struct np_classes *classes,
		      const struct np_class *class, uint32_t leaf)
{
	return class->full.load[leaf] > classes->problem->limit ||
	       class->full.victim[leaf] > classes->problem->limit;
}

/*
 * Whether a class must avoid pending jobs of another one on a leaf, or, if
 * other_id is NP_NONE, the jobs running there. If so, cause (may be NULL) is
 * set.
 */
static bool class_avoids(const struct np_classes *classes, uint32_t id,
			 uint32_t other_id, uint32_t leaf,
			 struct np_cause *cause)
{
	const struct np_class *class = &classes->at[id];
	const struct np_class *other =
		other_id == NP_NONE ? NULL : &classes->at[other_id];
	struct worst worst = { 0 };
	/* The loads of the classes mostly suffice. Where they do not, and to
	   find the cause, the running jobs are checked one by one. */
	bool certain = other ? exceeds_directly(classes, class, other, leaf) :
			       is_closed(classes, class, leaf);

	if (!certain &&
	    (!other || no_third_victim(classes, class, other, leaf)))
		return false;
	if (certain && !cause)
		return true;
	if (cause)
		check_classes(classes, class, other, leaf, &worst);
	check_jobs(classes, &classes->loads->public, class, other, leaf,
		   &worst);
	if (common_owner(class, other) != NP_ANY_OWNER)
		check_jobs(classes, &classes->loads->private, class, other,
			   leaf, &worst);
	if (worst.load && cause)
		*cause = (struct np_cause){
			.why = other ? NP_WHY_FROM_PENDING :
				       NP_WHY_FROM_RUNNING,
			.leaf = leaf,
			.other = worst.other,
			.victim = worst.victim,
			.victim_self = worst.self,
			.slowdown = np_slowdowns_from_load(
				np_slowdowns_clamp(worst.load)),
		};
	return worst.load != 0;
}

/* Whether jobs of both classes, which may be the same, load a switch. */
static bool both_load(const struct np_classes *classes, uint32_t class,
		      uint32_t other, uint32_t sw)
{
	return loads_rail(classes->problem, classes->at[class].profile, sw) &&
	       loads_rail(classes->problem, classes->at[other].profile, sw);
}

/* Whether a class may have to avoid another one somewhere. */
static bool is_relevant(const struct np_classes *classes, uint32_t class,
			uint32_t other)
{
	return np_bits_test(classes->relevant + class * classes->words, other);
}

/*
 * Whether a job of one class conflicts with one of the other, which may be the
 * same, on any of these leaves, whichever of them has to yield.
 */
static bool conflict_on(const struct np_classes *classes, uint32_t class,
			uint32_t other, const uint64_t *leaves)
{
	if (class == other)
		return np_bits_intersect(classes->at[class].one_only_leaves,
					 leaves, classes->problem->leaf_words);
	if (!is_relevant(classes, class, other) &&
	    !is_relevant(classes, other, class))
		return false;
	NP_BITS_EACH(leaf, leaves, classes->problem->leaf_words)
		EACH_SWITCH(sw, classes->problem->leaves, leaf)
			if (both_load(classes, class, other, *sw) &&
			    class_avoids(classes, class, other, *sw, NULL))
				return true;
	return false;
}

/*
 * Whether a class must avoid a switch because of the classes that hold it now,
 * or of running jobs that would suffer from both.
 */
static bool switch_blocked(const struct np_classes *classes, uint32_t id,
			   uint32_t sw)
{
	const struct np_class *class = &classes->at[id];
	const uint64_t *holders = classes->on_switch + sw * classes->words;
	size_t row = id * classes->words;

	for (uint32_t row_words = class->row_words; row_words;
	     row_words &= row_words - 1) {
		size_t w = np_bits_lowest(0, row_words);

		if (holders[w] & classes->hard[row + w])
			return true;
		for (uint64_t m = holders[w] & classes->soft[row + w]; m;
		     m &= m - 1)
			if (exceeds_directly(classes, class,
					     &classes->at[np_bits_lowest(w, m)],
					     sw))
				return true;
		for (uint64_t m = holders[w] & classes->soft_own[row + w]; m;
		     m &= m - 1)
			if (class_avoids(classes, id, np_bits_lowest(w, m), sw,
					 NULL))
				return true;
	}
	/* The remaining case: a running job that suffers from two arrivals. */
	return is_leaf_full(classes->loads, sw, class->profile, class->touch);
}

/* Whether a class must avoid a leaf, i.e. any switch of it that it loads. */
static bool class_blocked(const struct np_classes *classes, uint32_t id,
			  uint32_t leaf)
{
	const struct np_class *class = &classes->at[id];

	if (!np_bits_test(class->open, leaf))
		return true;
	EACH_SWITCH(sw, classes->problem->leaves, leaf)
		if (loads_rail(classes->problem, class->profile, *sw) &&
		    switch_blocked(classes, id, *sw))
			return true;
	return false;
}

/* Whether one more job of the class may use a leaf, given who holds it now. */
static bool class_can_take(const struct np_classes *classes, uint32_t id,
			   const struct np_job *job, uint32_t leaf)
{
	const struct np_class *class = &classes->at[id];

	if (np_bits_test(class->one_only_leaves, leaf))
		EACH_SWITCH(sw, classes->problem->leaves, leaf)
			if (np_bits_test(class->one_only_switches, *sw) &&
			    (class->n_held[*sw] || job->tasks > 1))
				return false;
	return !class_blocked(classes, id, leaf);
}

/* A class holds its first leaf of a switch. */
static void enter_switch(struct np_classes *classes, uint32_t id, uint32_t sw)
{
	const struct np_class *class = &classes->at[id];

	np_bits_set(classes->on_switch + sw * classes->words, id);
	if (class->trusted)
		record_arrival(classes->loads, sw, class->profile,
			       class->touch);
}

/* A class gave up its last leaf of a switch. */
static void leave_switch(struct np_classes *classes, uint32_t class,
			 uint32_t sw)
{
	uint64_t *holders = classes->on_switch + sw * classes->words;

	np_bits_clear(holders, class);
	if (!classes->at[class].trusted)
		return;
	clear_arrivals(classes->loads, sw);
	NP_BITS_EACH(other, holders, classes->words)
		if (classes->at[other].trusted)
			record_arrival(classes->loads, sw,
				       classes->at[other].profile,
				       classes->at[other].touch);
}

/* A job or group of the class takes a leaf. */
static void class_take(struct np_classes *classes, uint32_t id, uint32_t leaf)
{
	struct np_class *class = &classes->at[id];

	if (class->n_holders[leaf] < UINT16_MAX)
		class->n_holders[leaf]++;
	if (np_bits_test(class->held, leaf))
		return;
	np_bits_set(class->held, leaf);
	EACH_SWITCH(sw, classes->problem->leaves, leaf)
		if (loads_rail(classes->problem, class->profile, *sw) &&
		    !class->n_held[*sw]++)
			enter_switch(classes, id, *sw);
}

/* A job or group of the class gives up a leaf. */
static void class_release(struct np_classes *classes, uint32_t id,
			  uint32_t leaf)
{
	struct np_class *class = &classes->at[id];

	if (class->n_holders[leaf] < UINT16_MAX)
		class->n_holders[leaf]--;
	if (class->n_holders[leaf])
		return;
	np_bits_clear(class->held, leaf);
	EACH_SWITCH(sw, classes->problem->leaves, leaf)
		if (loads_rail(classes->problem, class->profile, *sw) &&
		    !--class->n_held[*sw])
			leave_switch(classes, id, *sw);
}

/* ---- Making classes and comparing them ---- */

/* Capacity for classes that are first submitted between two decisions. */
#define SPARE 128

_Static_assert(NP_PLACEMENT_MAX_CLASSES + SPARE <= 32 * NP_BITS_WORD,
	       "np_class.row_words has a bit for each word of a bitmap");

/* What a pending job will share with others; see NP_TOUCH_NODE. */
static uint8_t touch_of(const struct np_classes *classes,
			const struct np_job *job)
{
	/* Slurm keeps a job under one leaf if it fits there. */
	bool spans = job->flags & NP_JOB_SPANS ||
		     job->nodes_min >
			     classes->problem->snapshot->leaves->largest;

	return (job->flags & NP_JOB_SHARES_NODES ? NP_TOUCH_NODE : 0) |
	       (spans ? NP_TOUCH_UPLINK : 0);
}

/* Whether jobs of a class take jobs of the other into account. */
static bool is_visible(const struct np_class *class,
		       const struct np_class *other)
{
	return other->trusted ||
	       (class->owner != NP_ANY_OWNER && class->owner == other->owner);
}

/* Whether the owner has jobs, or a class, that others do not see. */
static bool is_private(const struct np_classes *classes, uint32_t owner)
{
	const struct np_problem *problem = classes->problem;

	if (find_number(problem->private_owner, problem->n_private, owner) <
	    problem->n_private)
		return true;
	for (size_t i = classes->n_sealed; i < classes->n; i++)
		if (!classes->at[i].trusted && classes->at[i].owner == owner)
			return true;
	return false;
}

/* Whether a class slows jobs of any profile. */
static bool is_aggressor(const struct np_classes *classes,
			 const struct np_class *class)
{
	return classes->problem->table->profile[class->profile].aggressor;
}

/*
 * Allocate the loads of a class. One that slows nobody has no victims. false:
 * out of memory.
 */
static bool alloc_loads(struct np_classes *classes,
			const struct np_class *class,
			struct np_class_loads *loads)
{
	size_t n = classes->problem->n_switches;
	bool victims = is_aggressor(classes, class);

	loads->load = problem_alloc(classes->problem, victims ? 3 * n : n,
				    sizeof(*loads->load));
	if (!loads->load)
		return false;
	loads->victim = victims ? loads->load + n : classes->zeros;
	loads->added = victims ? loads->victim + n : classes->zeros;
	return true;
}

/* Allocate a class and append it; false: out of memory. */
static bool add_class(struct np_classes *classes, struct np_class *class)
{
	struct np_problem *problem = classes->problem;
	size_t bits = problem->leaf_words + 1, n;
	uint64_t *words = problem_alloc(
		problem, 3 * bits + problem->n_switches / NP_BITS_WORD + 1,
		sizeof(*words));

	class->n_holders = problem_alloc(problem, problem->n_leaves,
					 sizeof(*class->n_holders));
	class->n_held = problem_alloc(problem, problem->n_switches,
				      sizeof(*class->n_held));
	if (!words || !class->n_holders || !class->n_held ||
	    !alloc_loads(classes, class, &class->public))
		return false;
	class->full = class->public;
	if (user_loads_of(classes->loads, class->owner, &n) &&
	    !alloc_loads(classes, class, &class->full))
		return false;
	class->open = words;
	class->one_only_leaves = words + bits;
	class->held = words + 2 * bits;
	class->one_only_switches = words + 3 * bits;
	classes->at[classes->n] = *class;
	return true;
}

static uint16_t clamp16(uint64_t load)
{
	return load < UINT16_MAX ? (uint16_t)load : UINT16_MAX;
}

/* Update the maximum over all leaves. */
static void update_max(struct np_class_max *max,
		       const struct np_class_loads *loads, uint32_t leaf)
{
	if (loads->load[leaf] > max->load)
		max->load = loads->load[leaf];
	if (loads->victim[leaf] > max->victim)
		max->victim = loads->victim[leaf];
	if (loads->added[leaf] > max->added)
		max->added = loads->added[leaf];
}

/* Set the load on a class by the public jobs on a leaf. */
static void set_load(const struct np_classes *classes, struct np_class *class,
		     size_t leaf, const uint16_t *suffered)
{
	const struct np_leaf_jobs *jobs = &classes->loads->public;
	uint64_t load = 0;

	for (uint32_t i = jobs->first_aggressor[leaf];
	     i < jobs->first_aggressor[leaf + 1]; i++) {
		const struct np_aggressor *aggressor = &jobs->aggressor[i];

		load += (uint64_t)aggressor->n *
			np_slowdowns_at(suffered, aggressor->profile,
					aggressor->touch & class->touch);
	}
	class->public.load[leaf] = clamp16(load);
}

/*
 * Update the victim load of a class on a leaf, and what it adds to a victim,
 * with the n entries in job[]. from_user[]: what each entry also suffers from
 * private jobs of the class's owner; NULL: nothing.
 */
static void raise_loads(const struct np_classes *classes,
			const struct np_class *class,
			struct np_class_loads *loads, uint32_t leaf,
			const struct np_leaf_job *job, uint32_t n,
			const uint32_t *from_user)
{
	const uint16_t *caused =
		np_slowdowns_caused(classes->problem->table, class->profile);

	for (uint32_t i = 0; i < n; i++) {
		uint16_t added = load_on(&job[i], caused, class->touch);
		uint64_t victim = (uint64_t)job[i].load + added +
				  (from_user ? from_user[i] : 0);

		if (!added)
			continue;
		if (added > loads->added[leaf])
			loads->added[leaf] = added;
		if (victim > loads->victim[leaf])
			loads->victim[leaf] = clamp16(victim);
	}
}

/* Set the full loads of a class on a leaf where its owner has private jobs. */
static void set_full_leaf(const struct np_classes *classes,
			  struct np_class *class,
			  const struct np_user_load *load)
{
	const struct np_leaf_loads *loads = classes->loads;
	uint32_t leaf = load->leaf, first = loads->public.first[leaf];
	uint32_t n = loads->public.first[leaf + 1] - first;
	const uint32_t *from_user = loads->from_user + load->from_user;

	class->full.load[leaf] =
		clamp16(class->public.load[leaf] +
			load_from_user(loads, load, class->profile,
				       class->touch, NULL));
	if (is_aggressor(classes, class)) {
		raise_loads(classes, class, &class->full, leaf,
			    loads->public.at + first, n, from_user);
		raise_loads(classes, class, &class->full, leaf,
			    loads->private.at + load->first,
			    load->end - load->first, from_user + n);
	}
	update_max(&class->full_max, &class->full, leaf);
}

/*
 * Whether one of two classes may suffer too much from the other somewhere.
 * suffered: load of the first one by the second; caused: the reverse.
 */
static bool maybe_direct(const struct np_class_max *most, uint32_t suffered,
			 const struct np_class_max *other_most, uint32_t caused,
			 uint32_t limit)
{
	return (suffered && most->load + suffered > limit) ||
	       (caused && other_most->load + caused > limit);
}

/* Whether a running job may suffer too much from both classes somewhere. */
static bool maybe_third(const struct np_class_max *most,
			const struct np_class_max *other_most, uint32_t limit)
{
	return most->added && other_most->added &&
	       (uint32_t)most->victim + other_most->added > limit &&
	       (uint32_t)other_most->victim + most->added > limit;
}

/* Whether two jobs of a class may conflict somewhere. */
static bool maybe_self(const struct np_classes *classes,
		       const struct np_class *class)
{
	const struct np_class_max *most = &class->full_max;
	uint32_t pair = np_slowdowns_pair(classes->problem->table,
					  class->profile, class->touch,
					  class->profile, class->touch);

	return maybe_direct(most, pair, most, pair, classes->problem->limit) ||
	       maybe_third(most, most, classes->problem->limit);
}

/* Set whether a job of the class may use a leaf; with two, whether two may. */
static void check_leaf(struct np_classes *classes, struct np_class *class,
		       uint32_t leaf, bool two)
{
	uint32_t id = (uint32_t)(class - classes->at);

	EACH_SWITCH(sw, classes->problem->leaves, leaf)
		if (is_closed(classes, class, *sw))
			return;
	np_bits_set(class->open, leaf);
	if (!two)
		return;
	EACH_SWITCH(sw, classes->problem->leaves, leaf)
		if (both_load(classes, id, id, *sw) &&
		    (np_bits_test(class->one_only_switches, *sw) ||
		     class_avoids(classes, id, id, *sw, NULL))) {
			np_bits_set(class->one_only_switches, *sw);
			np_bits_set(class->one_only_leaves, leaf);
			class->self_conflict = true;
		}
}

/*
 * Set the full loads of a class: a copy of those with public jobs, changed on
 * the leaves where its owner has private jobs.
 */
static void set_full_loads(const struct np_classes *classes,
			   struct np_class *class)
{
	size_t n;
	const struct np_user_load *load =
		user_loads_of(classes->loads, class->owner, &n);

	class->full_max = class->public_max;
	if (class->full.load == class->public.load)
		return;
	memcpy(class->full.load, class->public.load,
	       (is_aggressor(classes, class) ? 3 : 1) *
		       classes->problem->n_switches *
		       sizeof(*class->full.load));
	for (size_t i = 0; i < n; i++)
		if (loads_rail(classes->problem, class->profile, load[i].leaf))
			set_full_leaf(classes, class, &load[i]);
}

/* Fill in what the running jobs on all leaves mean for a class. */
static void set_loads(struct np_classes *classes, struct np_class *class)
{
	const struct np_problem *problem = classes->problem;
	const uint16_t *suffered =
		np_slowdowns_suffered(problem->table, class->profile);
	const struct np_leaf_jobs *on = &classes->loads->public;
	bool suffers = problem->table->most[class->profile]; /* from anything */
	bool two;

	if (problem->table->profile[class->profile].inert) {
		for (uint32_t leaf = 0; leaf < problem->n_leaves; leaf++)
			np_bits_set(class->open, leaf);
		return;
	}
	for (uint32_t sw = 0; sw < problem->n_switches; sw++) {
		if (!loads_rail(problem, class->profile, sw))
			continue;
		if (suffers)
			set_load(classes, class, sw, suffered);
		if (is_aggressor(classes, class))
			raise_loads(classes, class, &class->public, sw,
				    on->at + on->first[sw], on->sensitive[sw],
				    NULL);
		update_max(&class->public_max, &class->public, sw);
	}
	set_full_loads(classes, class);
	two = maybe_self(classes, class);
	for (uint32_t leaf = 0; leaf < problem->n_leaves; leaf++)
		check_leaf(classes, class, leaf, two);
}

static bool class_open_everywhere(const struct np_classes *classes,
				  uint32_t class)
{
	return np_bits_count(classes->at[class].open,
			     classes->problem->leaf_words) ==
	       classes->problem->n_leaves;
}

/*
 * Set what the bitmaps of a class say of another one. suffered: its load by the
 * other class; caused: the reverse.
 */
static void compare_classes(struct np_classes *classes, uint32_t id,
			    uint32_t other_id, uint32_t suffered,
			    uint32_t caused)
{
	struct np_class *class = &classes->at[id];
	const struct np_class *other = &classes->at[other_id];
	bool soft_own = class->owner != NP_ANY_OWNER &&
			class->owner == other->owner;
	const struct np_class_max *most = soft_own ? &class->full_max :
						     &class->public_max;
	const struct np_class_max *other_most = soft_own ? &other->full_max :
							   &other->public_max;
	uint32_t limit = classes->problem->limit;
	size_t at = id * classes->words;

	if (!is_visible(class, other))
		return;
	if (suffered > limit || caused > limit)
		np_bits_set(classes->hard + at, other_id);
	else if (maybe_direct(most, suffered, other_most, caused, limit))
		np_bits_set((soft_own ? classes->soft_own : classes->soft) + at,
			    other_id);
	else if (!maybe_third(most, other_most, limit))
		return;
	else if (soft_own)
		np_bits_set(classes->soft_own + at, other_id);
	np_bits_set(classes->relevant + at, other_id);
	class->row_words |= 1u << other_id / NP_BITS_WORD;
}

/* Compare a class with those made since the last call. */
static void extend_row(struct np_classes *classes, uint32_t id)
{
	struct np_class *class = &classes->at[id];
	const uint16_t *suffered =
		np_slowdowns_suffered(classes->problem->table, class->profile);
	const uint16_t *caused =
		np_slowdowns_caused(classes->problem->table, class->profile);

	class->row_words |= 1u << id / NP_BITS_WORD;
	/* A class is not in its own bitmaps: one_only_leaves and
	   one_only_switches say where its jobs conflict with each other. */
	for (uint32_t k = class->n_compared; k < classes->n; k++) {
		const struct np_class *other = &classes->at[k];
		size_t at = other->profile * NP_N_TOUCH +
			    (other->touch & class->touch);

		if (k != id)
			compare_classes(classes, id, k, suffered[at],
					caused[at]);
	}
	class->n_compared = (uint32_t)classes->n;
}

/*
 * The class of a job, made if needed and compared with all present classes.
 * NP_NONE: too many classes, or the owner's share of them is used up, or out of
 * memory.
 */
static uint32_t class_of(struct np_classes *classes, const struct np_job *job)
{
	struct np_class class = {
		.profile = (uint16_t)job->profile,
		.job = job->id,
		.touch = touch_of(classes, job),
		.owner = NP_ANY_OWNER,
		.trusted = is_public(classes->problem, job),
	};
	uint32_t i;

	if (!class.trusted || is_private(classes, job->owner))
		class.owner = job->owner;
	class.next = classes->of_profile[class.profile];
	for (i = class.next; i != NP_NONE; i = classes->at[i].next)
		if (classes->at[i].touch == class.touch &&
		    classes->at[i].owner == class.owner &&
		    classes->at[i].trusted == class.trusted)
			break;
	if (i == NP_NONE) {
		if (classes->n >= classes->capacity ||
		    !np_shares_take(&classes->shares, job->owner, 1) ||
		    !add_class(classes, &class))
			return NP_NONE;
		i = (uint32_t)classes->n++;
		classes->of_profile[class.profile] = i;
		if (classes->words)
			set_loads(classes, &classes->at[i]);
	}
	if (classes->words)
		extend_row(classes, i);
	return i;
}

/* Returns 0 or -ENOMEM. */
static int classes_init(struct np_classes *classes, struct np_problem *problem,
			struct np_leaf_loads *loads)
{
	classes->problem = problem;
	classes->loads = loads;
	/* A class has a job at least. */
	classes->capacity = problem->snapshot->n_jobs <
					    NP_PLACEMENT_MAX_CLASSES ?
				    problem->snapshot->n_jobs :
				    NP_PLACEMENT_MAX_CLASSES;
	classes->shares.limit = NP_PLACEMENT_MAX_CLASSES;
	classes->at = problem_alloc(problem, classes->capacity + SPARE,
				    sizeof(*classes->at));
	classes->of_profile =
		problem_alloc(problem, problem->table->n, sizeof(uint32_t));
	classes->zeros = problem_alloc(problem, problem->n_switches,
				       sizeof(*classes->zeros));
	if (!classes->at || !classes->of_profile || !classes->zeros)
		return -ENOMEM;
	memset(classes->of_profile, 0xff, problem->table->n * sizeof(uint32_t));
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
static uint32_t *classes_renumber(struct np_classes *classes)
{
	struct np_problem *problem = classes->problem;
	struct np_class *sorted =
		problem_alloc(problem, classes->n + SPARE, sizeof(*sorted));
	uint32_t *order = problem_alloc(problem, classes->n, sizeof(*order));
	uint32_t *new_id = problem_alloc(problem, classes->n, sizeof(*new_id));

	if (!sorted || !order || !new_id)
		return NULL;
	for (uint32_t i = 0; i < classes->n; i++)
		order[i] = i;
	qsort_r(order, classes->n, sizeof(*order), class_by_owner, classes->at);
	memset(classes->of_profile, 0xff,
	       problem->table->n * sizeof(*classes->of_profile));
	for (uint32_t i = 0; i < classes->n; i++) {
		new_id[order[i]] = i;
		sorted[i] = classes->at[order[i]];
		sorted[i].next = classes->of_profile[sorted[i].profile];
		classes->of_profile[sorted[i].profile] = i;
	}
	classes->at = sorted;
	return new_id;
}

/* Allocate the bitmaps of classes. 0 or -ENOMEM. */
static int alloc_rows(struct np_classes *classes)
{
	struct np_problem *problem = classes->problem;
	size_t words = classes->words, cells = classes->capacity * words;

	classes->hard = problem_alloc(problem, cells, sizeof(uint64_t));
	classes->soft = problem_alloc(problem, cells, sizeof(uint64_t));
	classes->soft_own = problem_alloc(problem, cells, sizeof(uint64_t));
	classes->relevant = problem_alloc(problem, cells, sizeof(uint64_t));
	classes->on_switch = problem_alloc(problem, problem->n_switches * words,
					   sizeof(uint64_t));
	classes->open_on = problem_alloc(problem, problem->n_leaves * words,
					 sizeof(uint64_t));
	return classes->hard && classes->soft && classes->soft_own &&
			       classes->relevant && classes->on_switch &&
			       classes->open_on ?
		       0 :
		       -ENOMEM;
}

/*
 * Compare all classes of the snapshot with each other. A limited number can be
 * added after that. Returns 0 or -ENOMEM.
 */
static int classes_seal(struct np_classes *classes)
{
	classes->n_sealed = classes->n;
	classes->capacity = classes->n + SPARE;
	np_shares_clear(&classes->shares);
	classes->shares.limit = SPARE;
	classes->words = np_bits_words(classes->capacity);
	if (alloc_rows(classes))
		return -ENOMEM;
	for (uint32_t i = 0; i < classes->n; i++)
		set_loads(classes, &classes->at[i]);
	for (uint32_t i = 0; i < classes->n; i++) {
		struct np_class *class = &classes->at[i];

		extend_row(classes, i);
		class->conflict_free = !class->self_conflict &&
				       class_open_everywhere(classes, i);
		NP_BITS_EACH(leaf, class->open, classes->problem->leaf_words)
			np_bits_set(classes->open_on + leaf * classes->words,
				    i);
	}
	for (uint32_t i = 0; i < classes->n; i++)
		NP_BITS_EACH(other, classes->relevant + i * classes->words,
			     classes->words)
			classes->at[i].conflict_free =
				classes->at[other].conflict_free = false;
	return 0;
}

/* Whether a class must avoid another one on any switch that both load. */
static bool conflict_on_any_leaf(const struct np_classes *classes,
				 uint32_t class, uint32_t other)
{
	for (uint32_t sw = 0; sw < classes->problem->n_switches; sw++)
		if (both_load(classes, class, other, sw) &&
		    class_avoids(classes, class, other, sw, NULL))
			return true;
	return false;
}

/* Whether a class conflicts with anything in the snapshot, on any leaf. */
static bool class_conflicts(struct np_classes *classes, uint32_t id)
{
	struct np_class *class = &classes->at[id];
	bool found;

	if (class->conflict_free || class->conflicts_known)
		return class->conflicts;
	found = (class->self_conflict && class->n > 1) ||
		!class_open_everywhere(classes, id);
	for (uint32_t other = 0; other < classes->n && !found; other++)
		found = (is_relevant(classes, id, other) ||
			 is_relevant(classes, other, id)) &&
			conflict_on_any_leaf(classes, id, other);
	class->conflicts_known = true;
	class->conflicts = found;
	return found;
}

/*
 * For an array whose class conflicts with itself on some leaves: set bits[] to
 * the leaves where its tasks may run together. false: they have too few nodes.
 */
static bool class_array_leaves(const struct np_classes *classes, uint32_t id,
			       const struct np_job *job,
			       const struct np_counts *counts, uint64_t *bits)
{
	const struct np_class *class = &classes->at[id];

	for (size_t w = 0; w < classes->problem->leaf_words; w++)
		bits[w] = counts->reach[w] & class->open[w] &
			  ~class->one_only_leaves[w];
	return counts_sum(classes->problem->leaves, job->switches,
			  counts->usable, counts->no_leaf_usable,
			  bits) >= job->nodes_min;
}

/*
 * ---- The allocation of leaves ----
 *
 * An allocation contains everything that one placement decision computes, in
 * parts, each of which depends only on those before it. It is kept for the
 * submissions that arrive until the next decision.
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
 * Only group_take() and group_release() transfer leaves. Invariants:
 *
 * - The counts in_free and in_usable of a subgroup, and the group's supply, are
 *   those of the leaves in the group's set.
 * - No two groups hold a leaf that their classes must not share, provided that
 *   each was taken after group_can_take() or clear_leaf() allowed it.
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
	uint32_t set; /* handle of the candidate nodes */
	bool shares;  /* its jobs share nodes */
	/*
	 * Smallest number of free, or usable, nodes that a request failed to
	 * get in the current pass of "grow". Subgroups that differ only in
	 * their group share it, in the first of them, while they hold no leaf.
	 */
	uint64_t free_failed, usable_failed;
	uint32_t first_alike, next_alike; /* that first one; and the first one
					     of another kind, in a list */
	uint32_t max_need;		  /* largest need of a request, nodes */
	uint32_t first, n;		  /* requests, in groups.by_subgroup */
	uint32_t n_ready; /* of these may start; they come first */
	uint64_t wanted;  /* nodes that the ready requests want in total */
	/* Nodes on the leaves held. With a limit on switches, the nodes that
	   count are at most these, and at least as many less as were given up
	   since they were counted. */
	uint64_t in_free, in_usable;
	uint64_t less_free, less_usable;
	bool counted; /* in_free and in_usable are exact */
};

/* Requests that share one set of leaves. */
struct np_group {
	uint32_t class;
	uint32_t subgroup; /* first */
	uint32_t next;	   /* group of the same class, or NP_NONE */
	bool ready;	   /* has a request that may start */
	bool together;	   /* tasks of one array that do not conflict on its
			    leaves */
	bool placed;	   /* has a request with enough usable nodes */
	bool widened; /* was offered all leaves: only vacated ones are new */
	uint64_t *leaves;	 /* that it holds */
	uint64_t *reach;	 /* leaves with candidate nodes */
	uint64_t demand, supply; /* nodes */
};

/* The groups of one class. */
struct np_group_class {
	uint32_t first, last; /* groups, by precedence */
	uint32_t first_alike; /* list of the first subgroup of each kind */
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
	struct np_problem *problem;
	struct np_classes *classes;
	struct np_requests *requests;
	struct np_group *at; /* by visibility group, then by precedence */
	size_t n;
	uint64_t *bits;		  /* memory of the groups' bitmaps */
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

static inline struct np_class *np_group_class(const struct np_groups *groups,
					      uint32_t group)
{
	return &groups->classes->at[groups->at[group].class];
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
	struct np_problem *problem;
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

/*
 * Limit on the requests of array tasks beyond each job's first, of which each
 * user gets a share.
 */
#define MAX_EXTRA_REQUESTS 4096

/*
 * Number of requests of a job: one for each task, up to a limit; or a single one
 * if its owner's share is used up.
 */
static uint32_t take_extra(const struct np_job *job, struct np_shares *extra)
{
	uint32_t n = job->tasks < NP_PLACEMENT_MAX_TASKS ?
			     job->tasks :
			     NP_PLACEMENT_MAX_TASKS;

	return n > 1 && np_shares_take(extra, job->owner, n - 1) ? n : 1;
}

/* Add the requests of a job. */
static void add_requests(struct np_requests *requests,
			 const struct np_problem *problem, uint32_t i,
			 struct np_shares *extra)
{
	const struct np_job *job = &problem->job[i];
	uint32_t n = take_extra(job, extra);

	requests->of_job[i] = (uint32_t)requests->n;
	for (uint32_t k = 0; k < n; k++)
		requests->at[requests->n++] = (struct np_request){
			.job = i,
			.class = requests->class[i],
			.group = NP_NONE,
			.subgroup = NP_NONE,
			.task = k,
			.need = job->nodes_min,
			.ready = may_start_now(problem->snapshot, job),
		};
}

/* Whether placement decides about a job. */
static bool decides_about(const struct np_problem *problem, uint32_t i)
{
	const struct np_job *job = &problem->job[i];

	return job->state != NP_JOB_RUNNING &&
	       !why_exempt(problem, job, problem->snapshot->now_sec) &&
	       !hold_expired(problem, job, problem->outcome[i].held_sec) &&
	       (is_enforced(problem, job) || job->mode == NP_MODE_PREFER);
}

/*
 * Sort the jobs by precedence, but those that may start come before all others.
 * 0 or -ENOMEM.
 */
static int gather_order(struct np_requests *requests,
			struct np_problem *problem)
{
	size_t n = problem->snapshot->n_jobs;
	size_t next_ready = 0, next_other = 0; /* places in requests->order */
	uint32_t *all = problem_alloc(problem, n, sizeof(*all));

	requests->order = problem_alloc(problem, n, sizeof(*requests->order));
	requests->class = problem_alloc(problem, n, sizeof(*requests->class));
	requests->of_job = problem_alloc(problem, n, sizeof(*requests->of_job));
	if (!all || !requests->order || !requests->class || !requests->of_job)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		requests->class[i] = requests->of_job[i] = NP_NONE;
		if (!decides_about(problem, i))
			continue;
		all[requests->n_order++] = i;
		next_other +=
			may_start_now(problem->snapshot, &problem->job[i]);
	}
	sort_by_precedence(problem->snapshot, all, requests->n_order);
	for (size_t i = 0; i < requests->n_order; i++)
		if (may_start_now(problem->snapshot, &problem->job[all[i]]))
			requests->order[next_ready++] = all[i];
		else
			requests->order[next_other++] = all[i];
	return 0;
}

/* Find the class of each job that has enough nodes. 0 or -ENOMEM. */
static int find_classes(struct np_requests *requests,
			struct np_problem *problem, struct np_classes *classes)
{
	for (size_t i = 0; i < requests->n_order; i++) {
		uint32_t index = requests->order[i];
		const struct np_job *job = &problem->job[index];
		const struct np_counts *counts =
			counts_of(problem, job->candidates);

		if (!counts)
			return -ENOMEM;
		if (!np_bits_any(counts->reach, problem->leaf_words) ||
		    !is_feasible(problem, job, counts))
			continue;
		requests->class[index] = class_of(classes, job);
	}
	return 0;
}

/* Upper limit on the number of requests of the jobs in requests->order. */
static size_t max_requests(const struct np_requests *requests,
			   const struct np_problem *problem)
{
	size_t n_tasks = 0;

	for (size_t i = 0; i < requests->n_order; i++)
		n_tasks += problem->job[requests->order[i]].tasks;
	return n_tasks < requests->n_order + MAX_EXTRA_REQUESTS ?
		       n_tasks :
		       requests->n_order + MAX_EXTRA_REQUESTS;
}

/*
 * Make the requests, and the classes of all jobs that placement decides about,
 * in mode prefer as well. Returns 0 or -ENOMEM.
 */
static int requests_init(struct np_requests *requests,
			 struct np_problem *problem, struct np_classes *classes)
{
	struct np_shares extra = { .limit = MAX_EXTRA_REQUESTS };
	const uint32_t *new_id;

	if (gather_order(requests, problem) ||
	    find_classes(requests, problem, classes))
		return -ENOMEM;
	new_id = classes_renumber(classes);
	requests->at = problem_alloc(problem, max_requests(requests, problem),
				     sizeof(*requests->at));
	if (!new_id || !requests->at)
		return -ENOMEM;
	for (size_t i = 0; i < requests->n_order; i++) {
		uint32_t index = requests->order[i];
		const struct np_job *job = &problem->job[index];

		if (requests->class[index] == NP_NONE)
			continue;
		requests->class[index] = new_id[requests->class[index]];
		classes->at[requests->class[index]].n += job->tasks;
		if (is_enforced(problem, job))
			add_requests(requests, problem, index, &extra);
	}
	np_shares_free(&extra);
	return 0;
}

/* ---- Groups ---- */

/* Free nodes of a subgroup with a limit on switches, on a set of leaves. */
static uint64_t free_within(const struct np_groups *groups,
			    const struct np_subgroup *subgroup,
			    const uint64_t *leaves)
{
	return counts_sum(groups->problem->leaves, subgroup->switches,
			  subgroup->free, subgroup->no_leaf_free, leaves);
}

/* The same for usable nodes. */
static uint64_t usable_within(const struct np_groups *groups,
			      const struct np_subgroup *subgroup,
			      const uint64_t *leaves)
{
	return counts_sum(groups->problem->leaves, subgroup->switches,
			  subgroup->counts->usable,
			  subgroup->counts->no_leaf_usable, leaves);
}

/* Count the nodes of a subgroup with a limit on switches. */
static void count_subgroup(const struct np_groups *groups,
			   struct np_subgroup *subgroup)
{
	const uint64_t *leaves = groups->at[subgroup->group].leaves;

	if (subgroup->counted)
		return;
	subgroup->in_free = free_within(groups, subgroup, leaves);
	subgroup->in_usable = usable_within(groups, subgroup, leaves);
	subgroup->less_free = subgroup->less_usable = 0;
	subgroup->counted = true;
}

/* Free nodes of a subgroup on the leaves that its group holds. */
static uint64_t free_nodes(const struct np_groups *groups,
			   struct np_subgroup *subgroup)
{
	if (!subgroup->switches)
		return subgroup->in_free + subgroup->no_leaf_free;
	count_subgroup(groups, subgroup);
	return subgroup->in_free;
}

/* The same for usable nodes. */
static uint64_t usable_nodes(const struct np_groups *groups,
			     struct np_subgroup *subgroup)
{
	if (!subgroup->switches)
		return subgroup->in_usable + subgroup->counts->no_leaf_usable;
	count_subgroup(groups, subgroup);
	return subgroup->in_usable;
}

/* Whether the leaves of a request's group have enough usable nodes for it. */
static bool is_served(const struct np_groups *groups,
		      const struct np_request *request)
{
	return usable_nodes(groups, &groups->subgroup[request->subgroup]) >=
	       request->need;
}

/* Append a group that begins with the request of that rank. */
static uint32_t new_group(struct np_groups *groups, uint32_t rank,
			  bool together)
{
	uint32_t id = (uint32_t)groups->n++,
		 class = groups->requests->at[rank].class;
	struct np_group_class *group_class = &groups->of_class[class];

	groups->at[id] = (struct np_group){
		.class = class,
		.together = together,
		.subgroup = NP_NONE,
		.next = NP_NONE,
		.leaves = groups->bits + 2 * id * groups->problem->leaf_words,
		.reach = groups->bits +
			 (2 * id + 1) * groups->problem->leaf_words,
	};
	if (group_class->first == NP_NONE)
		group_class->first = id;
	else
		groups->at[group_class->last].next = id;
	group_class->last = id;
	return id;
}

/*
 * The group of a request, made if needed: its class's, its array's or its own.
 */
static uint32_t group_of(struct np_groups *groups, uint32_t rank)
{
	const struct np_request *request = &groups->requests->at[rank];
	const struct np_job *job = &groups->problem->job[request->job];
	bool alone = groups->classes->at[request->class].self_conflict;
	bool together =
		alone && job->tasks > 1 &&
		class_array_leaves(groups->classes, request->class, job,
				   groups->problem->counts[job->candidates],
				   groups->problem->scratch);
	uint32_t id = alone ? NP_NONE : groups->of_class[request->class].first;

	if (together && request->task)
		id = groups->requests->at[rank - 1].group;
	if (id == NP_NONE)
		id = new_group(groups, rank, together);
	groups->at[id].ready |= request->ready;
	return id;
}

static bool has_same_candidates(const struct np_subgroup *subgroup,
				const struct np_job *job)
{
	return subgroup->set == job->candidates &&
	       subgroup->switches == job->switches &&
	       subgroup->shares == !!(job->flags & NP_JOB_SHARES_NODES);
}

/* Set first_alike of a new subgroup, which may be the first of its class. */
static void set_like(struct np_groups *groups, uint32_t id,
		     const struct np_job *job)
{
	struct np_subgroup *subgroup = &groups->subgroup[id];
	struct np_group_class *class =
		&groups->of_class[groups->at[subgroup->group].class];
	uint32_t i = class->first_alike;

	while (i != NP_NONE && !has_same_candidates(&groups->subgroup[i], job))
		i = groups->subgroup[i].next_alike;
	subgroup->first_alike = i;
	if (i != NP_NONE)
		return;
	subgroup->first_alike = id;
	subgroup->next_alike = class->first_alike;
	class->first_alike = id;
}

/* The subgroup of a job in its group, made if needed. NP_NONE: no memory. */
static uint32_t subgroup_of(struct np_groups *groups, uint32_t group,
			    const struct np_job *job)
{
	bool shares = job->flags & NP_JOB_SHARES_NODES;
	const struct np_counts *counts =
		groups->problem->counts[job->candidates];
	struct np_subgroup *subgroup;
	uint32_t i;

	for (i = groups->at[group].subgroup; i != NP_NONE; i = subgroup->next) {
		subgroup = &groups->subgroup[i];
		if (has_same_candidates(subgroup, job))
			return i;
	}
	if (np_array_reserve(&groups->subgroup, &groups->subgroup_room,
			     groups->n_subgroups + 1, sizeof(*subgroup)))
		return NP_NONE;
	i = (uint32_t)groups->n_subgroups++;
	subgroup = &groups->subgroup[i];
	*subgroup = (struct np_subgroup){
		.counts = counts,
		.set = job->candidates,
		.group = group,
		.next = groups->at[group].subgroup,
		.switches = job->switches,
		.shares = shares,
		.free = shares ? counts->free_shared : counts->free_alone,
		.no_leaf_free = shares ? counts->no_leaf_free_shared :
					 counts->no_leaf_free_alone,
	};
	if (job->switches) { /* they count like those of a switch */
		subgroup->in_free = subgroup->no_leaf_free;
		subgroup->in_usable = counts->no_leaf_usable;
	}
	np_bits_or(groups->at[group].reach, counts->reach,
		   groups->problem->leaf_words);
	groups->at[group].subgroup = i;
	set_like(groups, i, job);
	return i;
}

/*
 * Add a request to the demand of its subgroup. The requests of an array share
 * the demand of all its tasks evenly.
 */
static void add_demand(struct np_groups *groups, struct np_request *request,
		       struct np_subgroup *subgroup, const struct np_job *job)
{
	uint32_t n = job->tasks < NP_PLACEMENT_MAX_TASKS ?
			     job->tasks :
			     NP_PLACEMENT_MAX_TASKS;
	uint64_t wants = groups->classes->at[request->class].self_conflict &&
					 !groups->at[subgroup->group].together ?
				 request->need :
				 (uint64_t)request->need * job->tasks / n;

	subgroup->n++;
	if (request->need > subgroup->max_need)
		subgroup->max_need = request->need;
	if (!request->ready)
		return;
	subgroup->n_ready++;
	subgroup->wanted += wants;
	groups->at[subgroup->group].demand += wants;
	request->cum_nodes = subgroup->switches ? request->need :
						  subgroup->wanted;
}

/* Sort the requests by subgroup. 0 or -ENOMEM. */
static int index_requests(struct np_groups *groups)
{
	uint32_t at = 0;

	groups->by_subgroup = problem_alloc(groups->problem,
					    groups->requests->n,
					    sizeof(*groups->by_subgroup));
	if (!groups->by_subgroup)
		return -ENOMEM;
	for (uint32_t i = 0; i < groups->n_subgroups; i++) {
		struct np_subgroup *subgroup = &groups->subgroup[i];

		subgroup->first = at;
		at += subgroup->n;
		subgroup->n = 0;
	}
	for (uint32_t i = 0; i < groups->requests->n; i++) {
		struct np_subgroup *subgroup;

		if (groups->requests->at[i].subgroup == NP_NONE)
			continue;
		subgroup = &groups->subgroup[groups->requests->at[i].subgroup];
		groups->by_subgroup[subgroup->first + subgroup->n++] = i;
	}
	return 0;
}

/*
 * Allocate for the largest possible number of groups: one per class, and one
 * per request of a class that conflicts with itself.
 */
static int alloc_groups(struct np_groups *groups)
{
	const struct np_classes *classes = groups->classes;
	struct np_problem *problem = groups->problem;
	size_t n = classes->n, words = problem->leaf_words;

	for (size_t i = 0; i < groups->requests->n; i++)
		n += classes->at[groups->requests->at[i].class].self_conflict;
	groups->at = problem_alloc(problem, n, sizeof(*groups->at));
	groups->bits =
		problem_alloc(problem, 2 * n * words, sizeof(*groups->bits));
	groups->of_class =
		problem_alloc(problem, classes->n, sizeof(*groups->of_class));
	groups->vacated =
		problem_alloc(problem, words, sizeof(*groups->vacated));
	groups->offer = problem_alloc(problem, problem->n_leaves,
				      sizeof(*groups->offer));
	groups->loss = calloc(classes->n * problem->n_leaves + 1,
			      sizeof(*groups->loss));
	if (!groups->at || !groups->bits || !groups->of_class ||
	    !groups->vacated || !groups->offer || !groups->loss)
		return -ENOMEM;
	for (size_t i = 0; i < classes->n; i++)
		groups->of_class[i] = (struct np_group_class){
			.first = NP_NONE,
			.last = NP_NONE,
			.first_alike = NP_NONE,
		};
	return 0;
}

static size_t vgroup_of(const struct np_groups *groups, uint32_t rank)
{
	const struct np_class *class =
		&groups->classes->at[groups->requests->at[rank].class];

	return class->trusted ? 0 :
				1 + find_number(groups->problem->private_owner,
						groups->problem->n_private,
						class->owner);
}

/*
 * Sort the requests of all classes that are not conflict-free by visibility
 * group. 0 or -ENOMEM.
 */
static int gather_vgroups(struct np_groups *groups)
{
	const struct np_requests *requests = groups->requests;
	struct np_vgroup *to;

	groups->n_vgroups = 1 + groups->problem->n_private;
	groups->vgroup = problem_alloc(groups->problem, groups->n_vgroups + 2,
				       sizeof(*groups->vgroup));
	groups->by_vgroup = problem_alloc(groups->problem, requests->n,
					  sizeof(*groups->by_vgroup));
	if (!groups->vgroup || !groups->by_vgroup)
		return -ENOMEM;
	to = groups->vgroup + 1;
	for (uint32_t i = 0; i < requests->n; i++)
		if (!groups->classes->at[requests->at[i].class].conflict_free)
			to[vgroup_of(groups, i) + 1].request++;
	for (size_t i = 1; i <= groups->n_vgroups; i++)
		to[i].request += to[i - 1].request;
	for (uint32_t i = 0; i < requests->n; i++)
		if (!groups->classes->at[requests->at[i].class].conflict_free)
			groups->by_vgroup[to[vgroup_of(groups, i)].request++] =
				i;
	return 0;
}

static int add_request(struct np_groups *groups, uint32_t rank)
{
	struct np_request *request = &groups->requests->at[rank];
	const struct np_job *job = &groups->problem->job[request->job];

	request->group = group_of(groups, rank);
	request->subgroup = subgroup_of(groups, request->group, job);
	if (request->subgroup == NP_NONE)
		return -ENOMEM;
	add_demand(groups, request, &groups->subgroup[request->subgroup], job);
	return 0;
}

/* Fill in last_taker and all of classes with several groups. 0 or -ENOMEM. */
static int index_classes(struct np_groups *groups,
			 const struct np_vgroup *vgroup)
{
	size_t words = np_bits_words(vgroup[1].group - vgroup->group);

	for (uint32_t i = vgroup->group; i < vgroup[1].group; i++) {
		struct np_group_class *class =
			&groups->of_class[groups->at[i].class];

		if (class->first == class->last)
			continue;
		if (i == class->first) {
			class->last_taker = problem_alloc(
				groups->problem, groups->problem->n_leaves,
				sizeof(*class->last_taker));
			class->all = problem_alloc(groups->problem, words,
						   sizeof(*class->all));
		}
		if (!class->last_taker || !class->all)
			return -ENOMEM;
		np_bits_set(class->all, i - vgroup->group);
	}
	return 0;
}

static int add_vgroup(struct np_groups *groups, struct np_vgroup *vgroup)
{
	int rc = 0;

	for (uint32_t i = vgroup->request; !rc && i < vgroup[1].request; i++)
		rc = add_request(groups, groups->by_vgroup[i]);
	vgroup[1].group = (uint32_t)groups->n;
	vgroup[1].subgroup = (uint32_t)groups->n_subgroups;
	return rc ? rc : index_classes(groups, vgroup);
}

/* Returns 0 or -ENOMEM; groups_free() in either case. */
static int groups_init(struct np_groups *groups, struct np_problem *problem,
		       struct np_classes *classes, struct np_requests *requests)
{
	int rc;

	*groups = (struct np_groups){
		.problem = problem,
		.classes = classes,
		.requests = requests,
	};
	rc = alloc_groups(groups) ? -ENOMEM : gather_vgroups(groups);
	for (size_t i = 0; !rc && i < groups->n_vgroups; i++)
		rc = add_vgroup(groups, &groups->vgroup[i]);
	return rc ? rc : index_requests(groups);
}

/* Free what is needed only while leaves are shared out. */
static void groups_free_scratch(struct np_groups *groups)
{
	free(groups->loss);
	groups->loss = NULL;
}

static void groups_free(struct np_groups *groups)
{
	groups_free_scratch(groups);
	free(groups->subgroup);
	free(groups->undo);
}

/* ---- Transfer of leaves ---- */

/* A group takes a leaf, without any check. */
static void group_take(struct np_groups *groups, uint32_t id, uint32_t leaf)
{
	struct np_group *group = &groups->at[id];
	struct np_subgroup *subgroup;

	np_bits_set(group->leaves, leaf);
	group->supply += groups->problem->leaf_usable[leaf];
	for (uint32_t i = group->subgroup; i != NP_NONE; i = subgroup->next) {
		subgroup = &groups->subgroup[i];
		subgroup->in_free += subgroup->free[leaf];
		subgroup->in_usable += subgroup->counts->usable[leaf];
		subgroup->less_free += subgroup->free[leaf];
		subgroup->less_usable += subgroup->counts->usable[leaf];
		subgroup->counted = false;
	}
	if (groups->of_class[group->class].last_taker)
		groups->of_class[group->class].last_taker[leaf] = id;
	class_take(groups->classes, group->class, leaf);
}

/* A group gives up a leaf that it holds. */
static void group_release(struct np_groups *groups, uint32_t id, uint32_t leaf)
{
	struct np_group *group = &groups->at[id];
	struct np_subgroup *subgroup;

	np_bits_clear(group->leaves, leaf);
	np_bits_set(groups->vacated, leaf);
	group->supply -= groups->problem->leaf_usable[leaf];
	for (uint32_t i = group->subgroup; i != NP_NONE; i = subgroup->next) {
		subgroup = &groups->subgroup[i];
		subgroup->counted = false;
		if (subgroup->switches) {
			subgroup->less_free += subgroup->free[leaf];
			subgroup->less_usable += subgroup->counts->usable[leaf];
			continue;
		}
		subgroup->in_free -= subgroup->free[leaf];
		subgroup->in_usable -= subgroup->counts->usable[leaf];
	}
	class_release(groups->classes, group->class, leaf);
}

/*
 * Whether a switch takes only one job of a group's class, and another group of
 * the class holds a leaf of it.
 */
static bool own_class_on(const struct np_groups *groups,
			 const struct np_group *group, uint32_t sw)
{
	const struct np_class *class = &groups->classes->at[group->class];

	if (np_bits_test(class->one_only_switches, sw))
		EACH_LEAF(leaf, groups->problem->leaves, sw)
			if (class->n_holders[*leaf] >
			    np_bits_test(group->leaves, *leaf))
				return true;
	return false;
}

/* Whether jobs of its own class keep a group off a leaf. */
static bool blocked_by_own_class(const struct np_groups *groups,
				 const struct np_group *group, uint32_t leaf)
{
	if (!np_bits_test(groups->classes->at[group->class].one_only_leaves,
			  leaf))
		return false;
	if (group->together)
		return true;
	EACH_SWITCH(sw, groups->problem->leaves, leaf)
		if (own_class_on(groups, group, *sw))
			return true;
	return false;
}

/* Whether a group may take a leaf although no other gives it up. */
static bool group_can_take(const struct np_groups *groups, uint32_t id,
			   uint32_t leaf)
{
	const struct np_group *group = &groups->at[id];

	if (blocked_by_own_class(groups, group, leaf))
		return false;
	/* The class was allowed on the leaves that it holds. */
	return np_bits_test(groups->classes->at[group->class].held, leaf) ||
	       !class_blocked(groups->classes, group->class, leaf);
}

/* Log a transfer for group_roll_back(). 0 or -ENOMEM. */
static int log_transfer(struct np_groups *groups, uint32_t group, uint32_t leaf,
			bool gives)
{
	if (np_array_reserve(&groups->undo, &groups->undo_room,
			     groups->n_undo + 1, sizeof(*groups->undo)))
		return -ENOMEM;
	groups->undo[groups->n_undo++] =
		(struct np_transfer){ group, leaf, gives };
	return 0;
}

/* Undo the transfers logged since n_undo was n, last one first. */
static void group_roll_back(struct np_groups *groups, size_t n)
{
	while (groups->n_undo > n) {
		const struct np_transfer *last =
			&groups->undo[--groups->n_undo];

		if (last->gives)
			group_take(groups, last->group, last->leaf);
		else
			group_release(groups, last->group, last->leaf);
	}
}

/*
 * Index of the first request of a subgroup for which so many free nodes are too
 * few.
 */
static uint32_t first_beyond(const struct np_groups *groups,
			     const struct np_subgroup *subgroup, uint64_t nodes)
{
	const uint32_t *ranks = groups->by_subgroup + subgroup->first;
	const struct np_request *all = groups->requests->at;
	uint32_t low = 0, high = subgroup->n_ready;

	if (subgroup->switches) { /* cum_nodes is each request's own need */
		while (low < high && all[ranks[low]].cum_nodes <= nodes)
			low++;
		return low;
	}
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (all[ranks[middle]].cum_nodes > nodes)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/*
 * Whether no request of higher precedence than rank loses if its subgroup has
 * fewer nodes: `free` instead of had_free, and `usable` instead of had.
 */
static bool subgroup_spares(const struct np_groups *groups,
			    const struct np_subgroup *subgroup,
			    uint64_t had_free, uint64_t free,
			    uint64_t had_usable, uint64_t usable, uint32_t rank)
{
	const uint32_t *ranks = groups->by_subgroup + subgroup->first;
	const struct np_request *all = groups->requests->at;

	for (uint32_t k = first_beyond(groups, subgroup, free);
	     k < subgroup->n_ready; k++) {
		const struct np_request *request = &all[ranks[k]];

		if (ranks[k] > rank ||
		    (!subgroup->switches && request->cum_nodes > had_free))
			break;
		if (request->cum_nodes > free && request->cum_nodes <= had_free)
			return false;
	}
	for (uint32_t k = 0; subgroup->max_need > usable && k < subgroup->n;
	     k++)
		if (ranks[k] < rank && all[ranks[k]].need > usable &&
		    all[ranks[k]].need <= had_usable)
			return false;
	return true;
}

/* a - b, or 0 if that is more than a. */
static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * Whether certainly no request of a subgroup with a limit on switches loses by
 * that: the nodes of the leaf count, and all that were given up.
 */
static bool certainly_spares(const struct np_groups *groups,
			     const struct np_subgroup *subgroup, uint32_t leaf,
			     uint32_t rank)
{
	return subgroup_spares(
		groups, subgroup, subgroup->in_free,
		less(subgroup->in_free,
		     subgroup->less_free + subgroup->free[leaf]),
		subgroup->in_usable,
		less(subgroup->in_usable,
		     subgroup->less_usable + subgroup->counts->usable[leaf]),
		rank);
}

/*
 * Whether no request of higher precedence than rank loses if its group gives up
 * a leaf.
 */
static bool group_spares(const struct np_groups *groups, uint32_t id,
			 uint32_t leaf, uint32_t rank)
{
	const struct np_group *group = &groups->at[id];
	struct np_subgroup *subgroup;

	for (uint32_t i = group->subgroup; i != NP_NONE; i = subgroup->next) {
		uint64_t had_free, had_usable, free, usable;

		subgroup = &groups->subgroup[i];
		if (subgroup->switches &&
		    certainly_spares(groups, subgroup, leaf, rank))
			continue;
		had_free = free_nodes(groups, subgroup);
		had_usable = usable_nodes(groups, subgroup);
		np_bits_clear(group->leaves, leaf);
		free = subgroup->switches ?
			       free_within(groups, subgroup, group->leaves) :
			       had_free - subgroup->free[leaf];
		usable =
			subgroup->switches ?
				usable_within(groups, subgroup, group->leaves) :
				had_usable - subgroup->counts->usable[leaf];
		np_bits_set(group->leaves, leaf);
		if (!subgroup_spares(groups, subgroup, had_free, free,
				     had_usable, usable, rank))
			return false;
	}
	return true;
}

/*
 * Check whether all groups of a class that hold a leaf can spare it for a
 * request; with take, let them give it up. 0, -EBUSY (one cannot) or -ENOMEM.
 */
static int clear_class_on_leaf(struct np_groups *groups, uint32_t rank,
			       uint32_t class, uint32_t leaf, bool take)
{
	uint32_t left = groups->classes->at[class].n_holders[leaf];
	const uint32_t *last_taker = groups->of_class[class].last_taker;
	uint32_t holder = groups->of_class[class].first;

	/* A single holder is most often the last one that took it. */
	if (left == 1 && last_taker &&
	    np_bits_test(groups->at[last_taker[leaf]].leaves, leaf))
		holder = last_taker[leaf];
	for (; left && holder != NP_NONE; holder = groups->at[holder].next) {
		if (!np_bits_test(groups->at[holder].leaves, leaf))
			continue;
		left--;
		if (holder == groups->requests->at[rank].group)
			continue;
		/* With several rails, it may have given up another leaf for
		   the same request. */
		if ((!take || !groups->problem->leaves->one_rail) &&
		    !group_spares(groups, holder, leaf, rank))
			return -EBUSY;
		if (!take)
			continue;
		if (log_transfer(groups, holder, leaf, true))
			return -ENOMEM;
		group_release(groups, holder, leaf);
	}
	return 0;
}

/* The same for all leaves of a switch. */
static int clear_class_on_switch(struct np_groups *groups, uint32_t rank,
				 uint32_t class, uint32_t sw, bool take)
{
	int rc = 0;

	EACH_LEAF(leaf, groups->problem->leaves, sw)
		if (!rc)
			rc = clear_class_on_leaf(groups, rank, class, *leaf,
						 take);
	return rc;
}

/*
 * Check whether all groups that keep a request's group off a switch can spare
 * it; with take, let them give it up. 0, -EBUSY or -ENOMEM.
 */
static int clear_switch(struct np_groups *groups, uint32_t rank, uint32_t sw,
			bool take)
{
	const struct np_group *group =
		&groups->at[groups->requests->at[rank].group];
	const struct np_classes *classes = groups->classes;
	const uint64_t *holders = classes->on_switch + sw * classes->words;
	const uint64_t *relevant =
		classes->relevant + group->class * classes->words;
	int rc = 0;

	if (own_class_on(groups, group, sw))
		rc = clear_class_on_switch(groups, rank, group->class, sw,
					   take);
	for (uint32_t row_words = classes->at[group->class].row_words;
	     row_words && !rc; row_words &= row_words - 1) {
		size_t w = np_bits_lowest(0, row_words);
		uint64_t m = holders[w] & relevant[w];

		for (; m && !rc; m &= m - 1) {
			uint32_t other = np_bits_lowest(w, m);

			if (!class_avoids(classes, group->class, other, sw,
					  NULL))
				continue;
			/* A group cannot displace one that does not see it. */
			if (classes->at[other].trusted &&
			    !classes->at[group->class].trusted)
				return -EBUSY;
			rc = clear_class_on_switch(groups, rank, other, sw,
						   take);
		}
	}
	return rc;
}

/* The same for each switch of a leaf that the request's class loads. */
static int clear_leaf(struct np_groups *groups, uint32_t rank, uint32_t leaf,
		      bool take)
{
	const struct np_group *group =
		&groups->at[groups->requests->at[rank].group];
	const struct np_class *class = &groups->classes->at[group->class];
	int rc = 0;

	if (group->together && np_bits_test(class->one_only_leaves, leaf))
		return -EBUSY; /* its own tasks conflict there */
	EACH_SWITCH(sw, groups->problem->leaves, leaf)
		if (!rc && loads_rail(groups->problem, class->profile, *sw))
			rc = clear_switch(groups, rank, *sw, take);
	return rc;
}

/* ---- The rule "grow" ---- */

/* Free nodes, to start now; or usable ones, to start at all. */
enum want { WANT_FREE, WANT_USABLE };

/* What "grow" tries to get for one request. */
struct goal {
	uint32_t rank, group; /* of the request */
	struct np_subgroup *subgroup;
	const uint16_t *column; /* nodes per leaf that count */
	uint16_t *loss;		/* groups.loss of its class */
	uint64_t nodes;		/* number to reach */
	enum want want;
};

/* Nodes that count for a goal and that its group has. */
static uint64_t nodes_reached(const struct np_groups *groups,
			      const struct goal *goal)
{
	return goal->want == WANT_FREE ? free_nodes(groups, goal->subgroup) :
					 usable_nodes(groups, goal->subgroup);
}

/* 1 + number of classes that could use the leaf and lose it to this one. */
static uint16_t count_loss(const struct np_groups *groups, uint32_t class,
			   uint32_t leaf)
{
	const uint64_t *open =
		groups->classes->open_on + leaf * groups->classes->words;
	const uint64_t *hard =
		groups->classes->hard + class * groups->classes->words;
	uint16_t n = 1;

	for (uint32_t row_words = groups->classes->at[class].row_words;
	     row_words; row_words &= row_words - 1) {
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
	if (nodes >= missing)
		return (uint32_t)loss << 16 | nodes;
	return UINT64_C(1) << 32 | (uint32_t)(UINT16_MAX - nodes) << 16 | loss;
}

/* Make the list of leaves that a goal may ask for; returns their nodes. */
static uint64_t gather_offers(struct np_groups *groups, const struct goal *goal)
{
	const struct np_group *group = &groups->at[goal->group];
	const uint64_t *open = groups->classes->at[group->class].open;
	struct np_offer *to = groups->offer;
	uint64_t sum = 0;

	for (size_t w = 0; w < groups->problem->leaf_words; w++)
		for (uint64_t m = group->reach[w] & open[w] & ~group->leaves[w];
		     m; m &= m - 1) {
			uint32_t leaf = np_bits_lowest(w, m);
			uint16_t nodes = goal->column[leaf];

			if (!nodes)
				continue;
			if (!goal->loss[leaf])
				goal->loss[leaf] =
					count_loss(groups, group->class, leaf);
			*to++ = (struct np_offer){ leaf, nodes,
						   goal->loss[leaf] };
			sum += nodes;
		}
	groups->n_offers = (size_t)(to - groups->offer);
	return sum;
}

/*
 * Whether a goal cannot get a leaf: even if other groups give it up (evict), or
 * unless they do.
 */
static bool is_refused(struct np_groups *groups, const struct goal *goal,
		       bool evict, uint32_t leaf)
{
	return evict ? clear_leaf(groups, goal->rank, leaf, false) :
		       !group_can_take(groups, goal->group, leaf);
}

/*
 * The best leaf to take next, NP_NONE if there is none. A leaf that was refused
 * is removed from the list: while leaves are taken, others only have less to
 * spare.
 */
static uint32_t select_leaf(struct np_groups *groups, const struct goal *goal,
			    bool evict, uint64_t missing)
{
	const struct np_offer *offer = groups->offer,
			      *end = offer + groups->n_offers;
	struct np_offer *to = groups->offer, *best = NULL;
	uint64_t least = UINT64_MAX;

	for (; offer < end; offer++) {
		uint64_t cost = price(offer->loss, offer->nodes, missing);

		if (cost < least) {
			if (!offer->nodes ||
			    is_refused(groups, goal, evict, offer->leaf))
				continue;
			best = to;
			least = cost;
		}
		*to++ = *offer;
	}
	groups->n_offers = (size_t)(to - groups->offer);
	if (!best)
		return NP_NONE;
	best->nodes = 0;
	return best->leaf;
}

/*
 * Take a leaf for a goal; evict: from the groups that can spare it, if all its
 * switches can be cleared. 0 or -ENOMEM.
 */
static int take_leaf(struct np_groups *groups, const struct goal *goal,
		     uint32_t leaf, bool evict)
{
	size_t before = groups->n_undo;
	int rc = evict ? clear_leaf(groups, goal->rank, leaf, true) : 0;

	if (rc == -EBUSY) {
		group_roll_back(groups, before);
		return 0;
	}
	if (!rc)
		rc = log_transfer(groups, goal->group, leaf, false);
	if (!rc)
		group_take(groups, goal->group, leaf);
	return rc;
}

/*
 * Get leaves for a request: first those that no group has to give up, then
 * those that others can spare. Returns 1 if it got what it wants, 0 if nothing
 * changed, or -ENOMEM.
 */
static int acquire_leaves(struct np_groups *groups, uint32_t rank,
			  enum want want)
{
	const struct np_request *request = &groups->requests->at[rank];
	struct np_subgroup *subgroup = &groups->subgroup[request->subgroup];
	struct goal goal = {
		.rank = rank,
		.want = want,
		.group = request->group,
		.subgroup = subgroup,
		.column = want == WANT_FREE ? subgroup->free :
					      subgroup->counts->usable,
		.loss = groups->loss +
			request->class * groups->problem->n_leaves,
		.nodes = want == WANT_FREE ? request->cum_nodes : request->need,
	};
	bool evict = false;
	uint64_t have;
	int rc = 0;

	if (nodes_reached(groups, &goal) + gather_offers(groups, &goal) <
	    goal.nodes)
		return 0;
	groups->n_undo = 0;
	while ((have = nodes_reached(groups, &goal)) < goal.nodes && !rc) {
		uint32_t leaf =
			select_leaf(groups, &goal, evict, goal.nodes - have);

		if (leaf != NP_NONE)
			rc = take_leaf(groups, &goal, leaf, evict);
		else if (evict)
			break;
		else
			gather_offers(groups, &goal);
		evict |= leaf == NP_NONE;
	}
	if (!rc && have >= goal.nodes)
		return 1;
	group_roll_back(groups, 0);
	return rc;
}

/*
 * A group that has enough nodes for none of its requests gives up all its
 * leaves. Returns whether it had any.
 */
static bool give_up_leaves(struct np_groups *groups, uint32_t id)
{
	struct np_group *group = &groups->at[id];
	bool any = np_bits_any(group->leaves, groups->problem->leaf_words);

	if (group->placed)
		return false;
	NP_BITS_EACH(leaf, group->leaves, groups->problem->leaf_words)
		group_release(groups, id, (uint32_t)leaf);
	return any;
}

/*
 * Acquire nodes for a request, unless as many were already refused in this
 * pass. 0 or -ENOMEM.
 */
static int grow_by(struct np_groups *groups, uint32_t rank, enum want want,
		   bool *changed)
{
	struct np_request *request = &groups->requests->at[rank];
	struct np_subgroup *subgroup = &groups->subgroup[request->subgroup];
	uint64_t nodes = want == WANT_FREE ? request->cum_nodes : request->need,
		 *failed;
	int rc;

	if (!np_bits_any(groups->at[request->group].leaves,
			 groups->problem->leaf_words))
		subgroup = &groups->subgroup[subgroup->first_alike];
	failed = want == WANT_FREE ? &subgroup->free_failed :
				     &subgroup->usable_failed;
	if (nodes >= *failed)
		return 0;
	rc = acquire_leaves(groups, rank, want);
	if (rc < 0)
		return rc;
	if (!rc)
		*failed = nodes;
	*changed |= rc;
	return 0;
}

/* Get a request what it lacks: free nodes, then usable ones. 0 or -ENOMEM. */
static int grow_request(struct np_groups *groups, uint32_t rank, bool *changed)
{
	const struct np_request *request = &groups->requests->at[rank];
	struct np_subgroup *subgroup = &groups->subgroup[request->subgroup];
	int rc = 0;

	if (request->ready && free_nodes(groups, subgroup) < request->cum_nodes)
		rc = grow_by(groups, rank, WANT_FREE, changed);
	if (!rc && usable_nodes(groups, subgroup) < request->need)
		rc = grow_by(groups, rank, WANT_USABLE, changed);
	return rc;
}

/* Set "placed" of the groups of a visibility group. */
static void update_placed(struct np_groups *groups,
			  const struct np_vgroup *vgroup)
{
	for (uint32_t i = vgroup->group; i < vgroup[1].group; i++)
		groups->at[i].placed = false;
	for (uint32_t i = vgroup->request; i < vgroup[1].request; i++) {
		const struct np_request *request =
			&groups->requests->at[groups->by_vgroup[i]];

		if (is_served(groups, request))
			groups->at[request->group].placed = true;
	}
}

/* Apply the rule once to each request of a visibility group. 0 or -ENOMEM. */
static int grow(struct np_groups *groups, const struct np_vgroup *vgroup,
		bool *changed)
{
	for (uint32_t i = vgroup->subgroup; i < vgroup[1].subgroup; i++) {
		groups->subgroup[i].free_failed = UINT64_MAX;
		groups->subgroup[i].usable_failed = UINT64_MAX;
	}
	for (uint32_t i = vgroup->request; i < vgroup[1].request; i++) {
		int rc = grow_request(groups, groups->by_vgroup[i], changed);

		if (rc)
			return rc;
	}
	update_placed(groups, vgroup);
	for (uint32_t i = vgroup->group; i < vgroup[1].group; i++)
		*changed |= give_up_leaves(groups, i);
	return 0;
}

/* ---- Mode prefer ---- */

/* Index of a job's partition in prefer->partition; n_partitions: none. */
static size_t partition_of(const struct np_prefer *prefer,
			   const struct np_job *job)
{
	return find_number(prefer->partition, prefer->n_partitions,
			   job->partition);
}

static uint64_t nodes_of_all_tasks(const struct np_job *job)
{
	return (uint64_t)job->nodes_min * job->tasks;
}

/* Free nodes of a leaf that restricted jobs before this one cannot take. */
static uint32_t certainly_free(const struct np_prefer *prefer,
			       const struct np_job *job,
			       const struct np_counts *counts, uint32_t leaf)
{
	uint32_t n = job->flags & NP_JOB_SHARES_NODES ?
			     counts->free_shared[leaf] :
			     counts->free_alone[leaf];

	return n > prefer->reserved[leaf] ? n - prefer->reserved[leaf] : 0;
}

/* Nodes that the unrestricted jobs before a job may take on its leaves. */
static uint64_t wanted_before(const struct np_prefer *prefer,
			      const struct np_counts *counts)
{
	size_t words = prefer->problem->leaf_words;
	uint64_t n = 0;

	for (size_t i = 0; i < prefer->n_partitions; i++)
		if (np_bits_intersect(prefer->reach + i * words, counts->reach,
				      words))
			n += prefer->wanted[i];
	return n;
}

/* The smallest leaf that has all missing nodes, or else the largest. */
static uint32_t select_free_leaf(const struct np_prefer *prefer,
				 const struct np_job *job, uint32_t class,
				 const struct np_counts *counts,
				 const uint64_t *set, uint64_t missing)
{
	uint32_t best = NP_NONE, most = 0;

	NP_BITS_EACH(at, counts->reach, prefer->problem->leaf_words) {
		uint32_t leaf = (uint32_t)at;
		uint32_t n = certainly_free(prefer, job, counts, leaf);

		if (!n || np_bits_test(set, leaf) ||
		    (best != NP_NONE && most >= missing &&
		     (n < missing || n >= most)) ||
		    (best != NP_NONE && most < missing && n <= most) ||
		    !class_can_take(prefer->classes, class, job, leaf))
			continue;
		best = leaf;
		most = n;
	}
	return best;
}

/*
 * Find leaves, as a bitmap set[], on which a job in mode prefer is kept apart
 * and can still start now. false: there are none.
 */
static bool prefer_find(const struct np_prefer *prefer,
			const struct np_job *job, uint32_t class,
			const struct np_counts *counts, uint64_t *set)
{
	uint64_t need = nodes_of_all_tasks(job) + wanted_before(prefer, counts);
	uint64_t have = 0, all = 0;
	uint32_t leaves = 0;

	if (!(prefer->problem->policy.modes & 1u << NP_MODE_PREFER))
		return false; /* wanted[] and reserved[] were not filled in */
	memset(set, 0, prefer->problem->leaf_words * sizeof(*set));
	NP_BITS_EACH(leaf, counts->reach, prefer->problem->leaf_words)
		all += certainly_free(prefer, job, counts, (uint32_t)leaf);
	if (all < need)
		return false;
	while (have < need) {
		uint32_t leaf = select_free_leaf(prefer, job, class, counts,
						 set, need - have);

		if (leaf == NP_NONE ||
		    (job->switches && leaves == job->switches))
			return false;
		np_bits_set(set, leaf);
		have += certainly_free(prefer, job, counts, leaf);
		leaves++;
	}
	return true;
}

/* Reserve all nodes of a restricted job on each leaf, as it may take any. */
static void reserve_leaves(struct np_prefer *prefer, const struct np_job *job,
			   const uint64_t *set)
{
	NP_BITS_EACH(leaf, set, prefer->problem->leaf_words) {
		uint64_t n = prefer->reserved[leaf] + nodes_of_all_tasks(job);

		prefer->reserved[leaf] = n < UINT32_MAX ? (uint32_t)n :
							  UINT32_MAX;
	}
}

/* Restrict a job, if that cannot delay it. 0 or -ENOMEM. */
static int try_restrict(struct np_prefer *prefer, uint32_t i, uint64_t *scratch)
{
	const struct np_job *job = &prefer->problem->job[i];
	size_t words = prefer->problem->leaf_words;
	uint32_t class = prefer->requests->class[i];
	uint64_t *set;

	if (!prefer_find(prefer, job, class,
			 prefer->problem->counts[job->candidates], scratch))
		return 0;
	set = problem_alloc(prefer->problem, words, sizeof(*set));
	if (!set)
		return -ENOMEM;
	memcpy(set, scratch, words * sizeof(*set));
	NP_BITS_EACH(leaf, set, words)
		class_take(prefer->classes, class, (uint32_t)leaf);
	reserve_leaves(prefer, job, set);
	prefer->leaves[i] = set;
	return 0;
}

/*
 * Reserve the leaves of an enforced job. false: it is none, or has no group.
 */
static bool reserve_enforced(struct np_prefer *prefer, uint32_t index)
{
	const struct np_requests *all = prefer->requests;
	uint32_t i = all->of_job[index];

	if (i == NP_NONE || all->at[i].group == NP_NONE)
		return false;
	for (; i < all->n && all->at[i].job == index; i++) {
		const struct np_request *request = &all->at[i];
		bool last = i + 1 == all->n || request[1].job != index ||
			    request[1].group != request->group;

		/* Once per group; requests that are held take nothing. */
		if (last && is_served(prefer->groups, request))
			reserve_leaves(
				prefer, &prefer->problem->job[index],
				prefer->groups->at[request->group].leaves);
	}
	return true;
}

/*
 * Whether to restrict a job. A single job of a class that conflicts with itself
 * is restricted as well, so that the next one finds leaves.
 */
static bool should_restrict(struct np_prefer *prefer, const struct np_job *job,
			    uint32_t class)
{
	return job->mode == NP_MODE_PREFER && class != NP_NONE &&
	       (prefer->classes->at[class].self_conflict ||
		class_conflicts(prefer->classes, class));
}

/*
 * Restrict a job where that is possible, and count the nodes that it may take.
 * 0 or -ENOMEM.
 */
static int account_job(struct np_prefer *prefer, uint32_t i, uint64_t *scratch)
{
	const struct np_job *job = &prefer->problem->job[i];
	size_t at = partition_of(prefer, job);
	int rc;

	if (reserve_enforced(prefer, i))
		return 0;
	if (should_restrict(prefer, job, prefer->requests->class[i])) {
		rc = try_restrict(prefer, i, scratch);
		if (rc || prefer->leaves[i])
			return rc;
	}
	prefer->wanted[at] += nodes_of_all_tasks(job);
	return 0;
}

/*
 * Count the nodes that a submitted job may take before the next one does: on
 * leaves[] if it is restricted to them, otherwise on any.
 */
static void prefer_admit(struct np_prefer *prefer, const struct np_job *job,
			 bool restricted, const uint64_t *leaves)
{
	size_t at = partition_of(prefer, job);

	if (restricted || at == prefer->n_partitions)
		reserve_leaves(prefer, job, leaves);
	else
		prefer->wanted[at] += nodes_of_all_tasks(job);
}

/* List the partitions of n jobs. */
static int gather_partitions(struct np_prefer *prefer, const uint32_t *order,
			     size_t n)
{
	uint32_t *part = problem_alloc(prefer->problem, n, sizeof(*part));

	if (!part)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		part[i] = prefer->problem->job[order[i]].partition;
	prefer->n_partitions = np_order_unique(part, n);
	prefer->partition = part;
	prefer->wanted = problem_alloc(prefer->problem, prefer->n_partitions,
				       sizeof(*prefer->wanted));
	prefer->reach = problem_alloc(prefer->problem,
				      prefer->n_partitions *
					      prefer->problem->leaf_words,
				      sizeof(*prefer->reach));
	return prefer->wanted && prefer->reach ? 0 : -ENOMEM;
}

/* Find the leaves that the jobs of each partition can use. 0 or -ENOMEM. */
static int gather_reach(struct np_prefer *prefer, const uint32_t *order,
			size_t n)
{
	size_t words = prefer->problem->leaf_words;

	for (size_t i = 0; i < n; i++) {
		const struct np_job *job = &prefer->problem->job[order[i]];
		size_t at = partition_of(prefer, job);
		const struct np_counts *counts =
			counts_of(prefer->problem, job->candidates);

		if (!counts)
			return -ENOMEM;
		np_bits_or(prefer->reach + at * words, counts->reach, words);
	}
	return 0;
}

/* Restrict the jobs in mode prefer where possible. Returns 0 or -ENOMEM. */
static int prefer_init(struct np_prefer *prefer, struct np_problem *problem,
		       struct np_classes *classes,
		       const struct np_requests *requests,
		       const struct np_groups *groups)
{
	uint32_t *order = problem_alloc(problem, problem->snapshot->n_jobs,
					sizeof(*order));
	uint64_t *scratch =
		problem_alloc(problem, problem->leaf_words, sizeof(*scratch));
	size_t n = 0;
	int rc;

	*prefer = (struct np_prefer){
		.problem = problem,
		.classes = classes,
		.requests = requests,
		.groups = groups,
		.reserved = problem_alloc(problem, problem->n_leaves,
					  sizeof(*prefer->reserved)),
		.leaves = problem_alloc(problem, problem->snapshot->n_jobs,
					sizeof(*prefer->leaves)),
	};
	if (!order || !scratch || !prefer->reserved || !prefer->leaves)
		return -ENOMEM;
	if (!(problem->policy.modes & 1u << NP_MODE_PREFER))
		return 0;
	for (uint32_t i = 0; i < problem->snapshot->n_jobs; i++)
		if (may_start_now(problem->snapshot, &problem->job[i]))
			order[n++] = i;
	sort_by_precedence(problem->snapshot, order, n);
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
	struct np_groups *groups;
	uint32_t first;
	size_t n, n_ready, words;
	uint64_t *want; /* per leaf a bitmap of the groups that ask for it */
};

/*
 * Whether a group can take a leaf. If not, it is removed from want[], and often
 * all groups of its class with it: no group gives up a leaf here, so what a
 * class cannot take it cannot take later on either.
 */
static bool can_widen(const struct widening *widening, size_t i, uint32_t leaf,
		      uint64_t *want)
{
	uint32_t id = widening->first + (uint32_t)i;
	const struct np_group *group = &widening->groups->at[id];
	const uint64_t *all = widening->groups->of_class[group->class].all;

	if (group_can_take(widening->groups, id, leaf))
		return true;
	np_bits_clear(want, i);
	/* A group of tasks that stay together may be refused where other
	   groups of its class are not; with several rails, any group that
	   holds no other leaf of the same switch. */
	for (size_t k = 0;
	     all && !group->together &&
	     widening->groups->problem->leaves->one_rail && k < widening->words;
	     k++)
		want[k] &= ~all[k];
	return false;
}

/*
 * Give a leaf to the ready group with the least supply for its demand, and then
 * to all that can share it. Returns whether any group took it.
 */
static bool widen_leaf(const struct widening *widening, uint32_t leaf)
{
	uint64_t *want = widening->want + leaf * widening->words;
	const struct np_group *at = widening->groups->at + widening->first;
	size_t poorest = widening->n;
	bool any = false;

	NP_BITS_EACH(i, want, widening->words) {
		if (i >= widening->n_ready)
			break;
		if ((poorest == widening->n ||
		     has_less(&at[i], &at[poorest])) &&
		    can_widen(widening, i, leaf, want))
			poorest = i;
	}
	if (poorest < widening->n) {
		group_take(widening->groups,
			   widening->first + (uint32_t)poorest, leaf);
		np_bits_clear(want, poorest);
		any = true;
	}
	NP_BITS_EACH(i, want, widening->words)
		if (can_widen(widening, i, leaf, want)) {
			group_take(widening->groups,
				   widening->first + (uint32_t)i, leaf);
			any = true;
		}
	return any;
}

/*
 * Enter a group into want[] of the leaves that it asks for: at first all, later
 * only those that were vacated since.
 */
static void request_leaves(const struct widening *widening, size_t i)
{
	const struct np_group *group =
		&widening->groups->at[widening->first + i];
	const uint64_t *open = widening->groups->classes->at[group->class].open;
	const uint64_t *left = widening->groups->vacated;

	for (size_t k = 0; k < widening->groups->problem->leaf_words; k++)
		for (uint64_t m = group->reach[k] & open[k] &
				  ~group->leaves[k] &
				  (group->widened ? left[k] : ~UINT64_C(0));
		     m; m &= m - 1)
			np_bits_set(widening->want + np_bits_lowest(k, m) *
							     widening->words,
				    i);
}

/* Apply the rule "widen" to a visibility group. 0 or -ENOMEM. */
static int widen(struct np_groups *groups, const struct np_vgroup *vgroup,
		 bool *changed)
{
	size_t n = vgroup[1].group - vgroup->group, words = np_bits_words(n);
	struct np_group *group = groups->at + vgroup->group;
	struct widening widening = {
		.groups = groups,
		.first = vgroup->group,
		.n = n,
		.words = words,
		.want = calloc(groups->problem->n_leaves * words + 1,
			       sizeof(*widening.want)),
	};

	if (!widening.want)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		widening.n_ready += group[i].ready;
		if (group[i].placed)
			request_leaves(&widening, i);
		group[i].widened = group[i].placed;
	}
	for (size_t i = 0; n && i < groups->problem->n_leaves; i++)
		*changed |=
			widen_leaf(&widening, groups->problem->leaf_order[i]);
	memset(groups->vacated, 0,
	       groups->problem->leaf_words * sizeof(*groups->vacated));
	free(widening.want);
	return 0;
}

/* Add to bits the leaves that an earlier decision wrote for a request. */
static void add_prior_leaves(const struct np_groups *groups,
			     const struct np_request *request, uint64_t *bits)
{
	const struct np_job *job = &groups->problem->job[request->job];
	const uint64_t *reach = groups->problem->counts[job->candidates]->reach;

	/* The decision in an array's record is that of its first task. */
	if (request->task)
		return;
	for (size_t w = 0; w < groups->problem->leaf_words; w++)
		if (job->prior == NP_PRIOR_UNRESTRICTED)
			bits[w] |= reach[w];
		else if (job->prior == NP_PRIOR_RESTRICTED)
			bits[w] |= reach[w] & job->prior_leaves[w];
}

/* Apply the rule "keep" to a visibility group. 0 or -ENOMEM. */
static int keep(struct np_groups *groups, const struct np_vgroup *vgroup)
{
	size_t n = vgroup[1].group - vgroup->group,
	       words = groups->problem->leaf_words;
	uint64_t *bits = calloc(n * words + 1, sizeof(*bits));

	if (!bits)
		return -ENOMEM;
	for (uint32_t i = vgroup->request; i < vgroup[1].request; i++) {
		const struct np_request *request =
			&groups->requests->at[groups->by_vgroup[i]];

		add_prior_leaves(groups, request,
				 bits + (request->group - vgroup->group) *
						 words);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t id = vgroup->group + i;
		const uint64_t *open = np_group_class(groups, id)->open;

		NP_BITS_EACH(leaf, bits + i * words, words)
			if (np_bits_test(open, leaf) &&
			    group_can_take(groups, id, (uint32_t)leaf))
				group_take(groups, id, (uint32_t)leaf);
	}
	free(bits);
	return 0;
}

/* Apply all rules to a visibility group until nothing changes. 0 or -ENOMEM. */
static int iterate(struct np_groups *groups, const struct np_vgroup *vgroup)
{
	bool changed = true;
	int rc = keep(groups, vgroup);

	for (int pass = 0; !rc && changed && pass < MAX_ITERATIONS; pass++) {
		changed = false;
		rc = grow(groups, vgroup, &changed);
		if (!rc)
			rc = widen(groups, vgroup, &changed);
	}
	return rc;
}

/* Conflict-free classes hold all leaves that their jobs can use. */
static void place_conflict_free(struct np_problem *problem,
				struct np_classes *classes,
				const struct np_requests *requests)
{
	for (size_t i = 0; i < requests->n_order; i++) {
		const struct np_job *job = &problem->job[requests->order[i]];
		uint32_t class = requests->class[requests->order[i]];
		const uint64_t *reach;

		if (class == NP_NONE || !classes->at[class].conflict_free)
			continue;
		reach = problem->counts[job->candidates]->reach;
		if (np_bits_subset(reach, classes->at[class].held,
				   problem->leaf_words))
			continue;
		NP_BITS_EACH(leaf, reach, problem->leaf_words)
			class_take(classes, class, (uint32_t)leaf);
	}
}

/* Share out the leaves among all classes and groups. 0 or -ENOMEM. */
static int share_leaves(struct np_allocation *allocation)
{
	int rc = 0;

	place_conflict_free(&allocation->problem, &allocation->classes,
			    &allocation->requests);
	/* The public groups first; others do not see the private ones. */
	for (size_t i = 0; !rc && i < allocation->groups.n_vgroups; i++)
		rc = iterate(&allocation->groups,
			     &allocation->groups.vgroup[i]);
	groups_free_scratch(&allocation->groups);
	return rc;
}

static void allocation_free(struct np_allocation *allocation)
{
	if (!allocation)
		return;
	groups_free(&allocation->groups);
	np_shares_free(&allocation->classes.shares);
	problem_free(&allocation->problem);
	free(allocation);
}

/*
 * other: allocation of the same snapshot that lives longer, or NULL. *out: free
 * with allocation_free(). Returns 0 or -ENOMEM.
 */
static int allocation_new(const struct np_snapshot *snapshot,
			  const struct np_slowdowns *slowdowns,
			  const struct np_policy *policy,
			  const struct np_outcome *outcome, bool what_if,
			  const struct np_allocation *other,
			  struct np_allocation **out)
{
	struct np_allocation *allocation = calloc(1, sizeof(*allocation));
	struct np_problem *problem;

	if (!allocation)
		return -ENOMEM;
	problem = &allocation->problem;
	if (problem_init(problem, snapshot, slowdowns, policy, outcome, what_if,
			 other ? &other->problem : NULL) ||
	    leaf_loads_init(&allocation->loads, problem) ||
	    classes_init(&allocation->classes, problem, &allocation->loads) ||
	    requests_init(&allocation->requests, problem,
			  &allocation->classes) ||
	    classes_seal(&allocation->classes) ||
	    groups_init(&allocation->groups, problem, &allocation->classes,
			&allocation->requests) ||
	    share_leaves(allocation) ||
	    prefer_init(&allocation->prefer, problem, &allocation->classes,
			&allocation->requests, &allocation->groups)) {
		allocation_free(allocation);
		return -ENOMEM;
	}
	*out = allocation;
	return 0;
}

/* A submission that was decided since the snapshot. */
struct np_admitted {
	struct np_job job;
	int64_t at_sec;	  /* time of submission */
	uint64_t *leaves; /* that it may use */
	uint32_t class;
	bool holds;	 /* its class holds them, so others avoid them */
	bool may_start;	 /* before the next decision */
	bool restricted; /* it may use no others */
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
	/* Classes of real->classes with jobs that could not be updated. */
	uint32_t *unwritten;
	size_t n_unwritten;
	/* For the job being submitted. */
	struct np_counts *scratch;
	uint64_t *scratch_set; /* nodes, by position */
	uint64_t *scratch_leaves;
};

/* The allocation that decides for a job. */
static struct np_allocation *
allocation_for(const struct np_placement *placement, const struct np_job *job)
{
	return job->mode == NP_MODE_ADVISE ? placement->advised :
					     placement->real;
}

/* ---- Arrivals ---- */

void np_arrivals_init(struct np_arrivals *arrivals, int64_t since_sec,
		      struct np_arrival *of, size_t n)
{
	*arrivals = (struct np_arrivals){ .since_sec = since_sec, .of = of };
	if (n)
		qsort(of, n, sizeof(*of), np_order_u32);
	for (size_t i = 0; i < n; i++)
		if (arrivals->n && of[arrivals->n - 1].owner == of[i].owner)
			of[arrivals->n - 1].n += of[i].n;
		else
			of[arrivals->n++] = of[i];
}

bool np_arrivals_take(struct np_arrivals *arrivals, uint32_t owner)
{
	const struct np_arrival key = { .owner = owner };
	struct np_arrival *of = arrivals->n ?
					bsearch(&key, arrivals->of, arrivals->n,
						sizeof(key), np_order_u32) :
					NULL;

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
static void record_starts(struct hold_clock *clock)
{
	const struct np_job *job = clock->snapshot->job;

	for (uint32_t i = 0; i < clock->snapshot->n_jobs; i++) {
		if (job[i].state != NP_JOB_RUNNING ||
		    job[i].start_sec <= clock->snapshot->last_sec)
			continue;
		for (uint32_t k = 0; k < job[i].n_leaves; k++) {
			uint32_t *last = &clock->last_start[job[i].leaf[k]];

			if (*last == NP_NONE ||
			    compare_precedence(&job[i], &job[*last]) > 0)
				*last = i;
		}
	}
}

static bool has_candidate_on(const struct np_snapshot *snapshot,
			     const uint64_t *set, uint32_t leaf)
{
	const uint32_t *first = snapshot->leaves->first;
	size_t next =
		np_bits_next(set, snapshot->leaves->node_words, first[leaf]);

	return next < first[leaf + 1];
}

/*
 * Whether a job of lower precedence started on a leaf that is closed to a job
 * although it has candidate nodes of that job.
 */
static bool overtaken(const struct hold_clock *clock, const struct np_job *job)
{
	const uint64_t *set = np_snapshot_set(clock->snapshot, job->candidates);

	for (uint32_t leaf = 0; leaf < clock->snapshot->leaves->n; leaf++) {
		uint32_t last = clock->last_start[leaf];

		if (last != NP_NONE && !np_bits_test(job->prior_leaves, leaf) &&
		    compare_precedence(job, &clock->snapshot->job[last]) < 0 &&
		    has_candidate_on(clock->snapshot, set, leaf))
			return true;
	}
	return false;
}

/* Whether enough candidate nodes are free now, on any leaves. */
static bool could_start(const struct np_snapshot *snapshot,
			const struct np_job *job)
{
	const uint64_t *set = np_snapshot_set(snapshot, job->candidates);
	const uint64_t *free = job->flags & NP_JOB_SHARES_NODES ?
				       snapshot->idle_or_mixed :
				       snapshot->idle;
	size_t n = 0;

	for (size_t k = 0; k < snapshot->leaves->node_words; k++)
		n += np_bits_popcount(set[k] & free[k]);
	return n >= job->nodes_min;
}

/* Time since the last decision during which a job could have started. */
static double elapsed_sec(const struct np_snapshot *snapshot,
			  const struct np_job *job)
{
	int64_t from = snapshot->last_sec;

	if (!from)
		return 0;
	if (job->submit_sec > from)
		from = job->submit_sec;
	if (job->eligible_sec > from)
		from = job->eligible_sec;
	return snapshot->now_sec > from ? (double)(snapshot->now_sec - from) :
					  0;
}

/*
 * How long a job has been held back in total. To be called for all jobs in
 * order of precedence.
 */
static double held_sec_of(struct hold_clock *clock, const struct np_job *job)
{
	bool held_back = false;

	/* A job whose begin time has not come does not wait for nodes either. */
	if (!may_start_now(clock->snapshot, job))
		return job->held_sec;
	if (job->prior == NP_PRIOR_HELD)
		held_back = true;
	else if (job->prior == NP_PRIOR_RESTRICTED)
		held_back = could_start(clock->snapshot, job) ||
			    (!clock->blocked[job->partition] &&
			     overtaken(clock, job));
	else
		clock->blocked[job->partition] = 1;
	return job->held_sec +
	       (held_back ? elapsed_sec(clock->snapshot, job) : 0);
}

/* Fill in held_sec of each job's outcome. 0 or -ENOMEM. */
static int count_holds(const struct np_snapshot *snapshot,
		       struct np_outcome *outcome)
{
	struct hold_clock clock = { .snapshot = snapshot };
	uint32_t *order = malloc((snapshot->n_jobs + 1) * sizeof(*order));
	size_t n = 0;
	int rc = -ENOMEM;

	clock.last_start =
		malloc((snapshot->leaves->n + 1) * sizeof(*clock.last_start));
	clock.blocked = calloc(UINT16_MAX + 1, sizeof(*clock.blocked));
	if (!order || !clock.last_start || !clock.blocked)
		goto out;
	memset(clock.last_start, 0xff,
	       snapshot->leaves->n * sizeof(*clock.last_start));
	record_starts(&clock);
	for (uint32_t i = 0; i < snapshot->n_jobs; i++)
		if (snapshot->job[i].state != NP_JOB_RUNNING)
			order[n++] = i;
	sort_by_precedence(snapshot, order, n);
	for (size_t i = 0; i < n; i++)
		outcome[order[i]].held_sec =
			held_sec_of(&clock, &snapshot->job[order[i]]);
	rc = 0;
out:
	free(clock.blocked);
	free(clock.last_start);
	free(order);
	return rc;
}

/* ---- The reason in words ---- */

/* A text that is being written. */
struct line {
	char *buf;
	size_t size, len; /* of buf; of the text so far */
};

__attribute__((format(printf, 2, 3))) static void append(struct line *line,
							 const char *fmt, ...)
{
	va_list ap;
	int n;

	if (line->len + 1 >= line->size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(line->buf + line->len, line->size - line->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		line->len += (size_t)n < line->size - line->len ?
				     (size_t)n :
				     line->size - line->len - 1;
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
	[NP_WHY_CONSTRAINT] = "placement does not know which nodes match its "
			      "partitions, features, excluded nodes, or "
			      "--contiguous, --segment or --exclusive=topo",
	[NP_WHY_CHANGING] =
		"its user changes jobs faster than placement can update them",
	[NP_WHY_URGENT] =
		"it has a deadline, or must start immediately or not at all",
	[NP_WHY_NOT_YET] = "its begin time is too far in the future",
	[NP_WHY_NO_LEAF] = "none of its nodes is on a leaf switch",
	[NP_WHY_TOO_MANY] = "there are too many different kinds of jobs, or "
			    "its user submitted too many jobs at once",
	[NP_WHY_HARMLESS] = "it conflicts with no other job",
	[NP_WHY_NOT_PREDICTED] =
		"no conflict is known, but some predictions are still missing",
	[NP_WHY_FITS] = "no conflicting job on its eligible leaf switches",
	[NP_WHY_HOLD_EXPIRED] = "the maximum hold time is reached",
	[NP_WHY_NO_ROOM_APART] =
		"too few nodes are free to keep it apart and still start it now",
	[NP_WHY_TASKS_TOGETHER] = "the tasks of this array conflict with each "
				  "other, and mode prefer holds no job",
	[NP_WHY_FROM_RUNNING] = "it conflicts with running jobs",
	[NP_WHY_FROM_PENDING] =
		"leaf switches are reserved for jobs that conflict with it",
	[NP_WHY_TASKS] = "its tasks conflict with each other; each gets leaf "
			 "switches of its own in turn",
	[NP_WHY_TOO_FEW_NODES] =
		"too few of its nodes are usable, even without placement",
};

/* Jobs submitted since the snapshot have no id yet. */
static void append_job(struct line *line, const struct np_cause *cause,
		       uint32_t id)
{
	const char *state = cause->why == NP_WHY_FROM_RUNNING ? "running" :
								"pending";

	if (id)
		append(line, "%s job %u", state, id);
	else
		append(line, "a %s job", state);
}

static void append_cause(struct line *line,
			 const struct np_placement *placement,
			 const struct np_job *job, const struct np_cause *cause)
{
	const struct np_leaves *leaves = placement->snapshot->leaves;
	double limit = 100 * placement->policy.max_slowdown;
	double percent = 100 * cause->slowdown;

	if (cause->leaf == NP_NO_LEAF || cause->leaf >= leaves->n_switches) {
		append(line, "%s", reasons[cause->why]);
		return;
	}
	append(line, "on leaf switch %s ", leaves->switch_name[cause->leaf]);
	if (cause->victim_self)
		append(line, "it");
	else if (cause->victim == cause->other)
		append_job(line, cause, cause->victim);
	else
		append(line, "running job %u", cause->victim);
	/* 10.4 % would read as 10 %, which is no reason at a limit of 10 %. */
	append(line, " would be slowed by %.*f %% (limit %.6g %%)",
	       round(percent) > limit ? 0 : 2, percent, limit);
	if (!cause->victim_self && cause->victim == cause->other)
		return;
	if (cause->other && cause->other == job->id) {
		append(line, " with another job of its kind");
		return;
	}
	append(line, " with ");
	append_job(line, cause, cause->other);
}

/* Number of leaves closed to a job. */
static unsigned n_closed(const struct np_placement *placement,
			 const struct np_outcome *outcome)
{
	return (unsigned)(placement->snapshot->leaves->n -
			  np_bits_count(outcome->leaves,
					placement->snapshot->leaves->words));
}

const char *np_placement_text(const struct np_placement *placement,
			      const struct np_job *job,
			      const struct np_outcome *outcome, char *buf,
			      size_t size)
{
	int64_t left_sec = outcome->until_sec - placement->snapshot->now_sec;
	struct line line = { buf, size, 0 };

	if (!size)
		return buf;
	buf[0] = '\0';
	if (job->mode == NP_MODE_ADVISE && outcome->action != NP_ACT_NONE)
		append(&line, "advice, not applied: ");
	switch (outcome->action) {
	case NP_ACT_NONE:
		append(&line, "ignored: ");
		break;
	case NP_ACT_UNRESTRICTED:
		append(&line, "unrestricted: ");
		break;
	case NP_ACT_RESTRICT:
		append(&line, "kept off %u of %zu leaf switches: ",
		       n_closed(placement, outcome),
		       placement->snapshot->leaves->n);
		break;
	case NP_ACT_HOLD:
		append(&line, "held, for now for %lld s: ",
		       (long long)(left_sec > 0 ? left_sec : 0));
		break;
	}
	if (outcome->tasks)
		append(&line, "%u tasks get leaf switches of their own; ",
		       outcome->tasks);
	append_cause(&line, placement, job, &outcome->cause);
	if (outcome->held_sec >= 1)
		append(&line, "; held for %.0f s so far, at most %.0f s%s",
		       outcome->held_sec,
		       job->mode == NP_MODE_PREFER ?
			       NP_PLACEMENT_PATIENCE_SEC :
			       placement->policy.max_hold_sec,
		       job->mode == NP_MODE_PREFER ? "" : " (MaxDefer)");
	return buf;
}

/* ---- From the leaves held to the outcome of a job, and its cause ---- */

/* Limits of the search for a cause, which is for messages only. */
#define MAX_LEAVES_SEARCHED 64
#define MAX_CAUSES_FOUND 4

/* Find the worst cause on a switch; false: no conflict closes it. */
static bool cause_on_switch(const struct np_classes *classes, uint32_t id,
			    uint32_t leaf, struct np_cause *cause)
{
	const struct np_class *class = &classes->at[id];
	const uint64_t *holders = classes->on_switch + leaf * classes->words;
	const uint64_t *relevant = classes->relevant + id * classes->words;
	struct np_cause one;
	bool any = false;

	if (is_closed(classes, class, leaf))
		return class_avoids(classes, id, NP_NONE, leaf, cause);
	for (uint32_t row_words = class->row_words; row_words;
	     row_words &= row_words - 1) {
		size_t w = np_bits_lowest(0, row_words);
		uint64_t m = holders[w] & relevant[w];

		/* A class is not in its own bitmaps. */
		if (w == id / NP_BITS_WORD &&
		    np_bits_test(class->one_only_switches, leaf))
			m |= holders[w] & UINT64_C(1) << id % NP_BITS_WORD;
		for (; m; m &= m - 1)
			if (class_avoids(classes, id, np_bits_lowest(w, m),
					 leaf, &one) &&
			    (!any || one.slowdown > cause->slowdown)) {
				*cause = one;
				any = true;
			}
	}
	return any;
}

/* Find the worst cause on a closed leaf, i.e. on a switch that is loaded. */
static bool cause_on(const struct np_classes *classes, uint32_t class,
		     uint32_t leaf, struct np_cause *cause)
{
	struct np_cause one;
	bool any = false;

	EACH_SWITCH(sw, classes->problem->leaves, leaf)
		if (loads_rail(classes->problem, classes->at[class].profile,
			       *sw) &&
		    cause_on_switch(classes, class, *sw, &one) &&
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
static void find_cause(const struct np_classes *classes, uint32_t class,
		       const uint64_t *reach, const uint64_t *open,
		       struct np_cause *cause)
{
	struct np_cause one;
	int searched = 0, found = 0;

	*cause = (struct np_cause){ .why = NP_WHY_FROM_PENDING,
				    .leaf = NP_NO_LEAF };
	for (size_t w = 0; w < classes->problem->leaf_words; w++)
		for (uint64_t m = reach[w] & ~open[w]; m; m &= m - 1) {
			uint32_t leaf = np_bits_lowest(w, m);

			if (searched++ == MAX_LEAVES_SEARCHED ||
			    found == MAX_CAUSES_FOUND)
				return;
			if (!cause_on(classes, class, leaf, &one))
				continue;
			if (!found++ || one.slowdown > cause->slowdown)
				*cause = one;
		}
}

/*
 * Length of one hold of a job that cannot start by itself, if max_hold_sec is
 * not shorter. It is renewed seldom, as there may be many such jobs; but it may
 * last as long if no more decisions are made.
 */
#define WAITING_STEP_SEC 3600

/* End of a hold, seconds since the epoch. */
static int64_t end_of_hold(const struct np_policy *policy,
			   const struct np_job *job, double held_sec,
			   int64_t now_sec)
{
	/* A job that cannot start by itself is held only in case it becomes
	   able to before the next decision; that does not count as held. */
	bool waiting = job->state == NP_JOB_WAITING ||
		       job->eligible_sec > now_sec;
	double left = policy->max_hold_sec - (waiting ? 0 : held_sec);
	double step = policy->hold_step_sec;
	int64_t end, last;

	if (waiting)
		step = fmax(step, fmin(policy->max_hold_sec, WAITING_STEP_SEC));
	if (left < 1)
		left = 1;
	last = now_sec + (int64_t)ceil(left);
	end = now_sec + (int64_t)ceil(step);
	/*
	 * Close enough, which saves an update; not if it is longer, as that of
	 * a job that was waiting, or after the clock was set back.
	 */
	if (job->prior == NP_PRIOR_HELD && job->prior_until_sec < end &&
	    (double)(job->prior_until_sec - now_sec) > step / 2)
		end = job->prior_until_sec;
	if (end > last)
		end = last;
	return end > job->eligible_sec ? end : job->eligible_sec;
}

/* Hold a job; class: NP_NONE if it is not known, and then no cause is set. */
static void set_hold(struct np_allocation *allocation, const struct np_job *job,
		     uint32_t class, const uint64_t *reach, int64_t now_sec,
		     struct np_outcome *outcome)
{
	outcome->action = NP_ACT_HOLD;
	outcome->until_sec = end_of_hold(&allocation->problem.policy, job,
					 outcome->held_sec, now_sec);
	if (class != NP_NONE)
		find_cause(&allocation->classes, class, reach,
			   allocation->problem.no_leaves, &outcome->cause);
}

/* Restrict a job to the leaves in set, of those it can reach. 0 or -ENOMEM. */
static int set_restricted(struct np_allocation *allocation, uint32_t class,
			  const uint64_t *set, const uint64_t *reach,
			  struct np_outcome *outcome)
{
	struct np_problem *problem = &allocation->problem;
	uint64_t *open =
		problem_alloc(problem, problem->leaf_words, sizeof(*open));

	if (!open)
		return -ENOMEM;
	for (size_t w = 0; w < problem->leaf_words; w++)
		open[w] = set[w] | ~reach[w];
	np_bits_trim(open, problem->n_leaves);
	outcome->action = NP_ACT_RESTRICT;
	outcome->leaves = open;
	find_cause(&allocation->classes, class, reach, open, &outcome->cause);
	return 0;
}

static const uint64_t *reach_of(const struct np_allocation *allocation,
				uint32_t i)
{
	const struct np_job *job = &allocation->problem.job[i];

	return allocation->problem.counts[job->candidates]->reach;
}

/*
 * Open the leaves in set to a job, unrestricted if these are all. 0 or -ENOMEM.
 */
static int open_leaves(struct np_allocation *allocation, uint32_t i,
		       const uint64_t *set, struct np_outcome *outcome)
{
	const uint64_t *reach = reach_of(allocation, i);

	if (!np_bits_subset(reach, set, allocation->problem.leaf_words))
		return set_restricted(allocation, allocation->requests.class[i],
				      set, reach, outcome);
	outcome->action = NP_ACT_UNRESTRICTED;
	outcome->cause.why = NP_WHY_FITS;
	return 0;
}

static void hold_job(struct np_allocation *allocation, uint32_t i,
		     struct np_outcome *outcome)
{
	set_hold(allocation, &allocation->problem.job[i],
		 allocation->requests.class[i], reach_of(allocation, i),
		 allocation -> problem.snapshot->now_sec, outcome);
}

/*
 * An array whose tasks conflict: each task gets leaves of its own, or is held.
 */
static int decide_tasks(struct np_allocation *allocation, uint32_t i,
			struct np_outcome *outcome)
{
	const struct np_requests *all = &allocation->requests;
	const struct np_request *request = &all->at[all->of_job[i]];
	const uint64_t *last = NULL;

	outcome->task_leaves = problem_alloc(&allocation->problem,
					     NP_PLACEMENT_MAX_TASKS,
					     sizeof(*outcome->task_leaves));
	if (!outcome->task_leaves)
		return -ENOMEM;
	for (; request < all->at + all->n && request->job == i; request++) {
		struct np_outcome one;

		if (!is_served(&allocation->groups, request))
			continue;
		last = allocation->groups.at[request->group].leaves;
		if (open_leaves(allocation, i, last, &one))
			return -ENOMEM;
		outcome->task_leaves[outcome->tasks++] =
			one.action == NP_ACT_RESTRICT ? one.leaves : NULL;
	}
	/* If all tasks have leaves, the last one keeps the array's record. */
	if (outcome->tasks == allocation->problem.job[i].tasks) {
		outcome->tasks--;
		return open_leaves(allocation, i, last, outcome);
	}
	hold_job(allocation, i, outcome);
	if (outcome->tasks)
		outcome->cause.why = NP_WHY_TASKS;
	return 0;
}

/* Make the outcome of a job in an enforced partition. 0 or -ENOMEM. */
static int decide_enforced(struct np_allocation *allocation, uint32_t i,
			   struct np_outcome *outcome)
{
	const struct np_request *request =
		&allocation->requests.at[allocation->requests.of_job[i]];

	if (allocation->classes.at[request->class].self_conflict &&
	    allocation->problem.job[i].tasks > 1 &&
	    !allocation->groups.at[request->group].together)
		return decide_tasks(allocation, i, outcome);
	if (is_served(&allocation->groups, request))
		return open_leaves(allocation, i,
				   allocation->groups.at[request->group].leaves,
				   outcome);
	hold_job(allocation, i, outcome);
	return 0;
}

/* Make the outcome of a job in mode prefer. 0 or -ENOMEM. */
static int decide_preferred(struct np_allocation *allocation, uint32_t i,
			    struct np_outcome *outcome)
{
	const struct np_problem *problem = &allocation->problem;
	const struct np_job *job = &problem->job[i];
	uint32_t class = allocation->requests.class[i];

	if (allocation->prefer.leaves[i])
		return open_leaves(allocation, i, allocation->prefer.leaves[i],
				   outcome);
	outcome->action = NP_ACT_UNRESTRICTED;
	outcome->cause.why = NP_WHY_NO_ROOM_APART;
	if (!class_conflicts(&allocation->classes, class))
		outcome->cause.why = NP_WHY_HARMLESS;
	else if (job->tasks > 1 &&
		 allocation->classes.at[class].self_conflict &&
		 !class_array_leaves(&allocation->classes, class, job,
				     problem->counts[job->candidates],
				     problem->scratch))
		outcome->cause.why = NP_WHY_TASKS_TOGETHER;
	return 0;
}

/* Why a job that placement decides about has no class. */
static enum np_why why_no_class(const struct np_problem *problem,
				const struct np_job *job)
{
	const struct np_counts *counts = problem->counts[job->candidates];

	if (!np_bits_any(counts->reach, problem->leaf_words))
		return NP_WHY_NO_LEAF;
	return is_feasible(problem, job, counts) ? NP_WHY_TOO_MANY :
						   NP_WHY_TOO_FEW_NODES;
}

/* Why a job that conflicts with no other may use all leaves. */
static enum np_why why_harmless(const struct np_slowdowns *table,
				const struct np_job *job)
{
	return table->profile[job->profile].complete ? NP_WHY_HARMLESS :
						       NP_WHY_NOT_PREDICTED;
}

/* Make the outcome of the i-th job of the snapshot. 0 or -ENOMEM. */
static int decide_job(struct np_placement *placement, uint32_t i,
		      struct np_outcome *outcome)
{
	const struct np_job *job = &placement->snapshot->job[i];
	struct np_allocation *allocation = allocation_for(placement, job);
	uint32_t class = allocation->requests.class[i];

	outcome->cause.why = why_exempt(&allocation->problem, job,
					placement->snapshot->now_sec);
	if (job->state == NP_JOB_RUNNING || outcome->cause.why)
		return 0;
	if (hold_expired(&allocation->problem, job, outcome->held_sec)) {
		outcome->action = NP_ACT_UNRESTRICTED;
		outcome->cause.why = NP_WHY_HOLD_EXPIRED;
		return 0;
	}
	if (class == NP_NONE) {
		outcome->cause.why = why_no_class(&allocation->problem, job);
		return 0;
	}
	if (allocation->classes.at[class].conflict_free) {
		outcome->action = NP_ACT_UNRESTRICTED;
		outcome->cause.why = why_harmless(placement->table, job);
		return 0;
	}
	return job->mode == NP_MODE_PREFER ?
		       decide_preferred(allocation, i, outcome) :
		       decide_enforced(allocation, i, outcome);
}

/* Word w of the bitmap of leaves that the prior decision opened to a job. */
static uint64_t open_before(const struct np_job *job, int64_t now_sec, size_t w)
{
	if (job->prior == NP_PRIOR_HELD && job->prior_until_sec > now_sec)
		return 0;
	return job->prior == NP_PRIOR_RESTRICTED ? job->prior_leaves[w] :
						   ~UINT64_C(0);
}

/* Word w of the bitmap of leaves that an outcome opens. */
static uint64_t open_after(const struct np_outcome *outcome, size_t w)
{
	if (outcome->action == NP_ACT_HOLD)
		return 0;
	return outcome->action == NP_ACT_RESTRICT ? outcome->leaves[w] :
						    ~UINT64_C(0);
}

/* Fill in how an outcome differs from the prior one, on leaves in reach. */
static void compare_with_prior(struct np_placement *placement, uint32_t i,
			       struct np_outcome *outcome)
{
	const struct np_job *job = &placement->snapshot->job[i];
	const struct np_allocation *allocation = allocation_for(placement, job);
	const struct np_counts *counts; /* NULL: none were needed */
	int64_t now_sec = placement->snapshot->now_sec;
	bool opens = false;

	if (job->state == NP_JOB_RUNNING)
		return;
	counts = allocation->problem.counts[job->candidates];
	for (size_t w = 0; w < placement->snapshot->leaves->words; w++) {
		uint64_t reach = counts ? counts->reach[w] : ~UINT64_C(0);
		uint64_t before = open_before(job, now_sec, w) & reach;
		uint64_t after = open_after(outcome, w) & reach;

		outcome->changed |= before != after;
		outcome->narrows |= (before & ~after) != 0;
		opens |= (after & ~before) != 0;
	}
	if (outcome->action == NP_ACT_HOLD)
		outcome->changed |= job->prior != NP_PRIOR_HELD ||
				    job->prior_until_sec != outcome->until_sec;
	else
		outcome->changed |= job->prior == NP_PRIOR_HELD;
	outcome->changed |= outcome->tasks != 0;
	outcome->applied = job->mode != NP_MODE_ADVISE &&
			   outcome->action != NP_ACT_NONE;
	outcome->narrows &= outcome->applied;
	outcome->reassigns = outcome->narrows &&
			     outcome->action != NP_ACT_HOLD &&
			     (opens || outcome->tasks);
}

/* Fill in the outcomes, of which only held_sec is set. 0 or -ENOMEM. */
static int decide_jobs(struct np_placement *placement)
{
	for (uint32_t i = 0; i < placement->snapshot->n_jobs; i++) {
		struct np_outcome *outcome = &placement->outcome[i];
		int rc;

		outcome->cause.leaf = NP_NO_LEAF;
		rc = decide_job(placement, i, outcome);
		if (rc)
			return rc;
		compare_with_prior(placement, i, outcome);
	}
	return 0;
}

void np_placement_causes(const struct np_placement *placement, size_t i,
			 np_placement_cause_fn *fn, void *arg)
{
	const struct np_job *job = &placement->snapshot->job[i];
	const struct np_allocation *allocation = allocation_for(placement, job);
	const struct np_outcome *outcome = &placement->outcome[i];
	uint32_t class = allocation->requests.class[i];
	struct np_cause cause;

	if (outcome->action != NP_ACT_RESTRICT &&
	    outcome->action != NP_ACT_HOLD)
		return;
	NP_BITS_EACH(leaf, reach_of(allocation, (uint32_t)i),
		     placement->snapshot->leaves->words)
		if (!(open_after(outcome, leaf / NP_BITS_WORD) &
		      UINT64_C(1) << leaf % NP_BITS_WORD) &&
		    cause_on(&allocation->classes, class, (uint32_t)leaf,
			     &cause))
			fn(arg, &cause);
}

/* ---- One job that is being submitted ---- */

/*
 * Count the candidate nodes of a job, less those that its user excluded, in
 * placement->scratch.
 */
static void count_candidates(struct np_placement *placement,
			     const struct np_job *job, const uint64_t *excluded)
{
	const struct np_leaves *leaves = placement->snapshot->leaves;
	size_t words = leaves->node_words;

	memcpy(placement->scratch_set,
	       np_snapshot_set(placement->snapshot, job->candidates),
	       words * sizeof(uint64_t));
	if (excluded)
		NP_BITS_EACH(node, excluded, words)
			if (node < leaves->n_nodes)
				np_bits_clear(placement->scratch_set,
					      leaves->place[node]);
	counts_fill(placement->snapshot, placement->scratch_set,
		    placement->scratch);
}

/*
 * Add to set[] the smallest leaf of can[] that has all missing nodes, or else
 * the largest. Returns false if no leaf has any.
 */
static bool add_leaf(size_t words, const uint16_t *column, const uint64_t *can,
		     uint64_t missing, uint64_t *set)
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

/* A submission that is being decided. */
struct submission {
	struct np_placement *placement;
	struct np_allocation *allocation;
	const struct np_job *job;
	const struct np_counts *counts;
	uint32_t class;
	int64_t now_sec;
	uint64_t *leaves; /* that it gets */
	struct np_outcome *outcome;
};

/* Record the leaves that a submission may use in the journal. 0 or -ENOMEM. */
static int add_to_journal(struct np_placement *placement,
			  struct np_allocation *allocation,
			  const struct np_admitted *admitted)
{
	size_t words = placement->snapshot->leaves->words;
	uint64_t *leaves =
		problem_alloc(&allocation->problem, words, sizeof(*leaves));
	struct np_admitted *entry;

	if (!leaves ||
	    np_array_reserve(&placement->journal, &placement->journal_room,
			     placement->n_admitted + 1, sizeof(*entry)))
		return -ENOMEM;
	np_shares_add(&placement->admitted, admitted->job.owner, 1);
	entry = &placement->journal[placement->n_admitted++];
	memcpy(leaves, admitted->leaves, words * sizeof(*leaves));
	*entry = *admitted;
	entry->leaves = leaves;
	entry->job.node = NULL;
	entry->job.prior_leaves = NULL;
	if (admitted->holds)
		NP_BITS_EACH(leaf, leaves, words)
			class_take(&allocation->classes, admitted->class,
				   (uint32_t)leaf);
	if (admitted->may_start)
		prefer_admit(&allocation->prefer, &admitted->job,
			     admitted->restricted, leaves);
	return 0;
}

/* Whether the owner's share of the journal is used up. */
static bool is_share_used_up(const struct np_placement *placement,
			     uint32_t owner)
{
	return !np_shares_can_take(&placement->admitted, owner, 1);
}

/* Let the job use all leaves with candidate nodes. */
static void lift_restriction(struct submission *submission, enum np_why why)
{
	submission->outcome->action = NP_ACT_UNRESTRICTED;
	submission->outcome->cause.why = why;
	memcpy(submission->leaves, submission->counts->reach,
	       submission->allocation->problem.leaf_words *
		       sizeof(*submission->leaves));
}

/* Hold the job; otherwise: the reason to give if no cause is found. */
static void hold_submission(struct submission *submission,
			    enum np_why otherwise)
{
	set_hold(submission->allocation, submission->job, submission->class,
		 submission->counts->reach, submission->now_sec,
		 submission->outcome);
	if (submission->outcome->cause.leaf == NP_NO_LEAF)
		submission->outcome->cause.why = otherwise;
}

static int restrict_submission(struct submission *submission)
{
	return set_restricted(submission->allocation, submission->class,
			      submission->leaves, submission->counts->reach,
			      submission->outcome);
}

/* Why a job may use all its leaves. */
static enum np_why why_unrestricted(const struct submission *submission)
{
	const struct np_classes *classes = &submission->allocation->classes;
	size_t at = submission->class * classes->words;

	if (classes->at[submission->class].self_conflict ||
	    np_bits_any(classes->relevant + at, classes->words) ||
	    !class_open_everywhere(classes, submission->class))
		return NP_WHY_FITS;
	return why_harmless(classes->problem->table, submission->job);
}

/*
 * Choose leaves among can[]: those that its class holds already, and only as
 * many others as the job needs, so that later submissions find some as well.
 * false: they have too few nodes.
 */
static bool select_leaves(const struct submission *submission,
			  const uint16_t *column, uint32_t no_leaf,
			  const uint64_t *can)
{
	const uint64_t *held =
		submission->allocation->classes.at[submission->class].held;
	size_t words = submission->allocation->problem.leaf_words;
	uint64_t have;

	/* Otherwise all leaves would be added, one by one, to no avail. */
	if (counts_sum(submission->allocation->problem.leaves,
		       submission->job->switches, column, no_leaf,
		       can) < submission->job->nodes_min)
		return false;
	for (size_t w = 0; w < words; w++)
		submission->leaves[w] = can[w] & held[w];
	do {
		have = counts_sum(submission->allocation->problem.leaves,
				  submission->job->switches, column, no_leaf,
				  submission->leaves);
		if (have >= submission->job->nodes_min)
			return true;
	} while (add_leaf(words, column, can, submission->job->nodes_min - have,
			  submission->leaves));
	return false;
}

/* Whether the job is an array whose tasks conflict with each other. */
static bool tasks_conflict(const struct submission *submission)
{
	const struct np_class *class =
		&submission->allocation->classes.at[submission->class];

	return submission->job->tasks > 1 && class->self_conflict;
}

/*
 * Choose leaves with enough free nodes, or else with enough usable ones. 0 or
 * -ENOMEM.
 */
static int place_enforced(struct submission *submission, const uint64_t *can)
{
	const struct np_counts *counts = submission->counts;
	bool shares = submission->job->flags & NP_JOB_SHARES_NODES;

	if (np_bits_subset(counts->reach, can,
			   submission->allocation->problem.leaf_words)) {
		lift_restriction(submission, why_unrestricted(submission));
		return 0;
	}
	if (select_leaves(submission,
			  shares ? counts->free_shared : counts->free_alone,
			  shares ? counts->no_leaf_free_shared :
				   counts->no_leaf_free_alone,
			  can) ||
	    select_leaves(submission, counts->usable, counts->no_leaf_usable,
			  can))
		return restrict_submission(submission);
	hold_submission(submission, tasks_conflict(submission) ?
					    NP_WHY_TASKS :
					    NP_WHY_FROM_PENDING);
	return 0;
}

static int place_preferred(struct submission *submission, const uint64_t *can)
{
	enum np_why why = why_unrestricted(submission);

	if (np_bits_subset(submission->counts->reach, can,
			   submission->allocation->problem.leaf_words) &&
	    why != NP_WHY_FITS)
		lift_restriction(submission, why);
	else if (prefer_find(&submission->allocation->prefer, submission->job,
			     submission->class, submission->counts,
			     submission->leaves))
		return restrict_submission(submission);
	else if (tasks_conflict(submission))
		lift_restriction(submission, NP_WHY_TASKS_TOGETHER);
	else
		lift_restriction(submission, NP_WHY_NO_ROOM_APART);
	return 0;
}

/* Find the leaves that a submission may use, and choose among them. */
static int place_submission(struct submission *submission)
{
	uint64_t can[NP_LEAVES_MAX / NP_BITS_WORD] = { 0 };

	/* Leaves that its class holds are checked too: a job that does not see
	   the class may have been admitted there since. */
	NP_BITS_EACH(leaf, submission->counts->reach,
		     submission->allocation->problem.leaf_words)
		if (class_can_take(&submission->allocation->classes,
				   submission->class, submission->job,
				   (uint32_t)leaf))
			np_bits_set(can, leaf);
	return submission->job->mode == NP_MODE_PREFER ?
		       place_preferred(submission, can) :
		       place_enforced(submission, can);
}

/* Why a job is not placed, whatever other jobs there are; 0: it is. */
static enum np_why why_not_placed(struct submission *submission)
{
	const struct np_problem *problem = &submission->allocation->problem;
	enum np_why why =
		why_exempt(problem, submission->job, submission->now_sec);

	if (why != NP_WHY_RUNNING)
		return why;
	if (!np_bits_any(submission->counts->reach, problem->leaf_words))
		return NP_WHY_NO_LEAF;
	if (!is_feasible(problem, submission->job, submission->counts))
		return NP_WHY_TOO_FEW_NODES;
	if (!is_share_used_up(submission->placement, submission->job->owner))
		submission->class = class_of(&submission->allocation->classes,
					     submission->job);
	return submission->class == NP_NONE ? NP_WHY_TOO_MANY : NP_WHY_RUNNING;
}

/*
 * Whether conflicting jobs avoid the leaves of this outcome. A job that is
 * unrestricted in spite of conflicts closes no leaf to others.
 */
static bool holds_leaves(const struct np_outcome *outcome)
{
	return outcome->action != NP_ACT_NONE &&
	       outcome->cause.why != NP_WHY_NO_ROOM_APART &&
	       outcome->cause.why != NP_WHY_TASKS_TOGETHER;
}

/* Whether the job may take nodes before the next decision. */
static bool may_start(const struct submission *submission)
{
	const struct np_job *job = submission->job;

	return job->state == NP_JOB_READY &&
	       job->eligible_sec <= submission->now_sec &&
	       is_feasible(&submission->allocation->problem, job,
			   submission->counts);
}

/* Decide, and record the leaves in the journal. 0 or -ENOMEM. */
static int decide_submission(struct submission *submission)
{
	struct np_admitted admitted = { .job = *submission->job,
					.at_sec = submission->now_sec };
	enum np_why why = why_not_placed(submission);
	int rc = 0;

	if (!why)
		rc = place_submission(submission);
	else if (why == NP_WHY_TOO_MANY &&
		 submission->job->mode != NP_MODE_PREFER)
		hold_submission(submission,
				why); /* the next decision takes it */
	else
		submission->outcome->cause.why = why;
	if (rc || submission->outcome->action == NP_ACT_HOLD ||
	    is_share_used_up(submission->placement, submission->job->owner))
		return rc;
	if (submission->outcome->action == NP_ACT_NONE) {
		if (!(submission->allocation->problem.policy.modes &
		      1u << NP_MODE_PREFER) ||
		    !may_start(submission))
			return 0; /* only mode prefer counts its nodes */
		memcpy(submission->leaves, submission->counts->reach,
		       submission->allocation->problem.leaf_words *
			       sizeof(*submission->leaves));
	}
	admitted.leaves = submission->leaves;
	admitted.restricted = submission->outcome->action == NP_ACT_RESTRICT;
	admitted.holds = holds_leaves(submission->outcome);
	admitted.may_start = may_start(submission);
	admitted.class = submission->class;
	return add_to_journal(submission->placement, submission->allocation,
			      &admitted);
}

static int check_submission(const struct np_placement *placement,
			    const struct np_job *job, struct np_err *err)
{
	if (job->state == NP_JOB_RUNNING ||
	    job->candidates >= placement->snapshot->set.n || !job->tasks ||
	    !job->nodes_min || (unsigned)job->mode > NP_MODE_ENFORCE ||
	    job->profile < NP_PROFILE_UNKNOWN ||
	    (job->profile >= 0 && (size_t)job->profile >= placement->table->n))
		return np_errf(err, -EINVAL,
			       "job %u being submitted: state %d,"
			       " set of nodes %u, %u tasks of %u nodes, mode %d"
			       " or profile %d",
			       job->id, (int)job->state, job->candidates,
			       job->tasks, job->nodes_min, (int)job->mode,
			       job->profile);
	return 0;
}

int np_placement_submit(struct np_placement *placement,
			const struct np_job *job, const uint64_t *excluded,
			int64_t now_sec, struct np_outcome *outcome,
			struct np_err *err)
{
	struct submission submission = {
		.placement = placement,
		.job = job,
		.class = NP_NONE,
		.counts = placement->scratch,
		.now_sec = now_sec,
		.leaves = placement->scratch_leaves,
		.outcome = outcome,
	};
	int rc;

	*outcome = (struct np_outcome){ .cause.leaf = NP_NO_LEAF };
	rc = check_submission(placement, job, err);
	if (rc)
		return rc;
	submission.allocation = allocation_for(placement, job);
	memset(submission.leaves, 0,
	       placement->snapshot->leaves->words * sizeof(*submission.leaves));
	count_candidates(placement, job, excluded);
	rc = decide_submission(&submission);
	if (rc) {
		*outcome = (struct np_outcome){ .cause.leaf = NP_NO_LEAF };
		return np_errf(err, rc, "placement: out of memory");
	}
	outcome->changed = outcome->narrows = outcome->action ==
						      NP_ACT_RESTRICT ||
					      outcome->action == NP_ACT_HOLD;
	outcome->applied = job->mode != NP_MODE_ADVISE &&
			   outcome->action != NP_ACT_NONE;
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
		struct np_admitted admitted = from->journal[i];
		struct np_allocation *allocation =
			allocation_for(to, &admitted.job);

		if (admitted.at_sec < arrivals->since_sec ||
		    np_arrivals_take(arrivals, admitted.job.owner) ||
		    is_share_used_up(to, admitted.job.owner) ||
		    (admitted.holds &&
		     (size_t)admitted.job.profile >= to->table->n))
			continue;
		if (admitted.holds)
			admitted.class =
				class_of(&allocation->classes, &admitted.job);
		admitted.holds = admitted.holds && admitted.class != NP_NONE;
		if (add_to_journal(to, allocation, &admitted))
			return;
	}
}

/* ---- Jobs that could not be updated ---- */

int np_placement_update_failed(struct np_placement *placement, size_t i)
{
	struct np_allocation *allocation = placement->real;
	uint32_t class = allocation->requests.class[i];

	if (class == NP_NONE)
		return 0; /* no job avoids it */
	for (size_t k = 0; k < placement->n_unwritten; k++)
		if (placement->unwritten[k] == class)
			return 0;
	if (np_array_grow(&placement->unwritten, placement->n_unwritten,
			  sizeof(*placement->unwritten)))
		return -ENOMEM;
	placement->unwritten[placement->n_unwritten++] = class;
	for (uint32_t leaf = 0; leaf < allocation->problem.n_leaves; leaf++)
		class_take(&allocation->classes, class, leaf);
	return 0;
}

/*
 * Whether the i-th job conflicts with an unwritten class on any leaf of a set;
 * NULL: on any leaf in reach.
 */
static bool conflicts_with_unwritten(const struct np_placement *placement,
				     size_t i, const uint64_t *set)
{
	const struct np_allocation *allocation = placement->real;
	const uint64_t *open =
		set ? set :
		      allocation->problem
				.counts[placement->snapshot->job[i].candidates]
				->reach;

	for (size_t k = 0; k < placement->n_unwritten; k++)
		if (conflict_on(&allocation->classes,
				allocation->requests.class[i],
				placement -> unwritten[k], open))
			return true;
	return false;
}

bool np_placement_may_widen(const struct np_placement *placement, size_t i)
{
	const struct np_outcome *outcome = &placement->outcome[i];

	if (!placement->n_unwritten || !outcome->applied ||
	    placement->real->requests.class[i] == NP_NONE)
		return true;
	for (uint32_t k = 0; k < outcome->tasks; k++)
		if (conflicts_with_unwritten(placement, i,
					     outcome->task_leaves[k]))
			return false;
	return outcome->action == NP_ACT_HOLD ||
	       !conflicts_with_unwritten(placement, i,
					 outcome->action == NP_ACT_RESTRICT ?
						 outcome->leaves :
						 NULL);
}

void np_policy_init(struct np_policy *policy)
{
	*policy = (struct np_policy){
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
	return np_errf(err, -EINVAL, "policy: %s %g s; expected 1 to 1e9", what,
		       sec);
}

static int policy_check(const struct np_policy *policy,
			const struct np_slowdowns *slowdowns,
			struct np_err *err)
{
	int rc;

	if (!(policy->max_slowdown >= 0 && policy->max_slowdown <= 100))
		return np_errf(err, -EINVAL,
			       "policy: MaxSlowdown %g; expected 0 to 100",
			       policy->max_slowdown);
	rc = check_time("MaxDefer", policy->max_hold_sec, err);
	if (!rc)
		rc = check_time("one hold", policy->hold_step_sec, err);
	if (!rc && (policy->unknown_as < NP_PROFILE_UNKNOWN ||
		    (policy->unknown_as >= 0 &&
		     (size_t)policy->unknown_as >= slowdowns->n)))
		return np_errf(err, -EINVAL,
			       "policy: unknown jobs count as profile %d, which"
			       " is not there",
			       policy->unknown_as);
	return rc;
}

static int placement_check(const struct np_snapshot *snapshot,
			   const struct np_slowdowns *slowdowns,
			   const struct np_policy *policy, struct np_err *err)
{
	const struct np_job *job = snapshot->job;

	if (!snapshot->sealed)
		return np_errf(err, -EINVAL, "placement: unsealed snapshot");
	for (size_t i = 0; i < snapshot->n_jobs; i++)
		if (job[i].profile != NP_PROFILE_UNKNOWN &&
		    (size_t)job[i].profile >= slowdowns->n)
			return np_errf(err, -EINVAL,
				       "job %u: profile %d of %zu", job[i].id,
				       job[i].profile, slowdowns->n);
	return policy_check(policy, slowdowns, err);
}

/* Make the allocation, and another one for mode advise if needed. */
static int make_allocations(struct np_placement *placement)
{
	const struct np_job *job = placement->snapshot->job;
	const unsigned act = 1u << NP_MODE_PREFER | 1u << NP_MODE_ENFORCE;
	unsigned *modes = &placement->policy.modes;
	bool both;
	int rc;

	for (size_t i = 0; i < placement->snapshot->n_jobs; i++)
		*modes |= 1u << job[i].mode;
	both = *modes & 1u << NP_MODE_ADVISE && *modes & act;
	rc = allocation_new(placement->snapshot, placement->table,
			    &placement->policy, placement->outcome,
			    !(*modes & act), NULL, &placement->real);
	placement->advised = placement->real;
	if (!rc && both) {
		placement->advised = NULL;
		rc = allocation_new(placement->snapshot, placement->table,
				    &placement->policy, placement->outcome,
				    true, placement->real, &placement->advised);
	}
	return rc;
}

/* Decide about all jobs of the snapshot. 0 or -errno. */
static int decide_all(struct np_placement *placement)
{
	const struct np_leaves *leaves = placement->snapshot->leaves;
	size_t n = placement->snapshot->n_jobs;
	int rc;

	placement->outcome = calloc(n + 1, sizeof(*placement->outcome));
	placement->scratch_set = calloc(leaves->node_words, sizeof(uint64_t));
	placement->scratch_leaves = calloc(leaves->words + 1, sizeof(uint64_t));
	if (!placement->outcome || !placement->scratch_set ||
	    !placement->scratch_leaves)
		return -ENOMEM;
	rc = count_holds(placement->snapshot, placement->outcome);
	if (!rc)
		rc = make_allocations(placement);
	if (rc)
		return rc;
	placement->scratch = counts_new(&placement->real->problem);
	return placement->scratch ? decide_jobs(placement) : -ENOMEM;
}

int np_placement_decide(struct np_snapshot *snapshot,
			struct np_slowdowns *slowdowns,
			const struct np_policy *policy,
			struct np_placement **out, struct np_err *err)
{
	struct np_placement *placement;
	int rc = placement_check(snapshot, slowdowns, policy, err);

	if (rc)
		return rc;
	placement = calloc(1, sizeof(*placement));
	if (!placement)
		return np_errf(err, -ENOMEM, "placement: out of memory");
	placement->snapshot = np_snapshot_ref(snapshot);
	placement->table = np_slowdowns_ref(slowdowns);
	placement->policy = *policy;
	placement->admitted.limit = NP_PLACEMENT_MAX_ADMITTED;
	rc = decide_all(placement);
	if (rc) {
		np_placement_free(placement);
		return np_errf(err, rc, "placement: out of memory");
	}
	*out = placement;
	return 0;
}

void np_placement_free(struct np_placement *placement)
{
	if (!placement)
		return;
	if (placement->advised != placement->real)
		allocation_free(placement->advised);
	allocation_free(placement->real);
	np_snapshot_unref(placement->snapshot);
	np_slowdowns_unref(placement->table);
	free(placement->outcome);
	free(placement->journal);
	np_shares_free(&placement->admitted);
	free(placement->unwritten);
	free(placement->scratch_set);
	free(placement->scratch_leaves);
	free(placement);
}

const struct np_outcome *np_outcome_of(const struct np_placement *placement,
				       size_t i)
{
	return &placement->outcome[i];
}

double np_placement_worst_slowdown(const struct np_placement *placement,
				   size_t leaf)
{
	uint32_t worst = 0;

	EACH_SWITCH(sw, placement->snapshot->leaves, leaf) {
		uint32_t load = leaf_load_worst(&placement->real->loads, *sw);

		if (load > worst)
			worst = load;
	}
	return np_slowdowns_from_load(worst);
}
