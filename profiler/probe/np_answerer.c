/* The side that answers, awake no longer than it must be. */
#include "np_pingpong_sides.h"

#include <math.h>

/* Weight of the newest observation, as for TCP's round-trip time. */
#define GAIN 0.125

/* A sleep shorter than this is polled through: falling asleep costs as much. */
#define SHORTEST_SLEEP_SEC 20e-6

#define LEAST_LEAD_SEC 2e-6

/* A process that was kept waiting for longer cannot plan with it. */
#define MOST_LATE_SEC 200e-6

void np_answerer_start(struct np_answerer *a)
{
	a->heard_sec = a->conf->start_sec;
	a->expected_sec = a->wake_sec = a->poll_until_sec = -INFINITY;
	np_channel_recv(&a->channel);
}

/* The first message of an exchange came: how well was it announced? */
static void learn(struct np_answerer *a, double now_sec)
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
static void plan(struct np_answerer *a)
{
	double poll_sec = np_poll_sec(&a->poll);
	double lead = fmin(2 * a->scatter_sec + LEAST_LEAD_SEC, poll_sec / 2);

	a->wake_sec = a->expected_sec + a->gap_sec - lead - a->late_sec;
	a->poll_until_sec = a->wake_sec + a->late_sec + poll_sec;
	a->slept = false;
}

static void answer(struct np_answerer *a, double now_sec)
{
	struct np_ping ping = np_channel_ping(&a->channel);

	np_channel_recv(&a->channel);
	np_channel_send(&a->channel, ping);
	np_partner_heard(&a->partner);
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
static void woke(struct np_answerer *a, double now_sec)
{
	double late = fmin(now_sec - a->wake_sec, MOST_LATE_SEC);

	if (a->slept)
		a->late_sec += GAIN * (late - a->late_sec);
	a->slept = false;
}

void np_answerer_step(struct np_answerer *a, double now_sec,
		      struct np_next *next)
{
	struct np_channel *ch = &a->channel;
	enum np_partner_state there;
	double look_sec;

	if (now_sec >= a->wake_sec)
		woke(a, now_sec);
	if (ch->got.status == 0 && ch->sent.status == 0)
		answer(a, now_sec);
	if (ch->got.status < 0 || ch->sent.status < 0)
		np_partner_lost(&a->partner, now_sec);

	there = np_partner_check(&a->partner, now_sec,
				 fmax(a->heard_sec, a->expected_sec),
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
