/*
 * Runs the measurements of a calibration, one after the other.  Steps are
 * started and stopped by a table of functions: srun's, or a test's.
 *
 * Of two steps the base (slot 0) is what is measured, and keeps running while
 * the next measurement has the same one; the aggressor (slot 1) is started and
 * stopped for each.  Samples are assigned by the time of their window, so it
 * does not matter when a report arrives.
 */
#ifndef NP_CALIBRATE_RUN_H
#define NP_CALIBRATE_RUN_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "np_calibrate_plan.h"
#include "np_conf.h"
#include "np_err.h"
#include "np_latency.h"
#include "np_moments.h"
#include "np_report.h"
#include "np_helper.h"

/*
 * What a calibration has measured so far, as text in a file that is written
 * after every measurement, so that an interrupted calibration can continue.
 */

/* Durations of rounds, or latencies; in seconds. */
struct np_cal_sample {
	struct np_moments sec;
	uint64_t *bins; /* NP_HIST_BINS, only of latencies; else NULL */
};

struct np_cal_result {
	char key[NP_CAL_KEY];
	struct np_cal_sample alone, loaded; /* without, with the aggressor */
};

struct np_cal_state {
	char *setup;  /* one line that must be equal to continue */
	double begun; /* date of the start */
	struct np_cal_result *result;
	size_t n;
};

/* setup is copied.  Returns 0 or -ENOMEM. */
int np_cal_state_init(struct np_cal_state *s, const char *setup, double begun);
void np_cal_state_free(struct np_cal_state *s);


/*
 * malloc'ed text; NULL: out of memory.  The reverse accepts any text, and
 * returns 0, -EINVAL with err naming the line, or -ENOMEM.  Exported for tests.
 */
char *np_cal_state_format(const struct np_cal_state *s);
int np_cal_state_parse(const char *text, struct np_cal_state *out,
		       struct np_err *err);

/*
 * Read and write a file in a directory that only administrators can write.
 * Reading returns -ENOENT (without err) if there is none, -EACCES if neither
 * the caller nor root owns it, or -EFBIG.  Writing: temporary file, fsync,
 * rename.
 */
int np_cal_state_load(const char *path, struct np_cal_state *out,
		      struct np_err *err);
int np_cal_state_save(const char *path, const struct np_cal_state *s,
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

/* All functions get the same ctx, and times are of one monotonic clock. */
struct np_cal_ops {
	double (*now_sec)(void *ctx);
	/* Returns 0 or -errno with err. */
	int (*start)(void *ctx, int slot, const struct np_cal_step *step,
		     struct np_err *err);
	/* Stop it and wait for its end; its last reports are passed to f. */
	void (*stop)(void *ctx, int slot, np_cal_report_f *f, void *arg);
	/*
	 * Pass reports to f until until_sec, or return early.  up[slot]: the
	 * step there has reported.  Returns 0; -EINTR if the user wants to
	 * stop; -EPIPE with err if a step ended unexpectedly.
	 */
	int (*wait)(void *ctx, double until_sec, const bool up[NP_CAL_SLOTS],
		    np_cal_report_f *f, void *arg, struct np_err *err);
};

/* Where the probes run, as they report it; owned by the run. */
struct np_cal_query {
	const struct np_cal_node *node; /* by rank, each once */
	size_t n;
	const char *transport; /* of the probes: "tcp/eth0", or "" */
	const char *version;   /* UCX's */
};

struct np_cal_run;

/* setup is borrowed.  Returns NULL if out of memory. */
struct np_cal_run *np_cal_run_new(const struct np_cal_ops *ops, void *ctx,
				  const struct np_cal_setup *setup);
/* Stops running steps.  NULL is allowed. */
void np_cal_run_free(struct np_cal_run *r);

/*
 * Start the probes on all nodes of the allocation (nodes: borrowed, a hostlist
 * expression of n_nodes) and learn their leaf switches.  Returns 0, -EINTR,
 * -ETIMEDOUT or another -errno with err.
 */
int np_cal_run_query(struct np_cal_run *r, const char *nodes, size_t n_nodes,
		      struct np_cal_query *out, struct np_err *err);

/* Tell where measurements run; roles is borrowed. */
void np_cal_run_set_roles(struct np_cal_run *r,
			  const struct np_cal_roles *roles);

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

#endif
