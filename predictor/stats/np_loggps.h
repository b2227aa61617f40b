/*
 * What a network costs a program: the LogGPS parameters of a message, and the
 * table that an analysis of a trace leaves for predictions.
 */
#ifndef NP_LOGGPS_H
#define NP_LOGGPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- LogGPS ---- */

/*
 * Parameters of a network, in ns, bytes and ns per byte, all >= 0. A message
 * costs its sender and its receiver o of processor time each, takes L on its
 * way, and G for each byte. For a message of more than S bytes the sender is
 * done only when the receiver is (rendezvous). Sources: A. Alexandrov et al.,
 * LogGP, 1995; F. Ino, N. Fujimoto, K. Hagihara, LogGPS, 2001.
 */

#define NP_LOGGPS_NO_RENDEZVOUS UINT64_MAX
#define NP_LOGGPS_MAX 1e15 /* limit of each parameter */

struct np_loggps {
	double L_ns, o_ns, G_ns;
	uint64_t S;	      /* bytes; NP_LOGGPS_NO_RENDEZVOUS: never */
	bool first_byte_free; /* G is charged for size - 1 bytes */
	double g_ns;	      /* between two messages of one adapter */
	/*
	 * Overhead per byte on either side, in addition to o, of a message
	 * without rendezvous: to copy it. At most G_ns, of which it is a part.
	 */
	double O_ns;
};

/* The parameter that is varied while the others stay fixed. */
enum np_loggps_param { NP_LOGGPS_L, NP_LOGGPS_o, NP_LOGGPS_G };

static inline double np_loggps_value(const struct np_loggps *net,
				     enum np_loggps_param p)
{
	return p == NP_LOGGPS_L ? net->L_ns :
	       p == NP_LOGGPS_o ? net->o_ns :
				  net->G_ns;
}

#define NP_LOGGPS_MAX_BLOCKS 1000
#define NP_LOGGPS_MAX_SIZES 64

/* A measured value; low and high: 95 % interval, or the range of few blocks. */
struct np_loggps_value {
	double value, low, high;
};

/*
 * Measured parameters, in seconds and seconds per byte. A message of s bytes
 * takes o_send + L + (s - 1) G + o_recv, and one round trip more above S.
 */
struct np_loggps_fit {
	uint32_t n_blocks, n_sizes;
	uint32_t bytes_min, bytes_max; /* range of the sizes */
	struct np_loggps_value L, o_send, o_recv, g, G;
	struct np_loggps_value O; /* overhead per byte; 0: not measured, too */
	/* The largest size without rendezvous, the smallest with; 0: none. */
	uint32_t S, S_above;
	struct np_loggps_value step; /* cost of rendezvous; 0 without */
};

/* ---- the response of a program to a slower network ---- */

/*
 * How a program's run time responds to a slower network, for many latencies and
 * some bandwidths. The analysis of a trace leaves this table (np_trace_analysis.h), so
 * that predictions need no trace.
 *
 * T(L, G), the run time from an execution graph, is the length of the longest
 * of paths that are linear in both parameters, so it is convex in both. Between
 * and beyond the points of the table it is taken as linear. Between them that
 * is slightly too long, and never too short.
 */

#define NP_RESPONSE_GAPS 8
#define NP_RESPONSE_LATENCIES 52

struct np_response {
	/* Run time relative to that on the unchanged network: 1 or more. */
	double times[NP_RESPONSE_GAPS][NP_RESPONSE_LATENCIES];
};

/*
 * Run time relative to that on the unchanged network if each message takes
 * added_sec >= 0 longer, and each byte gap_times >= 1 as long.
 */
double np_response_at(const struct np_response *r, double added_sec,
		      double gap_times);

/* The points of the table. */
extern const double np_response_gap[NP_RESPONSE_GAPS];
double np_response_added_sec(size_t i);

#endif
