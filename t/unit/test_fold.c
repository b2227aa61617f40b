#include "t.h"
#include "np_fold.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct np_record *r;
static struct np_fold *f;

static int impact(const char *line)
{
	struct np_report rep;

	T_ROW(line, np_report_parse(line, &rep, NULL) == 0);
	return np_fold_impact(f, &rep);
}

static int level(const char *line, double now, double start, double end)
{
	struct np_report rep;

	T_ROW(line, np_report_parse(line, &rep, NULL) == 0);
	return np_fold_level(f, &rep, now, start, end);
}

static void begin(void)
{
	r = np_record_new();
	f = np_fold_new(r);
}

static void end(void)
{
	np_fold_free(f);
	np_record_free(r);
}

static void test_two_leaves(void)
{
	begin();
	T_CHECK(!np_fold_impact_is_up(f));
	T_CHECK(impact("np1 hello 0 4 n0 leaf0 n1 tcp/eth0 1.13.1") == 0);
	T_CHECK(!np_fold_impact_is_up(f));
	T_CHECK(impact("np1 hello 1 4 n1 leaf0 - tcp/eth0 1.13.1") == 0);
	T_CHECK(impact("np1 hello 2 4 n4 leaf1 n5 tcp/eth0 1.13.1") == 0);
	T_CHECK(impact("np1 lat 0 1.0 2 1.5e-05 5e-11 1e-05 2e-05 "
		       "51:1,58:1") == 0);
	T_CHECK(impact("np1 lat 2 3.0 1 1e-05 0 1e-05 1e-05 51:1") == 0);
	T_CHECK(impact("np1 cost 0 0.25 10 40 1000") == 0);
	T_CHECK(impact("np1 cost 1 0.5 10 20 3000") == 0);
	T_CHECK(impact("np1 cost 1 0.25 10 10 2000") == 0);
	T_CHECK(impact("np1 bye 0") == 0);
	T_CHECK(r->n_leaves == 2 && r->leaves[0].n_pairs == 1 &&
		r->leaves[1].n_pairs == 1);
	T_CHECK(r->leaves[0].latency.n == 2 && r->leaves[1].latency.n == 1);
	T_CHECK(np_hist_count(r->leaves[0].hist, 58) == 1);
	T_CHECK(r->leaves[1].windows->n == 4 &&
		r->leaves[1].windows->w[3].n == 1);
	T_CHECK(r->probe.n_processes == 3 && r->probe.messages == 70);
	T_CHECK(r->probe.cpu_sec_max == 0.75 && r->probe.cpu_sec_sum == 1.0);
	T_CHECK(r->probe.rss_bytes_max == 3000);
	T_CHECK(r->probe.elapsed_sec == 20);
	T_CHECK(!strcmp(r->probe.transport, "tcp/eth0"));
	T_CHECK(np_fold_hellos(f) == 3 && np_fold_byes(f) == 1);
	T_CHECK(!np_fold_impact_is_up(f));
	T_CHECK(impact("np1 hello 3 4 n5 leaf1 - tcp/eth0 1.13.1") == 0);
	T_CHECK(np_fold_impact_is_up(f) && !np_fold_level_is_up(f));
	end();
}

static const struct {
	const char *name, *line;
} dropped[] = {
	{ "nobody that said hello", "np1 lat 1 0 1 1e-5 0 1e-5 1e-5 51:1" },
	{ "a rank out of range", "np1 bye 9" },
	{ "a second hello", "np1 hello 0 2 n0 leaf0 n1 tcp/eth0 1.13.1" },
	{ "rounds from a probe", "np1 round 0 0 1 1e-5 0 1e-5 1e-5" },
};

static void test_drops_what_does_not_fit(void)
{
	begin();
	T_CHECK(impact("np1 hello 0 2 n0 leaf0 n1 tcp/eth0 1.13.1") == 0);
	for (size_t i = 0; i < NP_ARRAY_SIZE(dropped); i++)
		T_ROW(dropped[i].name, impact(dropped[i].line) < 0);
	T_CHECK(r->leaves[0].latency.n == 0);
	end();
}

static const struct {
	const char *name;
	double at_sec, start_sec, end_sec;
	int alone, beside;
} rounds[] = {
	{ "before the program starts: alone", 0, NAN, NAN, 1, 0 },
	{ "a window wholly before the start: alone", 1, 102, NAN, 1, 0 },
	{ "the window that the start cuts: neither", 1, 101.5, NAN, 0, 0 },
	{ "after the start: beside", 2, 102, NAN, 0, 1 },
	{ "wholly before the end: beside", 2, 102, 103, 0, 1 },
	{ "the window that the end cuts: neither", 2, 102, 102.5, 0, 0 },
	{ "after the end: neither", 9, 102, 105, 0, 0 },
};

static void test_rounds_alone_and_beside(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rounds); i++) {
		char line[128];

		begin();
		r->level = calloc(1, sizeof(*r->level));
		T_CHECK(level("np1 hello 0 1 n0 leaf0 - tcp/eth0 1", 100,
			      NAN, NAN) == 0);
		snprintf(line, sizeof(line), "np1 round 0 %g 1 0.02 0 0.02 "
			 "0.02", rounds[i].at_sec);
		T_CHECK(level(line, 110, rounds[i].start_sec,
			      rounds[i].end_sec) == 0);
		np_fold_level_done(f, rounds[i].end_sec);
		T_ROW(rounds[i].name,
		      (int)r->level->alone_round_sec.n == rounds[i].alone &&
		      (int)r->level->beside_round_sec.n == rounds[i].beside);
		T_CHECK(np_fold_level_age(f, 103) == 3);
		end();
	}
}

static const struct {
	const char *name;
	double at_sec[8]; /* of windows of one round, as long as the number */
	int n_windows;
	double end_sec;	   /* of the program; it started at 1.8 */
	double beside_sec; /* mean */
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

static void test_rounds_count_while_the_program_works(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(at_work); i++) {
		begin();
		r->level = calloc(1, sizeof(*r->level));
		T_CHECK(level("np1 hello 0 1 n0 leaf0 - tcp/eth0 1", 100,
			      NAN, NAN) == 0);
		for (int w = 0; w < at_work[i].n_windows; w++) {
			double at = at_work[i].at_sec[w];
			char line[128];

			snprintf(line, sizeof(line),
				 "np1 round 0 %g 1 %g 0 %g %g", at, at, at, at);
			T_CHECK(level(line, 100 + at, 101.8, NAN) == 0);
		}
		np_fold_level_done(f, 100 + at_work[i].end_sec);
		T_ROW(at_work[i].name,
		      fabs(r->level->beside_round_sec.mean -
			   at_work[i].beside_sec) < 1e-12);
		end();
	}
}

static const struct t_case cases[] = {
	{ "reports of two leaves become one record", test_two_leaves },
	{ "reports that do not fit are dropped",
	  test_drops_what_does_not_fit },
	{ "the level's rounds are split at the program's start and end",
	  test_rounds_alone_and_beside },
	{ "the level's rounds count while the program works",
	  test_rounds_count_while_the_program_works },
	{ NULL, NULL },
};
T_SUITE(fold, cases)
