/* The list of what was found. */
#include <stdarg.h>
#include <stdio.h>

#include "cli_check.h"

void cli_found(struct cli_check *c, enum cli_result result, const char *about,
	       const char *fmt, ...)
{
	struct cli_finding *f = &c->found[c->n];
	va_list ap;

	c->dropped = c->n == CLI_CHECK_MAX;
	if (c->dropped)
		return;
	*f = (struct cli_finding){ .result = result };
	snprintf(f->about, sizeof(f->about), "%s", about);
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	c->n++;
}

void cli_remedy(struct cli_check *c, const char *fmt, ...)
{
	va_list ap;

	if (c->dropped)
		return;
	va_start(ap, fmt);
	vsnprintf(c->found[c->n - 1].remedy, CLI_CHECK_TEXT, fmt, ap);
	va_end(ap);
}

const char *cli_result_name(enum cli_result r)
{
	static const char *const names[] = {
		[CLI_OK] = "ok", [CLI_WARNING] = "warning",
		[CLI_PROBLEM] = "problem",
	};

	return names[r];
}
