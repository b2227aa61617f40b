/* netprof loggps: what a message costs on a fabric. */
#include <errno.h>

#include "cli_loggps.h"
#include "cli_options.h"
#include "cli_profile.h"
#include "np_prtt.h"

#define AT(member) offsetof(struct cli_loggps_opt, member)

static const struct np_option options[] = {
	{ "blocks", NP_OPTION_COUNT, AT(blocks), 1, NP_PRTT_MAX_BLOCKS },
	{ "max-bytes", NP_OPTION_BYTES, AT(max_bytes), NP_PRTT_LEAST_MAX_BYTES,
	  NP_PRTT_MAX_BYTES },
	{ "max-trip", NP_OPTION_TIME, AT(max_trip_sec), 1e-4, 10 },
	{ "across", NP_OPTION_FLAG, AT(across) },
	{ "output", NP_OPTION_WORD, AT(output) },
	{ "dry-run", NP_OPTION_FLAG, AT(dry_run), .letter = 'n' },
	{ "show", NP_OPTION_FLAG, AT(show) },
	{ "cluster", NP_OPTION_WORD, AT(cluster) },
	{ NULL },
};

static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct cli_loggps_opt *o)
{
	struct cli_options given;
	int rc = cli_options_parse_own(self, argc, argv, CLI_TAKES_JSON,
				       options, o, &given);

	if (rc < 0 && o->show && (o->output || o->dry_run))
		return cli_usage(self, "--show measures nothing: no --output "
				 "and no --dry-run");
	if (rc < 0 && !o->show && o->cluster)
		return cli_usage(self, "--cluster goes with --show");
	o->json = rc < 0 && given.format == CLI_JSON;
	return rc;
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
