/*
 * Tracing the tasks of a step (--netprofile-trace): what srun passes to them,
 * in one variable of their environment, what the tasks make of it, and whether
 * the tracing library can be preloaded into their program at all. No Slurm.
 *
 *	SLURM_NETPROF_TRACE=LIBRARY\nDIRECTORY\nBYTES\nKEEP\nAPP
 *
 * KEEP is 0 if the user named the directory; APP is empty if the name follows
 * from the program.
 */
#ifndef NP_TRACING_H
#define NP_TRACING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_app.h"
#include "np_err.h"
#include "np_launch.h"

#define NP_TRACING_ENV "SLURM_NETPROF_TRACE"
#define NP_TRACING_TEXT (2 * PATH_MAX + NP_APP_MAX + 64)

struct np_tracing {
	char library[PATH_MAX]; /* to be preloaded */
	char dir[PATH_MAX];	/* for the traces, or users/ of the store */
	uint64_t bytes;		/* most bytes of all ranks together */
	uint32_t keep;		/* traces to keep of an application; 0: dir is
				 * not in the store */
	char app[NP_APP_MAX + 1];
};

/* Returns 0, or -EINVAL with err: a path has a newline in it. */
int np_tracing_put(const struct np_tracing *tracing, char text[NP_TRACING_TEXT],
		   struct np_err *err);

/* A task just before it becomes the user's program. Pointers are borrowed. */
struct np_tracing_task {
	/* Command of the step, and name of the job. */
	const struct np_step_context *context;
	const char *path;      /* value of PATH */
	const char *preload;   /* value of LD_PRELOAD; NULL: unset */
	bool preload_too_long; /* it could not be read */
	bool in_container;     /* srun --container: it has other files */
	uid_t uid;
	uint32_t job_id, step_id;
};

typedef void np_tracing_set_f(const char *name, const char *value, void *arg);

/*
 * Have a task traced as text says, which comes from the user's environment: set
 * the variables that preload the tracing library and name where its files
 * go. Does nothing if text is malformed. Returns 0, or -errno with err: why
 * the task is not traced. One that starts a container only learns where the
 * files go, because the library may be missing there.
 */
int np_tracing_apply(const char *text, const struct np_tracing_task *task,
		     np_tracing_set_f *set, void *arg, struct np_err *err);

/* The rest is called by np_tracing_apply(), and by unit tests. */

/* Returns 0 or -EINVAL. */
int np_tracing_get(const char *text, struct np_tracing *out);

/*
 * Directory of the trace below dir: "UID/APP/JOB.STEP.trace". app is used
 * where tracing has no name.
 */
void np_tracing_subdir(const struct np_tracing *tracing, uid_t uid,
		       const char *app, uint32_t job_id, uint32_t step_id,
		       char *buf, size_t len);

/*
 * Value of LD_PRELOAD: the previous value, which may be NULL or empty, and the
 * library. It comes last, as tools that wrap MPI functions would not be called
 * behind it, but before an MPI library. Returns 0 or -ENAMETOOLONG.
 */
int np_tracing_preload(const struct np_tracing *tracing, const char *preload,
		       char *buf, size_t len);

/*
 * Why no library can be preloaded into a program, such as "is not dynamically
 * linked"; NULL: it can be, or nothing is known about the program. A program
 * without a slash is looked for in path (the value of PATH, may be NULL).
 */
const char *np_tracing_obstacle(const char *program, const char *path);

#endif
