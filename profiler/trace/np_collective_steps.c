#include "np_collective_part.h"

#include <errno.h>
#include <stdlib.h>

/* Up to rank 0 and down again, by a tree or at once. */
static void up_and_down(struct np_part *p, bool tree)
{
	enum np_collective c = p->c->collective;
	bool gathers = c == NP_ALLGATHER, scatters = c == NP_REDUCE_SCATTER;
	uint64_t bytes = c == NP_BARRIER ? 0 : np_part_whole(p);

	(tree ? np_part_tree_up : np_part_line_up)(p, gathers, bytes);
	(tree ? np_part_tree_down : np_part_line_down)(p, scatters, bytes);
}

/*
 * The largest power of two of ranks takes part; of the first 2 * extra ranks
 * the odd ones, for the one before as well.
 */
struct fold {
	uint32_t n, extra;
	bool idle;     /* this rank leaves it to the next */
	uint32_t mine; /* its number among those that take part */
};

static struct fold fold(const struct np_part *p)
{
	struct fold f = { .n = 1 };

	while (f.n <= p->size / 2)
		f.n *= 2;
	f.extra = p->size - f.n;
	f.idle = p->rank < 2 * f.extra && !(p->rank & 1);
	f.mine = p->rank < 2 * f.extra ? p->rank / 2 : p->rank - f.extra;
	return f;
}

static uint32_t unfold(const struct fold *f, uint32_t i)
{
	return i < f->extra ? 2 * i + 1 : i + f->extra;
}

/* The first block that part i answers for; of n: behind the last. */
static uint32_t first_block(const struct fold *f, uint32_t i)
{
	return i < f->extra ? 2 * i : i + f->extra;
}

/* Blocks of the aligned group of width parts that has part i. */
static uint64_t group(const struct np_part *p, const struct fold *f, uint32_t i,
		      uint32_t width)
{
	uint32_t from = i - i % width;
	uint32_t a = first_block(f, from), b = first_block(f, from + width);

	return np_part_blocks(p, a, b - a);
}

/* Idle ranks, each with the one above it, before and after the others. */
static void fold_with(struct np_part *p, const struct fold *f, bool in,
		      uint64_t bytes, bool own)
{
	uint32_t idle = f->idle ? p->rank : p->rank - 1;

	if (p->rank >= 2 * f->extra)
		return;
	(f->idle == in ? np_part_send : np_part_receive)(
		p, f->idle ? p->rank + 1 : idle,
		np_part_of(p, own, idle, 1, bytes));
	np_part_next_round(p);
}

static void swap(struct np_part *p, uint32_t to, uint64_t out, uint32_t from,
		 uint64_t in)
{
	np_part_send(p, to, out);
	np_part_receive(p, from, in);
	np_part_next_round(p);
}

/* All have all, each time from twice as far. */
static void doubling(struct np_part *p, uint64_t bytes)
{
	struct fold f = fold(p);

	fold_with(p, &f, true, bytes, false);
	for (uint32_t bit = 1; !f.idle && bit < f.n; bit <<= 1) {
		uint32_t peer = unfold(&f, f.mine ^ bit);

		swap(p, peer, bytes, peer, bytes);
	}
	fold_with(p, &f, false, bytes, false);
}

static void doubling_gather(struct np_part *p)
{
	struct fold f = fold(p);

	fold_with(p, &f, true, 0, true);
	for (uint32_t bit = 1; !f.idle && bit < f.n; bit <<= 1) {
		uint32_t peer = unfold(&f, f.mine ^ bit);

		swap(p, peer, group(p, &f, f.mine, bit), peer,
		     group(p, &f, f.mine ^ bit, bit));
	}
	fold_with(p, &f, false, np_part_whole(p), false);
}

static void halving(struct np_part *p)
{
	struct fold f = fold(p);

	fold_with(p, &f, true, np_part_whole(p), false);
	for (uint32_t bit = f.n / 2; !f.idle && bit; bit >>= 1) {
		uint32_t peer = unfold(&f, f.mine ^ bit);

		swap(p, peer, group(p, &f, f.mine ^ bit, bit), peer,
		     group(p, &f, f.mine, bit));
	}
	fold_with(p, &f, false, 0, true);
}

/* Rank 0 .. r of each rank r; the upper one of two needs it. */
static void doubling_scan(struct np_part *p)
{
	for (uint32_t bit = 1; bit < p->size; bit <<= 1) {
		uint32_t peer = p->rank ^ bit;

		if (peer < p->size)
			swap(p, peer, p->c->bytes, peer, p->c->bytes);
	}
}

static void line_scan(struct np_part *p)
{
	if (p->rank) {
		np_part_receive(p, p->rank - 1, p->c->bytes);
		np_part_next_round(p);
	}
	if (p->rank + 1 < p->size)
		np_part_send(p, p->rank + 1, p->c->bytes);
}

static void spread(struct np_part *p, uint64_t bytes)
{
	for (uint32_t k = 1; k < p->size; k <<= 1)
		swap(p, np_part_after(p, p->rank, k), bytes,
		     np_part_before(p, p->rank, k), bytes);
}

/* Bruck's: each time as many blocks as there are already. */
static void spread_gather(struct np_part *p)
{
	for (uint32_t k = 1; k < p->size; k <<= 1) {
		uint32_t n = p->size - k < k ? p->size - k : k;
		uint32_t from = np_part_after(p, p->rank, k);

		swap(p, np_part_before(p, p->rank, k),
		     np_part_blocks(p, p->rank, n), from,
		     np_part_blocks(p, from, n));
	}
}

/* Blocks whose distance has the bit. */
static void spread_exchange(struct np_part *p)
{
	for (uint32_t k = 1; k < p->size; k <<= 1) {
		uint64_t n = p->size / (2 * (uint64_t)k) * k;
		uint64_t rest = p->size % (2 * (uint64_t)k);

		n += rest > k ? rest - k : 0;
		swap(p, np_part_after(p, p->rank, k), n * p->c->bytes,
		     np_part_before(p, p->rank, k), n * p->c->bytes);
	}
}

/* Blocks go around, beginning with the one of first ranks before. */
static void ring_blocks(struct np_part *p, uint32_t first)
{
	for (uint32_t k = first; k < p->size - 1 + first; k++)
		swap(p, np_part_after(p, p->rank, 1),
		     np_part_blocks(p, np_part_before(p, p->rank, k), 1),
		     np_part_before(p, p->rank, 1),
		     np_part_blocks(p, np_part_before(p, p->rank, k + 1), 1));
}

static void ring_gather(struct np_part *p)
{
	ring_blocks(p, 0);
}

static void ring_reduce(struct np_part *p)
{
	ring_blocks(p, 1);
}

/* Twice around. */
static void ring_barrier(struct np_part *p)
{
	for (int lap = 0; lap < 2; lap++) {
		if (p->rank) {
			np_part_receive(p, p->rank - 1, 0);
			np_part_next_round(p);
		}
		np_part_send(p, np_part_after(p, p->rank, 1), 0);
		np_part_next_round(p);
		if (!p->rank) {
			np_part_receive(p, p->size - 1, 0);
			np_part_next_round(p);
		}
	}
}

static uint64_t to_peer(const struct np_part *p, uint32_t peer)
{
	return p->c->blocks ? p->c->blocks[peer] : p->c->bytes;
}

/* In pairs, one after the other or all at once. */
static void pairs(struct np_part *p, bool at_once)
{
	for (uint32_t k = 1; k < p->size; k++) {
		uint32_t to = np_part_after(p, p->rank, k);

		np_part_send(p, to, to_peer(p, to));
		np_part_receive(p, np_part_before(p, p->rank, k), p->c->bytes);
		if (!at_once)
			np_part_next_round(p);
	}
}

static void linear(struct np_part *p)
{
	switch (p->c->collective) {
	case NP_BCAST:
		np_part_line_down(p, false, p->c->bytes);
		break;
	case NP_SCATTER:
	case NP_SCATTERV:
		np_part_line_down(p, true, 0);
		break;
	case NP_GATHER:
	case NP_GATHERV:
		np_part_line_up(p, true, 0);
		break;
	case NP_REDUCE:
		np_part_line_up(p, false, p->c->bytes);
		break;
	case NP_ALLTOALL:
	case NP_ALLTOALLV:
		pairs(p, true);
		break;
	case NP_SCAN:
	case NP_EXSCAN:
		line_scan(p);
		break;
	default:
		up_and_down(p, false);
	}
}

static void binomial(struct np_part *p)
{
	switch (p->c->collective) {
	case NP_BCAST:
		np_part_tree_down(p, false, p->c->bytes);
		break;
	case NP_SCATTER:
		np_part_tree_down(p, true, 0);
		break;
	case NP_GATHER:
		np_part_tree_up(p, true, 0);
		break;
	case NP_REDUCE:
		np_part_tree_up(p, false, p->c->bytes);
		break;
	default:
		up_and_down(p, true);
	}
}

static void recursive(struct np_part *p)
{
	switch (p->c->collective) {
	case NP_BARRIER:
		doubling(p, 0);
		break;
	case NP_ALLREDUCE:
		doubling(p, p->c->bytes);
		break;
	case NP_ALLGATHER:
		doubling_gather(p);
		break;
	case NP_REDUCE_SCATTER:
		halving(p);
		break;
	case NP_BCAST:
		np_part_tree_down(p, true, 0);
		doubling_gather(p);
		break;
	case NP_REDUCE:
		halving(p);
		np_part_tree_up(p, true, 0);
		break;
	default:
		doubling_scan(p);
	}
}

static void dissemination(struct np_part *p)
{
	switch (p->c->collective) {
	case NP_ALLGATHER:
		spread_gather(p);
		break;
	case NP_ALLTOALL:
		spread_exchange(p);
		break;
	default:
		spread(p, p->c->bytes);
	}
}

static void ring(struct np_part *p)
{
	switch (p->c->collective) {
	case NP_BARRIER:
		ring_barrier(p);
		break;
	case NP_ALLGATHER:
		ring_gather(p);
		break;
	case NP_REDUCE_SCATTER:
		ring_reduce(p);
		break;
	case NP_ALLREDUCE:
		ring_reduce(p);
		ring_gather(p);
		break;
	case NP_BCAST:
		np_part_tree_down(p, true, 0);
		ring_gather(p);
		break;
	case NP_REDUCE:
		ring_reduce(p);
		np_part_tree_up(p, true, 0);
		break;
	default:
		pairs(p, false);
	}
}

int np_collective_steps(const struct np_collective_call *c, struct np_steps *s)
{
	static void (*const plans[])(struct np_part *p) = {
		[NP_LINEAR] = linear, [NP_BINOMIAL] = binomial,
		[NP_RECURSIVE_DOUBLING] = recursive,
		[NP_DISSEMINATION] = dissemination, [NP_RING] = ring,
	};
	struct np_part p = { .c = c, .s = s, .size = c->size };

	s->n = 0;
	if (c->size < 2)
		return 0;
	p.rank = np_part_before(&p, c->rank, c->root);
	plans[c->algorithm](&p);
	return p.out_of_memory ? -ENOMEM : 0;
}

void np_steps_free(struct np_steps *s)
{
	free(s->step);
	*s = (struct np_steps){ 0 };
}
