#include "t.h"
#include "np_one_run.h"

#define NONE NP_INTERVAL_NO_LEVEL
#define MAX 24

/* ---- intervals by hand ---- */

struct hand {
	const char *name;
	size_t level[MAX]; /* NONE + 1 is 0: 1 is level 0, 2 level 1 */
	double rate[MAX];  /* kilobytes/s; ends with -1 */
	unsigned run[MAX];
	enum np_one_run_verdict verdict;
	size_t n_known, n_dropped, n_phases;
	double slowdown[2];
};

/* clang-format off */
static const struct hand hands[] = {
	{ "half the rate is twice the time", { 0, 1, 0, 1, 0, 1, 0 },
	  { 100, 50, 100, 50, 100, 50, 100, -1 }, { 0 }, NP_ONE_RUN_USABLE, 1,
	  0, 1, { 1 } },
	{ "what drifts steadily is no slowdown", { 0, 1, 0, 1, 0, 1, 0 },
	  { 100, 90, 81, 72.9, 65.61, 59.049, 53.1441, -1 }, { 0 },
	  NP_ONE_RUN_USABLE, 1, 0, 1, { 0 } },
	{ "one interval of each is too few", { 0, 1, 0, 2, 0 },
	  { 100, 50, 100, 80, 100, -1 }, { 0 }, NP_ONE_RUN_FEW, 2, 0, 1,
	  { 1, 0.25 } },
	{ "an interval at the end of a run has no second neighbour",
	  { 0, 1, 0, 1, 0, 1, 0, 1, 0, 2 },
	  { 100, 50, 100, 50, 100, 50, 100, 50, 100, 10, -1 }, { 0 },
	  NP_ONE_RUN_USABLE, 1, 0, 1, { 1 } },
	{ "an interval between two runs has none either",
	  { 0, 1, 0, 1, 0, 1, 0 }, { 100, 50, 100, 20, 100, 50, 100, -1 },
	  { 1, 1, 1, 1, 2, 2, 2 }, NP_ONE_RUN_FEW, 1, 0, 1, { 1 } },
	{ "an interval across a change of phase counts for nothing",
	  { 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0 },
	  { 100, 50, 100, 50, 100, 30, 10, 10, 10, 10, 10, -1 }, { 0 },
	  NP_ONE_RUN_USABLE, 1, 1, 2, { 4.0 / 9 } },
	{ "where nothing is sent nothing is slowed",
	  { 0, 1, 0, 1, 0, 1, 0, 1, 0, 0 },
	  { 100, 50, 100, 50, 100, 50, 100, 0, 0, 0, -1 }, { 0 },
	  NP_ONE_RUN_USABLE, 1, 1, 2, { 5.5 / 7.5 } },
	{ "a program that sends nothing has no curve", { 0, 1, 0, 1, 0, 1, 0 },
	  { 0, 0, 0, 0, 0, 0, 0, -1 }, { 0 }, NP_ONE_RUN_SILENT, 0, 0, 1,
	  { 0 } },
	{ "nor does one that sends a little", { 0, 1, 0, 1, 0, 1, 0 },
	  { 2, 1, 2, 1, 2, 1, 2, -1 }, { 0 }, NP_ONE_RUN_SILENT, 1, 0, 1,
	  { 1 } },
	{ "unloaded neighbours that differ make no curve",
	  { 0, 1, 0, 1, 0, 1, 0, 1, 0 },
	  { 100, 50, 30, 50, 100, 50, 30, 50, 100, -1 }, { 0 },
	  NP_ONE_RUN_RESTLESS, 0, 4, 2, { 0 } },
	{ "repeats that do not agree make no curve", { 0, 1, 0, 1, 0, 1, 0 },
	  { 100, 90, 100, 30, 100, 60, 100, -1 }, { 0 }, NP_ONE_RUN_SCATTER, 1,
	  0, 1, { 2.0 / 3 } },
	{ "a speed that varies: what is done in the time",
	  { 0, 1, 0, 1, 0, 1, 0, 1, 0 },
	  { 100, 40, 100, 60, 100, 40, 100, 60, 100, -1 }, { 0 },
	  NP_ONE_RUN_USABLE, 1, 0, 1, { 1 } },
	{ "and of a program that becomes slower by itself",
	  { 0, 1, 0, 1, 0, 1, 0, 1, 0 },
	  { 100, 36, 81, 43.74, 65.61, 23.6196, 53.1441, 28.697814, 43.046721,
	    -1 },
	  { 0 },
	  NP_ONE_RUN_USABLE,
	  1,
	  0,
	  1,
	  { 1 } },
	{ "a program that ends inside an interval, with and without a level",
	  { 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1 },
	  { 100, 50, 100, 50, 100, 50, 100, 50, 60, 50, 100, 50, 100, 7, -1 },
	  { 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2 }, NP_ONE_RUN_USABLE, 1, 1,
	  1, { 1 } },
	{ "one interval of each between steady ones is enough",
	  { 0, 1, 0, 2, 0, 0, 0, 0 },
	  { 100, 50, 100, 80, 100, 100, 100, 100, -1 }, { 0 },
	  NP_ONE_RUN_USABLE, 2, 0, 1, { 1, 0.25 } },
	{ "but not between ones that vary", { 0, 1, 0, 2 },
	  { 100, 50, 100, 80, 100, 140, 72, 120, 85, 140, 72, -1 }, { 0 },
	  NP_ONE_RUN_FEW, 2, 0, 1, { 1, 0.25 } },
	{ "without an interval nothing is known", { 0 }, { -1 }, { 0 },
	  NP_ONE_RUN_FEW, 0, 0, 0, { 0 } },
};
/* clang-format on */

static size_t by_hand(const struct hand *h, struct np_interval b[MAX])
{
	size_t n = 0;

	for (; h->rate[n] >= 0; n++)
		b[n] = (struct np_interval){
			h->run[n],
			h->level[n] ? h->level[n] - 1 : NONE,
			1,
			1000 * h->rate[n],
		};
	return n;
}

T_TEST("intervals by hand say what they say")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(hands); i++) {
		const struct hand *h = &hands[i];
		struct np_one_run_level level[2];
		struct np_interval b[MAX];
		struct np_one_run o;
		size_t known = 0, n = by_hand(h, b);

		T_ROW(h->name, !np_one_run_estimate(b, n, NULL, level, 2, &o));
		T_ROW(h->name, o.verdict == h->verdict);
		T_ROW(h->name, o.n_dropped == h->n_dropped);
		T_ROW(h->name, o.n_phases == h->n_phases);
		for (size_t k = 0; k < 2; k++) {
			if (!np_mean_known(&level[k].slowdown))
				continue;
			known++;
			T_ROW(h->name, fabs(level[k].slowdown.mean -
					    h->slowdown[k]) < 1e-3);
			T_ROW(h->name,
			      level[k].low <= h->slowdown[k] + 1e-3 &&
				      level[k].high >= h->slowdown[k] - 1e-3);
		}
		T_ROW(h->name, known == h->n_known);
	}
}

/* Kilobytes and calls a second; level 0 in every second interval. */
/* clang-format off */
static const struct {
	const char *name;
	double rate[8], calls[8]; /* NAN: not counted */
	unsigned run[8];
	enum np_one_run_verdict verdict;
	bool by_calls;
	double slowdown, apart;
} counted[] = {
	{ "that say the same: those that scatter less",
	  { 100, 51, 100, 49, 100, 50, 100 }, { 8, 4, 8, 4, 8, 4, 8 }, { 0 },
	  NP_ONE_RUN_USABLE, true, 1, 0 },
	{ "that say the same and scatter more",
	  { 100, 50, 100, 50, 100, 50, 100 }, { 8, 4.1, 8, 3.9, 8, 4, 8 },
	  { 0 }, NP_ONE_RUN_USABLE, false, 1, 0 },
	{ "that say another thing", { 100, 50, 100, 50, 100, 50, 100 },
	  { 8, 6, 8, 6, 8, 6, 8 }, { 0 }, NP_ONE_RUN_DIFFER, false, 1, 0.405 },
	{ "of a program whose messages are of many sizes",
	  { 100, 90, 100, 30, 100, 60, 100 }, { 8, 4, 8, 4, 8, 4, 8 }, { 0 },
	  NP_ONE_RUN_USABLE, true, 1, NAN },
	{ "of a program that calls now and then",
	  { 100, 50, 100, 50, 100, 50, 100 }, { 8, 7, 8, 2, 8, 5, 8 }, { 0 },
	  NP_ONE_RUN_USABLE, false, 1, NAN },
	{ "none at all", { 100, 50, 100, 50, 100, 50, 100 },
	  { 0, 0, 0, 0, 0, 0, 0 }, { 0 }, NP_ONE_RUN_USABLE, false, 1, NAN },
	{ "not of all intervals", { 100, 50, 100, 50, 100, 50, 100 },
	  { 8, 6, 8, 6, 8, 6, NAN }, { 0 }, NP_ONE_RUN_USABLE, false, 1, NAN },
	{ "of one run of two, which alone says too little",
	  { 100, 50, 100, 50, 100, 50, 100 }, { 8, 6, 8, NAN, 8, 6, 8 },
	  { 1, 1, 1, 2, 2, 2, 2 }, NP_ONE_RUN_FEW, false, 1, NAN },
};
/* clang-format on */

T_TEST("calls count as well as bytes")
{
	T_EACH(r, counted) {
		const char *name = r->name;
		struct np_one_run_level level[1];
		struct np_interval b[7];
		struct np_one_run o;

		for (size_t k = 0; k < 7; k++)
			b[k] = (struct np_interval){
				r->run[k],	   k % 2 ? 0 : NONE, 1,
				1000 * r->rate[k], r->calls[k],
			};
		T_ROW(name, !np_one_run_estimate(b, 7, NULL, level, 1, &o));
		T_ROW(name, o.verdict == r->verdict);
		T_ROW(name, o.by_calls == r->by_calls);
		T_ROW(name, fabs(level[0].slowdown.mean - r->slowdown) < 1e-2);
		T_ROW(name, isnan(r->apart) ? isnan(o.apart) :
					      fabs(o.apart - r->apart) < 1e-2);
	}
}

T_TEST("the cost of levels to a run is bounded")
{
	struct np_one_run_level level[2];
	struct np_interval b[MAX];
	struct np_one_run o;
	size_t n = by_hand(&hands[0], b);

	T_CHECK(!np_one_run_estimate(b, n, NULL, level, 2, &o));
	T_CHECK(t_close(o.lost_sec, 1.5, 1e-9) && o.sec == 7);
	T_CHECK(o.n_loaded == 3 && o.n_runs == 1);
	n = by_hand(&hands[3],
		    b); /* the last interval may have cost all of it */
	T_CHECK(!np_one_run_estimate(b, n, NULL, level, 2, &o));
	T_CHECK(t_close(o.lost_sec, 3, 1e-9));
}

T_TEST("what cannot be an interval is refused")
{
	static const struct {
		const char *name;
		struct np_interval b;
	} rows[] = {
		{ "a level that there is not", { 0, 2, 1, 1 } },
		{ "no time", { 0, NONE, 0, 1 } },
		{ "endless time", { 0, NONE, INFINITY, 1 } },
		{ "a negative rate", { 0, NONE, 1, -1 } },
		{ "a rate that is no number", { 0, 0, 1, NAN } },
	};
	struct np_one_run_schedule p = { 2, 3, 0.2 };

	T_EACH(r, rows) {
		struct np_one_run_level level[2];
		struct np_one_run_next next;
		struct np_one_run o;

		T_ROW(r->name, np_one_run_estimate(&r->b, 1, NULL, level, 2,
						   &o) == -EINVAL);
		T_ROW(r->name, np_one_run_next_interval(&p, &r->b, 1, 1, 9,
							&next) == -EINVAL);
	}
}

T_TEST("every verdict has its words")
{
	for (int v = 0; v <= NP_ONE_RUN_USABLE; v++)
		T_CHECK(strlen(np_one_run_words((enum np_one_run_verdict)v)));
}
