/*
 * Parses the options of the commands.
 *
 * Options that several commands share are in one table here, and struct cli_cmd
 * says which of them a command takes. Options of a single command are in a
 * table of the same kind (np_option.h). Both tables are passed to
 * getopt_long(), so that options may follow arguments and may be abbreviated.
 */
#include "cli_options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_print.h"
#include "cli_profile.h"
#include "np_option.h"
#include "np_picture.h"
#include "np_text.h"

/* Rows of shared[] that have no member: handle_shared() handles them. */
enum { HELP, JSON, PARSABLE, CSV, USER };

/* --scope */
static int take_scope(char *text, void *at, struct np_err *err)
{
	for (int i = 0; i < NP_N_SCOPES; i++)
		if (!strcmp(text, np_scope_names[i])) {
			*(enum np_scope *)at = (enum np_scope)i;
			return 0;
		}
	return np_errf(err, -EINVAL,
		       "--scope=%.64s: expected node, leaf or uplink", text);
}

/* --model; the error lists the models. */
static int take_model(char *text, void *at, struct np_err *err)
{
	const struct np_model **model = at;

	*model = np_model_find(text, err);
	return *model ? 0 : -EINVAL;
}

#define OFFSET(member) offsetof(struct cli_options, member)

static const struct {
	int takes; /* which commands take it (enum cli_takes); 0: all */
	struct np_option option;
} shared[] = {
	[HELP] = { 0, { "help", NP_OPTION_FLAG, .letter = 'h' } },
	[JSON] = { CLI_TAKES_FORMAT | CLI_TAKES_JSON,
		   { "json", NP_OPTION_FLAG } },
	/* -P as in sacct */
	[PARSABLE] = { CLI_TAKES_FORMAT,
		       { "parsable", NP_OPTION_FLAG, .letter = 'P' } },
	[CSV] = { CLI_TAKES_CSV, { "csv", NP_OPTION_FLAG } },
	[USER] = { CLI_TAKES_USER, { "user", NP_OPTION_WORD } },
	{ CLI_TAKES_MODEL,
	  { "model", NP_OPTION_TAKE, OFFSET(model), .take = take_model } },
	{ CLI_TAKES_SCOPE,
	  { "scope", NP_OPTION_TAKE, OFFSET(scope), .take = take_scope } },
	{ CLI_TAKES_USER, { "published", NP_OPTION_FLAG, OFFSET(published) } },
	{ CLI_TAKES_ALL, { "all", NP_OPTION_FLAG, OFFSET(all) } },
	{ CLI_TAKES_NEW_NAME, { "as", NP_OPTION_WORD, OFFSET(new_name) } },
	{ CLI_TAKES_OUTPUT,
	  { "output", NP_OPTION_WORD, OFFSET(output), .letter = 'o' } },
	{ CLI_TAKES_PLOT, { "plot", NP_OPTION_WORD, OFFSET(plot) } },
	{ CLI_TAKES_FORMAT | CLI_TAKES_CSV,
	  { "noheader", NP_OPTION_FLAG, OFFSET(rows.noheader),
	    .letter = 'n' } },
	{ CLI_TAKES_FORMAT | CLI_TAKES_CSV,
	  { "format", NP_OPTION_WORD, OFFSET(rows.fields) } },
	{ CLI_TAKES_FORMAT | CLI_TAKES_CSV,
	  { "sort", NP_OPTION_WORD, OFFSET(rows.sort) } },
};

#define N_SHARED ((int)NP_ARRAY_SIZE(shared))

#define FIRST_VAL 256  /* val of row 0 in struct option, above all letters */
#define MAX_OPTIONS 24 /* own options of one command */

/*
 * The options in the form of getopt_long(). Rows are numbered: first those of
 * shared[], then the command's own ones.
 */
struct getopt_tables {
	/* val: FIRST_VAL + row */
	struct option longs[N_SHARED + MAX_OPTIONS + 1];
	size_t n;
	char shorts[2 * (N_SHARED + MAX_OPTIONS) + 3];
	int row[256]; /* row of each letter */
};

/* Append one option to the tables of getopt_long(). */
static void add_option(struct getopt_tables *out,
		       const struct np_option *option, int row)
{
	bool has_argument = np_option_has_argument(option);
	const char text[] = { option->letter, has_argument ? ':' : '\0', '\0' };

	out->longs[out->n++] = (struct option){ option->name, has_argument,
						NULL, FIRST_VAL + row };
	strcat(out->shorts, text);
	out->row[(unsigned char)option->letter] = row;
}

/* Collect the shared options that the command takes, and its own. */
static void make_tables(struct getopt_tables *out, const struct cli_cmd *cmd)
{
	*out = (struct getopt_tables){ .n = 0 };
	/*
	 * "+": option parsing ends at the first argument.
	 * ":": getopt_long() returns ':' for a missing argument.
	 */
	strcpy(out->shorts, cmd->takes & CLI_TAKES_COMMAND ? "+:" : ":");
	for (int i = 0; i < N_SHARED; i++)
		if (!shared[i].takes || (shared[i].takes & cmd->takes))
			add_option(out, &shared[i].option, i);
	for (int i = 0; cmd->own && cmd->own[i].name; i++)
		add_option(out, &cmd->own[i], N_SHARED + i);
}

/*
 * The word with the option about which getopt_long() complains. In a word with
 * several letters, such as -Pj, that is the letter optopt; as long as there are
 * letters behind it, optind is the index of the word, and then of the next one.
 */
static const char *wrong_word(char *const argv[])
{
	for (int i = optind; optopt && optopt < FIRST_VAL && i >= optind - 1;
	     i--)
		if (argv[i] && argv[i][0] == '-' && argv[i][1] != '-' &&
		    strchr(argv[i] + 1, optopt))
			return argv[i];
	return argv[optind - 1];
}

/* Print an error for an unknown option, and suggest similar ones. */
static int fail_unknown(const struct cli_cmd *cmd,
			const struct getopt_tables *tables, const char *word)
{
	const char *names[N_SHARED + MAX_OPTIONS];
	char with_dashes[N_SHARED + MAX_OPTIONS][32], wanted[64],
		suggestion[128] = "";
	bool is_letter = optopt > 0 && isgraph(optopt);

	for (size_t i = 0; i < tables->n; i++) {
		snprintf(with_dashes[i], sizeof(with_dashes[i]), "--%s",
			 tables->longs[i].name);
		names[i] = with_dashes[i];
	}
	/* "--nmae=value", "-name": only the name is compared. */
	snprintf(wanted, sizeof(wanted), "%.*s", (int)strcspn(word, "="), word);
	if (strlen(wanted) > 2)
		np_suggest(wanted, names, tables->n, suggestion,
			   sizeof(suggestion));
	if (is_letter && word[2])
		return cli_usage(cmd, "no such option: -%c in %.64s%s", optopt,
				 word, suggestion);
	return cli_usage(cmd, "no such option: %.64s%s", word, suggestion);
}

/* Print an error for what getopt_long() returned: '?' or ':'. */
static int fail_option(const struct cli_cmd *cmd,
		       const struct getopt_tables *tables, int returned,
		       char *const argv[])
{
	const char *word = wrong_word(argv);

	if (returned == '?' && optopt < FIRST_VAL)
		return fail_unknown(cmd, tables, word);
	if (returned == '?') /* --json=yes */
		return cli_usage(cmd, "%.*s takes no argument",
				 (int)strcspn(word, "="), word);
	if (optopt < FIRST_VAL)
		return cli_usage(cmd, "-%c needs an argument", optopt);
	return cli_usage(cmd, "%.64s needs an argument", word);
}

/* Text that consists of digits may still be a name, so it is tried first. */
int cli_uid_of(const char *user, uid_t *uid)
{
	const struct passwd *pw = getpwnam(user);
	uint64_t n;

	if (pw) {
		*uid = pw->pw_uid;
		return 0;
	}
	if (np_whole_parse(user, (uid_t)-2, &n))
		return -ENOENT;
	*uid = (uid_t)n;
	return 0;
}

/* Set the output format. */
static int set_format(const struct cli_cmd *cmd, enum cli_format format,
		      struct cli_options *options)
{
	if (options->format && options->format != format)
		return cli_usage(
			cmd,
			"expected only one of --json, --parsable and --csv");
	options->format = format;
	return -1;
}

/* Store the argument of an option as its description in the table says. */
static int set_member(const struct cli_cmd *cmd, const struct np_option *option,
		      void *values)
{
	struct np_err err = NP_ERR_INIT;

	return np_option_set(option, optarg, values, &err) ?
		       cli_usage(cmd, "%s", err.text) :
		       -1;
}

/* Handle one shared option. Returns -1 to continue, or the exit status. */
static int handle_shared(const struct cli_cmd *cmd, int row,
			 struct cli_options *options)
{
	switch (row) {
	case HELP:
		cli_print_help(cmd);
		return CLI_DONE;
	case JSON:
		return set_format(cmd, CLI_JSON, options);
	case PARSABLE:
		return set_format(cmd, CLI_PARSABLE, options);
	case CSV:
		return set_format(cmd, CLI_CSV, options);
	case USER:
		options->user_given = true;
		if (cli_uid_of(optarg, &options->uid))
			return cli_fail("--user=%.64s: no such user", optarg);
		return -1;
	default:
		return set_member(cmd, &shared[row].option, options);
	}
}

/* The suffix of the name selects the format of the picture. */
int cli_check_picture(const struct cli_cmd *cmd, const char *option,
		      const char *path)
{
	struct np_err err = NP_ERR_INIT;
	enum np_picture_kind kind;

	return np_picture_kind(path, &kind, &err) ?
		       cli_usage(cmd, "--%s=%s", option, err.text) :
		       -1;
}

/* Check the number of arguments and the combination of options. */
static int check_arguments(const struct cli_cmd *cmd,
			   const struct cli_options *options)
{
	if (cmd->required_arg &&
	    (!options->n_apps || options->n_apps < cmd->min_args))
		return cli_usage(cmd, "%s needs %s%s", cmd->name,
				 cmd->required_arg,
				 cmd->takes & CLI_TAKES_APPS ?
					 cli_known_apps(options) :
					 "");
	if (options->n_apps > cmd->max_args)
		return cli_usage(cmd, "unexpected argument \"%.64s\"",
				 options->apps[cmd->max_args]);
	if (options->plot && options->format)
		return cli_usage(cmd, "--plot has no effect with --json, "
				      "--parsable or --csv");
	if (options->rows.any && options->format == CLI_JSON)
		return cli_usage(cmd, "--noheader, --format and --sort have no "
				      "effect with --json");
	if (options->published && options->user_given)
		return cli_usage(cmd,
				 "expected only one of --user and --published");
	return options->plot ? cli_check_picture(cmd, "plot", options->plot) :
			       -1;
}

/* Options that select rows imply --parsable or --csv. */
static void select_rows(const struct cli_cmd *cmd, struct cli_options *options)
{
	options->rows.any = options->rows.noheader || options->rows.fields ||
			    options->rows.sort;
	if (!options->rows.any)
		return;
	/* A command may have only one of the two formats. */
	if (options->format == CLI_TEXT)
		options->format = cmd->takes & CLI_TAKES_FORMAT ? CLI_PARSABLE :
								  CLI_CSV;
	cli_print_select(&options->rows);
}

int cli_options_parse(const struct cli_cmd *cmd, int argc, char **argv,
		      void *own, struct cli_options *out)
{
	struct cli_options options = {
		.uid = geteuid(),
		.scope = NP_SCOPE_LEAF,
		.model = np_model_find(NP_MODEL_DEFAULT, NULL),
	};
	struct getopt_tables tables;
	int option, rc;

	make_tables(&tables, cmd);
	/* We print errors ourselves, with suggestions. */
	opterr = 0;
	while ((option = getopt_long(argc, argv, tables.shorts, tables.longs,
				     NULL)) != -1) {
		if (option == '?' || option == ':')
			return fail_option(cmd, &tables, option, argv);
		/* Short options are translated to rows of the same table. */
		option = option < FIRST_VAL ? tables.row[option] :
					      option - FIRST_VAL;
		rc = option < N_SHARED ?
			     handle_shared(cmd, option, &options) :
			     set_member(cmd, &cmd->own[option - N_SHARED], own);
		if (rc >= 0)
			return rc;
	}
	select_rows(cmd, &options);
	options.apps = argv + optind;
	options.n_apps = (size_t)(argc - optind);
	options.app = options.apps[0];
	*out = options;
	return check_arguments(cmd, out);
}
