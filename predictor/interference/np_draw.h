/*
 * Inputs made ready for the models: the numbers as measured, and bootstrap
 * replicates of them, each of which might as well have been measured.
 *
 * Slowdowns are redrawn from their mean's distribution (np_noise.h), latency
 * means and deviations from theirs, and histograms bin by bin.  The same seed
 * and name give the same draws on every machine, in any order of calls.
 *
 * Slowdowns below NP_DRAW_LEAST are taken as that, as logarithms need it.
 */
#ifndef NP_DRAW_H
#define NP_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_fabric.h"
#include "np_model.h"
#include "np_rng.h"

#define NP_DRAW_LEAST (-0.5)

/* How to draw; needs (enum np_need) says which parts are wanted at all. */
struct np_draw_opt {
	size_t replicates;
	uint64_t seed;
	unsigned needs;
};

struct np_draw_fabric {
	unsigned has; /* IDLE, LATENCY, HIST, BESIDE: for at least one level */
	size_t n;     /* views: 1 + replicates; view[0] is as measured */
	struct np_data_fabric *view;
	bool *has_latency, *has_hist; /* per level */
	bool *has_beside;	      /* [i * n_levels + j] */
	bool whole;		      /* and all of them */
	unsigned flags;		      /* enum np_pred_flag */
	struct np_data_latency *level;
	double *store;
};

struct np_draw_program {
	unsigned has; /* LATENCY, HIST, CURVE, PRESSURE, TRACE */
	size_t n;
	struct np_data_program *view;
	bool *has_curve, *has_pressure; /* per level */
	unsigned flags;
	double *store;
};

/*
 * f and a must have passed their checks.  All return 0 and fill *d, which is
 * freed with the function below, or -ENOMEM with err.
 */
int np_draw_fabric(const struct np_fabric *f, const struct np_draw_opt *opt,
		   struct np_draw_fabric *d, struct np_err *err);

/*
 * In two steps, as many a question ends with the first: what is known of a, and
 * then the views.
 */
int np_draw_known(const struct np_program *a, const struct np_fabric *f,
		  struct np_draw_program *d, struct np_err *err);
int np_draw_views(const struct np_program *a, const struct np_fabric *f,
		  const struct np_draw_opt *opt, struct np_draw_program *d,
		  struct np_err *err);

/*
 * Several co-runners as one, replicate by replicate: pressures add as
 * log(1 + CA), latencies as excess over the idle fabric.  What one of them
 * lacks, the sum lacks; the sum has no curve, but for the fits, where it is
 * the mean of theirs.  Returns as above.
 */
int np_draw_sum(const struct np_draw_program *const *co, size_t n_co,
		const struct np_draw_fabric *f, struct np_draw_program *d,
		struct np_err *err);

void np_draw_fabric_free(struct np_draw_fabric *d);
void np_draw_program_free(struct np_draw_program *d);

/* Shared by the np_draw_*.c files alone. */

#endif
