/*
 * What a plugin says of itself, read from its file: loading it would run its
 * code.  The file may be anything; reading is bounded.
 */
#ifndef CLI_SLURM_H
#define CLI_SLURM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_err.h"

/*
 * The bytes of a data symbol of a shared object of this machine, at most max.
 * Returns how many, or with err -errno: -ENOENT (no such file), -EINVAL (no
 * shared object of this machine, damaged), -ENODATA (no such symbol, or it
 * is not initialized).
 */
long cli_elf_symbol(const char *path, const char *name, void *buf, size_t max,
		    struct np_err *err);

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
