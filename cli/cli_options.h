/* The options of the subcommands; each says which it takes. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <sys/types.h>

#include "cli.h"
#include "np_fabric.h"
#include "np_model.h"
#include "np_option.h"

enum cli_format { CLI_TEXT, CLI_JSON, CLI_PARSABLE, CLI_CSV };

/* Which rows and fields of --parsable and --csv are wanted: as in sacct. */
struct cli_wanted_rows {
	bool any; /* one of those below was given */
	bool noheader;
	const char *fields; /* names with "," between them; NULL: all */
	const char *sort;   /* the name of one, "-" before it: downwards */
};

enum cli_takes {
	CLI_TAKES_FORMAT = 1,	 /* --json, --parsable */
	CLI_TAKES_USER = 2,	 /* --user, --published */
	CLI_TAKES_ALL = 4,	 /* --all */
	CLI_TAKES_AS = 8,	 /* --as */
	CLI_TAKES_MODEL = 16,	 /* --model, --scope */
	CLI_TAKES_CSV = 32,	 /* --csv */
	CLI_TAKES_JSON = 64,	 /* --json, without --parsable */
	CLI_TAKES_COMMAND = 128, /* words that may have options of their own */
	CLI_TAKES_OUTPUT = 256,	 /* -o, --output */
	CLI_TAKES_PLOT = 512,	 /* --plot */
	CLI_TAKES_APPS = 1024,	 /* words that are applications */
};

struct cli_options {
	enum cli_format format;
	bool user_given, published, all;
	uid_t uid; /* of --user, else the caller's */
	const char *as, *output, *plot; /* borrowed from argv */
	struct cli_wanted_rows rows;
	char **apps;	  /* the words, borrowed from argv; ends with NULL */
	const char *app; /* the first, or NULL */
	size_t n_apps;
	const struct np_model *model; /* the default if not given */
	enum np_scope scope;	      /* NP_SCOPE_LEAF if not given */
};

/*
 * What the row of the command says it takes; its own options go into ask.
 * Returns -1 to go on, or the exit status: after --help, or a wrong use, or a
 * user that does not exist.
 */
int cli_options_parse(const struct cli_cmd *cmd, int argc, char **argv,
		      void *ask, struct cli_options *out);

/*
 * Say that the command needs what ("an application"), and for one that takes
 * applications which there are; return CLI_USAGE.
 */
int cli_need_apps(const struct cli_cmd *cmd, const struct cli_options *o,
		  const char *what);

/* A name or a number.  Returns 0 or -ENOENT. */
int cli_uid_of(const char *user, uid_t *uid);

#endif
