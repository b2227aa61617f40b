/*
 * The prediction models, by name.
 *
 * Every model answers the same question, how much a program slows beside
 * co-runners, in three steps: it describes the co-runners (by an index, or as
 * a mixture of interference levels), prepares the victim's response (its curve
 * over the same axis), and joins the two.  The first two are done once per
 * program, so that a matrix of programs costs little more than its joins.
 * np_predict.h puts the question; this header is the table, and the contract
 * between that driver and the models.
 *
 * Sources: [C] Casas, Bronevetsky, active measurement of switch utilisation;
 * all others are derived in doc/validation/methods.md.
 */
#ifndef NP_MODEL_H
#define NP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"
#include "np_fabric.h"

/*
 * The scale on which model mutual compares slowdowns.
 *
 * Two programs beside each other slow each other's traffic, too: what slows
 * the one half presses less on the other.  Of a pair that take d and e longer,
 *	p = d sqrt(1 + e),  q = e sqrt(1 + d)
 * is what each would suffer if the other kept its pace, were its traffic to
 * fall with the square root of its speed.  (p, q) and (d, e) determine each
 * other.  On the scale,
 *	z = 2 (sqrt(1 + p) - 1)
 * which is p where it is small and grows as its root.  Own derivation; both
 * exponents were chosen with measured pairs (doc/validation/methods.md).
 */

/* Both z of a pair from log(1 + slowdown) of either; finite. */
void np_pace_of(double log_slow, double log_other, double *z, double *z_other);

/* log(1 + slowdown) of a program and of the other from both z; finite. */
void np_pace_both(double z, double z_other, double log_slow[2]);

struct np_model;
struct np_nnls;

/* What a model cannot do without. */
enum np_need {
	NP_NEED_IDLE = 1 << 0,	   /* latency of the idle fabric */
	NP_NEED_LATENCY = 1 << 1,  /* latency beside levels and co-runners */
	NP_NEED_HIST = 1 << 2,	   /* their histograms as well */
	NP_NEED_CURVE = 1 << 3,	   /* the victim's slowdown beside levels */
	NP_NEED_PRESSURE = 1 << 4, /* the levels' slowdown beside co-runners */
	NP_NEED_BESIDE = 1 << 5,   /* the levels' slowdown beside each other */
	NP_NEED_CO_CURVE = 1 << 6,    /* the co-runner's curve, too */
	NP_NEED_OWN_PRESSURE = 1 << 7, /* the victim's pressure, too: the fits
					  are made on the scale of np_model.h */
	NP_NEED_TRACE = 1 << 8,	      /* the victim's trace */
};

/* What should be known about an answer. */
enum np_pred_flag {
	NP_PRED_CLAMPED = 1 << 0,  /* the answer was cut to what can be */
	NP_PRED_BEYOND = 1 << 1,   /* the co-runner is stronger or weaker than
				      every level: end of the curve taken */
	NP_PRED_FELL_BACK = 1 << 2,   /* another model answered, see model */
	NP_PRED_NO_OVERLAP = 1 << 3,  /* intervals or histograms that never
					 meet: nearest mean taken */
	NP_PRED_NO_COUPLING = 1 << 4, /* scope not measured: taken as 1 */
	NP_PRED_PARTIAL = 1 << 5,     /* levels left out for want of data */
	NP_PRED_ONE_PROBE = 1 << 6,   /* a latency set of one sample: sd 0 */
	NP_PRED_NO_INTERVAL = 1 << 7, /* none asked for, or model zero */
	NP_PRED_NOISE_ONLY = 1 << 8,  /* the interval knows nothing of the
					 model's own error */
	NP_PRED_NO_PRESSURE = 1 << 9,  /* what the co-runner takes of the
					  bandwidth is not known */
	NP_PRED_ONE_LEVEL = 1 << 10,   /* without one of the levels it would be
					  quite another answer */
	NP_PRED_PAST_LEVELS = 1 << 11, /* the co-runner slows a level more than
					  every level does */
};

/* With one of these, nothing is to be decided by the answer. */
#define NP_PRED_DOUBTFUL (NP_PRED_ONE_LEVEL | NP_PRED_PAST_LEVELS)

/* Latencies as one set of numbers: measured, or drawn by the bootstrap. */
struct np_data_latency {
	double mean, sd;
	const double *cdf; /* n_bins; NULL unless the model needs it */
};

struct np_data_fabric {
	size_t n_levels;
	const struct np_bins *bins;
	struct np_data_latency idle;
	double idle_min;
	const struct np_data_latency *level;
	/* Of levels that only send, those that send most and least in a round;
	 * n_levels: not known. */
	size_t bulk_level, brief_level;
	const double *log_beside; /* log(1 + CC[i][j]), 0 if unknown */
	const double *fit_beside; /* the same, on the scale of the fits */
	const double *bin_weight; /* of the mixture, per bin; NULL: no bins */
	/* Normal equations of the fits, (n_levels + 1) square, idle first. */
	const double *gram_cross, *gram_mixture;
	const double *gram_victim; /* of the victim's side, n_levels square */
};

/* Unknown slowdowns are 0 here; col and row say which ones count. */
struct np_data_program {
	struct np_data_latency latency;
	const double *log_curve;    /* log(1 + slowdown), per level */
	const double *log_pressure; /* log(1 + slowdown of the level) */
	const double *fit_curve, *fit_pressure; /* on the scale of the fits */
	const struct np_response *response; /* NULL: there is no trace */
};

/* Some of the fabric's levels, rising. */
struct np_levels {
	size_t n;
	uint16_t at[NP_FABRIC_MAX_LEVELS]; /* short, as questions copy it */
};

/* One question with one set of numbers. */
struct np_data {
	const struct np_model *model; /* that is asked */
	/* The array to fill holds the answer to almost the same question. */
	bool warm;
	const struct np_data_fabric *fabric;
	const struct np_data_program *victim;
	const struct np_data_program *co; /* all co-runners as one */
	size_t n_co;
	const struct np_levels *col; /* whose effect on the victim is known */
	const struct np_levels *row; /* on which the co-runner's effect is */
	const struct np_levels *co_col; /* whose effect on co is known */
	struct np_nnls *nnls;  /* for n_levels + 1 unknowns */
	double *work;	       /* NP_MODEL_WORK(n_levels) doubles */
	const double *ensemble; /* weights of the ensemble's members */
	struct np_err *err;    /* may be NULL */
	unsigned flags;	       /* enum np_pred_flag, set by the model */
};

#define NP_MODEL_MEMBERS 4

/* Doubles that a model may use as v->work. */
#define NP_MODEL_WORK(n_levels) (2 * ((n_levels) + 2) * ((n_levels) + 4))

/* Each step returns 0 or -errno with v->err. */
struct np_model {
	const char *name, *help;
	unsigned needs; /* enum np_need */
	const char *fallback; /* asked where needs are not met; NULL: none */

	/* Describe v->co in x; must not look at v->victim. */
	int (*describe)(struct np_data *v, double *x);

	/* Prepare v->victim's response in y; must not look at v->co. */
	int (*respond)(struct np_data *v, double *y);

	/* *log_slow: log(1 + slowdown), finite, from the two. */
	int (*join)(struct np_data *v, const double *x, const double *y,
		    double *log_slow);

	/* Doubles in x and in y: per_level * n_levels + fixed. */
	size_t per_level, fixed;
	int variant; /* the model's own business */
	/*
	 * The same for both ways of a pair: log_slow[1] is that of x's program
	 * beside y's, whose sides it takes to be these: where rows are columns,
	 * x of a program is its y.  NULL: one by one.
	 */
	int (*join_both)(struct np_data *v, const double *x, const double *y,
			 double *log_slow);
	/*
	 * log(1 + slowdown) as each member has it, of a model that averages
	 * NP_MODEL_MEMBERS of them with the weights in v->ensemble: a first set
	 * for co-runners within what the levels cover, a second for those
	 * beyond.  NULL: it has no members.
	 */
	void (*members)(struct np_data *v, const double *x, const double *y,
			double *log_slow);
};

static inline size_t np_model_dim(const struct np_model *m, size_t n_levels)
{
	return m->per_level * n_levels + m->fixed;
}

extern const struct np_model np_models[];
extern const size_t np_n_models;

#define NP_MODEL_DEFAULT "mutual"

/*
 * The model of that name.  NULL if there is none: err lists the names, or says
 * that this model was retired.
 */
const struct np_model *np_model_find(const char *name, struct np_err *err);

/*
 * What the normal equations of the fits are made of, for np_draw.c.
 *
 * Weights of "the weights sum to 1", in the fits of cross and mixture, and the
 * ridge of mixture.
 */
#define NP_CROSS_SUM 3.0
#define NP_MIXTURE_SUM 10.0
#define NP_MIXTURE_RIDGE 1e-3

/* How much a bin of the latency distributions counts. */
double np_mixture_bin_weight(const struct np_bins *bins, size_t bin);

/*
 * Add the products of the distributions of the idle fabric and then of levels,
 * n in all, with w, which has a number for each bin.
 */
void np_mixture_products(const struct np_data_fabric *f, const double *w,
			 size_t n, double *to);

#endif
