/*
 * libFuzzer target: `make fuzz`. The reader of schemes rejects any input with a
 * message or accepts it; what it accepts has penalties, or is then rejected
 * with a message.
 */

#include "fuzz/fuzz.h"
#include "np_scheme.h"

/* Larger inputs are only slow. */
#define MOST 64

static void ask(const struct np_scheme *s, const struct np_sharing_model *m)
{
	const struct np_sharing_param p = NP_SHARING_DEFAULTS;
	struct np_err err = NP_ERR_INIT;
	double got[MOST], end[MOST];

	if (s->n > MOST)
		return;
	if (np_sharing_static(m, &p, s->c, s->n, s->n_nodes, got, &err) ||
	    np_sharing_dynamic(m, &p, s->c, s->start_sec, s->alone, s->n,
			       s->n_nodes, end, &err)) {
		if (!err.text[0])
			abort();
		return;
	}
	for (size_t i = 0; i < s->n; i++)
		if (!(got[i] >= 1) || !(end[i] >= s->start_sec[i]))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_err err = NP_ERR_INIT;
	struct np_scheme_set set;

	if (np_scheme_parse((const char *)data, size, "fuzz", &set, &err)) {
		if (!err.text[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < set.n && i < 4; i++)
		for (size_t m = 0; m < np_sharing_n_models; m++)
			ask(&set.scheme[i], &np_sharing_models[m]);
	np_scheme_free(&set);
	return 0;
}
