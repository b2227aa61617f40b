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
#include "np_pairing.h"

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

/* What an engine is given; all is borrowed. */
struct np_engine_env {
	struct np_net *net;
	const struct np_clock *clock;
	uint32_t rank;
	const struct np_place *place; /* of every rank */
	double start_sec; /* the common start, on the clock */
	/* A value in seconds, seen at at_sec after the common start. */
	void (*count)(double at_sec, double sec, void *arg);
	/* One line of text for the record. */
	void (*note)(const char *text, void *arg);
	void *arg;
};

struct np_engine;

struct np_engine_ops {
	/* Do all that can be done at now_sec; progress() was just called. */
	void (*step)(struct np_engine *e, double now_sec, struct np_next *next);
	/* When no message is under way. */
	void (*free)(struct np_engine *e);
};

/* Every engine begins with this. */
struct np_engine {
	const struct np_engine_ops *ops;
	uint64_t messages; /* sent so far */
};

/* What else there is to do. */
struct np_idle {
	/* Between two steps, when no message is being timed. */
	void (*f)(void *arg, double now_sec);
	double every_sec; /* it is wanted at least about so often */
	void *arg;
};

/* Run until *stop() or end_sec (of the clock; INFINITY: no end). */
void np_loop_run(struct np_engine *e, const struct np_idle *idle,
		 struct np_net *net, const struct np_clock *clock,
		 bool (*stop)(void), double end_sec);

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

#endif
