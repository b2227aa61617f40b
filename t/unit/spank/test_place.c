#include "t.h"
#include "np_place.h"

#include <string.h>

#define MAX_NODES 16

/*
 * A node is two letters: its leaf (a, b, or - for no topology), and s (step),
 * i (idle in the allocation) or x (busy with another step).
 * The answer has P for a probe, L for the level, B for both, '.' for neither.
 */
static const struct {
	const char *name, *nodes, *want;
	size_t n_probes;
	enum np_scope scope;
	size_t max_level; /* 0: any */
} rows[] = {
	{ "two nodes of one leaf", "as as", "BB", 2, NP_SCOPE_NODE },
	{ "a lone node on the second leaf is left out", "as as bs", "BB.", 2,
	  NP_SCOPE_NODE },
	{ "no two nodes on one leaf", "as bs", "..", 0, NP_SCOPE_NODE },
	{ "one node", "as", ".", 0, NP_SCOPE_NODE },
	{ "no topology is one leaf", "-s -s -s", "BBB", 3, NP_SCOPE_NODE },
	{ "two idle nodes take the level", "as as ai ai", "PPLL", 2,
	  NP_SCOPE_LEAF },
	{ "one idle node has no partner", "as as ai", "BB.", 2,
	  NP_SCOPE_NODE },
	{ "idle nodes of another leaf are of no use", "as as bi bi", "BB..", 2,
	  NP_SCOPE_NODE },
	{ "busy nodes are left alone", "as as ax ax", "BB..", 2,
	  NP_SCOPE_NODE },
	{ "busy and idle nodes mixed", "as as ax ai ai", "PP.LL", 2,
	  NP_SCOPE_LEAF },
	{ "two leaves, idle nodes on one", "as as ai ai bs bs", "PPLLPP", 4,
	  NP_SCOPE_LEAF },
	{ "a wide step: the level on pairs of each leaf",
	  "as as as as as as bs bs bs bs bs bs", "PPPPBBPPPPBB", 12,
	  NP_SCOPE_NODE, 4 },
	{ "an odd one out takes no level when there are too many",
	  "as as as bs bs bs", "PPPBBP", 6, NP_SCOPE_NODE, 2 },
	{ "as many as there may be are left as they are",
	  "as as as bs bs bs", "BBBBBB", 6, NP_SCOPE_NODE, 6 },
	{ "beside a wide step, too", "as as ai ai ai ai bs bs bi bi",
	  "PP..LLPPLL", 4, NP_SCOPE_LEAF, 4 },
};

static size_t parse(const char *text, struct np_place_node node[MAX_NODES])
{
	static const char *const leaf[] = { "a", "b", "" };
	size_t n = 0;

	for (; *text; text += 2 + (text[2] == ' '), n++)
		node[n] = (struct np_place_node){
			.name = text,
			.leaf = leaf[*text == '-' ? 2 : *text - 'a'],
			.in_step = text[1] == 's', .busy = text[1] == 'x',
		};
	return n;
}

static void test_rows(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		struct np_place_node node[MAX_NODES];
		size_t n = parse(rows[i].nodes, node), got;
		enum np_scope scope = NP_SCOPE_NODE;
		struct np_err why = NP_ERR_INIT;
		char text[MAX_NODES + 1] = "";

		got = np_place(node, n, rows[i].max_level ? rows[i].max_level :
			       MAX_NODES, &scope, &why);
		for (size_t k = 0; got && k < n; k++)
			text[node[k].index] =
				".PLB"[node[k].probe + 2 * node[k].level];
		T_ROW(rows[i].name, got == rows[i].n_probes &&
		      (got ? scope == rows[i].scope &&
			     !strcmp(text, rows[i].want) :
			     strstr(why.text, "leaf") != NULL));
	}
}

static const struct t_case cases[] = {
	{ "probes and level run where they should", test_rows },
	{ NULL, NULL },
};
T_SUITE(place, cases)
