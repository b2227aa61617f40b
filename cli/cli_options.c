/*
 * Options of the commands.
 *
 * The options that several commands share are in one table here, and each
 * command says in its cli_cmd which of them it takes.  Its own options are in a
 * table of the same kind (np_option.h).  Both are given to getopt_long(), so
 * that options may follow arguments and may be abbreviated.
 */
#include "cli_options.h"

#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_print.h"
#include "cli_profile.h"
#include "np_text.h"
#include "np_option.h"
#include "np_picture.h"

enum { HELP, JSON, PARSABLE, CSV, USER, MODEL, SCOPE, PUBLISHED, ALL, NEW_NAME,
       OUTPUT, PLOT, NOHEADER, FORMAT, SORT, N_SHARED };

#define AT(member) offsetof(struct cli_options, member)

static const struct {
	int takes; /* which commands take it (enum cli_takes); 0: all */
	struct np_option option;
} shared[N_SHARED] = {
	/* Options without a member are handled by take_shared(). */
	[HELP] = { 0, { "help", NP_OPTION_FLAG, .letter = 'h' } },
	[JSON] = { CLI_TAKES_FORMAT | CLI_TAKES_JSON,
		   { "json", NP_OPTION_FLAG } },
	/* -P as in sacct */
	[PARSABLE] = { CLI_TAKES_FORMAT,
		       { "parsable", NP_OPTION_FLAG, .letter = 'P' } },
	[CSV] = { CLI_TAKES_CSV, { "csv", NP_OPTION_FLAG } },
	[USER] = { CLI_TAKES_USER, { "user", NP_OPTION_WORD } },
	[MODEL] = { CLI_TAKES_MODEL, { "model", NP_OPTION_WORD } },
	[SCOPE] = { CLI_TAKES_SCOPE, { "scope", NP_OPTION_WORD } },
	[PUBLISHED] = { CLI_TAKES_USER,
			{ "published", NP_OPTION_FLAG, AT(published) } },
	[ALL] = { CLI_TAKES_ALL, { "all", NP_OPTION_FLAG, AT(all) } },
	[NEW_NAME] = { CLI_TAKES_NEW_NAME,
		       { "as", NP_OPTION_WORD, AT(new_name) } },
	[OUTPUT] = { CLI_TAKES_OUTPUT,
		     { "output", NP_OPTION_WORD, AT(output), .letter = 'o' } },
	[PLOT] = { CLI_TAKES_PLOT, { "plot", NP_OPTION_WORD, AT(plot) } },
	[NOHEADER] = { CLI_TAKES_FORMAT | CLI_TAKES_CSV,
		       { "noheader", NP_OPTION_FLAG, AT(rows.noheader),
			 .letter = 'n' } },
	[FORMAT] = { CLI_TAKES_FORMAT | CLI_TAKES_CSV,
		     { "format", NP_OPTION_WORD, AT(rows.fields) } },
	[SORT] = { CLI_TAKES_FORMAT | CLI_TAKES_CSV,
		   { "sort", NP_OPTION_WORD, AT(rows.sort) } },
};

#define FIRST_VAL 256  /* val of row 0 in struct option, above all letters */
#define MAX_OPTIONS 24 /* own options of one command */

/*
 * The options in the form of getopt_long(). Rows are numbered: first those of
 * shared[], then the command's own ones.
 */
struct getopt {
	/* val: FIRST_VAL + row */
	struct option longs[N_SHARED + MAX_OPTIONS + 1];
	size_t n;
	char shorts[2 * (N_SHARED + MAX_OPTIONS) + 3];
	int row[256]; /* row of each letter */
};

/* Append one option to the tables of getopt_long(). */
static void add_option(struct getopt *g, const struct np_option *o, int row)
{
	bool has_argument = np_option_has_argument(o);
	const char text[] = { o->letter, has_argument ? ':' : '\0', '\0' };

	g->longs[g->n++] = (struct option){ o->name, has_argument, NULL,
					    FIRST_VAL + row };
	strcat(g->shorts, text);
	g->row[(unsigned char)o->letter] = row;
}

/* Collect the shared options that the command takes, and its own. */
static void make_tables(struct getopt *g, const struct cli_cmd *cmd)
{
	*g = (struct getopt){ .n = 0 };
	/*
	 * "+": option parsing ends at the first argument.
	 * ":": getopt_long() returns ':' for a missing argument.
	 */
	strcpy(g->shorts, cmd->takes & CLI_TAKES_COMMAND ? "+:" : ":");
	for (int i = 0; i < N_SHARED; i++)
		if (!shared[i].takes || (shared[i].takes & cmd->takes))
			add_option(g, &shared[i].option, i);
	for (int i = 0; cmd->own && cmd->own[i].name; i++)
		add_option(g, &cmd->own[i], N_SHARED + i);
}

/* Print an error for an unknown option, with the options most like it. */
static int fail_unknown(const struct cli_cmd *cmd, const struct getopt *g,
		     const char *text)
{
	const char *names[N_SHARED + MAX_OPTIONS];
	char all[N_SHARED + MAX_OPTIONS][32], typed[64], like[128] = "";

	for (size_t i = 0; i < g->n; i++) {
		snprintf(all[i], sizeof(all[i]), "--%s", g->longs[i].name);
		names[i] = all[i];
	}
	if (!strncmp(text, "--", 2)) {
		/* "--nmae=value": only the name is compared. */
		snprintf(typed, sizeof(typed), "%.*s", (int)strcspn(text, "="),
			 text);
		np_suggest(typed, names, g->n, like, sizeof(like));
	}
	return cli_usage(cmd, "no such option: %.64s%s", text, like);
}

/* The argument of --scope. Returns -1 to go on, or the exit status. */
static int take_scope(const struct cli_cmd *cmd, const char *text,
		      struct cli_options *o)
{
	for (int i = 0; i < NP_N_SCOPES; i++)
		if (!strcmp(text, np_scope_names[i])) {
			o->scope = (enum np_scope)i;
			return -1;
		}
	return cli_usage(cmd, "--scope=%.64s: expected node, leaf or uplink",
			 text);
}

/* The same of --model; the error lists the models. */
static int take_model(const struct cli_cmd *cmd, const char *text,
		      struct cli_options *o)
{
	struct np_err err = NP_ERR_INIT;

	o->model = np_model_find(text, &err);
	return o->model ? -1 : cli_usage(cmd, "%s", err.text);
}

/* A name of digits alone is first looked up as a name. */
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

/* Store the argument of an option by its description in the table. */
static int set_member(const struct cli_cmd *cmd, const struct np_option *option,
		      void *all)
{
	struct np_err err = NP_ERR_INIT;

	return np_option_set(option, optarg, all, &err) ?
	       cli_usage(cmd, "%s", err.text) : -1;
}

/* Handle one shared option. Returns -1 to go on, or the exit status. */
static int take_shared(const struct cli_cmd *cmd, int row,
		       struct cli_options *o)
{
	switch (row) {
	case HELP:
		cli_print_help(cmd);
		return CLI_DONE;
	case JSON:
		o->format = CLI_JSON;
		return -1;
	case PARSABLE:
		o->format = CLI_PARSABLE;
		return -1;
	case CSV:
		o->format = CLI_CSV;
		return -1;
	case USER:
		o->user_given = true;
		if (cli_uid_of(optarg, &o->uid))
			return cli_fail("--user=%.64s: no such user", optarg);
		return -1;
	case MODEL:
		return take_model(cmd, optarg, o);
	case SCOPE:
		return take_scope(cmd, optarg, o);
	default:
		return set_member(cmd, &shared[row].option, o);
	}
}

/* The name of a picture says its format. */
int cli_check_picture(const struct cli_cmd *cmd, const char *option,
		      const char *path)
{
	struct np_err err = NP_ERR_INIT;
	enum np_picture_kind kind;

	return np_picture_kind(path, &kind, &err) ?
	       cli_usage(cmd, "--%s=%s", option, err.text) : -1;
}

/* Check the number of arguments, and options that exclude each other. */
static int check_arguments(const struct cli_cmd *cmd,
			   const struct cli_options *o)
{
	char known[256];

	if (cmd->missing && (!o->n_apps || o->n_apps < cmd->least))
		return cli_usage(cmd, "%s needs %s%s", cmd->name, cmd->missing,
				 cmd->takes & CLI_TAKES_APPS ?
				 cli_known_apps(o, known, sizeof(known)) : "");
	if (o->n_apps > cmd->most)
		return cli_usage(cmd, "unexpected argument \"%.64s\"",
				 o->apps[cmd->most]);
	if (o->plot && o->format)
		return cli_usage(cmd, "--plot has no effect with an output for "
				 "programs");
	if (o->published && o->user_given)
		return cli_usage(cmd, "expected only one of --user and "
				 "--published");
	return o->plot ? cli_check_picture(cmd, "plot", o->plot) : -1;
}

/* Options that select rows imply --parsable or --csv. */
static void select_rows(const struct cli_cmd *cmd, struct cli_options *o)
{
	o->rows.any = o->rows.noheader || o->rows.fields || o->rows.sort;
	if (!o->rows.any)
		return;
	/* A command may have only one of the two formats. */
	if (o->format == CLI_TEXT)
		o->format = cmd->takes & CLI_TAKES_FORMAT ? CLI_PARSABLE :
							    CLI_CSV;
	cli_print_select(&o->rows);
}

int cli_options_parse(const struct cli_cmd *cmd, int argc, char **argv,
		      void *own, struct cli_options *out)
{
	struct cli_options o = {
		.uid = geteuid(), .scope = NP_SCOPE_LEAF,
		.model = np_model_find(NP_MODEL_DEFAULT, NULL),
	};
	struct getopt g;
	int opt, rc;

	make_tables(&g, cmd);
	/* We print errors ourselves, with suggestions. */
	opterr = 0;
	while ((opt = getopt_long(argc, argv, g.shorts, g.longs, NULL)) != -1) {
		if (opt == ':')
			return cli_usage(cmd, "%.64s needs an argument",
					 argv[optind - 1]);
		if (opt == '?')
			return fail_unknown(cmd, &g, argv[optind - 1]);
		/* Short options are translated to rows of the same table. */
		opt = opt < FIRST_VAL ? g.row[opt] : opt - FIRST_VAL;
		rc = opt < N_SHARED ? take_shared(cmd, opt, &o) :
		     set_member(cmd, &cmd->own[opt - N_SHARED], own);
		if (rc >= 0)
			return rc;
	}
	select_rows(cmd, &o);
	o.apps = argv + optind;
	o.n_apps = (size_t)(argc - optind);
	o.app = o.apps[0];
	*out = o;
	return check_arguments(cmd, out);
}
