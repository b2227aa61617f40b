/*
 * np_net in memory: n processes that are one, for tests. Messages take a
 * settable time on a settable clock, peers can be lost or fall silent.
 */
#ifndef NP_NET_LOOP_H
#define NP_NET_LOOP_H

#include <stdbool.h>

#include "np_clock.h"
#include "np_net.h"

#define NP_NET_LOOP_RANKS 64 /* that one may connect to */

struct np_net_loop;

/*
 * n ends; clock is borrowed. Returns NULL if memory is short. The ends and
 * all messages are freed with it.
 */
struct np_net_loop *np_net_loop_new(size_t n, const struct np_clock *clock);
void np_net_loop_free(struct np_net_loop *l); /* NULL is allowed */

/* One end. */
struct np_net *np_net_loop_end(struct np_net_loop *l, size_t i);

/* How long messages take from now on (at first: 0). */
void np_net_loop_set_delay(struct np_net_loop *l, double delay_sec);

/* Messages from end i vanish (or no longer do). */
void np_net_loop_set_silent(struct np_net_loop *l, size_t i, bool silent);

/* End i is gone: everybody connected to it finds it lost. */
void np_net_loop_kill(struct np_net_loop *l, size_t i);

/* What end i waits for fails with -ECONNRESET. */
void np_net_loop_fail_receives(struct np_net_loop *l, size_t i);

/* When the next message arrives anywhere: INFINITY if none is on its way. */
double np_net_loop_next_sec(const struct np_net_loop *l);

/* How often end i was asked to make progress. */
uint64_t np_net_loop_polls(const struct np_net_loop *l, size_t i);

#endif
