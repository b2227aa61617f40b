#include "t.h"
#include "np_collective.h"

#define MAX_SIZE 33

/*
 * Simulates all ranks by the data that each one has: a message carries
 * everything that its sender has. The data of rank i are bit i.
 */
struct play {
	struct np_collective_call call;
	struct np_steps steps[MAX_SIZE];
	size_t at[MAX_SIZE], round_end[MAX_SIZE];
	bool posted[MAX_SIZE];
	uint64_t knows[MAX_SIZE], then[MAX_SIZE];
	/* Messages in flight between two ranks, in order. */
	struct {
		uint64_t what[2 * MAX_SIZE], bytes[2 * MAX_SIZE];
		size_t n, taken;
	} * way;
	uint64_t sent;
	bool wrong;
};

static void plan(struct play *p, uint32_t size)
{
	for (uint32_t r = 0; r < size; r++) {
		struct np_collective_call c = p->call;

		c.rank = r;
		c.size = size;
		T_CHECK(!np_collective_steps(&c, &p->steps[r]));
		p->knows[r] = c.collective == NP_BCAST ||
					      c.collective == NP_SCATTER ||
					      c.collective == NP_SCATTERV ?
				      (r == c.root) :
				      1ull << r;
	}
}

static bool take(struct play *p, uint32_t r, const struct np_step *s)
{
	size_t k = s->peer * MAX_SIZE + r;

	if (p->way[k].taken == p->way[k].n)
		return false;
	p->wrong |= p->way[k].bytes[p->way[k].taken] != s->bytes;
	p->then[r] |= p->way[k].what[p->way[k].taken++];
	return true;
}

static void post(struct play *p, uint32_t r)
{
	struct np_steps *s = &p->steps[r];
	size_t end = p->at[r];

	while (end < s->n && s->step[end].round == s->step[p->at[r]].round)
		end++;
	p->round_end[r] = end;
	p->then[r] = p->knows[r];
	for (size_t i = p->at[r]; i < end; i++) {
		size_t k = r * MAX_SIZE + s->step[i].peer;

		p->wrong |= s->step[i].peer == r;
		if (!s->step[i].send)
			continue;
		p->way[k].what[p->way[k].n] = p->knows[r];
		p->way[k].bytes[p->way[k].n++] = s->step[i].bytes;
		p->sent += s->step[i].bytes;
	}
	p->posted[r] = true;
}

/* Advances one rank as far as possible; returns whether it did anything. */
static bool advance(struct play *p, uint32_t r)
{
	struct np_steps *s = &p->steps[r];
	bool moved = false;

	while (p->at[r] < s->n) {
		if (!p->posted[r])
			post(p, r);
		for (; p->at[r] < p->round_end[r]; p->at[r]++, moved = true)
			if (!s->step[p->at[r]].send &&
			    !take(p, r, &s->step[p->at[r]]))
				return moved;
		p->knows[r] = p->then[r];
		p->posted[r] = false;
	}
	return moved;
}

/* Whether every rank has what it needs and nothing is left in flight. */
static bool is_right(const struct play *p, uint32_t size)
{
	uint64_t all = size == 64 ? ~0ull : (1ull << size) - 1;

	for (uint32_t r = 0; r < size; r++) {
		uint64_t want = all;

		switch (p->call.collective) {
		case NP_BCAST:
		case NP_SCATTER:
		case NP_SCATTERV:
			want = 1;
			break;
		case NP_GATHER:
		case NP_GATHERV:
		case NP_REDUCE:
			want = r == p->call.root ? all : 1ull << r;
			break;
		case NP_SCAN:
		case NP_EXSCAN:
			want = (2ull << r) - 1;
			break;
		default:
			break;
		}
		if ((p->knows[r] & want) != want || p->at[r] < p->steps[r].n)
			return false;
	}
	for (size_t k = 0; k < MAX_SIZE * MAX_SIZE; k++)
		if (p->way[k].taken != p->way[k].n)
			return false;
	return !p->wrong;
}

static bool works(enum np_collective c, enum np_algorithm a, uint32_t size,
		  uint32_t root, uint64_t bytes, uint64_t *sent)
{
	struct play *p = calloc(1, sizeof(*p));
	bool ok, moved = true;

	p->way = calloc(MAX_SIZE * MAX_SIZE, sizeof(*p->way));
	p->call = (struct np_collective_call){
		.collective = c, .algorithm = a, .root = root, .bytes = bytes
	};
	plan(p, size);
	while (moved) {
		moved = false;
		for (uint32_t r = 0; r < size; r++)
			moved |= advance(p, r);
	}
	ok = is_right(p, size);
	*sent = p->sent;
	for (uint32_t r = 0; r < size; r++)
		np_steps_free(&p->steps[r]);
	free(p->way);
	free(p);
	return ok;
}

static bool has_root(enum np_collective c)
{
	return c == NP_BCAST || c == NP_GATHER || c == NP_SCATTER ||
	       c == NP_REDUCE || c == NP_GATHERV || c == NP_SCATTERV;
}

T_TEST("every algorithm takes all data where they belong, 1 to 33 ranks")
{
	uint64_t sent;

	for (int c = 0; c < NP_N_COLLECTIVES; c++)
		for (int a = 0; a < NP_N_ALGORITHMS; a++)
			for (uint32_t n = 1; n <= MAX_SIZE; n++) {
				uint32_t root = has_root(c) ? n / 2 : 0;

				if (!np_algorithm_does(a, c))
					continue;
				T_ROW(t_text("%s, algorithm %d, %u ranks",
					     np_collective_name(c), a, n),
				      works(c, a, n, root,
					    c == NP_BARRIER ? 0 : 1001, &sent));
			}
}

/* Bytes sent by all ranks, computed by hand. */
static const struct {
	const char *name;
	enum np_collective c;
	enum np_algorithm a;
	uint32_t size;
	uint64_t bytes, sent;
} loads[] = {
	{ "bcast by a tree", NP_BCAST, NP_BINOMIAL, 8, 100, 700 },
	{ "scatter by a tree sends blocks on", NP_SCATTER, NP_BINOMIAL, 8, 10,
	  120 },
	{ "gather at once", NP_GATHER, NP_LINEAR, 8, 10, 70 },
	{ "allgather in a ring", NP_ALLGATHER, NP_RING, 5, 10, 5 * 4 * 10 },
	{ "allgather by doubling", NP_ALLGATHER, NP_RECURSIVE_DOUBLING, 8, 10,
	  8 * 7 * 10 },
	{ "allgather by dissemination", NP_ALLGATHER, NP_DISSEMINATION, 6, 10,
	  6 * 5 * 10 },
	{ "allreduce in a ring", NP_ALLREDUCE, NP_RING, 4, 1000, 2 * 3 * 1000 },
	{ "allreduce by doubling", NP_ALLREDUCE, NP_RECURSIVE_DOUBLING, 8, 1000,
	  8 * 3 * 1000 },
	{ "allreduce by doubling of 6", NP_ALLREDUCE, NP_RECURSIVE_DOUBLING, 6,
	  1000, (2 + 8 + 2) * 1000 },
	{ "reduce_scatter by halving", NP_REDUCE_SCATTER, NP_RECURSIVE_DOUBLING,
	  8, 800, 8 * 700 },
	{ "alltoall in pairs", NP_ALLTOALL, NP_RING, 6, 10, 6 * 5 * 10 },
	{ "alltoall by Bruck", NP_ALLTOALL, NP_DISSEMINATION, 8, 10,
	  8 * 3 * 4 * 10 },
	{ "bcast by scatter and ring", NP_BCAST, NP_RING, 4, 400,
	  400 + 4 * 3 * 100 },
};

T_TEST("message sizes match those computed by hand")
{
	uint64_t sent;

	T_EACH(r, loads) {
		works(r->c, r->a, r->size, 0, r->bytes, &sent);
		T_ROW(r->name, sent == r->sent);
	}
}

T_TEST("unequal sizes are those of each rank")
{
	const uint64_t blocks[] = { 1, 20, 300, 4000 };
	struct np_collective_call c = { .collective = NP_ALLGATHER,
					.algorithm = NP_RING,
					.rank = 1,
					.size = 4,
					.blocks = blocks };
	struct np_steps s = { 0 };

	T_CHECK(!np_collective_steps(&c, &s));
	T_CHECK(s.n == 6 && s.step[0].send && s.step[0].bytes == 20);
	T_CHECK(s.n == 6 && s.step[4].send && s.step[4].bytes == 4000);
	c.collective = NP_GATHERV;
	c.algorithm = NP_LINEAR;
	c.rank = c.root = 2;
	T_CHECK(!np_collective_steps(&c, &s));
	T_CHECK(s.n == 3 && s.step[0].peer == 3 && s.step[0].bytes == 4000);
	np_steps_free(&s);
}

static const struct {
	const char *name, *text, *err;
} choices[] = {
	{ "one", "allreduce=ring", NULL },
	{ "from a size on", "bcast:64K=linear", NULL },
	{ "no equal sign", "allreduce", "expected COLLECTIVE=ALGORITHM" },
	{ "no such collective", "allshout=ring", "expected a collective" },
	{ "unknown algorithm", "bcast=fast", "expected linear, binomial" },
	{ "an algorithm of another collective", "gather=ring",
	  "gather has no algorithm ring" },
	{ "no size", "bcast:=ring", "expected bytes" },
	{ "an odd size", "bcast:64X=ring", "expected bytes" },
	{ "too large", "bcast:99999999999999G=ring", "expected bytes" },
	{ "empty", "", "expected COLLECTIVE=ALGORITHM" },
};

T_TEST("choices are accepted, or rejected with a message")
{
	char text[64], scan[] = "scan=linear";
	struct np_choices c = { .n = 0 };

	T_EACH(r, choices) {
		struct np_err err = NP_ERR_INIT;
		int rc;

		snprintf(text, sizeof(text), "%s", r->text);
		rc = np_choices_add(text, &c, &err);

		T_ROW(r->name,
		      r->err ? rc < 0 && strstr(err.text, r->err) : !rc);
	}
	T_CHECK(np_choices_pick(&c, NP_ALLREDUCE, 4, 1) == NP_RING);
	T_CHECK(np_choices_pick(&c, NP_BCAST, 4, 65536) == NP_LINEAR);
	T_CHECK(np_choices_pick(&c, NP_BCAST, 4, 65535) == NP_BINOMIAL);
	while (c.n < NP_MAX_CHOICES)
		T_CHECK(!np_choices_add(scan, &c, NULL));
	T_CHECK(np_choices_add(scan, &c, NULL) < 0);
}

T_TEST("every default algorithm exists")
{
	for (int c = 0; c < NP_N_COLLECTIVES; c++)
		for (uint32_t n = 1; n < 40; n++)
			for (uint64_t b = 0; b < 40; b++)
				T_CHECK(np_algorithm_does(
					np_choices_pick(NULL, c, n,
							(1ull << b) - 1),
					c));
}
