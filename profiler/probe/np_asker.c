/* The side that asks, and measures. */
#include "np_pingpong_sides.h"

#include <math.h>

#define GOLDEN 0.6180339887498949

/* Even in [0, 1): splitmix64 of Steele, Lea and Flood (2014). */
static double random_unit(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double interval(struct np_asker *a)
{
	return a->conf->period_sec * (0.75 + 0.5 * random_unit(&a->random));
}

void np_asker_start(struct np_asker *a)
{
	const struct np_pingpong_conf *c = a->conf;
	double turn = c->rank * GOLDEN;

	a->random = c->seed;
	a->state = NP_ASKER_RESTS;
	a->due_sec = c->start_sec + c->period_sec * (turn - floor(turn));
}

static void send(struct np_asker *a)
{
	double ahead_us;

	np_channel_recv(&a->channel);
	a->sent_sec = a->clock->now_sec(a->clock);
	ahead_us = fmax(0, 1e6 * (a->next_due_sec - a->sent_sec));
	np_channel_send(&a->channel, (struct np_ping){
		.kept = a->state == NP_ASKER_TIMES,
		.next_us = (uint32_t)fmin(ahead_us, UINT32_MAX),
	});
	a->poll_until_sec = a->sent_sec + (a->state == NP_ASKER_TIMES ?
						   np_poll_sec(&a->poll) :
						   np_poll_try_sec(&a->poll));
}

static void begin(struct np_asker *a)
{
	a->state = NP_ASKER_WARMS;
	a->next_due_sec = a->due_sec + interval(a);
	send(a);
}

static void rest(struct np_asker *a, double now_sec)
{
	a->state = NP_ASKER_RESTS;
	a->due_sec = a->next_due_sec;
	if (a->due_sec <= now_sec) /* no burst to catch up */
		a->due_sec = now_sec + interval(a);
}

static void answered(struct np_asker *a, double now_sec)
{
	const struct np_pingpong_conf *c = a->conf;

	if (now_sec <= a->poll_until_sec)
		np_poll_caught(&a->poll, now_sec - a->sent_sec);
	if (np_partner_heard(&a->partner)) {
		rest(a, now_sec);
	} else if (a->state == NP_ASKER_WARMS) {
		a->state = NP_ASKER_TIMES;
		send(a);
	} else {
		c->latency(now_sec - c->start_sec,
			   (now_sec - a->sent_sec) / 2, c->arg);
		rest(a, now_sec);
	}
}

void np_asker_step(struct np_asker *a, double now_sec, struct np_next *next)
{
	struct np_channel *ch = &a->channel;
	enum np_partner_state there;
	double look_sec;

	if (a->state != NP_ASKER_RESTS && ch->got.status == 0 &&
	    ch->sent.status == 0)
		answered(a, now_sec);
	else if (a->state == NP_ASKER_RESTS && now_sec >= a->due_sec &&
		 a->partner.state != NP_PARTNER_LOST)
		begin(a);
	if (a->state != NP_ASKER_RESTS &&
	    (ch->got.status < 0 || ch->sent.status < 0))
		np_partner_lost(&a->partner, now_sec);

	there = np_partner_check(&a->partner, now_sec,
				 a->state == NP_ASKER_RESTS ? INFINITY :
							      a->sent_sec,
				 &look_sec);
	if (there == NP_PARTNER_LOST)
		*next = (struct np_next){ NP_WAIT_SLEEP, look_sec };
	else if (a->state == NP_ASKER_RESTS)
		*next = (struct np_next){ NP_WAIT_SLEEP, a->due_sec };
	else if (now_sec < a->poll_until_sec)
		*next = (struct np_next){ NP_WAIT_POLL, a->poll_until_sec };
	else
		*next = (struct np_next){ NP_WAIT_NET, look_sec };
}
