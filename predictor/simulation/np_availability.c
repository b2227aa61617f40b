#include "np_availability.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_bits.h"

int np_availability_init(struct np_availability *a, size_t n_nodes,
			 uint32_t node_cpus, bool shared)
{
	*a = (struct np_availability){
		.n_nodes = n_nodes, .words = np_bits_words(n_nodes),
		.node_cpus = (uint16_t)node_cpus, .shared = shared,
	};
	a->mask = calloc(2 * a->words + 1, sizeof(*a->mask));
	if (!a->mask)
		return -ENOMEM;
	a->saved = a->mask + a->words;
	return 0;
}

void np_availability_free(struct np_availability *a)
{
	for (size_t i = 0; i < a->room; i++) {
		free(a->slot[i].idle);
		free(a->slot[i].cpus);
	}
	free(a->slot);
	free(a->mask);
}

/* One more slot with memory behind those in use. */
static int add_memory(struct np_availability *a)
{
	struct np_slot s = { .from_sec = 0 };

	if (a->n < a->room)
		return 0;
	if (np_array_more(&a->slot, a->room, sizeof(s)))
		return -ENOMEM;
	s.idle = malloc(a->words * sizeof(*s.idle));
	s.cpus = a->shared ? malloc(a->n_nodes * sizeof(*s.cpus)) : NULL;
	if (!s.idle || (a->shared && !s.cpus)) {
		free(s.idle);
		free(s.cpus);
		return -ENOMEM;
	}
	a->slot[a->room++] = s;
	return 0;
}

static void fill(const struct np_availability *a, struct np_slot *s,
		 int64_t from_sec, const uint64_t *idle, const uint16_t *cpus,
		 uint32_t idle_nodes)
{
	s->from_sec = from_sec;
	s->idle_nodes = idle_nodes;
	s->shrinks = false;
	memcpy(s->idle, idle, a->words * sizeof(*idle));
	if (a->shared)
		memcpy(s->cpus, cpus, a->n_nodes * sizeof(*cpus));
}

int np_availability_begin(struct np_availability *a, int64_t now_sec,
			  const uint64_t *idle, const uint16_t *cpus)
{
	a->n = 0;
	if (add_memory(a))
		return -ENOMEM;
	fill(a, &a->slot[a->n++], now_sec, idle, cpus,
	     (uint32_t)np_bits_count(idle, a->words));
	return 0;
}

/* Cut slot i in two at that time, which is within it; i + 1 is the rest. */
static int split(struct np_availability *a, size_t i, int64_t at_sec)
{
	struct np_slot s;

	if (add_memory(a))
		return -ENOMEM;
	s = a->slot[a->n];
	memmove(a->slot + i + 2, a->slot + i + 1,
		(a->n - i - 1) * sizeof(s));
	a->n++;
	fill(a, &s, at_sec, a->slot[i].idle, a->slot[i].cpus,
	     a->slot[i].idle_nodes);
	a->slot[i + 1] = s;
	return 0;
}

/* The slot that a time is in. */
static size_t slot_at(const struct np_availability *a, int64_t sec)
{
	size_t low = 0, high = a->n;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (a->slot[middle].from_sec <= sec)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void release(const struct np_availability *a, struct np_slot *s,
		    const uint32_t *place, size_t n, uint16_t cpus)
{
	for (size_t i = 0; i < n; i++) {
		if (a->shared) {
			s->cpus[place[i]] = (uint16_t)(s->cpus[place[i]] + cpus);
			if (s->cpus[place[i]] < a->node_cpus)
				continue;
		}
		np_bits_set(s->idle, place[i]);
		s->idle_nodes++;
	}
}

/* Rounded up in time, it may meet jobs that still run. */
static void reserve(const struct np_availability *a, struct np_slot *s,
		    const uint32_t *place, size_t n, uint16_t cpus)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t *left = a->shared ? &s->cpus[place[i]] : NULL;

		if (left)
			*left = (uint16_t)(*left > cpus ? *left - cpus : 0);
		s->idle_nodes -= np_bits_test(s->idle, place[i]);
		np_bits_clear(s->idle, place[i]);
	}
}

int np_availability_release(struct np_availability *a, int64_t at_sec,
			    const uint32_t *place, size_t n, uint16_t cpus)
{
	if (a->slot[a->n - 1].from_sec < at_sec &&
	    split(a, a->n - 1, at_sec))
		return -ENOMEM;
	release(a, &a->slot[a->n - 1], place, n, cpus);
	return 0;
}

/*
 * The same in all slots from first to end - 1, of whole nodes that lie within
 * the words from low to high.
 */
static void reserve_many(struct np_availability *a, size_t first, size_t end,
			 const uint32_t *place, size_t n, size_t low,
			 size_t high)
{
	memset(a->mask + low, 0, (high - low + 1) * sizeof(*a->mask));
	for (size_t i = 0; i < n; i++)
		np_bits_set(a->mask, place[i]);
	for (; first < end; first++) {
		struct np_slot *s = &a->slot[first];

		for (size_t k = low; k <= high; k++) {
			s->idle_nodes -= np_bits_ones(s->idle[k] & a->mask[k]);
			s->idle[k] &= ~a->mask[k];
		}
	}
}

/* In all slots from first to end - 1. */
static void reserve_all(struct np_availability *a, size_t first, size_t end,
			const uint32_t *place, size_t n, uint16_t cpus)
{
	size_t low = SIZE_MAX, high = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = place[i] / NP_BITS_WORD;

		low = k < low ? k : low;
		high = k > high ? k : high;
	}
	if (!a->shared && n > high - low) {
		reserve_many(a, first, end, place, n, low, high);
		return;
	}
	for (; first < end; first++)
		reserve(a, &a->slot[first], place, n, cpus);
}

int np_availability_reserve(struct np_availability *a, int64_t from_sec,
			    int64_t to_sec, const uint32_t *place, size_t n,
			    uint16_t cpus)
{
	size_t first = slot_at(a, from_sec), end;

	if (a->slot[first].from_sec < from_sec) {
		if (split(a, first, from_sec))
			return -ENOMEM;
		first++;
	}
	a->slot[first].shrinks = true;
	end = slot_at(a, to_sec);
	if (a->slot[end].from_sec < to_sec) {
		if (split(a, end, to_sec))
			return -ENOMEM;
		end++;
	}
	reserve_all(a, first, end, place, n, cpus);
	return 0;
}

/* mask[] &= nodes of the slot with that many free CPUs. */
static void mask_slot(const struct np_availability *a, const struct np_slot *s,
		      uint16_t cpus, uint64_t *mask)
{
	if (!a->shared || cpus == a->node_cpus) {
		for (size_t k = 0; k < a->words; k++)
			mask[k] &= s->idle[k];
		return;
	}
	NP_BITS_EACH(i, mask, a->words)
		if (s->cpus[i] < cpus)
			np_bits_clear(mask, i);
}

/* Can so few be free there at all?  Shared nodes are not counted. */
static bool too_few(const struct np_availability *a, const struct np_slot *s,
		    uint32_t nodes, uint16_t cpus)
{
	return (!a->shared || cpus == a->node_cpus) && s->idle_nodes < nodes;
}

/*
 * The first slot in the window that begins with slot i in which surely too few
 * are free; a->n: none.
 */
static size_t obstacle(const struct np_availability *a, size_t i,
		       int64_t end_sec, uint32_t nodes, uint16_t cpus)
{
	for (; i < a->n && a->slot[i].from_sec < end_sec; i++)
		if (too_few(a, &a->slot[i], nodes, cpus))
			return i;
	return a->n;
}

static bool enough(const struct np_availability *a, uint32_t nodes)
{
	return np_bits_count(a->mask, a->words) >= nodes;
}

/*
 * Into a->mask what is free from slot i to end_sec.  The slot by which these are
 * too few; a->n: they are enough.  Where no reservation begins, a slot has all
 * that the one before it has.
 */
static size_t mask_window(struct np_availability *a, size_t i,
			  int64_t end_sec, const uint64_t *candidates,
			  uint32_t nodes, uint16_t cpus)
{
	size_t first = i;

	memcpy(a->mask, candidates, a->words * sizeof(*a->mask));
	for (; i < a->n && a->slot[i].from_sec < end_sec; i++) {
		if (i > first && !a->slot[i].shrinks)
			continue;
		mask_slot(a, &a->slot[i], cpus, a->mask);
		if (!enough(a, nodes))
			return i;
	}
	return a->n;
}

/* a->mask = a->saved and what is free in slot i: enough? */
static bool enough_with(struct np_availability *a, size_t i, uint32_t nodes,
			uint16_t cpus)
{
	memcpy(a->mask, a->saved, a->words * sizeof(*a->mask));
	mask_slot(a, &a->slot[i], cpus, a->mask);
	return enough(a, nodes);
}

/*
 * The first slot from which on, up to slot last, enough are free.  Windows that
 * begin before it hold slots with which there are too few.
 */
static size_t next_window(struct np_availability *a, size_t last,
			  const uint64_t *candidates, uint32_t nodes,
			  uint16_t cpus)
{
	size_t good = last + 1, bad;

	memcpy(a->saved, candidates, a->words * sizeof(*a->mask));
	do {
		/* From slot bad to good - 1 more and more are free. */
		for (bad = good - 1; bad && !a->slot[bad].shrinks;)
			bad--;
		if (!enough_with(a, bad, nodes, cpus))
			break;
		memcpy(a->saved, a->mask, a->words * sizeof(*a->mask));
		good = bad;
	} while (good);
	while (good - bad > 1) {
		size_t middle = (bad + good) / 2;

		if (enough_with(a, middle, nodes, cpus))
			good = middle;
		else
			bad = middle;
	}
	return good;
}

int64_t np_availability_find(struct np_availability *a,
			     const uint64_t *candidates, uint32_t nodes,
			     uint16_t cpus, uint32_t sec, int64_t from_sec,
			     int64_t last_sec)
{
	size_t i = slot_at(a, from_sec);

	while (i < a->n) {
		int64_t start_sec = a->slot[i].from_sec > from_sec ?
			a->slot[i].from_sec : from_sec;
		size_t bad;

		if (start_sec > last_sec)
			return -1;
		bad = obstacle(a, i, start_sec + sec, nodes, cpus);
		if (bad < a->n) {
			i = bad + 1;
			continue;
		}
		bad = mask_window(a, i, start_sec + sec, candidates, nodes,
				  cpus);
		if (bad == a->n)
			return start_sec;
		i = next_window(a, bad, candidates, nodes, cpus);
	}
	return -1;
}
