/* Gauges in OpenMetrics text. */
#include "cli_gauges.h"

#include <stdlib.h>
#include <string.h>

#include "np_text.h"

void cli_gauge_begin(FILE *f, const char *name, const char *unit,
		     const char *help)
{
	fprintf(f, "# TYPE netprof_%s gauge\n", name);
	if (unit)
		fprintf(f, "# UNIT netprof_%s %s\n", name, unit);
	fprintf(f, "# HELP netprof_%s %s\n", name, help);
}

/*
 * Names of users and jobs are hostile input: control characters are removed,
 * and the characters with a meaning in the format are escaped.
 */
static void put_label(FILE *f, const char *label, const char *value)
{
	char *plain = np_text_plain_copy(value, strlen(value));

	fprintf(f, "%s=\"", label);
	for (const char *c = plain ? plain : "?"; *c; c++)
		if (*c == '\\' || *c == '"')
			fprintf(f, "\\%c", *c);
		else
			putc(*c, f);
	putc('"', f);
	free(plain);
}

/* 15 digits, so that a date in seconds keeps its fraction. */
static void put_value(FILE *f, double v)
{
	fprintf(f, " %.15g\n", v + 0.0); /* avoids "-0" */
}

void cli_gauge_put_two(FILE *f, const char *name, const char *const label[2],
		       const char *const value[2], double v)
{
	fprintf(f, "netprof_%s{", name);
	put_label(f, label[0], value[0]);
	if (label[1]) {
		putc(',', f);
		put_label(f, label[1], value[1]);
	}
	putc('}', f);
	put_value(f, v);
}

void cli_gauge_put(FILE *f, const char *name, const char *label,
		   const char *value, double v)
{
	cli_gauge_put_two(f, name, (const char *[]){ label, NULL },
			  (const char *[]){ value, NULL }, v);
}

void cli_gauge_single(FILE *f, const char *name, const char *unit,
		      const char *help, double v)
{
	cli_gauge_begin(f, name, unit, help);
	fprintf(f, "netprof_%s", name);
	put_value(f, v);
}
