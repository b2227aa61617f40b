/*
 * Launching the collector of a step: whether the step is measured, what the
 * collector needs to know for that (the launch request), and the collector
 * process as srun sees it.
 *
 * The plugin in srun fills in a struct np_step_context, the step context, with
 * what Slurm, the environment and the user's options say.  np_launch_decide()
 * decides from that alone and completes the request in it (step).  The request
 * reaches the collector as its command line.  No Slurm; what precedes struct
 * np_collector_proc is pure.
 */
#ifndef NP_LAUNCH_H
#define NP_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_app.h"
#include "np_option.h"
#include "np_err.h"
#include "np_level.h"

#define NP_LAUNCH_SETTINGS 32 /* most settings taken from plugstack.conf */
#define NP_LAUNCH_TEXT 128    /* bytes of a text member, its NUL included */

/* In place of a level's name: choose the one that the profile needs most. */
#define NP_LAUNCH_LEVEL_AUTO "auto"
/* Longest time, seconds, that levels then run alone before the step starts. */
#define NP_LAUNCH_LEAD_IN_SEC 20.0

/* The launch request: the collector's command line. */
struct np_launch_request {
	uint32_t job_id, step_id;
	long array_job_id, array_task_id; /* -1: not an array job */
	long het_component;	 /* of a heterogeneous job; -1: not one */
	uint32_t het_job_id;	 /* job id of its leader, or 0 */
	uint32_t n_nodes, n_tasks;
	uint32_t cpus_per_task;	 /* as requested; 0: not requested */
	char cpu_bind[NP_LAUNCH_TEXT]; /* as requested, "cores" or
				       * "map_cpu:0,2"; "": not requested */
	bool launcher;	 /* the step consists of mpirun's daemons, and this
			  * host runs ranks as well */
	uint32_t runner; /* process whose end is the program's end: srun, or
			  * the mpirun that started it */
	char app[NP_APP_MAX + 1];
	char level[NP_LEVEL_NAME]; /* "": none; or NP_LAUNCH_LEVEL_AUTO */
	char rail[NP_LEVEL_NAME];  /* that the level loads; "": all */
	char executable[NP_LAUNCH_TEXT];
	char fingerprint[20];	   /* of the workload, hexadecimal */
	char srun[NP_LAUNCH_TEXT]; /* path of the srun that launches the step */
	/* "Key=Value" that override netprof.conf; borrowed */
	const char *setting[NP_LAUNCH_SETTINGS];
	size_t n_settings;
};

/* Step context.  All pointers are borrowed, and NULL where unset. */
struct np_step_context {
	bool helper_step;     /* NETPROF_SIDE is set: a helper step */
	bool requested;	      /* --netprofile was given */
	bool interactive;     /* the step that salloc starts for its shell */
	const char *app;      /* argument of --netprofile */
	const char *env_app;  /* NETPROF_APP */
	const char *period;   /* "Period=..." from --netprofile-period */
	const char *job_name;
	const char *srun;     /* path of the running srun; never NULL */
	/* SLURM_CPU_BIND_TYPE, SLURM_CPU_BIND_LIST, SLURM_CPUS_PER_TASK */
	const char *bind_type, *bind_list, *cpus_per_task;
	int argc;	      /* command of the step */
	char **argv;
	int n_settings;	      /* arguments in plugstack.conf */
	char **setting;
	uint32_t pid, parent; /* of srun */
	/*
	 * The request.  The caller sets the numbers that identify the job and
	 * the step, and the level; np_launch_decide() sets the rest.
	 */
	struct np_launch_request step;
};

enum np_launch_decision {
	NP_LAUNCH_IGNORE, /* nobody asked for it: say nothing */
	NP_LAUNCH_SKIP,	  /* asked for, but not possible: why says the reason */
	NP_LAUNCH_START,  /* f->step is complete: start a collector */
};

/* On NP_LAUNCH_START f->step.setting[] borrows from f. */
enum np_launch_decision np_launch_decide(struct np_step_context *f,
					 struct np_err *why);

/*
 * Name of the application, from the best source there is: the option's
 * argument, NETPROF_APP, the executable (of an interpreter: its script), the
 * name of the job.  The launcher of an MPI's daemons says nothing about the
 * program, so the name of the job counts there.
 * Returns 0 or -EINVAL with err.
 */
int np_launch_app_name(const struct np_step_context *f,
		       char app[NP_APP_MAX + 1], struct np_err *err);

/*
 * Digest of the workload: executable, arguments, numbers of nodes and tasks,
 * and the requested binding (FNV-1a, 64 bits).  Runs with equal digests are
 * compared with each other; it is no protection against forgery.  The layout
 * of the tasks is added later, by np_layout_fingerprint().  The arguments of
 * mpirun's daemons hold numbers and addresses of one job and do not count.
 * For unit tests; np_launch_decide() calls it.
 */
void np_launch_fingerprint(const struct np_step_context *f, char hex[20]);

/* The command line, with path as argv[0].  out->rc: see np_option.h. */
void np_launch_to_args(const struct np_launch_request *o, const char *path,
		       struct np_args *out);

/* The reverse; settings point into argv.  Returns 0 or -EINVAL with err. */
int np_launch_from_argv(int argc, char **argv, struct np_launch_request *o,
			struct np_err *err);

/*
 * The collector is a child process of srun with a socket between them:
 *
 *	srun -> collector (its stdin)	"start\n", "exit N\n", end of file
 *	collector -> srun (its stdout)	"ready\n", "saved\n"
 *
 * No function waits longer than its caller allows.
 */
struct np_collector_proc {
	pid_t owner; /* process that started the collector */
	int fd;	     /* socket to the collector; -1: none */
};

#define NP_COLLECTOR_INIT { .fd = -1 }

/* Descriptor at which the collector finds its rendezvous socket. */
#define NP_COLLECTOR_LISTEN_FD 3

/*
 * Start the collector for a launch request.  listen_fd, its rendezvous socket,
 * is above 4, or -1: none; it is borrowed.  Returns 0, or -errno with err, also
 * if the file is missing.  -ETIMEDOUT: it was not loaded within timeout_ms
 * because its file system does not answer; the process is killed and ends as
 * soon as that permits.
 */
int np_collector_start(struct np_collector_proc *a,
		       const struct np_launch_request *request,
		       const char *libexecdir, int listen_fd, int timeout_ms,
		       struct np_err *err);

/*
 * Wait until the collector's load level runs, for at most timeout_ms; then tell
 * the collector that the program starts.  Returns 0; -ETIMEDOUT; or -EPIPE: the
 * collector has ended.
 */
int np_collector_wait_ready(struct np_collector_proc *a, int timeout_ms);

/*
 * srun ends with this exit status: tell the collector, wait for the record to
 * be saved, at most save_ms, and close.  Does nothing in a fork of the owner.
 */
void np_collector_end(struct np_collector_proc *a, int status, int save_ms);

#endif
