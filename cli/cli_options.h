/* The options that several commands share; each command says which it takes. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <sys/types.h>

#include "cli.h"
#include "np_fabric.h"
#include "np_model.h"
#include "np_option.h"

enum cli_format { CLI_TEXT, CLI_JSON, CLI_PARSABLE, CLI_CSV };

/* Selection of rows and fields for --parsable and --csv, as in sacct. */
struct cli_row_selection {
	bool any; /* one of the following was given */
	bool noheader;
	const char *fields; /* names separated by ","; NULL: all */
	const char *sort;   /* name of a field; "-" before it: descending */
};

enum cli_takes {
	CLI_TAKES_FORMAT = 1,	 /* --json, --parsable */
	CLI_TAKES_USER = 2,	 /* --user, --published */
	CLI_TAKES_ALL = 4,	 /* --all */
	CLI_TAKES_NEW_NAME = 8,	 /* --as */
	CLI_TAKES_MODEL = 16,	 /* --model */
	CLI_TAKES_CSV = 32,	 /* --csv */
	CLI_TAKES_JSON = 64,	 /* --json, without --parsable */
	CLI_TAKES_COMMAND = 128, /* another command, with its own options */
	CLI_TAKES_OUTPUT = 256,	 /* -o, --output */
	CLI_TAKES_PLOT = 512,	 /* --plot */
	CLI_TAKES_APPS = 1024,	 /* names of applications */
	CLI_TAKES_SCOPE = 2048,	 /* --scope */
};

struct cli_options {
	enum cli_format format;
	bool user_given, published, all;
	uid_t uid; /* from --user, or else the caller's */
	/* arguments of --as, --output and --plot, borrowed from argv */
	const char *new_name, *output, *plot;
	struct cli_row_selection rows;
	char **apps;	 /* arguments, borrowed from argv; ends with NULL */
	const char *app; /* the first argument, or NULL */
	size_t n_apps;
	const struct np_model *model; /* default: NP_MODEL_DEFAULT */
	enum np_scope scope;	      /* default: NP_SCOPE_LEAF */
};

/*
 * Parse the options that the command takes; its own options (cmd->own) are
 * stored in *own. Returns -1 to go on, or the exit status: after --help, or
 * after printing an error (wrong usage, or a user that does not exist).
 */
int cli_options_parse(const struct cli_cmd *cmd, int argc, char **argv,
		      void *own, struct cli_options *out);

/*
 * The name of a file to draw into, which an option has. Returns -1 to go on,
 * or CLI_USAGE after printing an error.
 */
int cli_check_picture(const struct cli_cmd *cmd, const char *option,
		      const char *path);

/* user: a name or a number. Returns 0 or -ENOENT. */
int cli_uid_of(const char *user, uid_t *uid);

#endif
