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
#include <stddef.h>
#include <stdint.h>

#include "np_calibrate_plan.h"
#include "np_conf.h"
#include "np_err.h"
#include "np_hist.h"
#include "np_moments.h"
#include "np_report.h"
#include "np_sidecmd.h"
#include "np_sidestep.h"

/*
 * What a calibration has measured so far, as text that outlives it: written
 * to a file after every measurement, so that one that was stopped, however,
 * goes on where it was.
 */

/* Times of rounds, or latencies; seconds. */
struct np_cal_sample {
	struct np_moments sec;
	uint64_t *bins; /* NP_HIST_BINS, of latencies; NULL: none */
};

struct np_cal_result {
	char key[NP_CAL_KEY];
	struct np_cal_sample alone, beside; /* n 0: nothing was heard */
};

struct np_cal_state {
	char *setup;  /* one line: what must be equal to go on */
	double begun; /* date */
	struct np_cal_result *result;
	size_t n;
};

/* setup is copied.  Returns 0 or -ENOMEM. */
int np_cal_state_init(struct np_cal_state *s, const char *setup, double begun);
void np_cal_state_free(struct np_cal_state *s);

/* NULL: not measured yet.  The key is "idle LEAF" for what idle measured. */
const struct np_cal_result *np_cal_state_find(const struct np_cal_state *s,
					      const char *key);

/* Merge a sample, with its bins if it has any.  Returns 0 or -ENOMEM. */
int np_cal_sample_merge(struct np_cal_sample *to,
			const struct np_cal_sample *from);
void np_cal_sample_free(struct np_cal_sample *s);

/*
 * malloc'ed text; NULL: out of memory.  The reverse returns 0, -EINVAL
 * with err naming the line, or -ENOMEM.  Text may be anything.
 */
char *np_cal_state_format(const struct np_cal_state *s);
int np_cal_state_parse(const char *text, struct np_cal_state *out,
		       struct np_err *err);

/*
 * Read and write a file; path is below a directory that only administrators
 * write.  Reading returns -ENOENT (without err) if there is none, -EACCES for
 * one that neither the caller nor root owns, or -EFBIG.  Writing: temporary
 * file, fsync, rename.
 */
int np_cal_state_load(const char *path, struct np_cal_state *out,
		      struct np_err *err);
int np_cal_state_save(const char *path, const struct np_cal_state *s,
		      struct np_err *err);

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
