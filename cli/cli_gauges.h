/*
 * Gauges for a monitoring system, as OpenMetrics 1.0. The older text format of
 * Prometheus treats the lines with units as comments, so readers of it accept
 * the same text.
 */
#ifndef CLI_GAUGES_H
#define CLI_GAUGES_H

#include <stdio.h>

/*
 * Begin a family of gauges, netprof_NAME. The unit, if they have one, is the
 * last word of the name: seconds, hours or ratio.
 */
void cli_gauge_begin(FILE *out, const char *name, const char *help);

/*
 * Print a gauge of that family, with one label or two; label[1] may be NULL.
 */
void cli_gauge_put_two(FILE *out, const char *name, const char *const label[2],
		       const char *const value[2], double number);

/* Print a family that consists of a single gauge without labels. */
void cli_gauge_single(FILE *out, const char *name, const char *help,
		      double number);

/*
 * Finish gauges that were written to a stream of open_memstream(): close the
 * stream, whose text is *text, and print that text. If output is a path, the
 * text replaces that file as a whole instead, because a node exporter may read
 * the file at any time. Returns the exit status.
 */
int cli_gauges_end(FILE *stream, char *const *text, const char *output);

#endif
