/* The figure of an application: what `netprof plot` shows. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "np_figure.h"
#include "np_profile.h"

enum cli_plot_part { CLI_PLOT_LATENCY, CLI_PLOT_CURVE, CLI_PLOT_TIME,
		     CLI_PLOT_PARTS };
/* "latency", "curve", "time" */
extern const char *const cli_plot_parts[CLI_PLOT_PARTS];

/*
 * One more panel.  e: the same on a calibrated fabric; NULL both: there is
 * none.  Returns 0, or -ENODATA: not measured, and missing (of len bytes) says
 * in a line what is, and the command for it.
 */
int cli_plot_add(struct np_figure *f, enum cli_plot_part part,
		 const struct np_profile *p, const struct np_evidence *e,
		 const struct np_fabric *fabric, char *missing, size_t len);

#endif
