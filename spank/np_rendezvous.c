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

#include "np_option.h"
#include "np_detach.h"

/* ---- the rendezvous as text ---- */

#define AFTER_PER_NODE_SEC 0.02	 /* added to the delay for each node ... */
#define AFTER_MAX_MORE_SEC 30.0	 /* ... but no more than this */
#define MAX_AFTER_SEC 7200.0	 /* longest delay that is accepted */

int np_rendezvous_add(const struct np_rendezvous_entry *v, char *text,
		      size_t size, struct np_err *err)
{
	size_t used = strlen(text);
	int len;

	if (!v->path[0] || strpbrk(v->path, " ;\t\n"))
		return np_errf(err, -EINVAL, "LibexecDir: %s: expected a path "
			       "without spaces and ';'", v->path);
	len = snprintf(text + used, size - used, "%s%u %s %s %.3f %u %u %s",
		       used ? ";" : "", v->port, v->agent_cookie,
		       v->collector_cookie, v->after_sec, v->max_nodes, v->seed, v->path);
	if (len < 0 || (size_t)len >= size - used) {
		text[used] = '\0';
		return np_errf(err, -EINVAL, "too many components of a "
			       "heterogeneous job");
	}
	return 0;
}

static bool is_cookie(const char *t)
{
	return strlen(t) == NP_RENDEZVOUS_COOKIE - 1 &&
	       strspn(t, "0123456789abcdef") == NP_RENDEZVOUS_COOKIE - 1;
}

static int parse(const char *one, struct np_rendezvous_entry *v)
{
	unsigned port;
	int end = 0;

	if (sscanf(one, "%u %32s %32s %lf %u %u %255[^; ]%n", &port,
		   v->agent_cookie, v->collector_cookie, &v->after_sec,
		   &v->max_nodes, &v->seed, v->path, &end) != 7 || (one[end] && one[end] != ';'))
		return -EINVAL;
	if (!port || port > UINT16_MAX || !is_cookie(v->agent_cookie) ||
	    !is_cookie(v->collector_cookie) || v->path[0] != '/' ||
	    !(v->after_sec >= 0 && v->after_sec <= MAX_AFTER_SEC) ||
	    v->max_nodes < 2 || v->max_nodes > NP_RENDEZVOUS_MAX_NODES)
		return -EINVAL;
	v->port = (uint16_t)port;
	return 0;
}

int np_rendezvous_find(const char *text, size_t component,
		       struct np_rendezvous_entry *out)
{
	struct np_rendezvous_entry v = { 0 };

	for (; component; component--) {
		text = strchr(text, ';');
		if (!text)
			return -ENOENT;
		text++;
	}
	if (parse(text, &v))
		return -EINVAL;
	*out = v;
	return 0;
}

/* Maps 64 bits to 64 well mixed bits (SplitMix64, Steele et al. 2014). */
static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15ULL;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

bool np_rendezvous_takes_part(const struct np_rendezvous_entry *v,
			      uint32_t node, uint32_t n_nodes)
{
	uint64_t n_groups = v->max_nodes / 2, group, from, to, at;

	if (n_nodes <= v->max_nodes)
		return node < n_nodes;
	/*
	 * Divide the nodes of the step into groups of two or more neighbours,
	 * and take one pair at a random place in each.
	 */
	group = (uint64_t)node * n_groups / n_nodes;
	from = (group * n_nodes + n_groups - 1) / n_groups;
	to = ((group + 1) * n_nodes + n_groups - 1) / n_groups;
	at = from + mix(((uint64_t)v->seed << 32) + group) % (to - from - 1);
	return node < n_nodes && (node == at || node == at + 1);
}

uint32_t np_rendezvous_count(const struct np_rendezvous_entry *v,
			     uint32_t n_nodes)
{
	return n_nodes <= v->max_nodes ? n_nodes : v->max_nodes / 2 * 2;
}

double np_rendezvous_after_sec(const struct np_rendezvous_entry *v,
			       uint32_t n_nodes)
{
	return v->after_sec +
	       fmin(AFTER_PER_NODE_SEC * n_nodes, AFTER_MAX_MORE_SEC);
}

/* ---- the rendezvous socket ---- */

#define BACKLOG NP_RENDEZVOUS_MAX_NODES

static int bind_to(int fd, int family, uint16_t port)
{
	struct sockaddr_in6 six = {
		.sin6_family = AF_INET6, .sin6_port = htons(port),
		.sin6_addr = IN6ADDR_ANY_INIT,
	};
	struct sockaddr_in four = {
		.sin_family = AF_INET, .sin_port = htons(port),
	};

	return family == AF_INET6 ?
		bind(fd, (struct sockaddr *)&six, sizeof(six)) :
		bind(fd, (struct sockaddr *)&four, sizeof(four));
}

static int open_socket(int family)
{
	int fd = np_fd_above(socket(family, SOCK_STREAM | SOCK_NONBLOCK |
				    SOCK_CLOEXEC, 0)), no = 0;

	if (fd >= 0 && family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	return fd;
}

/*
 * The first port to be tried depends on the process, because many sruns may
 * start at once on one host.
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
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	if (getsockname(fd, (struct sockaddr *)&a, &len))
		return 0;
	return ntohs(a.ss_family == AF_INET6 ?
		     ((struct sockaddr_in6 *)&a)->sin6_port :
		     ((struct sockaddr_in *)&a)->sin_port);
}

/*
 * A listening TCP socket on all addresses, IPv6 where the host has it, that
 * does not block, closes on exec and is numbered 10 or more.
 */
static int listen_in_range(const uint16_t range[2], uint16_t *port,
			   struct np_err *err)
{
	static const int families[] = { AF_INET6, AF_INET };
	int rc = EAFNOSUPPORT;

	if (range && (!range[0] || range[1] < range[0]))
		range = NULL;
	for (size_t i = 0; i < NP_ARRAY_SIZE(families); i++) {
		int fd = open_socket(families[i]);

		if (fd >= 0 && !bind_in_range(fd, families[i], range) &&
		    !listen(fd, BACKLOG) && (*port = port_of(fd)))
			return fd;
		rc = errno;
		if (fd >= 0)
			close(fd);
	}
	return np_errf(err, -rc, "no port to listen on%s: %s", range ?
		       " within SrunPortRange of slurm.conf" : "",
		       strerror(rc));
}

/* New cookies and a new seed. */
static int make_cookies(struct np_rendezvous_entry *v, struct np_err *err)
{
	/* Half of them for each cookie. */
	unsigned char bytes[NP_RENDEZVOUS_COOKIE - 1];
	size_t half = sizeof(bytes) / 2;

	if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(bytes) ||
	    getrandom(&v->seed, sizeof(v->seed), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(v->seed))
		return np_errf(err, -EAGAIN, "no random numbers: %s",
			       strerror(errno));
	for (size_t i = 0; i < half; i++) {
		sprintf(v->agent_cookie + 2 * i, "%02x", bytes[i]);
		sprintf(v->collector_cookie + 2 * i, "%02x", bytes[half + i]);
	}
	return 0;
}

int np_rendezvous_open(const struct np_conf *conf, const uint16_t range[2],
		       char *text, size_t size, struct np_err *err)
{
	struct np_rendezvous_entry v = {
		.after_sec = conf->probe_after_sec,
		.max_nodes = conf->probe_nodes,
	};
	int fd;

	if (snprintf(v.path, sizeof(v.path), "%s/netprof-agent",
		     conf->libexecdir) >= (int)sizeof(v.path))
		return np_errf(err, -ENAMETOOLONG,
			       "LibexecDir=%.40s...: "
			       "expected a shorter path",
			       conf->libexecdir);
	if (make_cookies(&v, err))
		return -EAGAIN;
	fd = listen_in_range(range, &v.port, err);
	if (fd < 0)
		return fd;
	if (np_rendezvous_add(&v, text, size, err)) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

/* ---- starting an agent ---- */

/* The sanitizer's vfork() remembers one caller; here two calls are nested. */
#ifdef __SANITIZE_ADDRESS__
#define vfork fork
#endif

static void make_command(const struct np_agent_params *j, struct np_args *a)
{
	*a = (struct np_args){ .n = 0 };
	np_args_add(a, "%s", j->rendezvous->path);
	np_args_add(a, "--host=%s", j->host);
	np_args_add(a, "--port=%u", j->rendezvous->port);
	np_args_add(a, "--node=%u", j->node);
	np_args_add(a, "--after=%.3f", j->after_sec);
	np_args_add(a, "--task=%ld", (long)j->task);
	np_args_add(a, "--parent=%ld", (long)j->parent);
}

/*
 * Runs in a child of the task; its child, the agent, is adopted by init.
 * Both use vfork(), because the task is a copy of slurmstepd, and copying its
 * page tables twice more would take longer than everything else.
 */
static void start_detached(char *const argv[], char *const env[], pid_t *agent)
{
	static const int keep[] = { -1, -1, -1 };
	pid_t pid = vfork();

	if (pid == 0) {
		if (!np_detach(keep, 3))
			execve(argv[0], argv, env);
		_exit(127);
	}
	if (pid > 0 && agent)
		*agent = pid;
	_exit(pid < 0 ? errno : 0);
}

void np_agent_cookies(const struct np_rendezvous_entry *v,
		      char text[NP_AGENT_COOKIES])
{
	snprintf(text, NP_AGENT_COOKIES, NP_COOKIES_ENV "=%s %s",
		 v->agent_cookie, v->collector_cookie);
}

int np_agent_start(const struct np_agent_params *j, char *const env[])
{
	/* Arguments can be read by everybody on the host. */
	char cookies[NP_AGENT_COOKIES];
	const char *more[] = { cookies, NULL };
	int status = 0, rc = 0;
	struct np_args args;
	char **agent_env;
	pid_t pid;

	np_agent_cookies(j->rendezvous, cookies);
	make_command(j, &args);
	agent_env = np_helper_env(env, more);
	if (!agent_env || args.rc) {
		rc = -ENOMEM;
		goto out;
	}
	pid = vfork();
	if (pid == 0)
		start_detached(args.argv, agent_env, j->pid);
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
