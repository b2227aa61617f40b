/*
 * What job_submit_netprof.so, which Slurm loads, calls in netprof_placement.so,
 * which it loads itself.  The first needs nothing but the C library, so that
 * slurmctld can always load it; the second is left alone where it does not fit.
 */
#ifndef NP_PLUGIN_H
#define NP_PLUGIN_H

#include "np_ctl.h"

struct np_plugin {
	uint32_t built_for; /* as SLURM_VERSION_NUMBER */
	void (*init)(void);
	void (*fini)(void);
	void (*submit)(job_desc_msg_t *d);
	/* Returns a Slurm error number, or 0. */
	int (*modify)(job_desc_msg_t *d, uint32_t submit_uid);
};

#define NP_PLUGIN_FILE "netprof_placement.so"
#define NP_PLUGIN_SYMBOL "np_plugin"
extern const struct np_plugin np_plugin;

#endif
