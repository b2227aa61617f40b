/*
 * Inputs of the models: the calibration of one fabric, and what was measured of
 * one program on it.
 *
 * A fabric holds the probe latencies of an idle leaf switch and of each load
 * level, the slowdowns of the levels by each other, and the sharing coefficient
 * for each distance between two jobs. These structures are plain data that the
 * caller fills in and owns; any part may be missing.
 */
#ifndef NP_FABRIC_H
#define NP_FABRIC_H

#include <stdbool.h>
#include <stddef.h>

#include "np_latency.h"
#include "np_moments.h"

#define NP_FABRIC_MAX_LEVELS 128
#define NP_RAIL_NAME 63 /* bytes of a rail's name */

/* Where the interfering job runs, relative to the victim. */
enum np_scope {
	NP_SCOPE_NODE,	 /* on the same nodes */
	NP_SCOPE_LEAF,	 /* on other nodes of the same leaf switch */
	NP_SCOPE_UPLINK, /* across the uplink of the leaf */
	NP_N_SCOPES
};

/* "node", "leaf", "uplink", NULL; np_scope_name() returns "?" for others. */
extern const char *const np_scope_names[NP_N_SCOPES + 1];
const char *np_scope_name(enum np_scope scope);

/* One load level: a configuration of CompressionB. */
struct np_fabric_level {
	const char *name;
	struct np_latency latency; /* of probes under this load */
	/* Bytes that a process sends per round, if it does nothing but send;
	 * otherwise, or if unknown, 0. */
	double round_bytes;
};

struct np_fabric {
	const char *name;	    /* for messages */
	const struct np_bins *bins; /* of every histogram here and of every
				       application; NULL: no histograms */
	struct np_latency idle;
	const struct np_fabric_level *level;
	size_t n_levels;

	/*
	 * [i * n_levels + j] is the slowdown of level i under level j:
	 * rounds per second alone over rounds per second under load, less 1.
	 * NULL if none was measured.
	 */
	const struct np_mean *pairs;

	/*
	 * Sharing coefficient k of each scope. If the curves predict a
	 * relative speed s, an interfering job at this scope leaves (1 - k) + k
	 * s. k is 1 at the scope where the curves were measured, and 0 without
	 * effect. A k above 1, as on the same nodes, multiplies the slowdown
	 * 1/s - 1 instead, because a program cannot lose more than all of its
	 * speed.
	 */
	struct np_mean sharing[NP_N_SCOPES];
};

/*
 * Check a fabric. Returns 0, or -EINVAL with err: np_latency_check() or
 * np_bins_check() fails, a slowdown is not above -1, a sharing coefficient is
 * negative, not finite or above NP_SHARING_COEF_MAX, there are too many levels,
 * or a level has no name.
 */
#define NP_SHARING_COEF_MAX 10.0
int np_fabric_check(const struct np_fabric *fabric, struct np_err *err);

/*
 * The estimated utilisation of the fabric under a load level alone, 0 .. 1, from
 * the latencies under it (np_queue.h). NaN if it is not known: fabric is NULL,
 * or lacks a level of this name, latencies under it, or those when idle.
 */
double np_fabric_utilisation(const struct np_fabric *fabric, const char *level);

/*
 * The order of load levels in all output: by utilisation, those for which it is
 * not known last. Returns what a comparison function of qsort() returns.
 */
int np_utilisation_compare(double a, double b);

/*
 * np_sharing_coef_interval() computes the 95 % interval of a sharing
 * coefficient by Student's t, with negative values cut to 0. It returns false
 * if the coefficient was measured fewer than two times.
 *
 * np_sharing_coef_none() returns true if a job at that scope certainly has no
 * effect: the interval includes 0 and ends below NP_SHARING_COEF_NONE.
 */
#define NP_SHARING_COEF_NONE 0.1
bool np_sharing_coef_interval(const struct np_mean *mean, double *low,
			      double *high);
bool np_sharing_coef_none(const struct np_mean *mean);

/* What was measured of one program on a fabric. */

struct np_response;

struct np_program {
	const char *name; /* for messages and the seed of the bootstrap */

	/* Probe latencies while it runs, in the fabric's bins. */
	struct np_latency latency;

	/*
	 * Sensitivity: curve[i] is the slowdown of this program under level i.
	 * Impact: impact[i] is the slowdown of level i by this program. Both
	 * have n_levels elements, or are NULL if nothing was measured.
	 */
	const struct np_mean *curve;
	const struct np_mean *impact;

	/*
	 * Response of its trace to additional latency in seconds
	 * (np_loggps.h). NULL if there is none; untraced is then the reason,
	 * or NULL if no trace was recorded.
	 */
	const struct np_response *response;
	const char *untraced;

	/*
	 * Names of the rails that it loads, "rail0,rail1"; NULL: not known, or
	 * the fabric has no rails. A rail is a tree of switches to which nodes
	 * are connected by an adapter of their own.
	 */
	const char *rails;
};

/*
 * Check a program against the fabric it was measured on. Returns 0, or -EINVAL
 * with err: np_latency_check() fails, or a slowdown is not above -1.
 */
int np_program_check(const struct np_program *program,
		     const struct np_fabric *fabric, struct np_err *err);

#endif
