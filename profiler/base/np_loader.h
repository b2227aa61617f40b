/*
 * Which Slurm loads a plugin of ours?  It takes only what says to be of its own
 * version, and a slurmctld that misses a plugin does not start.  So ours say
 * what is wanted to hear, and do nothing where they were built for a release
 * with other structures: within one release (major.minor) these stay the same.
 */
#ifndef NP_LOADER_H
#define NP_LOADER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * As Slurm numbers it (major << 16 | minor << 8 | micro), from a plugin of
 * Slurm's own that this process has loaded already, or from one beside Slurm's
 * library: sbatch has loaded none by then.  0: this is no program of Slurm's.
 * For a constructor: Slurm looks at the version after these have run.
 */
uint32_t np_loader_version(void);

/* "22.05.8".  Returns buf. */
#define NP_LOADER_TEXT 16
const char *np_loader_text(uint32_t version, char buf[NP_LOADER_TEXT]);

/* Is what was built for one version safe with the other? */
static inline bool np_loader_fits(uint32_t built, uint32_t loader)
{
	return built >> 8 == loader >> 8;
}

#endif
