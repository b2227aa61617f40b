#include "np_rounds.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "np_partner.h"

#define TAG_ROUND (3ull << 32) /* | rank of the sender */
#define GOLDEN_RATIO 0.61803398874989485

enum state { STARTS, PAUSES, WAITS, BROKEN };

struct rounds {
	struct np_engine engine;
	struct np_rounds_conf conf;
	enum state state;
	/*
	 * One buffer for all messages sent and one for all received: what they
	 * hold is of no interest.
	 */
	char *out, *in;
	struct np_op *ops; /* receives, then sends */
	size_t n_each;	   /* P * M */
	size_t left_from;  /* the first of ops[] that may be under way */
	double began_sec, pause_end_sec, poll_until_sec;
	bool stuck; /* and said so */
	uint64_t n_begun, n_rounds;
	/* P successors; then P predecessors, of whom only a failed receive
	 * tells that they are lost. */
	struct np_partner *partner;
};

static void watch_partners(struct rounds *r)
{
	const struct np_rounds_conf *c = &r->conf;

	for (size_t i = 0; i < c->level.partners; i++) {
		r->partner[i] = (struct np_partner){
			.env = &c->env, .rank = (uint32_t)c->to[i],
		};
		r->partner[c->level.partners + i] = (struct np_partner){
			.env = &c->env, .rank = (uint32_t)c->from[i],
		};
	}
}

/* Whose message it was: of one partner after the other they are received. */
static struct np_partner *partner_of(const struct rounds *r, size_t op)
{
	const struct np_level *l = &r->conf.level;

	return op < r->n_each ? &r->partner[l->partners + op / l->messages] :
				&r->partner[(op - r->n_each) % l->partners];
}

/* B on average, also over few rounds. */
static double next_pause_sec(struct rounds *r)
{
	double place = r->conf.phase + (double)r->n_begun++ * GOLDEN_RATIO;

	return r->conf.level.pause_sec * (0.5 + place - floor(place));
}

static void begin(struct rounds *r)
{
	const struct np_rounds_conf *c = &r->conf;
	const struct np_level *l = &c->level;
	struct np_net *net = c->env.net;
	struct np_op *op = r->ops;

	r->began_sec = c->env.clock->now_sec(c->env.clock);
	for (size_t p = 0; p < l->partners; p++)
		for (size_t m = 0; m < l->messages; m++)
			net->ops->recv(net, TAG_ROUND | c->from[p], r->in,
				       l->bytes, op++);
	r->left_from = 0;
	r->pause_end_sec = r->began_sec + next_pause_sec(r);
	r->state = PAUSES;
}

/* Message by message, so that no successor waits for another's last. */
static void send(struct rounds *r, double now_sec)
{
	const struct np_rounds_conf *c = &r->conf;
	const struct np_level *l = &c->level;
	struct np_net *net = c->env.net;
	struct np_op *op = r->ops + r->n_each;

	for (size_t m = 0; m < l->messages; m++)
		for (size_t p = 0; p < l->partners; p++)
			net->ops->send(net, (uint32_t)c->to[p],
				       TAG_ROUND | c->env.rank, r->out,
				       l->bytes, op++);
	r->engine.messages += r->n_each;
	r->poll_until_sec = now_sec + NP_ROUNDS_POLL_SEC;
	r->state = WAITS;
}

/* 1: messages are under way; 0: all came; -errno: one failed. */
static int under_way(struct rounds *r)
{
	while (r->left_from < 2 * r->n_each) {
		int status = r->ops[r->left_from].status;

		if (status)
			return status;
		r->left_from++;
	}
	return 0;
}

static void wait_for_all(struct rounds *r, double now_sec)
{
	const struct np_rounds_conf *c = &r->conf;
	int status = under_way(r);

	if (status < 0) {
		np_partner_lost(partner_of(r, r->left_from), now_sec);
		r->state = BROKEN;
	} else if (!status) {
		if (r->n_rounds++ && !r->stuck)
			c->env.count(now_sec - c->env.start_sec,
				     now_sec - r->began_sec, c->env.arg);
		r->stuck = false;
		r->state = STARTS;
	}
}

/* The loss of a predecessor shows only as a round that never ends. */
static double check_round(struct rounds *r, double now_sec)
{
	double limit_sec = r->pause_end_sec + NP_ROUNDS_PATIENCE_SEC;
	char text[64];

	if (r->state != WAITS || r->stuck)
		return INFINITY;
	if (now_sec < limit_sec)
		return limit_sec;
	r->stuck = true;
	snprintf(text, sizeof(text), "round not over %g s after its pause",
		 NP_ROUNDS_PATIENCE_SEC);
	r->conf.env.note(text, r->conf.env.arg);
	return INFINITY;
}

/* A round needs every successor: the loss of one is the end of all rounds. */
static double check_partners(struct rounds *r, double now_sec)
{
	double first_sec = INFINITY, look_sec;

	for (size_t i = 0; i < 2 * r->conf.level.partners; i++) {
		if (i >= r->conf.level.partners &&
		    r->partner[i].state != NP_PARTNER_LOST)
			continue;
		if (np_partner_check(&r->partner[i], now_sec, INFINITY,
				     &look_sec) == NP_PARTNER_LOST)
			r->state = BROKEN;
		first_sec = fmin(first_sec, look_sec);
	}
	return first_sec;
}

static void next_wish(const struct rounds *r, double now_sec,
		      double look_sec, struct np_next *next)
{
	int brief = r->conf.level.pause_sec < NP_ROUNDS_POLL_SEC;

	if (r->state == BROKEN)
		*next = (struct np_next){ NP_WAIT_SLEEP, look_sec };
	else if (r->state == PAUSES)
		*next = (struct np_next){ brief ? NP_WAIT_POLL : NP_WAIT_SLEEP,
					  r->pause_end_sec };
	else if (r->state == STARTS || now_sec < r->poll_until_sec)
		*next = (struct np_next){ NP_WAIT_POLL, r->poll_until_sec };
	else
		*next = (struct np_next){ NP_WAIT_NET, look_sec };
}

static void step(struct np_engine *engine, double now_sec,
		 struct np_next *next)
{
	struct rounds *r = (struct rounds *)engine;

	if (!r->conf.level.partners) {
		*next = (struct np_next){ NP_WAIT_SLEEP, INFINITY };
		return;
	}
	if (r->state == STARTS)
		begin(r);
	if (r->state == PAUSES && now_sec >= r->pause_end_sec)
		send(r, now_sec);
	if (r->state == WAITS)
		wait_for_all(r, now_sec);
	next_wish(r, now_sec, fmin(check_partners(r, now_sec),
				   check_round(r, now_sec)), next);
}

static void free_rounds(struct np_engine *engine)
{
	struct rounds *r = (struct rounds *)engine;

	free(r->out);
	free(r->in);
	free(r->ops);
	free(r->partner);
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
	r->n_each = (size_t)conf->level.partners * conf->level.messages;
	r->out = calloc(1, conf->level.bytes);
	r->in = calloc(1, conf->level.bytes);
	r->ops = calloc(2 * r->n_each + 1, sizeof(*r->ops));
	r->partner = calloc(2 * conf->level.partners + 1, sizeof(*r->partner));
	if (!r->out || !r->in || !r->ops || !r->partner) {
		free_rounds(&r->engine);
		return -ENOMEM;
	}
	watch_partners(r);
	*out = &r->engine;
	return 0;
}
