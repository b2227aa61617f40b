/* Versions of Slurm, as its programs tell them.  No I/O. */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The version in "slurm-wlm 22.05.8" or "24.05.0-0rc1", as Slurm numbers it:
 * major << 16 | minor << 8 | micro.
 */
bool cli_version_parse(const char *text, uint32_t *out);

#endif
