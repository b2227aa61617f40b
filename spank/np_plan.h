/*
 * Whether a step is to be measured, and how: a pure function of what the
 * plugin knows inside srun.  No Slurm, no I/O.
 */
#ifndef NP_PLAN_H
#define NP_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "np_err.h"
#include "np_order.h"

struct np_facts {
	bool side_step;	      /* NETPROF_SIDE is set */
	bool asked;	      /* --netprofile was given */
	const char *app;      /* its argument, or NULL */
	const char *env_app;  /* NETPROF_APP, or NULL */
	const char *level;    /* for its order; NULL: none */
	const char *period;   /* of --netprofile-period: a setting, or NULL */
	const char *job_name; /* or NULL */
	const char *srun;     /* path of the running srun */
	/* SLURM_CPU_BIND_TYPE and _LIST, SLURM_CPUS_PER_TASK; or NULL */
	const char *bind_type, *bind_list, *cpus_per_task;
	int argc;	      /* command of the step */
	char **argv;
	struct np_order step; /* what is known of it: numbers of all kinds */
	uint32_t pid, parent; /* of srun */
	bool interactive; /* the step that salloc starts for its shell */
	int n_settings; /* arguments in plugstack.conf */
	char **setting;
};

enum np_plan {
	NP_PLAN_NOTHING, /* not asked for: say nothing */
	NP_PLAN_SKIP,	 /* asked for, but cannot be: err says why */
	NP_PLAN_ATTACH,	 /* *order is set */
};

/* order borrows strings of facts. */
enum np_plan np_plan_make(const struct np_facts *f, struct np_order *order,
			  struct np_err *why);

/*
 * The application's name, best source first: the option's argument,
 * NETPROF_APP, the executable (of an interpreter: its script), the job's name.
 * Launchers of MPI daemons say nothing about the program: the job's name then.
 * Returns 0 or -EINVAL with err.
 */
int np_plan_app(const struct np_facts *f, char app[NP_APP_MAX + 1],
		struct np_err *err);

/*
 * Digest of the workload: executable, arguments, nodes, tasks, and what was
 * asked for processors (FNV-1a, 64 bits): runs of equal digest are compared
 * with each other.  Not security.  The layout of tasks is still to be added,
 * np_layout.h.
 * Arguments of mpirun's daemons hold numbers and addresses of one job, and do
 * not count.
 */
void np_plan_fingerprint(const struct np_facts *f, char hex[20]);

#endif
