/*
 * Keeps one side step going: starts it, and starts it again if its processes
 * do not come up in time.
 *
 * Slurm 22.05's PMIx plugin loses, rarely, a message to a slurmstepd that is
 * not listening yet; the fence at the start of our programs then never ends.
 */
#ifndef NP_KEEPER_H
#define NP_KEEPER_H

#include "np_sidecmd.h"
#include "np_sidestep.h"

#define NP_KEEPER_STARTS 3 /* at most */

struct np_keeper {
	struct np_sidestep step;
	struct np_sidecmd cmd; /* owned */
	char **env;	       /* borrowed */
	double patience_sec, started_sec;
	unsigned starts;
	bool stopping; /* told to end, to be started again */
	bool lost;     /* LOST has been reported */
};

#define NP_KEEPER_INIT { .step = NP_SIDESTEP_INIT }

enum np_keeper_news {
	NP_KEEPER_QUIET,
	NP_KEEPER_AGAIN, /* started again */
	NP_KEEPER_LOST,	 /* has ended and stays so; told once */
};

/*
 * Start cmd (taken over, also on failure) at now_sec of a monotonic clock.
 * patience_sec: how long its processes may take to come up.
 * Returns 0 or -errno with err.
 */
int np_keeper_start(struct np_keeper *k, struct np_sidecmd *cmd, char **env,
		    double patience_sec, double now_sec, struct np_err *err);

/* To be called every second or so.  up: its processes have reported. */
enum np_keeper_news np_keeper_tick(struct np_keeper *k, bool up,
				   double now_sec);

void np_keeper_free(struct np_keeper *k);

#endif
