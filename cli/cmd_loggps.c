/* netprof loggps: what a message costs on a fabric. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "cli_loggps.h"
#include "cli_profile.h"
#include "np_option.h"
#include "np_prtt.h"

enum { HELP = 256, BLOCKS, MAX_BYTES, MAX_TRIP, ACROSS, OUTPUT, DRY_RUN, SHOW,
       JSON, CLUSTER };

static const struct option longs[] = {
	{ "help", no_argument, NULL, HELP },
	{ "blocks", required_argument, NULL, BLOCKS },
	{ "max-bytes", required_argument, NULL, MAX_BYTES },
	{ "max-trip", required_argument, NULL, MAX_TRIP },
	{ "across", no_argument, NULL, ACROSS },
	{ "output", required_argument, NULL, OUTPUT },
	{ "dry-run", no_argument, NULL, DRY_RUN },
	{ "show", no_argument, NULL, SHOW },
	{ "json", no_argument, NULL, JSON },
	{ "cluster", required_argument, NULL, CLUSTER },
	{ NULL, 0, NULL, 0 },
};

static int take(struct cli_loggps_opt *o, int opt, const char *v,
		struct np_err *err)
{
	switch (opt) {
	case BLOCKS:
		return np_option_count("--blocks", v, 1, NP_PRTT_MAX_BLOCKS,
				       &o->blocks, err);
	case MAX_BYTES:
		return np_option_bytes("--max-bytes", v,
				       NP_PRTT_LEAST_MAX_BYTES,
				       NP_PRTT_MAX_BYTES, &o->max_bytes, err);
	case MAX_TRIP:
		return np_option_time("--max-trip", v, 1e-4, 10,
				      &o->max_trip_sec, err);
	case ACROSS:
		o->across = true;
		return 0;
	case OUTPUT:
		o->output = v;
		return 0;
	case DRY_RUN:
		o->dry_run = true;
		return 0;
	case SHOW:
		o->show = true;
		return 0;
	case JSON:
		o->json = true;
		return 0;
	default:
		o->cluster = v;
		return 0;
	}
}

static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct cli_loggps_opt *o)
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
	if (optind < argc)
		return cli_usage(self, "%.64s: not expected here",
				 argv[optind]);
	if (o->show && (o->output || o->dry_run))
		return cli_usage(self, "--show measures nothing: no --output "
				 "and no --dry-run");
	if (!o->show && o->cluster)
		return cli_usage(self, "--cluster goes with --show");
	return -1;
}

static int load(const struct cli_loggps_opt *o, struct np_loggps_record *r)
{
	struct np_err err = NP_ERR_INIT;
	struct cli_store s;
	int rc = cli_store_open(&s);

	if (rc >= 0)
		return rc;
	rc = np_loggps_store_load(s.store, o->cluster, o->across, r, &err);
	cli_store_close(&s);
	return rc == -ENOENT ?
	       cli_fail("%s; salloc -N2 --exclusive netprof loggps", err.text) :
	       rc ? cli_fail("%s", err.text) : -1;
}

static int run_loggps(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_loggps_opt o = {
		.blocks = NP_PRTT_BLOCKS, .max_bytes = 1u << 20,
		.max_trip_sec = NP_PRTT_TRIP_SEC,
	};
	struct np_loggps_record r = { 0 };
	struct np_err err = NP_ERR_INIT;
	int rc = parse(self, argc, argv, &o);

	if (rc < 0 && o.show)
		rc = load(&o, &r);
	else if (rc < 0 && cli_loggps_measure(&o, &r, &err))
		rc = cli_fail("%s", err.text);
	if (rc < 0 && o.dry_run)
		rc = CLI_DONE;
	if (rc < 0)
		rc = o.json ? cli_loggps_json(&r) : cli_loggps_text(&r);
	np_loggps_record_free(&r);
	return rc;
}

const struct cli_cmd cmd_loggps = {
	.name = "loggps",
	.args = "[OPTIONS] | --show [--json] [--cluster=NAME] [--across]",
	.help = "measure what a message costs: latency, overhead, bandwidth",
	.text =
"Inside an allocation of idle nodes (salloc -N2 --exclusive), for an\n"
"administrator: times messages between two nodes under one leaf switch and\n"
"keeps the parameters of LogGPS beside the calibration of the fabric: latency\n"
"L, overhead o of sender and receiver, gap g between messages, time per byte\n"
"G, and the size S above which a message waits for its receiver.\n\n"
"  --blocks=N         measure all of it N times (default 30)\n"
"  --max-bytes=SIZE   the greatest message (default 1M)\n"
"  --max-trip=TIME    no message whose round trip takes longer (default 50ms)\n"
"  --across           between nodes of two leaf switches\n"
"  --output=FILE      write FILE, not the store\n"
"  --dry-run          say what would be done\n"
"  --show             print what was measured last\n"
"  --cluster=NAME     with --show: of that cluster (default: of any)\n"
"  --json             the same for programs",
	.run = run_loggps,
};
