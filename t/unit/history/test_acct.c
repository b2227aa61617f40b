#include "t.h"
#include "np_acct.h"

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

static const char jobs[] = HEAD JOB(
	"1", "a", "COMPLETED", "1000", "1100", "2", "n[0-1]",
	"x") JOB("2", "a", "COMPLETED", "2000", "2110", "2", "n[0-1]",
		 "x") JOB("3", "b", "COMPLETED", "1950", "2050", "4", "n[3-6]",
			  "y") JOB("4", "b", "RUNNING", "2100", "Unknown", "1",
				   "n2", "y") JOB("5", "a", "COMPLETED", "3000",
						  "3100", "3", "n[0-2]", "x")
	JOB("6", "a", "FAILED", "4000", "4010", "2", "n[0-1]",
	    "x") JOB("7", "a", "REQUEUED", "5000", "5010", "2", "n[0-1]", "x")
		JOB("7", "a", "COMPLETED", "5100", "5200", "2", "n[0-1]",
		    "x") "8_3|9|a|main|COMPLETED|1|6000|6100|00:00:30|2|8|60|n[0-1]|x|sbatch\n"
			 "10_[1-5]|10|a|main|PENDING|1|Unknown|Unknown|00:00:00|2|8|60|"
			 "None assigned|x|sbatch\n"
			 "1.batch|1.batch|a||COMPLETED|1|1000|1100|00:00:00|1|8||n0|batch|\n" JOB(
				 "11", "a", "CANCELLED by 0", "7000", "7000",
				 "0", "None assigned", "x");

/* What was read last; freed with the next, and after the test. */
static struct np_acct h;
static struct np_err err;

static void forget(void)
{
	np_acct_free(&h);
}

static int read_all(const char *text, bool with_topology)
{
	char *copy = strdup(text);
	struct np_topo t = { NULL, 0 };
	int rc;

	forget();
	h = (struct np_acct){ .now = 2200 };
	err = (struct np_err)NP_ERR_INIT;
	rc = with_topology ? np_topo_parse(topology, &t, &err) : 0;
	if (!rc)
		rc = np_acct_topology(&h, &t, &err);
	np_topo_free(&t);
	if (!rc)
		rc = np_acct_read(&h, copy, "s", "|", &err);
	free(copy);
	return rc ? rc : np_acct_index(&h);
}

T_FIXTURE(NULL, forget);

T_TEST("jobs as sacct prints them")
{
	const struct np_acct_job *j;
	char name[32];

	T_CHECK(!read_all(jobs, true));
	T_CHECK(h.n_jobs == 9); /* no steps, nothing that never started */
	j = np_acct_find(&h, 2, NP_ACCT_NO_TASK);
	T_CHECK(j && j->n_nodes == 2 && j->n_listed == 2);
	T_CHECK(np_acct_job_sec(&h, j) == 110 && j->limit_sec == 3600);
	T_CHECK(!strcmp(np_acct_text(&h.text, j->user, name, sizeof(name)),
			"a"));
	j = np_acct_find(&h, 7, NP_ACCT_NO_TASK);
	T_CHECK(j && j->start == 5100 && j->requeues == 1);
	j = np_acct_find(&h, 8, 3);
	T_CHECK(j && j->id == 9 && np_acct_job_sec(&h, j) == 70);
	j = np_acct_find(&h, 4, NP_ACCT_NO_TASK);
	T_CHECK(j && np_acct_job_sec(&h, j) == 100); /* so far */
	T_CHECK(!np_acct_find(&h, 10, NP_ACCT_NO_TASK));
}

T_TEST("a job that changed its number of nodes was not requeued")
{
	/* clang-format off */
	static const char resized[] = HEAD
		JOB("1", "a", "COMPLETED", "1000", "1100", "1", "n0", "x")
		JOB("2", "a", "RESIZING", "2000", "2090", "2", "n[0-1]", "x")
		JOB("2", "a", "COMPLETED", "2090", "2100", "1", "n0", "x")
		JOB("3", "a", "COMPLETED", "3000", "3100", "1", "n0", "x");
	/* clang-format on */
	const struct np_acct_job *j;
	uint32_t out[4];
	size_t any;

	T_CHECK(!read_all(resized, true));
	T_CHECK(h.n_jobs == 4); /* both parts occupied nodes */
	j = np_acct_find(&h, 2, NP_ACCT_NO_TASK);
	T_CHECK(j && j->start == 2090 && j->resized && !j->requeues);
	T_CHECK(!np_acct_comparable(&h, j, NP_ACCT_SAME_NAME, out, 4, &any));
	j = np_acct_find(&h, 3, NP_ACCT_NO_TASK);
	T_CHECK(np_acct_comparable(&h, j, NP_ACCT_SAME_NAME, out, 4, &any) ==
			1 &&
		any == 1 && h.job[out[0]].id == 1);
}

T_TEST("comparable runs")
{
	uint32_t like[8];
	size_t any, n;

	T_CHECK(!read_all(jobs, true));
	n = np_acct_comparable(&h, np_acct_find(&h, 2, NP_ACCT_NO_TASK),
			       NP_ACCT_SAME_NAME, like, 8, &any);
	/* Neither other sizes, nor failed runs, nor itself; newest first. */
	T_CHECK(n == 3 && any == 3);
	T_CHECK(n == 3 && h.job[like[0]].id == 9 && h.job[like[1]].id == 7 &&
		h.job[like[2]].id == 1);
	n = np_acct_comparable(&h, np_acct_find(&h, 2, NP_ACCT_NO_TASK),
			       NP_ACCT_SAME_NAME, like, 2, &any);
	T_CHECK(n == 2 && any == 3 && h.job[like[1]].id == 7);
}

/* The accounting has a year as the limit of those that backfill started. */
T_TEST("runs without a time limit are comparable, however they were started")
{
	const struct np_acct_job *j;
	uint32_t like[8];
	size_t any;

	T_CHECK(!read_all(
		HEAD
		"1|1|a|main|COMPLETED|1000|1000|1100|0|2|8|UNLIMITED|n[0-1]|x|\n"
		"2|2|a|main|COMPLETED|2000|2000|2100|0|2|8|525600|n[0-1]|x|\n"
		"3|3|a|main|COMPLETED|3000|3000|3100|0|2|8|525599|n[0-1]|x|\n",
		true));
	j = np_acct_find(&h, 2, NP_ACCT_NO_TASK);
	T_CHECK(j && isinf(j->limit_sec));
	T_CHECK(np_acct_comparable(&h, j, NP_ACCT_SAME_NAME, like, 8, &any) ==
		1);
	T_CHECK(h.job[like[0]].id == 1);
}

static const struct {
	const char *line, *want;
} commands[] = {
	{ "sbatch fft.sh 512", "sbatch fft.sh 512" },
	{ "sbatch -J a --job-name=b --job-name c -Jd fft.sh", "sbatch fft.sh" },
	{ "sbatch -n 8 -o out.17 -x n[0-3] fft.sh", "sbatch -n 8 fft.sh" },
	{ "sbatch --exclusive --parsable --time 60 fft.sh",
	  "sbatch --exclusive fft.sh" },
	{ "sbatch -Q -H fft.sh -J x -o y", "sbatch fft.sh -J x -o y" },
	{ "sbatch -N2 --wrap=srun ./fft -o y",
	  "sbatch --wrap=srun ./fft -o y" },
	{ "srun -N 2 -n 64 ./fft", "srun -n 64 ./fft" },
	{ "sbatch --mem=4G  --open-mode=append  fft.sh",
	  "sbatch --mem=4G --open-mode=append fft.sh" },
	{ "sbatch -J", "sbatch" },
	{ "sbatch - --", "sbatch - --" },
	{ "-J", "-J" },
	{ "", "" },
};

T_TEST("a command without what does not change the work")
{
	T_EACH(r, commands) {
		char text[512], got[128];

		snprintf(text, sizeof(text),
			 HEAD "1|1|a|main|COMPLETED|1000|"
			      "1000|1100|00:00:00|1|8|60|n0|x|%s\n",
			 r->line);
		T_ROW(r->line, !read_all(text, true));
		T_ROW(r->line,
		      h.n_jobs == 1 && !strcmp(np_acct_command(&h, h.job, got,
							       sizeof(got)),
					       r->want));
		T_ROW(r->line, strlen(np_acct_command(&h, h.job, got, 4)) < 4);
	}
}

/* Of the job with the command "sbatch -J a run.sh" in /a, whose name is a. */
static const struct {
	const char *name, *of; /* job name, directory and command of a run */
	size_t by_name, by_command;
} same[] = {
	{ "the same name and command", "a|/a|sbatch run.sh", 1, 1 },
	{ "another name", "b|/a|sbatch -J b run.sh", 0, 1 },
	{ "another command", "a|/a|sbatch run.sh 2", 1, 0 },
	{ "another directory", "b|/b|sbatch run.sh", 0, 0 },
	{ "an unknown command", "a|/a|", 1, 0 },
};

T_TEST("runs of the same command")
{
	T_EACH(r, same) {
		const struct np_acct_job *j;
		char text[512];
		uint32_t like[2];
		size_t any;

		snprintf(
			text, sizeof(text),
			"JobID|User|State|Start|End|NNodes|NodeList|JobName|"
			"WorkDir|SubmitLine\n"
			"1|u|COMPLETED|1000|1100|1|n0|%s\n"
			"2|u|COMPLETED|2000|2100|1|n0|a|/a|sbatch -J a run.sh\n"
			"3|u|COMPLETED|3000|3100|1|n0|a|/a|\n",
			r->of);
		T_ROW(r->name, !read_all(text, true));
		j = np_acct_find(&h, 2, NP_ACCT_NO_TASK);
		T_ROW(r->name,
		      np_acct_comparable(&h, j, NP_ACCT_SAME_NAME, like, 2,
					 &any) == r->by_name + 1);
		T_ROW(r->name,
		      np_acct_comparable(&h, j, NP_ACCT_SAME_COMMAND, like, 2,
					 &any) == r->by_command);
		j = np_acct_find(&h, 3, NP_ACCT_NO_TASK);
		T_ROW(r->name, !np_acct_comparable(&h, j, NP_ACCT_SAME_COMMAND,
						   like, 2, &any));
	}
}

/* Runs of one name, and the job in question. */
static const struct {
	const char *name, *nodes; /* number of nodes of each; the job is last */
	uint32_t usual;		  /* 0: it does not differ */
} sizes[] = {
	{ "usual runs have fewer nodes", "22222222224", 2 },
	{ "the same number", "22222222222", 0 },
	{ "a tenth has as many", "22222422224", 0 },
	{ "more than half have one number", "12332223224", 2 },
	{ "no number is usual", "12312312314", 0 },
	{ "a half is not more than half", "22222111114", 0 },
	{ "three runs", "2224", 2 },
	{ "two runs are too few", "224", 0 },
	{ "no other run", "4", 0 },
};

T_TEST("a job that differs from its usual runs")
{
	T_EACH(r, sizes) {
		const char *nodes = r->nodes, *name = r->name;
		size_t n = strlen(nodes), len;
		struct np_acct_usual u = { 0 };
		const struct np_acct_job *j;
		char text[2048];

		len = (size_t)snprintf(text, sizeof(text),
				       "JobID|User|State|"
				       "Start|End|NNodes|NodeList|JobName\n"
				       "90|a|FAILED|1|2|4|n0|x\n"
				       "91|a|COMPLETED|1|2|4|n0|y\n"
				       "92|b|COMPLETED|1|2|4|n0|x\n");
		for (size_t k = 0; k < n; k++)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"%zu|a|COMPLETED|1|2|%c|n0|x\n",
						k + 1, nodes[k]);
		T_ROW(name, !read_all(text, true));
		j = np_acct_find(&h, (uint32_t)n, NP_ACCT_NO_TASK);
		T_ROW(name, np_acct_differs(&h, j, NP_ACCT_NODES, &u) ==
				    (r->usual > 0));
		T_ROW(name, u.usual == r->usual);
		T_ROW(name, !u.of || (u.own == 4 && u.of == n - 1 &&
				      2 * u.runs > u.of));
		T_ROW(name, !np_acct_differs(&h, j, NP_ACCT_PARTITION, &u));
	}
}

#define TASKS_HEAD \
	"JobID|JobIDRaw|User|State|Start|End|NNodes|NTasks|NodeList|JobName\n"
#define TASKS_JOB(id, raw, state) id "|" raw "|a|" state "|1000|1100|1||n0|x\n"
#define STEP(id, raw, tasks) \
	id "|" raw "||COMPLETED|1000|1100|1|" tasks "|n0|y\n"

static const char steps[] = TASKS_HEAD TASKS_JOB("1", "1", "COMPLETED") STEP(
	"1.batch", "1.batch", "1") STEP("1.extern", "1.extern", "99")
	STEP("1.0", "1.0", "4") STEP("1.1", "1.1", "16") STEP("1.2", "1.2", "8")
		STEP("1.3", "1.3", "") TASKS_JOB("8_3", "9", "COMPLETED")
			STEP("8_3.0", "9.0", "2") TASKS_JOB("8_4", "8",
							    "COMPLETED")
				STEP("8_4.0", "8.0", "3")
					TASKS_JOB("20+0", "20", "COMPLETED")
						STEP("20+0.0", "20.0", "5")
	/* A step of a job that is left out. */
	TASKS_JOB("30", "30", "COMPLETED") STEP("31.0", "31.0", "64");

static const struct {
	uint32_t id, tasks;
} counted[] = { { 1, 16 }, { 9, 2 }, { 8, 3 }, { 20, 5 }, { 30, 0 } };

T_TEST("steps have numbers of tasks")
{
	static const char alone[] = TASKS_HEAD TASKS_JOB("1", "1", "COMPLETED");
	const struct np_acct_job *j;

	T_CHECK(!read_all(steps, true));
	T_CHECK(h.n_jobs == NP_ARRAY_SIZE(counted));
	T_EACH(r, counted) {
		j = np_acct_find(&h, r->id, NP_ACCT_NO_TASK);
		T_CHECK(j && j->tasks == r->tasks);
	}
	/* The same job without its steps, before and after. */
	for (int first = 0; first < 2; first++) {
		char *copy = strdup(first ? alone : steps);

		T_CHECK(!read_all(first ? steps : alone, true));
		T_CHECK(!np_acct_read(&h, copy, "s", "|", &err));
		T_CHECK(!np_acct_index(&h));
		T_CHECK(np_acct_find(&h, 1, NP_ACCT_NO_TASK)->tasks == 16);
		free(copy);
	}
	T_CHECK(read_all(TASKS_HEAD TASKS_JOB("1", "1", "COMPLETED")
				 STEP("1.0", "1.0", "x"),
			 true) == -EINVAL);
	T_CHECK(!strcmp(err.text,
			"s:3: NTasks \"x\": expected a number of tasks"));
}

/* Tasks of runs; the job in question is the last one. '0': not known. */
static const struct {
	const char *name, *tasks, *state;
	size_t comparable;
	uint32_t usual; /* 0: the job does not differ */
} task_rows[] = {
	{ "as many", "4444", "COMPLETED", 3, 0 },
	{ "more than usual", "2224", "COMPLETED", 0, 2 },
	{ "fewer than usual", "8884", "COMPLETED", 0, 8 },
	{ "some runs have as many", "2424", "COMPLETED", 1, 0 },
	{ "not known of some runs", "002224", "COMPLETED", 2, 2 },
	{ "not known of the job", "2220", "COMPLETED", 3, 0 },
	{ "not known at all", "0000", "COMPLETED", 3, 0 },
	{ "a larger step may follow", "8884", "RUNNING", 3, 0 },
	{ "more than usual so far", "2224", "TIMEOUT", 0, 2 },
};

T_TEST("another number of tasks is another work")
{
	T_EACH(r, task_rows) {
		const char *name = r->name, *of = r->tasks;
		size_t n = strlen(of), any, len;
		struct np_acct_usual u = { 0 };
		const struct np_acct_job *j;
		uint32_t like[8];
		char text[1024];

		len = (size_t)snprintf(text, sizeof(text), TASKS_HEAD);
		for (size_t k = 1; k <= n; k++)
			len += (size_t)snprintf(
				text + len, sizeof(text) - len,
				TASKS_JOB("%zu", "%zu", "%s")
					STEP("%zu.0", "%zu.0", "%c"),
				k, k, k < n ? "COMPLETED" : r->state, k, k,
				of[k - 1]);
		T_ROW(name, !read_all(text, true));
		j = np_acct_find(&h, (uint32_t)n, NP_ACCT_NO_TASK);
		T_ROW(name, np_acct_comparable(&h, j, NP_ACCT_SAME_NAME, like,
					       8, &any) == r->comparable);
		T_ROW(name, np_acct_differs(&h, j, NP_ACCT_TASKS, &u) ==
				    (r->usual > 0));
		T_ROW(name, u.usual == r->usual);
	}
}

T_TEST("the neighbours of a job")
{
	struct np_acct_neighbour *b = NULL;
	char leaf[16];
	size_t n = 0;

	T_CHECK(!read_all(jobs, true));
	T_CHECK(!np_acct_neighbours(&h, np_acct_find(&h, 2, NP_ACCT_NO_TASK),
				    &b, &n));
	T_CHECK(n == 2);
	if (n == 2) {
		T_CHECK(h.job[b[0].job].id == 3 && b[0].nodes == 1);
		T_CHECK(b[0].from == 2000 && b[0].to == 2050);
		T_CHECK(!strcmp(np_acct_text(&h.leaf_name, b[0].leaf, leaf,
					     sizeof(leaf)),
				"leaf0"));
		T_CHECK(h.job[b[1].job].id == 4 && b[1].to == 2110);
		T_CHECK(!b[0].same_node && !b[1].same_node);
	}
	free(b);
	/* Without a topology all nodes are one leaf, and all four count. */
	T_CHECK(!read_all(jobs, false));
	T_CHECK(!np_acct_neighbours(&h, np_acct_find(&h, 2, NP_ACCT_NO_TASK),
				    &b, &n));
	T_CHECK(n == 2 && b[0].nodes == 4);
	free(b);
}

/* The same rows again, as two questions to sacct give them. */
T_TEST("rows that are read twice count once")
{
	char *copy = strdup(jobs);

	T_CHECK(!read_all(jobs, true));
	T_CHECK(!np_acct_read(&h, copy, "s", "|", &err));
	T_CHECK(!np_acct_index(&h) && h.n_jobs == 9);
	T_CHECK(np_acct_find(&h, 7, NP_ACCT_NO_TASK)->requeues == 1);
	free(copy);
}

static const struct {
	const char *name, *text, *want;
} bad[] = {
	{ "a date that is none",
	  HEAD JOB("1", "a", "COMPLETED", "soon", "1100", "2", "n[0-1]", "x"),
	  "s:2: Submit \"soon\": expected a date such as 2026-11-25T10:00:00, "
	  "or seconds since 1970" },
	{ "an end before the start",
	  HEAD JOB("1", "a", "COMPLETED", "1100", "1000", "2", "n[0-1]", "x"),
	  "s:2: End \"1000\": expected a date after Start" },
	{ "nodes that are none",
	  HEAD JOB("1", "a", "COMPLETED", "1000", "1100", "2", "n[0-", "x"),
	  "s:2: NodeList \"n[0-\": expected a list of nodes such as n[0-3]" },
	{ "a number that is none",
	  HEAD JOB("1", "a", "COMPLETED", "1000", "1100", "-2", "n0", "x"),
	  "s:2: NNodes \"-2\": expected a number of nodes" },
	{ "a required column is missing", "JobID|JobName\n1|a\n",
	  "s:1: expected a line that names the columns, User among them, as "
	  "sacct --parsable2 prints it" },
	{ "a task of an array without a number of its own",
	  "JobID|User|State|Start|End|NNodes|NodeList|JobName\n"
	  "12_1|a|COMPLETED|1000|1100|1|n0|x\n",
	  "s:2: JobIDRaw \"\": expected a number, as JobID is a part of "
	  "several jobs" },
	{ "a column twice", "JobID|NodeList|JobID\n1|n0|2\n",
	  "s:1: column JobID given twice" },
	{ "a message in place of a table", "sacct: error: no\n",
	  "s:1: expected a line that names the columns, JobID among them, as "
	  "sacct --parsable2 prints it" },
};

T_TEST("values that are none are refused with their line")
{
	T_EACH(r, bad) {
		T_ROW(r->name, read_all(r->text, true) == -EINVAL);
		T_ROW(r->name, !strcmp(err.text, r->want));
	}
}

/* One job in the layouts of Slurm 22.05, 23.11 and 25.05. */
#define SET(n) "{\"set\":true,\"infinite\":false,\"number\":" n "}"
#define UNSET "{\"set\":false,\"infinite\":false,\"number\":0}"
#define REST \
	"\"partition\":\"main\",\"allocation_nodes\":2,\"nodes\":\"n[0-1]\"," \
	"\"name\":\"a \\\"b\\\" \\u00e9\\/\",\"steps\":[{\"time\":{\"start\":1}," \
	"\"name\":\"batch\",\"nodes\":{\"list\":[\"n0\"]}}]"

static const struct {
	const char *name, *text;
	uint32_t id, task, cpus;
	double limit_sec;
} layouts[] = {
	{ "22.05: plain numbers, a state that is a word",
	  "{\"meta\":{\"Slurm\":{\"release\":\"22.05.8\"}},\"errors\":[],\n\"jobs\":["
	  "{\"job_id\":9,\"array\":{\"job_id\":8,\"task_id\":3,\"task\":null},"
	  "\"association\":{\"user\":\"a\"},\"user\":null,"
	  "\"state\":{\"current\":\"COMPLETED\",\"reason\":\"None\"},"
	  "\"time\":{\"submission\":990,\"start\":1000,\"end\":1100,"
	  "\"suspended\":30,\"limit\":60},\"required\":{\"CPUs\":8}," REST
	  "}]}",
	  9, 3, 8, 3600 },
	{ "23.11: numbers that may be unset, a list of states",
	  "{\"jobs\":[{\"job_id\":9,\"array\":{\"job_id\":8,\"task_id\":" SET(
		  "3") ",\"task\":\"\"},\"user\":\"a\",\"association\":{\"user\":"
		       "\"other\"},\"state\":{\"current\":[\"COMPLETED\"]},\"time\":{"
		       "\"submission\":990,\"start\":1000,\"end\":1100,\"suspended\":30,"
		       "\"limit\":" SET(
			       "60") "},\"tres\":{\"allocated\":[{\"type\":\"mem\","
				     "\"count\":900},{\"type\":\"cpu\",\"name\":\"\",\"id\":1,\"count\":16}],"
				     "\"requested\":[{\"type\":\"cpu\",\"count\":4}]},\"required\":{\"CPUs\":"
				     "8}," REST "}],\"warnings\":[]}\n",
	  9, 3, 16, 3600 },
	{ "25.05: a job of no array, without a limit, members sorted",
	  "{\"errors\":[],\"jobs\":[{\"array\":{\"job_id\":0,\"task_id\":" UNSET
	  "},\"job_id\":8,\"state\":{\"current\":[\"COMPLETED\",\"REQUEUED\"]},"
	  "\"time\":{\"end\":" SET(
		  "1100") ",\"limit\":{\"infinite\":true,"
			  "\"number\":0,\"set\":false},\"start\":" SET("1000") ",\"suspended\":" SET(
				  "30") ",\"submission\":990},\"tres\":{\"allocated\":[{\"count\":16,"
					"\"type\":\"cpu\"}]},\"user\":\"a\"," REST
					"}]}",
	  8, NP_ACCT_NO_TASK, 16, INFINITY },
};

T_TEST("sacct --json in the layouts of its releases")
{
	T_EACH(r, layouts) {
		const struct np_acct_job *j;
		char text[64];
		const char *of = r->name;

		T_ROW(of, !read_all(r->text, true));
		T_ROW(of, h.n_jobs == 1);
		j = np_acct_find(&h, 8, r->task);
		T_ROW(of, j && j->id == r->id && j->state == NP_ACCT_COMPLETED);
		T_ROW(of, j && np_acct_job_sec(&h, j) == 70 &&
				  j->limit_sec == r->limit_sec);
		T_ROW(of, j && j->submit == 990 && j->n_nodes == 2 &&
				  j->n_listed == 2 && j->cpus == r->cpus);
		T_ROW(of, j && !strcmp(np_acct_text(&h.text, j->user, text,
						    sizeof(text)),
				       "a"));
		T_ROW(of, j && !strcmp(np_acct_text(&h.text, j->name, text,
						    sizeof(text)),
				       "a \"b\" \xc3\xa9/"));
	}
}

/* The largest step that is not Slurm's own; numbers may be objects. */
static const struct {
	const char *name, *text; /* its steps */
	uint32_t tasks;
} json_steps[] = {
	{ "two steps, and those of Slurm",
	  "[{\"step\":{\"id\":\"9.batch\",\"name\":\"batch\"},\"tasks\":{\"count\":"
	  "64}},{\"step\":{\"id\":\"9.extern\",\"name\":\"extern\"},\"tasks\":{"
	  "\"count\":64}},{\"step\":{\"id\":\"9.0\",\"name\":\"fft\"},\"tasks\":{"
	  "\"count\":16}},{\"tasks\":{\"count\":" SET("4") "}}]",
	  16 },
	{ "numbers that are objects",
	  "[{\"step\":{\"name\":\"a\"},\"tasks\":{\"count\":" SET("4") "}}]",
	  4 },
	{ "no steps", "[]", 0 },
	{ "no list", "7", 0 },
	{ "steps that are none",
	  "[null,1,{},{\"tasks\":[]},{\"tasks\":{\"count\":"
	  "\"x\"}},{\"tasks\":{\"count\":-1}}]",
	  0 },
};

T_TEST("sacct --json has numbers of tasks, too")
{
	T_EACH(r, json_steps) {
		char text[2048];

		snprintf(
			text, sizeof(text),
			"{\"jobs\":[{\"job_id\":9,\"user\":"
			"\"a\",\"state\":{\"current\":[\"COMPLETED\"]},\"time\":{"
			"\"start\":1000,\"end\":1100},\"allocation_nodes\":1,"
			"\"nodes\":\"n0\",\"name\":\"x\",\"steps\":%s}]}",
			r->text);
		T_ROW(r->name, !read_all(text, true));
		T_ROW(r->name, h.n_jobs == 1 && h.job[0].tasks == r->tasks);
	}
}

/* What never started has no dates; what runs has no end. */
T_TEST("sacct --json of jobs that have not ended")
{
	static const char text[] =
		"{\"jobs\":["
		"{\"job_id\":1,\"array\":{\"job_id\":1,\"task_id\":" UNSET
		",\"task\":\"1-5\"},\"user\":\"a\",\"state\":{\"current\":"
		"[\"PENDING\"]},\"time\":{\"start\":0,\"end\":0}," REST "},"
		"{\"job_id\":2,\"user\":\"a\",\"state\":{\"current\":"
		"[\"RUNNING\"]},\"time\":{\"start\":2000,\"end\":0}," REST "},"
		"{\"job_id\":4,\"het\":{\"job_id\":3,\"job_offset\":" SET(
			"1") "},\"user\":\"a\",\"state\":{\"current\":"
			     "[\"COMPLETED\"]},\"time\":{\"start\":10,\"end\":20}," REST
			     "}]}";
	const struct np_acct_job *j;

	T_CHECK(!read_all(text, true));
	T_CHECK(h.n_jobs == 2);
	j = np_acct_find(&h, 2, NP_ACCT_NO_TASK);
	T_CHECK(j && isnan(j->end) && np_acct_job_sec(&h, j) == 200);
	T_CHECK(!!np_acct_find(&h, 4, NP_ACCT_NO_TASK));
}

#define BAD_JSON(why) "not JSON as sacct --json prints it: " why

static const struct {
	const char *name, *text, *want;
} bad_json[] = {
	{ "no list of jobs", "{\"nodes\":[]}",
	  "s: expected a list \"jobs\", as sacct --json prints it" },
	{ "jobs that are no list", "{\"jobs\":\n{}}",
	  "s:2: " BAD_JSON("expected a list of jobs") },
	{ "a job that is none", "{\"jobs\":[\n1]}",
	  "s:2: " BAD_JSON("expected a job") },
	{ "a job without dates",
	  "{\"jobs\":[\n\n{\"job_id\":1,\"user\":\"a\","
	  "\"state\":{\"current\":[]}}]}",
	  "s:3: a job without Start, which sacct --json prints for all" },
	{ "a job of a user whom slurmdbd does not know",
	  "{\"jobs\":[\n{"
	  "\"job_id\":2,\"user\":null,\"association\":null,\"state\":{"
	  "\"current\":\"COMPLETED\"},\"time\":{\"start\":1000,\"end\":"
	  "1100}," REST "}]}",
	  "s:2: a job without a user, as slurmdbd does not know that user: save "
	  "the output of sacct --parsable2 instead" },
	{ "a file that is cut off", "{\"jobs\":[{\"job_id\":1,\n",
	  "s:2: " BAD_JSON("it ends too early") },
	{ "cut off in a string", "{\"jobs\":[{\"job_id",
	  "s:1: " BAD_JSON("it ends too early") },
	{ "a bad escape", "{\"a\":\"\\x\"}",
	  "s:1: " BAD_JSON("invalid string sequence") },
	{ "a missing comma", "{\"a\":1 \"b\":2}",
	  "s:1: " BAD_JSON("expected \",\" or \"}\" after a member") },
	{ "a word that is no value", "{\"a\":nil}",
	  "s:1: " BAD_JSON("null expected") },
	{ "two answers", "{\"jobs\":[]}\n{}",
	  "s:2: " BAD_JSON("unexpected data after its end") },
	{ "lists in lists", "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
	  "s:1: " BAD_JSON("nesting too deep") },
	{ "an end before the start",
	  "{\"jobs\":[{\"job_id\":2,\"user\":\"a\","
	  "\"state\":{\"current\":[\"COMPLETED\"]},\"time\":{\"start\":2000,"
	  "\"end\":1000}," REST "}]}",
	  "s:1: End \"1000\": expected a date after Start" },
};

T_TEST("sacct --json that is damaged is refused with its line")
{
	T_EACH(r, bad_json) {
		T_ROW(r->name, read_all(r->text, true) == -EINVAL);
		T_ROW(r->name, !strcmp(err.text, r->want));
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
	{ "two rows", SHORT_HEAD "\n" SHORT("1", "x") "\n" SHORT("2", "x") "\n",
	  2, 0 },
	{ "no end of the last line", SHORT_HEAD "\n" SHORT("1", "x"), 1, 0 },
	{ "lines that end as on Windows",
	  SHORT_HEAD "\r\n" SHORT("1", "x") "\r\n", 1, 0 },
	{ "empty lines", SHORT_HEAD "\n\n" SHORT("1", "x") "\n", 1, 0 },
	{ "a job's name with a delimiter costs its row alone",
	  SHORT_HEAD "\n" SHORT("1", "a|b") "\n" SHORT("2", "x") "\n", 1, 1 },
	{ "a row that is cut off", SHORT_HEAD "\n1|a|COMPLETED\n", 0, 1 },
	{ "a command of several lines",
	  SHORT_HEAD
	  "|SubmitLine\n" SHORT("1", "x|sbatch --wrap=a") "\n\nb | c\nd\n" SHORT(
		  "2", "x|sbatch") "\n",
	  2, 0 },
	{ "a row that is cut off before its command",
	  SHORT_HEAD "|SubmitLine\n"
		     "1|a|COMPLETED\n",
	  0, 1 },
	{ "a line without a row before it",
	  SHORT_HEAD "|SubmitLine\nb\n" SHORT("1", "x|sbatch") "\n", 1, 1 },
	{ "a name of several lines", SHORT_HEAD "\n" SHORT("1", "x\ny") "\n", 1,
	  1 },
};

T_TEST("lines in any form; damaged rows are counted")
{
	T_EACH(r, lines) {
		T_ROW(r->name, !read_all(r->text, true));
		T_ROW(r->name, h.n_jobs == r->n_jobs);
		T_ROW(r->name, h.damaged == r->damaged);
	}
}
