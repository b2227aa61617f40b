/*
 * The rendezvous of agents and collector: its text, the socket at which the
 * collector will listen, and the start of an agent on a node of the step.
 */
#include "np_rendezvous.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "np_detach.h"
#include "np_option.h"
#include "np_rng.h"

/* ---- the rendezvous as text ---- */

#define DELAY_PER_NODE_SEC 0.02	 /* added to the delay for each node ... */
#define MAX_ADDED_DELAY_SEC 30.0 /* ... but no more than this */
#define MAX_DELAY_SEC 7200.0	 /* longest delay that is accepted */

int np_rendezvous_add(const struct np_rendezvous_entry *entry, char *text,
		      size_t size, struct np_err *err)
{
	size_t used = strlen(text);
	int len;

	if (!entry->path[0] || strpbrk(entry->path, " ;\t\n"))
		return np_errf(err, -EINVAL,
			       "LibexecDir: %s: expected a path without spaces "
			       "and ';'",
			       entry->path);
	len = snprintf(text + used, size - used, "%s%u %s %s %.3f %u %u %s",
		       used ? ";" : "", entry->port, entry->agent_cookie,
		       entry->collector_cookie, entry->after_sec,
		       entry->max_nodes, entry->seed, entry->path);
	if (len < 0 || (size_t)len >= size - used) {
		text[used] = '\0';
		return np_errf(err, -EINVAL,
			       "too many components of a heterogeneous job");
	}
	return 0;
}

static bool is_cookie(const char *text)
{
	return strlen(text) == NP_RENDEZVOUS_COOKIE - 1 &&
	       strspn(text, "0123456789abcdef") == NP_RENDEZVOUS_COOKIE - 1;
}

static int parse_entry(const char *text, struct np_rendezvous_entry *entry)
{
	unsigned port;
	int end = 0;

	if (sscanf(text, "%u %32s %32s %lf %u %u %255[^; ]%n", &port,
		   entry->agent_cookie, entry->collector_cookie,
		   &entry->after_sec, &entry->max_nodes, &entry->seed,
		   entry->path, &end) != 7 ||
	    (text[end] && text[end] != ';'))
		return -EINVAL;
	if (!port || port > UINT16_MAX || !is_cookie(entry->agent_cookie) ||
	    !is_cookie(entry->collector_cookie) || entry->path[0] != '/' ||
	    !(entry->after_sec >= 0 && entry->after_sec <= MAX_DELAY_SEC) ||
	    entry->max_nodes < 2 || entry->max_nodes > NP_RENDEZVOUS_MAX_NODES)
		return -EINVAL;
	entry->port = (uint16_t)port;
	return 0;
}

int np_rendezvous_find(const char *text, size_t component,
		       struct np_rendezvous_entry *out)
{
	struct np_rendezvous_entry entry = { 0 };

	for (; component; component--) {
		text = strchr(text, ';');
		if (!text)
			return -ENOENT;
		text++;
	}
	if (parse_entry(text, &entry))
		return -EINVAL;
	*out = entry;
	return 0;
}

bool np_rendezvous_takes_part(const struct np_rendezvous_entry *entry,
			      uint32_t node, uint32_t n_nodes)
{
	uint64_t n_groups = entry->max_nodes / 2, group, from, to, first;
	uint64_t state;

	if (n_nodes <= entry->max_nodes)
		return node < n_nodes;
	/*
	 * Divide the nodes of the step into groups of two or more neighbours,
	 * and select one pair of neighbours in each group at random.
	 */
	group = (uint64_t)node * n_groups / n_nodes;
	from = (group * n_nodes + n_groups - 1) / n_groups;
	to = ((group + 1) * n_nodes + n_groups - 1) / n_groups;
	state = ((uint64_t)entry->seed << 32) + group;
	first = from + np_rng_next(&state) % (to - from - 1);
	return node < n_nodes && (node == first || node == first + 1);
}

uint32_t np_rendezvous_count(const struct np_rendezvous_entry *entry,
			     uint32_t n_nodes)
{
	return n_nodes <= entry->max_nodes ? n_nodes : entry->max_nodes / 2 * 2;
}

double np_rendezvous_after_sec(const struct np_rendezvous_entry *entry,
			       uint32_t n_nodes)
{
	return entry->after_sec +
	       fmin(DELAY_PER_NODE_SEC * n_nodes, MAX_ADDED_DELAY_SEC);
}

/* ---- the rendezvous socket ---- */

#define BACKLOG NP_RENDEZVOUS_MAX_NODES

static int bind_to(int fd, int family, uint16_t port)
{
	struct sockaddr_in6 ipv6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = IN6ADDR_ANY_INIT,
	};
	struct sockaddr_in ipv4 = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};

	return family == AF_INET6 ?
		       bind(fd, (struct sockaddr *)&ipv6, sizeof(ipv6)) :
		       bind(fd, (struct sockaddr *)&ipv4, sizeof(ipv4));
}

static int open_socket(int family)
{
	const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
	int fd = np_fd_above(socket(family, type, 0)), off = 0;

	if (fd >= 0 && family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	return fd;
}

/*
 * Bind to a free port of the range. Where the search starts depends on the
 * process, because many sruns may start at once on one host.
 */
static int bind_in_range(int fd, int family, const uint16_t range[2])
{
	unsigned n = range ? range[1] - range[0] + 1u : 1;
	unsigned first = (unsigned)getpid() % n;

	for (unsigned i = 0; i < n; i++) {
		unsigned port = range ? range[0] + (first + i) % n : 0;

		if (!bind_to(fd, family, (uint16_t)port))
			return 0;
		if (errno != EADDRINUSE)
			break;
	}
	return -1;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &len))
		return 0;
	return ntohs(address.ss_family == AF_INET6 ?
			     ((struct sockaddr_in6 *)&address)->sin6_port :
			     ((struct sockaddr_in *)&address)->sin_port);
}

/*
 * Open a TCP socket that listens on all addresses, by IPv6 if the host has it.
 * It does not block, closes on exec, and has number 10 or above.
 */
static int listen_in_range(const uint16_t range[2], uint16_t *port,
			   struct np_err *err)
{
	static const int families[] = { AF_INET6, AF_INET };
	int error = EAFNOSUPPORT;

	if (range && (!range[0] || range[1] < range[0]))
		range = NULL;
	for (size_t i = 0; i < NP_ARRAY_SIZE(families); i++) {
		int fd = open_socket(families[i]);

		if (fd >= 0 && !bind_in_range(fd, families[i], range) &&
		    !listen(fd, BACKLOG) && (*port = port_of(fd)))
			return fd;
		error = errno;
		if (fd >= 0)
			close(fd);
	}
	return np_errf(err, -error, "no port to listen on%s: %s",
		       range ? " within SrunPortRange of slurm.conf" : "",
		       strerror(error));
}

/* Make new cookies and a new seed. */
static int make_cookies(struct np_rendezvous_entry *entry, struct np_err *err)
{
	/* Each cookie takes half of them. */
	unsigned char bytes[NP_RENDEZVOUS_COOKIE - 1];
	size_t half = sizeof(bytes) / 2;

	if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) !=
		    (ssize_t)sizeof(bytes) ||
	    getrandom(&entry->seed, sizeof(entry->seed), GRND_NONBLOCK) !=
		    (ssize_t)sizeof(entry->seed))
		return np_errf(err, -EAGAIN, "no random numbers: %s",
			       strerror(errno));
	for (size_t i = 0; i < half; i++) {
		sprintf(entry->agent_cookie + 2 * i, "%02x", bytes[i]);
		sprintf(entry->collector_cookie + 2 * i, "%02x",
			bytes[half + i]);
	}
	return 0;
}

int np_rendezvous_open(const struct np_conf *conf, const uint16_t range[2],
		       char *text, size_t size, struct np_err *err)
{
	struct np_rendezvous_entry entry = {
		.after_sec = conf->probe_after_sec,
		.max_nodes = conf->probe_nodes,
	};
	int fd;

	if (snprintf(entry.path, sizeof(entry.path), "%s/netprof-agent",
		     conf->libexecdir) >= (int)sizeof(entry.path))
		return np_errf(err, -ENAMETOOLONG,
			       "LibexecDir=%.40s...: expected a shorter path",
			       conf->libexecdir);
	if (make_cookies(&entry, err))
		return -EAGAIN;
	fd = listen_in_range(range, &entry.port, err);
	if (fd < 0)
		return fd;
	if (np_rendezvous_add(&entry, text, size, err)) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

/* ---- starting an agent ---- */

/*
 * The vfork() of the address sanitizer remembers only one caller, but here
 * fork() is nested in it.
 */
#ifdef __SANITIZE_ADDRESS__
#define vfork fork
#endif

static void make_command(const struct np_agent_params *params,
			 struct np_args *args)
{
	*args = (struct np_args){ .n = 0 };
	np_args_add(args, "%s", params->rendezvous->path);
	np_args_add(args, "--host=%s", params->host);
	np_args_add(args, "--port=%u", params->rendezvous->port);
	np_args_add(args, "--node=%u", params->node);
	np_args_add(args, "--after=%.3f", params->sleep_sec);
	np_args_add(args, "--task=%ld", (long)params->task);
	np_args_add(args, "--parent=%ld", (long)params->parent);
}

void np_agent_cookies(const struct np_rendezvous_entry *entry,
		      char text[NP_AGENT_COOKIES])
{
	snprintf(text, NP_AGENT_COOKIES, NP_COOKIES_ENV "=%s %s",
		 entry->agent_cookie, entry->collector_cookie);
}

/*
 * The child of the task is made by vfork(): the task is a copy of slurmstepd,
 * and to copy its page tables twice more would take longer than everything
 * else. The agent is made by fork(): after vfork() the task would wait until
 * the agent is loaded, without end if its file system does not answer.
 */
int np_agent_start(const struct np_agent_params *params, char *const env[])
{
	static const int keep[] = { -1, -1, -1 };
	/* Everybody on the host can read arguments, but not the environment. */
	char cookies[NP_AGENT_COOKIES];
	const char *extra[] = { cookies, NULL };
	int status = 0, rc = 0;
	struct np_args args;
	char **agent_env;
	pid_t pid;

	np_agent_cookies(params->rendezvous, cookies);
	make_command(params, &args);
	agent_env = np_helper_env(env, extra);
	if (!agent_env || args.rc) {
		rc = -ENOMEM;
		goto out;
	}
	pid = vfork();
	if (pid == 0)
		np_exec_detached(keep, 3, args.argv, agent_env, params->pid);
	if (pid < 0)
		rc = -errno;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFEXITED(status))
		rc = -WEXITSTATUS(status);
out:
	np_args_free(&args);
	free(agent_env);
	return rc;
}
