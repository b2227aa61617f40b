/*
 * Classes of pending jobs alike in profile, in where they touch others and,
 * where it matters, in owner: what holds for one job holds for all.
 *
 * What a class is, and what the tenants of each leaf mean for it, stays as it
 * was made; which classes hold which leaf changes.  Always:
 * - the row of a class says of every other whether they must be apart on all
 *   leaves, or perhaps on some; who is not in "mind" need not be asked about;
 * - class.held, on_leaf and, of trusted classes, what the leaf loads have
 *   noted say the same as class.holders.
 */
#ifndef NP_CLASS_H
#define NP_CLASS_H

#include "np_bits.h"
#include "np_placement.h"
#include "np_snapshot.h"

/* What a set of nodes has on each leaf. */

/* Nodes of one set on each leaf, and in [n] those without a leaf. */
struct np_counts {
	uint16_t *usable, *free_alone, *free_shared; /* n_leaves each */
	uint64_t *reach; /* leaves with any node of the set */
	uint32_t loose_usable, loose_free_alone, loose_free_shared;
	uint64_t all_usable; /* of all leaves, and without one */
};

/* set[]: by place; arrays of c are the caller's. */
void np_counts_fill(const struct np_snapshot *s, const uint64_t *set,
		    struct np_counts *c);

/*
 * Nodes of one column of counts on some leaves, with those on no leaf; on the
 * best so many leaves if switches > 0, where more than NP_COUNTS_MAX_SWITCHES
 * count as no limit.
 */
#define NP_COUNTS_MAX_SWITCHES 64
uint64_t np_counts_sum(uint32_t switches, const uint16_t *column,
		       uint32_t loose, const uint64_t *leaves, size_t lw);

/*
 * What one decision is given: a snapshot, predictions, a policy and the nodes
 * there are; and the memory that it works in.
 *
 * After np_problem_init() only the memory and the counts grow, and a set that
 * was counted is not counted again.
 */

#define NP_NONE UINT32_MAX

struct np_problem {
	const struct np_snapshot *s;
	const struct np_press *t;
	struct np_policy policy;
	const struct np_outcome *outcome; /* per job: held_sec is known */
	uint32_t limit;		/* load */
	bool what_if; /* advise partitions enforced as well */
	size_t n_leaves, lw;

	struct np_counts **counts; /* per set of the snapshot; NULL: unused */
	uint16_t *leaf_usable, *leaf_free; /* of all nodes, per leaf */
	uint32_t *leaf_order; /* most free nodes first */
	uint32_t *private_owner; /* of jobs that others do not see; ascending */
	size_t n_private;
	uint64_t *none;	   /* lw words of 0 */
	uint64_t *scratch; /* lw words */

	struct np_problem_block *blocks; /* what np_problem_alloc() gave */
};

/*
 * other: of the same snapshot, or NULL; its counts are used as they are, so it
 * lives longer.  Returns 0 or -ENOMEM; to be freed in either case.
 */
int np_problem_init(struct np_problem *p, const struct np_snapshot *s,
		    const struct np_press *t, const struct np_policy *policy,
		    const struct np_outcome *outcome, bool what_if,
		    const struct np_problem *other);
void np_problem_free(struct np_problem *p);
/* Zeroed, and at least one item; freed with the problem. */
void *np_problem_alloc(struct np_problem *p, size_t n, size_t item);

/* Why a job is not ours to decide; 0 (RUNNING) if it is or if it runs. */
enum np_why np_problem_aside(const struct np_problem *p,
			     const struct np_job *j, int64_t now_sec);
bool np_problem_enforced(const struct np_problem *p, const struct np_job *j);
/* The policy's limit of time for the job's mode. */
bool np_problem_held_enough(const struct np_problem *p, const struct np_job *j,
			    double held_sec);

/* What a set of the snapshot has on each leaf; NULL: out of memory. */
const struct np_counts *np_problem_counts(struct np_problem *p, uint32_t set);
struct np_counts *np_problem_counts_new(struct np_problem *p);
/* Whether usable candidate nodes suffice at all, whoever else runs. */
bool np_problem_enough(const struct np_problem *p, const struct np_job *j,
		       const struct np_counts *c);

/*
 * What runs on each leaf, and what load it has there.
 *
 * A tenant of a leaf is what runs there of one profile and touch, and of one
 * owner where others do not see it.  Tenants stay as they are; what changes is
 * how much of each sensitive one's room the classes that hold the leaf may
 * take.  Always:
 * - the sensitive tenants of a leaf come before its others;
 * - tenant.extra is the most that one arrival noted on the leaf since the last
 *   leaf_load_clear() adds to it.
 *
 * What an owner has on a leaf that others do not see is an estate.
 */

#define NP_ANYBODY UINT32_MAX

struct np_tenant {
	uint16_t profile;
	uint8_t touch;
	uint16_t extra; /* most that an arrival would add */
	uint32_t n;
	uint32_t load;	/* of one of them, from the trusted others here */
	uint32_t owner;
	uint32_t job;	/* one of them */
};

struct np_aggressor {
	uint16_t profile;
	uint8_t touch;
	uint32_t n;
};

struct np_tenants {
	struct np_tenant *tenant;
	uint32_t *first;     /* n_leaves + 1 */
	/* n_leaves: an arrival or two could be too much for so many. */
	uint32_t *sensitive;
	/* Those of them that press on anybody, once more, packed. */
	struct np_aggressor *aggressor;
	uint32_t *first_aggressor;
};

struct np_estate {
	uint32_t leaf;
	uint32_t first, end; /* in own.tenant */
	uint32_t felt;	     /* where its loads begin in felt */
};

struct np_leaf_loads {
	struct np_problem *p;
	struct np_tenants seen, own; /* trusted; seen by their owner alone */
	/* Of the i-th private owner, in order of leaves: from first_estate[i]
	   on. */
	struct np_estate *estate;
	uint32_t *first_estate;
	/*
	 * Load from an estate of each tenant of its leaf that all see, then of
	 * each of its own, which itself counts once less.
	 */
	uint32_t *felt;
};

/* Returns 0 or -ENOMEM. */
int np_leaf_loads_init(struct np_leaf_loads *l, struct np_problem *p);

/* The largest load of what runs on a leaf and all see. */
uint32_t np_leaf_load_worst(const struct np_leaf_loads *l, size_t leaf);

/* What the tenants of each leaf mean for a class; loads. */
struct np_class_view {
	uint16_t *load;	 /* of the class */
	uint16_t *worst; /* of a tenant beside the class, if it feels it */
	uint16_t *push;	 /* most that the class adds to a tenant */
};

/* The most of each on any leaf. */
struct np_class_most {
	uint16_t load, worst, push;
};

struct np_class {
	/* What rows are made of comes first, side by side. */
	uint16_t profile;
	uint8_t touch;
	bool trusted;
	uint32_t owner; /* NP_ANYBODY where it makes no difference */
	struct np_class_most seen_most, own_most;
	bool self;  /* its jobs conflict with each other on some leaf */
	bool quiet; /* for sure conflicts with nothing in the snapshot */
	bool asked, meets; /* answer of np_class_meets() */
	uint32_t n_row;	/* classes that its row says something of: all of the
			   snapshot, and those there were when np_class_of()
			   last gave it */
	uint32_t job;	/* first of them */
	uint32_t n;	/* jobs and array tasks in the snapshot */
	uint32_t next;	/* of the same profile; NP_NONE */
	uint32_t near;	/* bits: words of its rows that are not 0, and the one
			   it is in itself */

	/* With what all see; of tenants that feel it, the sensitive ones. */
	struct np_class_view seen;
	/* With its owner's as well; the same arrays where there are none. */
	struct np_class_view own;

	uint16_t *holders; /* per leaf: as often as np_class_hold() */
	uint64_t *open;	      /* leaves where no tenant forbids it */
	uint64_t *self_apart; /* leaves for one of its jobs at most */
	uint64_t *held;	      /* leaves with holders */
};

struct np_classes {
	struct np_problem *p;
	struct np_leaf_loads *loads;
	struct np_class *at;
	size_t n, room, words;	/* of a bitmap of classes; 0: not sealed */
	size_t n_sealed;	/* classes of the snapshot */
	uint32_t *of_profile;	/* the last one, or NP_NONE */
	uint16_t *nothing;	/* per leaf: 0 */
	/*
	 * room rows of words: whom a class must avoid on any leaf; on some leaf
	 * perhaps, for the load there; of the same owner, on some leaf perhaps,
	 * for what runs there with what that owner alone sees; and all whom it may have to avoid anywhere
	 * for any reason.
	 */
	uint64_t *hard, *soft, *kin, *mind;
	uint64_t *on_leaf; /* n_leaves rows of words: classes that hold */
	uint64_t *open_on; /* the same: classes that no tenant keeps off, of
			      the snapshot */
};

/* Returns 0 or -ENOMEM. */
int np_classes_init(struct np_classes *c, struct np_problem *p,
		    struct np_leaf_loads *loads);
/*
 * The class of a job; NP_NONE: there are too many, or no memory.  What is asked
 * of it below takes all classes into account that there are now.
 */
uint32_t np_class_of(struct np_classes *c, const struct np_job *j);
/*
 * Classes whose rows say something of each other get numbers side by side, so
 * that few words of a row do.  Returns the new number of each; NULL: no memory.
 */
uint32_t *np_classes_renumber(struct np_classes *c);
/*
 * All classes of the snapshot are there: who must avoid whom.  A few more may
 * be made later.  Returns 0 or -ENOMEM.
 */
int np_classes_seal(struct np_classes *c);

/* Does it conflict with anything in the snapshot, on any leaf? */
bool np_class_meets(struct np_classes *c, uint32_t class);
bool np_class_open_everywhere(const struct np_classes *c, uint32_t class);
/*
 * Leaves for an array of a class that conflicts with itself on some, in bits
 * (lw words): those where it does not.  false: they are not enough.
 */
bool np_class_together(const struct np_classes *c, uint32_t class,
		       const struct np_job *j, const struct np_counts *counts,
		       uint64_t *bits);

/*
 * Must class a avoid, on a leaf, what runs there
 * (b == NP_NONE), or a pending job of class b with what runs there?  cause
 * (may be NULL) is filled in if so.
 */
bool np_class_apart(const struct np_classes *c, uint32_t a, uint32_t b,
		    uint32_t leaf, struct np_cause *cause);
/*
 * The same of two jobs, one of each class, on any leaf of a set, whichever of
 * them yields; a may be b.
 */
bool np_class_apart_on(const struct np_classes *c, uint32_t a, uint32_t b,
		       const uint64_t *leaves);
/* Must class a avoid a leaf, from what runs and what holds it now? */
bool np_class_blocked(const struct np_classes *c, uint32_t a, uint32_t leaf);
/* May one more job of the class be there, as others stand now? */
bool np_class_can_take(const struct np_classes *c, uint32_t class,
		       const struct np_job *j, uint32_t leaf);
/* Somebody of the class takes or leaves a leaf. */
void np_class_hold(struct np_classes *c, uint32_t class, uint32_t leaf);
void np_class_drop(struct np_classes *c, uint32_t class, uint32_t leaf);

#endif
