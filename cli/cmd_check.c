/* netprof check: is all in place, and if not, what to do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_check.h"
#include "cli_json_put.h"
#include "cli_print.h"
#include "cli_state.h"

static void text_finding(const struct cli_finding *f)
{
	static const enum cli_colour colours[] = {
		[CLI_OK] = CLI_GREEN, [CLI_WARNING] = CLI_YELLOW,
		[CLI_PROBLEM] = CLI_RED,
	};
	char line[2 * CLI_CHECK_TEXT];

	snprintf(line, sizeof(line), "%s: %s", f->about, f->text);
	printf("%s%-9s%s", cli_colour(colours[f->result]),
	       cli_result_name(f->result), cli_colour(CLI_PLAIN));
	cli_wrap_beside(stdout, line, 9, 9);
	/* Not wrapped: it is there to be copied. */
	if (*f->remedy)
		printf("         -> %s\n", f->remedy);
}

static int count(const struct cli_check *c, enum cli_result r)
{
	int n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->found[i].result == r;
	return n;
}

static void print_text(const struct cli_check *c)
{
	int problems = count(c, CLI_PROBLEM);
	int warnings = count(c, CLI_WARNING);

	for (size_t i = 0; i < c->n; i++)
		text_finding(&c->found[i]);
	printf("%d problem%s, %d warning%s\n", problems, problems == 1 ? "" :
	       "s", warnings, warnings == 1 ? "" : "s");
}

static const struct cli_table table = {
	"Result|About|Text|Remedy",
	{ { "checks", "result|about|text|remedy" } },
};

static void print_data(const struct cli_check *c, enum cli_format format)
{
	json_object *j = json_object_new_object();
	json_object *list = cli_put_array(j, "checks");

	for (size_t i = 0; i < c->n; i++) {
		const struct cli_finding *f = &c->found[i];
		json_object *one = cli_append_object(list);

		cli_put_text(one, "result", cli_result_name(f->result));
		cli_put_text(one, "about", f->about);
		cli_put_text(one, "text", f->text);
		cli_put_text(one, "remedy", f->remedy);
	}
	cli_put_bool(j, "problem", count(c, CLI_PROBLEM) > 0);
	cli_print_page(format, "check", j, &table);
}

static int print(const struct cli_check *c, enum cli_format format)
{
	if (format)
		print_data(c, format);
	else
		print_text(c);
	return count(c, CLI_PROBLEM) ? CLI_FAILED : CLI_DONE;
}

void cli_check_all(struct cli_check *c)
{
	static void (*const checks[])(struct cli_check *) = {
		cli_check_programs, cli_check_slurm, cli_check_plugins,
		cli_check_plugstack, cli_check_store, cli_check_knowledge,
		cli_check_placement,
	};

	cli_check_conf(c);
	cli_slurm_ask(&c->slurm);
	for (size_t i = 0; i < NP_ARRAY_SIZE(checks); i++)
		checks[i](c);
}

/*
 * What each daemon does with these plugins; without any, with those that are
 * installed.  For make install: only what is wrong is told of those it names.
 */
static int check_versions(struct cli_check *c, char **paths, size_t n)
{
	int rc = CLI_DONE;

	if (n) {
		cli_slurm_installed(&c->slurm);
	} else {
		cli_slurm_ask(&c->slurm);
		cli_check_plugins(c);
	}
	for (size_t i = 0; i < n; i++)
		cli_check_plugin(c, paths[i], true);
	for (size_t i = 0; i < c->n; i++) {
		if (n && c->found[i].result == CLI_OK)
			continue;
		text_finding(&c->found[i]);
		rc = c->found[i].result == CLI_PROBLEM ? CLI_FAILED : rc;
	}
	return rc;
}

static int make_users(const struct cli_cmd *self, int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		if (*argv[i] == '-')
			return cli_usage(self, "unexpected argument \"%.64s\"",
					 argv[i]);
	return cli_make_users(argv + 2, (size_t)argc - 2);
}

/* --fabric=FILE [--seconds=SEC] */
static int check_fabric(const struct cli_cmd *self, int argc, char **argv)
{
	const char *path = argv[1] + strlen("--fabric=");
	double sec = 30;

	if (!*path)
		return cli_usage(self, "--fabric=: expected a file");
	if (argc > 3)
		return cli_usage(self, "%.64s: not expected here", argv[3]);
	if (argc == 3 && (sscanf(argv[2], "--seconds=%lf", &sec) != 1 ||
			  !(sec >= 1 && sec <= 3600)))
		return cli_usage(self, "%.64s: expected --seconds=SEC, from 1 "
				 "to 3600", argv[2]);
	return cli_check_fabric(path, sec);
}

static int run_check(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_check c = { .now = cli_now() };
	bool versions = argc > 1 && !strcmp(argv[1], "--versions");
	bool store = argc > 1 && !strcmp(argv[1], "--make-store");
	struct cli_options o;
	int rc;

	if (argc > 1 && !strncmp(argv[1], "--fabric=", strlen("--fabric=")))
		return check_fabric(self, argc, argv);
	if (argc > 1 && !strcmp(argv[1], "--make-users"))
		return make_users(self, argc, argv);
	if (store)
		return argc == 2 ? cli_make_store() :
			cli_usage(self, "unexpected argument \"%.64s\"", argv[2]);
	if (versions && argc > 2 && *argv[2] == '-')
		return cli_usage(self, "unexpected argument \"%.64s\"", argv[2]);
	rc = versions ? -1 : cli_options_parse(self, argc, argv, NULL, &o);
	if (rc >= 0)
		return rc;
	c.found = calloc(CLI_CHECK_MAX, sizeof(*c.found));
	if (!c.found)
		return cli_fail("out of memory");
	if (versions) {
		rc = check_versions(&c, argv + 2, (size_t)argc - 2);
	} else {
		cli_check_all(&c);
		rc = print(&c, o.format);
	}
	free(c.found);
	return rc;
}

const struct cli_cmd cmd_check = {
	.name = "check",
	.args = "[--json|--parsable] | --versions [PLUGIN.so...] | "
		"--make-store | --make-users [USER...] |\n"
		"        --fabric=FILE [--seconds=SEC]",
	.help = "is netprof set up well; what to do if not",
	.text =
"Looks at the configuration, the versions of Slurm and of the plugins, the\n"
"permissions of the store, the calibration, the profiles, and whether\n"
"placement is at work.  Each line says ok, warning or problem, and what to\n"
"do.  Works as any user, with what that user may read; best as root where\n"
"slurmctld runs.  Exits with 1 if there is a problem.\n\n"
"  --json, --parsable  the same for programs; --parsable (-P) as in sacct\n"
"  --versions          only what each program of the installed Slurm does with\n"
"                      the plugins that are installed, or with these\n"
"  --make-store        as root: make the store, and the directories in it that\n"
"                      are missing, for the Slurm that is here\n"
"  --make-users        as root: make the directories of these users in the\n"
"                      store (of all, without names), before somebody else\n"
"                      can take their places\n"
"  --fabric=FILE       inside an allocation (salloc -N8 --exclusive): measure what\n"
"                      only this network can tell, for half an hour, into a file\n"
"                      that names no user and can be sent to the project\n"
"  --seconds=SEC       of each measurement of it (default 30)",
	.examples =
"  netprof check\n"
"  netprof check --make-store        # as root\n"
"  netprof check --versions\n"
"  salloc -N8 --exclusive netprof check --fabric=fabric.txt\n",
	.takes = CLI_TAKES_FORMAT,
	.run = run_check,
};
