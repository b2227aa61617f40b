#include "np_transfers.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_SEC 1.0 /* between looks whether others are still there */

enum kind { READY = 16, GO, DATA, TOKEN, TIME }; /* in tags */
enum state { BEGINS, GATHERS, RUNS, OVER };

/* Of one transfer, what this process has to do with it. */
struct part {
	struct np_op data, token, time; /* the last: sender and first process */
	double began_sec;
	bool started, answered, told;
};

struct transfers {
	struct np_engine engine;
	struct np_transfers_conf conf;
	struct np_net *net;
	enum state state;
	size_t at; /* the present trial */
	double began_sec, go_sec, look_sec;
	struct part *part;   /* of each transfer of the trial */
	double *sec;	     /* times of all, in the first process */
	struct np_op *ready; /* of each rank; the first process receives */
	struct np_op *go;    /* of each rank; the first process sends */
	char *out, *in;	     /* what messages hold is of no interest */
	char token[4];
};

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

/* After all trials there is an empty one: nobody leaves before all are done. */
static bool is_last(const struct transfers *r)
{
	return r->at == r->conf.n_trials;
}

static const struct np_trial *trial(const struct transfers *r)
{
	static const struct np_trial empty;

	return is_last(r) ? &empty : &r->conf.trial[r->at];
}

/* Of what, of which trial, and of which transfer or rank. */
static uint64_t tag(const struct transfers *r, enum kind kind, size_t i)
{
	return (uint64_t)kind << 40 | (uint64_t)r->at << 16 | i;
}

static void send(struct transfers *r, uint32_t to, uint64_t t,
		 const void *buf, size_t len, struct np_op *op)
{
	r->net->ops->send(r->net, to, t, buf, len, op);
}

static void recv(struct transfers *r, uint64_t t, void *buf, size_t len,
		 struct np_op *op)
{
	r->net->ops->recv(r->net, t, buf, len, op);
}

static void end(struct transfers *r, int rc, const char *why)
{
	r->state = OVER;
	r->conf.over(rc, why, r->conf.env.arg);
}

static bool is_first(const struct transfers *r)
{
	return r->conf.env.rank == 0;
}

/* Post what is to come, and say so. */
static void begin(struct transfers *r, double now_sec)
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
			recv(r, tag(r, TIME, i), &r->sec[i],
			     sizeof(r->sec[i]), &p->time);
	}
	if (is_first(r))
		for (uint32_t k = 1; k < c->n_ranks; k++)
			recv(r, tag(r, READY, k), r->token + 1, 1,
			     &r->ready[k]);
	else {
		recv(r, tag(r, GO, c->env.rank), r->token + 2, 1,
		     &r->go[c->env.rank]);
		send(r, 0, tag(r, READY, c->env.rank), "", 1, &r->ready[c->env.rank]);
	}
	r->began_sec = now_sec;
	r->state = GATHERS;
}

/* 0 is done, 1 under way; a failure ends all. */
static int look(struct transfers *r, const struct np_op *op)
{
	char why[64];

	if (op->status >= 0 || r->state == OVER)
		return op->status > 0;
	snprintf(why, sizeof(why), "a message failed: %s",
		 strerror(-op->status));
	end(r, op->status, why);
	return 1;
}

static void gather(struct transfers *r, double now_sec)
{
	const struct np_transfers_conf *c = &r->conf;

	if (is_first(r)) {
		for (uint32_t k = 1; k < c->n_ranks; k++)
			if (look(r, &r->ready[k]))
				return;
		for (uint32_t k = 1; k < c->n_ranks; k++)
			send(r, k, tag(r, GO, k), "", 1, &r->go[k]);
	} else if (look(r, &r->ready[c->env.rank]) || look(r, &r->go[c->env.rank])) {
		return;
	}
	r->go_sec = now_sec;
	r->state = RUNS;
}

/* As the sender: true as long as something is to be done. */
static bool sending(struct transfers *r, size_t i, double now_sec,
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
	if (look(r, &p->data) || look(r, &p->token))
		return true;
	if (!p->told) {
		p->told = true;
		r->sec[i] = now_sec - p->began_sec;
		if (!is_first(r))
			send(r, 0, tag(r, TIME, i), &r->sec[i],
			     sizeof(r->sec[i]), &p->time);
	}
	return look(r, &p->time);
}

/* As the receiver. */
static bool receiving(struct transfers *r, size_t i)
{
	struct part *p = &r->part[i];

	if (!p->answered) {
		if (look(r, &p->data))
			return true;
		p->answered = true;
		send(r, trial(r)->t[i].from, tag(r, TOKEN, i), "", 1,
		     &p->token);
	}
	return look(r, &p->token);
}

static bool going(struct transfers *r)
{
	for (uint32_t k = 1; is_first(r) && k < r->conf.n_ranks; k++)
		if (look(r, &r->go[k]))
			return true;
	return false;
}

static void run(struct transfers *r, double now_sec, double *wake_sec)
{
	bool busy = false;

	for (size_t i = 0; i < trial(r)->n && r->state == RUNS; i++) {
		const struct np_transfer *t = &trial(r)->t[i];

		if (t->from == r->conf.env.rank)
			busy |= sending(r, i, now_sec, wake_sec);
		else if (t->to == r->conf.env.rank)
			busy |= receiving(r, i);
		if (is_first(r) && t->from && r->state == RUNS)
			busy |= look(r, &r->part[i].time) != 0;
	}
	if (busy || r->state != RUNS || going(r))
		return;
	r->state = BEGINS;
	if (is_last(r))
		end(r, 0, "");
	else if (is_first(r))
		r->conf.done(r->at, r->sec, r->conf.env.arg);
	r->at++;
}

/*
 * Others may be gone, or a trial never end.  In the end they go, but not before
 * the first process has heard from all.
 */
static void look_around(struct transfers *r, double now_sec)
{
	const struct np_transfers_conf *c = &r->conf;
	char why[96];

	if (now_sec < r->look_sec)
		return;
	r->look_sec = now_sec + LOOK_SEC;
	for (uint32_t k = 0; k < c->n_ranks && r->state != OVER; k++) {
		bool may_go = is_last(r) && !is_first(r) && k;
		int rc = k == c->env.rank || may_go ? 0 :
			 r->net->ops->lost(r->net, k);

		if (!rc)
			continue;
		snprintf(why, sizeof(why), "process %u is lost: %s", k,
			 strerror(-rc));
		end(r, rc, why);
	}
	if (r->state == OVER || now_sec < r->began_sec + c->patience_sec)
		return;
	snprintf(why, sizeof(why), "trial %zu not over after %g s", r->at,
		 c->patience_sec);
	end(r, -ETIMEDOUT, why);
}

static void step(struct np_engine *engine, double now_sec,
		 struct np_next *next)
{
	struct transfers *r = (struct transfers *)engine;
	double wake_sec = INFINITY;

	if (r->state == BEGINS)
		begin(r, now_sec);
	if (r->state == GATHERS)
		gather(r, now_sec);
	if (r->state == RUNS)
		run(r, now_sec, &wake_sec);
	if (r->state != OVER)
		look_around(r, now_sec);
	if (r->state == OVER)
		*next = (struct np_next){ NP_WAIT_SLEEP, INFINITY };
	else if (r->state == BEGINS)
		*next = (struct np_next){ NP_WAIT_POLL, now_sec };
	else
		*next = (struct np_next){ NP_WAIT_NET,
					  fmin(wake_sec, r->look_sec) };
}

static void free_transfers(struct np_engine *engine)
{
	struct transfers *r = (struct transfers *)engine;

	free(r->part);
	free(r->sec);
	free(r->ready);
	free(r->go);
	free(r->out);
	free(r->in);
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
	r->ready = calloc(conf->n_ranks, sizeof(*r->ready));
	r->go = calloc(conf->n_ranks, sizeof(*r->go));
	r->out = calloc(1, bytes);
	r->in = calloc(1, bytes);
	if (!r->part || !r->sec || !r->ready || !r->go || !r->out || !r->in) {
		free_transfers(&r->engine);
		return -ENOMEM;
	}
	*out = &r->engine;
	return 0;
}
