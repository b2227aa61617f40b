#include "t.h"
#include "np_tolerance.h"

#include "some_goal.h"
#include "some_graph.h"

static double run_time(const char *text, const struct np_tolerance_opt *opt,
		       double x, double *slope)
{
	struct np_err err = NP_ERR_INIT;
	struct np_tolerance *t = NULL;
	struct np_runtime r = { -1, -1, -1 };
	struct np_graph *g = NULL;

	if (some_goal(text, strlen(text), &g, &err) ||
	    np_tolerance_new(g, opt, &t, &err))
		fprintf(stderr, "%s\n", err.text);
	else
		np_tolerance_at(t, x, &r);
	np_tolerance_free(t);
	np_graph_free(g);
	if (slope)
		*slope = r.right;
	return r.ns;
}

/* ---- Programs of n ranks, compared with LogGOPSim ---- */

/* Binomial tree: rank r is the parent of r + k, for powers of two k above r. */
static uint32_t children_from(uint32_t r)
{
	uint32_t k = 1;

	while (k <= r)
		k *= 2;
	return k;
}

static void broadcast(FILE *f, uint32_t r, uint32_t n)
{
	if (r)
		fprintf(f,
			"a: recv 1024b from %u\nb: calc 700\n"
			"b requires a\n",
			r - children_from(r) / 2);
	for (uint32_t k = children_from(r); r + k < n; k *= 2)
		fprintf(f,
			r ? "c%u: send 1024b to %u\nc%u requires b\n" :
			    "c%u: send 1024b to %u\n",
			k, r + k, k);
}

static void reduce(FILE *f, uint32_t r, uint32_t n)
{
	uint32_t k = 1, last = 0;

	for (; k < n && !(r & k); k *= 2) {
		if (r + k >= n)
			continue;
		fprintf(f,
			"a%u: recv 1024b from %u\nb%u: calc 300\n"
			"b%u requires a%u\n",
			k, r + k, k, k, k);
		if (last)
			fprintf(f, "a%u requires b%u\n", k, last);
		last = k;
	}
	if (r)
		fprintf(f, "c: send 1024b to %u\n", r - k);
	if (r && last)
		fprintf(f, "c requires b%u\n", last);
}

static void gather(FILE *f, uint32_t r, uint32_t n)
{
	for (uint32_t i = 1; !r && i < n; i++)
		fprintf(f, "recv 1024b from %u\n", i);
	if (r)
		fprintf(f, "send 1024b to 0\n");
}

static void all_to_all(FILE *f, uint32_t r, uint32_t n)
{
	for (uint32_t k = 1; k < n; k++)
		fprintf(f, "recv 1024b from %u\n", (r + n - k) % n);
	for (uint32_t k = 1; k < n; k++)
		fprintf(f, "send 1024b to %u\n", (r + k) % n);
}

static void exchanges(FILE *f, uint32_t r, uint32_t n)
{
	for (uint32_t k = 1; k < n; k++) {
		fprintf(f, "s%u: send 1024b to %u\nr%u: recv 1024b from %u\n",
			k, (r + k) % n, k, (r + n - k) % n);
		for (int i = 0; k > 1 && i < 4; i++)
			fprintf(f, "%c%u requires %c%u\n", "sr"[i / 2], k,
				"sr"[i % 2], k - 1);
	}
}

/* 64 segments of a byte; each is passed on before the next is received. */
static void ring(FILE *f, uint32_t r, uint32_t n)
{
	for (uint32_t k = 0; k < 64; k++) {
		if (r)
			fprintf(f, "r%u: recv 1b from %u\n", k, r - 1);
		fprintf(f, "s%u: send 1b to %u\n", k, (r + 1) % n);
		if (r)
			fprintf(f, "s%u requires r%u\n", k, k);
		if (k)
			fprintf(f, "%c%u requires s%u\n", r ? 'r' : 's', k,
				k - 1);
	}
	for (uint32_t k = 0; !r && k < 64; k++)
		fprintf(f,
			k ? "r%u: recv 1b from %u\nr%u requires r%u\n" :
			    "r%u: recv 1b from %u\n",
			k, n - 1, k, k - 1);
}

static char *program(void (*rank)(FILE *f, uint32_t r, uint32_t n), uint32_t n)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fprintf(f, "num_ranks %u\n", n);
	for (uint32_t r = 0; r < n; r++) {
		fprintf(f, "rank %u {\n", r);
		rank(f, r, n);
		fprintf(f, "}\n");
	}
	fclose(f);
	return text;
}

/* Results of LogGOPSim at commit 76451de, with -L -o -g -G of nets[] below. */
static const struct {
	const char *name;
	void (*rank)(FILE *f, uint32_t r, uint32_t n);
	uint32_t n;
	double ns[2];
} published[] = {
	{ "broadcast of 4 ranks", broadcast, 4, { 13446, 24676 } },
	{ "reduce of 4 ranks", reduce, 4, { 12646, 23876 } },
	{ "gather of 4 ranks", gather, 4, { 14069, 26914 } },
	{ "all-to-all of 4 ranks", all_to_all, 4, { 18069, 34914 } },
	{ "exchanges of 4 ranks", exchanges, 4, { 18069, 34914 } },
	{ "ring of 4 ranks", ring, 4, { 209000, 350500 } },
	{ "broadcast of 16 ranks", broadcast, 16, { 26892, 49352 } },
	{ "reduce of 16 ranks", reduce, 16, { 25292, 47752 } },
	{ "gather of 16 ranks", gather, 16, { 62345, 118570 } },
	{ "all-to-all of 16 ranks", all_to_all, 16, { 90345, 174570 } },
	{ "exchanges of 16 ranks", exchanges, 16, { 90345, 174570 } },
	{ "ring of 16 ranks", ring, 16, { 269000, 715000 } },
	{ "broadcast of 64 ranks", broadcast, 64, { 40338, 74028 } },
	{ "reduce of 64 ranks", reduce, 64, { 37938, 71628 } },
	{ "gather of 64 ranks", gather, 64, { 255449, 485194 } },
	{ "all-to-all of 64 ranks", all_to_all, 64, { 379449, 733194 } },
	{ "exchanges of 64 ranks", exchanges, 64, { 379449, 733194 } },
	{ "ring of 64 ranks", ring, 64, { 509000, 1123000 } },
};

T_TEST("times equal those of LogGOPSim, to the nanosecond")
{
	static const struct np_loggps nets[2] = {
		{ 3000, 1000, 1, NP_LOGGPS_NO_RENDEZVOUS, true, 3000 },
		{ 2500, 1500, 6, NP_LOGGPS_NO_RENDEZVOUS, true, 1000 },
	};

	T_EACH(r, published) {
		char *text = program(r->rank, r->n);

		for (int k = 0; k < 2; k++) {
			struct np_tolerance_opt opt = {
				.net = nets[k],
				.one_cpu = true,
				.one_link = true,
			};

			T_ROW(r->name, run_time(text, &opt, nets[k].L_ns,
						NULL) == r->ns[k]);
		}
		free(text);
	}
}

/* n ranks send this many bytes each to rank 0 simultaneously. */
static char *many_to_one(unsigned n, unsigned bytes)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fprintf(f, "num_ranks %u rank 0 {\n", n + 1);
	for (unsigned i = 1; i <= n; i++)
		fprintf(f, "recv %ub from %u\n", bytes, i);
	fprintf(f, "}\n");
	for (unsigned i = 1; i <= n; i++)
		fprintf(f, "rank %u { send %ub to 0 }\n", i, bytes);
	fclose(f);
	return text;
}

T_TEST("eight messages to one receiver take eight times as long")
{
	struct np_tolerance_opt opt = {
		.net = { .L_ns = 100, .G_ns = 1, .S = NP_LOGGPS_NO_RENDEZVOUS },
	};
	char *eight = many_to_one(8, 1000), *one = many_to_one(1, 1000);
	double slope;

	T_CHECK(run_time(eight, &opt, 100, NULL) == 1100);
	opt.one_link = true;
	T_CHECK(run_time(one, &opt, 100, NULL) == 1100);
	T_CHECK(run_time(eight, &opt, 100, &slope) == 8100);
	T_CHECK(slope == 1); /* the first in flight; the others wait */
	opt.x = NP_LOGGPS_G;
	T_CHECK(run_time(eight, &opt, 1, &slope) == 8100 && slope == 8000);
	/* Next to a large message that began before it, and after one. */
	T_CHECK(run_time("num_ranks 3 rank 0 { recv 10b from 1 recv 5000b "
			 "from 2 } rank 1 { a: calc 50 b: send 10b to 0 "
			 "b requires a } rank 2 { send 5000b to 0 }",
			 &opt, 1, NULL) == 5110);
	free(eight);
	free(one);
}

T_TEST("a processor executes one operation at a time, an adapter keeps its gap")
{
	static const char two[] = "num_ranks 1 rank 0 { calc 70 calc 30 }";
	static const char cpus[] =
		"num_ranks 1 rank 0 { calc 70 calc 30 cpu 1 }";
	static const char streams[] = "num_ranks 1 rank 0 { calc 70 cpu 44 "
				      "calc 30 cpu 300 calc 20 cpu 300 }";
	static const char sends[] =
		"num_ranks 2 rank 0 { send 100b to 1 send 100b to 1 "
		"send 100b to 1 nic 1 } rank 1 { recv 100b from 0 "
		"recv 100b from 0 recv 100b from 0 }";
	static const char two_in[] =
		"num_ranks 3 rank 0 { recv 100b from 1 recv 100b from 2 } "
		"rank 1 { send 100b to 0 } rank 2 { send 100b to 0 }";
	struct np_tolerance_opt opt = {
		.net = { .L_ns = 1000,
			 .o_ns = 10,
			 .G_ns = 1,
			 .g_ns = 200,
			 .S = NP_LOGGPS_NO_RENDEZVOUS },
	};

	T_CHECK(run_time(two, &opt, 0, NULL) == 70);
	T_CHECK(run_time(sends, &opt, 1000, NULL) == 1120);
	opt.one_cpu = true;
	T_CHECK(run_time(two, &opt, 0, NULL) == 100);
	T_CHECK(run_time(cpus, &opt, 0, NULL) == 70);
	T_CHECK(run_time(streams, &opt, 0, NULL) == 70);
	/*
	 * It starts at 0, on the other adapter at 10, and at 300; the last
	 * arrives at 300 + 10 + 1000 + 100 and is complete 10 later.
	 */
	T_CHECK(run_time(sends, &opt, 1000, NULL) == 1420);
	/*
	 * Two simultaneous messages: everything of the second follows the
	 * first.
	 */
	T_CHECK(run_time(two_in, &opt, 1000, NULL) == 1230);
	opt.overlap = true; /* its bytes arrive in the meantime */
	T_CHECK(run_time(two_in, &opt, 1000, NULL) == 1130);
}

/*
 * Orders never form a cycle; nothing becomes faster by waiting (but overheads
 * of messages that arrive before their receives are paid while a rank waits);
 * the longest path at x equals the simulated time.
 */
T_TEST("exclusive resources form no cycle and make nothing faster")
{
	size_t bad = 0, slower = 0;

	for (uint64_t seed = 0; seed < 300; seed++) {
		struct np_graph *g =
			some_graph(seed, 1 + seed % 6, 4 + (uint32_t)seed % 90);
		struct np_tolerance_opt opt = {
			.net = { .L_ns = seed % 3 * 350,
				 .o_ns = seed % 4 < 3 ? 0 : 50,
				 .G_ns = seed % 5 * 0.1,
				 .g_ns = 10,
				 .S = NP_LOGGPS_NO_RENDEZVOUS },
			.x = (enum np_loggps_param)(seed % 3),
		};
		struct np_tolerance *t, *u;
		struct np_runtime r, s;
		double x0 = np_loggps_value(&opt.net, opt.x), ns = -1;

		if (np_tolerance_new(g, &opt, &t, NULL))
			abort();
		opt.one_link = seed % 4 > 0;
		opt.one_cpu = seed % 4 < 3;
		if (np_tolerance_new(g, &opt, &u, NULL)) {
			bad++;
			u = NULL;
		}
		for (double x = 0; u && x < 1000; x += 300) {
			np_tolerance_at(t, x, &r);
			np_tolerance_at(u, x, &s);
			bad += s.ns < r.ns * (1 - 1e-12);
			slower += s.ns > r.ns;
		}
		if (u)
			np_tolerance_at(u, x0, &s);
		if (np_tolerance_simulate(g, &opt, NULL, &ns, NULL) ||
		    fabs(ns - s.ns) > 1e-12 * ns)
			bad++;
		np_tolerance_free(t);
		np_tolerance_free(u);
		np_graph_free(g);
	}
	T_CHECK(!bad && slower > 300);
}

/*
 * The messages of all pairs add up to the slope, and latency added to one pair
 * lengthens the run as often as the pair has messages on the path.
 */
T_TEST("messages of each pair of ranks on the critical path")
{
	size_t bad = 0, seen = 0;

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct np_graph *g = some_graph(seed, 2 + seed % 6,
						20 + (uint32_t)seed % 90);
		struct np_tolerance_opt opt = {
			.net = { .L_ns = 351.7,
				 .o_ns = 21.3,
				 .G_ns = 0.117,
				 .S = NP_LOGGPS_NO_RENDEZVOUS,
				 .g_ns = 9.1 },
			.one_cpu = seed % 3 == 1,
			.one_link = seed % 3 > 0,
		};
		struct np_tolerance *t;
		struct np_runtime r;
		struct np_pair *pair;
		uint64_t sum = 0;
		size_t n;

		if (np_tolerance_pairs(g, &opt, &pair, &n, NULL) ||
		    np_tolerance_new(g, &opt, &t, NULL))
			abort();
		np_tolerance_at(t, opt.net.L_ns, &r);
		np_tolerance_free(t);
		for (size_t i = 0; i < n; i++)
			sum += pair[i].messages;
		bad += (double)sum != r.right;
		for (size_t i = 0; i < n; i++, seen++) {
			opt.pair = &pair[i];
			if (np_tolerance_new(g, &opt, &t, NULL))
				abort();
			np_tolerance_at(t, opt.net.L_ns, &r);
			bad += (double)pair[i].messages != r.right;
			np_tolerance_free(t);
		}
		free(pair);
		np_graph_free(g);
	}
	T_CHECK(!bad && seen > 200);
}

T_TEST("detours lengthen the work that they interrupt")
{
	static const char text[] = "# of a node\n100 50\n 200 10 # short\n";
	static const struct {
		double t, length, end;
	} rows[] = {
		{ 0, 100, 100 },      { 0, 101, 151 },	{ 110, 0, 150 },
		{ 150, 49, 199 },     { 140, 60, 220 }, { 0, 1500, 2100 },
		{ 1000, 1500, 3100 },
	};
	struct np_detours d = { .n = 0 };
	FILE *f = fmemopen((char *)text, strlen(text), "r");
	double at = 0;

	T_CHECK(!np_detours_read(f, "noise", &d, NULL) && d.n == 2);
	fclose(f);
	T_CHECK(d.period_ns == 210 && d.away_ns == 60);
	/* The end of the first detour, wherever this rank begins. */
	for (double t = 1000; !at && t < 1000 + 2 * d.period_ns; t++)
		if (np_detours_end(&d, 0, t, 0) > t + 11)
			at = np_detours_end(&d, 0, t, 0) - 150;
	T_EACH(r, rows)
		T_ROW("work and detours",
		      fabs(np_detours_end(&d, 0, at + r->t, r->length) - at -
			   r->end) < 1e-6);
	np_detours_free(&d);
}

T_TEST("invalid files of detours are rejected")
{
	static const struct {
		const char *name, *text;
	} bad[] = {
		{ "no detour", "# none\n" },
		{ "one number", "100\n" },
		{ "not in order", "100 5\n50 5\n" },
		{ "below 0", "-1 5\n" },
		{ "no work", "0 10\n5 10\n" },
		{ "a word", "100 5 more\n" },
		{ "not a number", "nan 5\n" },
		{ "infinity", "100 inf\n" },
		{ "hexadecimal", "0x10 5\n" },
		{ "beyond all numbers", "100 1e400\n" },
		{ "a plus sign", "+100 5\n" },
		{ "two in one", "100.5.5\n" },
		{ "more behind a number", "100 5ns\n" },
	};

	T_EACH(row, bad) {
		struct np_detours d = { .n = 0 };
		FILE *f = fmemopen((char *)row->text, strlen(row->text), "r");

		T_ROW(row->name,
		      np_detours_read(f, "noise", &d, NULL) == -EINVAL);
		np_detours_free(&d);
		fclose(f);
	}
}

/* A rank that only computes loses the detours' share of its processor. */
T_TEST("detours of a tenth of the time make a run a ninth longer")
{
	struct np_tolerance_opt opt = { .one_cpu = true };
	struct np_detours d;
	struct np_graph *g;
	double ns = 0;

	T_CHECK(!np_detours_random(9000, 1000, 1, &d));
	T_CHECK(!some_goal("num_ranks 1 rank 0 { calc 1000000000 }", 38, &g,
			   NULL));
	T_CHECK(!np_tolerance_simulate(g, &opt, &d, &ns, NULL));
	T_CHECK(fabs(ns / 1e9 - 1 / 0.9) < 0.01);
	np_detours_free(&d);
	np_graph_free(g);
}
