/*
 * Launches the collector of a step: decides whether the step is measured, makes
 * the launch request, and controls the collector process from srun.
 *
 * The plugin in srun fills in the step context from Slurm, the environment and
 * the user's options. From the context alone, np_launch_decide() decides, and
 * completes the launch request, which is a part of the context. The request is
 * passed to the collector as its command line.
 *
 * Nothing here uses Slurm. The functions before struct np_collector_proc do no
 * I/O.
 */
#ifndef NP_LAUNCH_H
#define NP_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_app.h"
#include "np_err.h"
#include "np_level.h"
#include "np_option.h"

#define NP_LAUNCH_SETTINGS 32 /* most settings taken from plugstack.conf */
#define NP_LAUNCH_TEXT 128    /* bytes of a text member, its NUL included */

/* Instead of a level's name: select what the profile needs most. */
#define NP_LAUNCH_LEVEL_AUTO "auto"
/*
 * Longest time in seconds for which levels run alone before a step with
 * measurement intervals starts. One level throughout runs alone for LevelLeadIn
 * of netprof.conf, up to an hour.
 */
#define NP_LAUNCH_LEAD_IN_SEC 20.0

/* The launch request: the collector's command line. */
struct np_launch_request {
	uint32_t job_id, step_id;
	long het_component;  /* of a heterogeneous job; -1: not one */
	uint32_t het_job_id; /* job id of its leader, or 0 */
	uint32_t n_nodes, n_tasks;
	uint32_t cpus_per_task;	       /* as requested; 0: not requested */
	char cpu_bind[NP_LAUNCH_TEXT]; /* as requested, "cores" or
				       * "map_cpu:0,2"; "": not requested */
	bool launcher;	 /* the step runs mpirun's daemons, and this host,
			  * which is not part of the step, runs ranks, too */
	uint32_t runner; /* process id of srun, or of the mpirun that started
			  * it: the program ends when this process ends */
	char app[NP_APP_MAX + 1];
	char level[NP_LEVEL_NAME]; /* "": none; or NP_LAUNCH_LEVEL_AUTO */
	char rail[NP_LEVEL_NAME];  /* that the level loads; "": all */
	char executable[NP_LAUNCH_TEXT];
	char fingerprint[20];	   /* of the workload, hexadecimal */
	char srun[NP_LAUNCH_TEXT]; /* path of the srun that launches the step */
	/* Name of the cluster that srun uses; "": that of this host. */
	char cluster[NP_LAUNCH_TEXT];
	/* "Key=Value", which override netprof.conf; borrowed */
	const char *setting[NP_LAUNCH_SETTINGS];
	size_t n_settings;
};

/* Step context. All pointers are borrowed, and NULL where unset. */
struct np_step_context {
	bool helper_step;    /* started by netprof itself (NETPROF_SIDE) */
	bool requested;	     /* --netprofile was given */
	bool interactive;    /* the step that salloc starts for its shell */
	bool heterogeneous;  /* the job is, and step.n_nodes is that of one of
			      * its components, whichever comes first */
	const char *app;     /* argument of --netprofile */
	const char *env_app; /* NETPROF_APP */
	const char *period;  /* "Period=..." from --netprofile-period */
	const char *job_name;
	const char *srun; /* path of the running srun; never NULL */
	/* SLURM_CPU_BIND_TYPE, SLURM_CPU_BIND_LIST, SLURM_CPUS_PER_TASK */
	const char *bind_type, *bind_list, *cpus_per_task;
	int argc; /* command of the step */
	char **argv;
	int n_settings; /* arguments in plugstack.conf */
	char **setting;
	uint32_t pid, parent; /* of srun */
	/*
	 * The launch request. The caller sets the numbers that identify the
	 * job and the step, and the level; np_launch_decide() sets the rest.
	 */
	struct np_launch_request step;
};

enum np_launch_decision {
	NP_LAUNCH_IGNORE, /* not requested: print nothing */
	NP_LAUNCH_SKIP,	  /* requested, but impossible for the reason in why */
	NP_LAUNCH_START,  /* context->step is complete: start the collector */
};

/* After NP_LAUNCH_START, context->step.setting[] points into the context. */
enum np_launch_decision np_launch_decide(struct np_step_context *context,
					 struct np_err *why);

/*
 * Find the name of the application. The first of these that gives one wins:
 * the argument of --netprofile, NETPROF_APP, the executable (the script, if the
 * executable is an interpreter), and the name of the job. An executable that
 * launches an MPI library's daemons says nothing about the program, so the name
 * of the job precedes it. Returns 0 or -EINVAL with err.
 */
int np_launch_app_name(const struct np_step_context *context,
		       char app[NP_APP_MAX + 1], struct np_err *err);

/*
 * Compute a digest of the workload: executable, arguments, numbers of nodes and
 * tasks, and the requested binding (FNV-1a, 64 bits). Runs with equal digests
 * are compared with each other. It does not protect against forgery. The
 * arguments of mpirun's daemons contain numbers and addresses of a single job,
 * so they do not count. np_layout_fingerprint() adds the layout of the tasks
 * later. Exported for the unit tests; np_launch_decide() calls it.
 */
void np_launch_fingerprint(const struct np_step_context *context, char hex[20]);

/* Write the command line, with path as argv[0]. out->rc: see np_option.h. */
void np_launch_to_args(const struct np_launch_request *request,
		       const char *path, struct np_args *out);

/* Parse the command line. Settings point into argv. 0 or -EINVAL with err. */
int np_launch_from_argv(int argc, char **argv,
			struct np_launch_request *request, struct np_err *err);

/*
 * The collector is a child process of srun with a socket between them:
 *
 *	srun -> collector (its stdin)	"start\n", "exit N SEC\n" (at that
 *					time of CLOCK_MONOTONIC), end of file
 *	collector -> srun (its stdout)	"ready\n", "saved\n"
 *
 * No function waits longer than its caller allows.
 */
struct np_collector_proc {
	pid_t owner; /* process that started the collector */
	int fd;	     /* socket to the collector; -1: none */
};

/* clang-format off */
#define NP_COLLECTOR_INIT { .fd = -1 }
/* clang-format on */

/* Number of the collector's descriptor for its rendezvous socket. */
#define NP_COLLECTOR_LISTEN_FD 3

/*
 * Start the collector for a launch request. listen_fd is its rendezvous
 * socket, with a number above 4, or -1 for none; it is borrowed. Returns 0, or
 * -errno with err, also if the program does not exist. -ETIMEDOUT: it was not
 * loaded within timeout_ms because its file system does not answer; the process
 * is killed, and ends once the file system answers.
 */
int np_collector_start(struct np_collector_proc *collector,
		       const struct np_launch_request *request,
		       const char *libexecdir, int listen_fd, int timeout_ms,
		       struct np_err *err);

/*
 * Wait until the collector's load level runs, for at most timeout_ms; then
 * inform the collector that the program starts. Returns 0; -ETIMEDOUT; or
 * -EPIPE: the collector has ended.
 */
int np_collector_wait_ready(struct np_collector_proc *collector,
			    int timeout_ms);

/*
 * Tell the collector that srun ends with this exit status, wait for at most
 * save_ms until the record is saved, and close the socket. Does nothing in a
 * fork of the owner.
 */
void np_collector_end(struct np_collector_proc *collector, int status,
		      int save_ms);

#endif
