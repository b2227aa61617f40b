#include "np_prtt.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both are in one step: each knows its own messages by their tags. */
enum { PLAN = 0x70727474, READY, DATA, REPLY };

#define MAX_SIZES 64

/* What the asking side announces; n 0: it was the last. */
struct plan {
	uint32_t n, bytes;
};

/* The side that asks: of measurements. */
struct asker {
	uint32_t size[MAX_SIZES];
	size_t n_sizes;
	double trip_sec[MAX_SIZES]; /* as the first block saw them */
	double gap_sec; /* between messages, the same */
	uint32_t block; /* 0: the one that is not reported */
	size_t what;	/* the next measurement of the block */
	size_t repeat;
	double sec[NP_PRTT_REPEATS];
};

struct engine {
	struct np_engine engine;
	struct np_prtt_conf conf;
	struct np_net *net;
	char *out, *in; /* max_bytes each; what is in them does not matter */
	bool over;
	/*
	 * Of each kind of message, whichever way it goes here.  Not on a stack,
	 * as they may be under way when all is over.
	 */
	struct plan plan;
	struct np_op planned, ready, reply, data[NP_PRTT_MESSAGES];
	struct asker asker;
	enum { RESTS, TAKES } state; /* of the side that answers */
	double heard_sec;	     /* the same */
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

/* No more is measured; note may be NULL. */
static void end(struct engine *e, const char *note)
{
	if (e->over)
		return;
	e->over = true;
	if (note)
		e->conf.env.note(note, e->conf.env.arg);
	e->conf.done(e->conf.env.arg);
}

/* ---- the side that asks, and measures ---- */

/* Sizes grow by this from FEW on; below they are powers of eight. */
#define GROWTH M_SQRT2
#define FEW 512

/* The last three kinds of a block, after all sizes. */
enum { GAP, SEND, RECV, N_KINDS };

/* Turns of waiting between two looks at anything but the message. */
#define LOOK_EVERY 1024

/*
 * Pauses that outlast what is under way: of the gap between messages, and of
 * a shortest round trip.  No longer than needed, as on a machine that does
 * something else as well a long time is seldom undisturbed.
 */
#define SEND_PAUSE 2.0
#define RECV_PAUSE 2.0

static void ask_start(struct engine *e)
{
	struct asker *a = &e->asker;

	a->size[a->n_sizes++] = 1;
	for (double s = 8; s <= e->conf.max_bytes &&
			   a->n_sizes < MAX_SIZES;
	     s *= s < FEW ? 8 : GROWTH)
		a->size[a->n_sizes++] = (uint32_t)lround(s);
}

/* 0 once the message is over; else -errno. */
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

/* Compute, so to say: the network is left alone. */
static void pass(const struct engine *e, double sec)
{
	double end_sec = now(e) + sec;

	while (now(e) < end_sec)
		;
}

static int announce(struct engine *e, uint32_t n, uint32_t bytes)
{
	int rc;

	e->plan = (struct plan){ n, bytes };
	if (n)
		recv(e, READY, e->in, 1, &e->ready);
	send(e, PLAN, &e->plan, sizeof(e->plan), &e->planned);
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

/* PRTT(n, delay_sec, bytes) */
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
			pass(e, delay_sec);
		send(e, DATA, e->out, bytes, &e->data[i]);
	}
	rc = await(e, &e->reply);
	*sec = now(e) - begin_sec;
	return rc ? rc : await_all(e, n);
}

/* How long it takes to receive a message that is there. */
static int receive(struct engine *e, double after_sec, double *sec)
{
	double begin_sec;
	int rc = announce(e, 1, 1);

	if (rc)
		return rc;
	recv(e, REPLY, e->in, 1, &e->reply);
	send(e, DATA, e->out, 1, &e->data[0]);
	rc = await_all(e, 1);
	if (rc)
		return rc;
	pass(e, after_sec);
	begin_sec = now(e);
	rc = await(e, &e->reply);
	*sec = now(e) - begin_sec;
	return rc;
}

/* Measurement number `what` of a block, once. */
static int measure(struct engine *e, struct np_prtt *p)
{
	struct asker *a = &e->asker;
	double shortest = a->trip_sec[0];

	*p = (struct np_prtt){ .block = a->block - 1, .n = 1, .bytes = 1 };
	if (a->what < a->n_sizes) {
		p->bytes = a->size[a->what];
		return round_trip(e, 1, 0, p->bytes, &p->sec);
	}
	if (a->what == a->n_sizes + RECV) {
		p->n = 0;
		return receive(e, RECV_PAUSE * shortest, &p->sec);
	}
	p->n = NP_PRTT_MESSAGES;
	if (a->what == a->n_sizes + SEND)
		p->delay_sec = SEND_PAUSE * a->gap_sec;
	return round_trip(e, p->n, p->delay_sec, 1, &p->sec);
}

static int ascending(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

/* One kind is measured: its median counts. */
static void count(struct engine *e, struct np_prtt *p)
{
	struct asker *a = &e->asker;

	qsort(a->sec, NP_PRTT_REPEATS, sizeof(a->sec[0]), ascending);
	p->sec = a->sec[NP_PRTT_REPEATS / 2];
	if (a->block) {
		e->conf.report(p, e->conf.env.arg);
	} else if (a->what < a->n_sizes) {
		a->trip_sec[a->what] = p->sec;
		if (p->sec > e->conf.max_sec) /* this one was too long */
			a->n_sizes = a->what--;
	} else if (a->what == a->n_sizes + GAP) {
		a->gap_sec = fmax(p->sec - a->trip_sec[0], a->trip_sec[0]) /
			     (NP_PRTT_MESSAGES - 1);
	}
}

/* To the next one; false: that was all. */
static bool proceed(struct engine *e, struct np_prtt *p)
{
	struct asker *a = &e->asker;

	a->sec[a->repeat++] = p->sec;
	if (a->repeat < NP_PRTT_REPEATS)
		return true;
	a->repeat = 0;
	count(e, p);
	if (++a->what < a->n_sizes + N_KINDS)
		return true;
	a->what = 0;
	return a->block++ < e->conf.blocks;
}

/* Measure once. */
static void ask(struct engine *e)
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
	snprintf(note, sizeof(note), "the partner does not answer: %s",
		 strerror(-rc));
	end(e, rc == -EINTR ? NULL : note);
}

/* ---- the side that answers: a state for each thing it waits for ---- */

static void await_plan(struct engine *e)
{
	e->state = RESTS;
	recv(e, PLAN, &e->plan, sizeof(e->plan), &e->planned);
}

static void answer_start(struct engine *e)
{
	e->heard_sec = now(e);
	await_plan(e);
}

static void prepare(struct engine *e)
{
	if (!e->plan.n) {
		end(e, NULL);
		return;
	}
	if (e->plan.n > NP_PRTT_MESSAGES || !e->plan.bytes ||
	    e->plan.bytes > e->conf.max_bytes) {
		end(e, "the partner announced what cannot be measured "
		       "(another version of this program?)");
		return;
	}
	for (uint32_t i = 0; i < e->plan.n; i++)
		recv(e, DATA, e->in, e->plan.bytes, &e->data[i]);
	e->state = TAKES;
	send(e, READY, e->out, 1, &e->ready);
}

/* All of them, in whatever order they become known: 1, or -errno. */
static int have_come(const struct engine *e)
{
	int done = 1;

	for (uint32_t i = 0; i < e->plan.n; i++) {
		if (e->data[i].status < 0)
			return e->data[i].status;
		done &= e->data[i].status == 0;
	}
	return done;
}

static int failed(const struct engine *e)
{
	return e->planned.status < 0 || e->ready.status < 0 ||
	       e->reply.status < 0;
}

/* Do what has come. */
static void answer(struct engine *e, double now_sec)
{
	int came = e->state == TAKES ? have_come(e) :
		   e->planned.status == 0 && e->reply.status == 0;

	if (came > 0) {
		e->heard_sec = now_sec;
		if (e->state == RESTS) {
			prepare(e);
		} else {
			send(e, REPLY, e->out, e->plan.bytes, &e->reply);
			await_plan(e);
		}
	} else if (came < 0 || failed(e) ||
		   e->net->ops->lost(e->net, e->conf.peer) ||
		   now_sec > e->heard_sec + 2 * NP_PRTT_PATIENCE_SEC) {
		end(e, "the partner is lost");
	}
}

/* ---- both ---- */

static void step(struct np_engine *engine, double now_sec,
		 struct np_next *next)
{
	struct engine *e = (struct engine *)engine;

	if (!e->over && e->conf.asks)
		ask(e);
	else if (!e->over)
		answer(e, now_sec);
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
	if (conf->takes_part && conf->asks)
		ask_start(e);
	else if (conf->takes_part)
		answer_start(e);
	*out = &e->engine;
	return 0;
}
