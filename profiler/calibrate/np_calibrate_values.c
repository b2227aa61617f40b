/* What the measurements of a calibration say. */
#include "np_calibrate.h"

#include <math.h>

static double np_cal_slowdown(const struct np_cal_result *r)
{
	if (!r || !r->alone.sec.n || !r->beside.sec.n ||
	    !(r->alone.sec.mean > 0) || !(r->beside.sec.mean > 0))
		return NAN;
	return r->beside.sec.mean / r->alone.sec.mean - 1;
}

static double measured(const struct np_cal_setup *s,
		       const struct np_cal_state *state,
		       const struct np_cal_task *t)
{
	char key[NP_CAL_KEY];

	np_cal_key(s, t, key);
	return np_cal_slowdown(np_cal_state_find(state, key));
}

struct np_mean np_cal_matrix(const struct np_cal_setup *s,
			     const struct np_cal_state *state,
			     enum np_scope scope, size_t victim,
			     size_t aggressor)
{
	struct np_cal_task t = { NP_CAL_BESIDE, scope, victim, aggressor, 0 };
	struct np_moments m = { 0 };

	for (; t.repeat < s->repeats; t.repeat++) {
		double d = measured(s, state, &t);

		if (!isnan(d))
			np_moments_add(&m, d);
	}
	return np_mean_of(&m);
}

/* NaN: not measured. */
static double loss(const struct np_cal_setup *s,
		   const struct np_cal_state *state, enum np_scope scope,
		   unsigned repeat)
{
	const struct np_cal_task t = {
		NP_CAL_COUPLE, scope, np_cal_middle(s), np_cal_strongest(s),
		repeat,
	};
	double d = measured(s, state, &t);

	return 1 - 1 / (1 + d);
}

struct np_mean np_cal_loss(const struct np_cal_setup *s,
			   const struct np_cal_state *state,
			   enum np_scope scope)
{
	struct np_moments m = { 0 };

	for (unsigned r = 0; r < NP_CAL_MAX_REPEATS; r++) {
		double l = loss(s, state, scope, r);

		if (!isnan(l))
			np_moments_add(&m, l);
	}
	return np_mean_of(&m);
}

unsigned np_cal_couple_repeats(const struct np_cal_setup *s,
			       const struct np_cal_state *state)
{
	unsigned least = s->repeats > NP_CAL_COUPLE_LEAST ?
			 s->repeats : NP_CAL_COUPLE_LEAST;
	struct np_mean leaf = np_cal_loss(s, state, NP_SCOPE_LEAF);

	if (leaf.n < least)
		return least;
	if (leaf.n < NP_CAL_COUPLE_MOST &&
	    fabs(leaf.mean - NP_CAL_FELT) < 2 * leaf.sd / sqrt(leaf.n))
		return leaf.n + 1;
	return leaf.n;
}

struct np_mean np_cal_coupling(const struct np_cal_setup *s,
			       const struct np_cal_state *state,
			       enum np_scope reference, enum np_scope scope)
{
	struct np_mean ref = np_cal_loss(s, state, reference);
	struct np_moments m = { 0 };

	if (!ref.n || ref.mean < NP_CAL_FELT)
		return (struct np_mean){ 0 };
	for (unsigned r = 0; r < NP_CAL_MAX_REPEATS; r++) {
		double k = loss(s, state, scope, r) /
			   loss(s, state, reference, r);

		if (isfinite(k))
			np_moments_add(&m, fmin(fmax(k, 0), NP_COUPLING_MAX));
	}
	return np_mean_of(&m);
}

enum np_scope np_cal_best_scope(const struct np_cal_setup *s,
				const struct np_cal_state *state)
{
	struct np_mean leaf = np_cal_loss(s, state, NP_SCOPE_LEAF);

	if (!s->has[NP_SCOPE_LEAF])
		return NP_SCOPE_NODE;
	/* Before it is measured, the more likely one. */
	return leaf.n && leaf.mean < NP_CAL_FELT ? NP_SCOPE_NODE :
						   NP_SCOPE_LEAF;
}
