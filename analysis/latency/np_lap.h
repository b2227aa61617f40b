/*
 * The events of a loop in laps: what an event waits for is of its own lap
 * or of the one before.  An operation's events may be of different laps, as
 * may those of one iteration at different ranks.
 */
#ifndef NP_LAP_H
#define NP_LAP_H

#include "np_event.h"
#include "np_iterations.h"

/* Those before lap `first`, those before lap `end`, and all others. */
enum np_stage { NP_BEFORE, NP_WITHIN, NP_AFTER, NP_STAGES };

/* An event that a later stage or the next lap waits for. */
struct np_carried {
	uint32_t event; /* if it moves, that of lap first - 1 */
	bool moves;	/* each lap has its own */
};

/* An operation of an iteration. */
struct np_lap_op {
	uint32_t node, period; /* of the first iteration; to the next */
};

struct np_laps {
	const struct np_events *e; /* borrowed */
	struct np_iterations loop;
	struct np_lap_op *op;
	uint32_t *lag; /* laps behind its iteration; of op << 1 | which */
	uint32_t max_lag;
	uint32_t first, end; /* laps that are equal */
	struct np_carried *carried;
	size_t n_carried, max_carried;
};

/*
 * Laps of a graph, if it has a loop of which they can be made and which is
 * most of the graph; else out->loop.part is NULL.  Free with np_laps_free().
 * Returns 0 or -ENOMEM.
 */
int np_laps_find(const struct np_events *e, struct np_laps *out);
void np_laps_free(struct np_laps *r);

enum np_stage np_laps_stage(const struct np_laps *r, uint32_t event,
			    uint32_t *lap);

/* The same event so many laps later. */
uint32_t np_laps_move(const struct np_laps *r, uint32_t event, uint32_t laps);

/*
 * Nodes [from, to) of a part: all that have events of a stage, and some more;
 * for NP_WITHIN, those of the lap `first`.
 */
void np_laps_range(const struct np_laps *r, size_t part, enum np_stage stage,
		   uint32_t *from, uint32_t *to);

#endif
