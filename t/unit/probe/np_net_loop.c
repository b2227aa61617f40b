#include "np_net_loop.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* On its way, or arrived and not yet received. */
struct message {
	struct message *next;
	uint64_t tag;
	double arrives_sec;
	size_t len;
	char data[];
};

/* A receive that waits. */
struct receive {
	struct receive *next;
	uint64_t tag;
	void *buf;
	size_t len;
	struct np_op *op;
};

struct end {
	struct np_net net;
	struct np_net_loop *loop;
	size_t index;
	size_t peer[NP_NET_LOOP_RANKS]; /* ends */
	struct message *messages;	/* oldest first */
	struct receive *receives;	/* oldest first */
	bool silent, killed;
	uint64_t polls;
};

struct np_net_loop {
	const struct np_clock *clock;
	double delay_sec;
	size_t n;
	struct end end[];
};

static int loop_connect(struct np_net *n, uint32_t rank, const void *addr,
			size_t len, struct np_err *err)
{
	struct end *e = (struct end *)n;
	size_t index;

	if (len != sizeof(index))
		return np_errf(err, -EINVAL, "address of %zu bytes", len);
	memcpy(&index, addr, len);
	if (index >= e->loop->n)
		return np_errf(err, -ENETUNREACH, "no end %zu", index);
	e->peer[rank] = index;
	return 0;
}

static struct end *peer_of(struct np_net *n, uint32_t rank)
{
	struct end *e = (struct end *)n;

	return &e->loop->end[e->peer[rank]];
}

static int loop_lost(struct np_net *n, uint32_t rank)
{
	return peer_of(n, rank)->killed ? -ECONNRESET : 0;
}

static void loop_transport(struct np_net *n, uint32_t rank, char *buf,
			   size_t size)
{
	(void)n, (void)rank;
	snprintf(buf, size, "loop/memory");
}

static void append_message(struct end *to, struct message *m)
{
	struct message **at = &to->messages;

	while (*at)
		at = &(*at)->next;
	*at = m;
}

static void loop_send(struct np_net *n, uint32_t rank, uint64_t tag,
		      const void *buf, size_t len, struct np_op *op)
{
	struct end *from = (struct end *)n, *to = peer_of(n, rank);
	struct np_net_loop *l = from->loop;
	struct message *m;

	op->status = to->killed ? -ECONNRESET : 0;
	if (from->silent || from->killed || to->killed)
		return;
	m = malloc(sizeof(*m) + len);
	if (!m) {
		op->status = -ENOMEM;
		return;
	}
	*m = (struct message){
		.tag = tag,
		.len = len,
		.arrives_sec = l->clock->now_sec(l->clock) + l->delay_sec,
	};
	memcpy(m->data, buf, len);
	append_message(to, m);
	eventfd_write(to->net.fd, 1);
}

static void loop_recv(struct np_net *n, uint64_t tag, void *buf, size_t len,
		      struct np_op *op)
{
	struct receive **at = &((struct end *)n)->receives;
	struct receive *r = malloc(sizeof(*r));

	op->status = r ? 1 : -ENOMEM;
	if (!r)
		return;
	*r = (struct receive){ NULL, tag, buf, len, op };
	while (*at)
		at = &(*at)->next;
	*at = r;
}

/* The oldest receive for a message, taken out. */
static struct receive *take_receive(struct end *e, uint64_t tag)
{
	for (struct receive **at = &e->receives; *at; at = &(*at)->next)
		if ((*at)->tag == tag) {
			struct receive *r = *at;

			*at = r->next;
			return r;
		}
	return NULL;
}

static void deliver(struct message *m, struct receive *r)
{
	memcpy(r->buf, m->data, m->len < r->len ? m->len : r->len);
	r->op->status = m->len > r->len ? -EMSGSIZE : 0;
	free(m);
	free(r);
}

static unsigned match(struct end *e, double now_sec)
{
	unsigned n = 0;

	for (struct message **at = &e->messages; *at;) {
		struct message *m = *at;
		struct receive *r = NULL;

		if (m->arrives_sec <= now_sec)
			r = take_receive(e, m->tag);
		if (!r) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		deliver(m, r);
		n++;
	}
	return n;
}

static unsigned loop_progress(struct np_net *n)
{
	struct end *e = (struct end *)n;
	const struct np_clock *clock = e->loop->clock;

	e->polls++;
	return e->killed ? 0 : match(e, clock->now_sec(clock));
}

static int loop_arm(struct np_net *n)
{
	eventfd_t any;

	eventfd_read(n->fd, &any);
	return loop_progress(n) ? -EAGAIN : 0;
}

static const struct np_net_ops ops = {
	.connect = loop_connect,
	.lost = loop_lost,
	.transport = loop_transport,
	.send = loop_send,
	.recv = loop_recv,
	.progress = loop_progress,
	.arm = loop_arm,
};

struct np_net_loop *np_net_loop_new(size_t n, const struct np_clock *clock)
{
	struct np_net_loop *l = calloc(1, sizeof(*l) + n * sizeof(l->end[0]));

	if (!l)
		return NULL;
	l->clock = clock;
	l->n = n;
	for (size_t i = 0; i < n; i++)
		l->end[i] = (struct end){
			.net = {
				.ops = &ops, .kind = "loop",
				.address = &l->end[i].index,
				.address_len = sizeof(l->end[i].index),
				.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
			},
			.loop = l, .index = i,
		};
	return l;
}

static void free_end(struct end *e)
{
	for (struct message *m = e->messages, *next; m; m = next) {
		next = m->next;
		free(m);
	}
	for (struct receive *r = e->receives, *next; r; r = next) {
		next = r->next;
		free(r);
	}
	close(e->net.fd);
}

void np_net_loop_free(struct np_net_loop *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		free_end(&l->end[i]);
	free(l);
}

struct np_net *np_net_loop_end(struct np_net_loop *l, size_t i)
{
	return &l->end[i].net;
}

void np_net_loop_set_delay(struct np_net_loop *l, double delay_sec)
{
	l->delay_sec = delay_sec;
}

void np_net_loop_set_silent(struct np_net_loop *l, size_t i, bool silent)
{
	l->end[i].silent = silent;
}

void np_net_loop_kill(struct np_net_loop *l, size_t i)
{
	l->end[i].killed = true;
	for (size_t j = 0; j < l->n; j++)
		eventfd_write(l->end[j].net.fd, 1);
}

void np_net_loop_fail_receives(struct np_net_loop *l, size_t i)
{
	struct end *e = &l->end[i];

	for (struct receive *r = e->receives, *next; r; r = next) {
		next = r->next;
		r->op->status = -ECONNRESET;
		free(r);
	}
	e->receives = NULL;
	eventfd_write(e->net.fd, 1);
}

double np_net_loop_next_sec(const struct np_net_loop *l)
{
	double now_sec = l->clock->now_sec(l->clock), first = INFINITY;

	for (size_t i = 0; i < l->n; i++)
		for (struct message *m = l->end[i].messages; m; m = m->next)
			if (m->arrives_sec > now_sec)
				first = fmin(first, m->arrives_sec);
	return first;
}

uint64_t np_net_loop_polls(const struct np_net_loop *l, size_t i)
{
	return l->end[i].polls;
}
