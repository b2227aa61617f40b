/*
 * CompressionB: rounds of messages, with pauses, that put load on the network.
 */
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

static void init_peers(struct rounds *rounds)
{
	const struct np_rounds_conf *conf = &rounds->conf;
	size_t n = conf->level.peers;

	for (size_t i = 0; i < 2 * n; i++)
		rounds->peer[i] = (struct np_liveness){
			.env = &conf->env,
			.rank = (uint32_t)(i < n ? conf->to[i] :
						   conf->from[i - n]),
		};
}

/* Peer of an operation. Receives are posted peer by peer, sends in turns. */
static struct np_liveness *peer_of(const struct rounds *rounds, size_t op)
{
	const struct np_level *level = &rounds->conf.level;

	return op < rounds->n_each ?
		     &rounds->peer[level->peers + op / level->messages] :
		     &rounds->peer[(op - rounds->n_each) % level->peers];
}

/* The mean is B, even over few rounds. */
static double next_pause_sec(struct rounds *rounds)
{
	double place =
		rounds->conf.phase + (double)rounds->n_started++ * GOLDEN_RATIO;

	return rounds->conf.level.pause_sec * (0.5 + place - floor(place));
}

static void start_round(struct rounds *rounds)
{
	const struct np_rounds_conf *conf = &rounds->conf;
	const struct np_level *level = &conf->level;
	struct np_net *net = conf->env.net;
	struct np_op *op = rounds->ops;

	rounds->start_sec = conf->env.clock->now_sec(conf->env.clock);
	for (size_t p = 0; p < level->peers; p++)
		for (size_t m = 0; m < level->messages; m++)
			net->ops->recv(net, TAG_ROUND | conf->from[p],
				       rounds->in, level->bytes, op++);
	rounds->first_open = 0;
	rounds->pause_end_sec = rounds->start_sec + next_pause_sec(rounds);
	rounds->state = PAUSING;
}

/* In turns, so that no successor waits for the last message of another. */
static void send_all(struct rounds *rounds, double now_sec)
{
	const struct np_rounds_conf *conf = &rounds->conf;
	const struct np_level *level = &conf->level;
	struct np_net *net = conf->env.net;
	struct np_op *op = rounds->ops + rounds->n_each;

	for (size_t m = 0; m < level->messages; m++)
		for (size_t p = 0; p < level->peers; p++)
			net->ops->send(net, (uint32_t)conf->to[p],
				       TAG_ROUND | conf->env.rank, rounds->out,
				       level->bytes, op++);
	rounds->engine.messages += rounds->n_each;
	rounds->poll_until_sec = now_sec + NP_ROUNDS_POLL_SEC;
	rounds->state = WAITING;
}

/* 1: messages are in flight; 0: all have arrived; -errno: one failed */
static int in_flight(struct rounds *rounds)
{
	while (rounds->first_open < 2 * rounds->n_each) {
		int status = rounds->ops[rounds->first_open].status;

		if (status)
			return status;
		rounds->first_open++;
	}
	return 0;
}

static void wait_for_all(struct rounds *rounds, double now_sec)
{
	const struct np_rounds_conf *conf = &rounds->conf;
	int status = in_flight(rounds);

	if (status < 0) {
		np_liveness_lost(peer_of(rounds, rounds->first_open), now_sec);
		rounds->state = BROKEN;
	} else if (!status) {
		if (rounds->n_rounds++ && !rounds->overdue)
			conf->env.count(now_sec - conf->env.start_sec,
					now_sec - rounds->start_sec,
					conf->env.arg);
		rounds->overdue = false;
		rounds->state = STARTING;
	}
}

/* A lost predecessor shows only as a round that does not end. */
static double check_round(struct rounds *rounds, double now_sec)
{
	double limit_sec = rounds->pause_end_sec + NP_ROUNDS_PATIENCE_SEC;
	char text[64];

	if (rounds->state != WAITING || rounds->overdue)
		return INFINITY;
	if (now_sec < limit_sec)
		return limit_sec;
	rounds->overdue = true;
	snprintf(text, sizeof(text), "round not over %g s after its pause",
		 NP_ROUNDS_PATIENCE_SEC);
	rounds->conf.env.note(text, rounds->conf.env.arg);
	return INFINITY;
}

/* A round needs every successor, so the loss of one ends all rounds. */
static double check_peers(struct rounds *rounds, double now_sec)
{
	double first_sec = INFINITY, check_sec;

	for (size_t i = 0; i < 2 * rounds->conf.level.peers; i++) {
		if (i >= rounds->conf.level.peers &&
		    rounds->peer[i].state != NP_PEER_LOST)
			continue;
		if (np_liveness_check(&rounds->peer[i], now_sec, INFINITY,
				      &check_sec) == NP_PEER_LOST)
			rounds->state = BROKEN;
		first_sec = fmin(first_sec, check_sec);
	}
	return first_sec;
}

static void next_wait(const struct rounds *rounds, double now_sec,
		      double check_sec, struct np_next *next)
{
	int poll_pause = rounds->conf.level.pause_sec < NP_ROUNDS_POLL_SEC;

	if (rounds->state == BROKEN)
		*next = (struct np_next){ NP_WAIT_SLEEP, check_sec };
	else if (rounds->state == PAUSING)
		*next = (struct np_next){ poll_pause ? NP_WAIT_POLL :
						       NP_WAIT_SLEEP,
					  rounds->pause_end_sec };
	else if (rounds->state == STARTING || now_sec < rounds->poll_until_sec)
		*next = (struct np_next){ NP_WAIT_POLL,
					  rounds->poll_until_sec };
	else
		*next = (struct np_next){ NP_WAIT_NET, check_sec };
}

static void step(struct np_engine *engine, double now_sec, struct np_next *next)
{
	struct rounds *rounds = (struct rounds *)engine;

	if (!rounds->conf.level.peers) {
		*next = (struct np_next){ NP_WAIT_SLEEP, INFINITY };
		return;
	}
	if (rounds->state == STARTING)
		start_round(rounds);
	if (rounds->state == PAUSING && now_sec >= rounds->pause_end_sec)
		send_all(rounds, now_sec);
	if (rounds->state == WAITING)
		wait_for_all(rounds, now_sec);
	next_wait(rounds, now_sec,
		  fmin(check_peers(rounds, now_sec),
		       check_round(rounds, now_sec)),
		  next);
}

static void free_rounds(struct np_engine *engine)
{
	struct rounds *rounds = (struct rounds *)engine;

	free(rounds->out);
	free(rounds->in);
	free(rounds->ops);
	free(rounds->peer);
	free(rounds);
}

int np_rounds_new(const struct np_rounds_conf *conf, struct np_engine **out)
{
	static const struct np_engine_ops ops = { step, free_rounds };
	struct rounds *rounds = calloc(1, sizeof(*rounds));

	if (!rounds)
		return -ENOMEM;
	rounds->engine.ops = &ops;
	rounds->conf = *conf;
	rounds->n_each = (size_t)conf->level.peers * conf->level.messages;
	rounds->out = calloc(1, conf->level.bytes);
	rounds->in = calloc(1, conf->level.bytes);
	rounds->ops = calloc(2 * rounds->n_each + 1, sizeof(*rounds->ops));
	rounds->peer = calloc(2 * conf->level.peers + 1, sizeof(*rounds->peer));
	if (!rounds->out || !rounds->in || !rounds->ops || !rounds->peer) {
		free_rounds(&rounds->engine);
		return -ENOMEM;
	}
	init_peers(rounds);
	*out = &rounds->engine;
	return 0;
}
