#include "t.h"
#include "np_reports.h"

static struct np_record *r;
static struct np_aggregate *f;

static int level(const char *line, double now, double start, double end)
{
	struct np_report rep;

	T_ROW(line, np_report_parse(line, &rep) == 0);
	return np_aggregate_level_report(f, &rep, now, start, end);
}

/* A level of one process, which has been up since 100. */
static void begin(void)
{
	r = np_record_new();
	r->level = calloc(1, sizeof(*r->level));
	f = np_aggregate_new(r);
	T_CHECK(np_aggregate_level_age(f, 99) == 0);
	T_CHECK(level("np1 hello 0 1 n0 leaf0 - tcp/eth0 1", 100, NAN, NAN) ==
		0);
	T_CHECK(np_aggregate_level_age(f, 101.5) == 1.5);
}

static void end(void)
{
	np_aggregate_free(f);
	np_record_free(r);
}

static const struct {
	const char *name;
	double at_sec, start_sec, end_sec;
	int alone, loaded;
} rounds[] = {
	{ "before the program starts: alone", 0, NAN, NAN, 1, 0 },
	{ "a window wholly before the start: alone", 1, 102, NAN, 1, 0 },
	{ "the window that the start cuts: neither", 1, 101.5, NAN, 0, 0 },
	{ "after the start: concurrent", 2, 102, NAN, 0, 1 },
	{ "wholly before the end: concurrent", 2, 102, 103, 0, 1 },
	{ "the window that the end cuts: neither", 2, 102, 102.5, 0, 0 },
	{ "after the end: neither", 9, 102, 105, 0, 0 },
};

T_TEST("rounds are split at the program's start and end")
{
	T_EACH(row, rounds) {
		begin();
		T_CHECK(level(t_text("np1 round 0 %g 1 0.02 0 0.02 0.02",
				     row->at_sec),
			      110, row->start_sec, row->end_sec) == 0);
		np_aggregate_level_done(f, row->end_sec);
		T_ROW(row->name,
		      (int)r->level->alone_round_sec.n == row->alone &&
			      (int)r->level->loaded_round_sec.n == row->loaded);
		T_CHECK(np_aggregate_level_age(f, 103) == 3);
		end();
	}
}

/* clang-format off */
static const struct {
	const char *name;
	double at_sec[8]; /* of windows of one round, as long as the number */
	int n_windows;
	double end_sec;	   /* of the program; it started at 1.8 */
	double loaded_sec; /* mean */
} at_work[] = {
	{ "a program that ends early: its start-up", { 2 }, 1, 3.2, 2 },
	{ "later rounds replace those of the start-up", { 2, 3, 5 }, 3, 9, 4 },
	{ "a late report of the start-up changes nothing", { 3, 2 }, 2, 9, 3 },
	{ "reports of several processes add up", { 3, 3, 5, 5 }, 4, 9, 4 },
	{ "the window before the end is the program's winding up",
	  { 3, 5, 8 }, 3, 9.2, 4 },
	{ "a window that ended well before the end counts", { 3, 5, 8 }, 3,
	  9.5, 16 / 3.0 },
	{ "windows long ago need not wait for the end",
	  { 3, 7, 11, 15, 19 }, 5, 25, 11 },
};
/* clang-format on */

T_TEST("rounds count while the program works")
{
	T_EACH(row, at_work) {
		begin();
		for (int w = 0; w < row->n_windows; w++) {
			double at = row->at_sec[w];

			T_CHECK(level(t_text("np1 round 0 %g 1 %g 0 %g %g", at,
					     at, at, at),
				      100 + at, 101.8, NAN) == 0);
		}
		np_aggregate_level_done(f, 100 + row->end_sec);
		T_ROW(row->name, fabs(r->level->loaded_round_sec.mean -
				      row->loaded_sec) < 1e-12);
		end();
	}
}
