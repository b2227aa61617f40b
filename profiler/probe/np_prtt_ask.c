/* The side that asks, and measures. */
#include "np_prtt_sides.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static double now(const struct np_prtt_engine *e)
{
	return e->clock->now_sec(e->clock);
}

void np_prtt_ask_start(struct np_prtt_engine *e)
{
	struct np_prtt_asker *a = &e->asker;

	a->size[a->n_sizes++] = 1;
	for (double s = 8; s <= e->conf.max_bytes &&
			   a->n_sizes < NP_PRTT_SIZES;
	     s *= s < FEW ? 8 : GROWTH)
		a->size[a->n_sizes++] = (uint32_t)lround(s);
}

/* 0 once the message is over; else -errno. */
static int await(struct np_prtt_engine *e, const struct np_op *op)
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
static void pass(const struct np_prtt_engine *e, double sec)
{
	double end_sec = now(e) + sec;

	while (now(e) < end_sec)
		;
}

static int announce(struct np_prtt_engine *e, uint32_t n, uint32_t bytes)
{
	struct np_prtt_asker *a = &e->asker;
	int rc;

	a->plan = (struct np_prtt_plan){ n, bytes };
	if (n)
		e->net->ops->recv(e->net, NP_PRTT_READY, e->in, 1, &a->ready);
	np_prtt_send(e, NP_PRTT_PLAN, &a->plan, sizeof(a->plan),
		     &a->plan_sent);
	rc = await(e, &a->plan_sent);
	return rc || !n ? rc : await(e, &a->ready);
}

static int await_all(struct np_prtt_engine *e, uint32_t n)
{
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++)
		rc = await(e, &e->asker.data[i]);
	return rc;
}

/* PRTT(n, delay_sec, bytes) */
static int round_trip(struct np_prtt_engine *e, uint32_t n, double delay_sec,
		      uint32_t bytes, double *sec)
{
	struct np_prtt_asker *a = &e->asker;
	double begin_sec;
	int rc = announce(e, n, bytes);

	if (rc)
		return rc;
	e->net->ops->recv(e->net, NP_PRTT_REPLY, e->in, bytes, &a->reply);
	begin_sec = now(e);
	for (uint32_t i = 0; i < n; i++) {
		if (i && delay_sec > 0)
			pass(e, delay_sec);
		np_prtt_send(e, NP_PRTT_DATA, e->out, bytes, &a->data[i]);
	}
	rc = await(e, &a->reply);
	*sec = now(e) - begin_sec;
	return rc ? rc : await_all(e, n);
}

/* How long it takes to receive a message that is there. */
static int receive(struct np_prtt_engine *e, double after_sec, double *sec)
{
	struct np_prtt_asker *a = &e->asker;
	double begin_sec;
	int rc = announce(e, 1, 1);

	if (rc)
		return rc;
	e->net->ops->recv(e->net, NP_PRTT_REPLY, e->in, 1, &a->reply);
	np_prtt_send(e, NP_PRTT_DATA, e->out, 1, &a->data[0]);
	rc = await_all(e, 1);
	if (rc)
		return rc;
	pass(e, after_sec);
	begin_sec = now(e);
	rc = await(e, &a->reply);
	*sec = now(e) - begin_sec;
	return rc;
}

/* Measurement number `what` of a block, once. */
static int measure(struct np_prtt_engine *e, struct np_prtt *p)
{
	struct np_prtt_asker *a = &e->asker;
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
static void count(struct np_prtt_engine *e, struct np_prtt *p)
{
	struct np_prtt_asker *a = &e->asker;

	qsort(a->sec, NP_PRTT_REPEATS, sizeof(a->sec[0]), ascending);
	p->sec = a->sec[NP_PRTT_REPEATS / 2];
	if (a->block) {
		e->conf.report(p, e->conf.arg);
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
static bool proceed(struct np_prtt_engine *e, struct np_prtt *p)
{
	struct np_prtt_asker *a = &e->asker;

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

void np_prtt_ask(struct np_prtt_engine *e)
{
	struct np_prtt p;
	char note[128];
	int rc = measure(e, &p);

	if (!rc && !proceed(e, &p)) {
		rc = announce(e, 0, 0);
		np_prtt_end(e, NULL);
	}
	if (!rc)
		return;
	snprintf(note, sizeof(note), "the partner does not answer: %s",
		 strerror(-rc));
	np_prtt_end(e, rc == -EINTR ? NULL : note);
}
