/*
 * What others can make netprof write and do at most: the history of a day in
 * which 20 jobs a second end on a leaf switch of 256 jobs, and the collector's
 * port while connections say nothing, or send empty lines without end.
 *
 *   bench_limits
 *
 * One line each. Exit 1 if a goal is missed: a day of more than 64 MiB, an agent
 * that is kept out for more than 2 s by silent connections, or more than 5 % of
 * a core for the empty lines.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_big.h"
#include "np_agents.h"
#include "np_conf.h"
#include "np_rendezvous.h"
#include "np_state.h"

/* ---- history ---- */

#define JOBS 30000 /* as many as end in 25 minutes */
#define NEIGHBOURS 255

static off_t removed_bytes;

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *at)
{
	(void)at;
	if (type == FTW_F)
		removed_bytes += st->st_size;
	return remove(path);
}

/* Append the jobs. Returns how many were written. */
static unsigned write_jobs(const char *store,
			   struct np_accounting_record *record, unsigned users)
{
	struct np_accounting_day *day;
	struct np_err err = NP_ERR_INIT;
	unsigned n = 0;

	bench_must(np_accounting_day_new(&day), &err);
	for (uint32_t i = 0; i < JOBS; i++) {
		int rc;

		record->id = 1000000 + i;
		record->uid = 1000 + i % users;
		rc = np_accounting_append(store, day, record, 0644, &err);
		if (rc != -ENOBUFS)
			bench_must(rc, &err);
		n += !rc;
	}
	np_accounting_day_free(day);
	return n;
}

static int history(unsigned users)
{
	struct np_accounting_neighbour neighbours[NEIGHBOURS];
	struct np_accounting_record record = {
		.task = NP_ACCOUNTING_NO_TASK,
		.app = (char *)"lammps",
		.partition = (char *)"main",
		.leaves = (char *)"leaf17",
		.n_nodes = 1,
		.submit = 1.7e9,
		.start = 1.7e9 + 10,
		.end = 1.7e9 + 45.5,
		.slowdown = 0.31,
		.neighbour = neighbours,
		.n_neighbours = NEIGHBOURS,
	};
	char store[] = "/tmp/bench_limits.XXXXXX";
	struct bench_span begin, took;
	unsigned n;

	for (uint32_t i = 0; i < NEIGHBOURS; i++)
		neighbours[i] = (struct np_accounting_neighbour){
			.id = 2000000 + i,
			.app = record.app,
			.leaves = record.leaves,
			.overlap_sec = 35.5,
			.slowdown = 0.05,
		};
	if (!mkdtemp(store))
		exit(1);
	begin = bench_now();
	n = write_jobs(store, &record, users);
	took = bench_since(begin);
	removed_bytes = 0;
	nftw(store, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	printf("history, jobs of %u user%s with %u neighbours each: %.1f MiB "
	       "for a day, with %u of the first %u jobs; %.0f us CPU a job\n",
	       users, users == 1 ? "" : "s", NEIGHBOURS,
	       (double)removed_bytes / (1 << 20), n, JOBS,
	       took.cpu_sec / JOBS * 1e6);
	return removed_bytes > NP_ACCOUNTING_MAX_DAY;
}

/* ---- the collector's port ---- */

#define COOKIE "00112233445566778899aabbccddeeff"
#define SILENT (NP_REGISTRY_PENDING + 8)
#define FLOODERS 4
#define FLOOD_SEC 10
#define POLL_MSEC 1000 /* the collector's longest sleep */
#define LONGEST_SEC 30

static struct np_registry *listen_for_agents(struct sockaddr_in *to)
{
	struct np_rendezvous_entry entry;
	struct np_err err = NP_ERR_INIT;
	char text[NP_RENDEZVOUS_TEXT] = "";
	struct np_conf conf;
	int fd;

	np_conf_init(&conf);
	fd = np_rendezvous_open(&conf, NULL, text, sizeof(text), &err);
	bench_must(fd < 0 ? fd : np_rendezvous_find(text, 0, &entry), &err);
	strcpy(entry.agent_cookie, COOKIE);
	*to = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(entry.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	return np_registry_new(fd, &entry);
}

static int connect_to(const struct sockaddr_in *to, int flags)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)to, sizeof(*to)) &&
	    errno != EINPROGRESS) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Send a line by connections of a process of its own: once, or without end. */
static pid_t send_lines(const struct sockaddr_in *to, const char *line,
			bool again)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	do {
		int fd = connect_to(to, 0);

		if (fd < 0)
			continue;
		send(fd, line, strlen(line), MSG_NOSIGNAL);
		if (again)
			close(fd);
		else
			pause();
	} while (again);
	_exit(1);
}

static void end_process(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void ignore_report(size_t agent, char *line, void *arg)
{
	(void)agent;
	(void)line;
	(void)arg;
}

/*
 * Serve for so long, as the collector does; until_agent: or until an agent has
 * authenticated. Returns how long that took.
 */
static double serve(struct np_registry *registry, double most_sec,
		    bool until_agent)
{
	struct bench_span begin = bench_now();
	double sec;

	while ((sec = bench_since(begin).wall_sec) < most_sec &&
	       !(until_agent && np_registry_size(registry))) {
		struct pollfd p[NP_REGISTRY_FDS];
		size_t n = np_registry_poll(registry, p);

		poll(p, n, (int)fmin(POLL_MSEC, ceil((most_sec - sec) * 1e3)));
		np_registry_serve(registry, bench_now().wall_sec, ignore_report,
				  NULL);
	}
	return sec;
}

static int silent_connections(void)
{
	struct sockaddr_in to;
	struct np_registry *registry = listen_for_agents(&to);
	int fd[SILENT];
	double sec;
	pid_t agent;

	for (size_t i = 0; i < SILENT; i++)
		fd[i] = connect_to(&to, SOCK_NONBLOCK);
	serve(registry, 1, false);
	agent = send_lines(&to, COOKIE " probe 7 n7\n", false);
	sec = serve(registry, LONGEST_SEC, true);
	printf("port, %u silent connections: an agent is admitted after "
	       "%.2f s\n",
	       SILENT, sec);
	end_process(agent);
	for (size_t i = 0; i < SILENT; i++)
		close(fd[i]);
	np_registry_free(registry);
	return sec > 2;
}

static int empty_lines(void)
{
	struct sockaddr_in to;
	struct np_registry *registry = listen_for_agents(&to);
	struct bench_span begin, took;
	pid_t flooder[FLOODERS], agent;
	double sec;

	for (size_t i = 0; i < FLOODERS; i++)
		flooder[i] = send_lines(&to, "\n", true);
	begin = bench_now();
	serve(registry, FLOOD_SEC, false);
	took = bench_since(begin);
	agent = send_lines(&to, COOKIE " probe 7 n7\n", false);
	sec = serve(registry, LONGEST_SEC, true);
	printf("port, empty lines of %u processes: %.2f %% of a core; an agent "
	       "is admitted after %.2f s\n",
	       FLOODERS, 100 * took.cpu_sec / took.wall_sec, sec);
	end_process(agent);
	for (size_t i = 0; i < FLOODERS; i++)
		end_process(flooder[i]);
	np_registry_free(registry);
	return took.cpu_sec > .05 * took.wall_sec;
}

int main(void)
{
	int missed;

	setlinebuf(stdout);
	missed = history(1) | history(10);
	return missed | silent_connections() | empty_lines();
}
