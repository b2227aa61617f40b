/*
 * The loop that runs an engine: a state machine which never blocks, but says
 * what it waits for.  So the same engine runs on real time and messages here
 * and, step by step, on a clock and a network of the tests' making.
 */
#ifndef NP_LOOP_H
#define NP_LOOP_H

#include <stdbool.h>

#include "np_clock.h"
#include "np_net.h"

/* What an engine waits for, most pressing first. */
enum np_wait {
	NP_WAIT_POLL,	/* the next message, without leaving the processor */
	NP_WAIT_NET,	/* the next message or a time, asleep */
	NP_WAIT_SLEEP,	/* a time; messages may lie until then */
};

struct np_next {
	enum np_wait how;
	double until_sec; /* of the clock; may be INFINITY */
};

struct np_engine {
	/* Do all that can be done at now_sec; progress() was just called. */
	void (*step)(void *engine, double now_sec, struct np_next *next);
	/* Between two steps, when no message is being timed. */
	void (*idle)(void *arg, double now_sec);
	double idle_every_sec; /* it is wanted at least about so often */
	void *engine, *arg;
};

/* Run until *stop() or end_sec (of the clock; INFINITY: no end). */
void np_loop_run(const struct np_engine *e, struct np_net *net,
		 const struct np_clock *clock, bool (*stop)(void),
		 double end_sec);

#endif
