/* The list of what was found; netprof.conf, and the programs that it names. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_check.h"
#include "cli_state.h"

void cli_found(struct cli_check *c, enum cli_result result, const char *about,
	       const char *fmt, ...)
{
	struct cli_finding *f = &c->found[c->n];
	va_list ap;

	c->dropped = c->n == CLI_CHECK_MAX;
	if (c->dropped)
		return;
	*f = (struct cli_finding){ .result = result };
	snprintf(f->about, sizeof(f->about), "%s", about);
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	c->n++;
}

void cli_remedy(struct cli_check *c, const char *fmt, ...)
{
	va_list ap;

	if (c->dropped)
		return;
	va_start(ap, fmt);
	vsnprintf(c->found[c->n - 1].remedy, CLI_CHECK_TEXT, fmt, ap);
	va_end(ap);
}

const char *cli_result_name(enum cli_result r)
{
	static const char *const names[] = {
		[CLI_OK] = "ok", [CLI_WARNING] = "warning",
		[CLI_PROBLEM] = "problem",
	};

	return names[r];
}

void cli_check_conf(struct cli_check *c)
{
	const char *env = getenv("NETPROF_CONF");
	const char *path = env && *env ? env : NP_CONF_DEFAULT_PATH;
	struct np_err err = NP_ERR_INIT;

	if (np_conf_from_environment(&c->conf, &err)) {
		cli_found(c, CLI_PROBLEM, "configuration", "%s", err.text);
		cli_remedy(c, "mend it as netprof.conf(5) says; until then "
			   "nothing is measured, and slurmctld keeps to what "
			   "it read before");
	} else if (access(path, F_OK)) {
		cli_found(c, CLI_OK, "configuration", "%s: there is none, the "
			  "defaults hold", path);
	} else {
		cli_found(c, CLI_OK, "configuration", "%s: Placement=%s", path,
			  np_mode_name(c->conf.place.mode));
	}
	c->places = cli_places(&c->conf.place);
	if (c->conf.enabled)
		return;
	cli_found(c, CLI_WARNING, "configuration", "Enabled=no: nothing is "
		  "measured");
	cli_remedy(c, "write Enabled=yes in %s", path);
}

static void look_for(struct cli_check *c, const char *dir, const char *name,
		     bool *missing)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!access(path, X_OK))
		return;
	*missing = true;
	cli_found(c, CLI_PROBLEM, "programs", "%s: %s", path, strerror(errno));
	cli_remedy(c, "make install; or set BinDir and LibexecDir in "
		   "netprof.conf");
}

void cli_check_programs(struct cli_check *c)
{
	bool missing = false;

	look_for(c, c->conf.bindir, "netprof-impactb", &missing);
	look_for(c, c->conf.bindir, "netprof-compressionb", &missing);
	look_for(c, c->conf.libexecdir, "netprof-attend", &missing);
	look_for(c, c->conf.libexecdir, "netprof-join", &missing);
	look_for(c, c->conf.libexecdir, "netprof-mpi", &missing);
	if (!missing)
		cli_found(c, CLI_OK, "programs", "in %s and %s",
			  c->conf.bindir, c->conf.libexecdir);
}
