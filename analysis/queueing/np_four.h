/*
 * Where the time of a run goes: four components of the wall-clock time of an
 * MPI program (Buckwalter, LLNL subcontract B546340):
 *
 *	switch		m (L / BW + Lat), of m messages of mean size L
 *	contention	waiting for others in MPI
 *	active		the rest of the time in MPI
 *	compute		all other time
 *
 * Contention comes from a closed network of P customers, one for each process:
 * a cycle is compute / m of thinking, the switch delay of a message, and a
 * service of a = active / m at one of P stations, all chosen alike.  It is
 * R(P) - a for each message.  The structure of that network is our
 * reconstruction, as the figure of the source is lost.
 *
 * Times are seconds, of one process.
 */
#ifndef NP_FOUR_H
#define NP_FOUR_H

#include <stdbool.h>

#include "np_err.h"

#define NP_FOUR_MAX_PROCESSES 4194304

/* What was measured of a run, for each process on average. */
struct np_run {
	double processes;
	double app_sec, mpi_sec; /* in all, and of that in MPI */
	double messages;
	double mean_bytes;
};

struct np_link {
	double bytes_per_sec;
	double latency_sec;
};

enum np_four_variant {
	/* As published: time in MPI is active and contention; switch comes on
	   top, and the wall-clock time is that much more than was measured. */
	NP_FOUR_PUBLISHED,
	/* Time in MPI has the switch in it. */
	NP_FOUR_CONSISTENT,
};

struct np_four {
	double switch_sec, contention_sec, active_sec, compute_sec;
	double wall_sec; /* their sum */
	/* Nothing was sent, so that contention is undefined: all active. */
	bool no_messages;
};

/*
 * The components of a measured run: active and contention define each other;
 * their sum is the time in MPI, so that active is found by bisection.
 * Returns 0, or -EINVAL with err naming what and the value: processes no whole
 * number from 1 to NP_FOUR_MAX_PROCESSES; a time, a number or a size negative
 * or not finite; more time in MPI than in all; bandwidth not above 0.
 */
int np_four(const struct np_run *run, const struct np_link *link,
	    enum np_four_variant variant, struct np_four *out,
	    struct np_err *err);

/*
 * The same the other way: contention where active_sec and compute_sec are
 * known, with which of run only processes, messages and mean_bytes count.
 */
int np_four_forward(const struct np_run *run, const struct np_link *link,
		    double active_sec, double compute_sec,
		    struct np_four *out, struct np_err *err);

#endif
