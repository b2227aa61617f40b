#include "t.h"
#include "np_acct.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define HEAD \
	"JobID|JobIDRaw|User|Partition|State|Submit|Start|End|Suspended|" \
	"NNodes|NCPUS|TimelimitRaw|NodeList|JobName|SubmitLine\n"
#define JOB(id, user, state, start, end, n, nodes, name) \
	id "|" id "|" user "|main|" state "|" start "|" start "|" end \
	"|00:00:00|" n "|8|60|" nodes "|" name "|sbatch x\n"

static const char topology[] =
	"SwitchName=leaf0 Level=0 Nodes=n[0-3]\n"
	"SwitchName=leaf1 Level=0 Nodes=n[4-7]\n"
	"SwitchName=top Level=1 Nodes=n[0-7] Switches=leaf[0-1]\n";

static const char jobs[] = HEAD
	JOB("1", "a", "COMPLETED", "1000", "1100", "2", "n[0-1]", "x")
	JOB("2", "a", "COMPLETED", "2000", "2110", "2", "n[0-1]", "x")
	JOB("3", "b", "COMPLETED", "1950", "2050", "4", "n[3-6]", "y")
	JOB("4", "b", "RUNNING", "2100", "Unknown", "1", "n2", "y")
	JOB("5", "a", "COMPLETED", "3000", "3100", "3", "n[0-2]", "x")
	JOB("6", "a", "FAILED", "4000", "4010", "2", "n[0-1]", "x")
	JOB("7", "a", "REQUEUED", "5000", "5010", "2", "n[0-1]", "x")
	JOB("7", "a", "COMPLETED", "5100", "5200", "2", "n[0-1]", "x")
	"8_3|9|a|main|COMPLETED|1|6000|6100|00:00:30|2|8|60|n[0-1]|x|sbatch\n"
	"10_[1-5]|10|a|main|PENDING|1|Unknown|Unknown|00:00:00|2|8|60|"
	"None assigned|x|sbatch\n"
	"1.batch|1.batch|a||COMPLETED|1|1000|1100|00:00:00|1|8||n0|batch|\n"
	JOB("11", "a", "CANCELLED by 0", "7000", "7000", "0",
	    "None assigned", "x");

static int read_all(struct np_acct *h, const char *text, bool with_topology,
		    struct np_err *err)
{
	char *copy = strdup(text);
	struct np_topo t = { NULL, 0 };
	int rc;

	np_acct_init(h, 2200);
	rc = with_topology ? np_topo_parse(topology, &t, err) : 0;
	if (!rc)
		rc = np_acct_topology(h, &t, err);
	np_topo_free(&t);
	if (!rc)
		rc = np_acct_read(h, copy, "s", "|", err);
	free(copy);
	return rc ? rc : np_acct_index(h);
}

static void test_read(void)
{
	struct np_err err = NP_ERR_INIT;
	const struct np_acct_job *j;
	struct np_acct h;
	char name[32];

	T_CHECK(!read_all(&h, jobs, true, &err));
	T_CHECK(h.n_jobs == 9); /* no steps, nothing that never started */
	j = np_acct_find(&h, 2, NP_ACCT_NO_TASK);
	T_CHECK(j && j->n_nodes == 2 && j->n_listed == 2);
	T_CHECK(np_acct_job_sec(&h, j) == 110 && j->limit_sec == 3600);
	T_CHECK(!strcmp(np_acct_text(&h, j->user, name, sizeof(name)), "a"));
	j = np_acct_find(&h, 7, NP_ACCT_NO_TASK);
	T_CHECK(j && j->start == 5100 && j->requeues == 1);
	j = np_acct_find(&h, 8, 3);
	T_CHECK(j && j->id == 9 && np_acct_job_sec(&h, j) == 70);
	j = np_acct_find(&h, 4, NP_ACCT_NO_TASK);
	T_CHECK(j && np_acct_job_sec(&h, j) == 100); /* so far */
	T_CHECK(!np_acct_find(&h, 10, NP_ACCT_NO_TASK));
	np_acct_free(&h);
}

static void test_comparable(void)
{
	struct np_err err = NP_ERR_INIT;
	struct np_acct h;
	uint32_t like[8];
	size_t any, n;

	T_CHECK(!read_all(&h, jobs, true, &err));
	n = np_acct_comparable(&h, np_acct_find(&h, 2, NP_ACCT_NO_TASK), like,
			       8, &any);
	/* Neither other sizes, nor failed runs, nor itself; newest first. */
	T_CHECK(n == 3 && any == 3);
	T_CHECK(n == 3 && h.job[like[0]].id == 9 && h.job[like[1]].id == 7 &&
		h.job[like[2]].id == 1);
	n = np_acct_comparable(&h, np_acct_find(&h, 2, NP_ACCT_NO_TASK), like,
			       2, &any);
	T_CHECK(n == 2 && any == 3 && h.job[like[1]].id == 7);
	np_acct_free(&h);
}

static void test_beside(void)
{
	struct np_err err = NP_ERR_INIT;
	struct np_acct_neighbour *b = NULL;
	struct np_acct h;
	char leaf[16];
	size_t n = 0;

	T_CHECK(!read_all(&h, jobs, true, &err));
	T_CHECK(!np_acct_neighbours(&h, np_acct_find(&h, 2, NP_ACCT_NO_TASK), &b,
				&n));
	T_CHECK(n == 2);
	if (n == 2) {
		T_CHECK(h.job[b[0].job].id == 3 && b[0].nodes == 1);
		T_CHECK(b[0].from == 2000 && b[0].to == 2050);
		T_CHECK(!strcmp(np_acct_leaf(&h, b[0].leaf, leaf,
					     sizeof(leaf)), "leaf0"));
		T_CHECK(h.job[b[1].job].id == 4 && b[1].to == 2110);
		T_CHECK(!b[0].same_node && !b[1].same_node);
	}
	free(b);
	np_acct_free(&h);
	/* Without a topology all nodes are one leaf, and all four count. */
	T_CHECK(!read_all(&h, jobs, false, &err));
	T_CHECK(!np_acct_neighbours(&h, np_acct_find(&h, 2, NP_ACCT_NO_TASK), &b,
				&n));
	T_CHECK(n == 2 && b[0].nodes == 4);
	free(b);
	np_acct_free(&h);
}

/* The same rows again, as two questions to sacct give them. */
static void test_twice(void)
{
	struct np_err err = NP_ERR_INIT;
	char *copy = strdup(jobs);
	struct np_acct h;

	T_CHECK(!read_all(&h, jobs, true, &err));
	T_CHECK(!np_acct_read(&h, copy, "s", "|", &err));
	T_CHECK(!np_acct_index(&h) && h.n_jobs == 9);
	T_CHECK(np_acct_find(&h, 7, NP_ACCT_NO_TASK)->requeues == 1);
	free(copy);
	np_acct_free(&h);
}

static const struct {
	const char *name, *text, *want;
} bad[] = {
	{ "a date that is none", HEAD
	  JOB("1", "a", "COMPLETED", "soon", "1100", "2", "n[0-1]", "x"),
	  "s:2: Submit \"soon\": expected a date such as 2026-11-25T10:00:00, "
	  "or seconds since 1970" },
	{ "an end before the start", HEAD
	  JOB("1", "a", "COMPLETED", "1100", "1000", "2", "n[0-1]", "x"),
	  "s:2: End \"1000\": expected a date after Start" },
	{ "nodes that are none", HEAD
	  JOB("1", "a", "COMPLETED", "1000", "1100", "2", "n[0-", "x"),
	  "s:2: NodeList \"n[0-\": expected a list of nodes such as n[0-3]" },
	{ "a number that is none", HEAD
	  JOB("1", "a", "COMPLETED", "1000", "1100", "-2", "n0", "x"),
	  "s:2: NNodes \"-2\": expected a number of nodes" },
	{ "a required column is missing", "JobID|JobName\n1|a\n",
	  "s:1: expected a line that names the columns, User among them, as "
	  "sacct --parsable2 prints it" },
	{ "a column twice", "JobID|NodeList|JobID\n1|n0|2\n",
	  "s:1: the column JobID is there twice" },
	{ "a message in place of a table", "sacct: error: no\n",
	  "s:1: expected a line that names the columns, JobID among them, as "
	  "sacct --parsable2 prints it" },
};

static void test_bad(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(bad); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_acct h;

		T_ROW(bad[i].name, read_all(&h, bad[i].text, true, &err) ==
		      -EINVAL);
		T_ROW(bad[i].name, !strcmp(err.text, bad[i].want));
		np_acct_free(&h);
	}
}

#define SHORT_HEAD "JobID|User|State|Start|End|NNodes|NodeList|JobName"
#define SHORT(id, name) id "|a|COMPLETED|1000|1100|1|n0|" name

static const struct {
	const char *name, *text;
	size_t n_jobs, damaged;
} lines[] = {
	{ "no text has no jobs", "", 0, 0 },
	{ "a head alone", SHORT_HEAD "\n", 0, 0 },
	{ "two rows", SHORT_HEAD "\n" SHORT("1", "x") "\n" SHORT("2", "x")
	  "\n", 2, 0 },
	{ "no end of the last line", SHORT_HEAD "\n" SHORT("1", "x"), 1, 0 },
	{ "lines that end as on Windows",
	  SHORT_HEAD "\r\n" SHORT("1", "x") "\r\n", 1, 0 },
	{ "empty lines", SHORT_HEAD "\n\n" SHORT("1", "x") "\n", 1, 0 },
	{ "a job's name with a delimiter costs its row alone", SHORT_HEAD "\n"
	  SHORT("1", "a|b") "\n" SHORT("2", "x") "\n", 1, 1 },
	{ "a row that is cut off", SHORT_HEAD "\n1|a|COMPLETED\n", 0, 1 },
};

static void test_lines(void)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(lines); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_acct h;

		T_ROW(lines[i].name, !read_all(&h, lines[i].text, true, &err));
		T_ROW(lines[i].name, h.n_jobs == lines[i].n_jobs);
		T_ROW(lines[i].name, h.damaged == lines[i].damaged);
		np_acct_free(&h);
	}
}

static const struct t_case cases[] = {
	{ "jobs as sacct prints them", test_read },
	{ "comparable runs", test_comparable },
	{ "who was beside a job", test_beside },
	{ "rows that are read twice count once", test_twice },
	{ "values that are none are refused with their line", test_bad },
	{ "lines in any form; damaged rows are counted", test_lines },
	{ NULL, NULL },
};

T_SUITE(acct, cases)
