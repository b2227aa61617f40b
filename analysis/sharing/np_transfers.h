/*
 * Measures simultaneous transfers between processes, trial after trial.
 *
 * At the beginning of a trial every process posts its receives and reports to
 * the first process that it is ready; when all are ready, the first process
 * starts all others. A transfer is one message. Its time lasts from its start
 * to the arrival of a token that the receiver returns once it has the complete
 * message. Both are read from the sender's clock, so clocks need not be
 * synchronised. The sender reports the time to the first process.
 *
 * Processes end only after they know that all others have finished. They sleep
 * while they wait, because processors belong to other jobs.
 */
#ifndef NP_TRANSFERS_H
#define NP_TRANSFERS_H

#include <stddef.h>
#include <stdint.h>

#include "np_engine.h"

struct np_transfer {
	uint32_t from, to; /* ranks; must differ */
	uint32_t bytes;
	double at_sec; /* seconds after the start of the trial */
};

struct np_trial {
	const struct np_transfer *t; /* borrowed */
	size_t n;		     /* may be 0 */
};

struct np_transfers_conf {
	/* count and note are not used; arg: for done and over */
	struct np_engine_env env;
	uint32_t n_ranks;	      /* all are connected to all others */
	const struct np_trial *trial; /* the same in all processes; borrowed */
	size_t n_trials;
	/* limit of a trial, after which the measurement fails */
	double patience_sec;
	/* In the first process: times of all transfers of trial i. */
	void (*done)(size_t i, const double *sec, void *arg);
	/* Called once at the end: rc 0, or -errno and the reason. */
	void (*over)(int rc, const char *why, void *arg);
};

/* Returns 0 or -ENOMEM. */
int np_transfers_new(const struct np_transfers_conf *conf,
		     struct np_engine **out);

#endif
