/* Figures of one application, for `netprof plot` and `report`. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "np_figure.h"
#include "np_profile.h"

enum cli_plot_part { CLI_PLOT_LATENCY, CLI_PLOT_CURVE, CLI_PLOT_TIME,
		     CLI_PLOT_PARTS };
/* "latency", "curve", "time" */
extern const char *const cli_plot_part_names[CLI_PLOT_PARTS];

/*
 * Add one part of the figure of a profile, a panel.  summary: of the same runs,
 * under the levels of the calibration fabric; both NULL without a calibration.
 * Returns 0, or -ENODATA if nothing was measured; then missing, of len bytes,
 * holds one line with the reason and the command that measures it.
 */
int cli_plot_add(struct np_figure *figure, enum cli_plot_part part,
		 const struct np_profile *profile,
		 const struct np_run_summary *summary,
		 const struct np_fabric *fabric, char *missing, size_t len);

#endif
