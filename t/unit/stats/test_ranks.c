#include "t.h"
#include "np_ranks.h"

#define MOST 60

/* Values, as digits, and which of them are marked. */
static const struct {
	const char *name, *v, *marked;
	double p;
} rows[] = {
	{ "the five largest of ten", "0123456789", "-----xxxxx", 1 / 252.0 },
	{ "of five and five, one is not", "0123456789", "----x-xxxx",
	  2 / 252.0 },
	{ "the smallest", "0123456789", "xxxxx-----", 1 },
	{ "the smallest and the largest", "1234", "x--x", 4 / 6.0 },
	{ "in any order", "4213", "x-x-", 4 / 6.0 },
	{ "more marked ones than others", "1234", "-xxx", 1 / 4.0 },
	{ "none", "1234", "----", 1 },
	{ "all", "1234", "xxxx", 1 },
	{ "equal values", "5555", "xx--", 1 },
	{ "a value that three share", "5559", "x--x", 3 / 6.0 },
	{ "no value", "", "", 1 },
};

T_TEST("choices that can be counted by hand")
{
	T_EACH(r, rows) {
		size_t n = strlen(r->v);
		double v[MOST], p = -1;
		bool marked[MOST];

		for (size_t k = 0; k < n; k++) {
			v[k] = r->v[k];
			marked[k] = r->marked[k] == 'x';
		}
		T_ROW(r->name, !np_ranks_test(v, marked, n, &p));
		T_ROW(r->name, t_close(p, r->p, 1e-9));
	}
}

/* Four of 50, of which there are 230,300 choices; and groups of 17 and more. */
T_TEST("many values")
{
	double v[MOST], p;
	bool marked[MOST] = { false };

	for (size_t i = 0; i < MOST; i++)
		v[i] = (double)i * (double)i;
	for (size_t i = 46; i < 50; i++)
		marked[i] = true;
	T_CHECK(!np_ranks_test(v, marked, 50, &p));
	T_CHECK(t_close(p, 1 / 230300.0, 1e-9));
	for (size_t i = 0; i < MOST; i++)
		marked[i] = i % 2;
	T_CHECK(!np_ranks_test(v, marked, MOST, &p) && p > 0.3 && p < 0.5);
	for (size_t i = 0; i < MOST; i++)
		marked[i] = i >= MOST / 2;
	T_CHECK(!np_ranks_test(v, marked, MOST, &p) && p > 0 && p < 1e-9);
	for (size_t i = 0; i < MOST; i++)
		v[i] = 7;
	T_CHECK(!np_ranks_test(v, marked, MOST, &p) && p == 1);
}
