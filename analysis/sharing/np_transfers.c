/*
 * A state machine per process: begin a trial, wait until all are ready, run it.
 * Every call of step() handles whatever has completed.
 */
#include "np_transfers.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Interval of checks whether the other processes still run. */
#define POLL_SEC 1.0

enum kind { READY = 16, GO, DATA, TOKEN, TIME }; /* part of the tag */
enum state { BEGIN_TRIAL, AWAIT_READY, RUNNING, DONE };

/* This process's part in one transfer. */
struct part {
	/* time: from the sender to the first process */
	struct np_op data, token, time;
	double began_sec;
	bool started, acknowledged, reported; /* the last: its time */
};

struct transfers {
	struct np_engine engine;
	struct np_transfers_conf conf;
	struct np_net *net;
	enum state state;
	size_t at; /* current trial */
	double began_sec, go_sec, poll_sec;
	struct part *part;   /* by transfer of the trial */
	double *sec;	     /* times of all transfers, in the first process */
	struct np_op *ready; /* by rank; received by the first process */
	struct np_op *go;    /* by rank; sent by the first process */
	char *out, *in;	     /* message buffers; the content does not matter */
	char token[4];
};

/* Largest number of transfers in a trial; *bytes: largest transfer. */
static size_t largest(const struct np_transfers_conf *c, size_t *bytes)
{
	size_t n = 0;

	*bytes = 1;
	for (size_t i = 0; i < c->n_trials; i++) {
		const struct np_trial *t = &c->trial[i];

		n = t->n > n ? t->n : n;
		for (size_t k = 0; k < t->n; k++)
			if (t->t[k].bytes > *bytes)
				*bytes = t->t[k].bytes;
	}
	return n;
}

/*
 * An empty trial follows the last one, so that no process ends before all have
 * finished.
 */
static bool is_last(const struct transfers *r)
{
	return r->at == r->conf.n_trials;
}

/* The current trial; an empty one after the last. */
static const struct np_trial *trial(const struct transfers *r)
{
	static const struct np_trial empty;

	return is_last(r) ? &empty : &r->conf.trial[r->at];
}

/* Tag from the kind, the trial, and the transfer or rank. */
static uint64_t tag(const struct transfers *r, enum kind kind, size_t i)
{
	return (uint64_t)kind << 40 | (uint64_t)r->at << 16 | i;
}

static void send(struct transfers *r, uint32_t to, uint64_t t, const void *buf,
		 size_t len, struct np_op *op)
{
	r->net->ops->send(r->net, to, t, buf, len, op);
}

static void recv(struct transfers *r, uint64_t t, void *buf, size_t len,
		 struct np_op *op)
{
	r->net->ops->recv(r->net, t, buf, len, op);
}

/* Ends the measurement. */
static void end(struct transfers *r, int rc, const char *why)
{
	r->state = DONE;
	r->conf.over(rc, why, r->conf.env.arg);
}

static bool is_first(const struct transfers *r)
{
	return r->conf.env.rank == 0;
}

/* Begins a trial: posts receives and reports ready. */
static void begin_trial(struct transfers *r, double now_sec)
{
	const struct np_transfers_conf *c = &r->conf;

	memset(r->part, 0, trial(r)->n * sizeof(*r->part));
	for (size_t i = 0; i < trial(r)->n; i++) {
		const struct np_transfer *t = &trial(r)->t[i];
		struct part *p = &r->part[i];

		if (t->to == c->env.rank)
			recv(r, tag(r, DATA, i), r->in, t->bytes, &p->data);
		if (t->from == c->env.rank)
			recv(r, tag(r, TOKEN, i), r->token, 1, &p->token);
		if (is_first(r) && t->from)
			recv(r, tag(r, TIME, i), &r->sec[i], sizeof(r->sec[i]),
			     &p->time);
	}
	if (is_first(r))
		for (uint32_t k = 1; k < c->n_ranks; k++)
			recv(r, tag(r, READY, k), r->token + 1, 1,
			     &r->ready[k]);
	else {
		recv(r, tag(r, GO, c->env.rank), r->token + 2, 1,
		     &r->go[c->env.rank]);
		send(r, 0, tag(r, READY, c->env.rank), "", 1,
		     &r->ready[c->env.rank]);
	}
	r->began_sec = now_sec;
	r->state = AWAIT_READY;
}

/*
 * Returns 0 when a message is complete, 1 otherwise; a failure ends everything.
 */
static int is_incomplete(struct transfers *r, const struct np_op *op)
{
	char why[64];

	if (op->status >= 0 || r->state == DONE)
		return op->status > 0;
	snprintf(why, sizeof(why), "a message failed: %s",
		 strerror(-op->status));
	end(r, op->status, why);
	return 1;
}

/*
 * First process: waits until all are ready, then sends them GO. Others: wait for
 * that.
 */
static void await_ready(struct transfers *r, double now_sec)
{
	const struct np_transfers_conf *c = &r->conf;

	if (is_first(r)) {
		for (uint32_t k = 1; k < c->n_ranks; k++)
			if (is_incomplete(r, &r->ready[k]))
				return;
		for (uint32_t k = 1; k < c->n_ranks; k++)
			send(r, k, tag(r, GO, k), "", 1, &r->go[k]);
	} else if (is_incomplete(r, &r->ready[c->env.rank]) ||
		   is_incomplete(r, &r->go[c->env.rank])) {
		return;
	}
	r->go_sec = now_sec;
	r->state = RUNNING;
}

/* Handles a transfer as its sender; returns true while it is incomplete. */
static bool step_send(struct transfers *r, size_t i, double now_sec,
		      double *wake_sec)
{
	const struct np_transfer *t = &trial(r)->t[i];
	struct part *p = &r->part[i];

	if (!p->started && now_sec < r->go_sec + t->at_sec) {
		*wake_sec = fmin(*wake_sec, r->go_sec + t->at_sec);
		return true;
	}
	if (!p->started) {
		p->started = true;
		p->began_sec = r->conf.env.clock->now_sec(r->conf.env.clock);
		send(r, t->to, tag(r, DATA, i), r->out, t->bytes, &p->data);
	}
	if (is_incomplete(r, &p->data) || is_incomplete(r, &p->token))
		return true;
	if (!p->reported) {
		p->reported = true;
		r->sec[i] = now_sec - p->began_sec;
		if (!is_first(r))
			send(r, 0, tag(r, TIME, i), &r->sec[i],
			     sizeof(r->sec[i]), &p->time);
	}
	return is_incomplete(r, &p->time);
}

/* Handles a transfer as its receiver. */
static bool step_recv(struct transfers *r, size_t i)
{
	struct part *p = &r->part[i];

	if (!p->acknowledged) {
		if (is_incomplete(r, &p->data))
			return true;
		p->acknowledged = true;
		send(r, trial(r)->t[i].from, tag(r, TOKEN, i), "", 1,
		     &p->token);
	}
	return is_incomplete(r, &p->token);
}

/* Whether messages GO are incomplete. */
static bool sending_go(struct transfers *r)
{
	for (uint32_t k = 1; is_first(r) && k < r->conf.n_ranks; k++)
		if (is_incomplete(r, &r->go[k]))
			return true;
	return false;
}

/*
 * Advances all transfers of this process, and ends the trial with the last one.
 */
static void step_transfers(struct transfers *r, double now_sec,
			   double *wake_sec)
{
	bool busy = false;

	for (size_t i = 0; i < trial(r)->n && r->state == RUNNING; i++) {
		const struct np_transfer *t = &trial(r)->t[i];

		if (t->from == r->conf.env.rank)
			busy |= step_send(r, i, now_sec, wake_sec);
		else if (t->to == r->conf.env.rank)
			busy |= step_recv(r, i);
		if (is_first(r) && t->from && r->state == RUNNING)
			busy |= is_incomplete(r, &r->part[i].time) != 0;
	}
	if (busy || r->state != RUNNING || sending_go(r))
		return;
	r->state = BEGIN_TRIAL;
	if (is_last(r))
		end(r, 0, "");
	else if (is_first(r))
		r->conf.done(r->at, r->sec, r->conf.env.arg);
	r->at++;
}

/*
 * Checks for lost processes and timeouts. At the end, processes may leave once
 * the first process has heard from all.
 */
static void check_others(struct transfers *r, double now_sec)
{
	const struct np_transfers_conf *c = &r->conf;
	char why[96];

	if (now_sec < r->poll_sec)
		return;
	r->poll_sec = now_sec + POLL_SEC;
	for (uint32_t k = 0; k < c->n_ranks && r->state != DONE; k++) {
		bool may_go = is_last(r) && !is_first(r) && k;
		int rc = k == c->env.rank || may_go ?
				 0 :
				 r->net->ops->lost(r->net, k);

		if (!rc)
			continue;
		snprintf(why, sizeof(why), "process %u is lost: %s", k,
			 strerror(-rc));
		end(r, rc, why);
	}
	if (r->state == DONE || now_sec < r->began_sec + c->patience_sec)
		return;
	snprintf(why, sizeof(why), "trial %zu has not ended after %g s", r->at,
		 c->patience_sec);
	end(r, -ETIMEDOUT, why);
}

/*
 * One step of the engine. It sleeps until a message completes or the next
 * transfer starts.
 */
static void step(struct np_engine *engine, double now_sec, struct np_next *next)
{
	struct transfers *r = (struct transfers *)engine;
	double wake_sec = INFINITY;

	if (r->state == BEGIN_TRIAL)
		begin_trial(r, now_sec);
	if (r->state == AWAIT_READY)
		await_ready(r, now_sec);
	if (r->state == RUNNING)
		step_transfers(r, now_sec, &wake_sec);
	if (r->state != DONE)
		check_others(r, now_sec);
	if (r->state == DONE)
		*next = (struct np_next){ NP_WAIT_SLEEP, INFINITY };
	else if (r->state == BEGIN_TRIAL)
		*next = (struct np_next){ NP_WAIT_POLL, now_sec };
	else
		*next = (struct np_next){ NP_WAIT_NET,
					  fmin(wake_sec, r->poll_sec) };
}

static void free_transfers(struct np_engine *engine)
{
	struct transfers *r = (struct transfers *)engine;

	free(r->part);
	free(r->sec);
	free(r->ready); /* go is in the same block */
	free(r->out);	/* and so is in */
	free(r);
}

int np_transfers_new(const struct np_transfers_conf *conf,
		     struct np_engine **out)
{
	static const struct np_engine_ops ops = { step, free_transfers };
	struct transfers *r = calloc(1, sizeof(*r));
	size_t bytes, n = largest(conf, &bytes);

	if (!r)
		return -ENOMEM;
	r->engine.ops = &ops;
	r->conf = *conf;
	r->net = conf->env.net;
	r->part = calloc(n + 1, sizeof(*r->part));
	r->sec = calloc(n + 1, sizeof(*r->sec));
	r->ready = calloc(2 * (size_t)conf->n_ranks, sizeof(*r->ready));
	r->go = r->ready + conf->n_ranks;
	r->out = calloc(2, bytes);
	r->in = r->out + bytes;
	if (!r->part || !r->sec || !r->ready || !r->out) {
		free_transfers(&r->engine);
		return -ENOMEM;
	}
	*out = &r->engine;
	return 0;
}
