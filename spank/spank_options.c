#include "spank_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "np_conf.h"
#include "np_order.h"
#include "np_slurm_compat.h"

enum { OPT_PROFILE, OPT_PERIOD, OPT_COMPRESS, OPT_CALIBRATE, OPT_TRACE };

struct spank_opt spank_opt;

static int take_profile(const char *arg, struct np_err *err)
{
	/* From a job's environment, no argument arrives as "(null)". */
	spank_opt.asked = true;
	spank_opt.app[0] = '\0';
	if (!arg || !strcmp(arg, "(null)"))
		return 0;
	if (np_app_check(arg, err))
		return -1;
	strcpy(spank_opt.app, arg);
	return 0;
}

static int take_period(const char *arg, struct np_err *err)
{
	struct np_conf scratch;
	char setting[sizeof(spank_opt.period)];

	np_conf_init(&scratch);
	if (snprintf(setting, sizeof(setting), "Period=%s", arg) >=
	    (int)sizeof(setting) || np_conf_set(&scratch, setting, err))
		return -1;
	strcpy(spank_opt.period, setting);
	return 0;
}

static int take_compress(const char *arg, struct np_err *err)
{
	struct np_level level;

	if (np_level_parse(arg, &level, err))
		return -1;
	strcpy(spank_opt.level, level.name);
	return 0;
}

/* A relative directory is one of where the job was submitted. */
static int take_trace(const char *arg, struct np_err *err)
{
	char cwd[PATH_MAX];
	int n = 0;

	spank_opt.trace = true;
	if (!arg || !strcmp(arg, "(null)"))
		return 0;
	if (arg[0] == '/')
		n = snprintf(spank_opt.trace_dir, PATH_MAX, "%s", arg);
	else if (*arg && getcwd(cwd, sizeof(cwd)))
		n = snprintf(spank_opt.trace_dir, PATH_MAX, "%s/%s", cwd, arg);
	if (n > 0 && n < PATH_MAX && !strchr(arg, '\n'))
		return 0;
	return np_errf(err, -EINVAL, "--netprofile-trace: \"%.80s\": expected "
		       "a directory", arg);
}

static int take_option(int val, const char *arg, int remote)
{
	struct np_err err = NP_ERR_INIT;
	int rc = 0;

	if (remote) /* checked where the user typed it */
		return 0;
	if (val == OPT_PROFILE)
		rc = take_profile(arg, &err);
	else if (val == OPT_PERIOD)
		rc = take_period(arg ? arg : "", &err);
	else if (val == OPT_COMPRESS)
		rc = take_compress(arg ? arg : "", &err);
	else if (val == OPT_TRACE)
		rc = take_trace(arg, &err);
	else if (!spank_opt.level[0])
		strcpy(spank_opt.level, NP_ORDER_AUTO);
	if (rc)
		slurm_error("netprof: %s", err.text);
	return rc;
}

static struct spank_option options[] = {
	{ "netprofile", "[APP]", "measure how the job's steps use the network, "
	  "into the profile APP (default: the program's name)",
	  2, OPT_PROFILE, take_option },
	{ "netprofile-period", "TIME", "time between two probes, e.g. 100ms",
	  1, OPT_PERIOD, take_option },
	{ "netprofile-compress", "LEVEL", "run interference of this level "
	  "beside each step, c0 (light) to c7 (saturating)",
	  1, OPT_COMPRESS, take_option },
	{ "netprofile-calibrate", NULL, "run the interference level beside each "
	  "step that its profile needs most, or none", 0, OPT_CALIBRATE,
	  take_option },
	{ "netprofile-trace", "[DIR]", "record the messages of the job's MPI "
	  "programs, into DIR (default: the profile store)", 2, OPT_TRACE,
	  take_option },
};

void spank_options_register(spank_t sp)
{
	for (size_t i = 0; i < NP_ARRAY_SIZE(options); i++)
		if (spank_option_register(sp, &options[i]) != ESPANK_SUCCESS)
			slurm_verbose("netprof: cannot register --%s",
				      options[i].name);
}
