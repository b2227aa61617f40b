/* The answer of a model on a made-up fabric, which a test may spoil before. */
#ifndef NP_T_SOME_PREDICTION_H
#define NP_T_SOME_PREDICTION_H

#include "t.h"
#include "some_fabric.h"

static struct some_fabric s;

static inline void fresh(void)
{
	some_fabric(&s);
}

static inline void co_no_impact(void)
{
	s.a[3].impact = NULL;
}
static inline void no_pairs(void)
{
	s.f.pairs = NULL;
}
static inline int predict(const char *model, bool strict, size_t replicates,
			  struct np_prediction *out, struct np_err *err)
{
	const struct np_predict_opt opt = { replicates, 1, strict };
	const struct np_program *co[] = { &s.a[3] };
	struct np_predictor *p;
	int rc = np_predictor_new(&s.f, np_model_find(model, NULL), &opt, &p,
				  err);

	if (rc)
		return rc;
	rc = np_predict(p, &s.a[2], co, 1, NP_SCOPE_LEAF, out, err);
	np_predictor_free(p);
	return rc;
}

static inline void nothing(void)
{
}

#endif
