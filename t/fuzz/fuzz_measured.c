/*
 * libFuzzer target: `make fuzz`. Whatever the bytes, the reader of measured
 * pairs refuses them with a line or takes them; what it takes can be predicted
 * from, or is refused with a line then. The reader of calibrations likewise.
 */

#include "fuzz/fuzz.h"
#include "np_evaluate.h"

/* Models that between them use all there is. */
static const char *const model[] = { "ensemble", "mixture", "queue", "mutual",
				     "pdf" };

static void predict(const struct np_measured_set *s, const char *name)
{
	const struct np_predict_opt opt = { .replicates = 3 };
	struct np_prediction *p = calloc(s->n_rows + 1, sizeof(*p));
	int *rc = calloc(s->n_rows + 1, sizeof(*rc));
	struct np_err why = NP_ERR_INIT, err = NP_ERR_INIT;

	if (!p || !rc)
		abort();
	if (np_evaluate(s, np_model_find(name, NULL), &opt, p, rc, &why,
			&err)) {
		if (!err.text[0])
			abort();
		s = NULL;
	}
	for (size_t i = 0; s && i < s->n_rows; i++) {
		if (rc[i] ? !why.text[0] : !(p[i].slowdown > -1))
			abort();
		if (!rc[i] && !(p[i].low <= p[i].high))
			abort();
	}
	free(p);
	free(rc);
}

static void calibration(const char *text, size_t size)
{
	struct np_err err = NP_ERR_INIT;
	struct np_calibration c;

	if (!np_calibration_parse(text, size, "fuzz", &c, &err))
		np_calibration_free(&c);
	else if (!err.text[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_err err = NP_ERR_INIT;
	struct np_measured m;

	calibration((const char *)data, size);
	if (np_measured_parse((const char *)data, size, "fuzz", &m, &err)) {
		if (!err.text[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < m.n_sets; i++)
		for (size_t k = 0; k < NP_ARRAY_SIZE(model); k++)
			predict(&m.set[i], model[k]);
	np_measured_free(&m);
	return 0;
}
