/* Layouts of tasks on nodes. */
#include "t.h"
#include "np_alloc_query.h"

#define NODES 4

/* clang-format off */
static const struct {
	const char *name;
	uint16_t tasks[NODES];
	uint32_t rank[NODES][4];
	uint32_t n;
	const char *text, *order;
	bool usual;
} rows[] = {
	{ "as many on each", { 2, 2, 2, 2 },
	  { { 0, 1 }, { 2, 3 }, { 4, 5 }, { 6, 7 } }, 4, "2(x4)", "block",
	  true },
	{ "one more on the first", { 2, 2, 1 }, { { 0, 1 }, { 2, 3 }, { 4 } },
	  3, "2(x2),1", "block", true },
	{ "one more on the last", { 1, 2 }, { { 0 }, { 1, 2 } }, 2, "1,2",
	  "block", false },
	{ "as the processors were free", { 4, 2, 1, 1 },
	  { { 0, 1, 2, 3 }, { 4, 5 }, { 6 }, { 7 } }, 4, "4,2,1(x2)", "block",
	  false },
	{ "round robin", { 2, 2, 2, 2 },
	  { { 0, 4 }, { 1, 5 }, { 2, 6 }, { 3, 7 } }, 4, "2(x4)", "cyclic",
	  false },
	{ "round robin while there is room", { 3, 1 }, { { 0, 2, 3 }, { 1 } },
	  2, "3,1", "cyclic", false },
	{ "as was asked for", { 2, 2 }, { { 0, 3 }, { 1, 2 } }, 2, "2(x2)",
	  "other", false },
	{ "otherwise", { 2, 2 }, { { 1, 2 }, { 0, 3 } }, 2, "2(x2)", "other",
	  false },
	{ "one on each", { 1, 1, 1, 1 }, { { 0 }, { 1 }, { 2 }, { 3 } }, 4,
	  "1(x4)", "block", true },
};
/* clang-format on */

static int layout(size_t i, struct np_layout *l)
{
	uint32_t *rank[NODES];

	for (size_t k = 0; k < NODES; k++)
		rank[k] = (uint32_t *)rows[i].rank[k];
	return np_layout_of(rows[i].tasks, rank, rows[i].n, l);
}

T_TEST("layouts are written in words")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		struct np_layout l;

		T_CHECK(!layout(i, &l));
		T_ROW(rows[i].name, !strcmp(l.tasks_per_node, rows[i].text));
		T_ROW(rows[i].name, !strcmp(l.order, rows[i].order));
		T_ROW(rows[i].name, l.usual == rows[i].usual);
		free(l.tasks_per_node);
	}
}

T_TEST("other layouts are other workloads")
{
	char hex[NP_ARRAY_SIZE(rows)][20];

	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		struct np_layout l;

		T_CHECK(!layout(i, &l));
		strcpy(hex[i], "0123456789abcdef");
		np_layout_fingerprint(&l, hex[i]);
		/* Records of before, which have none, stay comparable. */
		T_ROW(rows[i].name,
		      !strcmp(hex[i], "0123456789abcdef") == rows[i].usual);
		free(l.tasks_per_node);
		for (size_t k = 0; k < i; k++)
			T_ROW(rows[i].name,
			      !strcmp(hex[i], hex[k]) ==
				      (rows[i].usual && rows[k].usual));
	}
}

/* Of one node more than there is room for words. */
T_TEST("a long one is cut")
{
	static uint16_t tasks[8000];
	static uint32_t one[3], *rank[8000];
	struct np_layout l;

	for (size_t i = 0; i < 8000; i++) {
		tasks[i] = 1 + i % 3;
		rank[i] = one;
	}
	T_CHECK(!np_layout_of(tasks, rank, 8000, &l));
	T_CHECK(strlen(l.tasks_per_node) < 4095 &&
		strstr(l.tasks_per_node, ",..."));
	free(l.tasks_per_node);
}
