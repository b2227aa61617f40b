/*
 * libFuzzer target: `make fuzz`. Whatever the bytes, the reader of run records
 * refuses them with a line or takes them; what it takes can be written, read
 * again, and is then written the same, and is evidence whose numbers are finite.
 */
#include <math.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "np_record.h"
#include "np_run_summary.h"

/* A run that may have been under any level, intervals included. */
static void use(struct np_record *r)
{
	struct np_runs runs = { .run = &r, .n = 1 };
	struct np_run_summary e;

	if (np_run_summary_make(&runs, NULL, &e))
		abort();
	for (size_t i = 0; i < e.n_levels; i++)
		if (np_mean_known(&e.level[i].slowdown) &&
		    !(isfinite(e.level[i].low) && isfinite(e.level[i].high)))
			abort();
	np_run_summary_free(&e);
}

static char *rewrite(const char *text, size_t len)
{
	struct np_err err = NP_ERR_INIT;
	struct np_record *r = NULL;
	char *out = NULL;

	if (np_record_from_json(text, len, "fuzz", &r, &err)) {
		if (r || !err.text[0])
			abort();
		return NULL;
	}
	if (err.text[0] || np_record_write(r, "", &out, NULL))
		abort();
	use(r);
	np_record_free(r);
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *once = rewrite((const char *)data, size), *twice;

	if (!once)
		return 0;
	twice = rewrite(once, strlen(once));
	if (!twice || strcmp(once, twice))
		abort();
	free(once);
	free(twice);
	return 0;
}
