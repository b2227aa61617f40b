/*
 * Bootstrap samples of a fabric and of programs, for np_predict.c and unit
 * tests.
 *
 * Sample 0 has the measured values. Each of the others has values that might
 * as well have been measured, drawn at random: slowdowns from the distribution
 * of their mean (np_moments.h), means and standard deviations of latencies from
 * the distributions of these, and histograms bin by bin. The same seed and
 * name give the same samples on every machine, whatever the order of the calls.
 *
 * Slowdowns below NP_BOOTSTRAP_LEAST are raised to it, so that logarithms
 * exist.
 *
 * On the scale of np_slowdowns_at_full_rate(), a level that the other levels
 * explain poorly has less weight. Each level's slowdowns are predicted from
 * those of the others, with the level that causes them left out as well. If s
 * is the root of the mean squared residual of a level plus 0.03 squared, and m
 * the median of s over the levels, the level has the weight m / s, at most 1.
 * With more than eight levels, each eighth is left out at once. Own
 * derivation, doc/validation/methods.md. (Such a level measures something that
 * the programs do not depend on, such as the processors' speed of answering
 * short messages.)
 */
#ifndef NP_PREDICT_IMPL_H
#define NP_PREDICT_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_fabric.h"
#include "np_model.h"

#define NP_BOOTSTRAP_LEAST (-0.5)

struct np_bootstrap_opt {
	size_t replicates; /* samples in addition to the measured values */
	uint64_t seed;
	unsigned required; /* enum np_data_kind: the parts to prepare */
};

struct np_bootstrap_fabric {
	/* enum np_data_kind: IDLE; the others if at least one level has them */
	unsigned has;
	size_t n;		       /* 1 + replicates */
	struct np_data_fabric *sample; /* sample[0] holds the measured values */
	bool *has_latency, *has_hist;  /* per level */
	bool *has_pair;		       /* [i * n_levels + j] */
	bool whole;		       /* every element of has_pair is set */
	unsigned flags;		       /* enum np_pred_flag */
	struct np_data_latency *level;
	double *store;
};

struct np_bootstrap_program {
	/* enum np_data_kind: LATENCY, HIST, CURVE, IMPACT, TRACE */
	unsigned has;
	size_t n;
	struct np_data_program *sample;
	bool *has_curve, *has_impact; /* per level */
	unsigned flags;
	double *store;
};

/*
 * Prepare a fabric that passed np_fabric_check(). Returns 0 and fills *data,
 * to be freed with np_bootstrap_fabric_free(), or -ENOMEM with err.
 */
int np_bootstrap_fabric(const struct np_fabric *fabric,
			const struct np_bootstrap_opt *opt,
			struct np_bootstrap_fabric *data, struct np_err *err);

/*
 * Prepare a program that passed np_program_check(), in two steps, because many
 * predictions fail after the first: np_bootstrap_known() finds out what was
 * measured, np_bootstrap_samples() draws the samples. Both return 0 and fill
 * *data, to be freed with np_bootstrap_program_free(), or -ENOMEM with err.
 */
int np_bootstrap_known(const struct np_program *program,
		       const struct np_fabric *fabric,
		       struct np_bootstrap_program *data, struct np_err *err);
int np_bootstrap_samples(const struct np_program *program,
			 const struct np_bootstrap_fabric *fabric,
			 const struct np_bootstrap_opt *opt,
			 struct np_bootstrap_program *data, struct np_err *err);

void np_bootstrap_fabric_free(struct np_bootstrap_fabric *data);
void np_bootstrap_program_free(struct np_bootstrap_program *data);

#endif
