/*
 * The least latency between every two processes of a step: one pair after the
 * other, so that nothing but what else runs is measured.
 *
 * A token goes from the first process to the last.  Who has it asks each process
 * of a higher rank so many times, which answers at once.  The last sends the end
 * back to the first.
 */
#ifndef NP_MATRIX_H
#define NP_MATRIX_H

#include "np_loop.h"

#define NP_MATRIX_BYTES 1024 /* of a message, and of its answer */

struct np_matrix_conf {
	struct np_engine_env env; /* nothing is counted; arg: below */
	uint32_t n_ranks;	  /* all connected to all others */
	uint32_t times;		  /* that a pair is asked, 1 or more */
	double patience_sec;	  /* without an answer all is given up */
	/* Half of the shortest round trip to a process of a higher rank. */
	void (*pair)(uint32_t peer, double sec, void *arg);
	void (*over)(void *arg); /* nothing is left to do; once */
};

/* Returns 0 or -ENOMEM. */
int np_matrix_new(const struct np_matrix_conf *conf, struct np_engine **out);

#endif
