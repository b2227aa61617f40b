/*
 * libFuzzer target: `make fuzz`. Whatever a metrics server answers, it is
 * refused with a line, or leaves a finite value or none for each node and step.
 */
#include <math.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "np_prom.h"

#define NODES 3
#define STEPS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *nodes[NODES] = { "n0", "n1", "n2.rack" };
	const struct np_prom_range r = {
		.start = 10,
		.step_sec = 10,
		.n_steps = STEPS,
	};
	struct np_err err = NP_ERR_INIT;
	char other[NP_METRICS_LABEL], *text = malloc(size + 1);
	double value[NODES * STEPS];

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (np_prom_parse(text, size, "fuzz", "instance", nodes, NODES, &r,
			  value, other, &err) &&
	    !err.text[0])
		abort();
	for (size_t i = 0; i < NODES * STEPS; i++)
		if (!isnan(value[i]) && !isfinite(value[i]))
			abort();
	free(text);
	return 0;
}
