#include "t.h"
#include "np_planner.h"

#define MAX 6

/* Runs so far, of levels of these impacts. */
/* clang-format off */
static const struct {
	const char *name;
	double impact[MAX];
	unsigned n[MAX];
	size_t n_levels;
	unsigned alone;
	long want;
} rows[] = {
	{ "the first run is alone", { 0, 1 }, { 0 }, 2, 0, NP_PLANNER_ALONE },
	{ "so is the second", { 0, 1 }, { 0 }, 2, 1, NP_PLANNER_ALONE },
	{ "then the hardest level", { 0, 5, 1 }, { 0 }, 3, 2, 1 },
	{ "then the mildest", { 1, 5, 0 }, { 0, 1 }, 3, 2, 2 },
	{ "then the middle of the gap", { 0, 1, 2, 3, 4 }, { 1, 0, 0, 0, 1 }, 5,
	  2, 2 },
	{ "gaps are in impact, not in number", { 0, 1, 9, 10 }, { 1, 0, 0, 1 },
	  4, 2, 2 },
	{ "all once: a third run alone", { 0, 1 }, { 1, 1 }, 2, 2,
	  NP_PLANNER_ALONE },
	{ "then all once more, the hardest first", { 0, 1 }, { 1, 1 }, 2, 3,
	  1 },
	{ "then the other", { 0, 1 }, { 1, 2 }, 2, 3, 0 },
	{ "then it is complete", { 0, 1 }, { 2, 2 }, 2, 3,
	  NP_PLANNER_COMPLETE },
	{ "more than enough is enough", { 0, 1 }, { 7, 2 }, 2, 9,
	  NP_PLANNER_COMPLETE },
	{ "a level of unknown impact comes last", { NAN, 0, 1 }, { 0, 1, 1 }, 3,
	  2, 0 },
	{ "a level of unknown impact is still run", { NAN, NAN }, { 0, 0 }, 2,
	  2, 0 },
	{ "without levels only runs alone", { 0 }, { 0 }, 0, 2,
	  NP_PLANNER_ALONE },
	{ "and then nothing", { 0 }, { 0 }, 0, 3, NP_PLANNER_COMPLETE },
};
/* clang-format on */

T_TEST("a curve is measured first where it matters most")
{
	T_EACH(r, rows) {
		struct np_planner_level level[MAX];
		const struct np_mean alone = { r->alone, 10, 0.1 };

		for (size_t k = 0; k < MAX; k++)
			level[k] = (struct np_planner_level){
				r->impact[k],
				{ r->n[k], 12, NAN },
			};
		T_ROW(r->name,
		      np_planner_next(level, r->n_levels, &alone,
				      NP_PLANNER_RUNS,
				      NP_PLANNER_RUNS_ALONE) == r->want);
	}
}

/* Once every level has its runs, the worse known mean is repeated first. */
T_TEST("repeats go where the scatter is")
{
	const struct np_mean alone = { 4, 10, 0.1 };
	struct np_planner_level level[] = {
		{ 0, { 2, 10, 0.5 } },
		{ 1, { 2, 10, 2 } },
		{ 2, { 2, 10, 0.1 } },
	};

	T_CHECK(np_planner_next(level, 3, &alone, 3, 4) == 1);
	level[1].run_sec.n = 3;
	T_CHECK(np_planner_next(level, 3, &alone, 3, 4) == 0);
}

T_TEST("a curve is complete after two runs a level and three alone")
{
	struct np_planner_level level[MAX];
	struct np_mean alone = { 0, 10, NAN };
	unsigned runs = 0;

	for (size_t k = 0; k < MAX; k++)
		level[k] =
			(struct np_planner_level){ (double)k, { 0, 10, NAN } };
	for (; runs < 100; runs++) {
		long i = np_planner_next(level, MAX, &alone, 2, 3);

		if (i == NP_PLANNER_COMPLETE)
			break;
		if (i == NP_PLANNER_ALONE)
			alone.n++;
		else
			level[i].run_sec.n++;
	}
	T_CHECK(runs == 2 * MAX + 3);
}
