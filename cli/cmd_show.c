/* netprof show APP: the page of one application. */

#include "cli_show.h"

static int run_show(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_others all;
	struct cli_advice a;
	struct cli_zones z;
	struct cli_profile p;
	struct cli_options o;
	struct cli_ties t;
	struct cli_store s;
	int rc;

	rc = cli_options_parse(self, argc, argv, NULL, &o);
	if (rc < 0)
		rc = cli_store_open(&s);
	if (rc >= 0)
		return rc;
	cli_others_look(&all, &s, &o);
	rc = cli_profile_find(&s, &o, o.app, &p);
	if (rc < 0) {
		cli_ties_find(&all, &p, &t);
		cli_zones_find(&s, &p, &z);
	}
	cli_others_free(&all);
	cli_store_close(&s);
	if (rc >= 0)
		return rc;
	cli_advise(&p.profile, &t.k, t.scope, t.hurt_by, t.n_hurt_by,
		   s.max_slowdown, &a);
	rc = o.format ? cli_show_data(&p, &t, &a, &z, o.format) :
			cli_show_text(&p, &t, &a, &z);
	cli_ties_free(&t);
	cli_profile_free(&p);
	return rc;
}

const struct cli_cmd cmd_show = {
	.name = "show",
	.args = "[--json|--parsable] [--user=NAME|--published] APP",
	.help = "what an application does to the network",
	.text =
"Prints the profile of APP on one screen: first in words how it uses the\n"
"network, then the numbers behind them: latencies, its slowdown beside\n"
"interference levels, and which of the known applications would slow it most,\n"
"and it them, on other nodes of the same leaf.\n\n"
"  --json, --parsable  the same for programs; --parsable (-P) as in sacct\n"
"  --user=NAME         the profile of another user, as far as you may read it\n"
"  --published         the one that an administrator published\n\n"
"Without these: your own profile, or else the published one.",
	.takes = CLI_TAKES_FORMAT | CLI_TAKES_USER,
	.missing = "the application is missing", .most = 1,
	.run = run_show,
};
