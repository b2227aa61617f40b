/*
 * What `netprof calibrate` measures on a fabric, where, and how long it takes:
 * pure functions of the nodes and the levels.
 *
 * Everything is measured in one way: a base (the probes, or a level as the
 * victim) runs for a while alone, then a level presses on it from somewhere.
 */
#ifndef NP_CALIBRATE_PLAN_H
#define NP_CALIBRATE_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"
#include "np_fabric.h"
#include "np_level.h"

#define NP_CAL_LEVELS 8	       /* in the matrix, unless told otherwise */
#define NP_CAL_MAX_LEVELS 64   /* that are looked at */
#define NP_CAL_MAX_REPEATS 100
#define NP_CAL_PROBE_FACTOR 5  /* probes are slow: so many times the seconds */
#define NP_CAL_NONE ((size_t)-1)

/* ---- nodes ---- */

struct np_cal_node {
	const char *name, *leaf; /* leaf "": no topology */
};

/* Nodes of one role: "n0,n1", malloc'ed, and how many; 0: nobody. */
struct np_cal_hosts {
	char *list;
	size_t n;
};

/* Who runs where. */
struct np_cal_sites {
	char *leaf; /* that is calibrated: the one with most nodes */
	/*
	 * With four nodes or more each half of the leaf has a role; with two
	 * or three all are victims, and share their nodes with what presses.
	 */
	struct np_cal_hosts victim, aggressor;
	/*
	 * Rings across the uplink of the leaf, of equal size, on nodes of
	 * their own: half of each role's nodes, and as many under the second
	 * largest leaf.  Nobody where there is no such leaf.
	 */
	struct np_cal_hosts victim_across, aggressor_across;
};

/*
 * Returns 0 (free with np_cal_sites_free()), -ENODEV with err if no two nodes
 * share a leaf, -ENOMEM.
 */
int np_cal_sites_make(const struct np_cal_node *node, size_t n,
		      struct np_cal_sites *out, struct np_err *err);
void np_cal_sites_free(struct np_cal_sites *s);

/* Is there a place for the aggressor at this scope? */
bool np_cal_sites_have(const struct np_cal_sites *s, enum np_scope scope);

/* ---- levels ---- */

/*
 * "default" (c0 to c7), "all" (the 40 of the source: 1, 4, 7, 14, 17
 * partners, pauses of 2.5e4 to 2.5e7 cycles at 2.6 GHz, 1 or 10 messages), or
 * names as np_level_parse() takes them, separated by commas.  Levels that are
 * the same on a ring of n_nodes nodes are kept once; out[] is in the order of
 * their nominal load.  Returns 0 or -EINVAL with err (also for none or one,
 * and for more than NP_CAL_MAX_LEVELS).
 */
int np_cal_levels_parse(const char *text, size_t n_nodes,
			struct np_level out[NP_CAL_MAX_LEVELS], size_t *n,
			struct np_err *err);

/*
 * Choose `keep` of n levels, spread evenly over log(1 + slowdown[i]), where
 * slowdown[i] is what level i does to a victim: that is the scale on which
 * the models compare levels, and as slowdowns grow without bound towards
 * saturation, it is densest there in terms of load.  The mildest and the
 * strongest are among them.  NaN: not known; chosen last.
 * chosen[] ascends.  Returns how many: keep, or n if that is less.
 */
size_t np_cal_choose(const double *slowdown, size_t n, size_t keep,
		     size_t *chosen);

/* ---- measurements ---- */

enum np_cal_kind {
	NP_CAL_IDLE,   /* probes on all nodes, nobody presses */
	NP_CAL_COUPLE, /* the middle level beside the strongest, at a scope */
	NP_CAL_PROBE,  /* the probes beside a level */
	NP_CAL_BESIDE, /* a level beside a level */
};

struct np_cal_task {
	enum np_cal_kind kind;
	enum np_scope scope; /* where the aggressor is */
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
	NP_CAL_FIRST,  /* idle, coupling: what decides about the scope */
	NP_CAL_SECOND, /* probes beside each level; what each presses */
	NP_CAL_THIRD,  /* chosen levels beside each other */
	NP_CAL_STAGES
};

/*
 * The measurements of one stage in their order: repeats outermost, so that
 * what was interrupted covers everything; one victim after the other, as each
 * has to be started; the aggressors of each repeat in another order.
 * chosen[n_chosen]: levels of the third stage; scope: that of the second and
 * third.  *out: free() it.  Returns 0 or -ENOMEM.
 */
int np_cal_plan(const struct np_cal_setup *s, enum np_cal_stage stage,
		enum np_scope scope, const size_t *chosen, size_t n_chosen,
		struct np_cal_task **out, size_t *n);

/* The victim and the aggressor of coupling measurements. */
size_t np_cal_middle(const struct np_cal_setup *s);
size_t np_cal_strongest(const struct np_cal_setup *s);

/* Seconds for which a measurement listens before, and while, it is pressed. */
double np_cal_alone_sec(const struct np_cal_setup *s,
			const struct np_cal_task *t);
double np_cal_beside_sec(const struct np_cal_setup *s,
			 const struct np_cal_task *t);

/* About how long it takes altogether; previous: the task before, or NULL. */
double np_cal_cost_sec(const struct np_cal_setup *s,
		       const struct np_cal_task *t,
		       const struct np_cal_task *previous);

/* Do two tasks have the same base, in the same place? */
bool np_cal_same_base(const struct np_cal_task *a, const struct np_cal_task *b);

/* Its name among the results: "beside leaf c0 c4 2"; the IDLE one is "idle". */
#define NP_CAL_KEY 192
void np_cal_key(const struct np_cal_setup *s, const struct np_cal_task *t,
		char key[NP_CAL_KEY]);

#endif
