#include "cli_options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELP = 256, JSON, PARSABLE, USER, PUBLISHED, ALL, AS, MODEL, SCOPE,
       CSV };

static const struct option longs[] = {
	{ "help", no_argument, NULL, HELP },
	{ "json", no_argument, NULL, JSON },
	{ "parsable", no_argument, NULL, PARSABLE },
	{ "user", required_argument, NULL, USER },
	{ "published", no_argument, NULL, PUBLISHED },
	{ "all", no_argument, NULL, ALL },
	{ "as", required_argument, NULL, AS },
	{ "model", required_argument, NULL, MODEL },
	{ "scope", required_argument, NULL, SCOPE },
	{ "csv", no_argument, NULL, CSV },
	{ NULL, 0, NULL, 0 },
};

/* Which of these says that the option is taken; 0: all commands do. */
static int needs(int opt)
{
	switch (opt) {
	case JSON: return CLI_TAKES_FORMAT | CLI_TAKES_JSON;
	case PARSABLE: return CLI_TAKES_FORMAT;
	case MODEL: case SCOPE: return CLI_TAKES_MODEL;
	case CSV: return CLI_TAKES_CSV;
	case USER: case PUBLISHED: return CLI_TAKES_USER;
	case ALL: return CLI_TAKES_ALL;
	case AS: return CLI_TAKES_AS;
	default: return 0;
	}
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
	default:
		o->as = optarg;
		return -1;
	}
}

int cli_options_parse(const struct cli_cmd *cmd, int argc, char **argv,
		      int takes, struct cli_options *out)
{
	struct cli_options o = {
		.uid = geteuid(), .scope = NP_SCOPE_LEAF,
		.model = np_model_find(NP_MODEL_DEFAULT, NULL),
	};
	int opt, rc, words, wanted;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":hP", longs, NULL)) != -1) {
		/* -P as in sacct */
		opt = opt == 'h' ? HELP : opt == 'P' ? PARSABLE : opt;
		if (opt == ':')
			return cli_usage(cmd, "%s: an argument is missing",
					 argv[optind - 1]);
		if (opt == '?' || (needs(opt) && !(needs(opt) & takes)))
			return cli_usage(cmd, "%.64s: no such option",
					 argv[optind - 1]);
		rc = take(cmd, opt, &o);
		if (rc >= 0)
			return rc;
	}
	words = argc - optind;
	wanted = !!(takes & CLI_TAKES_APP);
	if (words < wanted)
		return cli_usage(cmd, "the application is missing");
	if (words > wanted && !(takes & CLI_TAKES_APPS))
		return cli_usage(cmd, "%.64s: not expected here",
				 argv[optind + wanted]);
	if (o.published && o.user_given)
		return cli_usage(cmd, "--user and --published: expected one");
	o.app = wanted ? argv[optind] : NULL;
	o.apps = argv + optind;
	o.n_apps = (size_t)words;
	*out = o;
	return -1;
}
