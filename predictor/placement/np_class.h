/*
 * Classes of pending jobs, and the working data of one placement decision that
 * classes are computed from. Internal to the placement decision.
 *
 * A class are the pending jobs with the same profile, the same contact with
 * other jobs and, where it matters, the same owner. What the decision finds out
 * about one of them holds for all, so its cost depends on the number of classes
 * and not on that of jobs.
 *
 * What a class is, and what the running jobs on each leaf mean for it, is fixed
 * when the class is made; which classes hold which leaf changes. Invariants:
 *
 * - The bitmaps hard, soft, soft_own and relevant of a class say for every
 *   other class whether it must be avoided on all leaves, or perhaps on some;
 *   a class that is not in "relevant" never needs to be checked.
 * - class.held, classes.on_leaf and, for trusted classes, the arrivals noted in
 *   the leaf loads all agree with class.holders.
 */
#ifndef NP_CLASS_H
#define NP_CLASS_H

#include "np_bits.h"
#include "np_placement.h"
#include "np_snapshot.h"

/* ---- Counts: what a set of nodes has on each leaf ---- */

/* Number of nodes of one set on each leaf, and without a leaf (no_leaf_*). */
struct np_counts {
	/* n_leaves each: usable; idle; idle or with capacity to share. */
	uint16_t *usable, *free_alone, *free_shared;
	uint64_t *reach; /* bitmap: leaves with any node of the set */
	uint32_t no_leaf_usable, no_leaf_free_alone, no_leaf_free_shared;
	uint64_t all_usable; /* on all leaves and on none */
};

/* Fill in the arrays that c points to. set: bitmap by position. */
void np_counts_fill(const struct np_snapshot *s, const uint64_t *set,
		    struct np_counts *c);

/*
 * Sum of one column of counts over some leaves, plus the nodes without a leaf.
 * With switches > 0 only the best that many leaves count; more than
 * NP_COUNTS_MAX_SWITCHES means no limit.
 */
#define NP_COUNTS_MAX_SWITCHES 64
uint64_t np_counts_sum(uint32_t switches, const uint16_t *column,
		       uint32_t no_leaf, const uint64_t *leaves, size_t lw);

/*
 * ---- Problem: the input of one decision, and its memory ----
 *
 * After np_problem_init() only the memory and the counts grow. A set of nodes
 * is counted once.
 */

#define NP_NONE UINT32_MAX

struct np_problem {
	const struct np_snapshot *s;
	const struct np_slowdowns *t; /* predictions */
	struct np_policy policy;
	const struct np_outcome *outcome; /* per job; held_sec is filled in */
	uint32_t limit;		/* the policy's MaxSlowdown as a load */
	bool what_if; /* treat partitions in mode advise like enforce */
	size_t n_leaves, lw; /* lw: words of a bitmap of leaves */

	struct np_counts **counts; /* per set of the snapshot; NULL: not yet */
	uint16_t *leaf_usable, *leaf_free; /* all nodes of each leaf: usable,
					      idle */
	uint32_t *leaf_order; /* leaves, most idle nodes first */
	uint32_t *private_owner; /* owners of jobs that only they see,
				    ascending */
	size_t n_private;
	uint64_t *no_leaves; /* lw words of 0 */
	uint64_t *scratch;   /* lw words */

	struct np_problem_block *blocks; /* memory of np_problem_alloc() */
};

/*
 * other: problem of the same snapshot whose counts are reused and which must
 * live longer, or NULL. Returns 0 or -ENOMEM; np_problem_free() in either case.
 */
int np_problem_init(struct np_problem *p, const struct np_snapshot *s,
		    const struct np_slowdowns *t, const struct np_policy *policy,
		    const struct np_outcome *outcome, bool what_if,
		    const struct np_problem *other);
void np_problem_free(struct np_problem *p);
/* Zeroed memory for n items, at least one; freed with the problem. */
void *np_problem_alloc(struct np_problem *p, size_t n, size_t item);

/*
 * Why placement does not decide about a job; 0 (NP_WHY_RUNNING) if it does, or
 * if the job is running.
 */
enum np_why np_problem_exempt(const struct np_problem *p,
			      const struct np_job *j, int64_t now_sec);
/* Whether the job's leaves are enforced, in fact or as a what-if. */
bool np_problem_enforced(const struct np_problem *p, const struct np_job *j);
/* Whether a job was held back as long as the policy allows in its mode. */
bool np_problem_hold_expired(const struct np_problem *p, const struct np_job *j,
			     double held_sec);

/* Counts of a set of the snapshot; NULL: out of memory. */
const struct np_counts *np_problem_counts(struct np_problem *p, uint32_t set);
/* Counts with all arrays allocated, for np_counts_fill(). NULL: no memory. */
struct np_counts *np_problem_counts_new(struct np_problem *p);
/* Whether the job's usable candidate nodes suffice, whatever else runs. */
bool np_problem_feasible(const struct np_problem *p, const struct np_job *j,
			 const struct np_counts *c);

/*
 * ---- Leaf loads: the running jobs on each leaf, and how much they suffer ----
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
	uint32_t load;	/* of one of them, by the other public jobs there */
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
	uint32_t *first; /* n_leaves + 1: index of each leaf's first entry */
	/* Per leaf: entries that one or two arrivals could push too far. */
	uint32_t *sensitive;
	/* The entries that slow any profile once more, packed. */
	struct np_aggressor *aggressor;
	uint32_t *first_aggressor; /* n_leaves + 1 */
};

/* What one owner has on one leaf that others do not see. */
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

/* Returns 0 or -ENOMEM. */
int np_leaf_loads_init(struct np_leaf_loads *l, struct np_problem *p);

/* The largest load of the jobs on a leaf that everybody sees. */
uint32_t np_leaf_load_worst(const struct np_leaf_loads *l, size_t leaf);

/* ---- Classes ---- */

/* Per leaf: loads that follow from the running jobs there. */
struct np_class_loads {
	uint16_t *load;	  /* of a job of the class */
	uint16_t *victim; /* largest total load of a running job that the class
			     slows, with a job of the class beside it */
	uint16_t *added;  /* most that the class adds to such a job */
};

/* The maximum of each over all leaves. */
struct np_class_max {
	uint16_t load, victim, added;
};

struct np_class {
	/* What np_class_of() compares comes first. */
	uint16_t profile;
	uint8_t touch;
	bool trusted;
	uint32_t owner; /* NP_ANY_OWNER where it makes no difference */
	struct np_class_max public_max, full_max;
	bool self;  /* two of its jobs conflict on some leaf */
	bool conflict_free; /* certainly conflicts with nothing at all */
	bool known, conflicts; /* cached result of np_class_conflicts() */
	uint32_t n_compared; /* classes that its bitmaps cover */
	uint32_t job;	/* id of its first job */
	uint32_t n;	/* jobs and array tasks in the snapshot */
	uint32_t next;	/* class of the same profile; NP_NONE */
	uint32_t row_words; /* bits: the words of its bitmaps that are not 0,
			       and the word that the class itself is in */

	/* Beside the public jobs; of its victims only the sensitive ones. */
	struct np_class_loads public;
	/* Beside its owner's private jobs as well; else the same arrays. */
	struct np_class_loads full;

	uint16_t *holders; /* per leaf: np_class_hold() less np_class_drop() */
	uint64_t *open;	      /* leaves that no running job closes to it */
	uint64_t *self_apart; /* leaves for at most one of its jobs */
	uint64_t *held;	      /* leaves with holders */
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
	/* Bitmaps of classes, one per leaf. */
	uint64_t *on_leaf; /* classes that hold it */
	uint64_t *open_on; /* sealed classes that no running job keeps off */
};

/* Returns 0 or -ENOMEM. */
int np_classes_init(struct np_classes *c, struct np_problem *p,
		    struct np_leaf_loads *loads);
/*
 * The class of a job, made if needed and compared with all present classes.
 * NP_NONE: too many classes, or out of memory.
 */
uint32_t np_class_of(struct np_classes *c, const struct np_job *j);
/*
 * Give adjacent numbers to classes that may be relevant to each other, so that
 * their bitmaps have few words that are not 0. Returns the new number of each
 * class; NULL: out of memory.
 */
uint32_t *np_classes_renumber(struct np_classes *c);
/*
 * All classes of the snapshot are made: compare them with each other. A limited
 * number can still be added. Returns 0 or -ENOMEM.
 */
int np_classes_seal(struct np_classes *c);

/* Whether a class conflicts with anything in the snapshot, on any leaf. */
bool np_class_conflicts(struct np_classes *c, uint32_t class);
bool np_class_open_everywhere(const struct np_classes *c, uint32_t class);
/*
 * For an array whose class conflicts with itself on some leaves: the leaves
 * where its tasks may run together, in bits (lw words). false: these have too
 * few nodes.
 */
bool np_class_array_leaves(const struct np_classes *c, uint32_t class,
			   const struct np_job *j,
			   const struct np_counts *counts, uint64_t *bits);

/*
 * Whether class a must avoid a leaf because of the jobs running there (b:
 * NP_NONE), or must avoid pending jobs of class b there. cause (may be NULL) is
 * set if so.
 */
bool np_class_avoids(const struct np_classes *c, uint32_t a, uint32_t b,
		     uint32_t leaf, struct np_cause *cause);
/*
 * Whether one job of each class conflict on any of these leaves, whichever of
 * them has to yield; a may be b.
 */
bool np_class_conflict_on(const struct np_classes *c, uint32_t a, uint32_t b,
			  const uint64_t *leaves);
/* Whether a must avoid a leaf because of what runs there or now holds it. */
bool np_class_blocked(const struct np_classes *c, uint32_t a, uint32_t leaf);
/* Whether one more job of the class may use a leaf, given who holds it now. */
bool np_class_can_take(const struct np_classes *c, uint32_t class,
		       const struct np_job *j, uint32_t leaf);
/* Record that a job or group of the class takes, or gives up, a leaf. */
void np_class_hold(struct np_classes *c, uint32_t class, uint32_t leaf);
void np_class_drop(struct np_classes *c, uint32_t class, uint32_t leaf);

#endif
