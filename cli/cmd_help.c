/* netprof help [COMMAND], netprof version */
#include <stdio.h>
#include <string.h>

#include "cli_options.h"

static int run_help(const struct cli_cmd *self, int argc, char **argv)
{
	const struct cli_cmd *cmd;

	if (argc > 2)
		return cli_usage(self, "%.64s: not expected here", argv[2]);
	if (argc == 2) {
		cmd = cli_cmd_find(argv[1]);
		if (!cmd)
			return cli_usage(self, "no command \"%.64s\"", argv[1]);
		cli_print_help(cmd);
		return CLI_DONE;
	}
	printf("usage: netprof COMMAND ...\n\n"
	       "What programs do to the network, measured while they run.\n\n");
	for (size_t i = 0; i < cli_n_cmds; i++)
		printf("  %-9s %s\n", cli_cmds[i]->name, cli_cmds[i]->help);
	printf("\nnetprof help COMMAND says more; so does netprof(1).\n");
	return CLI_DONE;
}

const struct cli_cmd cmd_help = {
	.name = "help", .args = "[COMMAND]",
	.help = "what netprof or one of its commands does",
	.text = "Lists the commands, or tells about one of them.",
	.run = run_help,
};

static int run_version(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_options o;
	int rc = cli_options_parse(self, argc, argv, 0, &o);

	if (rc >= 0)
		return rc;
	printf("netprof %s\n", NP_VERSION);
	return CLI_DONE;
}

const struct cli_cmd cmd_version = {
	.name = "version", .args = "",
	.help = "which netprof this is; also --version",
	.text = "Prints the version.",
	.run = run_version,
};
