/* netprof calibrate: what a fabric does to levels, and levels to a program. */
#include <errno.h>
#include <string.h>

#include "cli_calibrate.h"
#include "cli_options.h"
#include "np_app.h"

static int take_scope(char *text, void *ask, struct np_err *err)
{
	struct calibrate_opt *o = ask;

	o->scope_given = true;
	if (!strcmp(text, "leaf"))
		o->scope = NP_SCOPE_LEAF;
	else if (!strcmp(text, "node"))
		o->scope = NP_SCOPE_NODE;
	else
		return np_errf(err, -EINVAL, "--scope=%.40s: expected leaf or "
			       "node", text);
	return 0;
}

static int take_levels(char *text, void *ask, struct np_err *err)
{
	struct np_level level[NP_CAL_MAX_LEVELS];
	struct calibrate_opt *o = ask;
	size_t n;

	o->levels = text;
	/* On however many nodes: names that are wrong are told at once. */
	return np_cal_levels_parse(text, NP_LEVEL_MAX_PARTNERS, level, &n, err);
}

static int take_app(char *text, void *ask, struct np_err *err)
{
	struct calibrate_opt *o = ask;

	o->app = text;
	return np_app_check(text, err);
}

#define AT(member) offsetof(struct calibrate_opt, member)

static const struct np_option options[] = {
	{ "levels", NP_OPTION_TAKE, .take = take_levels },
	{ "choose", NP_OPTION_COUNT, AT(keep), 2, NP_CAL_MAX_LEVELS },
	{ "seconds", NP_OPTION_SECONDS, AT(seconds), 0.5, 3600 },
	{ "probe-seconds", NP_OPTION_SECONDS, AT(probe_seconds), 0.5, 3600 },
	{ "repeats", NP_OPTION_COUNT, AT(repeats), 1, NP_CAL_MAX_REPEATS },
	{ "scope", NP_OPTION_TAKE, .take = take_scope },
	{ "output", NP_OPTION_WORD, AT(output) },
	{ "fresh", NP_OPTION_FLAG, AT(fresh) },
	{ "dry-run", NP_OPTION_FLAG, AT(dry_run), .letter = 'n' },
	{ "app", NP_OPTION_TAKE, .take = take_app },
	{ NULL },
};

static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct calibrate_opt *o)
{
	struct cli_options given;
	int rc = cli_options_parse(self, argc, argv, o, &given);

	if (rc >= 0)
		return rc;
	o->argc = (int)given.n_apps;
	o->argv = given.apps;
	if (!o->app && o->argc)
		return cli_usage(self, "%.64s: not expected here",
				 o->argv[0]);
	if (o->app && !o->argc)
		return cli_usage(self, "the sbatch command is missing");
	return -1;
}

static int run_calibrate(const struct cli_cmd *self, int argc, char **argv)
{
	struct calibrate_opt o = {
		.levels = "default", .keep = NP_CAL_LEVELS, .seconds = 3,
	};
	int rc = parse(self, argc, argv, &o);

	if (rc >= 0)
		return rc;
	return o.app ? calibrate_app(&o) : calibrate_fabric(&o);
}

const struct cli_cmd cmd_calibrate = {
	.name = "calibrate",
	.args = "[OPTIONS] | --app=APP [OPTIONS] -- sbatch ...",
	.help = "measure what interference does, to the fabric or a program",
	.text =
"Without --app, inside an allocation of idle nodes (salloc -N8 --exclusive),\n"
"for an administrator: how the fabric behaves when idle and under each\n"
"interference level, how the levels slow each other, and how much is felt\n"
"on the same nodes, on other nodes of a leaf switch, and across its uplink.\n"
"Nothing else may use these leaf switches meanwhile.  It can be stopped at\n"
"any moment; the same command on the same nodes goes on.  Earlier\n"
"calibrations are kept.\n\n"
"  --levels=LIST        \"default\" (c0 to c7), \"all\" (the 40 of the\n"
"                       publication) or levels separated by commas\n"
"  --choose=N           of more levels, take N into the table (default 8)\n"
"  --seconds=SEC        of each measurement (default 3)\n"
"  --probe-seconds=SEC  of measurements with probes (default 5 times that)\n"
"  --repeats=N          of the table (default 3)\n"
"  --scope=leaf|node    levels press on other nodes of the leaf, or on the\n"
"                       same nodes (default: leaf, if that is felt)\n"
"  --output=FILE        write FILE, not the store\n"
"  --fresh              do not go on with what was measured before\n"
"  --dry-run            say what would be done and how long it would take\n\n"
"With --app: submits the runs of a program that its profile still needs, one\n"
"after the other, each beside the level it needs.\n\n"
"  --repeats=N          runs beside each level (default 2)\n"
"  --dry-run            print the commands",
	.takes = CLI_TAKES_COMMAND, .own = options, .most = CLI_ANY,
	.run = run_calibrate,
};
