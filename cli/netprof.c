#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "np_err.h"

static const struct np_cmd {
	const char *name, *args, *help;
	int (*run)(int argc, char **argv); /* returns the exit code */
} cmds[] = {
	{ "accuracy", "FILE...", "models against measured pairs",
	  cmd_accuracy },
};

static int usage(FILE *to)
{
	fprintf(to, "usage: netprof COMMAND ...\n");
	for (size_t i = 0; i < NP_ARRAY_SIZE(cmds); i++)
		fprintf(to, "  %-10s %-12s %s\n", cmds[i].name, cmds[i].args,
			cmds[i].help);
	return to == stderr ? 2 : 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && (!strcmp(argv[1], "help") ||
			 !strcmp(argv[1], "--help")))
		return usage(stdout);
	for (size_t i = 0; argc > 1 && i < NP_ARRAY_SIZE(cmds); i++)
		if (!strcmp(argv[1], cmds[i].name))
			return cmds[i].run(argc - 1, argv + 1);
	return usage(stderr);
}
