/* Prints gauges as OpenMetrics text. */
#include "cli_gauges.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_output.h"
#include "np_text.h"

void cli_gauge_begin(FILE *out, const char *name, const char *help)
{
	const char *unit = strrchr(name, '_') + 1;

	fprintf(out, "# TYPE netprof_%s gauge\n", name);
	if (np_list_has("seconds,hours,ratio", unit, strlen(unit)))
		fprintf(out, "# UNIT netprof_%s %s\n", name, unit);
	fprintf(out, "# HELP netprof_%s %s\n", name, help);
}

/*
 * Print a label. Names of users and jobs may be hostile, so control characters
 * are replaced, and characters with a meaning in the format are escaped.
 */
static void print_label(FILE *out, const char *label, const char *value)
{
	char *plain = np_text_plain_copy(value, strlen(value));

	fprintf(out, "%s=\"", label);
	for (const char *pos = plain ? plain : "?"; *pos; pos++)
		if (*pos == '\\' || *pos == '"')
			fprintf(out, "\\%c", *pos);
		else
			putc(*pos, out);
	putc('"', out);
	free(plain);
}

/* Print 15 digits, so that a date in seconds keeps its fraction. */
static void print_value(FILE *out, double number)
{
	fprintf(out, " %.15g\n", number + 0.0); /* avoids "-0" */
}

void cli_gauge_put_two(FILE *out, const char *name, const char *const label[2],
		       const char *const value[2], double number)
{
	fprintf(out, "netprof_%s{", name);
	print_label(out, label[0], value[0]);
	if (label[1]) {
		putc(',', out);
		print_label(out, label[1], value[1]);
	}
	putc('}', out);
	print_value(out, number);
}

void cli_gauge_single(FILE *out, const char *name, const char *help,
		      double number)
{
	cli_gauge_begin(out, name, help);
	fprintf(out, "netprof_%s", name);
	print_value(out, number);
}

int cli_gauges_end(FILE *stream, char *const *text, const char *output)
{
	struct np_err err = NP_ERR_INIT;
	char *complete;
	int rc = 0;

	fputs("# EOF\n", stream);
	complete = cli_stream_close(stream, text);
	if (output)
		rc = cli_replace_file(output, complete, 0644, &err);
	else
		fputs(complete, stdout);
	free(complete);
	return rc ? cli_fail("%s", err.text) : CLI_DONE;
}
