#include "np_queue_log.h"

#include "t.h"

#define SWF_JOB " 1 100 5 60 4 -1 -1 4 600 -1 1 7 2 3 1 1 -1 -1\n"
#define HEAD \
	"JobID|User|JobName|Submit|ElapsedRaw|TimelimitRaw|NNodes|NCPUS|" \
	"State\n"

static char warnings[1024];

static void add_warning(const char *line, void *arg)
{
	(void)arg;
	snprintf(warnings + strlen(warnings),
		 sizeof(warnings) - strlen(warnings), "%s\n", line);
}

/* What was read last; freed with the next, and after the test. */
static struct np_queue_log q;
static struct np_err err;

static void forget(void)
{
	np_queue_log_free(&q);
	q = (struct np_queue_log){ .n = 0 };
	err = (struct np_err)NP_ERR_INIT;
	warnings[0] = '\0';
}

static int read_text(const char *text)
{
	FILE *f = tmpfile();
	int fd;

	forget();
	fputs(text, f);
	rewind(f);
	fd = dup(fileno(f));
	lseek(fd, 0, SEEK_SET);
	fclose(f);
	return np_queue_log_read_fd(fd, "log", "|", add_warning, NULL, &q,
				    &err);
}

T_FIXTURE(forget, forget);

T_TEST("a log of the standard format is read")
{
	static const char text[] =
		"; MaxNodes: 16\n;MaxProcs: 64\n\n" SWF_JOB
		" 2 90 -1 50 2 -1 -1 -1 -1 -1 1 8 -1 -1 -1 -1 1 30\r\n"
		" 3 110 40 0 -1 -1 -1 3 600 -1 5 8 -1 -1 -1 -1 -1 -1\n";
	char name[32];

	T_CHECK(!read_text(text));
	T_CHECK(q.n == 3 && q.max_nodes == 16 && q.max_procs == 64);
	T_CHECK(q.issues[NP_QUEUE_UNSORTED] == 1 && q.job[0].id == 2);
	T_CHECK(q.job[0].limit_sec == 100 && q.issues[NP_QUEUE_NO_LIMIT] == 1);
	/* It names a job that came later. */
	T_CHECK(q.job[0].after == NP_QUEUE_NONE &&
		q.issues[NP_QUEUE_LOST_PARENT] == 1);
	T_CHECK(q.job[1].cpus == 4 && q.job[1].run_sec == 60 &&
		q.job[1].limit_sec == 600 && q.job[1].wait_sec == 5);
	T_CHECK(!strcmp(np_queue_text(&q, q.job[1].name, name, sizeof(name)),
			"program3"));
	T_CHECK(q.job[2].cancel_sec == 150);
}

T_TEST("a job of the standard format waits for one that precedes it")
{
	static const char text[] =
		" 2 100 0 50 2 -1 -1 -1 -1 -1 1 8 -1 -1 -1 -1 -1 -1\n"
		" 1 150 0 50 2 -1 -1 -1 -1 -1 1 8 -1 -1 -1 -1 2 -1\n"
		" 3 160 0 50 2 -1 -1 -1 -1 -1 1 8 -1 -1 -1 -1 3 -1\n"
		" 4 170 0 50 2 -1 -1 -1 -1 -1 1 8 -1 -1 -1 -1 9 -1\n";
	static const struct {
		const char *name;
		uint32_t after;
	} want[] = {
		{ "no other job", NP_QUEUE_NONE },
		{ "one with a larger number", 0 },
		{ "itself", NP_QUEUE_NONE },
		{ "one that is missing", NP_QUEUE_NONE },
	};

	T_CHECK(!read_text(text));
	T_CHECK(q.n == NP_ARRAY_SIZE(want));
	for (size_t i = 0; i < q.n; i++)
		T_ROW(want[i].name, q.job[i].after == want[i].after);
	T_CHECK(q.issues[NP_QUEUE_LOST_PARENT] == 2);
}

T_TEST("what sacct prints is read")
{
	char name[32];

	T_CHECK(!np_queue_log_read(t_data("queue/small.sacct"), add_warning,
				   NULL, &q, &err));
	T_CHECK(q.n == 8);
	T_CHECK(q.issues[NP_QUEUE_STEP] == 1 &&
		q.issues[NP_QUEUE_NEVER_RAN] == 1);
	T_CHECK(q.issues[NP_QUEUE_RUNNING] == 1 &&
		q.issues[NP_QUEUE_RESERVATION] == 1 &&
		q.issues[NP_QUEUE_SEVERAL] == 1);
	T_CHECK(q.issues[NP_QUEUE_BAD_LINE] == 1 &&
		strstr(warnings, "small.sacct:12: job \"108\" submitted at "
				 "\"yesterday\""));
	T_CHECK(!strcmp(q.unused, "Colour"));
	T_CHECK(q.job[0].run_sec == 1800 && q.job[0].limit_sec == 3600 &&
		q.job[0].nodes == 2 && q.job[0].cpus == 8 &&
		q.job[0].priority == 10 && q.job[0].wait_sec == 2);
	T_CHECK(!strcmp(np_queue_text(&q, q.job[0].user, name, sizeof(name)),
			"alice"));
	T_CHECK(q.job[5].cancel_sec - q.job[5].submit_sec == 990);
}

/* sacct without --noconvert; a header of SWF without numbers. */
T_TEST("units and unknown numbers are read")
{
	static const char sacct[] = "JobID|Submit|ElapsedRaw|AllocNodes\n"
				    "1|100|60|4K\n2|101|60|1.50K\n";
	static const char swf[] =
		"; MaxNodes: -1\n;MaxProcs: unknown\n" SWF_JOB;
	static const char notes[] = "; MaxNodes: 16 (8 before May)\n"
				    ";MaxProcs:64\n" SWF_JOB;

	T_CHECK(!read_text(sacct));
	T_CHECK(q.n == 2 && q.job[0].nodes == 4096 && q.job[1].nodes == 1536);
	T_CHECK(!read_text(swf));
	T_CHECK(q.n == 1 && !q.max_nodes && !q.max_procs);
	T_CHECK(!read_text(notes));
	T_CHECK(q.max_nodes == 16 && q.max_procs == 64 && !*warnings);
}

/* clang-format off */
static const struct {
	const char *name, *text;
	size_t n;    /* jobs */
	const char *says; /* the refusal, or the line about a bad line */
} rows[] = {
	{ "nothing", "", 0, "log: no job that could be replayed among 0" },
	{ "no log at all", "hello\n", 0, "log:1: \"hello\": expected" },
	{ "other columns", "A|B|C\n1|2|3\n", 0,
	  "log:1: expected the columns of sacct" },
	{ "bytes that are no text", "\x01\x02\n", 0, "log:1: not text" },
	{ "UTF-16", "\xff\xfe" "1\n", 0, "log:1: begins with a "
	  "byte-order mark (UTF-16)" },
	{ "JSON", "{\"jobs\": []}\n", 0, "log:1: expected the columns of "
	  "sacct --parsable2 or a Standard Workload Format, got JSON" },
	{ "a byte-order mark", "\xef\xbb\xbf" SWF_JOB, 1, "" },
	{ "a line that is cut", SWF_JOB " 2 100 5\n", 1,
	  "log:2: field 4: \"\", expected a number" },
	{ "a word for a number", SWF_JOB " 2 one 5\n", 1,
	  "log:2: field 2: \"one\"" },
	{ "a time before the log", SWF_JOB
	  " 2 -1 5 60 4 -1 -1 4 600 -1 1 7 2 3 1 1 -1 -1\n", 1,
	  "log:2: job 2 submitted at -1 s" },
	{ "more negative than unknown", SWF_JOB
	  " 2 -7 5 60 4 -1 -1 4 600 -1 1 7 2 3 1 1 -1 -1\n", 1,
	  "log:2: field 2: \"-7\"" },
	{ "one field too many", SWF_JOB
	  " 2 100 5 60 4 -1 -1 4 600 -1 1 7 2 3 1 1 -1 -1 9\n", 1,
	  "log:2: more than 18 fields" },
	{ "no size", SWF_JOB
	  " 2 100 5 60 -1 -1 -1 -1 600 -1 1 7 2 3 1 1 -1 -1\n", 1, "" },
	{ "columns in another order",
	  "State|NNodes|JobID|Submit|Elapsed|Timelimit\n"
	  "COMPLETED|2|7|1000|1-00:00:10|2-00:00:00\n", 1, "" },
	{ "columns that are missing", HEAD "7|alice|x|1000|60|10|2|8|"
	  "COMPLETED\n8|alice\n", 1, "log:3: 2 columns, expected 9" },
	{ "a name with the delimiter", HEAD "7|alice|x|1000|60|10|2|8|"
	  "COMPLETED\n8|alice|a|b|1000|60|10|2|8|COMPLETED\n", 1,
	  "log:3: 10 columns, expected 9" },
	{ "a command line with the delimiter", "JobID|JobName|Submit|"
	  "ElapsedRaw|NNodes|SubmitLine\n7|x|1000|60|2|sbatch a | b\n", 1,
	  "" },
	{ "a run time that is not a number", "JobID|Submit|ElapsedRaw|Start|"
	  "End|NNodes\n7|1000|INVALID|1000|1060|2\n", 1, "" },
	{ "a hexadecimal number", SWF_JOB
	  " 2 0x10 5 60 4 -1 -1 4 600 -1 1 7 2 3 1 1 -1 -1\n", 1,
	  "log:2: field 2: \"0x10\", expected a number of at least -1" },
	{ "not a number", SWF_JOB
	  " 2 nan 5 60 4 -1 -1 4 600 -1 1 7 2 3 1 1 -1 -1\n", 1,
	  "log:2: field 2: \"nan\", expected a number of at least -1" },
	{ "infinity", SWF_JOB
	  " 2 inf 5 60 4 -1 -1 4 600 -1 1 7 2 3 1 1 -1 -1\n", 1,
	  "log:2: field 2: \"inf\", expected a number of at least -1" },
	{ "a number beyond all", SWF_JOB
	  " 2 1e400 5 60 4 -1 -1 4 600 -1 1 7 2 3 1 1 -1 -1\n", 1,
	  "log:2: field 2: \"1e400\", expected a number of at least -1" },
	{ "a plus sign", SWF_JOB
	  " 2 +5 5 60 4 -1 -1 4 600 -1 1 7 2 3 1 1 -1 -1\n", 1,
	  "log:2: field 2: \"+5\", expected a number of at least -1" },
	{ "two numbers in one", SWF_JOB
	  " 2 1.5.2 5 60 4 -1 -1 4 600 -1 1 7 2 3 1 1 -1 -1\n", 1,
	  "log:2: field 2: \"1.5.2\", expected a number of at least -1" },
	{ "no line that can be read", " 1 one 5\n 2 two 5\n", 0,
	  "log:1: field 2: \"one\", expected a number of at least -1 and at "
	  "most 1099511627776; no job that could be replayed among 2 lines" },
	{ "a date that is too late", " 1 1e18 5 60 4 -1 -1 4 600 -1 1 7 2 3 1 "
	  "1 -1 -1\n", 0, "log:1: field 2: \"1e18\", expected a number of at "
	  "least -1 and at most 1099511627776; no job that could be replayed "
	  "among 1 line" },
	{ "a file that ends its text later", " 1 one 5\n\x01\n", 0,
	  "log:1: field 2: \"one\"" },
	{ "an id below 0", HEAD "7|alice|x|1000|60|10|2|8|COMPLETED\n"
	  "-8|alice|x|1000|60|10|2|8|COMPLETED\n", 1,
	  "log:3: job \"-8\" submitted at \"1000\"" },
	{ "an id with letters", HEAD "7|alice|x|1000|60|10|2|8|COMPLETED\n"
	  "8x|alice|x|1000|60|10|2|8|COMPLETED\n", 1, "log:3: job \"8x\"" },
	{ "an id beyond 2^64", HEAD "7|alice|x|1000|60|10|2|8|COMPLETED\n"
	  "18446744073709551617|alice|x|1000|60|10|2|8|COMPLETED\n", 1,
	  "log:3: job \"18446744073709551617\"" },
	{ "nodes that are no number", HEAD "7|alice|x|1000|60|10|2|8|"
	  "COMPLETED\n8|alice|x|1000|60|10|2x|8|COMPLETED\n", 1,
	  "log:3: NNodes \"2x\", expected a whole number" },
	{ "half a node", HEAD "7|alice|x|1000|60|10|2|8|COMPLETED\n"
	  "8|alice|x|1000|60|10|2.5|8|COMPLETED\n", 1,
	  "log:3: NNodes \"2.5\", expected a whole number" },
	{ "a date with more behind it", HEAD "7|alice|x|1000|60|10|2|8|"
	  "COMPLETED\n8|alice|x|2026-01-01T00:00:00x|60|10|2|8|COMPLETED\n", 1,
	  "log:3: job \"8\" submitted at \"2026-01-01T00:00:00x\"" },
	{ "a date that is none", HEAD "7|alice|x|1000|60|10|2|8|COMPLETED\n"
	  "8|alice|x|2026-02-30T00:00:00|60|10|2|8|COMPLETED\n", 1,
	  "log:3: job \"8\" submitted at \"2026-02-30T00:00:00\"" },
	{ "a start that is none", "JobID|Submit|Start|ElapsedRaw|NNodes\n"
	  "7|1000|1000|60|2\n8|1000|2026-02-30T00:00:00|60|2\n", 1,
	  "log:3: Start \"2026-02-30T00:00:00\", expected a date such as" },
	{ "a run time with more behind it", HEAD "7|alice|x|1000|60|10|2|8|"
	  "COMPLETED\n8|alice|x|1000|60x|10|2|8|COMPLETED\n", 1,
	  "log:3: ElapsedRaw \"60x\", expected a whole number" },
	{ "a hexadecimal run time", HEAD "7|alice|x|1000|60|10|2|8|COMPLETED\n"
	  "8|alice|x|1000|0x10|10|2|8|COMPLETED\n", 1,
	  "log:3: ElapsedRaw \"0x10\", expected a whole number" },
	{ "a run time beyond all", HEAD "7|alice|x|1000|60|10|2|8|COMPLETED\n"
	  "8|alice|x|1000|1e400|10|2|8|COMPLETED\n", 1,
	  "log:3: ElapsedRaw \"1e400\", expected a whole number" },
	{ "a time limit with more behind it", HEAD "7|alice|x|1000|60|10|2|8|"
	  "COMPLETED\n8|alice|x|1000|60|10.5|2|8|COMPLETED\n", 1,
	  "log:3: TimelimitRaw \"10.5\", expected a whole number" },
	{ "a time in words with more behind it",
	  "JobID|Submit|Elapsed|Timelimit|NNodes\n"
	  "7|1000|00:01:00|UNLIMITED|2\n8|1000|00:01:00x|UNLIMITED|2\n", 1,
	  "log:3: Elapsed \"00:01:00x\", expected a time such as 01:02:03" },
	{ "a priority with more behind it",
	  "JobID|Submit|ElapsedRaw|NNodes|Priority\n"
	  "7|1000|60|2|3\n8|1000|60|2|3x\n", 1,
	  "log:3: Priority \"3x\", expected a whole number" },
	{ "a task with more behind it", HEAD "7|alice|x|1000|60|10|2|8|"
	  "COMPLETED\n8_3x|alice|x|1000|60|10|2|8|COMPLETED\n", 1,
	  "log:3: job \"8_3x\" submitted at \"1000\"" },
	{ "tasks in one line and a part of a heterogeneous job", HEAD
	  "7_[1-3]|alice|x|1000|60|10|2|8|COMPLETED\n"
	  "8+1|alice|x|1000|60|10|2|8|COMPLETED\n", 2, "" },
	{ "a hexadecimal number in the head", "; MaxProcs: 0x10\n" SWF_JOB, 1,
	  "log:1: MaxProcs: \"0x10\", expected a whole number" },
	{ "a number beyond all in the head", "; MaxNodes: 99999999999\n"
	  SWF_JOB, 1, "log:1: MaxNodes: \"99999999999\", expected" },
	{ "a number with more behind it in the head", "; MaxNodes: 16x\n"
	  SWF_JOB, 1, "log:1: MaxNodes: \"16x\", expected a whole number" },
	{ "processors without an end", HEAD "7|alice|x|1000|60|10|2|8|"
	  "COMPLETED\n8|alice|x|1000|60|10|2|inf|COMPLETED\n", 1,
	  "log:3: NCPUS \"inf\", expected a whole number" },
	{ "a column that is given twice", "JobID|Submit|ElapsedRaw|NNodes|"
	  "nnodes\n7|1000|60|2|2\n", 0, "log:1: column NNodes given twice" },
	{ "a job that waits for one beyond 2^32", SWF_JOB
	  " 9999999999 110 5 60 4 -1 -1 4 600 -1 1 7 2 3 1 1 9999999990 -1\n",
	  2, "" },
	{ "a job that is no number", HEAD "7|alice|x|1000|60|10|2|8|"
	  "COMPLETED\nx|alice|x|1000|60|10|2|8|COMPLETED\n", 1,
	  "log:3: job \"x\" submitted at \"1000\"" },
};
/* clang-format on */

T_TEST("what cannot be read is reported with file and line")
{
	T_EACH(r, rows) {
		int rc = read_text(r->text);

		T_ROW(r->name, rc == (r->n ? 0 : -EINVAL));
		T_ROW(r->name, q.n == r->n);
		T_ROW(r->name, !q.n || q.job[0].run_sec >= 50);
		T_ROW(r->name, strstr(rc ? err.text : warnings, r->says));
		/* A log that cannot be used is one error, not several lines. */
		T_ROW(r->name, !rc || !*warnings);
	}
}

/*
 * As sacct of Slurm 22.05 prints them: the tasks of arrays last, line breaks of
 * a command line as they are, and priorities close to 2^32.
 */
T_TEST("arrays, dependencies and line breaks of sacct are read")
{
	static const char text[] =
		"JobID|Priority|Submit|Eligible|Start|End|ElapsedRaw|NNodes|"
		"TimelimitRaw|State|SubmitLine\n"
		"1|4294901759|100|100|101|103|2|1|1|COMPLETED|sbatch a.sh\n"
		"3|4294901757|100|140|141|142|1|1|1|COMPLETED|"
		"sbatch -J x -d afterok:1:2,afterany:1 a.sh\n"
		"4|4294901756|101|160|161|162|1|1|1|COMPLETED|"
		"sbatch --begin=now+1 -D /tmp --wrap one\n"
		"echo two | cat\n"
		"echo three\n"
		"5|4294901755|102|102|150|151|1|1|1|COMPLETED|"
		"sbatch --dependency afterany:2_1+5 a.sh\n"
		"6|4294901755|103|103|150|151|1|1|1|COMPLETED|"
		"sbatch --dependency=singleton a.sh\n"
		"2_1|4294901758|100|101|110|120|10|1|1|COMPLETED|sbatch -a 0-1\n"
		"2_0|4294901758|100|101|110|140|30|1|1|COMPLETED|sbatch -a 0-1\n";
	static const struct {
		unsigned id, task, submit, after;
	} want[] = {
		{ 1, NP_QUEUE_NONE, 100, NP_QUEUE_NONE },
		{ 2, 0, 100, NP_QUEUE_NONE },
		{ 2, 1, 100, NP_QUEUE_NONE },
		/* Task 0 ends later than task 1. */
		{ 3, NP_QUEUE_NONE, 100, 1 },
		{ 5, NP_QUEUE_NONE, 102, 1 },
		{ 6, NP_QUEUE_NONE, 103, NP_QUEUE_NONE },
		{ 4, NP_QUEUE_NONE, 160, NP_QUEUE_NONE },
	};

	T_CHECK(!read_text(text));
	T_CHECK(q.n == NP_ARRAY_SIZE(want) && !*warnings);
	for (size_t i = 0; i < q.n; i++)
		T_CHECK(q.job[i].id == want[i].id &&
			q.job[i].task == want[i].task &&
			q.job[i].submit_sec == want[i].submit &&
			q.job[i].after == want[i].after);
	T_CHECK(q.job[0].priority == 4294901759u &&
		q.job[1].priority == 4294901758u);
	/* Job 4 is found behind its place, the tasks are not. */
	for (int i = 0; i < NP_QUEUE_N_ISSUES; i++)
		T_CHECK(q.issues[i] == (i == NP_QUEUE_UNSORTED));
}

/*
 * On a busy slurmctld the tasks of an array become eligible some seconds after
 * their submission, and a job that is requeued is submitted anew.
 */
T_TEST("jobs wait for jobs with later submissions")
{
	static const char text[] =
		"JobID|Submit|Eligible|Start|End|ElapsedRaw|NNodes|"
		"TimelimitRaw|State|SubmitLine\n"
		"1_0|100|104|110|120|10|1|1|COMPLETED|sbatch -a 0\n"
		"2|101|120|120|130|10|1|1|COMPLETED|sbatch -d after:1 a.sh\n"
		"3|102|130|130|131|1|1|1|COMPLETED|sbatch -d after:2 a.sh\n"
		"4|140|140|141|150|9|1|1|COMPLETED|sbatch a.sh\n"
		"5|105|120|121|122|1|1|1|COMPLETED|sbatch -d after:4 a.sh\n";
	static const struct {
		const char *name;
		unsigned id, submit, wait, after;
	} want[] = {
		{ "an array that became eligible later", 1, 104, 6,
		  NP_QUEUE_NONE },
		{ "a job that waits for it", 2, 104, 16, 0 },
		{ "one that waits for that", 3, 104, 26, 1 },
		{ "it started before the other one was requeued", 5, 105, 16,
		  NP_QUEUE_NONE },
		{ "a job that was requeued", 4, 140, 1, NP_QUEUE_NONE },
	};

	T_CHECK(!read_text(text));
	T_CHECK(q.n == NP_ARRAY_SIZE(want) && !*warnings);
	for (size_t i = 0; i < q.n; i++)
		T_ROW(want[i].name,
		      q.job[i].id == want[i].id &&
			      q.job[i].submit_sec == want[i].submit &&
			      q.job[i].wait_sec == want[i].wait &&
			      q.job[i].after == want[i].after);
	T_CHECK(q.issues[NP_QUEUE_LOST_PARENT] == 1);
}
