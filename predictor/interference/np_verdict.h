/*
 * How heavily does a program use the network? A pure function from the numbers
 * of a profile to a verdict; the caller puts it into words.
 *
 * A probe is delayed if it is slower than 95 % of the idle probes and than 1.25
 * times their median. delayed_share is the share P of such probes, corrected
 * for the share among idle probes: (P - P_idle) / (1 - P_idle). On a very quiet
 * fabric, delayed_share alone would call a shift of 3 % heavy, and the mean
 * latency alone would do so for one lost packet in a thousand. Therefore both
 * must reach a threshold:
 *
 *			delayed_share	rho (np_queue.h, 1/mu = mean of idle)
 *	moderately	>= 0.10		>= 0.10
 *	heavily		>= 0.35		>= 0.30
 *	saturating	>= 0.90		>= 0.95
 *
 * and the use is light otherwise. A few idle probes that met a busy processor
 * could give a mean and a variance that hide almost any load; therefore rho is
 * computed from np_hist_robust(). The byte counters of the nodes' network
 * devices are checked against the latencies. If there is no idle baseline, or
 * the two contradict each other, the use is unknown, with a reason:
 *
 *	latencies	bytes of a node		verdict
 *	no baseline	any			unknown: no baseline
 *	light		almost none		light
 *	more		almost none		unknown: delays have another cause
 *	more		too few for it		unknown: delays have another cause
 *	light		a full link		unknown: the baseline is wrong
 *	light		more or not counted,	unknown: no baseline
 *			baseline shared
 *	any other	more			as the latencies say
 *	any other	not counted		as the latencies say, a guess
 *
 * A baseline is shared if other jobs had nodes on its leaf switches. It can be
 * slower than an idle network, but not faster. An idle run during which a node
 * transferred NP_VERDICT_BUSY is not used as a baseline.
 *
 * Too few bytes: a link that could carry c bytes/s and carries r is busy for r/c
 * of the time, in whatever bursts it carries them, and traffic does not delay a
 * probe that finds no busy link on its way. A round trip takes four links of
 * nodes, two in each direction, and crosses the leaf switch twice, so
 * traffic_share, the sum of these six shares, is the largest share of probes
 * that traffic can delay. The capacities are what the load level that sends
 * most was seen to send, so that the links carry at least that much.
 *
 * The other probes, 1 - traffic_share or more, met no traffic. The share of
 * them that was delayed all the same is (delayed_share - traffic_share) /
 * (1 - traffic_share), here with the lower end of delayed_share's 95 % interval.
 * This has another cause, such as processors that were busy when a probe
 * arrived, which also acts on the rest of the probes. If that share alone
 * reaches the threshold of the verdict, the latencies do not show that the
 * network is used so much. The thresholds are those of the table above.
 *
 * The utilisation estimated for a load level is no second source for that of a
 * program: the probes of a calibration run on other nodes than the level, and
 * those of a program on its own nodes, where its links delay them, too.
 *
 * The thresholds come from measurements on one leaf switch with 14 loads of
 * known utilisation (t/data/leaf-latencies.txt). There, delayed_share grew with
 * the utilisation (0.22 at 9 %, about 0.35 at half, 0.9 when full), while rho,
 * which assumes Poisson arrivals, was above 0.6 for all of them.
 */
#ifndef NP_VERDICT_H
#define NP_VERDICT_H

#include <stdbool.h>

#include "np_latency.h"
#include "np_moments.h"
#include "np_phase.h"

/* Least number of latencies, of the program and of the idle fabric. */
#define NP_VERDICT_PROBES 30
/*
 * A node that transfers fewer bytes per second in both directions is silent.
 * This is 0.4 % of a 100 Mbit/s link.
 */
#define NP_VERDICT_SILENT 50e3
/*
 * A node that transfers at least this many bytes per second is not idle. System
 * daemons send less.
 */
#define NP_VERDICT_BUSY 1e6
/* A link is full above this share of its capacity in one direction. */
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
	NP_DOUBT_PROBES,   /* too few probes */
	NP_DOUBT_BASELINE, /* no idle baseline */
	NP_DOUBT_SILENT,   /* delays, although the nodes sent almost nothing */
	NP_DOUBT_FULL,	   /* no delays, although the nodes' links were full */
	NP_DOUBT_TRAFFIC,  /* more delays than the nodes' traffic can cause */
};

/* What the program's latencies were compared with. */
enum np_against {
	NP_AGAINST_NOTHING, /* too few probes, or no idle baseline */
	NP_AGAINST_IDLE,
};

/* Byte counters of the nodes' network devices. */
struct np_verdict_traffic {
	double node_sec; /* sum of the nodes' times; 0: nothing was counted */
	double bytes;	 /* both directions, without those of the probes */
};

/*
 * What links carry at least, bytes/s in one direction; 0: not known, or the
 * reasoning above does not apply.
 */
struct np_verdict_capacity {
	double node; /* link of a node */
	double leaf; /* leaf switch */
};

struct np_verdict_in {
	/* Latencies of runs without load; moments.n is 0 if there are none. */
	const struct np_hist *hist;
	struct np_moments moments;
	/* Latencies of the idle fabric; idle_moments.n is 0 if unknown. */
	const struct np_hist *idle_hist;
	struct np_moments idle_moments;
	/* Traffic while these latencies were measured. */
	struct np_verdict_traffic traffic, idle_traffic;
	bool idle_shared; /* other jobs shared the leaves of all idle runs */
	double link; /* capacity of a node's link, bytes/s one way; 0: unknown */
	struct np_verdict_capacity capacity;
	double leaf_nodes; /* most nodes of the program on one leaf switch */
	struct np_phases phases;
	size_t n_level_runs; /* runs under a load level */
};

struct np_verdict {
	enum np_use use;
	enum np_doubt doubt; /* NONE unless use is UNKNOWN */
	bool guess;	     /* bytes were not counted, latencies decided */
	double rate;	     /* per node, bytes/s; NaN: not counted */
	enum np_against against;
	/* The members below are 0 for NP_AGAINST_NOTHING. */
	double delayed_sec;   /* a probe is delayed if slower than this */
	double delayed_share; /* 0 .. 1 */
	/* Share of probes above the idle fabric's 95th and 99th percentile;
	 * 0.05 and 0.01 for an idle program. */
	double beyond_p95, beyond_p99;
	/* Largest share of probes that traffic can delay; 1: no limit known. */
	double traffic_share;
	double excess;	    /* mean latency / mean idle latency - 1 */
	double utilisation; /* estimated utilisation, 0 .. 1 (np_queue.h) */
	enum np_phase_kind phases;
	double busy_share; /* of the time; NP_PHASE_PHASES only */
	bool interference; /* there are runs under a load level */
};

/* Cannot fail; the verdict can be NP_USE_UNKNOWN. */
void np_verdict_make(const struct np_verdict_in *in, struct np_verdict *out);

/*
 * The largest share of probes that traffic can delay, 0 .. 1: see above. rate:
 * bytes/s of a node in both directions together; leaf_nodes: nodes on the leaf
 * switch that transfer as much. 1 if one of these is not known: rate NaN, or
 * another one 0.
 */
double np_verdict_traffic_share(const struct np_verdict_capacity *capacity,
				double rate, double leaf_nodes);

/* The share of latencies above sec; 0 for an empty histogram. */
double np_verdict_slower(const struct np_hist *h, double sec);

#endif
