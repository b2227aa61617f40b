/*
 * Pairs that netprof validate measured, from the store: what predict and matrix
 * print beside a prediction.
 */
#ifndef CLI_MEASURED_H
#define CLI_MEASURED_H

#include "cli_known.h"

struct cli_measured {
	struct np_mean slowdown; /* n 0: rejected, as the control is too slow */
	double control; /* slowdown under two leaf switches; NaN: not measured */
	double date;	/* of the newest run, seconds since 1970 */
	uint32_t victim_nodes, corunner_nodes;
};

/*
 * Read the measured pairs of all applications.  What cannot be read is reported
 * and skipped.  Returns 0 or -ENOMEM.
 */
int cli_measured_load(struct cli_known *k, struct cli_store *s);

/*
 * The newest measurement of a victim beside a co-runner, both indices into
 * k->app, on the calibrated cluster.  Pairs are measured on one leaf switch, so
 * there is none at another scope.  Returns false if there is none.
 */
bool cli_measured_find(const struct cli_known *k, size_t victim, size_t corunner,
		       enum np_scope scope, struct cli_measured *out);

void cli_measured_free(struct cli_known_app *a);

#endif
