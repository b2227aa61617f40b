/*
 * How much does a program slow beside others?  One model on one fabric, with
 * a 90 % interval, what the answer rests on, and what would narrow it most.
 *
 * The interval holds three things: the noise of the measurements (bootstrap,
 * np_draw.h), the model's own error, found by leaving one level out at a time
 * (the victim beside that level, and that level beside the co-runner, were
 * both measured, so each tells by how much the model would have missed it),
 * and the uncertainty of the coupling.  No pair of programs is needed.
 */
#ifndef NP_PREDICT_H
#define NP_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_fabric.h"
#include "np_model.h"

#define NP_PREDICT_REPLICATES 100 /* a good default */
#define NP_PREDICT_MAX_REPLICATES 10000
#define NP_PREDICT_COVERAGE 0.90

/*
 * When an answer is doubtful.  A part of the levels left out moves log(1 +
 * slowdown) by more than this share of itself (and NP_MISS_FLOOR), and the
 * slowdown by so much; or the co-runner slows a level by so much more, as a
 * logarithm, than every level does.  doc/validation/methods.md says how well that tells.
 */
#define NP_PREDICT_DOUBT_SHARE 0.3
#define NP_PREDICT_DOUBT_POINTS 0.10
#define NP_PREDICT_DOUBT_PAST 0.1

struct np_predict_opt {
	size_t replicates; /* bootstrap samples; 0: no interval */
	uint64_t seed;	   /* the same seed gives the same interval */
	bool strict;	   /* an error instead of another model's answer */
};

/* The measurement that would narrow the interval most. */
enum np_more {
	NP_MORE_NOTHING,      /* no interval, or nothing to gain */
	NP_MORE_CURVE,	      /* the victim beside level more_level */
	NP_MORE_PRESSURE,     /* co-runner more_co beside level more_level */
	NP_MORE_LATENCY,      /* co-runner more_co alone */
	NP_MORE_CALIBRATION,  /* the fabric's levels, again */
	NP_MORE_LEVELS,	      /* further levels, around more_level */
	NP_MORE_COUPLING,     /* the coupling at this scope */
};

struct np_prediction {
	double slowdown;
	double low, high; /* NaN without an interval */
	unsigned flags;	  /* enum np_pred_flag */
	const struct np_model *model; /* that answered */

	/* What it used. */
	unsigned used;	     /* enum np_need */
	size_t n_curve;	     /* levels of the victim's curve */
	size_t n_pressure;   /* levels whose slowdown by the co-runners counts */
	uint64_t n_probes;   /* least number of latencies of a co-runner */
	size_t n_left_out;   /* levels whose omission told the model's error */
	double coupling;

	enum np_more more;
	size_t more_level, more_co; /* as far as more says; indices */
};

struct np_predictor;

/*
 * f is borrowed for the predictor's life; m from np_model.h.  One thread at a
 * time.  Returns 0, or with err: -EINVAL (np_fabric_check(), more than
 * NP_PREDICT_MAX_REPLICATES), -ENOMEM.
 */
int np_predictor_new(const struct np_fabric *f, const struct np_model *m,
		     const struct np_predict_opt *opt,
		     struct np_predictor **out, struct np_err *err);
void np_predictor_free(struct np_predictor *p); /* NULL is allowed */

/*
 * The victim beside all n_co co-runners at once; none: no slowdown.
 * Returns 0 and fills *out, or with err:
 * -EINVAL  an application that np_program_check() refuses
 * -ENODATA something the model needs was not measured, and no other model can
 *	    answer (or strict): err says what, and of which program or level
 * -EDOM    measured, but no answer follows (fewer than two levels, ...)
 * -ELOOP, -ENOMEM
 */
int np_predict(struct np_predictor *p, const struct np_program *victim,
	       const struct np_program *const *co, size_t n_co,
	       enum np_scope scope, struct np_prediction *out,
	       struct np_err *err);

/*
 * Every application beside every other and beside itself: out[v * n + c] is
 * app[v] beside app[c].  A pair without an answer has a NaN slowdown, no
 * model, and what np_predict() would have returned in rc[v * n + c]; more is
 * NP_MORE_NOTHING throughout.  Returns 0, -EINVAL or -ENOMEM with err.
 */
int np_predict_matrix(struct np_predictor *p,
		      const struct np_program *const *app, size_t n,
		      enum np_scope scope, struct np_prediction *out, int *rc,
		      struct np_err *err);

/*
 * Of these pairs only those that app[0] is one of: out[c] is app[0] beside
 * app[c], and out[n - 1 + v], with v > 0, is app[v] beside app[0]; 2 n - 1 in
 * all, and as many in rc.  Returns as np_predict_matrix().
 */
int np_predict_around(struct np_predictor *p,
		      const struct np_program *const *app, size_t n,
		      enum np_scope scope, struct np_prediction *out, int *rc,
		      struct np_err *err);

#endif
