/*
 * When which nodes are expected to be free: the plan of one backfill pass.
 *
 * Time from now on is cut into slots, in each of which the same nodes are free.
 * Slots begin where a running job is expected to end or a reservation begins or
 * ends; the last one never ends.  Nodes are places of np_leaves.h.
 */
#ifndef NP_AVAILABILITY_H
#define NP_AVAILABILITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct np_slot {
	int64_t from_sec;
	uint32_t idle_nodes;
	bool shrinks; /* a reservation begins: it lacks what the slot before
			 it has */
	uint64_t *idle;	 /* bitmap of nodes that are wholly free */
	uint16_t *cpus;	 /* free on each node; NULL: nodes are not shared */
};

/* Zeroed, it is empty, except for the sizes. */
struct np_availability {
	size_t n_nodes, words;
	uint16_t node_cpus;
	bool shared;
	struct np_slot *slot;
	size_t n, room; /* slots in use, and that have memory */
	uint64_t *mask; /* what np_availability_find() found; scratch */
	uint64_t *saved; /* scratch */
};

/* Returns 0 or -ENOMEM; np_availability_free() in either case. */
int np_availability_init(struct np_availability *a, size_t n_nodes,
			 uint32_t node_cpus, bool shared);
void np_availability_free(struct np_availability *a);

/* Begin a plan at that time with one slot; cpus: NULL if not shared. */
int np_availability_begin(struct np_availability *a, int64_t now_sec,
			  const uint64_t *idle, const uint16_t *cpus);

/* From that time on, not before the last slot, these nodes are free as well. */
int np_availability_release(struct np_availability *a, int64_t at_sec,
			    const uint32_t *place, size_t n, uint16_t cpus);

/* From from_sec to to_sec these nodes are not free. */
int np_availability_reserve(struct np_availability *a, int64_t from_sec,
			    int64_t to_sec, const uint32_t *place, size_t n,
			    uint16_t cpus);

/*
 * The earliest time, not before from_sec and not after last_sec, at which
 * nodes of candidates[] have that many CPUs (node_cpus: are idle) for sec
 * seconds; a->mask then has all that do.  -1: there is none.
 */
int64_t np_availability_find(struct np_availability *a,
			     const uint64_t *candidates, uint32_t nodes,
			     uint16_t cpus, uint32_t sec, int64_t from_sec,
			     int64_t last_sec);

#endif
