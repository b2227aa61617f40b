/*
 * A world for engines (struct np_engine): its time passes only when
 * everybody in it waits, its messages take as long as the test says.
 */
#ifndef NP_T_WORLD_H
#define NP_T_WORLD_H

#include <stdint.h>

#include "np_clock.h"
#include "np_engine.h"
#include "np_net_loop.h"

#define T_WORLD_MAX 8
#define T_POLL_SEC 1e-6 /* what one step of a polling engine takes */

struct t_citizen {
	struct np_net *net;
	struct np_engine *engine;
	struct np_next next;
	/* what it did, for tests to look at */
	double polled_sec;
	uint64_t steps;
	uint64_t got_polling, got_asleep; /* messages, by what it waited for */
};

struct t_world {
	struct np_clock clock; /* first */
	double now_sec;
	double late_sec; /* how late everybody wakes up */
	struct np_net_loop *net;
	size_t n;
	struct t_citizen citizen[T_WORLD_MAX];
};

/* Of a test. */
extern struct t_world world;

/* n ends, all connected to all: rank j is end j. What was before is freed. */
void t_world_init(size_t n);
void t_world_free(void); /* with the engines of all */

/* Let so much time pass. */
void t_world_run(struct t_world *w, double sec);

#endif
