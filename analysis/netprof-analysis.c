/*
 * netprof-analysis: the commands of the package of that name, which `netprof
 * NAME` becomes. Their names and one line of help are in cli/netprof.c, too.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "np_out.h"

extern const struct cli_cmd cmd_loggps, cmd_trace, cmd_tolerance, cmd_curve,
	cmd_qn, cmd_scale, cmd_sharing, cmd_replay;

static const struct cli_cmd *const cmds[] = {
	&cmd_loggps, &cmd_trace, &cmd_tolerance, &cmd_curve,
	&cmd_qn,     &cmd_scale, &cmd_sharing,	 &cmd_replay,
};

int main(int argc, char **argv)
{
	setlocale(LC_CTYPE, "");
	np_out_plain();
	for (size_t i = 0; argc > 1 && i < NP_ARRAY_SIZE(cmds); i++)
		if (!strcmp(cmds[i]->name, argv[1]))
			return cli_run(cmds[i], argc - 1, argv + 1);
	fprintf(stderr, "netprof-analysis: run by \"netprof COMMAND\"; see "
			"netprof help\n");
	return CLI_USAGE;
}
