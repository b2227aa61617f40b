/* Reports of mpiP. */
#include "t.h"
#include "np_collective.h"
#include "np_mpip.h"
#include "some_trace.h"

#define HEAD \
	"@ mpiP\n@ Command : /bin/./prog -x \n" \
	"@ Version                  : 3.4.1\n"
#define TASKS \
	"@ MPI Task Assignment      : 0 n0\n" \
	"@ MPI Task Assignment      : 1 n1\n"
#define DASHES "-----------\n"
#define AT(name) DASHES "@--- " name " ----\n" DASHES
#define TIMES AT("MPI Time (seconds)") "Task    AppTime    MPITime     MPI%\n"
#define ROWS \
	"   0         10          2     20.00\n" \
	"   1         10       4.01     40.10\n"
#define SUM "   *         20       6.01     30.05\n"
#define SITES \
	AT("Callsite Time statistics (all, milliseconds): 2") \
	"Name  Site Rank  Count  Max  Mean  Min  App%  MPI%\n" \
	"Send  1  *  4  1  1  -nan  0.1  0.2\n"
#define SENT \
	AT("Callsite Message Sent statistics (all, sent bytes)") \
	"Name  Site Rank  Count  Max  Mean  Min  Sum\n"
#define COUNTS \
	"Send  1  0  100  8  8  8  800\n" \
	"Send  1  *  250  8  8  8  2000\n\n" \
	"Allreduce  2  1  50  4096  4096  4096  2.048e+05\n" \
	"Allreduce  2  *  50  4096  4096  4096  2.048e+05\n"
#define END AT("End of Report")
#define WHOLE HEAD TASKS "\n" TIMES ROWS SUM SITES SENT COUNTS END

static int parse(const char *text, struct np_mpip *m, struct np_err *err)
{
	/*
	 * A buffer of exactly this size, so that reading past it is detected.
	 */
	size_t len = strlen(text);
	char *copy = malloc(len ? len : 1);
	int rc;

	memcpy(copy, text, len);
	rc = np_mpip_parse(copy, len, "r", m, err);
	free(copy);
	return rc;
}

T_TEST("times and messages are read")
{
	struct np_mpip m;

	T_CHECK(!parse(WHOLE, &m, NULL));
	T_CHECK(!strcmp(m.version, "3.4.1") && !strcmp(m.program, "prog"));
	T_CHECK(m.n_tasks == 2 && m.notes == 0);
	T_CHECK(m.app_sec == 20 && m.mpi_sec == 6.01 && m.max_app_sec == 10);
	T_CHECK(m.messages == 300 && m.bytes == 206800);
}

static const struct {
	const char *name, *command, *report, *program;
} commands[] = {
	{ "without a directory", "lmp -in a/b.in", "r", "lmp" },
	{ "a blank in a directory before ./", "/home/user/run dir/./solver -o",
	  "k2.4.mpiP", "solver" },
	{ "a blank in a directory", "/home/me/run dir/solver --opt \"a b\"",
	  "r", "solver" },
	{ "a suffix of programs", "/home/me/run dir/solver.x --opt", "r",
	  "solver.x" },
	{ "the program of a compiler", "/home/me/run dir/a.out 4", "r",
	  "a.out" },
	{ "several blanks", "/home/my last run/bin/solver --in a/b", "r",
	  "solver" },
	{ "two programs below one such directory are two",
	  "/home/me/run dir/other", "r", "other" },
	{ "an input file", "/opt/bin/solver in/mesh.dat", "r", "solver" },
	{ "an absolute argument", "/opt/bin/solver /tmp/mesh", "r", "solver" },
	{ "a number before an argument", "/opt/bin/solver 100 out/a", "r",
	  "solver" },
	{ "a directory as an argument", "/opt/bin/solver data/", "r",
	  "solver" },
	{ "the report has the program's name", "/opt/bin/solver cases/first",
	  "/d/solver.4.181196.1.mpiP", "solver" },
	{ "the report has it behind a blank", "/opt/a b/the.solver out/x",
	  "the.solver.4.17.1.mpiP", "the.solver" },
	{ "a drive and backslashes", "C:\\sim\\solver.exe in\\mesh.dat", "r",
	  "solver.exe" },
	{ "blanks behind a drive",
	  "C:\\Program Files\\My Tools\\Solver.EXE -n 4", "r", "Solver.EXE" },
	{ "a blank behind a server", "\\\\hpc\\run dir\\solver --opt a", "r",
	  "solver" },
};

T_TEST("the program is found in its command")
{
	T_EACH(r, commands) {
		struct np_mpip m = { .n_tasks = 0 };
		const char *text = t_text("@ mpiP\n@ Command : %s \n%s",
					  r->command,
					  TASKS TIMES ROWS SUM SENT COUNTS END);

		T_CHECK(!np_mpip_parse(text, strlen(text), r->report, &m,
				       NULL));
		T_ROW(r->name, !strcmp(m.program, r->program));
	}
}

T_TEST("a report as mpiP lays it out is read")
{
	struct np_mpip m;

	T_CHECK(!np_mpip_load(t_data("mpip/solver.16.mpiP"), &m, NULL));
	T_CHECK(m.n_tasks == 16 && m.notes == 0);
	T_CHECK(!strcmp(m.program, "solver"));
	T_CHECK(t_close(m.app_sec, 16 * (1000. / 160 + 1.2 + 0.32), 5e-3));
	T_CHECK(m.messages == 16 * (240 + 26));
	T_CHECK(t_close(m.bytes, 16 * (240 * 4e5 / 256 + 26 * 8), 1e-3));
}

/* A report that mpiP wrote of lammps, without the rows of single ranks. */
T_TEST("a report that mpiP wrote is read")
{
	struct np_mpip m;

	T_CHECK(!np_mpip_load(t_data("mpip/melt.mpiP"), &m, NULL));
	T_CHECK(m.n_tasks == 2 && m.notes == 0);
	T_CHECK(!strcmp(m.program, "lmp") && !strcmp(m.version, "3.5.0"));
	T_CHECK(m.app_sec == 10.758 && m.mpi_sec == 9.257);
	T_CHECK(m.messages == 2428 && t_close(m.bytes, 60150746, 1e-6));
}

static const struct {
	const char *name, *text;
	unsigned notes;
	double mpi_sec, messages;
} taken[] = {
	{ "DOS line ends", "@ mpiP\r\n" TASKS TIMES ROWS SUM SENT COUNTS END,
	  NP_MPIP_NO_VERSION, 6.01, 300 },
	{ "no row *", HEAD TASKS TIMES ROWS SENT COUNTS END, NP_MPIP_NO_SUM,
	  6.01, 300 },
	{ "row * is another",
	  HEAD TASKS TIMES ROWS "   *  20  7  35.00\n" SENT COUNTS END,
	  NP_MPIP_SUM_DIFFERS, 7, 300 },
	{ "row * is as good as three digits are",
	  HEAD TASKS TIMES ROWS "   *  20  6.05  35.00\n" SENT COUNTS END, 0,
	  6.05, 300 },
	{ "no messages", HEAD TASKS TIMES ROWS SUM SITES END,
	  NP_MPIP_NO_MESSAGES, 6.01, 0 },
	{ "cut off", HEAD TASKS TIMES ROWS SUM SENT COUNTS, NP_MPIP_TRUNCATED,
	  6.01, 300 },
	{ "cut off inside a row",
	  HEAD TASKS TIMES ROWS SUM SENT COUNTS "Bcast  3  *  77",
	  NP_MPIP_TRUNCATED, 6.01, 300 },
	{ "what follows the end does not count", WHOLE SENT COUNTS, 0, 6.01,
	  300 },
	{ "other sections may hold anything",
	  HEAD TASKS TIMES ROWS SUM
		  AT("Callsites: 1") "  1   0 a b.c    *  9 f   Send\n" AT(
			  "Callsite I/O statistics (all, I/O bytes)") "File_read  1  *  40  64  64  64  2560\n" SENT
			  COUNTS END,
	  0, 6.01, 300 },
	{ "all the time in MPI, rounded up",
	  HEAD "@ MPI Task Assignment : 0 n0\n" TIMES
	       "   0  9.99  10  100.00\n" SENT COUNTS END,
	  NP_MPIP_NO_SUM, 9.99, 300 },
};

T_TEST("unusual reports are accepted with a note")
{
	T_EACH(r, taken) {
		struct np_err err = NP_ERR_INIT;
		struct np_mpip m = { 0 };

		T_ROW(r->name, !parse(r->text, &m, &err));
		T_ROW(r->name, m.notes == r->notes);
		T_ROW(r->name, m.mpi_sec == r->mpi_sec);
		T_ROW(r->name, m.messages == r->messages);
	}
}

static const struct {
	const char *name, *text, *said;
	int rc;
} refused[] = {
	{ "nothing", "", "r: expected a report of mpiP", -EINVAL },
	{ "another file", "GIF89a", "r:1: expected a report of mpiP", -EINVAL },
	{ "another major version", "@ mpiP\n@ Version : 4.0.0\n",
	  "r:2: version 4.0.0, expected 3.x", -EINVAL },
	{ "no times", HEAD TASKS SENT COUNTS END, "no section \"MPI Time\"",
	  -EINVAL },
	{ "times twice", HEAD TASKS TIMES ROWS TIMES, "the same section again",
	  -EINVAL },
	{ "two reports in one file", WHOLE WHOLE, "a second report", -EINVAL },
	{ "counts twice", HEAD TASKS SENT COUNTS SENT, "the same section again",
	  -EINVAL },
	{ "a task twice", HEAD TASKS TIMES ROWS ROWS,
	  "r:12: a second row of task 0", -EINVAL },
	{ "a task missing",
	  HEAD TASKS TIMES "   0  10  2  20.00\n" SENT COUNTS END,
	  "times of 1 task, expected 2", -EINVAL },
	{ "a task too many", HEAD TASKS TIMES "   2  10  2  20.00\n",
	  "r:10: task 2, expected one of the 2 in the header", -EINVAL },
	{ "a task beyond all", HEAD TASKS TIMES "   4294967296  10  2  20.0\n",
	  "r:10: task 4294967296, expected one of the 2 in", -EINVAL },
	{ "a task, and a header without any", HEAD TIMES ROWS,
	  ": a task, expected a header that lists it", -EINVAL },
	{ "half a task", HEAD TASKS TIMES "   0.5  10  2  20.00\n",
	  "r:10: \"0.5\", expected a whole number", -EINVAL },
	{ "no task", HEAD TIMES SENT COUNTS END, "times of 0 tasks", -EINVAL },
	{ "two sums", HEAD TASKS TIMES SUM SUM, "a second row *", -EINVAL },
	{ "more in MPI than there was",
	  HEAD TASKS TIMES "   0  10  10.2  102.00\n",
	  "r:10: 10.2 s in MPI, of 10 s", -EINVAL },
	{ "a time that is no number", HEAD TASKS TIMES "   0  nan  2  20.00\n",
	  "r:10: \"nan\", expected a number from 0", -EINVAL },
	{ "endless time", HEAD TASKS TIMES "   0  inf  2  20.00\n", "\"inf\"",
	  -EINVAL },
	{ "a time out of range", HEAD TASKS TIMES "   0  1e+19  2  20.00\n",
	  "\"1e+19\"", -EINVAL },
	{ "negative time", HEAD TASKS TIMES "   0  -1  2  20.00\n", "\"-1\"",
	  -EINVAL },
	{ "two points", HEAD TASKS TIMES "   0  1.2.3  2  20.00\n", "\"1.2.3\"",
	  -EINVAL },
	{ "a row of times too short", HEAD TASKS TIMES "   0  10  2\n",
	  "r:10: expected task, AppTime", -EINVAL },
	{ "a row of counts too long",
	  HEAD TASKS TIMES ROWS SUM SENT "Send  1  *  250  8  8  8  2000  9\n",
	  "expected name, site, rank", -EINVAL },
	{ "half a message",
	  HEAD TASKS TIMES ROWS SUM SENT "Send  1  *  2.5  8  8  8  20\n",
	  "expected a whole number", -EINVAL },
	{ "a concise report", HEAD AT("Task Time Statistics (seconds)"),
	  "r:5: a concise report, which has no counts of messages", -ENODATA },
	{ "concise callsites",
	  HEAD TASKS TIMES ROWS SUM AT(
		  "Callsite Message Sent statistics (all callsites, sent bytes)"),
	  "a concise report", -ENODATA },
	{ "no callsites", HEAD TASKS TIMES ROWS SUM END,
	  "no counts of messages; expected a whole report, without", -ENODATA },
	{ "cut off before the counts", HEAD TASKS TIMES ROWS SUM SITES,
	  "ends before the counts", -ENODATA },
};

T_TEST("invalid reports are rejected with their line")
{
	T_EACH(r, refused) {
		struct np_err err = NP_ERR_INIT;
		struct np_mpip m;
		int rc = parse(r->text, &m, &err);

		T_ROW(r->name, rc == r->rc);
		if (!strstr(err.text, r->said))
			printf("\n%s: %d %s", r->name, rc, err.text);
		T_ROW(r->name, strstr(err.text, r->said));
	}
	T_CHECK(np_mpip_load("/dev/zero", &(struct np_mpip){ 0 }, NULL) ==
		-EINVAL);
	T_CHECK(np_mpip_load("/nonexistent", &(struct np_mpip){ 0 }, NULL) ==
		-ENOENT);
}

/* A report truncated anywhere is rejected, or accepted with a note. */
T_TEST("a report may end anywhere")
{
	size_t len = strlen(WHOLE) - strlen("----\n" DASHES);
	char *cut = strdup(WHOLE);

	for (; len > 0; len--) {
		struct np_mpip m = { .notes = NP_MPIP_TRUNCATED };

		cut[len - 1] = '\0';
		T_CHECK(parse(cut, &m, NULL) || m.notes & NP_MPIP_TRUNCATED ||
			strstr(cut, "End of"));
	}
	free(cut);
}

/* clang-format off */
#define COLLECTIVE(which, bytes, ...) \
	{ NP_TRACE_COLLECTIVE, 0, 100, 7 + sizeof((int[]){ 0, ##__VA_ARGS__ }) \
	  / sizeof(int) - 1, { which, 0, 0, 1, bytes, 0, \
	  sizeof((int[]){ 0, ##__VA_ARGS__ }) / sizeof(int) - 1, \
	  ##__VA_ARGS__ } }
#define FINALIZE { NP_TRACE_FINALIZE, 50, 9999, 0, { 0 } }

/* Records of rank 0; rank 1 computes for 700 ns and ends. */
static const struct traced {
	const char *name;
	struct some_record r[4];
	double messages, bytes, mpi_ns;
} traced[] = {
	{ "a message", { { NP_TRACE_SEND, 1000, 20, 4, { 0, 1, 7, 100 } },
			 FINALIZE }, 1, 100, 20 },
	{ "one that comes", { { NP_TRACE_RECV, 1000, 20, 4, { 0, 1, 7, 100 } },
			      FINALIZE }, 0, 0, 20 },
	{ "a collective", { COLLECTIVE(NP_ALLREDUCE, 64), FINALIZE },
	  1, 64, 100 },
	{ "a barrier", { COLLECTIVE(NP_BARRIER, 0), FINALIZE }, 0, 0, 100 },
	{ "to each another size", { COLLECTIVE(NP_ALLTOALLV, 0, 10, 30),
				    FINALIZE }, 1, 40, 100 },
	{ "a part of all", { COLLECTIVE(NP_ALLGATHER, 0, 10, 30), FINALIZE },
	  1, 20, 100 },
	{ "the root's part", { COLLECTIVE(NP_GATHERV, 0, 10, 30), FINALIZE },
	  1, 10, 100 },
};
/* clang-format on */

static double computed_ns(const struct some_record *r)
{
	double ns = 0;

	for (; r->kind != NP_TRACE_FINALIZE; r++)
		ns += (double)r->gap_ns;
	return ns + (double)r->gap_ns;
}

T_TEST("a trace gives the same values as a report")
{
	const struct some_record other[] = {
		{ NP_TRACE_FINALIZE, 700, 1, 0, { 0 } },
	};

	for (size_t i = 0; i < NP_ARRAY_SIZE(traced); i++) {
		const struct traced *t = &traced[i];
		const char *dir = some_trace_dir();
		struct np_mpip m = { .n_tasks = 0 };
		double app_sec = 1e-9 * (computed_ns(t->r) + t->mpi_ns + 700);

		some_trace(dir, 0, 2, t->r, 2);
		some_trace(dir, 1, 2, other, 1);
		T_ROW(t->name,
		      !np_mpip_trace(dir, &m, NULL) && m.n_tasks == 2 &&
			      m.messages == t->messages &&
			      m.bytes == t->bytes &&
			      m.notes ==
				      (t->messages ? 0 : NP_MPIP_NO_MESSAGES) &&
			      fabs(m.mpi_sec - 1e-9 * t->mpi_ns) < 1e-12 &&
			      fabs(m.app_sec - app_sec) < 1e-12);
	}
}

T_TEST("every note has a text")
{
	for (unsigned note = 1; note <= NP_MPIP_NO_VERSION; note <<= 1)
		T_CHECK(strlen(np_mpip_note_text((enum np_mpip_note)note)) >
			20);
}
