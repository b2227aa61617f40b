/*
 * The two sides of a ping-pong; used by np_pingpong.c alone.
 */
#ifndef NP_PINGPONG_SIDES_H
#define NP_PINGPONG_SIDES_H

#include <stdbool.h>
#include <stdint.h>

#include "np_pingpong.h"

/*
 * How long to poll for an answer before falling asleep.
 *
 * To fall asleep and be woken costs several microseconds, which matters beside
 * an answer in 2 us and not beside one in 200.  So polls are a little longer
 * than the fastest answer that a poll has caught; and short where they catch
 * none, as when both processes share a core and one can only answer once the
 * other sleeps.  Now and then a poll is longer, to find out.
 */

#define NP_POLL_LEAST_SEC 20e-6
#define NP_POLL_MOST_SEC 100e-6

struct np_poll { /* zero: nothing known yet */
	double fastest_sec; /* 0: none caught */
	uint32_t tries;
};

/* How long to poll: from NP_POLL_LEAST_SEC to NP_POLL_MOST_SEC. */
double np_poll_sec(const struct np_poll *p);

/*
 * The same where a long poll does no harm, as nothing is being timed: the
 * first ones and every 16th are NP_POLL_MOST_SEC.
 */
double np_poll_try_sec(struct np_poll *p);

/* A poll caught an answer that came after answer_sec. */
void np_poll_caught(struct np_poll *p, double answer_sec);

#define NP_TAG_PING (1ull << 32) /* | rank of the sender */
#define NP_TAG_PONG (2ull << 32)

/* The head of every message; the rest is padding. */
struct np_ping {
	uint32_t kept;	  /* 0: the round that warms the path */
	uint32_t next_us; /* from now to the next exchange */
};

/* One direction each of the same connection. */
struct np_channel {
	struct np_net *net;
	int peer;
	uint64_t send_tag, recv_tag;
	size_t bytes;
	char *out, *in; /* bytes each */
	struct np_op sent, got;
	uint64_t messages;
};

/* Returns 0 or -ENOMEM. */
int np_channel_open(struct np_channel *c, struct np_net *net, int peer,
		    uint64_t send_tag, uint64_t recv_tag, size_t bytes);
void np_channel_free(struct np_channel *c);
void np_channel_recv(struct np_channel *c);
void np_channel_send(struct np_channel *c, struct np_ping ping);
struct np_ping np_channel_ping(const struct np_channel *c);

struct np_asker {
	const struct np_pingpong_conf *conf;
	const struct np_clock *clock;
	struct np_channel channel;
	struct np_partner partner;
	enum { NP_ASKER_RESTS, NP_ASKER_WARMS, NP_ASKER_TIMES } state;
	double due_sec, next_due_sec;
	double sent_sec, poll_until_sec;
	struct np_poll poll;
	uint64_t random;
};

void np_asker_start(struct np_asker *a);
void np_asker_step(struct np_asker *a, double now_sec, struct np_next *next);

struct np_answerer {
	const struct np_pingpong_conf *conf;
	struct np_channel channel;
	struct np_partner partner;
	double heard_sec;
	double expected_sec; /* when the next exchange is announced */
	double wake_sec, poll_until_sec;
	double answered_sec; /* in the round that warms */
	struct np_poll poll;
	bool slept;
	/* learned: arrival against announcement, its scatter, own waking */
	double gap_sec, scatter_sec, late_sec;
};

void np_answerer_start(struct np_answerer *a);
void np_answerer_step(struct np_answerer *a, double now_sec,
		      struct np_next *next);

#endif
