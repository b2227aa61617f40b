/* netprof loggps: what a message costs on a fabric. */
#include <errno.h>

#include "cli_loggps.h"
#include "cli_options.h"
#include "cli_profile.h"
#include "np_option.h"
#include "np_prtt.h"

static int take_blocks(char *text, void *ask, struct np_err *err)
{
	struct cli_loggps_opt *o = ask;

	return np_option_count("--blocks", text, 1, NP_PRTT_MAX_BLOCKS,
			       &o->blocks, err);
}

static int take_max_bytes(char *text, void *ask, struct np_err *err)
{
	struct cli_loggps_opt *o = ask;

	return np_option_bytes("--max-bytes", text, NP_PRTT_LEAST_MAX_BYTES,
			       NP_PRTT_MAX_BYTES, &o->max_bytes, err);
}

static int take_max_trip(char *text, void *ask, struct np_err *err)
{
	struct cli_loggps_opt *o = ask;

	return np_option_time("--max-trip", text, 1e-4, 10, &o->max_trip_sec,
			      err);
}

#define AT(member) offsetof(struct cli_loggps_opt, member)

static const struct cli_option options[] = {
	{ "blocks", CLI_TAKE, .take = take_blocks },
	{ "max-bytes", CLI_TAKE, .take = take_max_bytes },
	{ "max-trip", CLI_TAKE, .take = take_max_trip },
	{ "across", CLI_FLAG, AT(across) },
	{ "output", CLI_WORD, AT(output) },
	{ "dry-run", CLI_FLAG, AT(dry_run), .letter = 'n' },
	{ "show", CLI_FLAG, AT(show) },
	{ "cluster", CLI_WORD, AT(cluster) },
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
