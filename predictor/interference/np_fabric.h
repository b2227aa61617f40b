/*
 * One fabric as the models see it: what a leaf's latencies are when idle and
 * under each interference level, how the levels slow each other, and how much
 * of an interferer is felt from afar.
 *
 * Plain data, filled in by whoever measured or read it, and borrowed by the
 * models.  Anything may be missing.
 */
#ifndef NP_FABRIC_H
#define NP_FABRIC_H

#include <stdbool.h>
#include <stddef.h>

#include "np_latency.h"
#include "np_mean.h"

#define NP_FABRIC_MAX_LEVELS 512

/* Where the interferer is, seen from the victim. */
enum np_scope {
	NP_SCOPE_NODE,	 /* on the same nodes */
	NP_SCOPE_LEAF,	 /* on other nodes of the same leaf switch */
	NP_SCOPE_UPLINK, /* across the uplink of the leaf */
	NP_N_SCOPES
};

/* "node", "leaf" and "uplink", then NULL; "?" of what is none of them. */
extern const char *const np_scope_names[NP_N_SCOPES + 1];
const char *np_scope_name(enum np_scope scope);

/* One configuration of CompressionB, as measured. */
struct np_fabric_level {
	const char *name;
	struct np_latency latency; /* of the probes beside it */
	/* That a process of it sends in a round, if it does nothing else; 0: it
	 * does, or this is not known. */
	double round_bytes;
};

struct np_fabric {
	const char *name;	   /* for messages */
	const struct np_bins *bins; /* of every histogram here and of every
				       application; NULL: no histograms */
	struct np_latency idle;
	const struct np_fabric_level *level;
	size_t n_levels;

	/*
	 * Slowdown of level i beside level j at [i * n_levels + j], measured
	 * as (rounds per second alone / beside) - 1.  NULL: none measured.
	 */
	const struct np_mean *beside;

	/*
	 * Share k of the speed loss in the curves that an interferer at this
	 * scope causes: s' = (1 - k) + k s.  1 at the scope where the curves
	 * were taken, 0 where nothing is felt.
	 */
	struct np_mean coupling[NP_N_SCOPES];
};

/*
 * Returns 0, or -EINVAL with err: what np_latency_check() and np_bins_check()
 * refuse, a slowdown at or below -1, a coupling that is negative, not finite
 * or above NP_COUPLING_MAX, too many levels, a level without a name.
 */
#define NP_COUPLING_MAX 10.0
int np_fabric_check(const struct np_fabric *f, struct np_err *err);

/*
 * The 95 % interval of a coupling (Student's t, cut at 0), and whether the
 * interferer makes no difference there: 0 is in the interval and its upper end
 * is below NP_COUPLING_NONE.  One that was measured only once has no interval:
 * false, and no difference cannot be told.
 */
#define NP_COUPLING_NONE 0.1
bool np_coupling_interval(const struct np_mean *k, double *low, double *high);
bool np_coupling_none(const struct np_mean *k);

/*
 * One application as the models see it.  Plain data, borrowed by the models;
 * anything may be missing.
 */

struct np_response;

struct np_program {
	const char *name; /* for messages, and the seed of its bootstrap */

	/* Probe latencies beside it, in the fabric's bins. */
	struct np_latency latency;

	/*
	 * curve[i]: slowdown of this application beside level i (what it
	 * suffers).  pressure[i]: slowdown of level i beside this application
	 * (what it inflicts).  n_levels of the fabric each; NULL: none.
	 */
	const struct np_mean *curve;
	const struct np_mean *pressure;

	/*
	 * Of its trace: np_response.h, which takes latencies in seconds.
	 * NULL: there is none, and untraced says why, if not that nobody has
	 * recorded one.
	 */
	const struct np_response *response;
	const char *untraced;
};

/*
 * Check an application against the fabric it was measured on.  Returns 0, or
 * -EINVAL with err: what np_latency_check() refuses, a slowdown at or below
 * -1.
 */
int np_program_check(const struct np_program *a, const struct np_fabric *f,
		      struct np_err *err);

#endif
