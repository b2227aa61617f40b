/*
 * libFuzzer target: `make fuzz`. The reader of queueing networks rejects any
 * input with a message or accepts it; what it accepts has a solution that
 * conserves customers, or is rejected with a message.
 */
#include <math.h>

#include "fuzz/fuzz.h"
#include "np_network.h"

static np_qn_method *const methods[] = {
	np_qn_mva,
	np_qn_convolution,
	np_qn_schweitzer,
	np_qn_linearizer,
};

static void check(const struct np_qn *net, const struct np_qn_solution *s)
{
	for (size_t c = 0; c < net->n_classes; c++) {
		double n = (double)net->class[c].customers;
		double all = s->x_per_sec[c] * net->class[c].think_sec;

		for (size_t k = 0; k < net->n_stations; k++)
			all += s->present[c * net->n_stations + k];
		if (!(fabs(all - n) <= 1e-6 * n))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct np_qn_cost max = { 1e7, 1e6 };
	struct np_err err = NP_ERR_INIT;
	struct np_qn_solution s;
	struct np_network n;

	if (np_network_parse((const char *)data, size, "fuzz", &n, &err)) {
		if (!err.text[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < NP_ARRAY_SIZE(methods); i++) {
		if (methods[i](&n.net, &max, &s, &err)) {
			if (!err.text[0])
				abort();
			continue;
		}
		check(&n.net, &s);
		np_qn_solution_free(&s);
	}
	np_network_free(&n);
	return 0;
}
