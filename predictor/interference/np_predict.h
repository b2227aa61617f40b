/*
 * Predict how much a program slows down when other programs share its leaf
 * switch: one model on one fabric, with a 90 % interval, the data it used, and
 * the measurement that would narrow the interval most.
 *
 * The interval covers three sources of error:
 *
 *   - the noise of the measurements, by a bootstrap (np_predict_impl.h);
 *   - the model's own error, estimated by leaving out one load level at a
 *     time. Both the victim under that level and that level under the
 *     co-runner were measured, so each shows how far off the model is;
 *   - the uncertainty of the sharing coefficient.
 *
 * No measured pair of programs is needed for any of them.
 */
#ifndef NP_PREDICT_H
#define NP_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_fabric.h"
#include "np_model.h"

#define NP_PREDICT_REPLICATES 100 /* default number of bootstrap samples */
#define NP_PREDICT_MAX_REPLICATES 10000
#define NP_PREDICT_COVERAGE 0.90

/*
 * A prediction is doubtful in five cases. Either leaving out some of the load
 * levels changes log(1 + slowdown) by more than NP_PREDICT_DOUBT_SHARE of its
 * value plus 0.2, and the slowdown itself by more than NP_PREDICT_DOUBT_POINTS.
 * Or the co-runner slows some level, in units of log(1 + slowdown), by
 * NP_PREDICT_DOUBT_PAST more than any other level does. Or, if there is an
 * interval, it is wider than NP_PREDICT_DOUBT_POINTS and one of its ends
 * differs from the prediction, in the same units, by more than
 * NP_PREDICT_DOUBT_WIDTH of its value plus 0.2. Or the model fell back to one
 * that knows only latencies of the co-runner. Or the calibration is doubtful
 * (np_self_check.h). doc/validation/methods.md shows how well these tests work.
 */
#define NP_PREDICT_DOUBT_SHARE 0.3
#define NP_PREDICT_DOUBT_POINTS 0.10
#define NP_PREDICT_DOUBT_PAST 0.1
#define NP_PREDICT_DOUBT_WIDTH 1.2

struct np_predict_opt {
	size_t replicates; /* bootstrap samples; 0: no interval */
	uint64_t seed;	   /* the same seed gives the same interval */
	bool strict;	   /* fail instead of falling back to another model */
	bool doubtful;	   /* the calibration is: np_self_check_fails() */
};

/* The measurement that would narrow the interval most. */
enum np_more {
	NP_MORE_NOTHING,     /* no interval, or none would narrow it */
	NP_MORE_CURVE,	     /* the victim under level more_level */
	NP_MORE_IMPACT,	     /* co-runner more_co under level more_level */
	NP_MORE_LATENCY,     /* co-runner more_co alone */
	NP_MORE_CALIBRATION, /* the fabric's calibration, repeated */
	NP_MORE_LEVELS,	     /* additional levels near more_level */
	NP_MORE_SHARING,     /* the sharing coefficient at this scope */
};

struct np_prediction {
	double slowdown;
	double low, high;	      /* 90 % interval; NaN if there is none */
	unsigned flags;		      /* enum np_pred_flag */
	const struct np_model *model; /* the model that answered */

	/* The data it used. */
	unsigned used;	   /* enum np_data_kind */
	size_t n_curve;	   /* levels in the victim's sensitivity curve */
	size_t n_impact;   /* levels with a measured slowdown by co-runners */
	uint64_t n_probes; /* latency samples of the co-runner with fewest */
	size_t n_excluded; /* leave-one-out tests behind the model's error */
	double sharing; /* sharing coefficient applied; 0 to NP_SHARING_COEF_MAX */

	enum np_more more;
	size_t more_level, more_co; /* indices; set where more refers to them */
};

struct np_predictor;

/*
 * Create a predictor. fabric must outlive it; model is an entry of np_models.
 * A predictor may be used by one thread at a time. It keeps what it computed
 * for the programs of np_predict(), up to some MB, and uses it again for
 * programs with the same name and measurements. Returns 0, or with err set:
 * -EINVAL (np_fabric_check() fails, or more than NP_PREDICT_MAX_REPLICATES
 * bootstrap samples) or -ENOMEM.
 */
int np_predictor_new(const struct np_fabric *fabric,
		     const struct np_model *model,
		     const struct np_predict_opt *opt,
		     struct np_predictor **out, struct np_err *err);
void np_predictor_free(struct np_predictor *predictor); /* NULL is allowed */

/*
 * Predict the slowdown of the victim while all n_co co-runners run at once.
 * Without co-runners the slowdown is 0. Co-runners that load none of the
 * victim's rails are ignored. If they load different ones of them, the
 * prediction is that of the rail on which it is largest, since a transfer over
 * several rails ends with its slowest part. Returns 0 and fills *out, or with
 * err:
 *
 * -EINVAL  np_program_check() refuses one of the programs
 * -ENODATA a measurement that the model needs is missing, and no other model
 *	    can answer (or opt->strict is set); err names the measurement and
 *	    the program or level
 * -EDOM    the measurements exist but determine no answer, for example
 *	    because there are fewer than two levels
 * -ELOOP, -ENOMEM
 */
int np_predict(struct np_predictor *predictor, const struct np_program *victim,
	       const struct np_program *const *co, size_t n_co,
	       enum np_scope scope, struct np_prediction *out,
	       struct np_err *err);

/*
 * Predict all pairs of n programs, each with every other and with a second job
 * of itself: out[v * n + c] is the slowdown of app[v] under app[c]. A pair
 * that cannot be predicted has a NaN slowdown, a NULL model, and in
 * rc[v * n + c] the value np_predict() would have returned. The member more is
 * always NP_MORE_NOTHING. Returns 0, -EINVAL or -ENOMEM with err.
 */
int np_predict_matrix(struct np_predictor *predictor,
		      const struct np_program *const *app, size_t n,
		      enum np_scope scope, struct np_prediction *out, int *rc,
		      struct np_err *err);

/*
 * Predict only the pairs that include app[0]: out[c] is the slowdown of app[0]
 * under app[c], and out[n - 1 + v], for v > 0, is that of app[v] under app[0].
 * out and rc have 2 n - 1 elements. Returns as np_predict_matrix() does.
 */
int np_predict_around(struct np_predictor *predictor,
		      const struct np_program *const *app, size_t n,
		      enum np_scope scope, struct np_prediction *out, int *rc,
		      struct np_err *err);

#endif
