/*
 * The two sides of a ping-pong; used by np_pingpong.c alone.
 */
#ifndef NP_PINGPONG_SIDES_H
#define NP_PINGPONG_SIDES_H

#include "np_pingpong.h"
#include "np_poll.h"

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
