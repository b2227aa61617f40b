/*
 * A small fabric for tests of the models: idle and four levels whose
 * latencies and effects are easy to compute by hand, and four programs.
 * Everything is measured; a test takes away what it wants to miss.
 */
#ifndef NP_SOME_FABRIC_H
#define NP_SOME_FABRIC_H

#include "np_fabric.h"
#include "np_loggps.h"
#include "np_predict.h"

#define SF_LEVELS 4
#define SF_BINS 6
#define SF_PROGRAMS 4

struct some_fabric {
	struct np_bins bins;
	double edge[SF_BINS + 1];
	struct np_fabric f;
	struct np_fabric_level level[SF_LEVELS];
	struct np_mean pairs[SF_LEVELS * SF_LEVELS];
	double count[1 + SF_LEVELS][SF_BINS];
	struct np_program a[SF_PROGRAMS];
	struct np_mean curve[SF_PROGRAMS][SF_LEVELS];
	struct np_mean impact[SF_PROGRAMS][SF_LEVELS];
	double program_count[SF_PROGRAMS][SF_BINS];
	struct np_response response; /* of each of them */
};

/*
 * Bins 0, 1.5, 3, 6, 12, 24, 48. Idle: mean 1; level k: mean 2^(k + 1), all
 * in bin k + 1. Level i under level j: see some_fabric.c, no two alike.
 * Programs "p0" .. "p3": p[k] has the latencies, the impact and the curve of
 * level k, so that every good model knows p[v] with p[c] exactly. Levels 0
 * and 3 only send, little and much. The run time of every program grows by a
 * tenth for each unit of latency, and by a half where a byte takes twice as
 * long.
 */
void some_fabric(struct some_fabric *s);

/* A measured mean without repetition; NaN: not measured. */
struct np_mean some_mean(double v);

/*
 * Ask model name for a[v] with a[c]; returns what np_predict() does.
 * replicates 0: no interval.
 */
int some_predict(const struct some_fabric *s, const char *name, size_t v,
		 size_t c, size_t replicates, struct np_prediction *out,
		 struct np_err *err);

#endif
