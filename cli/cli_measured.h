/*
 * Measurements of pairs of programs by netprof validate: the slowdowns computed
 * from the runs, and the measurements in the store, which predict and matrix
 * print next to a prediction.
 */
#ifndef CLI_MEASURED_H
#define CLI_MEASURED_H

#include "cli_known.h"
#include "np_measured.h"

/* ---- Results: pure functions of the measured runs ---- */

/*
 * A pair under two leaf switches shares no switch, so its slowdown there, the
 * control, is not caused by the network. It is subtracted from the slowdown on
 * one leaf switch, but a pair with a larger control than this is rejected.
 */
#define CLI_CONTROL_MAX 0.05

/*
 * A larger difference between two runs of a pair is reported: one of them may
 * have been disturbed, or its co-runner may not have started.
 */
#define CLI_REPEAT_MAX 0.20

struct cli_pair_result {
	struct np_mean slowdown;  /* on one leaf switch, minus apart */
	struct np_mean apart;	  /* under two leaf switches; n 0: unknown */
	double repeat_difference; /* of the slowdowns in the first two runs,
				     a fraction; NaN: it has one run */
	bool rejected;		  /* apart is too large: slowdown has n 0 */
};

struct cli_app_result {
	double launch_sec; /* time to start it, subtracted from all its runs */
	struct np_mean alone_sec;
	double drift; /* of its runs alone: (longest - shortest) / mean */
};

/* Programs are in the order of struct np_pairs. */
struct cli_pair_results {
	size_t n_programs;
	struct cli_app_result *app;
	struct cli_pair_result *pair; /* [victim * n_programs + co-runner] */
	size_t n_pairs;		      /* pairs with a slowdown */
	size_t n_rejected;	      /* pairs that are rejected */
	size_t n_controls;	      /* pairs that were measured apart */
	size_t n_repeated;	      /* pairs that ran more than once */
	double repeat_points; /* mean repeat_difference, percentage points;
				 NaN: no pair was repeated */
	double control_mean, control_max; /* absolute values, fractions; NaN:
					     no pair was measured apart */
};

/*
 * Each run is compared with the run of its victim alone that is nearest in
 * time, so that slow changes of the machine cancel out. Free with
 * cli_pair_results_free().
 */
void cli_pair_results_compute(const struct np_pairs *pairs,
			      struct cli_pair_results *out);
void cli_pair_results_free(struct cli_pair_results *results);

/* Store the results in the tables of pairs. */
void cli_pair_results_store(const struct cli_pair_results *results,
			    struct np_pairs *pairs);

/* ---- Measurements in the store ---- */

struct cli_measured {
	struct np_mean slowdown; /* n 0: rejected, its control is too large */
	double control; /* slowdown under two leaf switches; NaN: unknown */
	double date;	/* of the newest run, seconds since 1970 */
	uint32_t victim_nodes, corunner_nodes;
};

/*
 * Read the measured pairs of all applications. A measurement that cannot be
 * read is reported and skipped.
 */
void cli_measured_load(struct cli_known *known, struct cli_store *store);

/*
 * Find the newest measurement of a victim with a co-runner, both indices into
 * known->app, on the calibrated cluster. Returns false if there is none, as at
 * every scope but the leaf switch, where pairs are measured.
 */
bool cli_measured_find(const struct cli_known *known, size_t victim,
		       size_t corunner, enum np_scope scope,
		       struct cli_measured *out);

void cli_measured_free(struct cli_known_app *app);

#endif
