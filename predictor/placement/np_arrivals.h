/*
 * Which submissions have become jobs.  Until then they stand in the decision
 * that admitted them, and from then on in the snapshot, but never in both.
 */
#ifndef NP_ARRIVALS_H
#define NP_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct np_arrivals {
	int64_t since_sec; /* what was submitted before has arrived, or never
			      will */
	struct np_arrival *of; /* by ascending owner, each once */
	size_t n;
};

struct np_arrival {
	uint32_t owner; /* uid */
	uint32_t n;	/* of his jobs, new in a snapshot */
};

/* Of jobs in any order, as many of one owner as there are entries of his. */
void np_arrivals_init(struct np_arrivals *a, int64_t since_sec,
		      struct np_arrival *of, size_t n);

/* Count one off; false: no more of his has arrived. */
bool np_arrivals_take(struct np_arrivals *a, uint32_t owner);

#endif
