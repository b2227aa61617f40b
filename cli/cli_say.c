/* What a command says about itself, and when it fails. */
#include <stdarg.h>
#include <stdio.h>

#include "cli.h"

static void say(const char *fmt, va_list ap)
{
	fputs("netprof: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

int cli_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return CLI_FAILED;
}

static void print_call(FILE *f, const struct cli_cmd *cmd)
{
	fprintf(f, "usage: netprof %s%s%s\n", cmd->name, *cmd->args ? " " : "",
		cmd->args);
}

int cli_usage(const struct cli_cmd *cmd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	print_call(stderr, cmd);
	return CLI_USAGE;
}

void cli_print_help(const struct cli_cmd *cmd)
{
	print_call(stdout, cmd);
	printf("\n%s\n", cmd->text);
}
