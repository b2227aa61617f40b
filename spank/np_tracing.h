/*
 * What srun tells its tasks of --netprofile-trace, in one variable of their
 * environment, and what becomes of it there.  Pure: no Slurm, no I/O.
 *
 *	SLURM_NETPROF_TRACE=LIBRARY\nDIRECTORY\nBYTES\nKEEP\nAPP
 *
 * KEEP is 0 if the user named the directory; APP is empty if the program names
 * itself.
 */
#ifndef NP_TRACING_H
#define NP_TRACING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "np_app.h"
#include "np_err.h"

#define NP_TRACING_ENV "SLURM_NETPROF_TRACE"
#define NP_TRACING_TEXT (2 * PATH_MAX + NP_APP_MAX + 64)

struct np_tracing {
	char library[PATH_MAX]; /* to be preloaded */
	char dir[PATH_MAX];     /* for the traces, or users/ of the store */
	uint64_t bytes;		/* of all ranks together */
	uint32_t keep;		/* traces of an application; 0: no store */
	char app[NP_APP_MAX + 1];
};

/* Returns 0 or -EINVAL with err: a path has an end of line in it. */
int np_tracing_put(const struct np_tracing *t, char text[NP_TRACING_TEXT],
		   struct np_err *err);

/* text comes from the user's environment.  Returns 0 or -EINVAL. */
int np_tracing_get(const char *text, struct np_tracing *out);

/*
 * The trace's directory below dir: "UID/APP/JOB.STEP.trace".  app: of a
 * tracing without one.
 */
void np_tracing_sub(const struct np_tracing *t, uid_t uid, const char *app,
		    uint32_t job_id, uint32_t step_id, char *buf, size_t len);

/*
 * LD_PRELOAD with the library before what was there, which may be NULL or
 * empty.  Returns 0, or -ENAMETOOLONG.
 */
int np_tracing_preload(const struct np_tracing *t, const char *was, char *buf,
		       size_t len);

#endif
