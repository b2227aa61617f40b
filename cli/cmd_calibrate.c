/* netprof calibrate: what a fabric does to levels, and levels to a program. */
#include <getopt.h>
#include <string.h>

#include "cli_calibrate.h"
#include "np_app.h"
#include "np_option.h"

enum { HELP = 256, LEVELS, CHOOSE, SECONDS, PROBE_SECONDS, REPEATS, SCOPE,
       OUTPUT, FRESH, DRY_RUN, APP };

static const struct option longs[] = {
	{ "help", no_argument, NULL, HELP },
	{ "levels", required_argument, NULL, LEVELS },
	{ "choose", required_argument, NULL, CHOOSE },
	{ "seconds", required_argument, NULL, SECONDS },
	{ "probe-seconds", required_argument, NULL, PROBE_SECONDS },
	{ "repeats", required_argument, NULL, REPEATS },
	{ "scope", required_argument, NULL, SCOPE },
	{ "output", required_argument, NULL, OUTPUT },
	{ "fresh", no_argument, NULL, FRESH },
	{ "dry-run", no_argument, NULL, DRY_RUN },
	{ "app", required_argument, NULL, APP },
	{ NULL, 0, NULL, 0 },
};

static int take_scope(struct calibrate_opt *o, const char *text,
		      struct np_err *err)
{
	o->scope_given = true;
	if (!strcmp(text, "leaf"))
		o->scope = NP_SCOPE_LEAF;
	else if (!strcmp(text, "node"))
		o->scope = NP_SCOPE_NODE;
	else
		return np_errf(err, -1, "--scope=%.40s: expected leaf or node",
			       text);
	return 0;
}

static int take_levels(struct calibrate_opt *o, const char *text,
		       struct np_err *err)
{
	struct np_level level[NP_CAL_MAX_LEVELS];
	size_t n;

	o->levels = text;
	/* On however many nodes: names that are wrong are told at once. */
	return np_cal_levels_parse(text, NP_LEVEL_MAX_PARTNERS, level, &n, err);
}

static int take(struct calibrate_opt *o, int opt, const char *v,
		struct np_err *err)
{
	uint32_t n = 0;
	int rc;

	switch (opt) {
	case LEVELS:
		return take_levels(o, v, err);
	case CHOOSE:
		rc = np_option_count("--choose", v, 2, NP_CAL_MAX_LEVELS, &n,
				     err);
		o->keep = n;
		return rc;
	case SECONDS:
		return np_option_seconds("--seconds", v, 0.5, 3600,
					 &o->seconds, err);
	case PROBE_SECONDS:
		return np_option_seconds("--probe-seconds", v, 0.5, 3600,
					 &o->probe_seconds, err);
	case REPEATS:
		o->repeats_given = true;
		return np_option_count("--repeats", v, 1, NP_CAL_MAX_REPEATS,
				       &o->repeats, err);
	case SCOPE:
		return take_scope(o, v, err);
	case OUTPUT:
		o->output = v;
		return 0;
	case FRESH:
		o->fresh = true;
		return 0;
	case DRY_RUN:
		o->dry_run = true;
		return 0;
	default:
		o->app = v;
		return np_app_check(v, err);
	}
}

static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct calibrate_opt *o)
{
	struct np_err err = NP_ERR_INIT;
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "+:hn", longs, NULL)) != -1) {
		opt = opt == 'h' ? HELP : opt == 'n' ? DRY_RUN : opt;
		if (opt == HELP) {
			cli_print_help(self);
			return CLI_DONE;
		}
		if (opt == ':')
			return cli_usage(self, "%s: an argument is missing",
					 argv[optind - 1]);
		if (opt == '?')
			return cli_usage(self, "%.64s: no such option",
					 argv[optind - 1]);
		if (take(o, opt, optarg, &err))
			return cli_usage(self, "%s", err.text);
	}
	o->argc = argc - optind;
	o->argv = argv + optind;
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
		.repeats = 3,
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
	.run = run_calibrate,
};
