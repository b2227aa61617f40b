/*
 * Collective operations as point-to-point messages. Each algorithm is a
 * sequence of one or two building blocks, which the table building_blocks[]
 * lists. Ranks are counted from the root, so that rank 0 is always the root.
 */
#include "np_collective.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_option.h"

/* ---- The steps of each algorithm ---- */

/* State while the steps of one rank are generated. */
struct part {
	const struct np_collective_call *c;
	struct np_steps *s;
	uint32_t round;
	uint32_t rank, size; /* here counted from the root */
	uint64_t whole;	     /* bytes of all blocks, or of the buffer */
	bool out_of_memory;
};

/*
 * Adds a step to the current round. A failed allocation is reported at the end.
 */
static void add_step(struct part *p, bool send, uint32_t peer, uint64_t bytes)
{
	const struct np_step step = {
		.send = send,
		.round = p->round,
		.bytes = bytes,
		.peer = (uint32_t)(((uint64_t)peer + p->c->root) % p->size),
	};

	if (NP_ARRAY_PUSH(p->s->step, p->s->n, p->s->room, step))
		p->out_of_memory = true;
}

static void send(struct part *p, uint32_t peer, uint64_t bytes)
{
	add_step(p, true, peer, bytes);
}

static void receive(struct part *p, uint32_t peer, uint64_t bytes)
{
	add_step(p, false, peer, bytes);
}

/* What follows waits for all steps so far. */
static void next_round(struct part *p)
{
	p->round++;
}

/* Sends to one rank and receives from another in one round. */
static void exchange(struct part *p, uint32_t to, uint64_t out, uint32_t from,
		     uint64_t in)
{
	send(p, to, out);
	receive(p, from, in);
	next_round(p);
}

/* The rank n places further, modulo size. */
static uint32_t after(const struct part *p, uint32_t rank, uint32_t n)
{
	return (uint32_t)(((uint64_t)rank + n) % p->size);
}

static uint32_t before(const struct part *p, uint32_t rank, uint32_t n)
{
	return (uint32_t)(((uint64_t)rank + p->size - n % p->size) % p->size);
}

/*
 * Whether c->bytes is a buffer that is divided into blocks, of which the first
 * ones may be a byte longer. Otherwise c->bytes is the block of one rank.
 */
static bool is_cut(const struct part *p)
{
	enum np_collective c = p->c->collective;

	return c == NP_BCAST || c == NP_REDUCE || c == NP_ALLREDUCE ||
	       c == NP_REDUCE_SCATTER;
}

/* Bytes of n blocks, beginning with that of rank first. */
static uint64_t block_bytes(const struct part *p, uint32_t first, uint32_t n)
{
	const struct np_collective_call *c = p->c;
	uint64_t sum = 0;

	if (!c->blocks && !is_cut(p))
		return n * c->bytes;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = after(p, first, i);

		sum += c->blocks ?
			       c->blocks[after(p, at, c->root)] :
			       c->bytes / p->size + (at < c->bytes % p->size);
	}
	return sum;
}

/*
 * Building blocks of the algorithms. Each has a flag that selects a variant.
 * First, communication between rank 0 and all others, by a binomial tree or
 * directly: each rank's own blocks, or the whole buffer for everyone.
 */

/* Bytes of n blocks, or of the whole buffer. */
static uint64_t part_of(const struct part *p, bool own, uint32_t first,
			uint32_t n)
{
	return own ? block_bytes(p, first, n) : p->whole;
}

/* Bytes of the subtree of v, which spans up to bit ranks. */
static uint64_t subtree_bytes(const struct part *p, bool own, uint32_t v,
			      uint32_t bit)
{
	return part_of(p, own, v, p->size - v < bit ? p->size - v : bit);
}

/*
 * Binomial tree from rank 0 to all: each rank receives from its parent and
 * sends to its children, the largest subtree first.
 */
static void tree_down(struct part *p, bool own)
{
	uint32_t v = p->rank, bit = 1;

	for (; bit < p->size && !(v & bit); bit <<= 1)
		;
	if (bit < p->size) {
		receive(p, v - bit, subtree_bytes(p, own, v, bit));
		next_round(p);
	}
	for (bit >>= 1; bit; bit >>= 1) {
		if (v + bit >= p->size)
			continue;
		send(p, v + bit, subtree_bytes(p, own, v + bit, bit));
		next_round(p);
	}
}

/* Binomial tree from all to rank 0, in the opposite order. */
static void tree_up(struct part *p, bool own)
{
	uint32_t v = p->rank;

	for (uint32_t bit = 1; bit < p->size; bit <<= 1) {
		if (v & bit) {
			send(p, v - bit, subtree_bytes(p, own, v, bit));
			next_round(p);
			return;
		}
		if (v + bit >= p->size)
			continue;
		receive(p, v + bit, subtree_bytes(p, own, v + bit, bit));
		next_round(p);
	}
}

/* Rank 0 sends to all others, one after the other. */
static void line_down(struct part *p, bool own)
{
	if (p->rank) {
		receive(p, 0, part_of(p, own, p->rank, 1));
		next_round(p);
		return;
	}
	for (uint32_t i = 1; i < p->size; i++) {
		send(p, i, part_of(p, own, i, 1));
		next_round(p);
	}
}

/* Rank 0 receives from all others at the same time. */
static void line_up(struct part *p, bool own)
{
	if (p->rank)
		send(p, 0, part_of(p, own, p->rank, 1));
	for (uint32_t i = 1; !p->rank && i < p->size; i++)
		receive(p, i, part_of(p, own, i, 1));
	next_round(p);
}

/*
 * For a number of ranks that is no power of two: the largest power of two takes
 * part. Of the first 2 * extra ranks, each odd one also represents the rank
 * before it.
 */
struct fold {
	uint32_t n, extra;
	bool idle;     /* this rank is represented by the next */
	uint32_t mine; /* number among those that take part */
};

/* Determines which part of a power of two a rank has. */
static struct fold fold(const struct part *p)
{
	struct fold f = { .n = 1 };

	while (f.n <= p->size / 2)
		f.n *= 2;
	f.extra = p->size - f.n;
	f.idle = p->rank < 2 * f.extra && !(p->rank & 1);
	f.mine = p->rank < 2 * f.extra ? p->rank / 2 : p->rank - f.extra;
	return f;
}

/* Rank of participant i. */
static uint32_t unfold(const struct fold *f, uint32_t i)
{
	return i < f->extra ? 2 * i + 1 : i + f->extra;
}

/* The first block of participant i; for i = n: the end of the last block. */
static uint32_t first_block(const struct fold *f, uint32_t i)
{
	return i < f->extra ? 2 * i : i + f->extra;
}

/* Bytes of the aligned group of width participants that contains i. */
static uint64_t group_bytes(const struct part *p, const struct fold *f,
			    uint32_t i, uint32_t width)
{
	uint32_t from = i - i % width;
	uint32_t a = first_block(f, from), b = first_block(f, from + width);

	return block_bytes(p, a, b - a);
}

/*
 * Exchange of idle ranks with their representatives, before or after the
 * others.
 */
static void fold_exchange(struct part *p, const struct fold *f, bool in,
			  bool own)
{
	uint32_t idle = f->idle ? p->rank : p->rank - 1;

	if (p->rank >= 2 * f->extra)
		return;
	(f->idle == in ? send : receive)(p, f->idle ? p->rank + 1 : idle,
					 part_of(p, own, idle, 1));
	next_round(p);
}

/*
 * Recursive doubling: every rank ends with everything. With own, each begins
 * with only its own block.
 */
static void doubling(struct part *p, bool own)
{
	struct fold f = fold(p);

	fold_exchange(p, &f, true, own);
	for (uint32_t bit = 1; !f.idle && bit < f.n; bit <<= 1) {
		uint32_t peer = unfold(&f, f.mine ^ bit);

		exchange(p, peer,
			 own ? group_bytes(p, &f, f.mine, bit) : p->whole, peer,
			 own ? group_bytes(p, &f, f.mine ^ bit, bit) :
			       p->whole);
	}
	fold_exchange(p, &f, false, false);
}

/* Recursive halving: each rank ends with its own block. */
static void halving(struct part *p, bool own)
{
	struct fold f = fold(p);

	fold_exchange(p, &f, true, false);
	for (uint32_t bit = f.n / 2; !f.idle && bit; bit >>= 1) {
		uint32_t peer = unfold(&f, f.mine ^ bit);

		exchange(p, peer, group_bytes(p, &f, f.mine ^ bit, bit), peer,
			 group_bytes(p, &f, f.mine, bit));
	}
	fold_exchange(p, &f, false, own);
}

/*
 * Prefix over ranks 0 .. r: one after the other, or by recursive doubling,
 * where only the upper of two ranks needs what it receives.
 */
static void scan(struct part *p, bool in_pairs)
{
	for (uint32_t bit = 1; in_pairs && bit < p->size; bit <<= 1) {
		uint32_t peer = p->rank ^ bit;

		if (peer < p->size)
			exchange(p, peer, p->c->bytes, peer, p->c->bytes);
	}
	if (in_pairs)
		return;
	if (p->rank) {
		receive(p, p->rank - 1, p->c->bytes);
		next_round(p);
	}
	if (p->rank + 1 < p->size)
		send(p, p->rank + 1, p->c->bytes);
}

/*
 * Dissemination: in step k each rank sends to the rank 2^k further on. With
 * own, Bruck's allgather: in the opposite direction, and each time as many
 * blocks as a rank has already.
 */
static void disseminate(struct part *p, bool own)
{
	for (uint32_t k = 1; k < p->size; k <<= 1) {
		uint32_t n = p->size - k < k ? p->size - k : k;
		uint32_t up = after(p, p->rank, k);
		uint32_t down = before(p, p->rank, k);

		if (own)
			exchange(p, down, block_bytes(p, p->rank, n), up,
				 block_bytes(p, up, n));
		else
			exchange(p, up, p->whole, down, p->whole);
	}
}

/* Bruck's alltoall: sends all blocks whose distance has the bit k. */
static void bruck_alltoall(struct part *p, bool all)
{
	(void)all;
	for (uint32_t k = 1; k < p->size; k <<= 1) {
		uint64_t n = p->size / (2 * (uint64_t)k) * k;
		uint64_t rest = p->size % (2 * (uint64_t)k);

		n += rest > k ? rest - k : 0;
		exchange(p, after(p, p->rank, k), n * p->c->bytes,
			 before(p, p->rank, k), n * p->c->bytes);
	}
}

/* Ring: blocks travel around, beginning with the own one or the one before. */
static void ring(struct part *p, bool reduces)
{
	for (uint32_t k = reduces; k < p->size - 1 + reduces; k++)
		exchange(p, after(p, p->rank, 1),
			 block_bytes(p, before(p, p->rank, k), 1),
			 before(p, p->rank, 1),
			 block_bytes(p, before(p, p->rank, k + 1), 1));
}

/* One message travels around the ring. */
static void token_ring(struct part *p, bool whole)
{
	uint64_t bytes = whole ? p->whole : 0;

	if (p->rank) {
		receive(p, p->rank - 1, bytes);
		next_round(p);
	}
	send(p, after(p, p->rank, 1), bytes);
	next_round(p);
	if (!p->rank) {
		receive(p, p->size - 1, bytes);
		next_round(p);
	}
}

/* Pairwise exchange, one pair after the other or all at once. */
static void pairwise(struct part *p, bool at_once)
{
	for (uint32_t k = 1; k < p->size; k++) {
		uint32_t to = after(p, p->rank, k);

		send(p, to, p->c->blocks ? p->c->blocks[to] : p->c->bytes);
		receive(p, before(p, p->rank, k), p->c->bytes);
		if (!at_once)
			next_round(p);
	}
}

/* The building blocks of each algorithm: one or two, with their flags. */
static const struct {
	void (*run)(struct part *p, bool flag);
	bool flag;
} building_blocks[NP_N_ALGORITHMS][NP_N_COLLECTIVES][2] = {
	[NP_LINEAR] = {
		[NP_BARRIER] = { { line_up }, { line_down } },
		[NP_BCAST] = { { line_down } },
		[NP_GATHER] = { { line_up, true } },
		[NP_GATHERV] = { { line_up, true } },
		[NP_SCATTER] = { { line_down, true } },
		[NP_SCATTERV] = { { line_down, true } },
		[NP_ALLGATHER] = { { line_up, true }, { line_down } },
		[NP_ALLTOALL] = { { pairwise, true } },
		[NP_ALLTOALLV] = { { pairwise, true } },
		[NP_REDUCE] = { { line_up } },
		[NP_ALLREDUCE] = { { line_up }, { line_down } },
		[NP_REDUCE_SCATTER] = { { line_up }, { line_down, true } },
		[NP_SCAN] = { { scan } },
		[NP_EXSCAN] = { { scan } },
	},
	[NP_BINOMIAL] = {
		[NP_BARRIER] = { { tree_up }, { tree_down } },
		[NP_BCAST] = { { tree_down } },
		[NP_GATHER] = { { tree_up, true } },
		[NP_SCATTER] = { { tree_down, true } },
		[NP_ALLGATHER] = { { tree_up, true }, { tree_down } },
		[NP_REDUCE] = { { tree_up } },
		[NP_ALLREDUCE] = { { tree_up }, { tree_down } },
		[NP_REDUCE_SCATTER] = { { tree_up }, { tree_down, true } },
	},
	[NP_RECURSIVE_DOUBLING] = {
		[NP_BARRIER] = { { doubling } },
		[NP_BCAST] = { { tree_down, true }, { doubling, true } },
		[NP_ALLGATHER] = { { doubling, true } },
		[NP_REDUCE] = { { halving, true }, { tree_up, true } },
		[NP_ALLREDUCE] = { { doubling } },
		[NP_REDUCE_SCATTER] = { { halving, true } },
		[NP_SCAN] = { { scan, true } },
		[NP_EXSCAN] = { { scan, true } },
	},
	[NP_DISSEMINATION] = {
		[NP_BARRIER] = { { disseminate } },
		[NP_ALLGATHER] = { { disseminate, true } },
		[NP_ALLTOALL] = { { bruck_alltoall, true } },
		[NP_ALLREDUCE] = { { disseminate } },
	},
	[NP_RING] = {
		[NP_BARRIER] = { { token_ring }, { token_ring } },
		[NP_BCAST] = { { tree_down, true }, { ring } },
		[NP_ALLGATHER] = { { ring } },
		[NP_ALLTOALL] = { { pairwise } },
		[NP_ALLTOALLV] = { { pairwise } },
		[NP_REDUCE] = { { ring, true }, { tree_up, true } },
		[NP_ALLREDUCE] = { { ring, true }, { ring } },
		[NP_REDUCE_SCATTER] = { { ring, true } },
	},
};

bool np_algorithm_does(enum np_algorithm a, enum np_collective c)
{
	return building_blocks[a][c][0].run;
}

int np_collective_steps(const struct np_collective_call *c, struct np_steps *s)
{
	struct part p = { .c = c, .s = s, .size = c->size };

	s->n = 0;
	if (c->size < 2)
		return 0;
	p.rank = before(&p, c->rank, c->root);
	if (c->collective != NP_BARRIER)
		p.whole = c->blocks || !is_cut(&p) ?
				  block_bytes(&p, 0, p.size) :
				  c->bytes;
	for (int i = 0; i < 2; i++)
		if (building_blocks[c->algorithm][c->collective][i].run)
			building_blocks[c->algorithm][c->collective][i].run(
				&p,
				building_blocks[c->algorithm][c->collective][i]
					.flag);
	return p.out_of_memory ? -ENOMEM : 0;
}

void np_steps_free(struct np_steps *s)
{
	free(s->step);
	*s = (struct np_steps){ 0 };
}

static const char *const collectives[] = {
	[NP_BARRIER] = "barrier",
	[NP_BCAST] = "bcast",
	[NP_GATHER] = "gather",
	[NP_SCATTER] = "scatter",
	[NP_ALLGATHER] = "allgather",
	[NP_ALLTOALL] = "alltoall",
	[NP_REDUCE] = "reduce",
	[NP_ALLREDUCE] = "allreduce",
	[NP_REDUCE_SCATTER] = "reduce_scatter",
	[NP_SCAN] = "scan",
	[NP_EXSCAN] = "exscan",
	[NP_GATHERV] = "gatherv",
	[NP_SCATTERV] = "scatterv",
	[NP_ALLTOALLV] = "alltoallv",
};

static const char *const algorithms[] = {
	[NP_LINEAR] = "linear",
	[NP_BINOMIAL] = "binomial",
	[NP_RECURSIVE_DOUBLING] = "recursive-doubling",
	[NP_DISSEMINATION] = "dissemination",
	[NP_RING] = "ring",
};

const char *np_collective_name(enum np_collective c)
{
	return collectives[c];
}

static int find(const char *const *names, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], text))
			return (int)i;
	return -1;
}

static int choice_error(struct np_err *err, const char *text,
			const char *expected)
{
	return np_errf(err, -EINVAL,
		       "\"%.64s\": expected %s, such as allreduce=ring or "
		       "allreduce:64K=ring",
		       text, expected);
}

int np_choices_add(char *text, void *choices, struct np_err *err)
{
	struct np_choices *c = choices;
	char copy[128], *algorithm = copy, *from, *name;
	uint64_t from_bytes = 0;
	int which, flag;

	snprintf(copy, sizeof(copy), "%s", text);
	from = strsep(&algorithm, "=");
	name = strsep(&from, ":");
	if (!algorithm)
		return choice_error(err, text, "COLLECTIVE=ALGORITHM");
	which = find(collectives, NP_N_COLLECTIVES, name);
	if (which < 0)
		return choice_error(err, text,
				    "a collective of MPI in small letters");
	if (from &&
	    (np_bytes_parse(from, &from_bytes) || from_bytes > INT64_MAX))
		return choice_error(err, text, "bytes after the colon");
	flag = find(algorithms, NP_N_ALGORITHMS, algorithm);
	if (flag < 0)
		return choice_error(err, text,
				    "linear, binomial, recursive-doubling, "
				    "dissemination or ring");
	if (!np_algorithm_does((enum np_algorithm)flag,
			       (enum np_collective)which))
		return np_errf(err, -EINVAL,
			       "\"%.64s\": %s has no algorithm %s", text,
			       collectives[which], algorithms[flag]);
	if (c->n == NP_MAX_CHOICES)
		return np_errf(err, -EINVAL,
			       "\"%.64s\": expected at most %d choices", text,
			       NP_MAX_CHOICES);
	c->own[c->n++] = (struct np_choice){ (enum np_collective)which,
					     from_bytes,
					     (enum np_algorithm)flag };
	return 0;
}

/*
 * Default algorithms: those of MPICH, except for allreduce, which follows Open
 * MPI. For gather to alltoall, bytes are those of one rank.
 */
static enum np_algorithm default_algorithm(enum np_collective c, uint32_t size,
					   uint64_t bytes)
{
	bool power = !(size & (size - 1));
	uint64_t all = bytes * size;

	switch (c) {
	case NP_BARRIER:
		return NP_DISSEMINATION;
	case NP_BCAST:
		return bytes < 12288 || size < 8  ? NP_BINOMIAL :
		       bytes < 512 << 10 && power ? NP_RECURSIVE_DOUBLING :
						    NP_RING;
	case NP_GATHER:
	case NP_SCATTER:
		return NP_BINOMIAL;
	case NP_ALLGATHER:
		return power && all < 512 << 10 ? NP_RECURSIVE_DOUBLING :
		       all < 80 << 10		? NP_DISSEMINATION :
						  NP_RING;
	case NP_ALLTOALL:
		return bytes <= 256 && size >= 8 ? NP_DISSEMINATION :
		       bytes <= 32 << 10	 ? NP_LINEAR :
						   NP_RING;
	case NP_REDUCE:
		return bytes <= 2048 ? NP_BINOMIAL : NP_RECURSIVE_DOUBLING;
	case NP_ALLREDUCE:
		return bytes < 10000 ? NP_RECURSIVE_DOUBLING : NP_RING;
	case NP_REDUCE_SCATTER:
		return bytes < 512 << 10 ? NP_RECURSIVE_DOUBLING : NP_RING;
	case NP_SCAN:
	case NP_EXSCAN:
		return NP_RECURSIVE_DOUBLING;
	default:
		return NP_LINEAR;
	}
}

enum np_algorithm np_choices_pick(const struct np_choices *choices,
				  enum np_collective c, uint32_t size,
				  uint64_t bytes)
{
	for (size_t i = choices ? choices->n : 0; i; i--)
		if (choices->own[i - 1].collective == c &&
		    bytes >= choices->own[i - 1].from_bytes)
			return choices->own[i - 1].algorithm;
	return default_algorithm(c, size, bytes);
}
