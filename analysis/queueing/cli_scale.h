/* netprof scale: reports of runs, their components, and other sizes. */
#ifndef CLI_SCALE_H
#define CLI_SCALE_H

#include "cli.h"
#include "cli_options.h"
#include "np_mpip.h"
#include "np_scaling.h"

enum { CLI_SCALE_BASELINES = NP_BASELINE_AMDAHL + 1 };

/* A run, its components, and what the other runs predict for it. */
struct cli_scale_run {
	const char *path;
	struct np_mpip report;
	struct np_run run;
	struct np_four four;
	/* Predictions from runs of other sizes; NaN if these are too few. */
	struct np_scaled_run others;
	double baseline_sec[CLI_SCALE_BASELINES];
};

#define CLI_SCALE_AT 64

struct cli_scale {
	struct cli_scale_run *run; /* ascending by number of processes */
	size_t n_runs;
	struct np_link link;
	bool bandwidth_given, latency_given;
	enum np_four_variant variant;
	/* speed of processors at other sizes, relative to the runs */
	double speed;
	/* Other sizes that were requested: */
	double at[CLI_SCALE_AT]; /* number of processes, in the order given */
	struct np_scaled_run *answer;
	size_t n_at;
	char why[NP_ERR_LEN]; /* "", or why there are no predictions */
};

/* Each prints the complete report and returns the exit status. */
int cli_scale_text(const struct cli_scale *s);
int cli_scale_data(const struct cli_scale *s, enum cli_format format);
int cli_scale_plot(const struct cli_scale *s, const char *path);

#endif
