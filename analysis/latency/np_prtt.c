/*
 * The client measures in step(), without sleeping. The server is a state
 * machine that answers whatever the client announces.
 */
#include "np_prtt.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"

/* Message tags. Both sides are in one job step, so tags keep messages apart. */
enum { PLAN = 0x70727474, READY, DATA, REPLY };

#define MAX_SIZES 64

/* What the client announces; n = 0: no further measurement. */
struct announcement {
	uint32_t n, bytes;
};

/* State of the client. */
struct client {
	uint32_t size[MAX_SIZES];
	size_t n_sizes;
	double trip_sec[MAX_SIZES]; /* from the first block */
	double gap_sec; /* between messages; from the first block */
	uint32_t block; /* 0: the block that is not reported */
	/*
	 * Next measurement of the block: a size; then the gap; then sending and
	 * receiving for each size whose overheads are measured.
	 */
	size_t kind;
	size_t overhead[MAX_SIZES], n_overheads; /* indexes of sizes */
	size_t repeat;
	double sec[NP_PRTT_REPEATS];
};

struct engine {
	struct np_engine engine;
	struct np_prtt_conf conf;
	struct np_net *net;
	char *out, *in; /* max_bytes each; the content does not matter */
	bool over;
	/*
	 * One request per kind of message, used in either direction. They are
	 * not on a stack because they may still be active when the measurement
	 * ends.
	 */
	struct announcement announcement;
	struct np_op planned, ready, reply, data[NP_PRTT_MESSAGES];
	struct client client;
	enum { AWAITS_PLAN, AWAITS_DATA } state; /* of the server */
	double heard_sec; /* of the server: when a message last arrived */
};

static double now(const struct engine *e)
{
	return e->conf.env.clock->now_sec(e->conf.env.clock);
}

static void send(struct engine *e, uint64_t tag, const void *buf,
		 size_t bytes, struct np_op *op)
{
	e->engine.messages++;
	e->net->ops->send(e->net, e->conf.peer, tag, buf, bytes, op);
}

static void recv(struct engine *e, uint64_t tag, void *buf,
		 size_t bytes, struct np_op *op)
{
	e->net->ops->recv(e->net, tag, buf, bytes, op);
}

/* Ends the measurement; note may be NULL. */
static void end(struct engine *e, const char *note)
{
	if (e->over)
		return;
	e->over = true;
	if (note)
		e->conf.env.note(note, e->conf.env.arg);
	e->conf.done(e->conf.env.arg);
}

/* ---- The client, which measures ---- */

/* Sizes are powers of 8 up to FEW, and grow by this factor from there. */
#define GROWTH M_SQRT2
#define FEW 512

/*
 * Overheads are measured for sizes that are powers of 8, up to these limits of
 * size and round trip.
 */
#define OVERHEAD_BYTES 65536
#define OVERHEAD_TRIP_SEC 1e-3

/* Polls of the message between checks of everything else. */
#define LOOK_EVERY 1024

/*
 * Factors by which a pause exceeds the gap between messages, or a shortest
 * round trip. They are small because on a busy machine a long interval is
 * rarely undisturbed.
 */
#define SEND_PAUSE_FACTOR 2.0
#define RECV_PAUSE_FACTOR 2.0

/* Chooses the sizes to measure. */
static void start_client(struct engine *e)
{
	struct client *a = &e->client;

	a->size[a->n_sizes++] = 1;
	for (double s = 8; s <= e->conf.max_bytes &&
			   a->n_sizes < MAX_SIZES;
	     s *= s < FEW ? 8 : GROWTH)
		a->size[a->n_sizes++] = (uint32_t)lround(s);
}

/* Waits until a message has completed. Returns 0 or -errno. */
static int await(struct engine *e, const struct np_op *op)
{
	double end_sec = INFINITY;

	for (unsigned turns = 1; op->status > 0; turns++) {
		e->net->ops->progress(e->net);
		if (turns % LOOK_EVERY)
			continue;
		if (e->conf.stop && e->conf.stop())
			return -EINTR;
		if (e->net->ops->lost(e->net, e->conf.peer))
			return -ECONNRESET;
		if (isinf(end_sec))
			end_sec = now(e) + NP_PRTT_PATIENCE_SEC;
		else if (now(e) > end_sec)
			return -ETIMEDOUT;
	}
	return op->status;
}

/* Simulates computation: leaves the network alone. */
static void spin(const struct engine *e, double sec)
{
	double end_sec = now(e) + sec;

	while (now(e) < end_sec)
		;
}

/* Announces a measurement and waits until the server is ready for it. */
static int announce(struct engine *e, uint32_t n, uint32_t bytes)
{
	int rc;

	e->announcement = (struct announcement){ n, bytes };
	if (n)
		recv(e, READY, e->in, 1, &e->ready);
	send(e, PLAN, &e->announcement, sizeof(e->announcement), &e->planned);
	rc = await(e, &e->planned);
	return rc || !n ? rc : await(e, &e->ready);
}

static int await_all(struct engine *e, uint32_t n)
{
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++)
		rc = await(e, &e->data[i]);
	return rc;
}

/* Measures PRTT(n, delay_sec, bytes). */
static int round_trip(struct engine *e, uint32_t n, double delay_sec,
		      uint32_t bytes, double *sec)
{
	double begin_sec;
	int rc = announce(e, n, bytes);

	if (rc)
		return rc;
	recv(e, REPLY, e->in, bytes, &e->reply);
	begin_sec = now(e);
	for (uint32_t i = 0; i < n; i++) {
		if (i && delay_sec > 0)
			spin(e, delay_sec);
		send(e, DATA, e->out, bytes, &e->data[i]);
	}
	rc = await(e, &e->reply);
	*sec = now(e) - begin_sec;
	return rc ? rc : await_all(e, n);
}

/* Measures the time to receive a message that has already arrived. */
static int receive(struct engine *e, double after_sec, uint32_t bytes,
		   double *sec)
{
	double begin_sec;
	int rc = announce(e, 1, bytes);

	if (rc)
		return rc;
	recv(e, REPLY, e->in, bytes, &e->reply);
	send(e, DATA, e->out, bytes, &e->data[0]);
	rc = await_all(e, 1);
	if (rc)
		return rc;
	spin(e, after_sec);
	begin_sec = now(e);
	rc = await(e, &e->reply);
	*sec = now(e) - begin_sec;
	return rc;
}

/* Whether the overheads of messages of this size are measured, too. */
static bool has_overhead(uint32_t bytes, double trip_sec)
{
	uint32_t left = bytes;

	while (left % 8 == 0)
		left /= 8;
	return bytes == 1 || (left == 1 && bytes <= OVERHEAD_BYTES &&
			      trip_sec <= OVERHEAD_TRIP_SEC);
}

/* Makes the current measurement of a block once. */
static int measure(struct engine *e, struct np_prtt *p)
{
	struct client *a = &e->client;
	size_t after = a->kind - a->n_sizes, i;

	*p = (struct np_prtt){ .block = a->block - 1, .n = 1, .bytes = 1 };
	if (a->kind < a->n_sizes) {
		p->bytes = a->size[a->kind];
		return round_trip(e, 1, 0, p->bytes, &p->sec);
	}
	p->n = NP_PRTT_MESSAGES;
	if (!after)
		return round_trip(e, p->n, 0, p->bytes, &p->sec);
	i = a->overhead[(after - 1) / 2];
	p->bytes = a->size[i];
	if (after % 2 == 0) {
		p->n = 0;
		return receive(e, RECV_PAUSE_FACTOR * a->trip_sec[i], p->bytes,
			       &p->sec);
	}
	p->delay_sec = SEND_PAUSE_FACTOR *
		       (a->gap_sec +
			fmax(0, a->trip_sec[i] - a->trip_sec[0]) / 2);
	return round_trip(e, p->n, p->delay_sec, p->bytes, &p->sec);
}

/* Records the median of one kind. */
static void record_median(struct engine *e, struct np_prtt *p)
{
	struct client *a = &e->client;

	qsort(a->sec, NP_PRTT_REPEATS, sizeof(a->sec[0]), np_order_double);
	p->sec = a->sec[NP_PRTT_REPEATS / 2];
	if (a->block) {
		e->conf.report(p, e->conf.env.arg);
	} else if (a->kind < a->n_sizes) {
		a->trip_sec[a->kind] = p->sec;
		/* too long: this size and all larger ones are excluded */
		if (p->sec > e->conf.max_sec)
			a->n_sizes = a->kind--;
		else if (has_overhead(p->bytes, p->sec))
			a->overhead[a->n_overheads++] = a->kind;
	} else if (a->kind == a->n_sizes) {
		a->gap_sec = fmax(p->sec - a->trip_sec[0], a->trip_sec[0]) /
			     (NP_PRTT_MESSAGES - 1);
	}
}

/* Advances to the next measurement; returns false after the last one. */
static bool proceed(struct engine *e, struct np_prtt *p)
{
	struct client *a = &e->client;

	a->sec[a->repeat++] = p->sec;
	if (a->repeat < NP_PRTT_REPEATS)
		return true;
	a->repeat = 0;
	record_median(e, p);
	if (++a->kind <= a->n_sizes + 2 * a->n_overheads)
		return true;
	a->kind = 0;
	return a->block++ < e->conf.blocks;
}

/* Makes one measurement. */
static void client_step(struct engine *e)
{
	struct np_prtt p;
	char note[128];
	int rc = measure(e, &p);

	if (!rc && !proceed(e, &p)) {
		rc = announce(e, 0, 0);
		end(e, NULL);
	}
	if (!rc)
		return;
	snprintf(note, sizeof(note), "the peer does not answer: %s",
		 strerror(-rc));
	end(e, rc == -EINTR ? NULL : note);
}

/* ---- The server: one state for each thing it waits for ---- */

/* Waits for the next announcement. */
static void await_plan(struct engine *e)
{
	e->state = AWAITS_PLAN;
	recv(e, PLAN, &e->announcement, sizeof(e->announcement), &e->planned);
}

static void start_server(struct engine *e)
{
	e->heard_sec = now(e);
	await_plan(e);
}

/* Handles an announcement: posts its receives and replies that it is ready. */
static void accept_plan(struct engine *e)
{
	if (!e->announcement.n) {
		end(e, NULL);
		return;
	}
	if (e->announcement.n > NP_PRTT_MESSAGES || !e->announcement.bytes ||
	    e->announcement.bytes > e->conf.max_bytes) {
		end(e, "the peer announced an impossible measurement "
		       "(another version of this program?)");
		return;
	}
	for (uint32_t i = 0; i < e->announcement.n; i++)
		recv(e, DATA, e->in, e->announcement.bytes, &e->data[i]);
	e->state = AWAITS_DATA;
	send(e, READY, e->out, 1, &e->ready);
}

/* 1 if all messages have arrived, in any order; 0, or -errno. */
static int have_arrived(const struct engine *e)
{
	int done = 1;

	for (uint32_t i = 0; i < e->announcement.n; i++) {
		if (e->data[i].status < 0)
			return e->data[i].status;
		done &= e->data[i].status == 0;
	}
	return done;
}

/* Whether a request of the server has failed. */
static int failed(const struct engine *e)
{
	return e->planned.status < 0 || e->ready.status < 0 ||
	       e->reply.status < 0;
}

/* Handles what has arrived. */
static void server_step(struct engine *e, double now_sec)
{
	int came = e->state == AWAITS_DATA ? have_arrived(e) :
		   e->planned.status == 0 && e->reply.status == 0;

	if (came > 0) {
		e->heard_sec = now_sec;
		if (e->state == AWAITS_PLAN) {
			accept_plan(e);
		} else {
			send(e, REPLY, e->out, e->announcement.bytes,
			     &e->reply);
			await_plan(e);
		}
	} else if (came < 0 || failed(e) ||
		   e->net->ops->lost(e->net, e->conf.peer) ||
		   now_sec > e->heard_sec + 2 * NP_PRTT_PATIENCE_SEC) {
		end(e, "the connection to the peer is lost");
	}
}

/* ---- Both sides ---- */

/* One step of the engine, in its part as client or server. */
static void step(struct np_engine *engine, double now_sec,
		 struct np_next *next)
{
	struct engine *e = (struct engine *)engine;

	if (!e->over && e->conf.is_client)
		client_step(e);
	else if (!e->over)
		server_step(e, now_sec);
	*next = e->over ? (struct np_next){ NP_WAIT_SLEEP, INFINITY } :
			  (struct np_next){ NP_WAIT_POLL, now_sec };
}

static void free_engine(struct np_engine *engine)
{
	struct engine *e = (struct engine *)engine;

	free(e->out);
	free(e->in);
	free(e);
}

int np_prtt_new(const struct np_prtt_conf *conf, struct np_engine **out)
{
	static const struct np_engine_ops ops = { step, free_engine };
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = (struct engine){
		.engine.ops = &ops, .conf = *conf, .net = conf->env.net,
		.out = calloc(1, conf->max_bytes),
		.in = calloc(1, conf->max_bytes), .over = !conf->takes_part,
	};
	if (!e->out || !e->in) {
		free_engine(&e->engine);
		return -ENOMEM;
	}
	if (conf->takes_part && conf->is_client)
		start_client(e);
	else if (conf->takes_part)
		start_server(e);
	*out = &e->engine;
	return 0;
}
