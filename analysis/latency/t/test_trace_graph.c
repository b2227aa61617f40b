#include "t.h"
#include "np_goal.h"
#include "np_trace.h"
#include "some_trace.h"

/* The latest warnings. */
static char warned[1024];

static void warn(const char *line, void *arg)
{
	size_t n = strlen(warned);

	(void)arg;
	snprintf(warned + n, sizeof(warned) - n, "%s\n", line);
}

/* The graph as GOAL text with single spaces; or the error. */
static int graph_text(const char *dir, const struct np_choices *choices,
		      char *text, size_t size)
{
	const struct np_trace_options o = { choices, warn };
	struct np_trace_files f = { 0 };
	struct np_err err = NP_ERR_INIT;
	struct np_graph *g = NULL;
	int rc = np_trace_files_find(dir, &f, &err);
	FILE *out;

	warned[0] = '\0';
	memset(text, 0, size);
	if (!rc)
		rc = np_trace_graph(&f, &o, &g, &err);
	if (rc) {
		snprintf(text, size, "%s", err.text);
	} else {
		out = fmemopen(text, size - 1, "w");
		T_CHECK(out && !np_goal_write(g, out, NULL));
		fclose(out);
	}
	np_graph_free(g);
	np_trace_files_free(&f);
	return rc;
}

/* Reduces white space to single blanks. */
static void squeeze(char *text)
{
	char *to = text;

	for (char *p = text; *p; p++) {
		bool space = *p == ' ' || *p == '\n' || *p == '\t';

		if (!space)
			*to++ = *p;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	}
	*to = '\0';
}

#define SEND NP_TRACE_SEND
#define RECV NP_TRACE_RECV
/* clang-format off */
#define END { NP_TRACE_FINALIZE, 0, 0, 0, { 0 } }
/* clang-format on */

struct program {
	const char *name;
	struct some_record rank0[8], rank1[8];
	const char *has[6]; /* parts of the text, in this order */
};

static const struct program programs[] = {
	{ "computing and a message",
	  { { SEND, 500, 20, 4, { 0, 1, 7, 100 } },
	    { NP_TRACE_FINALIZE, 30, 0, 0, { 0 } } },
	  { { RECV, 0, 900, 4, { 0, 0, 7, 100 } }, END },
	  { "num_ranks 2", "calc 500", "100b to 1", "calc 30",
	    "100b from 0" } },
	{ "what is computed during a message waits for its begin only",
	  { { NP_TRACE_ISEND, 0, 20, 5, { 0, 0, 1, 7, 100 } },
	    { NP_TRACE_WAIT, 400, 9, 2, { 4, 0 } },
	    { NP_TRACE_FINALIZE, 60, 0, 0, { 0 } } },
	  { { RECV, 0, 900, 4, { 0, 0, 7, 100 } }, END },
	  { "calc 400", "irequires", "calc 60", " requires" } },
	{ "time in calls counts for nothing",
	  { { NP_TRACE_LOCAL, 0, 5000, 0, { 0 } },
	    { NP_TRACE_POLL, 0, 6000, 0, { 0 } },
	    { NP_TRACE_LOCAL, 70, 5000, 0, { 0 } },
	    END },
	  { END },
	  { "calc 70" } },
	{ "a receive from anybody is from whom it was",
	  { { NP_TRACE_IRECV, 0, 1, 5, { 0, 0, 0, 0, 64 } },
	    { RECV, 0, 1, 4, { 0, 1, 3, 8 } },
	    { NP_TRACE_WAIT, 0, 1, 4, { 5, 1, 9, 0 } },
	    END },
	  { { SEND, 0, 1, 4, { 0, 0, 9, 33 } },
	    { SEND, 0, 1, 4, { 0, 0, 3, 8 } },
	    END },
	  { "from 1 tag 9", "from 1 tag 3", "33b to 0 tag 9",
	    "8b to 0 tag 3" } },
	{ "ranks of a communicator are its own",
	  { { NP_TRACE_COMM, 0, 1, 7, { 2, 1, 2, 1, 1, 1, 2 } },
	    { SEND, 0, 1, 4, { 2, 0, 5, 8 } },
	    END },
	  { { NP_TRACE_COMM, 0, 1, 7, { 2, 0, 2, 1, 1, 1, 2 } },
	    { RECV, 0, 1, 4, { 2, 1, 5, 8 } },
	    END },
	  { "8b to 1", "8b from 0" } },
	{ "messages of two communicators do not meet",
	  { { NP_TRACE_COMM, 0, 1, 7, { 2, 0, 2, 1, 0, 2, 2 } },
	    { SEND, 0, 1, 4, { 0, 1, 5, 11 } },
	    { SEND, 0, 1, 4, { 2, 1, 5, 22 } },
	    END },
	  { { NP_TRACE_COMM, 0, 1, 7, { 2, 1, 2, 1, 0, 2, 2 } },
	    { RECV, 0, 1, 4, { 2, 0, 5, 22 } },
	    { RECV, 0, 1, 4, { 0, 0, 5, 11 } },
	    END },
	  { "11b to 1", "22b to 1", "22b from 0", "11b from 0" } },
	{ "both at once wait for the same",
	  { { NP_TRACE_SENDRECV, 10, 1, 9, { 0, 1, 1, 2, 8, 1, 1, 2, 8 } },
	    { NP_TRACE_FINALIZE, 20, 0, 0, { 0 } } },
	  { { NP_TRACE_SENDRECV, 0, 1, 9, { 0, 1, 0, 2, 8, 1, 0, 2, 8 } },
	    END },
	  { "calc 10", "8b to 1", "8b from 1", "calc 20" } },
	{ "a barrier is messages",
	  { { NP_TRACE_COLLECTIVE, 0, 1, 7, { NP_BARRIER, 0, 0, 0, 0, 0, 0 } },
	    END },
	  { { NP_TRACE_COLLECTIVE, 0, 1, 7, { NP_BARRIER, 0, 0, 0, 0, 0, 0 } },
	    END },
	  { "0b to 1", "0b from 1", "0b to 0", "0b from 0" } },
	{ "a barrier can overlap what follows it, until it is waited for",
	  { { NP_TRACE_COLLECTIVE, 0, 1, 7, { NP_BARRIER, 1, 0, 0, 0, 0, 0 } },
	    { NP_TRACE_WAIT, 40, 1, 2, { 4, 0 } },
	    { NP_TRACE_FINALIZE, 50, 0, 0, { 0 } } },
	  { { NP_TRACE_COLLECTIVE, 0, 1, 7, { NP_BARRIER, 0, 0, 0, 0, 0, 0 } },
	    END },
	  { "0b to 1", "0b from 1", "calc 40", "calc 50" } },
};

static bool in_order(const char *text, const char *const *has)
{
	for (size_t i = 0; i < 6 && has[i]; i++) {
		text = strstr(text, has[i]);
		if (!text)
			return false;
		text += strlen(has[i]);
	}
	return true;
}

static size_t length_of(const struct some_record *r)
{
	size_t n = 0;

	while (n < 8 && r[n].kind != NP_TRACE_END)
		n++;
	return n;
}

static void write_both(const char *dir, const struct program *p)
{
	some_trace(dir, 0, 2, p->rank0, length_of(p->rank0));
	some_trace(dir, 1, 2, p->rank1, length_of(p->rank1));
}

T_TEST("traces give the expected graphs")
{
	char text[8192];

	T_EACH(r, programs) {
		const char *dir = some_trace_dir();
		int rc;

		write_both(dir, r);
		rc = graph_text(dir, NULL, text, sizeof(text));
		squeeze(text);
		T_ROW(r->name, !rc && in_order(text, r->has));
		T_ROW(r->name, !warned[0]);
	}
}

T_TEST("each rank may have a communicator of its own")
{
	const char *dir = some_trace_dir();
	const struct some_record end = END;
	static char text[1 << 18];

	for (uint32_t i = 0; i < 2100; i++)
		some_trace(dir, i, 2100, &end, 1);
	T_CHECK(!graph_text(dir, NULL, text, sizeof(text)));
}

static const struct program wrong[] = {
	{ "a send that nobody receives",
	  { { SEND, 0, 1, 4, { 0, 1, 7, 100 } }, END },
	  { END },
	  { "rank.0:3", "rank 0", "send of 100 bytes to 1 with tag 7" } },
	{ "a receive that nobody sends",
	  { END },
	  { { RECV, 0, 1, 4, { 0, 0, 7, 100 } }, END },
	  { "rank.1:3", "rank 1", "0 with tag 7" } },
	{ "a file that is damaged",
	  { { NP_TRACE_LOCAL, 0, 1, 0, { 0 } }, { 99, 0, 0, 0, { 0 } } },
	  { END },
	  { "rank.0:4: rank 0: record of kind 99" } },
};

T_TEST("errors name file, record, rank and operation")
{
	char text[512];

	T_EACH(r, wrong) {
		const char *dir = some_trace_dir();

		write_both(dir, r);
		T_ROW(r->name, graph_text(dir, NULL, text, sizeof(text)) < 0);
		T_ROW(r->name, in_order(text, r->has));
	}
}

/* Programs that were killed: only messages with both ends count. */
static const struct program killed[] = {
	{ "messages that were received no more",
	  { { SEND, 0, 1, 4, { 0, 1, 7, 11 } },
	    { SEND, 0, 1, 4, { 0, 1, 7, 22 } },
	    { SEND, 0, 1, 4, { 0, 1, 8, 33 } } },
	  { { RECV, 0, 900, 4, { 0, 0, 7, 11 } } },
	  { "11b to 1", "11b from 0" } },
	{ "the rest of a collective",
	  { { NP_TRACE_COLLECTIVE, 0, 1, 7, { NP_BCAST, 0, 0, 1, 44, 0, 0 } },
	    { NP_TRACE_COLLECTIVE, 0, 1, 7, { NP_BCAST, 0, 0, 1, 55, 0, 0 } } },
	  { { NP_TRACE_COLLECTIVE, 0, 1, 7, { NP_BCAST, 0, 0, 1, 44, 0, 0 } } },
	  { "44b to 1", "44b from 0" } },
};

T_TEST("of a killed program the matched messages remain")
{
	char text[4096];

	T_EACH(r, killed) {
		const char *dir = some_trace_dir();
		int rc;

		write_both(dir, r);
		rc = graph_text(dir, NULL, text, sizeof(text));
		T_ROW(r->name,
		      !rc && in_order(text, r->has) && !strstr(text, "22b") &&
			      !strstr(text, "33b") && !strstr(text, "55b"));
		T_ROW(r->name,
		      strstr(warned, "rank.0: rank 0: the trace ends before"));
		T_ROW(r->name,
		      strstr(warned, "rank.1: rank 1: the trace ends before"));
	}
}

T_TEST("another algorithm gives other messages")
{
	const struct some_record r[] = {
		{ NP_TRACE_COLLECTIVE,
		  0,
		  1,
		  7,
		  { NP_ALLREDUCE, 0, 0, 0, 1000, 0, 0 } },
		END,
	};
	const char *dir = some_trace_dir();
	struct np_choices c = { .n = 0 };
	char text[8192], ring[] = "allreduce=ring";

	for (uint32_t i = 0; i < 4; i++)
		some_trace(dir, i, 4, r, 2);
	T_CHECK(!graph_text(dir, NULL, text, sizeof(text)));
	T_CHECK(strstr(text, "1000b to 2") && !strstr(text, "250b"));
	T_CHECK(!np_choices_add(ring, &c, NULL));
	T_CHECK(!graph_text(dir, &c, text, sizeof(text)));
	T_CHECK(!strstr(text, "1000b") && strstr(text, "250b to 1"));
}

T_TEST("unsupported calls are reported")
{
	const struct some_record r[] = {
		{ NP_TRACE_UNSUPPORTED, 0, 1, 4, { 3, 'P', 'u', 't' } },
		END,
	};
	const char *dir = some_trace_dir();
	char text[512];

	some_trace(dir, 0, 1, r, 2);
	T_CHECK(!graph_text(dir, NULL, text, sizeof(text)));
	T_CHECK(strstr(warned, "rank 0: Put is not supported"));
}

T_TEST("a file from another run is warned of")
{
	const char *dir = some_trace_dir();
	char text[1024];

	some_lines(dir, "rank.0",
		   "MPI_Init:-:0:0:5000000000.0\n"
		   "MPI_Finalize:5000000001:-\n");
	some_lines(dir, "rank.1",
		   "MPI_Init:-:0:0:8600000000.0\n"
		   "MPI_Finalize:8600000001:-\n");
	T_CHECK(!graph_text(dir, NULL, text, sizeof(text)));
	T_CHECK(strstr(warned, "rank.1: rank 1: begins 1.0 hours after rank 0: "
			       "are these files of one run?"));
	some_lines(dir, "rank.1",
		   "MPI_Init:-:0:0:8599000000.0\n"
		   "MPI_Finalize:8599000001:-\n");
	T_CHECK(!graph_text(dir, NULL, text, sizeof(text)));
	T_CHECK(!warned[0]);
}

T_TEST("a trace of liballprof is a graph")
{
	const char *dir = some_trace_dir();
	char text[1024], path[512];

	some_lines(dir, "run-0.txt",
		   "MPI_Init:-:0:0:10\n"
		   "MPI_Send:20:77:10:11,8,8:1:7:0,0,2:21\n"
		   "MPI_Recv:25:77:10:11,8,8:-1:7:0,0,2:0:30\n"
		   "MPI_Finalize:30:-\n");
	some_lines(dir, "run-1.txt",
		   "MPI_Init:-:0:0:10\n"
		   "MPI_Recv:11:77:10:11,8,8:0:7:0,1,2:0:20\n"
		   "MPI_Send:20:77:10:11,8,8:0:7:0,1,2:21\n"
		   "MPI_Finalize:30:-\n");
	snprintf(path, sizeof(path), "%s/run-1.txt", dir);
	for (int i = 0; i < 2; i++) {
		T_CHECK(!graph_text(i ? path : dir, NULL, text, sizeof(text)));
		squeeze(text);
		T_CHECK(in_order(text,
				 (const char *const[]){ "calc 10000",
							"80b to 1", "calc 4000",
							"80b from 1", NULL }));
	}
}

/* The graph of the traces in dir, and that of their text written again. */
static void graph_twice(const char *dir, char text[8192], char same[8192])
{
	struct np_trace_files f;
	char again[512];

	snprintf(again, sizeof(again), "%s/again", dir);
	T_CHECK(!np_trace_files_find(dir, &f, NULL));
	T_CHECK(!np_trace_allprof(&f, NULL, again, NULL));
	np_trace_files_free(&f);
	T_CHECK(!graph_text(dir, NULL, text, 8192));
	T_CHECK(!graph_text(again, NULL, same, 8192));
}

/* Written as text again it is the same graph; wildcards remain wildcards. */
T_TEST("the text of a text is the same graph")
{
	const char *dir = some_trace_dir();
	char text[8192], same[8192];

	some_lines(dir, "run-0.txt",
		   "MPI_Irecv:25:9:10:11,8,8:-1:-1:7,0,2:400:26\n"
		   "MPI_Wait:27:400:0:28\n"
		   "MPI_Recv:28:9:1:11,8,8:-1:-1:7,0,2:0:30\n"
		   "MPI_Finalize:30:-\n");
	some_lines(dir, "run-1.txt",
		   "MPI_Send:20:9:10:11,8,8:0:7:7,1,2:21\n"
		   "MPI_Send:22:9:1:11,8,8:0:3:7,1,2:23\n"
		   "MPI_Finalize:30:-\n");
	graph_twice(dir, text, same);
	T_CHECK(strstr(text, "recv 80b from 1 tag 7") && !strcmp(text, same));
}

static size_t count(const char *text, const char *word)
{
	size_t n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

/* With the algorithm of the graph: a ring, because of the size. */
T_TEST("so are its collectives with unequal sizes")
{
	const char *dir = some_trace_dir();
	char text[8192], same[8192], line[512], name[32];

	for (int rank = 0; rank < 4; rank++) {
		snprintf(line, sizeof(line),
			 "MPI_Allgatherv:20:9:1000000:"
			 "11,1,1:9:77:1000000,1000000,1000000,999999:78:"
			 "0,0,0,0:11,1,1:7,%d,4:30\nMPI_Finalize:30:-\n",
			 rank);
		snprintf(name, sizeof(name), "run-%d.txt", rank);
		some_lines(dir, name, line);
	}
	graph_twice(dir, text, same);
	T_CHECK(count(text, "send") == 12 && count(same, "send") == 12);
}

T_TEST("what is sent to nobody is not counted")
{
	const char *dir = some_trace_dir();
	struct np_trace_files f;
	struct np_trace_sum s;

	some_lines(dir, "run-0.txt",
		   "MPI_Init:-:0:0:10\n"
		   "MPI_Send:20:9:10:11,8,8:-2:7:7,0,1:21\n"
		   "MPI_Sendrecv:25:9:2:11,8,8:0:7:9:2:11,8,8:0:7:7,0,1:0:30\n"
		   "MPI_Finalize:30:-\n");
	T_CHECK(!np_trace_files_find(dir, &f, NULL));
	T_CHECK(!np_trace_sum(&f, &s, NULL));
	np_trace_files_free(&f);
	T_CHECK(s.sent == 1 && s.sent_bytes == 16 && s.received == 1);
}

static const struct {
	const char *name, *file[3], *says;
} places[] = {
	{ "nothing", { NULL }, ": no trace" },
	{ "no rank 0", { "t-1.txt", "t-2.txt" }, "no trace of rank 0" },
	{ "a rank is missing",
	  { "t-0.txt", "t-2.txt" },
	  "no trace of rank 1, expected 3 ranks" },
	{ "two files of a rank",
	  { "t-0.txt", "t-00.txt" },
	  "two files of rank 0, t-0" },
	{ "two traces", { "t-0.txt", "u-0.txt" }, "are of two" },
	{ "the successor of liballprof",
	  { "lap2-trace-rank-0-of-1.txt" },
	  "a trace of liballprof2, which is not read" },
};

T_TEST("files of a trace are found, or the missing one is named")
{
	struct np_trace_files f;
	char path[512];

	T_EACH(r, places) {
		const char *dir = some_trace_dir();
		struct np_err err = NP_ERR_INIT;

		for (size_t k = 0; k < 3 && r->file[k]; k++)
			some_lines(dir, r->file[k], "#\n");
		T_ROW(r->name, np_trace_files_find(dir, &f, &err) < 0 &&
				       strstr(err.text, r->says));
	}
	/* Files that a larger earlier run has left do not count. */
	strcpy(path, some_trace_dir());
	for (uint32_t i = 0; i < 3; i++)
		some_trace(path, i, 2, NULL, 0);
	T_CHECK(!np_trace_files_find(path, &f, NULL) && f.n == 2);
	np_trace_files_free(&f);
}
