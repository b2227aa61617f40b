#ifndef NP_SNAPSHOT_IMPL_H
#define NP_SNAPSHOT_IMPL_H

#include <stdbool.h>

#include "np_leaves_impl.h"
#include "np_snapshot.h"

/* A growing array, in bytes. */
struct np_pool {
	void *at;
	size_t n, room, item; /* items */
};

/* Room for n more items: the first of them, or NULL.  n grows. */
void *np_pool_add(struct np_pool *p, size_t n);
/* Nothing more will be added. */
void np_pool_trim(struct np_pool *p);

struct np_snapshot_job {
	struct np_job in;  /* prior_leaves and node are not valid here */
	size_t first_leaf; /* running: in leaf_pool */
	uint32_t n_leaves;
	uint32_t prior; /* pending: in prior_pool, words times this */
};

struct np_snapshot {
	int refs;
	bool sealed;
	struct np_leaves *leaves;
	size_t leaf_words, node_words;
	int64_t now_sec, last_sec;

	/* By place, not by node: see np_leaves_impl.h. */
	uint64_t *usable, *idle, *room; /* room: idle or mixed */
	struct np_pool set;		/* node_words each */
	uint32_t *set_table;		/* hash of sets; handle + 1, 0 empty */
	size_t set_slots;

	struct np_pool job, leaf_pool, prior_pool;
	uint32_t *mark; /* of leaves, while adding a running job */
};

/* Nodes of one set on each leaf, and in [n] those without a leaf. */
struct np_counts {
	uint16_t *usable, *free_alone, *free_shared; /* n_leaves each */
	uint64_t *reach; /* leaves with any node of the set */
	uint32_t loose_usable, loose_free_alone, loose_free_shared;
	uint64_t all_usable; /* of all leaves, and without one */
};

/* Arrays of c are the caller's. */
void np_snapshot_count(const struct np_snapshot *s, const uint64_t *set,
		       struct np_counts *c);
/*
 * Nodes of one column of counts on some leaves, with those on no leaf; on the
 * best so many leaves if switches > 0, where more than NP_COUNTS_MAX_SWITCHES
 * count as no limit.
 */
#define NP_COUNTS_MAX_SWITCHES 64
uint64_t np_counts_sum(uint32_t switches, const uint16_t *column,
		       uint32_t loose, const uint64_t *leaves, size_t lw);

static inline const uint64_t *np_snapshot_set(const struct np_snapshot *s,
					      uint32_t handle)
{
	return (const uint64_t *)s->set.at + handle * s->node_words;
}

static inline const struct np_snapshot_job *
np_snapshot_jobs(const struct np_snapshot *s)
{
	return s->job.at;
}

static inline const uint64_t *
np_snapshot_prior(const struct np_snapshot *s, const struct np_snapshot_job *j)
{
	return (const uint64_t *)s->prior_pool.at + j->prior * s->leaf_words;
}

static inline const uint32_t *
np_snapshot_on(const struct np_snapshot *s, const struct np_snapshot_job *j)
{
	return s->leaf_pool.at ? (const uint32_t *)s->leaf_pool.at +
				 j->first_leaf : NULL;
}

#endif
