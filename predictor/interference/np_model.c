#include "np_model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "np_curve.h"
#include "np_model_impl.h"

static int zero_describe(struct np_data *v, double *x)
{
	(void)v;
	x[0] = 0;
	return 0;
}

static int zero_join(struct np_data *v, const double *x, const double *y,
		     double *log_slow)
{
	(void)v, (void)x, (void)y;
	*log_slow = 0;
	return 0;
}

#define LOOKUP(name, help, more, variant) \
	{ name, help, NP_NEED_CURVE | NP_NEED_LATENCY | (more), NULL, \
	  np_lookup_describe, np_lookup_respond, np_lookup_join, \
	  1, 1, variant }

#define CROSS_NEEDS (NP_NEED_CURVE | NP_NEED_PRESSURE | NP_NEED_BESIDE)

const struct np_model np_models[] = {
	{ "zero", "no slowdown at all, the baseline", 0, NULL,
	  zero_describe, zero_describe, zero_join, 0, 1, 0 },
	LOOKUP("average", "the level of nearest mean latency", 0,
	       NP_LOOKUP_AVERAGE),
	LOOKUP("average-stdev", "the level whose mean +- sd overlaps most", 0,
	       NP_LOOKUP_OVERLAP),
	LOOKUP("pdf", "the level of largest histogram product", NP_NEED_HIST,
	       NP_LOOKUP_PDF),
	{ "queue", "line over utilisation (M/G/1), rate from mean idle",
	  NP_NEED_CURVE | NP_NEED_LATENCY | NP_NEED_IDLE, NULL,
	  np_queue_describe, np_queue_respond, np_queue_join,
	  NP_CURVE_DIM(1) - NP_CURVE_DIM(0), NP_CURVE_DIM(0), 0 },
	{ "mixture", "levels mixed to match latencies, speeds averaged",
	  NP_NEED_CURVE | NP_NEED_LATENCY | NP_NEED_HIST | NP_NEED_IDLE, NULL,
	  np_mixture_describe, np_mixture_respond, np_mixture_join, 1, 1,
	  NP_AVERAGE_HARMONIC },
	{ "cross", "levels mixed to press alike, speeds averaged",
	  CROSS_NEEDS, "mixture", np_cross_describe, np_mixture_respond,
	  np_mixture_join, 1, 1, NP_AVERAGE_HARMONIC },
	{ "victim", "the victim as a sum of levels that suffer alike",
	  CROSS_NEEDS, "mixture", np_victim_describe, np_victim_respond,
	  np_victim_join, 1, 1, 0 },
	{ "twosided", "cross of logarithms, its misfit read through victim",
	  CROSS_NEEDS, "mixture", np_twosided_describe,
	  np_twosided_respond, np_twosided_join, 2, 2, 0 },
	{ "mutual", "twosided, and each slows the other's traffic",
	  CROSS_NEEDS | NP_NEED_CO_CURVE | NP_NEED_OWN_PRESSURE, "twosided",
	  np_mutual_describe, np_mutual_respond, np_mutual_join,
	  NP_MUTUAL_PER_LEVEL, NP_MUTUAL_FIXED, 0, np_mutual_join_both },
	{ "ensemble", "mean of cross and its kin, as levels weigh",
	  CROSS_NEEDS, "mixture", np_ensemble_describe,
	  np_ensemble_respond, np_ensemble_join, NP_ENSEMBLE_PER_LEVEL,
	  NP_ENSEMBLE_FIXED, 0 },
	{ "tolerance", "the co-runner's latency in the victim's trace",
	  NP_NEED_IDLE | NP_NEED_LATENCY | NP_NEED_HIST | NP_NEED_TRACE, NULL,
	  np_tolerance_describe, np_tolerance_respond, np_tolerance_join,
	  0, NP_TOLERANCE_QUANTILES + 1, NP_TOLERANCE_MEASURED },
	{ "tolerance-felt", "the same, as much of it as a brief level felt",
	  NP_NEED_IDLE | NP_NEED_LATENCY | NP_NEED_HIST | NP_NEED_PRESSURE |
	  NP_NEED_TRACE, NULL,
	  np_tolerance_describe, np_tolerance_respond, np_tolerance_join,
	  0, NP_TOLERANCE_QUANTILES + 1, NP_TOLERANCE_FELT },
};

const size_t np_n_models = NP_ARRAY_SIZE(np_models);

/* Models of earlier releases, so that whoever asks for one learns its end. */
static const char *const retired[] = {
	"average-jaccard", "pdf-cosine", "wasserstein", "queue-min",
	"queue-isotonic", "queue-interp", "queue-mutual",
	"queue-isotonic-mutual", "windows", "cross-arithmetic", "cross-log",
	"open", "replay",
};

static bool is_retired(const char *name)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(retired); i++)
		if (!strcmp(name, retired[i]))
			return true;
	return false;
}

const struct np_model *np_model_find(const char *name, struct np_err *err)
{
	char all[NP_ERR_LEN] = "";
	size_t used = 0;

	for (size_t i = 0; i < np_n_models; i++) {
		if (!strcmp(np_models[i].name, name))
			return &np_models[i];
		if (used < sizeof(all))
			used += (size_t)snprintf(all + used,
						 sizeof(all) - used, "%s%s",
						 i ? ", " : "",
						 np_models[i].name);
	}
	np_errf(err, -EINVAL, is_retired(name) ?
		"model \"%.40s\" was retired, expected one of %s" :
		"no model \"%.40s\", expected one of %s", name, all);
	return NULL;
}
