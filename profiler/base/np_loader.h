/*
 * The version of the Slurm program that loads a plugin of netprof.
 *
 * Slurm loads only plugins that report its own version, and a slurmctld without
 * one of its plugins does not start. Therefore our plugins report the loader's
 * version, and do nothing if they were built for a release with other
 * structures. Within one release (major.minor) the structures stay the same.
 */
#ifndef NP_LOADER_H
#define NP_LOADER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The version as Slurm encodes it (major << 16 | minor << 8 | micro), from one
 * of Slurm's own plugins that this process has loaded, or from one next to
 * Slurm's library, as sbatch has not loaded any yet. 0: this is not a Slurm
 * program. To be called in a constructor: Slurm checks the version of a plugin
 * after its constructors have run.
 */
uint32_t np_loader_version(void);

/* "22.05.8"; returns buf. */
#define NP_LOADER_TEXT 16
const char *np_loader_text(uint32_t version, char buf[NP_LOADER_TEXT]);

/* True if a plugin built for one version is safe in a program of the other. */
static inline bool np_loader_fits(uint32_t built, uint32_t loader)
{
	return built >> 8 == loader >> 8;
}

#endif
