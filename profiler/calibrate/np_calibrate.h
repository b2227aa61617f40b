/*
 * The whole course of a calibration: stage after stage, saving after every
 * measurement, passing over what an earlier, interrupted one has measured.
 */
#ifndef NP_CALIBRATE_H
#define NP_CALIBRATE_H

#include "np_calibrate_run.h"
#include "np_mean.h"

/* Loss of speed below which an interferer is not felt. */
#define NP_CAL_FELT 0.05

struct np_cal_progress {
	size_t n_done, n; /* measurements */
	double left_sec;  /* about */
	const char *key;  /* the one that comes next; NULL: none */
};

struct np_calibrate {
	struct np_cal_setup setup;
	struct np_cal_run *run;	    /* with its sites set */
	struct np_cal_state *state; /* what is known; grows */
	bool scope_given;	    /* else scope is an answer */
	enum np_scope scope;
	size_t chosen[NP_CAL_MAX_LEVELS], n_chosen; /* an answer */

	/* After each measurement.  Returns 0 or -errno with err. */
	int (*save)(void *arg, const struct np_cal_state *s,
		    struct np_err *err);
	/* Before the first measurement and after each. */
	void (*progress)(void *arg, const struct np_cal_progress *p);
	void *arg; /* of both */
};

/* What is to be done, by the plan alone: measurements and seconds. */
struct np_cal_estimate {
	size_t n, n_done;
	double sec, left_sec;
};
int np_calibrate_estimate(const struct np_calibrate *c,
			  struct np_cal_estimate *out);

/*
 * Measure everything that is not in the state yet.  Returns 0, or with err
 * -EINTR (the user wants to stop) or what np_cal_run_task() or save() gave:
 * in each case the state holds what was measured, and the same call goes on.
 */
int np_calibrate_go(struct np_calibrate *c, struct np_err *err);

/* ---- what the measurements say ---- */

struct np_calibration_facts {
	const struct np_calibrate *c; /* that has gone through */
	const struct np_cal_sites *sites;
	const char *cluster, *transport, *ucx_version;
	double date;
	uint32_t message_bytes;
	double period_sec;
};

/*
 * The calibration as np_fabric_store_save() wants it; *out: malloc'ed.
 * Returns 0, or with err -ENOMEM, or -ENODATA where something that must be
 * there was not heard at all.
 */
int np_calibrate_result(const struct np_calibration_facts *f, char **out,
			struct np_err *err);

/* Of level victim beside level aggressor, over all repeats. */
struct np_mean np_cal_matrix(const struct np_calibrate *c, enum np_scope scope,
			     size_t victim, size_t aggressor);

/* Loss of speed 1 - s of the middle level beside the strongest. */
struct np_mean np_cal_loss(const struct np_calibrate *c, enum np_scope scope);

/*
 * Loss at a scope over the loss at the scope of reference, repeat by repeat,
 * within 0 .. NP_COUPLING_MAX.  Not measured (n == 0) where one of the two was
 * not, or where nothing is felt at the scope of reference.
 */
struct np_mean np_cal_coupling(const struct np_calibrate *c,
			       enum np_scope reference, enum np_scope scope);

/*
 * How often couplings are to be measured, by what is measured: until the loss
 * on the leaf is on one side of NP_CAL_FELT by NP_CAL_CERTAIN standard errors,
 * as all the rest is measured at the scope that this decides about.
 */
#define NP_CAL_CERTAIN 2
#define NP_CAL_COUPLE_LEAST 3 /* fewer say nothing about their scatter */
#define NP_CAL_COUPLE_MOST 12

#endif
