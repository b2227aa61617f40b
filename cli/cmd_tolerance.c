/* netprof tolerance: how much latency a program stands. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_loggps.h"
#include "cli_tolerance.h"
#include "np_quantity.h"
#include "np_topology_conf.h"

#define PER_NODE_MAX 65536
#define TRIALS_MAX 1000000000

static int take_ns(const struct cli_cmd *self, const char *option,
		   const char *text, double *ns)
{
	double sec;

	if (np_duration_parse(text, &sec) || 1e9 * sec > NP_LOGGPS_MAX)
		return cli_usage(self, "%s: got %.64s, expected a time, such "
				 "as 3us", option, text);
	*ns = 1e9 * sec;
	return 0;
}

static int take_bytes(const struct cli_cmd *self, const char *text,
		      uint64_t *bytes)
{
	if (!strcmp(text, "never"))
		*bytes = NP_LOGGPS_NO_RENDEZVOUS;
	else if (np_bytes_parse(text, bytes))
		return cli_usage(self, "--rendezvous: got %.64s, expected "
				 "bytes, such as 64K, or never", text);
	return 0;
}

static int take_count(const struct cli_cmd *self, const char *option,
		      const char *text, unsigned long most, uint32_t *n)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*text < '1' || *text > '9' || *end || v > most)
		return cli_usage(self, "%s: got %.64s, expected 1 to %lu",
				 option, text, most);
	*n = (uint32_t)v;
	return 0;
}

/* What has a colon is made up, all else is a file. */
static int read_topology(struct cli_tolerance_ask *ask)
{
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (!ask->where)
		return -1;
	if (strchr(ask->where, ':') && !strchr(ask->where, '/'))
		rc = np_topology_parse(ask->where, &ask->topology, &err);
	else
		rc = np_topology_conf(ask->where, &ask->topology, &err);
	return rc ? cli_fail("%s", err.text) : -1;
}

static int take(const struct cli_cmd *self, int c, char *arg,
		struct cli_tolerance_ask *ask)
{
	struct np_err err = NP_ERR_INIT;

	switch (c) {
	case 'L':
		return take_ns(self, "--latency", arg, &ask->net.L_ns);
	case 'o':
		return take_ns(self, "--overhead", arg, &ask->net.o_ns);
	case 'G':
		return take_ns(self, "--per-byte", arg, &ask->net.G_ns);
	case 'S':
		return take_bytes(self, arg, &ask->net.S);
	case 'u':
		return take_ns(self, "--up-to", arg, &ask->up_to_ns);
	case 'g':
		ask->serial = true;
		return take_ns(self, "--gap", arg, &ask->net.g_ns);
	case 'e':
		ask->serial = true;
		return 0;
	case 'l':
		ask->shared_links = true;
		return 0;
	case 't':
		ask->where = arg;
		return 0;
	case 'w':
		return take_ns(self, "--wire", arg, &ask->wire_ns);
	case 's':
		return take_ns(self, "--switch", arg, &ask->switch_ns);
	case 'n':
		return take_count(self, "--ranks-per-node", arg, PER_NODE_MAX,
				  &ask->per_node);
	case 'p':
		return take_count(self, "--place", arg, TRIALS_MAX,
				  &ask->trials);
	case 'f':
		ask->net.first_byte_free = true;
		return 0;
	case 'c':
		ask->critical = true;
		return 0;
	case 'C':
		return np_choices_add(&ask->choices, arg, &err) ?
		       cli_usage(self, "--collective: %s", err.text) : 0;
	case 'j':
		ask->format = CLI_JSON;
		return 0;
	case 'P':
		ask->format = CLI_PARSABLE;
		return 0;
	case 'h':
		cli_print_help(self);
		return -1;
	case ':':
		return cli_usage(self, "%s: an argument is missing", arg);
	default:
		return cli_usage(self, "%.64s: no such option", arg);
	}
}

static int parse(const struct cli_cmd *self, int argc, char **argv,
		 struct cli_tolerance_ask *ask)
{
	static const struct option options[] = {
		{ "latency", required_argument, NULL, 'L' },
		{ "overhead", required_argument, NULL, 'o' },
		{ "per-byte", required_argument, NULL, 'G' },
		{ "rendezvous", required_argument, NULL, 'S' },
		{ "serial", no_argument, NULL, 'e' },
		{ "gap", required_argument, NULL, 'g' },
		{ "shared-links", no_argument, NULL, 'l' },
		{ "topology", required_argument, NULL, 't' },
		{ "wire", required_argument, NULL, 'w' },
		{ "switch", required_argument, NULL, 's' },
		{ "ranks-per-node", required_argument, NULL, 'n' },
		{ "place", required_argument, NULL, 'p' },
		{ "up-to", required_argument, NULL, 'u' },
		{ "first-byte-free", no_argument, NULL, 'f' },
		{ "critical", no_argument, NULL, 'c' },
		{ "collective", required_argument, NULL, 'C' },
		{ "json", no_argument, NULL, 'j' },
		{ "parsable", no_argument, NULL, 'P' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c, rc = 0;

	opterr = 0;
	while (!rc && (c = getopt_long(argc, argv, ":hPL:o:g:G:S:", options,
				       NULL)) != -1)
		rc = take(self, c, c == ':' || c == '?' ? argv[optind - 1] :
							 optarg, ask);
	if (rc)
		return rc;
	if (ask->trials && !ask->where)
		return cli_usage(self, "--place: expected --topology, too");
	return optind < argc ? 0 : cli_usage(self, "a file is missing");
}

static int print(const struct cli_tolerance *t, size_t n,
		 const struct cli_tolerance_ask *ask)
{
	if (ask->format == CLI_JSON)
		return cli_tolerance_json(t, n, ask);
	for (size_t i = 0; i < n; i++) {
		if (ask->format == CLI_PARSABLE) {
			cli_tolerance_parsable(&t[i], ask, i == 0);
			continue;
		}
		if (i)
			putchar('\n');
		cli_tolerance_text(&t[i], ask);
	}
	return CLI_DONE;
}

static int run_tolerance(const struct cli_cmd *self, int argc, char **argv)
{
	struct cli_tolerance_ask ask = {
		.net = { .L_ns = 3000, .G_ns = 0.1,
			 .S = NP_LOGGPS_NO_RENDEZVOUS },
		.up_to_ns = NAN, .wire_ns = 274, .switch_ns = 108,
		.per_node = 1,
	};
	struct cli_tolerance *t;
	size_t n = 0;
	int rc;

	cli_loggps_net(&ask.net);
	rc = parse(self, argc, argv, &ask);
	if (rc)
		return rc < 0 ? CLI_DONE : rc;
	t = calloc((size_t)(argc - optind), sizeof(*t));
	rc = t ? read_topology(&ask) : cli_fail("out of memory");
	while (rc < 0 && optind + (int)n < argc) {
		rc = cli_tolerance_read(argv[optind + (int)n], &ask, &t[n]);
		n++;
	}
	if (rc < 0)
		rc = print(t, n, &ask);
	for (size_t i = 0; i < n; i++)
		cli_tolerance_free(&t[i]);
	free(t);
	np_topology_free(ask.topology);
	return rc;
}

const struct cli_cmd cmd_tolerance = {
	.name = "tolerance",
	.args = "[--json|--parsable] [OPTION]... APP|FILE...",
	.help = "how much latency a program stands, from its execution graph",
	.text =
"Finds how much longer the program of an execution graph (GOAL, text or\n"
"binary), of a trace (netprof help trace) or of the newest trace of APP\n"
"runs as the latency, the overhead and the bandwidth of the network\n"
"change, and how far each may go until the run takes 1, 2 and 5 % longer.\n\n"
"What is not given is as netprof loggps measured it, or else:\n\n"
"  -L, --latency=TIME     of a message, 3us\n"
"  -o, --overhead=TIME    processor time of each message on both sides, 0ns\n"
"  -G, --per-byte=TIME    0.1ns, which is 10 GB/s\n"
"  -S, --rendezvous=BYTES larger messages wait for their receiver; never\n"
"  --first-byte-free      a message of n bytes takes time for n - 1\n"
"  --serial               each processor does one thing at a time\n"
"  -g, --gap=TIME         the same, and an adapter's sends are so far apart\n"
"  --shared-links         messages to one rank come one after the other\n"
"  --topology=T           the latency is that of wires and switches: of\n"
"                         fat-tree:K, dragonfly:GxAxP, torus:XxYx... or a\n"
"                         topology.conf\n"
"  --wire=TIME, --switch=TIME\n"
"                         274ns and 108ns\n"
"  --ranks-per-node=N     1, in order\n"
"  --place=N              look for a better placement of ranks, in N trials\n"
"  --up-to=TIME           how much latency to add\n"
"  --critical             also where the critical path changes\n"
"  --collective=NAME[:BYTES]=ALGORITHM  of a trace, as for trace\n"
"  --json, --parsable     for programs",
	.run = run_tolerance,
};
