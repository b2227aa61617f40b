/*
 * CompressionB: rounds of messages around a ring of nodes, to take away a
 * known part of the network.
 *
 * A round: post M receives from each of P predecessors, sleep about B, send M
 * messages of S bytes to each of P successors, wait for all.  The source sends
 * before it sleeps; but with MPI and messages of this size nothing moves until
 * the process is back, so that a round there, too, takes its pause *plus* its
 * transfers.  Here that does not depend on the library, and it must be so: if
 * transfers could hide in the pause, a slower network would not show.
 *
 * Pauses vary between B/2 and 3B/2, in a fixed order (multiples of the golden
 * ratio), the same for all processes.  Were they equal, two such steps would
 * fall into step and hardly feel each other, as no two programs do.
 *
 * The duration of a round, pause included, is what the level itself suffers
 * from whoever else uses the network.  The first one connects and is not
 * counted.  A process is never more rounds ahead of another than there are
 * nodes in the ring, which bounds what can be under way.
 *
 * It sleeps while it waits, as the processors belong to the program; only the
 * first NP_ROUNDS_POLL_SEC of a wait, and a shorter pause than that, are
 * polled through.
 */
#ifndef NP_ROUNDS_H
#define NP_ROUNDS_H

#include <stddef.h>
#include <stdint.h>

#include "np_level.h"
#include "np_loop.h"

#define NP_ROUNDS_POLL_SEC 50e-6

/*
 * A round that is not over so long after its pause is noted, and not counted
 * if it ends after all.
 */
#define NP_ROUNDS_PATIENCE_SEC 30.0

struct np_rounds_conf {
	struct np_engine_env env; /* rounds are counted */
	struct np_level level; /* partners: no more than there are */
	/* level.partners ranks each, the latter connected; borrowed */
	const size_t *from, *to;
	double phase; /* 0 to 1: where in their order pauses begin; of the step */
};

/* Returns 0 or -ENOMEM. */
int np_rounds_new(const struct np_rounds_conf *conf, struct np_engine **out);

#endif
