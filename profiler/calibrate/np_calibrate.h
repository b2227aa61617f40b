/*
 * The calibration of a fabric: what is measured where, the measurements, and
 * what they mean.
 */
#ifndef NP_CALIBRATE_H
#define NP_CALIBRATE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_conf.h"
#include "np_err.h"
#include "np_fabric.h"
#include "np_helper.h"
#include "np_latency.h"
#include "np_level.h"
#include "np_moments.h"
#include "np_report.h"

/*
 * ---- The plan ----
 *
 * What `netprof calibrate` measures on a fabric, where, and how long it takes:
 * pure functions of the nodes and the load levels.
 *
 * All measurements have one form: a base (the probes, or a level as the victim)
 * runs alone for a while, then together with a level as the aggressor.
 */

#define NP_CAL_LEVELS 8	     /* in the matrix, by default */
#define NP_CAL_MAX_LEVELS 64 /* candidates */
#define NP_CAL_MAX_REPEATS 100
#define NP_CAL_PROBE_FACTOR 5 /* how much longer probes are measured */
#define NP_CAL_NONE ((size_t)-1)

/* ---- nodes ---- */

struct np_cal_node {
	const char *name, *leaf; /* leaf: its switch; "": no topology */
};

/* Nodes with one role: a malloc'ed list such as "n0,n1", and their number. */
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
	 * largest leaf switch. Empty if there is none.
	 */
	struct np_cal_hosts victim_across, aggressor_across;
};

/*
 * Returns 0 (free with np_cal_roles_free()), -ENODEV with err if no two nodes
 * are under the same leaf switch, or -ENOMEM.
 */
int np_cal_roles_make(const struct np_cal_node *node, size_t n,
		      struct np_cal_roles *out, struct np_err *err);
void np_cal_roles_free(struct np_cal_roles *roles);

/* The nodes of an aggressor at this scope; n is 0 if there are none. */
const struct np_cal_hosts *
np_cal_roles_aggressor(const struct np_cal_roles *roles, enum np_scope scope);

/* ---- levels ---- */

/*
 * Parse "default" (c0 to c7), "all" (the 40 levels of the CompressionB paper:
 * 1, 4, 7, 14 or 17 peers, pauses of 2.5e4 to 2.5e7 cycles at 2.6 GHz, 1 or
 * 10 messages), or names as np_level_parse() accepts them, separated by commas.
 * Levels that are equal on a ring of n_nodes nodes are kept once; out[] is in
 * ascending order of nominal load. Returns 0 or -EINVAL with err (also for
 * fewer than two levels, or more than NP_CAL_MAX_LEVELS).
 */
int np_cal_levels_parse(const char *text, size_t n_nodes,
			struct np_level out[NP_CAL_MAX_LEVELS], size_t *n,
			struct np_err *err);

/*
 * Select `keep` of n levels, spread evenly over log(1 + slowdown[i]), where
 * slowdown[i] is how much level i slows a victim; NaN: unknown. The models
 * compare levels on that scale. As slowdowns grow without bound towards
 * saturation, most of the selected levels have a high load. The weakest and
 * the strongest level are always selected, and unknown ones last. selected[]
 * is in ascending order. Returns the number selected: keep, or n if that is
 * less.
 */
size_t np_cal_select_levels(const double *slowdown, size_t n, size_t keep,
			    size_t *selected);

/* ---- measurements ---- */

enum np_cal_kind {
	NP_CAL_IDLE,   /* probes on all nodes, without an aggressor */
	NP_CAL_COUPLE, /* the middle level under the strongest, at a scope:
			* for the sharing coefficients */
	NP_CAL_PROBE,  /* the probes under a level */
	NP_CAL_PAIR,   /* a level under a level */
};

struct np_cal_task {
	enum np_cal_kind kind;
	enum np_scope scope;	  /* of the aggressor */
	size_t victim, aggressor; /* levels, or NP_CAL_NONE */
	unsigned repeat;
};

struct np_cal_setup {
	struct np_level level[NP_CAL_MAX_LEVELS];
	size_t n_levels;
	size_t keep; /* levels in the matrix */
	unsigned repeats;
	double seconds, probe_seconds; /* of one measurement */
	bool has[NP_N_SCOPES];	       /* scopes that can be measured */
};

enum np_cal_stage {
	NP_CAL_FIRST,  /* idle; sharing coefficients, which decide the scope */
	NP_CAL_SECOND, /* probes under each level; the impact of each level */
	NP_CAL_THIRD,  /* selected levels under each other */
	NP_CAL_STAGES
};

/* Victim and aggressor of the measurements for the sharing coefficients. */
size_t np_cal_middle(const struct np_cal_setup *setup);
size_t np_cal_strongest(const struct np_cal_setup *setup);

/* Estimate how long a measurement takes; previous: the one before, or NULL. */
double np_cal_cost_sec(const struct np_cal_setup *setup,
		       const struct np_cal_task *task,
		       const struct np_cal_task *previous);

/* Do two measurements have the same base, on the same nodes? For tests. */
bool np_cal_same_base(const struct np_cal_task *a, const struct np_cal_task *b);

/* Write the key of a measurement's result, "beside leaf c0 c4 2" or "idle". */
#define NP_CAL_KEY 192
void np_cal_key(const struct np_cal_setup *setup,
		const struct np_cal_task *task, char key[NP_CAL_KEY]);

/*
 * ---- The measurements ----
 *
 * The measurements of a calibration are made one after the other. Steps are
 * started and stopped by a table of functions, which use srun, or which a test
 * provides.
 *
 * There are two steps. The base (slot 0) is measured, and keeps running as
 * long as the following measurements have the same base. The aggressor (slot
 * 1) is started and stopped for each measurement. Samples are assigned to
 * measurements by the time of their window, so it does not matter when a report
 * arrives.
 */

/*
 * The state is what a calibration has measured so far. It is written to a file
 * after every measurement, so that an interrupted calibration can be continued.
 */

/* Durations of rounds, or latencies; in seconds. */
struct np_cal_sample {
	struct np_moments sec;
	uint64_t bins[NP_HIST_BINS]; /* of latencies; else 0 */
};

struct np_cal_result {
	char key[NP_CAL_KEY];
	struct np_cal_sample alone, loaded; /* without, with the aggressor */
};

struct np_cal_state {
	char *setup;  /* one line; only an equal setup may continue */
	double begun; /* date of the start */
	struct np_cal_result *result;
	size_t n;
};

/* setup is copied. Returns 0 or -ENOMEM. */
int np_cal_state_init(struct np_cal_state *state, const char *setup,
		      double begun);
void np_cal_state_free(struct np_cal_state *state);

/*
 * Read and write the file, in a directory that only administrators can write.
 * Reading returns -ENOENT (without err) if there is no file, -EACCES if neither
 * the caller nor root owns it, -EFBIG, -EINVAL with err naming the line, or
 * another -errno. A new file is written under a temporary name, synced and
 * renamed.
 */
int np_cal_state_load(const char *path, struct np_cal_state *out,
		      struct np_err *err);
int np_cal_state_save(const char *path, const struct np_cal_state *state,
		      struct np_err *err);

enum { NP_CAL_BASE, NP_CAL_AGGRESSOR, NP_CAL_SLOTS };

#define NP_CAL_WINDOW_SEC 0.25 /* period of the reports */

struct np_cal_step {
	const struct np_level *level; /* NULL: the probes */
	const char *nodes;	      /* "n0,n1" */
	size_t n_nodes;
	bool across; /* a ring through all leaf switches */
};

typedef void np_cal_report_f(int slot, const struct np_report *r, void *arg);

/* All functions get the same ctx, and all times are of one monotonic clock. */
struct np_cal_ops {
	double (*now_sec)(void *ctx);
	/* Returns 0 or -errno with err. */
	int (*start)(void *ctx, int slot, const struct np_cal_step *step,
		     struct np_err *err);
	/*
	 * Stop a step and wait for its end. Its last reports are passed to f.
	 */
	void (*stop)(void *ctx, int slot, np_cal_report_f *f, void *arg);
	/*
	 * Pass reports to f until until_sec, or return early. started[slot]:
	 * all processes of that step have started. Returns 0, or with err
	 * -EINTR if the user wants to stop, or -EPIPE if a step has ended
	 * unexpectedly.
	 */
	int (*wait)(void *ctx, double until_sec,
		    const bool started[NP_CAL_SLOTS], np_cal_report_f *f,
		    void *arg, struct np_err *err);
};

/* Where the probes run, as they report it; owned by the run. */
struct np_cal_query {
	const struct np_cal_node *node; /* each once, in order of rank */
	size_t n;
	const char *transport; /* of the probes: "tcp/eth0", or "" */
	const char *version;   /* UCX's */
};

struct np_cal_run;

/* setup is borrowed. Returns NULL if out of memory. */
struct np_cal_run *np_cal_run_new(const struct np_cal_ops *ops, void *ctx,
				  const struct np_cal_setup *setup);
/* Stops running steps. NULL is allowed. */
void np_cal_run_free(struct np_cal_run *run);

/*
 * Start the probes on all nodes of the allocation (nodes: borrowed, a hostlist
 * expression of n_nodes) and learn their leaf switches. Returns 0, -EINTR,
 * -ETIMEDOUT or another -errno with err.
 */
int np_cal_run_query(struct np_cal_run *run, const char *nodes, size_t n_nodes,
		     struct np_cal_query *out, struct np_err *err);

/* ---- steps by srun, inside an allocation ---- */

struct np_cal_srun {
	const struct np_conf *conf; /* borrowed */
	struct np_helper_job job;
	char **env; /* of the steps, np_helper_env(); borrowed */
	const volatile sig_atomic_t *stop; /* set when the user wants to stop */
	/* Private. */
	struct np_helper_step step[NP_CAL_SLOTS];
	bool running[NP_CAL_SLOTS];
};

/* ctx is a struct np_cal_srun; only its first four members have to be set. */
extern const struct np_cal_ops np_cal_srun_ops;

/*
 * ---- A calibration as a whole ----
 *
 * A calibration runs stage by stage, saves its state after every measurement,
 * and skips what an earlier, interrupted call has measured.
 */

/* A loss of speed below this counts as no effect. */
#define NP_CAL_FELT 0.05

/* How much there is to measure, by the results so far. */
struct np_cal_estimate {
	size_t n, n_done; /* measurements */
	double sec, left_sec;
};

struct np_calibrate {
	struct np_cal_setup setup;
	struct np_cal_run *run;
	const struct np_cal_roles *roles; /* borrowed */
	struct np_cal_state *state;	  /* the results so far */
	bool scope_given; /* false: the results decide the scope */
	enum np_scope scope;
	size_t selected[NP_CAL_MAX_LEVELS],
		n_selected; /* levels of the matrix */

	/* Called after each measurement. Returns 0 or -errno with err. */
	int (*save)(void *arg, const struct np_cal_state *s,
		    struct np_err *err);
	/*
	 * Called before the first measurement and after each. key: of the next
	 * measurement; NULL: there is none.
	 */
	void (*progress)(void *arg, const struct np_cal_estimate *estimate,
			 const char *key);
	void *arg; /* of both functions */
};

struct np_cal_estimate
np_calibrate_estimate(const struct np_calibrate *calibrate);

/*
 * Get the i-th measurement of a stage. Repeats are the outermost loop, so that
 * an interrupted calibration has some of everything. Victims are the next,
 * because each has to be started. Aggressors are in another order in each
 * repeat. The third stage is of the selected levels. repeats: of the first and
 * the third stage. Returns false if the stage has no more than i. Exported for
 * tests.
 */
bool np_cal_task_at(const struct np_calibrate *calibrate,
		    enum np_cal_stage stage, unsigned repeats, size_t i,
		    struct np_cal_task *out);

/*
 * Measure everything that is not in the state yet. Returns 0, or with err
 * -EINTR (the user wants to stop) or another failure of a measurement or of
 * save(). In each case the state holds what was measured, and another call
 * continues from there.
 */
int np_calibrate_measure(struct np_calibrate *calibrate, struct np_err *err);

/* ---- the results ---- */

struct np_calibration_conditions {
	const struct np_calibrate *c; /* completed */
	const char *cluster, *transport, *ucx_version;
	const char *rail; /* NULL: none was requested */
	double date;
	uint32_t message_bytes;
	double period_sec;
};

/*
 * Format the calibration as malloc'ed text for np_fabric_store_save(). Returns
 * 0, or with err -ENOMEM, or -ENODATA if a required measurement has no samples.
 */
int np_calibrate_result(const struct np_calibration_conditions *conditions,
			char **out, struct np_err *err);

/* Slowdown of one level by another, over all repeats. */
struct np_mean np_cal_matrix(const struct np_calibrate *calibrate,
			     enum np_scope scope, size_t victim,
			     size_t aggressor);

/* Loss of speed, 1 - s, of the middle level caused by the strongest. */
struct np_mean np_cal_loss(const struct np_calibrate *calibrate,
			   enum np_scope scope);

/*
 * Sharing coefficient of a scope: the loss there divided by the loss at the
 * reference scope, repeat by repeat, limited to 0 .. NP_SHARING_COEF_MAX. It
 * is unknown (n is 0) if one of them was not measured, or if the reference
 * scope shows no effect.
 */
struct np_mean np_cal_sharing(const struct np_calibrate *calibrate,
			      enum np_scope reference, enum np_scope scope);

/*
 * The measurements for the sharing coefficients are repeated until the loss on
 * the leaf switch is above or below NP_CAL_FELT by NP_CAL_CERTAIN standard
 * errors, because that decides the scope of all other measurements.
 */
#define NP_CAL_CERTAIN 2
#define NP_CAL_COUPLE_LEAST 3 /* fewer give no estimate of the scatter */
#define NP_CAL_COUPLE_MOST 12

#endif
