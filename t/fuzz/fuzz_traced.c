/*
 * Records of traces in the store: whatever the bytes, they are refused with a
 * line or taken; what is taken can be computed with, and written and read
 * again.
 */
#include <math.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "np_trace_analysis.h"

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void again(const struct np_trace_analysis *t)
{
	struct np_trace_analysis back;
	char *text;

	must(!np_trace_analysis_put(t, &text, NULL));
	must(!np_trace_analysis_get(text, strlen(text), "again", &back, NULL));
	must(np_trace_analysis_fits(&back, t->trace_bytes, &t->net));
	must(back.n_thresholds == t->n_thresholds &&
	     back.n_times == t->n_times);
	np_trace_analysis_free(&back);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_err err = NP_ERR_INIT;
	struct np_response curve;
	struct np_trace_analysis t;

	if (np_trace_analysis_get((const char *)data, size, "fuzz", &t, &err)) {
		must(err.text[0]);
		return 0;
	}
	if (np_trace_analysis_response(&t, &curve))
		must(isfinite(np_response_at(&curve, 1e-5, 1.7)));
	again(&t);
	np_trace_analysis_free(&t);
	return 0;
}
