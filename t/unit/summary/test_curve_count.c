#include "t.h"
#include "np_run_summary.h"

#define NOW 1e9
#define MAX 8

struct row {
	const char *level, *scope; /* level NULL: alone */
	const char *fingerprint;
	double run_sec;
	long exit_code;
	enum np_run_state state;
	double age_sec; /* since it was last saved */
	int neighbour;
};

#define DONE 0, NP_RUN_COMPLETE, 0, 0

/* clang-format off */
static const struct {
	const char *name;
	struct row run[MAX];
	uint32_t alone, c0, c7; /* that count */
} cases_of[] = {
	{ "nothing yet", { { 0 } }, 0, 0, 0 },
	{ "a run alone and one under a level",
	  { { NULL, NULL, "f", 10, DONE }, { "c7", "leaf", "f", 20, DONE } }, 1,
	  0, 1 },
	{ "another workload", { { NULL, NULL, "g", 10, DONE } }, 0, 0, 0 },
	{ "a level on the same nodes does not count",
	  { { "c7", "node", "f", 20, DONE } }, 0, 0, 0 },
	{ "an unknown level", { { "c3", "leaf", "f", 20, DONE } }, 0, 0, 0 },
	{ "a run that failed",
	  { { NULL, NULL, "f", 10, 1, NP_RUN_COMPLETE, 0, 0 } }, 0, 0, 0 },
	{ "a run with neighbours",
	  { { "c0", "leaf", "f", 10, 0, NP_RUN_COMPLETE, 0, 1 } }, 0, 0, 0 },
	{ "a run that was cut counts by its exit code",
	  { { "c0", "leaf", "f", 10, 0, NP_RUN_CUT, 0, 0 } }, 0, 1, 0 },
	{ "one that is under way is taken",
	  { { "c0", "leaf", "f", 1, NP_NO_VALUE, NP_RUN_RUNNING, 5, 0 } }, 0, 1,
	  0 },
	{ "one whose writer died is not",
	  { { "c0", "leaf", "f", 1, NP_NO_VALUE, NP_RUN_RUNNING, 500, 0 } }, 0,
	  0, 0 },
	{ "no fingerprint", { { NULL, NULL, NULL, 10, DONE } }, 0, 0, 0 },
};
/* clang-format on */

static struct np_record *record(const struct row *w)
{
	struct np_record *r = np_record_new();

	if (w->fingerprint)
		r->fingerprint = strdup(w->fingerprint);
	r->end = NOW - w->age_sec;
	r->start = r->end - w->run_sec;
	r->exit_code = w->exit_code;
	r->state = w->state;
	if (w->level) {
		r->level = calloc(1, sizeof(*r->level));
		r->level->name = strdup(w->level);
		r->level->scope = strdup(w->scope);
		r->level->nodes = strdup("n0");
	}
	if (w->neighbour) {
		r->neighbours = calloc(1, sizeof(*r->neighbours));
		r->neighbours->leaf = strdup("leaf0");
		r->neighbours->nodes = strdup("n9");
		r->neighbours->overlap_sec = 5;
		r->n_neighbours = 1;
	}
	return r;
}

static void runs_make(const struct row *row, struct np_runs *runs)
{
	*runs = (struct np_runs){ .run = calloc(MAX, sizeof(*runs->run)) };
	for (; runs->n < MAX && row[runs->n].run_sec > 0; runs->n++)
		runs->run[runs->n] = record(&row[runs->n]);
}

/* What np_select_level() asks. */
static void count(const struct np_runs *runs, const char *scope,
		  struct np_curve_levels *l, struct np_mean *alone)
{
	const struct np_run_summary_opt opt = {
		.scope = scope,
		.fingerprint = "f",
		.now = NOW,
	};
	struct np_run_summary e;

	np_curve_levels_make(NULL, l);
	T_CHECK(!np_run_summary_make(runs, &opt, &e));
	np_curve_count(&e, scope, l, alone);
	np_run_summary_free(&e);
}

T_TEST("only runs that can be compared count")
{
	T_EACH(r, cases_of) {
		struct np_curve_levels l;
		struct np_mean alone;
		struct np_runs runs;

		runs_make(r->run, &runs);
		count(&runs, "leaf", &l, &alone);
		T_CHECK(l.n == np_n_levels && !strcmp(l.name[0], "c0"));
		T_ROW(r->name, alone.n == r->alone);
		T_ROW(r->name, l.level[0].run_sec.n == r->c0);
		T_ROW(r->name, l.level[l.n - 1].run_sec.n == r->c7);
		np_runs_free(&runs);
	}
}

T_TEST("runs under way count, but have no time yet")
{
	static const struct row row[MAX] = {
		{ NULL, NULL, "f", 10, DONE },
		{ NULL, NULL, "f", 14, DONE },
		{ NULL, NULL, "f", 1, NP_NO_VALUE, NP_RUN_RUNNING, 5, 0 },
	};
	struct np_curve_levels l;
	struct np_mean alone;
	struct np_runs runs;

	runs_make(row, &runs);
	count(&runs, NULL, &l, &alone);
	T_CHECK(alone.n == 3 && t_close(alone.mean, 12, 1e-9) &&
		t_close(alone.sd, 2.8284271, 1e-6));
	np_runs_free(&runs);
}

/* clang-format off */
static const struct {
	const char *name;
	struct row run[MAX];
	const char *want; /* NULL: none */
} workloads[] = {
	{ "none", { { 0 } }, NULL },
	{ "the newest of equals",
	  { { NULL, NULL, "a", 9, DONE }, { NULL, NULL, "b", 9, DONE } }, "a" },
	{ "more runs",
	  { { NULL, NULL, "a", 9, DONE },
	    { NULL, NULL, "b", 9, DONE },
	    { NULL, NULL, "b", 9, DONE } },
	  "b" },
	{ "more levels are worth more",
	  { { NULL, NULL, "a", 9, DONE },
	    { NULL, NULL, "a", 9, DONE },
	    { "c3", "leaf", "b", 9, DONE } },
	  "b" },
	{ "the same level twice is one",
	  { { "c3", "leaf", "a", 9, DONE },
	    { "c3", "leaf", "a", 9, DONE },
	    { "c3", "leaf", "b", 9, DONE },
	    { "c4", "leaf", "b", 9, DONE } },
	  "b" },
	{ "failures do not count",
	  { { NULL, NULL, "a", 9, 1, NP_RUN_COMPLETE, 0, 0 } }, NULL },
};
/* clang-format on */

T_TEST("the workload that is furthest is gone on with")
{
	T_EACH(r, workloads) {
		const char *want = r->want;
		struct np_run_summary e;
		struct np_runs runs;

		runs_make(r->run, &runs);
		T_CHECK(!np_run_summary_make(&runs, NULL, &e));
		T_ROW(r->name,
		      want ? e.fingerprint && !strcmp(e.fingerprint, want) :
			     !e.fingerprint);
		np_run_summary_free(&e);
		np_runs_free(&runs);
	}
}

static const char fabric[] =
	"{\"format\":\"netprof-pairs\",\"schema\":1,\"programs\":[],"
	"\"levels\":[\"c7\",\"c1\",\"c4\"],\"level_beside_level\":"
	"[[3,0.1,1],[null,null,null],[1,0,0.5]]}";

T_TEST("levels and their impact come from the calibration")
{
	struct np_calibration c;
	struct np_curve_levels l;

	T_CHECK(!np_calibration_parse(fabric, strlen(fabric), "x", &c, NULL));
	np_curve_levels_make(&c, &l);
	T_CHECK(l.n == 3 && !strcmp(l.name[1], "c1"));
	T_CHECK(t_close(l.level[0].impact, log(8) / 2, 1e-9));
	T_CHECK(t_close(l.level[1].impact, log(1.1) / 2, 1e-9));
	np_calibration_free(&c);
}
