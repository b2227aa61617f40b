#include "t.h"
#include "np_agents.h"

#define MAX 32

/*
 * A letter is a node: its leaf; '-' where there is no topology, '.' is not to
 * be picked. The answer: the groups of each leaf, by their number of nodes.
 */
static const struct {
	const char *name, *nodes;
	uint32_t max_pairs;
	const char *want;
} rows[] = {
	{ "two nodes of one leaf", "aa", 4, "a2" },
	{ "three make one group", "aaa", 4, "a3" },
	{ "of three where one pair is enough", "aaa", 1, "a2" },
	{ "four are two pairs", "aaaa", 4, "a2 a2" },
	{ "five are two pairs, and one is left", "aaaaa", 4, "a2 a2" },
	{ "no more pairs than asked for", "aaaaaaaaaa", 2, "a2 a2" },
	{ "of each leaf so many", "abababababababab", 2, "a2 a2 b2 b2" },
	{ "leaves do not mix", "abab", 4, "a2 b2" },
	{ "a lone node has no peer", "aab", 4, "a2" },
	{ "lone nodes everywhere", "abcd", 4, "" },
	{ "one node", "a", 4, "" },
	{ "no agents", "", 4, "" },
	{ "no pairs wanted", "aaa", 0, "" },
	{ "no topology is one leaf", "---", 4, "-3" },
	{ "an agent that is excluded is not chosen", "a.a.", 4, "a2" },
	{ "nor counts for a group of three", "aa.", 4, "a2" },
	{ "nor does it become a peer", "a.", 4, "" },
	{ "every agent is excluded", "....", 4, "" },
	{ "a group of three and pairs", "bbbaaaacc", 2, "a2 a2 b3 c2" },
};

static const char *leaf_of(char c)
{
	static const char *const names[] = { "a", "b", "c", "d" };

	return c == '.' ? NULL : c == '-' ? "" : names[c - 'a'];
}

static void describe(const struct np_pair_group *g, size_t n, const char *nodes,
		     char *out)
{
	char *start = out;

	*out = '\0';
	for (size_t i = 0; i < n; i++)
		out += sprintf(out, "%s%c%zu", out > start ? " " : "",
			       nodes[g[i].node[0]], g[i].n);
}

static int is_sound(const struct np_pair_group *g, size_t groups,
		    const char *const leaf[], size_t n)
{
	char *seen = calloc(n + 1, 1);
	int ok = 1;

	for (size_t i = 0; i < groups; i++) {
		ok &= g[i].n == 2 || g[i].n == NP_PAIR_GROUP_MAX;
		for (size_t k = 0; k < g[i].n; k++) {
			size_t at = g[i].node[k];

			ok &= at < n && leaf[at] && !seen[at]++ &&
			      !strcmp(leaf[at], leaf[g[i].node[0]]);
		}
	}
	free(seen);
	return ok;
}

T_TEST("of each leaf a few pairs measure")
{
	T_EACH(r, rows) {
		struct np_pair_group *g;
		const char *leaf[MAX];
		size_t n = strlen(r->nodes);

		for (size_t k = 0; k < n; k++)
			leaf[k] = leaf_of(r->nodes[k]);
		for (uint64_t seed = 0; seed < 20; seed++) {
			char text[64];
			size_t got;

			/* No more room than promised: for a sanitizer. */
			g = malloc((n / 2) * sizeof(*g) + 1);
			got = np_select_pairs(leaf, n, r->max_pairs, seed, g);
			describe(g, got, r->nodes, text);
			T_ROW(r->name, !strcmp(text, r->want));
			T_ROW(r->name, is_sound(g, got, leaf, n));
			free(g);
		}
	}
}

T_TEST("another step has other pairs, the same one the same")
{
	const char *leaf[MAX];
	struct np_pair_group g[MAX / 2] = { 0 }, again[MAX / 2];
	size_t picked[MAX] = { 0 }, never = 0, changed = 0;

	for (size_t i = 0; i < MAX; i++)
		leaf[i] = "a";
	for (uint64_t seed = 0; seed < 300; seed++) {
		size_t before = g[0].node[0];

		T_CHECK(np_select_pairs(leaf, MAX, 2, seed, g) == 2);
		T_CHECK(np_select_pairs(leaf, MAX, 2, seed, again) == 2 &&
			g[0].node[0] == again[0].node[0] &&
			g[1].node[1] == again[1].node[1]);
		changed += seed && g[0].node[0] != before;
		for (size_t i = 0; i < 4; i++)
			picked[g[i / 2].node[i % 2]]++;
	}
	for (size_t i = 0; i < MAX; i++)
		never += !picked[i];
	T_CHECK(!never && changed > 200);
}

T_TEST("10000 nodes")
{
	size_t n = 10000, got, of_leaf[313] = { 0 };
	struct np_pair_group *g = calloc(n / 2, sizeof(*g));
	const char **leaf = calloc(n, sizeof(*leaf));
	char(*name)[8] = calloc(n, sizeof(*name));

	for (size_t i = 0; i < n; i++) {
		snprintf(name[i], sizeof(name[i]), "%zu", i / 32);
		leaf[i] = name[i];
	}
	got = np_select_pairs(leaf, n, 4, 1, g);
	T_CHECK(got == 4 * 313 && is_sound(g, got, leaf, n));
	for (size_t i = 0; i < got; i++)
		of_leaf[g[i].node[0] / 32]++;
	for (size_t i = 0; i < NP_ARRAY_SIZE(of_leaf); i++)
		T_CHECK(of_leaf[i] == 4);
	for (size_t i = 0; i < n; i++)
		leaf[i] = "";
	got = np_select_pairs(leaf, n, 5000, 1, g);
	T_CHECK(got == n / 2 && is_sound(g, got, leaf, n));
	free(name);
	free(leaf);
	free(g);
}
