/* What the plugin does in slurmd itself. */
#ifndef SPANK_SLURMD_H
#define SPANK_SLURMD_H

#include "np_err.h"

/*
 * Start the node's netprof-saver, which ends when slurmd does, however that
 * ends.  It is not waited for: one whose program cannot be loaded is not there,
 * as its clients notice.  Returns 0 or -errno with err.
 */
int spank_slurmd_start_saver(const char *libexecdir, struct np_err *err);

#endif
