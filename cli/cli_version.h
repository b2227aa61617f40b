/* Versions of Slurm, and which plugins they take.  No I/O. */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "cli_text.h"

/*
 * The version in "slurm-wlm 22.05.8" or "24.05.0-0rc1", as Slurm numbers it:
 * major << 16 | minor << 8 | micro.
 */
bool cli_version_parse(const char *text, uint32_t *out);
/* "22.05.8" */
const char *cli_version_text(uint32_t version, char buf[CLI_NUMBER]);

/*
 * Does a Slurm load a plugin that was built for another?  Its own plugins only
 * if all of the version is the same (exact); SPANK plugins if major and minor
 * are.  See SPANK in spank(8), and plugin_peek() of Slurm.
 */
bool cli_version_fits(bool exact, uint32_t built, uint32_t installed);

#endif
