/*
 * Pairs that netprof validate measured: their slowdowns from the runs, and those
 * in the store, which predict and matrix print with a prediction.
 */
#ifndef CLI_MEASURED_H
#define CLI_MEASURED_H

#include "cli_known.h"
#include "np_measured.h"

/* ---- results: pure functions of the measured runs ---- */

/*
 * A pair under two leaf switches shares no switch, so its slowdown is not
 * caused by the network.  Up to this much is subtracted; with more, the pair is
 * refused.
 */
#define CLI_CONTROL_MAX 0.05

/*
 * A larger difference between two runs of a pair is reported: one of them may
 * have been disturbed, or its co-runner may not have started.
 */
#define CLI_REPEAT_MAX 0.20

struct cli_pair_result {
	struct np_mean slowdown; /* on one leaf switch, less apart */
	struct np_mean apart;	 /* under two leaf switches; n 0: unknown */
	double repeat_difference; /* of its first two runs; NaN: none */
	bool rejected;		  /* apart is too large: slowdown has n 0 */
};

struct cli_app_result {
	double launch_sec; /* of srun, subtracted from all runs */
	struct np_mean alone_sec;
	double drift; /* of runs alone: (longest - shortest) / mean */
};

/* Programs are in the order of struct np_pairs. */
struct cli_pair_results {
	size_t n_programs;
	struct cli_app_result *app;
	struct cli_pair_result *pair; /* [victim * n_programs + co-runner] */
	size_t n_pairs;	   /* pairs with a slowdown */
	size_t n_rejected; /* pairs that are rejected */
	size_t n_controls; /* pairs that were measured apart */
	/* Pairs that ran more than once, and the difference of two runs. */
	size_t n_repeated;
	double repeat_points; /* mean, percentage points; NaN: none */
	double control_mean, control_max; /* absolute, fractions; NaN: none */
};

/*
 * Each run is compared with that run of its victim alone that is nearest in
 * time.  Returns 0 (free with cli_pair_results_free()) or -ENOMEM.
 */
int cli_pair_results_compute(const struct np_pairs *pairs,
			     struct cli_pair_results *out);
void cli_pair_results_free(struct cli_pair_results *results);

/* Store the results in the tables of pairs.  Returns 0 or -ENOMEM. */
int cli_pair_results_store(const struct cli_pair_results *results,
			   struct np_pairs *pairs);

/* ---- measurements in the store ---- */

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
 * The newest measurement of a victim with a co-runner, both indices into
 * k->app, on the calibrated cluster.  Pairs are measured on one leaf switch, so
 * there is none at another scope.  Returns false if there is none.
 */
bool cli_measured_find(const struct cli_known *k, size_t victim,
		       size_t corunner, enum np_scope scope,
		       struct cli_measured *out);

void cli_measured_free(struct cli_known_app *a);

#endif
