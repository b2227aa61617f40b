/*
 * Runs measurements of a calibration, one after the other, on steps that a
 * table of functions starts and ends: srun's, or a test's.
 *
 * Of two steps the base (slot 0) outlives a measurement where the next one has
 * the same; what presses on it (slot 1) comes and goes.  Values count by the
 * time of their window, so that it does not matter when a report arrives.
 */
#ifndef NP_CALIBRATE_RUN_H
#define NP_CALIBRATE_RUN_H

#include <signal.h>

#include "np_calibrate_state.h"
#include "np_conf.h"
#include "np_report.h"
#include "np_sidecmd.h"
#include "np_sidestep.h"

enum { NP_CAL_BASE, NP_CAL_PRESS, NP_CAL_SLOTS };

#define NP_CAL_WINDOW_SEC 0.25 /* reports come so often */

struct np_cal_step {
	const struct np_level *level; /* NULL: the probes */
	const char *nodes;	      /* "n0,n1" */
	size_t n_nodes;
	bool across; /* around all leaves */
};

typedef void np_cal_report_f(int slot, const struct np_report *r, void *arg);

/* Every function takes the same ctx; times are on one monotonic clock. */
struct np_cal_ops {
	double (*now_sec)(void *ctx);
	/* Returns 0 or -errno with err. */
	int (*start)(void *ctx, int slot, const struct np_cal_step *step,
		     struct np_err *err);
	/* Ends it and waits for that; what it still says goes to f. */
	void (*stop)(void *ctx, int slot, np_cal_report_f *f, void *arg);
	/*
	 * Hand reports to f until until_sec; may return early.  up[slot]:
	 * the step there has reported.  Returns 0; -EINTR if the user wants to
	 * stop; -EPIPE with err if a step ended by itself.
	 */
	int (*wait)(void *ctx, double until_sec, const bool up[NP_CAL_SLOTS],
		    np_cal_report_f *f, void *arg, struct np_err *err);
};

/* What the probes say of where they are; belongs to the run. */
struct np_cal_survey {
	const struct np_cal_node *node; /* by rank, each once */
	size_t n;
	const char *transport; /* that they use: "tcp/eth0", "" */
	const char *version;   /* UCX's */
};

struct np_cal_run;

/* setup and sites are borrowed; NULL: out of memory. */
struct np_cal_run *np_cal_run_new(const struct np_cal_ops *ops, void *ctx,
				  const struct np_cal_setup *setup);
/* Ends what runs.  NULL is allowed. */
void np_cal_run_free(struct np_cal_run *r);

/*
 * Start the probes on all nodes of the allocation (borrowed, a hostlist
 * expression of n_nodes) and learn from them where they are.  Returns 0,
 * -EINTR, -ETIMEDOUT or another -errno with err.
 */
int np_cal_run_survey(struct np_cal_run *r, const char *nodes, size_t n_nodes,
		      struct np_cal_survey *out, struct np_err *err);

/* The time on the clock of its steps. */
double np_cal_run_now_sec(const struct np_cal_run *r);

/* From here on measurements know where to go. */
void np_cal_run_set_sites(struct np_cal_run *r,
			  const struct np_cal_sites *sites);

/*
 * One measurement, into s.  That of idle adds one result for each leaf and
 * one, empty, named "idle".  Returns 0; -EINTR, -EPIPE, -ETIMEDOUT (a step
 * does not come up) or another -errno with err; s has whole results only.
 */
int np_cal_run_task(struct np_cal_run *r, const struct np_cal_task *t,
		    struct np_cal_state *s, struct np_err *err);

/* Steps of a calibration by srun, inside an allocation. */

struct np_cal_srun {
	const struct np_conf *conf; /* borrowed */
	struct np_sidejob job;
	char **env; /* of the steps: np_sideenv_make(); borrowed */
	const volatile sig_atomic_t *stop; /* set: the user wants to stop */
	/* Private. */
	struct np_sidestep step[NP_CAL_SLOTS];
	bool running[NP_CAL_SLOTS];
};

/* ctx is a struct np_cal_srun with the first four set, the rest zero. */
extern const struct np_cal_ops np_cal_srun_ops;

#endif
