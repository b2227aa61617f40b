/*
 * np_wire in memory: the processes of a step are wires of one process, for
 * tests.
 */
#ifndef NP_WIRE_LOOP_H
#define NP_WIRE_LOOP_H

#include "np_wire.h"

struct np_wire_loop;

/* size wires; NULL if memory is short. */
struct np_wire_loop *np_wire_loop_new(uint32_t size);
void np_wire_loop_free(struct np_wire_loop *l); /* NULL is allowed */

/*
 * One wire. A single thread cannot wait for itself: fence() returns at once,
 * 0 if every process has put its value and -ETIMEDOUT otherwise. close()
 * does nothing.
 */
struct np_wire *np_wire_loop_end(struct np_wire_loop *l, uint32_t rank);

#endif
