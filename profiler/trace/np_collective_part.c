#include "np_collective_part.h"

#include "np_array.h"

static void step(struct np_part *p, bool send, uint32_t peer, uint64_t bytes)
{
	struct np_steps *s = p->s;

	if (np_array_room(&s->step, &s->room, s->n + 1, sizeof(*s->step))) {
		p->out_of_memory = true;
		return;
	}
	s->step[s->n++] = (struct np_step){
		.send = send, .round = p->round, .bytes = bytes,
		.peer = (uint32_t)(((uint64_t)peer + p->c->root) % p->size),
	};
}

void np_part_send(struct np_part *p, uint32_t peer, uint64_t bytes)
{
	step(p, true, peer, bytes);
}

void np_part_receive(struct np_part *p, uint32_t peer, uint64_t bytes)
{
	step(p, false, peer, bytes);
}

void np_part_next_round(struct np_part *p)
{
	p->round++;
}

uint32_t np_part_after(const struct np_part *p, uint32_t rank, uint32_t n)
{
	return (uint32_t)(((uint64_t)rank + n) % p->size);
}

uint32_t np_part_before(const struct np_part *p, uint32_t rank, uint32_t n)
{
	return (uint32_t)(((uint64_t)rank + p->size - n % p->size) % p->size);
}

/* A buffer in equal parts, the first ones a byte longer. */
static uint64_t part(const struct np_part *p, uint64_t bytes, uint32_t i)
{
	return bytes / p->size + (i < bytes % p->size);
}

/* Is the buffer cut into parts? Otherwise bytes is one rank's. */
static bool is_cut(const struct np_part *p)
{
	enum np_collective c = p->c->collective;

	return c == NP_BCAST || c == NP_REDUCE || c == NP_ALLREDUCE ||
	       c == NP_REDUCE_SCATTER;
}

uint64_t np_part_blocks(const struct np_part *p, uint32_t first, uint32_t n)
{
	uint64_t sum = 0;

	if (!p->c->blocks && !is_cut(p))
		return n * p->c->bytes;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = np_part_after(p, first, i);

		sum += p->c->blocks ?
			       p->c->blocks[np_part_after(p, at, p->c->root)] :
			       part(p, p->c->bytes, at);
	}
	return sum;
}

uint64_t np_part_whole(const struct np_part *p)
{
	return p->c->blocks || !is_cut(p) ? np_part_blocks(p, 0, p->size) :
	       p->c->bytes;
}

/* Ranks below v + bit in the tree, itself with it. */
static uint32_t below(const struct np_part *p, uint32_t v, uint32_t bit)
{
	return p->size - v < bit ? p->size - v : bit;
}

uint64_t np_part_of(const struct np_part *p, bool own, uint32_t first,
		    uint32_t n, uint64_t bytes)
{
	return own ? np_part_blocks(p, first, n) : bytes;
}

void np_part_tree_down(struct np_part *p, bool own, uint64_t bytes)
{
	uint32_t v = p->rank, bit = 1;

	for (; bit < p->size && !(v & bit); bit <<= 1)
		;
	if (bit < p->size) {
		np_part_receive(p, v - bit, np_part_of(
			p, own, v, below(p, v, bit), bytes));
		np_part_next_round(p);
	}
	for (bit >>= 1; bit; bit >>= 1) {
		uint32_t child = v + bit;

		if (child >= p->size)
			continue;
		np_part_send(p, child, np_part_of(
			p, own, child, below(p, child, bit), bytes));
		np_part_next_round(p);
	}
}

void np_part_tree_up(struct np_part *p, bool own, uint64_t bytes)
{
	uint32_t v = p->rank;

	for (uint32_t bit = 1; bit < p->size; bit <<= 1) {
		uint32_t child = v + bit;

		if (v & bit) {
			np_part_send(p, v - bit, np_part_of(
				p, own, v, below(p, v, bit), bytes));
			np_part_next_round(p);
			return;
		}
		if (child >= p->size)
			continue;
		np_part_receive(p, child, np_part_of(
			p, own, child, below(p, child, bit), bytes));
		np_part_next_round(p);
	}
}

void np_part_line_down(struct np_part *p, bool own, uint64_t bytes)
{
	if (p->rank) {
		np_part_receive(p, 0, np_part_of(p, own, p->rank, 1, bytes));
		np_part_next_round(p);
		return;
	}
	for (uint32_t i = 1; i < p->size; i++) {
		np_part_send(p, i, np_part_of(p, own, i, 1, bytes));
		np_part_next_round(p);
	}
}

void np_part_line_up(struct np_part *p, bool own, uint64_t bytes)
{
	if (p->rank)
		np_part_send(p, 0, np_part_of(p, own, p->rank, 1, bytes));
	for (uint32_t i = 1; !p->rank && i < p->size; i++)
		np_part_receive(p, i, np_part_of(p, own, i, 1, bytes));
	np_part_next_round(p);
}
