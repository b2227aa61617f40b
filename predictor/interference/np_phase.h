/*
 * Does a program use the network steadily, or in phases?
 *
 * A pure function of the latency windows of a run. Two models of the sequence
 * x = log(mean latency of a window) are compared:
 *
 *	steady:	   x ~ N(m, v), windows independent
 *	in phases: a two-state Markov chain, x ~ N(m_state, v) with
 *		   m_quiet < m_busy; the sequence of states is found by the
 *		   Viterbi algorithm and re-estimation
 *
 * The variance v is at least that expected of the windows' means from the
 * samples inside them (sd^2 / (n mean^2), and 1 %), so that random differences
 * between windows do not make a second state. Phases are reported if
 *	- the gain in log likelihood exceeds BIC's penalty for three more
 *	  parameters, 3/2 log(windows);
 *	- the busy latency is at least NP_PHASE_RATIO times the quiet one, and the
 *	  states are at least NP_PHASE_APART standard deviations apart;
 *	- both states last NP_PHASE_DWELL windows on average; shorter ones are
 *	  bursts of a steady program;
 *	- at least NP_PHASE_QUIET of the time is quiet, so that the start and end
 *	  of a steady program do not count as phases.
 * If windows have fewer than NP_PHASE_PROBES samples, all windows are widened.
 */
#ifndef NP_PHASE_H
#define NP_PHASE_H

#include <stddef.h>

#include "np_moments.h"

#define NP_PHASE_PROBES 4
#define NP_PHASE_WINDOWS 8 /* fewer: too short to know */
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
	size_t n_windows;  /* number of windows examined */
	double window_sec; /* their width */
	/* The members below are 0 unless kind is NP_PHASE_PHASES. */
	double busy_share;	    /* of the time, 0 .. 1 */
	double quiet_sec, busy_sec; /* typical latency in each state */
	size_t n_busy;		    /* number of busy periods */
	double busy_period_sec;	    /* their mean length */
};

void np_phase_find(const struct np_series *series, struct np_phases *out);

#endif
