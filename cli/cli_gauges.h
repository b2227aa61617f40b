/*
 * Gauges for a monitoring system, as OpenMetrics 1.0. The older text format of
 * Prometheus treats the lines with units as comments, so readers of it accept
 * the same text.
 */
#ifndef CLI_GAUGES_H
#define CLI_GAUGES_H

#include <stdio.h>

/* Head of a family netprof_NAME. unit: the last word of the name, or NULL. */
void cli_gauges(FILE *f, const char *name, const char *unit,
		const char *help);

/* A gauge of that family, with one label or two; label[1] NULL: only one. */
void cli_gauge_of(FILE *f, const char *name, const char *label,
		  const char *value, double v);
void cli_gauge_of_two(FILE *f, const char *name,
			const char *const label[2],
			const char *const value[2], double v);

/* A family with a single gauge and no labels. */
void cli_gauge(FILE *f, const char *name, const char *unit, const char *help,
	       double v);

#endif
