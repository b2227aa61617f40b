#include "t.h"
#include "np_engine.h"

#define MAX 64

/* "leaf/node" of each rank, in words; then the server of each client, or "-". */
static const struct {
	const char *name, *places, *servers, *skipped;
} tables[] = {
	{ "two nodes", "l/a l/b", "1 -", "" },
	{ "four nodes", "l/a l/b l/c l/d", "1 - 3 -", "" },
	{ "three nodes make a triangle", "l/a l/b l/c", "1 2 0", "" },
	{ "five: a pair and a triangle", "l/a l/b l/c l/d l/e", "1 - 3 4 2",
	  "" },
	{ "one node", "l/a", "-", "0" },
	{ "a leaf with one node is skipped", "l/a l/b m/c", "1 - -", "2" },
	{ "leaves do not mix", "l/a m/b l/c m/d", "2 3 - -", "" },
	{ "no topology is one leaf", "/a /b", "1 -", "" },
	{ "two per node: the second begins one node on",
	  "l/a l/a l/b l/b l/c l/c l/d l/d", "2 - - 5 6 - - 1", "" },
	{ "two per node, two nodes: each asks once", "l/a l/a l/b l/b",
	  "2 - - 1", "" },
	{ "two per node, ranks dealt in turns", "l/a l/b l/a l/b", "1 - - 2",
	  "" },
	{ "a second process on one node only", "l/a l/a l/b", "2 - -", "1" },
	{ "the order of ranks is the order of nodes", "l/z l/y l/x l/w",
	  "1 - 3 -", "" },
	{ "the same node name under two leaves", "l/a m/a l/b m/b", "2 3 - -",
	  "" },
};

/* Splits text in place. */
static size_t parse_places(char *text, struct np_place *place)
{
	size_t n = 0;

	for (char *save = NULL, *w = strtok_r(text, " ", &save); w;
	     w = strtok_r(NULL, " ", &save)) {
		char *slash = strchr(w, '/');

		*slash = '\0';
		place[n++] = (struct np_place){ slash + 1, w };
	}
	return n;
}

T_TEST("nodes are paired within their leaf")
{
	T_EACH(row, tables) {
		char text[256], servers[256] = "", skipped[256] = "";
		struct np_place place[MAX];
		struct np_peers pair[MAX];
		size_t n;

		strcpy(text, row->places);
		n = parse_places(text, place);
		T_ROW(row->name, np_pairing_make(place, n, pair) == 0);
		for (size_t r = 0; r < n; r++) {
			char one[24] = "-";

			if (pair[r].server != NP_NO_RANK)
				snprintf(one, sizeof(one), "%ld",
					 pair[r].server);
			strcat(strcat(servers, r ? " " : ""), one);
			snprintf(one, sizeof(one), "%zu", r);
			if (pair[r].skipped)
				strcat(skipped, one);
		}
		T_ROW(row->name, !strcmp(servers, row->servers));
		T_ROW(row->name, !strcmp(skipped, row->skipped));
	}
}

/* A cluster made from a seed: leaves, nodes and processes in any order. */
static size_t make_cluster(unsigned seed, struct np_place *place)
{
	static char names[MAX][8], leaves[MAX][8];
	size_t n;

	srand(seed);
	n = 1 + (size_t)rand() % MAX;
	for (size_t r = 0; r < n; r++) {
		int node = rand() % (1 + (int)seed % 17);

		snprintf(names[r], sizeof(names[r]), "n%d", node);
		snprintf(leaves[r], sizeof(leaves[r]), "l%d", node % 3);
		place[r] = (struct np_place){ names[r], leaves[r] };
	}
	return n;
}

static int other_node_same_leaf(const struct np_place *place, size_t a,
				size_t b)
{
	return strcmp(place[a].node, place[b].node) &&
	       !strcmp(place[a].leaf, place[b].leaf);
}

static void check_pairs(const struct np_place *place,
			const struct np_peers *pair, size_t n)
{
	for (size_t r = 0; r < n; r++) {
		long a = pair[r].server, b = pair[r].client;
		int idle = a == NP_NO_RANK && b == NP_NO_RANK;

		T_CHECK(idle == (pair[r].skipped != NULL));
		if (a != NP_NO_RANK) {
			T_CHECK(a >= 0 && a < (long)n);
			T_CHECK(pair[a].client == (long)r);
			T_CHECK(other_node_same_leaf(place, r, (size_t)a));
		}
		if (b != NP_NO_RANK) {
			T_CHECK(b >= 0 && b < (long)n);
			T_CHECK(pair[b].server == (long)r);
		}
	}
}

T_TEST("every pair is mutual, across nodes, under one leaf")
{
	for (unsigned seed = 0; seed < 500; seed++) {
		struct np_place place[MAX];
		struct np_peers pair[MAX], again[MAX];
		size_t n = make_cluster(seed, place);

		T_CHECK(np_pairing_make(place, n, pair) == 0);
		check_pairs(place, pair, n);
		np_pairing_make(place, n, again);
		T_CHECK(!memcmp(pair, again, n * sizeof(pair[0])));
	}
}

static const struct {
	const char *name, *places;
	size_t rank, want;
	const char *to, *from;
} rings[] = {
	{ "the neighbours of a ring", "l/a l/b l/c l/d", 1, 1, "2", "0" },
	{ "the ring closes", "l/a l/b l/c l/d", 3, 2, "0 1", "2 1" },
	{ "more peers wanted than processes", "l/a l/b l/c", 0, 7, "1 2",
	  "2 1" },
	{ "two nodes", "l/a l/b", 0, 3, "1", "1" },
	{ "one node", "l/a", 0, 3, "", "" },
	{ "within the leaf", "l/a m/b l/c m/d", 1, 3, "3", "3" },
	{ "among the same local rank", "l/a l/a l/b l/b l/c l/c", 3, 2, "5 1",
	  "1 5" },
	{ "no other process has its local rank", "l/a l/a l/b", 1, 2, "", "" },
};

static void print_ranks(char *out, const size_t *ranks, size_t n)
{
	*out = '\0';
	for (size_t i = 0; i < n; i++)
		out += sprintf(out, "%s%zu", i ? " " : "", ranks[i]);
}

T_TEST("rings go around the nodes of a leaf")
{
	T_EACH(r, rings) {
		char text[256], to_text[64], from_text[64];
		size_t to[MAX], from[MAX], got = 99, n;
		struct np_place place[MAX];

		strcpy(text, r->places);
		n = parse_places(text, place);
		T_ROW(r->name, np_pairing_ring(place, n, false, r->rank,
					       r->want, to, from, &got) == 0);
		print_ranks(to_text, to, got);
		print_ranks(from_text, from, got);
		T_ROW(r->name, !strcmp(to_text, r->to));
		T_ROW(r->name, !strcmp(from_text, r->from));
	}
}

/* Who I send to receives from me, and as often. */
T_TEST("what one sends the other receives")
{
	static size_t to[MAX][MAX], from[MAX][MAX];
	size_t got[MAX];

	for (unsigned seed = 0; seed < 300; seed++) {
		struct np_place place[MAX];
		size_t n = make_cluster(seed, place), want = 1 + seed % 5;

		for (size_t r = 0; r < n; r++)
			np_pairing_ring(place, n, false, r, want, to[r],
					from[r], &got[r]);
		for (size_t r = 0; r < n; r++)
			for (size_t i = 0; i < got[r]; i++) {
				size_t s = to[r][i];

				T_CHECK(got[s] == got[r]);
				T_CHECK(from[s][i] == r);
				T_CHECK(other_node_same_leaf(place, r, s));
			}
	}
}

/* A step of 65536 processes: sorting, not comparing all with all. */
T_TEST("65536 processes are paired at once")
{
	size_t n = 65536;
	struct np_place *place = calloc(n, sizeof(*place));
	struct np_peers *pair = calloc(n, sizeof(*pair));
	char(*name)[8] = calloc(n, sizeof(*name));

	for (size_t i = 0; i < n; i++) {
		snprintf(name[i], sizeof(name[i]), "%zu", i);
		place[i] = (struct np_place){ name[i], name[i / 32] };
	}
	T_CHECK(np_pairing_make(place, n, pair) == 0);
	for (size_t i = 0; i < n; i++)
		T_CHECK(!pair[i].skipped);
	free(place);
	free(pair);
	free(name);
}

/* The next three ranks around all leaves. */
static const struct {
	const char *name, *places, *to;
	size_t rank, want;
} across[] = {
	{ "the neighbours in a ring across two leaves are on the other one",
	  "l/a l/b m/c m/d", "2 1 3", 0, 3 },
	{ "and they wrap around", "l/a l/b m/c m/d", "0 2 1", 3, 3 },
	{ "leaves of different size", "l/a l/b l/c m/d", "1 2", 3, 2 },
	{ "on one leaf it is the plain ring", "l/a l/b l/c", "2 0", 1, 2 },
	{ "more peers wanted than processes", "l/a m/b", "1", 0, 3 },
};

T_TEST("rings across the uplinks")
{
	T_EACH(r, across) {
		char text[256], got_to[64] = "";
		struct np_place place[MAX];
		size_t n, to[MAX], from[MAX], got = 0;

		strcpy(text, r->places);
		n = parse_places(text, place);
		T_ROW(r->name, !np_pairing_ring(place, n, true, r->rank,
						r->want, to, from, &got));
		for (size_t k = 0; k < got; k++)
			snprintf(got_to + strlen(got_to),
				 sizeof(got_to) - strlen(got_to), "%s%zu",
				 k ? " " : "", to[k]);
		T_ROW(r->name, !strcmp(got_to, r->to));
	}
}
