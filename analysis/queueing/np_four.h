/*
 * Divides the wall-clock time of an MPI program into four components
 * (Buckwalter, LLNL subcontract B546340):
 *
 *	switch		m (L / BW + Lat), of m messages of mean size L
 *	contention	waiting for others in MPI
 *	active		the rest of the time in MPI
 *	compute		all other time
 *
 * Contention comes from a closed queueing network with P customers, one for
 * each process. A cycle consists of compute / m of thinking, the switch delay
 * of a message, and a service of a = active / m at one of P equally likely
 * stations. Contention is R(P) - a for each message. The structure of this
 * network is our reconstruction, because the figure of the source is lost.
 *
 * Times are in seconds, per process.
 */
#ifndef NP_FOUR_H
#define NP_FOUR_H


#include "np_err.h"

#define NP_FOUR_MAX_PROCESSES 4194304

/* Measurements of a run; means over processes. */
struct np_run {
	double processes;
	double app_sec, mpi_sec; /* total time, and the part spent in MPI */
	double messages;
	double mean_bytes;
};

struct np_link {
	double bytes_per_sec;
	double latency_sec;
};

enum np_four_variant {
	/*
	 * As published: time in MPI consists of active and contention. The
	 * switch time is added, so that the wall-clock time exceeds the
	 * measured one.
	 */
	NP_FOUR_PUBLISHED,
	/* Time in MPI includes the switch. */
	NP_FOUR_CONSISTENT,
};

struct np_four {
	double switch_sec, contention_sec, active_sec, compute_sec;
	double wall_sec; /* sum of the components */
};

/*
 * Computes the components of a measured run. Without messages, all time in MPI
 * is active. Otherwise active time and contention depend on each other; their
 * sum is the time in MPI, so active is found by bisection.
 * Returns 0, or -EINVAL with err naming the value: processes not a whole number
 * from 1 to NP_FOUR_MAX_PROCESSES; a time, count or size that is negative or
 * not finite; more time in MPI than in total; bandwidth not above 0.
 */
int np_four(const struct np_run *run, const struct np_link *link,
	    enum np_four_variant variant, struct np_four *out,
	    struct np_err *err);

/*
 * The reverse: contention from known active_sec and compute_sec. Uses only
 * processes, messages and mean_bytes of run.
 */
int np_four_forward(const struct np_run *run, const struct np_link *link,
		    double active_sec, double compute_sec,
		    struct np_four *out, struct np_err *err);

#endif
