/* What the installed Slurm says of itself. */
#ifndef CLI_SLURM_H
#define CLI_SLURM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Versions of Slurm, as its programs tell them.  No I/O. */

/*
 * The version in "slurm-wlm 22.05.8" or "24.05.0-0rc1", as Slurm numbers it:
 * major << 16 | minor << 8 | micro.
 */
bool cli_version_parse(const char *text, uint32_t *out);

/* Running another program for its output, without a shell. */

/*
 * Run argv (argv[0] is looked up in PATH), standard input and error being
 * /dev/null.  buf: its output, cut at len - 1 bytes and terminated.
 * Returns its exit status (128 + signal if one ended it), or -ENOENT (no such
 * program), -ETIMEDOUT (it was killed after sec) or another -errno.
 */
int cli_spawn(char *const argv[], double sec, char *buf, size_t len);

#endif
