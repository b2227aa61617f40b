/*
 * A calibration as a whole: stage after stage, saving after every measurement,
 * and skipping what an earlier, interrupted calibration measured.  And what its
 * measurements mean.
 */
#ifndef NP_CALIBRATE_H
#define NP_CALIBRATE_H

#include "np_calibrate_run.h"
#include "np_moments.h"

/* A loss of speed below this counts as no effect. */
#define NP_CAL_FELT 0.05

struct np_cal_progress {
	size_t n_done, n; /* measurements */
	double left_sec;  /* estimated remaining time */
	const char *key;  /* of the next measurement; NULL: none */
};

struct np_calibrate {
	struct np_cal_setup setup;
	struct np_cal_run *run;	    /* after np_cal_run_set_roles() */
	struct np_cal_state *state; /* results so far; grows */
	bool scope_given;	    /* false: scope is determined by results */
	enum np_scope scope;
	size_t chosen[NP_CAL_MAX_LEVELS], n_chosen; /* levels of the matrix */

	/* Called after each measurement.  Returns 0 or -errno with err. */
	int (*save)(void *arg, const struct np_cal_state *s,
		    struct np_err *err);
	/* Called before the first measurement and after each. */
	void (*progress)(void *arg, const struct np_cal_progress *p);
	void *arg; /* of both functions */
};

/* The extent of the plan, as far as is known: measurements and seconds. */
struct np_cal_estimate {
	size_t n, n_done;
	double sec, left_sec;
};
int np_calibrate_estimate(const struct np_calibrate *c,
			  struct np_cal_estimate *out);

/*
 * Measure everything that is not in the state yet.  Returns 0, or with err
 * -EINTR (the user wants to stop) or another failure of a measurement or of
 * save().  In each case the state holds what was measured, and the same call
 * continues.
 */
int np_calibrate_measure(struct np_calibrate *c, struct np_err *err);

/* ---- the results ---- */

struct np_calibration_conditions {
	const struct np_calibrate *c; /* completed */
	const struct np_cal_roles *roles;
	const char *cluster, *transport, *ucx_version;
	const char *rail; /* NULL: none was requested */
	double date;
	uint32_t message_bytes;
	double period_sec;
};

/*
 * The calibration as text for np_fabric_store_save(); *out is malloc'ed.
 * Returns 0, or with err -ENOMEM, or -ENODATA if a required measurement has no
 * samples.
 */
int np_calibrate_result(const struct np_calibration_conditions *f, char **out,
			struct np_err *err);

/* Slowdown of level victim by level aggressor, over all repeats. */
struct np_mean np_cal_matrix(const struct np_calibrate *c, enum np_scope scope,
			     size_t victim, size_t aggressor);

/* Loss of speed, 1 - s, of the middle level caused by the strongest. */
struct np_mean np_cal_loss(const struct np_calibrate *c, enum np_scope scope);

/*
 * Sharing coefficient: the loss at a scope divided by the loss at the reference
 * scope, repeat by repeat, limited to 0 .. NP_SHARING_COEF_MAX.  Unknown (n is 0)
 * if one of them was not measured, or if the reference shows no effect.
 */
struct np_mean np_cal_sharing(const struct np_calibrate *c,
			       enum np_scope reference, enum np_scope scope);

/*
 * Number of repeats of the measurements of the sharing coefficients.  They are repeated until the
 * loss on the leaf switch is above or below NP_CAL_FELT by NP_CAL_CERTAIN
 * standard errors, because that decides the scope of all other measurements.
 */
#define NP_CAL_CERTAIN 2
#define NP_CAL_COUPLE_LEAST 3 /* fewer give no estimate of the scatter */
#define NP_CAL_COUPLE_MOST 12

#endif
