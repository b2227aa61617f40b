#include "t.h"
#include "np_job_cost.h"
#include "np_rng.h"

#define MOST 40 /* runs on a leaf switch */
#define START 1000000

static const char topology[] = "SwitchName=leaf0 Level=0 Nodes=n[0-3]\n"
			       "SwitchName=leaf1 Level=0 Nodes=n[4-7]\n";

#define HEAD \
	"JobID|JobIDRaw|User|Partition|State|Submit|Start|End|Suspended|" \
	"NNodes|NCPUS|TimelimitRaw|NodeList|JobName|SubmitLine\n"

/* A row of sacct, with a time limit in minutes. */
static void put_limited(FILE *f, int id, const char *user, const char *name,
			const char *nodes, int start, int end, int limit)
{
	fprintf(f, "%d|%d|%s|main|COMPLETED|%d|%d|%d|00:00:00|2|8|%d|%s|%s|\n",
		id, id, user, start, start, end, limit, nodes, name);
}

/* A row of sacct. */
static void put_job(FILE *f, int id, const char *user, const char *name,
		    const char *nodes, int start, int end)
{
	put_limited(f, id, user, name, nodes, start, end, 60);
}

/*
 * Runs of a's x one after the other: on leaf0 with the times quiet[], alone or
 * together with b's quiet, and on leaf1 with b's loud with the times loud[].
 * All this for each group of runs, which differ in their time limits.
 */
static void judge_groups(const int *quiet, const int *loud, size_t n,
			 bool alone, int n_groups, struct np_acct *h,
			 struct np_job_cost *out)
{
	const struct {
		const char *name, *own, *others;
		const int *sec;
	} leaf[] = {
		{ "quiet", "n[0-1]", "n[2-3]", quiet },
		{ "loud", "n[4-5]", "n[6-7]", loud },
	};
	struct np_topo t;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int id = 1;

	fputs(HEAD, f);
	for (size_t l = 0; l < (size_t)n_groups * NP_ARRAY_SIZE(leaf); l++) {
		int group = (int)(l / NP_ARRAY_SIZE(leaf));
		size_t k = l % NP_ARRAY_SIZE(leaf);
		int start = START + 100000 * group, at = start;

		for (size_t i = 0; i < n; i++) {
			put_limited(f, id++, "a", "x", leaf[k].own, at,
				    at + leaf[k].sec[i], group ? 600 : 60);
			at += leaf[k].sec[i] + 1;
		}
		if (k || !alone)
			put_job(f, id++, "b", leaf[k].name, leaf[k].others,
				start - 10, at + 10);
	}
	fclose(f);
	*h = (struct np_acct){ .now = START + 1e6 };
	T_CHECK(!np_topo_parse(topology, &t, NULL));
	T_CHECK(!np_acct_topology(h, &t, NULL));
	T_CHECK(!np_acct_read(h, text, "s", "|", NULL) && !np_acct_index(h));
	T_CHECK(!np_job_cost_make(h, out));
	np_topo_free(&t);
	free(text);
}

static void judge(const int *quiet, const int *loud, size_t n, bool alone,
		  struct np_acct *h, struct np_job_cost *out)
{
	judge_groups(quiet, loud, n, alone, 1, h, out);
}

/* Is the pair x by loud the only one? *hours: its node-hours. */
static bool finds_loud(const int *quiet, const int *loud, size_t n, bool alone,
		       struct np_blame_range *hours, size_t *n_pairs)
{
	struct np_acct h;
	struct np_job_cost t;
	char name[16];
	bool found;

	judge(quiet, loud, n, alone, &h, &t);
	*n_pairs = t.n_pairs;
	found = t.n_pairs == 1 &&
		!strcmp("loud", np_acct_text(&h.text, t.pair[0].by_name, name,
					     sizeof(name)));
	if (found)
		*hours = t.pair[0].node_hours;
	np_job_cost_free(&t);
	np_acct_free(&h);
	return found;
}

/* clang-format off */
static const struct row {
	const char *name;
	size_t n;
	int quiet[10], loud[10];
	bool found; /* together with quiet */
} rows[] = {
	{ "half as long again", 5, { 6, 6, 5, 6, 6 }, { 10, 10, 9, 10, 10 },
	  true },
	{ "a difference of 4 s where starts take 3 to 8 s", 5,
	  { 10, 7, 12, 8, 13 }, { 15, 11, 14, 12, 17 }, false },
	{ "a difference of 6 s where starts take 3 to 6 s", 5,
	  { 5, 8, 6, 7, 5 }, { 11, 12, 14, 11, 13 }, true },
	{ "a quarter longer, regularly", 10,
	  { 100, 101, 99, 100, 102, 100, 98, 100, 101, 100 },
	  { 125, 126, 124, 125, 127, 125, 123, 125, 126, 125 }, true },
	{ "no difference", 10,
	  { 100, 101, 99, 100, 102, 100, 98, 100, 101, 100 },
	  { 101, 100, 99, 100, 102, 101, 98, 100, 101, 100 }, false },
	{ "shorter", 5, { 10, 10, 9, 10, 10 }, { 6, 6, 5, 6, 6 }, false },
};
/* clang-format on */

/* The truth is the difference of the sums, with two nodes. */
T_TEST("an application that is never alone, and two neighbours")
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		struct np_blame_range hours = { 0 };
		double truth = 0;
		size_t n;
		bool found =
			finds_loud(r->quiet, r->loud, r->n, false, &hours, &n);

		T_ROW(r->name, found == r->found);
		for (size_t k = 0; k < r->n; k++)
			truth += (r->loud[k] - r->quiet[k]) * 2 / 3600.0;
		T_ROW(r->name,
		      !found || (hours.low <= truth && truth <= hours.high));
	}
}

T_TEST("two groups of runs make one pair, with the cost of both")
{
	const struct row *r = &rows[3];
	struct np_blame_range one = { 0 };
	struct np_job_cost t;
	struct np_acct h;
	size_t n;

	T_CHECK(finds_loud(r->quiet, r->loud, r->n, false, &one, &n));
	judge_groups(r->quiet, r->loud, r->n, false, 2, &h, &t);
	T_CHECK(t.n_groups == 2 && t.n_pairs == 1 && t.pair[0].runs == 20);
	T_CHECK(t_close(t.pair[0].node_hours.mean, 2 * one.mean, 1e-6));
	T_CHECK(t_close(t.pair[0].node_hours.mean - t.pair[0].node_hours.low,
			sqrt(2) * (one.mean - one.low), 1e-6));
	np_job_cost_free(&t);
	np_acct_free(&h);
}

/* Run times of 200 s with an sd of 4 %, whatever runs with them. */
T_TEST("no pair is found by chance")
{
	struct np_rng *rng = np_rng_new(3, "chance");
	struct np_blame_range hours;
	size_t any[2] = { 0, 0 }, n;

	for (int i = 0; i < 400; i++) {
		int sec[2][MOST];

		for (size_t k = 0; k < MOST; k++)
			for (int l = 0; l < 2; l++)
				sec[l][k] = (int)lround(
					200 * (1 + 0.04 * np_rng_normal(rng)));
		finds_loud(sec[0], sec[1], MOST, i % 2, &hours, &n);
		any[i % 2] += n;
	}
	np_rng_free(rng);
	T_CHECK(!any[0] && !any[1]);
}

#define SCATTERED_PAIRS 1000 /* pairs of nodes */
#define SCATTERED_RUNS 5     /* of each pair */

/*
 * Runs of 1,000 s with an sd of 10 %, one after the other. With so few runs of
 * each node, some of these have a small scatter by chance.
 */
T_TEST("no node is slow by chance")
{
	struct np_rng *rng = np_rng_new(7, "nodes");
	struct np_acct h = { .now = START + 1e8 };
	struct np_job_cost out;
	struct np_topo t;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int at = START;

	fputs(HEAD, f);
	for (int i = 0; i < SCATTERED_PAIRS * SCATTERED_RUNS; i++) {
		int pair = i % SCATTERED_PAIRS;
		int sec = (int)lround(1000 * (1 + 0.1 * np_rng_normal(rng)));

		put_job(f, i + 1, "a", t_text("app%d", pair % 25),
			t_text("n[%d-%d]", 2 * pair, 2 * pair + 1), at,
			at + sec);
		at += 2000;
	}
	fclose(f);
	np_rng_free(rng);
	T_CHECK(!np_topo_parse(t_text("SwitchName=leaf0 Level=0 Nodes=n[0-%d]",
				      2 * SCATTERED_PAIRS - 1),
			       &t, NULL));
	T_CHECK(!np_acct_topology(&h, &t, NULL));
	T_CHECK(!np_acct_read(&h, text, "s", "|", NULL) && !np_acct_index(&h));
	T_CHECK(!np_job_cost_make(&h, &out));
	T_CHECK(out.n_compared == SCATTERED_PAIRS * SCATTERED_RUNS);
	T_CHECK(!out.n_nodes);
	np_job_cost_free(&out);
	np_acct_free(&h);
	np_topo_free(&t);
	free(text);
}

#define APPS 60
#define APP_RUNS 40
#define NEIGHBOURS 4 /* of each application */
#define NEAR_RUNS 5  /* of these, near each neighbour but the first */

/*
 * Which neighbour each run of an application has; -1: none. often: how many of them
 * have the first one.
 */
static void mix(struct np_rng *rng, int often, int neighbour[APP_RUNS])
{
	const int most = often + (NEIGHBOURS - 1) * NEAR_RUNS;

	for (int i = 0; i < APP_RUNS; i++)
		neighbour[i] = i < often ? 0 :
			       i < most	 ? 1 + (i - often) / NEAR_RUNS :
					   -1;
	for (size_t i = APP_RUNS; i > 1; i--) {
		size_t k = np_rng_below(rng, i);
		int other = neighbour[k];

		neighbour[k] = neighbour[i - 1];
		neighbour[i - 1] = other;
	}
}

/*
 * Runs of 200 s with an sd of 1 %, each application on a leaf switch of its own. A
 * tenth of the runs take a third longer for reasons of their own. The first n_slowed
 * applications take 30 % longer near the first of their neighbours.
 */
static char *many_jobs(int n_slowed, int often)
{
	struct np_rng *rng = np_rng_new(5, "many");
	int neighbour[APP_RUNS], id = 1;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fputs(HEAD, f);
	for (int a = 0; a < APPS; a++) {
		int at = START;

		mix(rng, often, neighbour);
		for (int i = 0; i < APP_RUNS; i++) {
			double sec = 200 * (1 + 0.01 * np_rng_normal(rng));

			if (!np_rng_below(rng, 10))
				sec *= 1.33;
			if (!neighbour[i] && a < n_slowed)
				sec *= 1.3;
			put_job(f, id++, "a", t_text("app%d", a),
				t_text("n[%d-%d]", 4 * a, 4 * a + 1), at,
				at + (int)sec);
			if (neighbour[i] >= 0)
				put_job(f, id++, "b",
					t_text("near%d-%d", a, neighbour[i]),
					t_text("n[%d-%d]", 4 * a + 2,
					       4 * a + 3),
					at, at + (int)sec);
			at += (int)sec + 1;
		}
	}
	fclose(f);
	np_rng_free(rng);
	return text;
}

/* How many of the pairs found are true, and how many are not. */
static void judge_many(int n_slowed, int often, size_t found[2])
{
	char *jobs = many_jobs(n_slowed, often), *leaves = NULL, want[32],
	     by[32];
	struct np_acct h = { .now = START + 1e6 };
	struct np_job_cost out;
	struct np_topo t;
	size_t len;
	FILE *f = open_memstream(&leaves, &len);
	int a;

	for (a = 0; a < APPS; a++)
		fprintf(f, "SwitchName=leaf%d Level=0 Nodes=n[%d-%d]\n", a,
			4 * a, 4 * a + 3);
	fclose(f);
	T_CHECK(!np_topo_parse(leaves, &t, NULL));
	T_CHECK(!np_acct_topology(&h, &t, NULL));
	T_CHECK(!np_acct_read(&h, jobs, "s", "|", NULL) && !np_acct_index(&h));
	T_CHECK(!np_job_cost_make(&h, &out));
	T_CHECK(out.n_examined == APPS * NEIGHBOURS);
	found[0] = found[1] = 0;
	for (size_t i = 0; i < out.n_pairs; i++) {
		np_acct_text(&h.text, out.pair[i].name, by, sizeof(by));
		a = atoi(by + strlen("app"));
		snprintf(want, sizeof(want), "near%d-0", a);
		np_acct_text(&h.text, out.pair[i].by_name, by, sizeof(by));
		found[a >= n_slowed || strcmp(by, want)]++;
	}
	np_job_cost_free(&out);
	np_acct_free(&h);
	np_topo_free(&t);
	free(leaves);
	free(jobs);
}

/*
 * Of 240 pairs none costs anything, or one, or a twelfth of them. A single one that
 * met in five runs would have to be less likely by chance than one in 2,400.
 */
T_TEST("some runs are slow for reasons of their own")
{
	size_t found[2];

	judge_many(0, NEAR_RUNS, found);
	T_CHECK(!found[0] && !found[1]);
	judge_many(1, 12, found);
	T_CHECK(found[0] == 1 && !found[1]);
	judge_many(20, NEAR_RUNS, found);
	T_CHECK(found[0] >= 18 && 10 * found[1] <= found[0] + found[1]);
}
