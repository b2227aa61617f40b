/*
 * The verdict on a profile: from the numbers to what a user is told.
 * A pure function; the words are the caller's.
 *
 * A probe counts as delayed if it is slower than 95 % of the idle probes and
 * 1.25 times their median.  delayed_share is the share of such probes beyond
 * the share that idle itself has, (P - P_idle) / (1 - P_idle).  It alone would
 * call a shift of 3 % heavy where idle is very quiet, and the mean alone would
 * do so for one lost packet in a thousand.  So both the share of the delayed
 * and the size of the delay have to say so:
 *
 *			delayed_share	rho (np_queue.h, 1/mu = mean of idle)
 *	moderately	>= 0.10		>= 0.10
 *	heavily		>= 0.35		>= 0.30
 *	saturating	>= 0.90		>= 0.95
 *
 * and lightly otherwise.  Latencies are one witness; the other are the byte
 * counters of the network devices of the nodes.  Where there is no idle
 * network to compare the latencies with, or the two witnesses contradict each
 * other, the use is not known, and a doubt says why:
 *
 *	latencies	bytes of a node		verdict
 *	not compared	any			unknown: no baseline
 *	light		next to none		light
 *	more		next to none		unknown: something else delays
 *	light		a full link		unknown: the baseline is wrong
 *	light		more, and idle shared	unknown: no baseline
 *	any other	more			what the latencies say
 *	any		not counted		the same, as a guess
 *
 * Idle is shared where other jobs had nodes on its leaf switches: it may have
 * been slower than an idle network, but not faster.
 * An idle network on which a node moved NP_VERDICT_BUSY was none, and is no
 * baseline.
 *
 * The thresholds come from real packets on one leaf
 * with 14 loads of known utilisation (t/data/leaf-latencies.txt): delayed_share
 * grew with the utilisation (0.22 at 9 %, about 0.35 at half, 0.9 when full),
 * while rho, which takes arrivals for Poisson, was above 0.6 for all of them.
 */
#ifndef NP_VERDICT_H
#define NP_VERDICT_H

#include <stdbool.h>

#include "np_err.h"
#include "np_hist.h"
#include "np_moments.h"
#include "np_phase.h"

#define NP_VERDICT_PROBES 30 /* fewer say nothing, of program or idle */
/*
 * A node that sends and receives less than this, bytes a second, moves next to
 * nothing: 0.4 % of a link of 100 Mbit/s.
 */
#define NP_VERDICT_SILENT 50e3
/*
 * Idle nodes move less than this: daemons of the system may send a little, and
 * to what is wide enough for more it is nothing.
 */
#define NP_VERDICT_BUSY 1e6
/* Share of what its link carries in one direction at which it is full. */
#define NP_VERDICT_FULL 0.8

enum np_use {
	NP_USE_UNKNOWN,
	NP_USE_LIGHT,
	NP_USE_MODERATE,
	NP_USE_HEAVY,
	NP_USE_SATURATED,
};

/* Why the use is unknown. */
enum np_doubt {
	NP_DOUBT_NONE,
	NP_DOUBT_PROBES,   /* there are too few */
	NP_DOUBT_BASELINE, /* there is no idle network to compare with */
	NP_DOUBT_SILENT,   /* delays, yet the nodes moved next to nothing */
	NP_DOUBT_FULL,	   /* no delays, yet the nodes' links were full */
};

/* What the program was compared with. */
enum np_against {
	NP_AGAINST_NOTHING, /* too few probes, or no idle network */
	NP_AGAINST_IDLE,
};

/* Counters of nodes' network devices; node_sec 0: not counted. */
struct np_verdict_traffic {
	double node_sec, bytes; /* both ways, less those of the probes */
};

struct np_verdict_in {
	/* Samples of runs without interference; moments.n is 0 if none. */
	const struct np_hist *hist;
	struct np_moments moments;
	/* The idle network; idle_moments.n is 0 if not measured. */
	const struct np_hist *idle_hist;
	struct np_moments idle_moments;
	/* Beside the latencies of the program, and beside those of idle. */
	struct np_verdict_traffic traffic, idle_traffic;
	bool idle_shared; /* other jobs were on the leaves of all idle runs */
	double link; /* what a node's carries one way, bytes/s; 0: not known */
	struct np_phases phases;
	size_t n_level_runs; /* runs beside an interference level */
};

struct np_verdict {
	enum np_use use;
	enum np_doubt doubt; /* NONE unless use is UNKNOWN */
	bool guess;	     /* of one witness: bytes were not counted */
	double rate;	     /* of a node, bytes/s; NaN: not counted */
	enum np_against against;
	/* The rest is 0 against NP_AGAINST_NOTHING. */
	double delayed_sec;   /* a probe is delayed if slower than this */
	double delayed_share; /* 0 .. 1 */
	/* Share of probes slower than idle's p95 (0.05 if idle) and p99
	 * (0.01). */
	double beyond_p95, beyond_p99;
	double excess;	      /* mean / reference - 1 */
	double rho;	      /* the index, 0 .. 1 */
	enum np_phase_kind phases;
	double busy_share; /* of the time; NP_PHASE_PHASES only */
	bool interference; /* measured beside a level, too */
};

/* in is borrowed.  Always gives an answer; NP_USE_UNKNOWN is one. */
void np_verdict_make(const struct np_verdict_in *in, struct np_verdict *out);

/* The share of the samples that are slower than sec; 0 for an empty one. */
double np_verdict_slower(const struct np_hist *h, double sec);

#endif
