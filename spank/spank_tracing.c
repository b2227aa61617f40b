#include "spank_tracing.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "np_plan.h"
#include "np_tracing.h"

/* The application's name by what the task runs, as in srun. */
static void name_of_task(spank_t sp, char app[NP_APP_MAX + 1])
{
	char job_name[256] = "";
	struct np_facts f = { .job_name = job_name };
	int argc = 0;

	spank_getenv(sp, "SLURM_JOB_NAME", job_name, sizeof(job_name));
	if (spank_get_item(sp, S_JOB_ARGV, &argc, &f.argv) == ESPANK_SUCCESS)
		f.argc = argc;
	if (np_plan_app(&f, app, NULL))
		strcpy(app, "unnamed");
}

/* The library that traces, before others, and where its files go. */
static void set_tracing(spank_t sp, const struct np_tracing *t)
{
	char app[NP_APP_MAX + 1], was[PATH_MAX], buf[2 * PATH_MAX];
	uint32_t job_id = 0, step_id = 0;
	spank_err_t rc = spank_getenv(sp, "LD_PRELOAD", was, sizeof(was));

	spank_get_item(sp, S_JOB_ID, &job_id);
	spank_get_item(sp, S_JOB_STEPID, &step_id);
	/* The loader would complain for each program of the user's. */
	if (access(t->library, R_OK) || rc == ESPANK_NOSPACE ||
	    np_tracing_preload(t, rc == ESPANK_SUCCESS ? was : NULL, buf,
			       sizeof(buf))) {
		slurm_verbose("netprof: %s: not traced", t->library);
		return;
	}
	spank_setenv(sp, "LD_PRELOAD", buf, 1);
	spank_setenv(sp, "NETPROF_TRACE", t->dir, 1);
	snprintf(buf, sizeof(buf), "%llu", (unsigned long long)t->bytes);
	spank_setenv(sp, "NETPROF_TRACE_SIZE", buf, 1);
	if (!t->keep)
		return;
	snprintf(buf, sizeof(buf), "%u", t->keep);
	spank_setenv(sp, "NETPROF_TRACE_KEEP", buf, 1);
	name_of_task(sp, app);
	np_tracing_sub(t, getuid(), app, job_id, step_id, buf, sizeof(buf));
	spank_setenv(sp, "NETPROF_TRACE_SUB", buf, 1);
}

void spank_tracing_task(spank_t sp)
{
	char text[NP_TRACING_TEXT];
	struct np_tracing t;

	if (spank_getenv(sp, NP_TRACING_ENV, text, sizeof(text)) !=
	    ESPANK_SUCCESS)
		return;
	spank_unsetenv(sp, NP_TRACING_ENV);
	if (!np_tracing_get(text, &t))
		set_tracing(sp, &t);
}
