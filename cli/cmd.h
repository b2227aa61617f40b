/* The subcommands of netprof: each returns the exit code, 0, 1 or 2. */
#ifndef NP_CMD_H
#define NP_CMD_H

int cmd_accuracy(int argc, char **argv);

#endif
