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

#define QUEUE(name, help, more, variant) \
	{ name, help, NP_NEED_CURVE | NP_NEED_LATENCY | NP_NEED_IDLE | (more), \
	  NULL, np_queue_describe, np_queue_respond, np_queue_join, \
	  NP_QUEUE_PER_LEVEL, NP_QUEUE_FIXED, variant }

#define MUTUAL (NP_NEED_OWN_LATENCY | NP_NEED_CO_CURVE)

#define CROSS_NEEDS (NP_NEED_CURVE | NP_NEED_PRESSURE | NP_NEED_BESIDE)

#define CROSS(name, help, variant) \
	{ name, help, CROSS_NEEDS, "mixture", np_cross_describe, \
	  np_mixture_respond, np_mixture_join, 1, 1, variant }

const struct np_model np_models[] = {
	{ "zero", "no slowdown at all, the baseline", 0, NULL,
	  zero_describe, zero_describe, zero_join, 0, 1, 0 },
	LOOKUP("average", "the level of nearest mean latency", 0,
	       NP_LOOKUP_AVERAGE),
	LOOKUP("average-stdev", "the level whose mean +- sd overlaps most", 0,
	       NP_LOOKUP_OVERLAP),
	LOOKUP("average-jaccard", "the same, over the union of the intervals",
	       0, NP_LOOKUP_JACCARD),
	LOOKUP("pdf", "the level of largest histogram product", NP_NEED_HIST,
	       NP_LOOKUP_PDF),
	LOOKUP("pdf-cosine", "the same, of normalised histograms",
	       NP_NEED_HIST, NP_LOOKUP_COSINE),
	LOOKUP("wasserstein", "the level of nearest latency distribution",
	       NP_NEED_HIST, NP_LOOKUP_WASSERSTEIN),
	QUEUE("queue", "line over utilisation (M/G/1), rate from mean idle", 0,
	      NP_CURVE_LINE),
	QUEUE("queue-min", "the same, service rate from least idle latency", 0,
	      NP_CURVE_LINE | NP_QUEUE_MIN),
	QUEUE("queue-isotonic", "non-decreasing curve over utilisation", 0,
	      NP_CURVE_ISOTONIC),
	QUEUE("queue-interp", "curve through all levels over utilisation", 0,
	      NP_CURVE_INTERP),
	QUEUE("queue-mutual", "line, and each slows the other's traffic",
	      MUTUAL, NP_CURVE_LINE | NP_QUEUE_MUTUAL),
	QUEUE("queue-isotonic-mutual", "the same with a non-decreasing curve",
	      MUTUAL, NP_CURVE_ISOTONIC | NP_QUEUE_MUTUAL),
	{ "windows", "utilisation over time, speeds averaged",
	  NP_NEED_CURVE | NP_NEED_LATENCY | NP_NEED_IDLE | NP_NEED_WINDOWS,
	  NULL, np_windows_describe, np_queue_respond, np_windows_join,
	  NP_QUEUE_PER_LEVEL, NP_QUEUE_FIXED + NP_WINDOWS_MAX,
	  NP_CURVE_ISOTONIC },
	{ "mixture", "levels mixed to match latencies, speeds averaged",
	  NP_NEED_CURVE | NP_NEED_LATENCY | NP_NEED_HIST | NP_NEED_IDLE, NULL,
	  np_mixture_describe, np_mixture_respond, np_mixture_join, 1, 1,
	  NP_AVERAGE_HARMONIC },
	CROSS("cross", "levels mixed to press alike, speeds averaged",
	      NP_AVERAGE_HARMONIC),
	CROSS("cross-arithmetic", "the same, slowdowns averaged",
	      NP_AVERAGE_ARITHMETIC),
	CROSS("cross-log", "the same, logarithms averaged", NP_AVERAGE_LOG),
	{ "open", "cross-log whose weights may sum to more than 1",
	  CROSS_NEEDS, "mixture", np_open_describe, np_mixture_respond,
	  np_mixture_join, 1, 1, NP_AVERAGE_LOG },
	{ "victim", "the victim as a sum of levels that suffer alike",
	  CROSS_NEEDS, "mixture", np_victim_describe, np_victim_respond,
	  np_victim_join, 1, 1, 0 },
	{ "twosided", "cross-log, its misfit read through victim",
	  CROSS_NEEDS, "mixture", np_twosided_describe,
	  np_twosided_respond, np_twosided_join, 2, 2, 0 },
	{ "mutual", "twosided, and each slows the other's traffic",
	  CROSS_NEEDS | NP_NEED_CO_CURVE | NP_NEED_OWN_PRESSURE, "twosided",
	  np_mutual_describe, np_mutual_respond, np_mutual_join,
	  NP_MUTUAL_PER_LEVEL, NP_MUTUAL_FIXED, 0, np_mutual_join_both },
	{ "ensemble", "mean of cross, open, victim, twosided, as levels weigh",
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
	{ "replay", "the traces of all, played on a shared network",
	  NP_NEED_PLAY, NULL, /* np_play.c instead */
	  zero_describe, zero_describe, zero_join, 0, 1, 0 },
};

const size_t np_n_models = NP_ARRAY_SIZE(np_models);

/* Is it a variant of an earlier model, as pdf-cosine is of pdf? */
static bool is_variant(size_t i)
{
	for (size_t j = 0; j < i; j++) {
		size_t len = strlen(np_models[j].name);

		if (!strncmp(np_models[i].name, np_models[j].name, len) &&
		    np_models[i].name[len] == '-')
			return true;
	}
	return false;
}

const struct np_model *np_model_find(const char *name, struct np_err *err)
{
	char all[NP_ERR_LEN] = "";
	size_t used = 0;

	for (size_t i = 0; i < np_n_models; i++) {
		if (!strcmp(np_models[i].name, name))
			return &np_models[i];
		if (!is_variant(i) && used < sizeof(all))
			used += (size_t)snprintf(all + used,
						 sizeof(all) - used, "%s, ",
						 np_models[i].name);
	}
	np_errf(err, -EINVAL, "no model \"%.40s\", expected %sor a variant",
		name, all);
	return NULL;
}
