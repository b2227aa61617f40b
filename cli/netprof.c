/* netprof, and netprof help and version: one table makes dispatch and help. */
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli_options.h"
#include "cli_traced.h"
#include "np_out.h"

static const struct cli_cmd cmd_help, cmd_version;

/* Commands of netprof-analysis, which is another package. */
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
		    "what the trace of an MPI program holds, and in other "
		    "forms" },
	[TOLERANCE] = { "tolerance", .run = run_analysis, .help =
			"how much latency a program stands, from its execution "
			"graph" },
	[QN] = { "qn", .run = run_analysis, .help =
		 "a closed queueing network" },
	[SCALE] = { "scale", .run = run_analysis, .help =
		    "how a program scales, from traces or reports of mpiP" },
	[SHARING] = { "sharing", .run = run_analysis, .help =
		      "how concurrent transfers share a network" },
	[REPLAY] = { "replay", .run = run_analysis, .help =
		     "programs played on a network, alone and together" },
};

static const struct cli_cmd *const cmds[] = {
	&cmd_show, &cmd_list, &cmd_runs, &cmd_compare, &cmd_predict, &cmd_matrix,
	&cmd_plot, &cmd_publish, &cmd_accuracy, &cmd_calibrate, &cmd_validate,
	&analysis[LOGGPS], &cmd_status,
	&cmd_explain, &cmd_check, &cmd_release, &analysis[TRACE],
	&analysis[TOLERANCE], &analysis[QN], &analysis[SCALE],
	&analysis[SHARING], &analysis[REPLAY], &cmd_metrics,
	&cmd_report, &cmd_help, &cmd_version,
};

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

static int run_help(const struct cli_cmd *self, int argc, char **argv)
{
	const struct cli_cmd *cmd;

	if (argc > 2)
		return cli_usage(self, "%.64s: not expected here", argv[2]);
	if (argc == 2) {
		cmd = find(argv[1]);
		if (!cmd)
			return cli_usage(self, "no command \"%.64s\"", argv[1]);
		if (cmd->run == run_analysis)
			return cli_analysis_run((char *[]){ argv[1], "--help",
							    NULL });
		cli_print_help(cmd);
		return CLI_DONE;
	}
	printf("usage: netprof COMMAND ...\n\n"
	       "What programs do to the network, measured while they run.\n\n");
	for (size_t i = 0; i < NP_ARRAY_SIZE(cmds); i++)
		printf("  %-9s %s\n", cmds[i]->name, cmds[i]->help);
	printf("\nnetprof help COMMAND says more; so does netprof(1).\n");
	return CLI_DONE;
}

static const struct cli_cmd cmd_help = {
	.name = "help", .args = "[COMMAND]",
	.help = "what netprof or one of its commands does",
	.text = "Lists the commands, or tells about one of them.",
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
	.help = "which netprof this is; also --version",
	.text = "Prints the version.",
	.run = run_version,
};

static int unknown(const char *name)
{
	char *names[NP_ARRAY_SIZE(cmds)], like[128];

	for (size_t i = 0; i < NP_ARRAY_SIZE(cmds); i++)
		names[i] = (char *)cmds[i]->name;
	cli_suggest(name, names, NP_ARRAY_SIZE(cmds), like, sizeof(like));
	fprintf(stderr, "netprof: no command \"%.64s\"%s\n"
		"usage: netprof COMMAND ...; see netprof help\n", name, like);
	return CLI_USAGE;
}

int main(int argc, char **argv)
{
	const struct cli_cmd *cmd;

	/* Only the character set: numbers are the same in all languages. */
	setlocale(LC_CTYPE, "");
	np_out_plain();
	if (argc < 2)
		return cli_usage(&cmd_help, "a command is missing");
	cmd = find(argv[1]);
	if (!cmd)
		return unknown(argv[1]);
	return cli_run(cmd, argc - 1, argv + 1);
}
