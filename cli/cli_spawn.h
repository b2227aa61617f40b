/* Running another program for its output, without a shell. */
#ifndef CLI_SPAWN_H
#define CLI_SPAWN_H

#include <stddef.h>

/*
 * Run argv (argv[0] is looked up in PATH), standard input and error being
 * /dev/null.  buf: its output, cut at len - 1 bytes and terminated.
 * Returns its exit status (128 + signal if one ended it), or -ENOENT (no such
 * program), -ETIMEDOUT (it was killed after sec) or another -errno.
 */
int cli_spawn(char *const argv[], double sec, char *buf, size_t len);

#endif
