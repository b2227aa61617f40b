#include "np_loop.h"

#include <math.h>

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

/* UCX has no other way to sleep until a message comes than this dance. */
static void wait_net(struct np_net *net, const struct np_clock *clock,
		     double until_sec)
{
	if (net->ops->progress(net))
		return; /* something came: the engine first */
	if (net->ops->arm(net) == 0)
		clock->wait(clock, net->fd, until_sec);
}

void np_loop_run(struct np_engine *e, const struct np_idle *idle,
		 struct np_net *net, const struct np_clock *clock,
		 bool (*stop)(void), double end_sec)
{
	double idle_sec = clock->now_sec(clock);
	struct np_next next;

	while (!stop()) {
		double now;

		net->ops->progress(net);
		now = clock->now_sec(clock);
		if (now >= end_sec)
			break;
		e->ops->step(e, now, &next);
		/*
		 * Asleep until a time is a good moment to be idle.  While a
		 * message is awaited, only if that was not had for long.
		 */
		if (next.how == NP_WAIT_SLEEP ||
		    now >= idle_sec + idle->every_sec) {
			idle->f(idle->arg, now);
			idle_sec = now;
		}
		if (next.how == NP_WAIT_POLL)
			continue;
		next.until_sec = fmin(next.until_sec, end_sec);
		next.until_sec = fmin(next.until_sec,
				      idle_sec + idle->every_sec);
		if (next.how == NP_WAIT_SLEEP)
			clock->wait(clock, -1, next.until_sec);
		else
			wait_net(net, clock, next.until_sec);
	}
}
