/*
 * The table of prediction models, and the interface between them and the
 * driver in np_predict.c.
 *
 * Every model predicts how much a program slows down under co-runners, in
 * three steps. It describes the co-runners (by an index, or as a mixture of
 * load levels), prepares the victim's response (its sensitivity curve over the
 * same axis), and joins the two. The first two steps run once per program, so
 * predicting all pairs of n programs costs little more than the joins.
 *
 * Sources: [C] Casas, Bronevetsky, active measurement of switch utilisation;
 * all others are derived in doc/validation/methods.md.
 */
#ifndef NP_MODEL_H
#define NP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "np_err.h"
#include "np_fabric.h"

/*
 * The scale on which model "mutual" compares slowdowns.
 *
 * Two programs that share a switch slow each other, so each offers less
 * traffic than it does alone. Let their measured slowdowns be d and e, and let
 * a program's traffic fall with the square root of its speed. Then
 *	p = d sqrt(1 + e),  q = e sqrt(1 + d)
 * are the slowdowns they would have if the other kept its full speed. (p, q)
 * and (d, e) determine each other. The fits use
 *	z = 2 (sqrt(1 + p) - 1)
 * which equals p for small p and grows with its square root. Own derivation;
 * both exponents were chosen with measured pairs (doc/validation/methods.md).
 */

/* Compute z of both programs from log(1 + slowdown) of both; all finite. */
void np_slowdowns_at_full_rate(double log_slow, double log_other, double *z,
			       double *z_other);

/* The inverse: log_slow[0] belongs to z, log_slow[1] to z_other; all finite. */
void np_slowdowns_together(double z, double z_other, double log_slow[2]);

struct np_model;
struct np_nnls;

/* The kinds of data that a model can require. */
enum np_data_kind {
	NP_DATA_IDLE = 1 << 0,	      /* latency of the idle fabric */
	NP_DATA_LATENCY = 1 << 1,     /* latency under levels and co-runners */
	NP_DATA_HIST = 1 << 2,	      /* histograms of these latencies */
	NP_DATA_CURVE = 1 << 3,	      /* slowdown of the victim under levels */
	NP_DATA_IMPACT = 1 << 4,      /* slowdown of the levels by co-runners */
	NP_DATA_LEVEL_PAIRS = 1 << 5, /* slowdown of levels by each other */
	NP_DATA_CO_CURVE = 1 << 6,    /* slowdown of co-runners under levels */
	NP_DATA_OWN_IMPACT = 1 << 7,  /* slowdown of the levels by the victim;
					  fits then use the scale above */
	NP_DATA_TRACE = 1 << 8,	      /* response curve of the victim's trace */
};

/* Qualifications of a prediction. */
enum np_pred_flag {
	NP_PRED_CLAMPED = 1 << 0,   /* limited to a physically possible value */
	NP_PRED_BEYOND = 1 << 1,    /* the co-runner is stronger or weaker than
				      every level: end of the curve used */
	NP_PRED_FELL_BACK = 1 << 2, /* another model answered, see model */
	NP_PRED_NO_OVERLAP = 1 << 3, /* no latency interval or histogram bin in
					 common: nearest mean used */
	NP_PRED_NO_SHARING = 1 << 4, /* no sharing coefficient for this scope:
					 1 assumed */
	NP_PRED_PARTIAL = 1 << 5,    /* some levels excluded for lack of data */
	NP_PRED_ONE_PROBE = 1 << 6,  /* some latencies have one sample: sd 0 */
	NP_PRED_NO_INTERVAL = 1 << 7, /* not requested, or model "zero" */
	NP_PRED_NOISE_ONLY = 1 << 8,  /* the interval does not include the
					 model's own error */
	NP_PRED_NO_IMPACT = 1 << 9,   /* the bandwidth that the co-runner takes
					  is unknown */
	NP_PRED_ONE_LEVEL = 1 << 10,  /* the answer changes a lot without one of
					  the levels */
	NP_PRED_PAST_LEVELS = 1 << 11, /* the co-runner slows some level more
					  than any level does */
	NP_PRED_WIDE = 1 << 12, /* the interval is too wide to decide by */
	NP_PRED_OTHER_RAIL = 1 << 13,  /* some co-runners load none of the
					 victim's rails, and were ignored */
	NP_PRED_LATENCIES = 1 << 14,   /* a fallback, from the co-runner's
					latencies only */
	NP_PRED_CALIBRATION = 1 << 15, /* the levels of the calibration do not
					  predict each other */
};

/* Predictions with one of these flags must not be acted upon. */
#define NP_PRED_DOUBTFUL \
	(NP_PRED_ONE_LEVEL | NP_PRED_PAST_LEVELS | NP_PRED_WIDE | \
	 NP_PRED_LATENCIES | NP_PRED_CALIBRATION)

/* A latency distribution, measured or resampled; seconds. */
struct np_data_latency {
	double mean, sd;
	/* Cumulative distribution at the upper edge of each of the fabric's
	 * bins; NULL unless the model needs NP_DATA_HIST. */
	const double *cdf;
};

/* All arrays are borrowed for the evaluation; the driver owns them. */
struct np_data_fabric {
	size_t n_levels;
	const struct np_bins *bins; /* NULL: no histograms */
	struct np_data_latency idle;
	double idle_min;		     /* least idle latency, seconds */
	const struct np_data_latency *level; /* [n_levels] */
	/* The send-only levels with most and fewest bytes per round;
	 * n_levels if unknown. */
	size_t bulk_level, brief_level;
	/* [i * n_levels + j] is log(1 + slowdown of level i under level j), 0
	 * if unknown; fit_pairs: the same, on the scale of the fits. */
	const double *log_pairs, *fit_pairs;
	/*
	 * Weight of each level's slowdowns, 0 < weight <= 1, with which its row
	 * of fit_pairs and its element of a program's fit_impact are
	 * multiplied; NULL: no weights.
	 */
	const double *fit_weight;
	const double *bin_weight; /* mixture weight per bin; NULL: no bins */
	/* Normal equations of the fits, (n_levels + 1) square, idle first. */
	const double *gram_cross, *gram_mixture;
	const double *gram_victim; /* victim side of the fits, n_levels square */
};

/* Unknown slowdowns are 0 here; np_data.col and np_data.row list the known. */
struct np_data_program {
	struct np_data_latency latency;
	/* Each has n_levels elements; borrowed. */
	const double *log_curve;  /* log(1 + slowdown under the level) */
	const double *log_impact; /* log(1 + slowdown of the level) */
	const double *fit_curve, *fit_impact; /* on the scale of the fits */
	const struct np_response *response;   /* NULL: no trace was recorded */
};

/* A subset of the fabric's levels, in ascending order. */
struct np_levels {
	size_t n;
	uint16_t at[NP_FABRIC_MAX_LEVELS]; /* narrow because it is copied often */
};

static inline bool np_levels_equal(const struct np_levels *a,
				   const struct np_levels *b)
{
	return a->n == b->n && !memcmp(a->at, b->at, a->n * sizeof(*a->at));
}

/*
 * Normal equations of some levels of one fabric, kept for later evaluations
 * with the same levels. Empty while the sets of levels are.
 */
struct np_gram_cache {
	struct np_levels cross_row, some_col, victim_row, victim_col;
	double *cross, *victim; /* as gram_cross and gram_victim */
	double *some; /* of cross, only the idle fabric and some_col */
};

/*
 * Right sides of the fits of one program with one fabric, by level. Those of
 * fits with fewer levels follow by subtraction.
 */
struct np_right_sides {
	double cross[NP_FABRIC_MAX_LEVELS], victim[NP_FABRIC_MAX_LEVELS];
};

/* The inputs of one evaluation of a model. */
struct np_data {
	const struct np_model *model;
	/* The output array holds a similar solution: start iterating there. */
	bool warm;
	const struct np_data_fabric *fabric;
	const struct np_data_program *victim;
	const struct np_data_program *co; /* all co-runners combined */
	size_t n_co;
	const struct np_levels *col; /* levels with known effect on victim */
	const struct np_levels *row; /* levels on which co's effect is known */
	const struct np_levels *co_col; /* levels with known effect on co */
	struct np_nnls *nnls;		/* for n_levels + 1 unknowns */
	double *work;			/* NP_MODEL_WORK(n_levels) doubles */
	struct np_gram_cache *cached;	/* of this fabric; or NULL */
	struct np_right_sides *sides; /* of this fabric and program; or NULL */
	/* Levels that sides has in addition to row and to col; NULL: sides is
	 * to be filled. */
	const struct np_levels *left_row, *left_col;
	bool only_fit;		/* no flags are needed */
	const double *ensemble; /* weights of the ensemble's members */
	struct np_err *err;	/* may be NULL */
	unsigned flags;		/* enum np_pred_flag, set by the model */
};

#define NP_MODEL_MEMBERS 4

/* Number of doubles in np_data.work. */
#define NP_MODEL_WORK(n_levels) (2 * ((n_levels) + 2) * ((n_levels) + 4))

/*
 * describe() and respond() return 0, or -errno with v->err. combine() and the
 * functions after it cannot fail. x and y belong to the caller.
 */
struct np_model {
	const char *name, *help;
	unsigned required;    /* enum np_data_kind */
	const char *fallback; /* model to use if some are missing, or NULL */

	/* Describe v->co in x. Must not use v->victim. */
	int (*describe)(struct np_data *v, double *x);

	/* Prepare the response of v->victim in y. Must not use v->co. */
	int (*respond)(struct np_data *v, double *y);

	/* Return log(1 + slowdown), finite, from x and y. */
	double (*combine)(struct np_data *v, const double *x, const double *y);

	/* Number of doubles in x and in y: per_level * n_levels + fixed. */
	size_t per_level, fixed;
	int variant; /* private to the model */
	/*
	 * Predict both programs of a pair at once: log_slow[0] is that of the
	 * victim, log_slow[1] that of the co-runner. A model that offers this
	 * must use the same numbers for x and y of a program whenever row and
	 * col are equal. NULL if not supported.
	 */
	void (*combine_both)(struct np_data *v, const double *x,
			     const double *y, double *log_slow);
	/*
	 * For a model that averages NP_MODEL_MEMBERS others: the log(1 +
	 * slowdown) of each. v->ensemble holds two sets of weights, the first
	 * for co-runners within the range of the levels, the second for those
	 * beyond it. NULL for other models.
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
 * Find a model by name. Returns NULL with err if there is none; err lists the
 * existing names, or says that the model was retired.
 */
const struct np_model *np_model_find(const char *name, struct np_err *err);

/*
 * Constants and sums of the normal equations, which np_predict.c prepares.
 *
 * NP_CROSS_SUM and NP_MIXTURE_SUM weigh the equation "all weights sum to 1" in
 * the fits of models cross and mixture; NP_MIXTURE_RIDGE regularises the
 * latter.
 */
#define NP_CROSS_SUM 3.0
#define NP_MIXTURE_SUM 10.0
#define NP_MIXTURE_RIDGE 1e-3

/*
 * Add to to[0..n-1] the dot products of w, one number per bin, with the latency
 * distributions of the idle fabric (to[0]) and of the first n - 1 levels.
 */
void np_mixture_products(const struct np_data_fabric *fabric, const double *w,
			 size_t n, double *to);

#endif
