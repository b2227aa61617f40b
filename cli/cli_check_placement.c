/* Is placement at work? */
#include <errno.h>
#include <string.h>

#include "cli_check.h"
#include "cli_state.h"

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
