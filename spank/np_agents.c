/*
 * The agents of a step. The sections, from the bottom up: one connection; the
 * registry of agents; the helper steps of a load level; the selection of pairs;
 * and what the collector does with all of these.
 */
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

#define READS_A_TURN 16 /* most reads before other connections have a turn */
#define READ_SIZE 4096	/* bytes */

void np_peer_open(struct np_peer *peer, int fd)
{
	peer->fd = fd;
	peer->out = NULL;
	peer->in_len = peer->out_len = peer->out_size = 0;
}

void np_peer_close(struct np_peer *peer)
{
	if (peer->fd >= 0)
		close(peer->fd);
	peer->fd = -1;
	free(peer->out);
	peer->out = NULL;
	peer->in_len = peer->out_len = peer->out_size = 0;
}

/* Hand out the whole lines of peer->in, and keep the rest. */
static void take_lines(struct np_peer *peer, np_peer_line_f *on_line, void *arg)
{
	char *start = peer->in, *end = peer->in + peer->in_len, *nl;

	while (peer->fd >= 0 &&
	       (nl = memchr(start, '\n', (size_t)(end - start)))) {
		*nl = '\0';
		on_line(start, arg);
		start = nl + 1;
	}
	if (peer->fd < 0)
		return;
	peer->in_len = (size_t)(end - start);
	memmove(peer->in, start, peer->in_len);
}

void np_peer_read(struct np_peer *peer, np_peer_line_f *on_line, void *arg)
{
	for (int i = 0; i < READS_A_TURN && peer->fd >= 0; i++) {
		size_t left = sizeof(peer->in) - peer->in_len;
		size_t room = left < READ_SIZE ? left : READ_SIZE;
		ssize_t got = room ? recv(peer->fd, peer->in + peer->in_len,
					  room, MSG_DONTWAIT) :
				     0;

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			np_peer_close(peer);
			return;
		}
		peer->in_len += (size_t)got;
		take_lines(peer, on_line, arg);
	}
}

void np_peer_flush(struct np_peer *peer)
{
	ssize_t put;

	if (peer->fd < 0 || !peer->out_len)
		return;
	put = send(peer->fd, peer->out, peer->out_len,
		   MSG_DONTWAIT | MSG_NOSIGNAL);
	if (put < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (put < 0) { /* the other end no longer reads, but may still send */
		peer->out_len = 0;
		return;
	}
	peer->out_len -= (size_t)put;
	memmove(peer->out, peer->out + put, peer->out_len);
}

void np_peer_say(struct np_peer *peer, const char *text)
{
	size_t len = strlen(text);

	if (peer->fd < 0)
		return;
	if (peer->out_len + len > NP_PEER_OUT ||
	    np_array_reserve(&peer->out, &peer->out_size, peer->out_len + len,
			     1)) {
		np_peer_close(peer);
		return;
	}
	memcpy(peer->out + peer->out_len, text, len);
	peer->out_len += len;
	np_peer_flush(peer);
}

/* ---- the registry of agents ---- */

#define HANDSHAKE_SEC 5.0 /* longest wait for a handshake */
#define PAUSE_SEC 1.0	  /* pause when there are no descriptors left */
#define ACCEPT_TURN 64 /* connections accepted before agents are read again */
#define SILENT_SEC 0.2 /* a connection that is silent longer may be replaced */
/*
 * Most refusals per second, so that a flood of connections does not use up a
 * processor of the job. Further connections wait.
 */
#define MAX_REFUSALS 100

/* Agents that were dispatched together. */
struct group {
	size_t n;
	size_t *agent; /* number of the agent of each rank */
	struct np_wire_host *wire;
};

/* Room for one agent, which may have gone. */
struct slot {
	struct np_peer peer;
	struct np_agent_info info;
	struct group *group; /* NULL: not dispatched, or free again */
	uint32_t rank;	     /* in the group */
	const char *leaf;    /* borrowed; NULL or "": unknown */
	const char *nic;     /* borrowed; NULL: no rails */
	bool unused;	     /* the slot may be reused */
};

/* A connection that has not authenticated. */
struct connection {
	struct np_peer peer;
	double since_sec; /* when it was accepted */
};

struct np_registry {
	int fd; /* the listening socket */
	struct np_rendezvous_entry rendezvous;
	int accept_error;	/* np_registry_accept_error() */
	double pause_until_sec; /* accept no connection before; 0: accept */
	double refusals_since_sec;
	unsigned refusals; /* connections refused since then */
	struct connection pending[NP_REGISTRY_PENDING];
	struct slot *slot[NP_REGISTRY_MAX]; /* by number of the agent */
	size_t n_slots;
	struct group *group[NP_REGISTRY_MAX];
	size_t n_groups;
	size_t n_authenticated; /* connections, ever */
	uint32_t n_dispatched[NP_N_AGENT_KINDS];
};

static const char *const kind_name[NP_N_AGENT_KINDS] = {
	[NP_AGENT_PROBE] = "probe",
	[NP_AGENT_LEVEL] = "level",
};

struct np_registry *np_registry_new(int fd, const struct np_rendezvous_entry *v)
{
	struct np_registry *registry = calloc(1, sizeof(*registry));

	if (!registry)
		return NULL;
	registry->fd = fd;
	registry->rendezvous = *v;
	for (size_t i = 0; i < NP_REGISTRY_PENDING; i++)
		registry->pending[i].peer.fd = -1;
	return registry;
}

static void group_free(struct group *group)
{
	if (!group)
		return;
	free(group->agent);
	np_wire_host_free(group->wire);
	free(group);
}

void np_registry_free(struct np_registry *registry)
{
	if (!registry)
		return;
	close(registry->fd);
	for (size_t i = 0; i < NP_REGISTRY_PENDING; i++)
		np_peer_close(&registry->pending[i].peer);
	for (size_t i = 0; i < registry->n_slots; i++) {
		np_peer_close(&registry->slot[i]->peer);
		free(registry->slot[i]);
	}
	for (size_t i = 0; i < registry->n_groups; i++)
		group_free(registry->group[i]);
	free(registry);
}

static struct pollfd to_poll(const struct np_peer *peer)
{
	return (struct pollfd){
		.fd = peer->fd,
		.events = peer->out_len ? POLLIN | POLLOUT : POLLIN,
	};
}

size_t np_registry_poll(const struct np_registry *registry, struct pollfd out[])
{
	size_t n = 1;

	for (size_t i = 0; i < NP_REGISTRY_PENDING; i++)
		if (registry->pending[i].peer.fd >= 0)
			out[n++] = to_poll(&registry->pending[i].peer);
	/*
	 * While connections cannot be accepted, poll(2) must not report them:
	 * it would return at once each time.
	 */
	out[0] = (struct pollfd){
		.fd = registry->pause_until_sec ? -1 : registry->fd,
		.events = POLLIN,
	};
	for (size_t i = 0; i < registry->n_slots; i++)
		if (registry->slot[i]->peer.fd >= 0)
			out[n++] = to_poll(&registry->slot[i]->peer);
	return n;
}

/* Unauthenticated connections. */

/*
 * Stop accepting for a while if accept() failed for want of a resource; the
 * connections wait in the listen backlog.
 */
static void pause_accepting(struct np_registry *registry, int error,
			    double now_sec)
{
	if (error != EMFILE && error != ENFILE && error != ENOBUFS &&
	    error != ENOMEM)
		return;
	registry->accept_error = error;
	registry->pause_until_sec = now_sec + PAUSE_SEC;
}

/* Arguments of on_handshake(). */
struct handshake_reader {
	struct np_registry *registry;
	struct connection *connection;
};

/* Let the slots of a group's agents be reused, and free the group. */
static void free_group(struct np_registry *registry, size_t i)
{
	struct group *group = registry->group[i];

	for (size_t k = 0; k < group->n; k++) {
		struct slot *slot = registry->slot[group->agent[k]];

		np_peer_close(&slot->peer);
		slot->group = NULL;
		slot->unused = true;
		slot->info = (struct np_agent_info){ .kind = slot->info.kind,
						     .gone = true };
	}
	group_free(group);
	registry->group[i] = registry->group[--registry->n_groups];
}

/*
 * Free the slots of all groups whose agents have gone, but only those of a load
 * level: levels are started again and again.
 */
static void free_slots(struct np_registry *registry)
{
	for (size_t i = registry->n_groups; i-- > 0;) {
		const struct group *group = registry->group[i];
		bool gone = true;

		for (size_t k = 0; k < group->n; k++) {
			const struct np_agent_info *info =
				&registry->slot[group->agent[k]]->info;

			gone &= info->kind == NP_AGENT_LEVEL && info->gone;
		}
		if (gone)
			free_group(registry, i);
	}
}

/* Returns NULL if there is no such kind of agent, or no free slot. */
static struct slot *new_agent(struct np_registry *registry, const char *kind,
			      uint32_t node, const char *name)
{
	struct slot *slot = NULL;
	size_t number = 0;
	int k = 0;

	while (k < NP_N_AGENT_KINDS && strcmp(kind_name[k], kind))
		k++;
	if (registry->n_slots == NP_REGISTRY_MAX)
		free_slots(registry);
	while (number < registry->n_slots && !registry->slot[number]->unused)
		number++;
	if (k < NP_N_AGENT_KINDS && number < NP_REGISTRY_MAX)
		slot = calloc(1, sizeof(*slot));
	if (!slot)
		return NULL;
	slot->info.kind = (enum np_agent_kind)k;
	slot->info.node = node;
	slot->info.waiting = true;
	snprintf(slot->info.name, sizeof(slot->info.name), "%s", name);
	if (number < registry->n_slots)
		free(registry->slot[number]);
	else
		registry->n_slots++;
	registry->slot[number] = slot;
	return slot;
}

static void record_short_memory(struct slot *slot, const char *why)
{
	snprintf(slot->info.memory, sizeof(slot->info.memory), "%s", why);
	np_text_make_plain(slot->info.memory);
	np_peer_close(&slot->peer);
}

/*
 * The handshake is "COOKIE KIND NODE NAME", followed by the reason if the agent
 * leaves at once.
 */
static void on_handshake(char *line, void *arg)
{
	struct handshake_reader *reader = arg;
	char cookie[NP_RENDEZVOUS_COOKIE], kind[16], name[NP_REGISTRY_TEXT];
	struct slot *slot = NULL;
	uint32_t node;
	int end = 0;

	if (sscanf(line, "%32s %15s %u %255s %n", cookie, kind, &node, name,
		   &end) == 4 &&
	    !strcmp(cookie, reader->registry->rendezvous.agent_cookie))
		slot = new_agent(reader->registry, kind, node, name);
	if (slot) {
		reader->registry->n_authenticated++;
		np_peer_open(&slot->peer, reader->connection->peer.fd);
		reader->connection->peer.fd = -1; /* now the agent's */
		if (line[end])
			record_short_memory(slot, line + end);
	}
	np_peer_close(&reader->connection->peer);
}

/* Close a connection that did not authenticate, and count it. */
static void refuse(struct np_registry *registry, struct connection *connection)
{
	np_peer_close(&connection->peer);
	registry->refusals++;
}

/*
 * Read from a connection that has not authenticated. Its first line frees its
 * entry, whether that is a valid handshake or not.
 */
static void read_pending(struct np_registry *registry,
			 struct connection *connection)
{
	struct handshake_reader reader = { registry, connection };
	size_t n_before = registry->n_authenticated;

	np_peer_read(&connection->peer, on_handshake, &reader);
	if (connection->peer.fd < 0 && n_before == registry->n_authenticated)
		registry->refusals++;
}

/*
 * Find an entry for one more connection: a free one, or the one that has been
 * silent for the longest time. NULL: none has been silent for long enough.
 */
static struct connection *find_entry(struct np_registry *registry,
				     double now_sec)
{
	struct connection *oldest = &registry->pending[0];

	for (size_t i = 0; i < NP_REGISTRY_PENDING; i++) {
		struct connection *connection = &registry->pending[i];

		if (connection->peer.fd < 0)
			return connection;
		if (connection->since_sec < oldest->since_sec)
			oldest = connection;
	}
	return now_sec - oldest->since_sec < SILENT_SEC ? NULL : oldest;
}

/* Return whether there were too many refusals in the current second. */
static bool is_flooded(struct np_registry *registry, double now_sec)
{
	if (now_sec - registry->refusals_since_sec >= 1) {
		registry->refusals_since_sec = now_sec;
		registry->refusals = 0;
	}
	return registry->refusals >= MAX_REFUSALS;
}

/*
 * Accept connections, and read from each at once. An agent sends the cookie as
 * soon as it is connected, so it authenticates at once, however many silent
 * connections there are.
 */
static void accept_all(struct np_registry *registry, double now_sec)
{
	if (now_sec < registry->pause_until_sec)
		return;
	registry->pause_until_sec = 0;
	for (int i = 0; i < ACCEPT_TURN; i++) {
		struct connection *connection =
			is_flooded(registry, now_sec) ?
				NULL :
				find_entry(registry, now_sec);
		int fd;

		if (!connection) {
			registry->pause_until_sec = now_sec + SILENT_SEC;
			return;
		}
		fd = accept4(registry->fd, NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			pause_accepting(registry, errno, now_sec);
			return;
		}
		if (connection->peer.fd >= 0)
			refuse(registry, connection);
		np_peer_open(&connection->peer, fd);
		connection->since_sec = now_sec;
		read_pending(registry, connection);
	}
}

static void read_all_pending(struct np_registry *registry, double now_sec)
{
	for (size_t i = 0; i < NP_REGISTRY_PENDING; i++) {
		struct connection *connection = &registry->pending[i];

		if (connection->peer.fd >= 0)
			read_pending(registry, connection);
		if (connection->peer.fd >= 0 &&
		    now_sec - connection->since_sec > HANDSHAKE_SEC)
			refuse(registry, connection);
	}
	accept_all(registry, now_sec);
}

/* Agents, and their groups. */

static void send_all(struct np_registry *registry, const struct group *group,
		     const char *text)
{
	for (size_t i = 0; i < group->n; i++)
		np_peer_say(&registry->slot[group->agent[i]]->peer, text);
}

/*
 * Exchange addresses within a group. Returns false if the line is malformed.
 */
static bool exchange_addresses(struct np_registry *registry, struct slot *slot,
			       const char *line)
{
	struct group *group = slot->group;
	char *text;
	int rc = np_wire_host_take(group->wire, &slot->rank, line, &text);

	if (text)
		send_all(registry, group, text);
	free(text);
	return !rc;
}

/* Arguments of on_line(). */
struct line_reader {
	struct np_registry *registry;
	size_t agent; /* its number */
	np_registry_line_f *on_report;
	void *arg;
};

static void on_line(char *line, void *arg)
{
	struct line_reader *reader = arg;
	struct slot *slot = reader->registry->slot[reader->agent];

	if (!strncmp(line, "np1 ", 4)) {
		if (slot->group)
			reader->on_report(reader->agent, line, reader->arg);
	} else if (!strncmp(line, "short ", 6)) {
		record_short_memory(slot, line + 6);
	} else if (!slot->group) {
		np_peer_close(&slot->peer); /* it was not dispatched */
	} else if (!strcmp(line, "fence") || !strncmp(line, "put ", 4)) {
		if (!exchange_addresses(reader->registry, slot, line))
			np_peer_close(&slot->peer);
	} else if (!strncmp(line, "mpi ", 4)) {
		snprintf(slot->info.mpi, sizeof(slot->info.mpi), "%s",
			 line + 4);
		np_text_make_plain(slot->info.mpi);
	} else {
		snprintf(slot->info.last_line, sizeof(slot->info.last_line),
			 "%s", line);
	}
}

void np_registry_serve(struct np_registry *registry, double now_sec,
		       np_registry_line_f *on_report, void *arg)
{
	read_all_pending(registry, now_sec);
	for (size_t i = 0; i < registry->n_slots; i++) {
		struct line_reader reader = { registry, i, on_report, arg };
		struct slot *slot = registry->slot[i];

		np_peer_flush(&slot->peer);
		if (slot->peer.fd >= 0)
			np_peer_read(&slot->peer, on_line, &reader);
		slot->info.gone = slot->peer.fd < 0;
		slot->info.waiting = slot->info.waiting && !slot->info.gone;
	}
}

int np_registry_accept_error(const struct np_registry *registry)
{
	return registry->accept_error;
}

size_t np_registry_size(const struct np_registry *registry)
{
	return registry->n_slots;
}

const struct np_agent_info *
np_registry_agent(const struct np_registry *registry, size_t agent)
{
	return &registry->slot[agent]->info;
}

struct np_registry_count np_registry_count(const struct np_registry *registry,
					   enum np_agent_kind kind)
{
	struct np_registry_count count = { 0 };

	for (size_t i = 0; i < registry->n_slots; i++) {
		const struct np_agent_info *info = &registry->slot[i]->info;

		if (info->kind != kind)
			continue;
		count.waiting += info->waiting;
		count.dispatched += info->dispatched;
		count.gone += info->dispatched && info->gone;
	}
	return count;
}

static struct group *new_group(const size_t agent[], size_t n)
{
	struct group *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	group->agent = calloc(n, sizeof(*group->agent));
	group->wire = np_wire_host_new((uint32_t)n);
	if (!group->agent || !group->wire) {
		group_free(group);
		return NULL;
	}
	group->n = n;
	memcpy(group->agent, agent, n * sizeof(*agent));
	return group;
}

#define DEVICES "UCX_NET_DEVICES=" /* probes over libfabric read it, too */

/* Return whether the name is a single word that fits into a report. */
static bool has_leaf(const struct slot *slot)
{
	return slot->leaf && *slot->leaf &&
	       strlen(slot->leaf) < NP_REPORT_WORD &&
	       !strpbrk(slot->leaf, " \t\n");
}

void np_registry_set_leaf(struct np_registry *registry, size_t agent,
			  const char *leaf, const char *nic)
{
	registry->slot[agent]->leaf = leaf;
	registry->slot[agent]->nic = nic;
}

void np_registry_request_copies(struct np_registry *registry, size_t agent,
				size_t n)
{
	struct slot *slot = registry->slot[agent];
	char line[NP_RENDEZVOUS_COOKIE + sizeof(" more\n")];

	slot->info.copies_requested = true;
	snprintf(line, sizeof(line), "%s more\n",
		 registry->rendezvous.collector_cookie);
	for (size_t i = 0; i < n; i++)
		np_peer_say(&slot->peer, line);
}

/* Return whether another agent of its node was dispatched for another rail. */
static bool is_other_rail(const struct np_registry *registry,
			  const struct slot *slot)
{
	for (size_t i = 0; slot->nic && i < registry->n_slots; i++)
		if (registry->slot[i] != slot && registry->slot[i]->nic &&
		    registry->slot[i]->info.kind == slot->info.kind &&
		    registry->slot[i]->info.dispatched &&
		    !strcmp(registry->slot[i]->info.name, slot->info.name))
			return true;
	return false;
}

int np_registry_dispatch(struct np_registry *registry, const size_t agent[],
			 size_t n, const char *command)
{
	size_t size = strlen(command) + 2 * NP_REPORT_WORD + 128;
	char *line = malloc(size);
	struct group *group = new_group(agent, n);

	if (!line || !group) {
		free(line);
		group_free(group);
		return -ENOMEM;
	}
	/* There are never more groups than agents. */
	registry->group[registry->n_groups++] = group;
	for (size_t i = 0; i < n; i++) {
		struct slot *slot = registry->slot[agent[i]];

		slot->group = group;
		slot->rank = (uint32_t)i;
		slot->info.waiting = false;
		slot->info.dispatched = true;
		slot->info.rank = registry->n_dispatched[slot->info.kind]++;
		slot->info.other_rail = is_other_rail(registry, slot);
		snprintf(line, size, "%s %s%s%s%s%s%s%s --join=%zu/%zu\n",
			 registry->rendezvous.collector_cookie,
			 has_leaf(slot) ? NP_LEAF_ENV "=" : "",
			 has_leaf(slot) ? slot->leaf : "",
			 has_leaf(slot) ? " " : "", slot->nic ? DEVICES : "",
			 slot->nic ? slot->nic : "", slot->nic ? " " : "",
			 command, i, n);
		np_peer_say(&slot->peer, line);
	}
	free(line);
	return 0;
}

void np_registry_end(struct np_registry *registry, enum np_agent_kind kind)
{
	/*
	 * Half closed: the agent sees end of file and still sends its last
	 * report.
	 */
	for (size_t i = 0; i < registry->n_slots; i++)
		if (registry->slot[i]->info.kind == kind &&
		    registry->slot[i]->info.dispatched &&
		    registry->slot[i]->peer.fd >= 0)
			shutdown(registry->slot[i]->peer.fd, SHUT_WR);
	np_registry_release(registry, kind);
}

void np_registry_release(struct np_registry *registry, enum np_agent_kind kind)
{
	for (size_t i = 0; i < registry->n_slots; i++) {
		struct slot *slot = registry->slot[i];

		if (slot->info.kind != kind || slot->info.dispatched)
			continue;
		np_peer_close(&slot->peer);
		slot->info.gone = true;
		slot->info.waiting = false;
	}
}

/* ---- steps of a load level ---- */

int np_level_steps_start(struct np_level_steps *steps,
			 const struct np_helper_job *job,
			 const struct np_conf *conf,
			 const struct np_hosts *hosts, uint16_t port,
			 bool again, char *const env[], struct np_err *err)
{
	int rc = 0;

	*steps = (struct np_level_steps){
		.step = calloc(hosts->n + 1, sizeof(*steps->step)),
	};
	if (!steps->step)
		return np_errf(err, -ENOMEM, "out of memory");
	while (!rc && steps->n < hosts->n) {
		struct np_args args;

		np_helper_cmd_agent(&args, job, conf, hosts->name[steps->n],
				    port, again);
		rc = np_helper_start(&steps->step[steps->n++], &args, env, 0,
				     err);
		np_args_free(&args);
	}
	return rc;
}

void np_level_steps_read(struct np_level_steps *steps)
{
	for (size_t i = 0; i < steps->n; i++)
		np_helper_read(&steps->step[i], NULL, NULL);
}

size_t np_level_steps_running(struct np_level_steps *steps)
{
	size_t running = 0;

	for (size_t i = 0; i < steps->n; i++)
		running += !np_helper_reap(&steps->step[i]);
	return running;
}

void np_level_steps_signal(const struct np_level_steps *steps, int sig)
{
	for (size_t i = 0; i < steps->n; i++)
		np_helper_signal(&steps->step[i], sig);
}

void np_level_steps_cause(const struct np_level_steps *steps, char *buf,
			  size_t len)
{
	for (size_t i = 0; i < steps->n; i++)
		if (steps->step[i].ended && steps->step[i].status) {
			np_helper_cause(&steps->step[i], buf, len);
			return;
		}
}

void np_level_steps_free(struct np_level_steps *steps)
{
	for (size_t i = 0; i < steps->n; i++)
		np_helper_close(&steps->step[i]);
	free(steps->step);
	*steps = (struct np_level_steps){ NULL, 0 };
}

/* ---- which agents measure ---- */

#define RANDOM_MAX ((size_t)1 << 30)

/* A node with a waiting agent. */
struct candidate {
	const char *leaf;
	size_t node;   /* index into leaf[] of np_select_pairs() */
	size_t random; /* for the order within the leaf */
};

static int by_leaf_and_random(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int c = strcmp(x->leaf, y->leaf);

	return c ? c : (x->random > y->random) - (x->random < y->random);
}

/*
 * Group the n candidates of one leaf, which are in random order. Returns the
 * number of groups.
 */
static size_t group_leaf(const struct candidate *candidate, size_t n,
			 uint32_t max_pairs, struct np_pair_group *out)
{
	size_t n_groups = 0;

	for (size_t i = 0; i + 1 < n && n_groups < max_pairs; i += 2)
		out[n_groups++] = (struct np_pair_group){
			2, { candidate[i].node, candidate[i + 1].node }
		};
	if (n == NP_PAIR_GROUP_MAX && max_pairs > 1) {
		out[0].node[2] = candidate[2].node;
		out[0].n = 3;
	}
	return n_groups;
}

size_t np_select_pairs(const char *const leaf[], size_t n, uint32_t max_pairs,
		       uint64_t seed, struct np_pair_group *out)
{
	struct candidate *list = calloc(n ? n : 1, sizeof(*list));
	size_t n_candidates = 0, n_groups = 0;
	struct np_rng *rng = np_rng_new(seed, "pairs");

	if (!list || !rng)
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (leaf[i])
			list[n_candidates++] = (struct candidate){
				leaf[i], i, np_rng_below(rng, RANDOM_MAX)
			};
	if (n_candidates)
		qsort(list, n_candidates, sizeof(*list), by_leaf_and_random);
	for (size_t i = 0, end; i < n_candidates; i = end) {
		for (end = i + 1; end < n_candidates &&
				  !strcmp(list[i].leaf, list[end].leaf);
		     end++)
			;
		n_groups += group_leaf(&list[i], end - i, max_pairs,
				       out + n_groups);
	}
	np_rng_free(rng);
	free(list);
	return n_groups;
}

/* ---- what the collector does with agents ---- */

/*
 * Longest wait for one more agent once two have connected, and an addition for
 * each node: tasks start one by one, and so do the steps of the level.
 */
#define GATHER_SEC 0.5
#define GATHER_PER_NODE_SEC 0.02
#define LEVEL_START_SEC 3.0
#define LEVEL_PER_NODE_SEC 0.05
/*
 * A longer time between two ticks counts as this much. The machine was
 * suspended or busy, so the agents could not run either.
 */
#define GATHER_TICK_SEC 0.2
#define NO_AGENT_SEC 30.0 /* longest wait for the first agents */
/*
 * The end of a step may become known this much later than that of its probes.
 */
#define LOST_SEC 3.0

int np_agents_init(struct np_agents *agents)
{
	agents->first_loss_sec = NAN;
	agents->registry =
		np_registry_new(NP_COLLECTOR_LISTEN_FD, &agents->rendezvous);
	return agents->registry ? np_reports_init(&agents->reports) : -ENOMEM;
}

static struct np_registry_count count(const struct np_agents *agents,
				      enum np_agent_kind kind)
{
	return np_registry_count(agents->registry, kind);
}

static void on_report(size_t agent, char *line, void *arg)
{
	struct np_agents *agents = arg;
	const struct np_agent_info *info =
		np_registry_agent(agents->registry, agent);
	struct np_report report;

	if (np_report_parse(line, &report))
		return;
	/* A process only knows its rank and number within its group. */
	report.rank = info->rank;
	report.other_rail = info->other_rail;
	if (report.kind == NP_REPORT_HANDSHAKE)
		report.handshake.n_ranks =
			(uint32_t)count(agents, info->kind).dispatched;
	np_reports_take(&agents->reports, info->kind == NP_AGENT_LEVEL, &report,
			agents->now_sec);
}

void np_agents_serve(struct np_agents *agents, double now_sec)
{
	agents->now_sec = now_sec;
	np_registry_serve(agents->registry, now_sec, on_report, agents);
	np_level_steps_read(&agents->level_steps);
}

/* Dispatching. */

/* List the waiting agents of a kind; there is room for all agents. */
static size_t list_waiting(const struct np_agents *agents,
			   enum np_agent_kind kind, size_t *agent)
{
	size_t n = 0;

	for (size_t i = 0; i < np_registry_size(agents->registry); i++) {
		const struct np_agent_info *info =
			np_registry_agent(agents->registry, i);

		if (info->waiting && info->kind == kind)
			agent[n++] = i;
	}
	return n;
}

/*
 * Write the network settings as words that precede a program, each followed by
 * a space. Where the agents have rails, the adapter of the rail replaces
 * NetDevices, and a device in Transport.
 */
static void write_network(const struct np_agents *agents, bool rails,
			  char *text, size_t size)
{
	struct np_helper_env_network net;
	size_t used = 0;

	np_helper_env_network(agents->reports.conf, &net);
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
						 (int)strlen(word),
					 word);
	}
}

/*
 * Dispatch agents to run a program with its arguments, which may be preceded by
 * variables. The network settings of all our processes are added.
 */
__attribute__((format(printf, 5, 6))) static int
dispatch(struct np_agents *agents, const size_t agent[], size_t n, bool rails,
	 const char *fmt, ...)
{
	char command[PATH_MAX + 1024];
	size_t used;
	va_list ap;

	write_network(agents, rails, command, sizeof(command));
	used = strlen(command);
	va_start(ap, fmt);
	vsnprintf(command + used, sizeof(command) - used, fmt, ap);
	va_end(ap);
	return np_registry_dispatch(agents->registry, agent, n, command);
}

static int dispatch_pair(struct np_agents *agents, const size_t agent[],
			 size_t n, bool rails)
{
	return dispatch(agents, agent, n, rails,
			"%s/netprof-impactb --bytes=%u --period=%.9gs"
			" --report-every=%g",
			agents->reports.conf->bindir,
			agents->reports.conf->message_bytes,
			agents->reports.conf->period_sec,
			agents->reports.intervals ? NP_INTERVALS_REPORT_SEC :
						    1.0);
}

/* Return the name of an agent's node. */
static const char *node_of(const struct np_agents *agents, size_t agent)
{
	return np_registry_agent(agents->registry, agent)->name;
}

/* Return how many agents of the same node come before agent[at]. */
static size_t turn_of(const struct np_agents *agents, const size_t agent[],
		      size_t at)
{
	size_t turn = 0;

	for (size_t i = 0; i < at; i++)
		turn += !strcmp(node_of(agents, agent[i]),
				node_of(agents, agent[at]));
	return turn;
}

/*
 * Find the rail of agent[at]. agent[] lists all waiting agents; those of one
 * node take its rails in turn. Returns false if the node has more agents than
 * rails, or is not in the step.
 */
static bool find_rail(const struct np_agents *agents, const size_t agent[],
		      size_t at, struct np_rail *out)
{
	const char *name = node_of(agents, agent[at]);
	struct np_rail rail[NP_RAILS_MAX];
	size_t n = np_leaf_index_rails(agents->nodes->leaves, name, rail);
	size_t turn = rail[0].nic ? turn_of(agents, agent, at) : 0;

	if (turn >= n || !np_hosts_has(&agents->nodes->step, name))
		return false;
	*out = rail[turn];
	return true;
}

/*
 * Select pairs of nodes under one leaf switch, as Slurm's topology has them,
 * from the agents on nodes of the step. The probes get the names of the
 * switches, because a probe cannot separate a name with dots from the rest of
 * its address.
 */
static size_t select_pairs(struct np_agents *agents, const size_t agent[],
			   size_t n, struct np_pair_group *group, bool *rails)
{
	const char *leaf[NP_REGISTRY_MAX];

	for (size_t i = 0; i < n; i++) {
		struct np_rail rail;

		leaf[i] = NULL;
		if (!find_rail(agents, agent, i, &rail))
			continue;
		leaf[i] = rail.leaf;
		rails[i] = rail.nic != NULL;
		np_registry_set_leaf(agents->registry, agent[i], rail.leaf,
				     rail.nic);
	}
	return np_select_pairs(leaf, n, agents->reports.conf->probe_pairs,
			       agents->rendezvous.seed, group);
}

static void dispatch_probes(struct np_agents *agents)
{
	struct np_pair_group group[NP_REGISTRY_MAX / 2 + 1];
	size_t agent[NP_REGISTRY_MAX], n, groups;
	bool rails[NP_REGISTRY_MAX];

	n = list_waiting(agents, NP_AGENT_PROBE, agent);
	groups = select_pairs(agents, agent, n, group, rails);
	for (size_t i = 0; i < groups; i++) {
		size_t of[NP_PAIR_GROUP_MAX];

		for (size_t k = 0; k < group[i].n; k++)
			of[k] = agent[group[i].node[k]];
		if (!dispatch_pair(agents, of, group[i].n,
				   rails[group[i].node[0]]))
			agents->probes_dispatched = true;
	}
	if (agents->probes_dispatched)
		np_registry_release(agents->registry, NP_AGENT_PROBE);
}

/*
 * Return the step's MPI library: the first one that is reported. The step uses
 * no MPI if that is reported for each node on which a probe was started. NULL:
 * unknown.
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
static void request_copies(struct np_agents *agents)
{
	size_t agent[NP_REGISTRY_MAX];
	size_t n = list_waiting(agents, NP_AGENT_PROBE, agent);

	for (size_t i = 0; i < n; i++) {
		const struct np_agent_info *info =
			np_registry_agent(agents->registry, agent[i]);
		struct np_rail rail[NP_RAILS_MAX], own;
		size_t more = np_leaf_index_rails(agents->nodes->leaves,
						  info->name, rail) -
			      1;

		if (info->copies_requested || !more ||
		    !find_rail(agents, agent, i, &own) ||
		    own.leaf != rail[0].leaf ||
		    agents->expected + more > NP_RENDEZVOUS_MAX_NODES)
			continue;
		np_registry_request_copies(agents->registry, agent[i], more);
		agents->expected += more;
	}
}

static void record_mpi(struct np_agents *agents)
{
	char **noted = &agents->reports.record->mpi_version;
	const char *mpi = mpi_of_step(agents->registry);

	if ((mpi && *noted && !strcmp(mpi, *noted)) || (!mpi && !*noted))
		return;
	free(*noted);
	*noted = mpi ? strdup(mpi) : NULL;
}

/*
 * Return whether to begin with the n agents that have connected: all n_expected
 * ones, or at least two if no other has connected for longest_sec.
 */
static bool have_gathered(struct np_gathering *gathering, size_t n,
			  size_t n_expected, double longest_sec, double now_sec)
{
	if (n > gathering->n)
		gathering->waited_sec = 0;
	else
		gathering->waited_sec +=
			fmin(now_sec - gathering->tick_sec, GATHER_TICK_SEC);
	gathering->tick_sec = now_sec;
	gathering->n = n;
	return n >= n_expected ||
	       (n > 1 && gathering->waited_sec >= longest_sec);
}

static void tick_probes(struct np_agents *agents)
{
	size_t here = count(agents, NP_AGENT_PROBE).waiting;
	double longest_sec =
		GATHER_SEC +
		GATHER_PER_NODE_SEC * agents->reports.record->n_nodes;

	if (agents->probes_dispatched || !here)
		return;
	request_copies(agents);
	if (here > 1 && have_gathered(&agents->probes, here, agents->expected,
				      longest_sec, agents->now_sec))
		dispatch_probes(agents);
}

/* The load level. */

/* List the rails of a node that the level loads: all, or the requested one. */
static size_t level_rails(const struct np_agents *agents, const char *node,
			  struct np_rail rail[NP_RAILS_MAX])
{
	size_t n = np_leaf_index_rails(agents->nodes->leaves, node, rail);
	const char *only = agents->request->rail;
	size_t n_retained = 0;

	for (size_t i = 0; i < n; i++)
		if (!*only || (rail[i].name && !strcmp(rail[i].name, only)))
			rail[n_retained++] = rail[i];
	return n_retained;
}

/* Add a rail to those that the record says the level loads. */
static int record_rail(char **list, const char *name)
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

/* List the nodes of the level, each as often as it has rails to load. */
static int list_level(struct np_agents *agents, struct np_hosts *out,
		      struct np_err *err)
{
	const struct np_hosts *nodes = &agents->nodes->level;
	struct np_record *record = agents->reports.record;
	char **list = record->level ? &record->level->rails :
				      &record->intervals_rails;
	int rc = 0;

	for (size_t i = 0; !rc && i < nodes->n; i++) {
		struct np_rail rail[NP_RAILS_MAX];
		size_t n = level_rails(agents, nodes->name[i], rail);

		for (size_t k = 0;
		     !rc && k < n && out->n < NP_RENDEZVOUS_MAX_NODES; k++) {
			rc = np_hosts_add(out, nodes->name[i]);
			if (!rc && rail[k].name)
				rc = record_rail(list, rail[k].name);
		}
	}
	if (rc)
		return np_errf(err, rc, "out of memory");
	if (!out->n)
		return np_errf(err, -ENODEV,
			       "no node of the load level is on rail %s (see "
			       "Rails in netprof.conf(5))",
			       agents->request->rail);
	return 0;
}

static int start_level(struct np_agents *agents, struct np_err *err)
{
	const struct np_launch_request *request = agents->request;
	struct np_hosts hosts = { NULL, 0 };
	struct np_helper_job job = { request->srun, request->job_id,
				     request->het_component,
				     request->het_job_id };
	char cookies[NP_AGENT_COOKIES];
	const char *more[] = { cookies, NULL };
	char **env;
	int rc;

	np_agent_cookies(&agents->rendezvous, cookies);
	env = np_helper_env(environ, more);
	if (!env)
		return np_errf(err, -ENOMEM, "out of memory");
	rc = list_level(agents, &hosts, err);
	if (!rc)
		rc = np_level_steps_start(&agents->level_steps, &job,
					  agents->reports.conf, &hosts,
					  agents->rendezvous.port,
					  agents->reports.intervals != NULL,
					  env, err);
	np_hosts_free(&hosts);
	free(env);
	return rc;
}

/*
 * Find the rail of agent[at] of the level: those of a node take its rails in
 * turn. Without rails its name and adapter are NULL.
 */
static struct np_rail rail_of_level(const struct np_agents *agents,
				    const size_t agent[], size_t at)
{
	const struct np_leaf_index *leaves = agents->nodes->leaves;
	const char *name = node_of(agents, agent[at]);
	struct np_rail rail[NP_RAILS_MAX];
	size_t n = level_rails(agents, name, rail);

	if (!n) /* it says that it runs on another node */
		return (struct np_rail){ np_leaf_index_find(leaves, name), NULL,
					 NULL };
	return rail[turn_of(agents, agent, at) % n];
}

static bool same_rail(const struct np_rail *a, const struct np_rail *b)
{
	return a->name == b->name ||
	       (a->name && b->name && !strcmp(a->name, b->name));
}

/*
 * Dispatch agents as the processes of a level, one ring of them on each rail.
 * more: further arguments, each preceded by a space.
 */
static int dispatch_compress(struct np_agents *agents, const size_t agent[],
			     size_t n, const char *level, const char *more)
{
	struct np_rail rail[NP_REGISTRY_MAX];
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		rail[i] = rail_of_level(agents, agent, i);
		np_registry_set_leaf(agents->registry, agent[i], rail[i].leaf,
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
			rc = dispatch(agents, of, n_of, rail[i].nic != NULL,
				      "SLURM_JOB_ID=%u SLURM_STEP_ID=%u "
				      "%s/netprof-compressionb --level=%s%s",
				      agents->request->job_id,
				      agents->request->step_id,
				      agents->reports.conf->bindir, level,
				      more);
	}
	return rc;
}

static void dispatch_level(struct np_agents *agents, const size_t agent[],
			   size_t n)
{
	agents->level_dispatched = !dispatch_compress(
		agents, agent, n, agents->request->level, "");
	if (n < agents->level_steps.n)
		np_record_note(agents->reports.record,
			       "the load level started on %zu of its %zu %s", n,
			       agents->level_steps.n,
			       agents->level_steps.n > agents->nodes->level.n ?
				       "adapters" :
				       "nodes");
}

/*
 * Run the next level for an interval on all nodes, once all agents have
 * connected again. Its processes end by themselves.
 */
static void dispatch_interval(struct np_agents *agents)
{
	size_t agent[NP_REGISTRY_MAX];
	size_t n = list_waiting(agents, NP_AGENT_LEVEL, agent);
	char more[64];

	if (!n || n < agents->level_steps.n)
		return; /* they are still connecting */
	snprintf(more, sizeof(more), " --duration=%.3fs --report-every=%g",
		 agents->level_run_sec, NP_INTERVALS_REPORT_SEC);
	dispatch_compress(agents, agent, n, agents->next_level, more);
	agents->next_level = NULL;
}

static void tick_schedule(struct np_agents *agents)
{
	if (np_reports_tick(&agents->reports, agents->now_sec,
			    &agents->next_level, &agents->level_run_sec) &&
	    agents->next_level)
		dispatch_interval(agents);
}

static void tick_level(struct np_agents *agents)
{
	double longest_sec = LEVEL_START_SEC +
			     LEVEL_PER_NODE_SEC * (double)agents->level_steps.n;
	size_t agent[NP_REGISTRY_MAX], n;

	if (!agents->level_steps.n || agents->level_dispatched ||
	    agents->reports.intervals)
		return;
	n = list_waiting(agents, NP_AGENT_LEVEL, agent);
	if (have_gathered(&agents->level, n, agents->level_steps.n, longest_sec,
			  agents->now_sec))
		dispatch_level(agents, agent, n);
}

/* Agents that end. */

static bool probes_have_gone(const struct np_agents *agents)
{
	struct np_registry_count c = count(agents, NP_AGENT_PROBE);

	return c.gone == c.dispatched;
}

static struct np_probes_state probes_state(const struct np_agents *agents)
{
	return np_aggregate_probes_state(agents->reports.aggregate);
}

bool np_agents_are_complete(const struct np_agents *agents)
{
	struct np_probes_state probes = probes_state(agents);

	return probes.all_started &&
	       (probes.n_finished ==
			agents->reports.record->probe.n_processes ||
		(probes_have_gone(agents) && !agents->lost_midway));
}

enum np_agents_left np_agents_left(struct np_agents *agents)
{
	struct np_registry_count c = count(agents, NP_AGENT_LEVEL);

	if (!probes_have_gone(agents))
		return NP_LEFT_PROBES;
	return c.gone < c.dispatched ||
			       np_level_steps_running(&agents->level_steps) ?
		       NP_LEFT_LEVEL :
		       NP_LEFT_NONE;
}

/*
 * Find out why the agents of a kind ended, from the last line that was not a
 * report. Returns false if there is none.
 */
static bool find_cause(const struct np_agents *agents, enum np_agent_kind kind,
		       char *buf, size_t len)
{
	bool found = false;

	snprintf(buf, len, "for an unknown reason");
	for (size_t i = 0; i < np_registry_size(agents->registry); i++) {
		const struct np_agent_info *info =
			np_registry_agent(agents->registry, i);

		if (info->kind != kind || !info->last_line[0])
			continue;
		snprintf(buf, len, "%s: %s", info->name, info->last_line);
		found = true;
	}
	return found;
}

/* Record whether probes were lost while the step ran, and not at its end. */
static void record_losses(struct np_agents *agents)
{
	size_t gone = count(agents, NP_AGENT_PROBE).gone;

	if (gone <= probes_state(agents).n_finished ||
	    !isnan(agents->reports.program_end_sec))
		return;
	if (isnan(agents->first_loss_sec))
		agents->first_loss_sec = agents->now_sec;
	agents->lost_midway |= agents->now_sec - agents->first_loss_sec >
			       LOST_SEC;
}

/*
 * Return whether the probes have ended, or never began, although the step goes
 * on; cause says why.
 */
static bool probes_are_lost(struct np_agents *agents, char *cause, size_t len)
{
	double began = agents->reports.program_start_sec + agents->after_sec;
	size_t here;

	if (agents->probes_dispatched && probes_have_gone(agents)) {
		bool known = find_cause(agents, NP_AGENT_PROBE, cause, len);

		return agents->lost_midway ||
		       (known && !probes_state(agents).all_started);
	}
	if (agents->probes_dispatched || isnan(began) ||
	    agents->now_sec - began < NO_AGENT_SEC)
		return false;
	here = count(agents, NP_AGENT_PROBE).waiting;
	if (here < agents->expected &&
	    np_registry_accept_error(agents->registry))
		snprintf(cause, len, "only %zu of %zu nodes could connect: %s",
			 here, agents->expected,
			 strerror(np_registry_accept_error(agents->registry)));
	else if (here < agents->expected)
		snprintf(
			cause, len,
			"%zu of %zu nodes answered (expected the plugin on the "
			"nodes, and TCP port %u of this host open to them)",
			here, agents->expected, agents->rendezvous.port);
	else
		snprintf(cause, len,
			 "no two of the %zu nodes that may measure share a "
			 "leaf switch (ProbeNodes=%u)",
			 here, agents->reports.conf->probe_nodes);
	return true;
}

/*
 * Return whether an agent ended because memory is short on its node; others may
 * go on.
 */
static bool memory_is_short(const struct np_agents *agents, char *cause,
			    size_t len)
{
	for (size_t i = 0; i < np_registry_size(agents->registry); i++) {
		const struct np_agent_info *info =
			np_registry_agent(agents->registry, i);

		if (!info->memory[0])
			continue;
		snprintf(cause, len, "%s: %s", info->name, info->memory);
		return true;
	}
	return false;
}

static bool level_is_lost(struct np_agents *agents, char *cause, size_t len)
{
	struct np_registry_count c = count(agents, NP_AGENT_LEVEL);

	if (!agents->level_steps.n ||
	    np_level_steps_running(&agents->level_steps) ||
	    (c.dispatched && c.gone < c.dispatched))
		return false;
	find_cause(agents, NP_AGENT_LEVEL, cause, len);
	np_level_steps_cause(&agents->level_steps, cause, len);
	return true;
}

bool np_agents_tick(struct np_agents *agents, double now_sec, const char **what,
		    char *cause, size_t len)
{
	agents->now_sec = now_sec;
	tick_level(agents);
	tick_schedule(agents);
	tick_probes(agents);
	record_mpi(agents);
	record_losses(agents);
	if (!agents->memory_reported && memory_is_short(agents, cause, len)) {
		*what = "a probe";
		return agents->memory_reported = true;
	}
	if (!agents->probes_reported && probes_are_lost(agents, cause, len)) {
		*what = "the probes";
		return agents->probes_reported = true;
	}
	if (!agents->level_reported && level_is_lost(agents, cause, len)) {
		*what = "the level";
		return agents->level_reported = true;
	}
	return false;
}

void np_agents_end(struct np_agents *agents, int sig)
{
	np_registry_end(agents->registry, NP_AGENT_PROBE);
	np_registry_end(agents->registry, NP_AGENT_LEVEL);
	if (sig > 0)
		np_level_steps_signal(&agents->level_steps, sig);
}

/*
 * Start an agent on this host. mpirun runs ranks here, but the step has no task
 * here that would start one.
 */
static void start_agent_here(struct np_agents *agents)
{
	const struct np_agent_params params = {
		.rendezvous = &agents->rendezvous,
		.host = "localhost",
	};

	np_agent_start(&params, environ);
	agents->expected++;
}

int np_agents_begin(struct np_agents *agents, struct np_err *err)
{
	agents->expected = np_rendezvous_count(
		&agents->rendezvous,
		(uint32_t)agents->nodes->step.n - agents->request->launcher);
	if (agents->request->launcher)
		start_agent_here(agents);
	return agents->request->level[0] || agents->reports.intervals ?
		       start_level(agents, err) :
		       0;
}
