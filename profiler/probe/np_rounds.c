/* CompressionB: rounds of messages, with pauses, that put load on the network. */
#include "np_engine.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TAG_ROUND (3ull << 32) /* plus the rank of the sender */
#define GOLDEN_RATIO 0.61803398874989485

enum state { STARTING, PAUSING, WAITING, BROKEN };

struct rounds {
	struct np_engine engine;
	struct np_rounds_conf conf;
	enum state state;
	/*
	 * All messages are sent from one buffer and received into another,
	 * because nobody looks at their contents.
	 */
	char *out, *in;
	struct np_op *ops; /* n_each receives, then n_each sends */
	size_t n_each;	   /* messages per round in each direction: P * M */
	/* index of the first of ops[] that may be unfinished */
	size_t first_open;
	double start_sec, pause_end_sec, poll_until_sec;
	bool overdue; /* the round is late, and this has been noted */
	uint64_t n_started, n_rounds;
	/*
	 * P successors, then P predecessors. The loss of a predecessor is known
	 * only from a failed receive.
	 */
	struct np_liveness *peer;
};

static void init_peers(struct rounds *r)
{
	const struct np_rounds_conf *c = &r->conf;

	for (size_t i = 0; i < c->level.peers; i++) {
		r->peer[i] = (struct np_liveness){
			.env = &c->env, .rank = (uint32_t)c->to[i],
		};
		r->peer[c->level.peers + i] = (struct np_liveness){
			.env = &c->env,
			.rank = (uint32_t)c->from[i],
		};
	}
}

/* Peer of an operation. Receives are posted peer by peer, sends in turns. */
static struct np_liveness *peer_of(const struct rounds *r, size_t op)
{
	const struct np_level *l = &r->conf.level;

	return op < r->n_each ? &r->peer[l->peers + op / l->messages] :
				&r->peer[(op - r->n_each) % l->peers];
}

/* The mean is B, even over few rounds. */
static double next_pause_sec(struct rounds *r)
{
	double place = r->conf.phase + (double)r->n_started++ * GOLDEN_RATIO;

	return r->conf.level.pause_sec * (0.5 + place - floor(place));
}

static void start_round(struct rounds *r)
{
	const struct np_rounds_conf *c = &r->conf;
	const struct np_level *l = &c->level;
	struct np_net *net = c->env.net;
	struct np_op *op = r->ops;

	r->start_sec = c->env.clock->now_sec(c->env.clock);
	for (size_t p = 0; p < l->peers; p++)
		for (size_t m = 0; m < l->messages; m++)
			net->ops->recv(net, TAG_ROUND | c->from[p], r->in,
				       l->bytes, op++);
	r->first_open = 0;
	r->pause_end_sec = r->start_sec + next_pause_sec(r);
	r->state = PAUSING;
}

/* In turns, so that no successor waits for the last message of another. */
static void send_all(struct rounds *r, double now_sec)
{
	const struct np_rounds_conf *c = &r->conf;
	const struct np_level *l = &c->level;
	struct np_net *net = c->env.net;
	struct np_op *op = r->ops + r->n_each;

	for (size_t m = 0; m < l->messages; m++)
		for (size_t p = 0; p < l->peers; p++)
			net->ops->send(net, (uint32_t)c->to[p],
				       TAG_ROUND | c->env.rank, r->out,
				       l->bytes, op++);
	r->engine.messages += r->n_each;
	r->poll_until_sec = now_sec + NP_ROUNDS_POLL_SEC;
	r->state = WAITING;
}

/* 1: messages are in flight; 0: all have arrived; -errno: one failed */
static int in_flight(struct rounds *r)
{
	while (r->first_open < 2 * r->n_each) {
		int status = r->ops[r->first_open].status;

		if (status)
			return status;
		r->first_open++;
	}
	return 0;
}

static void wait_for_all(struct rounds *r, double now_sec)
{
	const struct np_rounds_conf *c = &r->conf;
	int status = in_flight(r);

	if (status < 0) {
		np_liveness_lost(peer_of(r, r->first_open), now_sec);
		r->state = BROKEN;
	} else if (!status) {
		if (r->n_rounds++ && !r->overdue)
			c->env.count(now_sec - c->env.start_sec,
				     now_sec - r->start_sec, c->env.arg);
		r->overdue = false;
		r->state = STARTING;
	}
}

/* A lost predecessor shows only as a round that does not end. */
static double check_round(struct rounds *r, double now_sec)
{
	double limit_sec = r->pause_end_sec + NP_ROUNDS_PATIENCE_SEC;
	char text[64];

	if (r->state != WAITING || r->overdue)
		return INFINITY;
	if (now_sec < limit_sec)
		return limit_sec;
	r->overdue = true;
	snprintf(text, sizeof(text), "round not over %g s after its pause",
		 NP_ROUNDS_PATIENCE_SEC);
	r->conf.env.note(text, r->conf.env.arg);
	return INFINITY;
}

/* A round needs every successor, so the loss of one ends all rounds. */
static double check_peers(struct rounds *r, double now_sec)
{
	double first_sec = INFINITY, check_sec;

	for (size_t i = 0; i < 2 * r->conf.level.peers; i++) {
		if (i >= r->conf.level.peers &&
		    r->peer[i].state != NP_PEER_LOST)
			continue;
		if (np_liveness_check(&r->peer[i], now_sec, INFINITY,
				      &check_sec) == NP_PEER_LOST)
			r->state = BROKEN;
		first_sec = fmin(first_sec, check_sec);
	}
	return first_sec;
}

static void next_wait(const struct rounds *r, double now_sec,
		      double check_sec, struct np_next *next)
{
	int poll_pause = r->conf.level.pause_sec < NP_ROUNDS_POLL_SEC;

	if (r->state == BROKEN)
		*next = (struct np_next){ NP_WAIT_SLEEP, check_sec };
	else if (r->state == PAUSING)
		*next = (struct np_next){
			poll_pause ? NP_WAIT_POLL : NP_WAIT_SLEEP,
			r->pause_end_sec
		};
	else if (r->state == STARTING || now_sec < r->poll_until_sec)
		*next = (struct np_next){ NP_WAIT_POLL, r->poll_until_sec };
	else
		*next = (struct np_next){ NP_WAIT_NET, check_sec };
}

static void step(struct np_engine *engine, double now_sec,
		 struct np_next *next)
{
	struct rounds *r = (struct rounds *)engine;

	if (!r->conf.level.peers) {
		*next = (struct np_next){ NP_WAIT_SLEEP, INFINITY };
		return;
	}
	if (r->state == STARTING)
		start_round(r);
	if (r->state == PAUSING && now_sec >= r->pause_end_sec)
		send_all(r, now_sec);
	if (r->state == WAITING)
		wait_for_all(r, now_sec);
	next_wait(r, now_sec, fmin(check_peers(r, now_sec),
				   check_round(r, now_sec)), next);
}

static void free_rounds(struct np_engine *engine)
{
	struct rounds *r = (struct rounds *)engine;

	free(r->out);
	free(r->in);
	free(r->ops);
	free(r->peer);
	free(r);
}

int np_rounds_new(const struct np_rounds_conf *conf, struct np_engine **out)
{
	static const struct np_engine_ops ops = { step, free_rounds };
	struct rounds *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->engine.ops = &ops;
	r->conf = *conf;
	r->n_each = (size_t)conf->level.peers * conf->level.messages;
	r->out = calloc(1, conf->level.bytes);
	r->in = calloc(1, conf->level.bytes);
	r->ops = calloc(2 * r->n_each + 1, sizeof(*r->ops));
	r->peer = calloc(2 * conf->level.peers + 1, sizeof(*r->peer));
	if (!r->out || !r->in || !r->ops || !r->peer) {
		free_rounds(&r->engine);
		return -ENOMEM;
	}
	init_peers(r);
	*out = &r->engine;
	return 0;
}
