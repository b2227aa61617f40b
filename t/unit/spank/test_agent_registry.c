#include "some_registry.h"

#include <sys/socket.h>

/* Serve until what has come ends with these words. */
static const char *receive(int fd, const char *end)
{
	static char text[1 << 20];
	size_t len = 0, n = strlen(end);

	for (int i = 0; i < PATIENCE; i++) {
		ssize_t got;

		serve();
		while ((got = recv(fd, text + len, sizeof(text) - 1 - len, 0)) >
		       0)
			len += (size_t)got;
		text[len] = '\0';
		if (got == 0 || (len >= n && !strcmp(text + len - n, end)))
			break;
		usleep(2000);
	}
	return text;
}

#define RECEIVES(fd, text) T_ROW(text, !strcmp(receive(fd, text), text))

/* ---- members ---- */

T_FIXTURE(registry_begin, registry_end);

T_TEST("an agent waits where it said it is")
{
	struct pollfd p[NP_REGISTRY_FDS];
	int fd;

	fd = connect_client();
	for (const char *c = G " level 41 node-41.site\n"; *c; c++) {
		const char piece[] = { *c, '\0' };

		send_text(fd, piece);
		serve();
	}
	UNTIL(np_registry_size(w.p) == 1);
	T_CHECK(context(0)->kind == NP_AGENT_LEVEL);
	T_CHECK(context(0)->node == 41);
	T_CHECK(!strcmp(context(0)->name, "node-41.site"));
	T_CHECK(context(0)->waiting && !context(0)->dispatched &&
		!context(0)->gone);
	T_CHECK(np_registry_count(w.p, NP_AGENT_LEVEL).waiting == 1);
	T_CHECK(probes().waiting == 0);
	T_CHECK(np_registry_poll(w.p, p) == 2 && p[1].events == POLLIN);
	leave(fd);
	UNTIL(context(0)->gone);
	T_CHECK(!context(0)->waiting && np_registry_size(w.p) == 1);
	T_CHECK(np_registry_count(w.p, NP_AGENT_LEVEL).waiting == 0);
	T_CHECK(np_registry_count(w.p, NP_AGENT_LEVEL).gone == 0);
	/* not called */
}

T_TEST("agents are dispatched or released")
{
	int fd[4];

	for (int i = 0; i < 3; i++)
		fd[i] = connect_agent("probe");
	fd[3] = connect_agent("level");
	T_CHECK(np_registry_dispatch(w.p, (size_t[]){ 2, 0 }, 2,
				     "A=b /bin/x --y") == 0);
	RECEIVES(fd[2], H " A=b /bin/x --y --join=0/2\n");
	RECEIVES(fd[0], H " A=b /bin/x --y --join=1/2\n");
	T_CHECK(context(2)->rank == 0 && context(0)->rank == 1);
	T_CHECK(context(2)->dispatched && !context(2)->waiting);
	T_CHECK(probes().waiting == 1 && probes().dispatched == 2);
	np_registry_release(w.p, NP_AGENT_PROBE);
	UNTIL(is_shut(fd[1]));
	T_CHECK(context(1)->gone && !context(1)->waiting);
	T_CHECK(!is_shut(fd[0]) && !is_shut(fd[2]) && !is_shut(fd[3]));
	T_CHECK(probes().waiting == 0 && probes().gone == 0);
	np_registry_set_leaf(w.p, 3, "rack0.ib", NULL);
	T_CHECK(np_registry_dispatch(w.p, (size_t[]){ 3 }, 1, "/bin/z") == 0);
	RECEIVES(fd[3], H " NETPROF_LEAF=rack0.ib /bin/z --join=0/1\n");
	T_CHECK(context(3)->rank == 0); /* among those of its kind */
}

/* A node with two rails: one agent, and a copy of it. */
T_TEST("an agent is copied for each further rail, over its adapter")
{
	int fd[2];

	for (int i = 0; i < 2; i++) {
		fd[i] = connect_client();
		send_text(fd[i], G " probe 4 n4\n");
		UNTIL(np_registry_size(w.p) == (size_t)i + 1);
		if (!i) {
			np_registry_request_copies(w.p, 0, 2);
			RECEIVES(fd[0], H " more\n" H " more\n");
		}
	}
	T_CHECK(context(0)->copies_requested && !context(1)->copies_requested);
	T_CHECK(context(0)->waiting && !context(0)->dispatched);
	np_registry_set_leaf(w.p, 0, "a", "ib0");
	np_registry_set_leaf(w.p, 1, "b", "ib1");
	T_CHECK(np_registry_dispatch(w.p, (size_t[]){ 1 }, 1, "/bin/x") == 0);
	T_CHECK(np_registry_dispatch(w.p, (size_t[]){ 0 }, 1, "/bin/x") == 0);
	RECEIVES(fd[1], H " NETPROF_LEAF=b UCX_NET_DEVICES=ib1 /bin/x"
			  " --join=0/1\n");
	RECEIVES(fd[0], H " NETPROF_LEAF=a UCX_NET_DEVICES=ib0 /bin/x"
			  " --join=0/1\n");
	T_CHECK(!context(1)->other_rail && context(0)->other_rail);
}

/* ---- groups ---- */

/* n probes that were dispatched, as groups of so many. */
static void connect_groups(int fd[], size_t n, size_t of)
{
	for (size_t i = 0; i < n; i++)
		fd[i] = connect_agent("probe");
	for (size_t i = 0; i < n; i += of) {
		size_t member[8];

		for (size_t k = 0; k < of; k++)
			member[k] = i + k;
		T_CHECK(np_registry_dispatch(w.p, member, of, "x") == 0);
	}
	for (size_t i = 0; i < n; i++)
		T_CHECK(strstr(receive(fd[i], "\n"), "--join="));
}

#define PLACES "place 0 aa\nplace 1 bb\nplace 2 cc\ngo\n"

/* What each says before a fence; '^' between two pieces. */
static const struct {
	const char *name, *says[3], *want;
} fences[] = {
	{ "line by line",
	  { "put aa\n^fence\n", "put bb\n^fence\n", "put cc\n^fence\n" },
	  PLACES },
	{ "all at once",
	  { "put aa\nfence\n", "put bb\nfence\n", "put cc\nfence\n" },
	  PLACES },
	{ "in pieces",
	  { "p^ut^ a^a\n^f^en^ce^\n", "put^ bb\nfe^nce\n",
	    "put cc^\nfence^\n" },
	  PLACES },
	{ "who publishes twice is known by the second",
	  { "put 99\nput aa\nfence\n", "put bb\nfence\n", "put cc\nfence\n" },
	  PLACES },
	{ "one has nothing to publish",
	  { "put aa\nfence\n", "fence\n", "put cc\nfence\n" },
	  "place 0 aa\nplace 2 cc\ngo\n" },
	{ "no process publishes anything",
	  { "fence\n", "fence\n", "fence\n" },
	  "go\n" },
	{ "reports in between do not matter",
	  { "np1 x\nput aa\nnp1 x\nfence\n", "put bb\nfence\nnp1 x\n",
	    "put cc\nfence\n" },
	  PLACES },
};

static void say_pieces(int fd, const char *pieces)
{
	for (; *pieces; pieces++) {
		const char one[] = { *pieces, '\0' };

		if (*pieces == '^')
			serve();
		else
			send_text(fd, one);
	}
	serve();
}

T_TEST("a group is wired up, however its words come")
{
	T_EACH(r, fences) {
		int fd[3];

		registry_begin();
		connect_groups(fd, 3, 3);
		for (size_t k = 0; k < 2; k++)
			say_pieces(fd[k], r->says[k]);
		for (size_t k = 0; k < 2; k++) /* the last is awaited */
			T_ROW(r->name, recv(fd[k], (char[1]){ 0 }, 1, 0) < 0);
		say_pieces(fd[2], r->says[2]);
		for (size_t k = 0; k < 3; k++)
			T_ROW(r->name,
			      !strcmp(receive(fd[k], "go\n"), r->want));
		/* The next fence has no more to say. */
		for (size_t k = 0; k < 3; k++)
			send_text(fd[k], "fence\n");
		for (size_t k = 0; k < 3; k++)
			RECEIVES(fd[k], "go\n");
	}
}

T_TEST("two groups do not mix")
{
	int fd[4];

	connect_groups(fd, 4, 2);
	send_text(fd[0], "put a0\nfence\n");
	send_text(fd[2], "put b0\nfence\n");
	send_text(fd[3], "put b1\nfence\n");
	RECEIVES(fd[3], "place 0 b0\nplace 1 b1\ngo\n");
	RECEIVES(fd[2], "place 0 b0\nplace 1 b1\ngo\n");
	T_CHECK(recv(fd[0], (char[1]){ 0 }, 1, 0) < 0);
	leave(fd[2]); /* and one of these goes */
	UNTIL(context(2)->gone);
	send_text(fd[1], "put a1\nfence\n");
	RECEIVES(fd[0], "place 0 a0\nplace 1 a1\ngo\n");
	RECEIVES(fd[1], "place 0 a0\nplace 1 a1\ngo\n");
	T_CHECK(!context(3)->gone);
}

/* The longest places of a group go through, each as it was said. */
T_TEST("the longest places go through")
{
	static char line[2 * NP_WIRE_MAX_BYTES + 16];
	const char *received;
	int fd[4];

	connect_groups(fd, 4, 4);
	memcpy(line, "put ", 4);
	for (int i = 0; i < 4; i++) {
		memset(line + 4, 'a' + i, 2 * NP_WIRE_MAX_BYTES);
		strcpy(line + 4 + 2 * NP_WIRE_MAX_BYTES, "\nfence\n");
		send_text(fd[i], line);
		serve();
	}
	for (int i = 0; i < 4; i++) {
		received = receive(fd[i], "go\n");
		T_CHECK(strlen(received) ==
			4 * (strlen("place 0 \n") + 2 * NP_WIRE_MAX_BYTES) + 3);
		T_CHECK(strspn(strstr(received, "place 2 ") + 8, "c") ==
			2 * NP_WIRE_MAX_BYTES);
	}
}

T_TEST("reports are those of members that were called")
{
	int fd[3];

	for (int i = 0; i < 3; i++)
		fd[i] = connect_agent("probe");
	T_CHECK(np_registry_dispatch(w.p, (size_t[]){ 2, 1 }, 2, "x") == 0);
	send_text(fd[0], "np1 not asked\n");
	send_text(fd[1], "np1 a\nnp1 b\nerror: no device\nnp1 ");
	UNTIL(context(1)->last_line[0]);
	T_CHECK(!strcmp(context(1)->last_line, "error: no device"));
	send_text(fd[1], "c\n");
	send_text(fd[2], "np1 d\n");
	UNTIL(strstr(w.reports, "1:np1 c|") && strstr(w.reports, "2:"));
	T_CHECK(strstr(w.reports, "1:np1 a|1:np1 b|"));
	T_CHECK(strstr(w.reports, "2:np1 d|"));
	T_CHECK(!strstr(w.reports, "0:") && !context(2)->last_line[0]);
}

/* ---- how they go ---- */

static const struct {
	const char *name, *says;
	int dispatched, stays;
} manners[] = {
	{ "a member that speaks before it is called", "fence\n", 0, 0 },
	{ "a word in between", "hello\n", 1, 1 },
	{ "a fence is its due", "fence\n", 1, 1 },
	{ "a line too long", NULL, 1, 0 },
	{ "a line too long before it is called", NULL, 0, 0 },
};

T_TEST("who does not keep to its part is shut out")
{
	char *long_line = malloc(NP_PEER_LINE + 3);

	memset(long_line, 'a', NP_PEER_LINE + 1);
	strcpy(long_line + NP_PEER_LINE + 1, "\n");
	T_EACH(r, manners) {
		int fd[2];

		registry_begin();
		fd[0] = connect_agent("probe");
		fd[1] = connect_agent("probe");
		if (r->dispatched)
			np_registry_dispatch(w.p, (size_t[]){ 0, 1 }, 2, "x");
		send_text(fd[0], r->says ? r->says : long_line);
		if (!r->stays)
			UNTIL(context(0)->gone);
		serve();
		T_ROW(r->name, context(0)->gone != r->stays);
		T_ROW(r->name, !context(1)->gone);
		T_ROW(r->name,
		      probes().gone == (size_t)(r->dispatched && !r->stays));
	}
	free(long_line);
}

static const struct {
	const char *name, *says, *mpi;
} mpis[] = {
	{ "one", "mpi Open MPI 4.1.4\n", "Open MPI 4.1.4" },
	{ "no MPI", "mpi none\n", "none" },
	{ "that is no longer known", "mpi none\nmpi \n", "" },
	{ "one that was started later", "mpi none\nmpi MPICH 4.0.2\n",
	  "MPICH 4.0.2" },
	{ "what is not to reach a terminal", "mpi MPICH\033[2J\t4\n",
	  "MPICH?[2J?4" },
	{ "a long one is cut",
	  "mpi MPICH 4.0.2 01234567890123456789012345678"
	  "9012345678901234567890123456789\n",
	  "MPICH 4.0.2 012345678901234567890123456789012345678901234567890" },
};

T_TEST("members say which MPI the tasks have")
{
	T_EACH(r, mpis) {
		int fd;

		registry_begin();
		fd = connect_agent("probe");
		np_registry_dispatch(w.p, (size_t[]){ 0 }, 1, "x");
		send_text(fd, r->says);
		send_text(fd, "and a word\n");
		UNTIL(!strcmp(context(0)->last_line, "and a word"));
		T_ROW(r->name, !strcmp(context(0)->mpi, r->mpi));
	}
}

/* Before it is called and after; and as it comes, with control characters. */
T_TEST("members leave for want of memory, and say so")
{
	const char *why = "its cgroup uses 63 of 64 MiB of memory";
	int fd[3];

	fd[0] = connect_agent("probe");
	fd[1] = connect_agent("probe");
	np_registry_dispatch(w.p, (size_t[]){ 1 }, 1, "x");
	send_text(fd[0], "short its cgroup uses 63 of 64 MiB of memory\n");
	send_text(fd[1], "short its cgroup uses 63 of 64 MiB of memory\n");
	UNTIL(context(0)->gone && context(1)->gone);
	T_CHECK(!strcmp(context(0)->memory, why));
	T_CHECK(!strcmp(context(1)->memory, why));
	fd[2] = connect_client();
	send_text(fd[2], G " probe 7 n7 all\tof it\nput a=b\n");
	UNTIL(np_registry_size(w.p) == 3 && context(2)->gone);
	T_CHECK(!strcmp(context(2)->memory, "all?of it"));
	T_CHECK(probes().waiting == 0 && probes().gone == 1);
}

T_TEST("sent home, members still say their last")
{
	int fd[3], level;

	connect_groups(fd, 2, 2);
	fd[2] = connect_agent("probe");
	level = connect_agent("level");
	np_registry_end(w.p, NP_AGENT_PROBE);
	UNTIL(is_shut(fd[0]) && is_shut(fd[1]) && is_shut(fd[2]));
	T_CHECK(probes().gone == 0); /* they were dispatched, and may report */
	T_CHECK(context(2)->gone);   /* nobody had called this one */
	send_text(fd[0], "np1 a\nnp1 bye\n");
	send_text(fd[1], "np1 bye\n");
	leave(fd[0]);
	leave(fd[1]);
	UNTIL(probes().gone == 2);
	T_CHECK(strstr(w.reports, "0:np1 a|0:np1 bye|"));
	T_CHECK(strstr(w.reports, "1:np1 bye|"));
	T_CHECK(!is_shut(level) && context(3)->waiting);
	np_registry_end(w.p, NP_AGENT_PROBE); /* twice is no harm */
	np_registry_end(w.p, NP_AGENT_LEVEL);
	UNTIL(is_shut(level));
}

/* One that vanished before it was dispatched; the others can still be released. */
T_TEST("a member that vanished as it was called")
{
	int fd[2];

	fd[0] = connect_agent("probe");
	fd[1] = connect_agent("probe");
	leave(fd[0]);
	T_CHECK(np_registry_dispatch(w.p, (size_t[]){ 0, 1 }, 2, "x") == 0);
	UNTIL(context(0)->gone);
	T_CHECK(probes().dispatched == 2 && probes().gone == 1);
	RECEIVES(fd[1], H " x --join=1/2\n");
	leave(fd[1]);
	UNTIL(probes().gone == 2);
}

T_TEST("when the collector ends, all agents do")
{
	int fd[3];

	connect_groups(fd, 2, 2);
	fd[2] = connect_client();
	send_text(fd[0], "put aa\npu");
	send_text(fd[2], "half");
	serve();
	np_registry_free(w.p);
	w.p = NULL;
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < PATIENCE && !is_shut(fd[i]); k++)
			usleep(2000);
		T_CHECK(is_shut(fd[i]));
		leave(fd[i]);
	}
	np_registry_free(NULL);
}

static size_t waiting(size_t member[])
{
	size_t n = 0;

	for (size_t i = 0; i < np_registry_size(w.p); i++)
		if (context(i)->waiting)
			member[n++] = i;
	return n;
}

/* Levels on two nodes, one after another, and a probe that stays. */
T_TEST("levels come and go as often as they like")
{
	int probe;

	probe = connect_agent("probe");
	T_CHECK(np_registry_dispatch(w.p, (size_t[]){ 0 }, 1, "x") == 0);
	for (int run = 0; run < NP_REGISTRY_MAX; run++) {
		size_t member[NP_REGISTRY_MAX], was;
		int fd[2];

		for (int i = 0; i < 2; i++) {
			fd[i] = connect_client();
			send_text(fd[i],
				  i ? G " level 1 n1\n" : G " level 2 n2\n");
		}
		UNTIL(waiting(member) == 2);
		was = np_registry_count(w.p, NP_AGENT_LEVEL).gone;
		T_CHECK(!np_registry_dispatch(w.p, member, 2, "x"));
		leave(fd[0]);
		leave(fd[1]);
		UNTIL(context(member[0])->gone && context(member[1])->gone);
		T_CHECK(np_registry_count(w.p, NP_AGENT_LEVEL).gone == was + 2);
	}
	T_CHECK(np_registry_size(w.p) <= NP_REGISTRY_MAX);
	send_text(probe, "np1 d\n");
	UNTIL(strstr(w.reports, "0:np1 d|"));
}
