/* Errors, warnings and help of the commands. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "np_array.h"
#include "np_text.h"

/* Every error begins with the name of the program. */
static void print_error(const char *fmt, va_list ap)
{
	fputs("netprof: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

int cli_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_error(fmt, ap);
	va_end(ap);
	return CLI_FAILED;
}

_Noreturn void cli_no_memory(void)
{
	exit(cli_fail("out of memory"));
}

int cli_check_memory(int rc)
{
	if (rc == -ENOMEM)
		cli_no_memory();
	return rc;
}

void *cli_calloc(size_t n, size_t size)
{
	void *memory = calloc(n ? n : 1, size);

	if (!memory)
		cli_no_memory();
	return memory;
}

char *cli_strdup(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		cli_no_memory();
	return copy;
}

void cli_array_grow(void *array, size_t n, size_t size)
{
	cli_check_memory(np_array_grow(array, n, size));
}

FILE *cli_stream_open(char **text, size_t *len)
{
	FILE *f = open_memstream(text, len);

	if (!f)
		cli_no_memory();
	return f;
}

char *cli_stream_close(FILE *f, char *const *text)
{
	char *all = np_text_close(f, text);

	if (!all)
		cli_no_memory();
	return all;
}

static void print_usage(FILE *f, const struct cli_cmd *cmd)
{
	fprintf(f, "usage: netprof %s%s%s\n", cmd->name, *cmd->args ? " " : "",
		cmd->args);
}

int cli_usage(const struct cli_cmd *cmd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_error(fmt, ap);
	va_end(ap);
	print_usage(stderr, cmd);
	return CLI_USAGE;
}

void cli_warn_line(const char *line, void *arg)
{
	(void)arg;
	fprintf(stderr, "netprof: %s\n", line);
}

/* Warnings about input, which are printed only if the command succeeds. */
static struct {
	FILE *f; /* NULL: none */
	char *text;
	size_t len;
} input_warnings;

void cli_warn_of_input(const char *line, void *arg)
{
	(void)arg;
	if (!input_warnings.f)
		input_warnings.f = open_memstream(&input_warnings.text,
						  &input_warnings.len);
	if (input_warnings.f)
		fprintf(input_warnings.f, "netprof: %s\n", line);
}

/* Print the warnings about input, or drop them. */
static void close_input_warnings(bool print)
{
	if (!input_warnings.f)
		return;
	if (!fclose(input_warnings.f) && print)
		fputs(input_warnings.text, stderr);
	free(input_warnings.text);
	input_warnings.f = NULL;
}

/*
 * Errors of standard output, such as a full disk, are only seen when it is
 * flushed.
 */
int cli_run(const struct cli_cmd *cmd, int argc, char **argv)
{
	int rc = cmd->run(cmd, argc, argv);

	if (fflush(stdout) || ferror(stdout))
		rc = cli_fail("standard output: %s", strerror(errno));
	close_input_warnings(rc == CLI_DONE);
	return rc;
}

void cli_print_help(const struct cli_cmd *cmd)
{
	print_usage(stdout, cmd);
	printf("\n%s\n", cmd->text);
	if (cmd->examples)
		printf("\nExamples:\n%s", cmd->examples);
}
