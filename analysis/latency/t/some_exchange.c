#include "some_exchange.h"

#include <stdbool.h>
#include <string.h>

#define N SOME_EXCHANGE_RANKS

const char *const some_exchange_names[] = {
	"halo of an 8 x 8 torus",
	"halo of a 4 x 4 x 4 torus",
	"transposition by rows of 8",
	"butterfly",
};

/* Bytes that two positions send to each other in each step of exchange i. */
static uint64_t bytes_at(size_t i, uint32_t a, uint32_t b)
{
	uint32_t x = a ^ b, distance = 0, side = i == 0 ? 8 : 4;

	if (a == b)
		return 0;
	if (i == 2)
		return a / 8 == b / 8 ? 2048 : a % 8 == b % 8 ? 1024 : 0;
	if (i == 3) /* peers differ in one bit */
		return x & (x - 1) ? 0 : 4096;
	for (uint32_t u = a, v = b, k = 1; k < N;
	     u /= side, v /= side, k *= side) {
		uint32_t d = (u % side + side - v % side) % side;

		distance += d < side - d ? d : side - d;
	}
	return distance == 1 ? 8192 : 0;
}

/* Ranks are not numbered in the order of their positions. */
static uint64_t bytes_between(size_t i, uint32_t a, uint32_t b)
{
	return bytes_at(i, a * 27 % N, b * 27 % N);
}

/* Computation of a rank in each step: 0.5 to 4.5 us, most of them short. */
static uint64_t calc_ns(uint32_t rank)
{
	uint32_t h = (rank + 1) * 2654435761u >> 24;

	return 500 + (uint64_t)h * h / 16;
}

static bool add(struct np_graph *g, enum np_op_kind kind, uint64_t size,
		uint32_t peer, uint32_t first_on, uint32_t end_on)
{
	const struct np_graph_op op = { .kind = kind,
					.size = size,
					.peer = peer };
	uint32_t at;

	if (np_graph_add(g, &op, &at, NULL))
		return false;
	for (uint32_t on = first_on; on < end_on; on++)
		if (np_graph_depend(g, at, on, NP_REQUIRES, NULL))
			return false;
	return true;
}

/* Computes, then sends to all peers and receives from them. */
static bool add_rank(struct np_graph *g, size_t i, uint32_t rank, size_t steps)
{
	uint32_t first = 0;
	bool good = !np_graph_rank(g, rank, NULL, NULL);

	for (size_t s = 0; good && s < steps; s++) {
		uint32_t calc = np_graph_rank_ops(g, rank);

		good = add(g, NP_OP_CALC, calc_ns(rank), 0, first, calc);
		first = calc + 1;
		for (uint32_t to = 0; good && to < N; to++) {
			uint64_t bytes = bytes_between(i, rank, to);

			if (bytes)
				good = add(g, NP_OP_SEND, bytes, to, calc,
					   calc + 1) &&
				       add(g, NP_OP_RECV, bytes, to, calc,
					   calc + 1);
		}
	}
	return good;
}

struct np_graph *some_exchange(size_t i, size_t steps)
{
	struct np_graph *g;
	bool good;

	if (np_graph_new(some_exchange_names[i], N, &g, NULL))
		return NULL;
	good = true;
	for (uint32_t r = 0; good && r < N; r++)
		good = add_rank(g, i, r, steps);
	if (good && !np_graph_finish(g, NULL))
		return g;
	np_graph_free(g);
	return NULL;
}

/* The unplaced rank with most bytes to placed ones; of equals the first. */
static uint32_t next_rank(const uint64_t *bytes, uint32_t n, const bool *placed)
{
	uint64_t most = 0;
	uint32_t next = n;

	for (uint32_t a = 0; a < n; a++) {
		uint64_t sum = 0;

		for (uint32_t b = 0; b < n; b++)
			sum += placed[b] ? bytes[a * n + b] : 0;
		if (!placed[a] && (next == n || sum > most)) {
			most = sum;
			next = a;
		}
	}
	return next;
}

void some_greedy(const uint64_t *bytes, uint32_t n, const struct np_topology *t,
		 uint32_t *node)
{
	uint32_t n_nodes = np_topology_nodes(t);
	bool placed[n], taken[n_nodes];

	memset(placed, 0, sizeof(placed));
	memset(taken, 0, sizeof(taken));
	for (uint32_t k = 0; k < n; k++) {
		uint32_t a = next_rank(bytes, n, placed), best = 0;
		uint64_t least = UINT64_MAX;

		for (uint32_t at = 0; at < n_nodes; at++) {
			uint64_t cost = 0;

			for (uint32_t b = 0; b < n; b++)
				if (placed[b])
					cost += bytes[a * n + b] *
						np_topology_hops(t, at,
								 node[b]);
			if (!taken[at] && cost < least) {
				least = cost;
				best = at;
			}
		}
		node[a] = best;
		placed[a] = taken[best] = true;
	}
}

void some_exchange_greedy(size_t i, const struct np_topology *t, uint32_t *node)
{
	uint64_t bytes[N * N];

	for (uint32_t k = 0; k < N * N; k++)
		bytes[k] = bytes_between(i, k / N, k % N);
	some_greedy(bytes, N, t, node);
}
