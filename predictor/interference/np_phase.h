/*
 * Does a program use the network steadily, or in phases?
 *
 * A pure function of the latency windows of a run.  Two descriptions of the
 * sequence of x = log(mean latency of a window) compete:
 *
 *	steady:	   x ~ N(m, v), each window on its own
 *	in phases: a two-state Markov chain, x ~ N(m_state, v) with
 *		   m_quiet < m_busy, the path of states found by Viterbi and
 *		   re-estimation
 *
 * v is never taken below what the samples inside the windows let expect of
 * their means (sd^2 / (n mean^2), and 1 %), so that windows which only look
 * different by chance stay one state.  Phases are seen where
 *	- the second description is more likely by more than BIC's price of its
 *	  three parameters, 3/2 log(windows);
 *	- busy is at least NP_PHASE_RATIO times quiet, and the two states lie at
 *	  least NP_PHASE_APART standard deviations apart;
 *	- both last NP_PHASE_DWELL windows on average: shorter ones are bursts
 *	  that belong to steady use;
 *	- at least NP_PHASE_QUIET of the time is quiet: start-up and end of a
 *	  steady program are no phases.
 * Windows with less than NP_PHASE_PROBES samples merge with their successors
 * by widening all windows, as a mean of fewer says more about chance.
 */
#ifndef NP_PHASE_H
#define NP_PHASE_H

#include <stddef.h>

#include "np_moments.h"

#define NP_PHASE_PROBES 4
#define NP_PHASE_WINDOWS 8 /* fewer: too short to tell */
#define NP_PHASE_RATIO 1.2
#define NP_PHASE_APART 2.5
#define NP_PHASE_DWELL 2.0
#define NP_PHASE_QUIET 0.1

enum np_phase_kind {
	NP_PHASE_UNKNOWN, /* too short or too few samples */
	NP_PHASE_STEADY,
	NP_PHASE_PHASES,
};

struct np_phases {
	enum np_phase_kind kind;
	size_t n_windows;  /* looked at */
	double window_sec; /* their width */
	/* The rest is 0 unless kind is NP_PHASE_PHASES. */
	double busy_share;	/* of the time, 0 .. 1 */
	double quiet_sec, busy_sec; /* typical latency in each state */
	size_t n_busy;		/* busy periods */
	double busy_period_sec; /* their mean length */
};

void np_phase_find(const struct np_series *s, struct np_phases *out);

#endif
