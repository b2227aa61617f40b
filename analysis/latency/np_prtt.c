/*
 * The client makes one whole measurement in each step(), without sleeping. The
 * server is a state machine that answers whatever the client announces.
 */
#include "np_prtt.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_moments.h"

/* Tags of the kinds of messages; the first is "prtt" in ASCII. */
enum { ANNOUNCEMENT = 0x70727474, ACCEPTED, DATA, REPLY };

#define MAX_SIZES 64

/* What the client announces: n messages of so many bytes; n = 0: the end. */
struct announcement {
	uint32_t n, bytes;
};

/* State of the client. */
struct client {
	uint32_t size[MAX_SIZES]; /* of messages, in bytes, ascending */
	size_t n_sizes;
	/* Round trip of each size, and gap between messages: of block 0. */
	double trip_sec[MAX_SIZES], gap_sec;
	uint32_t block; /* 0: the first, which is not reported */
	/*
	 * Next measurement of the block: the round trip of each size; then the
	 * gap; then, for each size in overhead[], sending and receiving.
	 */
	size_t kind;
	size_t overhead[MAX_SIZES], n_overheads; /* indices into size[] */
	size_t repeat;
	double sec[NP_PRTT_REPEATS]; /* results of the measurement so far */
};

struct prtt {
	struct np_engine engine;
	struct np_prtt_conf conf;
	struct np_net *net;
	/* Buffers of max_bytes each, whose content does not matter. */
	char *out, *in;
	bool ended;
	/*
	 * One request per kind of message, which the client sends and the
	 * server receives, or the reverse. They are not on a stack, because
	 * they may still be active when the measurement ends.
	 */
	struct announcement announcement;
	struct np_op announced, accepted, reply, data[NP_PRTT_MESSAGES];
	struct client client;

	/* Of the server: what it waits for, and when a message last arrived. */
	enum { AWAITS_ANNOUNCEMENT, AWAITS_DATA } state;
	double last_message_sec;
};

static double now(const struct prtt *prtt)
{
	return prtt->conf.env.clock->now_sec(prtt->conf.env.clock);
}

static void send(struct prtt *prtt, uint64_t tag, const void *buf, size_t bytes,
		 struct np_op *op)
{
	prtt->engine.messages++;
	prtt->net->ops->send(prtt->net, prtt->conf.peer, tag, buf, bytes, op);
}

static void recv(struct prtt *prtt, uint64_t tag, void *buf, size_t bytes,
		 struct np_op *op)
{
	prtt->net->ops->recv(prtt->net, tag, buf, bytes, op);
}

/* Ends the measurement. note: why it ends early, or NULL. */
static void end(struct prtt *prtt, const char *note)
{
	if (prtt->ended)
		return;
	prtt->ended = true;
	if (note)
		prtt->conf.env.note(note, prtt->conf.env.arg);
	prtt->conf.done(prtt->conf.env.arg);
}

/* ---- The client, which measures ---- */

/*
 * Sizes are powers of 8 up to SMALL_BYTES, and then grow by GROWTH: the slope
 * over large sizes determines G.
 */
#define SMALL_BYTES 512
#define GROWTH M_SQRT2

/*
 * Overheads are measured for sizes that are powers of 8, up to these limits of
 * size and round trip.
 */
#define OVERHEAD_BYTES 65536
#define OVERHEAD_TRIP_SEC 1e-3

/* Polls for a message between checks of signals, connection and time. */
#define CHECK_EVERY 1024

/*
 * A pause between sends exceeds the gap between messages of that size by the
 * first factor. A pause before a receive exceeds the round trip, after which
 * the message has arrived, by the second. Both are small because on a busy
 * machine a long pause is rarely undisturbed.
 */
#define SEND_PAUSE_FACTOR 2.0
#define RECV_PAUSE_FACTOR 2.0

/* Chooses the sizes to measure. */
static void start_client(struct prtt *prtt)
{
	struct client *client = &prtt->client;

	client->size[client->n_sizes++] = 1;
	for (double s = 8;
	     s <= prtt->conf.max_bytes && client->n_sizes < MAX_SIZES;
	     s *= s < SMALL_BYTES ? 8 : GROWTH)
		client->size[client->n_sizes++] = (uint32_t)lround(s);
}

/*
 * Waits until a message has completed, at most about NP_PRTT_PATIENCE_SEC.
 * The clock is first read after CHECK_EVERY polls, so that a short wait costs
 * nothing but polls. Returns 0 or -errno.
 */
static int await(struct prtt *prtt, const struct np_op *op)
{
	double end_sec = INFINITY;

	for (unsigned turns = 1; op->status > 0; turns++) {
		prtt->net->ops->progress(prtt->net);
		if (turns % CHECK_EVERY)
			continue;
		if (prtt->conf.stop && prtt->conf.stop())
			return -EINTR;
		if (prtt->net->ops->lost(prtt->net, prtt->conf.peer))
			return -ECONNRESET;
		if (isinf(end_sec))
			end_sec = now(prtt) + NP_PRTT_PATIENCE_SEC;
		else if (now(prtt) > end_sec)
			return -ETIMEDOUT;
	}
	return op->status;
}

/* Pauses like a program that computes: does not poll the network. */
static void spin(const struct prtt *prtt, double sec)
{
	double end_sec = now(prtt) + sec;

	while (now(prtt) < end_sec)
		;
}

/*
 * Announces a measurement, and waits until the server has posted its receives.
 * n = 0 announces the end, to which there is no reply.
 */
static int announce(struct prtt *prtt, uint32_t n, uint32_t bytes)
{
	int rc;

	prtt->announcement = (struct announcement){ n, bytes };
	if (n)
		recv(prtt, ACCEPTED, prtt->in, 1, &prtt->accepted);
	send(prtt, ANNOUNCEMENT, &prtt->announcement,
	     sizeof(prtt->announcement), &prtt->announced);
	rc = await(prtt, &prtt->announced);
	return rc || !n ? rc : await(prtt, &prtt->accepted);
}

static int await_all(struct prtt *prtt, uint32_t n)
{
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++)
		rc = await(prtt, &prtt->data[i]);
	return rc;
}

/* Measures PRTT(n, delay_sec, bytes). */
static int round_trip(struct prtt *prtt, uint32_t n, double delay_sec,
		      uint32_t bytes, double *sec)
{
	double begin_sec;
	int rc = announce(prtt, n, bytes);

	if (rc)
		return rc;
	recv(prtt, REPLY, prtt->in, bytes, &prtt->reply);
	begin_sec = now(prtt);
	for (uint32_t i = 0; i < n; i++) {
		if (i && delay_sec > 0)
			spin(prtt, delay_sec);
		send(prtt, DATA, prtt->out, bytes, &prtt->data[i]);
	}
	rc = await(prtt, &prtt->reply);
	*sec = now(prtt) - begin_sec;
	return rc ? rc : await_all(prtt, n);
}

/*
 * Measures the time to receive a message that has already arrived: the reply is
 * not polled for until after_sec after the message to the server was sent.
 */
static int receive(struct prtt *prtt, double after_sec, uint32_t bytes,
		   double *sec)
{
	double begin_sec;
	int rc = announce(prtt, 1, bytes);

	if (rc)
		return rc;
	recv(prtt, REPLY, prtt->in, bytes, &prtt->reply);
	send(prtt, DATA, prtt->out, bytes, &prtt->data[0]);
	rc = await_all(prtt, 1);
	if (rc)
		return rc;
	spin(prtt, after_sec);
	begin_sec = now(prtt);
	rc = await(prtt, &prtt->reply);
	*sec = now(prtt) - begin_sec;
	return rc;
}

/* Whether the overheads of messages of this size are measured, too. */
static bool measures_overhead(uint32_t bytes, double trip_sec)
{
	uint32_t quotient = bytes;

	while (quotient % 8 == 0)
		quotient /= 8;
	return bytes == 1 || (quotient == 1 && bytes <= OVERHEAD_BYTES &&
			      trip_sec <= OVERHEAD_TRIP_SEC);
}

/* Makes the next measurement of the block once. n = 0 marks a receive. */
static int measure(struct prtt *prtt, struct np_prtt *sample)
{
	struct client *client = &prtt->client;
	size_t after = client->kind - client->n_sizes, i;

	*sample = (struct np_prtt){ .block = client->block - 1,
				    .n = 1,
				    .bytes = 1 };
	if (client->kind < client->n_sizes) {
		sample->bytes = client->size[client->kind];
		return round_trip(prtt, 1, 0, sample->bytes, &sample->sec);
	}
	sample->n = NP_PRTT_MESSAGES;
	if (!after)
		return round_trip(prtt, sample->n, 0, sample->bytes,
				  &sample->sec);
	i = client->overhead[(after - 1) / 2];
	sample->bytes = client->size[i];
	if (after % 2 == 0) {
		sample->n = 0;
		return receive(prtt, RECV_PAUSE_FACTOR * client->trip_sec[i],
			       sample->bytes, &sample->sec);
	}
	sample->delay_sec =
		SEND_PAUSE_FACTOR *
		(client->gap_sec +
		 fmax(0, client->trip_sec[i] - client->trip_sec[0]) / 2);
	return round_trip(prtt, sample->n, sample->delay_sec, sample->bytes,
			  &sample->sec);
}

/*
 * Reports the median of the repetitions, or uses it to plan the blocks to come
 * if this is the first one.
 */
static void record_median(struct prtt *prtt, struct np_prtt *sample)
{
	struct client *client = &prtt->client;

	sample->sec = np_median(client->sec, NP_PRTT_REPEATS);
	if (client->block) {
		prtt->conf.report(sample, prtt->conf.env.arg);
	} else if (client->kind < client->n_sizes) {
		client->trip_sec[client->kind] = sample->sec;
		/* Exclude a size that takes too long, and larger ones. */
		if (sample->sec > prtt->conf.max_sec)
			client->n_sizes = client->kind--;
		else if (measures_overhead(sample->bytes, sample->sec))
			client->overhead[client->n_overheads++] = client->kind;
	} else if (client->kind == client->n_sizes) {
		client->gap_sec = fmax(sample->sec - client->trip_sec[0],
				       client->trip_sec[0]) /
				  (NP_PRTT_MESSAGES - 1);
	}
}

/*
 * Stores a result and advances to the next measurement. Returns false after the
 * last one.
 */
static bool proceed(struct prtt *prtt, struct np_prtt *sample)
{
	struct client *client = &prtt->client;

	client->sec[client->repeat++] = sample->sec;
	if (client->repeat < NP_PRTT_REPEATS)
		return true;
	client->repeat = 0;
	record_median(prtt, sample);
	if (++client->kind <= client->n_sizes + 2 * client->n_overheads)
		return true;
	client->kind = 0;
	return client->block++ < prtt->conf.blocks;
}

/* Makes one measurement. */
static void client_step(struct prtt *prtt)
{
	struct np_prtt sample;
	char note[128];
	int rc = measure(prtt, &sample);

	if (!rc && !proceed(prtt, &sample)) {
		rc = announce(prtt, 0, 0);
		end(prtt, NULL);
	}
	if (!rc)
		return;
	snprintf(note, sizeof(note), "the peer does not answer: %s",
		 strerror(-rc));
	end(prtt, rc == -EINTR ? NULL : note);
}

/* ---- The server: one state for each thing it waits for ---- */

/* Waits for the next announcement. */
static void await_announcement(struct prtt *prtt)
{
	prtt->state = AWAITS_ANNOUNCEMENT;
	recv(prtt, ANNOUNCEMENT, &prtt->announcement,
	     sizeof(prtt->announcement), &prtt->announced);
}

static void start_server(struct prtt *prtt)
{
	prtt->last_message_sec = now(prtt);
	await_announcement(prtt);
}

/* Handles an announcement: posts receives for its messages, then accepts it. */
static void accept_announcement(struct prtt *prtt)
{
	if (!prtt->announcement.n) {
		end(prtt, NULL);
		return;
	}
	if (prtt->announcement.n > NP_PRTT_MESSAGES ||
	    !prtt->announcement.bytes ||
	    prtt->announcement.bytes > prtt->conf.max_bytes) {
		end(prtt, "the peer announced an impossible measurement "
			  "(another version of this program?)");
		return;
	}
	for (uint32_t i = 0; i < prtt->announcement.n; i++)
		recv(prtt, DATA, prtt->in, prtt->announcement.bytes,
		     &prtt->data[i]);
	prtt->state = AWAITS_DATA;
	send(prtt, ACCEPTED, prtt->out, 1, &prtt->accepted);
}

/* Returns 1 if all messages have arrived, in any order, otherwise 0 or -errno. */
static int data_arrived(const struct prtt *prtt)
{
	int done = 1;

	for (uint32_t i = 0; i < prtt->announcement.n; i++) {
		if (prtt->data[i].status < 0)
			return prtt->data[i].status;
		done &= prtt->data[i].status == 0;
	}
	return done;
}

/* Whether a request of the server has failed. */
static bool failed(const struct prtt *prtt)
{
	return prtt->announced.status < 0 || prtt->accepted.status < 0 ||
	       prtt->reply.status < 0;
}

/* Handles what has arrived. */
static void server_step(struct prtt *prtt, double now_sec)
{
	int arrived = prtt->state == AWAITS_DATA ?
			      data_arrived(prtt) :
			      prtt->announced.status == 0 &&
				      prtt->reply.status == 0;

	if (arrived > 0) {
		prtt->last_message_sec = now_sec;
		if (prtt->state == AWAITS_ANNOUNCEMENT) {
			accept_announcement(prtt);
		} else {
			send(prtt, REPLY, prtt->out, prtt->announcement.bytes,
			     &prtt->reply);
			await_announcement(prtt);
		}
	} else if (arrived < 0 || failed(prtt) ||
		   prtt->net->ops->lost(prtt->net, prtt->conf.peer) ||
		   now_sec >
			   prtt->last_message_sec + 2 * NP_PRTT_PATIENCE_SEC) {
		end(prtt, "the connection to the peer is lost");
	}
}

/* ---- Both sides ---- */

static void step(struct np_engine *engine, double now_sec, struct np_next *next)
{
	struct prtt *prtt = (struct prtt *)engine;

	if (!prtt->ended && prtt->conf.is_client)
		client_step(prtt);
	else if (!prtt->ended)
		server_step(prtt, now_sec);
	*next = prtt->ended ? (struct np_next){ NP_WAIT_SLEEP, INFINITY } :
			      (struct np_next){ NP_WAIT_POLL, now_sec };
}

static void free_engine(struct np_engine *engine)
{
	struct prtt *prtt = (struct prtt *)engine;

	free(prtt->out); /* in is in the same block */
	free(prtt);
}

int np_prtt_new(const struct np_prtt_conf *conf, struct np_engine **out)
{
	static const struct np_engine_ops ops = { step, free_engine };
	struct prtt *prtt = calloc(1, sizeof(*prtt));

	if (!prtt)
		return -ENOMEM;
	*prtt = (struct prtt){
		.engine.ops = &ops,
		.conf = *conf,
		.net = conf->env.net,
		.out = calloc(2, conf->max_bytes),
		.ended = !conf->takes_part,
	};
	if (!prtt->out) {
		free_engine(&prtt->engine);
		return -ENOMEM;
	}
	prtt->in = prtt->out + conf->max_bytes;
	if (conf->takes_part && conf->is_client)
		start_client(prtt);
	else if (conf->takes_part)
		start_server(prtt);
	*out = &prtt->engine;
	return 0;
}
