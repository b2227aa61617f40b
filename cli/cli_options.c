#include "cli_options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELP, JSON, PARSABLE, USER, PUBLISHED, ALL, AS, MODEL, SCOPE, CSV,
       OUTPUT, PLOT, N_SHARED };

/* What several commands take; takes: which of these do, 0: all. */
static const struct {
	const char *name;
	int has_arg, takes;
	char letter;
} shared[N_SHARED] = {
	[HELP] = { "help", no_argument, 0, 'h' },
	[JSON] = { "json", no_argument, CLI_TAKES_FORMAT | CLI_TAKES_JSON },
	/* -P as in sacct */
	[PARSABLE] = { "parsable", no_argument, CLI_TAKES_FORMAT, 'P' },
	[USER] = { "user", required_argument, CLI_TAKES_USER },
	[PUBLISHED] = { "published", no_argument, CLI_TAKES_USER },
	[ALL] = { "all", no_argument, CLI_TAKES_ALL },
	[AS] = { "as", required_argument, CLI_TAKES_AS },
	[MODEL] = { "model", required_argument, CLI_TAKES_MODEL },
	[SCOPE] = { "scope", required_argument, CLI_TAKES_MODEL },
	[CSV] = { "csv", no_argument, CLI_TAKES_CSV },
	[OUTPUT] = { "output", required_argument, CLI_TAKES_OUTPUT, 'o' },
	[PLOT] = { "plot", required_argument, CLI_TAKES_PLOT },
};

/* The tables as getopt_long() wants them; val: FIRST and the row. */
#define FIRST 256 /* no letter */

struct getopt {
	struct option longs[N_SHARED + CLI_MAX_OPTIONS + 1];
	size_t n;
	char shorts[2 * (N_SHARED + CLI_MAX_OPTIONS) + 3];
	int row[256]; /* of a letter */
};

static void add(struct getopt *g, const char *name, int has_arg, int row,
		char letter)
{
	const char text[] = { letter, has_arg ? ':' : '\0', '\0' };

	g->longs[g->n++] = (struct option){ name, has_arg, NULL, FIRST + row };
	strcat(g->shorts, text);
	g->row[(unsigned char)letter] = row;
}

static void build(struct getopt *g, int takes, const struct np_option *own)
{
	*g = (struct getopt){ .n = 0 };
	/* "+": the words begin with the first that is no option. */
	strcpy(g->shorts, takes & CLI_TAKES_COMMAND ? "+:" : ":");
	for (int i = 0; i < N_SHARED; i++)
		if (!shared[i].takes || (shared[i].takes & takes))
			add(g, shared[i].name, shared[i].has_arg, i,
			    shared[i].letter);
	for (int i = 0; own && own[i].name; i++)
		add(g, own[i].name, np_option_has_argument(&own[i]),
		    N_SHARED + i, own[i].letter);
}

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

static int take_model(const struct cli_cmd *cmd, const char *text,
		      struct cli_options *o)
{
	struct np_err err = NP_ERR_INIT;

	o->model = np_model_find(text, &err);
	return o->model ? -1 : cli_usage(cmd, "%s", err.text);
}

int cli_uid_of(const char *user, uid_t *uid)
{
	const struct passwd *pw = getpwnam(user);
	unsigned long n;
	char *end;

	if (pw) {
		*uid = pw->pw_uid;
		return 0;
	}
	errno = 0;
	n = strtoul(user, &end, 10);
	if (!isdigit((unsigned char)*user) || *end || errno || n >= (uid_t)-1)
		return -ENOENT;
	*uid = (uid_t)n;
	return 0;
}

static int take(const struct cli_cmd *cmd, int opt, struct cli_options *o)
{
	switch (opt) {
	case HELP:
		cli_print_help(cmd);
		return CLI_DONE;
	case JSON:
		o->format = CLI_JSON;
		return -1;
	case PARSABLE:
		o->format = CLI_PARSABLE;
		return -1;
	case USER:
		o->user_given = true;
		if (cli_uid_of(optarg, &o->uid))
			return cli_fail("--user=%.64s: no such user", optarg);
		return -1;
	case PUBLISHED:
		o->published = true;
		return -1;
	case MODEL:
		return take_model(cmd, optarg, o);
	case SCOPE:
		return take_scope(cmd, optarg, o);
	case CSV:
		o->format = CLI_CSV;
		return -1;
	case ALL:
		o->all = true;
		return -1;
	case PLOT:
		o->plot = optarg;
		return -1;
	case OUTPUT:
		o->output = optarg;
		return -1;
	default:
		o->as = optarg;
		return -1;
	}
}

static int take_own(const struct cli_cmd *cmd, const struct np_option *own,
		    void *ask)
{
	struct np_err err = NP_ERR_INIT;

	return np_option_set(own, optarg, ask, &err) ?
	       cli_usage(cmd, "%s", err.text) : -1;
}

static int check_words(const struct cli_cmd *cmd, int takes,
		       const struct cli_options *o)
{
	size_t wanted = !!(takes & CLI_TAKES_APP);

	if (o->n_apps < wanted)
		return cli_usage(cmd, "the application is missing");
	if (o->n_apps > wanted &&
	    !(takes & (CLI_TAKES_APPS | CLI_TAKES_COMMAND)))
		return cli_usage(cmd, "%.64s: not expected here",
				 o->apps[wanted]);
	if (o->published && o->user_given)
		return cli_usage(cmd, "--user and --published: expected one");
	return -1;
}

int cli_options_parse_own(const struct cli_cmd *cmd, int argc, char **argv,
			  int takes, const struct np_option *own, void *ask,
			  struct cli_options *out)
{
	struct cli_options o = {
		.uid = geteuid(), .scope = NP_SCOPE_LEAF,
		.model = np_model_find(NP_MODEL_DEFAULT, NULL),
	};
	struct getopt g;
	int opt, rc;

	build(&g, takes, own);
	opterr = 0;
	while ((opt = getopt_long(argc, argv, g.shorts, g.longs, NULL)) != -1) {
		if (opt == ':')
			return cli_usage(cmd, "%.64s: an argument is missing",
					 argv[optind - 1]);
		if (opt == '?')
			return cli_usage(cmd, "%.64s: no such option",
					 argv[optind - 1]);
		opt = opt < FIRST ? g.row[opt] : opt - FIRST;
		rc = opt < N_SHARED ? take(cmd, opt, &o) :
		     take_own(cmd, &own[opt - N_SHARED], ask);
		if (rc >= 0)
			return rc;
	}
	o.apps = argv + optind;
	o.n_apps = (size_t)(argc - optind);
	o.app = takes & CLI_TAKES_APP ? o.apps[0] : NULL;
	*out = o;
	return check_words(cmd, takes, out);
}

int cli_options_parse(const struct cli_cmd *cmd, int argc, char **argv,
		      int takes, struct cli_options *out)
{
	return cli_options_parse_own(cmd, argc, argv, takes, NULL, NULL, out);
}
