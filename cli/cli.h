/*
 * What the subcommands of netprof share.
 *
 * Results go to standard output, all else to standard error.
 * Exit status: 0 done, 1 failed, 2 usage.
 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "np_err.h"

#define CLI_ANY ((size_t)-1) /* number of words */

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

struct np_option;

struct cli_cmd {
	const char *name, *args;
	const char *help; /* one line */
	const char *text; /* what `netprof help NAME` adds */
	int takes;	  /* of enum cli_takes, cli_options.h */
	const struct np_option *own; /* more options, or NULL */
	const char *examples; /* command lines, one each, and what they do */
	const char *missing; /* what is said if there is no word, or NULL */
	size_t most;	     /* words */
	int (*run)(const struct cli_cmd *self, int argc, char **argv);
};

extern const struct cli_cmd cmd_show, cmd_list, cmd_runs, cmd_predict,
	cmd_matrix, cmd_publish, cmd_accuracy, cmd_calibrate, cmd_status,
	cmd_explain, cmd_check, cmd_release, cmd_metrics, cmd_compare,
	cmd_report, cmd_plot, cmd_validate, cmd_forget, cmd_unpublish,
	cmd_topology, cmd_simulate, cmd_blame;

/* Run it; the exit status, also of output that could not be written. */
int cli_run(const struct cli_cmd *cmd, int argc, char **argv);

/* Print "netprof: ..." and return CLI_FAILED. */
int cli_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Print "netprof: LINE", for what tells of what it passes over; no arg. */
void cli_pass_on(const char *line, void *arg);

/* Print "netprof: ..." and how to call the command; return CLI_USAGE. */
int cli_usage(const struct cli_cmd *cmd, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* How a command is called, and what it does. */
void cli_print_help(const struct cli_cmd *cmd);

#endif
