/*
 * What `netprof calibrate` measures on a fabric, where, and how long it takes:
 * pure functions of the nodes and the load levels.
 *
 * All measurements have one form: a base (the probes, or a level as the victim)
 * runs alone for a while, then together with a level as the aggressor.
 */
#ifndef NP_CALIBRATE_PLAN_H
#define NP_CALIBRATE_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"
#include "np_fabric.h"
#include "np_level.h"

#define NP_CAL_LEVELS 8	       /* in the matrix, by default */
#define NP_CAL_MAX_LEVELS 64   /* candidates */
#define NP_CAL_MAX_REPEATS 100
#define NP_CAL_PROBE_FACTOR 5  /* probes are slow: they get longer by this */
#define NP_CAL_NONE ((size_t)-1)

/* ---- nodes ---- */

struct np_cal_node {
	const char *name, *leaf; /* leaf: its switch; "" without topology */
};

/* Nodes with one role: "n0,n1", malloc'ed, and how many; 0: none. */
struct np_cal_hosts {
	char *list;
	size_t n;
};

/* Which nodes have which role. */
struct np_cal_roles {
	char *leaf; /* the calibrated leaf switch: the one with most nodes */
	/*
	 * With four nodes or more, each half of the leaf switch has a role;
	 * with two or three, all are victims and aggressors share them.
	 */
	struct np_cal_hosts victim, aggressor;
	/*
	 * Rings of equal size across the uplink of the leaf switch, on separate
	 * nodes: half of the nodes of each role, and as many under the second
	 * largest leaf switch.  Empty if there is none.
	 */
	struct np_cal_hosts victim_across, aggressor_across;
};

/*
 * Returns 0 (free with np_cal_roles_free()), -ENODEV with err if no two nodes
 * are under the same leaf switch, or -ENOMEM.
 */
int np_cal_roles_make(const struct np_cal_node *node, size_t n,
		      struct np_cal_roles *out, struct np_err *err);
void np_cal_roles_free(struct np_cal_roles *s);

/* Are there nodes for an aggressor at this scope? */
bool np_cal_roles_have(const struct np_cal_roles *s, enum np_scope scope);

/* ---- levels ---- */

/*
 * Parse "default" (c0 to c7), "all" (the 40 levels of the CompressionB paper:
 * 1, 4, 7, 14 or 17 peers, pauses of 2.5e4 to 2.5e7 cycles at 2.6 GHz, 1 or
 * 10 messages), or names as np_level_parse() accepts them, separated by commas.
 * Levels that are equal on a ring of n_nodes nodes are kept once; out[] is in
 * ascending order of nominal load.  Returns 0 or -EINVAL with err (also for
 * fewer than two levels, or more than NP_CAL_MAX_LEVELS).
 */
int np_cal_levels_parse(const char *text, size_t n_nodes,
			struct np_level out[NP_CAL_MAX_LEVELS], size_t *n,
			struct np_err *err);

/*
 * Choose `keep` of n levels, spread evenly over log(1 + slowdown[i]), where
 * slowdown[i] is what level i does to a victim.  The models compare levels on
 * that scale, and since slowdowns grow without bound towards saturation, it is
 * densest there in terms of load.  The mildest and the strongest level are
 * among them.  NaN: unknown; chosen last. chosen[] is ascending.  Returns how
 * many: keep, or n if that is less.
 */
size_t np_cal_choose(const double *slowdown, size_t n, size_t keep,
		     size_t *chosen);

/* ---- measurements ---- */

enum np_cal_kind {
	NP_CAL_IDLE,   /* probes on all nodes, without an aggressor */
	NP_CAL_COUPLE, /* the middle level under the strongest, at a scope */
	NP_CAL_PROBE,  /* the probes under a level */
	NP_CAL_PAIR, /* a level under a level */
};

struct np_cal_task {
	enum np_cal_kind kind;
	enum np_scope scope; /* of the aggressor */
	size_t victim, aggressor; /* levels, or NP_CAL_NONE */
	unsigned repeat;
};

struct np_cal_setup {
	struct np_level level[NP_CAL_MAX_LEVELS];
	size_t n_levels;
	size_t keep; /* levels in the matrix */
	unsigned repeats;
	double seconds, probe_seconds; /* of one measurement */
	bool has[NP_N_SCOPES];
};

enum np_cal_stage {
	NP_CAL_FIRST,  /* idle and sharing coefficients, which decide about the scope */
	NP_CAL_SECOND, /* probes under each level; the impact of each level */
	NP_CAL_THIRD,  /* chosen levels under each other */
	NP_CAL_STAGES
};

/*
 * The measurements of one stage in order: repeats are outermost, so that an
 * interrupted calibration covers everything; victims are next, because each has
 * to be started; aggressors are in another order in each repeat.
 * chosen[n_chosen]: levels of the third stage; scope: of the second and third.
 * *out: free() it.  Returns 0 or -ENOMEM.
 */
int np_cal_plan(const struct np_cal_setup *s, enum np_cal_stage stage,
		enum np_scope scope, const size_t *chosen, size_t n_chosen,
		struct np_cal_task **out, size_t *n);

/* The victim and the aggressor of the measurements of the sharing coefficients. */
size_t np_cal_middle(const struct np_cal_setup *s);
size_t np_cal_strongest(const struct np_cal_setup *s);

/* Length of a measurement in seconds, without and with the aggressor. */
double np_cal_alone_sec(const struct np_cal_setup *s,
			const struct np_cal_task *t);
double np_cal_loaded_sec(const struct np_cal_setup *s,
			 const struct np_cal_task *t);

/* Estimated total time of a measurement; previous: the one before, or NULL. */
double np_cal_cost_sec(const struct np_cal_setup *s,
		       const struct np_cal_task *t,
		       const struct np_cal_task *previous);

/* Do two measurements have the same base, on the same nodes?  For tests. */
bool np_cal_same_base(const struct np_cal_task *a, const struct np_cal_task *b);

/* Its key among the results: "beside leaf c0 c4 2"; of IDLE "idle". */
#define NP_CAL_KEY 192
void np_cal_key(const struct np_cal_setup *s, const struct np_cal_task *t,
		char key[NP_CAL_KEY]);

#endif
