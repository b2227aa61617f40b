/*
 * Transfers between processes at the same time, trial after trial, and how
 * long each took.
 *
 * A trial: every process posts what it is to receive and tells the first one
 * that it is ready; when all are, that one tells all to go.  A transfer is one
 * message.  Its time is that from its start to the return of a token that its
 * receiver sends once all of it is there, on the sender's clock, so that clocks
 * need not agree.  The sender tells the time to the first process.
 *
 * In the end all have heard that all are done, so that they can go.
 *
 * Processes sleep while they wait, as processors belong to others.
 */
#ifndef NP_TRANSFERS_H
#define NP_TRANSFERS_H

#include <stddef.h>
#include <stdint.h>

#include "np_loop.h"

struct np_transfer {
	uint32_t from, to; /* ranks, not the same */
	uint32_t bytes;
	double at_sec; /* after the start of the trial */
};

struct np_trial {
	const struct np_transfer *t; /* borrowed */
	size_t n;		     /* 0 is allowed */
};

struct np_transfers_conf {
	struct np_engine_env env; /* nothing is counted or noted; arg: below */
	uint32_t n_ranks; /* all connected to all others */
	const struct np_trial *trial; /* the same at all processes; borrowed */
	size_t n_trials;
	double patience_sec; /* a trial that takes longer will never end */
	/* In the first process: times of all transfers of trial i. */
	void (*done)(size_t i, const double *sec, void *arg);
	/* The end of all: rc 0, or -errno and why.  Once. */
	void (*over)(int rc, const char *why, void *arg);
};

/* Returns 0 or -ENOMEM. */
int np_transfers_new(const struct np_transfers_conf *conf,
		     struct np_engine **out);

#endif
