/*
 * What anybody can send to the collector's port, and what a user can set in
 * the environment instead of srun's rendezvous. A local socket replaces the
 * port, because the collector does not use addresses here.
 *
 * Bytes are sent by one of the connections. 0x80 to 0x83 select it: two are
 * agents that were dispatched, one waits, one has not authenticated. 0x84 to
 * 0x86 are actions of the collector; 0x87 closes the connection.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "np_agents.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define N_ENDS 4
#define CALLED 2

struct some_registry {
	struct np_registry *p;
	int end[N_ENDS];
	double now_sec;
	bool ended;
};

static int must(int rc)
{
	if (rc < 0) {
		perror("fuzz_agents");
		_exit(1);
	}
	return rc;
}

static void on_report(size_t agent, char *line, void *arg)
{
	const struct some_registry *h = arg;

	if (agent >= np_registry_size(h->p) || strncmp(line, "np1 ", 4) ||
	    strlen(line) > NP_PEER_LINE ||
	    !np_registry_agent(h->p, agent)->dispatched)
		abort();
	memset(line, 0, strlen(line)); /* it may be changed */
}

static void serve(struct some_registry *h)
{
	struct pollfd p[NP_REGISTRY_FDS];

	np_registry_serve(h->p, h->now_sec, on_report, h);
	if (np_registry_poll(h->p, p) > NP_REGISTRY_FDS)
		abort();
	for (int i = 0; i < N_ENDS; i++) {
		char buf[65536];

		while (recv(h->end[i], buf, sizeof(buf), MSG_DONTWAIT) > 0)
			;
	}
}

static void some_registry_open(struct some_registry *h)
{
	const struct np_rendezvous_entry v = { .agent_cookie = TOKEN,
					       .collector_cookie = TOKEN };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(a);
	int fd = must(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));

	must(bind(fd, (struct sockaddr *)&a, sizeof(a.sun_family)));
	must(listen(fd, N_ENDS));
	must(getsockname(fd, (struct sockaddr *)&a, &len));
	*h = (struct some_registry){ .p = np_registry_new(fd, &v) };
	for (int i = 0; i < N_ENDS; i++) {
		static const char handshake[] = TOKEN " probe 0 n0\n";

		h->end[i] = must(socket(AF_UNIX, SOCK_STREAM, 0));
		must(connect(h->end[i], (struct sockaddr *)&a, len));
		if (i < N_ENDS - 1) /* one never authenticates */
			must((int)send(h->end[i], handshake,
				       sizeof(handshake) - 1, 0));
		serve(h);
	}
	if (np_registry_size(h->p) != N_ENDS - 1 ||
	    np_registry_dispatch(h->p, (size_t[]){ 0, 1 }, CALLED, "x"))
		abort();
}

static void act(struct some_registry *h, int what)
{
	h->now_sec += 1;
	if (what == 1)
		np_registry_release(h->p, NP_AGENT_PROBE);
	if (what == 2 && !h->ended) {
		np_registry_end(h->p, NP_AGENT_PROBE);
		h->ended = true;
	}
	serve(h);
}

static void play(struct some_registry *h, const uint8_t *data, size_t size)
{
	int who = N_ENDS - 1;

	for (size_t i = 0, end; i < size; i = end) {
		for (end = i; end < size && data[end] < 0x80; end++)
			;
		send(h->end[who], data + i, end - i,
		     MSG_NOSIGNAL | MSG_DONTWAIT);
		serve(h);
		if (end == size)
			break;
		if (data[end] < 0x80 + N_ENDS)
			who = data[end] - 0x80;
		else if (data[end] < 0x80 + N_ENDS + 3)
			act(h, data[end] - 0x80 - N_ENDS);
		else if (data[end] == 0x87)
			shutdown(h->end[who], SHUT_RDWR);
		end++;
	}
}

/* Entries that are accepted are complete, and give the same text again. */
static void find_rendezvous(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	for (size_t i = 0; i < 3; i++) {
		struct np_rendezvous_entry v, again;
		char once[1024] = "";

		if (np_rendezvous_find(text, i, &v))
			continue;
		if (v.max_nodes < 2 || v.max_nodes > NP_RENDEZVOUS_MAX_NODES ||
		    np_rendezvous_count(&v, 1000) > v.max_nodes)
			abort();
		np_rendezvous_takes_part(&v, 999, 1000);
		if (!np_rendezvous_add(&v, once, sizeof(once), NULL) &&
		    (np_rendezvous_find(once, 0, &again) ||
		     strcmp(v.path, again.path) || v.seed != again.seed))
			abort();
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct some_registry h;

	find_rendezvous(data, size);
	some_registry_open(&h);
	play(&h, data, size);
	if (np_registry_size(h.p) > N_ENDS)
		abort();
	for (size_t i = 0; i < np_registry_size(h.p); i++)
		for (const char *c = np_registry_agent(h.p, i)->mpi; *c; c++)
			if (*c < ' ' || *c >= 0x7f)
				abort();
	np_registry_free(h.p);
	for (int i = 0; i < N_ENDS; i++)
		close(h.end[i]);
	return 0;
}
