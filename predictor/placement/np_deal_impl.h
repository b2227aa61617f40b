/*
 * The working state of one decision, in which leaves are dealt out to jobs;
 * kept afterwards for np_placement_one().
 *
 *   crowd   what runs on each leaf
 *   kind    pending jobs alike in profile, touch and, where it matters, owner:
 *           what holds for one holds for all
 *   unit    jobs of a kind that share one set of leaves; where jobs of the
 *           kind conflict with each other, every job is a unit of its own
 *   seat    a job, or a task of an array, in order of precedence
 *   cohort  seats of a unit with the same candidate nodes
 */
#ifndef NP_DEAL_IMPL_H
#define NP_DEAL_IMPL_H

#include "np_bits.h"
#include "np_placement.h"
#include "np_press_impl.h"
#include "np_snapshot_impl.h"

/* Room for kinds that turn up between two decisions. */
#define NP_DEAL_SPARE_KINDS 128
#define NP_ANYBODY UINT32_MAX
#define NP_NONE UINT32_MAX

/* Running jobs of one profile and touch (and owner, if not trusted). */
struct np_runner {
	uint16_t profile;
	uint8_t touch;
	uint8_t tender; /* an arrival or two could be too much for it */
	uint16_t extra; /* largest load that a kind open here would add */
	uint32_t n;
	uint32_t load;	/* of one of them, from the trusted others here */
	uint32_t owner;
	uint32_t job;	/* one of them */
};

struct np_loud {
	uint16_t profile;
	uint8_t touch;
	uint32_t n;
};

struct np_crowd {
	struct np_runner *runner;
	uint32_t *first;  /* n_leaves + 1 */
	uint32_t *tender; /* n_leaves: as many of them come first */
	/* Those of them that press on anybody, once more, packed. */
	struct np_loud *loud;
	uint32_t *first_loud;
};

/* What the runners of each leaf mean for a kind; loads. */
struct np_kind_view {
	uint16_t *load;	 /* of the kind */
	uint16_t *worst; /* of one there beside the kind, if it feels it */
	uint16_t *push;	 /* most that the kind adds to one there */
};

struct np_kind {
	uint16_t profile;
	uint8_t touch;
	bool trusted;
	bool self;  /* its jobs conflict with each other on some leaf */
	bool quiet; /* for sure conflicts with nothing in the snapshot */
	bool asked, meets; /* answer of np_deal_kind_meets() */
	uint32_t owner; /* NP_ANYBODY where it makes no difference */
	uint32_t job;	/* first of them */
	uint32_t n;	/* jobs and array tasks in the snapshot */
	uint32_t unit, last_unit; /* in order of rank; NP_NONE */
	uint32_t cohort; /* first of those not alike; NP_NONE */
	uint32_t next;	/* of the same profile; NP_NONE */

	/* With the trusted runners; of those that feel it, the tender ones. */
	struct np_kind_view seen;
	/* With its owner's as well; the same arrays where there are none. */
	struct np_kind_view own;
	uint32_t max_load, max_worst, max_push; /* seen */

	uint16_t *holders; /* per leaf: units that hold it */
	uint64_t *open;	      /* leaves where nothing running forbids it */
	uint64_t *self_apart; /* leaves for one of its jobs at most */
	uint64_t *held;	      /* leaves with holders */
};

struct np_cohort {
	const struct np_counts *counts;
	const uint16_t *free; /* the column of counts that applies */
	uint32_t loose_free;
	uint32_t unit, next; /* next cohort of the unit */
	uint32_t switches;
	uint32_t set;	/* handle */
	bool shares;
	/*
	 * In this sweep: from so many free or usable nodes on, a seat asked
	 * for them in vain.  Of cohorts alike but for the unit, while that
	 * holds nothing, the first one says it for all.
	 */
	uint64_t free_in_vain, usable_in_vain;
	uint32_t like, next_like;
	uint32_t max_need;
	uint32_t first_seat, n_seats, n_ready; /* in deal->by_cohort */
	uint64_t wanted; /* while seats are added: sum of weights */
	uint64_t in_free, in_usable; /* nodes on the leaves held */
};

struct np_unit {
	uint32_t kind;
	uint32_t cohort; /* first */
	uint32_t next;	 /* of the same kind */
	uint32_t rank;	 /* of its first seat */
	bool ready;	 /* has a seat that may start */
	bool together;	 /* tasks of one array, kept on leaves for several */
	bool placed;	 /* has a seat whose need is met */
	uint64_t *set, *reach;
	uint64_t demand, supply; /* nodes */
};

struct np_seat {
	uint32_t job; /* index in the snapshot */
	uint32_t kind, unit, cohort;
	uint32_t need;
	uint32_t task; /* 0 .. */
	uint64_t cum; /* nodes wanted by the cohort up to here */
	bool ready;
};

struct np_deal {
	const struct np_snapshot *s;
	const struct np_press *t;
	struct np_policy policy;
	const double *held_sec; /* per job, up to now */
	uint32_t limit;		/* load */
	bool what_if;	/* advise partitions enforced as well */
	size_t n_leaves, lw;

	struct np_crowd seen, own; /* trusted; not trusted */
	uint16_t *extra_max;	   /* per leaf: worst extra of a tender one */

	struct np_kind *kind;
	size_t n_kinds, kind_room, kw;
	size_t n_first_kinds; /* those of the snapshot */
	uint32_t *kind_of_profile; /* the last one, or NP_NONE */
	/*
	 * kind_room rows of kw words: whom a kind must avoid on any leaf; on
	 * some leaf perhaps, for the load there; other kinds of the same
	 * owner, where that makes a difference; and all whom it may have to
	 * avoid anywhere for any reason.
	 */
	uint64_t *hard, *soft, *kin, *mind;
	uint64_t *on_leaf;     /* n_leaves rows of kw words: kinds that hold */
	uint32_t *private_owner; /* owners of jobs that others do not see */
	size_t n_private;

	struct np_counts **counts; /* per set of the snapshot; NULL: unused */
	uint16_t *leaf_usable, *leaf_free; /* of all nodes, per leaf */
	uint64_t *open_on; /* n_leaves rows of kw words: kinds that no running
			      job keeps off the leaf */
	uint32_t *leaf_order; /* most free nodes first */
	uint64_t *none;	      /* lw words of 0 */
	uint64_t *scratch;    /* lw words */

	uint32_t *order; /* pending jobs that are ours, by precedence */
	size_t n_order;
	uint32_t *job_kind; /* per job; NP_NONE: not ours, or too many kinds */
	struct np_seat *seat; /* of enforced jobs, by precedence */
	size_t n_seats;
	uint32_t *seat_of;   /* first seat of a job, or NP_NONE */
	uint32_t *by_cohort; /* seats */
	struct np_unit *unit;
	size_t n_units;
	uint64_t *unit_bits;
	struct np_pool cohort;
	struct np_pool undo;

	/* Mode prefer: free nodes that jobs before it may take. */
	uint32_t *spoken; /* per leaf: by confined jobs */
	uint32_t *partition; /* n_partitions, ascending */
	uint64_t *wants;     /* per partition: by jobs that may go anywhere */
	uint64_t *wants_reach; /* lw words each */
	size_t n_partitions;
	uint64_t **prefer_set; /* per job; NULL: not confined */

	struct np_deal_block *blocks; /* what np_deal_alloc() gave */
	size_t bytes;
};

/* Load of one job beside another, by profile and touch. */
static inline uint32_t np_deal_pair(const struct np_press *t, uint32_t victim,
				    uint32_t victim_touch, uint32_t co,
				    uint32_t co_touch)
{
	return np_press_feels(t, victim)[co * NP_N_TOUCH +
					 (victim_touch & co_touch)];
}

/* Loads stay far from the end of their type whatever is added. */
static inline uint32_t np_deal_clamp(uint64_t load)
{
	return load < 1u << 24 ? (uint32_t)load : 1u << 24;
}

/* np_deal.c */
void *np_deal_alloc(struct np_deal *p, size_t n, size_t item);
int np_deal_new(const struct np_snapshot *s, const struct np_press *t,
		const struct np_policy *policy, const double *held_sec,
		bool what_if, struct np_deal **out);
void np_deal_free(struct np_deal *p);
/* Why a job is not ours to decide; 0 (RUNNING) if it is or if it runs. */
enum np_why np_deal_aside(const struct np_deal *p, const struct np_job *j,
			  int64_t now_sec);
bool np_deal_known(const struct np_deal *p, const struct np_job *j);
bool np_deal_enforced(const struct np_deal *p, const struct np_job *j);
/* The policy's limit of time for the job's mode. */
bool np_deal_held_enough(const struct np_deal *p, const struct np_job *j,
			 double held_sec);
const struct np_counts *np_deal_counts(struct np_deal *p, uint32_t set);
struct np_counts *np_deal_counts_new(struct np_deal *p);
void np_deal_counts_free(struct np_counts *c);

/* np_deal_order.c */
/* Priority, age, number: below 0 if x comes first. */
int np_deal_precedence(const struct np_job *x, const struct np_job *y);
void np_deal_sort(const struct np_snapshot *s, uint32_t *job, size_t n);
bool np_deal_ready(const struct np_snapshot *s, const struct np_job *j);
/* Sort, drop repeats, return how many are left. */
size_t np_deal_unique(uint32_t *number, size_t n);
/* Where key is among n ascending numbers; n if it is not. */
size_t np_deal_find(const uint32_t *number, size_t n, uint32_t key);

/* np_deal_crowd.c */
int np_deal_crowd(struct np_deal *p);

/* np_deal_kind.c */
uint8_t np_deal_touch(const struct np_deal *p, const struct np_job *j);
/* The kind of a job; new ones up to room.  NP_NONE: none left or no memory. */
uint32_t np_deal_kind_of(struct np_deal *p, const struct np_job *j,
			 size_t room);
/* Fill in what the running jobs mean for a kind, then its rows. */
void np_deal_kind_load(struct np_deal *p, struct np_kind *k);
void np_deal_kind_rows(struct np_deal *p, uint32_t kind);
/* Does it conflict with anything in the snapshot, on any leaf? */
bool np_deal_kind_meets(struct np_deal *p, uint32_t kind);
bool np_deal_kind_full(const struct np_deal *p, const struct np_kind *k);
/* Does a see b: may b's profile limit a's jobs? */
bool np_deal_sees(const struct np_kind *a, const struct np_kind *b);

/* np_deal_apart.c */
/* Load from an owner's private runners on a leaf, one of them left out. */
uint64_t np_deal_own_load(const struct np_deal *p, uint32_t profile,
			  uint32_t touch, uint32_t leaf, uint32_t owner,
			  const struct np_runner *but);
/*
 * Must kind a avoid, on a leaf, what runs there (b == NP_NONE), or a pending
 * job of kind b with what runs there?  cause (may be NULL) is filled in if so.
 */
bool np_deal_apart(const struct np_deal *p, uint32_t a, uint32_t b,
		   uint32_t leaf, struct np_cause *cause);
/* Must kind a avoid a leaf, from what runs and what holds it now? */
bool np_deal_blocked(const struct np_deal *p, uint32_t a, uint32_t leaf);
/* A unit of the kind takes or leaves a leaf. */
void np_deal_kind_hold(struct np_deal *p, uint32_t kind, uint32_t leaf);
void np_deal_kind_drop(struct np_deal *p, uint32_t kind, uint32_t leaf);

/* np_deal_unit.c */
int np_deal_seats(struct np_deal *p);
int np_deal_units(struct np_deal *p);
/*
 * Leaves for an array of a kind that conflicts with itself on some, in bits
 * (lw words): those where it does not.  false: they are not enough.
 */
bool np_deal_together(const struct np_deal *p, const struct np_job *j,
		      uint32_t kind, const struct np_counts *c,
		      uint64_t *bits);
/* Whether usable candidate nodes suffice at all, whoever else runs. */
bool np_deal_enough(const struct np_deal *p, const struct np_job *j,
		    const struct np_counts *c);
static inline struct np_cohort *np_deal_cohort(const struct np_deal *p,
					       uint32_t i)
{
	return (struct np_cohort *)p->cohort.at + i;
}
/*
 * Nodes of one column of counts on some leaves, with those on no leaf; on the
 * best so many leaves if switches > 0, where more than NP_DEAL_MAX_SWITCHES
 * count as no limit.
 */
#define NP_DEAL_MAX_SWITCHES 64
uint64_t np_deal_sum(uint32_t switches, const uint16_t *column, uint32_t loose,
		     const uint64_t *leaves, size_t lw);
uint64_t np_deal_free_in(const struct np_deal *p, const struct np_cohort *q);
uint64_t np_deal_usable_in(const struct np_deal *p, const struct np_cohort *q);

/* np_deal_hold.c */
void np_deal_hold(struct np_deal *p, uint32_t unit, uint32_t leaf);
void np_deal_drop(struct np_deal *p, uint32_t unit, uint32_t leaf);
/* Nobody whom the unit must avoid is on the leaf. */
bool np_deal_can_take(const struct np_deal *p, uint32_t unit, uint32_t leaf);
/*
 * Would every holder of a leaf that a seat's unit must avoid spare it?  With
 * take: and let them leave.  0, -EBUSY or -ENOMEM.
 */
int np_deal_clear(struct np_deal *p, uint32_t rank, uint32_t leaf, bool take);
/* What np_deal_roll_back() undoes: since p->undo.n was set to 0. */
int np_deal_log(struct np_deal *p, uint32_t unit, uint32_t leaf);
void np_deal_roll_back(struct np_deal *p);

/* np_deal_grow.c */
int np_deal_grow(struct np_deal *p, bool trusted, bool *changed);

/* np_deal_share.c */
int np_deal_share(struct np_deal *p);

/* np_deal_prefer.c */
int np_deal_prefer(struct np_deal *p);
/*
 * Leaves on which a job of mode prefer can be kept apart and still start now.
 * 1: set[] (lw words) says which; 0: there are none.
 */
int np_deal_prefer_set(const struct np_deal *p, const struct np_job *j,
		       uint32_t kind, const struct np_counts *c,
		       uint64_t *set);

/* A job came that may take nodes before the next one, on leaves[]. */
void np_deal_prefer_admit(struct np_deal *p, const struct np_job *j,
			  bool confined, const uint64_t *leaves);

/* np_deal_held.c: seconds that each job has been held back by now. */
int np_deal_held(const struct np_snapshot *s, double *held_sec);

#endif
