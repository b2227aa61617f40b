#include "np_collective.h"

#include <errno.h>
#include <stdlib.h>

/* What is being made, and for whom. */
struct plan {
	const struct np_collective_call *c;
	struct np_steps *s;
	uint32_t round;
	uint32_t rank, size; /* here, counted from the root */
	bool out_of_memory;
};

static void step(struct plan *p, bool send, uint32_t peer, uint64_t bytes)
{
	struct np_steps *s = p->s;

	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 32;
		struct np_step *wider = realloc(s->step, room * sizeof(*wider));

		if (!wider) {
			p->out_of_memory = true;
			return;
		}
		s->step = wider;
		s->room = room;
	}
	s->step[s->n++] = (struct np_step){
		.send = send, .round = p->round, .bytes = bytes,
		.peer = (uint32_t)(((uint64_t)peer + p->c->root) % p->size),
	};
}

static void send_to(struct plan *p, uint32_t peer, uint64_t bytes)
{
	step(p, true, peer, bytes);
}

static void receive(struct plan *p, uint32_t peer, uint64_t bytes)
{
	step(p, false, peer, bytes);
}

static void next_round(struct plan *p)
{
	p->round++;
}

static uint32_t after(const struct plan *p, uint32_t rank, uint32_t n)
{
	return (uint32_t)(((uint64_t)rank + n) % p->size);
}

static uint32_t before(const struct plan *p, uint32_t rank, uint32_t n)
{
	return (uint32_t)(((uint64_t)rank + p->size - n % p->size) % p->size);
}

/* A buffer in equal parts, the first ones a byte longer. */
static uint64_t part(const struct plan *p, uint64_t bytes, uint32_t i)
{
	return bytes / p->size + (i < bytes % p->size);
}

/* Is the buffer cut into parts? Otherwise bytes is one rank's. */
static bool is_cut(const struct plan *p)
{
	enum np_collective c = p->c->collective;

	return c == NP_BCAST || c == NP_REDUCE || c == NP_ALLREDUCE ||
	       c == NP_REDUCE_SCATTER;
}

/* Bytes of n blocks from the one of rank first on. */
static uint64_t blocks(const struct plan *p, uint32_t first, uint32_t n)
{
	uint64_t sum = 0;

	if (!p->c->blocks && !is_cut(p))
		return n * p->c->bytes;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = after(p, first, i);

		sum += p->c->blocks ? p->c->blocks[after(p, at, p->c->root)] :
		       part(p, p->c->bytes, at);
	}
	return sum;
}

static uint64_t whole(const struct plan *p)
{
	return p->c->blocks || !is_cut(p) ? blocks(p, 0, p->size) :
	       p->c->bytes;
}

/* Ranks below v + bit in the tree, itself with it. */
static uint32_t below(const struct plan *p, uint32_t v, uint32_t bit)
{
	return p->size - v < bit ? p->size - v : bit;
}

/* From rank 0 to all: each its own block, or all the same bytes. */
static void tree_down(struct plan *p, bool own, uint64_t bytes)
{
	uint32_t v = p->rank, bit = 1;

	for (; bit < p->size && !(v & bit); bit <<= 1)
		;
	if (bit < p->size) {
		receive(p, v - bit, own ? blocks(p, v, below(p, v, bit)) :
					  bytes);
		next_round(p);
	}
	for (bit >>= 1; bit; bit >>= 1) {
		uint32_t child = v + bit;

		if (child >= p->size)
			continue;
		send_to(p, child, own ? blocks(p, child, below(p, child, bit)) :
					bytes);
		next_round(p);
	}
}

static void tree_up(struct plan *p, bool own, uint64_t bytes)
{
	uint32_t v = p->rank;

	for (uint32_t bit = 1; bit < p->size; bit <<= 1) {
		uint32_t child = v + bit;

		if (v & bit) {
			send_to(p, v - bit, own ?
				blocks(p, v, below(p, v, bit)) : bytes);
			next_round(p);
			return;
		}
		if (child >= p->size)
			continue;
		receive(p, child, own ? blocks(p, child, below(p, child, bit)) :
					bytes);
		next_round(p);
	}
}

static void line_down(struct plan *p, bool own, uint64_t bytes)
{
	if (p->rank) {
		receive(p, 0, own ? blocks(p, p->rank, 1) : bytes);
		next_round(p);
		return;
	}
	for (uint32_t i = 1; i < p->size; i++) {
		send_to(p, i, own ? blocks(p, i, 1) : bytes);
		next_round(p);
	}
}

static void line_up(struct plan *p, bool own, uint64_t bytes)
{
	if (p->rank)
		send_to(p, 0, own ? blocks(p, p->rank, 1) : bytes);
	for (uint32_t i = 1; !p->rank && i < p->size; i++)
		receive(p, i, own ? blocks(p, i, 1) : bytes);
	next_round(p);
}

/* Up to rank 0 and down again, by a tree or at once. */
static void up_and_down(struct plan *p, bool tree)
{
	enum np_collective c = p->c->collective;
	bool gathers = c == NP_ALLGATHER, scatters = c == NP_REDUCE_SCATTER;
	uint64_t bytes = c == NP_BARRIER ? 0 : whole(p);

	(tree ? tree_up : line_up)(p, gathers, bytes);
	(tree ? tree_down : line_down)(p, scatters, bytes);
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

static struct fold fold(const struct plan *p)
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
static uint64_t group(const struct plan *p, const struct fold *f, uint32_t i,
		      uint32_t width)
{
	uint32_t from = i - i % width;
	uint32_t a = first_block(f, from), b = first_block(f, from + width);

	return blocks(p, a, b - a);
}

static void fold_in(struct plan *p, const struct fold *f, uint64_t bytes,
		    bool own)
{
	if (p->rank >= 2 * f->extra)
		return;
	if (f->idle)
		send_to(p, p->rank + 1, own ? blocks(p, p->rank, 1) : bytes);
	else
		receive(p, p->rank - 1, own ? blocks(p, p->rank - 1, 1) :
					      bytes);
	next_round(p);
}

static void fold_out(struct plan *p, const struct fold *f, uint64_t bytes,
		     bool own)
{
	if (p->rank >= 2 * f->extra)
		return;
	if (f->idle)
		receive(p, p->rank + 1, own ? blocks(p, p->rank, 1) : bytes);
	else
		send_to(p, p->rank - 1, own ? blocks(p, p->rank - 1, 1) :
					      bytes);
	next_round(p);
}

static void swap(struct plan *p, uint32_t to, uint64_t out, uint32_t from,
		 uint64_t in)
{
	send_to(p, to, out);
	receive(p, from, in);
	next_round(p);
}

/* All have all, each time from twice as far. */
static void doubling(struct plan *p, uint64_t bytes)
{
	struct fold f = fold(p);

	fold_in(p, &f, bytes, false);
	for (uint32_t bit = 1; !f.idle && bit < f.n; bit <<= 1) {
		uint32_t peer = unfold(&f, f.mine ^ bit);

		swap(p, peer, bytes, peer, bytes);
	}
	fold_out(p, &f, bytes, false);
}

static void doubling_gather(struct plan *p)
{
	struct fold f = fold(p);

	fold_in(p, &f, 0, true);
	for (uint32_t bit = 1; !f.idle && bit < f.n; bit <<= 1) {
		uint32_t peer = unfold(&f, f.mine ^ bit);

		swap(p, peer, group(p, &f, f.mine, bit), peer,
		     group(p, &f, f.mine ^ bit, bit));
	}
	fold_out(p, &f, whole(p), false);
}

static void halving(struct plan *p)
{
	struct fold f = fold(p);

	fold_in(p, &f, whole(p), false);
	for (uint32_t bit = f.n / 2; !f.idle && bit; bit >>= 1) {
		uint32_t peer = unfold(&f, f.mine ^ bit);

		swap(p, peer, group(p, &f, f.mine ^ bit, bit), peer,
		     group(p, &f, f.mine, bit));
	}
	fold_out(p, &f, 0, true);
}

/* Rank 0 .. r of each rank r; the upper one of two needs it. */
static void doubling_scan(struct plan *p)
{
	for (uint32_t bit = 1; bit < p->size; bit <<= 1) {
		uint32_t peer = p->rank ^ bit;

		if (peer < p->size)
			swap(p, peer, p->c->bytes, peer, p->c->bytes);
	}
}

static void line_scan(struct plan *p)
{
	if (p->rank) {
		receive(p, p->rank - 1, p->c->bytes);
		next_round(p);
	}
	if (p->rank + 1 < p->size)
		send_to(p, p->rank + 1, p->c->bytes);
}

static void spread(struct plan *p, uint64_t bytes)
{
	for (uint32_t k = 1; k < p->size; k <<= 1)
		swap(p, after(p, p->rank, k), bytes, before(p, p->rank, k),
		     bytes);
}

/* Bruck's: each time as many blocks as there are already. */
static void spread_gather(struct plan *p)
{
	for (uint32_t k = 1; k < p->size; k <<= 1) {
		uint32_t n = p->size - k < k ? p->size - k : k;
		uint32_t from = after(p, p->rank, k);

		swap(p, before(p, p->rank, k), blocks(p, p->rank, n), from,
		     blocks(p, from, n));
	}
}

/* Blocks whose distance has the bit. */
static void spread_exchange(struct plan *p)
{
	for (uint32_t k = 1; k < p->size; k <<= 1) {
		uint64_t n = p->size / (2 * (uint64_t)k) * k;
		uint64_t rest = p->size % (2 * (uint64_t)k);

		n += rest > k ? rest - k : 0;
		swap(p, after(p, p->rank, k), n * p->c->bytes,
		     before(p, p->rank, k), n * p->c->bytes);
	}
}

static void ring_gather(struct plan *p)
{
	for (uint32_t k = 0; k + 1 < p->size; k++)
		swap(p, after(p, p->rank, 1),
		     blocks(p, before(p, p->rank, k), 1), before(p, p->rank, 1),
		     blocks(p, before(p, p->rank, k + 1), 1));
}

static void ring_reduce(struct plan *p)
{
	for (uint32_t k = 1; k < p->size; k++)
		swap(p, after(p, p->rank, 1),
		     blocks(p, before(p, p->rank, k), 1), before(p, p->rank, 1),
		     blocks(p, before(p, p->rank, k + 1), 1));
}

/* Twice around. */
static void ring_barrier(struct plan *p)
{
	for (int lap = 0; lap < 2; lap++) {
		if (p->rank) {
			receive(p, p->rank - 1, 0);
			next_round(p);
		}
		send_to(p, after(p, p->rank, 1), 0);
		next_round(p);
		if (!p->rank) {
			receive(p, p->size - 1, 0);
			next_round(p);
		}
	}
}

static uint64_t to_peer(const struct plan *p, uint32_t peer)
{
	return p->c->blocks ? p->c->blocks[peer] : p->c->bytes;
}

/* In pairs, one after the other or all at once. */
static void pairs(struct plan *p, bool at_once)
{
	for (uint32_t k = 1; k < p->size; k++) {
		uint32_t to = after(p, p->rank, k);

		send_to(p, to, to_peer(p, to));
		receive(p, before(p, p->rank, k), p->c->bytes);
		if (!at_once)
			next_round(p);
	}
}

static void linear(struct plan *p)
{
	switch (p->c->collective) {
	case NP_BCAST:
		line_down(p, false, p->c->bytes);
		break;
	case NP_SCATTER:
	case NP_SCATTERV:
		line_down(p, true, 0);
		break;
	case NP_GATHER:
	case NP_GATHERV:
		line_up(p, true, 0);
		break;
	case NP_REDUCE:
		line_up(p, false, p->c->bytes);
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

static void binomial(struct plan *p)
{
	switch (p->c->collective) {
	case NP_BCAST:
		tree_down(p, false, p->c->bytes);
		break;
	case NP_SCATTER:
		tree_down(p, true, 0);
		break;
	case NP_GATHER:
		tree_up(p, true, 0);
		break;
	case NP_REDUCE:
		tree_up(p, false, p->c->bytes);
		break;
	default:
		up_and_down(p, true);
	}
}

static void recursive(struct plan *p)
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
		tree_down(p, true, 0);
		doubling_gather(p);
		break;
	case NP_REDUCE:
		halving(p);
		tree_up(p, true, 0);
		break;
	default:
		doubling_scan(p);
	}
}

static void dissemination(struct plan *p)
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

static void ring(struct plan *p)
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
		tree_down(p, true, 0);
		ring_gather(p);
		break;
	case NP_REDUCE:
		ring_reduce(p);
		tree_up(p, true, 0);
		break;
	default:
		pairs(p, false);
	}
}

int np_collective_steps(const struct np_collective_call *c, struct np_steps *s)
{
	static void (*const plans[])(struct plan *p) = {
		[NP_LINEAR] = linear, [NP_BINOMIAL] = binomial,
		[NP_RECURSIVE_DOUBLING] = recursive,
		[NP_DISSEMINATION] = dissemination, [NP_RING] = ring,
	};
	struct plan p = { .c = c, .s = s, .size = c->size };

	s->n = 0;
	if (c->size < 2)
		return 0;
	p.rank = before(&p, c->rank, c->root);
	plans[c->algorithm](&p);
	return p.out_of_memory ? -ENOMEM : 0;
}

void np_steps_free(struct np_steps *s)
{
	free(s->step);
	*s = (struct np_steps){ 0 };
}
