/* The figure of an application: what `netprof plot` shows. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "cli_known.h"
#include "np_figure.h"

enum cli_plot_part { CLI_PLOT_LATENCY, CLI_PLOT_CURVE, CLI_PLOT_TIME,
		     CLI_PLOT_PARTS };
/* "latency", "curve", "time" */
extern const char *const cli_plot_parts[CLI_PLOT_PARTS];

/*
 * One more panel.  k: the application alone, on a calibration if there is one.
 * Returns 0, or -ENODATA: not measured, and missing (of len bytes) says in a
 * line what is, and the command for it.
 */
int cli_plot_add(struct np_figure *f, enum cli_plot_part part,
		 const struct cli_profile *p, const struct cli_known *k,
		 char *missing, size_t len);

/* Who, where, how much of it and when. */
void cli_plot_caption(struct np_figure *f, const struct cli_profile *p);

#endif
