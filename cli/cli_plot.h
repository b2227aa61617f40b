/* Figures of one application, for `netprof plot` and `report`. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "np_figure.h"
#include "np_run_summary.h"

enum cli_plot_part {
	CLI_PLOT_LATENCY,
	CLI_PLOT_CURVE,
	CLI_PLOT_TIME,
	CLI_PLOT_PARTS
};
/* "latency", "curve", "time" */
extern const char *const cli_plot_part_names[CLI_PLOT_PARTS];

/*
 * Add one part of a profile's figure, as a panel. calibrated evaluates the same
 * runs against the load levels of fabric, the calibration; both are NULL if
 * there is no calibration. Returns NULL or, if nothing was measured, one line
 * that says what is missing, with the command that measures it.
 */
const char *cli_plot_add(struct np_figure *figure, enum cli_plot_part part,
			 const struct np_run_summary *profile,
			 const struct np_run_summary *calibrated,
			 const struct np_fabric *fabric);

#endif
