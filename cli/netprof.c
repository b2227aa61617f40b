/* netprof: one table makes dispatch and help. */
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "np_out.h"

const struct cli_cmd *const cli_cmds[] = {
	&cmd_show, &cmd_list, &cmd_runs, &cmd_predict, &cmd_matrix,
	&cmd_publish, &cmd_accuracy, &cmd_calibrate, &cmd_status, &cmd_explain,
	&cmd_check, &cmd_release, &cmd_help, &cmd_version,
};
const size_t cli_n_cmds = NP_ARRAY_SIZE(cli_cmds);

const struct cli_cmd *cli_cmd_find(const char *name)
{
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	else if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		name = "version";
	for (size_t i = 0; i < cli_n_cmds; i++)
		if (!strcmp(cli_cmds[i]->name, name))
			return cli_cmds[i];
	return NULL;
}

static int unknown(const char *name)
{
	char *names[NP_ARRAY_SIZE(cli_cmds)], like[128];

	for (size_t i = 0; i < cli_n_cmds; i++)
		names[i] = (char *)cli_cmds[i]->name;
	cli_suggest(name, names, cli_n_cmds, like, sizeof(like));
	fprintf(stderr, "netprof: no command \"%.64s\"%s\n"
		"usage: netprof COMMAND ...; see netprof help\n", name, like);
	return CLI_USAGE;
}

int main(int argc, char **argv)
{
	const struct cli_cmd *cmd;
	int rc;

	/* Only the character set: numbers are the same in all languages. */
	setlocale(LC_CTYPE, "");
	np_out_plain();
	if (argc < 2)
		return cli_usage(&cmd_help, "a command is missing");
	cmd = cli_cmd_find(argv[1]);
	if (!cmd)
		return unknown(argv[1]);
	rc = cmd->run(cmd, argc - 1, argv + 1);
	if (fflush(stdout) || ferror(stdout))
		return cli_fail("standard output: %s", strerror(errno));
	return rc;
}
