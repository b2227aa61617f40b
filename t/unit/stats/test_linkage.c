#include "t.h"
#include "np_linkage.h"
#include "some_record.h"

#define MOST 64

/* Nodes of leaf switches, and how far each pair is apart. */
static struct {
	size_t n;
	uint32_t leaf[MOST];
	double dist[MOST * MOST];
} net;

/*
 * Sizes of leaves; the first node has slow more in all it does; noise is a part
 * of a latency that is added at most.
 */
static void build(const size_t *size, double within, double between,
		  double noise, double slow, uint64_t seed)
{
	struct t_rng g = { seed };

	net.n = 0;
	for (uint32_t l = 0; size[l]; l++)
		for (size_t k = 0; k < size[l]; k++)
			net.leaf[net.n++] = l;
	for (size_t i = 0; i < net.n; i++)
		for (size_t j = i; j < net.n; j++) {
			double d = net.leaf[i] == net.leaf[j] ? within :
								between;

			d *= 1 + noise * t_uniform(&g);
			d += i ? 0 : slow;
			net.dist[i * net.n + j] = net.dist[j * net.n + i] = d;
		}
}

/* Multiplies each distance by 1 plus noise of that kind and mean size s. */
static void add_noise(char kind, double s, uint64_t seed)
{
	struct t_rng g = { seed };

	for (size_t i = 0; i < net.n; i++)
		for (size_t j = i; j < net.n; j++) {
			double u = t_uniform(&g), v = t_uniform(&g);
			double x = kind == 'e' ? -s * log(1 - u) :
				   kind == 't' ? (v < 0.1 ? 6 * s : s) * u :
						 s * sqrt(-2 * log(1 - u)) *
							 cos(2 * M_PI * v);

			net.dist[i * net.n + j] *= fmax(0.3, 1 + x);
			net.dist[j * net.n + i] = net.dist[i * net.n + j];
		}
}

static const struct {
	const char *name;
	size_t size[9];
	double within, between, noise, slow;
} rows[] = {
	{ "8 leaves of 8", { 8, 8, 8, 8, 8, 8, 8, 8 }, 2e-6, 2.6e-6, 0.05, 0 },
	{ "leaves of many sizes", { 1, 2, 30, 5, 11 }, 2e-6, 3e-6, 0.1, 0 },
	{ "two nodes and one", { 2, 1 }, 2e-6, 3e-6, 0, 0 },
	{ "one leaf", { 16 }, 2e-6, 2e-6, 0.1, 0 },
	{ "one leaf, and noise", { 30 }, 2e-6, 2e-6, 0.5, 0 },
	{ "a node that is slower by itself",
	  { 4, 4, 4 },
	  2e-6,
	  3e-6,
	  0.02,
	  0.2e-6 },
	{ "one leaf with such a node", { 12 }, 2e-6, 3e-6, 0.02, 0.2e-6 },
	{ "TCP: slower, and noisier", { 8, 8, 8 }, 30e-6, 45e-6, 0.15, 0 },
	{ "one node", { 1 }, 2e-6, 3e-6, 0, 0 },
};

static bool as_built(void)
{
	struct np_linkage found;
	uint32_t group[MOST];

	if (np_linkage(net.dist, net.n, group, &found) ||
	    found.n_groups != net.leaf[net.n - 1] + 1)
		return false;
	return !memcmp(group, net.leaf, net.n * sizeof(*group));
}

T_TEST("nodes of a leaf are found together")
{
	T_EACH(r, rows)
		for (uint64_t seed = 1; seed <= 20; seed++) {
			build(r->size, r->within, r->between, r->noise, r->slow,
			      seed);
			T_ROW(r->name, as_built());
		}
}

/*
 * Latencies that are noisy: by a number that is normally distributed, one with
 * a long tail ('e'), or as one of ten pairs is much slower ('t').
 */
/* clang-format off */
static const struct {
	const char *name;
	size_t size[9];
	double within, between;
	char kind;
	double noise;
	int most_wrong; /* of 20 */
} noisy[] = {
	{ "64 nodes, 10 %", { 8, 8, 8, 8, 8, 8, 8, 8 }, 30e-6, 45e-6, 'n', 0.1,
	  0 },
	{ "64 near nodes, 10 %", { 8, 8, 8, 8, 8, 8, 8, 8 }, 2e-6, 2.6e-6, 'n',
	  0.1, 0 },
	{ "64 nodes, tail of 20 %", { 8, 8, 8, 8, 8, 8, 8, 8 }, 30e-6, 45e-6,
	  'e', 0.2, 2 },
	{ "64 nodes, tail of 40 %", { 8, 8, 8, 8, 8, 8, 8, 8 }, 30e-6, 45e-6,
	  'e', 0.4, 10 },
	{ "64 nodes, some pairs slow", { 8, 8, 8, 8, 8, 8, 8, 8 }, 30e-6,
	  45e-6, 't', 0.1, 2 },
	{ "two leaves, tail of 40 %", { 8, 8 }, 30e-6, 45e-6, 'e', 0.4, 4 },
	{ "one leaf, 10 %", { 64 }, 30e-6, 45e-6, 'n', 0.1, 2 },
	{ "one leaf, 40 %", { 64 }, 30e-6, 45e-6, 'n', 0.4, 0 },
	{ "one leaf, tail of 40 %", { 64 }, 30e-6, 45e-6, 'e', 0.4, 0 },
};
/* clang-format on */

T_TEST("they are found in noise, and none where there are none")
{
	T_EACH(r, noisy) {
		int wrong = 0;

		for (uint64_t seed = 1; seed <= 20; seed++) {
			build(r->size, r->within, r->between, 0, 0, seed);
			add_noise(r->kind, r->noise, seed);
			wrong += !as_built();
		}
		T_ROW(r->name, wrong <= r->most_wrong);
	}
}

T_TEST("how near and how far they are")
{
	struct np_linkage found;
	uint32_t group[MOST];

	build((size_t[]){ 4, 4, 0 }, 2e-6, 3e-6, 0, 0, 1);
	T_CHECK(!np_linkage(net.dist, net.n, group, &found));
	T_CHECK(t_close(found.within, 2e-6, 1e-9));
	T_CHECK(t_close(found.between, 3e-6, 1e-9));
	build((size_t[]){ 4, 0 }, 2e-6, 3e-6, 0, 0, 1);
	T_CHECK(!np_linkage(net.dist, net.n, group, &found));
	T_CHECK(isnan(found.between));
}

/* A step that lost some of its measurements still counts. */
T_TEST("pairs that were not measured")
{
	struct t_rng g = { 3 };

	build((size_t[]){ 8, 8, 8, 0 }, 2e-6, 3e-6, 0.05, 0, 1);
	for (size_t k = 0; k < 100; k++) {
		size_t i = t_rand(&g) % net.n, j = t_rand(&g) % net.n;

		net.dist[i * net.n + j] = net.dist[j * net.n + i] = NAN;
	}
	T_CHECK(as_built());
	for (size_t j = 0; j < net.n; j++)
		net.dist[3 * net.n + j] = net.dist[j * net.n + 3] = NAN;
	T_CHECK(np_linkage(net.dist, net.n, (uint32_t[MOST]){ 0 },
			   &(struct np_linkage){ 0 }) == -EINVAL);
}
