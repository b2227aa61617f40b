#include "np_pingpong.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_partner.h"

#define TAG_PING (1ull << 32) /* | rank of the sender */
#define TAG_PONG (2ull << 32)

/* The head of every message; the rest is padding. */
struct ping {
	uint32_t kept;	  /* 0: the round that warms the path */
	uint32_t next_us; /* from now to the next exchange */
};

/* One direction each of the same connection. */
struct channel {
	struct np_partner partner; /* at the other end */
	uint64_t send_tag, recv_tag;
	size_t bytes;	/* of a message that is measured */
	char *out, *in; /* so many each */
	struct np_op sent, got;
	uint64_t *messages; /* of the engine */
};

struct asker {
	const struct np_pingpong_conf *conf;
	struct channel channel;
	enum { RESTS, WARMS, TIMES } state;
	double due_sec, next_due_sec;
	double sent_sec, poll_until_sec;
	struct np_poll poll;
	uint64_t random;
};

struct answerer {
	const struct np_pingpong_conf *conf;
	struct channel channel;
	double heard_sec;
	double expected_sec; /* when the next exchange is announced */
	double wake_sec, poll_until_sec;
	double answered_sec; /* in the round that warms */
	struct np_poll poll;
	bool slept;
	/* learned: arrival against announcement, its scatter, own waking */
	double gap_sec, scatter_sec, late_sec;
};

/* ---- messages ---- */

double np_pingpong_patience_sec(double period_sec)
{
	return fmax(10 * period_sec, 10.0);
}

/* To be freed by close_channel() in any case. */
static int open_channel(struct channel *ch, const struct np_pingpong_conf *c,
			long rank)
{
	ch->partner = (struct np_partner){
		.env = &c->env, .rank = (uint32_t)rank,
		.patience_sec = np_pingpong_patience_sec(c->period_sec),
	};
	ch->bytes = c->bytes;
	ch->out = calloc(1, c->bytes);
	ch->in = calloc(1, c->bytes);
	return ch->out && ch->in ? 0 : -ENOMEM;
}

static void close_channel(struct channel *ch)
{
	free(ch->out);
	free(ch->in);
}

static void post(struct channel *c)
{
	struct np_net *net = c->partner.env->net;

	net->ops->recv(net, c->recv_tag, c->in, c->bytes, &c->got);
}

static void put(struct channel *c, struct ping ping)
{
	/* What is not measured carries no padding: it is the program's path. */
	size_t bytes = ping.kept ? c->bytes : sizeof(ping);
	struct np_net *net = c->partner.env->net;

	memcpy(c->out, &ping, sizeof(ping));
	++*c->messages;
	net->ops->send(net, c->partner.rank, c->send_tag, c->out, bytes,
		       &c->sent);
}

static struct ping taken(const struct channel *c)
{
	struct ping ping;

	memcpy(&ping, c->in, sizeof(ping));
	return ping;
}

/* np_partner_check(), to which a message that failed is a loss. */
static enum np_partner_state check(struct channel *c, double now_sec,
				   double since_sec, double *until_sec)
{
	if (c->got.status < 0 || c->sent.status < 0)
		np_partner_lost(&c->partner, now_sec);
	return np_partner_check(&c->partner, now_sec, since_sec, until_sec);
}

/* ---- the side that asks, and measures ---- */

#define GOLDEN 0.6180339887498949

/* Even in [0, 1): splitmix64 of Steele, Lea and Flood (2014). */
static double random_unit(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double interval(struct asker *a)
{
	return a->conf->period_sec * (0.75 + 0.5 * random_unit(&a->random));
}

static void asker_start(struct asker *a)
{
	const struct np_pingpong_conf *c = a->conf;
	double turn = c->env.rank * GOLDEN;

	a->random = c->seed;
	a->state = RESTS;
	a->due_sec = c->env.start_sec +
		     c->period_sec * (turn - floor(turn));
}

static void send(struct asker *a)
{
	const struct np_clock *clock = a->conf->env.clock;
	double ahead_us;

	post(&a->channel);
	a->sent_sec = clock->now_sec(clock);
	ahead_us = fmax(0, 1e6 * (a->next_due_sec - a->sent_sec));
	put(&a->channel, (struct ping){
		.kept = a->state == TIMES,
		.next_us = (uint32_t)fmin(ahead_us, UINT32_MAX),
	});
	a->poll_until_sec = a->sent_sec + (a->state == TIMES ?
						   np_poll_sec(&a->poll) :
						   np_poll_try_sec(&a->poll));
}

static void begin(struct asker *a)
{
	a->state = WARMS;
	a->next_due_sec = a->due_sec + interval(a);
	send(a);
}

static void rest(struct asker *a, double now_sec)
{
	a->state = RESTS;
	a->due_sec = a->next_due_sec;
	if (a->due_sec <= now_sec) /* no burst to catch up */
		a->due_sec = now_sec + interval(a);
}

static void answered(struct asker *a, double now_sec)
{
	const struct np_engine_env *env = &a->conf->env;

	if (now_sec <= a->poll_until_sec)
		np_poll_caught(&a->poll, now_sec - a->sent_sec);
	if (np_partner_heard(&a->channel.partner)) {
		rest(a, now_sec);
	} else if (a->state == WARMS) {
		a->state = TIMES;
		send(a);
	} else {
		env->count(now_sec - env->start_sec,
			   (now_sec - a->sent_sec) / 2, env->arg);
		rest(a, now_sec);
	}
}

static void asker_step(struct asker *a, double now_sec, struct np_next *next)
{
	struct channel *ch = &a->channel;
	enum np_partner_state there;
	double look_sec;

	if (a->state != RESTS && ch->got.status == 0 && ch->sent.status == 0)
		answered(a, now_sec);
	else if (a->state == RESTS && now_sec >= a->due_sec &&
		 ch->partner.state != NP_PARTNER_LOST)
		begin(a);

	there = check(ch, now_sec, a->state == RESTS ? INFINITY : a->sent_sec,
		      &look_sec);
	if (there == NP_PARTNER_LOST)
		*next = (struct np_next){ NP_WAIT_SLEEP, look_sec };
	else if (a->state == RESTS)
		*next = (struct np_next){ NP_WAIT_SLEEP, a->due_sec };
	else if (now_sec < a->poll_until_sec)
		*next = (struct np_next){ NP_WAIT_POLL, a->poll_until_sec };
	else
		*next = (struct np_next){ NP_WAIT_NET, look_sec };
}

/* ---- the side that answers, awake no longer than it must be ---- */

/* Weight of the newest observation, as for TCP's round-trip time. */
#define GAIN 0.125

/* A sleep shorter than this is polled through: falling asleep costs as much. */
#define SHORTEST_SLEEP_SEC 20e-6

#define LEAST_LEAD_SEC 2e-6

/* A process that was kept waiting for longer cannot plan with it. */
#define MOST_LATE_SEC 200e-6

static void answerer_start(struct answerer *a)
{
	a->heard_sec = a->conf->env.start_sec;
	a->expected_sec = a->wake_sec = a->poll_until_sec = -INFINITY;
	post(&a->channel);
}

/* The first message of an exchange came: how well was it announced? */
static void learn(struct answerer *a, double now_sec)
{
	double limit = a->conf->period_sec / 4;
	double off = now_sec - a->expected_sec;

	if (!isfinite(off))
		return;
	off = fmin(fmax(off, -limit), limit);
	a->gap_sec += GAIN * (off - a->gap_sec);
	a->scatter_sec += GAIN * (fabs(off - a->gap_sec) - a->scatter_sec);
}

/* When to be awake for the next exchange: before it, but not by much. */
static void plan(struct answerer *a)
{
	double poll_sec = np_poll_sec(&a->poll);
	double lead = fmin(2 * a->scatter_sec + LEAST_LEAD_SEC, poll_sec / 2);

	a->wake_sec = a->expected_sec + a->gap_sec - lead - a->late_sec;
	a->poll_until_sec = a->wake_sec + a->late_sec + poll_sec;
	a->slept = false;
}

static void answer(struct answerer *a, double now_sec)
{
	struct ping ping = taken(&a->channel);

	post(&a->channel);
	put(&a->channel, ping);
	np_partner_heard(&a->channel.partner);
	a->heard_sec = now_sec;
	if (ping.kept) {
		if (now_sec <= a->poll_until_sec)
			np_poll_caught(&a->poll, now_sec - a->answered_sec);
		a->expected_sec = now_sec + 1e-6 * ping.next_us;
		plan(a);
	} else {
		learn(a, now_sec);
		a->answered_sec = a->wake_sec = now_sec;
		a->poll_until_sec = now_sec + np_poll_try_sec(&a->poll);
	}
}

/* How late the kernel wakes us is part of the plan. */
static void woke(struct answerer *a, double now_sec)
{
	double late = fmin(now_sec - a->wake_sec, MOST_LATE_SEC);

	if (a->slept)
		a->late_sec += GAIN * (late - a->late_sec);
	a->slept = false;
}

static void answerer_step(struct answerer *a, double now_sec,
			  struct np_next *next)
{
	struct channel *ch = &a->channel;
	enum np_partner_state there;
	double look_sec;

	if (now_sec >= a->wake_sec)
		woke(a, now_sec);
	if (ch->got.status == 0 && ch->sent.status == 0)
		answer(a, now_sec);

	there = check(ch, now_sec, fmax(a->heard_sec, a->expected_sec),
		      &look_sec);
	if (there == NP_PARTNER_LOST) {
		*next = (struct np_next){ NP_WAIT_SLEEP, look_sec };
	} else if (now_sec < a->wake_sec - SHORTEST_SLEEP_SEC) {
		*next = (struct np_next){ NP_WAIT_SLEEP, a->wake_sec };
		a->slept = true;
	} else if (now_sec < a->poll_until_sec) {
		*next = (struct np_next){ NP_WAIT_POLL, a->poll_until_sec };
	} else {
		*next = (struct np_next){ NP_WAIT_NET, look_sec };
	}
}

/* ---- both ---- */

struct pingpong {
	struct np_engine engine;
	struct np_pingpong_conf conf;
	struct asker asker;
	struct answerer answerer;
};

static int open_asker(struct pingpong *p)
{
	const struct np_pingpong_conf *c = &p->conf;
	struct asker *a = &p->asker;

	a->conf = c;
	a->channel.messages = &p->engine.messages;
	a->channel.send_tag = TAG_PING | c->env.rank;
	a->channel.recv_tag = TAG_PONG | (uint64_t)c->pair.asks;
	if (open_channel(&a->channel, c, c->pair.asks))
		return -ENOMEM;
	asker_start(a);
	return 0;
}

static int open_answerer(struct pingpong *p)
{
	const struct np_pingpong_conf *c = &p->conf;
	struct answerer *a = &p->answerer;

	a->conf = c;
	a->channel.messages = &p->engine.messages;
	a->channel.send_tag = TAG_PONG | c->env.rank;
	a->channel.recv_tag = TAG_PING | (uint64_t)c->pair.answers;
	if (open_channel(&a->channel, c, c->pair.answers))
		return -ENOMEM;
	answerer_start(a);
	return 0;
}

/* Both sides live in one process: the more pressing one counts. */
static void merge(struct np_next *next, struct np_next other)
{
	if (other.how < next->how)
		next->how = other.how;
	next->until_sec = fmin(next->until_sec, other.until_sec);
}

static void step(struct np_engine *engine, double now_sec,
		 struct np_next *next)
{
	struct pingpong *p = (struct pingpong *)engine;
	struct np_next side;

	*next = (struct np_next){ NP_WAIT_SLEEP, INFINITY };
	if (p->conf.pair.answers != NP_NOBODY) {
		answerer_step(&p->answerer, now_sec, &side);
		merge(next, side);
	}
	if (p->conf.pair.asks != NP_NOBODY) {
		asker_step(&p->asker, now_sec, &side);
		merge(next, side);
	}
}

static void free_pingpong(struct np_engine *engine)
{
	struct pingpong *p = (struct pingpong *)engine;

	close_channel(&p->asker.channel);
	close_channel(&p->answerer.channel);
	free(p);
}

int np_pingpong_new(const struct np_pingpong_conf *conf,
		    struct np_engine **out)
{
	static const struct np_engine_ops ops = { step, free_pingpong };
	struct pingpong *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->engine.ops = &ops;
	p->conf = *conf;
	if ((conf->pair.asks != NP_NOBODY && open_asker(p)) ||
	    (conf->pair.answers != NP_NOBODY && open_answerer(p))) {
		free_pingpong(&p->engine);
		return -ENOMEM;
	}
	*out = &p->engine;
	return 0;
}
