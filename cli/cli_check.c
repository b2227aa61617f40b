/*
 * The list of what was found; netprof.conf, the programs that it names, and the
 * placement that it asks for.
 */
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
	const char *path = np_conf_path();
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
	look_for(c, c->conf.libexecdir, "netprof-saver", &missing);
	if (!missing)
		cli_found(c, CLI_OK, "programs", "in %s and %s",
			  c->conf.bindir, c->conf.libexecdir);
}

/* Is placement at work? */

#define MAX_CLAIMS 8 /* told of those that do not hold */
#define NOT_THERE "look for netprof in slurmctld.log; is JobSubmitPlugins=" \
	"netprof in slurm.conf, and slurmctld reconfigured since?"

/*
 * Whether they run what they say is for the administrator to find out.  A first
 * line about a name bars all others, unless it has the word default.
 */
static void say_claims(struct cli_check *c, const struct np_state *s)
{
	for (size_t i = 0; i < s->n_claims && i < MAX_CLAIMS; i++) {
		const struct np_state_claim *one = &s->claim[i];
		char line[CLI_CHECK_TEXT];

		cli_found(c, CLI_WARNING, "claims", "%s", cli_say_claim(one,
			  line, sizeof(line)));
		cli_remedy(c, "if that is what these jobs run: Claim=%s:%s"
			   "user=%u in netprof.conf", one->app, one->refuted ?
			   "default," : "", one->uid);
	}
	if (s->n_claims > MAX_CLAIMS) {
		cli_found(c, CLI_WARNING, "claims", "%zu more do not hold",
			  s->n_claims - MAX_CLAIMS);
		cli_remedy(c, "netprof status --all");
	}
}

static void say_state(struct cli_check *c, const struct np_state *s)
{
	char age[96];

	cli_age(s->date, c->now, age, sizeof(age));
	if (cli_state_stale(s, c->now)) {
		cli_found(c, c->places ? CLI_PROBLEM : CLI_OK, "placement",
			  "last decided %s: it does not act", age);
		if (c->places)
			cli_remedy(c, NOT_THERE);
		return;
	}
	cli_found(c, CLI_OK, "placement", "mode %s, decided %s by %s",
		  *s->mode ? s->mode : "off", age, s->controller);
	if (strcmp(s->mode, np_mode_name(c->conf.place.mode))) {
		cli_found(c, CLI_WARNING, "placement", "slurmctld is in mode "
			  "%s, netprof.conf here says %s", s->mode,
			  np_mode_name(c->conf.place.mode));
		cli_remedy(c, "is netprof.conf the same on all hosts? "
			   "slurmctld reads it again within a minute");
	}
	if (*s->trouble) {
		cli_found(c, CLI_WARNING, "placement", "%s", s->trouble);
		cli_remedy(c, "look for netprof in slurmctld.log");
	}
	if (strcmp(s->netprof_version, NP_VERSION)) {
		cli_found(c, CLI_WARNING, "placement", "slurmctld has netprof "
			  "%s loaded, %s is installed", s->netprof_version,
			  NP_VERSION);
		cli_remedy(c, "restart slurmctld");
	}
	say_claims(c, s);
}

void cli_check_placement(struct cli_check *c)
{
	struct np_err err = NP_ERR_INIT;
	struct np_state s;
	int rc = np_state_load(c->conf.store, &s, &err);

	if (!rc) {
		say_state(c, &s);
		np_state_free(&s);
	} else if (rc == -ENOENT && !c->places) {
		cli_found(c, CLI_OK, "placement", "is off");
	} else if (rc == -ENOENT) {
		cli_found(c, CLI_PROBLEM, "placement", "%s", err.text);
		cli_remedy(c, NOT_THERE);
	} else if (rc == -EACCES) {
		cli_found(c, CLI_WARNING, "placement", "%s", err.text);
	} else {
		cli_found(c, CLI_PROBLEM, "placement", "%s", err.text);
		cli_remedy(c, "look for netprof in slurmctld.log");
	}
}
