#include "np_pingpong.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "np_pingpong_sides.h"

struct np_pingpong {
	struct np_pingpong_conf conf;
	struct np_asker asker;
	struct np_answerer answerer;
};

double np_pingpong_patience_sec(double period_sec)
{
	return fmax(10 * period_sec, 10.0);
}

static struct np_partner partner(const struct np_pingpong_conf *c,
				 struct np_net *net, int peer,
				 const char *name)
{
	return (struct np_partner){
		.net = net, .peer = peer, .name = name,
		.patience_sec = np_pingpong_patience_sec(c->period_sec),
		.note = c->note, .arg = c->arg,
	};
}

static int open_asker(struct np_pingpong *p, struct np_net *net,
		      const struct np_clock *clock)
{
	const struct np_pingpong_conf *c = &p->conf;
	struct np_asker *a = &p->asker;

	if (c->pair.asks == NP_NOBODY)
		return 0;
	a->conf = c;
	a->clock = clock;
	a->partner = partner(c, net, c->asks_peer, c->asks_name);
	if (np_channel_open(&a->channel, net, c->asks_peer,
			    NP_TAG_PING | c->rank,
			    NP_TAG_PONG | (uint64_t)c->pair.asks, c->bytes))
		return -ENOMEM;
	np_asker_start(a);
	return 0;
}

static int open_answerer(struct np_pingpong *p, struct np_net *net)
{
	const struct np_pingpong_conf *c = &p->conf;
	struct np_answerer *a = &p->answerer;

	if (c->pair.answers == NP_NOBODY)
		return 0;
	a->conf = c;
	a->partner = partner(c, net, c->answers_peer, c->answers_name);
	if (np_channel_open(&a->channel, net, c->answers_peer,
			    NP_TAG_PONG | c->rank,
			    NP_TAG_PING | (uint64_t)c->pair.answers, c->bytes))
		return -ENOMEM;
	np_answerer_start(a);
	return 0;
}

int np_pingpong_new(const struct np_pingpong_conf *conf, struct np_net *net,
		    const struct np_clock *clock, struct np_pingpong **out)
{
	struct np_pingpong *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->conf = *conf;
	if (open_asker(p, net, clock) || open_answerer(p, net)) {
		np_pingpong_free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

void np_pingpong_free(struct np_pingpong *p)
{
	if (!p)
		return;
	np_channel_free(&p->asker.channel);
	np_channel_free(&p->answerer.channel);
	free(p);
}

/* Both sides live in one process: the more pressing wish counts. */
static void merge(struct np_next *next, struct np_next other)
{
	if (other.how < next->how)
		next->how = other.how;
	next->until_sec = fmin(next->until_sec, other.until_sec);
}

void np_pingpong_step(void *pingpong, double now_sec, struct np_next *next)
{
	struct np_pingpong *p = pingpong;
	struct np_next side;

	*next = (struct np_next){ NP_WAIT_SLEEP, INFINITY };
	if (p->conf.pair.answers != NP_NOBODY) {
		np_answerer_step(&p->answerer, now_sec, &side);
		merge(next, side);
	}
	if (p->conf.pair.asks != NP_NOBODY) {
		np_asker_step(&p->asker, now_sec, &side);
		merge(next, side);
	}
}

uint64_t np_pingpong_messages(const struct np_pingpong *p)
{
	return p->asker.channel.messages + p->answerer.channel.messages;
}
