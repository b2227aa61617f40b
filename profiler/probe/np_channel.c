#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_pingpong_sides.h"

#define MARGIN 1.5
#define FIRST_TRIES 4
#define TRY_EVERY 16

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

void np_poll_caught(struct np_poll *p, double answer_sec)
{
	if (!p->fastest_sec || answer_sec < p->fastest_sec)
		p->fastest_sec = answer_sec;
}

int np_channel_open(struct np_channel *c, struct np_net *net, int peer,
		    uint64_t send_tag, uint64_t recv_tag, size_t bytes)
{
	*c = (struct np_channel){
		.net = net, .peer = peer, .send_tag = send_tag,
		.recv_tag = recv_tag, .bytes = bytes,
		.out = calloc(1, bytes), .in = calloc(1, bytes),
	};
	if (c->out && c->in)
		return 0;
	np_channel_free(c);
	return -ENOMEM;
}

void np_channel_free(struct np_channel *c)
{
	free(c->out);
	free(c->in);
	c->out = c->in = NULL;
}

void np_channel_recv(struct np_channel *c)
{
	c->net->ops->recv(c->net, c->recv_tag, c->in, c->bytes, &c->got);
}

void np_channel_send(struct np_channel *c, struct np_ping ping)
{
	/* What is not measured carries no padding: it is the program's path. */
	size_t bytes = ping.kept ? c->bytes : sizeof(ping);

	memcpy(c->out, &ping, sizeof(ping));
	c->messages++;
	c->net->ops->send(c->net, c->peer, c->send_tag, c->out, bytes,
			  &c->sent);
}

struct np_ping np_channel_ping(const struct np_channel *c)
{
	struct np_ping ping;

	memcpy(&ping, c->in, sizeof(ping));
	return ping;
}
