/*
 * The program netprof, with its commands help and version.
 *
 * A single table of commands is used to dispatch them, to list them, and to
 * suggest one when a name is mistyped. It also contains the commands of the
 * package netprof-analysis, so that they are listed even where it is not
 * installed. The program netprof-analysis runs these, as git runs its external
 * commands.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_analysis.h"
#include "cli_options.h"
#include "np_out.h"
#include "np_text.h"

static const struct cli_cmd cmd_help, cmd_version;

/* Run a command of the package netprof-analysis. */
static int run_analysis(const struct cli_cmd *self, int argc, char **argv)
{
	(void)self;
	(void)argc;
	return cli_analysis_run(argv);
}

/* Indices of analysis_cmds[]. */
enum { LOGGPS, TRACE, TOLERANCE, QN, SCALE, SHARING, REPLAY };

static const struct cli_cmd analysis_cmds[] = {
	[LOGGPS] = { "loggps", .run = run_analysis,
		     .help = "measure what a message costs: latency, overhead, "
			     "bandwidth" },
	[TRACE] = { "trace", .run = run_analysis,
		    .help = "summarise the trace of an MPI program, or convert it" },
	[TOLERANCE] = { "tolerance", .run = run_analysis,
			.help = "how much latency a program tolerates, from its "
				"execution graph" },
	[QN] = { "qn", .run = run_analysis,
		 .help = "solve a queueing network" },
	[SCALE] = { "scale", .run = run_analysis,
		    .help = "how a program scales, from traces or mpiP reports" },
	[SHARING] = { "sharing", .run = run_analysis,
		      .help = "how concurrent transfers share a network" },
	[REPLAY] = { "replay", .run = run_analysis,
		     .help = "simulate programs on a network, alone and together" },
};

/* All commands, in the order in which they are listed. */
static const struct {
	const struct cli_cmd *cmd;
	const char *heading; /* printed above it, or NULL */
} cmds[] = {
	{ &cmd_show, "What applications do to the network" },
	{ &cmd_list, NULL },
	{ &cmd_runs, NULL },
	{ &cmd_compare, NULL },
	{ &cmd_plot, NULL },
	{ &cmd_report, NULL },
	{ &cmd_forget, NULL },
	{ &cmd_predict, "What happens when they share a leaf switch" },
	{ &cmd_matrix, NULL },
	{ &cmd_accuracy, NULL },
	{ &cmd_validate, NULL },
	{ &cmd_status, "What placement does" },
	{ &cmd_explain, NULL },
	{ &cmd_blame, NULL },
	{ &cmd_simulate, NULL },
	{ &cmd_calibrate, "For administrators" },
	{ &cmd_publish, NULL },
	{ &cmd_unpublish, NULL },
	{ &cmd_check, NULL },
	{ &cmd_topology, NULL },
	{ &cmd_release, NULL },
	{ &cmd_metrics, NULL },
	{ &analysis_cmds[TRACE], "Analysis of messages" },
	{ &analysis_cmds[TOLERANCE], NULL },
	{ &analysis_cmds[LOGGPS], NULL },
	{ &analysis_cmds[SCALE], NULL },
	{ &analysis_cmds[SHARING], NULL },
	{ &analysis_cmds[REPLAY], NULL },
	{ &analysis_cmds[QN], NULL },
	{ &cmd_help, "Other commands" },
	{ &cmd_version, NULL },
};

/* Find a command by its name, or by the option --help or --version. */
static const struct cli_cmd *find_cmd(const char *name)
{
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	else if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		name = "version";
	for (size_t i = 0; i < NP_ARRAY_SIZE(cmds); i++)
		if (!strcmp(cmds[i].cmd->name, name))
			return cmds[i].cmd;
	return NULL;
}

/* Print that there is no such command, and suggest similar ones. */
static int report_unknown_cmd(const char *name)
{
	const char *names[NP_ARRAY_SIZE(cmds)];
	char suggestion[128];

	for (size_t i = 0; i < NP_ARRAY_SIZE(cmds); i++)
		names[i] = cmds[i].cmd->name;
	np_suggest(name, names, NP_ARRAY_SIZE(cmds), suggestion,
		   sizeof(suggestion));
	cli_fail("no such command: %.64s%s", name, suggestion);
	fprintf(stderr, "usage: netprof COMMAND ...\n"
			"Run netprof help for a list of commands.\n");
	return CLI_USAGE;
}

static void print_usage(void)
{
	printf("usage: netprof COMMAND ...\n\n"
	       "Measures how applications use the network while they run, and "
	       "how they slow\neach other down.\n");
	for (size_t i = 0; i < NP_ARRAY_SIZE(cmds); i++) {
		if (cmds[i].heading)
			printf("\n%s\n", cmds[i].heading);
		printf("  %-9s %s\n", cmds[i].cmd->name, cmds[i].cmd->help);
	}
	printf("\nTo begin, run sbatch --netprofile=NAME job.sh, and then "
	       "netprof show NAME.\nFor details and examples, see netprof help "
	       "COMMAND or netprof-COMMAND(1).\n");
}

static int run_help(const struct cli_cmd *self, int argc, char **argv)
{
	const struct cli_cmd *cmd;

	if (argc > 2)
		return cli_usage(self, "unexpected argument \"%.64s\"",
				 argv[2]);
	if (argc < 2) {
		print_usage();
		return CLI_DONE;
	}
	cmd = find_cmd(argv[1]);
	if (!cmd)
		return report_unknown_cmd(argv[1]);
	/* Commands of netprof-analysis print their own help. */
	if (cmd->run == run_analysis)
		return cli_analysis_run((char *[]){ argv[1], "--help", NULL });
	cli_print_help(cmd);
	return CLI_DONE;
}

static const struct cli_cmd cmd_help = {
	.name = "help",
	.args = "[COMMAND]",
	.help = "list the commands, or describe one",
	.text = "Lists the commands, or describes one of them.",
	.run = run_help,
};

static int run_version(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_options options;
	int rc = cli_options_parse(self, argc, argv, NULL, &options);

	if (rc >= 0)
		return rc;
	printf("netprof %s\n", NP_VERSION);
	return CLI_DONE;
}

static const struct cli_cmd cmd_version = {
	.name = "version",
	.args = "",
	.help = "print the version; also --version",
	.text = "Prints the version.",
	.run = run_version,
};

/* Each command receives its own name as argv[0]. */
int main(int argc, char **argv)
{
	const struct cli_cmd *cmd;

	/* Use the locale's character set, but not its format of numbers. */
	setlocale(LC_CTYPE, "");
	/* If set, scontrol cuts the lines of a topology at this length. */
	unsetenv("SLURM_TOPO_LEN");
	/* Filter control characters from all output from here on. */
	np_out_plain();
	if (argc < 2) {
		print_usage();
		return CLI_USAGE;
	}
	cmd = find_cmd(argv[1]);
	if (!cmd)
		return report_unknown_cmd(argv[1]);
	return cli_run(cmd, argc - 1, argv + 1);
}
