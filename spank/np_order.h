/*
 * What the plugin in srun asks of the attendant, as its command line.
 * Pure: no Slurm, no I/O.
 */
#ifndef NP_ORDER_H
#define NP_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np_app.h"
#include "np_args.h"
#include "np_err.h"
#include "np_level.h"

#define NP_ORDER_SETTINGS 32 /* most arguments taken from plugstack.conf */
#define NP_ORDER_TEXT 128

/* The level is chosen by what the application's curve needs most. */
#define NP_ORDER_AUTO "auto"
#define NP_ORDER_AUTO_SEC 20.0 /* levels alone, before the step, at most */

struct np_order {
	uint32_t job_id, step_id;
	long array_job_id, array_task_id; /* -1: no array */
	long het_component;		  /* -1: not heterogeneous */
	uint32_t het_job_id;		  /* the leader's job id, or 0 */
	uint32_t n_nodes, n_tasks;
	uint32_t cpus_per_task; /* as was asked for; 0: nothing was */
	char cpu_bind[NP_ORDER_TEXT]; /* the same: "cores", "map_cpu:0,2"; or "" */
	bool launcher; /* the step is mpirun's daemons: this host belongs to it */
	uint32_t runner; /* the process that ends when the program has: srun, or
			  * the mpirun that started it */
	char app[NP_APP_MAX + 1];
	char level[NP_LEVEL_NAME]; /* "" for none, or NP_ORDER_AUTO */
	char executable[NP_ORDER_TEXT];
	char fingerprint[20];
	char srun[NP_ORDER_TEXT]; /* the srun that started this */
	/* "Key=Value" that win over netprof.conf; borrowed */
	const char *setting[NP_ORDER_SETTINGS];
	size_t n_settings;
};

/* The command line for path; out->rc says whether there was memory. */
void np_order_to_args(const struct np_order *o, const char *path,
		      struct np_args *out);

/* The reverse; settings point into argv.  Returns 0 or -EINVAL with err. */
int np_order_from_argv(int argc, char **argv, struct np_order *o,
		       struct np_err *err);

#endif
