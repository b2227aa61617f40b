#include "np_agents.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "np_array.h"
#include "np_report.h"
#include "np_rng.h"
#include "np_text.h"

extern char **environ;

/* ---- one connection ---- */

#define READS_A_TURN 16
#define READ_SIZE 4096

void np_peer_open(struct np_peer *c, int fd)
{
	c->fd = fd;
	c->out = NULL;
	c->in_len = c->out_len = c->out_size = 0;
}

void np_peer_close(struct np_peer *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	free(c->out);
	c->out = NULL;
	c->in_len = c->out_len = c->out_size = 0;
}

static void take_lines(struct np_peer *c, np_peer_line_f *f, void *arg)
{
	char *start = c->in, *end = c->in + c->in_len, *nl;

	while (c->fd >= 0 && (nl = memchr(start, '\n', (size_t)(end - start)))) {
		*nl = '\0';
		f(start, arg);
		start = nl + 1;
	}
	if (c->fd < 0)
		return;
	c->in_len = (size_t)(end - start);
	memmove(c->in, start, c->in_len);
}

void np_peer_read(struct np_peer *c, np_peer_line_f *f, void *arg)
{
	for (int i = 0; i < READS_A_TURN && c->fd >= 0; i++) {
		size_t left = sizeof(c->in) - c->in_len;
		size_t room = left < READ_SIZE ? left : READ_SIZE;
		ssize_t got = room ? recv(c->fd, c->in + c->in_len, room,
					  MSG_DONTWAIT) : 0;

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			np_peer_close(c);
			return;
		}
		c->in_len += (size_t)got;
		take_lines(c, f, arg);
	}
}

void np_peer_flush(struct np_peer *c)
{
	ssize_t put;

	if (c->fd < 0 || !c->out_len)
		return;
	put = send(c->fd, c->out, c->out_len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (put < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (put < 0) { /* no longer reads, but may still send */
		c->out_len = 0;
		return;
	}
	c->out_len -= (size_t)put;
	memmove(c->out, c->out + put, c->out_len);
}

void np_peer_say(struct np_peer *c, const char *text)
{
	size_t len = strlen(text);

	if (c->fd < 0)
		return;
	if (c->out_len + len > NP_PEER_OUT ||
	    np_array_room(&c->out, &c->out_size, c->out_len + len, 1)) {
		np_peer_close(c);
		return;
	}
	memcpy(c->out + c->out_len, text, len);
	c->out_len += len;
	np_peer_flush(c);
}

/* ---- the registry of agents ---- */

#define HANDSHAKE_SEC 5.0
#define PAUSE_SEC 1.0 /* pause when there are no descriptors left */
#define ACCEPT_TURN 64 /* connections accepted before agents are read again */
#define SILENT_SEC 0.2 /* after which a silent connection may be replaced */
/*
 * Most refusals per second, so that a flood of connections does not use up a
 * processor of the job.  Further connections wait.
 */
#define MAX_REFUSALS 100

/* Agents that were dispatched together. */
struct group {
	size_t n;
	size_t *agent; /* agent of each rank */
	struct np_wire_host *wire;
};

struct agent {
	struct np_peer link;
	struct np_agent_info info;
	struct group *group;
	uint32_t rank;
	const char *leaf; /* borrowed; NULL or "": unknown */
	const char *nic;  /* borrowed; NULL: no rails */
	bool unused; /* slot may be reused */
};

struct pending {
	struct np_peer link;
	double since_sec;
};

struct np_registry {
	int fd;
	struct np_rendezvous_entry rendezvous;
	int full; /* why a connection was not accepted, such as EMFILE; 0 */
	double pause_until_sec; /* accept no connection before; 0: accept */
	unsigned refusals;     /* connections refused ... */
	double counted_since_sec;
	struct pending pending[NP_REGISTRY_PENDING];
	struct agent *agent[NP_REGISTRY_MAX];
	size_t n;
	struct group *group[NP_REGISTRY_MAX];
	size_t n_groups;
	size_t n_authenticated; /* connections that ever authenticated */
	uint32_t n_dispatched[NP_N_AGENT_KINDS];
};

static const char *const kind_name[NP_N_AGENT_KINDS] = {
	[NP_AGENT_PROBE] = "probe",
	[NP_AGENT_LEVEL] = "level",
};

struct np_registry *np_registry_new(int fd, const struct np_rendezvous_entry *v)
{
	struct np_registry *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->fd = fd;
	p->rendezvous = *v;
	for (size_t i = 0; i < NP_REGISTRY_PENDING; i++)
		p->pending[i].link.fd = -1;
	return p;
}

static void group_free(struct group *g)
{
	if (!g)
		return;
	free(g->agent);
	np_wire_host_free(g->wire);
	free(g);
}

void np_registry_free(struct np_registry *p)
{
	if (!p)
		return;
	close(p->fd);
	for (size_t i = 0; i < NP_REGISTRY_PENDING; i++)
		np_peer_close(&p->pending[i].link);
	for (size_t i = 0; i < p->n; i++) {
		np_peer_close(&p->agent[i]->link);
		free(p->agent[i]);
	}
	for (size_t i = 0; i < p->n_groups; i++)
		group_free(p->group[i]);
	free(p);
}

static struct pollfd to_poll(const struct np_peer *c)
{
	return (struct pollfd){
		.fd = c->fd, .events = c->out_len ? POLLIN | POLLOUT : POLLIN,
	};
}

size_t np_registry_poll(const struct np_registry *p, struct pollfd out[])
{
	size_t n = 1;

	for (size_t i = 0; i < NP_REGISTRY_PENDING; i++)
		if (p->pending[i].link.fd >= 0)
			out[n++] = to_poll(&p->pending[i].link);
	/*
	 * Connections that cannot be accepted must not wake the caller all the
	 * time.
	 */
	out[0] = (struct pollfd){
		.fd = p->pause_until_sec ? -1 : p->fd,
		.events = POLLIN,
	};
	for (size_t i = 0; i < p->n; i++)
		if (p->agent[i]->link.fd >= 0)
			out[n++] = to_poll(&p->agent[i]->link);
	return n;
}

/* Unauthenticated connections. */

/* Stop accepting; connections wait in the listen backlog. */
static void pause_accepting(struct np_registry *p, int why, double now_sec)
{
	if (why != EMFILE && why != ENFILE && why != ENOBUFS && why != ENOMEM)
		return;
	p->full = why;
	p->pause_until_sec = now_sec + PAUSE_SEC;
}

struct handshake {
	struct np_registry *p;
	struct pending *s;
};

/*
 * Levels start again and again: slots of a group all of whose agents have gone
 * may be reused.
 */
static void free_group(struct np_registry *p, size_t i)
{
	struct group *g = p->group[i];

	for (size_t k = 0; k < g->n; k++) {
		struct agent *a = p->agent[g->agent[k]];

		np_peer_close(&a->link);
		a->group = NULL;
		a->unused = true;
		a->info = (struct np_agent_info){ .kind = a->info.kind,
						   .gone = true };
	}
	group_free(g);
	p->group[i] = p->group[--p->n_groups];
}

static void free_slots(struct np_registry *p)
{
	for (size_t i = p->n_groups; i-- > 0;) {
		const struct group *g = p->group[i];
		bool gone = true;

		for (size_t k = 0; k < g->n; k++) {
			const struct np_agent_info *f =
				&p->agent[g->agent[k]]->info;

			gone &= f->kind == NP_AGENT_LEVEL && f->gone;
		}
		if (gone)
			free_group(p, i);
	}
}

/* NULL: there is no such kind, or no slot. */
static struct agent *new_agent(struct np_registry *p, const char *kind,
				 uint32_t node, const char *name)
{
	struct agent *a = NULL;
	size_t slot = 0;
	int k = 0;

	while (k < NP_N_AGENT_KINDS && strcmp(kind_name[k], kind))
		k++;
	if (p->n == NP_REGISTRY_MAX)
		free_slots(p);
	while (slot < p->n && !p->agent[slot]->unused)
		slot++;
	if (k < NP_N_AGENT_KINDS && slot < NP_REGISTRY_MAX)
		a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->info.kind = (enum np_agent_kind)k;
	a->info.node = node;
	a->info.here = true;
	snprintf(a->info.name, sizeof(a->info.name), "%s", name);
	if (slot < p->n)
		free(p->agent[slot]);
	else
		p->n++;
	p->agent[slot] = a;
	return a;
}

static void note_short_memory(struct agent *a, const char *why)
{
	snprintf(a->info.memory, sizeof(a->info.memory), "%s", why);
	np_text_make_plain(a->info.memory);
	np_peer_close(&a->link);
}

/*
 * The handshake is "COOKIE KIND NODE NAME", and why the agent leaves at once,
 * if it does.
 */
static void on_handshake(char *line, void *arg)
{
	struct handshake *g = arg;
	char cookie[NP_RENDEZVOUS_COOKIE], kind[16], name[NP_REGISTRY_TEXT];
	struct agent *a = NULL;
	uint32_t node;
	int end = 0;

	if (sscanf(line, "%32s %15s %u %255s %n", cookie, kind, &node, name,
		   &end) == 4 && !strcmp(cookie, g->p->rendezvous.agent_cookie))
		a = new_agent(g->p, kind, node, name);
	if (a) {
		g->p->n_authenticated++;
		np_peer_open(&a->link, g->s->link.fd);
		g->s->link.fd = -1; /* now the agent's */
		if (line[end])
			note_short_memory(a, line + end);
	}
	np_peer_close(&g->s->link);
}

/* Counts connections that did not authenticate. */
static void refuse(struct np_registry *p, struct pending *s)
{
	np_peer_close(&s->link);
	p->refusals++;
}

/* The slot becomes free when it has sent the cookie, or anything else. */
static void read_pending(struct np_registry *p, struct pending *s)
{
	struct handshake g = { p, s };
	size_t n_before = p->n_authenticated;

	np_peer_read(&s->link, on_handshake, &g);
	if (s->link.fd < 0 && n_before == p->n_authenticated)
		p->refusals++;
}

/*
 * A slot for one more connection: a free one, or one whose connection has been
 * silent for long enough. NULL: there is none.
 */
static struct pending *find_slot(struct np_registry *p, double now_sec)
{
	struct pending *oldest = &p->pending[0];

	for (size_t i = 0; i < NP_REGISTRY_PENDING; i++) {
		struct pending *s = &p->pending[i];

		if (s->link.fd < 0)
			return s;
		if (s->since_sec < oldest->since_sec)
			oldest = s;
	}
	return now_sec - oldest->since_sec < SILENT_SEC ? NULL : oldest;
}

/* Counts refusals second by second.  True: there were too many in this one. */
static bool is_flooded(struct np_registry *p, double now_sec)
{
	if (now_sec - p->counted_since_sec >= 1) {
		p->counted_since_sec = now_sec;
		p->refusals = 0;
	}
	return p->refusals >= MAX_REFUSALS;
}

/*
 * An agent sends the cookie as soon as it is connected, so it is accepted at
 * once, however many silent connections there are.
 */
static void accept_all(struct np_registry *p, double now_sec)
{
	if (now_sec < p->pause_until_sec)
		return;
	p->pause_until_sec = 0;
	for (int i = 0; i < ACCEPT_TURN; i++) {
		struct pending *s =
			is_flooded(p, now_sec) ? NULL : find_slot(p, now_sec);
		int fd;

		if (!s) {
			p->pause_until_sec = now_sec + SILENT_SEC;
			return;
		}
		fd = accept4(p->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			pause_accepting(p, errno, now_sec);
			return;
		}
		if (s->link.fd >= 0)
			refuse(p, s);
		np_peer_open(&s->link, fd);
		s->since_sec = now_sec;
		read_pending(p, s);
	}
}

static void read_all_pending(struct np_registry *p, double now_sec)
{
	for (size_t i = 0; i < NP_REGISTRY_PENDING; i++) {
		struct pending *s = &p->pending[i];

		if (s->link.fd >= 0)
			read_pending(p, s);
		if (s->link.fd >= 0 && now_sec - s->since_sec > HANDSHAKE_SEC)
			refuse(p, s);
	}
	accept_all(p, now_sec);
}

/* Agents, and their groups. */

static void send_all(struct np_registry *p, const struct group *g,
		     const char *text)
{
	for (size_t i = 0; i < g->n; i++)
		np_peer_say(&p->agent[g->agent[i]]->link, text);
}

/* Exchange of addresses within a group.  False: the line makes no sense. */
static bool exchange_addresses(struct np_registry *p, struct agent *a,
			       const char *line)
{
	struct group *g = a->group;
	char *text;
	int rc = np_wire_host_take(g->wire, &a->rank, line, &text);

	if (text)
		send_all(p, g, text);
	free(text);
	return !rc;
}

struct context {
	struct np_registry *p;
	size_t agent;
	np_registry_line_f *f;
	void *arg;
};

static void on_line(char *line, void *arg)
{
	struct context *s = arg;
	struct agent *a = s->p->agent[s->agent];

	if (!strncmp(line, "np1 ", 4)) {
		if (a->group)
			s->f(s->agent, line, s->arg);
	} else if (!strncmp(line, "short ", 6)) {
		note_short_memory(a, line + 6);
	} else if (!a->group) {
		np_peer_close(&a->link); /* it was not dispatched */
	} else if (!strcmp(line, "fence") || !strncmp(line, "put ", 4)) {
		if (!exchange_addresses(s->p, a, line))
			np_peer_close(&a->link);
	} else if (!strncmp(line, "mpi ", 4)) {
		snprintf(a->info.mpi, sizeof(a->info.mpi), "%s", line + 4);
		np_text_make_plain(a->info.mpi);
	} else {
		snprintf(a->info.last, sizeof(a->info.last), "%s", line);
	}
}

void np_registry_serve(struct np_registry *p, double now_sec,
		       np_registry_line_f *f, void *arg)
{
	read_all_pending(p, now_sec);
	for (size_t i = 0; i < p->n; i++) {
		struct context s = { p, i, f, arg };
		struct agent *a = p->agent[i];

		np_peer_flush(&a->link);
		if (a->link.fd >= 0)
			np_peer_read(&a->link, on_line, &s);
		a->info.gone = a->link.fd < 0;
		a->info.here = a->info.here && !a->info.gone;
	}
}

int np_registry_full(const struct np_registry *p)
{
	return p->full;
}

size_t np_registry_size(const struct np_registry *p)
{
	return p->n;
}

const struct np_agent_info *np_registry_agent(const struct np_registry *p,
					      size_t agent)
{
	return &p->agent[agent]->info;
}

struct np_registry_count np_registry_count(const struct np_registry *p,
					   enum np_agent_kind kind)
{
	struct np_registry_count c = { 0 };

	for (size_t i = 0; i < p->n; i++) {
		const struct np_agent_info *f = &p->agent[i]->info;

		if (f->kind != kind)
			continue;
		c.here += f->here;
		c.dispatched += f->dispatched;
		c.gone += f->dispatched && f->gone;
	}
	return c;
}

static struct group *new_group(const size_t agent[], size_t n)
{
	struct group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->agent = calloc(n, sizeof(*g->agent));
	g->wire = np_wire_host_new((uint32_t)n);
	if (!g->agent || !g->wire) {
		group_free(g);
		return NULL;
	}
	g->n = n;
	memcpy(g->agent, agent, n * sizeof(*agent));
	return g;
}

#define DEVICES "UCX_NET_DEVICES=" /* libfabric's probes read it, too */

/* Is the name a single word that fits into a report? */
static bool has_leaf(const struct agent *a)
{
	return a->leaf && *a->leaf && strlen(a->leaf) < NP_REPORT_WORD &&
	       !strpbrk(a->leaf, " \t\n");
}

void np_registry_set_leaf(struct np_registry *p, size_t agent,
			  const char *leaf, const char *nic)
{
	p->agent[agent]->leaf = leaf;
	p->agent[agent]->nic = nic;
}

void np_registry_request_copies(struct np_registry *p, size_t agent, size_t n)
{
	struct agent *a = p->agent[agent];
	char line[NP_RENDEZVOUS_COOKIE + sizeof(" more\n")];

	a->info.copies_requested = true;
	snprintf(line, sizeof(line), "%s more\n", p->rendezvous.collector_cookie);
	for (size_t i = 0; i < n; i++)
		np_peer_say(&a->link, line);
}

/* Was another agent of the node dispatched, for another of its rails? */
static bool is_other_rail(const struct np_registry *p, const struct agent *a)
{
	for (size_t i = 0; a->nic && i < p->n; i++)
		if (p->agent[i] != a && p->agent[i]->nic &&
		    p->agent[i]->info.kind == a->info.kind &&
		    p->agent[i]->info.dispatched &&
		    !strcmp(p->agent[i]->info.name, a->info.name))
			return true;
	return false;
}

int np_registry_dispatch(struct np_registry *p, const size_t agent[], size_t n,
			 const char *command)
{
	size_t size = strlen(command) + 2 * NP_REPORT_WORD + 128;
	char *line = malloc(size);
	struct group *g = new_group(agent, n);

	if (!line || !g) {
		free(line);
		group_free(g);
		return -ENOMEM;
	}
	/* There are never more groups than agents. */
	p->group[p->n_groups++] = g;
	for (size_t i = 0; i < n; i++) {
		struct agent *a = p->agent[agent[i]];

		a->group = g;
		a->rank = (uint32_t)i;
		a->info.here = false;
		a->info.dispatched = true;
		a->info.rank = p->n_dispatched[a->info.kind]++;
		a->info.other_rail = is_other_rail(p, a);
		snprintf(line, size, "%s %s%s%s%s%s%s%s --join=%zu/%zu\n",
			 p->rendezvous.collector_cookie,
			 has_leaf(a) ? NP_LEAF_ENV "=" : "",
			 has_leaf(a) ? a->leaf : "", has_leaf(a) ? " " : "",
			 a->nic ? DEVICES : "", a->nic ? a->nic : "",
			 a->nic ? " " : "", command, i, n);
		np_peer_say(&a->link, line);
	}
	free(line);
	return 0;
}

void np_registry_end(struct np_registry *p, enum np_agent_kind kind)
{
	/*
	 * Half closed: the agent sees end of file and still sends its last
	 * report.
	 */
	for (size_t i = 0; i < p->n; i++)
		if (p->agent[i]->info.kind == kind &&
		    p->agent[i]->info.dispatched && p->agent[i]->link.fd >= 0)
			shutdown(p->agent[i]->link.fd, SHUT_WR);
	np_registry_release(p, kind);
}

void np_registry_release(struct np_registry *p, enum np_agent_kind kind)
{
	for (size_t i = 0; i < p->n; i++) {
		struct agent *a = p->agent[i];

		if (a->info.kind != kind || a->info.dispatched)
			continue;
		np_peer_close(&a->link);
		a->info.gone = true;
		a->info.here = false;
	}
}

/* ---- steps of a load level ---- */

int np_level_steps_start(struct np_level_steps *c, const struct np_helper_job *job,
			 const struct np_conf *conf,
			 const struct np_hosts *hosts,
			 uint16_t port, bool again, char *const env[],
			 struct np_err *err)
{
	int rc = 0;

	*c = (struct np_level_steps){
		.step = calloc(hosts->n + 1, sizeof(*c->step)),
	};
	if (!c->step)
		return np_errf(err, -ENOMEM, "out of memory");
	while (!rc && c->n < hosts->n) {
		struct np_args args;

		np_helper_cmd_join(&args, job, conf, hosts->name[c->n], port,
				again);
		rc = np_helper_start(&c->step[c->n++], &args, env, 0, err);
		np_args_free(&args);
	}
	return rc;
}

void np_level_steps_read(struct np_level_steps *c)
{
	for (size_t i = 0; i < c->n; i++)
		np_helper_read(&c->step[i], NULL, NULL);
}

size_t np_level_steps_running(struct np_level_steps *c)
{
	size_t running = 0;

	for (size_t i = 0; i < c->n; i++)
		running += !np_helper_reap(&c->step[i]);
	return running;
}

void np_level_steps_signal(const struct np_level_steps *c, int sig)
{
	for (size_t i = 0; i < c->n; i++)
		np_helper_signal(&c->step[i], sig);
}

void np_level_steps_cause(const struct np_level_steps *c, char *buf, size_t len)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->step[i].ended && c->step[i].status) {
			np_helper_cause(&c->step[i], buf, len);
			return;
		}
}

void np_level_steps_free(struct np_level_steps *c)
{
	for (size_t i = 0; i < c->n; i++)
		np_helper_close(&c->step[i]);
	free(c->step);
	*c = (struct np_level_steps){ NULL, 0 };
}

/* ---- which agents measure ---- */

#define RANDOM_MAX ((size_t)1 << 30)

/* A node with a waiting agent. */
struct candidate {
	const char *leaf;
	size_t node;   /* index into leaf[] of np_choose_pairs() */
	size_t random; /* for the order within the leaf */
};

static int by_leaf_and_random(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int c = strcmp(x->leaf, y->leaf);

	return c ? c : (x->random > y->random) - (x->random < y->random);
}

/* Group the k nodes of one leaf, which are in random order. */
static size_t group_leaf(const struct candidate *r, size_t k,
			 uint32_t max_pairs, struct np_pair_group *out)
{
	size_t n = 0;

	for (size_t i = 0; i + 1 < k && n < max_pairs; i += 2)
		out[n++] =
			(struct np_pair_group){ 2,
						{ r[i].node, r[i + 1].node } };
	if (k == NP_PAIR_GROUP_MAX && max_pairs > 1) {
		out[0].node[2] = r[2].node;
		out[0].n = 3;
	}
	return n;
}

size_t np_choose_pairs(const char *const leaf[], size_t n, uint32_t max_pairs,
		       uint64_t seed, struct np_pair_group *out)
{
	struct candidate *r = calloc(n ? n : 1, sizeof(*r));
	size_t n_candidates = 0, groups = 0;
	struct np_rng *rng = np_rng_new(seed, "pairs");

	if (!r || !rng)
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (leaf[i])
			r[n_candidates++] = (struct candidate){
				leaf[i], i, np_rng_below(rng, RANDOM_MAX)
			};
	if (n_candidates)
		qsort(r, n_candidates, sizeof(*r), by_leaf_and_random);
	for (size_t i = 0, end; i < n_candidates; i = end) {
		for (end = i + 1; end < n_candidates &&
		     !strcmp(r[i].leaf, r[end].leaf); end++)
			;
		groups += group_leaf(&r[i], end - i, max_pairs, out + groups);
	}
	np_rng_free(rng);
	free(r);
	return groups;
}

/* ---- what the collector does with agents ---- */

/* Agents connect within this of each other, as tasks start one by one. */
#define GATHER_SEC		0.5
#define GATHER_PER_NODE_SEC	0.02
#define NO_AGENT_SEC		30.0 /* then no agent is expected any more */
#define LEVEL_UP_SEC		3.0  /* for steps of the level to start ... */
#define LEVEL_PER_NODE_SEC	0.05 /* ... and more for each node */
#define LOST_SEC 3.0 /* the end of the step may be noticed this much later */

int np_agents_init(struct np_agents *a, int listen_fd)
{
	a->first_sec = a->level_sec = a->lost_sec = NAN;
	a->registry = np_registry_new(listen_fd, &a->rendezvous);
	return a->registry ? np_reports_init(&a->reports) : -ENOMEM;
}

static struct np_registry_count count(const struct np_agents *a,
				      enum np_agent_kind kind)
{
	return np_registry_count(a->registry, kind);
}

static void on_report(size_t agent, char *line, void *arg)
{
	struct np_agents *a = arg;
	const struct np_agent_info *info =
		np_registry_agent(a->registry, agent);
	struct np_report rep;

	if (np_report_parse(line, &rep))
		return;
	/* A process only knows its rank and number within its group. */
	rep.rank = info->rank;
	rep.other_rail = info->other_rail;
	if (rep.kind == NP_REPORT_HANDSHAKE)
		rep.handshake.n_ranks =
			(uint32_t)count(a, info->kind).dispatched;
	np_reports_take(&a->reports, info->kind == NP_AGENT_LEVEL, &rep,
			a->now_sec);
}

void np_agents_serve(struct np_agents *a, double now_sec)
{
	a->now_sec = now_sec;
	np_registry_serve(a->registry, now_sec, on_report, a);
	np_level_steps_read(&a->level_steps);
}

/* Dispatching. */

/* List the waiting agents of a kind; there is room for all agents. */
static size_t list_waiting(const struct np_agents *a, enum np_agent_kind kind,
			   size_t *agent)
{
	size_t n = 0;

	for (size_t i = 0; i < np_registry_size(a->registry); i++) {
		const struct np_agent_info *info =
			np_registry_agent(a->registry, i);

		if (info->here && info->kind == kind)
			agent[n++] = i;
	}
	return n;
}

/*
 * The settings of the network, as words before a program, each followed by a
 * space.  Where the agents have rails, the adapter of the rail takes the place
 * of NetDevices, and of a device in Transport.
 */
static void write_network(const struct np_agents *a, bool rails, char *text,
			  size_t size)
{
	struct np_helper_env_network net;
	size_t used = 0;

	np_helper_env_network(a->reports.conf, &net);
	*text = '\0';
	for (size_t i = 0; net.more[i]; i++) {
		const char *word = net.more[i];
		bool transport = !strncmp(word, NP_TRANSPORT_ENV "=",
					  sizeof(NP_TRANSPORT_ENV));

		if (rails && !strncmp(word, DEVICES, sizeof(DEVICES) - 1))
			continue;
		used += (size_t)snprintf(text + used, size - used, "%.*s ",
					 rails && transport ?
						 (int)strcspn(word, "/") :
						 (int)strlen(word), word);
	}
}

/*
 * Dispatch agents to run a program with its arguments, perhaps with variables
 * before it.  The settings of the network, which all our processes get, are
 * added.
 */
__attribute__((format(printf, 5, 6)))
static int dispatch(struct np_agents *a, const size_t agent[], size_t n,
		    bool rails, const char *fmt, ...)
{
	char command[PATH_MAX + 1024];
	size_t used;
	va_list ap;

	write_network(a, rails, command, sizeof(command));
	used = strlen(command);
	va_start(ap, fmt);
	vsnprintf(command + used, sizeof(command) - used, fmt, ap);
	va_end(ap);
	return np_registry_dispatch(a->registry, agent, n, command);
}

static int dispatch_pair(struct np_agents *a, const size_t agent[], size_t n,
			 bool rails)
{
	return dispatch(a, agent, n, rails,
			"%s/netprof-impactb --bytes=%u --period=%.9gs"
			" --report-every=%g",
			a->reports.conf->bindir, a->reports.conf->message_bytes,
			a->reports.conf->period_sec,
			a->reports.intervals ? NP_INTERVALS_REPORT_SEC : 1.0);
}

/*
 * Agents of a node take its rails in turn.  *out is the rail of the one of
 * agent[], which are all that wait.  False: there are more agents than rails,
 * or the node is not of the step.
 */
static bool find_rail(const struct np_agents *a, const size_t agent[],
		      size_t at, struct np_rail *out)
{
	const char *name = np_registry_agent(a->registry, agent[at])->name;
	struct np_rail rail[NP_RAILS_MAX];
	size_t n = np_leaf_index_rails(a->nodes->leaves, name, rail), turn = 0;

	for (size_t i = 0; rail[0].nic && i < at; i++)
		turn += !strcmp(np_registry_agent(a->registry,
						  agent[i])->name, name);
	if (turn >= n || !np_hosts_has(&a->nodes->step, name))
		return false;
	*out = rail[turn];
	return true;
}

/*
 * Select pairs of nodes under one leaf switch, as Slurm's topology has them,
 * from the agents on nodes of the step.  The probes get the names of the
 * switches, because a probe cannot separate a name with dots from the rest of
 * its address.
 */
static size_t select_pairs(struct np_agents *a, const size_t agent[], size_t n,
			   struct np_pair_group *group, bool *rails)
{
	const char *leaf[NP_REGISTRY_MAX];

	for (size_t i = 0; i < n; i++) {
		struct np_rail rail;

		leaf[i] = NULL;
		if (!find_rail(a, agent, i, &rail))
			continue;
		leaf[i] = rail.leaf;
		rails[i] = rail.nic != NULL;
		np_registry_set_leaf(a->registry, agent[i], rail.leaf,
				     rail.nic);
	}
	return np_choose_pairs(leaf, n, a->reports.conf->probe_pairs,
			       a->rendezvous.seed, group);
}

static void dispatch_probes(struct np_agents *a)
{
	struct np_pair_group group[NP_REGISTRY_MAX / 2 + 1];
	size_t agent[NP_REGISTRY_MAX], n, groups;
	bool rails[NP_REGISTRY_MAX];

	n = list_waiting(a, NP_AGENT_PROBE, agent);
	groups = select_pairs(a, agent, n, group, rails);
	for (size_t i = 0; i < groups; i++) {
		size_t of[NP_PAIR_GROUP_MAX];

		for (size_t k = 0; k < group[i].n; k++)
			of[k] = agent[group[i].node[k]];
		if (!dispatch_pair(a, of, group[i].n, rails[group[i].node[0]]))
			a->probes_dispatched = true;
	}
	if (a->probes_dispatched)
		np_registry_release(a->registry, NP_AGENT_PROBE);
}

/*
 * The first library that is reported counts.  The step uses no MPI if that is
 * reported for each node on which a probe was started.
 */
static const char *mpi_of_step(const struct np_registry *registry)
{
	size_t dispatched = 0, without = 0;

	for (size_t i = 0; i < np_registry_size(registry); i++) {
		const struct np_agent_info *info =
			np_registry_agent(registry, i);
		bool none = !strcmp(info->mpi, NP_MPI_NONE);

		if (info->mpi[0] && !none)
			return info->mpi;
		dispatched += info->dispatched &&
			      info->kind == NP_AGENT_PROBE && !info->other_rail;
		without += none;
	}
	return without && without == dispatched ? NP_MPI_NONE : NULL;
}

/* Request copies until each node has one agent per rail. */
static void request_copies(struct np_agents *a)
{
	size_t agent[NP_REGISTRY_MAX];
	size_t n = list_waiting(a, NP_AGENT_PROBE, agent);

	for (size_t i = 0; i < n; i++) {
		const struct np_agent_info *info =
			np_registry_agent(a->registry, agent[i]);
		struct np_rail rail[NP_RAILS_MAX], own;
		size_t more = np_leaf_index_rails(a->nodes->leaves, info->name,
						  rail) -
			      1;

		if (info->copies_requested || !more ||
		    !find_rail(a, agent, i, &own) ||
		    own.leaf != rail[0].leaf ||
		    a->expected + more > NP_RENDEZVOUS_MAX_NODES)
			continue;
		np_registry_request_copies(a->registry, agent[i], more);
		a->expected += more;
	}
}

static void note_mpi(struct np_agents *a)
{
	char **noted = &a->reports.record->mpi_version;
	const char *mpi = mpi_of_step(a->registry);

	if ((mpi && *noted && !strcmp(mpi, *noted)) || (!mpi && !*noted))
		return;
	free(*noted);
	*noted = mpi ? strdup(mpi) : NULL;
}

static void tick_probes(struct np_agents *a)
{
	size_t here = count(a, NP_AGENT_PROBE).here;

	if (a->probes_dispatched || !here)
		return;
	request_copies(a);
	if (here < 2)
		return;
	if (isnan(a->first_sec))
		a->first_sec = a->now_sec;
	if (here >= a->expected ||
	    a->now_sec - a->first_sec >=
		    GATHER_SEC +
			    GATHER_PER_NODE_SEC * a->reports.record->n_nodes)
		dispatch_probes(a);
}

/* The load level. */

/* The rails of a node that the level loads: all of them, or the requested. */
static size_t level_rails(const struct np_agents *a, const char *node,
			  struct np_rail rail[NP_RAILS_MAX])
{
	size_t n = np_leaf_index_rails(a->nodes->leaves, node, rail), kept = 0;
	const char *only = a->request->rail;

	for (size_t i = 0; i < n; i++)
		if (!*only || (rail[i].name && !strcmp(rail[i].name, only)))
			rail[kept++] = rail[i];
	return kept;
}

/* Add a rail to those that the record says the level loads. */
static int note_rail(char **list, const char *name)
{
	char *longer;

	if (np_list_has(*list, name, strlen(name)))
		return 0;
	if (asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? "," : "",
		     name) < 0)
		return -ENOMEM;
	free(*list);
	*list = longer;
	return 0;
}

/* The node of each process of the level: as often as it has rails to load. */
static int list_level(struct np_agents *a, struct np_hosts *out,
		      struct np_err *err)
{
	const struct np_hosts *nodes = &a->nodes->level;
	struct np_record *record = a->reports.record;
	char **list = record->level ? &record->level->rails :
				      &record->intervals_rails;
	int rc = 0;

	for (size_t i = 0; !rc && i < nodes->n; i++) {
		struct np_rail rail[NP_RAILS_MAX];
		size_t n = level_rails(a, nodes->name[i], rail);

		for (size_t k = 0; !rc && k < n &&
		     out->n < NP_RENDEZVOUS_MAX_NODES; k++) {
			rc = np_hosts_add(out, nodes->name[i]);
			if (!rc && rail[k].name)
				rc = note_rail(list, rail[k].name);
		}
	}
	if (rc)
		return np_errf(err, rc, "out of memory");
	return out->n ? 0 : np_errf(err, -ENODEV, "no node of the load level "
				    "is on rail %s (see Rails in "
				    "netprof.conf(5))", a->request->rail);
}

static int start_level(struct np_agents *a, double now_sec, struct np_err *err)
{
	const struct np_launch_request *o = a->request;
	struct np_hosts hosts = { NULL, 0 };
	struct np_helper_job job = { o->srun, o->job_id, o->het_component,
				  o->het_job_id };
	char cookies[NP_AGENT_COOKIES];
	const char *more[] = { cookies, NULL };
	char **env;
	int rc;

	np_agent_cookies(&a->rendezvous, cookies);
	env = np_helper_env(environ, more);
	if (!env)
		return np_errf(err, -ENOMEM, "out of memory");
	a->level_sec = now_sec;
	rc = list_level(a, &hosts, err);
	if (!rc)
		rc = np_level_steps_start(&a->level_steps, &job,
					  a->reports.conf, &hosts,
					  a->rendezvous.port,
					  a->reports.intervals != NULL, env, err);
	np_hosts_free(&hosts);
	free(env);
	return rc;
}

/*
 * The rail of an agent of the level: those of a node take its rails in turn.
 * Without rails its name and adapter are NULL.
 */
static struct np_rail rail_of_level(const struct np_agents *a,
				    const size_t agent[], size_t at)
{
	const char *name = np_registry_agent(a->registry, agent[at])->name;
	struct np_rail rail[NP_RAILS_MAX];
	size_t n = level_rails(a, name, rail), turn = 0;

	if (!n) /* it says that it runs on another node */
		return (struct np_rail){ np_leaf_index_find(a->nodes->leaves,
							 name), NULL, NULL };
	for (size_t i = 0; i < at; i++)
		turn += !strcmp(np_registry_agent(a->registry,
						  agent[i])->name, name);
	return rail[turn % n];
}

static bool same_rail(const struct np_rail *a, const struct np_rail *b)
{
	return a->name == b->name ||
	       (a->name && b->name && !strcmp(a->name, b->name));
}

/*
 * One ring of processes on each rail.  more: further arguments, each preceded
 * by a space.
 */
static int dispatch_compress(struct np_agents *a, const size_t agent[],
			     size_t n, const char *level, const char *more)
{
	struct np_rail rail[NP_REGISTRY_MAX];
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		rail[i] = rail_of_level(a, agent, i);
		np_registry_set_leaf(a->registry, agent[i], rail[i].leaf,
				     rail[i].nic);
	}
	for (size_t i = 0; !rc && i < n; i++) {
		size_t of[NP_REGISTRY_MAX], n_of = 0, first = 0;

		while (!same_rail(&rail[first], &rail[i]))
			first++;
		for (size_t k = i; first == i && k < n; k++)
			if (same_rail(&rail[k], &rail[i]))
				of[n_of++] = agent[k];
		if (n_of)
			rc = dispatch(a, of, n_of, rail[i].nic != NULL,
				      "SLURM_JOB_ID=%u SLURM_STEP_ID=%u "
				      "%s/netprof-compressionb --level=%s%s",
				      a->request->job_id, a->request->step_id,
				      a->reports.conf->bindir, level, more);
	}
	return rc;
}

static void dispatch_level(struct np_agents *a, const size_t agent[], size_t n)
{
	a->level_dispatched = !dispatch_compress(a, agent, n,
						 a->request->level, "");
	if (n < a->level_steps.n)
		np_record_note(a->reports.record,
			       "the load level started on %zu of its %zu %s", n,
			       a->level_steps.n,
			       a->level_steps.n > a->nodes->level.n ?
				       "adapters" : "nodes");
}

/*
 * An interval of a few seconds, on all nodes: the processes end by themselves.
 */
static void dispatch_interval(struct np_agents *a)
{
	size_t agent[NP_REGISTRY_MAX];
	size_t n = list_waiting(a, NP_AGENT_LEVEL, agent);
	char more[64];

	if (!n || n < a->level_steps.n)
		return; /* they are still connecting */
	snprintf(more, sizeof(more), " --duration=%.3fs --report-every=%g",
		 a->level_for_sec, NP_INTERVALS_REPORT_SEC);
	dispatch_compress(a, agent, n, a->next_level, more);
	a->next_level = NULL;
}

static void tick_schedule(struct np_agents *a)
{
	if (np_reports_tick(&a->reports, a->now_sec, &a->next_level,
			    &a->level_for_sec) &&
	    a->next_level)
		dispatch_interval(a);
}

static void tick_level(struct np_agents *a)
{
	double patience = LEVEL_UP_SEC +
			  LEVEL_PER_NODE_SEC * (double)a->level_steps.n;
	size_t agent[NP_REGISTRY_MAX], n;

	if (!a->level_steps.n || a->level_dispatched || a->reports.intervals)
		return;
	n = list_waiting(a, NP_AGENT_LEVEL, agent);
	if (n == a->level_steps.n ||
	    (n > 1 && a->now_sec - a->level_sec > patience))
		dispatch_level(a, agent, n);
}

/* Agents that end. */

static bool probes_have_gone(const struct np_agents *a)
{
	struct np_registry_count c = count(a, NP_AGENT_PROBE);

	return c.gone == c.dispatched;
}

static struct np_probes_state probes_state(const struct np_agents *a)
{
	return np_aggregate_probes_state(a->reports.aggregate);
}

bool np_agents_are_complete(const struct np_agents *a)
{
	struct np_probes_state probes = probes_state(a);

	return probes.all_started &&
	       (probes.n_finished == a->reports.record->probe.n_processes ||
		(probes_have_gone(a) && !a->lost_midway));
}

enum np_agents_left np_agents_left(struct np_agents *a)
{
	struct np_registry_count c = count(a, NP_AGENT_LEVEL);

	if (!probes_have_gone(a))
		return NP_LEFT_PROBES;
	return c.gone < c.dispatched ||
			       np_level_steps_running(&a->level_steps) ?
		       NP_LEFT_LEVEL :
		       NP_LEFT_NONE;
}

/*
 * The last line that was no report says why they ended.  False: there is none.
 */
static bool last_line(const struct np_agents *a, enum np_agent_kind kind,
		      char *buf, size_t len)
{
	bool found = false;

	snprintf(buf, len, "for an unknown reason");
	for (size_t i = 0; i < np_registry_size(a->registry); i++) {
		const struct np_agent_info *info =
			np_registry_agent(a->registry, i);

		if (info->kind != kind || !info->last[0])
			continue;
		snprintf(buf, len, "%s: %s", info->name, info->last);
		found = true;
	}
	return found;
}

/* Probes that are lost while the step goes on, and not at its end. */
static void note_losses(struct np_agents *a)
{
	size_t gone = count(a, NP_AGENT_PROBE).gone;

	if (gone <= probes_state(a).n_finished ||
	    !isnan(a->reports.program_end_sec))
		return;
	if (isnan(a->lost_sec))
		a->lost_sec = a->now_sec;
	a->lost_midway |= a->now_sec - a->lost_sec > LOST_SEC;
}

static bool probes_are_lost(struct np_agents *a, char *cause, size_t len)
{
	double began = a->reports.program_start_sec + a->after_sec;
	size_t here;

	if (a->probes_dispatched && probes_have_gone(a)) {
		bool why = last_line(a, NP_AGENT_PROBE, cause, len);

		return a->lost_midway ||
		       (why && !probes_state(a).all_started);
	}
	if (a->probes_dispatched || isnan(began) ||
	    a->now_sec - began < NO_AGENT_SEC)
		return false;
	here = count(a, NP_AGENT_PROBE).here;
	if (here < a->expected && np_registry_full(a->registry))
		snprintf(cause, len, "only %zu of %zu nodes could connect: %s",
			 here, a->expected,
			 strerror(np_registry_full(a->registry)));
	else if (here < a->expected)
		snprintf(cause, len, "%zu of %zu nodes answered (expected the "
			 "plugin on the nodes, and TCP port %u of this host "
			 "open to them)", here, a->expected, a->rendezvous.port);
	else
		snprintf(cause, len,
			 "of %zu nodes that may measure no two "
			 "share a leaf switch (ProbeNodes=%u)",
			 here, a->reports.conf->probe_nodes);
	return true;
}

/* An agent ended because memory is short; others may go on. */
static bool memory_is_short(const struct np_agents *a, char *cause, size_t len)
{
	for (size_t i = 0; i < np_registry_size(a->registry); i++) {
		const struct np_agent_info *info =
			np_registry_agent(a->registry, i);

		if (!info->memory[0])
			continue;
		snprintf(cause, len, "%s: %s", info->name, info->memory);
		return true;
	}
	return false;
}

static bool level_is_lost(struct np_agents *a, char *cause, size_t len)
{
	struct np_registry_count c = count(a, NP_AGENT_LEVEL);

	if (!a->level_steps.n || np_level_steps_running(&a->level_steps) ||
	    (c.dispatched && c.gone < c.dispatched))
		return false;
	last_line(a, NP_AGENT_LEVEL, cause, len);
	np_level_steps_cause(&a->level_steps, cause, len);
	return true;
}

bool np_agents_tick(struct np_agents *a, double now_sec, const char **what,
		    char *cause, size_t len)
{
	a->now_sec = now_sec;
	tick_level(a);
	tick_schedule(a);
	tick_probes(a);
	note_mpi(a);
	note_losses(a);
	if (!a->memory_reported && memory_is_short(a, cause, len)) {
		*what = "a probe";
		return a->memory_reported = true;
	}
	if (!a->probes_reported && probes_are_lost(a, cause, len)) {
		*what = "the probes";
		return a->probes_reported = true;
	}
	if (!a->level_reported && level_is_lost(a, cause, len)) {
		*what = "the level";
		return a->level_reported = true;
	}
	return false;
}

void np_agents_end(struct np_agents *a, int sig)
{
	np_registry_end(a->registry, NP_AGENT_PROBE);
	np_registry_end(a->registry, NP_AGENT_LEVEL);
	if (sig > 0)
		np_level_steps_signal(&a->level_steps, sig);
}

/* mpirun runs ranks on this host, where no task of the step starts an agent. */
static void start_agent_here(struct np_agents *a)
{
	const struct np_agent_params j = { .rendezvous = &a->rendezvous,
					   .host = "localhost" };

	np_agent_start(&j, environ);
	a->expected++;
}

int np_agents_begin(struct np_agents *a, double now_sec, struct np_err *err)
{
	a->expected = np_rendezvous_count(&a->rendezvous,
					  (uint32_t)a->nodes->step.n -
					  a->request->launcher);
	if (a->request->launcher)
		start_agent_here(a);
	return a->request->level[0] || a->reports.intervals ?
		       start_level(a, now_sec, err) :
		       0;
}
