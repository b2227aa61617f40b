#include "t.h"
#include "np_trace_read.h"
#include "np_trace_write.h"
#include "some_trace.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Describes each event in words, which the tests compare. */
static int say_message(char *at, size_t left, const char *what,
		       const struct np_trace_message *m)
{
	return snprintf(at, left, " %s%d:%d:%llu", what, (int)m->peer,
			(int)m->tag, (unsigned long long)m->bytes);
}

static void say(const struct np_trace_event *ev, char *text, size_t size)
{
	static const char *const names[NP_TRACE_N_KINDS] = {
		[NP_TRACE_SEND] = "send",
		[NP_TRACE_RECV] = "recv",
		[NP_TRACE_SENDRECV] = "sendrecv",
		[NP_TRACE_ISEND] = "isend",
		[NP_TRACE_IRECV] = "irecv",
		[NP_TRACE_ISENDRECV] = "both",
		[NP_TRACE_WAIT] = "wait",
		[NP_TRACE_LOCAL] = "local",
		[NP_TRACE_POLL] = "poll",
		[NP_TRACE_COLLECTIVE] = "coll",
		[NP_TRACE_COMM] = "comm",
		[NP_TRACE_COMM_FREE] = "gone",
		[NP_TRACE_UNSUPPORTED] = "other",
		[NP_TRACE_FULL] = "full",
		[NP_TRACE_FINALIZE] = "end",
	};
	size_t n = strlen(text);

	n += (size_t)snprintf(text + n, size - n, "%s%s", n ? "; " : "",
			      names[ev->kind]);
	if (ev->out.there)
		n += (size_t)say_message(text + n, size - n, ">", &ev->out);
	if (ev->in.there)
		n += (size_t)say_message(text + n, size - n, "<", &ev->in);
	for (size_t i = 0; i < ev->n_done; i++)
		n += (size_t)snprintf(text + n, size - n, " %u", ev->done[i]);
	if (ev->kind == NP_TRACE_COLLECTIVE)
		n += (size_t)snprintf(text + n, size - n, " %s %llu",
				      np_collective_name(ev->collective),
				      (unsigned long long)ev->bytes);
	for (size_t i = 0; i < ev->n_list; i++)
		n += (size_t)snprintf(text + n, size - n, ",%llu",
				      (unsigned long long)ev->list[i]);
	if (ev->kind == NP_TRACE_UNSUPPORTED)
		snprintf(text + n, size - n, " %s", ev->name);
}

/* All events except those of MPI_COMM_WORLD and MPI_COMM_SELF, or the error. */
static int read_all(const char *path, uint32_t rank, uint32_t size, char *text,
		    size_t len)
{
	struct np_err err = NP_ERR_INIT;
	struct np_trace_reader *r;
	struct np_trace_event ev;
	int rc = np_trace_open(path, rank, size, &r, &err);
	int n = 0;

	text[0] = '\0';
	if (rc) {
		snprintf(text, len, "%s", err.text);
		return rc;
	}
	while ((rc = np_trace_next(r, &ev)) == 1)
		if (ev.kind != NP_TRACE_COMM || n++ > 1)
			say(&ev, text, len);
	if (rc)
		snprintf(text, len, "%s", err.text);
	np_trace_close(r);
	return rc;
}

/*
 * Whether a trace of rank 0 of 2 has these events, or gives this error after
 * "!".
 */
static bool reads_as(const char *path, const char *says)
{
	char text[1024];
	int rc = read_all(path, 0, 2, text, sizeof(text));

	return *says == '!' ? rc < 0 && strstr(text, says + 1) :
			      !rc && !strcmp(text, says);
}

#define T1 1, 2 /* arbitrary gap and length */
/* clang-format off */
static const struct {
	const char *name;
	struct some_record r[6];
	size_t n;
	const char *says; /* events, or after "!" a part of the error */
} rows[] = {
	{ "nothing", { { 0 } }, 0, "" },
	{ "a send and a receive",
	  { { NP_TRACE_SEND, T1, 4, { 0, 1, 7, 100 } },
	    { NP_TRACE_RECV, T1, 4, { 0, 1, 0, 5 } },
	    { NP_TRACE_FINALIZE, T1, 0, { 0 } } }, 3,
	  "send >1:7:100; recv <1:0:5; end" },
	{ "a receive from anybody, and what it was",
	  { { NP_TRACE_IRECV, T1, 5, { 0, 0, 0, 0, 8 } },
	    { NP_TRACE_WAIT, T1, 4, { 5, 1, 9, 0 } } }, 2,
	  "irecv <1:9:8; wait 0" },
	{ "a receive from anybody that nobody finished",
	  { { NP_TRACE_IRECV, T1, 5, { 0, 0, 0, 4, 8 } } }, 1, "local" },
	{ "a receive that was cancelled",
	  { { NP_TRACE_IRECV, T1, 5, { 0, 0, 2, 4, 8 } },
	    { NP_TRACE_WAIT, T1, 2, { 6, 0 } } }, 2, "local; wait 0" },
	{ "numbers of requests come again",
	  { { NP_TRACE_ISEND, T1, 5, { 0, 0, 1, 3, 8 } },
	    { NP_TRACE_WAIT, T1, 2, { 4, 0 } },
	    { NP_TRACE_ISEND, T1, 5, { 0, 0, 1, 4, 8 } } }, 3,
	  "isend >1:3:8; wait 0; isend >1:4:8" },
	{ "a persistent request is what it starts",
	  { { NP_TRACE_SEND_INIT, T1, 5, { 0, 0, 1, 3, 8 } },
	    { NP_TRACE_RECV_INIT, T1, 5, { 1, 0, 0, 0, 8 } },
	    { NP_TRACE_START, T1, 3, { 2, 0, 1 } },
	    { NP_TRACE_WAIT, T1, 5, { 4, 9, 0, 6, 0 } },
	    { NP_TRACE_START, T1, 2, { 1, 0 } } }, 5,
	  "local; local; isend >1:3:8; irecv <0:6:8; wait 0 1; isend >1:3:8" },
	{ "starting nothing", { { NP_TRACE_START, T1, 1, { 0 } } }, 1,
	  "local" },
	{ "both at once",
	  { { NP_TRACE_SENDRECV, T1, 9, { 0, 1, 1, 2, 3, 1, 0, 5, 6 } },
	    { NP_TRACE_SENDRECV, T1, 6, { 0, 0, 1, 1, 5, 6 } },
	    { NP_TRACE_ISENDRECV, T1, 7, { 0, 0, 0, 1, 2, 6, 7 } } }, 3,
	  "sendrecv >1:2:3 <0:5:6; sendrecv <1:5:6; irecv <1:5:7" },
	{ "collectives, with a list and with a request",
	  { { NP_TRACE_COLLECTIVE, T1, 7, { NP_BCAST, 0, 0, 2, 64, 0, 0 } },
	    { NP_TRACE_COLLECTIVE, T1, 9,
	      { NP_ALLTOALLV, 1, 0, 0, 0, 0, 2, 5, 6 } },
	    { NP_TRACE_WAIT, T1, 2, { 4, 0 } } }, 3,
	  "coll bcast 64; coll alltoallv 0,5,6; wait 0" },
	{ "a communicator of the same ranks the other way round",
	  { { NP_TRACE_COMM, T1, 7, { 2, 1, 2, 1, 1, 1, 2 } },
	    { NP_TRACE_COMM_FREE, T1, 1, { 2 } },
	    { NP_TRACE_COMM, T1, 7, { 2, 0, 1, 1, 0, 2, 1 } } }, 3,
	  "comm; gone; comm" },
	{ "an unsupported call",
	  { { NP_TRACE_UNSUPPORTED, T1, 4, { 3, 'a', 27, 'c' } } }, 1,
	  "other a?c" },
	{ "nothing counts after the end",
	  { { NP_TRACE_FINALIZE, T1, 0, { 0 } }, { 99, T1, 0, { 0 } } }, 2,
	  "end" },
	{ "full", { { NP_TRACE_FULL, T1, 0, { 0 } } }, 1, "full" },
	{ "no such kind", { { 99, T1, 0, { 0 } } }, 1,
	  "!:3: rank 0: record of kind 99: expected one below" },
	{ "no such communicator",
	  { { NP_TRACE_SEND, T1, 4, { 2, 1, 7, 100 } } }, 1,
	  "!communicator 2: expected one below 2" },
	{ "one that was freed",
	  { { NP_TRACE_COMM_FREE, T1, 1, { 1 } },
	    { NP_TRACE_SEND, T1, 4, { 1, 0, 7, 100 } } }, 2,
	  "!communicator 1 was freed" },
	{ "no such rank", { { NP_TRACE_SEND, T1, 4, { 0, 2, 7, 100 } } }, 1,
	  "!rank 2: expected one below 2" },
	{ "a tag beyond", { { NP_TRACE_SEND, T1, 4, { 0, 1, 1ull << 31, 1 } } },
	  1, "!tag 2147483648: expected one below" },
	{ "bytes beyond", { { NP_TRACE_SEND, T1, 4, { 0, 1, 1, 1ull << 52 } } },
	  1, "!bytes 4503599627370496" },
	{ "a time beyond", { { NP_TRACE_LOCAL, 1ull << 52, 0, 0, { 0 } } }, 1,
	  "!ns 4503599627370496" },
	{ "times beyond in their sum",
	  { { NP_TRACE_LOCAL, 1ull << 51, 0, 0, { 0 } },
	    { NP_TRACE_LOCAL, 1ull << 51, 0, 0, { 0 } } }, 2,
	  "!a time beyond 2^52 ns" },
	{ "a request that is in use",
	  { { NP_TRACE_ISEND, T1, 5, { 0, 0, 1, 3, 8 } },
	    { NP_TRACE_ISEND, T1, 5, { 0, 0, 1, 3, 8 } } }, 2,
	  "!request 0 is in use" },
	{ "a request far beyond the others",
	  { { NP_TRACE_ISEND, T1, 5, { 7, 0, 1, 3, 8 } } }, 1,
	  "!request 7: expected one below 1" },
	{ "waiting for nothing", { { NP_TRACE_WAIT, T1, 2, { 4, 0 } } }, 1,
	  "!request 0 is not active" },
	{ "waiting for what is done",
	  { { NP_TRACE_ISEND, T1, 5, { 0, 0, 1, 3, 8 } },
	    { NP_TRACE_WAIT, T1, 3, { 4, 4, 0 } } }, 2,
	  "!request 0 is not active" },
	{ "starting what is no persistent request",
	  { { NP_TRACE_ISEND, T1, 5, { 0, 0, 1, 3, 8 } },
	    { NP_TRACE_START, T1, 2, { 1, 0 } } }, 2,
	  "!request 0: expected one to be started" },
	{ "a root that is none",
	  { { NP_TRACE_COLLECTIVE, T1, 7, { NP_BCAST, 0, 0, 3, 64, 0, 0 } } },
	  1, "!root 3: expected one below 3" },
	{ "no such collective",
	  { { NP_TRACE_COLLECTIVE, T1, 7, { 99, 0, 0, 1, 64, 0, 0 } } }, 1,
	  "!collective 99" },
	{ "a list that is too short",
	  { { NP_TRACE_COLLECTIVE, T1, 8,
	      { NP_ALLTOALLV, 0, 0, 0, 0, 0, 1, 5 } } }, 1,
	  "!1 sizes: expected 2" },
	{ "a communicator without this rank",
	  { { NP_TRACE_COMM, T1, 7, { 2, 0, 1, 1, 1, 2, 1 } } }, 1,
	  "!expected 1, this one in its place" },
	{ "a communicator with ranks that are none",
	  { { NP_TRACE_COMM, T1, 7, { 2, 0, 2, 1, 0, 4, 2 } } }, 1,
	  "!a rank of a communicator: expected 0 to 1" },
	{ "a communicator that is larger than all",
	  { { NP_TRACE_COMM, T1, 7, { 2, 0, 3, 1, 0, 2, 3 } } }, 1,
	  "!size 3: expected one below 3" },
	{ "a name that is too long",
	  { { NP_TRACE_UNSUPPORTED, T1, 1, { 500 } } }, 1,
	  "!length of a name 500" },
};
/* clang-format on */

T_TEST("records give events or an error")
{
	const char *dir = some_trace_dir();

	T_EACH(row, rows)
		T_ROW(row->name, reads_as(some_trace(dir, 0, 2, row->r, row->n),
					  row->says));
}

static const struct {
	const char *name, *text, *says;
} lines[] = {
	{ "the beginning and the end",
	  "# collprof\n\nMPI_Init:-:1:2:1000.0\n"
	  "MPI_Comm_rank:1001:0,0,2:5:1001\nMPI_Finalize:1005:-\n",
	  "local; local; end" },
	{ "blocking messages of Fortran",
	  "MPI_Send:1000.5:77:10:11,8,8:1:7:0,0,2:1001\n"
	  "MPI_Recv:1002:77:10:11,8,46909632806920:1:7:0,0,2:5:1003\n",
	  "send >1:7:80; recv <1:7:80" },
	{ "a wait, an array of Open MPI's requests and one of MPICH's",
	  "MPI_Irecv:1:9:1:1,4,4:-1:-1:55,0,2:100:2\n"
	  "MPI_Irecv:1:9:1:1,4,4:1:5:55,0,2:108:2\n"
	  "MPI_Isend:1:9:1:1,4,4:1:5:55,0,2:116:2\n"
	  "MPI_Waitall:3:3:100:0:4\n",
	  "irecv <-1:-1:4; irecv <1:5:4; isend >1:5:4; wait 0 1 2" },
	{ "an array of MPICH's requests, whose nobody and anybody differ",
	  "MPI_Irecv:1:9:1:1,4,4:-2:-1:1140850688,0,2:100:2\n"
	  "MPI_Isend:1:9:1:1,4,4:1:5:1140850688,0,2:104:2\n"
	  "MPI_Isend:1:9:1:1,4,4:-1:5:1140850688,0,2:108:2\n"
	  "MPI_Waitall:3:3:100:0:4\nMPI_Wait:5:100:0:6\n",
	  "irecv <-1:-1:4; isend >1:5:4; local; wait 0 1; wait" },
	{ "a test that is the last to name a request ended it",
	  "MPI_Irecv:1:9:1:1,4,4:1:5:55,0,2:100:2\n"
	  "MPI_Test:3:100:8:9:4\nMPI_Test:5:100:8:9:6\n"
	  "MPI_Irecv:7:9:1:1,4,4:1:6:55,0,2:100:8\n"
	  "MPI_Test:9:100:8:9:9\nMPI_Wait:9:100:9:9\n",
	  "irecv <1:5:4; wait; wait 0; irecv <1:6:4; wait; wait 0" },
	{ "persistent requests",
	  "MPI_Send_init:1:9:2:1,4,4:1:11:55,0,2:100:2\n"
	  "MPI_Recv_init:1:9:2:1,4,4:1:11:55,0,2:108:2\n"
	  "MPI_Startall:3:2:100:4\nMPI_Waitall:5:2:100:0:6\n"
	  "MPI_Start:7:100:8\nMPI_Wait:9:100:0:9\nMPI_Request_free:9:100:9\n",
	  "local; local; isend >1:11:8; irecv <1:11:8; wait 0 1; "
	  "isend >1:11:8; wait 0; local" },
	{ "a sendrecv, and one that replaces",
	  "MPI_Sendrecv:1:9:1:1,4,4:1:0:8:2:1,8,8:1:3:55,0,2:7:2\n"
	  "MPI_Sendrecv_replace:3:9:1:1,4,4:1:0:1:3:55,0,2:7:4\n",
	  "sendrecv >1:0:4 <1:3:16; sendrecv >1:0:4 <1:3:4" },
	{ "collectives",
	  "MPI_Barrier:1:55,0,2:2\nMPI_Bcast:3:9:12:13,1,1:1:55,0,2:4\n"
	  "MPI_Allreduce:5:8:9:2:11,8,8:3:55,0,2:6\n"
	  "MPI_Iallreduce:5:8:9:2:11,8,8:3:55,0,2:400:6\nMPI_Wait:7:400:0:8\n"
	  "MPI_Gather:9:1:3:1,4,4:2:5:1,8,8:0:55,0,2:9\n"
	  "MPI_Alltoallv:9:1:5:3,4:5:0,3:1,4,4:1:5:3,4:5:0,3:1,4,4:55,0,2:9\n"
	  "MPI_Reduce_scatter:9:1:2:5:3,4:1,4,4:3:55,0,2:9\n",
	  "coll barrier 0; coll bcast 12; coll allreduce 16; "
	  "coll allreduce 16; wait 0; coll gather 40; coll alltoallv 0,12,16; "
	  "coll reduce_scatter 0,12,16" },
	{ "unsupported calls", "MPI_Put:1:2:3:4\nMPI_Put:1:2:3:4\n",
	  "other Put; local" },
	{ "unsupported calls of later standards",
	  "MPI_Rput:1:2:3:4\n"
	  "MPI_Neighbor_alltoall:5:6:7\nMPI_Ibcast_init:8:9:10\n"
	  "MPI_Session_init:11:12:13\n",
	  "other Rput; other Neighbor_alltoall; other Ibcast_init; local" },
	{ "no call", "hello\n", "!:1: rank 0: \"hello\": expected MPI_NAME" },
	{ "no time", "MPI_Barrier:x:55,0,2:2\n", "!time \"x\"" },
	{ "no number of bytes", "MPI_Send:1:9:1:x:1:7:0,0,2:2\n",
	  "!datatype \"x\": expected id,size,extent" },
	{ "a rank with a plus sign", "MPI_Send:1:9:1:1,4,4:+1:7:0,0,2:2\n",
	  "!rank \"+1\": expected a number" },
	{ "an address in hexadecimal",
	  "MPI_Irecv:1:9:1:1,4,4:1:5:55,0,2:0x7ffe10:2\n",
	  "!request \"0x7ffe10\": expected a number" },
	{ "no communicator", "MPI_Send:1:9:1:1,4,4:1:7:0,2,2:2\n",
	  "!communicator \"0,2,2\": expected handle,rank,size" },
	{ "the first communicator has another rank, as samples of one run may",
	  "MPI_Barrier:3.0:99,1,2:4.0\n",
	  "!:1: rank 0: the file says rank 1 where 0 is expected" },
	{ "another rank behind MPI_COMM_SELF",
	  "MPI_Barrier:1:66,0,1:2\nMPI_Barrier:3:55,1,2:4\n",
	  "!:2: rank 0: the file says rank 1 where 0 is expected" },
	{ "lines as an old Mac ends them",
	  "MPI_Barrier:1:55,0,2:2\rMPI_Barrier:3:55,0,2:4\r",
	  "!:1: rank 0: a carriage return, expected one call on a line" },
	{ "lines as DOS ends them",
	  "MPI_Barrier:1:55,0,2:2\r\nMPI_Barrier:3:55,0,2:4\r\n",
	  "coll barrier 0; coll barrier 0" },
	{ "more ranks than files", "MPI_Barrier:1:55,0,3:2\n",
	  "!:1: rank 0: a communicator of 3 ranks, but files of only 2: the "
	  "others are missing" },
	{ "the ranks in another order",
	  "MPI_Barrier:1:55,0,2:2\nMPI_Barrier:3:66,1,2:4\n",
	  "!rank 1 of 2 in communicator 66: liballprof records" },
	{ "the ranks in another order, by a handle that had them in order",
	  "MPI_Barrier:1:55,0,2:2\nMPI_Send:3:9:1:1,4,4:2:7:55,1,2:4\n",
	  "!:2: rank 0: rank 1 of 2 in communicator 55: liballprof records" },
	{ "one rank, by a handle that had all",
	  "MPI_Barrier:1:55,0,2:2\nMPI_Barrier:3:55,0,1:4\n",
	  "coll barrier 0; coll barrier 0" },
	{ "no such rank", "MPI_Send:1:9:1:1,4,4:2:7:0,0,2:2\n",
	  "!rank 2: expected 0 to 1" },
	{ "a last line that was cut",
	  "MPI_Barrier:1:55,0,2:2\nMPI_Send:3:9:1:1,4", "coll barrier 0" },
	{ "a last line that was cut within its name",
	  "MPI_Barrier:1:55,0,2:2\nMPI_Se", "coll barrier 0" },
	{ "a last line that was cut, of a new communicator",
	  "MPI_Init:-:1:2:1.0\nMPI_Bcast:3:9:12:13,1,1:7:55,0,2:4", "local" },
	{ "a file of one line that was cut", "MPI_Send:3:9:1:1,4",
	  "!:1: rank 0: " },
	{ "two runs in a file",
	  "MPI_Init:-:1:2:1.0\nMPI_Finalize:5:-\nMPI_Init:-:1:2:9.0\n",
	  "!:3: rank 0: \"MPI_Init:-:1:2:9.0\" after MPI_Finalize(), expected "
	  "one run in a file" },
	{ "two runs in a file, of which the first was killed",
	  "MPI_Init:-:1:2:1.0\nMPI_Init:-:1:2:9.0\n",
	  "!:2: rank 0: a second MPI_Init(), expected one run in a file" },
	{ "a line that was cut", "MPI_Send:1:9:1:1,4,4\n",
	  "!time \"1,4,4\": expected a number" },
	{ "a call without all arguments", "MPI_Send:1:9:1:1,4,4:2\n",
	  "!MPI_Send: 3 arguments, expected more" },
	{ "more bytes than there are",
	  "MPI_Send:1:9:99999999999:1,99999999,4:1:7:0,0,2:2\n",
	  "!expected 0 to 2^52" },
	{ "a negative count", "MPI_Send:1:9:-1:1,4,4:1:7:0,0,2:2\n",
	  "!-1 times 4 bytes" },
	{ "a negative tag", "MPI_Send:1:9:1:1,4,4:1:-3:0,0,2:2\n", "!tag -3" },
	{ "requests without end", "MPI_Waitall:1:2000000000:8:9:2\n",
	  "!2000000000 requests: more than the whole file" },
	{ "counts that are too few",
	  "MPI_Reduce_scatter:9:1:2:5:3:1,4,4:3:55,0,2:9\n",
	  "!counts: expected 2 separated by commas" },
};

T_TEST("lines of liballprof give events or an error")
{
	const char *dir = some_trace_dir();

	T_EACH(r, lines)
		T_ROW(r->name,
		      reads_as(some_lines(dir, "t-0.txt", r->text), r->says));
}

T_TEST("text is recognised after comments and empty lines")
{
	const char *dir = some_trace_dir();

	T_CHECK(np_trace_is(
		some_lines(dir, "a", "\n# x\r\n\r\nMPI_Init:-:1\n")));
	T_CHECK(!np_trace_is(some_lines(dir, "b", "\n# x\nnum_ranks 1\n")));
}

T_TEST("times are those between and within calls")
{
	const struct some_record r[] = {
		{ NP_TRACE_LOCAL, 10, 20, 0, { 0 } },
		{ NP_TRACE_POLL, 2000, 5, 0, { 0 } },
		{ NP_TRACE_POLL, 100, 5, 0, { 0 } },
		{ NP_TRACE_POLL, 3000, 5, 0, { 0 } },
	};
	const uint64_t gap[] = { 10, 2000, 3000 }, length[] = { 20, 110, 5 };
	const char *path = some_trace(some_trace_dir(), 0, 1, r, 4);
	struct np_trace_reader *t;
	struct np_trace_event ev;

	T_CHECK(!np_trace_open(path, 0, 1, &t, NULL));
	T_CHECK(np_trace_next(t, &ev) == 1);
	T_CHECK(np_trace_next(t, &ev) == 1);
	for (size_t i = 0; i < 3; i++) {
		T_CHECK(np_trace_next(t, &ev) == 1);
		T_CHECK(ev.gap_ns == gap[i] && ev.length_ns == length[i]);
	}
	T_CHECK(np_trace_next(t, &ev) == 0);
	T_CHECK(!np_trace_is_complete(t));
	np_trace_close(t);
}

/* A trace truncated anywhere is a shorter trace. */
T_TEST("a trace truncated anywhere is a shorter one")
{
	const struct some_record r[] = {
		{ NP_TRACE_ISEND, 300, 200, 5, { 0, 0, 0, 300, 8000 } },
		{ NP_TRACE_WAIT, 300, 200, 2, { 4, 0 } },
		{ NP_TRACE_COLLECTIVE,
		  1,
		  2,
		  7,
		  { NP_BCAST, 0, 0, 1, 64, 0, 0 } },
	};
	const char *path = some_trace(some_trace_dir(), 0, 1, r, 3);
	char text[256], whole[256];
	struct stat st;

	T_CHECK(!stat(path, &st));
	T_CHECK(!read_all(path, 0, 1, whole, sizeof(whole)));
	for (off_t n = st.st_size - 1; n >= NP_TRACE_HEADER; n--) {
		T_CHECK(!truncate(path, n));
		T_CHECK(!read_all(path, 0, 1, text, sizeof(text)));
		T_CHECK(!strncmp(text, whole, strlen(text)));
	}
	T_CHECK(!truncate(path, NP_TRACE_HEADER - 1));
	T_CHECK(read_all(path, 0, 1, text, sizeof(text)) < 0);
}

/* Begins the trace of the only rank in a directory of its own. */
static void begin(struct np_trace_out *o, size_t size, char path[512])
{
	const struct np_trace_header h = { .size = 1 };
	const char *dir = some_trace_dir();
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	T_CHECK(!np_trace_out_open(o, fd, &h, size, 0));
	close(fd);
	snprintf(path, 512, "%s/rank.0", dir);
}

/* Writes records until the trace is closed, at most n. */
static unsigned put_many(struct np_trace_out *o, unsigned n)
{
	unsigned i = 0;

	for (; o->map && i < n; i++)
		np_trace_out_put(o, NP_TRACE_LOCAL, i, i + 1, NULL, 0);
	return i;
}

/* Threads end calls at the same time, and record them one after the other. */
T_TEST("polls are recorded in any order")
{
	struct np_trace_out o;
	char path[512], text[256];

	begin(&o, 1 << 20, path);
	np_trace_out_poll(&o, 106, 110);
	np_trace_out_poll(&o, 100, 105);
	np_trace_out_put(&o, NP_TRACE_LOCAL, 200, 201, NULL, 0);
	np_trace_out_poll(&o, 150, 160);
	np_trace_out_close(&o);
	T_CHECK(!read_all(path, 0, 1, text, sizeof(text)));
}

T_TEST("a trace keeps to its size")
{
	struct np_trace_out o;
	char path[512], text[256];
	struct stat st;
	unsigned n;

	begin(&o, 3 << 20, path);
	n = put_many(&o, 4000000);
	np_trace_out_close(&o);
	T_CHECK(n > 900000 && n < 4000000);
	T_CHECK(!stat(path, &st) && st.st_size <= 3 << 20 &&
		st.st_size > (3 << 20) - 16384);
	T_CHECK(!truncate(path, st.st_size));
	T_CHECK(!read_all(path, 0, 1, text, sizeof(text)));
	T_CHECK(strstr(text, "local; local") == text);
}

static void on_own_bus(int sig)
{
	(void)sig;
}

T_TEST("a truncated file ends the trace, not the program")
{
	struct sigaction own = { .sa_handler = on_own_bus }, now;
	struct np_trace_out o;
	char path[512];

	sigaction(SIGBUS, &own, NULL);
	begin(&o, 8 << 20, path);
	np_trace_guard(&o);
	T_CHECK(put_many(&o, 10) == 10 && !truncate(path, 0));
	/* The record that meets the hole is the last one. */
	T_CHECK(put_many(&o, 10) == 2 && !o.map && o.fd < 0);
	sigaction(SIGBUS, NULL, &now);
	T_CHECK(now.sa_handler == on_own_bus);
	sigaction(SIGBUS, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

T_TEST("a limit on file size ends the trace, not the program")
{
	struct np_trace_header h = { .size = 1 };
	const char *dir = some_trace_dir();
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	struct rlimit was, less;
	struct np_trace_out o;
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/rank.0", dir);
	getrlimit(RLIMIT_FSIZE, &was);
	less = was;
	less.rlim_cur = 1000;
	T_CHECK(!setrlimit(RLIMIT_FSIZE, &less));
	T_CHECK(np_trace_out_open(&o, fd, &h, 8 << 20, 0) == -EFBIG);
	T_CHECK(stat(path, &st) && errno == ENOENT);
	less.rlim_cur = 100000;
	T_CHECK(!setrlimit(RLIMIT_FSIZE, &less));
	T_CHECK(!np_trace_out_open(&o, fd, &h, 8 << 20, 0));
	T_CHECK(put_many(&o, 4000000) > 20000 && !o.map);
	T_CHECK(!stat(path, &st) && st.st_size <= 100000);
	/* The limit was lowered in the meantime. */
	less.rlim_cur = 2 << 20;
	T_CHECK(!setrlimit(RLIMIT_FSIZE, &less));
	T_CHECK(!np_trace_out_open(&o, fd, &h, 8 << 20, 0));
	less.rlim_cur = 4096;
	T_CHECK(!setrlimit(RLIMIT_FSIZE, &less));
	T_CHECK(put_many(&o, 4000000) > 20000 && !o.map);
	T_CHECK(!setrlimit(RLIMIT_FSIZE, &was));
	close(fd);
}

/* Opens a file with so many bytes in place of a descriptor. */
static void replace(int fd, const char *path, off_t bytes)
{
	int other = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	T_CHECK(other >= 0 && dup2(other, fd) == fd && !close(other));
	T_CHECK(!ftruncate(fd, bytes));
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : st.st_size;
}

T_TEST("a file that got the number of the trace's is left alone")
{
	char path[512], other[sizeof(path) + 8];
	struct np_trace_out o;
	int number;

	begin(&o, 8 << 20, path);
	snprintf(other, sizeof(other), "%s.other", path);
	number = o.fd;
	replace(number, other, 100);
	T_CHECK(put_many(&o, 4000000) > 200000 && !o.map);
	T_ROW("not written to", size_of(other) == 100);
	T_ROW("nor closed", !close(number));
	begin(&o, 8 << 20, path);
	T_CHECK(put_many(&o, 10) == 10);
	number = o.fd;
	replace(number, other, 10000);
	np_trace_out_close(&o);
	T_ROW("not truncated", size_of(other) == 10000);
	T_ROW("nor closed", !close(number));
}

T_TEST("at the end the file gets its length, and records may still follow")
{
	struct np_trace_out o;
	char path[512];

	begin(&o, 8 << 20, path);
	np_trace_guard(&o);
	T_CHECK(put_many(&o, 10) == 10);
	np_trace_out_end(&o);
	T_CHECK(size_of(path) > NP_TRACE_HEADER && size_of(path) < 1000);
	T_CHECK(put_many(&o, 10000) > 0);
	np_trace_out_close(&o);
}

T_TEST("the trace of another rank is rejected")
{
	const char *path = some_trace(some_trace_dir(), 0, 2, NULL, 0);
	char text[256];

	T_CHECK(read_all(path, 1, 2, text, sizeof(text)) < 0);
	T_CHECK(strstr(text, "rank 0 of 2: expected rank 1 of 2"));
	T_CHECK(read_all(path, 0, 3, text, sizeof(text)) < 0);
	T_CHECK(read_all("/nowhere", 0, 3, text, sizeof(text)) == -2);
	T_CHECK(read_all("/dev/null", 0, 3, text, sizeof(text)) < 0);
}

/*
 * The writer of a trace may have put a link there for another user who reads
 * it.
 */
T_TEST("a symbolic link is not followed")
{
	const char *path = some_trace(some_trace_dir(), 0, 1, NULL, 0);
	char link[4096], text[256];

	snprintf(link, sizeof(link), "%s.link", path);
	T_CHECK(!symlink(path, link));
	T_CHECK(read_all(link, 0, 1, text, sizeof(text)) < 0);
	T_CHECK(strstr(text, "a symbolic link, which is not followed"));
}
