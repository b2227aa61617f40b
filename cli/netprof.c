/*
 * The program netprof, with its commands help and version.
 *
 * One table of commands serves for dispatch, for the list of commands and for
 * suggestions after a typing error.  Commands of the package netprof-analysis
 * are in it as well; they are run by the program netprof-analysis, as git runs
 * its external commands.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cli_options.h"
#include "cli_analysis.h"
#include "np_text.h"
#include "np_out.h"

static const struct cli_cmd cmd_help, cmd_version;

/* Commands of the package netprof-analysis: run by the program of that name. */
static int run_analysis(const struct cli_cmd *self, int argc, char **argv)
{
	(void)self;
	(void)argc;
	return cli_analysis_run(argv);
}

enum { LOGGPS, TRACE, TOLERANCE, QN, SCALE, SHARING, REPLAY };

static const struct cli_cmd analysis[] = {
	[LOGGPS] = { "loggps", .run = run_analysis, .help =
		     "measure what a message costs: latency, overhead, "
		     "bandwidth" },
	[TRACE] = { "trace", .run = run_analysis, .help =
		    "summarise the trace of an MPI program, or convert it" },
	[TOLERANCE] = { "tolerance", .run = run_analysis, .help =
			"how much latency a program tolerates, from its "
			"execution graph" },
	[QN] = { "qn", .run = run_analysis, .help =
		 "solve a queueing network" },
	[SCALE] = { "scale", .run = run_analysis, .help =
		    "how a program scales, from traces or reports of mpiP" },
	[SHARING] = { "sharing", .run = run_analysis, .help =
		      "how concurrent transfers share a network" },
	[REPLAY] = { "replay", .run = run_analysis, .help =
		     "simulate programs on a network, alone and together" },
};

static const struct cli_cmd *const cmds[] = {
	&cmd_show, &cmd_list, &cmd_runs, &cmd_compare, &cmd_plot, &cmd_report,
	&cmd_forget,
	&cmd_predict, &cmd_matrix, &cmd_accuracy, &cmd_validate,
	&cmd_status, &cmd_explain, &cmd_blame, &cmd_simulate,
	&cmd_calibrate, &cmd_publish, &cmd_unpublish, &cmd_check, &cmd_topology,
	&cmd_release, &cmd_metrics,
	&analysis[TRACE], &analysis[TOLERANCE], &analysis[LOGGPS],
	&analysis[SCALE], &analysis[SHARING], &analysis[REPLAY], &analysis[QN],
	&cmd_help, &cmd_version,
};

/* Headings in the list of commands, each above its first command. */
static const struct {
	const struct cli_cmd *first;
	const char *title;
} groups[] = {
	{ &cmd_show, "What applications do to the network" },
	{ &cmd_predict, "What happens when they share a leaf switch" },
	{ &cmd_status, "What placement does" },
	{ &cmd_calibrate, "For administrators" },
	{ &analysis[TRACE], "Analysis of messages" },
	{ &cmd_help, "Other commands" },
};

/* The command of that name; options such as --help stand for commands, too. */
static const struct cli_cmd *find(const char *name)
{
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	else if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		name = "version";
	for (size_t i = 0; i < NP_ARRAY_SIZE(cmds); i++)
		if (!strcmp(cmds[i]->name, name))
			return cmds[i];
	return NULL;
}

/* Print an error with the names most like it; return CLI_USAGE. */
static int unknown(const char *name)
{
	const char *names[NP_ARRAY_SIZE(cmds)];
	char like[128];

	for (size_t i = 0; i < NP_ARRAY_SIZE(cmds); i++)
		names[i] = cmds[i]->name;
	np_suggest(name, names, NP_ARRAY_SIZE(cmds), like, sizeof(like));
	cli_fail("no such command: %.64s%s", name, like);
	fprintf(stderr, "usage: netprof COMMAND ...; for a list of commands: "
		"netprof help\n");
	return CLI_USAGE;
}

/* All commands, in groups. */
static void list_commands(void)
{
	printf("usage: netprof COMMAND ...\n\n"
	       "Measures how applications use the network while they run, and "
	       "how they slow\neach other down.\n");
	for (size_t i = 0, g = 0; i < NP_ARRAY_SIZE(cmds); i++) {
		if (g < NP_ARRAY_SIZE(groups) && cmds[i] == groups[g].first)
			printf("\n%s\n", groups[g++].title);
		printf("  %-9s %s\n", cmds[i]->name, cmds[i]->help);
	}
	printf("\nTo start: sbatch --netprofile=NAME job.sh, then netprof show "
	       "NAME.\nFor details and examples: netprof help COMMAND, or "
	       "netprof-COMMAND(1).\n");
}

/* Commands of netprof-analysis print their own help. */
static int run_help(const struct cli_cmd *self, int argc, char **argv)
{
	const struct cli_cmd *cmd;

	if (argc > 2)
		return cli_usage(self, "unexpected argument \"%.64s\"",
				 argv[2]);
	if (argc < 2) {
		list_commands();
		return CLI_DONE;
	}
	cmd = find(argv[1]);
	if (!cmd)
		return unknown(argv[1]);
	if (cmd->run == run_analysis)
		return cli_analysis_run((char *[]){ argv[1], "--help", NULL });
	cli_print_help(cmd);
	return CLI_DONE;
}

static const struct cli_cmd cmd_help = {
	.name = "help", .args = "[COMMAND]",
	.help = "list the commands, or describe one",
	.text = "Lists the commands, or describes one of them.",
	.run = run_help,
};

static int run_version(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_options o;
	int rc = cli_options_parse(self, argc, argv, NULL, &o);

	if (rc >= 0)
		return rc;
	printf("netprof %s\n", NP_VERSION);
	return CLI_DONE;
}

static const struct cli_cmd cmd_version = {
	.name = "version", .args = "",
	.help = "print the version; also --version",
	.text = "Prints the version.",
	.run = run_version,
};

/* argv[0] of a command is its own name. */
int main(int argc, char **argv)
{
	const struct cli_cmd *cmd;

	/* Only the character set: numbers do not depend on the language. */
	setlocale(LC_CTYPE, "");
	np_out_plain();
	if (argc < 2) {
		list_commands();
		return CLI_USAGE;
	}
	cmd = find(argv[1]);
	if (!cmd)
		return unknown(argv[1]);
	return cli_run(cmd, argc - 1, argv + 1);
}
