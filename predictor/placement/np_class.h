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

#include "np_leaf_load.h"

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
 * np_class_apart.c: must class a avoid, on a leaf, what runs there
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
