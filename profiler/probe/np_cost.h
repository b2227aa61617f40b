/*
 * What this process takes from its machine.
 */
#ifndef NP_COST_H
#define NP_COST_H

#include <stdint.h>

struct np_cost {
	double cpu_sec; /* user and system, all threads, since the start */
	uint64_t rss_bytes; /* the most that was resident at any time */
};

void np_cost_now(struct np_cost *c);

/*
 * Be woken promptly on busy processors, as far as an unprivileged process
 * can ask for it.  What the kernel does not grant is left as it is.
 */
void np_cost_prompt(void);

#endif
