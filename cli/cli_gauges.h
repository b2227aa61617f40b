/*
 * Gauges for a monitoring system: OpenMetrics 1.0, and the older text format,
 * which takes the lines on units for comments.
 */
#ifndef CLI_GAUGES_H
#define CLI_GAUGES_H

#include <stdio.h>

/* The head of a family netprof_NAME; unit is the end of its name, or NULL. */
void cli_gauges(FILE *f, const char *name, const char *unit,
		const char *help);

/* One of that family, with one label or two; label[1] NULL: there is one. */
void cli_gauge_of(FILE *f, const char *name, const char *label,
		  const char *value, double v);
void cli_gauge_of_two(FILE *f, const char *name,
			const char *const label[2],
			const char *const value[2], double v);

/* A family of one, without labels. */
void cli_gauge(FILE *f, const char *name, const char *unit, const char *help,
	       double v);

#endif
