/*
 * The interface between the two halves of the plugin. Slurm loads
 * job_submit_netprof.so, which loads netprof_placement.so itself and calls the
 * functions in this table. The first needs nothing but the C library, so that
 * slurmctld can always load it; the second is not used if it was built for
 * another release of Slurm.
 */
#ifndef NP_PLUGIN_H
#define NP_PLUGIN_H

#include "np_ctl.h"

struct np_plugin {
	uint32_t built_for; /* SLURM_VERSION_NUMBER at its build */
	void (*init)(void);
	void (*fini)(void);
	void (*submit)(job_desc_msg_t *d);
	/* Returns 0 or a Slurm error number. */
	int (*modify)(job_desc_msg_t *d, uint32_t submit_uid);
};

#define NP_PLUGIN_FILE "netprof_placement.so"
#define NP_PLUGIN_SYMBOL "np_plugin"
extern const struct np_plugin np_plugin;

#endif
