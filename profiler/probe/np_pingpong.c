/*
 * Ping-pong; np_engine.h describes the exchanges and their schedule. A process
 * is the client of one peer, whose latency it measures, and the server of
 * another, or only one of both. Each is a state machine with two functions:
 * client_act() and server_act() do what can be done now, client_wait() and
 * server_wait() say what is waited for next.
 */
#include "np_engine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_rng.h"

/* Message tags: these constants, plus the rank of the sender. */
#define TAG_PING (1ull << 32)
#define TAG_PONG (2ull << 32)

/* First bytes of every message; the rest is padding. */
struct ping {
	uint32_t measured; /* 0 in the warm-up round trip */
	uint32_t next_us;  /* time until the next exchange starts */
};

/* The messages to and from one peer; one of each is under way at a time. */
struct channel {
	struct np_liveness peer;
	uint64_t send_tag, recv_tag;
	size_t bytes;	/* of a measured message */
	char *out, *in; /* buffers of that size */
	struct np_op sent, received;
	uint64_t *messages; /* the engine's count of messages sent */
};

struct client {
	const struct np_pingpong_conf *conf;
	struct channel channel;
	/* Between exchanges, or waiting for the reply of a round trip. */
	enum { IDLE, WARMING_UP, MEASURING } state;
	double due_sec;	     /* start of this exchange; if idle, of the next */
	double next_due_sec; /* start of the one after it, as announced */
	double sent_sec;     /* time of the last request */
	double poll_until_sec;
	struct np_poll poll;
	uint64_t random; /* state of np_rng_next() */
};

struct server {
	const struct np_pingpong_conf *conf;
	struct channel channel;
	double received_sec;   /* time of the last request */
	double replied_sec;    /* time of the last warm-up reply */
	double expected_sec;   /* announced start of the next exchange */
	double wake_sec;       /* it sleeps until then, */
	double poll_until_sec; /* and then polls, at most until then */
	struct np_poll poll;
	bool slept; /* it has slept since wake_sec was set */
	/* Moving averages over the exchanges so far. */
	double gap_sec;	    /* from the announced start to the arrival */
	double scatter_sec; /* mean deviation of that */
	double late_sec;    /* from wake_sec until the process really runs */
};

/* ---- how long to poll ---- */

#define MARGIN 1.5    /* length of a poll, in times of the fastest reply */
#define FIRST_TRIES 4 /* so many polls are long, */
#define TRY_EVERY 16  /* and after them one in so many */

double np_poll_sec(const struct np_poll *p)
{
	return fmin(fmax(MARGIN * p->fastest_sec, NP_POLL_LEAST_SEC),
		    NP_POLL_MOST_SEC);
}

double np_poll_try_sec(struct np_poll *p)
{
	uint32_t try = p->tries++;

	return try < FIRST_TRIES || try % TRY_EVERY == 0 ? NP_POLL_MOST_SEC :
							   np_poll_sec(p);
}

void np_poll_caught(struct np_poll *p, double reply_sec)
{
	if (!p->fastest_sec || reply_sec < p->fastest_sec)
		p->fastest_sec = reply_sec;
}

/* ---- messages ---- */

double np_pingpong_patience_sec(double period_sec)
{
	return fmax(10 * period_sec, 10.0);
}

static void close_channel(struct channel *ch)
{
	free(ch->out);
	free(ch->in);
}

/* Be ready for the next message of the peer. */
static void post_recv(struct channel *ch)
{
	struct np_net *net = ch->peer.env->net;

	net->ops->recv(net, ch->recv_tag, ch->in, ch->bytes, &ch->received);
}

static void send_ping(struct channel *ch, struct ping ping)
{
	/* Warm-up messages carry no padding, to spare the program's path. */
	size_t bytes = ping.measured ? ch->bytes : sizeof(ping);
	struct np_net *net = ch->peer.env->net;

	memcpy(ch->out, &ping, sizeof(ping));
	++*ch->messages;
	net->ops->send(net, ch->peer.rank, ch->send_tag, ch->out, bytes,
		       &ch->sent);
}

static struct ping received_ping(const struct channel *ch)
{
	struct ping ping;

	memcpy(&ping, ch->in, sizeof(ping));
	return ping;
}

/* As np_liveness_check(); with a failed message, the peer counts as lost. */
static enum np_liveness_state check_peer(struct channel *ch, double now_sec,
					 double since_sec, double *until_sec)
{
	if (ch->received.status < 0 || ch->sent.status < 0)
		np_liveness_lost(&ch->peer, now_sec);
	return np_liveness_check(&ch->peer, now_sec, since_sec, until_sec);
}

/* ---- the client, which measures ---- */

#define GOLDEN_RATIO 0.6180339887498949

/* Time from one exchange to the next. */
static double random_interval(struct client *cl)
{
	double unit = np_rng_unit(np_rng_next(&cl->random));

	return cl->conf->period_sec * (0.75 + 0.5 * unit);
}

static void client_start(struct client *cl)
{
	const struct np_pingpong_conf *c = cl->conf;
	double turn = c->env.rank * GOLDEN_RATIO;

	cl->random = c->seed;
	cl->state = IDLE;
	cl->due_sec = c->env.start_sec + c->period_sec * (turn - floor(turn));
}

/* Send the request of this state, and announce the next exchange with it. */
static void send_request(struct client *cl)
{
	const struct np_clock *clock = cl->conf->env.clock;
	double ahead_us;

	post_recv(&cl->channel);
	cl->sent_sec = clock->now_sec(clock);
	ahead_us = fmax(0, 1e6 * (cl->next_due_sec - cl->sent_sec));
	send_ping(&cl->channel,
		  (struct ping){
			  .measured = cl->state == MEASURING,
			  .next_us = (uint32_t)fmin(ahead_us, UINT32_MAX),
		  });
	cl->poll_until_sec =
		cl->sent_sec + (cl->state == MEASURING ?
					np_poll_sec(&cl->poll) :
					np_poll_try_sec(&cl->poll));
}

static void start_exchange(struct client *cl)
{
	cl->state = WARMING_UP;
	cl->next_due_sec = cl->due_sec + random_interval(cl);
	send_request(cl);
}

static void end_exchange(struct client *cl, double now_sec)
{
	cl->state = IDLE;
	cl->due_sec = cl->next_due_sec;
	if (cl->due_sec <= now_sec) /* skip missed exchanges */
		cl->due_sec = now_sec + random_interval(cl);
}

/* A time measured across a silence of the peer does not count. */
static void on_reply(struct client *cl, double now_sec)
{
	const struct np_engine_env *env = &cl->conf->env;

	if (now_sec <= cl->poll_until_sec)
		np_poll_caught(&cl->poll, now_sec - cl->sent_sec);
	if (np_liveness_received(&cl->channel.peer)) {
		end_exchange(cl, now_sec);
	} else if (cl->state == WARMING_UP) {
		cl->state = MEASURING;
		send_request(cl);
	} else {
		env->count(now_sec - env->start_sec,
			   (now_sec - cl->sent_sec) / 2, env->arg);
		end_exchange(cl, now_sec);
	}
}

static void client_act(struct client *cl, double now_sec)
{
	const struct channel *ch = &cl->channel;

	if (cl->state != IDLE && !ch->received.status && !ch->sent.status)
		on_reply(cl, now_sec);
	else if (cl->state == IDLE && now_sec >= cl->due_sec &&
		 ch->peer.state != NP_PEER_LOST)
		start_exchange(cl);
}

/* Sleep between exchanges; poll for a reply, and then sleep until it comes. */
static struct np_next client_wait(struct client *cl, double now_sec)
{
	double check_sec;
	enum np_liveness_state state = check_peer(
		&cl->channel, now_sec,
		cl->state == IDLE ? INFINITY : cl->sent_sec, &check_sec);

	if (state == NP_PEER_LOST)
		return (struct np_next){ NP_WAIT_SLEEP, check_sec };
	if (cl->state == IDLE)
		return (struct np_next){ NP_WAIT_SLEEP, cl->due_sec };
	if (now_sec < cl->poll_until_sec)
		return (struct np_next){ NP_WAIT_POLL, cl->poll_until_sec };
	return (struct np_next){ NP_WAIT_NET, check_sec };
}

/* ---- the server, which replies and is awake as little as possible ---- */

/* Weight of the newest observation, as in TCP's round-trip time estimate. */
#define GAIN 0.125

/* Shorter sleeps are polled through: falling asleep takes as long. */
#define SHORTEST_SLEEP_SEC 20e-6

/* Wake up at least this long before the expected message. */
#define LEAST_LEAD_SEC 2e-6

/*
 * A process that was delayed for longer than this was not just woken late; such
 * a delay must not shift the wake-up time of later exchanges.
 */
#define MOST_LATE_SEC 200e-6

static void server_start(struct server *srv)
{
	srv->received_sec = srv->conf->env.start_sec;
	srv->expected_sec = srv->wake_sec = srv->poll_until_sec = -INFINITY;
	post_recv(&srv->channel);
}

/*
 * Compare the arrival of the first message of an exchange with its
 * announcement.
 */
static void update_schedule(struct server *srv, double now_sec)
{
	double limit = srv->conf->period_sec / 4;
	double gap = now_sec - srv->expected_sec;

	if (!isfinite(gap)) /* nothing was announced yet */
		return;
	gap = fmin(fmax(gap, -limit), limit);
	srv->gap_sec += GAIN * (gap - srv->gap_sec);
	srv->scatter_sec +=
		GAIN * (fabs(gap - srv->gap_sec) - srv->scatter_sec);
}

/* Wake up for the next exchange in time, but only just. */
static void plan_wakeup(struct server *srv)
{
	double poll_sec = np_poll_sec(&srv->poll);
	double lead_sec =
		fmin(2 * srv->scatter_sec + LEAST_LEAD_SEC, poll_sec / 2);

	srv->wake_sec =
		srv->expected_sec + srv->gap_sec - lead_sec - srv->late_sec;
	srv->poll_until_sec = srv->wake_sec + srv->late_sec + poll_sec;
	srv->slept = false;
}

/*
 * Reply at once; what is learned comes after that. After the measured request
 * the exchange is over, after the warm-up that request follows immediately.
 */
static void on_request(struct server *srv, double now_sec)
{
	struct ping ping = received_ping(&srv->channel);

	post_recv(&srv->channel);
	send_ping(&srv->channel, ping);
	np_liveness_received(&srv->channel.peer);
	srv->received_sec = now_sec;
	if (ping.measured) {
		if (now_sec <= srv->poll_until_sec)
			np_poll_caught(&srv->poll, now_sec - srv->replied_sec);
		srv->expected_sec = now_sec + 1e-6 * ping.next_us;
		plan_wakeup(srv);
	} else {
		update_schedule(srv, now_sec);
		srv->replied_sec = srv->wake_sec = now_sec;
		srv->poll_until_sec = now_sec + np_poll_try_sec(&srv->poll);
	}
}

/* Learn how late the kernel has woken this process, for the next time. */
static void on_wakeup(struct server *srv, double now_sec)
{
	double late = fmin(now_sec - srv->wake_sec, MOST_LATE_SEC);

	if (srv->slept)
		srv->late_sec += GAIN * (late - srv->late_sec);
	srv->slept = false;
}

static void server_act(struct server *srv, double now_sec)
{
	const struct channel *ch = &srv->channel;

	if (now_sec >= srv->wake_sec)
		on_wakeup(srv, now_sec);
	if (ch->received.status == 0 && ch->sent.status == 0)
		on_request(srv, now_sec);
}

/* Sleep until just before the next exchange, poll, and sleep until it comes. */
static struct np_next server_wait(struct server *srv, double now_sec)
{
	double check_sec;
	enum np_liveness_state state = check_peer(
		&srv->channel, now_sec,
		fmax(srv->received_sec, srv->expected_sec), &check_sec);

	if (state == NP_PEER_LOST)
		return (struct np_next){ NP_WAIT_SLEEP, check_sec };
	if (now_sec < srv->wake_sec - SHORTEST_SLEEP_SEC) {
		srv->slept = true;
		return (struct np_next){ NP_WAIT_SLEEP, srv->wake_sec };
	}
	if (now_sec < srv->poll_until_sec)
		return (struct np_next){ NP_WAIT_POLL, srv->poll_until_sec };
	return (struct np_next){ NP_WAIT_NET, check_sec };
}

/* ---- the engine: a client and a server ---- */

struct pingpong {
	struct np_engine engine;
	struct np_pingpong_conf conf;
	struct client client;
	struct server server;
};

/* The caller must call close_channel() even if this fails. */
static int open_channel(struct pingpong *p, struct channel *ch, long rank,
			uint64_t send_tag, uint64_t recv_tag)
{
	const struct np_pingpong_conf *c = &p->conf;

	*ch = (struct channel){
		.peer = {
			.env = &c->env, .rank = (uint32_t)rank,
			.patience_sec = np_pingpong_patience_sec(c->period_sec),
		},
		.send_tag = send_tag | c->env.rank,
		.recv_tag = recv_tag | (uint64_t)rank,
		.bytes = c->bytes, .messages = &p->engine.messages,
		.out = calloc(1, c->bytes), .in = calloc(1, c->bytes),
	};
	return ch->out && ch->in ? 0 : -ENOMEM;
}

/* Client and server share one process: the more urgent wait wins. */
static void merge_waits(struct np_next *next, struct np_next other)
{
	if (other.how < next->how)
		next->how = other.how;
	next->until_sec = fmin(next->until_sec, other.until_sec);
}

static void step(struct np_engine *engine, double now_sec, struct np_next *next)
{
	struct pingpong *p = (struct pingpong *)engine;

	*next = (struct np_next){ NP_WAIT_SLEEP, INFINITY };
	if (p->conf.peers.client != NP_NO_RANK) {
		server_act(&p->server, now_sec);
		merge_waits(next, server_wait(&p->server, now_sec));
	}
	if (p->conf.peers.server != NP_NO_RANK) {
		client_act(&p->client, now_sec);
		merge_waits(next, client_wait(&p->client, now_sec));
	}
}

static void free_pingpong(struct np_engine *engine)
{
	struct pingpong *p = (struct pingpong *)engine;

	close_channel(&p->client.channel);
	close_channel(&p->server.channel);
	free(p);
}

int np_pingpong_new(const struct np_pingpong_conf *conf, struct np_engine **out)
{
	static const struct np_engine_ops ops = { step, free_pingpong };
	bool is_client = conf->peers.server != NP_NO_RANK;
	bool is_server = conf->peers.client != NP_NO_RANK;
	struct pingpong *p = calloc(1, sizeof(*p));
	int rc = 0;

	if (!p)
		return -ENOMEM;
	p->engine.ops = &ops;
	p->conf = *conf;
	p->client.conf = p->server.conf = &p->conf;
	if (is_client)
		rc = open_channel(p, &p->client.channel, conf->peers.server,
				  TAG_PING, TAG_PONG);
	if (!rc && is_server)
		rc = open_channel(p, &p->server.channel, conf->peers.client,
				  TAG_PONG, TAG_PING);
	if (rc) {
		free_pingpong(&p->engine);
		return rc;
	}
	if (is_client)
		client_start(&p->client);
	if (is_server)
		server_start(&p->server);
	*out = &p->engine;
	return 0;
}
