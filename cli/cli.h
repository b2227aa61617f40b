/*
 * The commands of netprof: their table, errors and help.
 *
 * Results go to standard output, everything else to standard error.
 * Exit status: 0 done, 1 failed, 2 wrong usage.
 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "np_err.h"

#define CLI_ANY ((size_t)-1) /* in max_args: any number of arguments */

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

struct np_option;

struct cli_cmd {
	const char *name;
	const char *args; /* for the usage line: "[OPTION]... APP" */
	const char *help; /* one line, for the list of commands */
	const char *text; /* description and options, for the command's help */
	int takes;	  /* shared options: enum cli_takes, cli_options.h */
	const struct np_option *own; /* its own options, or NULL */
	const char *examples;	     /* command lines, or NULL */
	/* For errors: the required arguments, "an application"; or NULL. */
	const char *required_arg;
	size_t min_args; /* if required_arg is set; 0 is as 1 */
	size_t max_args;
	/* Returns the exit status. */
	int (*run)(const struct cli_cmd *self, int argc, char **argv);
};

extern const struct cli_cmd cmd_show, cmd_list, cmd_runs, cmd_predict,
	cmd_matrix, cmd_publish, cmd_accuracy, cmd_calibrate, cmd_status,
	cmd_explain, cmd_check, cmd_release, cmd_metrics, cmd_compare,
	cmd_report, cmd_plot, cmd_validate, cmd_forget, cmd_unpublish,
	cmd_topology, cmd_simulate, cmd_blame;

/*
 * Run a command. Returns its exit status, or CLI_FAILED if its output could
 * not be written, as to a full disk.
 */
int cli_run(const struct cli_cmd *cmd, int argc, char **argv);

/* Print "netprof: ..." and return CLI_FAILED. */
int cli_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * As calloc(), strdup() and np_array_grow(). If memory runs out, the command
 * ends with an error. Not for a command that has started steps, which it has to
 * end first.
 */
void *cli_calloc(size_t n, size_t size);
char *cli_strdup(const char *text);
void cli_array_grow(void *array, size_t n, size_t size);
/*
 * As open_memstream() and np_text_close(), with the same end if memory runs
 * out.
 */
FILE *cli_stream_open(char **text, size_t *len);
char *cli_stream_close(FILE *f, char *const *text);
/* End the command if rc is -ENOMEM, and otherwise return rc. */
int cli_check_memory(int rc);
_Noreturn void cli_no_memory(void);

/* Print "netprof: LINE"; a callback for readers that skip damaged files. */
void cli_warn_line(const char *line, void *arg);

/*
 * The same about input, once the command has succeeded: if it fails, the error
 * is the only line.
 */
void cli_warn_of_input(const char *line, void *arg);

/* Print "netprof: ..." and the usage of the command; return CLI_USAGE. */
int cli_usage(const struct cli_cmd *cmd, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Print usage, description and examples. */
void cli_print_help(const struct cli_cmd *cmd);

#endif
